"""Compare models of any family on the same folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tenfold.select.data import in_memory, is_ours, opened
from tenfold.select.intervals import Interval, fold_interval
from tenfold.select.paired import Comparison, corrected_t_test
from tenfold.select.splits import Split, make_splits
from tenfold.select.validation import Validation, cross_validate


class Leaderboard:
    """Models judged on the same folds, the best first.

    Attributes
    ----------
    names : names of the models, the best first
    results : their `Validation` by name
    score : name of the deciding score
    """

    def __init__(self, results: Mapping[str, Validation]) -> None:
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

    def interval(self, name: str, level: float = 0.95) -> Interval:
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
    >>> from tenfold.select import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> softmax = Search(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, folds=5)
    >>> board = compare({"naive Bayes": GaussianNB(), "softmax": softmax}, X, y, folds=5)
    >>> board.names, board.simplest()
    (['softmax', 'naive Bayes'], 'softmax')
    """
    if not models:
        raise ValueError("there are no models to compare")
    shared = _same_splits(models, X, y, folds, groups)
    found = {
        name: cross_validate(
            model, X, y, folds=shared, scoring=scoring, sample_weight=sample_weight
        )
        for name, model in models.items()
    }
    return Leaderboard(found)


def _same_splits(models: Mapping[str, Any], X: Any, y: Any, folds: Any, groups: Any) -> list[Split]:
    """Splits that are made once, so that random splitters give the same to all."""
    first = next(iter(models.values()))
    if is_ours(first):
        data = opened(first, X, y, None)
        n, labels = data.rows.n_rows, data.codes
    else:
        whole, target, _ = in_memory(X, y, None)
        n, labels = len(whole), target
    return make_splits(folds, n, labels, groups, stratify=is_classifier(first))
