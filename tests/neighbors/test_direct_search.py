"""The search by NumPy alone finds what an index finds, ties included."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tenfold.gaussian_process._vecchia import neighbors_before
from tenfold.neighbors._direct_search import nearest_directly
from tenfold.neighbors._row_index import RowIndex


def drawn(kind, n, d):
    rng = np.random.default_rng(n + d)
    return rng.integers(0, 3, (n, d)).astype(float) if kind == "ties" else rng.normal(size=(n, d))


@pytest.mark.parametrize("kind", ["ties", "normal"])
@pytest.mark.parametrize("d", [1, 3, 20])
def test_it_has_the_bits_of_an_index(kind, d):
    X = drawn(kind, 300, d)
    found, expected = nearest_directly(X, X[:40], 7), RowIndex(X).nearest(X[:40], 7, reduced=True)
    assert_array_equal(found.rows, expected.rows)
    assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("kind", ["ties", "normal"])
def test_rows_that_come_later_are_left_out(kind):
    X, before = drawn(kind, 200, 3), np.array([5, 17, 100, 199])
    found = nearest_directly(X, X[before], 5, before)
    for place, i in enumerate(before):
        assert_array_equal(found.rows[place], nearest_directly(X[:i], X[i : i + 1], 5).rows[0])


@pytest.mark.parametrize("kind", ["ties", "normal"])
def test_neighbors_before_do_not_depend_on_the_way(kind, monkeypatch):
    X = drawn(kind, 700, 4)
    sets, counts = neighbors_before(X, 9)
    monkeypatch.setattr("tenfold.gaussian_process._vecchia.DIRECT_ROWS", 100)
    others, other_counts = neighbors_before(X, 9)
    assert_array_equal(sets, others)
    assert_array_equal(counts, other_counts)
