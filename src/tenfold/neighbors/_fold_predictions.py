"""Predictions of every row by the other folds, for every number of neighbors, from one search."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from tenfold.engine.rows import Rows
from tenfold.neighbors._base import nearest_of_chunk
from tenfold.neighbors._metric_space import effective_metric
from tenfold.neighbors._row_index import RowIndex
from tenfold.neighbors._stored_rows import NeighborRows
from tenfold.neighbors._votes import (
    NeighborSearch,
    WeightedNeighbors,
    class_shares,
    vote_weights,
    winning_classes,
)

_SEARCH_PARAMS = ("metric", "p", "metric_params")  # a candidate that changes others shares a search


def neighbors_by_fold(
    model: Any, rows: Rows, s: NeighborRows, fold: np.ndarray, settings: list[dict]
) -> list[tuple[Any, WeightedNeighbors]] | None:
    """For each candidate its parameters and the neighbors of all rows outside of their own fold.

    Parameters
    ----------
    model : KNeighborsClassifier or KNeighborsRegressor
        The model whose parameters are changed.
    rows, s : the rows, and the same in memory
    fold : (n,) number of the fold that each row is tested in
    settings : list of dicts of parameters

    Returns
    -------
    None if some candidate needs a search of its own in each fold.
    """
    models = [copy(model).set_params(**params) for params in settings]
    smallest = s.n_rows - int(np.bincount(fold).max())
    for each in models:
        each._validate_params()  # noqa: SLF001
        metric, params = effective_metric(each.metric, each.p, each.metric_params)
        learns = metric in ("seuclidean", "mahalanobis") and not params
        if learns or metric == "precomputed" or each.n_neighbors > smallest:
            return None
    searches: dict[str, Bunch] = {}
    for each in models:
        key = repr([getattr(each, name) for name in _SEARCH_PARAMS])
        found = searches.setdefault(key, Bunch(model=each, k=0))
        found.k = max(found.k, each.n_neighbors)
    for found in searches.values():
        found.neighbors = _search(found.model, rows, s, fold, found.k)
    result = []
    for each in models:
        key = repr([getattr(each, name) for name in _SEARCH_PARAMS])
        near, k = searches[key].neighbors, each.n_neighbors
        result.append((each, WeightedNeighbors(near.distances[:, :k], near.rows[:, :k])))
    return result


def _search(model: Any, rows: Rows, s: NeighborRows, fold: np.ndarray, k: int) -> WeightedNeighbors:
    """The k nearest rows of each row outside of its own fold."""
    metric, params = effective_metric(model.metric, model.p, model.metric_params)
    index = RowIndex(s.X, metric, params, model.algorithm, model.leaf_size)
    codes = fold.astype(np.int64)
    search = NeighborSearch(index, k, row_codes=codes, query_codes=codes)
    queries = Rows(rows.source, engine=rows.engine, allow_nan=rows.allow_nan)
    found = queries.with_chunk_rows(1024).each(nearest_of_chunk, search)
    return WeightedNeighbors(*map(np.ascontiguousarray, (found["distance"], found["row"])))


def votes_of_candidates(
    candidates: list[tuple[Any, WeightedNeighbors]], y: np.ndarray, n_classes: int, wants: str
) -> Iterator[np.ndarray]:
    """Classes (n,) or shares of classes (n, n_classes) for each candidate.

    Votes of candidates that differ in the number of neighbors alone are counted on.

    Parameters
    ----------
    candidates : pairs of a model and the neighbors of all rows
    y : (n,) class numbers
    n_classes : int
    wants : {"labels", "probabilities"}
    """
    order = sorted(range(len(candidates)), key=lambda i: candidates[i][0].n_neighbors)
    keys = [
        repr([getattr(model, name) for name in (*_SEARCH_PARAMS, "weights")])
        for model, _ in candidates
    ]
    widest = {keys[i]: i for i in order}
    ballots: dict[str, _Votes] = {}
    results: dict[int, np.ndarray] = {}
    for i in order:
        model, found = candidates[i]
        if callable(model.weights):  # may depend on all distances together
            ballot = _Votes(model, found, y, n_classes)
        else:
            if keys[i] not in ballots:
                ballots[keys[i]] = _Votes(*candidates[widest[keys[i]]], y, n_classes)
            ballot = ballots[keys[i]]
        votes = ballot.count(model.n_neighbors)
        if wants == "labels":
            labels = ballot.labels[:, : model.n_neighbors]
            results[i] = winning_classes(votes, labels, found, model.tie_break)
        else:
            results[i] = votes / votes.sum(axis=1, keepdims=True)
    return (results[i] for i in range(len(candidates)))


class _Votes:
    """The votes of ever more neighbors; weights are those of the most neighbors."""

    def __init__(self, model: Any, found: WeightedNeighbors, y: np.ndarray, n_classes: int) -> None:
        self.labels, self.weights = y[found.rows], vote_weights(found, model.weights)
        self.votes, self.counted = np.zeros((len(y), n_classes)), 0

    def count(self, k: int) -> np.ndarray:
        """Sums of the weights of each class among k neighbors, no fewer than were counted."""
        new = slice(self.counted, k)
        class_shares(self.labels[:, new], self.weights[:, new], self.votes)
        self.counted = k
        return self.votes
