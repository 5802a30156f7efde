"""Training in rounds: which models can, how one round goes, and which was the best."""

from __future__ import annotations

import warnings
from copy import deepcopy
from math import inf
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from tenfold.estimator import OnePass


class Taken(NamedTuple):
    """Rows of one part, with weights if there are some."""

    X: Any
    y: Any
    weights: dict[str, Any]

    @classmethod
    def of(cls, X: Any, y: Any, w: Any, rows: np.ndarray) -> Taken:
        """These rows of the whole."""
        weights = {} if w is None else {"sample_weight": _safe_indexing(w, rows)}
        return cls(_safe_indexing(X, rows), _safe_indexing(y, rows), weights)


def in_rounds(model: Any) -> Any:
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


def one_round(model: Any, rows: Taken, classes: np.ndarray | None) -> None:
    """Train one round."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one round is not meant to converge
        if not hasattr(model, "partial_fit"):
            model.fit(rows.X, rows.y, **rows.weights)
        elif classes is None:
            model.partial_fit(rows.X, rows.y, **rows.weights)
        else:
            model.partial_fit(rows.X, rows.y, classes=classes, **rows.weights)


class Course:
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
