"""Choose the settings of a model on the rows it may learn from, then fit it on all of them."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from tenfold.rows import Rows
from tenfold.rows.arrays import Arrays
from tenfold.select.candidates import on_grid
from tenfold.select.data import is_ours
from tenfold.select.search import Search
from tenfold.study.mapped import mapped
from tenfold.study.recipes import Recipe
from tenfold.study.scouting import FEW_ROWS, best_score

INNER_FOLDS = 3
SMALL = 1_000_000  # entries
SCOUTED = 3_000  # rows that features are compared on
IN_MEMORY = 2**26  # bytes of made features; more of them are made anew in every pass


class Tuned(NamedTuple):
    """A recipe with its best settings.

    Attributes
    ----------
    recipe, params : the winner
    features : its fitted transformer, or None
    """

    recipe: Recipe
    params: dict[str, Any]
    features: Any

    def model(self) -> Any:
        """The model with these settings, unfitted."""
        model = _anew(self.recipe.model).set_params(**self.params)
        wrapper = self.recipe.wrapper
        return model if wrapper is None else _anew(wrapper).set_params(estimator=model)

    @property
    def said(self) -> dict[str, Any]:
        """The settings, for people."""
        return self.recipe.said | self.params


class Problem(NamedTuple):
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

    def some(self) -> Problem:
        """The same with so few rows that features can be compared on them."""
        if len(self.y) <= SCOUTED:
            return self
        classes = None if self.y.dtype.kind == "f" else self.y
        rows, _ = train_test_split(
            np.arange(len(self.y)), train_size=SCOUTED, stratify=classes, random_state=self.seed
        )
        return self._replace(X=self.X[rows], y=self.y[rows])


def tuned(recipes: list[Recipe], problem: Problem) -> Tuned:
    """The best recipe and settings, by cross-validation within these rows."""
    with _threads_for(problem.X):
        if len(recipes) > 1 and recipes[0].scout is not None:
            few = problem.some()
            recipes = [max(recipes, key=lambda recipe: _scouted(recipe, few))]
        found = [_tried(recipe, problem, alone=len(recipes) == 1) for recipe in recipes]
        return max(found, key=lambda pair: pair[0])[1]


def _anew(estimator: Any) -> Any:
    """An unfitted copy."""
    return clone(estimator)


def _features(recipe: Recipe, X: Any) -> Any:
    return None if recipe.features is None else _anew(recipe.features).fit(X)


def _scouted(recipe: Recipe, few: Problem) -> float:
    """How well a fast model does with the features of a recipe, on some of the rows."""
    scout: Any = recipe.scout
    features = _features(recipe, few.X)
    if len(few.y) > FEW_ROWS:
        return _searched(scout.model, scout.grid, features, few)[0]
    folds = inner_folds(few.y, few.seed).split(few.X, few.y)
    made = features.transform(few.X)
    return best_score(made, few.y, scout.grid["alpha"], few.scoring, folds)


def _tried(recipe: Recipe, problem: Problem, *, alone: bool) -> tuple[float, Tuned]:
    """Score and winner of one recipe; nothing is judged where there is nothing to choose."""
    features = _features(recipe, problem.X)
    candidates = on_grid(recipe.grid) if recipe.grid else [{}]
    if alone and len(candidates) == 1:
        return 0.0, Tuned(recipe, candidates[0], features)
    score, params = _searched(recipe.model, recipe.grid or {}, features, problem)
    return score, Tuned(recipe, params, features)


def _searched(model: Any, grid: Any, features: Any, problem: Problem) -> tuple[float, dict]:
    X, y, scoring, seed = problem
    scoring = scoring if y.dtype.kind == "f" or hasattr(model, "predict_proba") else "accuracy"
    found = Search(model, grid, folds=inner_folds(y, seed), scoring=scoring, refit=False)
    quietly(found.fit, *_made(X, y, features, ours=is_ours(model)))
    return found.best_score_, found.best_params_


def inner_folds(y: np.ndarray, seed: int) -> Any:
    """Folds for choosing settings: stratified for classes, random in any case."""
    kind = KFold if y.dtype.kind == "f" else StratifiedKFold
    return kind(INNER_FOLDS, shuffle=True, random_state=seed)


def fitted(choice: Tuned, X: Any, y: np.ndarray) -> Any:
    """The winner, fitted on rows in memory: an estimator, or a pipeline of features and model."""
    model = choice.model()
    with _threads_for(X):
        quietly(model.fit, *_made(X, y, choice.features, ours=is_ours(model)))
    return whole(choice, model)


def fitted_on_rows(choice: Tuned, rows: Rows) -> Any:
    """The winner, fitted on rows of any number with a target."""
    model = choice.model()
    quietly(model.fit, rows if choice.features is None else mapped(rows, choice.features))
    return whole(choice, model)


def whole(choice: Tuned, model: Any) -> Any:
    """Features and model in one."""
    if choice.features is None:
        return model
    return Pipeline([("features", choice.features), ("model", model)])


def _made(X: Any, y: np.ndarray, features: Any, *, ours: bool) -> tuple:
    """What a model learns from; many features are made chunk by chunk, in every pass."""
    if features is None:
        return X, y
    if not ours or X.shape[0] <= FEW_ROWS or _bytes_of(features, X) <= IN_MEMORY:
        return features.transform(X), y
    return (mapped(Rows(Arrays(X, y)), features),)


def _bytes_of(features: Any, X: Any) -> int:
    return X.shape[0] * features.transform(X[:1]).shape[1] * X.dtype.itemsize


def _threads_for(X: Any) -> Any:
    """One thread for small tables, whose threads would wait for each other most of the time."""
    return threadpool_limits(1 if X.shape[0] * X.shape[1] < SMALL else None)


def quietly(f: Any, *given: Any) -> Any:
    """Call without warnings of convergence: settings that converge badly lose by their score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return f(*given)
