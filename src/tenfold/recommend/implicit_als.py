"""Clicks, plays and purchases by weighted alternating least squares."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold._compiled.row_systems import RowSolutions, solve_row_systems
from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.recommend._base import ScoreExplanation, make_explanation
from tenfold.recommend._entries import SortedEntries
from tenfold.recommend._factor_model import FactorRecommender
from tenfold.recommend._half_steps import (
    RidgeRule,
    align_rows,
    improve_implicit,
    relative_decrease,
    solve_implicit,
    split_cost,
    weigh_counts,
)
from tenfold.recommend._thresholds import (
    MIN_FACTORS_FOR_GRADIENTS,
    ROWS_PER_CHUNK,
    ROWS_PER_GRADIENT_CHUNK,
)
from tenfold.recommend.evaluation import RankingScoreMixin
from tenfold.recommend.ratings import Ratings

_START_SCALE = 0.1  # of the random user factors


class ImplicitALS(RankingScoreMixin, FactorRecommender):
    r"""Factors of implicit feedback: what users did tells what they prefer.

    .. math::
        \sum_{u,i} c_{ui} (p_{ui} - x_u^\top y_i)^2
        + \lambda \sum_u n_u^\nu \|x_u\|^2 + \lambda \sum_i n_i^\nu \|y_i\|^2

    over *all* pairs: where there is a count :math:`r_{ui}`, the preference p is 1 and the
    confidence :math:`c = \alpha_0 + \alpha r_{ui}`; elsewhere p is 0 and :math:`c = \alpha_0`. A
    half step costs no more than the pairs with counts, and never raises the cost; at the end the
    users' vectors are the exact solution for those of the items. A negative count says with
    confidence that the user does not want the item. Here :math:`n_u` is the number of the user's
    items and :math:`\alpha_0` times the number of all items.

    Parameters
    ----------
    n_factors : int, default=64
        Length K of the vectors.
    regularization : float, default=0.01
        Strength :math:`\lambda` of the penalty.
    confidence : float, default=1.0
        :math:`\alpha`: how much a count adds to the confidence.
    unobserved_weight : float, default=1.0
        :math:`\alpha_0`: confidence of pairs without a count.
    count_power : float, default=0.0
        Exponent :math:`\nu` of the counts in the penalty; 0 penalizes all alike, 1 in proportion.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        How the system of each user and item is solved in a half step: exactly by a Cholesky
        factorization, or by a few steps of conjugate gradients from the vector of the last
        iteration. The steps need about as many iterations and are faster for long vectors: "auto"
        takes them from 32 factors on.
    cg_steps : int, default=3
        Steps of conjugate gradients in a half step.
    max_iter : int, default=30
        Most iterations, of two half steps each.
    tol : float, default=1e-3
        Converged when an iteration lowers the cost by at most this share of the cost of vectors
        that are zero.
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
    user_factors_, item_factors_ : ndarray of shape (n_users, n_factors), (n_items, n_factors)
        The vectors.
    objective_ : float
        The cost of these vectors, the sum above.
    n_iter_, converged_, history_ : int, bool, dict
        Iterations, whether the stopping rule was met, cost and seconds after each iteration.

    See Also
    --------
    ALS : ratings instead of counts.
    BPR : the order of items instead of preferences.

    Notes
    -----
    The package `implicit` takes confidences instead of counts, 1 + alpha r where there is a count,
    and divides its loss by the sum of all confidences; it has no :math:`\alpha_0` and no
    :math:`\nu`. In his papers on iALS, Rendle writes a weight of 1 for pairs with counts: that is
    confidence = 1 with counts of 1 and unobserved_weight = :math:`\alpha_0`, where the weight of a
    pair with a count is :math:`1 + \alpha_0`.

    References
    ----------
    Y. Hu, Y. Koren and C. Volinsky (2008), Collaborative filtering for implicit feedback datasets.
    G. Takács, I. Pilászy and D. Tikk (2011), Applications of the conjugate gradient method for
    implicit feedback collaborative filtering.
    S. Rendle, W. Krichene, L. Zhang and Y. Koren (2022), Revisiting the performance of iALS on item
    recommendation benchmarks.

    Examples
    --------
    >>> from tenfold import ImplicitALS
    >>> plays = [
    ...     ["ann", "jazz"],
    ...     ["ann", "soul"],
    ...     ["bob", "jazz"],
    ...     ["eve", "rock"],
    ...     ["eve", "punk"],
    ... ]
    >>> model = ImplicitALS(2, random_state=0).fit(plays, [9, 4, 7, 5, 8])
    >>> model.recommend("bob", 1).items.tolist()
    ['soul']
    """

    _duplicates = "sum"
    _parameter_constraints: dict[str, Any] = {
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "regularization": [Interval(Real, 0, None, closed="left")],
        "confidence": [Interval(Real, 0, None, closed="neither")],
        "unobserved_weight": [Interval(Real, 0, None, closed="left")],
        "count_power": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "cholesky", "cg"})],
        "cg_steps": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_factors: int = 64,
        *,
        regularization: float = 0.01,
        confidence: float = 1.0,
        unobserved_weight: float = 1.0,
        count_power: float = 0.0,
        solver: str = "auto",
        cg_steps: int = 3,
        max_iter: int = 30,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.regularization = regularization
        self.confidence = confidence
        self.unobserved_weight = unobserved_weight
        self.count_power = count_power
        self.solver = solver
        self.cg_steps = cg_steps
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit_ratings(self, ratings: Ratings, rng: np.random.Generator) -> dict[str, Any]:
        per_chunk = ROWS_PER_GRADIENT_CHUNK if self._takes_gradient_steps() else ROWS_PER_CHUNK
        users, items = ratings.user_rows(per_chunk), ratings.item_rows(per_chunk)
        (n, m), seed = ratings.shape, int(rng.integers(2**31))
        start = _START_SCALE * normals(seed, 0, n, self.n_factors)
        state = start, np.zeros((m, self.n_factors))
        loop = until_converged(state, tol=self.tol, max_iter=self.max_iter)
        scale = float(self._confidences(ratings.by_user)[1].sum())
        if scale == 0:
            raise ValueError("ImplicitALS: no count is above zero, so that nothing is preferred")
        ridge = self._rule(n).penalties(ratings.by_item.counts.astype(float))
        for before, items_before in loop:
            y, _ = self._half_step(items, before, items_before)
            x, cost = self._half_step(users, y, before)
            cost += float(ridge @ (y**2).sum(axis=1))
            change = relative_decrease(loop.objectives, cost, scale)
            loop.update((x, y), objective=cost, change=change)
        x, y = loop.state
        objective = float(loop.objectives[-1])
        if self._takes_gradient_steps():
            x, cost = split_cost(users.each(solve_implicit, *self._system(y, m)))
            objective = cost + float(ridge @ (y**2).sum(axis=1))
        return {
            "user_factors_": x,
            "item_factors_": y,
            "user_bias_": np.zeros(n),
            "item_bias_": np.zeros(m),
            "mean_": 0.0,
            "objective_": objective,
            **loop.report,
        }

    def _rule(self, n_columns: int) -> RidgeRule:
        extra = self.unobserved_weight * n_columns
        return RidgeRule(self.regularization, self.count_power, extra)

    def _takes_gradient_steps(self) -> bool:
        if self.solver == "auto":
            return self.n_factors >= MIN_FACTORS_FOR_GRADIENTS
        return self.solver == "cg"

    def _half_step(
        self, rows: Rows, factors: np.ndarray, before: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Factors of the rows for given ones of the columns, and their cost."""
        system = self._system(factors, len(factors))
        if not self._takes_gradient_steps():
            return split_cost(rows.each(solve_implicit, *system))
        aligned = align_rows(factors), *system[1:]
        return split_cost(rows.each(improve_implicit, *aligned, before, self.cg_steps))

    def _system(self, factors: np.ndarray, n_columns: int) -> tuple:
        rule = tuple(self._rule(n_columns))
        weights = float(self.confidence), float(self.unobserved_weight)
        return factors, factors.T @ factors, *weights, rule

    def _place_users(self, entries: SortedEntries) -> np.ndarray:
        x = self._solve(entries, covariance=False).x
        return np.column_stack([x, np.zeros(len(x))])

    def _solve(self, entries: SortedEntries, *, covariance: bool) -> RowSolutions:
        y = self.item_factors_
        extra, moment = self._confidences(entries)
        return solve_row_systems(
            entries.indptr,
            entries.indices,
            extra,
            moment,
            y,
            ridge=self._rule(len(y)).penalties(entries.counts.astype(float)),
            precision=self.unobserved_weight * (y.T @ y),
            covariance=covariance,
        )

    def _confidences(self, entries: SortedEntries) -> tuple[np.ndarray, np.ndarray]:
        """What counts add to the weight of a pair, and weight times preference."""
        counts = np.asarray(entries.values)
        return weigh_counts(counts, float(self.confidence), float(self.unobserved_weight))

    def _explain(
        self, profiles: np.ndarray, entries: SortedEntries, item: int, n: int
    ) -> ScoreExplanation:
        """X = A^-1 sum_j m_j y_j, so that each item j adds m_j y_i'A^-1 y_j to the score."""
        solved = self._solve(entries, covariance=True)
        y, (_, moment) = self.item_factors_, self._confidences(entries)
        parts = moment * (y[entries.indices] @ (solved.covariance[0] @ y[item]))
        score = self._scores(profiles)[0, item]
        return make_explanation(
            score, 0.0, self.item_ids_[entries.indices], entries.values, parts, n
        )
