r"""Moments of the observed entries of independent columns, and marginals of Gaussian rows.

NaN is a missing entry. Shapes use k classes and p features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.reductions import class_squared_deviations, class_sums
from tenfold.stats.class_moments import expand_to_classes
from tenfold.stats.moments import ClassMoments

_MIN_EIGENVALUE = 1e-8  # of correlations that Cholesky's factorization is used for
LOG_2PI = float(np.log(2 * np.pi))


class ObservedMoments(NamedTuple):
    """Moments of each column within each of k classes.

    Attributes
    ----------
    n : (k,) weight of each class
    observed : (k, p) weight of the entries that are not missing
    mean : (k, p) their means
    scatter : (k, p) their weighted sums of squares about the means
    """

    n: np.ndarray
    observed: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other: ObservedMoments | ClassMoments) -> ObservedMoments:
        if isinstance(other, ClassMoments):
            other = _as_observed(other)
        observed = self.observed + other.observed
        delta, fraction = (
            other.mean - self.mean,
            other.observed / np.where(observed > 0, observed, 1),
        )
        scatter = self.scatter + other.scatter + delta**2 * (self.observed * fraction)
        return ObservedMoments(self.n + other.n, observed, self.mean + fraction * delta, scatter)

    def merge_after(self, other: ClassMoments) -> ObservedMoments:
        """Merge moments of complete rows, which come before these."""
        return _as_observed(other).merge(self)

    def expand_to_classes(self, positions: np.ndarray, k: int) -> ObservedMoments:
        """The same statistic among k classes, of which these are at `positions`."""
        return ObservedMoments(*(expand_to_classes(part, positions, k) for part in self))

    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each column over all classes, (p,); 0 if nothing is observed."""
        total = self.observed.sum(axis=0)
        fraction = self.observed / np.where(total > 0, total, 1)
        mean = (fraction * self.mean).sum(axis=0)
        between = (fraction * (self.mean - mean) ** 2).sum(axis=0)
        return mean, self.scatter.sum(axis=0) / np.where(total > 0, total, 1) + between

    def estimates(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance, (k, p).

        A class without entries of a column gets those of all classes, so that the column does not
        change the posterior of the class.
        """
        mean, variance = self.columns()
        empty = self.observed == 0
        class_variance = self.scatter / np.where(empty, 1, self.observed)
        return np.where(empty, mean, self.mean), np.where(empty, variance, class_variance)


def _as_observed(s: ClassMoments) -> ObservedMoments:
    """Moments of complete rows as those of observed entries."""
    return ObservedMoments(s.n, np.repeat(s.n[:, None], s.mean.shape[1], axis=1), s.mean, s.scatter)


def observed_moments(rows: Any, k: int) -> ObservedMoments:
    """Moments of the observed entries of each column within each of k classes."""
    X, y, w = rows.X, rows.y, rows.weights().astype(np.float64)
    n, sums = class_sums(X, y, w, k)
    if np.isnan(sums).any():
        observed, sums = _observed_sums(X, y, w, k)
        mean = sums / np.where(observed > 0, observed, 1)
        return ObservedMoments(n, observed, mean, _observed_squares(X, y, w, mean))
    observed = np.repeat(n[:, None], X.shape[1], axis=1)
    mean = sums / np.where(n > 0, n, 1)[:, None]
    return ObservedMoments(n, observed, mean, class_squared_deviations(X, y, w, mean))


@njit(cache=True, nogil=True)
def _observed_sums(X, y, w, k):  # noqa: ANN001, ANN202  -> (k, d), (k, d)
    """Weight and weighted sum of the entries of each column in each class that are not NaN."""
    n, d = X.shape
    observed, sums = np.zeros((k, d)), np.zeros((k, d))
    for i in range(n):
        c = y[i]
        for j in range(d):
            if not np.isnan(X[i, j]):
                observed[c, j] += w[i]
                sums[c, j] += w[i] * X[i, j]
    return observed, sums


@njit(cache=True, nogil=True)
def _observed_squares(X, y, w, mean):  # noqa: ANN001, ANN202  -> (k, d)
    """Weighted sum of squares about the means, without NaN."""
    n, d = X.shape
    squares = np.zeros(mean.shape)
    for i in range(n):
        c = y[i]
        for j in range(d):
            if not np.isnan(X[i, j]):
                difference = X[i, j] - mean[c, j]
                squares[c, j] += w[i] * difference * difference
    return squares


def group_by_missing_columns(
    X: np.ndarray,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each set of missing columns: the rows, the missing and the observed columns.

    Examples
    --------
    >>> nan = np.nan
    >>> for rows, missing, observed in group_by_missing_columns(
    ...     np.array([[1, nan], [1, 2], [3, nan]])
    ... ):
    ...     print(rows, missing, observed)
    [0 2] [1] [0]
    """
    missing = np.isnan(X)
    incomplete = np.flatnonzero(missing.any(axis=1))
    groups: dict[bytes, list[int]] = {}
    for row, bits in zip(
        incomplete.tolist(), np.packbits(missing[incomplete], axis=1), strict=True
    ):
        groups.setdefault(bits.tobytes(), []).append(row)
    return [
        (np.array(rows), np.flatnonzero(missing[rows[0]]), np.flatnonzero(~missing[rows[0]]))
        for rows in groups.values()
    ]


def marginal_log_densities(
    X: np.ndarray, means: np.ndarray, covariances: np.ndarray, min_deviation: float = 0.0
) -> np.ndarray:
    """Log-density of the observed entries of each row in each Gaussian class, (n, k).

    Parameters
    ----------
    X : (n, p) array
        Rows; NaN where an entry is missing. A row without any entry has log-density 0.
    means, covariances : (k, p) and (k or 1, p, p) arrays
        Those of the classes; one covariance is common to all.
    min_deviation : float
        Directions of the standardized columns with a smaller standard deviation are left out.

    Examples
    --------
    >>> C = np.array([[[4.0, 1.0], [1.0, 1.0]]])
    >>> marginal_log_densities(np.array([[2.0, np.nan]]), np.zeros((1, 2)), C).round(4).tolist()
    [[-2.1121]]
    """
    out = np.empty((len(X), len(means)))
    groups = group_by_missing_columns(X)
    everything = np.arange(X.shape[1])
    whole = np.flatnonzero(~np.isnan(X).any(axis=1))
    regular = _least_eigenvalue(covariances) > max(_MIN_EIGENVALUE, min_deviation**2)
    for rows, _, o in [*groups, (whole, everything[:0], everything)]:
        C = covariances[:, o[:, None], o]
        find_roots = _triangular_roots if regular else _principal_roots
        roots, log_factors = find_roots(C, min_deviation)
        D = X[np.ix_(rows, o)][None] - means[:, None, o]
        Z = D @ roots
        out[rows] = (log_factors[:, None] - 0.5 * (Z * Z).sum(axis=2)).T
    return out


def _least_eigenvalue(C: np.ndarray) -> float:
    """Least eigenvalue of the correlations; those of fewer columns have none below it."""
    deviation = np.sqrt(np.einsum("cpp->cp", C))
    if not (deviation > 0).all() or not np.isfinite(C).all():
        return 0.0
    return float(np.linalg.eigvalsh(C / (deviation[:, :, None] * deviation[:, None, :])).min())


def _triangular_roots(C: np.ndarray, _: float) -> tuple[np.ndarray, np.ndarray]:
    """Roots of the precisions, and logs of the normalizing factors, of regular covariances."""
    L = np.linalg.cholesky(C)
    logs = 2 * np.log(np.einsum("cpp->cp", L)).sum(axis=1)
    return np.swapaxes(np.linalg.inv(L), 1, 2), -0.5 * (logs + C.shape[1] * LOG_2PI)


def _principal_roots(C: np.ndarray, min_deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """The same by principal axes, of which some are left out."""
    deviation = np.sqrt(np.einsum("cpp->cp", C))
    deviation = np.where(deviation > 0, deviation, 1.0)
    values, V = np.linalg.eigh(C / (deviation[:, :, None] * deviation[:, None, :]))
    eps = np.finfo(np.float64).eps
    kept = np.sqrt(np.maximum(values, 0.0)) >= min_deviation
    values = np.maximum(values, eps * np.maximum(values.max(axis=1, initial=1.0), 1.0)[:, None])
    roots = V * (kept / np.sqrt(values))[:, None, :] / deviation[:, :, None]
    logs = np.where(kept, np.log(values), 0.0).sum(axis=1) + 2 * np.log(deviation).sum(axis=1)
    return roots, -0.5 * (logs + C.shape[1] * LOG_2PI)
