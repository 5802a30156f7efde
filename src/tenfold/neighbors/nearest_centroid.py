"""Nearest-centroid classification."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.base.one_pass import OnePassClassifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.distances import squared_distances
from tenfold.stats.moments import ClassMoments, class_moments


class NearestCentroid(OnePassClassifier):
    r"""Predict the class whose mean is nearest: :math:`\arg\min_c \lVert x - \mu_c \rVert`.

    Parameters
    ----------
    shrink_threshold : float, optional
        Shrink each class mean towards the overall mean by this many standard errors, by column.

    Attributes
    ----------
    centroids_ : (n_classes, n_features) class means, shrunken if a threshold is given
    classes_ : (n_classes,) class labels

    See Also
    --------
    LinearDiscriminantAnalysis : nearest centroid in the metric of the pooled covariance.
    GaussianNB : with a variance for each class and column.

    References
    ----------
    R. Tibshirani, T. Hastie, B. Narasimhan and G. Chu (2002), Diagnosis of multiple cancer types by
    shrunken centroids of gene expression.

    Examples
    --------
    >>> from tenfold import NearestCentroid
    >>> model = NearestCentroid().fit([[0.0], [1.0], [8.0], [9.0]], ["low", "low", "high", "high"])
    >>> model.predict([[3.0], [6.0]]).tolist()
    ['low', 'high']
    """

    _min_classes = 2
    _parameter_constraints = {"shrink_threshold": [Interval(Real, 0, None, closed="neither"), None]}

    def __init__(self, *, shrink_threshold: float | None = None) -> None:
        self.shrink_threshold = shrink_threshold

    def _statistic(self, rows: Rows) -> ClassMoments:
        return rows.total(class_moments, len(self.classes_))

    def _finalize(self, s: ClassMoments, dtype: np.dtype) -> dict[str, Any]:
        center = (s.n / s.n.sum()) @ s.mean
        offset = s.mean - center
        if self.shrink_threshold is not None:
            deviation = np.sqrt(s.scatter.sum(axis=0) / max(s.n.sum() - (s.n > 0).sum(), 1))
            shares = np.maximum(1 / np.maximum(s.n, 1) - 1 / s.n.sum(), 0)
            error = np.sqrt(shares)[:, None] * (deviation + np.median(deviation))
            shrunken = np.maximum(np.abs(offset) - self.shrink_threshold * error, 0)
            offset = np.sign(offset) * shrunken
        return {"centroids_": (center + offset).astype(dtype)}

    def _scorer(self) -> tuple:
        return negative_squared_distances, self.centroids_, self.statistic_.n > 0


def negative_squared_distances(
    chunk: Chunk, centroids: np.ndarray, has_rows: np.ndarray
) -> np.ndarray:
    """Minus the squared distance to each centroid; -inf for classes without rows."""
    return np.where(has_rows, -squared_distances(chunk.X, centroids), -np.inf)
