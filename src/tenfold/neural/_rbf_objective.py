"""Loss, gradient, initialization and L-BFGS training of radial basis function networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import add_rows_by_label
from tenfold.cluster.initialization import kmeans_plusplus_init, sample_candidates
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.distances import nearest_centers, squared_distances
from tenfold.math.losses import Loss
from tenfold.optim.convergence import until_converged
from tenfold.optim.quasi_newton import lbfgs

_INIT_SAMPLE_ROWS = 20_000  # from which k-means draws its first centres
_NO_WEIGHTS = np.empty(0)


class RbfParameters(NamedTuple):
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

    def cast(self, dtype: np.dtype) -> RbfParameters:
        return RbfParameters(*(part.astype(dtype) for part in self))


class RbfLossGradient(NamedTuple):
    """Loss and its slope in all parameters, summed over rows."""

    loss: float
    slope: RbfParameters


def _basis_functions(X: np.ndarray, centres: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """How near each row is to each centre, (n, k); widths are logs."""
    return np.exp(-squared_distances(X, centres) * np.exp(-2 * widths))


def rbf_scores(chunk: Chunk, net: RbfParameters) -> np.ndarray:
    """Scores (n, m)."""
    return _basis_functions(chunk.X, net.centres, net.widths) @ net.coef.T + net.intercept


def class_scores(chunk: Chunk, net: RbfParameters) -> np.ndarray:
    """Scores (n, k), with a column of zeros for the first of two classes."""
    Z = rbf_scores(chunk, net)
    return np.hstack([np.zeros_like(Z), Z]) if len(net.coef) == 1 else Z


def _encode_targets(y: np.ndarray, loss: Loss, m: int, dtype: np.dtype) -> np.ndarray:
    """Class numbers as the loss wants them: signs (m, n), one row a class against all others."""
    if loss.labels == "classes":
        return y
    own = y[None] == (np.arange(m)[:, None] if m > 1 else 1)
    return np.where(own, 1, -1).astype(dtype)


@np.errstate(over="ignore")  # a step that was too long: the search sees no finite value
def loss_and_gradient(chunk: Chunk, loss: Loss, net: RbfParameters, adapt: str) -> RbfLossGradient:
    """Loss and slopes of a chunk; those of centres and widths are zero where they stay."""
    X, w = chunk.X, chunk.w
    squares = squared_distances(X, net.centres)
    narrow = np.exp(-2 * net.widths)
    phi = np.exp(-squares * narrow)
    Z = net.coef @ phi.T + net.intercept[:, None]
    each, R = loss.value_and_gradient(Z, _encode_targets(chunk.y, loss, len(Z), X.dtype))
    each, R = (each, R) if w is None else (each * w, R * w.astype(R.dtype, copy=False))
    own = RbfParameters(
        R @ phi, R.sum(axis=1), np.zeros_like(net.centres), np.zeros_like(net.widths)
    )
    total = float(each.sum(dtype=np.float64))
    if adapt == "none":
        return RbfLossGradient(total, own)
    G = (R.T @ net.coef) * phi * narrow  # minus the slope in the squared distance
    own = own._replace(centres=2 * (G.T @ X - G.sum(axis=0)[:, None] * net.centres))
    if adapt == "all":
        own = own._replace(widths=2 * np.einsum("nk,nk->k", G, squares))
    return RbfLossGradient(total, own)


class NearestCenterSums(NamedTuple):
    """Rows nearest to each centre: their weight, their sum, their squared distances."""

    n: np.ndarray
    sums: np.ndarray
    cost: float


def _nearest_center_sums(chunk: Chunk, centres: np.ndarray) -> NearestCenterSums:
    """What Lloyd's algorithm needs to know of a chunk."""
    labels = nearest_centers(chunk.X, centres)
    n, sums = np.zeros(len(centres)), np.zeros(centres.shape)
    w = _NO_WEIGHTS if chunk.w is None else chunk.w.astype(np.float64)
    add_rows_by_label(chunk.X, w, labels, sums, n)
    gaps = chunk.X - np.take(centres, labels, axis=0)
    return NearestCenterSums(n, sums, float(chunk.weights() @ np.einsum("ij,ij->i", gaps, gaps)))


