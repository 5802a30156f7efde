"""The logarithm that fits vector registers, and multiples of a vector added to rows of a table."""

import numpy as np
from numba import njit
from numpy.testing import assert_allclose

from tenfold._compiled.logarithm import fast_log
from tenfold._compiled.row_scatter import add_to_four_rows


def test_the_logarithm_is_that_of_the_c_library():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [np.exp(rng.uniform(-700, 700, 2000)), 1 + rng.normal(size=2000) / 100, [1.0, 0.5, 2.0]]
    )
    assert_allclose([fast_log(value) for value in x], np.log(x), rtol=1e-15, atol=1e-18)
    assert np.isfinite(fast_log(0.0))


@njit
def _scatter(table, places, vector, factors):
    add_to_four_rows(table, places, vector, len(vector), factors)


def test_rows_of_a_table_are_added_to_one_after_the_other():
    rng = np.random.default_rng(0)
    table, vector, factors = rng.normal(size=(6, 16)), rng.normal(size=16), (1.0, -2.0, 0.5, 0.0)
    rows, expected = (4, 1, 4, 5), table.copy()  # one of them twice
    for row, factor in zip(rows, factors, strict=True):
        expected[row] += factor * vector
    _scatter(table.reshape(-1), tuple(16 * row for row in rows), vector, factors)
    assert_allclose(table, expected, rtol=1e-14)
