"""Ambiguous regions of one-vs-rest and one-vs-one classifiers: no class, or several, claim a point.

The largest of K discriminants has no such regions.

References
----------
Bishop, C. (2006). Pattern Recognition and Machine Learning, section 4.1.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier


def count_claims(model: Any, X: Any) -> np.ndarray:
    """Number of classes whose classifier accepts each row; 1 is unambiguous."""
    return np.stack([classifier.predict(X) for classifier in model.estimators_]).sum(axis=0)


def count_votes(model: Any, X: Any) -> np.ndarray:
    """Votes of all pairs of classes for each class, (n, k)."""
    k = len(model.classes_)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    votes = np.zeros((len(X), k), np.int64)
    for (i, j), classifier in zip(pairs, model.estimators_, strict=True):
        second = np.asarray(classifier.predict(X)) == 1
        votes[:, i] += ~second
        votes[:, j] += second
    return votes


def is_ambiguous(model: OneVsRestClassifier | OneVsOneClassifier, X: Any) -> np.ndarray:
    """Whether one-vs-rest or one-vs-one is ambiguous by labels alone, for each row.

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
    votes = count_votes(model, X)
    return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
