r"""The nearest-neighbor (Vecchia) approximation of a Gaussian process.

Rows are put in some order, and each is conditioned on a set N of the nearest rows before it alone:

.. math:: p(y) \approx \prod_i \mathcal N(y_i \mid w^T y_N, v), \qquad
          w = C_N^{-1} c, \quad v = c_{ii} - c^T w,

with C the covariance of the targets, noise included. Where N holds all rows before, this is the
chain rule. With :math:`b = (-w, 1)`, :math:`e = y_i - w^T y_N` and :math:`u = C_N^{-1} y_N`, the
derivative of a factor by the covariances of the set is

.. math:: \tfrac12 \Bigl( \frac{e^2}{v^2} - \frac1v \Bigr) b b^T
          + \frac{e}{2 v} (u b^T + b u^T),

so that value and gradient are one pass over the sets, in blocks on all threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.tiled_cholesky import run_pieces
from tenfold.gaussian_process._evidence import LOG_2PI
from tenfold.gaussian_process._row_sets import RowSets, pair_values, set_gradient
from tenfold.gaussian_process._row_sets_numba import condition_sets, farthest_first
from tenfold.kernel.base import Exponentiation, Product, Sum
from tenfold.neighbors._direct_search import nearest_directly
from tenfold.neighbors._row_index import RowIndex

_BLOCK_SETS, _BLOCK_VALUES = 128, 2**23  # sets of one piece of work, and pairs of their rows
MAXIMIN_ROWS = 5_000  # rows that are chosen as far apart as possible; time grows with n times this
_QUERIES = 1024  # of one search
DIRECT_ROWS, _DIRECT_QUERIES = 1024, 256  # rows that are searched without an index, and at once
_NO_WEIGHTS = np.empty((0, 0))


class ConditioningSets(NamedTuple):
    """Rows in their order, and the numbers of those that each is conditioned on."""

    X: np.ndarray  # (n, p) float64
    y: np.ndarray  # (n, k)
    noise: Any  # variance added to the diagonal: a number, or one for each row
    sets: np.ndarray  # (n, m + 1): the neighbors before, the nearest first, zeros, and the row
    counts: np.ndarray  # (n,) how many neighbors each has


class _Conditioned(NamedTuple):
    mean: np.ndarray  # (sets, k)
    variance: np.ndarray  # (sets,)
    dropped: int


def evaluate(kernel: Any, data: ConditioningSets, *, eval_gradient: bool) -> Any:
    """The log-likelihood, with its gradient if asked for; minus infinity where it has none."""
    n, size = len(data.X), block_size(data.sets.shape[1])
    starts = range(0, n, size)
    sums = np.zeros((len(starts), 1 + kernel.n_dims))

    def work(number: int) -> None:
        rows = slice(starts[number], min(starts[number] + size, n))
        sums[number] = _block_sums(kernel, data, rows, eval_gradient=eval_gradient)

    run_pieces(work, range(len(starts)))
    total = sums.sum(axis=0)
    if not np.isfinite(total).all():
        total = np.append(-np.inf, np.zeros(kernel.n_dims))
    return (total[0], total[1:]) if eval_gradient else total[0]


def block_size(s: int) -> int:
    """Sets of s rows that are evaluated at once: a function of s alone, as sums depend on it."""
    return max(min(_BLOCK_SETS, _BLOCK_VALUES // (s * s)), 1)


def _block_sums(
    kernel: Any, data: ConditioningSets, rows: slice, *, eval_gradient: bool
) -> np.ndarray:
    """Log density of some rows given those before, and its derivatives by theta."""
    numbers, counts = data.sets[rows], data.counts[rows]
    sets = RowSets(data.X[numbers])
    Y = data.y[numbers]
    noise = data.noise[numbers] if np.ndim(data.noise) else data.noise
    G, G_diagonal = _NO_WEIGHTS, _NO_WEIGHTS
    if eval_gradient:
        G, G_diagonal = np.zeros((len(Y), sets.n_pairs)), np.zeros(numbers.shape)
    found = _condition(kernel, sets, Y, noise, counts, 0.0, G, G_diagonal)
    sums = np.zeros(1 + kernel.n_dims)
    if found.dropped or not (found.variance > 0).all():
        sums[0] = -np.inf
        return sums
    error, k = Y[:, -1] - found.mean, Y.shape[2]
    fit = np.einsum("ij,ij->i", error, error) / found.variance
    sums[0] = -0.5 * (fit.sum() + k * (np.log(found.variance).sum() + len(fit) * LOG_2PI))
    if eval_gradient:
        sums[1:] = set_gradient(kernel, sets, G, G_diagonal)
    return sums


def _condition(
    kernel: Any,
    sets: RowSets,
    Y: np.ndarray,
    noise: Any,
    counts: np.ndarray,
    least: float,
    G: np.ndarray = _NO_WEIGHTS,
    G_diagonal: np.ndarray = _NO_WEIGHTS,
) -> _Conditioned:
    """The last row of each set given the others; see `condition_sets`."""
    n, s, p = sets.rows.shape
    pairs = np.empty((n, sets.n_pairs))
    pairs[...] = pair_values(kernel, sets)
    diagonal = np.array(kernel.diag(sets.rows.reshape(-1, p)), np.float64).reshape(n, s)
    diagonal += noise
    mean, variance = np.empty((n, Y.shape[2])), np.empty(n)
    results = mean, variance, G, G_diagonal
    space = np.empty((s, s)), np.empty((s, Y.shape[2])), *np.empty((3, s))
    dropped = condition_sets(pairs, diagonal, Y, counts, least, *results, *space)
    return _Conditioned(mean, variance, dropped)


def predict_block(
    kernel: Any, queries: np.ndarray, data: ConditioningSets, neighbors: np.ndarray
) -> np.ndarray:
    """Means of all outputs and the variance of the function at some rows, (rows, k + 1).

    A neighbor that those nearer to the query determine up to rounding is left out.
    """
    n, m = neighbors.shape
    Y = np.zeros((n, m + 1, data.y.shape[1]))
    Y[:, :m] = data.y[neighbors]
    noise = np.zeros((n, m + 1))
    noise[:, :m] = data.noise[neighbors] if np.ndim(data.noise) else data.noise
    rows = np.concatenate([data.X[neighbors], queries[:, None]], axis=1)
    counts = np.full(n, m, np.int64)
    least = 4.0 * m * np.finfo(np.float64).eps
    found = _condition(kernel, RowSets(rows), Y, noise, counts, least)
    return np.column_stack([found.mean, found.variance])


def condition_on_neighbors(
    X: np.ndarray, y: np.ndarray, noise: Any, order: np.ndarray, m: int, scale: Any
) -> ConditioningSets:
    """Rows in an order, each with its m nearest rows before it (distances of X / scale)."""
    ordered = np.ascontiguousarray(X[order])
    noise = noise[order] if np.ndim(noise) else noise
    sets, counts = neighbors_before(np.ascontiguousarray(ordered / scale), m)
    return ConditioningSets(ordered, np.ascontiguousarray(y[order]), noise, sets, counts)


def neighbors_before(X: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the m nearest rows before each row, then the row itself; and how many there are.

    Exact: the first `DIRECT_ROWS` are compared with all before them. Then rows s to 2 s are
    searched for among the first 2 s, of which at least half are earlier for most, and again with
    twice as many neighbors where too few of those found are earlier.
    """
    n = len(X)
    m = min(m, max(n - 1, 0))
    sets = np.zeros((n, m + 1), np.int64)
    sets[:, m] = np.arange(n)
    counts = np.minimum(np.arange(n), m)
    for i in range(min(m + 1, n)):  # all rows before, the nearest first
        squares = np.square(X[:i] - X[i]).sum(axis=1)
        sets[i, :i] = np.argsort(squares, kind="stable")
    if m == 0:
        return sets, counts
    direct = min(n, DIRECT_ROWS)
    for first in range(m + 1, direct, _DIRECT_QUERIES):
        rows = np.arange(first, min(first + _DIRECT_QUERIES, direct))
        sets[rows, :m] = nearest_directly(X[: rows[-1]], X[rows], m, rows).rows
    start = max(m + 1, direct)
    while start < n:
        end = min(2 * start, n)
        index = RowIndex(X[:end])

        def search(first: int, index: Any = index, end: int = end) -> None:
            rows = np.arange(first, min(first + _QUERIES, end))
            _fill_neighbors(index, X, rows, m, sets)

        run_pieces(search, range(start, end, _QUERIES))
        start = end
    return sets, counts


