"""Classification by the votes of neighbors."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import StrOptions
from tenfold.base.docstrings import inherit_descriptions
from tenfold.base.mixins import encode_row_labels, require_target
from tenfold.base.one_pass import OnePassClassifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neighbors._base import (
    K_CONSTRAINT,
    KEEP_CONSTRAINT,
    NEIGHBOR_CONSTRAINTS,
)
from tenfold.neighbors._fold_predictions import neighbors_by_fold, votes_of_candidates
from tenfold.neighbors._searches import KNeighborsSearch
from tenfold.neighbors._stored_rows import NeighborRows
from tenfold.neighbors._targets import WEIGHTS_CONSTRAINT, SupervisedNeighbors
from tenfold.neighbors._votes import (
    NeighborSearch,
    WeightedNeighbors,
    class_shares,
    vote_weights,
    weigh_found,
    winning_classes,
)


class NeighborsClassifier(SupervisedNeighbors, OnePassClassifier):
    """A classifier whose statistic are the training rows; one or several outputs.

    Attributes
    ----------
    classes_ : class labels; a list of arrays if there are several outputs
    outputs_2d_ : whether there are several outputs
    """

    def _y_options(self) -> dict[str, Any]:
        return {"multi_output": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = self._rows(self._unwrap_rows(X), y, w)
        require_target(self, rows)
        shape = rows.target_shape
        if shape == (1,):
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
        if shape in ((), (1,)):
            self.classes_, rows = encode_row_labels(rows)
        rows.derived["arguments"] = X, y, w
        return rows

    def _statistic(self, rows: Rows) -> NeighborRows:
        s = super()._statistic(rows)
        if s.y.size == s.n_rows:
            return s._replace(y=s.y.reshape(-1).astype(np.int64))
        check_classification_targets(s.y)
        parts = [np.unique(column, return_inverse=True) for column in s.y.T]
        self.classes_ = [known for known, _ in parts]
        return s._replace(y=np.stack([codes for _, codes in parts], axis=1))

    def _finalize(self, s: NeighborRows, dtype: np.dtype) -> dict[str, Any]:
        return {**super()._finalize(s, dtype), "outputs_2d_": s.y.ndim == 2}

    def _check_learned(self) -> None:
        """Refuse class numbers of a loaded model that are not those of its classes."""
        super()._check_learned()
        s = getattr(self, "statistic_", None)
        if s is None:
            return
        if s.y.dtype.kind not in "iu" or (s.y.ndim == 2) != self.outputs_2d_:
            raise ValueError(f"statistic_.y has shape {s.y.shape} and holds {s.y.dtype}")
        known, codes = self._class_lists, s.y.reshape(s.n_rows, -1)
        if len(known) != codes.shape[1]:
            raise ValueError(f"statistic_.y has {codes.shape[1]} outputs, classes_ {len(known)}")
        for labels, column in zip(known, codes.T, strict=True):
            if column.min(initial=0) < 0 or column.max(initial=0) >= len(labels):
                raise ValueError(f"statistic_.y holds classes beyond the {len(labels)} of classes_")

    @property
    def _class_lists(self) -> list[Any]:
        return list(self.classes_) if self.outputs_2d_ else [self.classes_]

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if not self._leaves_rows(rows):
            return super()._fit(rows, rng)
        if rows.target_shape not in ((), (1,)):
            raise ValueError("several outputs of rows in a file: use keep_rows='memory'")
        return {**super()._fit(rows, rng), "outputs_2d_": False}

    def predict(self, X: Any = None, *, groups: Any = None) -> np.ndarray:
        """The class with most votes of the neighbors of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`, optional
            The rows; by default the training rows, none of which is its own neighbor.
        groups : array, optional
            Group of each row: training rows of the same group are left out.

        Returns
        -------
        (n,) or (n, n_outputs) array of labels
        """
        check_is_fitted(self)
        return self._predict_labels(X, groups)

    def predict_proba(self, X: Any = None, *, groups: Any = None) -> Any:
        """Share of each class in the votes of the neighbors, (n, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`, optional
            The rows; by default the training rows, none of which is its own neighbor.
        groups : array, optional
            Group of each row: training rows of the same group are left out.

        Returns
        -------
        (n, n_classes) array, or a list of them if there are several outputs
        """
        check_is_fitted(self)
        return self._predict_shares(X, groups)

    def _predict_labels(self, X: Any, groups: Any) -> np.ndarray:
        raise NotImplementedError

    def _predict_shares(self, X: Any, groups: Any) -> Any:
        raise NotImplementedError

    def _split_shares(self, shares: np.ndarray) -> Any:
        """Probabilities of each output."""
        shares = shares.astype(self.dtype_)
        ends = np.cumsum([len(known) for known in self._class_lists])
        parts = np.split(shares, ends[:-1], axis=1)
        return parts if self.outputs_2d_ else parts[0]

    def _labels_of(self, codes: np.ndarray) -> np.ndarray:
        """Labels of class numbers (m, n_outputs)."""
        columns = [known[codes[:, i]] for i, known in enumerate(self._class_lists)]
        return np.stack(columns, axis=1) if self.outputs_2d_ else columns[0]


@inherit_descriptions
class KNeighborsClassifier(KNeighborsSearch, NeighborsClassifier):
    r"""Predict the class that most of the k nearest training rows have.

    .. math:: \hat P(c \mid q) = \frac{\sum_{i \in N_k(q)} v_i [y_i = c]}{\sum_{i \in N_k(q)} v_i}

    with votes :math:`v_i = 1`, or the inverse distances. Of rows at the same distance the one with
    the smaller number is nearer; of classes with equally many votes the first is predicted, or that
    of the smaller sum of distances. Parameters are those of
    `sklearn.neighbors.KNeighborsClassifier`, and `tie_break`.

    Parameters
    ----------
    n_neighbors : int
        Number k of neighbors. One gives the Voronoi cells of the rows, all rows the share of each
        class.
    tie_break : {"first", "nearest"}
        Which of several classes with equally many votes is predicted: the first in `classes_`, or
        the one whose neighbors have the smallest sum of distances.

    Notes
    -----
    A row of weight 2 is two neighbors, a row of weight 1/2 half of one: neighbors are taken until
    their weights add up to k, and the last counts for what is left. Without X, `predict` and
    `score` leave out each row in turn.

    See Also
    --------
    NearestCentroid : One row for each class.
    RadiusNeighborsClassifier : The vote of all rows within a radius.

    References
    ----------
    T. Cover and P. Hart (1967), Nearest neighbor pattern classification.

    Examples
    --------
    >>> from tenfold import KNeighborsClassifier
    >>> model = KNeighborsClassifier(3).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[1.1]]).tolist(), model.predict_proba([[0.9]]).round(3).tolist()
    ([0], [[0.667, 0.333]])
    """

    _parameter_constraints = {
        **K_CONSTRAINT,
        **NEIGHBOR_CONSTRAINTS,
        **WEIGHTS_CONSTRAINT,
        **KEEP_CONSTRAINT,
        "tie_break": [StrOptions({"first", "nearest"})],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict | None = None,
        n_jobs: int | None = None,
        tie_break: str = "first",
        keep_rows: str = "auto",
    ) -> None:
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.tie_break = tie_break
        self.keep_rows = keep_rows

    def _predict_labels(self, X: Any, groups: Any) -> np.ndarray:
        return self._labels_of(self._vote(X, groups, "classes"))

    def _predict_shares(self, X: Any, groups: Any) -> Any:
        return self._split_shares(self._vote(X, groups, "shares"))

    def _predict_folds(
        self, rows: Rows, fold: np.ndarray, settings: list[dict], wants: str
    ) -> list[np.ndarray] | None:
        """Predictions of each row by the rows of other folds, for all candidates."""
        if wants not in ("labels", "probabilities") or rows.source.has_weight:
            return None
        s = self._statistic(rows)
        found = neighbors_by_fold(self, rows, s, fold, settings)
        if found is None or s.y.ndim > 1:
            return None
        return list(votes_of_candidates(found, s.y, len(self.classes_), wants))

    def _vote(self, X: Any, groups: Any, wants: str) -> np.ndarray:
        self._check_k(self.n_neighbors, X)
        if self._is_elsewhere:
            found = self._search_elsewhere(X, self.n_neighbors, groups)
            near = weigh_found(found, self.n_neighbors)
            labels = [cast("Any", found.y)[:, :, 0].astype(np.int64)]
            sizes = (len(self.classes_),)
            vote = ClassVote(np.empty((0, 1)), sizes, self.weights, self.tie_break, wants)
            return count_votes(near, labels, vote)
        s = self.statistic_
        search = NeighborSearch(self._index, self.n_neighbors, w=s.w, **self._left_out(X, groups))
        sizes = tuple(len(known) for known in self._class_lists)
        options = ClassVote(s.y.reshape(s.n_rows, -1), sizes, self.weights, self.tie_break, wants)
        return self._map_queries(X, votes_of_chunk, search, options)


class ClassVote:
    """How neighbors vote.

    Parameters
    ----------
    y : (n, n_outputs) class numbers of the training rows
    sizes : number of classes of each output
    weights, tie_break : as of `KNeighborsClassifier`
    wants : {"classes", "shares"}
        Whether numbers of classes are returned, or the shares of all classes.
    """

    def __init__(
        self, y: np.ndarray, sizes: tuple[int, ...], weights: Any, tie_break: str, wants: str
    ) -> None:
        self.y, self.sizes, self.weights = y, sizes, weights
        self.tie_break, self.wants = tie_break, wants


def votes_of_chunk(chunk: Chunk, search: NeighborSearch, vote: ClassVote) -> np.ndarray:
    """Classes (m, n_outputs) or shares (m, all classes) of queries."""
    found = search.nearest(chunk.X, chunk.first)
    labels = [column[found.rows] for column in vote.y.T]
    return count_votes(found, labels, vote, chunk.first)


def count_votes(
    found: WeightedNeighbors,
    labels_of_outputs: list[np.ndarray],
    vote: ClassVote,
    first: int = 0,
) -> np.ndarray:
    """Classes (m, n_outputs) or shares (m, all classes), from the labels of neighbors.

    Parameters
    ----------
    found : WeightedNeighbors
    labels_of_outputs : for each output (m, k) class numbers
    vote : ClassVote
    first : int
        Number of the first query.
    """
    weights = vote_weights(found, vote.weights, first)
    outputs = []
    for labels, size in zip(labels_of_outputs, vote.sizes, strict=True):
        votes = class_shares(labels, weights, np.zeros((len(labels), size)))
        if vote.wants == "shares":
            outputs.append(votes / votes.sum(axis=1, keepdims=True))
        else:
            outputs.append(winning_classes(votes, labels, found, vote.tie_break)[:, None])
    return np.hstack(outputs)
