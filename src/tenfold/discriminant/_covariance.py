"""Class covariances and their shrinkage; parameter checks of linear and quadratic discriminants.

Shapes use k classes and p features.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tenfold.base.bayes_rule import check_no_infinity
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.subset import SubsetSource
from tenfold.io.dataframe import DataFrameSource
from tenfold.stats.class_moments import (
    ClassFourthMoments,
    ClassScatters,
    class_fourth_moments,
    class_residuals,
    class_scatters,
)
from tenfold.stats.incomplete_scatters import (
    IncompleteScatters,
    complete_scatters,
    incomplete_scatters,
)
from tenfold.stats.missing_values import marginal_log_densities


class _EstimatorCovariances(NamedTuple):
    """Covariances from a given estimator; they do not merge."""

    n: np.ndarray  # (k,) weight of each class
    mean: np.ndarray  # (k, p)
    covariances: np.ndarray  # (k, p, p) of each class
    total: np.ndarray  # (p, p) of all rows; zero if it is not needed
    rows: np.ndarray  # (k,) number of rows of each class


def fit_class_covariances(
    chunk: Chunk, k: int, estimator: Any, *, with_total: bool
) -> _EstimatorCovariances:
    """Means of the classes, and the estimated covariance of each and, on demand, of all rows."""
    X = chunk.X.astype(np.float64, copy=False)
    n, mean, _, rows = class_residuals(chunk, k)
    covariances = np.stack([_estimate_covariance(estimator, X[chunk.y == c]) for c in range(k)])
    total = _estimate_covariance(estimator, X) if with_total else np.zeros_like(covariances[0])
    return _EstimatorCovariances(n, mean, covariances, total, rows)


def _estimate_covariance(estimator: Any, X: np.ndarray) -> np.ndarray:
    """`covariance_` of a copy of the estimator, fitted to these rows."""
    fitted: Any = clone(estimator, safe=False)
    fitted.fit(X)
    if not hasattr(fitted, "covariance_"):
        raise ValueError(f"{type(estimator).__name__} does not have a covariance_ attribute")
    return np.atleast_2d(np.asarray(fitted.covariance_, np.float64))


def gather_for_estimator(model: Any, rows: Rows) -> Chunk:
    """All rows for a `covariance_estimator`; an error if they are not in memory or have weights."""
    cure = "leave covariance_estimator out and set shrinkage='auto', which one pass finds"
    source = rows.source.source if isinstance(rows.source, SubsetSource) else rows.source
    if rows.engine is not None or not isinstance(source, ArraySource | DataFrameSource):
        raise ValueError(
            f"the covariance_estimator of {type(model).__name__} needs all rows in memory, and "
            f"these lie in {type(source).__name__}: read them into an array, or {cure}"
        )
    chunk = rows.gather()
    _refuse_missing_values(chunk)
    if chunk.w is not None:
        raise ValueError(f"a covariance_estimator takes no weights: repeat rows, or {cure}")
    return chunk


def check_covariance_parameters(model: Any, s: Any) -> None:
    """Raise errors for incompatible parameters, or an estimator without all rows."""
    if model.solver == "svd" and model.shrinkage is not None:
        raise NotImplementedError(
            "shrinkage not supported with 'svd' solver: use 'eigen' (or 'lsqr' for linear)."
        )
    if model.covariance_estimator is None:
        return
    if model.solver == "svd":
        linear = hasattr(model, "n_components")  # each in scikit-learn's words
        what = "covariance estimator is not supported with svd solver"
        other = "covariance_estimator is not supported with solver='svd'"
        raise ValueError(f"{what if linear else other}: use 'eigen'.")
    if model.shrinkage:
        raise ValueError(
            "covariance_estimator and shrinkage parameters are not None. Only one of the two can "
            "be set."
        )
    if not isinstance(s, _EstimatorCovariances):
        raise TypeError(
            f"the covariance_estimator of {type(model).__name__} needs all rows at once: use fit, "
            "or set shrinkage='auto' instead, which learns from parts and merges"
        )


def compute_class_moments(rows: Rows, k: int, *, by_class: bool, fourth: bool) -> Any:
    """Moments of k classes: scatters by class or pooled, or moments up to the fourth order.

    Rows with missing entries take a second pass, and give `IncompleteScatters`.
    """
    if fourth:
        s = rows.total(class_fourth_moments, k)
        if not np.isfinite(s.scatter).all():
            rows.total(_refuse_missing_values)
        return s
    s = rows.total(class_scatters, k, by_class)
    if np.isfinite(s.scatter).all():
        return s
    return rows.total(_incomplete_class_scatters, k, by_class)


def _incomplete_class_scatters(chunk: Chunk, k: int, by_class: bool) -> IncompleteScatters:
    """Moments of rows of which some have missing entries; infinities are an error."""
    check_no_infinity(chunk)
    return incomplete_scatters(chunk, k, by_class)


def _refuse_missing_values(chunk: Chunk) -> float:
    """Raise an error that names the place of a missing or an infinite entry."""
    check_no_infinity(chunk)
    missing = np.isnan(chunk.X)
    if missing.any():
        row, column = np.argwhere(missing)[0]
        raise ValueError(
            f"Input X contains NaN: row {chunk.first + row}, column {column}. shrinkage='auto' and "
            "a covariance_estimator need complete rows: leave them out, or give shrinkage a number"
        )
    return 0.0


def fill_in_moments(model: Any, s: Any) -> Any:
    """Moments of maximum likelihood where entries are missing; others unchanged."""
    if not isinstance(s, IncompleteScatters):
        return s
    completed, converged = complete_scatters(s)
    if not converged:
        warnings.warn(
            f"EM for the missing entries of {type(model).__name__} did not converge: leave out "
            "columns that are nearly always missing.",
            ConvergenceWarning,
            stacklevel=6,
        )
    return completed


class AxisCovariances(NamedTuple):
    """Covariances (k, p, p) by their principal axes, multiplied out only if they are needed."""

    rotations: list[np.ndarray]
    variances: list[np.ndarray]

    def matrices(self) -> np.ndarray:
        """The covariances, (k, p, p)."""
        pairs = zip(self.rotations, self.variances, strict=True)
        return np.stack([(V.astype(np.float64) * v) @ V.T for V, v in pairs])


def score_incomplete_rows(
    chunk: Chunk,
    scores: np.ndarray,
    offset: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray | AxisCovariances,
    min_deviation: float = 0.0,
) -> None:
    """Write log prior + log-density of the observed entries into the rows that are not finite.

    Parameters
    ----------
    chunk : Chunk
        The rows; infinities are an error.
    scores : (n, k) array
        Scores of complete rows, not finite elsewhere.
    offset : (k,) array
        Log priors.
    means, covariances : (k, p) and (k or 1, p, p) arrays
        Those of the classes.
    min_deviation : float
        As in `marginal_log_densities`.
    """
    if np.isfinite(scores).all():
        return
    check_no_infinity(chunk)
    rows = np.flatnonzero(np.isnan(chunk.X).any(axis=1))
    if len(rows):
        X = np.take(chunk.X, rows, axis=0).astype(np.float64)
        by_axes = isinstance(covariances, AxisCovariances)
        C = covariances.matrices() if by_axes else covariances
        scores[rows] = offset + marginal_log_densities(X, means, C, min_deviation)


def can_share_moments(model: Any, settings: list[dict]) -> bool:
    """Whether models with these parameters learn from moments of the same order."""
    estimators = [p.get("covariance_estimator", model.covariance_estimator) for p in settings]
    orders = {p.get("shrinkage", model.shrinkage) == "auto" for p in settings}
    return len(orders) == 1 and all(estimator is None for estimator in estimators)


def normalize_priors(given: Any, n: np.ndarray) -> np.ndarray:
    """The given priors, scaled to sum 1; by default the relative weights n of the classes."""
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


def _shrink_covariance(covariance: np.ndarray, intensity: float) -> np.ndarray:
    """(1 - intensity) C + intensity m I, with m the mean variance; (p, p) or (k, p, p).

    Examples
    --------
    >>> _shrink_covariance(np.array([[3.0, 1.0], [1.0, 1.0]]), 0.5).tolist()
    [[2.5, 0.5], [0.5, 1.5]]
    """
    p = covariance.shape[-1]
    mean = np.trace(covariance, axis1=-2, axis2=-1) / p
    return (1 - intensity) * covariance + intensity * np.multiply.outer(mean, np.eye(p))


def ledoit_wolf(n: float, scatter: np.ndarray, fourth: np.ndarray) -> np.ndarray:
    """Covariance with the shrinkage intensity of Ledoit and Wolf, on standardized columns.

    It needs sums only: the scatter, and the sums of d_i^2 d_j^2 about the mean.

    References
    ----------
    O. Ledoit and M. Wolf (2004), A well-conditioned estimator for large-dimensional covariance
    matrices.
    """
    p, n = len(scatter), max(n, np.finfo(np.float64).tiny)
    deviation = np.sqrt(np.diag(scatter) / n)
    deviation[deviation == 0] = 1.0
    scale = np.multiply.outer(deviation, deviation)
    R = scatter / n / scale
    mean, squares = np.trace(R) / p, (R**2).sum()
    noise = ((fourth / scale**2).sum() / n - squares) / (p * n)
    distance = squares / p - mean**2
    shrinks = distance > 0 and p > 1
    intensity = min(max(noise, 0.0), distance) / distance if shrinks else 0.0
    return _shrink_covariance(R, intensity) * scale


def shrunk_class_covariances(
    s: ClassScatters | ClassFourthMoments | _EstimatorCovariances, shrinkage: Any
) -> np.ndarray:
    """Covariance of each class, (k, p, p), or of all together, (1, p, p), after shrinkage."""
    if isinstance(s, _EstimatorCovariances):
        return s.covariances
    if isinstance(s, ClassFourthMoments):
        parts = zip(s.n, s.scatter, s.fourth, strict=True)
        return np.stack([ledoit_wolf(n, S, Q) for n, S, Q in parts])
    return _shrink_covariance(s.covariances(), shrinkage or 0.0)


def shrunk_total_covariance(
    s: ClassScatters | ClassFourthMoments | _EstimatorCovariances, shrinkage: Any
) -> np.ndarray:
    """Covariance of all rows about their common mean, after shrinkage, (p, p)."""
    if isinstance(s, _EstimatorCovariances):
        return s.total
    if isinstance(s, ClassFourthMoments):
        [total] = shrunk_class_covariances(s.together(), shrinkage)
        return total
    return _shrink_covariance(s.total() / s.n.sum(), shrinkage or 0.0)


def fix_column_signs(V: np.ndarray) -> np.ndarray:
    """Columns of V with signs such that the largest entry of each is positive."""
    if not V.size:
        return V
    largest = np.take_along_axis(V, np.abs(V).argmax(axis=0)[None], axis=0)
    return V * np.where(largest < 0, -1.0, 1.0)


def principal_axes(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances along the principal axes, largest first, and the axes as columns."""
    variances, V = np.linalg.eigh(covariance)
    return np.maximum(variances[::-1], 0.0), fix_column_signs(V[:, ::-1])
