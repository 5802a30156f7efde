"""A target for each step of a sequence: loss, predictions, sequences held back, labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.judging import Held, held_back, pieces
from tenfold.neural.network import forward
from tenfold.neural.score_losses import Judged
from tenfold.neural.steps import Task
from tenfold.rows import Chunk, Ragged, Rows
from tenfold.rows.sequences import Sequences


class EachStep(NamedTuple):
    r"""The sum of a loss over the steps of a sequence [003, lecture 11].

    .. math:: \sum_{t=1}^{T_i} \ell(z_{it}, y_{it})

    So all steps count the same, and where the loss of a step is a negative log-likelihood, this is
    that of the sequence. A mean over each sequence would favour what happens in short ones.

    Parameters
    ----------
    loss : loss
        Of one step.

    Examples
    --------
    >>> from tenfold.neural.losses import Squared
    >>> y = Ragged(np.array([1.0, 3.0, 5.0]), np.array([0, 1, 3]))
    >>> EachStep(Squared()).both(np.zeros((2, 2, 1)), y, None)[0]  # (1 + 9 + 25) / 2
    17.5
    """

    loss: Any
    per_step = True

    @property
    def labels(self) -> str:
        return self.loss.labels

    def units(self, targets: int) -> int:
        return self.loss.units(targets)

    def both(self, z: np.ndarray, y: Ragged, w: np.ndarray | None) -> Judged:
        there, slope = np.arange(z.shape[1]) < y.lengths[:, None], np.zeros_like(z)
        if not there.any():
            return 0.0, slope
        share = None if w is None else np.repeat(w, y.lengths)
        value, slope[there] = self.loss.both(z[there], y.values, share)
        return value, slope

    def chances(self, z: np.ndarray) -> np.ndarray:
        return self.loss.chances(z)


def step_chances(chunk: Chunk, task: Task, params: list[np.ndarray]) -> np.ndarray:
    """For each sequence an array: probabilities of classes, or predicted numbers, of its steps."""
    found, lengths, row = np.empty(chunk.rows, object), chunk.X.lengths, 0
    for x, way in pieces(chunk, task, params):
        for z in forward(task.network, params, x, way)[0]:
            found[row] = task.loss.chances(z[: lengths[row]])
            row += 1
    return found


def held_losses(chunk: Chunk, task: Task, params: list[np.ndarray], held: np.ndarray) -> np.ndarray:
    """The loss of each sequence that is held back; zero for the others."""
    found, mine = np.zeros(chunk.rows), np.flatnonzero(held[chunk.first :][: chunk.rows])
    if len(mine):
        row = iter(mine)
        for x, way in pieces(Chunk(chunk.X[mine]), task, params):
            for z, i in zip(forward(task.network, params, x, way)[0], row, strict=False):
                found[i] = task.loss.both(z[None], chunk.y[[i]], None)[0]
    return found


class HeldSequences(Held):
    """Sequences held back, by the loss of their steps."""

    def error(self, rows: Rows, task: Task, params: list[np.ndarray]) -> float:
        """Mean loss of a sequence."""
        each = rows.each(held_losses, task, params, self.rows)[self.rows]
        return float(self.w @ each / self.w.sum())


def hold_sequences(rows: Rows, share: float, rng: np.random.Generator) -> HeldSequences:
    """Hold a share of the sequences back, with all their steps."""
    source = steps_of(rows)
    plain = Sequences(source.values, source.offsets, np.zeros(rows.n_rows), source.w)
    return HeldSequences(*held_back(Rows(plain), share, rng, None))


class LabelledSteps(Rows):
    """Sequences whose steps have labels; leaves see their numbers.

    Parameters
    ----------
    rows : Rows
        Sequences whose targets are numbers into `names`.
    names : (k,) array
        Sorted labels.
    """

    def __init__(self, rows: Rows, names: np.ndarray) -> None:
        super().__init__(rows.source, engine=rows.engine, allow_nan=rows.allow_nan)
        self.names_of_labels = names

    def own_labels(self) -> tuple[np.ndarray, Rows]:
        return self.names_of_labels, self

    def labelled(self, classes: np.ndarray) -> Rows:
        codes = np.searchsorted(classes, self.names_of_labels)
        known = classes[np.minimum(codes, len(classes) - 1)] == self.names_of_labels
        if not known.all():
            raise ValueError(
                f"the label {self.names_of_labels[~known][0]!r} of a step is not among the classes "
                f"{classes.tolist()}. Pass all labels at once: `classes=`."
            )
        return LabelledSteps(with_steps(self, codes[steps_of(self).y.values]), classes)


def label_steps(rows: Rows) -> LabelledSteps:
    """Number the labels of all steps."""
    names, codes = np.unique(steps_of(rows).y.values, return_inverse=True)
    return LabelledSteps(with_steps(rows, codes), names)


def steps_of(rows: Rows) -> Sequences:
    """The sequences themselves."""
    if not isinstance(rows.source, Sequences):
        place = type(rows.source).__name__
        raise TypeError(f"labels of steps cannot be read from {place}: give lists of arrays")
    return rows.source


def with_steps(rows: Rows, targets: np.ndarray) -> Rows:
    """The same sequences with other targets of their steps."""
    source = steps_of(rows)
    y = Ragged(targets, source.y.offsets)
    again = Sequences(source.values, source.offsets, y, source.w)
    return Rows(again, engine=rows.engine, allow_nan=rows.allow_nan)
