"""Labels of a target: which there are, and their numbers."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from tenfold.rows import Chunk, Rows
from tenfold.rows.arrays import Arrays, SparseArrays

MOST_NUMBERS = 1000  # span of whole numbers that are counted rather than sorted


class Labels(NamedTuple):
    """The different labels of a chunk; two sets merge by union."""

    values: np.ndarray

    def merge(self, other: Labels) -> Labels:
        return Labels(np.union1d(self.values, other.values))


def labels_of(chunk: Chunk) -> Labels:
    """The different labels of a chunk."""
    return Labels(np.unique(chunk.y))


def number_labels(rows: Rows, classes: np.ndarray | None = None) -> tuple[np.ndarray, Rows]:
    """The sorted classes, and the rows with labels as numbers into them."""
    if classes is None and (own := rows.own_labels()) is not None:
        return own
    if not isinstance(rows.source, Arrays | SparseArrays) or classes is not None:
        known = rows.total(labels_of).values if classes is None else classes
        return known, rows.labelled(known)
    if rows.numbered is None:  # a copy: these rows may be used again, and keep their labels
        source = copy(rows.source)
        known, source.y = numbered_labels(rows.source.y)
        rows.numbered = known, Rows(source, engine=rows.engine)
    rows.numbered[1].allow_nan = rows.allow_nan
    return rows.numbered


def numbered_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted labels and the number of each row's; numbers of a small range need no sorting."""
    if y.dtype.kind in "iu" and y.ndim == 1 and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < MOST_NUMBERS:
            from_low = (y.astype(np.int64) if y.dtype.kind == "i" else y) - low  # may pass 127
            there = np.zeros(high - low + 1, bool)
            there[from_low] = True
            known = np.flatnonzero(there)
            codes = from_low if len(known) == len(there) else (np.cumsum(there) - 1)[from_low]
            return (known + low).astype(y.dtype), codes.astype(np.int64, copy=False)
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)
