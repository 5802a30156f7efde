"""Searches whose results exceed memory are refused, and work in blocks that fit."""

import tracemalloc
from unittest import mock

import numpy as np
import pytest

from tenfold import (
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
@pytest.mark.parametrize("metric", ["euclidean", "canberra"])
def test_a_radius_with_too_many_neighbors_is_refused(algorithm, metric):
    X = np.random.default_rng(0).random((3000, 1))
    algorithm = algorithm if metric == "euclidean" else "brute"
    search = NearestNeighbors(radius=1e9, algorithm=algorithm, metric=metric).fit(X)
    with mock.patch("tenfold.neighbors._searches.available_memory", return_value=float(2**26)):
        for method in (search.radius_neighbors, search.radius_neighbors_graph):
            with pytest.raises(MemoryError, match=r"neighbors lie .*smaller radius, .*batches"):
                method(X)
        assert len(search.radius_neighbors(X[:50])[1]) == 50


def test_too_many_neighbors_are_refused():
    search = NearestNeighbors().fit(np.zeros((200, 1)))
    with (
        mock.patch("tenfold.engine.memory.available_memory", return_value=1.0),
        mock.patch("tenfold.engine.memory._GIB", 1),
        pytest.raises(MemoryError, match=r"150 neighbors of each of 200 queries.*batches"),
    ):
        search.kneighbors(None, 150)


@pytest.mark.parametrize("metric", ["euclidean", "canberra", "nan_euclidean"])
def test_blocks_do_not_change_radius_neighbors(metric):
    rng = np.random.default_rng(1)
    X, y = rng.integers(1, 9, (400, 3)).astype(float), rng.integers(0, 3, 400)
    radii = rng.random(400) * 3

    def results():
        search = NearestNeighbors(radius=1.5, metric=metric).fit(X)
        lists = [search.radius_neighbors(X, sort_results=sort) for sort in (False, True)]
        lists.append(search.radius_neighbors(X, radii))
        models = (
            RadiusNeighborsClassifier(2.0, metric=metric),
            RadiusNeighborsRegressor(2.0, metric=metric),
        )
        return [
            *(np.concatenate(part) for pair in lists for part in pair),
            *(model.fit(X, y).predict(X) for model in models),
        ]

    whole = results()
    with mock.patch("tenfold.neighbors._votes.NEIGHBORS_PER_BLOCK", 700):
        assert all(map(np.array_equal, whole, results()))


def test_radius_search_holds_its_result_once():
    X = np.random.default_rng(2).random((3000, 1))
    search = NearestNeighbors(radius=2.0).fit(X)
    search.radius_neighbors(X[:10])
    with mock.patch("tenfold.neighbors._votes.NEIGHBORS_PER_BLOCK", 2**18):
        tracemalloc.start()
        lists = search.radius_neighbors(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert sum(map(len, lists[1])) == 9_000_000
    assert peak < 1.5 * 16 * 9_000_000
