"""Data as a cross-validation sees them: opened once, labels numbered once."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone, is_classifier

from tenfold.estimator import Estimator
from tenfold.rows import Chunk, Rows
from tenfold.select.lanes import Labels
from tenfold.select.splits import Split


class Data(NamedTuple):
    """Rows, and a model that has looked at their columns and labels.

    Attributes
    ----------
    rows : all rows; those of a classifier have numbers for labels
    model : an unfitted copy of the model that knows the columns and the classes
    classes : (k,) labels, or None for regression
    codes : (n,) class number of each row, or None
    """

    rows: Rows
    model: Any
    classes: np.ndarray | None
    codes: np.ndarray | None

    def labels(self, split: Split) -> Labels | None:
        """How many rows of each class lie in each cell of a split."""
        if self.codes is None or self.classes is None:
            return None
        k = len(self.classes)
        cells = len(split.train[0])
        flat = split.cell.astype(np.int64) * k + self.codes
        return Labels(self.classes, np.bincount(flat, minlength=cells * k).reshape(cells, k))


def is_ours(model: Any) -> bool:
    """Whether a model learns from `Rows`; a search does if its model does."""
    return isinstance(model, Estimator) and getattr(model, "_learns_from_rows", True)


def anew(model: Any, settings: dict[str, Any] | None = None) -> Any:
    """An unfitted copy of a model, with other parameters."""
    return cast("Any", clone(model)).set_params(**settings or {})


def opened(model: Any, X: Any, y: Any, sample_weight: Any) -> Data:
    """Open the data as the model would for a fit; labels are numbered once for all parts."""
    model = anew(model)
    model._validate_params()
    rows = model._training_rows(X, y, sample_weight)
    if not is_classifier(model):
        return Data(rows, model, None, None)
    codes = rows.each(class_numbers, len(model.classes_))
    return Data(rows, model, model.classes_, codes)


def class_numbers(chunk: Chunk, k: int) -> np.ndarray:
    """Class numbers of a chunk in as few bytes as they need."""
    return chunk.y.astype(np.min_scalar_type(k))


def in_memory(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Arrays or tables for a model that knows no `Rows`."""
    from tenfold.rows.opening import is_rows_like
    from tenfold.rows.opening import open as open_rows

    if not (is_rows_like(X) or isinstance(y, str) or isinstance(sample_weight, str)):
        return X, y, sample_weight
    whole = open_rows(X, target=y, weight=sample_weight).gather()
    return whole.X, whole.y, whole.w
