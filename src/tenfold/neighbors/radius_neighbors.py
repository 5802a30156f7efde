"""Classification and regression by all rows within a radius."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, cast

import numpy as np

from tenfold.base.docstrings import inherit_descriptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neighbors._base import KEEP_CONSTRAINT, NEIGHBOR_CONSTRAINTS, RADIUS_CONSTRAINT
from tenfold.neighbors._brute_force import NeighborLists
from tenfold.neighbors._searches import RadiusSearch
from tenfold.neighbors._stored_rows import NeighborRows
from tenfold.neighbors._targets import WEIGHTS_CONSTRAINT
from tenfold.neighbors._votes import (
    NeighborSearch,
    call_weights,
    refuse_nan_weights,
    refuse_zero_weights,
)
from tenfold.neighbors.classification import NeighborsClassifier
from tenfold.neighbors.regression import NeighborsRegressor


@inherit_descriptions
class RadiusNeighborsClassifier(RadiusSearch, NeighborsClassifier):
    r"""Predict the class that most of the training rows within a radius have.

    .. math:: \hat P(c \mid q) = \frac{\sum_{d(x_i, q) \le r} v_i [y_i = c]}
              {\sum_{d(x_i, q) \le r} v_i}

    with votes :math:`v_i = 1`, or the inverse distances, times the weights of the rows. Of classes
    with equally many votes the first is predicted. Parameters are those of
    `sklearn.neighbors.RadiusNeighborsClassifier`.

    Parameters
    ----------
    radius : float
        Largest distance of neighbors, itself included.
    outlier_label : label, list of labels, "most_frequent" or None
        Label of rows without neighbors; None raises an error for such rows.

    Attributes
    ----------
    outlier_label_ : labels of rows without neighbors, one for each output, or None

    See Also
    --------
    KNeighborsClassifier : The vote of a fixed number of neighbors.

    References
    ----------
    J. L. Bentley (1975), A survey of techniques for fixed radius near neighbor searching.

    Examples
    --------
    >>> from tenfold import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[1.5]]).tolist(), model.predict_proba([[1.0]]).round(3).tolist()
    ([0], [[0.667, 0.333]])
    """

    _law_rows = 1000
    _law_params = {"outlier_label": "most_frequent"}
    _parameter_constraints = {
        **RADIUS_CONSTRAINT,
        **NEIGHBOR_CONSTRAINTS,
        **KEEP_CONSTRAINT,
        **WEIGHTS_CONSTRAINT,
        "outlier_label": [Integral, str, "array-like", None],
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        outlier_label: Any = None,
        metric_params: dict | None = None,
        n_jobs: int | None = None,
        keep_rows: str = "auto",
    ) -> None:
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
        self.radius = radius
        self.weights = weights
        self.outlier_label = outlier_label
        self.keep_rows = keep_rows

    def _finalize(self, s: NeighborRows, dtype: np.dtype) -> dict[str, Any]:
        learned = super()._finalize(s, dtype)
        known: list[Any] = list(self.classes_) if learned["outputs_2d_"] else [self.classes_]
        counts = [np.bincount(codes, s.w) for codes in s.y.reshape(s.n_rows, -1).T]
        return {**learned, "outlier_label_": self._outlier_labels(counts, known)}

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        learned = super()._fit(rows, rng)
        if self._leaves_rows(rows):
            counts = [rows.total(count_classes, len(self.classes_))]
            known: list[Any] = [self.classes_]
            learned["outlier_label_"] = self._outlier_labels(counts, known)
        return learned

    def _outlier_labels(self, counts: list[np.ndarray], known: list[np.ndarray]) -> Any:
        """Labels of rows without neighbors, one for each output."""
        label = self.outlier_label
        if label is None:
            return None
        if isinstance(label, str) and label == "most_frequent":
            return [classes[count.argmax()] for classes, count in zip(known, counts, strict=True)]
        labels = label if np.ndim(label) else [label] * len(known)
        if len(labels) != len(known):
            raise ValueError(
                f"The length of outlier_label: {label} is inconsistent with the output length: "
                f"{len(known)}"
            )
        for classes, each in zip(known, labels, strict=True):
            if np.ndim(each):
                raise TypeError(
                    f"The outlier_label of classes {classes} is supposed to be a scalar, "
                    f"got {each}."
                )
            if np.append(classes, each).dtype != classes.dtype:
                raise TypeError(
                    f"The dtype of outlier_label {each} is inconsistent with classes {classes} "
                    "in y."
                )
        return labels

    def _predict_labels(self, X: Any, groups: Any) -> np.ndarray:
        shares, lonely = self._shares(X, groups)
        columns = []
        for i, (known, share) in enumerate(zip(self._class_lists, shares, strict=True)):
            labels = known[np.where(lonely, 0, share.argmax(axis=1))]
            if lonely.any():
                labels[lonely] = self.outlier_label_[i]
            columns.append(labels)
        return np.stack(columns, axis=1) if self.outputs_2d_ else columns[0]

    def _predict_shares(self, X: Any, groups: Any) -> Any:
        shares, lonely = self._shares(X, groups)
        for i, (known, share) in enumerate(zip(self._class_lists, shares, strict=True)):
            if lonely.any():
                share[lonely] = known == self.outlier_label_[i]
        return self._split_shares(np.hstack(shares))

    def _shares(self, X: Any, groups: Any) -> tuple[list[np.ndarray], np.ndarray]:
        """Shares of classes for each output, and which rows have no neighbors."""
        sizes = [len(known) for known in self._class_lists]
        if self._is_elsewhere:
            found = self._lists_elsewhere(X, float(self.radius), groups)
            own = list_weights(found.lists, self.weights, found.w)
            sums = _shares_of_lists(found.lists, own, cast("Any", found.y), tuple(sizes))
        else:
            s = self.statistic_
            codes = self._left_out(X, groups)
            search = NeighborSearch(self._index, 0, float(self.radius), s.w, **codes)
            y = s.y.reshape(s.n_rows, -1)
            sums = self._map_queries(X, shares_of_chunk, search, y, tuple(sizes), self.weights)
        lonely = sums[:, -1] == 0
        if lonely.any() and self.outlier_label_ is None:
            raise ValueError(
                f"No neighbors found for test samples {np.flatnonzero(lonely)!r}, you can try "
                "using larger radius, giving a label for outliers, or considering removing them "
                "from your dataset."
            )
        for known, label in zip(self._class_lists, self.outlier_label_ or [], strict=False):
            if lonely.any() and label not in known:
                warnings.warn(
                    f"Outlier label {label} is not in training classes. All class probabilities "
                    "of outliers will be assigned with 0.",
                    stacklevel=4,
                )
        return np.split(sums[:, :-1], np.cumsum(sizes)[:-1], axis=1), lonely


@inherit_descriptions
class RadiusNeighborsRegressor(RadiusSearch, NeighborsRegressor):
    r"""Predict the mean target of the training rows within a radius.

    .. math:: \hat y(q) = \frac{\sum_{d(x_i, q) \le r} v_i y_i}{\sum_{d(x_i, q) \le r} v_i}

    with weights :math:`v_i = 1`, or the inverse distances, times the weights of the rows.
    Parameters are those of `sklearn.neighbors.RadiusNeighborsRegressor`.

    Parameters
    ----------
    radius : float
        Largest distance of neighbors, itself included. Rows without neighbors get NaN, with a
        warning.

    See Also
    --------
    KNeighborsRegressor : The mean of a fixed number of neighbors.

    References
    ----------
    J. L. Bentley (1975), A survey of techniques for fixed radius near neighbor searching.

    Examples
    --------
    >>> from tenfold import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(1.0).fit(
    ...     [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]
    ... )
    >>> model.predict([[1.5]]).tolist()
    [0.5]
    """

    _law_rows = 1000
    _law_params = {"radius": 3.0}
    _parameter_constraints = {
        **RADIUS_CONSTRAINT,
        **NEIGHBOR_CONSTRAINTS,
        **KEEP_CONSTRAINT,
        **WEIGHTS_CONSTRAINT,
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict | None = None,
        n_jobs: int | None = None,
        keep_rows: str = "auto",
    ) -> None:
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
        self.radius = radius
        self.weights = weights
        self.keep_rows = keep_rows

    def _predict_means(self, X: Any, groups: Any) -> np.ndarray:
        if self._is_elsewhere:
            found = self._lists_elsewhere(X, float(self.radius), groups)
            own = list_weights(found.lists, self.weights, found.w)
            means = _means_of_lists(found.lists, own, cast("Any", found.y))
        else:
            s = self.statistic_
            codes = self._left_out(X, groups)
            search = NeighborSearch(self._index, 0, float(self.radius), s.w, **codes)
            y = s.y.reshape(s.n_rows, -1)
            means = self._map_queries(X, radius_means_of_chunk, search, y, self.weights)
        if np.isnan(means).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.",
                stacklevel=3,
            )
        return means


def count_classes(chunk: Chunk, n_classes: int) -> np.ndarray:
    """Weight of the rows of each class."""
    return np.bincount(np.asarray(chunk.y).reshape(-1), chunk.weights(), n_classes)


def list_weights(
    lists: NeighborLists, weights: Any, w: np.ndarray | None, first: int = 0
) -> np.ndarray:
    """Weight of each entry of lists of neighbors.

    Parameters
    ----------
    lists : NeighborLists
    weights : {"uniform", "distance"}, callable or None
    w : (t,) weights of the rows of all entries, or None
    first : int
        Number of the first query.
    """
    sizes = np.diff(lists.starts)
    if weights in (None, "uniform"):
        own = np.ones(len(lists.rows))
    elif weights == "distance":
        query = np.repeat(np.arange(len(sizes)), sizes)
        at_zero = lists.distances == 0
        hit = np.zeros(len(sizes), bool)
        hit[query[at_zero]] = True
        own = np.where(hit[query], at_zero, 1 / np.where(at_zero, 1.0, lists.distances))
    else:
        parts = [part for part in np.split(lists.distances, lists.starts[1:-1]) if len(part)]
        own = np.concatenate([[], *(call_weights(weights, part) for part in parts)])
        if np.isnan(own).any():
            place = int(np.flatnonzero(np.isnan(own))[0])
            refuse_nan_weights(first + int(np.searchsorted(lists.starts, place, "right")) - 1)
    return own if w is None else own * w


def shares_of_chunk(
    chunk: Chunk, search: NeighborSearch, y: np.ndarray, sizes: tuple[int, ...], weights: Any
) -> np.ndarray:
    """Shares of all classes of all outputs, and the number of neighbors, (m, classes + 1)."""
    parts = []
    for first, lists in search.within(chunk.X, chunk.first):
        own = list_weights(lists, weights, search.weights_of(lists), first)
        parts.append(_shares_of_lists(lists, own, y[lists.rows], sizes))
    return np.vstack(parts)


def _shares_of_lists(
    lists: NeighborLists, own: np.ndarray, y: np.ndarray, sizes: tuple[int, ...]
) -> np.ndarray:
    count = np.diff(lists.starts)
    query = np.repeat(np.arange(len(count)), count)
    outputs = []
    for column, k in zip(y.T, sizes, strict=True):
        flat = query * k + column
        votes = np.bincount(flat, own, minlength=len(count) * k).reshape(-1, k)
        total = votes.sum(axis=1, keepdims=True)
        outputs.append(votes / np.where(total == 0, 1.0, total))
    return np.hstack([*outputs, count[:, None]])


def radius_means_of_chunk(
    chunk: Chunk, search: NeighborSearch, y: np.ndarray, weights: Any
) -> np.ndarray:
    """Means (m, n_outputs) of the targets within the radius; NaN where there are none."""
    parts = []
    for first, lists in search.within(chunk.X, chunk.first):
        own = list_weights(lists, weights, search.weights_of(lists), first)
        parts.append(_means_of_lists(lists, own, y[lists.rows]))
    return np.vstack(parts)


def _means_of_lists(lists: NeighborLists, own: np.ndarray, y: np.ndarray) -> np.ndarray:
    m = len(lists.starts) - 1
    query = np.repeat(np.arange(m), np.diff(lists.starts))
    norm = np.bincount(query, own, minlength=m)
    if (norm[query] == 0).any():
        refuse_zero_weights()
    sums = [np.bincount(query, own * column, minlength=m) for column in y.T]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack(sums, axis=1) / norm[:, None]
