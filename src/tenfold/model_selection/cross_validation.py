"""Cross-validation of one model, or of several on the same folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tenfold.model_selection._evaluation import make_evaluator
from tenfold.model_selection.confidence_intervals import ConfidenceInterval, fold_interval
from tenfold.model_selection.cv_data import is_native, load_in_memory, open_cv_data
from tenfold.model_selection.paired_tests import Comparison, corrected_t_test
from tenfold.model_selection.splits import Split, make_splits


class CVResult(dict):
    """What a cross-validation found: scikit-learn's keys, and the mean with its error.

    Attributes
    ----------
    names : names of the scores; the first is the one that decides
    """

    def __init__(self, found: dict[str, Any], names: list[str]) -> None:
        super().__init__(found)
        self.names = names

    def scores(self, name: str | None = None) -> np.ndarray:
        """A score of each part (by default the first)."""
        return self[self._key(name)]

    def mean(self, name: str | None = None) -> float:
        """Mean over the parts of a score (by default the first)."""
        return float(np.mean(self.scores(name)))

    def standard_error(self, name: str | None = None) -> float:
        """Standard error of that mean, as if the parts were independent."""
        scores = self.scores(name)
        return float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else np.nan

    def _key(self, name: str | None) -> str:
        return "test_score" if "test_score" in self else f"test_{name or self.names[0]}"

    def __str__(self) -> str:
        lines = [
            f"{name}: {self.mean(name):.4f} ± {self.standard_error(name):.4f} "
            f"(mean of {len(self.scores(name))} parts ± standard error)"
            for name in self.names
        ]
        return "\n".join(lines)


def cross_validate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    folds: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
) -> CVResult:
    """Judge a model on rows that it has not seen, for all folds together.

    One-pass models (`Ridge`, `GaussianNB`, ...) are fitted on all folds in one walk over the data:
    a statistic per fold, merged without the held-out one. Others walk in step, so that a pass over
    the data serves all folds. Works on arrays, files larger than memory and clusters. [000, 1.4;
    001, 2.3; 003, recitation 1; 004, 2.8]

    Parameters
    ----------
    model : estimator
        Of tenfold, or any other with scikit-learn's interface (then the data must fit in memory).
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : array or column name, optional
        Target, or labels.
    folds : int, "loo", scikit-learn splitter, or pairs of arrays of row numbers
        A number means stretches of rows that follow each other, of equal class shares for a
        classifier, as in scikit-learn; "loo" leaves out one row at a time.
    scoring : str, Metric, list of them, or callable, optional
        Names as in scikit-learn. By default accuracy, R^2, or what the model's own `score` says.
        A callable `f(model, X, y)`, and names that are not in `tenfold.metrics.METRICS`, need data
        in memory.
    groups : (n,) array, optional
        Rows of one group stay together.
    sample_weight : array or column name, optional
        Weights of rows, in fitting and (of tenfold's models) in judging.
    return_train_score, return_estimator : bool
        Whether to add the scores on the training rows, and the fitted models.

    Returns
    -------
    Validation
        A dict with `test_score` (or `test_NAME` for several), `fit_time`, `score_time` per part;
        prints as mean and standard error. Times of shared walks are divided evenly.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Ridge, cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> print(cross_validate(Ridge(alpha=0.1), X, y, scoring="neg_root_mean_squared_error"))
    neg_root_mean_squared_error: -54.4735 ± 1.9322 (mean of 10 parts ± standard error)
    """
    trial = make_evaluator(
        model, X, y, folds=folds, scoring=scoring, groups=groups, sample_weight=sample_weight
    )
    trial.keeps_models = return_estimator
    found = trial.run([{}], train=return_train_score)
    names = trial.names
    several = isinstance(scoring, list | tuple | dict)
    keys = names if several else ["score"]
    parts = len(found.test)
    result: dict[str, Any] = {
        "fit_time": np.full(parts, found.fit_seconds / parts),
        "score_time": np.full(parts, found.score_seconds / parts),
    }
    if return_estimator:
        result["estimator"] = [row[0] for row in found.models]
    for m, key in enumerate(keys):
        result[f"test_{key}"] = found.test[:, 0, m]
        if found.train is not None:
            result[f"train_{key}"] = found.train[:, 0, m]
    return CVResult(result, names)


class Leaderboard:
    """Models judged on the same folds, the best first.

    Attributes
    ----------
    names : names of the models, the best first
    results : their `CVResult` by name
    score : name of the deciding score
    """

    def __init__(self, results: Mapping[str, CVResult]) -> None:
        self.given = list(results)
        order = sorted(results, key=lambda name: -results[name].mean())
        self.results = {name: results[name] for name in order}
        self.names = order
        self.score = results[order[0]].names[0]

    def scores(self, name: str) -> np.ndarray:
        """The deciding scores of a model, fold by fold.

        Parameters
        ----------
        name : str
            Of the model.
        """
        return self.results[name].scores()

    def interval(self, name: str, level: float = 0.95) -> ConfidenceInterval:
        """Interval of a model's mean score, corrected for folds that share training rows.

        Parameters
        ----------
        name : str
            Of the model.
        level : float
            Of the interval.
        """
        return fold_interval(self.scores(name), level=level)

    def against_best(self, name: str) -> Comparison:
        """Whether the best is better than a model, by the corrected paired t test.

        Parameters
        ----------
        name : str
            Of the model.
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
        bar = best.mean() - best.standard_error()
        return next(n for n in order or self.given if self.results[n].mean() >= bar)

    def __str__(self) -> str:
        width = max(len(name) for name in [*self.names, "model"])
        lines = [f"{'model':<{width}}  {self.score:>12}  {'95 % interval':>19}  {'seconds':>8}"]
        for name in self.names:
            at, found = self.interval(name), self.results[name]
            ends = f"{at.low:.4f} to {at.high:.4f}"
            took = found["fit_time"].sum() + found["score_time"].sum()
            lines.append(f"{name:<{width}}  {found.mean():>12.4f}  {ends:>19}  {took:>8.2f}")
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
    """Judge models of any family on the same folds; a `Search` among them chooses for itself.

    Parameters
    ----------
    models : dict from names to estimators
        Given from the simplest to the most complex, if `Leaderboard.simplest` is to be asked.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : array or column name, optional
        Target, or labels.
    folds, scoring, groups, sample_weight
        As in `cross_validate`.

    Returns
    -------
    Leaderboard

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
        raise ValueError("there are no models to compare")
    shared = _shared_splits(models, X, y, folds, groups)
    found = {
        name: cross_validate(
            model, X, y, folds=shared, scoring=scoring, sample_weight=sample_weight
        )
        for name, model in models.items()
    }
    return Leaderboard(found)


def _shared_splits(
    models: Mapping[str, Any], X: Any, y: Any, folds: Any, groups: Any
) -> list[Split]:
    """Splits that are made once, so that random splitters give the same to all."""
    first = next(iter(models.values()))
    if is_native(first):
        data = open_cv_data(first, X, y, None)
        n, labels = data.rows.n_rows, data.codes
    else:
        whole, target, _ = load_in_memory(X, y, None)
        n, labels = len(whole), target
    return make_splits(folds, n, labels, groups, stratify=is_classifier(first))
