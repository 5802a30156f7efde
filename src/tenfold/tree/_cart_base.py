"""What single trees and forests share: training data in codes, targets, predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tenfold.base.estimator import Estimator
from tenfold.base.mixins import Classifier, Regressor, encode_row_labels, require_target
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.tree import _cart_grower as grower
from tenfold.tree._cart_criterion_numba import CodedRows
from tenfold.tree._forest_tables import ForestTables, decision_paths, leaf_shares, leaf_values
from tenfold.tree._grown_tree import GrownTree
from tenfold.tree._large_arrays import is_mapped
from tenfold.tree._large_pieces import map_large_pieces
from tenfold.tree._predict_numba import apply_trees
from tenfold.tree._rank_codes import encode_columns, sort_rows
from tenfold.tree.shap_values import TreeScore


class CodedTrainingSet(NamedTuple):
    """Rows of a fit as a grower reads them.

    Attributes
    ----------
    rows : CodedRows, weights in units
    targets : Targets
    weight_unit : size of a unit of weight
    y : (n, n_outputs) class numbers, or float64 targets
    draw_weights : weights of the draw of a bootstrap in units, or None
    """

    rows: CodedRows
    targets: grower.Targets
    weight_unit: float
    y: np.ndarray
    draw_weights: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return len(self.y)


def chunk_target(chunk: Chunk) -> np.ndarray:
    """The target of a chunk."""
    return np.asarray(chunk.y)


def chunk_weight(chunk: Chunk) -> np.ndarray:
    """The weights of a chunk."""
    return np.asarray(chunk.weights(), np.float64)


def read_target(rows: Rows) -> np.ndarray:
    """The targets of all rows, (n, n_outputs)."""
    source: Any = rows.source
    is_here = isinstance(source, ArraySource | SparseSource) and rows.classes is None
    if issparse(getattr(source, "y", None)):
        raise ValueError("sparse multilabel-indicator for y is not supported.")
    y = np.asarray(source.y) if is_here else rows.each(chunk_target)
    return y.reshape(len(y), -1)


def read_weight(rows: Rows) -> np.ndarray | None:
    """The weights of all rows, or None."""
    if not rows.source.has_weight:
        return None
    source = rows.source
    if isinstance(source, ArraySource | SparseSource):
        return np.asarray(source.w, np.float64)
    return rows.each(chunk_weight)


class CartModel(Estimator):
    """A tree or a forest on rank codes."""

    _sparse_ok = True
    _nan_ok = True
    _multi_output = True

    def _monotone_signs(self, n_features: int) -> np.ndarray | None:
        """The monotone constraints, checked."""
        if self.monotonic_cst is None:
            return None
        if self.n_outputs_ > 1:
            raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
        signs = np.asarray(self.monotonic_cst)
        if signs.shape[0] != n_features:
            raise ValueError(
                f"monotonic_cst has shape {signs.shape[0]} but the input data "
                f"X has {n_features} features."
            )
        if not np.isin(signs, (-1, 0, 1)).all():
            raise ValueError(
                "monotonic_cst must be None or an array-like of -1, 0 or 1, but "
                f"got {np.unique(signs)}"
            )
        return signs.astype(np.int8)

    def _training_data(
        self, rows: Rows, splitter: str, *, bootstrap: bool = False
    ) -> CodedTrainingSet:
        """Codes, targets and weights of all rows."""
        y = self._read_y(rows)
        w = self._full_weights(y, read_weight(rows), bootstrap=bootstrap)
        signs = self._monotone_signs(rows.n_features)
        median = self.criterion == "absolute_error"
        bits = grower.MEDIAN_WEIGHT_BITS if median else grower.WEIGHT_BITS
        whole, unit = grower.integer_weights(w, len(y), bits)
        draw = whole if bootstrap and w is not None else None
        if bootstrap:  # weights are the chance to be drawn; the trees see counts
            whole, unit = grower.integer_weights(None, len(y))
        total = self._draw_count(len(y), w) if bootstrap else int(whole.sum())
        columns = encode_columns(rows, need_ranks=splitter == "best")
        targets = self._encode_y(y, whole, total, mapped=is_mapped(columns.codes))
        order = sort_rows(columns) if self._keeps_order(splitter, rows.n_features) else None
        coded = grower.make_rows(columns, targets, whole, signs, order=order)
        targets = targets._replace(table=targets.table[:0].copy())  # the rows have it
        return CodedTrainingSet(coded, targets, unit, y, draw)

    def _keeps_order(self, splitter: str, p: int) -> bool:
        """Whether to keep rows in the order of each column: it pays if nodes ask most columns."""
        is_best = splitter == "best" and self.criterion != "absolute_error"
        return is_best and 2 * grower.feature_count(self.max_features, p) >= p

    def _draw_count(self, n: int, w: np.ndarray | None) -> int:
        """Number of rows that a bootstrap draws."""
        raise NotImplementedError

    def _finish_tree(
        self, tree: GrownTree, targets: grower.Targets, weight_unit: float
    ) -> GrownTree:
        """A tree in the units of weights and targets."""
        return tree._replace(
            weight=tree.weight * weight_unit, value=self._final_values(tree.value, targets)
        )

    @property
    def _n_classes_by_output(self) -> np.ndarray:
        return np.ones(self.n_outputs_, np.int64)

    def apply(self, X: Any) -> np.ndarray:
        """Number of the leaf that each row comes to, (n,) for a tree and (n, n_trees) for a forest.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, apply_trees, self.tables_.trees)

    def _decision_paths(self, X: Any) -> csr_matrix:
        check_is_fitted(self)
        trees = [self.tables_.grown(t) for t in range(len(self.tables_))]
        leaves = self._map_rows(X, apply_trees, self.tables_.trees)
        return decision_paths(leaves, trees)

    def _score_trees(self) -> TreeScore:
        if self.n_outputs_ > 1:
            raise TypeError(
                f"{type(self).__name__} has {self.n_outputs_} outputs: explain a model of one"
            )
        trees = self.tables_.trees
        mean = replace(trees, values=trees.values / len(trees))
        return TreeScore(mean, np.zeros(trees.values.shape[1]))

    def _map_rows(self, X: Any, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        with self._work_context():
            return map_large_pieces(self._rows(X, reset=False), f, *state)

    def _leaf_values(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._map_rows(X, leaf_values, self.tables_.trees)

    # what the two kinds of models define

    def _read_y(self, rows: Rows) -> np.ndarray:
        raise NotImplementedError

    def _full_weights(self, y: np.ndarray, w: Any, *, bootstrap: bool) -> Any:
        raise NotImplementedError

    def _encode_y(
        self, y: np.ndarray, weight: np.ndarray, total: int, *, mapped: bool
    ) -> grower.Targets:
        raise NotImplementedError

    def _final_values(self, value: np.ndarray, targets: grower.Targets) -> np.ndarray:
        raise NotImplementedError

    tables_: ForestTables


class CartRegressor(Regressor, CartModel):
    """Trees of one or several numbers."""

    def _read_y(self, rows: Rows) -> np.ndarray:
        y = read_target(rows).astype(np.float64)
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity: leave such rows out")
        if self.criterion == "poisson":
            if (y < 0).any():
                raise ValueError(
                    "Some value(s) of y are negative which is not allowed for Poisson regression."
                )
            if y.sum() <= 0:
                raise ValueError(
                    "Sum of y is not positive which is necessary for Poisson regression."
                )
        self.n_outputs_ = y.shape[1]
        return y

    def _full_weights(self, y: np.ndarray, w: Any, *, bootstrap: bool) -> Any:
        return w

    def _encode_y(
        self, y: np.ndarray, weight: np.ndarray, total: int, *, mapped: bool
    ) -> grower.Targets:
        return grower.encode_targets(y, self.criterion, weight, total, mapped=mapped)

    def _final_values(self, value: np.ndarray, targets: grower.Targets) -> np.ndarray:
        return targets.center + value * targets.units

    def predict(self, X: Any, check_input: bool = True) -> np.ndarray:
        """Mean (or median) target of the leaf of each row, averaged over the trees.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        check_input : bool
            No effect: input is always checked.

        Returns
        -------
        (n,) or (n, n_outputs) array
        """
        del check_input
        values = self._leaf_values(X)
        return values[:, 0] if self.n_outputs_ == 1 else values


class CartClassifier(Classifier, CartModel):
    """Trees of one or several labels."""

    def _y_options(self) -> dict[str, Any]:
        return {"multi_output": True}

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = self._rows(X, y, w)
        require_target(self, rows)
        shape = rows.target_shape
        if not shape or shape[0] == 1:
            self.classes_, rows = encode_row_labels(rows)
        return rows

    def _read_y(self, rows: Rows) -> np.ndarray:
        y = read_target(rows)
        self.n_outputs_ = y.shape[1]
        if self.n_outputs_ == 1:
            self.n_classes_ = len(self.classes_)
            return y.astype(np.int64, copy=False)
        check_classification_targets(y)
        parts = [np.unique(column, return_inverse=True) for column in y.T]
        self.classes_ = [known for known, _ in parts]
        self.n_classes_ = np.array([len(known) for known, _ in parts])
        return np.stack([codes for _, codes in parts], axis=1)

    @property
    def _n_classes_by_output(self) -> np.ndarray:
        return np.atleast_1d(self.n_classes_)

    def _class_lists(self) -> list[Any]:
        return [self.classes_] if self.n_outputs_ == 1 else list(self.classes_)

    def _full_weights(self, y: np.ndarray, w: Any, *, bootstrap: bool) -> Any:
        """Weights of rows times weights of classes."""
        wanted = self.class_weight
        if wanted is None or (wanted == "balanced_subsample" and bootstrap):
            return w
        classes = self._class_lists()
        labels = np.stack([known[c] for known, c in zip(classes, y.T, strict=True)], axis=1)
        labels = labels[:, 0] if self.n_outputs_ == 1 else labels
        if isinstance(wanted, str):
            factors = [
                compute_class_weight("balanced", classes=known, y=known[c], sample_weight=w)[c]
                for known, c in zip(classes, y.T, strict=True)
            ]
            factor = np.prod(factors, axis=0)
        else:
            factor = compute_sample_weight(wanted, labels)
        return factor if w is None else w * factor

    def _monotone_signs(self, n_features: int) -> np.ndarray | None:
        signs = super()._monotone_signs(n_features)
        if signs is None:
            return None
        if self.n_classes_ > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification"
            )
        return -signs  # the value of a node is the share of the first class

    def _encode_y(
        self, y: np.ndarray, weight: np.ndarray, total: int, *, mapped: bool
    ) -> grower.Targets:
        return grower.encode_classes(y, self._n_classes_by_output, mapped=mapped)

    def _final_values(self, value: np.ndarray, targets: grower.Targets) -> np.ndarray:
        return value

    def _split_outputs(self, values: np.ndarray) -> Any:
        """Probabilities (n, width) as one array, or one for each output."""
        if self.n_outputs_ == 1:
            return values
        bounds = np.cumsum(self.n_classes_)[:-1]
        return np.split(values, bounds, axis=1)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Share of each class in the leaf of each row, averaged over the trees.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        check_input : bool
            No effect: input is always checked.

        Returns
        -------
        (n, n_classes) array, or a list of them for several outputs
        """
        del check_input
        check_is_fitted(self)
        return self._split_outputs(self._map_rows(X, leaf_shares, self.tables_.trees))

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`; minus infinity where a class has no share.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(proba) if self.n_outputs_ == 1 else [np.log(p) for p in proba]

    def predict(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The label of the largest probability of each row, (n,) or (n, n_outputs).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        check_input : bool
            No effect: input is always checked.
        """
        del check_input
        shares = self._split_outputs(self._leaf_values(X))
        if self.n_outputs_ == 1:
            return self.classes_[shares.argmax(axis=1)]
        picked = [known[p.argmax(axis=1)] for known, p in zip(self.classes_, shares, strict=True)]
        return np.stack(picked, axis=1)
