"""Probabilistic matrix factorization by Gibbs sampling: no penalty to choose, and error bars."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin

from tenfold._compiled.row_systems import solve_row_systems
from tenfold.base._sklearn import Interval
from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.optim.convergence import until_converged
from tenfold.recommend._base import ScoreExplanation, make_explanation
from tenfold.recommend._entries import SortedEntries, chunk_entries
from tenfold.recommend._factor_model import FactorRecommender
from tenfold.recommend._half_steps import predict_pairs, split_cost, sum_values
from tenfold.recommend._id_codes import find_ids
from tenfold.recommend._rating_columns import read_batches
from tenfold.recommend.ratings import RatingColumns, Ratings

_PRIOR_STRENGTH = 2.0  # observations that the prior mean of the factors counts as
_NOISE_SHAPE, _NOISE_RATE = 1.0, 1.0  # of the gamma prior of the precision of a rating


class FactorPrior(NamedTuple):
    """Normal distribution of the vectors of one side: mean and precision."""

    mean: np.ndarray
    precision: np.ndarray


class BayesianPMF(RegressorMixin, FactorRecommender):
    r"""Bayesian probabilistic matrix factorization by Gibbs sampling.

    .. math::
        r_{ui} \sim N(\mu + b_u + c_i + x_u^\top y_i, \tau^{-1}), \quad
        [x_u, b_u] \sim N(m_U, \Lambda_U^{-1}), \quad [y_i, c_i] \sim N(m_I, \Lambda_I^{-1})

    with a normal-Wishart prior for the means and precisions of both sides and a gamma prior for
    :math:`\tau`. All of it is drawn from its conditional distribution in turn; a prediction is
    the mean over the draws that are kept. There is no penalty to be tuned, and `predict` tells how
    sure it is. Draws belong to users, items and rounds: the bits are the same on any number of
    threads.

    Parameters
    ----------
    n_factors : int, default=10
        Length of the vectors.
    burn_in : int, default=20
        Rounds before the first draw that is kept.
    n_samples : int, default=60
        Draws that are kept. Memory grows with it: the model holds all of them.
    clip : bool, default=True
        Whether predictions stay within the range of the ratings.
    n_jobs : int, default=None
        Threads; all by default.
    random_state : int, RandomState or None, default=None
        Seed of the draws.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray of shape (n_users, n_samples * n_factors)
        The draws beside each other, scaled so that products are means over draws.
    user_bias_, item_bias_ : ndarray
        Means of the biases.
    user_bias_samples_, item_bias_samples_ : ndarray of shape (n_users or n_items, n_samples)
        Draws of the biases.
    noise_variance_ : float
        Mean of :math:`1 / \tau`.
    n_iter_, history_ : int, dict
        Rounds; mean squared error on the training part and seconds after each.

    See Also
    --------
    ALS : the most probable factors.

    References
    ----------
    R. Salakhutdinov and A. Mnih (2008), Bayesian probabilistic matrix factorization using Markov
    chain Monte Carlo.

    Examples
    --------
    >>> from tenfold import BayesianPMF
    >>> pairs = [[u, i] for u in range(12) for i in range(8) if (u + i) % 5]
    >>> stars = [3 + (u % 2) - (i % 2) for u, i in pairs]
    >>> model = BayesianPMF(2, random_state=0).fit(pairs, stars)
    >>> mean, std = model.predict([[1, 4], [1, 9]], return_std=True)
    >>> mean.round(1).tolist()[0], bool(std[1] > std[0])
    (4.0, True)
    """

    _parameter_constraints: dict[str, Any] = {
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "burn_in": [Interval(Integral, 0, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "clip": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _learned_shapes = FactorRecommender._learned_shapes | {  # noqa: SLF001
        "user_bias_samples_": "u s",
        "item_bias_samples_": "i s",
        "noise_variances_": "s",
        "prior_means_": "s c",
        "prior_precisions_": "s c c",
        "rating_range_": "_",
    }

    def __init__(
        self,
        n_factors: int = 10,
        *,
        burn_in: int = 20,
        n_samples: int = 60,
        clip: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.clip = clip
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit_ratings(self, ratings: Ratings, rng: np.random.Generator) -> dict[str, Any]:
        seed, (n, m), k = int(rng.integers(2**31)), ratings.shape, self.n_factors
        users, items = ratings.user_rows(), ratings.item_rows()
        mass, total, _ = users.total(sum_values, m)
        mean = float(total / mass)
        y = np.column_stack([0.1 * normals(seed, 0, m, k), np.zeros(m)])
        start = GibbsState(np.zeros((n, k + 1)), y, 1.0, *self._empty_draws(n, m))
        loop = until_converged(start, tol=-1.0, max_iter=self.burn_in + self.n_samples)
        for state in loop:
            chance = np.random.default_rng([seed, loop.n_iter])
            prior = _draw_prior(state.x, chance) if loop.n_iter else _flat_prior(k + 1)
            keys = chance.integers(2**31, size=2).tolist()
            known = mean, 1 / state.noise
            x, _ = split_cost(
                users.each(_draw_factors, *_columns(state.y), *known, *prior, keys[0])
            )
            other = _draw_prior(state.y, chance)
            y, errors = split_cost(items.each(_draw_factors, *_columns(x), *known, *other, keys[1]))
            noise = (_NOISE_RATE + 0.5 * errors) / chance.gamma(_NOISE_SHAPE + 0.5 * mass)
            state = state._replace(x=x, y=y, noise=noise)
            if loop.n_iter >= self.burn_in:
                _keep_draw(state, loop.n_iter - self.burn_in, prior)
            loop.update(state, objective=errors / mass, change=np.inf)
        report = {"n_iter_": loop.n_iter, "history_": loop.history}
        return self._learn(loop.state, mean, ratings) | report

    def _empty_draws(self, n: int, m: int) -> tuple[np.ndarray, ...]:
        s, k = self.n_samples, self.n_factors + 1
        shapes = (s, n, k), (s, m, k), (s,), (s, k), (s, k, k)
        return tuple(np.zeros(shape) for shape in shapes)

    def _learn(self, state: GibbsState, mean: float, ratings: Ratings) -> dict[str, Any]:
        values = ratings.by_user.values
        factors = [_side_by_side(draws) for draws in (state.user_draws, state.item_draws)]
        biases = [d[:, :, -1].T.copy() for d in (state.user_draws, state.item_draws)]
        return {
            "user_factors_": factors[0],
            "item_factors_": factors[1],
            "user_bias_": biases[0].mean(axis=1),
            "item_bias_": biases[1].mean(axis=1),
            "user_bias_samples_": biases[0],
            "item_bias_samples_": biases[1],
            "noise_variances_": state.noise_draws,
            "noise_variance_": float(state.noise_draws.mean()),
            "prior_means_": state.prior_means,
            "prior_precisions_": state.prior_precisions,
            "mean_": mean,
            "rating_range_": np.array([values.min(), values.max()], float),
        }

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Mean of the ratings of pairs (user, item), and how far a rating may lie from it.

        Parameters
        ----------
        X : array of shape (n, 2), table or path
            Pairs.
        return_std : bool, default=False
            Also return the standard deviation of a rating: that of the draws and of the noise.

        Returns
        -------
        mean : ndarray of shape (n,)
        std : ndarray of shape (n,), only with `return_std`
        """
        mean = super().predict(X)
        clipped = np.clip(mean, *self.rating_range_) if self.clip else mean
        return (clipped, self._deviations(X)) if return_std else clipped

    def _deviations(self, X: Any) -> np.ndarray:
        s, parts = self.n_samples, []
        for batch in read_batches(X, None, None, RatingColumns()):
            user = find_ids(self.user_ids_, batch.user, "user")
            item = find_ids(self.item_ids_, batch.item, "item")
            draws = np.zeros((len(user), s))
            for ids, bias in ((user, self.user_bias_samples_), (item, self.item_bias_samples_)):
                draws[ids >= 0] += bias[ids[ids >= 0]]
            both = (user >= 0) & (item >= 0)
            x, y = self.user_factors_[user[both]], self.item_factors_[item[both]]
            draws[both] += s * (x * y).reshape(len(x), s, -1).sum(axis=2)
            spread = draws.var(axis=1) + self._unknown_variance(user < 0, item < 0)
            parts.append(np.sqrt(spread + self.noise_variance_))
        return np.concatenate(parts) if parts else np.empty(0)

    def _unknown_variance(self, *unknown: np.ndarray) -> np.ndarray:
        """Spread of the biases, for users and items that were not part of the fit."""
        spreads = self.user_bias_.var(), self.item_bias_.var()
        return sum(
            (u * s for u, s in zip(unknown, spreads, strict=True)), np.zeros(len(unknown[0]))
        )

    def _place_users(self, entries: SortedEntries) -> np.ndarray:
        """Means of [x, b] given each draw of items, noise and prior, laid out as the factors."""
        s, k = self.n_samples, self.n_factors
        placed = np.zeros((len(entries.counts), s * k + 1))
        for t in range(s):
            x = self._place_draw(entries, t).x
            placed[:, t * k : (t + 1) * k] = x[:, :k] / np.sqrt(s)
            placed[:, -1] += x[:, k] / s
        return placed

    def _place_draw(self, entries: SortedEntries, t: int, *, covariance: bool = False) -> Any:
        k, tau = self.n_factors, 1 / self.noise_variances_[t]
        columns = np.ones((len(self.item_ids_), k + 1))
        columns[:, :k] = self._item_draw(t)
        weights = np.ones(len(entries.indices)) if entries.weights is None else entries.weights
        bias = self.item_bias_samples_[entries.indices, t]
        return solve_row_systems(
            entries.indptr,
            entries.indices,
            tau * weights,
            tau * weights * (entries.values - self.mean_ - bias),
            columns,
            precision=self.prior_precisions_[t],
            linear=self.prior_precisions_[t] @ self.prior_means_[t],
            covariance=covariance,
        )

    def _item_draw(self, t: int) -> np.ndarray:
        k = self.n_factors
        return self.item_factors_[:, t * k : (t + 1) * k] * np.sqrt(self.n_samples)

    def _add_users(self, users: np.ndarray, entries: SortedEntries, placed: np.ndarray) -> None:
        before, samples = self.user_ids_, self.user_bias_samples_
        super()._add_users(users, entries, placed)
        place = find_ids(before, self.user_ids_, "user")
        new = find_ids(users, self.user_ids_, "user") >= 0
        spread = np.repeat(self.user_bias_[:, None], self.n_samples, axis=1)
        self.user_bias_samples_ = np.where(new[:, None], spread, samples[place])

    def _explain(
        self, profiles: np.ndarray, entries: SortedEntries, item: int, n: int
    ) -> ScoreExplanation:
        """Each rating adds tau t_j f_i'A^-1 f_j, averaged over the draws; the prior is the base."""
        parts = np.zeros(len(entries.indices))
        for t in range(self.n_samples):
            solved = self._place_draw(entries, t, covariance=True)
            columns = np.column_stack([self._item_draw(t), np.ones(len(self.item_ids_))])
            reach = columns[entries.indices] @ (solved.covariance[0] @ columns[item])
            bias = self.item_bias_samples_[entries.indices, t]
            parts += reach * (entries.values - self.mean_ - bias) / self.noise_variances_[t]
        parts *= (1.0 if entries.weights is None else entries.weights) / self.n_samples
        score = self._scores(profiles)[0, item]
        ids = self.item_ids_[entries.indices]
        return make_explanation(score, score - parts.sum(), ids, entries.values, parts, n)


