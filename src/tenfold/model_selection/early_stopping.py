"""Early stopping: train in rounds, watch a validation part, keep the best round."""

from __future__ import annotations

import warnings
from copy import deepcopy
from math import inf
from numbers import Integral, Real
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, num_samples, safe_indexing
from tenfold.base.one_pass import OnePass
from tenfold.model_selection.holdout import draw_parts, part_sizes


class TrainingPart(NamedTuple):
    """Rows, target and weights of a part."""

    X: Any
    y: Any
    weights: dict[str, Any]

    @classmethod
    def of(cls, X: Any, y: Any, w: Any, rows: np.ndarray) -> TrainingPart:
        """The part of these rows."""
        weights = {} if w is None else {"sample_weight": safe_indexing(w, rows)}
        return cls(safe_indexing(X, rows), safe_indexing(y, rows), weights)


def make_incremental(model: Any) -> Any:
    """An unfitted copy of the model that is trained for one round per call."""
    if isinstance(model, OnePass):
        raise TypeError(f"{type(model).__name__} is fitted in one pass: there is nothing to stop")
    copy: Any = clone(model)
    if hasattr(copy, "partial_fit"):
        return copy
    params = set(copy.get_params())
    is_boosting = "max_leaf_nodes" in params  # its max_iter counts from the first round
    if {"warm_start", "max_iter"} <= params and not is_boosting:
        return copy.set_params(warm_start=True, max_iter=1)
    raise TypeError(
        f"{type(model).__name__} cannot be trained in rounds: it has neither partial_fit nor "
        "warm_start with a max_iter that counts further rounds. In a pipeline, wrap the last step, "
        "not the pipeline"
    )


