"""Metrics of top lists: precision, recall, NDCG, MAP, hit rate, MRR at k; sums that merge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class RankingTotals(NamedTuple):
    """Sums over users of the metrics of their top lists; `merge` adds those of other users.

    Parameters
    ----------
    n_users : int
        Users with at least one relevant item.
    precision, recall, ndcg, average_precision, hits, reciprocal_rank : float
        Sums over these users.
    """

    n_users: int
    precision: float
    recall: float
    ndcg: float
    average_precision: float
    hits: float
    reciprocal_rank: float

    def merge(self, other: RankingTotals) -> RankingTotals:
        """Totals of the users of both.

        Parameters
        ----------
        other : RankingTotals
            Of other users, with the same k.
        """
        sums = (a + b for a, b in zip(self[1:], other[1:], strict=True))
        return RankingTotals(self.n_users + other.n_users, *sums)

    def values(self) -> dict[str, float]:
        """Means over users; NaN if there are none.

        Returns
        -------
        dict
            "precision", "recall", "ndcg", "map", "hit_rate", "mrr".
        """
        names = "precision", "recall", "ndcg", "map", "hit_rate", "mrr"
        n = self.n_users or np.nan
        return {name: float(total / n) for name, total in zip(names, self[1:], strict=True)}


def ranking_totals(recommended: Any, relevant: Any, k: int = 10) -> RankingTotals:
    r"""Metrics of the first k items of top lists.

    For a user with relevant items R and hits at places h (1 for the first):

    - precision at k: hits / k; recall at k: hits / \|R\|; hit rate: whether there is a hit;
    - NDCG at k: sum 1 / log2(1 + h), divided by the same sum of the best list, min(k, \|R\|) hits
      at the first places;
    - average precision at k: the mean of the precision at the places of hits, over min(k, \|R\|);
    - reciprocal rank: 1 / place of the first hit, 0 without one.

    Parameters
    ----------
    recommended : list of sequences, or array of shape (n_users, >= k)
        Items, best first, each once among the first k; None is no item.
    relevant : list of collections
        Items that each user took.
    k : int, default=10
        Length of the lists; shorter lists count as if the rest were misses.

    Returns
    -------
    RankingTotals
        Users without relevant items are left out.

    Raises
    ------
    ValueError
        If an item is twice among the first k of a list: it would be one hit counted as two.

    Examples
    --------
    >>> totals = ranking_totals([["a", "b", "c"], ["a", "b", "c"]], [{"a", "c"}, {"x"}], k=3)
    >>> {name: round(value, 3) for name, value in totals.values().items()}
    {'precision': 0.333, 'recall': 0.5, 'ndcg': 0.46, 'map': 0.417, 'hit_rate': 0.5, 'mrr': 0.5}
    """
    if k < 1:
        raise ValueError(f"k={k}: a top list has at least one item")
    if len(recommended) != len(relevant):
        raise ValueError(
            f"{len(recommended)} top lists, but relevant items of {len(relevant)} users"
        )
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    sums, n = np.zeros(6), 0
    for number, (items, wanted) in enumerate(zip(recommended, relevant, strict=True)):
        first = items[:k].tolist() if isinstance(items, np.ndarray) else list(items)[:k]
        _check_each_once(first, number)
        wanted_set = set(wanted.tolist() if isinstance(wanted, np.ndarray) else wanted)
        if not wanted_set:
            continue
        n += 1
        hit = np.zeros(k)
        hit[: len(first)] = [item in wanted_set for item in first]
        sums += _user_metrics(hit, len(wanted_set), discount)
    return RankingTotals(n, *(float(total) for total in sums))


def _check_each_once(items: list[Any], number: int) -> None:
    """Refuse a list in which an item comes twice."""
    seen: set[Any] = set()
    for item in items:
        if item in seen:
            raise ValueError(
                f"top list {number} has the item {item!r} twice: list every item once, and None "
                "where there is none"
            )
        if item is not None:
            seen.add(item)


def _user_metrics(hit: np.ndarray, n_relevant: int, discount: np.ndarray) -> np.ndarray:
    k, hits = len(hit), hit.sum()
    best = min(k, n_relevant)
    precision = np.cumsum(hit) / np.arange(1, k + 1)
    first = 1.0 / (1 + np.argmax(hit)) if hits else 0.0
    return np.array(
        [
            hits / k,
            hits / n_relevant,
            (hit @ discount) / discount[:best].sum(),
            (precision @ hit) / best,
            float(hits > 0),
            first,
        ]
    )
