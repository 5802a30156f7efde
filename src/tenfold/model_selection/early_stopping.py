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
    """Rows of one part, with weights if there are some."""

    X: Any
    y: Any
    weights: dict[str, Any]

    @classmethod
    def of(cls, X: Any, y: Any, w: Any, rows: np.ndarray) -> TrainingPart:
        """These rows of the whole."""
        weights = {} if w is None else {"sample_weight": safe_indexing(w, rows)}
        return cls(safe_indexing(X, rows), safe_indexing(y, rows), weights)


def make_incremental(model: Any) -> Any:
    """A fresh copy of the model that learns one round per call."""
    if isinstance(model, OnePass):
        raise TypeError(f"{type(model).__name__} learns in one pass: there is nothing to stop")
    fresh: Any = clone(model)
    if hasattr(fresh, "partial_fit"):
        return fresh
    settings = set(fresh.get_params())
    trees = "max_leaf_nodes" in settings  # whose max_iter counts from the first round
    if {"warm_start", "max_iter"} <= settings and not trees:
        return fresh.set_params(warm_start=True, max_iter=1)
    raise TypeError(
        f"{type(model).__name__} cannot be trained in rounds: it has neither partial_fit nor "
        "warm_start with a max_iter that counts further rounds. In a pipeline, wrap the last step, "
        "not the pipeline"
    )


def train_one_round(model: Any, rows: TrainingPart, classes: np.ndarray | None) -> None:
    """Train one round."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one round is not meant to converge
        if not hasattr(model, "partial_fit"):
            model.fit(rows.X, rows.y, **rows.weights)
        elif classes is None:
            model.partial_fit(rows.X, rows.y, **rows.weights)
        else:
            model.partial_fit(rows.X, rows.y, classes=classes, **rows.weights)


class StoppingMonitor:
    """What rounds have brought, and the model of the best of them; the first of equally good."""

    def __init__(self, patience: int, tol: float, most: int) -> None:
        self.patience, self.tol, self.most = patience, tol, most
        self.rounds: list[tuple[float, float, float]] = []
        self.best_model: Any = None
        self.best_round, self.best_score = 0, -inf
        self.gain_round, self.to_beat = 0, -inf  # of the last gain that counts

    def add(self, model: Any, train: float, held_out: float, seconds: float) -> None:
        """Note the scores of a round; a score that is no number is never the best."""
        self.rounds.append((train, held_out, seconds))
        if held_out > self.best_score:
            self.best_model = deepcopy(model)
            self.best_round, self.best_score = len(self.rounds), held_out
        if held_out > self.to_beat:
            self.gain_round, self.to_beat = len(self.rounds), held_out + self.tol * abs(held_out)

    @property
    def stale(self) -> bool:
        """Whether there was no gain that counts for as long as patience lasts."""
        return len(self.rounds) - self.gain_round >= self.patience

    @property
    def ended(self) -> bool:
        """Whether training is over."""
        if self.best_round == 0 and self.stale:
            raise ValueError(
                f"the score of the rows held out is no finite number in {len(self.rounds)} rounds: "
                "scale the columns, or lower the learning rate"
            )
        return self.stale or len(self.rounds) >= self.most


def _has(name: str) -> Any:
    """Whether the model inside has a method; for `available_if`."""

    def check(self: EarlyStopping) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self.model, name)
        return True

    return available_if(check)


class EarlyStopping(MetaEstimatorMixin, BaseEstimator):
    """Train in rounds, watch rows held out, return the best round.

    A round is one `partial_fit` on the training rows, or, for models without it, one warm start
    with `max_iter=1`. After `patience` rounds without a gain on the rows held out training ends.
    What is kept is the model of the best round, not of the last. [000, 1.4]

    Parameters
    ----------
    model : classifier or regressor
        With `partial_fit`, or with the parameters `warm_start` and `max_iter`.
    validation : float
        Share of the rows held out; for a classifier as much of each class.
    patience : int
        Rounds without a gain after which to stop.
    tol : float
        Gain, as a share of the score, that does not count; the best round is kept all the same.
    scoring : str or callable, optional
        As in scikit-learn; the model's own `score` by default.
    max_rounds : int
        Most rounds.
    seed : int
        Of the rows held out.

    Attributes
    ----------
    estimator_ : the model of the best round
    best_round_, best_score_ : which it is, from 1, and its score on the rows held out
    n_rounds_ : rounds that were trained
    history_ : "train" and "validation" scores of each round, and "seconds" since the start
    validation_rows_ : numbers of the rows held out
    classes_ : labels of a classifier

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
        """Train until rows held out say stop.

        Parameters
        ----------
        X : array, sparse matrix or table
            The rows.
        y : array
            Their target.
        sample_weight : array, optional
            Weight of each row, in training and in the scores.

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
        rows = self._cut(num_samples(X), labels)
        learned, held = (TrainingPart.of(X, y, sample_weight, part) for part in rows)
        classes = None if labels is None else np.unique(labels)
        course = StoppingMonitor(self.patience, self.tol, self.max_rounds)
        started = perf_counter()
        while not course.ended:
            train_one_round(model, learned, classes)
            seconds = perf_counter() - started
            train, held_out = (float(scorer(model, a.X, a.y, **a.weights)) for a in (learned, held))
            course.add(model, train, held_out, seconds)
        self.estimator_, self.validation_rows_ = course.best_model, rows[1]
        self._keep(course)
        return self

    def _cut(self, n: int, labels: np.ndarray | None) -> list[np.ndarray]:
        """Rows to learn from and rows held out; by class where every class has rows for both."""
        if n < 2:
            raise ValueError(f"n_samples = {n}: some rows learn and others are held out")
        sizes = part_sizes(n, (1 - self.validation, self.validation))
        if labels is not None:
            counts = np.unique(labels, return_counts=True)[1]
            labels = labels if counts.min() > 1 and min(sizes) >= len(counts) else None
        return draw_parts(np.arange(n), sizes, self.seed, labels)

    def _keep(self, course: StoppingMonitor) -> None:
        names = ("train", "validation", "seconds")
        self.history_ = dict(zip(names, np.array(course.rounds).T, strict=True))
        self.best_round_, self.best_score_ = course.best_round, course.best_score
        self.n_rounds_ = len(course.rounds)
        if not course.stale:
            warnings.warn(
                f"all {self.n_rounds_} rounds were used and round {self.best_round_} was the best: "
                "more may be better. Raise max_rounds",
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
        """What the model of the best round predicts.

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
        """Scores of the model of the best round.

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
