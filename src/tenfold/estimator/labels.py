"""Labels of a target: which there are, and their numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from tenfold.rows import Chunk, Rows
from tenfold.rows.arrays import Arrays, SparseArrays


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
    if not isinstance(rows.source, Arrays | SparseArrays) or classes is not None:
        known = rows.total(labels_of).values if classes is None else classes
        return known, rows.labelled(known)
    check_classification_targets(rows.source.y)
    known, codes = np.unique(rows.source.y, return_inverse=True)
    rows.source.y = codes
    return known, rows
