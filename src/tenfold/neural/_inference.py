"""Forward passes over all rows: predictions, layer outputs, and the error on a validation set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neural._minibatch import split_batch
from tenfold.neural._training_config import NetworkObjective
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import forward, forward_layers

INFERENCE_BATCH_ROWS = 128  # what layers hold of so many rows fits the cache


def output_scores(chunk: Chunk, task: NetworkObjective, params: list[np.ndarray]) -> np.ndarray:
    """What the last layer gives for each row."""
    parts = [
        forward(task.network, params, *entered)[0]
        for entered in iterate_batches(chunk, task, params)
    ]
    return np.concatenate(parts)


def iterate_batches(chunk: Chunk, task: NetworkObjective, params: list[np.ndarray]) -> Any:
    """A few rows at a time, with their masks, as the network takes them."""
    order = np.arange(chunk.rows)
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        x, mask = task.intake(chunk.X, order[a:b], task.network, _compute_dtype(params, chunk))
        yield x, PassContext(mask=mask)


def _compute_dtype(params: list[np.ndarray], chunk: Chunk) -> Any:
    """In which type a network computes."""
    return params[0].dtype if params else np.result_type(chunk.X.dtype, np.float32)


def predict_rows(chunk: Chunk, task: NetworkObjective, params: list[np.ndarray]) -> np.ndarray:
    """Probabilities of classes, or predicted numbers, (n, k)."""
    z = output_scores(chunk, task, params)
    return task.loss.inverse_link(z.reshape(len(z), -1))


def layer_outputs(chunk: Chunk, task: NetworkObjective, params: list[np.ndarray]) -> np.ndarray:
    """What every layer gives, all numbers of a row one after the other."""
    parts = []
    for x, way in iterate_batches(chunk, task, params):
        given = forward_layers(task.network, params, x, way)
        parts.append(np.hstack([a.reshape(len(a), -1) for a in given]))
    return np.concatenate(parts)


def _validation_scores(
    chunk: Chunk, task: NetworkObjective, params: list[np.ndarray], held: np.ndarray
) -> np.ndarray:
    """What the last layer gives for the rows held back; zeros for the others."""
    z = np.zeros((chunk.rows, *task.network.shapes[-1]), _compute_dtype(params, chunk))
    mine = np.flatnonzero(held[chunk.first : chunk.first + chunk.rows])
    if len(mine):
        z[mine] = output_scores(Chunk(chunk.X[mine]), task, params)
    return z


def _chunk_targets(chunk: Chunk) -> np.ndarray:
    """The targets themselves."""
    return chunk.y


def _chunk_weights(chunk: Chunk) -> np.ndarray:
    """The weights themselves."""
    return chunk.weights()


class ValidationSet(NamedTuple):
    """Rows held back, and what is measured on them; less is better.

    Attributes
    ----------
    rows : (n,) whether a row is held back
    y, w : targets and weights of those that are
    measure : function of (loss, scores, y, w)
    """

    rows: np.ndarray
    y: np.ndarray
    w: np.ndarray
    measure: Callable[[Any, np.ndarray, np.ndarray, np.ndarray], float]

    def error(self, rows: Rows, task: NetworkObjective, params: list[np.ndarray]) -> float:
        """The measure of a network. A pass of outputs: checkpoints keep the loop, not the pass."""
        z = rows.each(_validation_scores, task, params, self.rows)[self.rows]
        return float(self.measure(task.loss, z, self.y, self.w))


def hold_out(rows: Rows, share: float, rng: np.random.Generator, measure: Any) -> ValidationSet:
    """Hold a share of the rows back."""
    n = round(share * rows.n_rows)
    if n < 2 or n > rows.n_rows - 2:
        raise ValueError(
            f"The validation set is too small: {n} of {rows.n_rows} rows. Increase "
            "'validation_fraction' or the size of your dataset."
        )
    held = np.zeros(rows.n_rows, bool)
    held[rng.choice(rows.n_rows, n, replace=False)] = True
    y, w = rows.each(_chunk_targets)[held], rows.each(_chunk_weights)[held].astype(np.float64)
    if not w.any():
        raise ValueError("the rows held back all weigh nothing: take another random_state")
    return ValidationSet(held, y, w, measure)


def mean_loss(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Mean loss."""
    return loss.value_and_gradient(z, y, w)[0] / w.sum()


def error_rate(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """1 - accuracy."""
    return w @ (loss.inverse_link(z).argmax(axis=1) != y) / w.sum()


def unexplained_variance(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """1 - R^2, a mean over columns."""
    from sklearn.metrics import r2_score

    return 1 - r2_score(y, loss.inverse_link(z), sample_weight=w)
