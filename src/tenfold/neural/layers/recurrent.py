"""Recurrent layers (RNN, gated RNN, GRU, LSTM, bidirectional) and backpropagation through time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural._buffer_pool import empty
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers._recurrent_numba import (
    GATED_CELL,
    GRU_CELL,
    LSTM_CELL,
    RELU_CELL,
    TANH_CELL,
    sequence_backward,
    sequence_forward,
)
from tenfold.neural.layers.base import LayerStates, PassContext, Shape, shape_error

_Flag = bool | None
CellKind = tuple[_Flag, _Flag, _Flag, _Flag]  # such as `LSTM_CELL`


class RecurrentCache(NamedTuple):
    """What the backward pass needs of the forward pass; all arrays are time-major."""

    x: np.ndarray  # (t, n, p)
    gates: np.ndarray  # (t, n, g u)
    states: np.ndarray  # (t + 1, n, u)
    memory: np.ndarray  # (t + 1, n, u), or width 0
    mask: np.ndarray  # (t, n), or empty if all steps exist
    carried: LayerStates | None = None  # states given from outside, and the place of this layer
    place: int = 0


class RecurrentLayer:
    """Base of recurrent layers, which differ in the cell.

    Parameters are the weights of the input (p, g u) and of the old state (u, g u), and the bias
    (g u,), for p features, u units and g gates side by side. Initialization is that of Keras:
    Glorot for the input, orthogonal for the state, biases zero. The initial state is zero unless
    the context carries one, as a pair (state, memory); steps that the mask excludes leave it
    unchanged.
    """

    __slots__ = ()
    units: int
    all_states: bool
    truncate: int | None
    cell: CellKind = TANH_CELL
    gate_scales: tuple[float, ...] = (1.0,)  # 1 for a tanh, 1/2 for a sigmoid
    has_memory = False  # whether the cell stores more than its state

    def cell_kind(self) -> CellKind:
        """Kind of cell; an error if the settings name none."""
        return self.cell

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise shape_error(self, shape, "(steps, numbers)")  # pyright: ignore[reportArgumentType]
        self.cell_kind()  # raises if the activation is unknown
        if self.truncate is not None and self.truncate < 1:
            raise ValueError(f"truncate={self.truncate}: give a number of steps, at least 1")
        return (shape[0], self.units) if self.all_states else (self.units,)

    def mask(self, context: PassContext) -> np.ndarray | None:
        """The mask of all states; the last state is no sequence."""
        return context.mask if self.all_states else None

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        u, g = self.units, self.gate_scales
        W = [initialize_weights("glorot_uniform", None, (shape[-1], u), rng, dtype) for _ in g]
        U = [initialize_weights("orthogonal", None, (u, u), rng, dtype) for _ in g]
        return [np.hstack(W), np.hstack(U), self.initial_bias(dtype)]

    def initial_bias(self, dtype: Any) -> np.ndarray:
        """Biases before training."""
        return np.zeros(len(self.gate_scales) * self.units, dtype)

    def scale(self, dtype: Any) -> np.ndarray:
        """For each gate of each unit, 1 for a tanh and 1/2 for a sigmoid."""
        return np.repeat(np.array(self.gate_scales, dtype), self.units)

    def forward(
        self, params: list, x: np.ndarray, context: PassContext
    ) -> tuple[np.ndarray, RecurrentCache]:
        W, U, b = (np.ascontiguousarray(array) for array in params)
        n, t, _ = x.shape
        x = _to_time_major(x, W.dtype)
        mask = np.zeros((0, 0), bool)
        if context.mask is not None:
            mask = np.ascontiguousarray(context.mask.T)
        states = _empty_states((t + 1, n, self.units), W.dtype)
        memory = _empty_states((t + 1, n, self.units if self.has_memory else 0), W.dtype)
        gates, back = empty((t, n, W.shape[1]), W.dtype), np.zeros((1, n, W.shape[1]), W.dtype)
        start = None if context.states is None else context.states.start()
        if start is not None:
            states[0], memory[0] = start[0], start[1] if self.has_memory else 0
            np.matmul(states[0], U, out=back[0])
        scale = self.scale(W.dtype)
        sequence_forward(*self.cell_kind(), x, W, gates, back, U, b, scale, mask, states, memory)
        cache = RecurrentCache(x, gates, states, memory, mask)
        if context.states is not None:
            place = context.states.leave((states[-1].copy(), memory[-1].copy()))
            cache = cache._replace(carried=context.states, place=place)
        return self._output(cache), cache

    def _output(self, cache: RecurrentCache) -> np.ndarray:
        """The last state, or all of them, zero at steps that do not exist."""
        if not self.all_states:
            return cache.states[-1].copy()
        states = np.ascontiguousarray(cache.states[1:].swapaxes(0, 1))
        return states * cache.mask.T[:, :, None] if len(cache.mask) else states

    def backward(
        self,
        params: list,
        cache: RecurrentCache,
        gradient: np.ndarray,
        *,
        need_input: bool = True,
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """As of every layer, but the cache serves once: its gates are overwritten."""
        W, U, _ = params
        x, gates, states, memory, mask, carried, place = cache
        state_gradients = states[:0]
        last, memory_gradient = np.zeros_like(states[0]), np.zeros_like(memory[0])
        if carried is not None and place in carried.last_gradients:
            of_state, of_memory = carried.last_gradients[place]
            last, memory_gradient = last + of_state, memory_gradient + of_memory
        if self.all_states:
            state_gradients = _to_time_major(gradient, W.dtype)
            if len(mask):
                state_gradients = state_gradients * mask[:, :, None]
        else:
            last += gradient
        state_terms = empty(gates.shape, gates.dtype) if self.cell == GRU_CELL else gates
        dx = empty(x.shape, x.dtype) if need_input else x[:0]
        sequence_backward(
            *self.cell_kind(),
            gates,
            state_terms,
            np.ascontiguousarray(U.T),
            np.ascontiguousarray(W.T),
            mask,
            self._gradient_mask(cache),
            state_gradients,
            last,
            np.empty((1, *last.shape), last.dtype),
            states,
            memory,
            memory_gradient,
            dx,
        )
        if carried is not None:
            carried.gradients[place] = (last, memory_gradient)
        of_inputs, of_states = _merge_steps(gates), _merge_steps(state_terms)
        db = of_inputs.sum(axis=0)
        if self.cell == GRU_CELL:  # it has one more bias, of the state term of the candidate
            db = np.append(db, of_states[:, 2 * self.units :].sum(axis=0))
        dW, dU = _merge_steps(x).T @ of_inputs, _merge_steps(states[: len(x)]).T @ of_states
        return dx.swapaxes(0, 1) if need_input else None, [dW, dU, db]

    def _gradient_mask(self, cache: RecurrentCache) -> np.ndarray:
        """Where gradients flow from a step to the one before; not at every `truncate`-th step."""
        if self.truncate is None:
            return cache.mask[:0]
        exists = cache.mask if len(cache.mask) else np.ones(cache.x.shape[:2], bool)
        remaining = exists[::-1].cumsum(axis=0)[::-1]  # steps to the end of each sequence
        return ~exists | (remaining % self.truncate != 0)


def _merge_steps(x: np.ndarray) -> np.ndarray:
    """All steps of all rows as rows of one matrix."""
    return x.reshape(-1, x.shape[2])


def _to_time_major(x: np.ndarray, dtype: Any) -> np.ndarray:
    """A copy whose first axis are the steps."""
    time_major = empty((x.shape[1], x.shape[0], *x.shape[2:]), dtype)
    time_major[:] = x.swapaxes(0, 1)
    return time_major


def _empty_states(shape: Shape, dtype: Any) -> np.ndarray:
    """An array over the steps, zero at the first and not initialized at the others."""
    array = empty(shape, dtype)
    array[0] = 0
    return array


_RNN_CELLS = {"tanh": TANH_CELL, "relu": RELU_CELL}


class RecurrentSettings(NamedTuple):
    """Parameters of recurrent layers; see `Rnn`."""

    units: int
    all_states: bool = False
    truncate: int | None = None


class RnnSettings(NamedTuple):
    """Parameters of recurrent layers with a choice of activation; see `Rnn`."""

    units: int
    activation: str = "tanh"
    all_states: bool = False
    truncate: int | None = None


class Rnn(RecurrentLayer, RnnSettings):
    r"""Simple recurrent layer (Elman network).

    .. math:: s_t = \varphi(x_t W + s_{t-1} U + b)

    Parameters
    ----------
    units : int
        Size of the state s.
    activation : "tanh" or "relu"
        Activation function.
    all_states : bool
        Whether the output are the states of all steps, (steps, units), or the last one, (units,).
    truncate : int, optional
        Truncated backpropagation through time: gradients flow back over at most so many steps; a
        sequence is divided into such pieces from its end.

    See Also
    --------
    GatedRnn, Gru, Lstm, Bidirectional, tenfold.RecurrentClassifier

    References
    ----------
    J. L. Elman (1990), "Finding structure in time".
    P. J. Werbos (1990), "Backpropagation through time: what it does and how to do it".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import PassContext
    >>> layer = Rnn(2)
    >>> layer.output_shape((5, 3))
    (2,)
    >>> W, U, b = np.zeros((3, 2)), np.eye(2), np.array([0.0, 1.0])
    >>> state, _ = layer.forward([W, U, b], np.zeros((1, 2, 3)), PassContext())  # tanh(tanh(b) + b)
    >>> state.round(4)
    array([[0.    , 0.9427]])
    """

    __slots__ = ()

    def cell_kind(self) -> CellKind:
        if self.activation not in _RNN_CELLS:
            raise ValueError(f"activation={self.activation!r}: take one of {sorted(_RNN_CELLS)}")
        return _RNN_CELLS[self.activation]


class GatedRnn(RecurrentLayer, RecurrentSettings):
    r"""Recurrent layer with one gate, which interpolates between the old state and a candidate.

    .. math:: g_t = \sigma(x_t W_g + s_{t-1} U_g + b_g), \qquad
              s_t = (1 - g_t) \circ s_{t-1} + g_t \circ \tanh(x_t W_s + s_{t-1} U_s + b_s)

    Parameters
    ----------
    units, all_states, truncate
        As of `Rnn`.

    Examples
    --------
    >>> GatedRnn(4, all_states=True).output_shape((5, 3))
    (5, 4)
    """

    __slots__ = ()
    gate_scales = (0.5, 1.0)
    cell = GATED_CELL


class Gru(RecurrentLayer, RecurrentSettings):
    r"""Gated recurrent unit (GRU), in the form of PyTorch and Keras (`reset_after`).

    .. math:: r_t &= \sigma(x_t W_r + s_{t-1} U_r + b_r), \qquad
              z_t = \sigma(x_t W_z + s_{t-1} U_z + b_z) \\
              n_t &= \tanh(x_t W_n + b_n + r_t \circ (s_{t-1} U_n + b_m)) \\
              s_t &= (1 - z_t) \circ n_t + z_t \circ s_{t-1}

    The gates are stored side by side as r, z, n; the bias is (4 units,): those of the gates, then
    b_m.

    Parameters
    ----------
    units, all_states, truncate
        As of `Rnn`.

    References
    ----------
    K. Cho, B. van Merrienboer, C. Gulcehre, D. Bahdanau, F. Bougares, H. Schwenk, Y. Bengio (2014),
    "Learning phrase representations using RNN encoder-decoder for statistical machine translation".

    Examples
    --------
    >>> import numpy as np
    >>> [p.shape for p in Gru(4).init_params((5, 3), np.random.default_rng(0), np.float32)]
    [(3, 12), (4, 12), (16,)]
    """

    __slots__ = ()
    gate_scales = (0.5, 0.5, 1.0)
    cell = GRU_CELL
    has_memory = True

    def initial_bias(self, dtype: Any) -> np.ndarray:
        return np.zeros(4 * self.units, dtype)


class Lstm(RecurrentLayer, RecurrentSettings):
    r"""Long short-term memory (LSTM), in the form of PyTorch and Keras.

    .. math:: (i_t, f_t, o_t) &= \sigma(x_t W_{ifo} + h_{t-1} U_{ifo} + b_{ifo}) \\
              c_t &= f_t \circ c_{t-1} + i_t \circ \tanh(x_t W_g + h_{t-1} U_g + b_g) \\
              h_t &= o_t \circ \tanh(c_t)

    The output is h. The gates are stored side by side as i, f, g, o. The bias of the forget gate
    starts at 1, so that the memory is retained at first.

    Parameters
    ----------
    units, all_states, truncate
        As of `Rnn`.

    References
    ----------
    S. Hochreiter, J. Schmidhuber (1997), "Long short-term memory".
    F. A. Gers, J. Schmidhuber, F. Cummins (2000), "Learning to forget: continual prediction with
    LSTM".

    Examples
    --------
    >>> import numpy as np
    >>> [p.shape for p in Lstm(4).init_params((5, 3), np.random.default_rng(0), np.float32)]
    [(3, 16), (4, 16), (16,)]
    """

    __slots__ = ()
    gate_scales = (0.5, 0.5, 1.0, 0.5)
    cell = LSTM_CELL
    has_memory = True

    def initial_bias(self, dtype: Any) -> np.ndarray:
        return np.repeat(np.array([0, 1, 0, 0], dtype), self.units)


class Bidirectional(NamedTuple):
    """Two recurrent layers, one of which reads backwards; their outputs are concatenated.

    Each reads to its own end: the last state of the backward layer is that after the first step.

    Parameters
    ----------
    layer : recurrent layer
        Settings of both, for instance `Lstm(32)`.

    References
    ----------
    M. Schuster, K. K. Paliwal (1997), "Bidirectional recurrent neural networks".

    Examples
    --------
    >>> from tenfold.neural import Lstm
    >>> Bidirectional(Lstm(32)).output_shape((28, 4))
    (64,)
    """

    layer: Any

    def output_shape(self, shape: Shape) -> Shape:
        *steps, units = self.layer.output_shape(shape)
        return (*steps, 2 * units)

    def mask(self, context: PassContext) -> np.ndarray | None:
        return self.layer.mask(context)

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return self.layer.init_params(shape, rng, dtype) + self.layer.init_params(shape, rng, dtype)

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        params_a, params_b = split_directions(params)
        reversed_mask = None if context.mask is None else context.mask[:, ::-1]
        a, cache_a = self.layer.forward(params_a, x, context)
        b, cache_b = self.layer.forward(params_b, x[:, ::-1], context._replace(mask=reversed_mask))
        return np.concatenate([a, self._reverse(b)], axis=-1), (cache_a, cache_b)

    def _reverse(self, states: np.ndarray) -> np.ndarray:
        """All states in reverse order; a last state unchanged."""
        return states[:, ::-1] if self.layer.all_states else states

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        gradient_a, gradient_b = np.split(gradient, 2, axis=-1)
        (params_a, params_b), (cache_a, cache_b) = split_directions(params), cache
        dx_a, own_a = self.layer.backward(params_a, cache_a, gradient_a, need_input=need_input)
        gradient_b = self._reverse(gradient_b)
        dx_b, own_b = self.layer.backward(params_b, cache_b, gradient_b, need_input=need_input)
        dx = None if dx_a is None or dx_b is None else dx_a + dx_b[:, ::-1]
        return dx, own_a + own_b


def split_directions(params: list) -> tuple[list, list]:
    """Parameters of the layer that reads forward, and of the one that reads backward."""
    return params[: len(params) // 2], params[len(params) // 2 :]
