"""How good features are, by least squares on few rows: all penalties from one decomposition.

A search would say the same, but on few rows its own work takes longer than the decompositions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tenfold.linear.normal_equations import decomposed
from tenfold.metrics.metric import metric
from tenfold.rows import Rows
from tenfold.rows.arrays import Arrays

FEW_ROWS = 600  # beyond it, a search is quicker: it learns from statistics of the columns


def best_score(
    X: np.ndarray, y: np.ndarray, alphas: list[float], scoring: str, folds: Iterable[Any]
) -> float:
    """Best mean score over folds of least squares with one of some penalties.

    Parameters
    ----------
    X : (n, p) array
        Features.
    y : (n,) array
        Values, or class numbers; these are learned as columns of zeros and ones.
    alphas : list of float
        Penalties, as of `Ridge`.
    scoring : str
        Score of values; classes are judged by accuracy.
    folds : pairs of arrays
        Numbers of the rows to learn from, and of those held out.
    """
    classes = y.dtype.kind != "f"
    wanted = np.eye(int(y.max()) + 1)[y] if classes else np.asarray(y, np.float64)[:, None]
    scores = []
    for learn, held in folds:
        known = decomposed(Rows(Arrays(X[learn], wanted[learn])), intercept=True)
        found = (known.solution(np.array([alpha])) for alpha in alphas)
        scores.append([_score(y[held], X[held] @ coef + b, scoring) for coef, b in found])
    return float(np.mean(scores, axis=0).max())


def _score(y: np.ndarray, said: np.ndarray, scoring: str) -> float:
    if y.dtype.kind != "f":
        return float((said.argmax(axis=1) == y).mean())
    one = metric(scoring)
    return float(one.value(one.part(y, said[:, 0], None, None)))
