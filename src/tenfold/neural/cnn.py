"""Convolutional network for image classification."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from numbers import Integral, Real
from typing import Any

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.neural._estimators import NetworkClassifier
from tenfold.neural._training_config import StoppingRule, TrainingConfig
from tenfold.neural.layers.base import Layer, Shape
from tenfold.neural.layers.conv import Conv2d
from tenfold.neural.layers.dense import Dense
from tenfold.neural.layers.dropout import Dropout
from tenfold.neural.layers.pooling import MaxPool
from tenfold.neural.layers.reshape import Flatten, Reshape
from tenfold.neural.losses import CrossEntropy
from tenfold.optim.optimizers import AdamW
from tenfold.optim.schedules import CosineDecay

_COUNT = Interval(Integral, 1, None, closed="left")


class ConvClassifier(NetworkClassifier):
    r"""Convolutional network for image classification.

    Each entry of `filters` is a convolutional layer with ReLU, followed by max pooling as long as
    the image holds two windows along an axis; each entry of `hidden` is a dense layer with ReLU.
    The loss is the softmax cross-entropy, the optimizer AdamW with cosine decay of the learning
    rate.
    For other architectures use `SequentialClassifier`.

    Parameters
    ----------
    filters : tuple of int
        Number of kernels of each convolutional layer.
    kernel : int
        Height and width of kernels.
    pool : int
        Height and width of the windows of max pooling.
    hidden : tuple of int
        Units of each dense layer.
    dropout : float
        Dropout rate before each dense layer.
    padding : int, "same" or "valid"
        Zeros around images before each convolution: so many pixels, as many as keep the size, or
        none.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) of flat rows; by default that of X if it has
        more than two axes, a square if the number of columns is a square number, else one line.
    epochs : int
        Number of epochs.
    batch_size : int
        Rows of a minibatch.
    learning_rate : float
        Initial learning rate; it decreases to zero at the last step.
    decay : float
        Weight decay of AdamW, per unit of the learning rate.
    early_stopping, validation_fraction, patience : bool, float, int
        Whether to hold out a fraction of the rows, keep the parameters with the lowest error rate
        there, and stop after so many epochs without an improvement.
    warm_start : bool
        Whether to start from the parameters of the last fit.
    random_state : int, optional
        Seed of the initialization, the orders and dropout.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    network_, params_ : the layers with their shapes, and all parameters, one flat list
    loss_curve_ : mean loss of each epoch
    n_iter_, t_ : epochs and steps
    history_ : the same as `loss_curve_` ("objective"), and "seconds"

    See Also
    --------
    SequentialClassifier, MLPClassifier

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio, P. Haffner (1998), "Gradient-based learning applied to document
    recognition".
    I. Loshchilov, F. Hutter (2017), "SGDR: stochastic gradient descent with warm restarts".
    I. Loshchilov, F. Hutter (2019), "Decoupled weight decay regularization".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import ConvClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ConvClassifier((16,), hidden=(), learning_rate=0.01, random_state=0)
    >>> bool(model.fit(X / 16, y).score(X / 16, y) > 0.95)
    True
    """

    _law_rows = 4500
    _law_params = {
        "filters": (4,),
        "hidden": (8,),
        "epochs": 3,
        "batch_size": 32,
        "learning_rate": 0.05,
    }
    _parameter_constraints = {
        "filters": ["array-like", tuple],
        "kernel": [_COUNT],
        "pool": [_COUNT],
        "hidden": ["array-like", tuple],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "padding": [Interval(Integral, 0, None, closed="left"), StrOptions({"same", "valid"})],
        "image_shape": ["array-like", tuple, None],
        "epochs": [_COUNT],
        "batch_size": [_COUNT],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "decay": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [_COUNT],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        filters: Any = (32, 64),
        *,
        kernel: int = 3,
        pool: int = 2,
        hidden: Any = (128,),
        dropout: float = 0.0,
        padding: Any = "same",
        image_shape: Any = None,
        epochs: int = 10,
        batch_size: int = 128,
        learning_rate: float = 0.002,
        decay: float = 0.01,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.filters = filters
        self.kernel = kernel
        self.pool = pool
        self.hidden = hidden
        self.dropout = dropout
        self.padding = padding
        self.image_shape = image_shape
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.decay = decay
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _layers(self, targets: int) -> Sequence[Layer]:
        shape = image_shape(self.row_shape_, self.image_shape)
        layers: list[Layer] = [Reshape(shape)]
        for filters in self.filters:
            conv = Conv2d(filters, self.kernel, "relu", padding=self.padding)
            shape, layers = conv.output_shape(shape), [*layers, conv]
            height, width = (self.pool if side >= 2 * self.pool else 1 for side in shape[:2])
            if height * width > 1:
                pool = MaxPool((height, width))
                shape, layers = pool.output_shape(shape), [*layers, pool]
        dropout = [Dropout(self.dropout)] if self.dropout else []
        dense = [layer for units in self.hidden for layer in (*dropout, Dense(units, "relu"))]
        return [*layers, Flatten(), *dense, *dropout, Dense()]

    def _loss(self, targets: int) -> Any:
        return CrossEntropy()

    def _training_config(self, rows: Rows) -> TrainingConfig:
        steps = self.epochs * -(-rows.n_rows // self.batch_size)
        return TrainingConfig(
            AdamW(self.decay), CosineDecay(self.learning_rate, steps), self.batch_size
        )

    def _stopping_rule(self) -> StoppingRule:
        return StoppingRule(self.epochs, 0.0 if self.early_stopping else None, self.patience)

    def _results(self, objective: Any, loop: Any) -> dict[str, Any]:
        return super()._results(objective, loop) | {"warning_": ""}


def image_shape(shape: Shape, given: Any) -> Shape:
    """(height, width, channels) of images, see `ConvClassifier`."""
    shape = tuple(given or shape)
    if len(shape) == 1:
        side = isqrt(shape[0])
        shape = (side, side) if side * side == shape[0] else (1, shape[0])
    return (*shape, 1) if len(shape) == 2 else shape
