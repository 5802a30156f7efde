"""How good features are, by least squares on few rows: all penalties from one decomposition.

With K the products of centred rows with each other, K = Q diag(s) Q', the predictions for held-out
rows under the penalty a are K_held Q (s + a)^-1 Q' y. This is quick where rows are few, whatever
the number of features.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tenfold.metrics.metric import metric

FEW_ROWS = 600  # beyond it, statistics of the columns are quicker


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
    products = np.asarray(X, np.float64) @ np.asarray(X, np.float64).T
    scores = [
        [_score(y[held], said, scoring) for said in _said(products, wanted, learn, held, alphas)]
        for learn, held in folds
    ]
    return float(np.mean(scores, axis=0).max())


def _said(
    products: np.ndarray,
    wanted: np.ndarray,
    learn: np.ndarray,
    held: np.ndarray,
    alphas: list[float],
) -> list[np.ndarray]:
    """Predictions for the rows held out, one array for each penalty."""
    means = products[:, learn].mean(axis=1)
    centred = products - means - means[:, None] + means[learn].mean()
    sizes, Q = np.linalg.eigh(centred[np.ix_(learn, learn)])
    constant = wanted[learn].mean(axis=0)
    inside = Q.T @ (wanted[learn] - constant)
    across = centred[np.ix_(held, learn)] @ Q
    sizes = np.maximum(sizes, 0.0)[:, None]
    return [across @ (inside / (sizes + alpha)) + constant for alpha in alphas]


def _score(y: np.ndarray, said: np.ndarray, scoring: str) -> float:
    if y.dtype.kind != "f":
        return float((said.argmax(axis=1) == y).mean())
    one = metric(scoring)
    return float(one.value(one.part(y, said[:, 0], None, None)))
