"""Methods whose cost never increases: alternating minimization and majorize-minimize (MM).

Alternating minimization (block coordinate descent) minimizes over one block of the unknowns at a
time. MM minimizes a majorizer g with g(x, at) >= f(x) and g(at, at) = f(at), so that
f(next) <= g(next, at) <= g(at, at) = f(at); EM is a special case.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.optim.convergence import Minimum, as_point, until_converged
from tenfold.optim.projections import Projection
from tenfold.optim.proximal import projected_gradient
from tenfold.optim.schedules import Schedule

_ROUNDING_RATIO = 1e-10  # of the cost: a smaller increase is rounding

Blocks = dict[str, np.ndarray]
BlockStep = Callable[[Blocks], np.ndarray]


class CostIncreasedError(ArithmeticError):
    """A step that must not increase the cost has increased it."""


class AlternatingResult(NamedTuple):
    """Result of alternating minimization.

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
    """Minimize a cost over blocks in turn, each within its convex set.

    Parameters
    ----------
    steps : dict of callables
        For each block, in this order: all blocks -> the new value of that one. It need not be the
        minimum, only no worse than before (see `inexact_block_step`).
    initial_blocks : dict of arrays
        Initial values. A block without a step stays constant.
    cost : callable
        All blocks -> a number.
    sets : dict of projections, optional
        Projections onto the convex sets of some blocks, applied after their steps. If a step
        ignores the set, the projection may increase the cost.
    radius : callable, optional
        Largest step of a block in iteration t = 1, 2, ...; longer steps are shortened to it. With
        sum r = inf and sum r^2 < inf the blocks converge where alternation may cycle (block
        coordinate descent with diminishing radius).
    tol : float
        Converged when an iteration decreases the cost by at most this share of it.
    max_iter : int
        Maximum number of iterations.
    on_increase : "raise" or "warn"
        What to do if a step increases the cost.

    Returns
    -------
    AlternatingResult

    Raises
    ------
    CostIncreasedError
        If a step increases the cost; it names the block.

    Examples
    --------
    Matrix completion of rank 1: ratings of two users and three films, some unknown:

    >>> import numpy as np
    >>> Y, known = np.array([[5.0, 0, 7], [1, 2, 0]]), np.array([[1, 0, 1], [1, 1, 0]])
    >>> def cost(b):
    ...     errors = known * (Y - np.outer(b["u"], b["v"]))
    ...     return ((errors**2).sum() + b["u"] @ b["u"] + b["v"] @ b["v"]) / 2
    >>> steps = {
    ...     "u": lambda b: known * Y @ b["v"] / (1 + known @ b["v"] ** 2),
    ...     "v": lambda b: (known * Y).T @ b["u"] / (1 + known.T @ b["u"] ** 2),
    ... }
    >>> result = alternating_minimization(
    ...     steps, {"u": np.zeros(2), "v": np.array([2.0, 7, 8])}, cost, tol=1e-12
    ... )
    >>> result.blocks["u"].round(4).tolist(), round(result.cost, 4)
    ([2.7821, 0.7976], 9.6777)
    """
    _validate_blocks(steps, initial_blocks, sets or {}, on_increase)
    first = float(cost(initial_blocks))
    loop = until_converged((dict(initial_blocks), first, np.zeros(0)), tol=tol, max_iter=max_iter)
    for blocks, value, costs in loop:
        blocks, previous = dict(blocks), value
        for name, step in steps.items():
            new = _update_block(name, step, blocks, sets or {}, radius and radius(loop.n_iter + 1))
            after = float(cost({**blocks, name: new}))
            _check_descent(value, after, f"the step of block {name!r}", on_increase)
            blocks[name], value, costs = new, after, np.append(costs, after)
        decrease = abs(previous - value) / max(abs(value), np.finfo(float).tiny)
        loop.update((blocks, value, costs), objective=value, change=decrease)
    blocks, value, costs = loop.state
    report = loop.report
    report["history_"]["steps"] = costs
    return AlternatingResult(blocks, value, report)


def _update_block(
    name: str,
    step: BlockStep,
    blocks: Blocks,
    sets: dict[str, Projection],
    max_length: float | None,
) -> np.ndarray:
    old, new = blocks[name], np.asarray(step(blocks))
    if new.shape != np.shape(old):
        raise ValueError(f"the step of block {name!r} gives shape {new.shape}, not {old.shape}")
    new = sets[name](new) if name in sets else new
    length = float(np.linalg.norm(new - old))
    return (
        new
        if max_length is None or length <= max_length
        else old + max_length / length * (new - old)
    )


