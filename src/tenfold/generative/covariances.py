"""Covariances of classes, shrunk, and what discriminants make of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tenfold.maths.class_moments import (
    ClassFourths,
    ClassScatters,
    class_fourths,
    class_scatters,
)
from tenfold.rows import Rows


def class_statistic(rows: Rows, k: int, *, own: bool, fourths: bool) -> Any:
    """Moments of k classes: a scatter of each or one for all, or up to the fourth order."""
    return rows.total(class_fourths, k) if fourths else rows.total(class_scatters, k, own)


def alike(model: Any, settings: list[dict]) -> bool:
    """Whether models with these parameters learn from moments of the same order."""
    return len({each.get("shrinkage", model.shrinkage) == "auto" for each in settings}) == 1


def normalised_priors(given: Any, n: np.ndarray) -> np.ndarray:
    """The priors that were given, made to sum to 1; else the classes' shares of the weight n."""
    if given is None:
        return n / n.sum()
    priors = np.array(given, dtype=np.float64)
    if len(priors) != len(n):
        raise ValueError(f"Number of priors must match number of classes: {len(n)}.")
    if (priors < 0).any():
        raise ValueError("priors must be non-negative")
    if abs(priors.sum() - 1.0) > 1e-5:
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=6)
        priors = priors / priors.sum()
    return priors


def shrunk(covariance: np.ndarray, share: float) -> np.ndarray:
    """(1 - share) C + share m I, with m the mean variance; for one (p, p) or many (k, p, p).

    Examples
    --------
    >>> shrunk(np.array([[3.0, 1.0], [1.0, 1.0]]), 0.5).tolist()
    [[2.5, 0.5], [0.5, 1.5]]
    """
    p = covariance.shape[-1]
    mean = np.trace(covariance, axis1=-2, axis2=-1) / p
    return (1 - share) * covariance + share * np.multiply.outer(mean, np.eye(p))


def ledoit_wolf(n: float, scatter: np.ndarray, fourth: np.ndarray) -> np.ndarray:
    """Covariance shrunk by the share of Ledoit and Wolf, found on standardised columns.

    Everything comes from sums: the scatter, and the sums of d_i^2 d_j^2 about the mean.
    """
    p, n = len(scatter), max(n, np.finfo(np.float64).tiny)
    deviation = np.sqrt(np.diag(scatter) / n)
    deviation[deviation == 0] = 1.0
    scale = np.multiply.outer(deviation, deviation)
    R = scatter / n / scale
    mean, squares = np.trace(R) / p, (R**2).sum()
    noise = ((fourth / scale**2).sum() / n - squares) / (p * n)
    distance = squares / p - mean**2
    share = min(max(noise, 0.0), distance) / distance if distance > 0 and p > 1 else 0.0
    return shrunk(R, share) * scale


def shrunk_classes(s: ClassScatters | ClassFourths, shrinkage: Any) -> np.ndarray:
    """Covariance of each class, (k, p, p), or of all together, (1, p, p), after shrinkage."""
    if isinstance(s, ClassFourths):
        parts = zip(s.n, s.scatter, s.fourth, strict=True)
        return np.stack([ledoit_wolf(n, S, Q) for n, S, Q in parts])
    return shrunk(s.covariances(), shrinkage or 0.0)


def shrunk_total(s: ClassScatters | ClassFourths, shrinkage: Any) -> np.ndarray:
    """Covariance of all rows about their common mean, after shrinkage, (p, p)."""
    if isinstance(s, ClassFourths):
        [total] = shrunk_classes(s.together(), shrinkage)
        return total
    return shrunk(s.total() / s.n.sum(), shrinkage or 0.0)


def pointed(V: np.ndarray) -> np.ndarray:
    """Columns of V with signs such that the largest entry of each is positive."""
    if not V.size:
        return V
    top = np.take_along_axis(V, np.abs(V).argmax(axis=0)[None], axis=0)
    return V * np.where(top < 0, -1.0, 1.0)


def axes(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances along the principal axes, largest first, and the axes as columns."""
    variances, V = np.linalg.eigh(covariance)
    return np.maximum(variances[::-1], 0.0), pointed(V[:, ::-1])
