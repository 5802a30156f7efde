r"""Leave-one-out errors of ridge regression for many penalties, in one pass.

With the spectral decomposition :math:`X^\top X = V \Lambda V^\top` of centered rows, the fit with
penalty :math:`\alpha` has the residual e and the leverage
:math:`h = \omega (1/n + \sum_k t_k^2 / (\lambda_k + \alpha))` at a row with coordinates
:math:`t = V^\top (x - \bar x)`, and :math:`e / (1 - h)` is the error of the fit without that row.

References
----------
R. M. Rifkin, R. A. Lippert (2007). Notes on regularized least squares. MIT-CSAIL-TR-2007-025.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.linear._least_squares_solvers import (
    is_well_conditioned,
    problem_from_moments,
    problem_from_qr,
    thin_svd,
)
from tenfold.linear.ridge import Ridge
from tenfold.math.linalg import to_dense


class RidgeSpectrum(NamedTuple):
    """Spectral decomposition of centered rows, and what it says about the targets.

    Attributes
    ----------
    V : (p, r) eigenvectors of X'X, or right singular vectors of few rows
    values : (r,) eigenvalues
    projected : (r, q) V'X'Y
    mean_x, mean_y : (p,) and (q,) what was subtracted, zero without intercept
    share : 1 / n with an intercept, else 0
    """

    V: np.ndarray
    values: np.ndarray
    projected: np.ndarray
    mean_x: np.ndarray
    mean_y: np.ndarray
    share: float


class SpectralFit(NamedTuple):
    """The decomposition, and from it the learned attributes of a ridge regression."""

    spectrum: RidgeSpectrum
    solve: Any


def decompose(rows: Rows, ridge: Ridge, smallest: float, *, exact: bool) -> SpectralFit:
    """The spectral decomposition of rows, by the method that keeps their digits.

    Parameters
    ----------
    rows : Rows
        Rows with their targets.
    ridge : Ridge
        Ridge regression with the parameters of the fit.
    smallest : float
        Smallest penalty.
    exact : bool
        Whether to take the triangular factor of the rows in any case.
    """
    intercept, p = ridge.fit_intercept, rows.n_features
    if ridge._is_wide(rows) or ridge._is_iterative(rows):
        return _decompose_few_rows(rows, ridge)
    s = ridge._statistic(rows)
    P = problem_from_moments(s, p, rows.dtype, intercept=intercept)
    ill = exact or not is_well_conditioned(P, np.array([smallest]), rows.dtype)
    if ill and not rows.sparse:
        P = problem_from_qr(rows, s, intercept=intercept)
        U, singular, Vt = np.linalg.svd(np.asarray(P.R), full_matrices=False)
        V, values, projected = Vt.T, singular**2, singular[:, None] * (U.T @ np.asarray(P.C))
    else:
        values, V = np.linalg.eigh(P.AA)
        values, projected = np.maximum(values, 0.0), V.T @ P.AB
    mean = s.mean if intercept else np.zeros_like(s.mean)
    share = 1 / s.n if intercept else 0.0
    spectrum = RidgeSpectrum(V, values, projected, mean[:p], mean[p:], share)
    return SpectralFit(spectrum, lambda model: model._solve(P, s, rows.dtype))


def _decompose_few_rows(rows: Rows, ridge: Ridge) -> SpectralFit:
    """The decomposition of rows that are fewer than the columns, in memory."""
    n, p = rows.n_rows, rows.n_features
    if n >= p:
        raise ValueError(
            f"leave-one-out needs a dense Gram matrix, and {p} sparse columns are too many: give "
            "cv=5, or hash to fewer columns"
        )
    dense, sparse = rows, rows.sparse
    if sparse:
        check_memory(24.0 * n * p, f"leave-one-out of {n:,} x {p:,} sparse rows", "give cv=5")
        X, y, w, _ = rows.gather()
        dense = Rows(ArraySource(to_dense(X), y, w))
    svd = thin_svd(dense, intercept=ridge.fit_intercept)
    n_eff = rows.total(_weight) if ridge.fit_intercept else np.inf
    projected = svd.singular[:, None] * svd.projected
    spectrum = RidgeSpectrum(
        svd.Vt.T, svd.singular**2, projected, svd.mean_x, svd.mean_y, 1 / n_eff
    )
    ridge._target_shape = rows.target_shape
    return SpectralFit(spectrum, lambda model: _solve_by_svd(model, ridge, svd, rows.dtype))


def _solve_by_svd(model: Ridge, opened: Ridge, svd: Any, dtype: np.dtype) -> dict[str, Any]:
    model._target_shape = opened._target_shape
    return model._attributes_from_svd(svd, dtype)


def _weight(chunk: Chunk) -> float:
    return chunk.weight


def leave_one_out_errors(chunk: Chunk, spectrum: RidgeSpectrum, alphas: np.ndarray) -> np.ndarray:
    """Errors (n, q, n_alphas) of the fits without each row, on the row."""
    V, values, projected, mean_x, mean_y, share = spectrum
    T = (to_dense(chunk.X) - mean_x) @ V
    factors = 1 / (values[:, None] + alphas)  # (r, a)
    leverage = chunk.weights()[:, None] * (share + T**2 @ factors)
    coefs = projected[:, :, None] * factors[:, None, :]  # (r, q, a)
    fitted = (T @ coefs.reshape(len(coefs), -1)).reshape(len(T), *coefs.shape[1:])
    residual = (chunk.y.reshape(len(T), -1) - mean_y)[:, :, None] - fitted
    with np.errstate(divide="ignore", invalid="ignore"):
        return residual / (1 - leverage)[:, None, :]


def leave_one_out_squares(chunk: Chunk, spectrum: RidgeSpectrum, alphas: np.ndarray) -> np.ndarray:
    """Weighted sums (q, n_alphas) of the squares of these errors."""
    errors = leave_one_out_errors(chunk, spectrum, alphas)
    return np.einsum("i,iqa->qa", chunk.weights().astype(np.float64), errors**2)


def weighted_squares(chunk: Chunk, spectrum: RidgeSpectrum, alphas: np.ndarray) -> np.ndarray:
    """Weighted squares (n, q, n_alphas) of these errors."""
    return chunk.weights()[:, None, None] * leave_one_out_errors(chunk, spectrum, alphas) ** 2


def leave_one_out_predictions(
    chunk: Chunk, spectrum: RidgeSpectrum, alphas: np.ndarray
) -> np.ndarray:
    """Predictions (n, q, n_alphas) of each row by the fits without it."""
    errors = leave_one_out_errors(chunk, spectrum, alphas)
    return chunk.y.reshape(chunk.rows, -1)[:, :, None] - errors
