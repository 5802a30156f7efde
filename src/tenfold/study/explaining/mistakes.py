"""The rows on which a model is most wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows.cells import Cells
from tenfold.study.explaining.explanation import Mistake

MOST = 12


def mistakes(model: Any, cells: Cells, y: np.ndarray, said: np.ndarray) -> list[Mistake]:
    """Largest errors of a regression; wrong classes by the probability that was given to the truth.

    Parameters
    ----------
    model : TableModel
        Whose predictions they are.
    cells : Cells
        The rows.
    y : (n,) array
        Truth: values, or class numbers.
    said : (n,) or (n, k) array
        Values, or probabilities.
    """
    inputs = cells.select([name for name in cells.names if name != model.target_])
    if model.classes_ is None:
        loss = np.abs(y - said)
        return [
            Mistake(i, inputs.row(i), float(y[i]), float(said[i]), float(loss[i]))
            for i in _worst(loss)
        ]
    given = np.maximum(said[np.arange(len(y)), y], 1e-300)
    loss = np.where(said.argmax(axis=1) == y, -np.inf, -np.log(given))
    return [_wrong_class(model, inputs, y, said, loss, i) for i in _worst(loss)]


def _worst(loss: np.ndarray) -> list[int]:
    order = np.argsort(-loss, kind="stable")[:MOST]
    return [int(i) for i in order if loss[i] > 0]


def _wrong_class(
    model: Any, cells: Cells, y: np.ndarray, said: np.ndarray, loss: np.ndarray, i: int
) -> Mistake:
    guess = int(said[i].argmax())
    truth, predicted = model.classes_[int(y[i])], model.classes_[guess]
    return Mistake(i, cells.row(i), truth, predicted, float(loss[i]), float(said[i, guess]))
