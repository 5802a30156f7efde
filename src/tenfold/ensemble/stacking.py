"""Stacking: a final model learns from the out-of-fold predictions of other models."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import ensemble
from sklearn.base import is_classifier
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.subset import RowSelection
from tenfold.ensemble._members import SharedPasses, TrainingRows
from tenfold.linear.logistic import LogisticRegression
from tenfold.linear.ridge_cv import RidgeCV
from tenfold.metrics._predictions import predictions
from tenfold.model_selection._fold_models import fit_folds
from tenfold.model_selection.cv_data import is_in_memory
from tenfold.model_selection.splits import Split, make_splits

_DEFAULT_FOLDS = 5
_WANTS = {"predict_proba": "probabilities", "decision_function": "scores", "predict": "labels"}


class StackedPasses(SharedPasses):
    """What both kinds of stacks do with rows that are not in memory."""

    cv: Any
    stack_method: str
    passthrough: bool
    final_estimator: Any

    def _fit_stack(self, data: TrainingRows) -> Self:
        models = [model for _, model in self._named_members()]
        self._validate_final_estimator()
        self.stack_method_ = [self._response(model) for model in models]
        if isinstance(self.cv, str) and self.cv == "prefit":
            fitted = models
            for model in fitted:
                check_is_fitted(model)
            known = [_labels_of(model, data.classes) for model in fitted]
            columns = data.rows.each(stack_predictions, fitted, self.stack_method_, known)
        else:
            fitted = data.fit_members(models)
            columns = self._out_of_fold(data, models)
        self._set_members(fitted)
        parts = np.split(columns, np.cumsum(self._widths(data))[:-1], axis=1)
        features = self._concatenate_predictions(self._features(data), parts)
        weights = {} if data.weights is None else {"sample_weight": data.weights}
        if weights and not has_fit_parameter(self.final_estimator_, "sample_weight"):
            name = type(self.final_estimator_).__name__
            raise TypeError(f"Underlying estimator {name} does not support sample weights.")
        self.final_estimator_.fit(features, data.target, **weights)
        return self

    def _widths(self, data: TrainingRows) -> list[int]:
        """Number of columns of each member."""
        X = data.rows.take(np.zeros(1, np.int64)).X
        return [
            _response_columns(model, X, method, _labels_of(model, data.classes)).shape[1]
            for model, method in zip(self.estimators_, self.stack_method_, strict=True)
        ]

    def _features(self, data: TrainingRows) -> Any:
        """The features, where the final model wants them."""
        if not self.passthrough:
            return None
        n, p = data.rows.n_rows, data.rows.n_features
        check_memory(
            8.0 * n * p,
            f"passthrough=True with {n:,} rows",
            "let the final model see predictions alone",
        )
        return data.rows.gather().X

    def _response(self, model: Any) -> str:
        wanted = tuple(_WANTS) if self.stack_method == "auto" else (self.stack_method,)
        found = next((method for method in wanted if hasattr(model, method)), None)
        if found is None:
            raise ValueError(
                f"Underlying estimator {type(model).__name__} does not implement the method "
                f"{self.stack_method}."
            )
        return found

    def _out_of_fold(self, data: TrainingRows, models: list[Any]) -> Any:
        """Predictions for each row by models that were fitted without its fold, in one walk."""
        splits = make_splits(
            _DEFAULT_FOLDS if self.cv is None else self.cv,
            data.rows.n_rows,
            data.codes,
            stratify=data.codes is not None,
        )
        if len(splits) != 1 or not _covers_all_rows(splits[0]):
            raise ValueError("cv must test each row exactly once: cross-validation by k folds")
        folds = [_fold_models(data, model, splits[0]) for model in models]
        grid = data.rows.source.grid
        tested = [RowSelection.of(splits[0].cell, test, grid) for test in splits[0].test]
        known = [None if data.classes is None else np.arange(data.n_classes)] * len(models)
        return data.rows.each(stack_fold_predictions, tested, folds, self.stack_method_, known)

    def _transform(self, X: Any) -> Any:
        if not self.passthrough or is_in_memory(X):
            return super()._transform(X)  # type: ignore[misc]
        check_is_fitted(self)
        members = zip(self.estimators_, self.stack_method_, strict=True)
        columns = [getattr(model, method)(X) for model, method in members]
        features = self.estimators_[0]._rows(X, reset=False).gather().X
        return self._concatenate_predictions(features, columns)


def _fold_models(data: TrainingRows, model: Any, split: Split) -> list[Any]:
    """The model of each fold."""
    return [models[0] for models in fit_folds(data.for_model(model), split, [{}]).models]


def _covers_all_rows(split: Split) -> bool:
    return split.order is None and bool((np.sum(list(split.test), axis=0) == 1).all())


def _labels_of(model: Any, classes: np.ndarray | None) -> np.ndarray | None:
    """All classes as a member names them: by index, or by label if it was fitted before."""
    if classes is None:
        return None
    known = getattr(model, "classes_", None)
    has_labels = known is not None and set(known) <= set(classes.tolist())
    return classes if has_labels else np.arange(len(classes))


def stack_predictions(
    chunk: Chunk, models: list[Any], methods: list[str], known: list[np.ndarray | None]
) -> np.ndarray:
    """Predictions of all models for the rows of a chunk, beside each other."""
    return np.hstack(
        [
            _response_columns(model, chunk.X, method, classes)
            for model, method, classes in zip(models, methods, known, strict=True)
        ]
    )


def _response_columns(model: Any, X: Any, method: str, classes: np.ndarray | None) -> np.ndarray:
    """Predictions of a model as columns; a class that its fold did not see has probability 0."""
    if classes is None or not is_classifier(model):
        values = predictions(model, X, "values")
    else:
        values = predictions(model, X, _WANTS[method], classes)
    return np.asarray(values, dtype=np.float64).reshape(len(values), -1)


def stack_fold_predictions(
    chunk: Chunk,
    tested: list[RowSelection],
    folds: list[list[Any]],
    methods: list[str],
    known: list[np.ndarray | None],
) -> np.ndarray:
    """As `stack_predictions`, each row by the models that have not seen it."""
    columns: Any = None
    for i, selection in enumerate(tested):
        part = selection.part(chunk)
        if part is None:
            continue
        values = stack_predictions(part, [models[i] for models in folds], methods, known)
        if columns is None:
            columns = np.empty((chunk.rows, values.shape[1]))
        columns[selection.mask(chunk)] = values
    return columns


class StackingClassifier(StackedPasses, ensemble.StackingClassifier):
    r"""A final classifier on the out-of-fold predictions of other models.

    .. math:: z_i = \big(f_1^{(-k(i))}(x_i), \dots, f_M^{(-k(i))}(x_i)\big), \qquad
        \hat y = g(f_1(x), \dots, f_M(x))

    where :math:`f_m^{(-k)}` was fitted without fold k, :math:`g` was fitted to the pairs
    :math:`(z_i, y_i)`, and :math:`f_m` to all rows.

    This is scikit-learn's class. If all members are models of tenfold, the fits of all folds share
    passes over the rows, one more pass gives the out-of-fold predictions of all members, and the
    rows may lie in files or on a Dask cluster. It can be saved.

    Parameters
    ----------
    estimators : list of (name, model)
        The members; "drop" in the place of a model leaves it out.
    final_estimator : classifier, optional
        The final model; `tenfold.LogisticRegression` by default.
    cv : int, splitter, iterable or "prefit", optional
        Folds of the out-of-fold predictions, 5 by default; "prefit" takes fitted members as they
        are.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}
        What is asked of the members; the first that a member has by default.
    n_jobs : int, optional
        Processes in which scikit-learn fits members that are not ours.
    passthrough : bool
        Whether the final model sees the features as well. For files they are then read into memory.
    verbose : int
        Passed to scikit-learn.

    Attributes
    ----------
    estimators_, named_estimators_ : the members, fitted to all rows
    final_estimator_ : the final model
    stack_method_ : list of str
        What is asked of each member.
    classes_ : (n_classes,) labels

    See Also
    --------
    VotingClassifier

    References
    ----------
    Wolpert, D. H. (1992). Stacked Generalization.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import GaussianNB, LinearDiscriminantAnalysis, StackingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [("nb", GaussianNB()), ("lda", LinearDiscriminantAnalysis())]
    >>> round(StackingClassifier(members).fit(X, y).score(X, y), 2)
    0.97
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit all members, and the final model to their out-of-fold predictions.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Labels.
        sample_weight : array or column name, optional
            Weight of each row.
        **fit_params :
            Metadata that scikit-learn routes to the members.
        """
        return self._fit(X, y, sample_weight, fit_params)

    def _clone_final_estimator(self, default: Any) -> None:
        super()._clone_final_estimator(LogisticRegression())

    def _fit_on_rows(self, data: TrainingRows) -> Self:
        self.classes_ = data.classes
        self._label_encoder = LabelEncoder().fit(data.classes)
        return self._fit_stack(data)


class StackingRegressor(StackedPasses, ensemble.StackingRegressor):
    r"""A final regressor on the out-of-fold predictions of other regressors.

    .. math:: z_i = \big(f_1^{(-k(i))}(x_i), \dots, f_M^{(-k(i))}(x_i)\big), \qquad
        \hat y = g(f_1(x), \dots, f_M(x))

    where :math:`f_m^{(-k)}` was fitted without fold k, :math:`g` was fitted to the pairs
    :math:`(z_i, y_i)`, and :math:`f_m` to all rows.

    This is scikit-learn's class. If all members are models of tenfold, the fits of all folds share
    passes over the rows, one more pass gives the out-of-fold predictions of all members, and the
    rows may lie in files or on a Dask cluster. It can be saved.

    Parameters
    ----------
    estimators : list of (name, regressor)
        The members; "drop" in the place of a regressor leaves it out.
    final_estimator : regressor, optional
        The final model; `tenfold.RidgeCV` by default.
    cv : int, splitter, iterable or "prefit", optional
        Folds of the out-of-fold predictions, 5 by default; "prefit" takes fitted members as they
        are.
    n_jobs : int, optional
        Processes in which scikit-learn fits members that are not ours.
    passthrough : bool
        Whether the final model sees the features as well. For files they are then read into memory.
    verbose : int
        Passed to scikit-learn.

    Attributes
    ----------
    estimators_, named_estimators_ : the members, fitted to all rows
    final_estimator_ : the final model
    stack_method_ : list of str
        What is asked of each member.

    See Also
    --------
    VotingRegressor

    References
    ----------
    Wolpert, D. H. (1992). Stacked Generalization.
    Breiman, L. (1996). Stacked Regressions.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Lasso, Ridge, StackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StackingRegressor([("ridge", Ridge(0.1)), ("lasso", Lasso(0.1))]).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.51
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit all members, and the final model to their out-of-fold predictions.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name
            Target.
        sample_weight : array or column name, optional
            Weight of each row.
        **fit_params :
            Metadata that scikit-learn routes to the members.
        """
        return self._fit(X, y, sample_weight, fit_params)

    def _clone_final_estimator(self, default: Any) -> None:
        super()._clone_final_estimator(RidgeCV())

    def _fit_on_rows(self, data: TrainingRows) -> Self:
        return self._fit_stack(data)
