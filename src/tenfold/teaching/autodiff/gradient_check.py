"""Finite differences, and whether a derivative agrees with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.teaching.autodiff.reverse_mode import as_differentiable, grad, hessian, jacobian

_RELATIVE_STEP = (
    np.finfo(np.float64).eps ** 0.2
)  # balances rounding and the error of the fourth-order rule
_EPS = float(np.finfo(np.float64).eps)
_STEP_TOLERANCE = 1e-8  # relative change of a derivative with half the step that is accepted
_MAX_STEP_CUTS = 12  # by 4
_SMALLEST_DERIVATIVE = 1e-20  # saturated functions have smaller ones, which are not compared


class GradientCheck(NamedTuple):
    """Whether derivatives agree with finite differences, and where they differ most.

    Its truth value is `agrees`.
    """

    agrees: bool
    error: float  # the largest difference, relative to the largest derivative
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
        Step, times the magnitude of the entry where that is above 1; a shorter one where the
        function is not smooth, or not defined, at this distance.

    Returns
    -------
    array of the shape of the result, then of x

    Examples
    --------
    >>> import numpy as np
    >>> numerical_jacobian(np.sin, np.array([0.0, 1.0])).round(9).tolist()
    [[1.0, 0.0], [0.0, 0.540302306]]
    """
    return _differentiate(f, x, args, step).jacobian


class NumericalJacobian(NamedTuple):
    """A Jacobian by differences, and the size of derivatives that they cannot tell from zero."""

    jacobian: np.ndarray
    resolution: float


def _differentiate(
    f: Callable[..., Any], x: Any, args: tuple, step: float = _RELATIVE_STEP
) -> NumericalJacobian:
    """Differences with respect to each entry of x."""
    x = as_differentiable(x).astype(np.float64)
    middle = np.asarray(f(x, *args), np.float64)
    columns = [
        _central_difference(f, x, at, args, step * max(1.0, abs(x[at])))
        for at in np.ndindex(x.shape)
    ]
    jacobian = np.stack([column.derivative for column in columns], axis=-1)
    rounding = _EPS * np.abs(middle).max(initial=0.0) / step
    curvature = max(np.abs(c.sides - 2 * middle).max(initial=0.0) / c.step for c in columns)
    return NumericalJacobian(
        jacobian.reshape((*middle.shape, *x.shape)), float(rounding + _EPS * curvature / step)
    )


class CentralDifference(NamedTuple):
    """A derivative, the step, and the sum of the values one step to both sides."""

    derivative: np.ndarray
    step: float
    sides: np.ndarray


def _central_difference(
    f: Callable[..., Any], x: np.ndarray, at: tuple, args: tuple, h: float
) -> CentralDifference:
    """The first difference that agrees with that of half the step; else the one that does best."""

    def evaluate_at(distance: float) -> np.ndarray:
        point = x.copy()
        point[at] += distance
        with np.errstate(all="ignore"):
            return np.asarray(f(point, *args), np.float64)

    best, least = CentralDifference(np.array(np.nan), h, np.array(np.nan)), np.inf
    for attempt in range(_MAX_STEP_CUTS):
        step = h / 4**attempt
        near, far = evaluate_at(step), evaluate_at(-step)
        with np.errstate(all="ignore"):
            whole = (8 * (near - far) - (evaluate_at(2 * step) - evaluate_at(-2 * step))) / (
                12 * step
            )
            half = (8 * (evaluate_at(step / 2) - evaluate_at(-step / 2)) - (near - far)) / (
                6 * step
            )
            rounding = _EPS * np.abs(near).max(initial=0.0) / step
            error = float(np.abs(whole - half).max(initial=0.0) + rounding)
        accurate = error <= _STEP_TOLERANCE * np.abs(whole).max(initial=0.0) + 10 * rounding
        if attempt == 0 or error < least:
            best, least = (
                CentralDifference(whole, step, near + far),
                np.nan_to_num(error, nan=np.inf),
            )
        if accurate:
            break
    return best


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
        Largest difference allowed, relative to the largest derivative.

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
    return _compare(grad(f) if analytic is None else analytic, f, x, args, tol)


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
        Largest difference allowed, relative to the largest derivative.

    Returns
    -------
    Check
    """
    return _compare(jacobian(f) if analytic is None else analytic, f, x, args, tol)


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
        Largest difference allowed, relative to the largest entry.

    Returns
    -------
    Check
    """
    return _compare(hessian(f) if analytic is None else analytic, grad(f), x, args, tol)


def _compare(
    analytic: Any, f: Callable[..., Any], x: Any, args: tuple, tol: float
) -> GradientCheck:
    """Whether a derivative agrees with differences of f."""
    numerical, resolution = _differentiate(f, x, args)
    value = analytic(x, *args) if callable(analytic) else analytic
    analytic = np.asarray(value, np.float64)
    if analytic.shape != numerical.shape:
        raise ValueError(f"the derivative has shape {analytic.shape}, not {numerical.shape}")
    largest = np.abs(numerical).max(initial=0.0)
    scale = max(largest, 10 * resolution / tol, _SMALLEST_DERIVATIVE)
    errors = np.abs(analytic - numerical) / scale
    errors = np.where(np.isfinite(errors), errors, np.inf)
    index = np.unravel_index(errors.argmax(), errors.shape) if errors.size else ()
    error = float(errors.max(initial=0.0))
    where = tuple(int(i) for i in index)
    return GradientCheck(error <= tol, error, where, analytic, numerical)
