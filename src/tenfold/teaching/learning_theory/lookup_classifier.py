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
    """Learns the training rows by heart, and knows nothing else.

    A row within `radius` of a training row gets that row's label, every other row the first class:
    training error zero, and no idea beyond. With radius 0 this is the extreme classifier of the
    notes, +1 in a vanishing area around each +1 example and -1 elsewhere. [003, unit 1]

    Parameters
    ----------
    radius : float
        How far memory reaches; infinite is the nearest neighbour.

    Attributes
    ----------
    classes_ : (k,) labels; the first is given to all that is new
    n_features_in_ : number of columns

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
        """Remember the rows.

        Parameters
        ----------
        X : (n, p) array
            The rows.
        y : (n,) array
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
        """The label of the remembered row, where one is near enough; else the first class.

        Parameters
        ----------
        X : (n, p) array
            The rows.

        Returns
        -------
        (n,) array of labels
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        distances, nearest = self._memory.kneighbors(X)
        known = distances[:, 0] <= self.radius
        return self.classes_[np.where(known, self._labels[nearest[:, 0]], 0)]
