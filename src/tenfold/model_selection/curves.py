"""Learning curves and validation curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import learning_curve as sklearn_learning_curve
from sklearn.model_selection import validation_curve as sklearn_validation_curve

from tenfold.model_selection._evaluation import concatenate_splits, make_evaluator
from tenfold.model_selection._sklearn_arguments import (
    call_sklearn,
    check_arguments,
    is_shared,
    number_of_folds,
)
from tenfold.model_selection.cv_data import is_in_memory
from tenfold.model_selection.splits import Split, learning_curve_split

_DEFAULT_SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
_TRAINING_ROWS = "training rows"


@dataclass(frozen=True)
class ScoreCurve:
    """Scores of a model against its number of training rows, or against one parameter.

    It unpacks as what scikit-learn returns: `sizes, train, test` of a learning curve, `train, test`
    of a validation curve.

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

    def __iter__(self) -> Iterator[np.ndarray]:
        is_learning_curve = self.what == _TRAINING_ROWS
        return iter((*([self.values] if is_learning_curve else []), self.train, self.test))

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
    model: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    shares: Any = _DEFAULT_SHARES,
    folds: Any = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = 0,
    **sklearn_options: Any,
) -> Any:
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
    **sklearn_options
        Arguments of scikit-learn's function: `estimator`, `cv`, `train_sizes`, `shuffle`,
        `exploit_incremental_learning`, `return_times`, `n_jobs`, `verbose`, `params`,
        `pre_dispatch`, `error_score`. With one of them, its function is called, on the rows in
        memory.

    Returns
    -------
    ScoreCurve
        Its `values` are numbers of training rows, averaged over the folds. With an argument of
        scikit-learn its tuple `(train_sizes, train_scores, test_scores)`, and times if asked for.

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
    model = check_arguments("learning_curve", model, folds, sklearn_options)
    folds = number_of_folds(folds, sklearn_options)
    if sklearn_options:
        options = {"scoring": scoring, "random_state": random_state, **sklearn_options}
        data = (X, y, sample_weight, groups)
        return call_sklearn(sklearn_learning_curve, model, data, folds, options)
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
    return ScoreCurve(_TRAINING_ROWS, values, train, test, evaluator.names[0])


def _training_sizes(split: Split, n_shares: int) -> np.ndarray:
    counts = np.bincount(split.cell, minlength=len(split.train[0]))
    return (split.train @ counts).reshape(-1, n_shares)


def validation_curve(
    model: Any = None,
    name: Any = None,
    values: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    folds: Any = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    **sklearn_options: Any,
) -> Any:
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
    **sklearn_options
        Arguments of scikit-learn's function: `estimator`, `param_name`, `param_range`, `cv`,
        `n_jobs`, `verbose`, `params`, `pre_dispatch`, `error_score`. With `param_name`, the
        second and third argument are X and y, as in scikit-learn.

    Returns
    -------
    ScoreCurve
        With an argument of scikit-learn its pair `(train_scores, test_scores)`.

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
    options = sklearn_options
    model = check_arguments("validation_curve", model, folds, options)
    folds = number_of_folds(folds, options)
    if "param_name" in options:
        X, y = (name if X is None else X), (values if y is None else y)
        name, values = options["param_name"], options.get("param_range")
    if name is None or values is None or X is None:
        raise TypeError("validation_curve() needs a parameter's name, its values, and X")
    data = (X, y, sample_weight, groups)
    if options and is_shared(model, scoring, options):
        try:
            curve = _validation_curve(model, name, values, data, folds, scoring)
        except Exception:  # scikit-learn scores the folds whose fits do not fail
            if not is_in_memory(X, y, sample_weight):
                raise
        else:
            return curve.train, curve.test
    if options:
        options = {**options, "scoring": scoring, "param_name": name, "param_range": values}
        return call_sklearn(sklearn_validation_curve, model, data, folds, options)
    return _validation_curve(model, name, values, data, folds, scoring)


def _validation_curve(
    model: Any,
    name: str,
    values: Any,
    data: tuple[Any, Any, Any, Any],
    folds: Any,
    scoring: Any,
) -> ScoreCurve:
    X, y, sample_weight, groups = data
    evaluator = make_evaluator(
        model,
        X,
        y,
        folds=folds,
        scoring=scoring,
        groups=groups,
        sample_weight=sample_weight,
        grid={name: values},
    )
    scores = evaluator.run([{name: value} for value in values], train=True)
    train, test = (a[:, :, 0].T for a in scores.both)
    return ScoreCurve(name, np.asarray(values), train, test, evaluator.names[0])