class GibbsState(NamedTuple):
    """What a round of the sampler passes to the next, and the draws that are kept."""

    x: np.ndarray
    y: np.ndarray
    noise: float
    user_draws: np.ndarray
    item_draws: np.ndarray
    noise_draws: np.ndarray
    prior_means: np.ndarray
    prior_precisions: np.ndarray


def _keep_draw(state: GibbsState, at: int, prior: FactorPrior) -> None:
    state.user_draws[at], state.item_draws[at], state.noise_draws[at] = (
        state.x,
        state.y,
        state.noise,
    )
    state.prior_means[at], state.prior_precisions[at] = prior


def _side_by_side(draws: np.ndarray) -> np.ndarray:
    """Draws (s, n, k + 1) as (n, s k), scaled so that products are means over the draws."""
    s, n, _ = draws.shape
    return draws[:, :, :-1].transpose(1, 0, 2).reshape(n, -1) / np.sqrt(s)


def _columns(factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns [f, 1] that meet [x, b], and the biases that are subtracted from ratings."""
    columns = factors.copy()
    columns[:, -1] = 1.0
    return columns, np.ascontiguousarray(factors[:, -1])


def _flat_prior(k: int) -> FactorPrior:
    return FactorPrior(np.zeros(k), np.eye(k))


def _draw_prior(factors: np.ndarray, rng: np.random.Generator) -> FactorPrior:
    """Mean and precision from their normal-Wishart distribution given the vectors of one side."""
    n, k = factors.shape
    center = factors.mean(axis=0)
    scatter = (factors - center).T @ (factors - center)
    strength = _PRIOR_STRENGTH + n
    inverse = np.eye(k) + scatter + (_PRIOR_STRENGTH * n / strength) * np.outer(center, center)
    precision = _draw_wishart(np.linalg.inv(inverse), k + n, rng)
    mean = n * center / strength
    root = np.linalg.cholesky(precision)
    return FactorPrior(
        mean + np.linalg.solve(root.T, rng.normal(size=k)) / np.sqrt(strength), precision
    )


def _draw_wishart(scale: np.ndarray, degrees: int, rng: np.random.Generator) -> np.ndarray:
    """A draw by Bartlett's decomposition."""
    k = len(scale)
    root = np.linalg.cholesky((scale + scale.T) / 2)
    triangle = np.tril(rng.normal(size=(k, k)), -1)
    triangle[np.diag_indices(k)] = np.sqrt(rng.chisquare(degrees - np.arange(k)))
    product = root @ triangle
    return product @ product.T


def _draw_factors(
    chunk: Chunk,
    factor: np.ndarray,
    offset: np.ndarray,
    mean: float,
    tau: float,
    prior_mean: np.ndarray,
    prior_precision: np.ndarray,
    seed: int,
) -> np.ndarray:
    """A draw of each row's [x, b], and its squared error with them."""
    entries = chunk_entries(chunk.X, len(factor))
    weights = np.ones(len(entries.indices)) if entries.weights is None else entries.weights
    target = entries.values.astype(np.float64) - mean - offset[entries.indices]
    x = solve_row_systems(
        entries.indptr,
        entries.indices,
        tau * weights,
        tau * weights * target,
        factor,
        precision=prior_precision,
        linear=prior_precision @ prior_mean,
        noise=normals(seed, chunk.first, chunk.rows, factor.shape[1]),
    ).x
    rows = np.repeat(np.arange(len(x)), entries.counts)
    errors = (target - predict_pairs(rows, entries.indices, x, factor)) ** 2
    return np.column_stack([x, np.bincount(rows, weights * errors, minlength=len(x))])
