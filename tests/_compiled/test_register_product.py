"""Matrix products by tiles against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold._compiled.register_product import tiled_matmul


@njit(**ENTRY_OPTIONS)
def multiply(a, a_at, a_transposed, b, b_at, b_transposed, c, c_at, m, k, n):
    tiled_matmul(a, a_at, a_transposed, b, b_at, b_transposed, c, c_at, m, k, n)


def drawn(shape, dtype, *, transposed):
    """A matrix, and three numbers followed by its entries as they are stored."""
    matrix = np.random.default_rng([*shape]).normal(size=shape).astype(dtype)
    stored = (matrix.T if transposed else matrix).ravel()
    return matrix, np.concatenate([np.full(3, np.nan, dtype), stored])


def product(A, B, *, transposed=(False, False)):
    """The product of stored matrices, with five numbers around the result that must stay."""
    (matrix_a, a), (matrix_b, b) = A, B
    (m, k), n = matrix_a.shape, matrix_b.shape[1]
    c = np.full(m * n + 10, -7, a.dtype)
    multiply(a, 3, transposed[0], b, 3, transposed[1], c, 5, m, k, n)
    assert_array_equal(c[[*range(5), *range(-5, 0)]], -7)
    return c[5:-5].reshape(m, n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1), (4, 3, 16), (5, 7, 17), (3, 0, 20), (9, 20, 64), (31, 33, 80), (8, 5, 135)],
)
def test_the_product_is_that_of_the_definition(sizes, transposed, dtype):
    m, k, n = sizes
    A = drawn((m, k), dtype, transposed=transposed[0])
    B = drawn((k, n), dtype, transposed=transposed[1])
    expected = A[0].astype(np.longdouble) @ B[0].astype(np.longdouble)
    found = product(A, B, transposed=transposed)
    assert_allclose(found, expected, rtol=0, atol=8 * (k + 1) * np.finfo(dtype).eps)


@pytest.mark.parametrize("transposed", [False, True])
def test_sums_too_long_for_tiles_are_right(transposed):
    A = drawn((3, 5000), np.float64, transposed=transposed)
    B = drawn((5000, 20), np.float64, transposed=False)
    assert_allclose(product(A, B, transposed=(transposed, False)), A[0] @ B[0], atol=1e-10)


def test_the_bits_of_a_row_do_not_depend_on_other_rows_and_columns():
    A, B = (drawn(shape, np.float32, transposed=False) for shape in [(23, 50), (50, 90)])
    whole = product(A, B)
    for i in (0, 3, 4, 20, 22):
        row = A[0][i : i + 1]
        alone = product((row, np.concatenate([A[1][:3], row.ravel()])), B)
        assert_array_equal(alone[0], whole[i])
    some = np.ascontiguousarray(B[0][:, :40])
    fewer = product(A, (some, np.concatenate([B[1][:3], some.ravel()])))
    assert_array_equal(fewer, whole[:, :40])


def test_numbers_that_are_none_stay_in_their_rows():
    A, B = (drawn(shape, np.float32, transposed=False) for shape in [(6, 10), (10, 70)])
    A[1][3 + 20] = np.nan
    found = product(A, B)
    assert np.isnan(found[2]).all()
    assert np.isfinite(np.delete(found, 2, axis=0)).all()
