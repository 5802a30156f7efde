r"""What radial basis networks ask of rows: centres, labels of centres, loss and slopes.

Bumps :math:`\phi_k(x) = \exp(-\lVert x - r_k\rVert^2 / s_k^2)`, scores
:math:`z = W \phi(x) + b`. All slopes come from one chain:

    d z = W d phi,   d phi_k = -phi_k d(d_k^2 / s_k^2),   d d_k^2 = -2 (x - r_k) . d r_k
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.maths.distances import nearest_centres, squared_distances
from tenfold.maths.leaves import add_rows
from tenfold.maths.losses import Loss
from tenfold.rows import Chunk, Rows
from tenfold.solve import until_still
from tenfold.solve.spreading import plus_plus, start_sample

START_ROWS = 20_000  # from which k-means draws its first centres
NO_WEIGHTS = np.empty(0)


class Bumps(NamedTuple):
    """Parameters of a network, or the slope in each of them.

    Attributes
    ----------
    coef : (m, k) weights W
    intercept : (m,) constants b
    centres : (k, p) centres r
    widths : (k,) logs of the widths s
    """

    coef: np.ndarray
    intercept: np.ndarray
    centres: np.ndarray
    widths: np.ndarray

    def cast(self, dtype: np.dtype) -> Bumps:
        return Bumps(*(part.astype(dtype) for part in self))


class Sums(NamedTuple):
    """Loss and its slope in all parameters, summed over rows."""

    loss: float
    slope: Bumps


def bumps(X: np.ndarray, centres: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """How near each row is to each centre, (n, k); widths are logs."""
    return np.exp(-squared_distances(X, centres) * np.exp(-2 * widths))


def scores(chunk: Chunk, net: Bumps) -> np.ndarray:
    """Scores (n, m)."""
    return bumps(chunk.X, net.centres, net.widths) @ net.coef.T + net.intercept


def class_scores(chunk: Chunk, net: Bumps) -> np.ndarray:
    """Scores (n, k), with a column of zeros for the first of two classes."""
    Z = scores(chunk, net)
    return np.hstack([np.zeros_like(Z), Z]) if len(net.coef) == 1 else Z


def targets(y: np.ndarray, loss: Loss, m: int, dtype: np.dtype) -> np.ndarray:
    """Class numbers as the loss wants them: signs (m, n), one row a class against all others."""
    if loss.labels == "classes":
        return y
    own = y[None] == (np.arange(m)[:, None] if m > 1 else 1)
    return np.where(own, 1, -1).astype(dtype)


@np.errstate(over="ignore")  # a step that was too long: the search sees no finite value
def loss_and_slope(chunk: Chunk, loss: Loss, net: Bumps, adapt: str) -> Sums:
    """Loss and slopes of a chunk; those of centres and widths are zero where they stay."""
    X, w = chunk.X, chunk.w
    squares = squared_distances(X, net.centres)
    narrow = np.exp(-2 * net.widths)
    phi = np.exp(-squares * narrow)
    Z = net.coef @ phi.T + net.intercept[:, None]
    each, R = loss.both(Z, targets(chunk.y, loss, len(Z), X.dtype))
    each, R = (each, R) if w is None else (each * w, R * w.astype(R.dtype, copy=False))
    own = Bumps(R @ phi, R.sum(axis=1), np.zeros_like(net.centres), np.zeros_like(net.widths))
    total = float(each.sum(dtype=np.float64))
    if adapt == "none":
        return Sums(total, own)
    G = (R.T @ net.coef) * phi * narrow  # minus the slope in the squared distance
    own = own._replace(centres=2 * (G.T @ X - G.sum(axis=0)[:, None] * net.centres))
    if adapt == "all":
        own = own._replace(widths=2 * np.einsum("nk,nk->k", G, squares))
    return Sums(total, own)


class Mass(NamedTuple):
    """Rows nearest to each centre: their weight, their sum, their squared distances."""

    n: np.ndarray
    sums: np.ndarray
    cost: float


def nearest_mass(chunk: Chunk, centres: np.ndarray) -> Mass:
    """What Lloyd's algorithm needs to know of a chunk."""
    labels = nearest_centres(chunk.X, centres)
    n, sums = np.zeros(len(centres)), np.zeros(centres.shape)
    w = NO_WEIGHTS if chunk.w is None else chunk.w.astype(np.float64)
    add_rows(chunk.X, w, labels, sums, n)
    gaps = chunk.X - np.take(centres, labels, axis=0)
    return Mass(n, sums, float(chunk.weights() @ np.einsum("ij,ij->i", gaps, gaps)))


def kmeans_centres(rows: Rows, k: int, rng: np.random.Generator) -> np.ndarray:
    """Means of clusters by Lloyd's algorithm, begun by k-means++; an empty one stays."""
    X, w = start_sample(rows, START_ROWS, int(rng.integers(2**31)))
    start = plus_plus(X, w, min(k, len(X)), rng).astype(rows.dtype)
    loop = until_still(start, tol=0.0, max_iter=100)
    for centres in loop:
        mass = rows.total(nearest_mass, centres)
        means = mass.sums / np.where(mass.n > 0, mass.n, 1.0)[:, None]
        moved = np.where(mass.n[:, None] > 0, means, centres).astype(rows.dtype)
        loop.tell(moved, objective=mass.cost, change=float(((moved - centres) ** 2).sum()))
    return loop.state


def votes(chunk: Chunk, centres: np.ndarray, k: int) -> np.ndarray:
    """Weight of each class among the rows nearest to each centre, (centres, k)."""
    near = nearest_centres(chunk.X, centres).astype(np.int64)
    counts = np.zeros((len(centres), k))
    np.add.at(counts, (near, chunk.y), chunk.weights())
    return counts


class Spread(NamedTuple):
    """Weight, sum and squares about an origin of the rows."""

    n: float
    x: np.ndarray
    xx: float


def spread(chunk: Chunk, origin: np.ndarray) -> Spread:
    """How far the rows of a chunk lie from an origin."""
    gaps, w = chunk.X - origin, chunk.weights()
    return Spread(chunk.weight, w @ gaps, float(w @ np.einsum("ij,ij->i", gaps, gaps)))


def root_variance(rows: Rows) -> float:
    """Root of the sum of the columns' variances: a width at which bumps of all rows meet."""
    s = rows.total(spread, rows.take(np.zeros(1, np.int64)).X[0])
    variance = s.xx / s.n - ((s.x / s.n) ** 2).sum()
    return float(np.sqrt(variance)) if variance > 0 else 1.0
