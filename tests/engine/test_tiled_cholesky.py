"""The tiled Cholesky factorization against LAPACK's, on sizes around the edges of tiles."""

import numpy as np
import pytest
import scipy.linalg

import tenfold
from tenfold.engine import tiled_cholesky as tiled


def definite(n: int) -> np.ndarray:
    X = np.random.default_rng(n).normal(size=(n, n))
    return X @ X.T + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 127, 256, 257, 384, 515])
def test_all_functions_agree_with_lapack(n):
    A = definite(n)
    before = A.copy()
    L = tiled.cholesky(A)
    assert np.array_equal(A, before)
    np.testing.assert_allclose(L, scipy.linalg.cholesky(A, lower=True), rtol=1e-10, atol=1e-10)
    B = np.random.default_rng(0).normal(size=(n, 130))
    np.testing.assert_allclose(L @ tiled.solve_triangular(L, B), B, atol=1e-10)
    np.testing.assert_allclose(L.T @ tiled.solve_triangular(L, B, transposed=True), B, atol=1e-10)
    np.testing.assert_allclose(A @ tiled.solve_cholesky(L, B[:, 0]), B[:, 0], atol=1e-9)
    inverse = tiled.invert_cholesky(L)
    np.testing.assert_allclose(inverse @ A, np.eye(n), atol=1e-10)
    assert np.array_equal(inverse, inverse.T)
    np.testing.assert_allclose(tiled.log_determinant(L), np.linalg.slogdet(A)[1], rtol=1e-12)


def test_bits_do_not_depend_on_threads():
    A, B = definite(700), np.random.default_rng(1).normal(size=(700, 300))
    results = []
    for threads in (1, 2, 5):
        with tenfold.threads(threads):
            L = tiled.cholesky(A)
            results.append((L, tiled.invert_cholesky(L), tiled.solve_cholesky(L, B)))
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize(("n", "bad"), [(40, 17), (600, 400), (600, 5)])
def test_a_matrix_that_is_not_definite_is_refused_with_the_minor_and_the_cure(n, bad):
    A = definite(n)
    A[bad, bad] = -1.0
    for threads in (1, 2):
        with (
            tenfold.threads(threads),
            pytest.raises(np.linalg.LinAlgError, match=f"order {bad + 1} is not.*Add to the diag"),
        ):
            tiled.cholesky(A)


def test_only_the_lower_triangle_is_read():
    A = definite(300)
    assert np.array_equal(tiled.cholesky(np.tril(A)), tiled.cholesky(A))


def test_overwrite_uses_the_memory_and_gives_the_same_bits():
    A = definite(300)
    expected = tiled.cholesky(A)
    L = tiled.cholesky(A, overwrite=True)
    assert L is A
    assert np.array_equal(L, expected)


def test_jitter_is_the_least_of_the_ladder_and_is_told():
    A = np.ones((300, 300))
    L, jitter = tiled.cholesky_with_jitter(A)
    assert jitter in [share * 1.0 for share in tiled.JITTERS[1:]]
    np.testing.assert_allclose(L @ L.T, A + jitter * np.eye(300), atol=1e-12)
    assert tiled.cholesky_with_jitter(definite(20))[1] == 0.0
    with pytest.raises(np.linalg.LinAlgError):
        tiled.cholesky_with_jitter(-np.eye(3))


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="square"):
        tiled.cholesky(np.ones((2, 3)))
    with pytest.raises(ValueError, match="3 rows"):
        tiled.solve_triangular(np.eye(2), np.ones(3))
