"""One entry point for all minimizers, of this library or of SciPy, at a point or summed over rows.

Ours are "lbfgs", "newton" and "gd"; every other name is a method of `scipy.optimize.minimize`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.engine.hooks import report_objective
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import Minimum
from tenfold.optim.gradient_methods import gradient_descent
from tenfold.optim.newton_methods import newton
from tenfold.optim.quasi_newton import lbfgs

_SOLVERS = {
    "lbfgs": (lbfgs, 2),
    "newton": (newton, 3),
    "gd": (gradient_descent, 2),
}  # parts they need
_RETURN_VALUES = {1: "the value", 2: "(value, slope)", 3: "(value, slope, Hessian)"}
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
    """Minimise a function of a flat point, or the sum of a function of chunks over all rows.

    Parameters
    ----------
    f : callable
        `f(theta)`, or with `rows` a leaf `f(chunk, theta)` whose results are added up. Returns the
        value, or (value, slope), or (value, slope, Hessian), whatever the method needs.
    start : array
        Where to begin.
    rows : Rows, optional
        The data: each evaluation is one pass over them.
    method : str
        "lbfgs", "newton", "gd", or any method of `scipy.optimize.minimize`. Newton wants the
        Hessian; methods of scipy use what there is.
    tol, max_iter : float, int
        As the method understands them.
    **settings
        For the method: `rate` for "gd", `bounds` and `constraints` for those of scipy, ...

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
    kept = MemoizedObjective(f if rows is None else objective_over_rows(rows, f))
    parts = len(kept.at(x0))
    if method not in _SOLVERS:
        return _minimize_with_scipy(kept, x0, method, tol=tol, max_iter=max_iter, **settings)
    solver, needed = _SOLVERS[method]
    if parts != needed:
        raise ValueError(
            f"method={method!r} needs a function that returns {_RETURN_VALUES[needed]}, and this one "
            f"returns {_RETURN_VALUES[parts]}: take {_METHOD_HINTS[parts]}"
        )
    return solver(kept.at, x0, tol=tol, max_iter=max_iter, **settings)


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
    """A function whose parts are asked for one by one and computed together."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.x, self.parts = f, None, ()

    def at(self, x: np.ndarray) -> tuple:
        if self.x is None or not np.array_equal(x, self.x):
            given = self.f(np.array(x))
            self.x, self.parts = np.array(x), given if isinstance(given, tuple) else (given,)
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
    """A method of `scipy.optimize.minimize`, which keeps the loop to itself."""
    from scipy.optimize import minimize

    values: list[float] = []

    def told(x: np.ndarray, *_: Any) -> None:
        values.append(float(f.at(x)[0]))
        report_objective(values[-1])

    most = "maxfun" if method == "TNC" else "maxiter"
    found = minimize(
        lambda x: float(f.at(x)[0]),
        start,
        method=method,
        jac=None if method in _GRADIENT_FREE else f.part(1),
        hess=f.part(2) if method in _HESSIAN_BASED else None,
        tol=tol,
        callback=told,
        options={most: max_iter, **settings.pop("options", {})},
        **settings,
    )
    parts = f.at(found.x)
    slope = parts[1] if len(parts) > 1 else np.full_like(found.x, np.nan)
    report = {"n_iter_": int(found.get("nit", len(values))), "converged_": bool(found.success)}
    report |= {"history_": {"objective": np.array(values)}, "message_": str(found.message)}
    return Minimum(found.x, float(found.fun), slope, report)
