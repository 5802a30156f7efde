r"""Layers with a state: what they say at a step depends on all steps before [003, lecture 10].

All begin in the state zero. Steps that a mask leaves out change nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.recurrent.cells import GATED, GRU, LSTM, RELU, TANH
from tenfold.neural.recurrent.recurrence import Cell, Recurrent

PLAIN = {"tanh": TANH, "relu": RELU}


class Settings(NamedTuple):
    """What recurrent layers have in common; see `Recurrent`."""

    units: int
    all_states: bool = False
    truncate: int | None = None


class RnnSettings(NamedTuple):
    """Those of other layers, and the function of the state."""

    units: int
    activation: str = "tanh"
    all_states: bool = False
    truncate: int | None = None


class Rnn(Recurrent, RnnSettings):
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
    >>> from tenfold.neural import Way
    >>> layer = Rnn(2)
    >>> layer.output((5, 3))
    (2,)
    >>> W, U, b = np.zeros((3, 2)), np.eye(2), np.array([0.0, 1.0])
    >>> state, _ = layer.forward([W, U, b], np.zeros((1, 2, 3)), Way())  # tanh(tanh(b) + b)
    >>> state.round(4)
    array([[0.    , 0.9427]])
    """

    __slots__ = ()

    def kind(self) -> Cell:
        if self.activation not in PLAIN:
            raise ValueError(f"activation={self.activation!r}: take one of {sorted(PLAIN)}")
        return PLAIN[self.activation]


class GatedRnn(Recurrent, Settings):
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
    cell = GATED


class Gru(Recurrent, Settings):
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
    cell = GRU
    keeps = True

    def offset(self, dtype: Any) -> np.ndarray:
        return np.zeros(4 * self.units, dtype)


class Lstm(Recurrent, Settings):
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
    cell = LSTM
    keeps = True

    def offset(self, dtype: Any) -> np.ndarray:
        return np.repeat(np.array([0, 1, 0, 0], dtype), self.units)
