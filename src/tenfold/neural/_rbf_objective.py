r"""Loss, gradient, initialization and L-BFGS training of radial basis function networks.

Basis functions :math:`\phi_k(x) = \exp(-\lVert x - r_k\rVert^2 / s_k^2)`, scores
:math:`z = W \phi(x) + b`. All gradients follow from

    d z = W d phi,   d phi_k = -phi_k d(d_k^2 / s_k^2),   d d_k^2 = -2 (x - r_k) . d r_k
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.cluster._lloyd import AssignmentSums, lloyd, nearest_sums
from tenfold.cluster.initialization import kmeans_plusplus_init, sample_candidates
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.distances import nearest_centers, squared_distances
from tenfold.math.losses import Loss
from tenfold.optim.quasi_newton import lbfgs

_INIT_SAMPLE_ROWS = 20_000  # rows from which k-means++ draws the initial centers


class RbfParameters(NamedTuple):
    """Parameters of a network, or the gradient in each of them.

    Attributes
    ----------
    coef : (n_scores, n_centers) weights W
    intercept : (n_scores,) intercepts b
    centers : (n_centers, n_features) centers r
    log_widths : (n_centers,) logarithms of the widths s
    """

    coef: np.ndarray
    intercept: np.ndarray
    centers: np.ndarray
    log_widths: np.ndarray

    def cast(self, dtype: np.dtype) -> RbfParameters:
        return RbfParameters(*(part.astype(dtype) for part in self))


class RbfLossGradient(NamedTuple):
    """Loss and its gradient in all parameters, summed over rows."""

    loss: float
    gradient: RbfParameters


def _basis_functions(X: np.ndarray, centers: np.ndarray, log_widths: np.ndarray) -> np.ndarray:
    """Values of the basis functions, (n_rows, n_centers)."""
    return np.exp(-squared_distances(X, centers) * np.exp(-2 * log_widths))


def rbf_scores(chunk: Chunk, net: RbfParameters) -> np.ndarray:
    """Scores (n_rows, n_scores)."""
    return _basis_functions(chunk.X, net.centers, net.log_widths) @ net.coef.T + net.intercept


def vote_scores(chunk: Chunk, net: RbfParameters) -> np.ndarray:
    """Scores of centers that vote, (n_rows, n_scores), right where all basis functions underflow.

    There the largest basis function counts as the least positive number, so that the sign and the
    order of the scores stay those of the sums.
    """
    exponents = -squared_distances(chunk.X, net.centers) * np.exp(-2 * net.log_widths)
    Z = np.exp(exponents) @ net.coef.T + net.intercept
    tiny = np.finfo(Z.dtype).tiny
    far = np.flatnonzero(exponents.max(axis=1) < np.log(tiny))
    relative = np.exp(exponents[far] - exponents[far].max(axis=1, keepdims=True))
    Z[far] = tiny * (relative @ net.coef.T)
    return Z


def class_scores(
    chunk: Chunk, net: RbfParameters, scores: Callable[..., np.ndarray] = rbf_scores
) -> np.ndarray:
    """Scores (n_rows, n_classes), with a column of zeros for the first of two classes."""
    Z = scores(chunk, net)
    return np.hstack([np.zeros_like(Z), Z]) if len(net.coef) == 1 else Z


def _encode_targets(y: np.ndarray, loss: Loss, m: int, dtype: np.dtype) -> np.ndarray:
    """Targets of the loss: class indices, or signs (n_scores, n_rows), one-vs-rest."""
    if loss.labels == "classes":
        return y
    is_class = y[None] == (np.arange(m)[:, None] if m > 1 else 1)
    return np.where(is_class, 1, -1).astype(dtype)


@np.errstate(over="ignore")  # too long a step: the line search rejects infinite values
def loss_and_gradient(chunk: Chunk, loss: Loss, net: RbfParameters, adapt: str) -> RbfLossGradient:
    """Loss and gradient of a chunk; zero in centers and widths that are not trained."""
    X, w = chunk.X, chunk.w
    squares = squared_distances(X, net.centers)
    inverse_squares = np.exp(-2 * net.log_widths)
    phi = np.exp(-squares * inverse_squares)
    Z = net.coef @ phi.T + net.intercept[:, None]
    losses, R = loss.value_and_gradient(Z, _encode_targets(chunk.y, loss, len(Z), X.dtype))
    if w is not None:
        losses, R = losses * w, R * w.astype(R.dtype, copy=False)
    gradient = RbfParameters(
        R @ phi, R.sum(axis=1), np.zeros_like(net.centers), np.zeros_like(net.log_widths)
    )
    total = float(losses.sum(dtype=np.float64))
    if adapt == "none":
        return RbfLossGradient(total, gradient)
    G = (R.T @ net.coef) * phi * inverse_squares  # minus the gradient in the squared distance
    gradient = gradient._replace(centers=2 * (G.T @ X - G.sum(axis=0)[:, None] * net.centers))
    if adapt == "all":
        gradient = gradient._replace(log_widths=2 * np.einsum("nk,nk->k", G, squares))
    return RbfLossGradient(total, gradient)


def kmeans_centers(rows: Rows, k: int, rng: np.random.Generator) -> np.ndarray:
    """Centers of clusters by Lloyd's algorithm from k-means++; empty clusters keep theirs."""
    X, w = sample_candidates(rows, _INIT_SAMPLE_ROWS, int(rng.integers(2**31)))
    start = kmeans_plusplus_init(X, w, min(k, len(X)), rng).astype(rows.dtype)

    def assign(centers: np.ndarray) -> tuple[AssignmentSums, float]:
        weight, sums, cost = rows.total(nearest_sums, centers)
        return AssignmentSums(weight, sums), cost

    return lloyd(assign, start, tol=0.0, max_iter=100).state


