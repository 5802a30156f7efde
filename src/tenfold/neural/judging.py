"""What a network says about rows, and how well: leaves of passes over all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layer import Way
from tenfold.neural.network import forward, outputs
from tenfold.neural.steps import Task, cuts
from tenfold.rows import Chunk, Rows

ROWS_AT_ONCE = 128  # what layers hold of so many rows fits the cache


def scores(chunk: Chunk, task: Task, params: list[np.ndarray]) -> np.ndarray:
    """What the last layer gives for each row."""
    parts = [forward(task.network, params, *entered)[0] for entered in pieces(chunk, task, params)]
    return np.concatenate(parts)


def pieces(chunk: Chunk, task: Task, params: list[np.ndarray]) -> Any:
    """A few rows at a time, with their masks, as the network takes them."""
    order = np.arange(chunk.rows)
    for a, b in cuts(chunk.rows, ROWS_AT_ONCE):
        x, mask = task.intake(chunk.X, order[a:b], task.network, dtype_of(params, chunk))
        yield x, Way(mask=mask)


def dtype_of(params: list[np.ndarray], chunk: Chunk) -> Any:
    """In which type a network computes."""
    return params[0].dtype if params else np.result_type(chunk.X.dtype, np.float32)


def chances(chunk: Chunk, task: Task, params: list[np.ndarray]) -> np.ndarray:
    """Probabilities of classes, or predicted numbers, (n, k)."""
    z = scores(chunk, task, params)
    return task.loss.chances(z.reshape(len(z), -1))


def layer_outputs(chunk: Chunk, task: Task, params: list[np.ndarray]) -> np.ndarray:
    """What every layer gives, all numbers of a row one after the other."""
    parts = []
    for x, way in pieces(chunk, task, params):
        given = outputs(task.network, params, x, way)
        parts.append(np.hstack([a.reshape(len(a), -1) for a in given]))
    return np.concatenate(parts)


def held_scores(chunk: Chunk, task: Task, params: list[np.ndarray], held: np.ndarray) -> np.ndarray:
    """What the last layer gives for the rows held back; zeros for the others."""
    z = np.zeros((chunk.rows, *task.network.shapes[-1]), dtype_of(params, chunk))
    mine = np.flatnonzero(held[chunk.first : chunk.first + chunk.rows])
    if len(mine):
        z[mine] = scores(Chunk(chunk.X[mine]), task, params)
    return z


def target_of(chunk: Chunk) -> np.ndarray:
    """The targets themselves."""
    return chunk.y


def weight_of(chunk: Chunk) -> np.ndarray:
    """The weights themselves."""
    return chunk.weights()


class Held(NamedTuple):
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

    def error(self, rows: Rows, task: Task, params: list[np.ndarray]) -> float:
        """The measure of a network. A pass of outputs: checkpoints keep the loop, not the pass."""
        z = rows.each(held_scores, task, params, self.rows)[self.rows]
        return float(self.measure(task.loss, z, self.y, self.w))


def held_back(rows: Rows, share: float, rng: np.random.Generator, measure: Any) -> Held:
    """Hold a share of the rows back."""
    n = round(share * rows.n_rows)
    if n < 2 or n > rows.n_rows - 2:
        raise ValueError(
            f"The validation set is too small: {n} of {rows.n_rows} rows. Increase "
            "'validation_fraction' or the size of your dataset."
        )
    held = np.zeros(rows.n_rows, bool)
    held[rng.choice(rows.n_rows, n, replace=False)] = True
    y, w = rows.each(target_of)[held], rows.each(weight_of)[held].astype(np.float64)
    if not w.any():
        raise ValueError("the rows held back all weigh nothing: take another random_state")
    return Held(held, y, w, measure)


def mean_loss(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Mean loss."""
    return loss.both(z, y, w)[0] / w.sum()


def error_share(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """1 - accuracy."""
    return w @ (loss.chances(z).argmax(axis=1) != y) / w.sum()


def unexplained(loss: Any, z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """1 - R^2, a mean over columns."""
    from sklearn.metrics import r2_score

    return 1 - r2_score(y, loss.chances(z), sample_weight=w)
