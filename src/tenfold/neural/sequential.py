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
from tenfold.neural._row_shapes import stack_images
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
from tenfold.neural._training_config import Objective, StoppingRule, TrainingConfig
from tenfold.neural.layers.base import Layer, Shape
from tenfold.neural.layers.dense import Dense
from tenfold.neural.losses import LOSSES, as_loss
from tenfold.optim.optimizers import SGD, AdaGrad, Adam, AdamW, Momentum, Nesterov, RMSProp
from tenfold.optim.schedules import CosineDecay, Schedule, as_schedule

OPTIMIZERS = {
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
    """Parameters and training of models that are given their layers."""

    _default_loss = "squared"
    _make_batch = staticmethod(make_sequence_batch)
    _law_params = {"epochs": 4, "learning_rate": 0.05}
    _parameter_constraints = {
        "layers": ["array-like", tuple],
        "loss": [StrOptions({"auto", *LOSSES}), HasMethods(["value_and_gradient"])],
        "optimizer": [StrOptions(set(OPTIMIZERS)), HasMethods(["update"])],
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
        loss = as_loss(self._default_loss if self.loss == "auto" else self.loss)
        return StepwiseLoss(loss) if self.per_step_ else loss

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Rows:
        """Rows; sequences of different lengths are lists of arrays, and so are targets of steps."""
        if isinstance(X, list) and not X:
            raise ValueError("Found array with 0 sample(s): there are no rows or sequences in X")
        X = stack_images(X, takes_sequences=self._takes_sequences())
        if isinstance(X, np.ndarray) and (has_step_targets(X, y) or (not reset and self.ragged_)):
            X = list(X)
        if is_ragged(X) and (self._takes_sequences() or not is_rectangular(X)):
            X, y, w = from_sequences(X, y, w), None, None
        rows = super()._rows(X, y, w, reset=reset)
        if reset:
            one = rows.take(np.zeros(1, np.int64))
            self.ragged_, self.per_step_ = (isinstance(part, Ragged) for part in one[:2])
            if self.ragged_:
                self.row_shape_ = (rows.total(sequence_extent).steps, rows.n_features)
        has_labels = isinstance(self, ClassifierMixin) and rows.source.has_target
        return encode_step_labels(rows) if self.per_step_ and has_labels else rows

    def _takes_sequences(self) -> bool:
        """Whether lists of arrays are sequences, not rows of a matrix."""
        return has_sequence_layer(self.layers)

    def _initialize(
        self, rows: Rows, rng: np.random.Generator
    ) -> tuple[Objective, list[np.ndarray]]:
        if self.ragged_:
            check_stepwise_layers(self._layers(self._n_targets(rows)))
        return super()._initialize(rows, rng)

    def _validation_set(self, rows: Rows, rng: np.random.Generator) -> ValidationSet | None:
        if self.early_stopping and self.per_step_:
            return hold_out_sequences(rows, self.validation_fraction, rng)
        return super()._validation_set(rows, rng)

    def _apply_to_rows(self, X: Any, chunk_function: Any) -> Any:
        """As of every network; a list of arrays, one per sequence, where steps have targets."""
        check_is_fitted(self)
        if chunk_function is layer_outputs:
            return super()._apply_to_rows(X, sequence_outputs)
        if self.per_step_:
            return list(super()._apply_to_rows(X, predict_steps))
        return super()._apply_to_rows(X, chunk_function)

    def _shape(self) -> Shape | None:
        return None if self.input_shape is None else tuple(self.input_shape)

    def _validation_measure(self) -> Any:
        return mean_loss

    def _training_config(self, rows: Rows) -> TrainingConfig:
        names = ("batch_size", "part_rows", "l2", "l1", "clip_norm", "clip_value", "shuffle")
        optimizer = OPTIMIZERS.get(self.optimizer, self.optimizer)
        settings = {name: getattr(self, name) for name in names}
        return TrainingConfig(optimizer, self._schedule(rows), **settings)

    def _schedule(self, rows: Rows) -> Schedule:
        """The learning rate; a cosine without a number of steps ends with the last epoch."""
        schedule = as_schedule(self.learning_rate)
        if isinstance(schedule, CosineDecay) and schedule.steps is None:
            return schedule._replace(steps=self.epochs * -(-rows.n_rows // self.batch_size))
        return schedule

    def _stopping_rule(self) -> StoppingRule:
        tol = 0.0 if self.early_stopping and self.tol is None else self.tol
        return StoppingRule(self.epochs, tol, self.patience)

    def _results(self, objective: Any, loop: Any) -> dict[str, Any]:
        """As of every network; a fit that has run all its epochs needs no warning."""
        learned = super()._results(objective, loop) | {"warning_": ""}
        if self.early_stopping:
            learned["validation_losses_"] = np.array(loop.state.validation_errors)
        return learned


class SequentialClassifier(SequentialBase, NetworkClassifier):
    r"""Neural network classifier made of any layers.

    .. math:: \min_\theta \frac1n \sum_i \omega_i \, \ell(f_\theta(x_i), y_i)
              + \tfrac{\lambda_2}{2} \lVert W \rVert^2 + \lambda_1 \lVert W \rVert_1

    The network f is trained in float32 on random minibatches. The order of rows depends on the seed
    alone, and a batch is split into parts of `part_rows` rows for any number of threads: arrays,
    files larger than memory and any number of threads give the same bits, and so does a fit that
    was stopped and resumed under `tenfold.checkpoint`.

    Sequences of different lengths are lists of arrays, (n_steps, n_features), or (n_steps,) for
    series and symbols. Layers act on them step by step (`Dense`, `Embedding`, `Dropout`,
    `LayerNorm`) until a recurrent layer returns its last state. If y is also a list of arrays, with
    a label for each step, the last layer must give scores for each step (recurrent layers with
    `all_states=True`); the loss of a sequence is then the sum over its steps, and predictions are
    lists of arrays.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last, see `tenfold.neural`. The last gives one score for each class;
        `Dense()` without a number of units takes as many as the loss needs.
    loss : str or loss
        "cross_entropy" ("auto"), "binary_cross_entropy" (two classes, one score), "hinge",
        "likelihood" (of probabilities, after `Softmax`), or a loss of `tenfold.math.losses`.
    optimizer : str or optimizer
        "adam", "adamw", "sgd", "momentum", "nesterov", "rmsprop", "adagrad", or one of
        `tenfold.optim.optimizers`.
    learning_rate : float or callable
        Learning rate, or a function of the step t = 1, 2, ...; see `tenfold.optim.schedules`.
    epochs : int
        Maximal number of epochs.
    batch_size : int
        Rows of a minibatch; at most 16384.
    part_rows : int, optional
        Rows of the parts of a batch that threads process: by default 128 in small dense networks,
        64 in large ones and for images, 32 for sequences. Other numbers give other bits.
    l2, l1 : float
        Penalties of the weights; biases are not penalized.
    clip_norm, clip_value : float, optional
        Largest norm of the gradient, and largest entry.
    tol : float, optional
        Stop when `patience` epochs in a row have not lowered the loss by this much.
    patience : int
        See `tol`; with `early_stopping` also without it.
    early_stopping : bool
        Whether to hold out rows, monitor their loss, and keep the parameters that minimize it.
    validation_fraction : float
        Fraction of the rows held out.
    shuffle : bool
        Whether each epoch draws a new random order.
    input_shape : tuple of int, optional
        Shape of a row, if X is flat: (28, 28, 1) for images, channels last.
    warm_start : bool
        Whether to start from the parameters of the last fit.
    random_state : int, optional
        Seed of the initialization, the orders and random layers.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    network_, params_ : the layers with their shapes, and all parameters, one flat list
    ragged_, per_step_ : whether X was a list of sequences, and whether their steps had labels
    loss_curve_ : mean loss of each epoch, with penalties
    validation_losses_ : loss of the rows held out, with `early_stopping`
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    See Also
    --------
    SequentialRegressor, MLPClassifier, ConvClassifier, RecurrentClassifier

    References
    ----------
    I. Goodfellow, Y. Bengio, A. Courville (2016), "Deep learning".
    D. P. Kingma, J. Ba (2015), "Adam: a method for stochastic optimization".

    Examples
    --------
    The exclusive or, which is not linearly separable:

    >>> import numpy as np
    >>> from tenfold.neural import Dense
    >>> from tenfold.neural.sequential import SequentialClassifier
    >>> X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    >>> layers = [Dense(8, "tanh"), Dense()]
    >>> model = SequentialClassifier(layers, epochs=300, learning_rate=0.05, random_state=0)
    >>> model.fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    _default_loss = "cross_entropy"


class SequentialRegressor(SequentialBase, NetworkRegressor):
    """Neural network regressor made of any layers.

    Objective, sequences and parameters are those of `SequentialClassifier`.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last; the last gives one value for each target column.
    loss : str or loss
        "squared" ("auto"), "gaussian" (mean and variance are learned), or a loss of
        `tenfold.math.losses` such as `Huber()`.
    optimizer, learning_rate, epochs, batch_size, part_rows : see `SequentialClassifier`
        Optimization.
    l2, l1, clip_norm, clip_value : see `SequentialClassifier`
        Penalties and gradient clipping.
    tol, patience, early_stopping, validation_fraction : see `SequentialClassifier`
        Stopping.
    shuffle, input_shape, warm_start, random_state, n_jobs, verbose : see `SequentialClassifier`
        As there.

    Attributes
    ----------
    network_, params_ : the layers with their shapes, and all parameters, one flat list
    ragged_, per_step_ : whether X was a list of sequences, and whether their steps had targets
    loss_curve_ : mean loss of each epoch, with penalties
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    See Also
    --------
    SequentialClassifier, MLPRegressor, RecurrentRegressor

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
    """A network of any layers: a classifier or a regressor, depending on the loss.

    Parameters
    ----------
    layers : sequence of layers
        From the first to the last.
    loss : str or loss
        "cross_entropy" and other classification losses, or "squared" and other regression losses.
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
