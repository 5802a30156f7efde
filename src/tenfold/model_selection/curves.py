"""Learning curves and validation curves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.model_selection._evaluation import concatenate_splits, make_evaluator
from tenfold.model_selection.splits import Split, learning_curve_split

_DEFAULT_SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)


class ScoreCurve(NamedTuple):
    """Scores of a model against its number of training rows, or against one parameter.

    Attributes
    ----------
    what : "training rows", or the name of a parameter
    values : (n_values,) its values
    train, test : (n_values, n_folds) scores on training and on test rows
    score : name of the metric
    """

    what: str
    values: np.ndarray
    train: np.ndarray
    test: np.ndarray
    score: str

    @property
    def gap(self) -> np.ndarray:
        """Mean training score minus mean test score, (n_values,)."""
        return self.train.mean(axis=1) - self.test.mean(axis=1)

    @property
    def best(self) -> Any:
        """The value with the best mean test score."""
        return self.values[int(np.nanargmax(self.test.mean(axis=1)))]

    def __str__(self) -> str:
        rows = [f"{self.what:>16} {'train':>10} {'held out':>10} {'gap':>10}"]
        for value, a, b, gap in zip(
            self.values, self.train.mean(axis=1), self.test.mean(axis=1), self.gap, strict=True
        ):
            rows.append(f"{value!s:>16.16} {a:>10.4f} {b:>10.4f} {gap:>10.4f}")
        return "\n".join(rows)


def learning_curve(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    shares: Any = _DEFAULT_SHARES,
    folds: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: int = 0,
) -> ScoreCurve:
    """Scores against the number of training rows; all sizes and folds share their passes.

    Parameters
    ----------
    model : estimator
        The model.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : array or column name, optional
        Target, or labels.
    shares : array
        Shares of the training rows, in (0, 1]; the rows of a smaller share are nested.
    folds, scoring, groups, sample_weight
        As in `cross_validate`.
    random_state : int
        Seed of the subsamples.

    Returns
    -------
    Curve
        Its `values` are numbers of training rows, averaged over the folds.

    See Also
    --------
    validation_curve : Scores against one parameter.
    cross_validate : Scores on all training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import GaussianNB, learning_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learning_curve(GaussianNB(), X, y, shares=[0.2, 1.0], folds=5)
    >>> curve.values.tolist(), bool(curve.gap[0] > curve.gap[1])
    ([24, 120], True)
    """
    sizes = np.asarray(shares, dtype=float)
    if not ((sizes > 0) & (sizes <= 1)).all():
        raise ValueError(f"shares={shares!r} of the training rows must lie in (0, 1]")
    evaluator = make_evaluator(
        model, X, y, folds=folds, scoring=scoring, groups=groups, sample_weight=sample_weight
    )
    splits = [learning_curve_split(split, sizes, random_state) for split in evaluator.splits]
    scores = concatenate_splits([evaluator.on_split(split, [{}], train=True) for split in splits])
    n_rows = np.concatenate([_training_sizes(split, len(sizes)) for split in splits])
    train, test = (a[:, 0, 0].reshape(-1, len(sizes)).T for a in scores.both)
    values = n_rows.mean(axis=0).round().astype(int)
    return ScoreCurve("training rows", values, train, test, evaluator.names[0])


def _training_sizes(split: Split, n_shares: int) -> np.ndarray:
    counts = np.bincount(split.cell, minlength=len(split.train[0]))
    return (split.train @ counts).reshape(-1, n_shares)


def validation_curve(
    model: Any,
    name: str,
    values: Any,
    X: Any,
    y: Any = None,
    *,
    folds: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
) -> ScoreCurve:
    """Scores against the values of one parameter; all values and folds share their passes.

    Parameters
    ----------
    model : estimator
        The model.
    name : str
        Name of the parameter.
    values : array
        Values to try.
    X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    y : array or column name, optional
        Target, or labels.
    folds, scoring, groups, sample_weight
        As in `cross_validate`.

    Returns
    -------
    Curve

    See Also
    --------
    learning_curve : Scores against the number of training rows.
    Search : Choose parameters by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Ridge, validation_curve
    >>> X, y = load_diabetes(return_X_y=True)
    >>> print(validation_curve(Ridge(), "alpha", [0.01, 0.1, 10.0], X, y))
               alpha      train   held out        gap
                0.01     0.5174     0.4629     0.0545
                 0.1     0.5129     0.4633     0.0495
                10.0     0.1763     0.1407     0.0355
    """
    evaluator = make_evaluator(
        model, X, y, folds=folds, scoring=scoring, groups=groups, sample_weight=sample_weight
    )
    scores = evaluator.run([{name: value} for value in values], train=True)
    train, test = (a[:, :, 0].T for a in scores.both)
    return ScoreCurve(name, np.asarray(values), train, test, evaluator.names[0])
