r"""Repulsion of t-SNE through a grid: sums of a smooth kernel become one convolution.

The n points are spread onto the nodes of a regular grid with weights of cubic B-splines; the kernel
is applied between nodes by FFT; the field is interpolated back with the same weights. Both splines
are divided out of the transform of the kernel, so that the kernel is interpolated: it is exact
between nodes. Time grows with n and with the area of the map. The distance of nodes is halved while
the map is small, so that the kernel's transform is made anew only when the grid changes.

References: G. C. Linderman, M. Rachh, J. G. Hoskins, S. Steinerberger and Y. Kluger (2019), Fast
interpolation-based t-SNE for improved visualization of single-cell RNA-seq data (there with
polynomials in boxes). U. Essmann et al. (1995), A smooth particle mesh Ewald method.
"""

from __future__ import annotations

from math import floor, log2
from typing import Any, NamedTuple

import numpy as np
from scipy import fft as scipy_fft

from tenfold.engine.memory import check_memory
from tenfold.engine.thread_pool import n_threads
from tenfold.manifold._interpolation_numba import spread

fft: Any = scipy_fft  # whose types are inferred wrongly

_SPACING = 0.375  # of nodes, halved while the map is small; the kernel is about 1 wide
_MIN_NODES = 100  # along the longer side of the map
_ROUND_NODES = 32  # to which the number is rounded up: fewer grids
_MARGIN = 4  # nodes beyond the points: a spline has four


class Grid(NamedTuple):
    """Nodes along each axis, their distance, and the transforms of the kernels."""

    nodes: tuple[int, int]
    spacing: float
    padded: tuple[int, int]  # nodes of the periodic grid
    mass: np.ndarray  # transform of (1 + d^2 / freedom)^(-(freedom + 1) / 2), half of it
    force: np.ndarray  # of the force, x and y as real and imaginary part


def _count_nodes(span: float, spacing: float) -> int:
    whole = floor(span / spacing) + _MARGIN
    return -(-whole // _ROUND_NODES) * _ROUND_NODES


def choose_grid(low: np.ndarray, high: np.ndarray, freedom: float, last: Grid | None) -> Grid:
    """The grid for a map between two corners; the last one if it still fits."""
    span = np.maximum(high - low, 1e-12)
    halvings = floor(log2(float(span.max()) / (_MIN_NODES * _SPACING)))
    spacing = _SPACING * 2.0 ** min(halvings, 0)
    nodes = (_count_nodes(span[0], spacing), _count_nodes(span[1], spacing))
    if last is not None and last.nodes == nodes and last.spacing == spacing:
        return last
    check_memory(
        100.0 * nodes[0] * nodes[1],
        f"the grid of a map {span[0]:.0f} wide and {span[1]:.0f} high",
        "lower the learning rate, which has made the map grow without bound, or take "
        "method='barnes_hut'",
    )
    rows, columns = (fft.next_fast_len(2 * count, real=True) for count in nodes)
    x, y = _offsets(rows, spacing), _offsets(columns, spacing)
    u = 1.0 / (1.0 + (x[:, None] ** 2 + y**2) / freedom)
    mass = u ** (0.5 * (freedom + 1.0))
    splines = np.outer(_spline_transform(rows), _spline_transform(columns)) ** -2
    force = fft.fft2(mass * u * (x[:, None] + 1j * y)) * splines
    half = columns // 2 + 1
    masses = fft.rfft2(mass).real * splines[:, :half]
    return Grid(nodes, spacing, (rows, columns), masses, force.astype(np.complex64))


def _offsets(m: int, spacing: float) -> np.ndarray:
    """Differences of coordinates between nodes 0, 1, ... and node 0 of a periodic grid."""
    k = np.arange(m)
    return spacing * np.where(k <= m // 2, k, k - m)


def _spline_transform(m: int) -> np.ndarray:
    """Transform of the cubic B-spline at the nodes: 2/3 at its own, 1/6 at both beside it."""
    return (2.0 + np.cos(2.0 * np.pi * np.arange(m) / m)) / 3.0


def repel_by_grid(Y: np.ndarray, grid: Grid, low: np.ndarray) -> tuple[np.ndarray, float]:
    """The field of force on the nodes, and the sum of similarities of all pairs, own ones too."""
    charges = np.zeros(grid.padded, np.float32)
    spread(Y, low, grid.spacing, charges)
    workers = n_threads()
    transform: Any = fft.fft2(charges, workers=workers)
    half = transform[:, : grid.mass.shape[1]]
    power = np.square(half.real, dtype=np.float64) + np.square(half.imag, dtype=np.float64)
    power *= grid.mass
    columns = np.full(power.shape[1], 2.0)  # of the half: most stand for two
    columns[0] = 1.0
    if grid.padded[1] % 2 == 0:
        columns[-1] = 1.0
    total = float((power * columns).sum()) / charges.size
    transform *= grid.force
    field: Any = fft.ifft2(transform, workers=workers, overwrite_x=True)
    return field, total
