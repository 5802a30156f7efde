"""Compiled recurrent cells, and their forward and backward pass along sequences."""

# ruff: noqa: ANN001, ANN202 - the compiler knows the types
from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS, matmul

_ROW_OPTIONS = INNER_OPTIONS | {"fastmath": {"contract"}}

# kinds of cells: LSTM, GRU, gated, and plain ones, of which some cut off below zero. What a walk
# meets None for is not compiled.
LSTM_CELL, GRU_CELL, GATED_CELL = (
    (True, None, None, None),
    (None, True, None, None),
    (None, None, True, None),
)
TANH_CELL, RELU_CELL = (None, None, None, False), (None, None, None, True)


def _fast_tanh(x):
    """The hyperbolic tangent."""
    return np.tanh(x)


@overload(_fast_tanh, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _overload_fast_tanh(x):
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


@njit(**_ROW_OPTIONS)
def _add(a, b):
    """A + b, into a."""
    for j in range(len(a)):
        a[j] += b[j]


@njit(**_ROW_OPTIONS)
def _activate_gates(a, back, bias, scale):
    """Tanh (scale 1) or sigmoid (scale 1/2) of a + back + bias, into a."""
    one = a.dtype.type(1)
    for j in range(len(a)):
        half = scale[j]
        a[j] = one - half + half * _fast_tanh(half * (a[j] + back[j] + bias[j]))


@njit(**_ROW_OPTIONS)
def _interpolate(gate, old, new, out):
    """(1 - gate) old + gate new."""
    for j in range(len(out)):
        out[j] = old[j] + gate[j] * (new[j] - old[j])


@njit(**_ROW_OPTIONS)
def _interpolate_backward(gate, old, new, slope):
    """From the slope of a blend to those of the gate and of a squashed `new`, in their places."""
    one = gate.dtype.type(1)
    for j in range(len(slope)):
        g, n, s = gate[j], new[j], slope[j]
        new[j] = s * g * (one - n * n)
        gate[j] = s * (n - old[j]) * g * (one - g)
        slope[j] = s * (one - g)


@njit(**_ROW_OPTIONS)
def _relu(a, back, bias):
    """max(a + back + bias, 0), into a."""
    zero = a.dtype.type(0)
    for j in range(len(a)):
        z = a[j] + back[j] + bias[j]
        a[j] = zero if z < zero else z  # noqa: FURB136  NaN stays NaN


@njit(**_ROW_OPTIONS)
def _copy(a, b):
    """A, into b."""
    for j in range(len(a)):
        b[j] = a[j]


@njit(**_ROW_OPTIONS)
def _clear(a):
    """Zero, into a."""
    for j in range(len(a)):
        a[j] = 0


@njit(**_ROW_OPTIONS)
def _rnn_backward(relu, a, slope):
    """From the slope of a squashed or rectified row to that of what went in."""
    one = a.dtype.type(1)
    for j in range(len(a)):
        bend = a.dtype.type(a[j] > 0) if relu else one - a[j] * a[j]
        a[j] = slope[j] * bend
        slope[j] = 0


@njit(**_ROW_OPTIONS)
def _gru_state_term(back, bias, memory):
    """Back + bias, into the memory."""
    for j in range(len(memory)):
        memory[j] = back[j] + bias[j]


@njit(**_ROW_OPTIONS)
def _gru_candidate(a, bias, reset, memory):
    """tanh(a + bias + reset memory), into a."""
    for j in range(len(a)):
        a[j] = _fast_tanh(a[j] + bias[j] + reset[j] * memory[j])


@njit(**_ROW_OPTIONS)
def _gru_candidate_backward(slope, reset, back, side):
    """Slopes of the reset gate and, in `side`, of what came back from the old state."""
    one = slope.dtype.type(1)
    for j in range(len(slope)):
        r = reset[j]
        side[j] = slope[j] * r
        reset[j] = slope[j] * back[j] * r * (one - r)


@njit(**_ROW_OPTIONS)
def _lstm_memory(keep, take, new, old, out):
    """Keep old + take new."""
    for j in range(len(out)):
        out[j] = keep[j] * old[j] + take[j] * new[j]


@njit(**_ROW_OPTIONS)
def _lstm_output(gate, memory, out):
    """Gate tanh(memory)."""
    for j in range(len(out)):
        out[j] = gate[j] * _fast_tanh(memory[j])


@njit(**_ROW_OPTIONS)
def _lstm_output_backward(gate, memory, slope, memory_slope):
    """From the slope of what is shown to those of its gate, in its place, and of the memory."""
    one = gate.dtype.type(1)
    for j in range(len(slope)):
        o, seen, s = gate[j], _fast_tanh(memory[j]), slope[j]
        memory_slope[j] += s * o * (one - seen * seen)
        gate[j] = s * seen * o * (one - o)
        slope[j] = 0


@njit(**_ROW_OPTIONS)
def _lstm_input_backward(take, new, memory_slope):
    """From the slope of the memory to those of what was taken and its gate, in their places."""
    one = take.dtype.type(1)
    for j in range(len(take)):
        i, g, s = take[j], new[j], memory_slope[j]
        take[j] = s * g * i * (one - i)
        new[j] = s * i * (one - g * g)


@njit(**_ROW_OPTIONS)
def _lstm_forget_backward(keep, old, memory_slope):
    """From the slope of the memory to that of the gate that kept it, and of the old memory."""
    one = keep.dtype.type(1)
    for j in range(len(keep)):
        f, s = keep[j], memory_slope[j]
        keep[j] = s * old[j] * f * (one - f)
        memory_slope[j] = s * f


@njit(**_ROW_OPTIONS)
def _gru_update_backward(keep, new, old, slope):
    """As `_interpolate_backward` where the gate says how much of the old stays."""
    one = keep.dtype.type(1)
    for j in range(len(slope)):
        z, n, s = keep[j], new[j], slope[j]
        new[j] = s * (one - z) * (one - n * n)
        keep[j] = s * (old[j] - n) * z * (one - z)
        slope[j] = s * z


@njit(inline="always", **_ROW_OPTIONS)
def _cell_forward(
    lstm, gru, gated, relu, here, gates, back, bias, scale, old, new, old_memory, memory
):
    """One step of some sequences; those that are not `here` (empty: all are) stay as they are.

    `gates` hold what the input says to them, then the gates; `back` is what the old state says.
    """
    u = new.shape[1]
    for i in range(len(new)):
        a = gates[i]
        if len(here) and not here[i]:
            _copy(old[i], new[i])
            _copy(old_memory[i], memory[i])
            continue
        if lstm is not None:  # take, keep, new, show
            _activate_gates(a, back[i], bias, scale)
            _lstm_memory(a[u : 2 * u], a[:u], a[2 * u : 3 * u], old_memory[i], memory[i])
            _lstm_output(a[3 * u :], memory[i], new[i])
        if gru is not None:  # reset, keep, new
            _activate_gates(a[: 2 * u], back[i], bias, scale)
            _gru_state_term(back[i][2 * u :], bias[3 * u :], memory[i])
            _gru_candidate(a[2 * u :], bias[2 * u :], a[:u], memory[i])
            _interpolate(a[u : 2 * u], a[2 * u :], old[i], new[i])
        if gated is not None:  # gate, new
            _activate_gates(a, back[i], bias, scale)
            _interpolate(a[:u], old[i], a[u:], new[i])
        if relu is not None:
            if relu:
                _relu(a, back[i], bias)
            else:
                _activate_gates(a, back[i], bias, scale)
            _copy(a, new[i])


@njit(inline="always", **_ROW_OPTIONS)
def _cell_backward(lstm, gru, gated, relu, here, gates, side, old, slope, old_memory, memory, down):
    """Slopes of what went into the gates, in their place; of the old state, in `slope`.

    `down` are those of the memory.
    """
    u = slope.shape[1]
    for i in range(len(slope)):
        a = gates[i]
        if len(here) and not here[i]:
            _clear(a)
            _clear(side[i])
            continue
        if lstm is not None:
            _lstm_output_backward(a[3 * u :], memory[i], slope[i], down[i])
            _lstm_input_backward(a[:u], a[2 * u : 3 * u], down[i])
            _lstm_forget_backward(a[u : 2 * u], old_memory[i], down[i])
        if gru is not None:
            _gru_update_backward(a[u : 2 * u], a[2 * u :], old[i], slope[i])
            _gru_candidate_backward(a[2 * u :], a[:u], memory[i], side[i][2 * u :])
            _copy(a[: 2 * u], side[i])
        if gated is not None:
            _interpolate_backward(a[:u], old[i], a[u:], slope[i])
        if relu is not None:
            _rnn_backward(relu, a, slope[i])


_SEQUENCE_OPTIONS = ENTRY_OPTIONS | {"fastmath": {"contract"}}


@njit(**_SEQUENCE_OPTIONS)
def sequence_forward(
    lstm, gru, gated, relu, gates, back, weights, bias, scale, there, states, memory
):
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
            matmul(states, t * n * u, lies, weights, 0, lies, back, 0, n, u, g)
        here, old, new = there[t if len(there) else 0], states[t], states[t + 1]
        _cell_forward(
            lstm, gru, gated, relu, here, gates[t], back, bias, scale, old, new,
            memory[t], memory[t + 1],
        )  # fmt: skip


@njit(**_SEQUENCE_OPTIONS)
def sequence_backward(
    lstm, gru, gated, relu, gates, side, weights, there, flows, slopes, slope, through, states,
    memory, down,
):  # fmt: skip
    """Walk back from the last step to the first.

    Parameters
    ----------
    lstm, gru, gated, relu, there, states, memory
        As `sequence_forward` had and left them.
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
                _add(slope[i], slopes[t, i])
        old, kept = memory[t], memory[t + 1]
        _cell_backward(
            lstm, gru, gated, relu, here, gates[t], side[t], states[t], slope, old, kept, down
        )  # fmt: skip
        matmul(side, t * n * g, lies, weights, 0, lies, through, 0, n, g, u)
        for i in range(len(slope)):
            if len(flows) and not flows[t, i]:
                _clear(slope[i])
                _clear(down[i])
            else:
                _add(slope[i], through[i])
