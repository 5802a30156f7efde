r"""Least squares as a projection: the hat matrix, leverages, and residuals without a refit.

The fitted values are :math:`\hat y = H y` with :math:`H = X (X^\top W X)^{+} X^\top W`, the
projection of y on the space of the columns. The leverage :math:`h_i = H_{ii}` is the effect of
:math:`y_i` on its own fitted value, and gives the leave-one-out residual :math:`e_i / (1 - h_i)`.

References
----------
Cook, R. D. and Weisberg, S. (1982). Residuals and Influence in Regression.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.inspection._moment_root import MomentRoot, root_from_moments, root_from_rows
from tenfold.io.opener import open as open_rows
from tenfold.stats.moments import MIN_RECIPROCAL_CONDITION, Moments


def hat_matrix(
    X: Any, weights: Any = None, *, intercept: bool = True, alpha: float = 0.0
) -> np.ndarray:
    """Hat matrix H with fitted values H y, (n, n); for as many rows as fit in memory.

    Without weights it is symmetric; with ``alpha=0`` it is a projection, H H = H, and its trace is
    the rank. With a ridge penalty the trace is the effective number of coefficients.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    weights : (n,) array, optional
        Weights of the rows.
    intercept : bool
        Whether the model has an intercept.
    alpha : float
        Penalty of ridge regression; the intercept is not penalized.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.inspection.leverage import hat_matrix
    >>> H = hat_matrix([[0.0], [1.0], [2.0], [3.0]])
    >>> (H @ [1.0, 3.0, 4.0, 8.0]).round(9).tolist(), round(float(np.trace(H)), 9)
    ([0.7, 2.9, 5.1, 7.3], 2.0)
    """
    rows = open_rows(X, weight=weights)
    Z = rows.each(_whiten, *_whitening_map(_root(rows, intercept=intercept), alpha))
    w = rows.gather().weights().astype(np.float64)
    return (Z @ Z.T + (1 / w.sum() if intercept else 0.0)) * w


def leverages(
    X: Any, model: Any = None, *, weights: Any = None, intercept: bool = True, alpha: float = 0.0
) -> np.ndarray:
    """Diagonal of the hat matrix, (n,), for any number of rows; the sum is the rank.

    Two passes (three if columns are nearly collinear); one with a fitted model that has
    `statistic_`. With a model, rows outside the training data are allowed: their value is the
    variance of their prediction in units of the noise variance.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    model : fitted LinearRegression or Ridge, optional
        Source of intercept, penalty and moments of the training rows.
    weights : (n,) array or column name, optional
        Weights of the rows.
    intercept : bool
        Whether the model has an intercept.
    alpha : float
        Penalty of ridge regression.

    Examples
    --------
    >>> from tenfold.inspection.leverage import leverages
    >>> leverages([[0.0], [1.0], [2.0], [3.0]]).round(9).tolist()
    [0.7, 0.3, 0.3, 0.7]
    """
    rows = open_rows(X, weight=weights)
    return _leverages(rows, model, intercept, alpha)


def _leverages(rows: Rows, model: Any, intercept: bool, alpha: float) -> np.ndarray:
    if model is not None:
        check_is_fitted(model)
        intercept, alpha = model.fit_intercept, getattr(model, "alpha", 0.0)
    root = _root(rows, intercept=intercept, moments=getattr(model, "statistic_", None))
    return rows.each(_row_leverages, *_whitening_map(root, alpha), 1 / root.n if intercept else 0.0)


def _root(rows: Rows, *, intercept: bool, moments: Moments | None = None) -> MomentRoot:
    if moments is None:
        return root_from_rows(
            rows, intercept=intercept, min_eigenvalue=MIN_RECIPROCAL_CONDITION[rows.dtype.itemsize]
        )
    p = rows.n_features
    moments_of_X = Moments(moments.n, moments.mean[:p], moments.scatter[:p, :p], moments.rows)
    return root_from_moments(moments_of_X, rows.dtype, intercept=intercept)


def _whitening_map(root: MomentRoot, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Origin, and the map to coordinates in which leverage is the squared norm."""
    norms = np.sqrt((root.R**2).sum(axis=0))
    scale = np.where(norms > 0, norms, 1.0) if alpha == 0 else np.ones_like(norms)
    _, values, Vt = np.linalg.svd(root.R / scale, full_matrices=False)
    moments = values > root.noise * max(root.R.shape) * values.max(initial=0.0)
    return root.origin, (Vt[moments].T / np.sqrt(values[moments] ** 2 + alpha)) / scale[:, None]


