"""Pseudo-inverses, orthonormal columns, eigenvectors and series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.teaching import linear_algebra
from tenfold.teaching.geometry import norm
from tenfold.teaching.linear_algebra import (
    cyclic_traces,
    geometric_series,
    gram_schmidt,
    penrose_conditions,
    pseudo_inverse,
    spectral_theorem,
)
from tests.math.vectors import CALM, RNG, matrices


@CALM
@given(matrices())
def test_pseudo_inverse(A):
    B = pseudo_inverse(A)  # 001 1-03, 002 E44, 004 2-13
    assert_allclose(B, np.linalg.pinv(A), atol=1e-9)
    assert penrose_conditions(A, B).are_satisfied()
    if A.any():
        assert not penrose_conditions(A, B + 0.01).are_satisfied()  # it is the only one
    if np.linalg.matrix_rank(A) == A.shape[1]:
        assert_allclose(B @ A, np.eye(A.shape[1]), atol=1e-9)
        assert_allclose(B, np.linalg.solve(A.T @ A, A.T), atol=1e-7)
        if A.shape[0] == A.shape[1]:
            assert_allclose(B, np.linalg.inv(A), atol=1e-9)


def test_each_penrose_condition_is_told_apart():
    A = np.array([[1.0, 0], [0, 0]])
    assert penrose_conditions(A, np.array([[2.0, 0], [0, 0]])).aba == 1
    assert penrose_conditions(A, np.array([[1.0, 0], [0, 1]])).bab == 1
    assert penrose_conditions(A, np.array([[1.0, 1], [0, 0]]))[:3] == (0, 0, 1)
    assert penrose_conditions(A, np.array([[1.0, 0], [1, 0]])) == (0, 0, 0, 1)


def test_pseudo_inverse_is_the_shortest_solution():
    A, b = RNG.normal(size=(3, 6)), RNG.normal(size=3)
    x = pseudo_inverse(A) @ b
    assert_allclose(A @ x, b)
    other = x + 0.1 * np.linalg.svd(A)[2][-1]
    assert_allclose(A @ other, b)
    assert norm(other) > norm(x)
    assert pseudo_inverse(A.astype(np.float32)).dtype == np.float32


@CALM
@given(matrices())
def test_gram_schmidt(A):
    Q, R, kept = gram_schmidt(A)
    assert len(kept) == np.linalg.matrix_rank(A) == Q.shape[1]
    assert_allclose(Q.T @ Q, np.eye(len(kept)), atol=1e-12)
    assert_allclose(Q @ R, A, atol=1e-10)
    for r in range(1, len(kept) + 1):  # each beginning spans the same
        head = A[:, kept[:r]]
        assert_allclose(Q[:, :r] @ (Q[:, :r].T @ head), head, atol=1e-9)
    assert_allclose(np.tril(R[:, kept], -1), 0, atol=1e-12)
    assert (R[:, kept].diagonal() > 0).all()


def test_gram_schmidt_of_nearly_parallel_columns():
    A = np.vstack([np.ones(4), 1e-7 * np.eye(4)])  # plain Gram-Schmidt fails on Laeuchli's matrix
    Q = gram_schmidt(A).Q
    assert_allclose(Q.T @ Q, np.eye(4), atol=1e-14)
    tiny = gram_schmidt(A * [1, 1e-200, 1e200, 1]).Q
    assert_allclose(np.abs(tiny), np.abs(Q), atol=1e-6)
    assert gram_schmidt(A.astype(np.float32)).Q.dtype == np.float32


def test_gram_schmidt_gives_no_eigenvectors():
    X = RNG.normal(size=(5, 40)) * np.array([5, 3, 1, 0.5, 0.1])[:, None]
    S, W = X @ X.T / 40, None  # 001 4-22, ERR-28
    W = gram_schmidt(spectral_theorem(S).vectors[:, :2] @ np.array([[1.0, 1], [2, -1]])).Q
    skew = S @ W[:, 0] - (W[:, 0] @ S @ W[:, 0]) * W[:, 0]
    assert norm(skew) > 0.1
    turned = W @ spectral_theorem(W.T @ S @ W).vectors
    assert_allclose(S @ turned, turned * (turned * (S @ turned)).sum(axis=0), atol=1e-10)


@CALM
@given(matrices(rows=st.integers(1, 7), columns=st.just(3)), st.sampled_from([1e-200, 1, 1e200]))
def test_spectral_theorem(B, scale):
    A = B @ B.T - np.eye(len(B)) * 0.5  # often with repeated eigenvalues
    values, V = spectral_theorem(A * scale)
    assert_allclose(V.T @ V, np.eye(len(A)), atol=1e-12)
    assert_allclose(V @ np.diag(values / scale) @ V.T, A, atol=1e-11)
    assert_allclose(values / scale, np.linalg.eigvalsh(A)[::-1], atol=1e-11)


def test_spectral_theorem_on_larger_and_other_matrices():
    A = RNG.normal(size=(60, 60))
    A = A + A.T
    values, V = spectral_theorem(A)
    assert_allclose(V @ np.diag(values) @ V.T, A, atol=1e-11)
    assert_array_equal(spectral_theorem(np.zeros((3, 3))).values, [0, 0, 0])
    with pytest.raises(ValueError, match="symmetric"):
        spectral_theorem([[0, 1], [2, 0]])


def test_trace_is_cyclic():
    A, B, C = RNG.normal(size=(2, 5)), RNG.normal(size=(5, 3)), RNG.normal(size=(3, 2))
    traces = cyclic_traces(A, B, C)  # 001 4-18
    assert_allclose(traces, traces[0])
    assert traces[0] == pytest.approx(np.trace(A @ B @ C))
    D, E, F = RNG.normal(size=(3, 4, 4))
    assert abs(np.trace(D @ F @ E) - np.trace(D @ E @ F)) > 0.1  # other orders differ


def test_worked_geometric_series():
    assert 2 * geometric_series(0.5, 1, 5) == 1.9375  # 003 A012
    assert pytest.approx(3 * geometric_series(0.9)) == 3 / (1 - 0.9)  # R_max / (1 - gamma)


@CALM
@given(st.floats(-1.5, 1.5), st.integers(0, 5), st.integers(0, 40))
def test_geometric_series_is_the_sum(r, m, more):
    n = m + more
    terms = np.array([np.longdouble(r) ** k for k in range(m, n + 1)])
    scale = max(float(np.abs(terms).sum()), 1e-300)
    assert geometric_series(r, m, n) == pytest.approx(float(terms.sum()), abs=1e-13 * scale)
    if abs(r) < 0.999:
        assert geometric_series(r, m) == pytest.approx(r**m / (1 - r), abs=1e-12)


def test_geometric_series_at_the_ends():
    assert geometric_series(1.0, 2, 11) == 10
    near = 1 - 1e-12  # the printed quotient has lost most digits here
    exact = 1000 - 499500 * (1 - near)
    assert geometric_series(near, 0, 999) == pytest.approx(exact, rel=1e-15)
    assert geometric_series(0.5, 3, 2) == 0
    for r in (1.0, -1.0, 2.0):
        with pytest.raises(ValueError, match="no sum"):
            geometric_series(r)
    with pytest.raises(ValueError, match="upwards"):
        geometric_series(0.5, 5, 2)


def test_geometric_series_of_a_matrix():
    P = np.array([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0, 1.0]])  # 1 - P is singular
    direct = sum(np.linalg.matrix_power(P, k) for k in range(2, 8))
    assert_allclose(geometric_series(P, 2, 7), direct)
    assert_allclose(geometric_series(0.9 * P), np.linalg.inv(np.eye(3) - 0.9 * P))
    assert_allclose(geometric_series(0.9 * P), geometric_series(0.9 * P, 0, 500), rtol=1e-12)
    shear = np.array([[0.0, 100.0], [0.0, 0.0]])  # a large matrix, but its eigenvalues are 0
    assert_allclose(geometric_series(shear), np.eye(2) + shear)
    with pytest.raises(ValueError, match="no sum"):
        geometric_series(P)


def test_apart_is_relative():
    assert linear_algebra._relative_difference(np.array([2e9]), np.array([1e9])) == 1
