"""Ambiguous regions of one-vs-rest and one-vs-one classifiers: no class, or several, claim a point.

The largest of K discriminants has no such regions. [004, 3.3]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier


def count_claims(model: Any, X: Any) -> np.ndarray:
    """Number of classes whose classifier claims each row; only 1 is clear."""
    return np.stack([part.predict(X) for part in model.estimators_]).sum(axis=0)


def count_votes(model: Any, X: Any) -> np.ndarray:
    """Votes of all pairs of classes for each class, (n, k)."""
    k = len(model.classes_)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    counted = np.zeros((len(X), k), np.int64)
    for (i, j), part in zip(pairs, model.estimators_, strict=True):
        second = np.asarray(part.predict(X)) == 1
        counted[:, i] += ~second
        counted[:, j] += second
    return counted


def is_ambiguous(model: OneVsRestClassifier | OneVsOneClassifier, X: Any) -> np.ndarray:
    """Which rows lie where one-vs-rest or one-vs-one cannot decide by labels alone.

    Parameters
    ----------
    model : OneVsRestClassifier or OneVsOneClassifier
        scikit-learn's wrapper around any classifier, fitted on at least three classes.
    X : array
        Rows, for instance a grid over the plane.

    Returns
    -------
    (n,) array of bool

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> from tenfold.linear.least_squares_classifier import LeastSquaresClassifier
    >>> X = np.array([[0.0, 1.0], [0.1, 1.2], [-1.0, -1.0], [-1.2, -1.0], [1.0, -1.0], [1.2, -1]])
    >>> model = OneVsRestClassifier(LeastSquaresClassifier()).fit(X, [0, 0, 1, 1, 2, 2])
    >>> is_ambiguous(model, np.array([[0.0, 3.0], [0.0, -0.3]])).tolist()
    [False, True]
    """
    if isinstance(model, OneVsRestClassifier):
        return count_claims(model, X) != 1
    counted = count_votes(model, X)
    return (counted == counted.max(axis=1, keepdims=True)).sum(axis=1) > 1
