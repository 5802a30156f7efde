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

from tenfold.automl.lazy_transform import transform_rows
from tenfold.automl.model_config import ModelConfig
from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows
from tenfold.linear._least_squares_solvers import thin_svd
from tenfold.metrics.registry import get_metric
from tenfold.model_selection.cv_data import is_native
from tenfold.model_selection.parameter_search import Search
from tenfold.model_selection.search_strategies import grid_candidates

_FEW_ROWS = 600  # beyond it, `Search` is faster: it fits from sufficient statistics


def best_ridge_score(
    X: np.ndarray, y: np.ndarray, alphas: list[float], scoring: str, folds: Iterable[Any]
) -> float:
    """Best mean cross-validation score of ridge regression over a list of penalties.

    Parameters
    ----------
    X : (n_rows, n_features) array
        Features.
    y : (n_rows,) array
        Values, or class indices, which are fitted as indicator columns.
    alphas : list of float
        Penalties, as of `Ridge`.
    scoring : str
        Score of values; classes are scored by accuracy.
    folds : pairs of arrays
        Indices of training rows, and of those held out.
    """
    classes = y.dtype.kind != "f"
    targets = np.eye(int(y.max()) + 1)[y] if classes else np.asarray(y, np.float64)[:, None]
    scores = []
    for train, test in folds:
        svd = thin_svd(Rows(ArraySource(X[train], targets[train])), intercept=True)
        solutions = (svd.solution(np.array([alpha])) for alpha in alphas)
        scores.append(
            [_score_outputs(y[test], X[test] @ coef + b, scoring) for coef, b in solutions]
        )
    return float(np.mean(scores, axis=0).max())


def _score_outputs(y: np.ndarray, outputs: np.ndarray, scoring: str) -> float:
    if y.dtype.kind != "f":
        return float((outputs.argmax(axis=1) == y).mean())
    metric = get_metric(scoring)
    return float(metric.value(metric.part(y, outputs[:, 0], None, None)))


_INNER_FOLDS = 3
_SINGLE_THREAD_ENTRIES = 1_000_000  # entries of X below which BLAS has one thread
_SCREENING_ROWS = 3_000  # rows on which features are compared
_FEATURE_BYTES = 2**26  # bytes of derived features; beyond it they are recomputed in every pass


class TunedModel(NamedTuple):
    """A configuration with its best hyperparameters.

    Attributes
    ----------
    config, params : the best configuration and its hyperparameters
    features : its fitted transformer, or None
    """

    config: ModelConfig
    params: dict[str, Any]
    features: Any

    def model(self) -> Any:
        """The model with these hyperparameters, unfitted."""
        model = _clone(self.config.model).set_params(**self.params)
        wrapper = self.config.wrapper
        return model if wrapper is None else _clone(wrapper).set_params(estimator=model)

    @property
    def description(self) -> dict[str, Any]:
        """Parameters of features and model, for reports."""
        return self.config.description | self.params


class TuningProblem(NamedTuple):
    """Training rows, and how hyperparameters are scored on them.

    Attributes
    ----------
    X, y : encoded rows and target: values, or class indices
    scoring : name of a metric
    seed : of the folds
    """

    X: Any
    y: np.ndarray
    scoring: str
    seed: int

    def sample(self) -> TuningProblem:
        """The same with fewer rows, for the comparison of features."""
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


def tune_models(configs: list[ModelConfig], problem: TuningProblem) -> TunedModel:
    """The best configuration and hyperparameters, by cross-validation within these rows."""
    with _threads_for(problem.X):
        if len(configs) > 1 and configs[0].screening is not None:
            sample = problem.sample()
            configs = [max(configs, key=lambda config: _screen_score(config, sample))]
        is_only = len(configs) == 1
        tuned = [_tune_config(config, problem, is_only=is_only) for config in configs]
        return max(tuned, key=lambda pair: pair[0])[1]


def _clone(estimator: Any) -> Any:
    """An unfitted copy."""
    return clone(estimator)


def _fit_features(config: ModelConfig, X: Any) -> Any:
    return None if config.features is None else _clone(config.features).fit(X)


