"""Estimators made of any sequence of layers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.io.sequences import Ragged, from_sequences
from tenfold.neural._estimators import NetworkClassifier, NetworkEstimator, NetworkRegressor
from tenfold.neural._inference import ValidationSet, layer_outputs, mean_loss
from tenfold.neural._sequences import (
    StepwiseLoss,
    check_stepwise_layers,
    encode_step_labels,
    has_sequence_layer,
    has_step_targets,
    hold_out_sequences,
    is_ragged,
    is_rectangular,
    make_sequence_batch,
    predict_steps,
    sequence_extent,
    sequence_outputs,
)
from tenfold.neural._training_config import NetworkObjective, StoppingRule, TrainingConfig
from tenfold.neural.layers.base import Layer, Shape
from tenfold.neural.layers.dense import Dense
from tenfold.neural.losses import LOSSES, as_loss
from tenfold.optim.optimizers import SGD, AdaGrad, Adam, AdamW, Momentum, Nesterov, RMSProp
from tenfold.optim.schedules import CosineDecay, Schedule, as_schedule

_OPTIMIZERS = {
    "adam": Adam(),
    "adamw": AdamW(),
    "sgd": SGD(),
    "momentum": Momentum(),
    "nesterov": Nesterov(),
    "rmsprop": RMSProp(),
    "adagrad": AdaGrad(),
}
_DEFAULT_LAYERS = (Dense(32, "relu"), Dense())


class SequentialBase(NetworkEstimator):
    """Parameters that both classes share."""

    _usual_loss = "squared"
    _intake = staticmethod(make_sequence_batch)
    _in_laws = {"epochs": 4, "learning_rate": 0.05}
    _parameter_constraints = {
        "layers": ["array-like", tuple],
        "loss": [StrOptions({"auto", *LOSSES}), HasMethods(["both"])],
        "optimizer": [StrOptions(set(_OPTIMIZERS)), HasMethods(["begin", "move"])],
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
        layers: Sequence[Layer] = _DEFAULT_LAYERS,
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
        loss = as_loss(self._usual_loss if self.loss == "auto" else self.loss)
        return StepwiseLoss(loss) if self.per_step_ else loss

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        """Sequences of different lengths are a list of arrays, and so are targets of steps."""
        if isinstance(X, np.ndarray) and (has_step_targets(X, y) or (not reset and self.ragged_)):
            X = list(X)
        if is_ragged(X) and (self._reads_steps() or not is_rectangular(X)):
            X, y, w = from_sequences(X, y, w), None, None
        rows = super()._rows(X, y, w, reset=reset)
        if reset:
            one = rows.take(np.zeros(1, np.int64))
            self.ragged_, self.per_step_ = (isinstance(part, Ragged) for part in one[:2])
            if self.ragged_:
                self.row_shape_ = (rows.total(sequence_extent).steps, rows.n_features)
        is_labelled = isinstance(self, ClassifierMixin) and rows.source.has_target
        return encode_step_labels(rows) if self.per_step_ and is_labelled else rows

    def _reads_steps(self) -> bool:
        """Whether these are layers of sequences."""
        return has_sequence_layer(self.layers)

    def _begun(
        self, rows: Rows, rng: np.random.Generator
    ) -> tuple[NetworkObjective, list[np.ndarray]]:
        if self.ragged_:
            check_stepwise_layers(self._layers(self._targets(rows)))
        return super()._begun(rows, rng)

    def _held(self, rows: Rows, rng: np.random.Generator) -> ValidationSet | None:
        if self.early_stopping and self.per_step_:
            return hold_out_sequences(rows, self.validation_fraction, rng)
        return super()._held(rows, rng)

    def _said(self, X: Any, leaf: Any) -> Any:
        """As of every network; a list with an array for each sequence where steps are judged."""
        check_is_fitted(self)
        if leaf is layer_outputs:
            return super()._said(X, sequence_outputs)
        if self.per_step_:
            return list(super()._said(X, predict_steps))
        return super()._said(X, leaf)

    def _shape(self) -> Shape | None:
        return None if self.input_shape is None else tuple(self.input_shape)

    def _measure(self) -> Any:
        return mean_loss

    def _plan(self, rows: Rows) -> TrainingConfig:
        names = ("batch_size", "part_rows", "l2", "l1", "clip_norm", "clip_value", "shuffle")
        rule = _OPTIMIZERS.get(self.optimizer, self.optimizer)
        settings = {name: getattr(self, name) for name in names}
        return TrainingConfig(rule, self._rate(rows), **settings)

    def _rate(self, rows: Rows) -> Schedule:
        """The learning rate; a cosine without an end ends with the last epoch."""
        rate = as_schedule(self.learning_rate)
        if isinstance(rate, CosineDecay) and rate.steps is None:
            return rate._replace(steps=self.epochs * -(-rows.n_rows // self.batch_size))
        return rate

    def _stop(self) -> StoppingRule:
        tol = 0.0 if self.early_stopping and self.tol is None else self.tol
        return StoppingRule(self.epochs, tol, self.patience)

    def _results(self, task: Any, loop: Any) -> dict[str, Any]:
        """Who asks for epochs has them; that is no lack of convergence."""
        found = super()._results(task, loop)
        watched = np.array(loop.state.watched)
        curve = {"validation_losses_": watched} if self.early_stopping else {}
        return found | curve | {"converged_": True}


class SequentialClassifier(SequentialBase, NetworkClassifier):
    r"""A classifier made of any layers.

    .. math:: \min_\theta \frac1n \sum_i \omega_i \, \ell(f_\theta(x_i), y_i)
              + \tfrac{\lambda_2}{2} \lVert W \rVert^2 + \lambda_1 \lVert W \rVert_1

    The network f learns in float32 by steps on random batches. The order of rows depends on the
    seed alone, and a batch is cut into parts of `part_rows` rows whatever the number of threads:
    arrays, files larger than memory and any number of threads give the same bits, and so does a fit
    that was stopped and resumed under `tenfold.checkpoint`. [001, ch. 3; 003, unit 3; 004, ch. 4]

    Sequences of different lengths come as a list of arrays, (steps, numbers), or (steps,) for
    series and symbols. Layers then see them one step at a time (`Dense`, `Embedding`, `Dropout`,
    `LayerNorm`) until a recurrent layer has made its last state of them. If y is a list of arrays
    too, a label for each step, the last layer must give scores for each step: recurrent layers do
    so with `all_states=True`. The loss of a sequence is then the sum over its steps, and what is
    predicted is a list of arrays.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last, see `tenfold.neural`. The last gives one score for each class;
        `Dense()` without a number takes as many units as that needs.
    loss : str or loss
        "cross_entropy" ("auto"), "binary_cross_entropy" (two classes, one score), "hinge",
        "likelihood" (after a layer of probabilities), or a loss of `tenfold.math.losses`.
    optimizer : str or stepper
        "adam", "adamw", "sgd", "momentum", "nesterov", "rmsprop", "adagrad", or one of
        `tenfold.optim.optimizers` with settings of its own.
    learning_rate : float or callable
        Length of step t = 1, 2, ...; see `tenfold.optim.schedules`.
    epochs : int
        How often every row is seen, at most.
    batch_size : int
        Rows of a step; not more than 16384.
    part_rows : int, optional
        Rows of the parts of a batch that threads share out: 128 in dense networks, 64 where there
        are images, else 32. Other numbers give other bits.
    l2, l1 : float
        Penalties of the weights; constants are free.
    clip_norm, clip_value : float, optional
        Longest gradient, and its largest entry.
    tol : float, optional
        Stop when `patience` epochs in a row have not lowered the loss by this much.
    patience : int
        See `tol`; with `early_stopping` also without it.
    early_stopping : bool
        Whether to hold rows back, watch their loss, and keep the parameters that were best there.
    validation_fraction : float
        Share of the rows held back.
    shuffle : bool
        Whether each epoch has a random order of its own.
    input_shape : tuple of int, optional
        Shape of a row, if X is flat: (28, 28, 1) for images, channels last.
    warm_start : bool
        Whether to start from the parameters of the last fit.
    random_state : int, optional
        Seed of the start, the orders and of what is random in layers.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    classes_ : (k,) labels
    network_, params_ : the layers with their shapes, and all parameters, one flat list
    ragged_, per_step_ : whether X was a list of sequences, and whether their steps had labels
    loss_curve_ : mean loss of each epoch, with penalties
    validation_losses_ : loss of the rows held back, with `early_stopping`
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    Examples
    --------
    The exclusive or, which no line can tell apart:

    >>> import numpy as np
    >>> from tenfold.neural import Dense
    >>> from tenfold.neural.sequential import SequentialClassifier
    >>> X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    >>> layers = [Dense(8, "tanh"), Dense()]
    >>> model = SequentialClassifier(layers, epochs=300, learning_rate=0.05, random_state=0)
    >>> model.fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    _usual_loss = "cross_entropy"


