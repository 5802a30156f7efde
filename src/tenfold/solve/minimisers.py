"""Any minimiser, given a cost and its slope, at a point or over a fold [000, 1.2].

Ours are "lbfgs", "newton" and "gd"; every other name is a method of `scipy.optimize.minimize`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.rows import Rows
from tenfold.rows.watching.watch import note
from tenfold.solve.descent import gradient_descent
from tenfold.solve.lbfgs import Minimum, lbfgs
from tenfold.solve.newton import newton

OWN = {"lbfgs": (lbfgs, 2), "newton": (newton, 3), "gd": (gradient_descent, 2)}  # parts they need
WORDS = {1: "the value", 2: "(value, slope)", 3: "(value, slope, Hessian)"}
CURES = {1: "method='Nelder-Mead' or 'Powell'", 2: "method='lbfgs'", 3: "method='newton'"}
SLOPELESS = {"Nelder-Mead", "Powell", "COBYLA", "COBYQA"}
CURVED = {"Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov", "trust-constr"}


def minimise(
    f: Callable[..., Any],
    start: np.ndarray,
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
    >>> minimise(squares, np.zeros(2), rows=rows, tol=1e-9).x.round(6).tolist()
    [0.7, 2.2]
    >>> minimise(squares, np.zeros(2), rows=rows, method="BFGS").x.round(4).tolist()
    [0.7, 2.2]
    """
    kept = Remembered(f if rows is None else over(rows, f))
    parts = len(kept.at(start))
    if method not in OWN:
        return by_scipy(kept, start, method, tol=tol, max_iter=max_iter, **settings)
    solver, needed = OWN[method]
    if parts != needed:
        raise ValueError(
            f"method={method!r} needs a function that returns {WORDS[needed]}, and this one "
            f"returns {WORDS[parts]}: take {CURES[parts]}"
        )
    return solver(kept.at, start, tol=tol, max_iter=max_iter, **settings)


def over(rows: Rows, leaf: Callable[..., Any], *, mean: bool = False) -> Callable[..., Any]:
    """The function theta -> sum (or mean, by weight) of leaf(chunk, theta) over all rows.

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> f = over(tenfold.open(np.ones((4, 1))), lambda chunk, theta: theta * chunk.weight)
    >>> f(0.5)
    2.0
    """
    weight = rows.total(_weight) if mean else 1.0

    def f(theta: np.ndarray) -> Any:
        total = rows.total(leaf, theta)
        if not mean:
            return total
        return (
            tuple(part / weight for part in total) if isinstance(total, tuple) else total / weight
        )

    return f


def _weight(chunk: Any) -> float:
    return chunk.weight


class Remembered:
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


def by_scipy(
    f: Remembered, start: np.ndarray, method: str, *, tol: float, max_iter: int, **settings: Any
) -> Minimum:
    """A method of `scipy.optimize.minimize`, which keeps the loop to itself."""
    from scipy.optimize import minimize

    values: list[float] = []

    def told(x: np.ndarray, *_: Any) -> None:
        values.append(float(f.at(x)[0]))
        note(values[-1])

    most = "maxfun" if method == "TNC" else "maxiter"
    found = minimize(
        lambda x: float(f.at(x)[0]),
        start,
        method=method,
        jac=None if method in SLOPELESS else f.part(1),
        hess=f.part(2) if method in CURVED else None,
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
