"""Dense networks for many parameter vectors at once, and Jacobians of their outputs row by row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tenfold.neural.layers.activations import as_activation


def split_layers(theta: np.ndarray, widths: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights (c, p, q) and biases (c, 1, q) of each layer, of c flat parameter vectors."""
    layers, at = [], 0
    for p, q in pairwise(widths):
        W = theta[:, at : at + p * q].reshape(-1, p, q)
        b = theta[:, at + p * q : at + p * q + q].reshape(-1, 1, q)
        layers.append((W, b))
        at += p * q + q
    return layers


def forward_chains(
    theta: np.ndarray, X: np.ndarray, widths: tuple[int, ...], activation: str
) -> tuple[np.ndarray, list[Any]]:
    """Outputs (c, n, k) of c networks, and what the backward pass needs."""
    a, caches = np.broadcast_to(X, (len(theta), *X.shape)), []
    layers = split_layers(theta, widths)
    for number, (W, b) in enumerate(layers):
        z = a @ W + b
        is_last = number == len(layers) - 1
        out, cache = (z, None) if is_last else as_activation(activation).apply(z)
        caches.append((a, cache))
        a = out
    return a, caches


def backward_chains(
    theta: np.ndarray, caches: list[Any], gradient: np.ndarray, widths: tuple, activation: str
) -> np.ndarray:
    """Gradient in the parameters, (c, P), from that in the outputs (c, n, k)."""
    parts: list[np.ndarray] = []
    layers = split_layers(theta, widths)
    for number in reversed(range(len(layers))):
        a, cache = caches[number]
        if cache is not None:
            gradient = as_activation(activation).backpropagate(cache, gradient)
        db = gradient.sum(axis=1)
        dW = np.swapaxes(a, 1, 2) @ gradient
        parts = [dW.reshape(len(theta), -1), db, *parts]
        gradient = gradient @ np.swapaxes(layers[number][0], 1, 2)
    return np.concatenate(parts, axis=1)


def layer_sensitivities(
    theta: np.ndarray, X: np.ndarray, widths: tuple[int, ...], activation: str
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Outputs (n, k) of one network, and for each layer its inputs and what its units do to them.

    The inputs (n, p + 1) end with the 1 of the bias; the derivatives of the outputs in the units
    before their activation are (n, k, q). The derivative of output k in the weight from input i to
    unit j is the product of the two.
    """
    outputs, caches = forward_chains(theta[None], X, widths, activation)
    layers, n, k = split_layers(theta[None], widths), len(X), widths[-1]
    gradient = np.broadcast_to(np.eye(k)[:, None], (k, n, k)).copy()
    found = []
    for number in reversed(range(len(layers))):
        a, cache = caches[number]
        if cache is not None:
            shared = cache[0]
            gradient = np.stack(
                [as_activation(activation).backpropagate(shared, part) for part in gradient]
            )
        found.append((np.column_stack([a[0], np.ones(n)]), np.swapaxes(gradient, 0, 1)))
        gradient = gradient @ layers[number][0][0].T
    return outputs[0], found[::-1]


def assemble_jacobians(layers: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Derivatives of the outputs in all parameters, (n, k, P), from `layer_sensitivities`."""
    blocks = [a[:, None, :, None] * G[:, :, None, :] for a, G in layers]
    return np.concatenate([block.reshape(*block.shape[:2], -1) for block in blocks], axis=2)