def class_votes(chunk: Chunk, centers: np.ndarray, k: int) -> np.ndarray:
    """Weight of each class among the rows nearest to each center, (n_centers, n_classes)."""
    labels = nearest_centers(chunk.X, centers).astype(np.int64)
    counts = np.zeros((len(centers), k))
    np.add.at(counts, (labels, chunk.y), chunk.weights())
    return counts


class RowSpread(NamedTuple):
    """Weight, sum and sum of squares of the rows, relative to an origin."""

    n: float
    x: np.ndarray
    xx: float


def _row_spread(chunk: Chunk, origin: np.ndarray) -> RowSpread:
    """Moments of a chunk about an origin."""
    shifted, w = chunk.X - origin, chunk.weights()
    return RowSpread(chunk.weight, w @ shifted, float(w @ np.einsum("ij,ij->i", shifted, shifted)))


def root_total_variance(rows: Rows) -> float:
    """Root of the sum of the columns' variances: at this width, basis functions overlap."""
    s = rows.total(_row_spread, rows.take(np.zeros(1, np.int64)).X[0])
    variance = s.xx / s.n - ((s.x / s.n) ** 2).sum()
    return float(np.sqrt(variance)) if variance > 0 else 1.0


# Number of leading fields of `RbfParameters` that are trained, by `adapt`.
_TRAINED_FIELDS = {"none": 2, "centers": 3, "all": 4}


def train_rbf(
    rows: Rows,
    net: RbfParameters,
    stages: list[str],
    loss: Loss,
    alpha: float,
    tol: float,
    max_iter: int,
) -> tuple[RbfParameters, dict[str, Any]]:
    """Train in stages, each of which starts from the result of the one before."""
    n, reports = rows.total(_chunk_weight), []
    for adapt in stages:
        n_fields = _TRAINED_FIELDS[adapt]
        objective = _make_objective(rows, net, adapt, loss, alpha, n)
        precision = float(np.finfo(rows.dtype).eps)
        start = _flatten(net[:n_fields])
        minimum = lbfgs(objective, start, tol=tol, max_iter=max_iter, precision=precision)
        net = _replace_trained(net, minimum.x, n_fields)
        reports.append(minimum.report)
    return net, _join_reports(reports)


def _make_objective(
    rows: Rows, net: RbfParameters, adapt: str, loss: Loss, alpha: float, n: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Mean loss plus penalty and its gradient, as a function of the trained parameters."""
    n_fields = _TRAINED_FIELDS[adapt]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        at = _replace_trained(net, x, n_fields)
        sums = rows.total(loss_and_gradient, loss, at.cast(rows.dtype), adapt)
        gradient = _flatten(sums.gradient[:n_fields]) / n
        gradient[: at.coef.size] += alpha * at.coef.ravel()
        return sums.loss / n + alpha / 2 * float((at.coef**2).sum()), gradient

    return objective


def _chunk_weight(chunk: Chunk) -> float:
    """Total weight of a chunk."""
    return chunk.weight


def _flatten(parts: Any) -> np.ndarray:
    """Arrays as one vector."""
    return np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])


def _replace_trained(net: RbfParameters, x: np.ndarray, n_fields: int) -> RbfParameters:
    """The network with its leading fields taken from a vector."""
    ends = np.cumsum([part.size for part in net[:n_fields]])[:-1]
    parts = zip(np.split(x, ends), net[:n_fields], strict=True)
    return RbfParameters(*(new.reshape(old.shape) for new, old in parts), *net[n_fields:])


def _join_reports(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """One report of consecutive minimizations."""
    objective = [report["history_"]["objective"] for report in reports]
    seconds = [report["history_"]["seconds"] for report in reports]
    starts = np.cumsum([0.0, *(stage[-1] for stage in seconds[:-1])])
    elapsed = [start + stage for start, stage in zip(starts, seconds, strict=True)]
    return {
        "n_iter_": sum(report["n_iter_"] for report in reports),
        "converged_": reports[-1]["converged_"],
        "history_": {"objective": np.concatenate(objective), "seconds": np.concatenate(elapsed)},
    }
