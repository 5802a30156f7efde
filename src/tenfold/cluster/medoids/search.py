"""The search for medoids in a matrix of distances: a start, and rounds until nothing moves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.cluster.medoids.swaps import attach, central_rows, eager_round, steepest_swap
from tenfold.solve import until_still


class Found(NamedTuple):
    """Where one start has led."""

    medoids: np.ndarray  # (k,) row numbers
    labels: np.ndarray  # (n,) place of the nearest medoid
    cost: float
    report: dict[str, Any]


def search(D: np.ndarray, start: np.ndarray, method: str, max_iter: int) -> Found:
    """Medoids that no round of a method improves.

    Parameters
    ----------
    D : (n, n) array
        Symmetric distances.
    start : (k,) array
        Row numbers of the first medoids.
    method : {"fasterpam", "pam", "alternate"}
        Swap as soon as the cost falls; only the best swap of all; or reassign rows and choose the
        most central member of each cluster in turns.
    max_iter : int
        Most rounds.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])
    >>> found = search(np.abs(x[:, None] - x), np.array([0, 1]), "fasterpam", 10)
    >>> sorted(found.medoids.tolist()), found.cost
    ([1, 4], 4.0)
    """
    n = len(D)
    near, first, second = np.zeros(n, np.int32), np.empty(n), np.empty(n)  # sums in float64
    state = np.array(start, np.int64), 0
    loop: until_still[tuple[np.ndarray, int]] = until_still(state, tol=0, max_iter=max_iter)
    for medoids, idle in loop:
        medoids = medoids.copy()
        attach(D, medoids, near, first, second)
        before = first.sum()
        if len(medoids) == n:
            moved = 0
        elif method == "alternate":
            moved = central_rows(D, medoids, near, first, second)
        elif len(medoids) == 1:  # there is no second nearest
            moved = only_medoid(D, medoids)
        elif method == "pam":
            moved = steepest_swap(D, medoids, near, first, second)
        else:
            moved, idle = eager_round(D, medoids, near, first, second, int(idle))
            moved = 0 if idle >= n else moved
        loop.tell((medoids, idle), objective=before, change=moved)
    medoids = loop.state[0]
    attach(D, medoids, near, first, second)
    return Found(medoids, near, float(first.sum()), loop.report)


def only_medoid(D: np.ndarray, medoids: np.ndarray) -> int:
    """The most central row of all, in place; whether it is another one."""
    totals = D.sum(axis=1, dtype=np.float64)
    moved = totals.min() < totals[medoids[0]]
    if moved:
        medoids[0] = totals.argmin()
    return int(moved)
