"""Where k-medoids starts: far-apart rows, any rows, or PAM's greedy choice."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.solve.spreading import draw


def any_rows(D: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """As many different rows as there are clusters."""
    return rng.choice(len(D), k, replace=False)


def far_apart(D: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn in proportion to their distance to the nearest one so far; best of a few tries.

    k-means++ draws in proportion to squares because its cost is one of squares; this cost is one of
    distances.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat([0.0, 10.0, 20.0], 5)
    >>> chosen = far_apart(np.abs(x[:, None] - x), 3, np.random.default_rng(0))
    >>> sorted(x[chosen].tolist())
    [0.0, 10.0, 20.0]
    """
    tries = 2 + int(np.log(k))
    chosen = rng.integers(len(D), size=1)
    reach = D[chosen[0]].astype(np.float64)
    for _ in range(1, k):
        free = np.ones(len(D))
        free[chosen] = 0
        pull = reach * free
        candidates = draw(pull if pull.any() else free, tries, rng)  # free: k different rows lack
        reaches = np.minimum(D[candidates], reach)
        best = int(reaches.sum(axis=1).argmin())
        chosen = np.append(chosen, candidates[best])
        reach = reaches[best]
    return chosen


def greedy(D: np.ndarray, k: int, _: np.random.Generator) -> np.ndarray:
    """PAM's BUILD: the most central row, then each time the row that lowers the cost most.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0, 10.0])
    >>> greedy(np.abs(x[:, None] - x), 2, np.random.default_rng(0)).tolist()
    [1, 3]
    """
    return greedy_rows(D, k)


@njit(cache=True, nogil=True)
def greedy_rows(D, k):  # noqa: ANN001, ANN201  (n, n) -> (k,)
    """The rows of BUILD, the first on a tie."""
    n = len(D)
    chosen, taken = np.empty(k, np.int64), np.zeros(n, np.bool_)
    reach = np.full(n, np.inf)
    for j in range(k):
        best, least = -1, np.inf
        for c in range(n):
            if taken[c]:
                continue
            row, total = D[c], 0.0
            for i in range(n):
                total += min(row[i], reach[i])
            if total < least:
                best, least = c, total
        chosen[j], taken[best] = best, True
        for i in range(n):
            reach[i] = min(reach[i], D[best, i])
    return chosen


STARTS = {"k-medoids++": far_apart, "random": any_rows, "build": greedy}
