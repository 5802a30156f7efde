"""A lookup-table classifier: training error zero, and nothing learned."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.base._sklearn import Interval


class MemorizingClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that memorizes its training rows: training error zero, no generalization.

    A row within `radius` of a training row gets that row's label, every other row the first class.
    With an infinite radius this is the nearest-neighbor classifier.

    Parameters
    ----------
    radius : float
        Largest distance to a training row.

    Attributes
    ----------
    classes_ : (n_classes,) labels; the first is predicted far from all training rows
    n_features_in_ : number of columns

    See Also
    --------
    NearestCentroid : A simple classifier that generalizes.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1])
    >>> model = MemorizingClassifier().fit(X, y)
    >>> model.score(X, y), model.predict(X + 1e-6).tolist()
    (1.0, [-1, -1, -1, -1])
    """

    _parameter_constraints = {"radius": [Interval(Real, 0, None, closed="both")]}

    def __init__(self, radius: float = 0.0) -> None:
        self.radius = radius

    def fit(self, X: Any, y: Any) -> Self:
        """Store the training rows.

        Parameters
        ----------
        X : (n_rows, n_features) array
            The rows.
        y : (n_rows,) array
            Their labels.

        Returns
        -------
        self
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, self._labels = np.unique(y, return_inverse=True)
        self._memory = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(X)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The label of the nearest training row within `radius`, else the first class.

        Parameters
        ----------
        X : (n_rows, n_features) array
            The rows.

        Returns
        -------
        (n_rows,) array of labels
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        distances, nearest = self._memory.kneighbors(X)
        is_near = distances[:, 0] <= self.radius
        return self.classes_[np.where(is_near, self._labels[nearest[:, 0]], 0)]
