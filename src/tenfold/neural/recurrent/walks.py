"""Compiled walks along sequences, time-major: a matrix product and the cells of all rows per step.

The inputs of all steps meet their weights before, in one product. Slopes of weights follow from
what `back_along` leaves behind, in one product each, which is their sum over the steps.
"""

# ruff: noqa: ANN001, ANN201 - the compiler knows the types
from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.neural.recurrent.cells import ROW, add, advance, clear, retreat


@njit(cache=True, **ROW)
def along(kind, x, W, gates, weights, bias, scale, there, states, memory):
    """Walk from the first step to the last.

    Parameters
    ----------
    kind : int
        Which cell.
    x, W : (t, n, p) and (p, g) arrays
        The inputs and their weights.
    gates : (t, n, g) array
        Memory for the gates.
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
    back, all_here = np.zeros(gates.shape[1:], gates.dtype), np.zeros(0, np.bool_)
    np.dot(x.reshape(-1, x.shape[2]), W, gates.reshape(-1, gates.shape[2]))
    for t in range(len(gates)):
        if t:  # the first state is zero
            np.dot(states[t], weights, back)
        here, old, new = there[t] if len(there) else all_here, states[t], states[t + 1]
        advance(kind, here, gates[t], back, bias, scale, old, new, memory[t], memory[t + 1])


@njit(cache=True, **ROW)
def sums(x, states, gates, side, dW, dU, db):
    """Slopes of weights and of the offset from those of the gates: sums over all steps."""
    flat, last = gates.reshape(-1, gates.shape[2]), side.reshape(-1, side.shape[2])
    np.dot(x.reshape(-1, x.shape[2]).T, flat, dW)
    np.dot(states[: len(x)].reshape(-1, states.shape[2]).T, last, dU)
    g = flat.shape[1]
    more = len(db) - g  # the GRU adds one offset to what comes back from the old state
    for i in range(len(flat)):
        add(db[:g], flat[i])
        add(db[g:], last[i, g - more :])


@njit(cache=True, **ROW)
def back_along(kind, gates, side, weights, there, flows, slopes, slope, states, memory):
    """Walk back from the last step to the first.

    Parameters
    ----------
    kind, there, states, memory
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
    through, memory_slope = np.empty_like(slope), np.zeros_like(memory[0])
    all_here = np.zeros(0, np.bool_)
    for t in range(len(gates) - 1, -1, -1):
        here = there[t] if len(there) else all_here
        if len(slopes):
            for i in range(len(slope)):
                add(slope[i], slopes[t, i])
        old, kept = memory[t], memory[t + 1]
        retreat(kind, here, gates[t], side[t], states[t], slope, old, kept, memory_slope)
        np.dot(side[t], weights, through)
        for i in range(len(slope)):
            if len(flows) and not flows[t, i]:
                clear(slope[i])
                clear(memory_slope[i])
            else:
                add(slope[i], through[i])
