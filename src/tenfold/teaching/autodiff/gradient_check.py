"""Finite differences, and whether a derivative agrees with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.teaching.autodiff.reverse_mode import as_differentiable, grad, hessian, jacobian

_RELATIVE_STEP = (
    np.finfo(np.float64).eps ** 0.2
)  # where rounding and the fourth-order rule err alike


class GradientCheck(NamedTuple):
    """Whether slopes agree with finite differences, and where they differ most.

    It is true in an `if` when they agree.
    """

    agrees: bool
    error: float  # the largest difference, as a share of the largest slope (or of one)
    where: tuple[int, ...]  # index of that entry
    given: np.ndarray
    measured: np.ndarray

    def __bool__(self) -> bool:
        return self.agrees


def numerical_jacobian(
    f: Callable[..., Any], x: Any, *args: Any, step: float = _RELATIVE_STEP
) -> np.ndarray:
    """Slopes of all results by all entries of x, by differences of the fourth order.

    Parameters
    ----------
    f : callable
        `f(x, *args)` gives a number or an array.
    x : array
        Where.
    *args
        Further arguments.
    step : float
        Length of the steps, times the size of the entry where that is above one.

    Returns
    -------
    array of the shape of the result, then of x

    Examples
    --------
    >>> import numpy as np
    >>> numerical_jacobian(np.sin, np.array([0.0, 1.0])).round(9).tolist()
    [[1.0, 0.0], [0.0, 0.540302306]]
    """
    x = as_differentiable(x).astype(np.float64)
    columns = [
        _central_difference(f, x, at, args, step * max(1.0, abs(x[at])))
        for at in np.ndindex(x.shape)
    ]
    return np.stack(columns, axis=-1).reshape((*columns[0].shape, *x.shape))


def _central_difference(
    f: Callable[..., Any], x: np.ndarray, at: tuple, args: tuple, h: float
) -> np.ndarray:
    def moved(times: int) -> np.ndarray:
        there = x.copy()
        there[at] += times * h
        return np.asarray(f(there, *args), np.float64)

    return (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h)


def numerical_gradient(
    f: Callable[..., Any], x: Any, *args: Any, step: float = _RELATIVE_STEP
) -> np.ndarray:
    """Slope of one number by all entries of x, by differences of the fourth order.

    Parameters
    ----------
    f : callable
        `f(x, *args)` gives a number.
    x : array
        Where.
    *args
        Further arguments.
    step : float
        Length of the steps, times the size of the entry where that is above one.

    Returns
    -------
    array of the shape of x

    Examples
    --------
    >>> import numpy as np
    >>> numerical_gradient(lambda x: x @ x, np.array([1.0, 3.0])).round(6).tolist()
    [2.0, 6.0]
    """
    return numerical_jacobian(f, x, *args, step=step)


def check_gradient(
    f: Callable[..., Any], x: Any, analytic: Any = None, *args: Any, tol: float = 1e-6
) -> GradientCheck:
    """Whether a gradient agrees with finite differences.

    Parameters
    ----------
    f : callable
        `f(x, *args)` gives a number.
    x : array
        Where.
    slope : array or callable, optional
        The gradient, or the function of `(x, *args)` that gives it; that of `grad` by default.
    *args
        Further arguments of both.
    tol : float
        Largest difference allowed, as a share of the largest slope (or of one, if that is more).

    Returns
    -------
    Check

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 2.0])
    >>> bool(check_gradient(lambda x: x @ x, x, lambda x: 2 * x))
    True
    >>> wrong = check_gradient(lambda x: x @ x, x, lambda x: 2 * x + [0, 1])
    >>> wrong.agrees, wrong.where
    (False, (1,))
    """
    return _compare(
        grad(f) if analytic is None else analytic, numerical_gradient(f, x, *args), x, args, tol
    )


def check_jacobian(
    f: Callable[..., Any], x: Any, analytic: Any = None, *args: Any, tol: float = 1e-6
) -> GradientCheck:
    """Whether a Jacobian agrees with finite differences.

    Parameters
    ----------
    f : callable
        `f(x, *args)` gives an array.
    x : array
        Where.
    slope : array or callable, optional
        The Jacobian, or the function that gives it; that of `jacobian` by default.
    *args
        Further arguments of both.
    tol : float
        Largest difference allowed, as a share of the largest slope (or of one, if that is more).

    Returns
    -------
    Check
    """
    measured = numerical_jacobian(f, x, *args)
    return _compare(jacobian(f) if analytic is None else analytic, measured, x, args, tol)


def check_hessian(
    f: Callable[..., Any], x: Any, analytic: Any = None, *args: Any, tol: float = 1e-6
) -> GradientCheck:
    """Whether a Hessian agrees with finite differences of the gradient.

    Parameters
    ----------
    f : callable
        `f(x, *args)` gives a number, written so that `grad` can differentiate it.
    x : array
        Where.
    bend : array or callable, optional
        The Hessian, or the function that gives it; that of `hessian` by default.
    *args
        Further arguments of both.
    tol : float
        Largest difference allowed, as a share of the largest entry (or of one, if that is more).

    Returns
    -------
    Check
    """
    measured = numerical_jacobian(grad(f), x, *args)
    return _compare(hessian(f) if analytic is None else analytic, measured, x, args, tol)


def _compare(given: Any, measured: np.ndarray, x: Any, args: tuple, tol: float) -> GradientCheck:
    given = np.asarray(given(x, *args) if callable(given) else given, np.float64)
    if given.shape != measured.shape:
        raise ValueError(f"the slope has shape {given.shape}, not {measured.shape}")
    gap = np.abs(given - measured) / max(1.0, np.abs(measured).max(initial=0.0))
    gap = np.where(np.isfinite(gap), gap, np.inf)
    where = tuple(int(i) for i in np.unravel_index(gap.argmax(), gap.shape)) if gap.size else ()
    error = float(gap.max(initial=0.0))
    return GradientCheck(error <= tol, error, where, given, measured)
