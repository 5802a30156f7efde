"""A cache of kernel columns: the values of one row with all active rows of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.svm._kernel_access import KernelAccess


class ColumnCache:
    """The columns that were used last, as many as fit.

    Parameters
    ----------
    access : KernelAccess
        Where values come from.
    numbers : (n,) int64 array
        Global numbers of the rows of the problem, ascending.
    active : (k,) int64 array
        Positions of the active rows among them, ascending: a column has their values.
    n_bytes : float
        Size of the cache.
    dtype : dtype
        Type in which values are kept.

    Attributes
    ----------
    values : (slots, k) array, a column in each slot
    overflowed : whether a column had to go
    """

    def __init__(
        self,
        access: KernelAccess,
        numbers: np.ndarray,
        active: np.ndarray,
        n_bytes: float,
        dtype: Any = np.float64,
    ) -> None:
        self.access, self.numbers = access, numbers
        self.buffer = np.empty(int(n_bytes // np.dtype(dtype).itemsize), dtype)
        self.clock = 0
        self.slot_of = np.full(len(numbers), -1)
        self.clear(active)

    def clear(self, active: np.ndarray) -> None:
        """Forget all columns, and go on with columns over these rows."""
        self.active = active
        self._lay_out(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def _lay_out(self, rows: np.ndarray, used: np.ndarray) -> None:
        """Make slots for columns of the active rows, the first of which hold these rows."""
        width = len(self.active)
        capacity = self._capacity(width)
        self.values = self.buffer[: capacity * width].reshape(capacity, width)
        self.row_of, self.used = np.full(capacity, -1), np.zeros(capacity, np.int64)
        self.slot_of[:] = -1
        self.row_of[: len(rows)], self.used[: len(rows)] = rows, used
        self.slot_of[rows] = np.arange(len(rows))
        self.overflowed = False

    def _capacity(self, width: int) -> int:
        return max(min(len(self.buffer) // max(width, 1), len(self.numbers)), 1)

    def slots(self, rows: np.ndarray) -> np.ndarray:
        """The slots of the columns of these rows, which are computed if they are not there."""
        self.clock += 1
        found = self.slot_of[rows]
        self.used[found[found >= 0]] = self.clock
        missing = rows[found < 0]
        if len(missing):
            free = self._free_slots(len(missing))
            self.slot_of[missing], self.row_of[free], self.used[free] = free, missing, self.clock
            Z = self.access.take(self.numbers[missing])
            self.access.fill(Z, self.numbers[self.active], self.values, free)
        return self.slot_of[rows]

    def _free_slots(self, count: int) -> np.ndarray:
        """Slots of the columns that were used longest ago."""
        oldest = np.sort(np.argsort(self.used, kind="stable")[:count])
        gone = self.row_of[oldest]
        self.slot_of[gone[gone >= 0]] = -1
        self.overflowed |= bool((gone >= 0).any())
        return oldest

    def set_active(self, active: np.ndarray) -> None:
        """Go on with columns over other rows; what is known is kept, in the same memory."""
        kept = np.flatnonzero(self.row_of >= 0)
        latest = np.argsort(-self.used[kept], kind="stable")[: self._capacity(len(active))]
        kept = kept[np.sort(latest)]
        rows, used = self.row_of[kept], self.used[kept]
        known = np.flatnonzero(np.isin(active, self.active, assume_unique=True))
        places, width = np.searchsorted(self.active, active[known]), len(self.active)
        for slot, old in enumerate(kept):  # forwards: none is overwritten before it is read
            column = self.buffer[old * width : (old + 1) * width][places]
            self.buffer[slot * len(known) : (slot + 1) * len(known)] = column
        self.active = active
        if len(known) < len(active):
            self._widen(len(rows), known)
        self._lay_out(rows, used)
        new = np.setdiff1d(np.arange(len(active)), known, assume_unique=True)
        if len(rows) and len(new):
            block = np.empty((len(rows), len(new)), self.buffer.dtype)
            order = np.argsort(rows)
            Z = self.access.take(self.numbers[rows[order]])
            self.access.fill(Z, self.numbers[active[new]], block, order)
            self.values[: len(rows), new] = block

    def _widen(self, count: int, places: np.ndarray) -> None:
        """Move columns apart, so that their values come to these places of wider ones."""
        narrow, width = len(places), len(self.active)
        for slot in reversed(range(count)):  # backwards, for the same reason
            column = self.buffer[slot * narrow : (slot + 1) * narrow].copy()
            self.buffer[slot * width + places] = column
