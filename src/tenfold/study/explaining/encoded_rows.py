"""Rows as the model sees them, and which of their columns belong to which column of the table.

An encoder treats each row and each column by itself. So to shuffle, move or hide a column of the
table is to do that to its encoded columns; nothing has to be encoded again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tenfold.rows.cells import Cells, Column, Numbers, Words


class EncodedRows(NamedTuple):
    """Some rows, encoded.

    Attributes
    ----------
    model : TableModel
    cells : the rows as they stand in the table
    X : (n, p) dense array of them
    places : encoded columns of each column of the table
    sparse : whether the model is given CSR matrices
    """

    model: Any
    cells: Cells
    X: np.ndarray
    places: dict[str, np.ndarray]
    sparse: bool

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Values (n,) or probabilities (n, k) of encoded rows."""
        return self.model.predict_encoded(sparse.csr_matrix(X) if self.sparse else X)

    def first(self, n: int) -> EncodedRows:
        """The first n rows."""
        return self._replace(cells=self.cells[:n], X=self.X[:n])

    def block(self, column: str, values: Column) -> np.ndarray:
        """Encoded columns of one column of the table for given values: (values, its columns)."""
        like = self.cells.take(np.zeros(len(values), int))
        changed = Cells({**like.columns, column: values}, like.types, len(values))
        return dense(self.model.encode(changed))[:, self.places[column]]


def dense(X: Any) -> np.ndarray:
    """An array of what an encoder gave."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def encoded_rows(model: Any, cells: Cells) -> EncodedRows:
    """Encode rows once for all that follows."""
    X = model.encode(cells)
    origins = np.asarray(model.encoder_.origin_)
    names = [name for name in cells.names if name in model.columns_ and (origins == name).any()]
    places = {name: np.flatnonzero(origins == name) for name in names}
    return EncodedRows(model, cells, dense(X), places, sparse.issparse(X))


def truth_of(model: Any, column: Column) -> np.ndarray:
    """Values of the target, NaN if missing; or class numbers, -1 if missing or unknown."""
    if model.classes_ is None:
        if isinstance(column, Numbers):
            return column.values
        raise ValueError(f"the target {model.target_!r} was learned as numbers, and here it is not")
    if isinstance(column, Words):
        place = {str(label): i for i, label in enumerate(model.classes_)}
        table = np.array([*(place.get(value, -1) for value in column.values), -1])
        return table[column.codes]
    place = {float(label): i for i, label in enumerate(model.classes_)}
    return np.array([place.get(float(value), -1) for value in column.values])


def outputs_of(model: Any) -> list[str]:
    """What the columns of a prediction stand for; two classes have one, the second."""
    if model.classes_ is None:
        return [str(model.target_)]
    labels = [str(label) for label in model.classes_]
    return labels[1:] if len(labels) == 2 else labels


def as_outputs(model: Any, said: np.ndarray) -> np.ndarray:
    """Predictions as (n, outputs)."""
    if said.ndim == 1:
        return said[:, None]
    return said[:, 1:] if len(model.classes_) == 2 else said
