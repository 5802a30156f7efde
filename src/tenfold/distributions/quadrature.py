r"""Gaussian quadrature: nodes and weights for expectations under a distribution.

The nodes are the eigenvalues of the tridiagonal matrix of the three-term recurrence of the
orthogonal polynomials (Golub and Welsch, 1969, Calculation of Gauss quadrature rules); n nodes are
exact for all polynomials up to degree 2 n - 1.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.dirichlet import Beta, Dirichlet
from tenfold.distributions.gamma import Exponential, Gamma
from tenfold.distributions.normal import Gaussian
from tenfold.distributions.uniform import Uniform

_MAX_GRID_DIMENSIONS = 3  # of a tensor grid; beyond it, draws are used


class QuadratureNodes(NamedTuple):
    """Nodes (n,) or (n, n_dimensions) and their weights (n,), which sum to 1."""

    points: np.ndarray
    weights: np.ndarray


def gauss_quadrature(density: Any, n: int = 32) -> QuadratureNodes:
    r"""Nodes and weights with :math:`E f(X) \approx \sum_i w_i f(x_i)`.

    Parameters
    ----------
    density : Gaussian, Gamma, Exponential, Beta or Uniform of one column
        The distribution.
    n : int
        Number of nodes.

    Examples
    --------
    >>> x, w = gauss_quadrature(Beta(8, 4))
    >>> (
    ...     bool(np.isclose(w @ x, 8 / 12)),
    ...     bool(np.isclose(w @ x**2 - (w @ x) ** 2, Beta(8, 4).variance)),
    ... )
    (True, True)
    """
    k = np.arange(1, n)
    if isinstance(density, Gaussian):
        mean, deviation = density.center.item(), np.sqrt(density.variance.item())
        x, w = _golub_welsch(np.zeros(n), np.sqrt(k))
        return QuadratureNodes(mean + deviation * x, w)
    if isinstance(density, Gamma | Exponential):
        shape = np.asarray(getattr(density, "shape", 1.0), np.float64).item()
        x, w = _golub_welsch(2 * np.arange(n) + shape, np.sqrt(k * (k + shape - 1)))
        return QuadratureNodes(x / np.asarray(density.rate).item(), w)
    if isinstance(density, Beta):
        return _jacobi_nodes(np.asarray(density.a).item(), np.asarray(density.b).item(), n)
    if isinstance(density, Uniform):
        x, w = _jacobi_nodes(1.0, 1.0, n)
        low, high = np.asarray(density.low).item(), np.asarray(density.high).item()
        return QuadratureNodes(low + (high - low) * x, w)
    raise TypeError(f"no quadrature for {type(density).__name__}: draw from it instead")


def _jacobi_nodes(a: float, b: float, n: int) -> QuadratureNodes:
    """Nodes of Beta(a, b)."""
    k = np.arange(1, n)
    s = 2 * k + a + b - 2
    first = (a - b) / (a + b)
    diagonal = np.append(first, (a - b) * (a + b - 2) / (s * (s + 2)))
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = 4 * k * (k + a - 1) * (k + b - 1) * (k + a + b - 2) / (s**2 * (s**2 - 1))
    squares[:1] = 4 * a * b / ((a + b) ** 2 * (a + b + 1))  # 0 / 0 above if a + b = 1
    x, w = _golub_welsch(diagonal, np.sqrt(squares))
    return QuadratureNodes((1 + x) / 2, w)


def _golub_welsch(diagonal: np.ndarray, beside: np.ndarray) -> QuadratureNodes:
    """Nodes from the coefficients of a recurrence."""
    from scipy.linalg import eigh_tridiagonal

    points, V = eigh_tridiagonal(diagonal, beside)
    return QuadratureNodes(points, V[0] ** 2)


def quadrature_nodes(belief: Any, n: int = 64, draws: int = 4096, seed: int = 0) -> QuadratureNodes:
    """Weighted nodes (n_nodes, n_dimensions) for expectations under a distribution.

    In up to three dimensions a tensor grid of quadrature nodes; in more, draws,
    for a Gaussian with exactly its mean and covariance.

    Parameters
    ----------
    belief : Gaussian, Beta, Gamma, Dirichlet, or any density
        The distribution.
    n : int
        Nodes in one dimension; 3/8 of it along each of two axes, 3/16 along each of three.
    draws : int
        Number of draws in more dimensions.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> points, w = quadrature_nodes(Dirichlet(np.array([3.0, 2.0, 1.0])))
    >>> (w @ points).round(6).tolist()
    [0.5, 0.333333, 0.166667]
    """
    if isinstance(belief, Gaussian):
        values, V = np.linalg.eigh(belief.covariance_matrix)
        Z, w = standard_normal_nodes(len(values), n, draws, seed)
        return QuadratureNodes(belief.center + Z @ (V * np.sqrt(np.maximum(values, 0))).T, w)
    if isinstance(belief, Dirichlet) and len(belief.a) - 1 <= _MAX_GRID_DIMENSIONS:
        return _stick_breaking_nodes(np.asarray(belief.a, np.float64), n)
    sides = _split_columns(belief)
    if 0 < len(sides) <= _MAX_GRID_DIMENSIONS:
        return _tensor_grid(
            [gauss_quadrature(side, _nodes_per_axis(n, len(sides))) for side in sides]
        )
    points = belief.sample(draws, np.random.default_rng(seed))
    return QuadratureNodes(points, np.full(draws, 1 / draws))


def _split_columns(belief: Any) -> list[Any]:
    """The distribution of each column, if there is a quadrature rule for it."""
    if not isinstance(belief, Beta | Gamma | Exponential | Uniform):
        return []
    names = [name for name in belief.__dataclass_fields__ if name != "prior"]
    rows = np.broadcast_arrays(*(np.atleast_1d(getattr(belief, name)) for name in names))
    return [type(belief)(*column) for column in zip(*rows, strict=True)]


def standard_normal_nodes(d: int, n: int, draws: int, seed: int = 0) -> QuadratureNodes:
    """Nodes of d independent standard normal variables."""
    if d <= _MAX_GRID_DIMENSIONS:
        return _tensor_grid([gauss_quadrature(Gaussian(), _nodes_per_axis(n, d))] * d)
    half = np.random.default_rng(seed).standard_normal((max(draws // 2, 2 * d), d))
    root = np.linalg.cholesky(half.T @ half / len(half))
    half = np.linalg.solve(root, half.T).T
    return QuadratureNodes(np.vstack([half, -half]), np.full(2 * len(half), 0.5 / len(half)))


def _nodes_per_axis(n: int, d: int) -> int:
    """Nodes along each axis of a tensor grid."""
    return {1: n, 2: 3 * n // 8, 3: 3 * n // 16}[d] or 1


def _tensor_grid(sides: list[QuadratureNodes]) -> QuadratureNodes:
    """All combinations of the nodes along several axes."""
    points = np.meshgrid(*(side.points for side in sides), indexing="ij")
    w = reduce(np.multiply.outer, [side.weights for side in sides])
    return QuadratureNodes(np.stack([p.ravel() for p in points], axis=1), w.ravel())


def _stick_breaking_nodes(a: np.ndarray, n: int) -> QuadratureNodes:
    """Nodes of a Dirichlet distribution by stick breaking: Beta shares of what is left."""
    k = len(a)
    sides = [_jacobi_nodes(a[j], a[j + 1 :].sum(), _nodes_per_axis(n, k - 1)) for j in range(k - 1)]
    cuts, w = _tensor_grid(sides)
    left = np.cumprod(np.hstack([np.ones((len(cuts), 1)), 1 - cuts]), axis=1)
    return QuadratureNodes(left * np.hstack([cuts, np.ones((len(cuts), 1))]), w)
