"""The four covariance types, and the triangular factors of their precisions.

Shapes use k components and p features.

    full       (k, p, p)  any covariance, one for each component
    tied       (p, p)     any covariance, one for all components
    diag       (k, p)     variances along the axes
    spherical  (k,)       one variance for each component

A factor P of a precision is upper triangular with P P' = C^-1, as in scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")
DIAGONAL_TYPES = ("diag", "spherical")  # without correlations


def covariance_shape(kind: str, k: int, p: int) -> tuple[int, ...]:
    """Shape of the covariances of k components of p columns."""
    return {"full": (k, p, p), "tied": (p, p), "diag": (k, p), "spherical": (k,)}[kind]


def n_covariance_parameters(kind: str, k: int, p: int) -> int:
    """Free parameters of the covariances.

    Examples
    --------
    >>> [n_covariance_parameters(kind, 3, 4) for kind in COVARIANCE_TYPES]
    [30, 10, 12, 3]
    """
    triangle = p * (p + 1) // 2
    return {"full": k * triangle, "tied": triangle, "diag": k * p, "spherical": k}[kind]


def unit_covariances(kind: str, k: int, p: int) -> np.ndarray:
    """Identity covariances."""
    if kind in DIAGONAL_TYPES:
        return np.ones(covariance_shape(kind, k, p))
    return np.broadcast_to(np.eye(p), covariance_shape(kind, k, p)).copy()


def precision_factors(covariances: np.ndarray, kind: str) -> np.ndarray:
    """Triangular factors of the precisions.

    Examples
    --------
    >>> precision_factors(np.array([0.25, 4.0]), "spherical").tolist()
    [2.0, 0.5]
    """
    if kind in DIAGONAL_TYPES:
        if not (covariances > 0).all():
            raise ValueError(_singular_covariance_message())
        return 1.0 / np.sqrt(covariances)
    try:
        L = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        raise ValueError(_singular_covariance_message()) from None
    return np.swapaxes(np.linalg.solve(L, np.eye(L.shape[-1])), -1, -2)


def _singular_covariance_message() -> str:
    """Error message for a covariance without an inverse."""
    return (
        "Fitting the mixture model failed because some components have ill-defined empirical "
        "covariance (for instance caused by singleton or collapsed samples). Try to decrease the "
        "number of components, increase reg_covar, or scale the input data."
    )


def precisions_from_factors(factors: np.ndarray, kind: str) -> np.ndarray:
    """Precisions from their factors."""
    if kind in DIAGONAL_TYPES:
        return factors**2
    return factors @ np.swapaxes(factors, -1, -2)


def invert_matrices(matrices: np.ndarray, kind: str) -> np.ndarray:
    """Covariances from precisions, or the other way round."""
    if kind in DIAGONAL_TYPES:
        return 1.0 / matrices
    return np.linalg.inv(matrices)


def log_det_factors(factors: np.ndarray, kind: str, p: int) -> np.ndarray:
    """Log of the root of the determinant of the precisions, (k,), or () if tied."""
    if kind == "spherical":
        return p * np.log(factors)
    diagonals = factors if kind == "diag" else np.diagonal(factors, axis1=-2, axis2=-1)
    return np.log(diagonals).sum(axis=-1)


def clip_variances(covariances: np.ndarray, kind: str, min_variance: float) -> np.ndarray:
    """The most likely covariances whose variances are not below `min_variance`."""
    if min_variance == 0.0:
        return covariances
    if kind in DIAGONAL_TYPES:
        return np.maximum(covariances, min_variance)
    variances, axes = np.linalg.eigh(covariances)
    return (axes * np.maximum(variances, min_variance)[..., None, :]) @ np.swapaxes(axes, -1, -2)


def global_covariances(
    weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, kind: str
) -> np.ndarray:
    """The covariance of all rows for each component, from the components: within plus between.

    Examples
    --------
    >>> global_covariances(
    ...     np.full(2, 0.5), np.array([[0.0], [4.0]]), np.array([1.0, 3.0]), "spherical"
    ... ).tolist()
    [6.0, 6.0]
    """
    shift = means - weights @ means
    if kind == "tied":
        return covariances + (weights[:, None] * shift).T @ shift
    if kind == "full":
        between = shift[:, :, None] * shift[:, None, :]
    else:
        between = shift**2 if kind == "diag" else (shift**2).mean(axis=1)
    total = np.tensordot(weights, covariances + between, 1)
    return np.repeat(total[None], len(weights), axis=0)


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
    variances = covariances if kind == "diag" else np.repeat(covariances[:, None], p, axis=1)
    return variances[:, :, None] * np.eye(p)


def check_precisions(given: Any, kind: str, k: int, p: int) -> np.ndarray:
    """Given precisions as float64; an error if they have another shape or are not positive."""
    P, shape = np.array(given, dtype=np.float64), covariance_shape(kind, k, p)
    if P.shape != shape:
        raise ValueError(
            f"The parameter '{kind} precision' should have the shape of {shape}, but got {P.shape}"
        )
    if kind in DIAGONAL_TYPES:
        if not (P > 0).all():
            raise ValueError(f"'{kind} precision' should be positive")
    elif not (np.allclose(P, np.swapaxes(P, -1, -2)) and (np.linalg.eigvalsh(P) > 0).all()):
        raise ValueError(f"'{kind} precision' should be symmetric, positive-definite")
    return P
