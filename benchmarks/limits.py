"""The unavoidable: a product or a read of all rows, on all cores, with nothing around it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.case import Limit, once, rounds_of

BLOCK_BYTES = 2**20


def cores() -> int:
    from joblib import cpu_count

    return cpu_count()


def one_pass(X: np.ndarray, leaf: Callable[[np.ndarray], Any]) -> float:
    """Seconds of the leaf on all rows, in blocks that fit the cache, one BLAS thread a core."""
    rows = max(1024, min(8192, BLOCK_BYTES // (X.shape[1] * X.itemsize)))
    workers = cores()

    def share(worker: int) -> None:
        for first in range(worker * rows, len(X), workers * rows):
            leaf(X[first : first + rows])

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        list(pool.map(share, [len(X)] * workers))  # the threads start here, not in the time
        start = perf_counter()
        list(pool.map(share, range(workers)))
        return perf_counter() - start


def read(X: np.ndarray, _: Any) -> np.ndarray:
    flat = X.reshape(-1)
    return np.dot(flat, flat)


def gram(X: np.ndarray, _: Any) -> np.ndarray:
    return X.T @ X


def products(X: np.ndarray, kmeans: Any) -> np.ndarray:
    return kmeans.cluster_centers_ @ X.T


def scores_and_slope(X: np.ndarray, softmax: Any) -> np.ndarray:
    return softmax.coef_ @ X.T @ X


READ = Limit("read X", read, once)
GRAM = Limit("X'X", gram, once)
PRODUCTS = Limit("C X' a round", products, rounds_of)
SOFTMAX = Limit("W X', R X a round", scores_and_slope, rounds_of)
