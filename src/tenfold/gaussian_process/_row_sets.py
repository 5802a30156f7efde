"""Kernel values and weighted sums of derivatives within many small sets of rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.gaussian_process._row_sets_numba import pair_products, pair_squares, square_sums
from tenfold.kernel._gradient_tiles import (
    dense_gradient,
    diagonal_gradient,
    exp_sine_squared_sums,
    has_tiles,
    rational_quadratic_sums,
)
from tenfold.kernel.base import (
    ConstantKernel,
    Exponentiation,
    Product,
    Sum,
    WhiteKernel,
    raise_to,
)
from tenfold.kernel.dot_product import DotProduct, LinearKernel
from tenfold.kernel.stationary import (
    RBF,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    distance_slope,
    function_of_squares,
)


class RowSets:
    """Sets of s rows each, whose pairs a kernel is evaluated at.

    Parameters
    ----------
    rows : (sets, s, n_features) float64 array
        The rows.
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self._squares: dict[bytes, np.ndarray] = {}
        self._columns: dict[bytes, np.ndarray] = {}

    @property
    def n_pairs(self) -> int:
        s = self.rows.shape[1]
        return s * (s - 1) // 2

    def columns(self, scale: Any = 1.0) -> np.ndarray:
        """The rows over a scale less those of the last row, (sets, n_features, s)."""
        key = np.asarray(scale, np.float64).tobytes()
        if key not in self._columns:
            centered = (self.rows - self.rows[:, -1:]) / scale
            self._columns[key] = np.ascontiguousarray(centered.transpose(0, 2, 1))
        return self._columns[key]

    def squares(self, scale: Any) -> np.ndarray:
        """Squared distances of all pairs in units of a scale, (sets, pairs); not to be changed."""
        key = np.asarray(scale, np.float64).tobytes()
        if key not in self._squares:
            out = np.empty((len(self.rows), self.n_pairs))
            pair_squares(self.columns(scale), out)
            self._squares[key] = out
        return self._squares[key]

    def products(self) -> np.ndarray:
        """Products of all pairs, (sets, pairs)."""
        out = np.empty((len(self.rows), self.n_pairs))
        pair_products(np.ascontiguousarray(self.rows.transpose(0, 2, 1)), out)
        return out


def pair_values(kernel: Any, sets: RowSets) -> Any:
    """Kernel values of all pairs, a new (sets, pairs) array; a number where all are equal."""
    if isinstance(kernel, Sum):
        return pair_values(kernel.k1, sets) + pair_values(kernel.k2, sets)
    if isinstance(kernel, Product):
        return pair_values(kernel.k1, sets) * pair_values(kernel.k2, sets)
    if isinstance(kernel, Exponentiation):
        return raise_to(np.array(pair_values(kernel.kernel, sets)), kernel.exponent)
    if isinstance(kernel, ConstantKernel):
        return float(kernel.constant_value)
    if isinstance(kernel, WhiteKernel):
        return 0.0
    if type(kernel) is DotProduct:
        return sets.products() + kernel.sigma_0**2
    if type(kernel) is LinearKernel:
        return sets.products()
    if type(kernel) in _OF_DISTANCE:
        return function_of_squares(kernel, sets.squares(_unit(kernel)).copy())
    below = np.tril_indices(sets.rows.shape[1], -1)
    return np.array([kernel(rows)[below] for rows in sets.rows])


def pair_gradient(kernel: Any, sets: RowSets, G: np.ndarray) -> np.ndarray:
    """Sums of weights times derivatives over all pairs of all sets, (n_dims,)."""
    if kernel.n_dims == 0 or isinstance(kernel, WhiteKernel):
        return np.zeros(kernel.n_dims)
    if isinstance(kernel, Sum):
        return np.concatenate([pair_gradient(k, sets, G) for k in (kernel.k1, kernel.k2)])
    if isinstance(kernel, Product):
        first = pair_gradient(kernel.k1, sets, G * pair_values(kernel.k2, sets))
        second = pair_gradient(kernel.k2, sets, G * pair_values(kernel.k1, sets))
        return np.concatenate([first, second])
    if isinstance(kernel, Exponentiation):
        power = np.power(pair_values(kernel.kernel, sets), kernel.exponent - 1)
        return pair_gradient(kernel.kernel, sets, kernel.exponent * G * power)
    if isinstance(kernel, ConstantKernel):
        return np.array([kernel.constant_value * G.sum()])
    if type(kernel) is DotProduct:
        return np.array([2.0 * kernel.sigma_0**2 * G.sum()])
    return _distance_sums(kernel, sets, G)


def set_gradient(kernel: Any, sets: RowSets, G: np.ndarray, G_diagonal: np.ndarray) -> np.ndarray:
    """Sums over all pairs, and over the covariances of rows with themselves, noise included."""
    if not has_tiles(kernel):
        return _dense_sums(kernel, sets, G, G_diagonal)
    n_features = sets.rows.shape[2]
    own = diagonal_gradient(kernel, sets.rows.reshape(-1, n_features), G_diagonal.ravel())
    return pair_gradient(kernel, sets, G) + own


def _dense_sums(kernel: Any, sets: RowSets, G: np.ndarray, G_diagonal: np.ndarray) -> np.ndarray:
    """The same for kernels that give all derivatives at once only."""
    s = sets.rows.shape[1]
    weights, total = np.zeros((s, s)), np.zeros(kernel.n_dims)
    for rows, pairs, diagonal in zip(sets.rows, G, G_diagonal, strict=True):
        weights[np.tril_indices(s, -1)] = pairs
        weights[np.diag_indices(s)] = diagonal
        total += dense_gradient(kernel, rows, weights)
    return total


_OF_DISTANCE = {RBF, Matern, RationalQuadratic, ExpSineSquared}


def _unit(kernel: Any) -> Any:
    """The unit of distances that a kernel is a function of."""
    return 1.0 if isinstance(kernel, ExpSineSquared) else kernel.length_scale


def _distance_sums(kernel: Any, sets: RowSets, G: np.ndarray) -> np.ndarray:
    squares = sets.squares(_unit(kernel))
    if isinstance(kernel, RationalQuadratic):
        return rational_quadratic_sums(kernel, squares.copy(), G)
    if isinstance(kernel, ExpSineSquared):
        return exp_sine_squared_sums(kernel, squares, G)
    M = distance_slope(kernel, squares)
    M *= G
    if not kernel.anisotropic:
        return np.array([np.vdot(M, squares)])
    return square_sums(sets.columns(kernel.length_scale), M)