def kmeans_centers(rows: Rows, k: int, rng: np.random.Generator) -> np.ndarray:
    """Means of clusters by Lloyd's algorithm, begun by k-means++; an empty one stays."""
    X, w = sample_candidates(rows, _INIT_SAMPLE_ROWS, int(rng.integers(2**31)))
    start = kmeans_plusplus_init(X, w, min(k, len(X)), rng).astype(rows.dtype)
    loop = until_converged(start, tol=0.0, max_iter=100)
    for centres in loop:
        mass = rows.total(_nearest_center_sums, centres)
        means = mass.sums / np.where(mass.n > 0, mass.n, 1.0)[:, None]
        moved = np.where(mass.n[:, None] > 0, means, centres).astype(rows.dtype)
        loop.update(moved, objective=mass.cost, change=float(((moved - centres) ** 2).sum()))
    return loop.state


def class_votes(chunk: Chunk, centres: np.ndarray, k: int) -> np.ndarray:
    """Weight of each class among the rows nearest to each centre, (centres, k)."""
    near = nearest_centers(chunk.X, centres).astype(np.int64)
    counts = np.zeros((len(centres), k))
    np.add.at(counts, (near, chunk.y), chunk.weights())
    return counts


class RowSpread(NamedTuple):
    """Weight, sum and squares about an origin of the rows."""

    n: float
    x: np.ndarray
    xx: float


def _row_spread(chunk: Chunk, origin: np.ndarray) -> RowSpread:
    """How far the rows of a chunk lie from an origin."""
    gaps, w = chunk.X - origin, chunk.weights()
    return RowSpread(chunk.weight, w @ gaps, float(w @ np.einsum("ij,ij->i", gaps, gaps)))


def root_total_variance(rows: Rows) -> float:
    """Root of the sum of the columns' variances: a width at which bumps of all rows meet."""
    s = rows.total(_row_spread, rows.take(np.zeros(1, np.int64)).X[0])
    variance = s.xx / s.n - ((s.x / s.n) ** 2).sum()
    return float(np.sqrt(variance)) if variance > 0 else 1.0


_TRAINED_PARTS = {
    "none": 2,
    "centres": 3,
    "all": 4,
}  # so many of the first parts of `RbfParameters` learn


def train_rbf(
    rows: Rows,
    net: RbfParameters,
    stages: list[str],
    loss: Loss,
    alpha: float,
    tol: float,
    max_iter: int,
) -> tuple[RbfParameters, dict[str, Any]]:
    """The network after all stages, each of which starts where the last has ended."""
    n, reports = rows.total(_chunk_weight), []
    for adapt in stages:
        moving = _TRAINED_PARTS[adapt]
        cost = _make_objective(rows, net, adapt, loss, alpha, n)
        precision = float(np.finfo(rows.dtype).eps)
        start = _flatten(net[:moving])
        found = lbfgs(cost, start, tol=tol, max_iter=max_iter, precision=precision)
        net = _replace_trained(net, found.x, moving)
        reports.append(found.report)
    return net, _join_reports(reports)


def _make_objective(
    rows: Rows, net: RbfParameters, adapt: str, loss: Loss, alpha: float, n: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Mean loss plus penalty and its slope, as a function of the vector of what learns."""
    moving = _TRAINED_PARTS[adapt]

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        at = _replace_trained(net, x, moving)
        sums = rows.total(loss_and_gradient, loss, at.cast(rows.dtype), adapt)
        slope = _flatten(sums.slope[:moving]) / n
        slope[: at.coef.size] += alpha * at.coef.ravel()
        return sums.loss / n + alpha / 2 * float((at.coef**2).sum()), slope

    return cost


def _chunk_weight(chunk: Chunk) -> float:
    """Total weight of a chunk."""
    return chunk.weight


def _flatten(parts: Any) -> np.ndarray:
    """Arrays as one vector."""
    return np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])


def _replace_trained(net: RbfParameters, x: np.ndarray, moving: int) -> RbfParameters:
    """The network whose first parts are those of a vector."""
    ends = np.cumsum([part.size for part in net[:moving]])[:-1]
    parts = zip(np.split(x, ends), net[:moving], strict=True)
    return RbfParameters(*(new.reshape(old.shape) for new, old in parts), *net[moving:])


def _join_reports(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """One report of descents after each other."""
    objective = [report["history_"]["objective"] for report in reports]
    seconds = [report["history_"]["seconds"] for report in reports]
    begun = np.cumsum([0.0, *(each[-1] for each in seconds[:-1])])
    since = [start + each for start, each in zip(begun, seconds, strict=True)]
    return {
        "n_iter_": sum(report["n_iter_"] for report in reports),
        "converged_": reports[-1]["converged_"],
        "history_": {"objective": np.concatenate(objective), "seconds": np.concatenate(since)},
    }
