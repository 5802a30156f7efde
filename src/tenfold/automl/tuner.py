"""Hyperparameter tuning within the training rows, then a fit on all of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from tenfold.automl.candidates import ModelConfig
from tenfold.automl.lazy_transform import transform_rows
from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows
from tenfold.linear._least_squares_solvers import thin_svd
from tenfold.metrics.registry import get_metric
from tenfold.model_selection.cv_data import is_native
from tenfold.model_selection.parameter_search import Search
from tenfold.model_selection.search_strategies import grid_candidates

_FEW_ROWS = 600  # beyond it, a search is quicker: it learns from statistics of the columns


def best_ridge_score(
    X: np.ndarray, y: np.ndarray, alphas: list[float], scoring: str, folds: Iterable[Any]
) -> float:
    """Best mean score over folds of least squares with one of some penalties.

    Parameters
    ----------
    X : (n, p) array
        Features.
    y : (n,) array
        Values, or class numbers; these are learned as columns of zeros and ones.
    alphas : list of float
        Penalties, as of `Ridge`.
    scoring : str
        Score of values; classes are judged by accuracy.
    folds : pairs of arrays
        Numbers of the rows to learn from, and of those held out.
    """
    classes = y.dtype.kind != "f"
    wanted = np.eye(int(y.max()) + 1)[y] if classes else np.asarray(y, np.float64)[:, None]
    scores = []
    for learn, held in folds:
        known = thin_svd(Rows(ArraySource(X[learn], wanted[learn])), intercept=True)
        found = (known.solution(np.array([alpha])) for alpha in alphas)
        scores.append([_score_outputs(y[held], X[held] @ coef + b, scoring) for coef, b in found])
    return float(np.mean(scores, axis=0).max())


def _score_outputs(y: np.ndarray, said: np.ndarray, scoring: str) -> float:
    if y.dtype.kind != "f":
        return float((said.argmax(axis=1) == y).mean())
    one = get_metric(scoring)
    return float(one.value(one.part(y, said[:, 0], None, None)))


_INNER_FOLDS = 3
_SINGLE_THREAD_ENTRIES = 1_000_000  # entries
_SCREENING_ROWS = 3_000  # rows that features are compared on
_FEATURE_BYTES = 2**26  # bytes of made features; more of them are made anew in every pass


class TunedModel(NamedTuple):
    """A recipe with its best settings.

    Attributes
    ----------
    recipe, params : the winner
    features : its fitted transformer, or None
    """

    recipe: ModelConfig
    params: dict[str, Any]
    features: Any

    def model(self) -> Any:
        """The model with these settings, unfitted."""
        model = _clone(self.recipe.model).set_params(**self.params)
        wrapper = self.recipe.wrapper
        return model if wrapper is None else _clone(wrapper).set_params(estimator=model)

    @property
    def said(self) -> dict[str, Any]:
        """The settings, for people."""
        return self.recipe.said | self.params


class TuningProblem(NamedTuple):
    """Rows to learn from, and how settings are judged on them.

    Attributes
    ----------
    X, y : encoded rows and target: numbers, or class numbers
    scoring : name of a metric
    seed : of the folds
    """

    X: Any
    y: np.ndarray
    scoring: str
    seed: int

    def some(self) -> TuningProblem:
        """The same with so few rows that features can be compared on them."""
        if len(self.y) <= _SCREENING_ROWS:
            return self
        classes = None if self.y.dtype.kind == "f" else self.y
        rows, _ = train_test_split(
            np.arange(len(self.y)),
            train_size=_SCREENING_ROWS,
            stratify=classes,
            random_state=self.seed,
        )
        return self._replace(X=self.X[rows], y=self.y[rows])


def tune_models(recipes: list[ModelConfig], problem: TuningProblem) -> TunedModel:
    """The best recipe and settings, by cross-validation within these rows."""
    with _threads_for(problem.X):
        if len(recipes) > 1 and recipes[0].scout is not None:
            few = problem.some()
            recipes = [max(recipes, key=lambda recipe: _screen_score(recipe, few))]
        found = [_tune_config(recipe, problem, alone=len(recipes) == 1) for recipe in recipes]
        return max(found, key=lambda pair: pair[0])[1]


def _clone(estimator: Any) -> Any:
    """An unfitted copy."""
    return clone(estimator)


def _fit_features(recipe: ModelConfig, X: Any) -> Any:
    return None if recipe.features is None else _clone(recipe.features).fit(X)


def _screen_score(recipe: ModelConfig, few: TuningProblem) -> float:
    """How well a fast model does with the features of a recipe, on some of the rows."""
    scout: Any = recipe.scout
    features = _fit_features(recipe, few.X)
    if len(few.y) > _FEW_ROWS:
        return _search_params(scout.model, scout.grid, features, few)[0]
    folds = make_inner_folds(few.y, few.seed).split(few.X, few.y)
    made = features.transform(few.X)
    return best_ridge_score(made, few.y, scout.grid["alpha"], few.scoring, folds)


def _tune_config(
    recipe: ModelConfig, problem: TuningProblem, *, alone: bool
) -> tuple[float, TunedModel]:
    """Score and winner of one recipe; nothing is judged where there is nothing to choose."""
    features = _fit_features(recipe, problem.X)
    candidates = grid_candidates(recipe.grid) if recipe.grid else [{}]
    if alone and len(candidates) == 1:
        return 0.0, TunedModel(recipe, candidates[0], features)
    score, params = _search_params(recipe.model, recipe.grid or {}, features, problem)
    return score, TunedModel(recipe, params, features)


def _search_params(
    model: Any, grid: Any, features: Any, problem: TuningProblem
) -> tuple[float, dict]:
    X, y, scoring, seed = problem
    scoring = scoring if y.dtype.kind == "f" or hasattr(model, "predict_proba") else "accuracy"
    found = Search(model, grid, folds=make_inner_folds(y, seed), scoring=scoring, refit=False)
    call_quietly(found.fit, *_training_input(X, y, features, ours=is_native(model)))
    return found.best_score_, found.best_params_


def make_inner_folds(y: np.ndarray, seed: int) -> Any:
    """Folds for choosing settings: stratified for classes, random in any case."""
    kind = KFold if y.dtype.kind == "f" else StratifiedKFold
    return kind(_INNER_FOLDS, shuffle=True, random_state=seed)


def fit_tuned(choice: TunedModel, X: Any, y: np.ndarray) -> Any:
    """The winner, fitted on rows in memory: an estimator, or a pipeline of features and model."""
    model = choice.model()
    with _threads_for(X):
        call_quietly(model.fit, *_training_input(X, y, choice.features, ours=is_native(model)))
    return join_pipeline(choice, model)


def fit_tuned_on_rows(choice: TunedModel, rows: Rows) -> Any:
    """The winner, fitted on rows of any number with a target."""
    model = choice.model()
    call_quietly(
        model.fit, rows if choice.features is None else transform_rows(rows, choice.features)
    )
    return join_pipeline(choice, model)


def join_pipeline(choice: TunedModel, model: Any) -> Any:
    """Features and model in one."""
    if choice.features is None:
        return model
    return Pipeline([("features", choice.features), ("model", model)])


def _training_input(X: Any, y: np.ndarray, features: Any, *, ours: bool) -> tuple:
    """What a model learns from; many features are made chunk by chunk, in every pass."""
    if features is None:
        return X, y
    if not ours or X.shape[0] <= _FEW_ROWS or _feature_bytes(features, X) <= _FEATURE_BYTES:
        return features.transform(X), y
    return (transform_rows(Rows(ArraySource(X, y)), features),)


def _feature_bytes(features: Any, X: Any) -> int:
    return X.shape[0] * features.transform(X[:1]).shape[1] * X.dtype.itemsize


def _threads_for(X: Any) -> Any:
    """One thread for small tables, whose threads would wait for each other most of the time."""
    return threadpool_limits(1 if X.shape[0] * X.shape[1] < _SINGLE_THREAD_ENTRIES else None)


def call_quietly(f: Any, *given: Any) -> Any:
    """Call without warnings of convergence: settings that converge badly lose by their score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return f(*given)
