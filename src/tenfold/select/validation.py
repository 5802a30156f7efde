"""Cross-validation: every row is predicted once by a model that never saw it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.select.trial import trial_of


class Validation(dict):
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
) -> Validation:
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
    trial = trial_of(
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
    return Validation(result, names)
