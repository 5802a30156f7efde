"""Targets of which some are unknown."""

from __future__ import annotations

import warnings
from math import isnan
from typing import Any

import numpy as np

UNLABELED = -1  # as in scikit-learn
_TEXT_MARKS = {"-1", "nan"}  # what NumPy makes of -1 and NaN in an array of texts


def mark_unlabeled(y: Any) -> np.ndarray:
    """The target as an array in which -1 stands for rows without a label; so do None and NaN.

    Warns if 1 is the only class, as for the classes -1 and 1.

    Raises
    ------
    ValueError
        If no row has a label, or a mark has become text.
    """
    y = np.asarray(y)
    if y.dtype.kind == "f" and np.isnan(y).any():
        y = np.where(np.isnan(y), float(UNLABELED), y)
    elif y.dtype.kind == "O":
        missing = [each is None or (isinstance(each, float) and isnan(each)) for each in y.flat]
        y = y.copy()
        y[np.reshape(missing, y.shape)] = UNLABELED
    if y.dtype.kind == "U" and (marks := _TEXT_MARKS.intersection(y.ravel().tolist())):
        raise ValueError(
            f"the label {marks.pop()!r} is text: rows without a label are marked by -1, None or "
            "NaN beside texts in an array of dtype object, as np.array(['a', None], object)"
        )
    if y.dtype.kind in "US" or y.ndim != 1:
        return y  # every row has a label, or scikit-learn says what is wrong
    known = set(y[y != UNLABELED].tolist())
    if not known:
        raise ValueError("no row has a label: -1, None and NaN mark rows without one")
    if known == {1}:
        warnings.warn(
            "all rows with a label are of the class 1: -1, None and NaN mark rows without a label, "
            "so write the classes -1 and 1 as 0 and 1, or as words in an array of dtype object",
            stacklevel=3,
        )
    return y


def number_labels(y: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Classes of an array of dtype object, which may not be sorted with -1, and their numbers.

    Examples
    --------
    >>> number_labels(np.array(["b", -1, "a"], object))
    (array(['a', 'b'], dtype=object), array([ 1, -1,  0]))
    """
    if y.dtype.kind != "O" or y.ndim != 1:
        return None, y
    has_label, numbers = y != UNLABELED, np.full(len(y), UNLABELED)
    try:
        classes, numbers[has_label] = np.unique(y[has_label], return_inverse=True)
    except TypeError:
        kinds = sorted({type(each).__name__ for each in y[has_label]})
        raise TypeError(f"labels are of several kinds: {', '.join(kinds)}") from None
    return classes, numbers


def split_rows(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows with a label, and of those without."""
    has_label = y != UNLABELED
    return np.flatnonzero(has_label), np.flatnonzero(~has_label)