def _fill_neighbors(index: Any, X: np.ndarray, rows: np.ndarray, m: int, sets: np.ndarray) -> None:
    """Find the m nearest rows before each of some rows."""
    k = min(5 * m // 2 + 8, index.n_rows)
    while len(rows):
        batch = max(_QUERIES * 64 // k, 1)
        missing = []
        for first in range(0, len(rows), batch):
            part = rows[first : first + batch]
            found = index.nearest(X[part], k).rows
            earlier = found < part[:, None]
            place = np.cumsum(earlier, axis=1)
            enough = place[:, -1] >= m
            wanted = (earlier & (place <= m))[enough]
            sets[part[enough], :m] = found[enough][wanted].reshape(-1, m)
            missing.append(part[~enough])
        rows = np.concatenate(missing)
        k = min(2 * k, index.n_rows)


def order_rows(X: np.ndarray, ordering: str, rng: np.random.Generator) -> np.ndarray:
    """Row numbers in the order in which rows are conditioned on those before.

    "maximin" begins with the row nearest to the mean and goes on with the farthest from all before,
    for `MAXIMIN_ROWS` rows; the others follow at random.
    """
    n = len(X)
    if ordering == "given":
        return np.arange(n)
    order = rng.permutation(n)
    if ordering == "random":
        return order
    spread = np.empty(min(n, MAXIMIN_ROWS), np.int64)
    center = np.square(X - X.mean(axis=0)).sum(axis=1).argmin()
    space = np.full(n, np.inf), np.empty(n)
    farthest_first(np.ascontiguousarray(X.T), spread, int(center), *space)
    chosen = np.zeros(n, bool)
    chosen[spread] = True
    return np.concatenate([spread, order[~chosen[order]]])


def length_scales(kernel: Any) -> Any:
    """The length scale of each column of the first part of a kernel that has such; else 1."""
    if isinstance(kernel, Sum | Product):
        first = length_scales(kernel.k1)
        return first if np.ndim(first) else length_scales(kernel.k2)
    if isinstance(kernel, Exponentiation):
        return length_scales(kernel.kernel)
    scale = getattr(kernel, "length_scale", 1.0)
    return np.asarray(scale, np.float64) if np.ndim(scale) else 1.0
