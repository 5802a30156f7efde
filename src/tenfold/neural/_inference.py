"""Forward passes over all rows: predictions, layer outputs, and the error on a validation set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neural._minibatch import split_batch
from tenfold.neural._thresholds import INFERENCE_BATCH_ROWS
from tenfold.neural._training_config import Objective
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import forward, forward_layers


def output_scores(chunk: Chunk, objective: Objective, params: list[np.ndarray]) -> np.ndarray:
    """Output of the last layer for each row."""
    batches = iterate_batches(chunk, objective, params)
    parts = [forward(objective.network, params, x, context)[0] for x, context in batches]
    return np.concatenate(parts)


def iterate_batches(
    chunk: Chunk, objective: Objective, params: list[np.ndarray]
) -> Iterator[tuple[np.ndarray, PassContext]]:
    """Network inputs of a few rows at a time, with their masks."""
    order, dtype = np.arange(chunk.rows), _compute_dtype(params, chunk)
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        x, mask = objective.make_batch(chunk.X, order[a:b], objective.network, dtype)
        yield x, PassContext(mask=mask)


def _compute_dtype(params: list[np.ndarray], chunk: Chunk) -> Any:
    """In which type a network computes."""
    return params[0].dtype if params else np.result_type(chunk.X.dtype, np.float32)


def predict_rows(chunk: Chunk, objective: Objective, params: list[np.ndarray]) -> np.ndarray:
    """Probabilities (n_rows, n_classes), or predicted values (n_rows, n_targets)."""
    z = output_scores(chunk, objective, params)
    return objective.loss.inverse_link(z.reshape(len(z), -1))


def layer_outputs(chunk: Chunk, objective: Objective, params: list[np.ndarray]) -> np.ndarray:
    """Outputs of all layers, flattened and side by side for each row."""
    parts = []
    for x, context in iterate_batches(chunk, objective, params):
        outputs = forward_layers(objective.network, params, x, context)
        parts.append(np.hstack([a.reshape(len(a), -1) for a in outputs]))
    return np.concatenate(parts)


def _validation_scores(
    chunk: Chunk, objective: Objective, params: list[np.ndarray], held_out: np.ndarray
) -> np.ndarray:
    """Output of the last layer for the rows held out; zeros for the others."""
    z = np.zeros((chunk.rows, *objective.network.shapes[-1]), _compute_dtype(params, chunk))
    rows = np.flatnonzero(held_out[chunk.first : chunk.first + chunk.rows])
    if len(rows):
        z[rows] = output_scores(Chunk(chunk.X[rows]), objective, params)
    return z


def _chunk_targets(chunk: Chunk) -> np.ndarray:
    return chunk.y


def _chunk_weights(chunk: Chunk) -> np.ndarray:
    return chunk.weights()


class ValidationSet(NamedTuple):
    """Rows held out, and the error that is measured on them.

    Attributes
    ----------
    rows : (n_rows,) whether a row is held out
    y, w : targets and weights of the rows held out
    measure : error as a function of (loss, scores, y, w)
    """

    rows: np.ndarray
    y: np.ndarray
    w: np.ndarray
    measure: Callable[[Any, np.ndarray, np.ndarray, np.ndarray], float]

    def error(self, rows: Rows, objective: Objective, params: list[np.ndarray]) -> float:
        """The error of a network. Its pass is not part of a checkpoint: the loop's state is."""
        z = rows.each(_validation_scores, objective, params, self.rows)[self.rows]
        return float(self.measure(objective.loss, z, self.y, self.w))


def hold_out(rows: Rows, fraction: float, rng: np.random.Generator, measure: Any) -> ValidationSet:
    """Hold out a random fraction of the rows."""
    held_out, w = draw_held_out(rows, fraction, rng)
    return ValidationSet(held_out, rows.each(_chunk_targets)[held_out], w, measure)


def draw_held_out(
    rows: Rows, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row is held out, a random fraction of them, and the weights of those."""
    n = round(fraction * rows.n_rows)
    if n < 2 or n > rows.n_rows - 2:
        raise ValueError(
            f"The validation set is too small: {n} of {rows.n_rows} rows. Increase "
            "'validation_fraction' or the size of your dataset."
        )
    held_out = np.zeros(rows.n_rows, bool)
    held_out[rng.choice(rows.n_rows, n, replace=False)] = True
    w = rows.each(_chunk_weights)[held_out].astype(np.float64)
    if not w.any():
        raise ValueError("all rows of the validation set have weight 0: take another random_state")
    return held_out, w


def mean_loss(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Mean loss."""
    return loss.value_and_gradient(z, y, w)[0] / w.sum()


def error_rate(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """1 - accuracy; of several labels of a row, all must be right."""
    if y.ndim == 2:
        return w @ ((loss.inverse_link(z) > 0.5) != y).any(axis=1) / w.sum()
    return w @ (loss.inverse_link(z).argmax(axis=1) != y) / w.sum()


def unexplained_variance(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """1 - R^2, averaged over columns."""
    from sklearn.metrics import r2_score

    return 1 - r2_score(y, loss.inverse_link(z), sample_weight=w)
