"""Cross-validation splits: a cell number per row, and the cells each part trains and is tested on.

Rows of one cell are never separated. A fold trains on the rows of some cells and is tested on those
of others, so one small integer per row describes ten folds of any data set, and a statistic per
cell is enough to fit all ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import (
    BaseCrossValidator,
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedKFold,
)
from sklearn.utils import check_random_state


class Split(NamedTuple):
    """Cells of rows, and which of them each fold trains and is tested on.

    Attributes
    ----------
    cell : (n_rows,) index of each row's cell
    train, test : for each fold, (n_cells,) whether a cell belongs to it
    """

    cell: np.ndarray
    train: Any
    test: Any

    @property
    def parts(self) -> int:
        """Number of folds."""
        return len(self.test)

    def rows(self, cells: np.ndarray) -> np.ndarray:
        """Indices of the rows in these cells."""
        return np.flatnonzero(cells[self.cell])


def k_fold_split(cell: np.ndarray, k: int) -> Split:
    """Each of k cells is the test part of one fold; all others are its training part."""
    test = np.eye(k, dtype=bool)
    return Split(to_smallest_dtype(cell), ~test, test)


def to_smallest_dtype(cell: np.ndarray) -> np.ndarray:
    """Cell indices in the smallest unsigned integer type."""
    return cell.astype(np.min_scalar_type(int(cell.max(initial=0))))


def contiguous_folds(n: int, k: int) -> Split:
    """Consecutive folds of sizes that differ by at most one row."""
    sizes = np.full(k, n // k)
    sizes[: n % k] += 1
    return k_fold_split(np.repeat(np.arange(k, dtype=np.int32), sizes), k)


def random_folds(n: int, k: int, seed: Any) -> Split:
    """Shuffled folds of sizes that differ by at most one row."""
    order = check_random_state(seed).permutation(n)
    folds = contiguous_folds(n, k)
    cell = np.empty_like(folds.cell)
    cell[order] = folds.cell
    return folds._replace(cell=cell)


def time_series_split(n: int, k: int) -> Split:
    """Fold i trains on the first i + 1 blocks of consecutive rows and is tested on the next.

    Parameters
    ----------
    n : int
        Number of rows, in the order of time.
    k : int
        Number of folds.
    """
    length = n // (k + 1)
    cell = np.repeat(np.arange(k + 1), [n - k * length, *[length] * k])
    fold, block = np.arange(k)[:, None], np.arange(k + 1)
    return Split(to_smallest_dtype(cell), block <= fold, block == fold + 1)


def two_part_split(n: int, train: np.ndarray, test: np.ndarray) -> Split:
    """One fold with given training and test rows; other rows are unused."""
    cell = np.full(n, 2, np.uint8)
    cell[train], cell[test] = 0, 1
    return Split(cell, np.array([[True, False, False]]), np.array([[False, True, False]]))


def learning_curve_split(split: Split, shares: np.ndarray, seed: int) -> Split:
    """The folds of another split, each with growing shares of its training rows."""
    draws = np.random.default_rng(seed).permutation(len(split.cell))
    band = np.searchsorted(np.append(shares, 2.0) * len(draws), draws, "right")
    n_bands = len(shares) + 1
    cell = split.cell.astype(np.int64) * n_bands + band
    is_used = np.arange(n_bands) <= np.arange(len(shares))[:, None]  # (n_shares, n_bands)
    train = [np.outer(fold, bands).ravel() for fold in split.train for bands in is_used]
    test = [np.repeat(fold, n_bands) for fold in split.test for _ in shares]
    return Split(to_smallest_dtype(cell), np.array(train), np.array(test))


def make_splits(
    folds: Any, n: int, y: np.ndarray | None = None, groups: Any = None, *, stratify: bool = False
) -> list[Split]:
    """The splits that `folds` describes.

    Parameters
    ----------
    folds : int, "loo", scikit-learn splitter, pairs of arrays of row numbers, or list of Split
        A number means what it means in scikit-learn: consecutive folds, stratified for classes.
    n : int
        Number of rows.
    y : (n_rows,) array, optional
        Class indices; for a splitter that uses it, any target.
    groups : (n_rows,) array, optional
        Rows of one group are in one fold.
    stratify : bool
        Whether a number of folds means stratified ones.

    Returns
    -------
    list of Split
        One for all folds if no row is tested twice, else several.

    Examples
    --------
    >>> [split] = make_splits(3, 7)
    >>> split.cell.tolist(), split.rows(split.test[0]).tolist()
    ([0, 0, 0, 1, 1, 2, 2], [0, 1, 2])
    """
    if isinstance(folds, list) and folds and isinstance(folds[0], Split):
        return folds
    if isinstance(folds, str) and folds == "loo":
        folds = LeaveOneOut()
    if isinstance(folds, int | np.integer) and not isinstance(folds, bool):
        folds = _default_splitter(int(folds), n, groups, stratify=stratify)
    if type(folds) is KFold:
        _require_rows(n, folds.n_splits)
        if folds.shuffle:
            return [random_folds(n, folds.n_splits, folds.random_state)]
        return [contiguous_folds(n, folds.n_splits)]
    if type(folds) is LeaveOneOut:
        _require_rows(n, 2)
        return [Split(np.arange(n, dtype=np.int32), _ComplementRows(n), _OneHotRows(n))]
    return _splits_from_pairs(_row_pairs(folds, n, y, groups), n)


def is_leave_one_out(split: Split) -> bool:
    """Whether each fold leaves out one row."""
    return isinstance(split.test, _OneHotRows)


class _OneHotRows:
    """Rows of a boolean identity matrix, computed on access."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> np.ndarray:
        if i >= self.n:
            raise IndexError(i)
        return np.arange(self.n) == i


