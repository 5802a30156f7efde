"""Compiled similarities of one row with all others over common columns, and their best entries."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

_ROUNDING = 2.0**-40
METRICS = {"cosine": 0, "pearson": 1, "msd": 2, "euclidean": 3}


@njit(cache=True, nogil=True)
def row_similarities(columns, values, starts, rows, others, n, metric, min_support, shrinkage):
    """Similarity of one row (columns, values) with each of n rows, NaN if there is none.

    `starts`, `rows`, `others` are the entries of all rows by columns. Sums are taken over the
    columns that both rows have.
    """
    sums = np.zeros((n, 6))  # count, x, y, xx, yy, xy
    for e in range(len(columns)):
        x, c = np.float64(values[e]), columns[e]
        for f in range(starts[c], starts[c + 1]):
            y = np.float64(others[f])
            s = sums[rows[f]]
            s[0] += 1.0
            s[1] += x
            s[2] += y
            s[3] += x * x
            s[4] += y * y
            s[5] += x * y
    similarity = np.full(n, np.nan)
    for i in range(n):
        count, x, y, xx, yy, xy = sums[i]
        if count < min_support or count == 0.0:
            continue
        if metric == 0:
            below = sqrt(xx * yy)
            value = xy / below if below > 0.0 else 0.0
        elif metric == 1:
            left, right = count * xx - x * x, count * yy - y * y
            varied = left > _ROUNDING * count * xx and right > _ROUNDING * count * yy
            value = (count * xy - x * y) / sqrt(left * right) if varied else 0.0
            value = round(value / _ROUNDING) * _ROUNDING  # equal ones must not differ by rounding
        else:
            distance = max(xx - 2.0 * xy + yy, 0.0) / count
            value = 1.0 / (1.0 + (distance if metric == 2 else sqrt(distance)))
        similarity[i] = value * count / (count + shrinkage)
    return similarity


@njit(cache=True, nogil=True)
def collect_neighbors(similarity, rows, values, k, least, skip, best, number):
    """The k most similar of some rows, ties by their order: fills best (similarity, value)."""
    found = 0
    for e in range(len(rows)):
        s = similarity[rows[e]]
        if rows[e] == skip or not s > least:  # NaN: no common column
            continue
        if found == k and not s > best[k - 1, 0]:
            continue
        at = min(found, k - 1)
        while at > 0 and best[at - 1, 0] < s:
            best[at, 0], best[at, 1], number[at] = best[at - 1, 0], best[at - 1, 1], number[at - 1]
            at -= 1
        best[at, 0], best[at, 1], number[at] = s, values[e], rows[e]
        found = min(found + 1, k)
    return found


@njit(cache=True, nogil=True)
def average_neighbors(best, found, weighted):
    """Mean of the neighbors' values, weighted by similarity or not; NaN for none."""
    above, below = 0.0, 0.0
    for t in range(found):
        w = best[t, 0] if weighted else 1.0
        above += w * best[t, 1]
        below += abs(w)
    return above / below if below > 0.0 else np.nan


@njit(cache=True, nogil=True)
def predict_columns(wanted, similarity, starts, rows, values, k, least, skip, weighted):
    """For one row: the mean of its neighbors in each wanted column (below zero: unknown)."""
    best, number = np.empty((k, 2)), np.empty(k, np.int64)
    answers = np.full(len(wanted), np.nan)
    for t in range(len(wanted)):
        c = wanted[t]
        if c >= 0:
            span = slice(starts[c], starts[c + 1])
            found = collect_neighbors(
                similarity, rows[span], values[span], k, least, skip, best, number
            )
            answers[t] = average_neighbors(best, found, weighted)
    return answers


@njit(cache=True, nogil=True)
def predict_rows(similarities, own, values, k, least, weighted):
    """For one column: for each row of all, the mean of its neighbors among the column's rows.

    `similarities` (len(own), n) are those of the column's rows with all rows.
    """
    m, n = similarities.shape
    best, number = np.empty((k, 2)), np.empty(k, np.int64)
    answers = np.full(n, np.nan)
    column = np.empty(n)
    for i in range(n):
        for t in range(m):
            column[own[t]] = similarities[t, i]
        found = collect_neighbors(column, own, values, k, least, i, best, number)
        answers[i] = average_neighbors(best, found, weighted)
    return answers
