"""Recurrent layers as other programs know them: plain, GRU or LSTM, gates in blocks of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.recurrent.layers import GatedRnn, Gru, Lstm

WIDE_OPEN = 100.0  # its sigmoid is 1 in single precision


class Weights(NamedTuple):
    """Weights of one direction.

    Attributes
    ----------
    kind : "RNN", "GRU" or "LSTM"
    input, state : (g u, p) and (g u, u); gates as PyTorch orders them: r, z, n or i, f, g, o
    input_bias, state_bias : (g u,); they add up but for the candidate n of the GRU
    """

    kind: str
    input: np.ndarray
    state: np.ndarray
    input_bias: np.ndarray
    state_bias: np.ndarray

    def ordered(self, gates: list[int]) -> list[np.ndarray]:
        """All four with the gates in another order."""
        arrays = (np.split(array, len(gates)) for array in self[1:])
        return [np.concatenate([parts[gate] for gate in gates]) for parts in arrays]


def weights_of(layer: Any, params: list[np.ndarray]) -> Weights:
    """Weights of a layer that reads one way."""
    W, U, b = (np.ascontiguousarray(array.T) for array in params)
    none = np.zeros_like(U[:, 0])
    if isinstance(layer, Lstm):
        return Weights("LSTM", W, U, b, none)
    if isinstance(layer, Gru):
        last = slice(2 * layer.units, 3 * layer.units)
        none[last] = b[len(none) :]
        return Weights("GRU", W, U, b[: len(none)], none)
    if isinstance(layer, GatedRnn):
        return gated(W, U, b)
    return Weights("RNN", W, U, b, none)


def gated(W: np.ndarray, U: np.ndarray, b: np.ndarray) -> Weights:
    """003's gated network: a GRU that forgets nothing and keeps what the gate does not let in."""
    (W_gate, W_new), (U_gate, U_new), (b_gate, b_new) = (np.split(a, 2) for a in (W, U, b))
    W = np.concatenate([0 * W_gate, -W_gate, W_new])
    U = np.concatenate([0 * U_gate, -U_gate, U_new])
    b = np.concatenate([0 * b_gate + b_gate.dtype.type(WIDE_OPEN), -b_gate, b_new])
    return Weights("GRU", W, U, b, np.zeros_like(b))
