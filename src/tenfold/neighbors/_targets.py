"""What classifiers and regressors of neighbors share: targets that are stored with the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tenfold.base._sklearn import StrOptions
from tenfold.neighbors._base import NeighborsModel

WEIGHTS_CONSTRAINT: dict[str, Any] = {
    "weights": [StrOptions({"uniform", "distance"}), callable, None]
}


class SupervisedNeighbors(NeighborsModel):
    """Training rows with one or several targets.

    Parameters
    ----------
    weights : {"uniform", "distance"}, callable or None
        Votes: one each; inverse distances, where rows at distance zero count alone; or a function
        of an array of distances.
    """

    _multi_output = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Store the rows and their targets.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for metric="precomputed" their distances from each other.
        y : array or column name
            Targets, labels of a classifier, (n,) or (n, n_outputs).
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.
        groups : array, optional
            Group of each row: predictions with `groups=` leave out rows of the group of the query.

        Returns
        -------
        self
        """
        return self._fit_with_groups(X, y, sample_weight, groups)

    @property
    def _y(self) -> np.ndarray:
        return self.statistic_.y
