"""Turn and fold: the two columns by hand that make XOR linear."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold.linear.features.bases import Basis, Span
from tenfold.rows import Rows


class RotationAbs(Basis):
    r"""Turn the plane of two columns, then fold it: :math:`\lvert R(\theta) (x_i, x_j) \rvert`.

    By 45 degrees the four clouds of XOR come to lie on two axes, and the absolute value folds the
    four quadrants into one: a line tells the classes apart. The turn is counter-clockwise; after
    the fold a clockwise one gives the same columns, swapped. [000, 1.7.1]

    Parameters
    ----------
    angle : float
        Angle in degrees.
    columns : pair of int
        Numbers of the two columns.
    keep_original : bool
        Whether the original columns come first.

    Attributes
    ----------
    span_ : smallest and largest value of each column

    Examples
    --------
    >>> from tenfold.linear.features.rotation import RotationAbs
    >>> RotationAbs(45).fit_transform([[1.0, 1.0], [-1.0, 1.0]]).round(4).tolist()
    [[0.0, 1.4142], [1.4142, 0.0]]
    """

    _parameter_constraints = {
        "angle": [Real],
        "columns": ["array-like"],
        "keep_original": ["boolean"],
    }

    def __init__(
        self, angle: float = 45.0, *, columns: Any = (0, 1), keep_original: bool = False
    ) -> None:
        self.angle = angle
        self.columns = columns
        self.keep_original = keep_original

    def _learned(self, span: Span, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if len(self.columns) != 2 or not all(0 <= c < rows.n_features for c in self.columns):
            raise ValueError(
                f"columns={self.columns} must be the numbers of two columns, but X has "
                f"n_features = {rows.n_features}"
            )
        return {"span_": span}

    def _maker(self) -> tuple:
        turn = np.deg2rad(self.angle)
        R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        return folded, R, np.asarray(self.columns)

    def _made_names(self, names: list[str]) -> list[str]:
        return [f"|turned {names[c]}|" for c in self.columns]


def folded(X: np.ndarray, R: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Absolute coordinates of two columns after a turn R."""
    return np.abs(X[:, columns] @ R.T.astype(X.dtype))
