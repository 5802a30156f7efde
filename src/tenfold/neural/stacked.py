"""Parameters and plans of models that are given their layers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tenfold.neural.dense import Dense
from tenfold.neural.judging import Held, layer_outputs, mean_loss
from tenfold.neural.layer import Layer, Shape
from tenfold.neural.losses import LOSSES, loss_of
from tenfold.neural.model import NetworkModel
from tenfold.neural.plan import Plan, Stop
from tenfold.neural.recurrent.each_step import EachStep, hold_sequences, label_steps, step_chances
from tenfold.neural.recurrent.intake import (
    assert_step_by_step,
    extent,
    is_matrix,
    is_ragged,
    of_steps,
    reads_steps,
    sequence_outputs,
    sequence_rows,
)
from tenfold.neural.steps import Task
from tenfold.rows import Ragged, Rows
from tenfold.rows.sequences import from_sequences
from tenfold.solve.rates import Cosine, Rate, as_rate
from tenfold.solve.steppers import AdaGrad, Adam, AdamW, Momentum, Nesterov, Plain, RMSProp

RULES = {
    "adam": Adam(),
    "adamw": AdamW(),
    "sgd": Plain(),
    "momentum": Momentum(),
    "nesterov": Nesterov(),
    "rmsprop": RMSProp(),
    "adagrad": AdaGrad(),
}
HIDDEN_LAYER = (Dense(32, "relu"), Dense())


class Stacked(NetworkModel):
    """Parameters that both classes share."""

    _usual_loss = "squared"
    _intake = staticmethod(sequence_rows)
    _in_laws = {"epochs": 4, "learning_rate": 0.05}
    _parameter_constraints = {
        "layers": ["array-like", tuple],
        "loss": [StrOptions({"auto", *LOSSES}), HasMethods(["both"])],
        "optimizer": [StrOptions(set(RULES)), HasMethods(["begin", "move"])],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), callable],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "part_rows": [Interval(Integral, 1, None, closed="left"), None],
        "l2": [Interval(Real, 0, None, closed="left")],
        "l1": [Interval(Real, 0, None, closed="left")],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "clip_value": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "shuffle": ["boolean"],
        "input_shape": ["array-like", tuple, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        layers: Sequence[Layer] = HIDDEN_LAYER,
        loss: Any = "auto",
        *,
        optimizer: Any = "adam",
        learning_rate: Any = 0.001,
        epochs: int = 10,
        batch_size: int = 128,
        part_rows: int | None = None,
        l2: float = 0.0,
        l1: float = 0.0,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        tol: float | None = None,
        patience: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        shuffle: bool = True,
        input_shape: Shape | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.layers = layers
        self.loss = loss
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.part_rows = part_rows
        self.l2 = l2
        self.l1 = l1
        self.clip_norm = clip_norm
        self.clip_value = clip_value
        self.tol = tol
        self.patience = patience
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.shuffle = shuffle
        self.input_shape = input_shape
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _layers(self, targets: int) -> Sequence[Layer]:
        return self.layers

    def _loss(self, targets: int) -> Any:
        loss = loss_of(self._usual_loss if self.loss == "auto" else self.loss)
        return EachStep(loss) if self.per_step_ else loss

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        """Sequences of different lengths are a list of arrays, and so are targets of steps."""
        if isinstance(X, np.ndarray) and (of_steps(X, y) or (not reset and self.ragged_)):
            X = list(X)
        if is_ragged(X) and (self._reads_steps() or not is_matrix(X)):
            X, y, w = from_sequences(X, y, w), None, None
        rows = super()._rows(X, y, w, reset=reset)
        if reset:
            one = rows.take(np.zeros(1, np.int64))
            self.ragged_, self.per_step_ = (isinstance(part, Ragged) for part in one[:2])
            if self.ragged_:
                self.row_shape_ = (rows.total(extent).steps, rows.n_features)
        is_labelled = isinstance(self, ClassifierMixin) and rows.source.has_target
        return label_steps(rows) if self.per_step_ and is_labelled else rows

    def _reads_steps(self) -> bool:
        """Whether these are layers of sequences."""
        return reads_steps(self.layers)

    def _begun(self, rows: Rows, rng: np.random.Generator) -> tuple[Task, list[np.ndarray]]:
        if self.ragged_:
            assert_step_by_step(self._layers(self._targets(rows)))
        return super()._begun(rows, rng)

    def _held(self, rows: Rows, rng: np.random.Generator) -> Held | None:
        if self.early_stopping and self.per_step_:
            return hold_sequences(rows, self.validation_fraction, rng)
        return super()._held(rows, rng)

    def _said(self, X: Any, leaf: Any) -> Any:
        """As of every network; a list with an array for each sequence where steps are judged."""
        check_is_fitted(self)
        if leaf is layer_outputs:
            return super()._said(X, sequence_outputs)
        if self.per_step_:
            return list(super()._said(X, step_chances))
        return super()._said(X, leaf)

    def _shape(self) -> Shape | None:
        return None if self.input_shape is None else tuple(self.input_shape)

    def _measure(self) -> Any:
        return mean_loss

    def _plan(self, rows: Rows) -> Plan:
        names = ("batch_size", "part_rows", "l2", "l1", "clip_norm", "clip_value", "shuffle")
        rule = RULES.get(self.optimizer, self.optimizer)
        settings = {name: getattr(self, name) for name in names}
        return Plan(rule, self._rate(rows), **settings)

    def _rate(self, rows: Rows) -> Rate:
        """The learning rate; a cosine without an end ends with the last epoch."""
        rate = as_rate(self.learning_rate)
        if isinstance(rate, Cosine) and rate.steps is None:
            return rate._replace(steps=self.epochs * -(-rows.n_rows // self.batch_size))
        return rate

    def _stop(self) -> Stop:
        tol = 0.0 if self.early_stopping and self.tol is None else self.tol
        return Stop(self.epochs, tol, self.patience)

    def _results(self, task: Any, loop: Any) -> dict[str, Any]:
        """Who asks for epochs has them; that is no lack of convergence."""
        found = super()._results(task, loop)
        watched = np.array(loop.state.watched)
        curve = {"validation_losses_": watched} if self.early_stopping else {}
        return found | curve | {"converged_": True}
