"""Recommenders that give each user and each item a vector: score = mean + biases + x'y."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tenfold.recommend._base import Recommendations, Recommender, check_list_length, top_places
from tenfold.recommend._entries import SortedEntries, join_weights
from tenfold.recommend._half_steps import predict_pairs
from tenfold.recommend._id_codes import find_ids
from tenfold.recommend.ratings import open_ratings


class FactorRecommender(Recommender):
    r"""Scores :math:`\mu + b_u + c_i + x_u^\top y_i`.

    A model learns `user_factors_`, `item_factors_`, `user_bias_`, `item_bias_` and `mean_`, and
    defines `_place_users(entries)`: rows [x_u, b_u] of users with these ratings.
    """

    _learned_shapes = Recommender._learned_shapes | {  # noqa: SLF001
        "user_factors_": "u f",
        "item_factors_": "i f",
        "user_bias_": "u",
        "item_bias_": "i",
        "mean_": "()",
    }

    def _place_users(self, entries: SortedEntries) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} has to define _place_users(entries)")

    def fold_in(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """A model that also knows these users; items and everybody else stay as they are.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
            All ratings of new users, or of users whose ratings changed. Ratings of items that
            were not part of the fit are left out.

        Returns
        -------
        fitted model
            A new one; this one is left as it is.
        """
        check_is_fitted(self)
        ratings = open_ratings(X, y, sample_weight, duplicates=self._duplicates)
        entries = _onto_items(ratings, self.item_ids_)
        with self._work_context():
            placed = self._place_users(entries)
        model: Any = clone(self)
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(model, name, value)
        model._add_users(ratings.users, entries, placed)  # noqa: SLF001 - of the same class
        return model

    def _add_users(self, users: np.ndarray, entries: SortedEntries, placed: np.ndarray) -> None:
        if (users.dtype.kind == "U") != (self.user_ids_.dtype.kind == "U"):
            raise ValueError("fold_in: user ids are numbers in one table and words in the other")
        old = find_ids(users, self.user_ids_, "user") < 0  # those who stay as they are
        ids = np.concatenate([self.user_ids_[old], users])
        order = np.argsort(ids, kind="stable")
        kept = self._seen(np.flatnonzero(old))
        counts = np.concatenate([kept.counts, entries.counts])
        values = np.concatenate([kept.values, entries.values])
        weights = join_weights(kept, entries)
        items = np.concatenate([kept.indices, entries.indices])
        starts = np.concatenate([[0], counts.cumsum()])
        spans = np.concatenate([np.arange(int(starts[i]), int(starts[i + 1])) for i in order])
        self.user_ids_ = ids[order]
        self.seen_starts_ = np.concatenate([[0], counts[order].cumsum()])
        self.seen_items_, self.seen_values_ = items[spans], values[spans]
        self.seen_weights_ = weights[spans] if len(weights) else weights
        self.item_counts_ = np.bincount(items, minlength=len(self.item_ids_)).astype(float)
        joint = np.concatenate([self.user_factors_[old], placed[:, :-1]])
        self.user_factors_ = joint[order]
        self.user_bias_ = np.concatenate([self.user_bias_[old], placed[:, -1]])[order]

    def _profiles(self, codes: np.ndarray) -> np.ndarray:
        """Rows [x_u, b_u, 1]; an unknown user has no taste and no bias."""
        known = codes >= 0
        profiles = np.zeros((len(codes), self.user_factors_.shape[1] + 2))
        profiles[known, :-2] = self.user_factors_[codes[known]]
        profiles[known, -2] = self.user_bias_[codes[known]]
        profiles[:, -1] = 1.0
        return profiles

    def _fold_in(self, entries: SortedEntries) -> np.ndarray:
        placed = self._place_users(entries)
        return np.column_stack([placed, np.ones(len(placed))])

    def _item_rows(self) -> np.ndarray:
        """Rows [y_i, 1, c_i]."""
        return np.column_stack([self.item_factors_, np.ones(len(self.item_ids_)), self.item_bias_])

    def _scores(self, profiles: np.ndarray) -> np.ndarray:
        return profiles @ self._item_rows().T + self.mean_

    def _pair_scores(self, profiles: np.ndarray, place: np.ndarray, item: np.ndarray) -> np.ndarray:
        unknown = np.zeros(profiles.shape[1])
        unknown[-2] = 1.0  # an item that nobody rated has the user's bias alone
        items = np.vstack([self._item_rows(), unknown])
        return self.mean_ + predict_pairs(
            place, np.where(item < 0, len(items) - 1, item), profiles, items
        )

    def similar_items(self, item: Any, n: int = 10) -> Recommendations:
        """Items whose vectors point the same way, by the cosine between them.

        Parameters
        ----------
        item : id
            The item to start from.
        n : int, default=10
            Number of items.
        """
        check_is_fitted(self)
        return _most_similar(self.item_factors_, self.item_ids_, item, n, "item")

    def similar_users(self, user: Any, n: int = 10) -> Recommendations:
        """Users whose vectors point the same way, by the cosine between them.

        Parameters
        ----------
        user : id
            The user to start from.
        n : int, default=10
            Number of users.
        """
        check_is_fitted(self)
        return _most_similar(self.user_factors_, self.user_ids_, user, n, "user")


def _most_similar(
    vectors: np.ndarray, ids: np.ndarray, which: Any, n: int, name: str
) -> Recommendations:
    check_list_length(n)
    place = int(find_ids(ids, np.atleast_1d(np.asarray(which)), name)[0])
    if place < 0:
        raise ValueError(f"the {name} {which!r} was not part of the fit")
    lengths = np.sqrt((vectors**2).sum(axis=1))
    safe = np.where(lengths > 0, lengths, 1.0)
    cosine = (vectors @ vectors[place]) / (safe * safe[place])
    cosine[place] = -np.inf
    best = top_places(cosine[None], min(n, len(ids) - 1))[0]
    return Recommendations(ids[best], cosine[best])


def _onto_items(ratings: Any, item_ids: np.ndarray) -> SortedEntries:
    """The entries of known items, in the numbers of the fit."""
    place = find_ids(item_ids, ratings.items, "item")
    entries = ratings.by_user
    columns = place[entries.indices]
    known = columns >= 0
    rows = np.repeat(np.arange(len(ratings.users)), entries.counts)[known]
    counts = np.bincount(rows, minlength=len(ratings.users))
    weights = None if entries.weights is None else entries.weights[known]
    indptr = np.concatenate([[0], counts.cumsum()])
    values = entries.values[known].astype(np.float64)
    return SortedEntries(indptr, columns[known].astype(np.int32), values, weights)
