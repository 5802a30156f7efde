"""Cross-validation of one model, or of several on the same folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import cross_validate as sklearn_cross_validate

from tenfold.model_selection._evaluation import make_evaluator
from tenfold.model_selection._sklearn_arguments import (
    call_sklearn,
    check_arguments,
    is_shared,
    number_of_folds,
)
from tenfold.model_selection.confidence_intervals import ConfidenceInterval, fold_interval
from tenfold.model_selection.cv_data import (
    is_in_memory,
    is_native,
    load_in_memory,
    open_cv_data,
)
from tenfold.model_selection.group_columns import separate_groups
from tenfold.model_selection.paired_tests import Comparison, corrected_t_test
from tenfold.model_selection.splits import Split, make_splits


class CVResult(dict):
    """Scores of a cross-validation, a dict with the keys of scikit-learn.

    Attributes
    ----------
    names : names of the metrics; the first one decides
    """

    def __init__(self, values: dict[str, Any], names: list[str]) -> None:
        super().__init__(values)
        self.names = names

    def scores(self, name: str | None = None) -> np.ndarray:
        """Scores of each fold, by default of the first metric."""
        return self[self._key(name)]

    def mean(self, name: str | None = None) -> float:
        """Mean score over the folds, by default of the first metric."""
        return float(np.mean(self.scores(name)))

    def standard_error(self, name: str | None = None) -> float:
        """Standard error of that mean, as if folds were independent."""
        scores = self.scores(name)
        return float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else np.nan

    def _key(self, name: str | None) -> str:
        return "test_score" if "test_score" in self else f"test_{name or self.names[0]}"

    def __str__(self) -> str:
        lines = [
            f"{name}: {self.mean(name):.4f} ± {self.standard_error(name):.4f} "
            f"(mean of {len(self.scores(name))} folds ± standard error)"
            for name in self.names
        ]
        return "\n".join(lines)


def cross_validate(
    model: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    folds: Any = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    **sklearn_options: Any,
) -> CVResult:
    """Score a model by cross-validation, all folds together.

    One-pass models (`Ridge`, `GaussianNB`, ...) are fitted on all folds in one pass over the data:
    a statistic per fold, merged without the held-out one. Fits of other models run in lockstep, so
    that a pass over the data serves all folds. Works on arrays, files larger than memory and
    clusters.

    Parameters
    ----------
    model : estimator
        Of tenfold, or any other with scikit-learn's interface (then the data must fit in memory).
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : array or column name, optional
        Target, or labels.
    folds : int, "loo", scikit-learn splitter, or pairs of arrays of row numbers
        A number (10 by default) means consecutive folds without shuffling, stratified for a
        classifier, as in scikit-learn; "loo" leaves out one row at a time. Pairs are kept as they
        are given, with rows that they repeat (which are then copied into memory); a warning says
        if rows are both learned from and tested on.
    scoring : str, Metric, list of them, or callable, optional
        Names as in scikit-learn. By default the model's own `score`: accuracy, R^2, minus the cost
        of a `CostSensitiveClassifier`, the deviance of a `PoissonRegressor`, what a `Search`
        chooses by. A callable `f(model, X, y)`, and names that are not in
        `tenfold.metrics.METRICS`, need data in memory.
    groups : (n_rows,) array or column name, optional
        Rows of one group are in one fold. A column of groups is no feature.
    sample_weight : array or column name, optional
        Weights of rows, for fitting and (models of tenfold) for scoring.
    return_train_score, return_estimator : bool
        Whether to add the scores on the training rows, and the fitted models.
    **sklearn_options
        Arguments of scikit-learn's function: `estimator`, `cv` (another name of `folds`), `n_jobs`,
        `verbose`, `params`, `pre_dispatch`, `error_score`, `return_indices`. With one of them, the
        result is that of scikit-learn, of 5 folds by default; a fold whose fit fails scores NaN.

    Returns
    -------
    CVResult
        A dict with `test_score` (or `test_NAME` for several), `fit_time`, `score_time` per fold;
        prints as mean and standard error. Times of shared passes are divided evenly.

    See Also
    --------
    Search : Choose parameters by cross-validation.
    learning_curve : Scores against the number of training rows.
    validation_curve : Scores against a parameter.

    References
    ----------
    M. Stone (1974), Cross-validatory choice and assessment of statistical predictions.
    R. Kohavi (1995), A study of cross-validation and bootstrap for accuracy estimation and model
    selection.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Ridge, cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> print(cross_validate(Ridge(alpha=0.1), X, y, scoring="neg_root_mean_squared_error"))
    neg_root_mean_squared_error: -54.4735 ± 1.9322 (mean of 10 folds ± standard error)
    """
    model = check_arguments("cross_validate", model, folds, sklearn_options)
    folds = number_of_folds(folds, sklearn_options)
    flags = {"return_train_score": return_train_score, "return_estimator": return_estimator}
    data = (X, y, sample_weight, groups)
    if not sklearn_options:
        return _cross_validate(model, data, folds, scoring, **flags)
    if is_shared(model, scoring, sklearn_options):
        try:
            return _cross_validate(model, data, folds, scoring, **flags)
        except Exception:  # scikit-learn scores the folds whose fits do not fail
            if not is_in_memory(X, y, sample_weight):
                raise
    options = {"scoring": scoring, **flags, **sklearn_options}
    return _as_cv_result(call_sklearn(sklearn_cross_validate, model, data, folds, options))


def _as_cv_result(scores: dict[str, Any]) -> CVResult:
    names = [key.removeprefix("test_") for key in scores if key.startswith("test_")]
    return CVResult(scores, names)


def _cross_validate(
    model: Any,
    data: tuple[Any, Any, Any, Any],
    folds: Any,
    scoring: Any,
    *,
    return_train_score: bool,
    return_estimator: bool,
) -> CVResult:
    """Scores on (X, y, sample_weight, groups), all folds together."""
    X, y, sample_weight, groups = data
    evaluator = make_evaluator(
        model, X, y, folds=folds, scoring=scoring, groups=groups, sample_weight=sample_weight
    )
    evaluator.keeps_models = return_estimator
    scores = evaluator.run([{}], train=return_train_score)
    is_multimetric = isinstance(scoring, list | tuple | dict)
    keys = evaluator.names if is_multimetric else ["score"]
    n_folds = len(scores.test)
    result: dict[str, Any] = {
        "fit_time": np.full(n_folds, scores.fit_seconds / n_folds),
        "score_time": np.full(n_folds, scores.score_seconds / n_folds),
    }
    if return_estimator:
        result["estimator"] = [models[0] for models in scores.models]
    for m, key in enumerate(keys):
        result[f"test_{key}"] = scores.test[:, 0, m]
        if scores.train is not None:
            result[f"train_{key}"] = scores.train[:, 0, m]
    return CVResult(result, evaluator.names)


class Leaderboard:
    """Models scored on the same folds, the best first.

    Attributes
    ----------
    names : names of the models, the best first
    results : their `CVResult` by name
    score : name of the deciding metric
    """

    def __init__(self, results: Mapping[str, CVResult]) -> None:
        self._given = list(results)
        self.names = sorted(results, key=lambda name: -results[name].mean())
        self.results = {name: results[name] for name in self.names}
        self.score = results[self.names[0]].names[0]

    def scores(self, name: str) -> np.ndarray:
        """The deciding scores of a model, fold by fold.

        Parameters
        ----------
        name : str
            Name of the model.
        """
        return self.results[name].scores()

    def interval(self, name: str, level: float = 0.95) -> ConfidenceInterval:
        """Confidence interval of a mean score, corrected for folds that share training rows.

        Parameters
        ----------
        name : str
            Name of the model.
        level : float
            Confidence level.
        """
        return fold_interval(self.scores(name), level=level)

    def against_best(self, name: str) -> Comparison:
        """Whether the best is better than a model, by the corrected paired t test.

        Parameters
        ----------
        name : str
            Name of the model.
        """
        return corrected_t_test(self.scores(self.names[0]), self.scores(name))

    def simplest(self, order: list[str] | None = None) -> str:
        """The first model, in the order of simplicity, within one standard error of the best.

        Parameters
        ----------
        order : list of str, optional
            Names, the simplest first; by default in the order in which they were given.
        """
        best = self.results[self.names[0]]
        threshold = best.mean() - best.standard_error()
        return next(n for n in order or self._given if self.results[n].mean() >= threshold)

    def __str__(self) -> str:
        rows = [
            (name, result.mean(), self.interval(name), _total_seconds(result))
            for name, result in self.results.items()
        ]
        return format_leaderboard(self.score, rows)


def _total_seconds(result: CVResult) -> float:
    return float(result["fit_time"].sum() + result["score_time"].sum())


def format_leaderboard(
    metric: str, rows: Sequence[tuple[str, float, ConfidenceInterval | None, float]]
) -> str:
    """A table of text: name, mean score, its interval, and seconds of each model.

    Parameters
    ----------
    metric : str
        Name of the score.
    rows : sequence of (name, mean, interval, seconds)
        The models in their order; the interval may be None.

    Examples
    --------
    >>> print(format_leaderboard("r2", [("Ridge", 0.5, None, 0.25)]))
    model            r2        95 % interval   seconds
    Ridge        0.5000                           0.25
    """
    width = max(len(name) for name in [*(row[0] for row in rows), "model"])
    lines = [f"{'model':<{width}}  {metric:>12}  {'95 % interval':>19}  {'seconds':>8}"]
    for name, mean, interval, seconds in rows:
        ends = "" if interval is None else f"{interval.low:.4f} to {interval.high:.4f}"
        lines.append(f"{name:<{width}}  {mean:>12.4f}  {ends:>19}  {seconds:>8.2f}")
    return "\n".join(lines)


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    folds: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
) -> Leaderboard:
    """Score several models on the same folds; a `Search` among them tunes its model in each fold.

    Parameters
    ----------
    models : dict from names to estimators
        In the order of simplicity, the simplest first, if `Leaderboard.simplest` is used.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : array or column name, optional
        Target, or labels.
    folds, scoring, groups, sample_weight
        As in `cross_validate`.

    Returns
    -------
    Leaderboard

    See Also
    --------
    cross_validate : Scores of one model.
    corrected_t_test : Compare two models.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import GaussianNB, LogisticRegression, Search
    >>> from tenfold.model_selection import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> softmax = Search(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, folds=5)
    >>> board = compare({"naive Bayes": GaussianNB(), "softmax": softmax}, X, y, folds=5)
    >>> board.names, board.simplest()
    (['softmax', 'naive Bayes'], 'softmax')
    """
    if not models:
        raise ValueError("there are no models to compare: give at least one")
    X, y, sample_weight, groups = separate_groups(X, y, sample_weight, groups)
    shared = _shared_splits(models, X, y, folds, groups)
    results = {
        name: cross_validate(
            model, X, y, folds=shared, scoring=scoring, sample_weight=sample_weight
        )
        for name, model in models.items()
    }
    metrics = {name: result.names[0] for name, result in results.items()}
    if len(set(metrics.values())) > 1:
        raise ValueError(f"the models have different default scores, {metrics}: give scoring=")
    return Leaderboard(results)


def _shared_splits(
    models: Mapping[str, Any], X: Any, y: Any, folds: Any, groups: Any
) -> list[Split]:
    """Splits that are drawn once, so that all models get the same."""
    first = next(iter(models.values()))
    given = X if is_in_memory(X, y) else None
    if is_native(first):
        data = open_cv_data(first, X, y, None)
        n, labels = data.rows.n_rows, data.codes
        labels = np.asarray(y) if labels is None and given is not None and y is not None else labels
    else:
        X, labels, _ = load_in_memory(X, y, None)
        n = np.shape(X)[0] if hasattr(X, "shape") else len(X)
    keep_order = not all(is_native(model) for model in models.values())
    return make_splits(
        folds, n, labels, groups, stratify=is_classifier(first), X=given, keep_order=keep_order
    )
