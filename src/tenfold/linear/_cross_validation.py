"""Cross-validation inside of a fit: folds of the rows, candidates fitted and scored on them.

The machinery is that of `tenfold.model_selection`: statistics of cells that merge, fits that share
their passes, scores that merge. Here are the rows of a model that is being fitted, the arguments
`cv` and `scoring` of scikit-learn, and scores that need a fold in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold

from tenfold.base.estimator import Estimator
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._mapped_rows import ClassWeights, MappedRows
from tenfold.metrics.registry import METRICS, get_metric
from tenfold.model_selection._fold_models import FittedFolds, fit_folds
from tenfold.model_selection._fold_scores import chunk_target, score_folds
from tenfold.model_selection.cv_data import CVData, class_codes
from tenfold.model_selection.group_columns import separate_groups
from tenfold.model_selection.splits import Split, make_splits

_DEFAULT_FOLDS = 5


class CrossValidated(Estimator):
    """A model that chooses its parameters by cross-validation, with the arguments of scikit-learn.

    `self._fold_groups` are the groups of the rows during a fit.
    """

    _fold_groups: Any = None

    def fit(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's signature
        self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any
    ) -> Self:
        """Learn from rows, and choose the parameters by cross-validation.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Target, or the labels of a classifier; a name when X is a table or a file.
        sample_weight : array or column name, optional
            Weight of each row, in fits and in scores.
        **params
            ``groups=``, an array or the name of a column: rows of one group are in one fold, if
            `cv` is a number or a splitter that takes groups.

        Returns
        -------
        self
        """
        groups = params.pop("groups", None)
        if params:
            raise ValueError(
                f"{sorted(params)} is only supported if enable_metadata_routing=True, and only by "
                f"scikit-learn's own models: {type(self).__name__}.fit takes groups= alone"
            )
        X, y, sample_weight, groups = separate_groups(X, y, sample_weight, groups)
        self._fold_groups = groups
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._fold_groups


class Folds(NamedTuple):
    """Rows with a model to be fitted to them, and the splits of a cross-validation.

    Attributes
    ----------
    data : the rows and the model
    splits : the folds
    class_weights : (n_classes,) weights of classes in scores, or None
    """

    data: CVData
    splits: list[Split]
    class_weights: np.ndarray | None = None

    def scores(
        self, candidates: list[dict[str, Any]], scoring: Any, *, fit: Any = fit_folds
    ) -> CandidateScores:
        """Fit every candidate on every fold, and score it on the rest.

        Parameters
        ----------
        candidates : list of dict
            Parameters of the models.
        scoring : str, Metric or callable
            Names of scikit-learn. A callable, and a metric that does not merge, see the test rows
            of a fold in memory.
        fit : callable
            `fit(data, split, candidates)` gives the fitted models of a split.
        """
        scores, models = [], []
        for split in self.splits:
            data = self.data.select(split.order)
            fitted = fit(data, split, candidates)
            if self.class_weights is not None:
                weights = ClassWeights(self.class_weights)
                data = data._replace(rows=MappedRows(data.rows, weights))
            if isinstance(scoring, str) and scoring in METRICS:
                part = score_folds(data, split, fitted, [get_metric(scoring)])[:, :, 0]
            else:
                part = _score_in_memory(data, split, fitted, get_scorer(scoring))
            scores.append(part)
            models += fitted.models
        return CandidateScores(np.concatenate(scores), models)


class CandidateScores(NamedTuple):
    """Scores (folds, candidates), larger is better, and the models of every fold."""

    scores: np.ndarray
    models: list[list[Any]]


def open_folds(model: Any, rows: Rows, cv: Any, groups: Any, classes: Any = None) -> Folds:
    """The rows of a fit as folds for another model.

    Parameters
    ----------
    model : Estimator
        The model that is cross-validated.
    rows : Rows
        The rows, with labels as class indices for a classifier.
    cv : None, int, scikit-learn splitter, or pairs of row numbers
        The folds, 5 by default.
    groups : array or None
        Groups of the rows.
    classes : array, optional
        The labels of a classifier.
    """
    model, codes = clone(model), None
    model._validate_params()
    model._match_columns(rows, reset=True)
    if classes is not None:
        model.classes_, codes = classes, _codes(rows, len(classes))
    target = codes if codes is None else codes.astype(np.int64)
    if target is None and hasattr(cv, "split") and type(cv) is not KFold:
        target = rows.each(chunk_target)
    splits = make_splits(
        _DEFAULT_FOLDS if cv is None else cv,
        rows.n_rows,
        target,
        groups,
        stratify=classes is not None,
        X=getattr(rows.source, "X", None),
    )
    return Folds(CVData(rows, model, classes, codes), splits)


def _codes(rows: Rows, k: int) -> np.ndarray:
    """Class index of each row, in the smallest integer type."""
    y = getattr(rows.source, "y", None)
    if rows.classes is None and isinstance(y, np.ndarray):  # in memory, and numbered already
        return y.astype(np.min_scalar_type(k))
    return rows.each(class_codes, k)


def _score_in_memory(data: CVData, split: Split, fitted: FittedFolds, scorer: Any) -> np.ndarray:
    """Scores (folds, candidates) by a scorer of scikit-learn, fold by fold."""
    scores = []
    for cells, models in zip(split.test, fitted.models, strict=True):
        chunk = data.rows.take(np.flatnonzero(cells[split.cell]))
        y = chunk.y if data.classes is None else data.classes[chunk.y]
        scores.append([score_chunk(scorer, model, chunk, y) for model in models])
    return np.array(scores)


def score_chunk(scorer: Any, model: Any, chunk: Chunk, y: np.ndarray) -> float:
    """The score of a model on rows in memory; weights are given if there are any."""
    weights = {} if chunk.w is None else {"sample_weight": chunk.w}
    return float(scorer(model, chunk.X, y, **weights))


def own_scorer(scoring: Any, default: str) -> Any:
    """The scorer of scikit-learn for the `scoring` of a model."""
    return get_scorer(default if scoring is None else scoring)
