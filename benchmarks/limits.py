"""The unavoidable: a product or a read of all rows, on all cores, with nothing around it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.case import Limit, once, rounds_of

BLOCK_BYTES = 2**20


def cores() -> int:
    from joblib import cpu_count

    return cpu_count()


def unavoidable(limit: Limit, X: np.ndarray, model: Any) -> float:
    """Seconds of the work that this fit could not avoid."""
    fastest = min(one_pass(X, partial(way, model)) for way in limit.ways)
    return limit.passes(model) * fastest


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


def read(_: Any, X: np.ndarray) -> np.ndarray:
    flat = X.reshape(-1)
    return np.dot(flat, flat)


def gram(_: Any, X: np.ndarray) -> np.ndarray:
    return X.T @ X


def products(kmeans: Any, X: np.ndarray) -> np.ndarray:
    return X @ kmeans.cluster_centers_.T


def products_by_centre(kmeans: Any, X: np.ndarray) -> np.ndarray:
    return kmeans.cluster_centers_ @ X.T


def scores_and_slope(softmax: Any, X: np.ndarray) -> np.ndarray:
    return (X @ softmax.coef_.T).T @ X


def scores_and_slope_by_class(softmax: Any, X: np.ndarray) -> np.ndarray:
    return (softmax.coef_ @ X.T) @ X


READ = Limit("read X", (read,), once)
GRAM = Limit("X'X", (gram,), once)
PRODUCTS = Limit("X C' a round", (products, products_by_centre), rounds_of)
SOFTMAX = Limit("X W', R X a round", (scores_and_slope, scores_and_slope_by_class), rounds_of)