class _ComplementRows(_OneHotRows):
    """Rows of its complement."""

    def __getitem__(self, i: int) -> np.ndarray:
        return ~super().__getitem__(i)


def _default_splitter(k: int, n: int, groups: Any, *, stratify: bool) -> Any:
    if k < 2:
        raise ValueError(f"folds={k}: at least 2 are needed; for one split use split_train_test")
    _require_rows(n, k)
    if groups is not None:
        return GroupKFold(k)
    return StratifiedKFold(k) if stratify else KFold(k)


def _require_rows(n: int, k: int) -> None:
    if n < k:
        raise ValueError(f"{k} folds of n_samples={n} rows: there cannot be more folds than rows")


def _row_pairs(folds: Any, n: int, y: np.ndarray | None, groups: Any) -> Iterable:
    if not (hasattr(folds, "split") or isinstance(folds, Iterable)) or isinstance(folds, str):
        raise TypeError(
            f"folds={folds!r}: give a number, 'loo', a splitter of scikit-learn, or pairs of row "
            "indices (train, test)"
        )
    splitter: Any = folds
    if not hasattr(splitter, "split"):
        return splitter
    if isinstance(folds, BaseCrossValidator) and y is None and "Stratified" in type(folds).__name__:
        raise ValueError(f"{folds} needs classes, and there are none: use KFold")
    return splitter.split(np.zeros((n, 0)), y, groups)


def _splits_from_pairs(pairs: Iterable, n: int) -> list[Split]:
    """One split if the test parts are disjoint folds; else one for each pair."""
    cell, splits, k = np.full(n, -1, np.int32), [], 0
    for train, test in pairs:
        train, test = _validate_rows(train, n), _validate_rows(test, n)
        if len(test) + len(train) == n and (cell[test] == -1).all() and not splits:
            cell[test] = k
        else:
            splits += [] if splits else _separate_splits(cell, k)
            splits.append(two_part_split(n, train, test))
        k += 1
    if k == 0:
        raise ValueError("the splitter gave no folds: give at least one pair")
    if splits:
        return splits
    if (cell == -1).any():  # rows that are never tested have their own cell
        cell = np.where(cell == -1, k, cell)
        test = np.eye(k, k + 1, dtype=bool)
        return [Split(to_smallest_dtype(cell), ~test, test)]
    return [k_fold_split(cell, k)]


def _separate_splits(cell: np.ndarray, k: int) -> list[Split]:
    n = len(cell)
    tests = [np.flatnonzero(cell == i) for i in range(k)]
    return [two_part_split(n, np.setdiff1d(np.arange(n), test), test) for test in tests]


def _validate_rows(rows: Any, n: int) -> np.ndarray:
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64, copy=False)
    if not len(rows) or rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"a part must hold row indices from 0 to {n - 1}, and at least one")
    return rows
