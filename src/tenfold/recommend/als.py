"""Explicit ratings by alternating least squares: biases, penalties by count, MAP of PMF."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from tenfold._compiled.row_systems import solve_row_systems
from tenfold.base._sklearn import Interval
from tenfold.engine.row_random import normals
from tenfold.optim.convergence import until_converged
from tenfold.recommend._base import ScoreExplanation, make_explanation
from tenfold.recommend._entries import SortedEntries
from tenfold.recommend._factor_model import FactorRecommender
from tenfold.recommend._half_steps import (
    RidgeRule,
    relative_decrease,
    solve_explicit,
    split_cost,
    sum_values,
)
from tenfold.recommend.ratings import Ratings

_START_SCALE = 0.1  # of the random user factors
_LARGE_DEVIATION = 1000.0  # of the ratings: beyond it the first factors grow with its root


class ALS(RegressorMixin, FactorRecommender):
    r"""Matrix factorization of ratings by alternating least squares.

    .. math::
        \sum_{(u,i)} w_{ui} (r_{ui} - \mu - b_u - c_i - x_u^\top y_i)^2
        + \lambda \sum_u n_u^\nu (\|x_u\|^2 + b_u^2) + \lambda \sum_i n_i^\nu (\|y_i\|^2 + c_i^2)
        + \kappa \Big(\sum_u b_u^2 + \sum_i c_i^2\Big)

    With the items fixed, each user is a small ridge regression, and the other way round: the cost
    never rises. :math:`\nu = 1` penalizes in proportion to the number of ratings ("ALS-WR"),
    :math:`\nu = 0` is the penalty of textbooks, and of the most probable factors of probabilistic
    matrix factorization (`from_pmf`). Users are rows: ratings may lie in a file larger than memory,
    and the result has the same bits on any number of threads.

    Parameters
    ----------
    n_factors : int, default=20
        Length K of the vectors; 0 leaves only the biases.
    regularization : float, default=0.13
        Strength :math:`\lambda` of the penalty.
    count_power : float, default=1.0
        Exponent :math:`\nu` of the number of ratings in the penalty.
    biases : bool, default=True
        Whether users and items have biases; otherwise ratings are :math:`\mu + x^\top y`.
    bias_regularization : float, default=1.0
        Strength :math:`\kappa` of the penalty that biases have in addition.
    center : bool, default=True
        Whether :math:`\mu` is the mean of the ratings; otherwise 0.
    max_iter : int, default=50
        Most iterations, of two half steps each.
    tol : float, default=5e-4
        Converged when an iteration lowers the cost by at most this share of the cost of the mean.
    clip : bool, default=True
        Whether predictions stay within the range of the ratings; recommendations are never clipped.
    n_jobs : int, default=None
        Threads; all by default.
    random_state : int, RandomState or None, default=None
        Seed of the first user factors.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    user_ids_, item_ids_ : ndarray
        Ids in ascending order.
    user_factors_ : ndarray of shape (n_users, n_factors)
        Vectors of the users.
    item_factors_ : ndarray of shape (n_items, n_factors)
        Vectors of the items.
    user_bias_, item_bias_ : ndarray
        Biases.
    mean_ : float
        Mean of the ratings, or 0.
    rating_range_ : ndarray of shape (2,)
        Smallest and largest rating.
    objective_ : float
        The cost at the end.
    n_iter_, converged_, history_ : int, bool, dict
        Iterations, whether the stopping rule was met, cost and seconds after each iteration.

    See Also
    --------
    ImplicitALS : counts of clicks or plays instead of ratings.
    BayesianPMF : the posterior distribution of the factors instead of its mode.
    KNNRecommender : neighbors instead of factors.

    References
    ----------
    Y. Koren, R. Bell and C. Volinsky (2009), Matrix factorization techniques for recommender
    systems.
    Y. Zhou, D. Wilkinson, R. Schreiber and R. Pan (2008), Large-scale parallel collaborative
    filtering for the Netflix prize.
    R. Salakhutdinov and A. Mnih (2007), Probabilistic matrix factorization.

    Examples
    --------
    >>> from tenfold import ALS
    >>> table = {
    ...     "user": ["ann", "ann", "ann", "bob", "bob", "eve", "eve"],
    ...     "film": ["Alien", "Brazil", "Ran", "Alien", "Ran", "Brazil", "Casino"],
    ...     "stars": [5, 4, 1, 5, 1, 4, 2],
    ... }
    >>> model = ALS(n_factors=2, random_state=0).fit(table)
    >>> model.recommend("bob", 1).items.tolist()
    ['Brazil']
    >>> model.predict([["eve", "Alien"], ["somebody new", "Alien"]]).round(1).tolist()
    [4.5, 3.4]
    """

    _parameter_constraints: dict[str, Any] = {
        "n_factors": [Interval(Integral, 0, None, closed="left")],
        "regularization": [Interval(Real, 0, None, closed="left")],
        "count_power": [Interval(Real, 0, None, closed="left")],
        "biases": ["boolean"],
        "bias_regularization": [Interval(Real, 0, None, closed="left")],
        "center": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "clip": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _learned_shapes = FactorRecommender._learned_shapes | {"rating_range_": "_"}  # noqa: SLF001

    def __init__(
        self,
        n_factors: int = 20,
        *,
        regularization: float = 0.13,
        count_power: float = 1.0,
        biases: bool = True,
        bias_regularization: float = 1.0,
        center: bool = True,
        max_iter: int = 50,
        tol: float = 5e-4,
        clip: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.regularization = regularization
        self.count_power = count_power
        self.biases = biases
        self.bias_regularization = bias_regularization
        self.center = center
        self.max_iter = max_iter
        self.tol = tol
        self.clip = clip
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def from_pmf(
        cls, n_factors: int = 20, *, noise_variance: float, factor_variance: float, **params: Any
    ) -> Self:
        r"""The most probable factors of probabilistic matrix factorization.

        Ratings are :math:`N(\mu + x_u^\top y_i, \sigma^2)` and the entries of all vectors are
        :math:`N(0, \sigma_f^2)`: minus the log posterior is, up to a factor and a constant, the
        cost with :math:`\lambda = \sigma^2 / \sigma_f^2`, :math:`\nu = 0` and without biases.

        Parameters
        ----------
        n_factors : int, default=20
            Length of the vectors.
        noise_variance : float
            :math:`\sigma^2`.
        factor_variance : float
            :math:`\sigma_f^2`.
        **params : Any
            Other parameters of the model.

        Examples
        --------
        >>> ALS.from_pmf(5, noise_variance=0.8, factor_variance=0.2).regularization
        4.0
        """
        if not (noise_variance > 0 and factor_variance > 0):
            raise ValueError("from_pmf: variances are greater than 0")
        ratio = noise_variance / factor_variance
        given = {"regularization": ratio, "count_power": 0.0, "biases": False} | params
        return cls(n_factors, **given)

    def _fit_ratings(self, ratings: Ratings, rng: np.random.Generator) -> dict[str, Any]:
        users, items = ratings.user_rows(), ratings.item_rows()
        mass, total, squares = users.total(sum_values, len(ratings.items))
        mean = float(total / mass) if self.center else 0.0
        values, scale = ratings.by_user.values, squares - 2 * mean * total + mass * mean**2
        start = self._start(ratings, rng, float(np.sqrt(max(scale, 0.0) / mass)))
        loop = until_converged(start, tol=self.tol, max_iter=self.max_iter)
        rule = self._rule()
        for x, _ in loop:
            y, _ = split_cost(items.each(solve_explicit, *self._system(x, mean), *rule))
            better, cost = split_cost(users.each(solve_explicit, *self._system(y, mean), *rule))
            cost += self._penalty(y, ratings.by_item)
            change = relative_decrease(loop.objectives, cost, scale)
            loop.update((better, y), objective=cost, change=change)
        x, y = loop.state
        return {
            **self._learned_factors(x, y),
            "mean_": mean,
            "rating_range_": np.array([values.min(), values.max()], float),
            "objective_": float(loop.objectives[-1]),
            **loop.report,
        }

    def _start(
        self, ratings: Ratings, rng: np.random.Generator, deviation: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Random vectors of users; those of the items come first.

        Large ratings begin with larger vectors: else those of the items would be so long that
        rounding swallows the penalty.
        """
        (n, m), k = ratings.shape, self.n_factors
        length = _START_SCALE * max(1.0, deviation / _LARGE_DEVIATION) ** 0.5
        x = np.zeros((n, k + self.biases))
        if k:
            x[:, :k] = length * normals(int(rng.integers(2**31)), 0, n, k)
        return x, np.zeros((m, k + self.biases))

    def _rule(self) -> tuple:
        """Rule of the penalty, and the precision that biases have in addition."""
        k = self.n_factors + self.biases
        precision = np.zeros((k, k))
        if self.biases:
            precision[-1, -1] = self.bias_regularization
        return tuple(RidgeRule(self.regularization, self.count_power)), precision

    def _system(self, factors: np.ndarray, mean: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Columns [f, 1] that meet [x, b], and the biases that are subtracted from ratings."""
        if not self.biases:
            return factors, np.zeros(len(factors)), mean
        columns = factors.copy()
        columns[:, -1] = 1.0
        return columns, np.ascontiguousarray(factors[:, -1]), mean

    def _penalty(self, y: np.ndarray, entries: SortedEntries) -> float:
        """What the items add to the cost, which the half step of the users does not know."""
        rule, precision = self._rule()
        ridge = RidgeRule(*rule).penalties(entries.masses)
        return float(ridge @ (y**2).sum(axis=1) + ((y @ precision) * y).sum())

    def _learned_factors(self, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        k = self.n_factors
        biases = [f[:, k].copy() if self.biases else np.zeros(len(f)) for f in (x, y)]
        return {
            "user_factors_": np.ascontiguousarray(x[:, :k]),
            "item_factors_": np.ascontiguousarray(y[:, :k]),
            "user_bias_": biases[0],
            "item_bias_": biases[1],
        }

    def _predict_batch(self, batch: Any) -> np.ndarray:
        values = super()._predict_batch(batch)
        return np.clip(values, *self.rating_range_) if self.clip else values

    def _item_columns(self) -> np.ndarray:
        """Columns [y, 1] of the systems of users."""
        ones = np.ones((len(self.item_ids_), int(self.biases)))
        return np.hstack([self.item_factors_, ones])

    def _place_users(self, entries: SortedEntries) -> np.ndarray:
        rule, precision = self._rule()
        target = entries.values - self.mean_ - self.item_bias_[entries.indices]
        x = solve_row_systems(
            entries.indptr,
            entries.indices,
            entries.weights,
            target if entries.weights is None else target * entries.weights,
            self._item_columns(),
            ridge=RidgeRule(*rule).penalties(entries.masses),
            precision=precision,
        ).x
        return x if self.biases else np.column_stack([x, np.zeros(len(x))])

    def _explain(
        self, profiles: np.ndarray, entries: SortedEntries, item: int, n: int
    ) -> ScoreExplanation:
        """X = A^-1 sum_j t_j f_j, so that each rating j adds t_j f_i'A^-1 f_j to the score."""
        rule, precision = self._rule()
        columns = self._item_columns()
        target = entries.values - self.mean_ - self.item_bias_[entries.indices]
        moment = target if entries.weights is None else target * entries.weights
        solved = solve_row_systems(
            entries.indptr,
            entries.indices,
            entries.weights,
            moment,
            columns,
            ridge=RidgeRule(*rule).penalties(entries.masses),
            precision=precision,
            covariance=True,
        )
        parts = moment * (columns[entries.indices] @ (solved.covariance[0] @ columns[item]))
        base = self.mean_ + self.item_bias_[item]
        score = self._scores(profiles)[0, item]
        ids = self.item_ids_[entries.indices]
        return make_explanation(score, base, ids, entries.values, parts, n)
