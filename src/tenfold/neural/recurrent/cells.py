"""Compiled arithmetic of recurrent cells, for one step of some sequences.

`advance` goes a step on, `retreat` pulls slopes back through it. Each works by loops over a few
arrays at a time: those a compiler turns into vector instructions.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - the compiler knows the types
from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from tenfold.neural.products import INNER

ROW = INNER | {"fastmath": {"contract"}}

# kinds of cells: LSTM, GRU, gated, and plain ones, of which some cut off below zero. What a walk
# meets None for is not compiled.
LSTM, GRU, GATED = (True, None, None, None), (None, True, None, None), (None, None, True, None)
TANH, RELU = (None, None, None, False), (None, None, None, True)


def squashed(x):
    """The hyperbolic tangent."""
    return np.tanh(x)


@overload(squashed, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _squashed(x):
    """In single precision by a polynomial: e^y - 1 for y = x / 16, doubled five times."""
    if x != types.float32:
        return lambda x: math.tanh(x)  # noqa: PLW0108  numba wants a function of Python
    zero, half, one, two, most = (np.float32(c) for c in (0, 0.5, 1, 2, 10))
    c3, c4, c5, c6, c7, c8 = (np.float32(1 / math.factorial(k)) for k in range(3, 9))
    part = np.float32(1 / 16)

    def quick(x):
        y = abs(x)
        y = part * (most if y > most else y)  # noqa: FURB136  NaN stays NaN
        p = ((((c8 * y + c7) * y + c6) * y + c5) * y + c4) * y + c3
        e = ((p * y + half) * y + one) * y
        for _ in range(5):
            e *= e + two  # e^2y - 1 = (e^y - 1) (e^y + 1)
        z = e / (e + two)
        return -z if x < zero else z

    return quick


@njit(**ROW)
def add(a, b):
    """A + b, into a."""
    for j in range(len(a)):
        a[j] += b[j]


@njit(**ROW)
def open_gates(a, back, bias, scale):
    """Tanh (scale 1) or sigmoid (scale 1/2) of a + back + bias, into a."""
    one = a.dtype.type(1)
    for j in range(len(a)):
        half = scale[j]
        a[j] = one - half + half * squashed(half * (a[j] + back[j] + bias[j]))


@njit(**ROW)
def blend(gate, old, new, out):
    """(1 - gate) old + gate new."""
    for j in range(len(out)):
        out[j] = old[j] + gate[j] * (new[j] - old[j])


@njit(**ROW)
def blend_slopes(gate, old, new, slope):
    """From the slope of a blend to those of the gate and of a squashed `new`, in their places."""
    one = gate.dtype.type(1)
    for j in range(len(slope)):
        g, n, s = gate[j], new[j], slope[j]
        new[j] = s * g * (one - n * n)
        gate[j] = s * (n - old[j]) * g * (one - g)
        slope[j] = s * (one - g)


@njit(**ROW)
def rectify(a, back, bias):
    """max(a + back + bias, 0), into a."""
    zero = a.dtype.type(0)
    for j in range(len(a)):
        z = a[j] + back[j] + bias[j]
        a[j] = zero if z < zero else z  # noqa: FURB136  NaN stays NaN


@njit(**ROW)
def copy(a, b):
    """A, into b."""
    for j in range(len(a)):
        b[j] = a[j]


@njit(**ROW)
def clear(a):
    """Zero, into a."""
    for j in range(len(a)):
        a[j] = 0


@njit(**ROW)
def plain_slopes(relu, a, slope):
    """From the slope of a squashed or rectified row to that of what went in."""
    one = a.dtype.type(1)
    for j in range(len(a)):
        bend = a.dtype.type(a[j] > 0) if relu else one - a[j] * a[j]
        a[j] = slope[j] * bend
        slope[j] = 0


@njit(**ROW)
def recall(back, bias, memory):
    """Back + bias, into the memory."""
    for j in range(len(memory)):
        memory[j] = back[j] + bias[j]


@njit(**ROW)
def candidate(a, bias, reset, memory):
    """tanh(a + bias + reset memory), into a."""
    for j in range(len(a)):
        a[j] = squashed(a[j] + bias[j] + reset[j] * memory[j])


@njit(**ROW)
def candidate_slopes(slope, reset, back, side):
    """Slopes of the reset gate and, in `side`, of what came back from the old state."""
    one = slope.dtype.type(1)
    for j in range(len(slope)):
        r = reset[j]
        side[j] = slope[j] * r
        reset[j] = slope[j] * back[j] * r * (one - r)


@njit(**ROW)
def remember(keep, take, new, old, out):
    """Keep old + take new."""
    for j in range(len(out)):
        out[j] = keep[j] * old[j] + take[j] * new[j]


@njit(**ROW)
def show(gate, memory, out):
    """Gate tanh(memory)."""
    for j in range(len(out)):
        out[j] = gate[j] * squashed(memory[j])


@njit(**ROW)
def show_slopes(gate, memory, slope, memory_slope):
    """From the slope of what is shown to those of its gate, in its place, and of the memory."""
    one = gate.dtype.type(1)
    for j in range(len(slope)):
        o, seen, s = gate[j], squashed(memory[j]), slope[j]
        memory_slope[j] += s * o * (one - seen * seen)
        gate[j] = s * seen * o * (one - o)
        slope[j] = 0


@njit(**ROW)
def take_slopes(take, new, memory_slope):
    """From the slope of the memory to those of what was taken and its gate, in their places."""
    one = take.dtype.type(1)
    for j in range(len(take)):
        i, g, s = take[j], new[j], memory_slope[j]
        take[j] = s * g * i * (one - i)
        new[j] = s * i * (one - g * g)


@njit(**ROW)
def keep_slopes(keep, old, memory_slope):
    """From the slope of the memory to that of the gate that kept it, and of the old memory."""
    one = keep.dtype.type(1)
    for j in range(len(keep)):
        f, s = keep[j], memory_slope[j]
        keep[j] = s * old[j] * f * (one - f)
        memory_slope[j] = s * f


@njit(**ROW)
def keep_new_slopes(keep, new, old, slope):
    """As `blend_slopes` where the gate says how much of the old stays."""
    one = keep.dtype.type(1)
    for j in range(len(slope)):
        z, n, s = keep[j], new[j], slope[j]
        new[j] = s * (one - z) * (one - n * n)
        keep[j] = s * (old[j] - n) * z * (one - z)
        slope[j] = s * z


@njit(inline="always", **ROW)
def advance(lstm, gru, gated, relu, here, gates, back, bias, scale, old, new, old_memory, memory):
    """One step of some sequences; those that are not `here` (empty: all are) stay as they are.

    `gates` hold what the input says to them, then the gates; `back` is what the old state says.
    """
    u = new.shape[1]
    for i in range(len(new)):
        a = gates[i]
        if len(here) and not here[i]:
            copy(old[i], new[i])
            copy(old_memory[i], memory[i])
            continue
        if lstm is not None:  # take, keep, new, show
            open_gates(a, back[i], bias, scale)
            remember(a[u : 2 * u], a[:u], a[2 * u : 3 * u], old_memory[i], memory[i])
            show(a[3 * u :], memory[i], new[i])
        if gru is not None:  # reset, keep, new
            open_gates(a[: 2 * u], back[i], bias, scale)
            recall(back[i][2 * u :], bias[3 * u :], memory[i])
            candidate(a[2 * u :], bias[2 * u :], a[:u], memory[i])
            blend(a[u : 2 * u], a[2 * u :], old[i], new[i])
        if gated is not None:  # gate, new
            open_gates(a, back[i], bias, scale)
            blend(a[:u], old[i], a[u:], new[i])
        if relu is not None:
            if relu:
                rectify(a, back[i], bias)
            else:
                open_gates(a, back[i], bias, scale)
            copy(a, new[i])


@njit(inline="always", **ROW)
def retreat(lstm, gru, gated, relu, here, gates, side, old, slope, old_memory, memory, down):
    """Slopes of what went into the gates, in their place; of the old state, in `slope`.

    `down` are those of the memory.
    """
    u = slope.shape[1]
    for i in range(len(slope)):
        a = gates[i]
        if len(here) and not here[i]:
            clear(a)
            clear(side[i])
            continue
        if lstm is not None:
            show_slopes(a[3 * u :], memory[i], slope[i], down[i])
            take_slopes(a[:u], a[2 * u : 3 * u], down[i])
            keep_slopes(a[u : 2 * u], old_memory[i], down[i])
        if gru is not None:
            keep_new_slopes(a[u : 2 * u], a[2 * u :], old[i], slope[i])
            candidate_slopes(a[2 * u :], a[:u], memory[i], side[i][2 * u :])
            copy(a[: 2 * u], side[i])
        if gated is not None:
            blend_slopes(a[:u], old[i], a[u:], slope[i])
        if relu is not None:
            plain_slopes(relu, a, slope[i])
