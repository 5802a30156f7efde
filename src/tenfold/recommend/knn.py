"""Collaborative filtering by nearest neighbors among users or items."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.thread_pool import map_threads
from tenfold.recommend._base import (
    Recommendations,
    Recommender,
    ScoreExplanation,
    check_list_length,
    make_explanation,
    top_places,
)
from tenfold.recommend._entries import SortedEntries, join_weights
from tenfold.recommend._id_codes import find_ids
from tenfold.recommend._neighbors_numba import (
    METRICS,
    collect_neighbors,
    predict_columns,
    predict_rows,
    row_similarities,
)
from tenfold.recommend.als import ALS
from tenfold.recommend.ratings import Ratings, open_ratings


class UserProfile(NamedTuple):
    """What is known about a user: ratings, number (-1: new), usual level and spread."""

    items: np.ndarray
    values: np.ndarray
    code: int
    center: float
    scale: float


class KNNRecommender(RegressorMixin, Recommender):
    r"""Collaborative filtering by nearest neighbors.

    A rating of item i by user a is predicted from the K users most similar to a *who have rated
    i*, or from the K items most similar to i that a has rated:

    .. math::
        \hat r_{ai} = c_a + s_a \frac{\sum_{b \in N} \mathrm{sim}(a, b) (r_{bi} - c_b) / s_b}
        {\sum_{b \in N} |\mathrm{sim}(a, b)|}

    Similarities are taken over what both have rated. They are computed when they are needed, a
    row at a time: there is no table of all pairs.

    Parameters
    ----------
    n_neighbors : int, default=40
        Number K of neighbors.
    by : {"user", "item"}, default="user"
        Whether neighbors are users or items.
    metric : {"cosine", "euclidean", "msd", "pearson"}, default="cosine"
        Similarity: the cosine, 1 / (1 + root mean squared difference), 1 / (1 + mean squared
        difference), or the correlation.
    weights : {"similarity", "uniform"}, default="similarity"
        Whether neighbors count by their similarity or all alike.
    center : {"none", "mean", "zscore", "baseline"}, default="none"
        What is subtracted from ratings before they are averaged: nothing; the mean of the user (or
        item); the mean, and divided by the standard deviation; or mean and biases of users and
        items.
    min_support : int, default=1
        Fewest common ratings of neighbors.
    shrinkage : float, default=0.0
        Similarities of n common ratings are multiplied by n / (n + shrinkage).
    min_similarity : float, default=None
        Neighbors are more similar than this; None admits all, also those of opposite taste.
    n_jobs : int, default=None
        Threads; all by default.

    Attributes
    ----------
    user_ids_, item_ids_ : ndarray
        Ids in ascending order.
    mean_ : float
        Mean of all ratings.
    row_center_, row_scale_ : ndarray
        :math:`c` and :math:`s` of each user, or of each item.
    column_bias_ : ndarray
        Biases of the other side, zeros but for center="baseline".

    See Also
    --------
    ALS : factors, which also find users that are alike in some respects only.

    References
    ----------
    P. Resnick, N. Iacovou, M. Suchak, P. Bergstrom and J. Riedl (1994), GroupLens: an open
    architecture for collaborative filtering of netnews.
    B. Sarwar, G. Karypis, J. Konstan and J. Riedl (2001), Item-based collaborative filtering
    recommendation algorithms.

    Examples
    --------
    >>> from tenfold import KNNRecommender
    >>> Y = [("ann", "Alien", 5), ("ann", "Ran", 1), ("bob", "Alien", 4), ("bob", "Ran", 1)]
    >>> Y += [("bob", "Brazil", 4), ("eve", "Alien", 1), ("eve", "Ran", 5), ("eve", "Brazil", 2)]
    >>> model = KNNRecommender(1, metric="euclidean").fit([y[:2] for y in Y], [y[2] for y in Y])
    >>> model.predict([["ann", "Brazil"]]).tolist()
    [4.0]
    """

    _parameter_constraints: dict[str, Any] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "by": [StrOptions({"user", "item"})],
        "metric": [StrOptions(set(METRICS))],
        "weights": [StrOptions({"similarity", "uniform"})],
        "center": [StrOptions({"none", "mean", "zscore", "baseline"})],
        "min_support": [Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "min_similarity": [None, Real],
        "n_jobs": [None, Integral],
    }
    _learned_shapes = Recommender._learned_shapes | {  # noqa: SLF001
        "rated_users_": "e : index u",
        "rated_values_": "e",
        "rated_starts_": "_",
        "row_center_": "r",
        "row_scale_": "r",
        "column_bias_": "c",
        "mean_": "()",
    }

    def __init__(
        self,
        n_neighbors: int = 40,
        *,
        by: str = "user",
        metric: str = "cosine",
        weights: str = "similarity",
        center: str = "none",
        min_support: int = 1,
        shrinkage: float = 0.0,
        min_similarity: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.by = by
        self.metric = metric
        self.weights = weights
        self.center = center
        self.min_support = min_support
        self.shrinkage = shrinkage
        self.min_similarity = min_similarity
        self.n_jobs = n_jobs

    def _fit_ratings(self, ratings: Ratings, rng: np.random.Generator) -> dict[str, Any]:
        del rng  # nothing is drawn
        entries = ratings.by_user if self.by == "user" else ratings.by_item
        values = ratings.by_user.values.astype(np.float64)
        mean = float(values.mean())
        means, deviations = _row_moments(entries, mean)
        center, scale = np.zeros(len(means)), np.ones(len(means))
        bias = np.zeros(ratings.shape[self.by == "user"])
        if self.center in {"mean", "zscore"}:
            center = means
        if self.center == "zscore":
            scale = np.where(deviations > 0, deviations, values.std() or 1.0)
        if self.center == "baseline":
            model = ALS(0, max_iter=200, tol=1e-6).fit(ratings)
            own, bias = model.user_bias_, model.item_bias_
            own, bias = (own, bias) if self.by == "user" else (bias, own)
            center = mean + own
        return {
            "mean_": mean,
            "row_center_": center,
            "row_scale_": scale,
            "column_bias_": bias,
            "rated_starts_": ratings.by_item.indptr.astype(np.int64),
            "rated_users_": ratings.by_item.indices,
            "rated_values_": ratings.by_item.values,
        }

    def _row_entries(self) -> SortedEntries:
        """Entries of those among whom neighbors are looked for."""
        return self._by_user() if self.by == "user" else self._by_item()

    def _column_entries(self) -> SortedEntries:
        return self._by_item() if self.by == "user" else self._by_user()

    def _by_user(self) -> SortedEntries:
        return SortedEntries(self.seen_starts_, self.seen_items_, self.seen_values_, None)

    def _by_item(self) -> SortedEntries:
        return SortedEntries(self.rated_starts_, self.rated_users_, self.rated_values_, None)

    def _residuals(self, entries: SortedEntries) -> np.ndarray:
        """Standardized values of column entries: what neighbors are averaged over."""
        columns = np.repeat(np.arange(len(entries.counts)), entries.counts)
        rows = entries.indices
        level = self.row_center_[rows] + self.column_bias_[columns]
        return (entries.values - level) / self.row_scale_[rows]

    def _similarities(self, columns: np.ndarray, values: np.ndarray, by: str) -> np.ndarray:
        """Similarity of a user (or item) with these ratings to all users (or items)."""
        entries = self._by_item() if by == "user" else self._by_user()
        n = len(self.user_ids_) if by == "user" else len(self.item_ids_)
        return row_similarities(
            columns,
            values,
            entries.indptr,
            entries.indices,
            entries.values,
            n,
            METRICS[self.metric],
            self.min_support,
            float(self.shrinkage),
        )

    def _options(self) -> tuple[int, float]:
        least = -np.inf if self.min_similarity is None else float(self.min_similarity)
        return self.n_neighbors, least

    def _predict_batch(self, batch: Any) -> np.ndarray:
        """Pairs by rows, each of which looks up its neighbors once."""
        user = find_ids(self.user_ids_, batch.user, "user")
        item = find_ids(self.item_ids_, batch.item, "item")
        row, column = (user, item) if self.by == "user" else (item, user)
        order = np.argsort(row, kind="stable")
        known, starts = np.unique(row[order], return_index=True)
        ends = np.append(starts[1:], len(row))
        entries, columns = self._row_entries(), self._column_entries()
        residuals, values = self._residuals(columns), np.empty(len(row))

        def predict_group(number: int) -> None:
            a, rows = int(known[number]), order[starts[number] : ends[number]]
            answers = np.full(len(rows), np.nan)
            if a >= 0:
                similarity = self._similarities(*entries.row(a), self.by)
                answers = predict_columns(
                    column[rows],
                    similarity,
                    columns.indptr,
                    columns.indices,
                    residuals,
                    *self._options(),
                    a,
                    self.weights == "similarity",
                )
            values[rows] = self._from_residuals(answers, a, column[rows])

        map_threads(predict_group, len(known))
        return values

    def _from_residuals(self, answers: np.ndarray, a: int, columns: np.ndarray) -> np.ndarray:
        """Ratings of a known row (-1: unknown) from the means of its neighbors' residuals."""
        center, scale = (self.row_center_[a], self.row_scale_[a]) if a >= 0 else (self.mean_, 1.0)
        return self._complete(answers, float(center), float(scale), columns)

    def _complete(
        self, answers: np.ndarray, center: float, scale: float, columns: np.ndarray
    ) -> np.ndarray:
        bias = np.where(columns >= 0, self.column_bias_[columns], 0.0)
        without = np.full(len(columns), center if self.center != "none" else self.mean_)
        return np.where(np.isnan(answers), without + bias, center + bias + scale * answers)

    def _profiles(self, codes: np.ndarray) -> list[UserProfile]:
        entries = self._by_user()
        return [
            self._profile(*entries.row(c), int(c)) if c >= 0 else self._profile(*_nothing(), -1)
            for c in codes
        ]

    def _fold_in(self, entries: SortedEntries) -> list[UserProfile]:
        return [self._profile(*entries.row(row), -1) for row in range(len(entries.counts))]

    def _profile(self, items: np.ndarray, values: np.ndarray, code: int) -> UserProfile:
        values = values.astype(np.float64)
        if self.by == "item":
            bias = self.column_bias_[code] if code >= 0 else 0.0
            return UserProfile(items, values, code, float(bias), 1.0)
        if code >= 0:
            level = float(self.row_center_[code]), float(self.row_scale_[code])
            return UserProfile(items, values, code, *level)
        if not len(values) or self.center == "none":
            center = 0.0 if self.center == "none" else self.mean_
            return UserProfile(items, values, code, center, 1.0)
        deviation = float(values.std()) if self.center == "zscore" else 1.0
        center = self.mean_ + float((values - self.mean_ - self.column_bias_[items]).mean())
        return UserProfile(items, values, code, center, deviation or 1.0)

    def _scores(self, profiles: list[UserProfile]) -> np.ndarray:
        scores = np.empty((len(profiles), len(self.item_ids_)))
        columns = self._column_entries()
        residuals = self._residuals(columns) if self.by == "user" else np.empty(0)

        def score(number: int) -> None:
            if self.by == "user":
                scores[number] = self._user_scores(profiles[number], columns, residuals)
            else:
                scores[number] = self._item_scores(profiles[number])

        map_threads(score, len(profiles))
        return scores

    def _user_scores(
        self, profile: UserProfile, columns: SortedEntries, residuals: np.ndarray
    ) -> np.ndarray:
        wanted = np.arange(len(self.item_ids_))
        similarity = self._similarities(profile.items, profile.values, "user")
        answers = predict_columns(
            wanted,
            similarity,
            columns.indptr,
            columns.indices,
            residuals,
            *self._options(),
            profile.code,
            self.weights == "similarity",
        )
        return self._complete(answers, profile.center, profile.scale, wanted)

    def _item_scores(self, profile: UserProfile) -> np.ndarray:
        if not len(profile.items):
            return self.row_center_ + profile.center
        entries = self._row_entries()
        similar = np.array([self._similarities(*entries.row(j), "item") for j in profile.items])
        level = self.row_center_[profile.items] + profile.center
        residuals = (profile.values - level) / self.row_scale_[profile.items]
        answers = predict_rows(
            similar, profile.items, residuals, *self._options(), self.weights == "similarity"
        )
        without = self.row_center_ + profile.center if self.center != "none" else self.mean_
        found = self.row_center_ + profile.center + self.row_scale_ * answers
        return np.where(np.isnan(answers), without, found)

    def _pair_scores(
        self, profiles: list[UserProfile], place: np.ndarray, item: np.ndarray
    ) -> np.ndarray:
        scores = np.column_stack([self._scores(profiles), np.full(len(profiles), self.mean_)])
        return scores[place, item]

    def fold_in(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """A model that also knows these users: neighbors are their ratings, so it is a new fit.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
            All ratings of new users, or of users whose ratings changed.

        Returns
        -------
        fitted model
            A new one; this one is left as it is.
        """
        check_is_fitted(self)
        new = open_ratings(X, y, sample_weight, duplicates=self._duplicates)
        for ids, known, name in (
            (new.users, self.user_ids_, "user"),
            (new.items, self.item_ids_, "item"),
        ):
            find_ids(known, ids, name)  # of the same kind
        old = np.flatnonzero(find_ids(new.users, self.user_ids_, "user") < 0)
        kept, added = self._seen(old), new.by_user
        users = self.user_ids_[old].repeat(kept.counts), new.users.repeat(added.counts)
        items = self.item_ids_[kept.indices], new.items[added.indices]
        table = {"user": users, "item": items, "rating": (kept.values, added.values)}
        weights = join_weights(kept, added)
        model: Any = clone(self)
        columns = {name: np.concatenate(parts) for name, parts in table.items()}
        return model.fit(columns, sample_weight=weights if len(weights) else None)

    def similar_users(self, user: Any, n: int = 10) -> Recommendations:
        """Users with the most similar ratings.

        Parameters
        ----------
        user : id
            The user to start from.
        n : int, default=10
            Number of users.
        """
        check_is_fitted(self)
        return self._most_similar(self.user_ids_, self._by_user(), user, n, "user")

    def similar_items(self, item: Any, n: int = 10) -> Recommendations:
        """Items that the same users rated alike.

        Parameters
        ----------
        item : id
            The item to start from.
        n : int, default=10
            Number of items.
        """
        check_is_fitted(self)
        return self._most_similar(self.item_ids_, self._by_item(), item, n, "item")

    def _most_similar(
        self, ids: np.ndarray, entries: SortedEntries, which: Any, n: int, name: str
    ) -> Recommendations:
        check_list_length(n)
        place = int(find_ids(ids, np.atleast_1d(np.asarray(which)), name)[0])
        if place < 0:
            raise ValueError(f"the {name} {which!r} was not part of the fit")
        similarity = np.nan_to_num(self._similarities(*entries.row(place), name), nan=-np.inf)
        similarity[place] = -np.inf
        best = top_places(similarity[None], min(n, int(np.isfinite(similarity).sum())))[0]
        return Recommendations(ids[best], similarity[best])

    def _explain(
        self, profiles: list[UserProfile], entries: SortedEntries, item: int, n: int
    ) -> ScoreExplanation:
        """Neighbors of the user who rated the item, or the user's items that are like it."""
        profile, k = profiles[0], self.n_neighbors
        if self.by == "user":
            similarity = self._similarities(profile.items, profile.values, "user")
            rows, ratings = self._by_item().row(item)
            level = self.row_center_[rows] + self.column_bias_[item]
            ids, skip, scale = self.user_ids_, profile.code, profile.scale
            base = profile.center + self.column_bias_[item]
        else:
            similarity = self._similarities(*self._by_item().row(item), "item")
            rows, ratings = profile.items, profile.values
            level = self.row_center_[rows] + profile.center
            ids, skip, scale = self.item_ids_, item, self.row_scale_[item]
            base = self.row_center_[item] + profile.center
        residuals = (ratings - level) / self.row_scale_[rows]
        best, number = np.empty((k, 2)), np.empty(k, np.int64)
        least = self._options()[1]
        found = collect_neighbors(similarity, rows, residuals, k, least, skip, best, number)
        weight = best[:found, 0] if self.weights == "similarity" else np.ones(found)
        below = np.abs(weight).sum()
        parts = scale * weight * best[:found, 1] / (below if below > 0 else 1.0)
        given = dict(zip(rows.tolist(), ratings.tolist(), strict=True))
        values = np.array([given[b] for b in number[:found].tolist()])
        score = base + parts.sum() if below > 0 else self._scores(profiles)[0, item]
        base = base if below > 0 else score
        return make_explanation(score, base, ids[number[:found]], values, parts, n)

    def _check_learned(self) -> None:
        super()._check_learned()
        starts = self.rated_starts_
        sides = (len(self.user_ids_), len(self.item_ids_))[:: 1 if self.by == "user" else -1]
        if len(starts) != len(self.item_ids_) + 1 or starts[-1] != len(self.rated_users_):
            raise ValueError("rated_starts_ does not say where the ratings of each item begin")
        if (np.diff(starts) < 0).any() or (len(self.row_center_), len(self.column_bias_)) != sides:
            raise ValueError("centers and biases are not those of users and items")


def _nothing() -> tuple[np.ndarray, np.ndarray]:
    return np.empty(0, np.int32), np.empty(0)


def _row_moments(entries: SortedEntries, mean: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each row; the overall mean for a row without entries."""
    rows = np.repeat(np.arange(len(entries.counts)), entries.counts)
    n = np.maximum(entries.counts, 1)
    total = np.bincount(rows, entries.values, minlength=len(n))
    means = np.where(entries.counts > 0, total / n, mean)
    squares = np.bincount(rows, (entries.values - means[rows]) ** 2, minlength=len(n))
    return means, np.sqrt(squares / n)