def _whiten(chunk: Chunk, origin: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Coordinates of the rows in which the training rows have identity scatter matrix."""
    if isinstance(chunk.X, np.ndarray):
        return (chunk.X - origin) @ T
    return chunk.X @ T - origin @ T


def _row_leverages(
    chunk: Chunk, origin: np.ndarray, T: np.ndarray, intercept_leverage: float
) -> np.ndarray:
    """Leverage of each row of a chunk."""
    Z = _whiten(chunk, origin, T)
    return (np.einsum("ij,ij->i", Z, Z) + intercept_leverage) * chunk.weights()


class RegressionDiagnostics(NamedTuple):
    """Diagnostics of a least-squares fit.

    Attributes
    ----------
    fitted, residuals : (n,) with y = fitted + residuals
    leverages : (n,) diagonal of the hat matrix
    leave_one_out : (n,) residual of each row if the model were fitted without it; NaN for a row
        without which the model would not be determined
    orthogonality : largest cosine between residuals and a column; 0 up to rounding, if unpenalized
    degrees : trace of the hat matrix, the effective number of coefficients
    r2 : coefficient of determination
    noise : estimated variance of the noise, sum of squares over n - degrees
    """

    fitted: np.ndarray
    residuals: np.ndarray
    leverages: np.ndarray
    leave_one_out: np.ndarray
    orthogonality: float
    degrees: float
    r2: float
    noise: float


def regression_diagnostics(
    model: Any, X: Any, y: Any, weights: Any = None
) -> RegressionDiagnostics:
    """Fitted values, residuals and leverages of the rows that a model was fitted to.

    Parameters
    ----------
    model : fitted LinearRegression or Ridge
        A model of one target.
    X, y : rows and target
        The training data: arrays, or a table or file with the name of its target.
    weights : (n,) array or column name, optional
        Sample weights of the fit.

    Examples
    --------
    >>> from tenfold import LinearRegression
    >>> from tenfold.inspection.leverage import regression_diagnostics
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0]
    >>> diagnostics = regression_diagnostics(LinearRegression().fit(X, y), X, y)
    >>> diagnostics.residuals.round(9).tolist(), diagnostics.leave_one_out.round(4).tolist()
    ([0.3, 0.1, -1.1, 0.7], [1.0, 0.1429, -1.5714, 2.3333])
    """
    check_is_fitted(model)
    rows = open_rows(X, target=np.asarray(y) if isinstance(y, list) else y, weight=weights)
    coefficients = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    w, target, e = rows.each(_weight_target_residual, *coefficients).T
    h = _leverages(rows, model, True, 0.0)
    residual_squares, degrees = float(w @ e**2), float(h.sum())
    center = w @ target / w.sum() if model.fit_intercept else 0.0
    r2 = 1 - residual_squares / float(w @ (target - center) ** 2)
    noise = residual_squares / (len(e) - degrees) if len(e) > degrees + 0.5 else np.nan
    cosine = _largest_cosine(rows.total(_residual_products, *coefficients))
    return RegressionDiagnostics(
        target - e, e, h, _leave_one_out_residuals(e, h), cosine, degrees, r2, noise
    )


def _leave_one_out_residuals(e: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Leave-one-out residuals from residuals and leverages."""
    complement = 1 - h
    return np.where(complement > 1e-9, e / np.where(complement > 1e-9, complement, 1.0), np.nan)


def _weight_target_residual(chunk: Chunk, coef: np.ndarray, intercept: float) -> np.ndarray:
    """For each row its weight, target and residual, (n, 3)."""
    e = chunk.y - (chunk.X @ coef + intercept)
    return np.column_stack([chunk.weights(), chunk.y, e]).astype(np.float64)


class ResidualProducts(NamedTuple):
    """Weighted sums of x e and x x for each column, and of e e."""

    xe: np.ndarray
    xx: np.ndarray
    ee: float


def _residual_products(chunk: Chunk, coef: np.ndarray, intercept: float) -> ResidualProducts:
    """Products of columns and residuals of a chunk."""
    w, _, e = _weight_target_residual(chunk, coef, intercept).T
    return ResidualProducts(chunk.X.T @ (w * e), (chunk.X**2).T @ w, float(w @ e**2))


def _largest_cosine(s: ResidualProducts) -> float:
    """Largest cosine of the angles between the residuals and the columns."""
    lengths = np.sqrt(s.xx * s.ee)
    return float((np.abs(s.xe) / np.where(lengths > 0, lengths, 1.0)).max())
