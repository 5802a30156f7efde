"""Data of the large cases. `shrink` divides the number of rows; seeds are fixed."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from benchmarks.case import Data

Maker = Callable[[int], Data]


def mnist(shrink: int) -> Data:
    """60,000 x 784 float32 in [0, 1]: MNIST where TENFOLD_DATA has it, else something like it."""
    if not os.environ.get("TENFOLD_DATA"):
        return like_mnist(60_000 // shrink)
    from tenfold.datasets import fetch_mnist

    X, y = fetch_mnist(return_X_y=True)
    n = len(X) // shrink
    return Data((X[:n] / 255).astype(np.float32), y[:n], note="MNIST")


def like_mnist(n: int) -> Data:
    """Ten noisy pictures, half of them blank, whose classes overlap."""
    rng = np.random.default_rng(0)
    pictures = rng.random((10, 784), np.float32) * (rng.random(784) < 0.5)
    y = rng.integers(10, size=n)
    X = rng.standard_normal((n, 784), np.float32)
    X *= 1.5
    X += pictures[y]
    return Data(np.clip(X, 0, 1, out=X), y, note="generated, no TENFOLD_DATA")


def blobs(n: int, p: int, k: int, dtype: type, *, start: bool) -> Maker:
    """k overlapping clouds; with `start`, the same k rows as first centres for everybody."""

    def make(shrink: int) -> Data:
        rng = np.random.default_rng(0)
        centres = 0.45 * rng.standard_normal((k, p), np.float32)
        X = rng.standard_normal((n // shrink, p), np.float32)
        X += centres[rng.integers(k, size=len(X))]
        X = X.astype(dtype, copy=False)
        first = X[rng.choice(len(X), k, replace=False)].copy()
        return Data(X, params={"init": first} if start else {})

    return make


def classes(n: int, p: int, k: int, dtype: type) -> Maker:
    """k Gaussian classes, of different widths, about means that lie close together."""

    def make(shrink: int) -> Data:
        rng = np.random.default_rng(0)
        mean = 0.2 * rng.standard_normal((k, p), np.float32)
        width = 1 + 0.2 * rng.random((k, p), np.float32)
        y = rng.integers(k, size=n // shrink)
        X = rng.standard_normal((len(y), p), np.float32)
        X *= width[y]
        X += mean[y]
        return Data(X.astype(dtype, copy=False), y)

    return make


def factors(n: int, p: int, k: int, dtype: type) -> Maker:
    """k directions of falling variance, and noise in all."""

    def make(shrink: int) -> Data:
        rng = np.random.default_rng(0)
        loads = np.linspace(3, 1, k, dtype=np.float32)[:, None]
        X = rng.standard_normal((n // shrink, k), np.float32) @ (
            loads * rng.standard_normal((k, p), np.float32)
        )
        X += rng.standard_normal(X.shape, np.float32)
        return Data(X.astype(dtype, copy=False))

    return make


def plane(n: int, p: int, dtype: type) -> Maker:
    """A linear target with noise; the columns have means other than zero."""

    def make(shrink: int) -> Data:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n // shrink, p), np.float32)
        X += rng.standard_normal(p, np.float32)
        y = X @ rng.standard_normal(p, np.float32) + rng.standard_normal(len(X), np.float32)
        return Data(X.astype(dtype, copy=False), y.astype(dtype))

    return make
