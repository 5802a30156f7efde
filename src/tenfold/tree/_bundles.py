"""Columns of which a row has at most one that is not at its usual bin share a byte of the row.

Indicators of categories are such columns. A row adds one word for all of them to a histogram, and
the sums of the usual bin of each are those of all rows less those of its other bins. Sums are
whole numbers, so the histogram is the same as without bundles (after Ke et al. 2017, LightGBM,
which lets a few rows conflict; here none may).

Benchmark case: `gbdt-covertype` (benchmarks/trees.py).
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from tenfold.tree._histogram_numba import MAX_CODES, write_codes

_LOOKED_ROWS = 4096  # that say which columns may be bundled, before all rows are asked
_MIN_USUAL = 0.6  # share of the usual bin of a column that may be bundled
_MOST_TRIED = 8  # last bundles that a column is tried with


class Bundles(NamedTuple):
    """Codes of rows, and which columns and bins they stand for.

    Attributes
    ----------
    codes : (n, q) uint8 array
    starts : (q + 1,) int64 array, the first member of each bundle
    members : (p, 4) int64 array; see `tenfold.tree._histogram_numba`
    """

    codes: np.ndarray
    starts: np.ndarray
    members: np.ndarray


def single_columns(n_bins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and members where every column is alone and codes are bins."""
    p = len(n_bins)
    members = np.column_stack([np.arange(p), np.full(p, -1), np.zeros(p, np.int64), n_bins])
    return np.arange(p + 1), np.ascontiguousarray(members, np.int64)


def bundle_columns(bins: np.ndarray, by_column: np.ndarray, n_bins: np.ndarray) -> Bundles:
    """Bundle what can be bundled.

    Parameters
    ----------
    bins : (n, p) uint8 array
    by_column : (p, n) uint8 array, the same
    n_bins : (p,) int64 array of bins of the columns without that of missing values
    """
    usual = _usual_bins(by_column, n_bins)
    bundles = _find_bundles(by_column, n_bins, usual)
    if not bundles:
        return Bundles(bins, *single_columns(n_bins))
    bundled = {j for bundle in bundles for j in bundle}
    alone = [j for j in range(len(n_bins)) if j not in bundled]
    codes = np.zeros((len(bins), len(alone) + len(bundles)), np.uint8)
    members = [(j, -1, 0, n_bins[j]) for j in alone]
    starts = list(range(len(alone) + 1))
    codes[:, : len(alone)] = bins[:, alone]
    for u, bundle in enumerate(bundles, len(alone)):
        code = 1
        for j in bundle:
            write_codes(by_column[j], usual[j], code, codes[:, u])
            members.append((j, usual[j], code, n_bins[j]))
            code += n_bins[j] - 1
        starts.append(len(members))
    return Bundles(codes, np.array(starts), np.array(members, np.int64))


def _usual_bins(by_column: np.ndarray, n_bins: np.ndarray) -> np.ndarray:
    """The usual bin of each column that may be bundled, -1 for the others, by some of the rows."""
    usual = np.full(len(n_bins), -1)
    step = max(by_column.shape[1] // _LOOKED_ROWS, 1)
    for j, column in enumerate(by_column):
        counts = np.bincount(column[::step])
        top = int(counts.argmax())
        if counts[top] >= _MIN_USUAL * counts.sum() and 1 < n_bins[j] > top:
            usual[j] = top
    return usual


def _find_bundles(by_column: np.ndarray, n_bins: np.ndarray, usual: np.ndarray) -> list[list[int]]:
    """Lists of at least two columns of which each row has at most one that is not usual."""
    found: list[list[int]] = []
    tried: deque[tuple[list[int], np.ndarray]] = deque(maxlen=_MOST_TRIED)
    for j in np.flatnonzero(usual >= 0).tolist():
        own = by_column[j] != usual[j]
        if (by_column[j] >= n_bins[j]).any():  # missing values
            continue
        for bundle, taken in tried:
            codes = 1 + int((n_bins[[*bundle, j]] - 1).sum())
            if codes <= MAX_CODES and not _overlap(own, taken):
                bundle.append(j)
                taken |= own
                break
        else:
            found.append([j])
            tried.append((found[-1], own))
    return [bundle for bundle in found if len(bundle) > 1]


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether a row is in both masks."""
    return bool((a[:_LOOKED_ROWS] & b[:_LOOKED_ROWS]).any() or (a & b).any())
