"""Rows and chunk functions that several tests of the engine share."""

import threading
from functools import cache
from typing import NamedTuple

import numpy as np
from hypothesis import settings

import tenfold
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource

GRID = 8192  # rows in a chunk of two float64 columns


CALM = settings(max_examples=40, deadline=None)  # busy machines are slow now and then


PATIENCE = 30  # seconds after which a thread that waits has waited in vain


def reference(parts, combine):
    """The fixed tree, said another way: cut at the largest power of two below the length."""
    if len(parts) == 1:
        return parts[0]
    left = 1 << (len(parts) - 1).bit_length() - 1
    return combine(reference(parts[:left], combine), reference(parts[left:], combine))


# ---------------------------------------------------------------------------------- statistics


class Parts(NamedTuple):
    """Every kind of part, nested."""

    array: np.ndarray
    pair: tuple
    table: dict
    count: int
    nothing: None = None


# ----------------------------------------------------------------- the same bits in any placement

WIDTH = 24


BYTES = np.random.default_rng(5).integers(0, 256, (9 * 5461 - 700, WIDTH)).astype(np.uint8)


TARGET = (BYTES[:, 0] % 3).astype(np.int64)


WEIGHT = np.random.default_rng(6).random(len(BYTES))


def strided(X):
    wide = np.zeros((2 * len(X), WIDTH + 3), X.dtype)
    wide[::2, 3:] = X
    return wide[::2, 3:]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


DENSE = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: X[::-1].copy()[::-1],
    "read-only": read_only,
}


KINDS = {
    **{f"float64 {name}": (f, np.float64) for name, f in DENSE.items()},
    **{f"float32 {name}": (f, np.float32) for name, f in DENSE.items()},
    "uint8": (np.ascontiguousarray, np.uint8),
    "int64 F": (np.asfortranarray, np.int64),
    "float16": (np.ascontiguousarray, np.float16),
    "big-endian": (np.ascontiguousarray, np.dtype(">f8")),
}


def products(chunk, M):
    Z = np.tanh(chunk.X @ M / 500)
    return Parts(
        Z.T @ (chunk.X * chunk.w[:, None]),
        (chunk.w.sum(), np.log1p(Z**2).sum(0)),
        {int(c): Z[chunk.y == c].sum(0) for c in np.unique(chunk.y)},
        chunk.rows,
    )


def mixing(dtype=np.float64):
    return np.random.default_rng(7).normal(size=(WIDTH, 5)).astype(dtype)


def flat(statistic):
    return np.concatenate(
        [
            np.ravel(part)
            for part in (
                statistic.array,
                *statistic.pair,
                *[statistic.table[k] for k in sorted(statistic.table)],
                statistic.count,
            )
        ]
    )


def opened(kind):
    make, dtype = KINDS[kind]
    return Rows(ArraySource(make(BYTES.astype(dtype)), TARGET, WEIGHT))


# ------------------------------------------------------------------------- threads and the pool


def run_threads(n, f):
    """Call f(0), ..., f(n - 1) at once; errors and threads that hang arrive here."""
    problems = []

    def guarded(i):
        try:
            f(i)
        except BaseException as problem:  # noqa: BLE001
            problems.append(problem)

    started = [threading.Thread(target=guarded, args=(i,), daemon=True) for i in range(n)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in started), "a thread hangs"
    if problems:
        raise problems[0]


def chunks(n):
    """Rows of which every chunk is read, and handed out, by itself."""
    return Rows(ArraySource(np.ones((n * GRID, 2), order="F")))


class LeafError(Exception):
    """What a leaf may raise."""


@cache
def one_thread():
    """What one thread makes of plain arrays."""
    with tenfold.threads(1):
        return {
            dtype: flat(opened(f"{dtype} C").total(products, mixing(dtype)))
            for dtype in ("float32", "float64")
        }
