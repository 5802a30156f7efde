"""Ways to the minimum of an objective, and which of them suits its shape.

Newton's way takes few rounds and makes a Hessian of all parameters. L-BFGS takes more and makes
none. Both begin, where there are many rows, from the solution on a sample: rows are alike, so most
of the way is as well known from a few thousand of them.
"""

from __future__ import annotations

import numpy as np

from tenfold.linear.column_ways import l1_columns_minimum
from tenfold.linear.objective import Objective, preconditioner
from tenfold.linear.sparse_ways import l1_minimum
from tenfold.maths.losses import Logistic, Softmax
from tenfold.maths.moments import Moments
from tenfold.solve.lbfgs import Minimum, lbfgs
from tenfold.solve.newton import newton
from tenfold.solve.second_moments import second_moments

SMOOTH_WAYS = ("auto", "lbfgs", "newton-cholesky")
WAYS = (*SMOOTH_WAYS, "coordinate")
NEWTON_SIZE = 100_000  # rows x parameters up to which few costly rounds beat many cheap ones
NEWTON_WIDTH = 256  # parameters up to which Newton's Hessian is made
WIDEST_GRAM = 2000  # columns up to which L-BFGS is told how they correlate
SAMPLE = 16  # a sample is so much smaller than the data, where it pays
LEAST_SAMPLE = 10_000  # rows


def minimum(
    f: Objective,
    start: np.ndarray,
    *,
    l1: float = 0.0,
    solver: str = "auto",
    tol: float,
    max_iter: int,
) -> Minimum:
    """The minimum of an objective plus l1 times the sizes of all coefficients but the constants."""
    settings = {"tol": tol, "max_iter": max_iter}
    if not l1:
        if solver == "coordinate":
            raise ValueError(
                "solver='coordinate' is for penalties with an L1 part, and there is none "
                "(l1_ratio=0 or C=inf): choose solver='auto', 'lbfgs' or 'newton-cholesky'"
            )
        return smooth_minimum(f, start, solver=solver, **settings)
    if solver not in ("auto", "coordinate"):
        raise ValueError(
            f"solver={solver!r} needs a smooth penalty, and an L1 part has kinks: "
            "choose solver='auto' or 'coordinate', or l1_ratio=0"
        )
    kinks = np.append(np.full(f.shape[1] - 1, l1), 0.0)
    way = l1_columns_minimum if f.rows.sparse and on_columns(f) else l1_minimum
    return way(f, kinks, start, **settings)


def on_columns(f: Objective) -> bool:
    """Whether the loss is one that descent along columns knows."""
    return isinstance(f.loss, Logistic | Softmax)


def smooth_minimum(
    f: Objective, start: np.ndarray, *, solver: str = "auto", tol: float, max_iter: int
) -> Minimum:
    """The minimum of a smooth objective.

    Parameters
    ----------
    f : Objective
        Mean loss with its square penalty.
    start : array
        Where to begin, flat.
    solver : {"auto", "lbfgs", "newton-cholesky"}
        The way there.
    tol : float
        Converged when no entry of the gradient exceeds this.
    max_iter : int
        Most rounds.

    Returns
    -------
    Minimum
    """
    eps = float(np.finfo(f.rows.dtype).eps)
    settings = {"tol": tol, "max_iter": max_iter}
    size = len(start)
    few_rows = size * f.rows.n_rows <= NEWTON_SIZE
    narrow = size <= NEWTON_WIDTH and (f.shape[0] == 1 or few_rows)
    if solver == "newton-cholesky" or (solver == "auto" and narrow):
        start = _from_sample(f, start, tol, max_iter)
        return newton(f.curve, start, precision=eps, **settings)
    if f.rows.sparse or f.shape[1] > min(WIDEST_GRAM, f.rows.n_rows):
        return lbfgs(f.slope, start, precision=eps, **settings)
    s = second_moments(f.rows)
    settings |= {"precision": eps, "noise": distance_from_zero(s)}
    return lbfgs(f.slope, start, precondition=preconditioner(f, s), **settings)


def distance_from_zero(s: Moments) -> float:
    """How many deviations the farthest column lies from zero, at least 1: scores lose as much."""
    deviation = np.sqrt(np.maximum(s.scatter.diagonal(), 0.0) / s.n)
    varies = deviation > 0
    return float((np.abs(s.mean[varies]) / deviation[varies]).max(initial=1.0))


def _from_sample(f: Objective, start: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """The minimum on a sample of the rows, where they are many; else the start."""
    k = f.rows.n_rows // SAMPLE
    if k < LEAST_SAMPLE or max_iter < 2:
        return start
    part = f.on_sample(k, seed=0)
    return newton(part.curve, start, tol=max(tol, 1e-3), max_iter=max_iter).x
