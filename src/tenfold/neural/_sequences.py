"""Sequences of different lengths: padding and masks, and targets for each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.io.sequences import Ragged, SequenceSource
from tenfold.neural._inference import ValidationSet, hold_out, iterate_batches, layer_outputs
from tenfold.neural._training_config import NetworkObjective, Objective, make_dense_batch
from tenfold.neural.layers.base import Layer
from tenfold.neural.layers.embedding import Embedding
from tenfold.neural.losses import LossAndGradient
from tenfold.neural.network import Network, forward


def make_sequence_batch(
    X: Any, order: np.ndarray, network: Network, dtype: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Sequences padded to (n_rows, n_steps, n_features), and the mask (None if all steps exist).

    Examples
    --------
    >>> import numpy as np
    >>> X = Ragged(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 3]))
    >>> x, mask = make_sequence_batch(X, np.array([0, 1]), Network((), (2, 1), ()), np.float32)
    >>> x[:, :, 0].tolist(), mask.tolist()
    ([[1.0, 0.0], [2.0, 3.0]], [[True, False], [True, True]])
    """
    if not isinstance(X, Ragged):
        return make_dense_batch(X, order, network, dtype)
    part = X[order]
    return _pad(part, part.lengths.max(initial=1), dtype)


def _pad(part: Ragged, steps: int, dtype: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Sequences padded with zeros to a number of steps, and the mask of the steps that exist."""
    mask = np.arange(steps) < part.lengths[:, None]
    x = np.zeros((*mask.shape, *part.values.shape[1:]), dtype)
    x[mask] = part.values
    return x, None if mask.all() else mask


def _pad_to_longest(
    X: Ragged, order: np.ndarray, network: Network, dtype: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Sequences padded to the longest of the fit."""
    part, steps = X[order], network.shape[0]
    if part.lengths.max(initial=0) > steps:
        raise ValueError(
            f"a sequence has {part.lengths.max()} steps, but layer outputs are as long as the "
            f"longest sequence of the fit, {steps}: cut it"
        )
    return _pad(part, steps, dtype)


def sequence_outputs(chunk: Chunk, objective: Objective, params: list[np.ndarray]) -> np.ndarray:
    """Outputs of all layers, for sequences padded to one length."""
    if isinstance(chunk.X, Ragged):
        objective = NetworkObjective(objective.network, objective.loss, _pad_to_longest)
    return layer_outputs(chunk, objective, params)


def is_ragged(X: Any) -> bool:
    """Whether X is a list of sequences: arrays, or lists of different lengths.

    Examples
    --------
    >>> is_ragged([[1, 2], [3]]), is_ragged([[1, 2], [3, 4]]), is_ragged([np.zeros(2)])
    (True, False, True)
    """
    if isinstance(X, Ragged):
        return True
    if not isinstance(X, list) or not X:
        return False
    if isinstance(X[0], np.ndarray):
        return X[0].ndim in (1, 2)
    return all(isinstance(x, list) for x in X) and len({len(x) for x in X}) > 1


def is_rectangular(X: Any) -> bool:
    """Whether a list of arrays could be the rows of a matrix.

    Examples
    --------
    >>> is_rectangular([np.zeros(2), np.ones(2)]), is_rectangular([np.zeros(2), np.zeros(3)])
    (True, False)
    """
    return not isinstance(X, Ragged) and len({np.shape(x) for x in X}) == 1 and np.ndim(X[0]) == 1


def has_step_targets(X: np.ndarray, y: Any) -> bool:
    """Whether sequences of one length have a target for each step: an array for each of them.

    Examples
    --------
    >>> X = np.zeros((2, 3, 1))
    >>> has_step_targets(X, [np.zeros(3), np.zeros(3)]), has_step_targets(X, [[0, 1], [1, 0]])
    (True, False)
    """
    arrays = isinstance(y, list) and len(y) > 0 and isinstance(y[0], np.ndarray) and y[0].ndim > 0
    return X.ndim == 3 and (arrays or isinstance(y, Ragged))


def has_sequence_layer(layers: Sequence[Layer]) -> bool:
    """Whether one of the layers is for sequences."""
    return any(isinstance(a, Embedding) or hasattr(a, "all_states") for a in map(_unwrap, layers))


def _unwrap(layer: Any) -> Any:
    """The layer itself, or the one inside of `Bidirectional` or `Pretrained`."""
    while hasattr(layer, "layer"):
        layer = layer.layer
    return layer


def check_stepwise_layers(layers: Sequence[Layer]) -> None:
    """Raise an error if a layer would mix the padding of short sequences with their steps."""
    from tenfold.neural.layers.conv import Conv1d, Conv2d
    from tenfold.neural.layers.normalization import BatchNorm
    from tenfold.neural.layers.pooling import AveragePool, MaxPool
    from tenfold.neural.layers.reshape import Flatten, Reshape

    mixing = (AveragePool, BatchNorm, Conv1d, Conv2d, Flatten, MaxPool, Reshape)
    for number, layer in enumerate(layers):
        inner = _unwrap(layer)
        if getattr(inner, "all_states", True) is False:
            return  # the last state is not a sequence
        if isinstance(inner, mixing):
            raise ValueError(  # noqa: TRY004  the type of the layer is not wrong by itself
                f"layer {number}, {type(inner).__name__}, mixes the steps of a sequence and cannot "
                "take sequences of different lengths: put a recurrent layer before it, or give "
                "sequences of one length as an array"
            )


class SequenceExtent(NamedTuple):
    """Number of steps of the longest sequence, and the largest value."""

    steps: int
    max_value: float

    def merge(self, other: SequenceExtent) -> SequenceExtent:
        return SequenceExtent(max(self.steps, other.steps), max(self.max_value, other.max_value))


def sequence_extent(chunk: Chunk) -> SequenceExtent:
    """Steps of the longest sequence (1 if rows are flat), and the largest value."""
    if not isinstance(chunk.X, Ragged):
        return SequenceExtent(1, float(chunk.X.max(initial=0)))
    return SequenceExtent(int(chunk.X.lengths.max(initial=1)), float(chunk.X.values.max(initial=0)))


class StepwiseLoss(NamedTuple):
    r"""The sum of a loss over the steps of a sequence.

    .. math:: \sum_{t=1}^{T_i} \ell(z_{it}, y_{it})

    All steps have the same weight. If the loss of a step is a negative log-likelihood, this is that
    of the sequence; a mean over each sequence would give more weight to steps of short ones.

    Parameters
    ----------
    loss : loss
        Of one step.

    Examples
    --------
    >>> from tenfold.neural.losses import HalfSquaredError
    >>> y = Ragged(np.array([1.0, 3.0, 5.0]), np.array([0, 1, 3]))
    >>> loss = StepwiseLoss(HalfSquaredError())  # (1 + 9 + 25) / 2
    >>> loss.value_and_gradient(np.zeros((2, 2, 1)), y, None)[0]
    17.5
    """

    loss: Any
    per_step = True

    @property
    def labels(self) -> str:
        return self.loss.labels

    def units(self, targets: int) -> int:
        return self.loss.units(targets)

    def value_and_gradient(self, z: np.ndarray, y: Ragged, w: np.ndarray | None) -> LossAndGradient:
        exists, gradient = np.arange(z.shape[1]) < y.lengths[:, None], np.zeros_like(z)
        if not exists.any():
            return 0.0, gradient
        step_weights = None if w is None else np.repeat(w, y.lengths)
        value, gradient[exists] = self.loss.value_and_gradient(z[exists], y.values, step_weights)
        return value, gradient

    def inverse_link(self, z: np.ndarray) -> np.ndarray:
        return self.loss.inverse_link(z)


def predict_steps(chunk: Chunk, objective: Objective, params: list[np.ndarray]) -> np.ndarray:
    """For each sequence an array: probabilities of classes, or predicted values, of its steps."""
    predictions, lengths, row = np.empty(chunk.rows, object), chunk.X.lengths, 0
    for x, context in iterate_batches(chunk, objective, params):
        for z in forward(objective.network, params, x, context)[0]:
            predictions[row] = objective.loss.inverse_link(z[: lengths[row]])
            row += 1
    return predictions


def _validation_losses(
    chunk: Chunk, objective: Objective, params: list[np.ndarray], held_out: np.ndarray
) -> np.ndarray:
    """The loss of each sequence held out; zero for the others."""
    losses = np.zeros(chunk.rows)
    rows = np.flatnonzero(held_out[chunk.first :][: chunk.rows])
    if len(rows):
        row = iter(rows)
        for x, context in iterate_batches(Chunk(chunk.X[rows]), objective, params):
            for z, i in zip(forward(objective.network, params, x, context)[0], row, strict=False):
                losses[i] = objective.loss.value_and_gradient(z[None], chunk.y[[i]], None)[0]
    return losses


class SequenceValidationSet(ValidationSet):
    """Sequences held out, measured by the loss of their steps."""

    def error(self, rows: Rows, objective: Objective, params: list[np.ndarray]) -> float:
        """Mean loss of a sequence."""
        losses = rows.each(_validation_losses, objective, params, self.rows)[self.rows]
        return float(self.w @ losses / self.w.sum())


def hold_out_sequences(
    rows: Rows, fraction: float, rng: np.random.Generator
) -> SequenceValidationSet:
    """Hold out a random fraction of the sequences, with all their steps."""
    source = _sequence_source(rows)
    plain = SequenceSource(source.values, source.offsets, np.zeros(rows.n_rows), source.w)
    return SequenceValidationSet(*hold_out(Rows(plain), fraction, rng, None))


class LabeledSteps(Rows):
    """Sequences whose steps have labels, encoded as class indices.

    Parameters
    ----------
    rows : Rows
        Sequences whose targets are indices into `names`.
    names : (n_classes,) array
        Sorted labels.
    """

    def __init__(self, rows: Rows, names: np.ndarray) -> None:
        super().__init__(rows.source, engine=rows.engine, allow_nan=rows.allow_nan)
        self.names_of_labels = names

    def label_encoding(self) -> tuple[np.ndarray, Rows]:
        return self.names_of_labels, self

    def with_chunk_rows(self, rows: int) -> Rows:
        return LabeledSteps(super().with_chunk_rows(rows), self.names_of_labels)

    def with_classes(self, classes: np.ndarray) -> Rows:
        codes = np.searchsorted(classes, self.names_of_labels)
        known = classes[np.minimum(codes, len(classes) - 1)] == self.names_of_labels
        if not known.all():
            raise ValueError(
                f"the label {self.names_of_labels[~known][0]!r} of a step is not among the classes "
                f"{classes.tolist()}. Pass all labels at once: `classes=`."
            )
        return LabeledSteps(
            _replace_step_targets(self, codes[_sequence_source(self).y.values]), classes
        )


def encode_step_labels(rows: Rows) -> LabeledSteps:
    """Encode the labels of all steps as class indices."""
    names, codes = np.unique(_sequence_source(rows).y.values, return_inverse=True)
    return LabeledSteps(_replace_step_targets(rows, codes), names)


def _sequence_source(rows: Rows) -> SequenceSource:
    """The source of sequences in memory; an error if there is none."""
    if not isinstance(rows.source, SequenceSource):
        kind = type(rows.source).__name__
        raise TypeError(f"labels of steps cannot be read from {kind}: give lists of arrays")
    return rows.source


def _replace_step_targets(rows: Rows, targets: np.ndarray) -> Rows:
    """The same sequences with other targets of their steps."""
    source = _sequence_source(rows)
    y = Ragged(targets, source.y.offsets)
    replaced = SequenceSource(source.values, source.offsets, y, source.w)
    return Rows(replaced, engine=rows.engine, allow_nan=rows.allow_nan)
