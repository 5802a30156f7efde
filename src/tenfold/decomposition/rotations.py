r"""Rotations of factor loadings towards simple structure, orthogonal and oblique.

The loadings L (p, k) of a factor model are defined up to an invertible matrix: L T^{-\top} with
factors of covariance T^\top T describes the same rows. A rotation chooses the T whose loadings are
easiest to read, many of them near zero.

References
----------
H. F. Kaiser (1958), The varimax criterion for analytic rotation in factor analysis.

A. E. Hendrickson and P. O. White (1964), Promax: a quick method for rotation to oblique simple
structure.

R. I. Jennrich (2002), A simple general method for oblique rotation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ORTHOGONAL = ("varimax", "quartimax")
OBLIQUE = ("promax", "oblimin")
_TOL = 1e-6  # relative gain of the orthogonal criteria at which they stop, as in scikit-learn
_MAX_ITER = 100
_PROMAX_POWER = 4
_OBLIMIN_TOL = 1e-8  # norm of the projected gradient, of loadings with norm one
_OBLIMIN_MAX_ITER = 2000


class Rotation(NamedTuple):
    """Rotated loadings.

    Attributes
    ----------
    loadings : (p, k) L T^{-T}
    matrix : (k, k) T: its columns are the new factors in terms of the old ones
    factor_covariance : (k, k) T' T, the identity if the rotation is orthogonal
    """

    loadings: np.ndarray
    matrix: np.ndarray
    factor_covariance: np.ndarray


def rotate_loadings(loadings: np.ndarray, method: str) -> Rotation:
    """Rotate loadings (n_features, n_factors) to simple structure.

    Parameters
    ----------
    loadings : (n_features, n_factors) array
        Loadings of uncorrelated factors with variance one.
    method : {"varimax", "quartimax", "promax", "oblimin"}
        Orthogonal: "varimax" (few large loadings for each factor), "quartimax" (for each column).
        Oblique: "promax" (towards the fourth powers of the varimax solution), "oblimin" (direct
        quartimin: least products of squared loadings of two factors).

    Returns
    -------
    Rotation

    Examples
    --------
    Two groups of columns, mixed by a rotation, are found again:

    >>> import numpy as np
    >>> simple = np.array([[0.9, 0], [0.8, 0], [0, 0.7], [0, 0.6]])
    >>> turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    >>> bool(np.allclose(rotate_loadings(simple @ turn, "varimax").loadings, simple, atol=1e-3))
    True
    """
    L = np.asarray(loadings, np.float64)
    if L.ndim != 2:
        raise ValueError(f"loadings have the shape (n_features, n_factors), not {L.shape}")
    if method in ORTHOGONAL:
        T = _orthogonal_rotation(L, method)
        return Rotation(L @ T, T, np.eye(L.shape[1]))
    if method == "promax":
        return _promax(L)
    if method == "oblimin":
        return _oblimin(L)
    raise ValueError(f"method={method!r} is not one of {(*ORTHOGONAL, *OBLIQUE)}")


def _orthogonal_rotation(L: np.ndarray, method: str) -> np.ndarray:
    """Rotation of the orthomax family, by the polar factor of its gradient."""
    p, k = L.shape
    T, value = np.eye(k), 0.0
    for _ in range(_MAX_ITER):
        R = L @ T
        means = (R**2).sum(axis=0) / p if method == "varimax" else np.zeros(k)
        U, s, Vt = np.linalg.svd(L.T @ (R**3 - R * means))
        T, following = U @ Vt, float(s.sum())
        if value != 0 and following < value * (1 + _TOL):
            break
        value = following
    return T


def _promax(L: np.ndarray) -> Rotation:
    """Least squares from the varimax loadings to their fourth powers, with the old signs."""
    T = _orthogonal_rotation(L, "varimax")
    R = L @ T
    target = R * np.abs(R) ** (_PROMAX_POWER - 1)
    U = np.linalg.lstsq(R, target, rcond=None)[0]
    if np.linalg.matrix_rank(U) < len(U):  # factors without loadings cannot be turned
        return Rotation(R, T, np.eye(len(T)))
    scale = np.sqrt(np.linalg.inv(U.T @ U).diagonal())
    U = U * scale
    covariance = np.linalg.inv(U.T @ U)
    return Rotation(R @ U, T @ np.linalg.inv(U).T, covariance)


def _oblimin(L: np.ndarray) -> Rotation:
    """Direct quartimin by gradient projection on matrices with columns of length one."""
    norm = float(np.linalg.norm(L)) or 1.0
    A, k = L / norm, L.shape[1]
    T, step = np.eye(k), 1.0
    value, gradient = _quartimin(A, T)
    for _ in range(_OBLIMIN_MAX_ITER):
        slope = gradient - T * (T * gradient).sum(axis=0)
        size = float(np.linalg.norm(slope))
        if size < _OBLIMIN_TOL:
            break
        step *= 2
        while True:
            following = T - step * slope
            following /= np.linalg.norm(following, axis=0)
            better, next_gradient = _quartimin(A, following)
            if better <= value - 0.5 * step * size**2 or step < 1e-12:
                break
            step /= 2
        if step < 1e-12:
            break
        T, value, gradient = following, better, next_gradient
    return Rotation(L @ np.linalg.inv(T).T, T, T.T @ T)


def _quartimin(A: np.ndarray, T: np.ndarray) -> tuple[float, np.ndarray]:
    """The criterion of the loadings A T^{-T}, and its gradient in T."""
    inverse = np.linalg.inv(T)
    R = A @ inverse.T
    squares = R * R
    others = squares.sum(axis=1, keepdims=True) - squares
    return float((squares * others).sum()) / 4, -((R.T @ (R * others) @ inverse).T)
