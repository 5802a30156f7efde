"""Compiled walks along sequences, time-major: a matrix product and the cells of all rows per step.

The inputs of all steps meet their weights before, in one product. Slopes of weights follow from
what `back_along` leaves behind, in one product each, which is their sum over the steps.
"""

# ruff: noqa: ANN001, ANN201 - the compiler knows the types
from __future__ import annotations

from numba import njit

from tenfold.neural.products import CALLED, product
from tenfold.neural.recurrent.cells import add, advance, clear, retreat

WALK = CALLED | {"fastmath": {"contract"}}


@njit(**WALK)
def along(lstm, gru, gated, relu, gates, back, weights, bias, scale, there, states, memory):
    """Walk from the first step to the last.

    Parameters
    ----------
    lstm, gru, gated, relu : bool or None
        Which cell, see `cells`.
    gates : (t, n, g) array
        What the inputs say to the gates; overwritten by the gates.
    back : (n, g) array
        Memory for what the old state says: zeros, as the first state.
    weights : (u, g) array
        Weights of the old state.
    bias : (g,) array, or (g + u,) for the GRU
        Offsets.
    scale : (g,) array
        1 for gates that are a tanh, 1/2 for those that are a sigmoid.
    there : (t, n) bool array
        Which steps are there; empty if all are.
    states, memory : (t + 1, n, u) arrays
        States, of which the first is given; what cells keep besides, or arrays of no width.
    """
    n, u, g, lies = len(back), len(weights), back.shape[1], len(back) < 0
    for t in range(len(gates)):
        if t:
            product(states, t * n * u, lies, weights, 0, lies, back, 0, n, u, g)
        here, old, new = there[t if len(there) else 0], states[t], states[t + 1]
        advance(
            lstm, gru, gated, relu, here, gates[t], back, bias, scale, old, new,
            memory[t], memory[t + 1],
        )  # fmt: skip


@njit(**WALK)
def back_along(
    lstm, gru, gated, relu, gates, side, weights, there, flows, slopes, slope, through, states,
    memory, down,
):  # fmt: skip
    """Walk back from the last step to the first.

    Parameters
    ----------
    lstm, gru, gated, relu, there, states, memory
        As `along` had and left them.
    gates : (t, n, g) array
        The gates; overwritten by the slopes of what went into them.
    side : (t, n, g) array
        Slopes of what came back from the old states; `gates` itself unless they differ.
    weights : (g, u) array
        Weights of the old state, transposed.
    flows : (t, n) bool array
        Whether slopes flow from a step to the one before; empty if all do.
    slopes : (t, n, u) array
        Slopes of all states, zero where no step is; empty if only the last one is looked at.
    slope : (n, u) array
        Slopes of the last state; overwritten.
    """
    n, u, g, lies = len(slope), slope.shape[1], len(weights), len(slope) < 0
    for t in range(len(gates) - 1, -1, -1):
        here = there[t if len(there) else 0]
        if len(slopes):
            for i in range(len(slope)):
                add(slope[i], slopes[t, i])
        old, kept = memory[t], memory[t + 1]
        retreat(
            lstm, gru, gated, relu, here, gates[t], side[t], states[t], slope, old, kept, down
        )  # fmt: skip
        product(side, t * n * g, lies, weights, 0, lies, through, 0, n, g, u)
        for i in range(len(slope)):
            if len(flows) and not flows[t, i]:
                clear(slope[i])
                clear(down[i])
            else:
                add(slope[i], through[i])
