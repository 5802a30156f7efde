"""The four covariance types, and the triangular factors of their precisions.

    full       (k, p, p)  any, one for each component
    tied       (p, p)     any, one for all
    diag       (k, p)     along the axes
    spherical  (k,)       the same in all directions

A factor P of a precision is upper triangular with P P' = C^-1, as in scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")


def covariance_shape(kind: str, k: int, p: int) -> tuple[int, ...]:
    """Shape of the covariances of k components of p columns."""
    return {"full": (k, p, p), "tied": (p, p), "diag": (k, p), "spherical": (k,)}[kind]


def n_covariance_parameters(kind: str, k: int, p: int) -> int:
    """How many numbers the covariances can choose.

    Examples
    --------
    >>> [n_covariance_parameters(kind, 3, 4) for kind in COVARIANCE_TYPES]
    [30, 10, 12, 3]
    """
    triangle = p * (p + 1) // 2
    return {"full": k * triangle, "tied": triangle, "diag": k * p, "spherical": k}[kind]


def unit_covariances(kind: str, k: int, p: int) -> np.ndarray:
    """Covariances of variance 1."""
    if kind in ("diag", "spherical"):
        return np.ones(covariance_shape(kind, k, p))
    return np.broadcast_to(np.eye(p), covariance_shape(kind, k, p)).copy()


def precision_factors(covariances: np.ndarray, kind: str) -> np.ndarray:
    """Factors of the precisions.

    Examples
    --------
    >>> precision_factors(np.array([0.25, 4.0]), "spherical").tolist()
    [2.0, 0.5]
    """
    if kind in ("diag", "spherical"):
        if not (covariances > 0).all():
            raise ValueError(_singular_covariance_message())
        return 1.0 / np.sqrt(covariances)
    try:
        L = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        raise ValueError(_singular_covariance_message()) from None
    return np.swapaxes(np.linalg.solve(L, np.eye(L.shape[-1])), -1, -2)


def _singular_covariance_message() -> str:
    """What is said when a covariance has no inverse."""
    return (
        "Fitting the mixture model failed because some components have ill-defined empirical "
        "covariance (for instance caused by singleton or collapsed samples). Try to decrease the "
        "number of components, increase reg_covar, or scale the input data."
    )


def precisions_from_factors(factors: np.ndarray, kind: str) -> np.ndarray:
    """Precisions from their factors."""
    if kind in ("diag", "spherical"):
        return factors**2
    return factors @ np.swapaxes(factors, -1, -2)


def invert_matrices(matrices: np.ndarray, kind: str) -> np.ndarray:
    """Covariances from precisions, or the other way round."""
    if kind in ("diag", "spherical"):
        return 1.0 / matrices
    return np.linalg.inv(matrices)


def log_det_factors(factors: np.ndarray, kind: str, p: int) -> np.ndarray:
    """Log of the root of the determinant of the precisions, (k,), or () if tied."""
    if kind == "spherical":
        return p * np.log(factors)
    diagonals = factors if kind == "diag" else np.diagonal(factors, axis1=-2, axis2=-1)
    return np.log(diagonals).sum(axis=-1)


def clip_variances(covariances: np.ndarray, kind: str, least: float) -> np.ndarray:
    """The most likely covariances whose variances are nowhere below `least`."""
    if least == 0.0:
        return covariances
    if kind in ("diag", "spherical"):
        return np.maximum(covariances, least)
    variances, axes = np.linalg.eigh(covariances)
    return (axes * np.maximum(variances, least)[..., None, :]) @ np.swapaxes(axes, -1, -2)


def full_covariances(covariances: np.ndarray, kind: str, k: int, p: int) -> np.ndarray:
    """Covariances of any shape as (k, p, p).

    Examples
    --------
    >>> full_covariances(np.array([4.0]), "spherical", 1, 2).tolist()
    [[[4.0, 0.0], [0.0, 4.0]]]
    """
    if kind == "full":
        return covariances
    if kind == "tied":
        return np.broadcast_to(covariances, (k, p, p))
    wide = covariances if kind == "diag" else np.repeat(covariances[:, None], p, axis=1)
    return wide[:, :, None] * np.eye(p)


def check_precisions(given: Any, kind: str, k: int, p: int) -> np.ndarray:
    """Precisions that a user gave, as float64."""
    P, wanted = np.array(given, dtype=np.float64), covariance_shape(kind, k, p)
    if P.shape != wanted:
        raise ValueError(
            f"The parameter '{kind} precision' should have the shape of {wanted}, but got {P.shape}"
        )
    if kind in ("diag", "spherical"):
        if not (P > 0).all():
            raise ValueError(f"'{kind} precision' should be positive")
    elif not (np.allclose(P, np.swapaxes(P, -1, -2)) and (np.linalg.eigvalsh(P) > 0).all()):
        raise ValueError(f"'{kind} precision' should be symmetric, positive-definite")
    return P
