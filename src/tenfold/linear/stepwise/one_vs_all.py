"""Classifiers that learn row by row: each score tells one class from all others."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from tenfold.estimator.families import require_target
from tenfold.estimator.labels import number_labels
from tenfold.linear.scores import LinearClassifier
from tenfold.linear.stepwise.epochs import Task
from tenfold.linear.stepwise.sequential import EPOCHS, Sequential
from tenfold.linear.ways.class_cost import class_cost
from tenfold.linear.ways.objective import weigh
from tenfold.rows import Rows

CLASSIFIER = {  # settings that all classifiers share
    **EPOCHS,
    "n_jobs": [None, Integral],
    "class_weight": [StrOptions({"balanced"}), dict, None],
}


class OneVsAll(Sequential, LinearClassifier):  # pyright: ignore[reportIncompatibleMethodOverride]
    """What classifiers share that learn row by row; two classes need one score."""

    _min_classes = 2

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One epoch over further rows, from where the model stands.

        Without shuffling, a stream in parts teaches the same as the whole in one epoch.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their labels.
        classes : array, optional
            All labels there are; needed in the first call.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        self._check_partial()
        with self._at_work():
            known = self._known_classes(classes)
            rows = self._rows(X, y, sample_weight, reset=not hasattr(self, "classes_"))
            require_target(self, rows)
            self.classes_, rows = number_labels(rows, known)
            self._more_rows(rows)
        return self

    def _known_classes(self, classes: Any) -> np.ndarray:
        asked = None if classes is None else np.unique(classes)
        known = getattr(self, "classes_", asked)
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if asked is not None and not np.array_equal(asked, known):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call, {known}")
        if len(known) < self._min_classes:
            raise ValueError(f"{len(known)} class is not enough to tell classes apart: give two")
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit: the rows to come are "
                "not known. Give the weights themselves, as "
                "sklearn.utils.class_weight.compute_class_weight makes them from a sample."
            )
        return known

    def _task(self, rows: Rows) -> Task:
        k, m = len(self.classes_), self._m
        weight = rows.total(weigh, k) if isinstance(self.class_weight, str) else np.ones(k)
        cost = class_cost(self.class_weight, self.classes_, weight)
        cost = np.ones(k) if cost is None else np.asarray(cost, np.float64)
        others = cost[:1] if m == 1 else np.ones(k)
        targets = np.arange(k - m, k, dtype=np.float64)
        return Task(targets, np.column_stack([others, cost[k - m :]]), np.zeros(0, bool))
