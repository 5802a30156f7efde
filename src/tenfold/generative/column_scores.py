r"""Naive Bayes with a distribution for each column.

.. math:: \log \pi_c + \sum_j \log p_j(x_j \mid c)

One compiled loop adds up what the entries of a row say; a missing entry (NaN) says nothing, which
is what summing over its possible values comes to. [002, 5.3 and 5.4; 004, 3.6]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.rows import Chunk

GAUSSIAN, BERNOULLI, POISSON, CATEGORICAL = range(4)


class Columns(NamedTuple):
    """The distributions of p columns in k classes.

    Attributes
    ----------
    kind : (p,) which distribution
    a, b, c : (p, k) Gaussian: mean, precision, half the log of precision / 2 pi; Bernoulli: log
        probability of 1 and of 0; Poisson: log rate, rate
    table : (m, k) log probabilities of categories, those of one column after those of another
    start : (p + 1,) where the categories of each column begin in the table
    """

    kind: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    table: np.ndarray
    start: np.ndarray

    @classmethod
    def gaussian(cls, mean: np.ndarray, precision: np.ndarray) -> Columns:
        """All columns Gaussian; both (p, k)."""
        p, k = mean.shape
        half = 0.5 * np.log(precision / (2 * np.pi))
        nowhere = np.zeros(p + 1, np.int64)
        return cls(np.full(p, GAUSSIAN), mean, precision, half, np.empty((0, k)), nowhere)

    @classmethod
    def categorical(cls, tables: list[np.ndarray]) -> Columns:
        """All columns categorical; for each the log probabilities (k, m)."""
        p, k = len(tables), len(tables[0])
        start = np.concatenate([[0], np.cumsum([t.shape[1] for t in tables])]).astype(np.int64)
        table = np.concatenate(tables, axis=1).T.astype(np.float64)
        unused = np.empty((p, k))
        return cls(np.full(p, CATEGORICAL), unused, unused, unused, table, start)


def column_scores(chunk: Chunk, offset: np.ndarray, columns: Columns) -> np.ndarray:
    """Log of prior times density, (n, k), from the log priors `offset` and the columns."""
    return add_columns(chunk.X, offset, *columns)


@njit(cache=True, nogil=True)
def add_columns(X, offset, kind, a, b, c, table, start):  # noqa: ANN001, ANN201, C901  -> (n, k)
    """Sum over the columns of what each entry says about each class, in float64."""
    n, p = X.shape
    k = len(offset)
    scores = np.empty((n, k), X.dtype)
    row = np.empty(k)
    for i in range(n):
        row[:] = offset
        for j in range(p):
            x = np.float64(X[i, j])
            if np.isnan(x):
                continue
            if kind[j] == GAUSSIAN:
                for m in range(k):
                    row[m] += c[j, m] - 0.5 * b[j, m] * (x - a[j, m]) ** 2
            elif kind[j] == BERNOULLI:
                for m in range(k):
                    row[m] += a[j, m] if x > 0 else b[j, m]
            elif kind[j] == POISSON:
                for m in range(k):
                    row[m] += x * a[j, m] - b[j, m] if x > 0 else -b[j, m]
            elif 0 <= x < start[j + 1] - start[j]:  # a category never seen says nothing
                place = start[j] + np.int64(x)
                for m in range(k):
                    row[m] += table[place, m]
        for m in range(k):
            scores[i, m] = row[m]
    return scores
