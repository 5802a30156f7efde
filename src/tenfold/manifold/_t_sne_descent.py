r"""The divergence of t-SNE, its gradient, and the descent.

.. math:: q_{ij} = \frac{w_{ij}}{\sum_{k \ne l} w_{kl}}, \quad
          w_{ij} = (1 + \lVert y_i - y_j \rVert^2 / \nu)^{-(\nu + 1) / 2}, \qquad
          \frac{\partial}{\partial y_i} \sum_{ij} p_{ij} \log \frac{p_{ij}}{q_{ij}}
          = \frac{2 (\nu + 1)}{\nu} \sum_j (p_{ij} - q_{ij}) \,
          \frac{y_i - y_j}{1 + \lVert y_i - y_j \rVert^2 / \nu}

Attraction runs over pairs with a similarity, repulsion over all: pair by pair, by cells of a tree,
or through a grid. Pieces of rows are of one size, so that threads change no bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.tiled_cholesky import run_pieces
from tenfold.manifold._barnes_hut_numba import build_tree, repel_by_cells
from tenfold.manifold._interpolation import choose_grid, repel_by_grid
from tenfold.manifold._interpolation_numba import interpolate
from tenfold.manifold._similarities import ROWS_PER_PIECE, Similarities
from tenfold.manifold._t_sne_numba import (
    attract,
    attract_in_plane,
    descend,
    log_similarity_sums,
    repel,
    repel_in_plane,
)
from tenfold.optim.convergence import until_converged

CHECK_ITER = 50  # iterations between looks at the divergence
EXAGGERATED_ITER = 250
START_DEVIATION = 1e-4  # of the columns of a map before the descent
_MOMENTUM = 0.5, 0.8  # with exaggeration, and after it


class Divergence:
    """The divergence of a map from similarities, for one way to compute the repulsion."""

    def __init__(self, P: Similarities, freedom: float, repulsion: str, angle: float) -> None:
        self.P, self.freedom = P, float(freedom)
        self.repulsion, self.angle = repulsion, float(angle)
        self.n = len(P.starts) - 1
        self.grid = None

    def _repel(self, Y: np.ndarray) -> tuple[np.ndarray, float]:
        """Forces (k, n) of all points on each, and the sum of similarities of all pairs."""
        n, k = Y.shape
        force, mass = np.empty((k, n)), np.empty(n)
        if self.repulsion == "interpolation":
            low, high = (edge.astype(np.float64) for edge in (Y.min(axis=0), Y.max(axis=0)))
            self.grid = grid = choose_grid(low, high, self.freedom, self.grid)
            field, total = repel_by_grid(Y, grid, low)

            def work(first: int) -> None:
                part = slice(first, first + ROWS_PER_PIECE)
                interpolate(Y, low, grid.spacing, field, first, force[:, part])

            run_pieces(work, range(0, n, ROWS_PER_PIECE))
            return force, total - n
        wide = Y.astype(np.float64)
        tree = build_tree(wide) if self.repulsion == "barnes_hut" else None
        columns = np.ascontiguousarray(Y.T)

        def repel_piece(first: int) -> None:
            part = slice(first, first + ROWS_PER_PIECE)
            if tree is not None:
                out = force[:, part], mass[part]
                repel_by_cells(wide, first, self.freedom, self.angle, tree, *out)
            elif k == 2 and self.freedom == 1.0:
                repel_in_plane(columns[0], columns[1], first, force[:, part], mass[part])
            else:
                repel(columns, first, self.freedom, force[:, part], mass[part])

        run_pieces(repel_piece, range(0, n, ROWS_PER_PIECE))
        return force, float(mass.sum()) - n

    def gradient(self, Y: np.ndarray, exaggeration: float) -> tuple[np.ndarray, float]:
        """The gradient (n, k) with all similarities times a factor, and the sum over all pairs."""
        repulsion, total = self._repel(Y)
        attraction = np.empty_like(repulsion)
        P, freedom = self.P, np.float32(self.freedom)

        def work(first: int) -> None:
            out = attraction[:, first : first + ROWS_PER_PIECE]
            if Y.shape[1] == 2 and self.freedom == 1.0:
                attract_in_plane(P.values, P.columns, P.starts, Y, first, out)
            else:
                attract(P.values, P.columns, P.starts, Y, first, freedom, out)

        run_pieces(work, range(0, self.n, ROWS_PER_PIECE))
        attraction *= exaggeration
        repulsion *= 1.0 / max(total, 1e-300)
        attraction -= repulsion
        attraction *= 2.0 * (self.freedom + 1.0) / self.freedom
        return np.ascontiguousarray(attraction.T), total

    def value(self, Y: np.ndarray, total: float | None = None) -> float:
        """The Kullback-Leibler divergence of the map."""
        total = self._repel(Y)[1] if total is None else total
        sums = np.empty(self.n)
        P = self.P

        def work(first: int) -> None:
            out = sums[first : first + ROWS_PER_PIECE]
            log_similarity_sums(P.values, P.columns, P.starts, Y, first, self.freedom, out)

        run_pieces(work, range(0, self.n, ROWS_PER_PIECE))
        power = 0.5 * (self.freedom + 1.0)
        return P.entropy + power * float(sums.sum()) + float(np.log(max(total, 1e-300)))


class DescentOptions(NamedTuple):
    """How long to descend and how fast."""

    max_iter: int
    rate: float
    exaggeration: float
    min_grad_norm: float
    patience: int  # iterations without progress after which to stop


class MapState(NamedTuple):
    """Points, last step, gains, and the best divergence with its iteration."""

    Y: np.ndarray
    step: np.ndarray
    gains: np.ndarray
    best: float
    best_iter: int


def widen_collapsed(Y: np.ndarray) -> np.ndarray | None:
    """A map that exaggeration has drawn into a point or a line, as wide again as a start.

    With many neighbors attraction outweighs repulsion. The map then shrinks as in a power
    iteration: its columns tend to the slowest direction, all to the same one. Orthogonal columns
    of the first size span the slowest few, from which the map unfolds when exaggeration ends.
    None for a map that is not that small.
    """
    centered = Y.astype(np.float64) - Y.mean(axis=0, dtype=np.float64)
    Q, R = np.linalg.qr(centered)
    widths = np.abs(R.diagonal()) / np.sqrt(len(Y))
    is_one_place = widths.max() == 0  # without any direction to unfold in
    if is_one_place or widths.min() >= START_DEVIATION / 100 or np.abs(centered).max() > 1e-2:
        return None
    empty = widths <= 1e-12 * widths.max()
    if empty.any():  # no direction is left in these columns: any other one will do
        centered[:, empty] = np.random.default_rng(0).normal(size=(len(Y), int(empty.sum())))
        centered -= centered.mean(axis=0)
        Q, R = np.linalg.qr(centered)
    signs = np.where(R.diagonal() < 0, -1.0, 1.0)
    return (Q * signs * (np.sqrt(len(Y)) * START_DEVIATION)).astype(np.float32)


def minimize_divergence(
    divergence: Divergence, start: np.ndarray, options: DescentOptions
) -> tuple[np.ndarray, float, dict[str, Any]]:
    """The map after the descent, its divergence, and attributes that report it.

    A round of the loop is `CHECK_ITER` steps.
    """
    Y = np.ascontiguousarray(start, np.float32)
    state = MapState(Y, np.zeros(Y.shape), np.ones(Y.shape), np.inf, 0)
    rounds = -(-options.max_iter // CHECK_ITER)
    loop = until_converged(state, tol=0.0, max_iter=rounds)
    for before in loop:
        first = loop.n_iter * CHECK_ITER
        last = min(first + CHECK_ITER, options.max_iter)
        Y, step, gains = (part.copy() for part in before[:3])
        norm = 0.0
        for iteration in range(first, last):
            early = iteration < EXAGGERATED_ITER
            if iteration == EXAGGERATED_ITER:
                step, gains = np.zeros(Y.shape), np.ones(Y.shape)
            gradient, _ = divergence.gradient(Y, options.exaggeration if early else 1.0)
            norm = descend(gradient, options.rate, _MOMENTUM[not early], Y, step, gains)
        if last <= EXAGGERATED_ITER and (wider := widen_collapsed(Y)) is not None:
            Y, step, gains = wider, np.zeros(Y.shape), np.ones(Y.shape)
        value = divergence.value(Y)
        best, best_iter = before.best, before.best_iter
        if value < best or last <= EXAGGERATED_ITER:
            best, best_iter = value, last
        stopped = np.sqrt(norm) <= options.min_grad_norm or last - best_iter > options.patience
        after = MapState(Y, step, gains, best, best_iter)
        loop.update(
            after, objective=value, change=0.0 if stopped and last > EXAGGERATED_ITER else 1.0
        )
    n_iter = min(loop.n_iter * CHECK_ITER, options.max_iter)
    return loop.state.Y, loop.objectives[-1], {**loop.report, "n_iter_": n_iter, "warning_": ""}
