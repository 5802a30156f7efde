"""Bayesian personalized ranking: factors that put what a user took before what was left."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.row_random import normals, uniforms
from tenfold.optim.convergence import until_converged
from tenfold.recommend._base import ScoreExplanation, make_explanation
from tenfold.recommend._bpr_numba import draw_negatives, drop_liked, place_user, run_epoch
from tenfold.recommend._entries import SortedEntries
from tenfold.recommend._factor_model import FactorRecommender
from tenfold.recommend._half_steps import align_rows
from tenfold.recommend.evaluation import RankingScoreMixin
from tenfold.recommend.ratings import Ratings

_START_SCALE = 0.3  # of the length of the first vectors
_WINDOW = 5  # epochs whose losses are averaged before they are compared
_PLACING_EPOCHS = 100  # steps per item of a new user
_RIDGE = 1e-3  # of the weights that write a user as a sum of items


class BPR(RankingScoreMixin, FactorRecommender):
    r"""Bayesian personalized ranking by stochastic gradient descent.

    .. math::
        -\sum_{u} \sum_{i \in I_u, j \notin I_u} \log \sigma(s_{ui} - s_{uj})
        + \tfrac{\lambda}{2} \|\theta\|^2, \qquad s_{ui} = x_u^\top y_i + c_i

    An epoch takes each pair (u, i) once, in random order, with one random item j that the user
    does not have. What a user has is a pair with a count or a rating above zero; its size does not
    matter. Order and draws depend on the seed alone, and steps are taken one after the
    other: two runs have the same bits, on any number of threads.

    Parameters
    ----------
    n_factors : int, default=32
        Length of the vectors.
    learning_rate : float, default=0.05
        Length of a step.
    regularization : float, default=0.01
        Strength :math:`\lambda` of the penalty.
    negatives : {"uniform", "popular"}, default="uniform"
        How j is drawn: all items alike, or in proportion to their ratings.
    max_iter : int, default=100
        Most epochs.
    tol : float, default=1e-3
        Converged when the mean loss of five epochs differs by at most this share, per epoch, from
        that of the five before.
    n_jobs : int, default=None
        Threads of predictions; all by default.
    random_state : int, RandomState or None, default=None
        Seed of the start, the order and the draws.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray of shape (n_users, n_factors), (n_items, n_factors)
        The vectors.
    item_bias_ : ndarray of shape (n_items,)
        Biases :math:`c_i`.
    ordered_share_ : float
        Share of the pairs of the last epoch that were in the right order: an estimate of the area
        under the ROC curve on the training part.
    n_iter_, converged_, history_ : int, bool, dict
        Epochs, whether the stopping rule was met, mean loss and seconds after each epoch.

    See Also
    --------
    ImplicitALS : all pairs at once, by least squares.

    References
    ----------
    S. Rendle, C. Freudenthaler, Z. Gantner and L. Schmidt-Thieme (2009), BPR: Bayesian personalized
    ranking from implicit feedback.

    Examples
    --------
    >>> from tenfold import BPR
    >>> bought = [[u, i] for u in range(40) for i in range(12) if (u + i) % 2 == 0]
    >>> bought.remove([3, 7])  # even users buy even items, odd users odd ones
    >>> BPR(4, random_state=0).fit(bought).recommend(3, 1).items.tolist()
    [7]
    """

    _duplicates = "sum"
    _parameter_constraints: dict[str, Any] = {
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "regularization": [Interval(Real, 0, None, closed="left")],
        "negatives": [StrOptions({"uniform", "popular"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_factors: int = 32,
        *,
        learning_rate: float = 0.05,
        regularization: float = 0.01,
        negatives: str = "uniform",
        max_iter: int = 100,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.negatives = negatives
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit_ratings(self, ratings: Ratings, rng: np.random.Generator) -> dict[str, Any]:
        (n, m), k = ratings.shape, self.n_factors
        entries, seed = ratings.by_user, int(rng.integers(2**31))
        if not (entries.values > 0).all():
            raise ValueError(
                "BPR takes every pair as liked, but some counts are zero or negative: leave them "
                "out, or take ImplicitALS, for which they say what is not wanted"
            )
        users = np.repeat(np.arange(n, dtype=np.int32), entries.counts)
        start = normals(seed, 0, n + m, k) * (_START_SCALE / np.sqrt(k))
        state = start[:n].copy(), start[n:].copy(), np.zeros(m), np.zeros(3)
        loop = until_converged(state, tol=self.tol, max_iter=self.max_iter)
        steps = self.learning_rate, self.regularization
        for x, y, bias, _ in loop:
            x, y, bias = align_rows(x), align_rows(y), bias.copy()
            draws = np.random.default_rng([seed, loop.n_iter])
            order = draws.permutation(len(users))
            negative = draw_negatives(draws, len(users), self._popularity(ratings), m)
            drop_liked(entries.indptr, entries.indices, negative, m)
            sums = run_epoch(order, negative, users, entries.indices, x, y, bias, *steps)
            if not sums[2]:
                raise ValueError("BPR: every user has every item, so that none is preferred")
            loss = sums[0] / sums[2]
            change = _recent_change([*loop.objectives, loss])
            loop.update((x, y, bias, np.array(sums)), objective=loss, change=change)
        x, y, bias, sums = loop.state
        return {
            "user_factors_": np.ascontiguousarray(x[:, :k]),
            "item_factors_": np.ascontiguousarray(y[:, :k]),
            "user_bias_": np.zeros(n),
            "item_bias_": bias,
            "mean_": 0.0,
            "ordered_share_": float(sums[1] / sums[2]),
            **loop.report,
        }

    def _popularity(self, ratings: Ratings) -> np.ndarray | None:
        return ratings.by_item.counts.astype(float) if self.negatives == "popular" else None

    def _place_users(self, entries: SortedEntries) -> np.ndarray:
        """Vectors of new users by steps with the items as they are; draws belong to the items."""
        m, k = self.item_factors_.shape
        placed = np.zeros((len(entries.counts), k + 1))
        for row, (start, end) in enumerate(
            zip(entries.indptr[:-1], entries.indptr[1:], strict=True)
        ):
            liked = np.ascontiguousarray(entries.indices[start:end])
            draws = uniforms(0, 0, _PLACING_EPOCHS, max(len(liked), 1))
            negative = (draws * m).astype(np.int32)
            x = np.zeros(k)
            place_user(
                liked,
                negative,
                self.item_factors_,
                self.item_bias_,
                x,
                self.learning_rate,
                self.regularization,
            )
            placed[row, :-1] = x
        return placed

    def _explain(
        self, profiles: np.ndarray, entries: SortedEntries, item: int, n: int
    ) -> ScoreExplanation:
        """The user's vector as a sum of those of the user's items; the rest is what that leaves."""
        y = self.item_factors_
        own, x = y[entries.indices], profiles[0, :-2]
        weights = own @ np.linalg.solve(own.T @ own + _RIDGE * np.eye(len(x)), x)
        parts = weights * (own @ y[item])
        score, base = self._scores(profiles)[0, item], self.item_bias_[item]
        ids = self.item_ids_[entries.indices]
        found = make_explanation(score, base, ids, entries.values, parts, n)
        return found._replace(rest=float(score - base - sum(r.contribution for r in found.reasons)))


def _recent_change(losses: list[float]) -> float:
    """Change of the mean loss per epoch, as a share; infinite before there is enough to compare."""
    if len(losses) < 2 * _WINDOW:
        return np.inf
    last, before = np.mean(losses[-_WINDOW:]), np.mean(losses[-2 * _WINDOW : -_WINDOW])
    return float(abs(before - last) / (_WINDOW * before)) if before > 0 else 0.0