def _screen_score(config: ModelConfig, sample: TuningProblem) -> float:
    """Score of the screening model with the features of a configuration."""
    screening: Any = config.screening
    features = _fit_features(config, sample.X)
    if len(sample.y) > _FEW_ROWS:
        return _search_params(screening.model, screening.grid, features, sample)[0]
    folds = make_inner_folds(sample.y, sample.seed).split(sample.X, sample.y)
    derived = features.transform(sample.X)
    return best_ridge_score(derived, sample.y, screening.grid["alpha"], sample.scoring, folds)


def _tune_config(
    config: ModelConfig, problem: TuningProblem, *, is_only: bool
) -> tuple[float, TunedModel]:
    """Score and best hyperparameters of a configuration; no search if there is one tuned."""
    features = _fit_features(config, problem.X)
    candidates = grid_candidates(config.grid) if config.grid else [{}]
    if is_only and len(candidates) == 1:
        return 0.0, TunedModel(config, candidates[0], features)
    problem = problem._replace(scoring=config.scoring or problem.scoring)
    model = _clone(config.model).set_params(**config.while_tuning)
    score, params = _search_params(model, config.grid or {}, features, problem)
    return score, TunedModel(config, params, features)


def _search_params(
    model: Any, grid: Any, features: Any, problem: TuningProblem
) -> tuple[float, dict]:
    X, y, scoring, seed = problem
    scoring = scoring if y.dtype.kind == "f" or hasattr(model, "predict_proba") else "accuracy"
    search = Search(model, grid, folds=make_inner_folds(y, seed), scoring=scoring, refit=False)
    call_quietly(search.fit, *_training_input(X, y, features, native=is_native(model)))
    return search.best_score_, search.best_params_


def make_inner_folds(y: np.ndarray, seed: int) -> Any:
    """Inner folds for hyperparameters: random, and stratified for classes."""
    kind = KFold if y.dtype.kind == "f" else StratifiedKFold
    return kind(_INNER_FOLDS, shuffle=True, random_state=seed)


def fit_tuned(tuned: TunedModel, X: Any, y: np.ndarray) -> Any:
    """The model, fitted on rows in memory: an estimator, or a pipeline of features and model."""
    model = tuned.model()
    with _threads_for(X):
        call_quietly(model.fit, *_training_input(X, y, tuned.features, native=is_native(model)))
    return join_pipeline(tuned, model)


def fit_tuned_on_all(tuned: TunedModel, X: Any, y: np.ndarray) -> Any:
    """The same; a model that held out rows to decide when to stop is fitted again with them."""
    fitted = fit_tuned(tuned, X, y)
    if not getattr(fitted, "do_early_stopping_", False):
        return fitted
    settings = {"early_stopping": False, "max_iter": fitted.n_iter_}
    return fit_tuned(tuned._replace(params=tuned.params | settings), X, y)


def fit_tuned_on_rows(tuned: TunedModel, rows: Rows) -> Any:
    """The model, fitted on rows that may exceed memory."""
    model = tuned.model()
    call_quietly(
        model.fit, rows if tuned.features is None else transform_rows(rows, tuned.features)
    )
    return join_pipeline(tuned, model)


def join_pipeline(tuned: TunedModel, model: Any) -> Any:
    """A pipeline of features and model, or the model."""
    if tuned.features is None:
        return model
    return Pipeline([("features", tuned.features), ("model", model)])


def _training_input(X: Any, y: np.ndarray, features: Any, *, native: bool) -> tuple:
    """Arguments of `fit`; many features are computed chunk by chunk in every pass."""
    if features is None:
        return X, y
    if not native or X.shape[0] <= _FEW_ROWS or _feature_bytes(features, X) <= _FEATURE_BYTES:
        return features.transform(X), y
    return (transform_rows(Rows(ArraySource(X, y)), features),)


def _feature_bytes(features: Any, X: Any) -> int:
    return X.shape[0] * features.transform(X[:1]).shape[1] * X.dtype.itemsize


def _threads_for(X: Any) -> Any:
    """One BLAS thread for small tables, where synchronization would dominate."""
    return threadpool_limits(1 if X.shape[0] * X.shape[1] < _SINGLE_THREAD_ENTRIES else None)


def call_quietly(f: Any, *args: Any) -> Any:
    """Call without convergence warnings: the score shows poor convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return f(*args)
