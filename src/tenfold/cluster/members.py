"""Clusters that are given by their members: a label for each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.maths.leaves import class_sums
from tenfold.rows import Chunk, Rows


class Members(NamedTuple):
    """Weight and sum of the rows with each label."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, p)


def members(chunk: Chunk, labels: np.ndarray, k: int) -> Members:
    """Weight and sum of the rows of a chunk with each label; labels are those of all rows."""
    own, w = labels[chunk.first : chunk.first + chunk.rows], chunk.weights().astype(np.float64)
    if isinstance(chunk.X, np.ndarray):
        return Members(*class_sums(chunk.X, own, w, k))
    from scipy.sparse import csr_array

    hot = csr_array((w, own, np.arange(chunk.rows + 1)), shape=(chunk.rows, k))
    return Members(np.asarray(hot.sum(axis=0)), (hot.T @ chunk.X).toarray())


def label_means(rows: Rows, labels: np.ndarray, k: int) -> np.ndarray:
    """Mean of the rows with each label; that of all rows for a label that none has, (k, p)."""
    m = rows.total(members, labels, k)
    means = m.sums / np.where(m.weight > 0, m.weight, 1.0)[:, None]
    everybody = m.sums.sum(axis=0) / m.weight.sum()
    return np.where(m.weight[:, None] > 0, means, everybody)


def numbered_clusters(labels: np.ndarray, k: int, n: int | None = None) -> np.ndarray:
    """Labels as 32-bit numbers of k clusters; an error if they are not, or not one for each row."""
    if n is not None and len(labels) != n:
        raise ValueError(f"init has {len(labels)} labels, but there are {n} rows: give each one")
    if len(labels) and (labels.min() < 0 or labels.max() >= k):
        wrong = int(np.argmax((labels < 0) | (labels >= k)))
        raise ValueError(f"label {labels[wrong]} of row {wrong} is none of 0, ..., {k - 1}")
    return labels.astype(np.int32)
