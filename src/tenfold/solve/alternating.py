"""Alternating minimisation: one block of the unknowns at a time, the others held.

    block_k <- argmin over its convex set of cost(..., block_k, ...)          [001, 4.2; 003, 7.6]

If no step raises the cost, the cost falls to a limit; the driver watches that it does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.solve.loop import until_still
from tenfold.solve.projections import Projection
from tenfold.solve.proximal import projected_gradient
from tenfold.solve.rates import Rate

NOISE = 1e-10  # of the cost: a rise by less is rounding

Blocks = dict[str, np.ndarray]
Step = Callable[[Blocks], np.ndarray]


class CostRoseError(ArithmeticError):
    """A step that must not raise the cost has raised it."""


class Alternated(NamedTuple):
    """Where the blocks came to rest.

    Attributes
    ----------
    blocks : dict of arrays
    cost : their cost
    report : n_iter_, converged_ and history_; in it "steps" is the cost after every step
    """

    blocks: Blocks
    cost: float
    report: dict[str, Any]


def alternate(
    steps: dict[str, Step],
    start: Blocks,
    cost: Callable[[Blocks], float],
    *,
    sets: dict[str, Projection] | None = None,
    radius: Rate | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    on_rise: str = "raise",
) -> Alternated:
    """Minimise a cost over blocks in turn, each within its convex set.

    Parameters
    ----------
    steps : dict of callables
        For each block, in this order: all blocks -> the new value of that one. It need not be the
        minimum, only no worse than before (see `few_steps`).
    start : dict of arrays
        The blocks to begin with. A block without a step stays as it is.
    cost : callable
        All blocks -> a number.
    sets : dict of projections, optional
        The convex sets of some blocks: what a step gives is projected on its set. If the cost is
        convex in the block and the step ignored the set, that may raise the cost.
    radius : callable, optional
        No block moves farther than radius(t) in round t = 1, 2, ...: it stops on the way to its
        new value. With sum r = inf and sum r^2 < inf blocks converge where plain turns may cycle
        (block coordinate descent with diminishing radius).
    tol : float
        Converged when a round lowers the cost by at most this share of it.
    max_iter : int
        Most rounds.
    on_rise : "raise" or "warn"
        What happens when a step raises the cost.

    Returns
    -------
    Alternated

    Raises
    ------
    CostRoseError
        If a step raises the cost; it names the block.

    Examples
    --------
    The ratings of [003, 7.6], two users and three films, some unknown, rank 1:

    >>> import numpy as np
    >>> Y, known = np.array([[5.0, 0, 7], [1, 2, 0]]), np.array([[1, 0, 1], [1, 1, 0]])
    >>> def cost(b):
    ...     errors = known * (Y - np.outer(b["u"], b["v"]))
    ...     return ((errors**2).sum() + b["u"] @ b["u"] + b["v"] @ b["v"]) / 2
    >>> steps = {
    ...     "u": lambda b: known * Y @ b["v"] / (1 + known @ b["v"] ** 2),
    ...     "v": lambda b: (known * Y).T @ b["u"] / (1 + known.T @ b["u"] ** 2),
    ... }
    >>> found = alternate(steps, {"u": np.zeros(2), "v": np.array([2.0, 7, 8])}, cost, tol=1e-12)
    >>> found.blocks["u"].round(4).tolist(), round(found.cost, 4)
    ([2.7821, 0.7976], 9.6777)
    """
    _check(steps, start, sets or {}, on_rise)
    first = float(cost(start))
    loop = until_still((dict(start), first, np.zeros(0)), tol=tol, max_iter=max_iter)
    for blocks, value, costs in loop:
        blocks, before = dict(blocks), value
        for name, step in steps.items():
            new = _moved(name, step, blocks, sets or {}, radius and radius(loop.n_iter + 1))
            after = float(cost({**blocks, name: new}))
            watched(value, after, f"the step of block {name!r}", on_rise)
            blocks[name], value, costs = new, after, np.append(costs, after)
        fall = abs(before - value) / max(abs(value), np.finfo(float).tiny)
        loop.tell((blocks, value, costs), objective=value, change=fall)
    blocks, value, costs = loop.state
    report = loop.report
    report["history_"]["steps"] = costs
    return Alternated(blocks, value, report)


def _moved(
    name: str, step: Step, blocks: Blocks, sets: dict[str, Projection], reach: float | None
) -> np.ndarray:
    old, new = blocks[name], np.asarray(step(blocks))
    if new.shape != np.shape(old):
        raise ValueError(f"the step of block {name!r} gives shape {new.shape}, not {old.shape}")
    new = sets[name](new) if name in sets else new
    length = float(np.linalg.norm(new - old))
    return new if reach is None or length <= reach else old + reach / length * (new - old)


def _check(steps: dict, start: dict, sets: dict, on_rise: str) -> None:
    lost = [name for name in [*steps, *sets] if name not in start]
    if lost:
        raise ValueError(f"no start for {lost}: `start` has {list(start)}")
    if on_rise not in {"raise", "warn"}:
        raise ValueError(f"on_rise={on_rise!r}: say 'raise' or 'warn'")


def watched(before: float, after: float, what: str, on_rise: str) -> None:
    """Complain if a cost has risen, or is no number."""
    if after <= before + NOISE * abs(before):
        return
    message = f"{what} raised the cost from {before:.10g} to {after:.10g}: it does not minimise it"
    if on_rise == "raise":
        raise CostRoseError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def few_steps(
    name: str,
    slope: Callable[[Blocks], tuple[float, np.ndarray]],
    *,
    n: int = 5,
    project: Projection | None = None,
) -> Step:
    """An inexact step for `alternate`: at most `n` steps of projected gradient.

    Parameters
    ----------
    name : str
        The block.
    slope : callable
        All blocks -> (cost, slope with respect to this block).
    n : int
        Most steps; 5 in [001, 4.3].
    project : callable, optional
        The convex set of the block.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> go = few_steps("x", lambda b: (((b["x"] - 3) ** 2).sum(), 2 * (b["x"] - 3)))
    >>> go({"x": np.zeros(1)}).tolist()
    [3.0]
    """

    def step(blocks: Blocks) -> np.ndarray:
        block = blocks[name]

        def f(flat: np.ndarray) -> tuple[float, np.ndarray]:
            return slope({**blocks, name: flat})

        return projected_gradient(f, project or (lambda v: v), block, tol=0.0, max_iter=n).x

    return step
