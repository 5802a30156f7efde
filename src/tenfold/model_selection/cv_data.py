"""The data of a cross-validation: opened once, labels encoded once."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from tenfold.base.estimator import Estimator
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.lockstep import CellClassCounts
from tenfold.engine.rows import Rows
from tenfold.model_selection.splits import Split


class CVData(NamedTuple):
    """Rows, and a model that has validated their columns and labels.

    Attributes
    ----------
    rows : all rows; labels of a classifier are class indices
    model : an unfitted copy of the model, with the attributes of columns and classes
    classes : (n_classes,) labels, or None for regression
    codes : (n_rows,) class index of each row, or None
    """

    rows: Rows
    model: Any
    classes: np.ndarray | None
    codes: np.ndarray | None

    def select(self, order: np.ndarray | None) -> CVData:
        """The rows with these numbers, in memory, as often as they occur; None means all."""
        if order is None:
            return self
        numbers, places = np.unique(order, return_inverse=True)
        X, y, w, _ = self.rows.source.take(numbers)
        if not (isinstance(X, np.ndarray) or issparse(X)):
            raise ValueError("folds that repeat rows need rows of numbers, not sequences")
        X, y, w = (None if part is None else part[places] for part in (X, y, w))
        source = SparseSource(X, y, w) if issparse(X) else ArraySource(cast("Any", X), y, w)
        source.names, source.max_chunk_rows = self.rows.names, self.rows.source.max_chunk_rows
        rows = Rows(
            source,
            engine=self.rows.engine,
            classes=self.rows.classes,
            allow_nan=self.rows.allow_nan,
        )
        return self._replace(rows=rows, codes=None if self.codes is None else self.codes[order])

    def class_counts(self, split: Split) -> CellClassCounts | None:
        """Number of rows of each class in each cell of a split."""
        if self.codes is None or self.classes is None:
            return None
        k = len(self.classes)
        n_cells = len(split.train[0])
        flat = split.cell.astype(np.int64) * k + self.codes
        counts = np.bincount(flat, minlength=n_cells * k).reshape(n_cells, k)
        return CellClassCounts(self.classes, counts)


def is_native(model: Any) -> bool:
    """Whether a model is fitted on `Rows`; a search is if its model is.

    A subclass with a `fit` of its own expects what its author wrote, which may be arrays alone. A
    precomputed kernel must be cut in its columns too, which scikit-learn's folds do.
    """
    if not (isinstance(model, Estimator) and model._learns_from_rows):
        return False
    if get_tags(model).input_tags.pairwise:
        return False
    return type(model).fit.__module__.partition(".")[0] == "tenfold"


def clone_with_params(model: Any, params: dict[str, Any] | None = None) -> Any:
    """An unfitted copy of a model, with other parameters."""
    return cast("Any", clone(model)).set_params(**params or {})


def open_cv_data(model: Any, X: Any, y: Any, sample_weight: Any) -> CVData:
    """Open the data as for a fit of the model; labels are encoded once for all folds."""
    model = clone_with_params(model)
    model._validate_params()
    rows = model._training_rows(X, y, sample_weight)
    if not is_classifier(model):
        return CVData(rows, model, None, None)
    codes = rows.each(class_codes, len(model.classes_))
    return CVData(rows, model, model.classes_, codes)


def class_codes(chunk: Chunk, k: int) -> np.ndarray:
    """Class indices of a chunk in the smallest integer type."""
    return chunk.y.astype(np.min_scalar_type(k))


def load_in_memory(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Arrays or tables for a model that is not fitted on `Rows`."""
    from tenfold.io.opener import open as open_rows

    if is_in_memory(X, y, sample_weight):
        return X, y, sample_weight
    whole = open_rows(X, target=y, weight=sample_weight).gather()
    return whole.X, whole.y, whole.w


def is_in_memory(X: Any, y: Any = None, sample_weight: Any = None) -> bool:
    """Whether the rows are arrays or a table, and target and weights no columns of it."""
    from tenfold.io.opener import is_rows_like

    return not (is_rows_like(X) or isinstance(y, str) or isinstance(sample_weight, str))
