"""How a radial basis network learns: L-BFGS over its weights, then over all that adapts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.maths.losses import Loss
from tenfold.neural.rbf_leaves import Bumps, loss_and_slope
from tenfold.rows import Chunk, Rows
from tenfold.solve import lbfgs

MOVING = {"none": 2, "centres": 3, "all": 4}  # so many of the first parts of `Bumps` learn


def descend(
    rows: Rows,
    net: Bumps,
    stages: list[str],
    loss: Loss,
    alpha: float,
    tol: float,
    max_iter: int,
) -> tuple[Bumps, dict[str, Any]]:
    """The network after all stages, each of which starts where the last has ended."""
    n, reports = rows.total(weight_of), []
    for adapt in stages:
        moving = MOVING[adapt]
        cost = cost_of(rows, net, adapt, loss, alpha, n)
        precision = float(np.finfo(rows.dtype).eps)
        start = packed(net[:moving])
        found = lbfgs(cost, start, tol=tol, max_iter=max_iter, precision=precision)
        net = moved(net, found.x, moving)
        reports.append(found.report)
    return net, joined(reports)


def cost_of(
    rows: Rows, net: Bumps, adapt: str, loss: Loss, alpha: float, n: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Mean loss plus penalty and its slope, as a function of the vector of what learns."""
    moving = MOVING[adapt]

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        at = moved(net, x, moving)
        sums = rows.total(loss_and_slope, loss, at.cast(rows.dtype), adapt)
        slope = packed(sums.slope[:moving]) / n
        slope[: at.coef.size] += alpha * at.coef.ravel()
        return sums.loss / n + alpha / 2 * float((at.coef**2).sum()), slope

    return cost


def weight_of(chunk: Chunk) -> float:
    """Total weight of a chunk."""
    return chunk.weight


def packed(parts: Any) -> np.ndarray:
    """Arrays as one vector."""
    return np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])


def moved(net: Bumps, x: np.ndarray, moving: int) -> Bumps:
    """The network whose first parts are those of a vector."""
    ends = np.cumsum([part.size for part in net[:moving]])[:-1]
    parts = zip(np.split(x, ends), net[:moving], strict=True)
    return Bumps(*(new.reshape(old.shape) for new, old in parts), *net[moving:])


def joined(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """One report of descents after each other."""
    objective = [report["history_"]["objective"] for report in reports]
    seconds = [report["history_"]["seconds"] for report in reports]
    begun = np.cumsum([0.0, *(each[-1] for each in seconds[:-1])])
    since = [start + each for start, each in zip(begun, seconds, strict=True)]
    return {
        "n_iter_": sum(report["n_iter_"] for report in reports),
        "converged_": reports[-1]["converged_"],
        "history_": {"objective": np.concatenate(objective), "seconds": np.concatenate(since)},
    }
