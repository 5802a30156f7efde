"""What k-means remembers of each row from round to round, so that few rows are asked again.

A row keeps its centre as long as the centres have moved less than the gap to the second nearest.
With old centres c, new ones c' and the row x at the distance r from its centre a,

    s'_j(x) - s'_a(x) >= s_j(x) - s_a(x) + T_ja - D_ja r,     s_j(x) = |x - c_j|^2 / 2 - |x|^2 / 2,

where T_ja is the change at c_a itself and D_ja the length of the difference of the moves of j and
a. (Hamerly's bound, with moves that are compared and not added.) Labels are those of a search
among all centres: what is remembered saves work and changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.cluster.certain import FEW, Nearest, Scaled, look_again, nearest_of, scaled

MOST = 0.6  # share of doubtful rows from which on all are asked
REST = 3  # rounds until the next try, then
ROUNDING = 1e-13  # of sums in float64, as a share of squared lengths


class Moves(NamedTuple):
    """How the centres have moved between two rounds, seen from each of them."""

    apart: np.ndarray  # (k, k) D_aj
    change: np.ndarray  # (k, k) T_aj
    length: np.ndarray  # (k,) of each move
    reach: float  # longest centre


class Kept(NamedTuple):
    """What is known of a chunk."""

    centres: np.ndarray  # to which it belongs
    found: Nearest | None
    rest: int  # rounds in which no gap is kept, since the centres still move too much
    length: np.ndarray | None = None  # of the rows


class Memory:
    """Labels and gaps of chunks, and the centres that they belong to.

    Parameters
    ----------
    keeps : bool
        Whether anything is kept: rows on a cluster and in files are asked anew each round.
    """

    def __init__(self, *, keeps: bool) -> None:
        self.keeps = keeps
        self.chunks: dict[tuple[int, int], Kept] = {}
        self.last: tuple[np.ndarray, np.ndarray, Moves] | None = None
        self.single: tuple[np.ndarray, Scaled] | None = None

    def labels(self, X: np.ndarray, centres: np.ndarray, first: int) -> np.ndarray:
        """Number of the nearest centre of each row of a chunk that begins at row `first`."""
        if not self.keeps or len(X) * centres.size <= FEW:
            return nearest_of(X, centres).label
        place = first, len(X)
        kept = self.chunks.get(place, Kept(centres, None, 0))
        if kept.found is None:
            found = nearest_of(X, centres, kept.length, self.scaled(centres))
            keep = None if kept.rest else found
            again = Kept(centres, keep, max(kept.rest - 1, 0), found.length)
        else:
            found, doubts = self.moved(X, kept.centres, centres, kept.found)
            wild = doubts > MOST * len(X)
            again = Kept(centres, None if wild else found, REST if wild else 0, found.length)
        self.chunks[place] = again
        return found.label

    def moved(
        self, X: np.ndarray, old: np.ndarray, new: np.ndarray, found: Nearest
    ) -> tuple[Nearest, int]:
        """The same rows after the centres have moved, and how many had to be asked again."""
        label, gap, radius = (part.copy() for part in found[:3])  # a chunk may be done twice
        found = Nearest(label, gap, radius, found.length)
        doubtful = still_sure(label, gap, radius, *self.moves(old, new))
        if len(doubtful):
            some = None if len(doubtful) > MOST * len(X) else doubtful
            look_again(X, new, some, found, self.scaled(new))
        return found, len(doubtful)

    def scaled(self, centres: np.ndarray) -> Scaled:
        """The centres in single precision; all chunks of a round ask the same."""
        known = self.single
        if known is None or known[0] is not centres:
            self.single = known = centres, scaled(centres, np.float32)
        return known[1]

    def moves(self, old: np.ndarray, new: np.ndarray) -> Moves:
        """How the centres moved; all chunks of a round ask the same."""
        last = self.last
        if last is not None and last[0] is old and last[1] is new:
            return last[2]
        found = moves(old.astype(np.float64), new.astype(np.float64))
        self.last = old, new, found
        return found


def moves(old: np.ndarray, new: np.ndarray) -> Moves:
    """How centres have moved."""
    step = new - old
    squares = np.einsum("ij,ij->i", step, step)
    sums = squares[:, None] + squares
    apart = np.sqrt(np.maximum(sums - 2 * step @ step.T, 0) + 1e-14 * sums)
    gain = np.einsum("ij,ij->i", step, old + step / 2)
    along = old @ step.T  # (a, j)
    change = gain - gain[:, None] - along + along.diagonal()[:, None]
    np.fill_diagonal(apart, 0.0)
    np.fill_diagonal(change, np.inf)  # a centre is no rival of itself
    reach = np.sqrt(max(np.einsum("ij,ij->i", c, c).max() for c in (old, new)))
    return Moves(apart, change, np.sqrt(squares), float(reach))


@njit(cache=True, nogil=True)
def still_sure(label, gap, radius, apart, change, length, reach):  # noqa: ANN001, ANN201
    """Move gaps and radii on with the centres; the rows whose label is no longer certain."""
    k, n = len(length), len(label)
    low, high = np.full(k, np.inf), np.zeros(k)
    for i in range(n):
        a = label[i]
        low[a], high[a] = min(low[a], radius[i]), max(high[a], radius[i])
    base, slope = chords(low, high, apart, change)
    doubtful = np.empty(n, np.int64)
    m = 0
    for i in range(n):
        a, r = label[i], radius[i]
        gap[i] -= base[a] + slope[a] * r
        radius[i] = r + length[a]
        far = r + reach
        if not gap[i] > ROUNDING * far * far:
            doubtful[m] = i
            m += 1
    return doubtful[:m]


@njit(cache=True, nogil=True)
def chords(low, high, apart, change):  # noqa: ANN001, ANN201
    """Lines above the most that a gap can lose, max_j D_aj r - T_aj, for radii of a cluster."""
    k = len(low)
    base, slope = np.zeros(k), np.zeros(k)
    for a in range(k):
        if low[a] <= high[a]:
            near = far = -np.inf
            for j in range(k):
                near = max(near, apart[a, j] * low[a] - change[a, j])
                far = max(far, apart[a, j] * high[a] - change[a, j])
            wide = high[a] - low[a]
            if k > 1 and wide > 1e-9 * high[a]:
                slope[a] = (far - near) / wide
                base[a] = near - slope[a] * low[a]
            elif k > 1:
                base[a] = max(near, far)
    return base, slope
