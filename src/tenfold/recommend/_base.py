"""What all recommenders share: ids, what each user has seen, top lists, cold start."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Estimator
from tenfold.base.numerical_errors import check_learned_numbers
from tenfold.engine.hooks import record_data
from tenfold.io.table_opener import open_table
from tenfold.recommend._entries import SortedEntries, count_columns
from tenfold.recommend._id_codes import find_ids
from tenfold.recommend._rating_columns import RatingBatch, read_batches
from tenfold.recommend._thresholds import USERS_PER_BLOCK
from tenfold.recommend.ratings import RatingColumns, Ratings, open_ratings


class Recommendations(NamedTuple):
    """The best items of one user, or of several: then a row for each.

    Parameters
    ----------
    items : ndarray of shape (n,) or (n_users, n)
        Ids, best first. One user for whom fewer items are left has a shorter list; of several,
        such a user has None at the end of the row.
    scores : ndarray of the same shape
        Predicted ratings or preferences; NaN beside None.
    """

    items: np.ndarray
    scores: np.ndarray


class Reason(NamedTuple):
    """Something that speaks for (or against) a recommendation.

    Parameters
    ----------
    item : object
        An item that the user has rated, or a user whose rating counts.
    rating : float
        The rating it got.
    contribution : float
        What it adds to the score.
    """

    item: Any
    rating: float
    contribution: float


class ScoreExplanation(NamedTuple):
    """Why a user gets an item: the score is the base and the sum of all contributions.

    Parameters
    ----------
    score : float
        Predicted rating or preference.
    base : float
        The score without what the user has rated: averages and biases.
    reasons : list of Reason
        The largest contributions, largest first.
    rest : float
        Sum of the contributions that are not among the reasons.
    """

    score: float
    base: float
    reasons: list[Reason]
    rest: float


class Recommender(Estimator):
    """Learns from ratings (user, item, value). Derive from this.

    A model defines `_fit_ratings(ratings, rng)`, which returns learned attributes; `_profiles`
    (what it knows about users, by their numbers), `_fold_in` (the same for users with these
    entries), `_scores(profiles)` of all items, `_pair_scores(profiles, items)` and `_explain`.
    """

    _takes_ratings = True
    _scale_matters = False
    _duplicates = "mean"
    _learned_shapes = {
        "user_ids_": "u : label",
        "item_ids_": "i : label",
        "item_counts_": "i",
        "seen_items_": "e : index i",
        "seen_values_": "e",
        "seen_weights_": "_",
        "seen_starts_": "_",
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        X : table, path, Dask dataframe, array, sparse matrix or Ratings
            Pairs (user, item) with ratings in y; a table or a file with columns for user, item
            and rating; triples; a matrix. See `tenfold.recommend.open_ratings`.
        y : array or column name, optional
            Ratings.
        sample_weight : array or column name, optional
            Weight of each rating; a weight of two is the rating twice.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            ratings = open_ratings(X, y, sample_weight, duplicates=self._duplicates)
            rows = ratings.user_rows()
            record_data(rows.source, rows.engine)
            learned = self._fit_ratings(ratings, self._rng())
            check_learned_numbers(type(self).__name__, learned)
            self._set_learned({**_describe(ratings), **learned})
        return self

    def _fit_ratings(self, ratings: Ratings, rng: np.random.Generator) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} has to define _fit_ratings(ratings, rng)")

    def predict(self, X: Any) -> np.ndarray:
        """Predicted rating, or preference, of each pair (user, item).

        Parameters
        ----------
        X : array of shape (n, 2), table or path
            Pairs; unknown users and items get what is known about the other, or the mean. Words
            where the ids of the fit are numbers, or the reverse, are an error.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        names = RatingColumns()
        with self._work_context():
            parts = [self._predict_batch(batch) for batch in read_batches(X, None, None, names)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _predict_batch(self, batch: RatingBatch) -> np.ndarray:
        user = find_ids(self.user_ids_, batch.user, "user")
        item = find_ids(self.item_ids_, batch.item, "item")
        values = np.empty(len(user))
        order = np.argsort(user, kind="stable")
        known, starts = np.unique(user[order], return_index=True)
        ends = np.append(starts[1:], len(user))
        for first in range(0, len(known), USERS_PER_BLOCK):
            block = slice(first, first + USERS_PER_BLOCK)
            rows = order[starts[block][0] : ends[block][-1]]
            place = np.repeat(np.arange(len(known[block])), ends[block] - starts[block])
            values[rows] = self._pair_scores(self._profiles(known[block]), place, item[rows])
        return values

    def recommend(
        self,
        user: Any = None,
        n: int = 10,
        *,
        ratings: Any = None,
        exclude_seen: bool = True,
        exclude: Any = (),
        among: Any = None,
        popular: bool = False,
    ) -> Recommendations:
        """The best items of a user, or of each of several users.

        Parameters
        ----------
        user : id, or list or array of ids
            Whom to advise. Unknown users get the most popular items, whose scores are the shares
            of users that rated them; ids of another kind (words for numbers) are an error.
        n : int, default=10
            Number of items.
        ratings : dict, item -> rating, or list of items, optional
            Instead of a user: what somebody new has rated, or liked. If that is nothing that the
            model knows, the most popular items are the answer.
        exclude_seen : bool, default=True
            Whether to leave out what the user has rated.
        exclude : item or list of items
            Other items to leave out.
        among : item or list of items, optional
            The only items to choose from.
        popular : bool, default=False
            Whether everybody gets the most popular items, for comparison.

        Returns
        -------
        Recommendations
            `items` and `scores`, best first.
        """
        check_is_fitted(self)
        if (user is None) == (ratings is None):
            raise ValueError("recommend: give a user, or the ratings of somebody new")
        check_list_length(n)
        allowed = self._allowed_items(exclude, among)
        with self._work_context():
            if user is None:
                entries = self._entries_of(ratings)
                seen = entries if exclude_seen else None
                unknown = popular or not len(entries.indices)
                scores = (
                    self._popular_scores(1) if unknown else self._scores(self._fold_in(entries))
                )
                return _first(self._top(scores, seen, n, allowed), self.item_ids_)
            single = np.ndim(user) == 0
            if np.size(user) == 0:
                return Recommendations(np.empty((0, n), self.item_ids_.dtype), np.empty((0, n)))
            codes = find_ids(self.user_ids_, np.atleast_1d(np.asarray(user)), "user")
            found = self._recommend_codes(
                codes, n, allowed, exclude_seen=exclude_seen, popular=popular
            )
        return _first(found, self.item_ids_) if single else found

    def _recommend_codes(
        self, codes: np.ndarray, n: int, allowed: np.ndarray, *, exclude_seen: bool, popular: bool
    ) -> Recommendations:
        parts = []
        for first in range(0, len(codes), USERS_PER_BLOCK):
            block = codes[first : first + USERS_PER_BLOCK]
            seen = self._seen(block) if exclude_seen else None
            scores = (
                self._popular_scores(len(block)) if popular else self._scores(self._profiles(block))
            )
            scores[block < 0] = self._popular_scores(1)[0]
            parts.append(self._top(scores, seen, n, allowed))
        return Recommendations(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _top(
        self, scores: np.ndarray, seen: SortedEntries | None, n: int, allowed: np.ndarray
    ) -> Recommendations:
        """The best allowed items of each row; ties go to the item that comes first."""
        scores[:, ~allowed] = -np.inf
        if seen is not None:
            scores[np.repeat(np.arange(len(scores)), seen.counts), seen.indices] = -np.inf
        order = top_places(scores, min(n, scores.shape[1]))
        best = np.take_along_axis(scores, order, axis=1)
        items = self.item_ids_[order]
        none = best == -np.inf
        if none.any():
            items = items.astype(object)
            items[none], best[none] = None, np.nan
        return Recommendations(items, best)

    def _popular_scores(self, n_users: int) -> np.ndarray:
        """Share of users that rated each item, for each user."""
        share = self.item_counts_ / max(len(self.user_ids_), 1)
        return np.tile(share, (n_users, 1))

    def popular_items(self, n: int = 10) -> Recommendations:
        """The items with most ratings, and the share of users that rated each.

        Parameters
        ----------
        n : int, default=10
            Number of items.
        """
        check_is_fitted(self)
        check_list_length(n)
        everything = np.ones(len(self.item_ids_), bool)
        found = self._top(self._popular_scores(1), None, n, everything)
        return _first(found, self.item_ids_)

    def explain(
        self, user: Any = None, item: Any = None, n: int = 5, *, ratings: Any = None
    ) -> ScoreExplanation:
        """Why a user gets an item: contributions of what the user has rated.

        Parameters
        ----------
        user, item : id
            The recommendation in question.
        n : int, default=5
            Most reasons to name.
        ratings : dict, item -> rating, or list of items, optional
            Instead of a user: what somebody new has rated.

        Returns
        -------
        ScoreExplanation
        """
        check_is_fitted(self)
        if item is None or (user is None) == (ratings is None):
            raise ValueError("explain: give an item, and a user or the ratings of somebody new")
        place = int(find_ids(self.item_ids_, np.atleast_1d(np.asarray(item)), "item")[0])
        if place < 0:
            raise ValueError(f"explain: the item {item!r} was not part of the fit")
        if ratings is None:
            code = int(find_ids(self.user_ids_, np.atleast_1d(np.asarray(user)), "user")[0])
            if code < 0:
                raise ValueError(
                    f"explain: the user {user!r} was not part of the fit; give ratings"
                )
            profiles, entries = self._profiles(np.array([code])), self._seen(np.array([code]))
        else:
            entries = self._entries_of(ratings)
            profiles = self._fold_in(entries)
        return self._explain(profiles, entries, place, n)

    def _allowed_items(self, exclude: Any, among: Any) -> np.ndarray:
        allowed = np.full(len(self.item_ids_), among is None)
        for ids, value in ((among, True), (exclude, False)):
            if ids is None:
                continue
            chosen = [ids] if isinstance(ids, str | Integral) else list(ids)
            if chosen:
                places = find_ids(self.item_ids_, chosen, "item")
                allowed[places[places >= 0]] = value
        return allowed

    def _seen(self, codes: np.ndarray) -> SortedEntries:
        """What these users have rated; nothing for unknown ones."""
        starts = self.seen_starts_
        spans = [slice(starts[c], starts[c + 1]) if c >= 0 else slice(0, 0) for c in codes]
        indptr = np.concatenate([[0], np.cumsum([s.stop - s.start for s in spans])]).astype(int)
        empty = self.seen_items_[:0], self.seen_values_[:0]
        indices = np.concatenate([empty[0], *(self.seen_items_[s] for s in spans)])
        values = np.concatenate([empty[1], *(self.seen_values_[s] for s in spans)])
        weights = self._seen_weights()
        if weights is not None:
            weights = np.concatenate([empty[1], *(weights[s] for s in spans)]).astype(np.float64)
        return SortedEntries(indptr, indices, values.astype(np.float64), weights)

    def _seen_weights(self) -> np.ndarray | None:
        """Weights of what users have rated; None if all are 1 (files of old models have none)."""
        weights = getattr(self, "seen_weights_", np.empty(0))
        return weights if len(weights) else None

    def _entries_of(self, ratings: Any) -> SortedEntries:
        """Ratings of somebody new, without those of unknown items."""
        pairs = dict(ratings) if hasattr(ratings, "keys") else dict.fromkeys(ratings, 1.0)
        places = find_ids(self.item_ids_, list(pairs), "item") if pairs else np.empty(0, int)
        values = np.array([float(v) for v in pairs.values()])
        if not np.isfinite(values).all():
            raise ValueError("ratings must be finite numbers")
        order = np.argsort(places, kind="stable")[int((places < 0).sum()) :]
        indices = places[order].astype(np.int32)
        return SortedEntries(np.array([0, len(order)]), indices, values[order], None)

    def _check_learned(self) -> None:
        starts = self.seen_starts_
        fits = len(starts) == len(self.user_ids_) + 1 and starts[0] == 0
        if not fits or starts[-1] != len(self.seen_items_) or (np.diff(starts) < 0).any():
            raise ValueError("seen_starts_ does not say where the ratings of each user begin")
        weights = self._seen_weights()
        if weights is not None and len(weights) != len(self.seen_items_):
            raise ValueError("seen_weights_ does not have a weight for each rating")

    def _profiles(self, codes: np.ndarray) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define _profiles(codes)")

    def _fold_in(self, entries: SortedEntries) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has to define _fold_in(entries)")

    def _scores(self, profiles: Any) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} has to define _scores(profiles)")

    def _pair_scores(self, profiles: Any, place: np.ndarray, item: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} has to define _pair_scores")

    def _explain(
        self, profiles: Any, entries: SortedEntries, item: int, n: int
    ) -> ScoreExplanation:
        raise NotImplementedError(f"{type(self).__name__} has to define _explain")


def check_list_length(n: Any) -> None:
    """Refuse a number of items that is not whole or not positive."""
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n={n!r}: the number of items in a list is a whole number, at least 1")


def top_places(scores: np.ndarray, n: int) -> np.ndarray:
    """Places of the n largest scores of each row, largest first; equal ones in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> top_places(np.array([[1.0, 3.0, 3.0, 2.0]]), 3).tolist()
    [[1, 2, 3]]
    """
    m = scores.shape[1]
    if not n:
        return np.empty((len(scores), 0), np.intp)
    if n < m:
        bound = np.partition(scores, m - n, axis=1)[:, m - n, None]
        above = scores > bound
        ties = scores == bound
        room = n - above.sum(axis=1, keepdims=True)
        kept = above | (ties & (np.cumsum(ties, axis=1) <= room))
        places = np.nonzero(kept)[1].reshape(len(scores), n)
    else:
        places = np.broadcast_to(np.arange(m), scores.shape)
    order = np.argsort(-np.take_along_axis(scores, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


def make_explanation(
    score: float, base: float, ids: np.ndarray, values: np.ndarray, parts: np.ndarray, n: int
) -> ScoreExplanation:
    """An explanation of the n largest of all contributions."""
    order = np.argsort(-parts, kind="stable")[:n]
    reasons = [Reason(ids[j].item(), float(values[j]), float(parts[j])) for j in order]
    rest = float(parts.sum() - parts[order].sum())
    return ScoreExplanation(float(score), float(base), reasons, rest)


def open_pairs(X: Any) -> np.ndarray:
    """Pairs (user, item) as an array of two columns, for splits and evaluations."""
    if isinstance(X, np.ndarray | list):
        return np.asarray(X)
    table = open_table(X)
    batches = list(read_batches(table, None, None, RatingColumns()))
    from tenfold.recommend._id_codes import as_ids

    columns = [
        np.concatenate([as_ids(getattr(b, name), name) for b in batches])
        for name in ("user", "item")
    ]
    return np.column_stack([c.astype(object) for c in columns])


def _describe(ratings: Ratings) -> dict[str, Any]:
    entries = ratings.by_user
    return {
        "user_ids_": ratings.users,
        "item_ids_": ratings.items,
        "item_counts_": count_columns(entries, len(ratings.items)),
        "seen_starts_": entries.indptr.astype(np.int64),
        "seen_items_": entries.indices,
        "seen_values_": entries.values,
        "seen_weights_": np.empty(0) if entries.weights is None else entries.weights,
    }


def _first(found: Recommendations, ids: np.ndarray) -> Recommendations:
    """The list of the first user, without places that no item is left for."""
    filled = ~np.isnan(found.scores[0])
    return Recommendations(found.items[0][filled].astype(ids.dtype), found.scores[0][filled])
