"""What is trained (network, loss, batches), how (optimizer, penalties), and the training state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from tenfold.neural._fused_conv_pool import fuse_conv_pool
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import Network, backward, forward
from tenfold.optim.optimizers import Adam, Optimizer
from tenfold.optim.schedules import ConstantRate, Schedule


class TrainingConfig(NamedTuple):
    """How a network is trained.

    Attributes
    ----------
    optimizer, schedule : of `tenfold.optim.optimizers` and `tenfold.optim.schedules`
    batch_size, part_rows : rows of a minibatch, and of the parts into which threads split it
    l2, l1 : penalties of the weights
    clip_norm, clip_value : largest norm of the gradient, and largest entry
    shuffle : whether each epoch draws a new random order
    """

    optimizer: Optimizer = Adam()
    schedule: Schedule = ConstantRate(0.001)
    batch_size: int = 128
    part_rows: int | None = None
    l2: float = 0.0
    l1: float = 0.0
    clip_norm: float | None = None
    clip_value: float | None = None
    shuffle: bool = True


class StoppingRule(NamedTuple):
    """Stop after `patience` epochs in a row that improve by less than `tol`, or after `epochs`.

    With `tol=None`, only `epochs` counts. `adaptive_rate`: divide the learning rate by five instead
    of stopping, until it is tiny.
    """

    epochs: int
    tol: float | None = None
    patience: int = 10
    adaptive_rate: bool = False


BatchInput = Callable[[Any, np.ndarray, Network, Any], tuple[np.ndarray, np.ndarray | None]]


def make_dense_batch(
    X: Any, order: np.ndarray, network: Network, dtype: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """The rows `order` of X in the network's input shape, and no mask."""
    x = np.take(X, order, axis=0) if isinstance(X, np.ndarray) else X[order].toarray()
    return x.astype(dtype, copy=False).reshape(len(order), *network.shape), None


class Objective(Protocol):
    """What training minimizes.

    `target_is_input`: whether a row is its own target. `is_plain`: whether the gradient is that of
    the loss of the last layer alone, as compiled training takes it.
    """

    @property
    def network(self) -> Network: ...
    @property
    def loss(self) -> Any: ...
    @property
    def make_batch(self) -> Any: ...
    @property
    def target_is_input(self) -> bool: ...
    @property
    def is_plain(self) -> bool: ...

    def loss_and_gradient(
        self,
        params: list[np.ndarray],
        x: np.ndarray,
        y: Any,
        w: np.ndarray | None,
        context: PassContext,
    ) -> tuple[float, list[np.ndarray]]:
        """The loss summed over rows, and its gradient in all parameters."""
        ...

    def fuse_layers(self) -> Objective:
        """The same objective, with layers fused for training."""
        ...


class NetworkObjective(NamedTuple):
    """What is minimized: the loss of a network, and how rows become its input."""

    network: Network
    loss: Any
    make_batch: BatchInput = make_dense_batch
    target_is_input = False
    is_plain = True

    def loss_and_gradient(
        self,
        params: list[np.ndarray],
        x: np.ndarray,
        y: Any,
        w: np.ndarray | None,
        context: PassContext,
    ) -> tuple[float, list[np.ndarray]]:
        """The loss summed over rows, and its gradient in all parameters."""
        z, caches = forward(self.network, params, x, context)
        loss, gradient = self.loss.value_and_gradient(z, y, w)
        return loss, backward(self.network, params, caches, gradient)[1]

    def fuse_layers(self) -> NetworkObjective:
        """The same objective, with layers fused for training."""
        return self._replace(network=fuse_conv_pool(self.network))


class TrainingState(NamedTuple):
    """State of a training between two epochs: all that a checkpoint must hold."""

    params: list[np.ndarray]
    optimizer_state: list[Any]
    step: int = 0  # steps done
    rate_factor: float = 1.0  # by which an adaptive learning rate has been reduced
    best: float = np.inf  # least monitored value
    stale_epochs: int = 0  # epochs in a row without an improvement
    best_params: list[np.ndarray] | None = None  # those with the least validation error
    losses: tuple = ()  # mean loss of each epoch with penalties
    validation_errors: tuple = ()  # of each epoch, with early stopping


StepResult = tuple[TrainingState, float, float]  # state after it, loss and weight of its rows
