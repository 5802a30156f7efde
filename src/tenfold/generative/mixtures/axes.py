"""Gaussian components whose columns are independent."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.generative.mixtures import kernels
from tenfold.generative.mixtures.moments import FAR, LOG_2PI, AxisMoments, everywhere


class AxisView(NamedTuple):
    """Rows about the origin: beside their squares (n, 2 p), or as columns (p, n)."""

    squares: Any
    columns: Any


class AxisComponents(NamedTuple):
    """Components whose columns are independent; entries may be missing (NaN)."""

    log_weights: np.ndarray  # (k,)
    means: np.ndarray  # (k, p), about the origin
    precisions: np.ndarray  # (k, p)
    constants: np.ndarray  # (k, p), what an entry adds to the score if it is there
    origin: np.ndarray  # (p,)
    offsets: np.ndarray  # (k,)
    table: np.ndarray  # (k, 2 p), what columns and their squares add to the scores
    near: bool  # whether the table is exact enough

    @property
    def numbers(self) -> int:
        return len(self.offsets) + self.table.shape[1]

    def view(self, X: np.ndarray) -> AxisView:
        n, p = X.shape
        G = np.empty((n, 2 * p))
        D = np.subtract(X, self.origin, out=G[:, :p])
        if not self.near or np.isnan(D.sum()):
            return AxisView(None, np.ascontiguousarray(D.T))
        np.multiply(D, D, out=G[:, p:])
        return AxisView(G, None)

    def scores(self, view: AxisView) -> np.ndarray:
        if view.squares is not None:
            scores = self.table @ view.squares.T
            scores += self.offsets[:, None]
            return scores
        F = view.columns
        scores = np.empty((len(self.means), F.shape[1]))
        if np.isnan(F).any():
            state = self.means, self.precisions, self.constants, self.log_weights
            kernels.seen_scores(F, *state, scores)
        else:
            offsets = self.log_weights + self.constants.sum(axis=1)
            kernels.axis_scores(F, self.means, self.precisions, offsets, scores)
        return scores

    def statistic(self, view: AxisView, R: np.ndarray) -> AxisMoments:
        (k, p), M, n = self.means.shape, self.means, R.sum(axis=1)
        if view.squares is not None:
            total, many = R @ view.squares, n[:, None]
            squares = total[:, p:] - 2 * M * total[:, :p] + many * M**2
            both = np.stack([total[:, :p] - many * M, squares])
            return AxisMoments(n, everywhere(n, p), both)
        seen, both = np.zeros((k, p)), np.zeros((2, k, p))
        kernels.seen_moments(view.columns, M, R, seen, *both)
        return AxisMoments(n, seen, both)


def axis_components(
    log_weights: np.ndarray, means: np.ndarray, precisions: np.ndarray, origin: np.ndarray
) -> AxisComponents:
    """Components with independent columns."""
    M = means - origin
    pull = precisions * M
    away = (pull * M).sum(axis=1)
    constants = 0.5 * (np.log(precisions) - LOG_2PI)
    offsets = log_weights + constants.sum(axis=1) - 0.5 * away
    table = np.hstack([pull, -0.5 * precisions])
    near = bool(away.max() <= FAR)
    return AxisComponents(log_weights, M, precisions, constants, origin, offsets, table, near)
