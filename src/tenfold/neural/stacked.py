"""Parameters and plans of models that are given their layers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from tenfold.neural.dense import Dense
from tenfold.neural.judging import mean_loss
from tenfold.neural.layer import Layer, Shape
from tenfold.neural.losses import LOSSES, loss_of
from tenfold.neural.model import NetworkModel
from tenfold.neural.training import Plan, Stop
from tenfold.rows import Rows
from tenfold.solve.rates import as_rate
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
        return loss_of(self._usual_loss if self.loss == "auto" else self.loss)

    def _shape(self) -> Shape | None:
        return None if self.input_shape is None else tuple(self.input_shape)

    def _measure(self) -> Any:
        return mean_loss

    def _plan(self, rows: Rows) -> Plan:
        names = ("batch_size", "part_rows", "l2", "l1", "clip_norm", "clip_value", "shuffle")
        rule = RULES.get(self.optimizer, self.optimizer)
        settings = {name: getattr(self, name) for name in names}
        return Plan(rule, as_rate(self.learning_rate), **settings)

    def _stop(self) -> Stop:
        tol = 0.0 if self.early_stopping and self.tol is None else self.tol
        return Stop(self.epochs, tol, self.patience)

    def _results(self, task: Any, loop: Any) -> dict[str, Any]:
        """Who asks for epochs has them; that is no lack of convergence."""
        found = super()._results(task, loop)
        watched = np.array(loop.state.watched)
        curve = {"validation_losses_": watched} if self.early_stopping else {}
        return found | curve | {"converged_": True}
