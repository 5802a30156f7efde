"""Evaluation of top lists on ratings that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.metrics.recommendation import RankingTotals, ranking_totals
from tenfold.recommend._base import check_list_length
from tenfold.recommend._id_codes import find_ids
from tenfold.recommend._thresholds import USERS_PER_BLOCK
from tenfold.recommend.ratings import open_ratings


def evaluate_ranking(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    k: int = 10,
    threshold: float | None = None,
    popular: bool = False,
) -> RankingTotals:
    """Precision, recall, NDCG and MAP of the top lists of all users in held-out ratings.

    What a user rated in the training part is left out of the list.

    Parameters
    ----------
    model : recommender
        A fitted one.
    X, y : as for `fit`
        Held-out ratings. Ids of another kind than those of the fit (words for numbers) are an
        error; unknown ones are not.
    k : int, default=10
        Length of the lists.
    threshold : float, optional
        Smallest rating of a relevant item; by default every item in X is relevant.
    popular : bool, default=False
        Evaluate lists of the most popular items instead: what the model has to beat.

    Returns
    -------
    RankingTotals
        Sums over users that merge with those of other users; `values()` are the metrics.

    Examples
    --------
    >>> from tenfold import ImplicitALS
    >>> from tenfold.recommend import evaluate_ranking
    >>> pairs = [[u, i] for u in range(30) for i in range(10) if (u + i) % 2]
    >>> held_out = [[0, 1], [2, 3]]
    >>> train = [pair for pair in pairs if pair not in held_out]
    >>> model = ImplicitALS(4, random_state=0).fit(train)
    >>> evaluate_ranking(model, held_out, k=1).values()["precision"]
    1.0
    """
    check_is_fitted(model)
    ratings = open_ratings(X, y)
    find_ids(model.item_ids_, ratings.items, "item")  # an error if none of them can be known
    entries, totals = ratings.by_user, ranking_totals([], [], k)
    for first in range(0, len(ratings.users), USERS_PER_BLOCK):
        block = np.arange(first, min(first + USERS_PER_BLOCK, len(ratings.users)))
        relevant = []
        for user in block.tolist():
            items, values = entries.row(user)
            kept = slice(None) if threshold is None else values >= threshold
            relevant.append(ratings.items[items[kept]].tolist())
        lists = model.recommend(ratings.users[block], k, popular=popular).items
        part = ranking_totals([row.tolist() for row in lists], relevant, k)
        totals = totals.merge(part)
    return totals


def most_popular(X: Any, y: Any = None, n: int = 10) -> list[Any]:
    """The items with most ratings, most first: the list that every recommender must beat.

    Parameters
    ----------
    X, y : as for `fit`
        Ratings.
    n : int, default=10
        Number of items.

    Examples
    --------
    >>> most_popular([["ann", "Ran"], ["bob", "Ran"], ["bob", "Alien"]], n=1)
    ['Ran']
    """
    check_list_length(n)
    ratings = open_ratings(X, y)
    order = np.argsort(-ratings.by_item.counts, kind="stable")[:n]
    return ratings.items[order].tolist()


class RankingScoreMixin:
    """The score of a recommender of implicit feedback: NDCG at 10 on held-out pairs."""

    def score(self, X: Any, y: Any = None) -> float:
        """Mean NDCG of the first ten items that each user in X has not seen in the fit.

        Parameters
        ----------
        X, y : as for `fit`
            Held-out pairs.
        """
        return evaluate_ranking(self, X, y).values()["ndcg"]