def train_one_round(model: Any, part: TrainingPart, classes: np.ndarray | None) -> None:
    """Train for one round."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one round is not meant to converge
        if not hasattr(model, "partial_fit"):
            model.fit(part.X, part.y, **part.weights)
        elif classes is None:
            model.partial_fit(part.X, part.y, **part.weights)
        else:
            model.partial_fit(part.X, part.y, classes=classes, **part.weights)


class StoppingMonitor:
    """Scores of the rounds, and the model of the best one; the first of equally good ones."""

    def __init__(self, patience: int, tol: float, max_rounds: int) -> None:
        self.patience, self.tol, self.max_rounds = patience, tol, max_rounds
        self.rounds: list[tuple[float, float, float]] = []
        self.best_model: Any = None
        self.best_round, self.best_score = 0, -inf
        self.gain_round, self.threshold = 0, -inf  # of the last gain that exceeds tol

    def add(self, model: Any, train: float, validation: float, seconds: float) -> None:
        """Add the scores of a round; NaN is never the best."""
        self.rounds.append((train, validation, seconds))
        if validation > self.best_score:
            self.best_model = deepcopy(model)
            self.best_round, self.best_score = len(self.rounds), validation
        if validation > self.threshold:
            self.gain_round = len(self.rounds)
            self.threshold = validation + self.tol * abs(validation)

    @property
    def is_stale(self) -> bool:
        """Whether the last `patience` rounds brought no gain."""
        return len(self.rounds) - self.gain_round >= self.patience

    @property
    def is_finished(self) -> bool:
        """Whether to stop training."""
        if self.best_round == 0 and self.is_stale:
            raise ValueError(
                f"the validation score is not finite in {len(self.rounds)} rounds: "
                "scale the columns, or lower the learning rate"
            )
        return self.is_stale or len(self.rounds) >= self.max_rounds


def _has(name: str) -> Any:
    """Whether the model inside has a method; for `available_if`."""

    def check(self: EarlyStopping) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self.model, name)
        return True

    return available_if(check)


class EarlyStopping(MetaEstimatorMixin, BaseEstimator):
    """Early stopping: train in rounds until the validation score no longer improves.

    A round is one `partial_fit` on the training rows, or, for models without it, one warm start
    with `max_iter=1`. Training stops after `patience` rounds without a gain on the validation rows;
    the model of the best round is kept, not that of the last.

    Parameters
    ----------
    model : classifier or regressor
        With `partial_fit`, or with the parameters `warm_start` and `max_iter`.
    validation : float
        Share of the validation rows; stratified for a classifier.
    patience : int
        Rounds without a gain after which to stop.
    tol : float
        Relative gain of the score that is ignored by `patience`; the best round is kept anyway.
    scoring : str or callable, optional
        As in scikit-learn; the model's own `score` by default.
    max_rounds : int
        Maximum number of rounds.
    seed : int
        Seed of the validation rows.

    Attributes
    ----------
    estimator_ : the model of the best round
    best_round_, best_score_ : its number, from 1, and its validation score
    n_rounds_ : number of rounds
    history_ : "train" and "validation" scores of each round, and "seconds" since the start
    validation_rows_ : indices of the validation rows
    classes_ : labels of a classifier

    See Also
    --------
    Search : Choose parameters by cross-validation.

    References
    ----------
    L. Prechelt (1998), Early stopping - but when?

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from tenfold.datasets import make_three_clouds
    >>> X, y = make_three_clouds(300, random_state=0)
    >>> model = EarlyStopping(SGDClassifier(random_state=0), patience=3).fit(X, y)
    >>> model.best_score_ == max(model.history_["validation"].tolist())
    True
    >>> model.n_rounds_ - model.best_round_
    3
    """

    _parameter_constraints = {
        "model": [HasMethods(["fit", "predict"])],
        "validation": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "scoring": [str, callable, None],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "seed": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        model: Any,
        *,
        validation: float = 0.1,
        patience: int = 5,
        tol: float = 1e-4,
        scoring: Any = None,
        max_rounds: int = 1000,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.validation = validation
        self.patience = patience
        self.tol = tol
        self.scoring = scoring
        self.max_rounds = max_rounds
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train until the validation score no longer improves.

        Parameters
        ----------
        X : array, sparse matrix or table
            The rows.
        y : array
            Their target.
        sample_weight : array, optional
            Weight of each row, for training and scoring.

        Returns
        -------
        self
        """
        self._validate_params()
        if y is None:
            raise ValueError("EarlyStopping requires y to be passed, but the target y is None")
        X, y, sample_weight = indexable(X, y, sample_weight)
        model = make_incremental(self.model)
        scorer: Any = check_scoring(self.model, self.scoring)
        labels = np.asarray(y) if is_classifier(self.model) else None
        rows = self._split_rows(num_samples(X), labels)
        train, validation = (TrainingPart.of(X, y, sample_weight, part) for part in rows)
        classes = None if labels is None else np.unique(labels)
        monitor = StoppingMonitor(self.patience, self.tol, self.max_rounds)
        started = perf_counter()
        while not monitor.is_finished:
            train_one_round(model, train, classes)
            seconds = perf_counter() - started
            train_score, validation_score = (
                float(scorer(model, part.X, part.y, **part.weights)) for part in (train, validation)
            )
            monitor.add(model, train_score, validation_score, seconds)
        self.estimator_, self.validation_rows_ = monitor.best_model, rows[1]
        self._set_attributes(monitor)
        return self

    def _split_rows(self, n: int, labels: np.ndarray | None) -> list[np.ndarray]:
        """Training and validation rows; stratified if every class has rows for both."""
        if n < 2:
            raise ValueError(
                f"n_samples = {n}: at least 2 rows are needed, for training and validation"
            )
        sizes = part_sizes(n, (1 - self.validation, self.validation))
        if labels is not None:
            counts = np.unique(labels, return_counts=True)[1]
            labels = labels if counts.min() > 1 and min(sizes) >= len(counts) else None
        return draw_parts(np.arange(n), sizes, self.seed, labels)

    def _set_attributes(self, monitor: StoppingMonitor) -> None:
        names = ("train", "validation", "seconds")
        self.history_ = dict(zip(names, np.array(monitor.rounds).T, strict=True))
        self.best_round_, self.best_score_ = monitor.best_round, monitor.best_score
        self.n_rounds_ = len(monitor.rounds)
        if not monitor.is_stale:
            warnings.warn(
                f"all {self.n_rounds_} rounds were used and round {self.best_round_} was the best: "
                "increase max_rounds",
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def classes_(self) -> np.ndarray:
        """Labels of a classifier."""
        return self.estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self.estimator_.n_features_in_

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the model of the best round.

        Parameters
        ----------
        X : array, sparse matrix or table
            The rows.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the model of the best round.

        Parameters
        ----------
        X : array, sparse matrix or table
            The rows.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision function of the model of the best round.

        Parameters
        ----------
        X : array, sparse matrix or table
            The rows.
        """
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the model of the best round.

        Parameters
        ----------
        X : array, sparse matrix or table
            The rows.
        y : array
            Their target.
        sample_weight : array, optional
            Weight of each row.
        """
        check_is_fitted(self)
        return self.estimator_.score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.model)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "input_tags"):
            setattr(tags, name, deepcopy(getattr(inner, name)))
        tags.target_tags.required = True
        return tags
