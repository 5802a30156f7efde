"""Hold-out splits: disjoint random parts of the rows for training, validation and test."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import floor, sqrt
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from tenfold.base._sklearn import num_samples, safe_indexing
from tenfold.io.opener import is_rows_like

_MAX_STANDARD_ERROR = 0.05  # of an error rate near one half; reached with 100 rows


class SmallPartWarning(UserWarning):
    """A part is too small for a reliable score."""


class Part(NamedTuple):
    """A part of the rows.

    Attributes
    ----------
    X : the rows, of the same type as the input
    y : their target, or None
    rows : (n_part,) ascending row indices
    """

    X: Any
    y: Any
    rows: np.ndarray


def split_train_validation_test(
    X: Any,
    y: Any = None,
    *,
    shares: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int | None = 0,
    stratify: bool = False,
) -> list[Part]:
    """Split rows at random into training, validation and test parts.

    Fit on the first, choose on the second, and evaluate on the third once, at the end
    (`SealedTest` counts).

    Parameters
    ----------
    X : array, sparse matrix, table or list
        The rows. For files and clusters, `split_rows` gives row indices.
    y : array or column name, optional
        Their target.
    shares : sequence of float
        Share of each part, rounded by the largest remainder.
    seed : int or None
        The same seed gives the same parts.
    stratify : bool
        Whether each part gets the same share of each class.

    Returns
    -------
    list of Part

    See Also
    --------
    split_train_test : Two parts.
    split_rows : Row indices only.

    Examples
    --------
    >>> import numpy as np
    >>> train, dev, test = split_train_validation_test(
    ...     np.arange(2000.0).reshape(1000, 2), np.arange(1000)
    ... )
    >>> train.X.shape, dev.X.shape, test.X.shape
    ((700, 2), (100, 2), (200, 2))
    >>> np.intersect1d(train.rows, test.rows).size
    0
    """
    if is_rows_like(X):
        raise TypeError(
            "rows of files and clusters are not copied: split their indices with "
            "split_rows(n_rows, shares)"
        )
    is_name = isinstance(y, str)
    if stratify and y is None:
        raise ValueError("stratify=True needs y, the classes")
    labels = np.asarray(X[y] if is_name else y) if stratify else None
    parts = split_rows(num_samples(X), shares, seed=seed, labels=labels)
    targets = [y if is_name or y is None else safe_indexing(y, rows) for rows in parts]
    return [Part(safe_indexing(X, rows), t, rows) for rows, t in zip(parts, targets, strict=True)]


def split_train_test(
    X: Any, y: Any = None, *, test: float = 0.2, seed: int | None = 0, stratify: bool = False
) -> list[Part]:
    """Split rows at random into a training and a test part.

    Parameters
    ----------
    X : array, sparse matrix, table or list
        The rows.
    y : array or column name, optional
        Their target.
    test : float
        Share of the test part.
    seed : int or None
        The same seed gives the same parts.
    stratify : bool
        Whether each part gets the same share of each class.

    Returns
    -------
    list of Part

    Examples
    --------
    >>> train, test = split_train_test(list(range(500)))
    >>> len(train.X), len(test.X), test.y
    (400, 100, None)
    """
    return split_train_validation_test(X, y, shares=(1 - test, test), seed=seed, stratify=stratify)


def split_rows(
    n: int, shares: Sequence[float] = (0.7, 0.1, 0.2), *, seed: int | None = 0, labels: Any = None
) -> list[np.ndarray]:
    """Row indices of random, disjoint parts that cover all rows.

    Parameters
    ----------
    n : int
        Number of rows.
    shares : sequence of float
        Share of each part; the first is the training part.
    seed : int or None
        The same seed gives the same parts.
    labels : (n_rows,) array, optional
        Classes, for a stratified split.

    Returns
    -------
    list of arrays
        Ascending row indices of each part.

    Warns
    -----
    SmallPartWarning
        If a validation or test part is too small for a reliable score.

    Examples
    --------
    >>> train, test = split_rows(1000, (0.9, 0.1))
    >>> len(train), len(test), sorted([*train, *test]) == list(range(1000))
    (900, 100, True)
    """
    sizes = part_sizes(n, shares)
    for size in sizes[1:]:
        _warn_if_small(size)
    return draw_parts(np.arange(n), sizes, seed, labels)


def draw_parts(
    rows: np.ndarray, sizes: Sequence[int], seed: Any, labels: Any = None
) -> list[np.ndarray]:
    """Random parts of these sizes, each in ascending order."""
    parts, remaining = [], rows
    for size in reversed(sizes[1:]):
        classes = None if labels is None else labels[remaining]
        remaining, part = train_test_split(
            remaining, test_size=size, random_state=seed, stratify=classes
        )
        parts.append(np.sort(part))
    return [np.sort(remaining), *reversed(parts)]


def part_sizes(n: int, shares: Sequence[float]) -> list[int]:
    """Integers that add up to n, nearest to the shares.

    Examples
    --------
    >>> part_sizes(10, (0.7, 0.1, 0.2)), part_sizes(8, (0.7, 0.1, 0.2))
    ([7, 1, 2], [5, 1, 2])
    """
    if len(shares) < 2 or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
        raise ValueError(f"shares must be positive and add up to 1, not {tuple(shares)}")
    exact = [round(n * share, 9) for share in shares]
    sizes = [floor(size) for size in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda i: sizes[i] - exact[i])
    for i in by_remainder[: n - sum(sizes)]:
        sizes[i] += 1
    if min(sizes) < 1:
        raise ValueError(f"{n} rows are too few for parts of {tuple(shares)}: one is empty")
    return sizes


def _warn_if_small(size: int) -> None:
    error = 0.5 / sqrt(size)
    if error > _MAX_STANDARD_ERROR:
        warnings.warn(
            f"a part has {size} rows: an error rate measured on it has a standard error of up to "
            f"{error:.2g}, and a mean squared error one of about {100 * sqrt(2 / size):.0f} %. "
            "Give the part more rows, or cross-validate",
            SmallPartWarning,
            stacklevel=3,
        )
