"""What is trained (network, loss, batches), how (optimizer, penalties, clipping) and when it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.network import Network
from tenfold.optim.optimizers import Adam, Optimizer
from tenfold.optim.schedules import ConstantRate, Schedule


class TrainingConfig(NamedTuple):
    """How a network learns.

    Attributes
    ----------
    rule, rate : a stepper of `tenfold.optim.optimizers` and a rate of `tenfold.optim.schedules`
    batch_size, part_rows : rows of a step, and of the parts in which threads share it
    l2, l1 : penalties of weights
    clip_norm, clip_value : longest gradient, and largest entry
    shuffle : whether each epoch has a random order of its own
    """

    rule: Optimizer = Adam()
    rate: Schedule = ConstantRate(0.001)
    batch_size: int = 128
    part_rows: int | None = None
    l2: float = 0.0
    l1: float = 0.0
    clip_norm: float | None = None
    clip_value: float | None = None
    shuffle: bool = True


class StoppingRule(NamedTuple):
    """When to stop: after `patience` epochs in a row without a gain of `tol`, after `epochs`.

    `tol=None` never looks. `slower`: divide the rate by five instead, as long as it is not tiny.
    """

    epochs: int
    tol: float | None = None
    patience: int = 10
    slower: bool = False


BatchInput = Callable[[Any, np.ndarray, Network, Any], tuple[np.ndarray, np.ndarray | None]]


def make_dense_batch(
    X: Any, order: np.ndarray, network: Network, dtype: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Some rows as the network takes them, and no mask."""
    x = np.take(X, order, axis=0) if isinstance(X, np.ndarray) else X[order].toarray()
    return x.astype(dtype, copy=False).reshape(len(order), *network.shape), None


class NetworkObjective(NamedTuple):
    """What is learned: a network, its loss, and how rows enter it."""

    network: Network
    loss: Any
    intake: BatchInput = make_dense_batch
