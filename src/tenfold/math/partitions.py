"""Partitions of a set: validity, Stirling and Bell numbers, enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import comb, factorial
from typing import Any

import numpy as np


def group_indices(labels: Any) -> list[np.ndarray]:
    """Row indices of each cluster, in the order of the labels.

    Examples
    --------
    >>> [group.tolist() for group in group_indices(["b", "a", "b"])]
    [[1], [0, 2]]
    """
    _, codes = np.unique(np.asarray(labels), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])


def is_partition(parts: Iterable[Any], n: int) -> bool:
    """Whether parts hold each of the rows 0 to n - 1 exactly once, and none is empty.

    Parts must be pairwise disjoint: that no row lies in all of them is not enough.

    Parameters
    ----------
    parts : sequence of sequences of int
        The row numbers of each part.
    n : int
        Number of rows.

    Examples
    --------
    >>> is_partition([[0, 2], [1]], 3), is_partition([[0, 1], [1, 2], [0, 2]], 3)
    (True, False)
    """
    parts = [np.asarray(part, dtype=np.int64).ravel() for part in parts]
    if n == 0 or any(len(part) == 0 for part in parts):
        return n == 0 and not parts
    members = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
    return len(members) == n and bool((members == np.arange(n)).all())


def stirling_number(n: int, k: int) -> int:
    r"""Number of partitions of n elements into k clusters: the Stirling number of the second kind.

    .. math:: \frac{1}{k!} \sum_{i=0}^{k} (-1)^i \binom{k}{i} (k - i)^n

    Exact, as a Python integer.

    Parameters
    ----------
    n : int
        Number of elements.
    k : int
        Number of clusters, none of them empty.

    Examples
    --------
    >>> stirling_number(3, 2), f"{float(stirling_number(100, 3)):.4e}"
    (3, '8.5896e+46')
    """
    if n < 0 or k < 0:
        raise ValueError(f"n={n} and k={k} must not be negative")
    return sum((-1) ** i * comb(k, i) * (k - i) ** n for i in range(k + 1)) // factorial(k)


def count_partitions(n: int, max_clusters: int | None = None) -> int:
    """Number of partitions of n elements, into `max_clusters` clusters at most if that is given.

    Without `max_clusters` it is the n-th Bell number.

    Parameters
    ----------
    n : int
        Number of elements.
    max_clusters : int, optional
        Largest number of clusters.

    Examples
    --------
    >>> [count_partitions(n) for n in range(6)], count_partitions(4, 2)
    ([1, 1, 2, 5, 15, 52], 8)
    """
    return sum(
        stirling_number(n, k)
        for k in range((n if max_clusters is None else min(n, max_clusters)) + 1)
    )


def enumerate_partitions(n: int, k: int) -> Iterator[np.ndarray]:
    """Labels of every partition of n elements into k clusters, for exhaustive search.

    Clusters are numbered by their first member, so that each partition occurs once.

    Parameters
    ----------
    n : int
        Number of elements.
    k : int
        Number of clusters, none of them empty.

    Examples
    --------
    >>> [labels.tolist() for labels in enumerate_partitions(3, 2)]
    [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
    """
    yield from (np.array(labels, np.int64) for labels in _extend_labels([], n, k))


def _extend_labels(labels: list[int], n: int, k: int) -> Iterator[list[int]]:
    used = max(labels, default=-1) + 1
    left = n - len(labels)
    if left == 0:
        yield labels
        return
    for label in range(min(used + 1, k)):
        if max(used, label + 1) + left - 1 >= k:  # enough elements are left for all clusters
            yield from _extend_labels([*labels, label], n, k)
