"""Rotations of loadings against other systems, and what no rotation may change."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold.decomposition.rotations import OBLIQUE, ORTHOGONAL, rotate_loadings

LOADINGS = np.array(
    [
        [0.8, 0.3, 0.1],
        [0.7, 0.4, -0.1],
        [0.75, 0.2, 0.2],
        [0.3, -0.6, 0.3],
        [0.4, -0.7, 0.2],
        [0.2, -0.5, 0.35],
        [0.3, 0.1, -0.7],
        [0.25, 0.15, -0.65],
    ]
)


def test_oblimin_is_that_of_factor_analyzer():
    """factor_analyzer 0.5.1, Rotator("oblimin", normalize=False, tol=1e-12)."""
    rotated = rotate_loadings(LOADINGS, "oblimin")
    first = [0.86043, 0.755144, 0.803423, 0.015938, -0.003573, 0.014649, 0.00857, 0.018326]
    assert_allclose(rotated.loadings[:, 0], first, atol=2e-6)
    off_diagonal = rotated.factor_covariance[[0, 0, 1], [1, 2, 2]]
    assert_allclose(off_diagonal, [-0.129725, -0.29501, -0.297103], atol=2e-6)


def test_promax_is_that_of_factor_analyzer():
    """factor_analyzer 0.5.1, Rotator("promax", normalize=False, power=4); varimax stops earlier."""
    rotated = rotate_loadings(LOADINGS, "promax")
    first = [0.863075, 0.755524, 0.806948, 0.011855, -0.011778, 0.013624, -0.006325, 0.005492]
    assert_allclose(rotated.loadings[:, 0], first, atol=1e-4)
    off_diagonal = rotated.factor_covariance[[0, 0, 1], [1, 2, 2]]
    assert_allclose(off_diagonal, [-0.116519, -0.300608, -0.40827], atol=1e-4)


def test_varimax_is_that_of_r():
    """R's psych::principal, rotate="varimax", of two components."""
    loadings = np.array(
        [
            [0.89421016, -0.35854928],
            [-0.45081822, -0.89132754],
            [0.99500666, -0.02031465],
            [0.96822861, -0.06299656],
        ]
    )
    expected = [[0.962, 0.052], [-0.141, 0.989], [0.949, -0.300], [0.937, -0.251]]
    got = rotate_loadings(loadings, "varimax").loadings
    assert_allclose(np.abs(got), np.abs(expected), atol=1e-3)


@pytest.mark.parametrize("method", [*ORTHOGONAL, *OBLIQUE])
def test_no_rotation_changes_the_covariance(method):
    L, T, covariance = rotate_loadings(LOADINGS, method)
    assert_allclose(L @ covariance @ L.T, LOADINGS @ LOADINGS.T, atol=1e-12)
    assert_allclose(L @ T.T, LOADINGS, atol=1e-12)
    assert_allclose(T.T @ T, covariance, atol=1e-12)
    assert_allclose(covariance.diagonal(), 1, atol=1e-12)


def test_oblimin_finds_correlated_factors_with_simple_structure():
    simple = np.kron(np.eye(2), np.array([[0.9], [0.8], [0.7]]))
    correlation = np.array([[1.0, 0.5], [0.5, 1.0]])
    mixed = simple @ np.linalg.cholesky(correlation)
    found = rotate_loadings(mixed, "oblimin")
    order = np.abs(found.loadings[0]).argsort()[::-1]
    assert_allclose(np.abs(found.loadings[:, order]), simple, atol=1e-6)
    assert abs(found.factor_covariance[0, 1]) == pytest.approx(0.5, abs=1e-6)


def test_factors_without_loadings_are_left_alone():
    loadings = np.column_stack([LOADINGS[:, 0], np.zeros(8)])
    for method in ("varimax", "promax"):
        L, _, covariance = rotate_loadings(loadings, method)
        assert_allclose(L @ covariance @ L.T, loadings @ loadings.T, atol=1e-12)


def test_unknown_names_and_shapes_are_refused():
    with pytest.raises(ValueError, match="not one of"):
        rotate_loadings(LOADINGS, "equamax")
    with pytest.raises(ValueError, match="shape"):
        rotate_loadings(LOADINGS[0], "varimax")
