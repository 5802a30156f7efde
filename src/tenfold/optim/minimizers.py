"""One entry point for all minimizers, of this library or of SciPy, at a point or summed over rows.

"lbfgs", "newton" and "gd" are those of this library; every other name is a method of
`scipy.optimize.minimize`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.engine.hooks import report_objective
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import Minimum, as_point
from tenfold.optim.gradient_methods import gradient_descent
from tenfold.optim.newton_methods import newton
from tenfold.optim.quasi_newton import lbfgs

# name: solver, and the number of values that the objective has to return
_SOLVERS = {"lbfgs": (lbfgs, 2), "newton": (newton, 3), "gd": (gradient_descent, 2)}
_RETURN_VALUES = {1: "the value", 2: "(value, gradient)", 3: "(value, gradient, Hessian)"}
_METHOD_HINTS = {1: "method='Nelder-Mead' or 'Powell'", 2: "method='lbfgs'", 3: "method='newton'"}
_GRADIENT_FREE = {"Nelder-Mead", "Powell", "COBYLA", "COBYQA"}
_HESSIAN_BASED = {"Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov", "trust-constr"}


def minimize(
    f: Callable[..., Any],
    x0: np.ndarray,
    *,
    rows: Rows | None = None,
    method: str = "lbfgs",
    tol: float = 1e-6,
    max_iter: int = 1000,
    **settings: Any,
) -> Minimum:
    """Minimize a function of a flat point, or the sum of a chunk function over all rows.

    Parameters
    ----------
    f : callable
        `f(theta)`, or with `rows` a leaf `f(chunk, theta)` whose results are added up. Returns the
        value, (value, gradient), or (value, gradient, Hessian), as the method needs.
    x0 : array of shape (n_params,)
        Initial point.
    rows : Rows, optional
        The data: each evaluation is one pass over them.
    method : str
        "lbfgs", "newton", "gd", or any method of `scipy.optimize.minimize`. Newton needs the
        Hessian; methods of SciPy use what `f` returns.
    tol, max_iter : float, int
        As defined by the method.
    **settings
        Of the method: `learning_rate` for "gd", `bounds` and `constraints` for SciPy, ...

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> def squares(chunk, theta):
    ...     error = chunk.X @ theta - chunk.y
    ...     return error @ error / 2, chunk.X.T @ error
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> rows = tenfold.open(X, np.array([1.0, 3.0, 4.0, 8.0]))
    >>> minimize(squares, np.zeros(2), rows=rows, tol=1e-9).x.round(6).tolist()
    [0.7, 2.2]
    >>> minimize(squares, np.zeros(2), rows=rows, method="BFGS").x.round(4).tolist()
    [0.7, 2.2]
    """
    objective = MemoizedObjective(f if rows is None else objective_over_rows(rows, f))
    x0 = as_point(x0)
    parts = len(objective.at(x0))
    if method not in _SOLVERS:
        return _minimize_with_scipy(objective, x0, method, tol=tol, max_iter=max_iter, **settings)
    solver, needed = _SOLVERS[method]
    if parts != needed:
        raise ValueError(
            f"method={method!r} needs a function that returns {_RETURN_VALUES[needed]}, and this "
            f"one returns {_RETURN_VALUES[parts]}: use {_METHOD_HINTS[parts]}"
        )
    return solver(objective.at, x0, tol=tol, max_iter=max_iter, **settings)


def objective_over_rows(
    rows: Rows, leaf: Callable[..., Any], *, mean: bool = False
) -> Callable[..., Any]:
    """The function theta -> sum (or mean, by weight) of leaf(chunk, theta) over all rows.

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> f = objective_over_rows(
    ...     tenfold.open(np.ones((4, 1))), lambda chunk, theta: theta * chunk.weight
    ... )
    >>> f(0.5)
    2.0
    """
    weight = rows.total(_chunk_weight) if mean else 1.0

    def f(theta: np.ndarray) -> Any:
        total = rows.total(leaf, theta)
        if not mean:
            return total
        return (
            tuple(part / weight for part in total) if isinstance(total, tuple) else total / weight
        )

    return f


def _chunk_weight(chunk: Any) -> float:
    return chunk.weight


class MemoizedObjective:
    """An objective whose value, gradient and Hessian are requested separately, computed once."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.x, self.parts = f, None, ()

    def at(self, x: np.ndarray) -> tuple:
        if self.x is None or not np.array_equal(x, self.x):
            result = self.f(np.array(x))
            self.x, self.parts = np.array(x), result if isinstance(result, tuple) else (result,)
        return self.parts

    def part(self, number: int) -> Callable[[np.ndarray], Any] | None:
        return (lambda x: self.at(x)[number]) if len(self.parts) > number else None


def _minimize_with_scipy(
    f: MemoizedObjective,
    start: np.ndarray,
    method: str,
    *,
    tol: float,
    max_iter: int,
    **settings: Any,
) -> Minimum:
    """Run a method of `scipy.optimize.minimize`."""
    from scipy.optimize import minimize

    values: list[float] = []

    def record(x: np.ndarray, *_: Any) -> None:
        values.append(float(f.at(x)[0]))
        report_objective(values[-1])

    limit = "maxfun" if method == "TNC" else "maxiter"
    result = minimize(
        lambda x: float(f.at(x)[0]),
        start,
        method=method,
        jac=None if method in _GRADIENT_FREE else f.part(1),
        hess=f.part(2) if method in _HESSIAN_BASED else None,
        tol=tol,
        callback=record,
        options={limit: max_iter, **settings.pop("options", {})},
        **settings,
    )
    parts = f.at(result.x)
    gradient = parts[1] if len(parts) > 1 else np.full_like(result.x, np.nan)
    report = {"n_iter_": int(result.get("nit", len(values))), "converged_": bool(result.success)}
    report |= {"history_": {"objective": np.array(values)}, "message_": str(result.message)}
    return Minimum(result.x, float(result.fun), gradient, report)
