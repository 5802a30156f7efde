"""Cross-validation splits: a cell number per row, and the cells each part trains and is tested on.

Rows of one cell are never separated. A fold trains on the rows of some cells and is tested on those
of others, so one small integer per row describes ten folds of any data set, and a statistic per
cell is enough to fit all ten.
"""

from __future__ import annotations

import warnings
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
    order : row number of each entry of `cell`, where rows repeat or their order counts; else None,
        and the entries are the rows themselves
    """

    cell: np.ndarray
    train: Any
    test: Any
    order: np.ndarray | None = None

    @property
    def parts(self) -> int:
        """Number of folds."""
        return len(self.test)

    def rows(self, cells: np.ndarray) -> np.ndarray:
        """Indices of the rows in these cells."""
        places = np.flatnonzero(cells[self.cell])
        return places if self.order is None else self.order[places]


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
    """One fold with given training and test rows, which may overlap; other rows are unused."""
    cell = np.full(n, 2, np.uint8)
    cell[train] = 0
    cell[test] = np.where(cell[test] == 0, 3, 1)
    if cell.max() < 3:
        return Split(cell, np.array([[True, False, False]]), np.array([[False, True, False]]))
    train_cells, test_cells = [True, False, False, True], [False, True, False, True]
    return Split(cell, np.array([train_cells]), np.array([test_cells]))


def ordered_split(train: np.ndarray, test: np.ndarray) -> Split:
    """One fold with its rows as they are given: in their order, as often as they occur."""
    cell = np.repeat(np.array([0, 1], np.uint8), [len(train), len(test)])
    parts = np.eye(2, dtype=bool)
    return Split(cell, parts[:1], parts[1:], np.concatenate([train, test]))


def learning_curve_split(split: Split, shares: np.ndarray, seed: int) -> Split:
    """The folds of another split, each with growing shares of its training rows."""
    draws = np.random.default_rng(seed).permutation(len(split.cell))
    band = np.searchsorted(np.append(shares, 2.0) * len(draws), draws, "right")
    n_bands = len(shares) + 1
    cell = split.cell.astype(np.int64) * n_bands + band
    is_used = np.arange(n_bands) <= np.arange(len(shares))[:, None]  # (n_shares, n_bands)
    train = [np.outer(fold, bands).ravel() for fold in split.train for bands in is_used]
    test = [np.repeat(fold, n_bands) for fold in split.test for _ in shares]
    return Split(to_smallest_dtype(cell), np.array(train), np.array(test), split.order)


def make_splits(
    folds: Any,
    n: int,
    y: np.ndarray | None = None,
    groups: Any = None,
    *,
    stratify: bool = False,
    X: Any = None,
    keep_order: bool = False,
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
    X : array or table, optional
        The rows, for a splitter that looks at them.
    keep_order : bool
        Whether pairs keep the order of their rows. Rows that a pair repeats are kept in any case.

    Returns
    -------
    list of Split
        One for all folds if no row is tested twice, else several.

    Warns
    -----
    ChosenOnTrainingWarning
        If a fold is tested on rows that it is trained on.

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
    X = np.zeros((n, 0)) if X is None else X
    return _splits_from_pairs(_row_pairs(folds, X, y, groups), n, keep_order=keep_order)


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


def _row_pairs(folds: Any, X: Any, y: np.ndarray | None, groups: Any) -> Iterable:
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
    return splitter.split(X, y, groups)


def _splits_from_pairs(pairs: Iterable, n: int, *, keep_order: bool) -> list[Split]:
    """One split if the test parts are disjoint folds; else one for each pair."""
    cell, splits, seen = np.full(n, -1, np.int32), [], []
    for k, pair in enumerate(pairs):
        train, test = _validate_pair(pair, k, n)
        seen.append(_count_seen(train, test, n))
        is_ordered = keep_order and not (_ascends(train) and _ascends(test))
        is_ordered = is_ordered or _has_repeats(train, n) or _has_repeats(test, n)
        covers = len(test) + len(train) == n and not seen[-1] and not is_ordered
        if covers and not splits and (cell[test] == -1).all():
            cell[test] = k
            continue
        splits += [] if splits else _separate_splits(cell, k)
        splits.append(ordered_split(train, test) if is_ordered else two_part_split(n, train, test))
    if not seen:
        raise ValueError("the splitter gave no folds: give at least one pair")
    if any(seen):
        _warn_of_training_rows(seen)
    if splits:
        return splits
    k = len(seen)
    if (cell == -1).any():  # rows that are never tested have their own cell
        cell = np.where(cell == -1, k, cell)
        test = np.eye(k, k + 1, dtype=bool)
        return [Split(to_smallest_dtype(cell), ~test, test)]
    return [k_fold_split(cell, k)]


def _ascends(rows: np.ndarray) -> bool:
    return bool((np.diff(rows) > 0).all())


def _has_repeats(rows: np.ndarray, n: int) -> bool:
    return len(rows) > n or int(np.bincount(rows, minlength=n).max()) > 1


def _count_seen(train: np.ndarray, test: np.ndarray, n: int) -> int:
    """How many of the test rows are training rows."""
    is_trained = np.zeros(n, bool)
    is_trained[train] = True
    return int(np.count_nonzero(is_trained[test]))


def _warn_of_training_rows(seen: list[int]) -> None:
    from tenfold.model_selection.selection_bias import ChosenOnTrainingWarning

    first = next(i for i, count in enumerate(seen) if count)
    others = sum(count > 0 for count in seen) - 1
    more = f" (and {others} more folds)" if others else ""
    warnings.warn(
        f"fold {first}{more} is tested on {seen[first]} rows that it is trained on: its score says "
        "how well the model remembers them, not how well it predicts others, and favors the most "
        "flexible model. Leave them out of the test rows or of the training rows",
        ChosenOnTrainingWarning,
        stacklevel=5,
    )


def _separate_splits(cell: np.ndarray, k: int) -> list[Split]:
    n = len(cell)
    tests = [np.flatnonzero(cell == i) for i in range(k)]
    return [two_part_split(n, np.setdiff1d(np.arange(n), test), test) for test in tests]


def _validate_pair(pair: Any, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        train, test = pair
    except (TypeError, ValueError):
        raise ValueError(
            f"fold {k} must be a pair of arrays of row indices, (train, test)"
        ) from None
    return _validate_rows(train, k, "training", n), _validate_rows(test, k, "test", n)


def _validate_rows(rows: Any, k: int, kind: str, n: int) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.dtype == bool:
        if rows.shape != (n,):
            raise ValueError(
                f"the mask of the {kind} rows of fold {k} has shape {rows.shape}: give one "
                f"entry for each of the {n} rows"
            )
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
        raise ValueError(
            f"the {kind} rows of fold {k} must be row indices from 0 to {n - 1}, and at least one"
        )
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(
            f"the {kind} rows of fold {k} must be row indices from 0 to {n - 1}, but go from "
            f"{rows.min()} to {rows.max()}"
        )
    return rows.astype(np.int64, copy=False)
