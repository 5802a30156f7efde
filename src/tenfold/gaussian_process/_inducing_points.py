"""How inducing points are chosen, and the kernels that sparse models begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.cluster.kmeans import KMeans
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.kernel._gradient_tiles import copy_kernel, has_tiles, translate_kernel
from tenfold.kernel.base import ConstantKernel, Exponentiation, Product, Sum, WhiteKernel
from tenfold.kernel.stationary import RBF

_SAMPLE_ROWS = 10_000  # among which k-means places inducing points


def choose_inducing_points(
    rows: Rows, inducing: Any, n_inducing: int, rng: np.random.Generator, model: str
) -> np.ndarray:
    """Given points, centers of clusters, or rows drawn at random, (m, n_features) float64."""
    if not isinstance(inducing, str):
        Z = np.array(inducing, np.float64)
        if Z.ndim != 2 or Z.shape[1] != rows.n_features:
            raise ValueError(
                f"inducing has shape {Z.shape}: give (m, {rows.n_features}), a column for each of X"
            )
        return Z
    seed, m = int(rng.integers(2**31)), min(n_inducing, rows.n_rows)
    check_memory(
        8.0 * 6 * m * m, f"{model} with {m:,} inducing points", "choose fewer inducing points"
    )
    if inducing == "uniform" or m == rows.n_rows:
        return np.array(rows.sample(m, seed).X, np.float64)
    sample = rows.sample(max(_SAMPLE_ROWS, 2 * m), seed)
    means = KMeans(m, n_init=1, tol=1e-3, random_state=seed).fit(sample.X)
    return means.cluster_centers_.astype(np.float64)


def resolve_sparse_kernel(kernel: Any, Z: np.ndarray, cure: str, *, optimized: bool) -> Any:
    """A copy of the kernel of a sparse model; None is RBF at the scale of the inducing points.

    `cure` says what to do about a `WhiteKernel`, which is refused.
    """
    if kernel is None:
        spread = float(np.sqrt(Z.var(axis=0).sum())) or 1.0
        return ConstantKernel() * RBF(spread, (1e-5 * spread, 1e5 * spread))
    kernel = copy_kernel(kernel, Z)
    translated = translate_kernel(kernel)
    if _has_noise(translated):
        raise ValueError(f"the kernel {kernel} has a WhiteKernel: leave it out, {cure}")
    if not has_tiles(translated) and optimized:
        raise ValueError(
            f"the kernel {kernel} has parts whose derivatives are known for whole matrices "
            "only: take kernels of tenfold.kernel or scikit-learn's, or optimizer=None"
        )
    return kernel


def _has_noise(kernel: Any) -> bool:
    if isinstance(kernel, Sum | Product):
        return _has_noise(kernel.k1) or _has_noise(kernel.k2)
    if isinstance(kernel, Exponentiation):
        return _has_noise(kernel.kernel)
    return isinstance(kernel, WhiteKernel)
