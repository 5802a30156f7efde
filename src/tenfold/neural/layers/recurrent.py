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
from tenfold.neural.layers.base import PassContext, Shape, shape_error

_Flag = bool | None
CellKind = tuple[_Flag, _Flag, _Flag, _Flag]  # one of those of `cells`


class RecurrentCache(NamedTuple):
    """What the way back needs of the way along: all arrays are time-major."""

    x: np.ndarray  # (t, n, p)
    gates: np.ndarray  # (t, n, g u)
    states: np.ndarray  # (t + 1, n, u)
    memory: np.ndarray  # (t + 1, n, u), or no width
    there: np.ndarray  # (t, n), or empty


class RecurrentLayer:
    """What layers with a state share; they differ in the cell.

    Parameters are the weights of the input (p, g u) and of the old state (u, g u), and the offset
    (g u,), for g gates side by side. Weights begin as in Keras: Glorot for the input, orthogonal
    for the state, offsets zero.
    """

    __slots__ = ()
    units: int
    all_states: bool
    truncate: int | None
    cell: CellKind = TANH_CELL
    gates: tuple[float, ...] = (1.0,)  # 1 for a tanh, 1/2 for a sigmoid
    keeps = False  # whether the cell keeps more than its state

    def kind(self) -> CellKind:
        """Which cell."""
        return self.cell

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise shape_error(self, shape, "(steps, numbers)")  # pyright: ignore[reportArgumentType]
        self.kind()  # is there such a cell?
        if self.truncate is not None and self.truncate < 1:
            raise ValueError(f"truncate={self.truncate}: give a number of steps, at least 1")
        return (shape[0], self.units) if self.all_states else (self.units,)

    def mask(self, way: PassContext) -> np.ndarray | None:
        """The last state is no sequence any more."""
        return way.mask if self.all_states else None

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        u, g = self.units, self.gates
        W = [initialize_weights("glorot_uniform", None, (shape[-1], u), rng, dtype) for _ in g]
        U = [initialize_weights("orthogonal", None, (u, u), rng, dtype) for _ in g]
        return [np.hstack(W), np.hstack(U), self.offset(dtype)]

    def offset(self, dtype: Any) -> np.ndarray:
        """Offset to start from."""
        return np.zeros(len(self.gates) * self.units, dtype)

    def scale(self, dtype: Any) -> np.ndarray:
        """What kind of gate each number goes into."""
        return np.repeat(np.array(self.gates, dtype), self.units)

    def forward(
        self, params: list, x: np.ndarray, way: PassContext
    ) -> tuple[np.ndarray, RecurrentCache]:
        W, U, b = params
        n, t, _ = x.shape
        x = _to_time_major(x, W.dtype)
        there = np.zeros((0, 0), bool) if way.mask is None else np.ascontiguousarray(way.mask.T)
        states = _empty_states((t + 1, n, self.units), W.dtype)
        memory = _empty_states((t + 1, n, self.units if self.keeps else 0), W.dtype)
        gates, back = empty((t, n, W.shape[1]), W.dtype), np.zeros((n, W.shape[1]), W.dtype)
        np.matmul(_merge_steps(x), W, out=_merge_steps(gates))
        scale = self.scale(W.dtype)
        sequence_forward(
            *self.kind(), gates, back, _copy_aligned(U), b, scale, there, states, memory
        )
        walk = RecurrentCache(x, gates, states, memory, there)
        return self.shown(walk), walk

    def shown(self, walk: RecurrentCache) -> np.ndarray:
        """The last state, or all of them: zero at steps that are not there."""
        if not self.all_states:
            return walk.states[-1].copy()
        states = np.ascontiguousarray(walk.states[1:].swapaxes(0, 1))
        return states * walk.there.T[:, :, None] if len(walk.there) else states

    def backward(
        self, params: list, kept: RecurrentCache, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """As of every layer, but `kept` serves once: the gates are overwritten."""
        W, U, _ = params
        x, gates, states, memory, there = kept
        slopes = states[:0]
        last = np.zeros_like(states[0])
        if self.all_states:
            slopes = _to_time_major(slope, W.dtype)
            slopes = slopes * there[:, :, None] if len(there) else slopes
        else:
            last += slope
        side = empty(gates.shape, gates.dtype) if self.cell == GRU_CELL else gates
        flows, through, down = self.flows(kept), np.empty_like(last), np.zeros_like(memory[0])
        how = side, _copy_aligned(U.T), there, flows, slopes, last, through, states, memory, down
        sequence_backward(*self.kind(), gates, *how)
        into, returned = (
            _merge_steps(gates),
            _merge_steps(side),
        )  # slopes of what the input and the old state say
        offset = into.sum(axis=0)
        if self.cell == GRU_CELL:  # it adds one offset to what comes back from the old state
            offset = np.append(offset, returned[:, 2 * self.units :].sum(axis=0))
        own = [_merge_steps(x).T @ into, _merge_steps(states[: len(x)]).T @ returned, offset]
        if not need_input:
            return None, own
        return np.matmul(into, W.T).reshape(x.shape).swapaxes(0, 1), own

    def flows(self, walk: RecurrentCache) -> np.ndarray:
        """Where slopes flow from a step to the one before: every `truncate` steps they do not."""
        if self.truncate is None:
            return walk.there[:0]
        there = walk.there if len(walk.there) else np.ones(walk.x.shape[:2], bool)
        left = there[::-1].cumsum(axis=0)[::-1]  # steps from here to the end of each sequence
        return ~there | (left % self.truncate != 0)


def _merge_steps(x: np.ndarray) -> np.ndarray:
    """All steps of all rows below each other."""
    return x.reshape(-1, x.shape[2])


def _to_time_major(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Steps before rows."""
    turned = empty((x.shape[1], x.shape[0], *x.shape[2:]), dtype)
    turned[:] = x.swapaxes(0, 1)
    return turned


def _empty_states(shape: Shape, dtype: Any) -> np.ndarray:
    """An array over the steps, of which the first is zero; a walk sets the others."""
    array = empty(shape, dtype)
    array[0] = 0
    return array


def _copy_aligned(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a multiple of 64 bytes: products with it take half the time."""
    room = np.empty(array.size + 64 // array.itemsize, array.dtype)
    start = -room.ctypes.data % 64 // array.itemsize
    copy = room[start : start + array.size].reshape(array.shape)
    copy[:] = array
    return copy


_RNN_CELLS = {"tanh": TANH_CELL, "relu": RELU_CELL}


class RecurrentSettings(NamedTuple):
    """What recurrent layers have in common; see `RecurrentLayer`."""

    units: int
    all_states: bool = False
    truncate: int | None = None


class RnnSettings(NamedTuple):
    """Those of other layers, and the function of the state."""

    units: int
    activation: str = "tanh"
    all_states: bool = False
    truncate: int | None = None


class Rnn(RecurrentLayer, RnnSettings):
    r"""A plain recurrent layer [003, lecture 10; 004, 4.6].

    .. math:: s_t = \varphi(x_t W + s_{t-1} U + b)

    Parameters
    ----------
    units : int
        Numbers in the state s.
    activation : "tanh" or "relu"
        The function of the score.
    all_states : bool
        Whether the states of all steps come out, (steps, units); else the last one, (units,).
    truncate : int, optional
        Slopes flow back over at most so many steps, counted in pieces from the end of a sequence.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import PassContext
    >>> layer = Rnn(2)
    >>> layer.output((5, 3))
    (2,)
    >>> W, U, b = np.zeros((3, 2)), np.eye(2), np.array([0.0, 1.0])
    >>> state, _ = layer.forward([W, U, b], np.zeros((1, 2, 3)), PassContext())  # tanh(tanh(b) + b)
    >>> state.round(4)
    array([[0.    , 0.9427]])
    """

    __slots__ = ()

    def kind(self) -> CellKind:
        if self.activation not in _RNN_CELLS:
            raise ValueError(f"activation={self.activation!r}: take one of {sorted(_RNN_CELLS)}")
        return _RNN_CELLS[self.activation]


class GatedRnn(RecurrentLayer, RecurrentSettings):
    r"""A state that a gate lets through or holds: the simple gated network of 003, lecture 10.

    .. math:: g_t = \sigma(x_t W_g + s_{t-1} U_g + b_g), \qquad
              s_t = (1 - g_t) \circ s_{t-1} + g_t \circ \tanh(x_t W_s + s_{t-1} U_s + b_s)

    Parameters
    ----------
    units, all_states, truncate
        As of `Rnn`.

    Examples
    --------
    >>> GatedRnn(4, all_states=True).output((5, 3))
    (5, 4)
    """

    __slots__ = ()
    gates = (0.5, 1.0)
    cell = GATED_CELL


class Gru(RecurrentLayer, RecurrentSettings):
    r"""A gated recurrent unit, in the form of PyTorch and Keras (`reset_after`).

    .. math:: r_t &= \sigma(x_t W_r + s_{t-1} U_r + b_r), \qquad
              z_t = \sigma(x_t W_z + s_{t-1} U_z + b_z) \\
              n_t &= \tanh(x_t W_n + b_n + r_t \circ (s_{t-1} U_n + b_m)) \\
              s_t &= (1 - z_t) \circ n_t + z_t \circ s_{t-1}

    The gates lie side by side as r, z, n; the offset is (4 units,): those of the gates, then b_m.

    Parameters
    ----------
    units, all_states, truncate
        As of `Rnn`.

    Examples
    --------
    >>> import numpy as np
    >>> [p.shape for p in Gru(4).begin((5, 3), np.random.default_rng(0), np.float32)]
    [(3, 12), (4, 12), (16,)]
    """

    __slots__ = ()
    gates = (0.5, 0.5, 1.0)
    cell = GRU_CELL
    keeps = True

    def offset(self, dtype: Any) -> np.ndarray:
        return np.zeros(4 * self.units, dtype)


class Lstm(RecurrentLayer, RecurrentSettings):
    r"""Long short-term memory, in the form of PyTorch and Keras [003, lecture 10].

    .. math:: (i_t, f_t, o_t) &= \sigma(x_t W_{ifo} + h_{t-1} U_{ifo} + b_{ifo}) \\
              c_t &= f_t \circ c_{t-1} + i_t \circ \tanh(x_t W_g + h_{t-1} U_g + b_g) \\
              h_t &= o_t \circ \tanh(c_t)

    What comes out is h. The gates lie side by side as i, f, g, o. The offset of the forget gate
    begins at 1, so that the memory holds at first.

    Parameters
    ----------
    units, all_states, truncate
        As of `Rnn`.

    Examples
    --------
    >>> import numpy as np
    >>> [p.shape for p in Lstm(4).begin((5, 3), np.random.default_rng(0), np.float32)]
    [(3, 16), (4, 16), (16,)]
    """

    __slots__ = ()
    gates = (0.5, 0.5, 1.0, 0.5)
    cell = LSTM_CELL
    keeps = True

    def offset(self, dtype: Any) -> np.ndarray:
        return np.repeat(np.array([0, 1, 0, 0], dtype), self.units)


class Bidirectional(NamedTuple):
    """Two layers with a state, of which one reads backwards; what both say, side by side.

    Each reads to its own end: of the backward one, the last state is that after the first step.

    Parameters
    ----------
    layer : recurrent layer
        Settings of both, for instance `Lstm(32)`.

    Examples
    --------
    >>> from tenfold.neural import Lstm
    >>> Bidirectional(Lstm(32)).output((28, 4))
    (64,)
    """

    layer: Any

    def output(self, shape: Shape) -> Shape:
        *steps, units = self.layer.output(shape)
        return (*steps, 2 * units)

    def mask(self, way: PassContext) -> np.ndarray | None:
        return self.layer.mask(way)

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return self.layer.begin(shape, rng, dtype) + self.layer.begin(shape, rng, dtype)

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        ahead, back = split_directions(params)
        turned = None if way.mask is None else way.mask[:, ::-1]
        a, a_kept = self.layer.forward(ahead, x, way)
        b, b_kept = self.layer.forward(back, x[:, ::-1], way._replace(mask=turned))
        return np.concatenate([a, self.turned(b)], axis=-1), (a_kept, b_kept)

    def turned(self, states: np.ndarray) -> np.ndarray:
        """All states in the other order; a last state as it is."""
        return states[:, ::-1] if self.layer.all_states else states

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        a_slope, b_slope = np.split(slope, 2, axis=-1)
        (ahead, back), (a_kept, b_kept) = split_directions(params), kept
        a, a_own = self.layer.backward(ahead, a_kept, a_slope, need_input=need_input)
        b, b_own = self.layer.backward(back, b_kept, self.turned(b_slope), need_input=need_input)
        return None if a is None or b is None else a + b[:, ::-1], a_own + b_own


def split_directions(params: list) -> tuple[list, list]:
    """Parameters of the layer that reads on, and of the one that reads back."""
    return params[: len(params) // 2], params[len(params) // 2 :]
