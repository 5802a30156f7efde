"""Members of an ensemble that learn from one set of rows: fits share their passes over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch, get_tags

from tenfold.base.mixins import Classifier, Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.lockstep import CellClassCounts, LaneJob, run_in_lockstep
from tenfold.engine.rows import Rows
from tenfold.model_selection.cv_data import (
    CVData,
    class_codes,
    clone_with_params,
    is_in_memory,
    is_native,
)


class Saveable:
    """An ensemble of scikit-learn that can be saved."""

    if TYPE_CHECKING:  # what scikit-learn's class has

        def __getattr__(self, name: str) -> Any: ...

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)


class TrainingRows:
    """Rows of an ensemble, with labels as class indices, and their classes (None: regression)."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        opener = _make_opener(model)
        self.rows: Rows = opener._training_rows(X, y, sample_weight)
        self.names = getattr(opener, "feature_names_in_", None)
        self.classes: np.ndarray | None = getattr(opener, "classes_", None)
        self.codes: np.ndarray | None = None
        if self.classes is not None:
            self.codes = self.rows.each(class_codes, len(self.classes))

    @staticmethod
    def open(model: Any, X: Any) -> Rows:
        """The rows of a prediction of a fitted ensemble."""
        opener = _make_opener(model)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(opener, name, getattr(model, name))
        return opener._rows(X, reset=False)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def target(self) -> np.ndarray:
        """Class indices, or numbers, of all rows."""
        return self.rows.each(_chunk_target) if self.codes is None else self.codes.astype(np.int64)

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of all rows, if they have any."""
        return self.rows.each(_chunk_weights) if self.rows.source.has_weight else None

    def for_model(self, model: Any) -> CVData:
        """The rows for cross-validation of a model."""
        model = clone_with_params(model)
        model._validate_params()
        model._match_columns(self.rows, reset=True)
        if self.classes is None:
            return CVData(self.rows, model, None, None)
        model.classes_ = np.arange(len(self.classes))
        return CVData(self.rows, model, model.classes_, self.codes)

    def run(self, jobs: Sequence[Callable[[Rows], Any]]) -> list[Any]:
        """What the jobs return, all from the same passes over the rows."""
        labels = None
        if self.classes is not None and self.codes is not None:
            k = len(self.classes)
            labels = CellClassCounts(np.arange(k), np.bincount(self.codes, minlength=k)[None])
        lanes = [LaneJob(np.ones(1, bool), job) for job in jobs]
        return run_in_lockstep(self.rows, np.zeros(self.rows.n_rows, np.uint8), lanes, labels)

    def fit_members(self, models: Sequence[Any]) -> list[Any]:
        """Fitted copies of models of tenfold."""
        fitted = self.run([partial(_fit_on, model) for model in models])
        if self.names is not None:
            for model in fitted:
                model.feature_names_in_ = self.names
        return fitted


@cache
def _opener_class(name: str, base: type) -> type:
    """A class of the name that errors are to tell."""
    return type(name, (base,), {})


def _make_opener(model: Any) -> Any:
    """A model without a fit that checks and opens rows as the ensemble takes them."""
    base = Classifier if is_classifier(model) else Regressor
    opener: Any = _opener_class(type(model).__name__, base)()
    tags = get_tags(model).input_tags
    opener._sparse_ok, opener._nan_ok, opener._multi_output = tags.sparse, tags.allow_nan, True
    return opener


class SharedPasses(Saveable):
    """Fit for an ensemble of scikit-learn: each pass over the rows serves all members.

    This holds where all members are models of tenfold; rows may then lie in files or on a cluster.
    Other members, and several labels for each row, are left to scikit-learn, which fits the
    members one after the other to rows in memory.
    """

    estimators: Any

    def _fit_on_rows(self, data: TrainingRows) -> Self:
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Self:
        if fit_params:  # scikit-learn routes them, or says why not
            if sample_weight is not None:
                fit_params["sample_weight"] = sample_weight
            return super().fit(X, y, **fit_params)  # type: ignore[misc]
        foreign = [(name, model) for name, model in self._named_members() if not is_native(model)]
        if not foreign and not (is_classifier(self) and _has_several_columns(y)):
            self._validate_params()
            return self._fit_on_rows(TrainingRows(self, X, y, sample_weight))
        if foreign and not is_in_memory(X, y, sample_weight):
            name, model = foreign[0]
            raise TypeError(
                f"the member {name!r}, a {type(model).__name__}, learns from arrays alone: load "
                "the rows into an array, or choose models of tenfold"
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return super().fit(X, y, **weights)  # type: ignore[misc]

    def _named_members(self) -> list[tuple[str, Any]]:
        """Names and models, without those that are dropped."""
        names, models = self._validate_estimators()
        pairs = zip(names, models, strict=True)
        return [(name, model) for name, model in pairs if not isinstance(model, str)]

    def _set_members(self, fitted: list[Any]) -> None:
        self.estimators_ = fitted
        names = [name for name, _ in self._named_members()]
        found = dict(zip(names, fitted, strict=True))
        self.named_estimators_ = Bunch(
            **{name: found.get(name, "drop") for name, _ in self.estimators}
        )
        if hasattr(fitted[0], "feature_names_in_"):
            self.feature_names_in_ = fitted[0].feature_names_in_


def _has_several_columns(y: Any) -> bool:
    """Whether a target in memory has more than one column."""
    shape = getattr(y, "shape", np.shape(y) if isinstance(y, list) else ())
    return len(shape) > 1 and shape[1] > 1


def _fit_on(model: Any, rows: Rows) -> Any:
    return cast("Any", clone(model)).fit(rows)


def _chunk_target(chunk: Chunk) -> np.ndarray:
    return chunk.y


def _chunk_weights(chunk: Chunk) -> np.ndarray:
    return chunk.weights()
