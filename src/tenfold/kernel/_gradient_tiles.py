r"""Weighted sums of derivatives of kernel values, tile by tile.

An evidence needs :math:`\sum_{ij} G_{ij} \, \partial k(x_i, z_j) / \partial \theta` and nothing
else of the derivatives. Kernels of distances scaled by column have
:math:`\partial k / \partial \log \ell_d = F(u) \, (x_d - z_d)^2 / \ell_d^2` with
:math:`u = \sum_d (x_d - z_d)^2 / \ell_d^2`, so that with :math:`M = G \circ F` and scaled rows

.. math:: \sum_{ij} M_{ij} (x_{id} - z_{jd})^2
          = \sum_i r_i x_{id}^2 + \sum_j c_j z_{jd}^2 - 2 \sum_i x_{id} (M z)_{id},

one matrix product for all length scales (r and c: sums of rows and columns of M). The weights of a
product of kernels are multiplied by the values of the other factor. No array is larger than a
tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.engine.tiled_cholesky import run_pieces
from tenfold.kernel.base import (
    ConstantKernel,
    Exponentiation,
    Kernel,
    Product,
    Sum,
    WhiteKernel,
    as_kernel,
    sk,
)
from tenfold.kernel.dot_product import DotProduct
from tenfold.kernel.kernels import resolve_kernel
from tenfold.kernel.object_kernels import ForeignKernel, PrecomputedKernel
from tenfold.kernel.stationary import (
    RBF,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    distance_slope,
    distance_tile,
)

TILE = 256  # rows and columns of a tile


def copy_kernel(kernel: Any, X: Any) -> Any:
    """A copy of a kernel object; of a name or a function, the kernel object for such rows."""
    return clone(kernel) if isinstance(kernel, sk.Kernel) else resolve_kernel(kernel, X=X)


def translate_kernel(kernel: Any) -> Any:
    """A kernel of tenfold with the same parameters; sums and products are translated within."""
    kernel = as_kernel(kernel)
    if isinstance(kernel, PrecomputedKernel):
        raise TypeError(
            "PrecomputedKernel(): a Gaussian process needs k(x, x) of new rows, which values with "
            "the rows of the fit do not tell: give the kernel itself, or take "
            "KernelRidge(alpha, kernel='precomputed'), whose predictions are the posterior means"
        )
    if isinstance(kernel, Sum | Product):
        return type(kernel)(translate_kernel(kernel.k1), translate_kernel(kernel.k2))
    if isinstance(kernel, Exponentiation):
        return Exponentiation(translate_kernel(kernel.kernel), kernel.exponent)
    return kernel


def has_tiles(kernel: Any) -> bool:
    """Whether the sums of derivatives of all parts of a (translated) kernel are known here."""
    if isinstance(kernel, Sum | Product):
        return has_tiles(kernel.k1) and has_tiles(kernel.k2)
    if isinstance(kernel, Exponentiation):
        return has_tiles(kernel.kernel)
    return type(kernel) in {*_LEAVES, ConstantKernel, DotProduct, WhiteKernel} or (
        isinstance(kernel, Kernel) and not isinstance(kernel, ForeignKernel) and kernel.n_dims == 0
    )


def gram_gradient(kernel: Any, X: Any, weights: Callable[[slice, slice], np.ndarray]) -> np.ndarray:
    """Sums of weights times derivatives over all pairs of rows, (n_dims,), on all threads.

    `weights(rows, columns)` gives a tile of a symmetric matrix. Half of the tiles are computed;
    partial sums are added in the order of the tiles.
    """
    n = len(X)
    edges = [slice(first, min(first + TILE, n)) for first in range(0, n, TILE)]
    tiles = [(i, j) for i in range(len(edges)) for j in range(i + 1)]
    sums = np.zeros((len(tiles), kernel.n_dims))

    def work(number: int) -> None:
        i, j = tiles[number]
        G = weights(edges[i], edges[j])
        twice = 1.0 if i == j else 2.0
        sums[number] = twice * gradient_tile(kernel, X[edges[i]], X[edges[j]], G, same=i == j)

    run_pieces(work, range(len(tiles)))
    return sums.sum(axis=0)


def gradient_sums(kernel: Any, X: Any, weights: np.ndarray) -> np.ndarray:
    """Sums of any weights times derivatives over all pairs of rows, (n_dims,), in one tile."""
    kernel = translate_kernel(kernel)
    if hasattr(X, "tocsr") or not has_tiles(kernel):
        return dense_gradient(kernel, X, weights)
    return gradient_tile(kernel, X, X, weights, same=True)


def dense_gradient(kernel: Any, X: Any, weights: np.ndarray) -> np.ndarray:
    """The same for kernels that give all derivatives at once only: strings, foreign objects."""
    return np.einsum("ij,ijk->k", weights, kernel(X, eval_gradient=True)[1])


def gradient_tile(
    kernel: Any, X: np.ndarray, Z: np.ndarray, G: np.ndarray, *, same: bool = False
) -> np.ndarray:
    """Sums over a tile, (n_dims,); `same` says that X and Z are the same rows."""
    if kernel.n_dims == 0:
        return np.zeros(0)
    if isinstance(kernel, Sum):
        parts = [gradient_tile(k, X, Z, G, same=same) for k in (kernel.k1, kernel.k2)]
        return np.concatenate(parts)
    if isinstance(kernel, Product):
        values = [_values(k, X, Z, same=same) for k in (kernel.k1, kernel.k2)]
        first = gradient_tile(kernel.k1, X, Z, G * values[1], same=same)
        return np.concatenate([first, gradient_tile(kernel.k2, X, Z, G * values[0], same=same)])
    if isinstance(kernel, Exponentiation):
        power = np.power(_values(kernel.kernel, X, Z, same=same), kernel.exponent - 1)
        return gradient_tile(kernel.kernel, X, Z, kernel.exponent * G * power, same=same)
    if isinstance(kernel, WhiteKernel):
        return np.array([kernel.noise_level * np.trace(G) if same else 0.0])
    if isinstance(kernel, ConstantKernel):
        return np.array([kernel.constant_value * G.sum()])
    if isinstance(kernel, DotProduct):
        return np.array([2.0 * kernel.sigma_0**2 * G.sum()])
    return _LEAVES[type(kernel)](kernel, X, Z, G)


def _values(kernel: Any, X: np.ndarray, Z: np.ndarray, *, same: bool) -> Any:
    """Kernel values of a tile; a number for a constant."""
    if isinstance(kernel, ConstantKernel):
        return kernel.constant_value
    return kernel(X) if same else kernel.tile(X, Z)


def _length_scales(kernel: Any, X: np.ndarray, Z: np.ndarray, G: np.ndarray) -> np.ndarray:
    """RBF and Matern kernels."""
    squares = distance_tile(X, Z, kernel.length_scale)
    M = distance_slope(kernel, squares)
    M *= G
    if not kernel.anisotropic:
        return np.array([np.vdot(M, squares)])
    origin = Z.mean(axis=0)
    X, Z = (X - origin) / kernel.length_scale, (Z - origin) / kernel.length_scale
    squares_sum = M.sum(axis=1) @ (X * X) + M.sum(axis=0) @ (Z * Z)
    return squares_sum - 2.0 * np.einsum("ij,ij->j", X, M @ Z)


def _rational_quadratic(kernel: Any, X: np.ndarray, Z: np.ndarray, G: np.ndarray) -> np.ndarray:
    return rational_quadratic_sums(kernel, distance_tile(X, Z, kernel.length_scale), G)


def rational_quadratic_sums(kernel: Any, squares: np.ndarray, G: np.ndarray) -> np.ndarray:
    """The sums from squared distances in units of the length scale, which are overwritten."""
    base = 1.0 + squares / (2.0 * kernel.alpha)
    logs = np.log(base)
    M = G * np.exp(-kernel.alpha * logs)
    squares /= base
    by_alpha = 0.5 * np.vdot(M, squares) - kernel.alpha * np.vdot(M, logs)
    return _free(kernel, alpha=by_alpha, length_scale=np.vdot(M, squares))


def _exp_sine_squared(kernel: Any, X: np.ndarray, Z: np.ndarray, G: np.ndarray) -> np.ndarray:
    return exp_sine_squared_sums(kernel, distance_tile(X, Z, 1.0), G)


def exp_sine_squared_sums(kernel: Any, squares: np.ndarray, G: np.ndarray) -> np.ndarray:
    """The sums from squared distances."""
    angle = np.pi * np.sqrt(squares) / kernel.periodicity
    sine, cosine = np.sin(angle), np.cos(angle)
    M = 4.0 / kernel.length_scale**2 * G * np.exp(-2.0 * (sine / kernel.length_scale) ** 2)
    by_period = np.vdot(M, angle * sine * cosine)
    return _free(kernel, length_scale=np.vdot(M, sine * sine), periodicity=by_period)


def _free(kernel: Any, **sums: float) -> np.ndarray:
    """The sums of those hyperparameters that are not fixed, in the order of theta."""
    return np.array([sums[each.name] for each in kernel.hyperparameters if not each.fixed])


_LEAVES: dict[type, Callable[..., np.ndarray]] = {
    RBF: _length_scales,
    Matern: _length_scales,
    RationalQuadratic: _rational_quadratic,
    ExpSineSquared: _exp_sine_squared,
}


def diagonal_gradient(kernel: Any, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums of weights times derivatives of k(x, x), (n_dims,), noise included."""
    if kernel.n_dims == 0:
        return np.zeros(0)
    if isinstance(kernel, Sum):
        return np.concatenate([diagonal_gradient(k, X, weights) for k in (kernel.k1, kernel.k2)])
    if isinstance(kernel, Product):
        first = diagonal_gradient(kernel.k1, X, weights * kernel.k2.diag(X))
        return np.concatenate([first, diagonal_gradient(kernel.k2, X, weights * kernel.k1.diag(X))])
    if isinstance(kernel, Exponentiation):
        power = np.power(kernel.kernel.diag(X), kernel.exponent - 1)
        return diagonal_gradient(kernel.kernel, X, kernel.exponent * weights * power)
    if isinstance(kernel, WhiteKernel):
        return np.array([kernel.noise_level * weights.sum()])
    if isinstance(kernel, ConstantKernel):
        return np.array([kernel.constant_value * weights.sum()])
    if isinstance(kernel, DotProduct):
        return np.array([2.0 * kernel.sigma_0**2 * weights.sum()])
    return np.zeros(kernel.n_dims)  # kernels of distances are constant at distance zero