def _validate_blocks(steps: dict, blocks: dict, sets: dict, on_increase: str) -> None:
    missing = [name for name in [*steps, *sets] if name not in blocks]
    if missing:
        raise ValueError(f"no initial value for {missing}: `initial_blocks` has {list(blocks)}")
    if on_increase not in {"raise", "warn"}:
        raise ValueError(f"on_increase={on_increase!r}: use 'raise' or 'warn'")


def _check_descent(before: float, after: float, what: str, on_increase: str) -> None:
    """Raise or warn if the cost has increased or is NaN."""
    if after <= before + _ROUNDING_RATIO * abs(before):
        return
    message = (
        f"{what} increased the cost from {before:.10g} to {after:.10g}: it does not minimize it"
    )
    if on_increase == "raise":
        raise CostIncreasedError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def inexact_block_step(
    name: str,
    value_and_gradient: Callable[[Blocks], tuple[float, np.ndarray]],
    *,
    max_iter: int = 5,
    project: Projection | None = None,
) -> BlockStep:
    """An inexact step for `alternating_minimization`: at most `n` steps of projected gradient.

    Parameters
    ----------
    name : str
        The block.
    value_and_gradient : callable
        All blocks -> (cost, gradient with respect to this block).
    n : int
        Maximum number of gradient steps.
    project : callable, optional
        Projection onto the convex set of the block.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> step = inexact_block_step("x", lambda b: (((b["x"] - 3) ** 2).sum(), 2 * (b["x"] - 3)))
    >>> step({"x": np.zeros(1)}).tolist()
    [3.0]
    """

    def step(blocks: Blocks) -> np.ndarray:
        block = blocks[name]

        def f(flat: np.ndarray) -> tuple[float, np.ndarray]:
            return value_and_gradient({**blocks, name: flat})

        return projected_gradient(f, project or (lambda v: v), block, tol=0.0, max_iter=max_iter).x

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
    """Minimize a cost by repeatedly minimizing a majorizer that touches it.

    Parameters
    ----------
    minimizer : callable
        Maps a point `at` to the minimum of the majorizer that touches the cost there.
    cost : callable
        The function to minimize.
    x0 : array of shape (n_params,)
        Initial point.
    majorizer : callable, optional
        `majorizer(x, at)`. If given, every iteration checks that it touches the cost at `at`, is
        not below the cost at the next point, and does not increase from `at` to the next point.
    tol : float
        Converged when no entry of the point moves by more than this.
    max_iter : int
        Maximum number of iterations.
    on_increase : "raise" or "warn"
        What to do if an iteration increases the cost.

    Returns
    -------
    Minimum
        Its `gradient` is the last step.

    Examples
    --------
    The median by weighted means: `|d| <= d^2 / (2 |at|) + |at| / 2`, which touches it at d = at.

    >>> import numpy as np
    >>> data = np.array([0.0, 1.0, 2.0, 5.0, 100.0])
    >>> def mean_of_near(m):
    ...     w = 1 / np.maximum(np.abs(data - m), 1e-9)
    ...     return np.atleast_1d((w * data).sum() / w.sum())
    >>> result = majorize_minimize(mean_of_near, lambda m: np.abs(data - m).sum(), np.array([30.0]))
    >>> result.x.round(4).tolist()
    [2.0]
    """
    x0 = as_point(x0)
    loop = until_converged((x0, float(cost(x0)), x0 * np.nan), tol=tol, max_iter=max_iter)
    for at, value, _ in loop:
        x = minimizer(at)
        after = float(cost(x))
        if majorizer is not None:
            _check_majorizer(majorizer, x, at, after, value)
        _check_descent(value, after, f"iteration {loop.n_iter + 1}", on_increase)
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
    """Raise an error unless g(., at) touches the cost at `at` and majorizes it at x."""
    at_current, at_next = float(g(at, at)), float(g(x, at))
    noise = _ROUNDING_RATIO * max(abs(cost_at), abs(at_current))
    if not abs(at_current - cost_at) <= noise:
        why = f"it is {at_current:.10g} where the cost is {cost_at:.10g}, and must touch it there"
    elif at_next < cost_x - noise:
        why = f"it is {at_next:.10g} at the next point, below the cost of {cost_x:.10g}"
    elif at_next > at_current + noise:
        why = f"the next point does not minimize it: {at_current:.10g}, then {at_next:.10g}"
    else:
        return
    raise CostIncreasedError(f"not a majorizer: {why}")
