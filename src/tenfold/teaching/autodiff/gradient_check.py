"""Finite differences, and whether a derivative agrees with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.teaching.autodiff.reverse_mode import as_differentiable, grad, hessian, jacobian

_RELATIVE_STEP = (
    np.finfo(np.float64).eps ** 0.2
)  # balances rounding and the error of the fourth-order rule


class GradientCheck(NamedTuple):
    """Whether derivatives agree with finite differences, and where they differ most.

    Its truth value is `agrees`.
    """

    agrees: bool
    error: float  # the largest difference, relative to the largest derivative (at least 1)
    where: tuple[int, ...]  # index of the largest difference
    analytic: np.ndarray
    numerical: np.ndarray

    def __bool__(self) -> bool:
        return self.agrees


def numerical_jacobian(
    f: Callable[..., Any], x: Any, *args: Any, step: float = _RELATIVE_STEP
) -> np.ndarray:
    """The Jacobian of f at x by central differences of fourth order.

    Parameters
    ----------
    f : callable
        `f(x, *args)` returns a number or an array.
    x : array
        The point.
    *args
        Further arguments.
    step : float
        Step, times the magnitude of the entry where that is above 1.

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
    def evaluate_at(steps: int) -> np.ndarray:
        point = x.copy()
        point[at] += steps * h
        return np.asarray(f(point, *args), np.float64)

    return (8 * (evaluate_at(1) - evaluate_at(-1)) - (evaluate_at(2) - evaluate_at(-2))) / (12 * h)


def numerical_gradient(
    f: Callable[..., Any], x: Any, *args: Any, step: float = _RELATIVE_STEP
) -> np.ndarray:
    """The gradient of f at x by central differences of fourth order.

    Parameters
    ----------
    f : callable
        `f(x, *args)` returns a number.
    x : array
        The point.
    *args
        Further arguments.
    step : float
        Step, times the magnitude of the entry where that is above 1.

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
        `f(x, *args)` returns a number.
    x : array
        The point.
    analytic : array or callable, optional
        The gradient, or a function of `(x, *args)` that returns it; by default that of `grad`.
    *args
        Further arguments of both.
    tol : float
        Largest difference allowed, relative to the largest derivative (at least 1).

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
        `f(x, *args)` returns an array.
    x : array
        The point.
    analytic : array or callable, optional
        The Jacobian, or a function that returns it; by default that of `jacobian`.
    *args
        Further arguments of both.
    tol : float
        Largest difference allowed, relative to the largest derivative (at least 1).

    Returns
    -------
    Check
    """
    numerical = numerical_jacobian(f, x, *args)
    return _compare(jacobian(f) if analytic is None else analytic, numerical, x, args, tol)


def check_hessian(
    f: Callable[..., Any], x: Any, analytic: Any = None, *args: Any, tol: float = 1e-6
) -> GradientCheck:
    """Whether a Hessian agrees with finite differences of the gradient.

    Parameters
    ----------
    f : callable
        `f(x, *args)` returns a number, in functions that `grad` can differentiate.
    x : array
        The point.
    analytic : array or callable, optional
        The Hessian, or a function that returns it; by default that of `hessian`.
    *args
        Further arguments of both.
    tol : float
        Largest difference allowed, relative to the largest entry (at least 1).

    Returns
    -------
    Check
    """
    numerical = numerical_jacobian(grad(f), x, *args)
    return _compare(hessian(f) if analytic is None else analytic, numerical, x, args, tol)


def _compare(
    analytic: Any, numerical: np.ndarray, x: Any, args: tuple, tol: float
) -> GradientCheck:
    value = analytic(x, *args) if callable(analytic) else analytic
    analytic = np.asarray(value, np.float64)
    if analytic.shape != numerical.shape:
        raise ValueError(f"the derivative has shape {analytic.shape}, not {numerical.shape}")
    errors = np.abs(analytic - numerical) / max(1.0, np.abs(numerical).max(initial=0.0))
    errors = np.where(np.isfinite(errors), errors, np.inf)
    index = np.unravel_index(errors.argmax(), errors.shape) if errors.size else ()
    error = float(errors.max(initial=0.0))
    where = tuple(int(i) for i in index)
    return GradientCheck(error <= tol, error, where, analytic, numerical)