class SequentialRegressor(SequentialBase, NetworkRegressor):
    """A model of numbers made of any layers.

    The objective, the forms of sequences and all parameters are those of `SequentialClassifier`.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last; the last gives one number for each column of the target.
    loss : str or loss
        "squared" ("auto"), "gaussian" (mean and variance are both learned), or a loss of
        `tenfold.math.losses` such as `Huber()`.
    optimizer, learning_rate, epochs, batch_size, part_rows : see `SequentialClassifier`
        How to step.
    l2, l1, clip_norm, clip_value : see `SequentialClassifier`
        Penalties, and limits of the gradient.
    tol, patience, early_stopping, validation_fraction : see `SequentialClassifier`
        When to stop.
    shuffle, input_shape, warm_start, random_state, n_jobs, verbose : see `SequentialClassifier`
        The rest.

    Attributes
    ----------
    network_, params_ : the layers with their shapes, and all parameters, one flat list
    ragged_, per_step_ : whether X was a list of sequences, and whether their steps had targets
    loss_curve_ : mean loss of each epoch, with penalties
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import Dense
    >>> from tenfold.neural.sequential import SequentialRegressor
    >>> x = np.linspace(-3, 3, 200)[:, None]
    >>> layers = [Dense(20, "tanh"), Dense()]
    >>> model = SequentialRegressor(layers, epochs=200, learning_rate=0.01, random_state=0)
    >>> bool(model.fit(x, np.sin(x)[:, 0]).score(x, np.sin(x)[:, 0]) > 0.98)
    True
    """


def Sequential(layers: Sequence[Layer], loss: Any, **settings: Any) -> Any:  # noqa: N802
    """A model of any layers: a classifier or a regressor, as the loss says.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last.
    loss : str or loss
        "cross_entropy" and others of labels, "squared" and others of numbers.
    **settings
        Parameters of `SequentialClassifier` or `SequentialRegressor`.

    Examples
    --------
    >>> from tenfold.neural import Dense
    >>> Sequential([Dense(10, "relu"), Dense()], "squared", epochs=5)  # doctest: +ELLIPSIS
    SequentialRegressor(...)
    """
    kinds = {"classes": SequentialClassifier, "numbers": SequentialRegressor}
    return kinds[as_loss(loss).labels](layers, loss, **settings)
