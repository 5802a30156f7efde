"""Compiled recurrent cells, and their forward and backward pass along sequences.

`_cell_forward` advances some sequences by one step, `_cell_backward` propagates gradients back
through it; both loop over a few rows at a time, which the compiler vectorizes. Arrays over steps
are time-major. Products with weights are computed step by step, while the gates of a step are in
the cache; gradients of weights follow after the backward pass, in one product each.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS
from tenfold._compiled.register_product import tiled_matmul

_ROW_OPTIONS = INNER_OPTIONS | {"fastmath": {"contract"}}

# Kinds of cells as flags (lstm, gru, gated, relu): relu is False for tanh cells, True for ReLU
# cells.
# Branches for flags that are None are not compiled.
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
    """In float32 by a polynomial: e^y - 1 for y = |x| / 16, and five doublings of y.

    |x| is cut at 10, where tanh is 1 in float32.
    """
    if x != types.float32:
        return lambda x: math.tanh(x)  # noqa: PLW0108  numba needs a Python function
    zero, half, one, two, limit = (np.float32(c) for c in (0, 0.5, 1, 2, 10))
    c3, c4, c5, c6, c7, c8 = (np.float32(1 / math.factorial(k)) for k in range(3, 9))
    sixteenth = np.float32(1 / 16)

    def polynomial_tanh(x):
        y = abs(x)
        y = sixteenth * (limit if y > limit else y)  # noqa: FURB136  NaN stays NaN
        p = ((((c8 * y + c7) * y + c6) * y + c5) * y + c4) * y + c3
        e = ((p * y + half) * y + one) * y
        for _ in range(5):
            e *= e + two  # e^2y - 1 = (e^y - 1) (e^y + 1)
        z = e / (e + two)
        return -z if x < zero else z

    return polynomial_tanh


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
def _interpolate_backward(gate, old, new, gradient):
    """Gradients in the gate and before the tanh of `new`, in place; that in `old` in `gradient`."""
    one = gate.dtype.type(1)
    for j in range(len(gradient)):
        g, n, s = gate[j], new[j], gradient[j]
        new[j] = s * g * (one - n * n)
        gate[j] = s * (n - old[j]) * g * (one - g)
        gradient[j] = s * (one - g)


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
def _rnn_backward(relu, a, gradient):
    """Gradient before the tanh or ReLU, in place of its value; `gradient` becomes zero."""
    one = a.dtype.type(1)
    for j in range(len(a)):
        derivative = a.dtype.type(a[j] > 0) if relu else one - a[j] * a[j]
        a[j] = gradient[j] * derivative
        gradient[j] = 0


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
def _gru_candidate_backward(gradient, reset, back, state_term):
    """Gradients in the reset gate, in place, and in the state term, in `state_term`."""
    one = gradient.dtype.type(1)
    for j in range(len(gradient)):
        r = reset[j]
        state_term[j] = gradient[j] * r
        reset[j] = gradient[j] * back[j] * r * (one - r)


@njit(**_ROW_OPTIONS)
def _lstm_memory(forget, input_gate, new, old, out):
    """Forget gate times old memory + input gate times candidate."""
    for j in range(len(out)):
        out[j] = forget[j] * old[j] + input_gate[j] * new[j]


@njit(**_ROW_OPTIONS)
def _lstm_output(gate, memory, out):
    """Output gate times tanh(memory)."""
    for j in range(len(out)):
        out[j] = gate[j] * _fast_tanh(memory[j])


@njit(**_ROW_OPTIONS)
def _lstm_output_backward(gate, memory, gradient, memory_gradient):
    """Gradients in the output gate, in place, and, added, in the memory; clears `gradient`."""
    one = gate.dtype.type(1)
    for j in range(len(gradient)):
        o, t, s = gate[j], _fast_tanh(memory[j]), gradient[j]
        memory_gradient[j] += s * o * (one - t * t)
        gate[j] = s * t * o * (one - o)
        gradient[j] = 0


@njit(**_ROW_OPTIONS)
def _lstm_input_backward(input_gate, new, memory_gradient):
    """Gradients in the input gate and before the tanh of the candidate, in place."""
    one = input_gate.dtype.type(1)
    for j in range(len(input_gate)):
        i, g, s = input_gate[j], new[j], memory_gradient[j]
        input_gate[j] = s * g * i * (one - i)
        new[j] = s * i * (one - g * g)


@njit(**_ROW_OPTIONS)
def _lstm_forget_backward(forget, old, memory_gradient):
    """Gradients in the forget gate, in place, and in the old memory."""
    one = forget.dtype.type(1)
    for j in range(len(forget)):
        f, s = forget[j], memory_gradient[j]
        forget[j] = s * old[j] * f * (one - f)
        memory_gradient[j] = s * f


@njit(**_ROW_OPTIONS)
def _gru_update_backward(update, new, old, gradient):
    """As `_interpolate_backward`, with a gate that weighs the old state."""
    one = update.dtype.type(1)
    for j in range(len(gradient)):
        z, n, s = update[j], new[j], gradient[j]
        new[j] = s * (one - z) * (one - n * n)
        update[j] = s * (old[j] - n) * z * (one - z)
        gradient[j] = s * z


@njit(inline="always", **_ROW_OPTIONS)
def _cell_forward(
    lstm, gru, gated, relu, exists, gates, back, bias, scale, old, new, old_memory, memory
):
    """One step of some sequences; where none `exists` (empty: all do), the state stays.

    `gates` holds the input terms of the gates, then the gates; `back` the terms of the old state.
    """
    u = new.shape[1]
    for i in range(len(new)):
        a = gates[i]
        if len(exists) and not exists[i]:
            _copy(old[i], new[i])
            _copy(old_memory[i], memory[i])
            continue
        if lstm is not None:  # input, forget, candidate, output
            _activate_gates(a, back[i], bias, scale)
            _lstm_memory(a[u : 2 * u], a[:u], a[2 * u : 3 * u], old_memory[i], memory[i])
            _lstm_output(a[3 * u :], memory[i], new[i])
        if gru is not None:  # reset, update, candidate
            _activate_gates(a[: 2 * u], back[i], bias, scale)
            _gru_state_term(back[i][2 * u :], bias[3 * u :], memory[i])
            _gru_candidate(a[2 * u :], bias[2 * u :], a[:u], memory[i])
            _interpolate(a[u : 2 * u], a[2 * u :], old[i], new[i])
        if gated is not None:  # gate, candidate
            _activate_gates(a, back[i], bias, scale)
            _interpolate(a[:u], old[i], a[u:], new[i])
        if relu is not None:
            if relu:
                _relu(a, back[i], bias)
            else:
                _activate_gates(a, back[i], bias, scale)
            _copy(a, new[i])


@njit(inline="always", **_ROW_OPTIONS)
def _cell_backward(
    lstm, gru, gated, relu, exists, gates, state_term, old, gradient, old_memory, memory,
    memory_gradient,
):  # fmt: skip
    """Gradients before the activations, in place of the gates; in the old state, in `gradient`.

    `memory_gradient` is that in the memory, `state_term` that in the terms of the old state.
    """
    u = gradient.shape[1]
    for i in range(len(gradient)):
        a = gates[i]
        if len(exists) and not exists[i]:
            _clear(a)
            _clear(state_term[i])
            continue
        if lstm is not None:
            _lstm_output_backward(a[3 * u :], memory[i], gradient[i], memory_gradient[i])
            _lstm_input_backward(a[:u], a[2 * u : 3 * u], memory_gradient[i])
            _lstm_forget_backward(a[u : 2 * u], old_memory[i], memory_gradient[i])
        if gru is not None:
            _gru_update_backward(a[u : 2 * u], a[2 * u :], old[i], gradient[i])
            _gru_candidate_backward(a[2 * u :], a[:u], memory[i], state_term[i][2 * u :])
            _copy(a[: 2 * u], state_term[i])
        if gated is not None:
            _interpolate_backward(a[:u], old[i], a[u:], gradient[i])
        if relu is not None:
            _rnn_backward(relu, a, gradient[i])


_SEQUENCE_OPTIONS = ENTRY_OPTIONS | {"fastmath": {"contract"}}


@njit(**_SEQUENCE_OPTIONS)
def sequence_forward(
    lstm, gru, gated, relu, x, input_weights, gates, back, weights, bias, scale, mask, states,
    memory,
):  # fmt: skip
    """Run a layer from the first step to the last.

    Parameters
    ----------
    lstm, gru, gated, relu : bool or None
        Kind of cell, see `LSTM_CELL`.
    x : (t, n, p) array
        Inputs.
    input_weights : (p, g) array
        Their weights.
    gates : (t, n, g) array
        Overwritten by the gates.
    back : (1, n, g) array
        Terms of the first state in the gates; workspace for those of later ones.
    weights : (u, g) array
        Weights of the old state.
    bias : (g,) array, or (g + u,) for the GRU
        Biases.
    scale : (g,) array
        1 for gates with a tanh, 1/2 for those with a sigmoid.
    mask : (t, n) bool array
        Which steps exist; empty if all do.
    states, memory : (t + 1, n, u) arrays
        States, of which the first is given; memory of the cells, of width 0 if they have none.
    """
    (_, n, p), (u, g) = x.shape, weights.shape
    start, plain = n - n, n < 0  # for constants, numba would compile `tiled_matmul` once more
    for t in range(len(gates)):
        at = t * n * g
        tiled_matmul(x, t * n * p, plain, input_weights, start, plain, gates, at, n, p, g)
        if t:
            tiled_matmul(states, t * n * u, plain, weights, start, plain, back, start, n, u, g)
        exists, old, new = mask[t if len(mask) else 0], states[t], states[t + 1]
        _cell_forward(
            lstm, gru, gated, relu, exists, gates[t], back[0], bias, scale, old, new,
            memory[t], memory[t + 1],
        )  # fmt: skip


@njit(**_SEQUENCE_OPTIONS)
def sequence_backward(
    lstm, gru, gated, relu, gates, state_term, weights, input_weights, mask, gradient_mask,
    state_gradients, gradient, propagated, states, memory, memory_gradient, dx,
):  # fmt: skip
    """Propagate gradients from the last step to the first.

    Parameters
    ----------
    lstm, gru, gated, relu, mask, states, memory
        As after `sequence_forward`.
    gates : (t, n, g) array
        The gates; overwritten by the gradients before their activations.
    state_term : (t, n, g) array
        Gradients in the terms of the old states; `gates` itself unless they differ.
    weights : (g, u) array
        Weights of the old state, transposed.
    input_weights : (g, p) array
        Weights of the inputs, transposed.
    gradient_mask : (t, n) bool array
        Whether gradients flow from a step to the one before; empty if all do.
    state_gradients : (t, n, u) array
        Gradients in all states, zero where no step exists; empty if only the last state is used.
    gradient : (n, u) array
        Gradients in the last state; overwritten.
    propagated : (1, n, u) array
        Workspace.
    dx : (t, n, p) array
        Overwritten by the gradients in the inputs; empty if they are not needed.
    """
    (g, u), p, n = weights.shape, input_weights.shape[1], len(gradient)
    start, plain = n - n, n < 0
    for t in range(len(gates) - 1, -1, -1):
        exists = mask[t if len(mask) else 0]
        if len(state_gradients):
            for i in range(len(gradient)):
                _add(gradient[i], state_gradients[t, i])
        old, new = memory[t], memory[t + 1]
        _cell_backward(
            lstm, gru, gated, relu, exists, gates[t], state_term[t], states[t], gradient, old, new,
            memory_gradient,
        )  # fmt: skip
        at = t * n * g
        if len(dx):
            tiled_matmul(gates, at, plain, input_weights, start, plain, dx, t * n * p, n, g, p)
        tiled_matmul(state_term, at, plain, weights, start, plain, propagated, start, n, g, u)
        for i in range(len(gradient)):
            if len(gradient_mask) and not gradient_mask[t, i]:
                _clear(gradient[i])
                _clear(memory_gradient[i])
            else:
                _add(gradient[i], propagated[0, i])
