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

from tenfold.cluster.certain import (
    FEW,
    Desk,
    Nearest,
    Scaled,
    desk,
    in_blocks,
    look_again,
    nearest_of,
)

CHEAP = 512  # numbers in all centres up to which a search costs no more than a look at gaps
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
    """What is known of a run of rows."""

    centres: np.ndarray  # to which it belongs
    found: Nearest
    room: Desk
    rest: int  # rounds in which gaps are not looked at, since the centres still move too much


class Memory:
    """Labels and gaps of runs of rows, and the centres that they belong to.

    Parameters
    ----------
    keeps : bool
        Whether anything is kept: rows on a cluster and in files are asked anew each round.
    """

    def __init__(self, *, keeps: bool) -> None:
        self.keeps = keeps
        self.runs: dict[tuple[int, int], Kept] = {}
        self.last: tuple[np.ndarray, np.ndarray, Moves] | None = None
        self.single: tuple[np.ndarray, Scaled] | None = None

    def labels(self, X: np.ndarray, centres: np.ndarray, first: int) -> np.ndarray:
        """Number of the nearest centre of each row of a run that begins at row `first`."""
        if not self.keeps or len(X) * centres.size <= FEW:
            return nearest_of(X, centres).label
        place = first, len(X)
        kept = self.runs.get(place)
        if kept is None:
            found = nearest_of(X, centres, self.scaled(centres))
            kept = Kept(centres, found, desk(*X.shape), 0)
        elif kept.rest or centres.size < CHEAP:
            look_again(X, centres, None, kept.found, self.scaled(centres), kept.room)
            kept = kept._replace(centres=centres, rest=max(kept.rest - 1, 0))
        else:
            doubts = self.moved(X, kept, centres)
            kept = kept._replace(centres=centres, rest=REST if doubts > MOST * len(X) else 0)
        self.runs[place] = kept
        return kept.found.label

    def moved(self, X: np.ndarray, kept: Kept, centres: np.ndarray) -> int:
        """Bring a run up to date with the centres; how many rows had to be asked again.

        It is written over in place. Who does it twice, because something disturbed the first time,
        finds centres that have not moved, or gaps that are a little too narrow: both are right.
        """
        found = kept.found
        doubtful = np.empty(len(X), np.int64)
        reach = np.full(len(centres), np.inf), np.zeros(len(centres))
        doubts = still_sure(*found[:3], *self.moves(kept.centres, centres), *reach, doubtful)
        if doubts:
            some = None if doubts > MOST * len(X) else doubtful[:doubts]
            look_again(X, centres, some, found, self.scaled(centres), kept.room)
        return doubts

    def scaled(self, centres: np.ndarray) -> Scaled:
        """The centres in single precision; all chunks of a round ask the same."""
        known = self.single
        if known is None or known[0] is not centres:
            self.single = known = centres, in_blocks(centres)
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
def still_sure(label, gap, radius, apart, change, length, reach, low, high, doubtful):  # noqa: ANN001, ANN201
    """Move gaps and radii on with the centres; how many rows have a label in doubt now.

    `low` and `high`, infinite and zero, take the radii of each cluster.
    """
    n, m = len(label), 0
    for i in range(n):
        a, r = label[i], radius[i]
        low[a] = r if r < low[a] else low[a]  # noqa: FURB136 - min() is slow
        high[a] = r if r > high[a] else high[a]  # noqa: FURB136
    chords(low, high, apart, change)
    for i in range(n):
        a, r = label[i], radius[i]
        gap[i] -= low[a] + high[a] * r
        radius[i] = r + length[a]
        far = r + reach
        if not gap[i] > ROUNDING * far * far:
            doubtful[m] = i
            m += 1
    return m


@njit(cache=True, nogil=True, inline="always")
def chords(low, high, apart, change):  # noqa: ANN001, ANN201
    """From the radii of a cluster to the line above the most that a gap loses, max_j D_aj r - T_aj.

    `low` and `high` come as radii and leave as the line's value at zero and its slope.
    """
    k = len(low)
    for a in range(k):
        base = slope = 0.0
        if k > 1 and low[a] <= high[a]:
            near = far = -np.inf
            for j in range(k):
                least = apart[a, j] * low[a] - change[a, j]
                most = apart[a, j] * high[a] - change[a, j]
                near = least if least > near else near  # noqa: FURB136
                far = most if most > far else far  # noqa: FURB136
            wide = high[a] - low[a]
            if wide > 1e-9 * high[a]:
                slope = (far - near) / wide
                base = near - slope * low[a]
            else:
                base = near if near > far else far  # noqa: FURB136
        low[a], high[a] = base, slope
