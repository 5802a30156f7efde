"""Networks over moves: each move by itself, or, with recurrent layers, after those before it.

A recurrent network reads episodes as padded sequences when it learns, and goes on from its states,
one step at a time, when it acts. Networks without such layers take all moves as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layers.base import LayerStates, PassContext
from tenfold.neural.layers.recurrent import Bidirectional
from tenfold.neural.network import Network, backward, build_network, forward


class MoveOutputs(NamedTuple):
    """Outputs of a network for all moves, and what the gradient needs."""

    z: np.ndarray
    caches: list
    mask: np.ndarray | None


def build_policy(
    layers: Sequence[Any], size: int, rng: np.random.Generator
) -> tuple[Network, list[np.ndarray]]:
    """A network over vectors of `size` numbers; recurrent layers give the states of all steps."""
    for layer in layers:
        if isinstance(layer, Bidirectional):
            raise TypeError(f"{layer!r} reads an episode backwards, which nobody can who acts")
    if not any(hasattr(layer, "all_states") for layer in layers):
        return build_network(layers, (size,), rng)
    layers = [
        layer._replace(all_states=True) if hasattr(layer, "all_states") else layer
        for layer in layers
    ]
    return build_network(layers, (1, size), rng)


def is_recurrent(network: Network) -> bool:
    """Whether a network remembers the moves before."""
    return len(network.shape) == 2


def move_outputs(network: Network, params: list, X: np.ndarray, ends: np.ndarray) -> MoveOutputs:
    """Outputs for all moves of some episodes; the moves of episode e begin at ends[e]."""
    if not is_recurrent(network):
        return MoveOutputs(*forward(network, params, X), None)
    lengths = np.diff(ends)
    mask = np.arange(lengths.max()) < lengths[:, None]
    x = np.zeros((*mask.shape, X.shape[1]), X.dtype)
    x[mask] = X
    z, caches = forward(network, params, x, PassContext(mask=mask))
    return MoveOutputs(z[mask], caches, mask)


def move_gradients(
    network: Network, params: list, outputs: MoveOutputs, slope: np.ndarray
) -> list[np.ndarray]:
    """Gradients in all parameters, from those in the outputs of all moves."""
    slope = slope.astype(outputs.z.dtype)
    if outputs.mask is not None:
        padded = np.zeros((*outputs.mask.shape, slope.shape[1]), slope.dtype)
        padded[outputs.mask] = slope
        slope = padded
    return backward(network, params, outputs.caches, slope)[1]


def next_outputs(
    network: Network, params: list, X: np.ndarray, states: list | None
) -> tuple[np.ndarray, list]:
    """Outputs for one more move of each of some episodes, and the states after it."""
    if not is_recurrent(network):
        return forward(network, params, X)[0], []
    kept = LayerStates(states or [])
    z = forward(network, params, X[:, None], PassContext(states=kept))[0]
    return z[:, 0], kept.last


class EpisodeStates:
    """States of a recurrent network in episodes side by side, of which fewer and fewer go on."""

    def __init__(self, n: int) -> None:
        self.n, self.states = n, []

    def next_outputs(
        self, network: Network, params: list, X: np.ndarray, who: np.ndarray
    ) -> np.ndarray:
        """Outputs for the next move of the episodes `who`."""
        before = [tuple(part[who] for part in state) for state in self.states]
        z, after = next_outputs(network, params, X, before)
        if not self.states:
            shapes = [[(self.n, *part.shape[1:]) for part in state] for state in after]
            self.states = [tuple(np.zeros(s, X.dtype) for s in parts) for parts in shapes]
        for kept, state in zip(self.states, after, strict=True):
            for whole, part in zip(kept, state, strict=True):
                whole[who] = part
        return z
