"""Systems of rows against NumPy: every width, gaps, priors, draws, covariances, the other side."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tenfold._compiled.row_systems import (
    add_column_systems,
    observed_entries,
    solve_packed_systems,
    solve_row_systems,
)

CALM = settings(max_examples=40, deadline=None)


def problem(seed, n=7, p=90, k=5):
    """Random entries: row 0 is empty, the last row has all columns."""
    rng = np.random.default_rng(seed)
    counts = np.minimum(rng.integers(0, p, n), p)
    counts[0], counts[-1] = 0, p
    indptr = np.concatenate([[0], counts.cumsum()])
    indices = np.concatenate([np.sort(rng.permutation(p)[:c]) for c in counts]).astype(np.int32)
    weight, moment = rng.uniform(0, 2, indptr[-1]), rng.normal(size=indptr[-1])
    return indptr, indices, weight, moment, rng.normal(size=(p, k)), rng


def dense_systems(indptr, indices, weight, moment, Y, ridge, P, h):
    for i in range(len(indptr) - 1):
        e = slice(indptr[i], indptr[i + 1])
        y = Y[indices[e]]
        A = (y.T * weight[e]) @ y + P + ridge * np.eye(Y.shape[1])
        yield A, y.T @ moment[e] + h


@CALM
@given(st.integers(0, 1000), st.integers(1, 40))
def test_solutions_covariances_and_determinants_are_those_of_numpy(seed, k):
    *entries, Y, rng = problem(seed, k=k)
    root = rng.normal(size=(k, k))
    P, h = root @ root.T, rng.normal(size=k)
    found = solve_row_systems(*entries, Y, ridge=0.5, precision=P, linear=h, covariance=True)
    for i, (A, b) in enumerate(dense_systems(*entries, Y, 0.5, P, h)):
        assert_allclose(found.x[i], np.linalg.solve(A, b), rtol=1e-7, atol=1e-9)
        assert_allclose(found.covariance[i], np.linalg.inv(A), rtol=1e-6, atol=1e-9)
        assert_allclose(found.log_determinant[i], np.linalg.slogdet(A)[1], rtol=1e-9, atol=1e-9)


def test_no_weights_are_weights_of_one_and_each_row_may_have_its_own_ridge():
    indptr, indices, weight, moment, Y, rng = problem(3)
    ridge = rng.uniform(1, 2, 7)
    plain = solve_row_systems(indptr, indices, None, moment, Y, ridge=ridge).x
    ones = solve_row_systems(indptr, indices, np.ones_like(weight), moment, Y, ridge=ridge).x
    assert_array_equal(plain, ones)
    for i, lam in enumerate(ridge):
        one = solve_row_systems(indptr, indices, None, moment, Y, ridge=lam).x
        assert_array_equal(plain[i], one[i])


def test_a_row_has_the_same_bits_alone_and_among_others():
    indptr, indices, weight, moment, Y, _ = problem(4, n=20, k=17)
    whole = solve_row_systems(indptr, indices, weight, moment, Y, ridge=1.0).x
    for i in range(20):
        e = slice(indptr[i], indptr[i + 1])
        alone = solve_row_systems(
            np.array([0, e.stop - e.start]), indices[e], weight[e], moment[e], Y, ridge=1.0
        )
        assert_array_equal(whole[i], alone.x[0])


def test_dense_rows_with_gaps_are_rows_with_the_entries_that_are_there():
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(6, 8)), rng.normal(size=(8, 3))
    X[rng.random(X.shape) < 0.4] = np.nan
    indptr, indices, values = observed_entries(X)
    x = solve_row_systems(indptr, indices, None, values, Y, ridge=0.1).x
    for i, row in enumerate(X):
        there = ~np.isnan(row)
        A = Y[there].T @ Y[there] + 0.1 * np.eye(3)
        assert_allclose(x[i], np.linalg.solve(A, Y[there].T @ row[there]), rtol=1e-9)


def test_draws_have_the_posterior_mean_and_covariance():
    rng = np.random.default_rng(6)
    Y, r = rng.normal(size=(4, 2)), rng.normal(size=4)
    n = 40_000
    indptr, indices = 4 * np.arange(n + 1), np.tile(np.arange(4, dtype=np.int32), n)
    noise = rng.normal(size=(n, 2))
    draws = solve_row_systems(indptr, indices, None, np.tile(r, n), Y, ridge=1.0, noise=noise).x
    A = Y.T @ Y + np.eye(2)
    assert_allclose(draws.mean(axis=0), np.linalg.solve(A, Y.T @ r), atol=0.02)
    assert_allclose(np.cov(draws.T), np.linalg.inv(A), atol=0.02)


@pytest.mark.parametrize("with_covariance", [False, True])
def test_systems_of_columns_added_by_rows_are_those_of_the_transposed_entries(with_covariance):
    indptr, indices, weight, moment, _, rng = problem(7, n=9, p=12)
    x, k, p = rng.normal(size=(9, 4)), 4, 12
    C = rng.normal(size=(9, k, k)) if with_covariance else None
    C = None if C is None else C @ C.transpose(0, 2, 1)
    squares, moments = np.zeros((p, k * (k + 1) // 2)), np.zeros((p, k))
    add_column_systems(indptr, indices, weight, moment, x, C, squares, moments)
    found = solve_packed_systems(squares, moments, ridge=0.3)
    row = np.repeat(np.arange(9), np.diff(indptr))
    for j in range(p):
        e = indices == j
        A = (x[row[e]].T * weight[e]) @ x[row[e]] + 0.3 * np.eye(k)
        A += 0 if C is None else np.einsum("e,eab->ab", weight[e], C[row[e]])
        assert_allclose(found[j], np.linalg.solve(A, x[row[e]].T @ moment[e]), rtol=1e-8)


def test_a_system_without_a_unique_solution_names_its_row_and_the_cure():
    Y = np.ones((2, 2))
    with pytest.raises(np.linalg.LinAlgError, match=r"row 1 is not positive definite.*ridge"):
        solve_row_systems(
            np.array([0, 1, 1]),
            np.array([0], np.int32),
            None,
            np.ones(1),
            Y,
            ridge=np.array([1, 0.0]),
        )
    with pytest.raises(np.linalg.LinAlgError, match="row 0"):
        solve_packed_systems(np.full((1, 3), np.nan), np.zeros((1, 2)))
