"""Methods whose cost never increases: alternating minimization and majorize-minimize (MM)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.projections import Projection
from tenfold.optim.proximal import projected_gradient
from tenfold.optim.schedules import Schedule

_ROUNDING_RATIO = 1e-10  # of the cost: a rise by less is rounding

Blocks = dict[str, np.ndarray]
BlockStep = Callable[[Blocks], np.ndarray]


class CostIncreasedError(ArithmeticError):
    """A step that must not raise the cost has raised it."""


class AlternatingResult(NamedTuple):
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


def alternating_minimization(
    steps: dict[str, BlockStep],
    initial_blocks: Blocks,
    cost: Callable[[Blocks], float],
    *,
    sets: dict[str, Projection] | None = None,
    radius: Schedule | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    on_increase: str = "raise",
) -> AlternatingResult:
    """Minimise a cost over blocks in turn, each within its convex set.

    Parameters
    ----------
    steps : dict of callables
        For each block, in this order: all blocks -> the new value of that one. It need not be the
        minimum, only no worse than before (see `inexact_block_step`).
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
    >>> found = alternating_minimization(
    ...     steps, {"u": np.zeros(2), "v": np.array([2.0, 7, 8])}, cost, tol=1e-12
    ... )
    >>> found.blocks["u"].round(4).tolist(), round(found.cost, 4)
    ([2.7821, 0.7976], 9.6777)
    """
    _validate_blocks(steps, initial_blocks, sets or {}, on_increase)
    first = float(cost(initial_blocks))
    loop = until_converged((dict(initial_blocks), first, np.zeros(0)), tol=tol, max_iter=max_iter)
    for blocks, value, costs in loop:
        blocks, before = dict(blocks), value
        for name, step in steps.items():
            new = _update_block(name, step, blocks, sets or {}, radius and radius(loop.n_iter + 1))
            after = float(cost({**blocks, name: new}))
            _check_descent(value, after, f"the step of block {name!r}", on_increase)
            blocks[name], value, costs = new, after, np.append(costs, after)
        fall = abs(before - value) / max(abs(value), np.finfo(float).tiny)
        loop.update((blocks, value, costs), objective=value, change=fall)
    blocks, value, costs = loop.state
    report = loop.report
    report["history_"]["steps"] = costs
    return AlternatingResult(blocks, value, report)


def _update_block(
    name: str, step: BlockStep, blocks: Blocks, sets: dict[str, Projection], reach: float | None
) -> np.ndarray:
    old, new = blocks[name], np.asarray(step(blocks))
    if new.shape != np.shape(old):
        raise ValueError(f"the step of block {name!r} gives shape {new.shape}, not {old.shape}")
    new = sets[name](new) if name in sets else new
    length = float(np.linalg.norm(new - old))
    return new if reach is None or length <= reach else old + reach / length * (new - old)


def _validate_blocks(steps: dict, start: dict, sets: dict, on_rise: str) -> None:
    lost = [name for name in [*steps, *sets] if name not in start]
    if lost:
        raise ValueError(f"no start for {lost}: `start` has {list(start)}")
    if on_rise not in {"raise", "warn"}:
        raise ValueError(f"on_rise={on_rise!r}: say 'raise' or 'warn'")


def _check_descent(before: float, after: float, what: str, on_rise: str) -> None:
    """Complain if a cost has risen, or is no number."""
    if after <= before + _ROUNDING_RATIO * abs(before):
        return
    message = f"{what} raised the cost from {before:.10g} to {after:.10g}: it does not minimise it"
    if on_rise == "raise":
        raise CostIncreasedError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def inexact_block_step(
    name: str,
    slope: Callable[[Blocks], tuple[float, np.ndarray]],
    *,
    n: int = 5,
    project: Projection | None = None,
) -> BlockStep:
    """An inexact step for `alternating_minimization`: at most `n` steps of projected gradient.

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
    >>> go = inexact_block_step("x", lambda b: (((b["x"] - 3) ** 2).sum(), 2 * (b["x"] - 3)))
    >>> go({"x": np.zeros(1)}).tolist()
    [3.0]
    """

    def step(blocks: Blocks) -> np.ndarray:
        block = blocks[name]

        def f(flat: np.ndarray) -> tuple[float, np.ndarray]:
            return slope({**blocks, name: flat})

        return projected_gradient(f, project or (lambda v: v), block, tol=0.0, max_iter=n).x

    return step


def majorize_minimize(
    minimizer: Callable[[np.ndarray], np.ndarray],
    cost: Callable[[np.ndarray], float],
    x0: np.ndarray,
    *,
    majorizer: Callable[[np.ndarray, np.ndarray], float] | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    on_increase: str = "raise",
) -> Minimum:
    """Minimise a cost by minimising, again and again, a majoriser that touches it.

    Parameters
    ----------
    minimiser : callable
        Gives, for the point `at`, the minimum of the majoriser that touches the cost there.
    cost : callable
        What is minimised.
    start : array
        Where to begin.
    majoriser : callable, optional
        `majoriser(x, at)`. If given, every round checks that it touches the cost at `at`, that it
        lies above the cost at the next point, and that the next point is no worse for it.
    tol : float
        Converged when no entry of the point moves by more than this.
    max_iter : int
        Most rounds.
    on_rise : "raise" or "warn"
        What happens when a round raises the cost.

    Returns
    -------
    Minimum
        Its `slope` is the last step.

    Examples
    --------
    The median by squares: `|d| <= d^2 / (2 |at|) + |at| / 2`, which touches it at d = at.

    >>> import numpy as np
    >>> data = np.array([0.0, 1.0, 2.0, 5.0, 100.0])
    >>> def mean_of_near(m):
    ...     w = 1 / np.maximum(np.abs(data - m), 1e-9)
    ...     return np.atleast_1d((w * data).sum() / w.sum())
    >>> found = majorize_minimize(mean_of_near, lambda m: np.abs(data - m).sum(), np.array([30.0]))
    >>> found.x.round(4).tolist()
    [2.0]
    """
    loop = until_converged((x0, float(cost(x0)), x0 * np.nan), tol=tol, max_iter=max_iter)
    for at, value, _ in loop:
        x = minimizer(at)
        after = float(cost(x))
        if majorizer is not None:
            _check_majorizer(majorizer, x, at, after, value)
        _check_descent(value, after, f"round {loop.n_iter + 1}", on_increase)
        change = float(np.abs(x - at).max(initial=0.0))
        loop.update((x, after, x - at), objective=after, change=change)
    x, value, last = loop.state
    return Minimum(x, value, last, loop.report)


def _check_majorizer(
    g: Callable[[np.ndarray, np.ndarray], Any],
    x: np.ndarray,
    at: np.ndarray,
    cost_x: float,
    cost_at: float,
) -> None:
    """Raise an error unless g(., at) touches the cost at `at`, and x lies between the two."""
    touch, there = float(g(at, at)), float(g(x, at))
    noise = _ROUNDING_RATIO * max(abs(cost_at), abs(touch))
    if not abs(touch - cost_at) <= noise:
        why = f"it is {touch:.10g} where the cost is {cost_at:.10g}, and must touch it there"
    elif there < cost_x - noise:
        why = f"it is {there:.10g} at the next point, below the cost of {cost_x:.10g}"
    elif there > touch + noise:
        why = f"the next point does not minimise it: {there:.10g} there, {touch:.10g} here"
    else:
        return
    raise CostIncreasedError(f"the majoriser is none: {why}")
