"""What an explanation of a table model holds, and the encoded rows it is computed from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tenfold.io.columnar import Column, ColumnBatch, NumericColumn, TextColumn


@dataclass(frozen=True)
class ColumnImportance:
    """By how much the deciding score falls when a column is shuffled.

    Attributes
    ----------
    column : name of the input column
    drop : mean fall of the score over the shuffles
    low, high : 95 % interval of the mean
    """

    column: str
    drop: float
    low: float
    high: float


@dataclass(frozen=True)
class LinearWeights:
    """Weights of a linear model, the strongest first.

    Attributes
    ----------
    names : names of what is weighed: encoded columns, or features made of them
    values : (names, outputs) weights
    outputs : what each output stands for: the target, or classes
    places : (names,) where the model has them
    """

    names: list[str]
    values: np.ndarray
    outputs: list[str]
    places: Any = None


@dataclass(frozen=True)
class PartialDependence:
    """How the prediction moves with one column while the others stay as they are.

    Attributes
    ----------
    column, kind : name and kind of the input column
    grid : values that it was given
    mean : (grid, outputs) mean prediction over rows
    low, high : (grid, outputs) between these lie eight of ten rows, each shifted to the mean level
    share : share of rows at each level of a category; None for numbers
    values : values of the column among the rows, for numbers
    outputs : what each output stands for
    chance : whether predictions are probabilities
    """

    column: str
    kind: str
    grid: list[Any]
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    share: np.ndarray | None
    values: np.ndarray | None
    outputs: list[str]
    chance: bool


@dataclass(frozen=True)
class WorstError:
    """A row on which the model was badly wrong.

    Attributes
    ----------
    row : its number among the rows that were given
    cells : the original cells by column
    truth, predicted : in the target's own type
    loss : by which mistakes are ordered
    certainty : probability of what was predicted; None for regression
    """

    row: int
    cells: dict[str, Any]
    truth: Any
    predicted: Any
    loss: float
    certainty: float | None = None


@dataclass(frozen=True)
class LearningCurve:
    """Score against the number of rows that were learned from.

    Attributes
    ----------
    sizes : (s,) numbers of rows
    train, test : (s, folds) deciding score on rows learned from and on others
    """

    sizes: np.ndarray
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Explanation:
    """All that `explain` found.

    Attributes
    ----------
    metric, score : the deciding score, and its value on the rows before anything was shuffled
    n_rows : rows that importance was measured on
    importances : the most important column first; empty without a truth
    weights : of a linear model, else None
    dependences : of the most important columns
    mistakes : the worst first; empty without a truth
    curve : learning curve, if training rows were given and time allowed
    """

    metric: str
    score: float | None
    n_rows: int
    importances: list[ColumnImportance]
    weights: LinearWeights | None
    dependences: list[PartialDependence]
    mistakes: list[WorstError]
    curve: LearningCurve | None = None
    notes: list[str] = field(default_factory=list)


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
    cells: ColumnBatch
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
        changed = ColumnBatch({**like.columns, column: values}, like.types, len(values))
        return to_dense(self.model.encode(changed))[:, self.places[column]]


def to_dense(X: Any) -> np.ndarray:
    """An array of what an encoder gave."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def encode_rows(model: Any, cells: ColumnBatch) -> EncodedRows:
    """Encode rows once for all that follows."""
    X = model.encode(cells)
    origins = np.asarray(model.encoder_.origin_)
    names = [name for name in cells.names if name in model.columns_ and (origins == name).any()]
    places = {name: np.flatnonzero(origins == name) for name in names}
    return EncodedRows(model, cells, to_dense(X), places, sparse.issparse(X))


def target_values(model: Any, column: Column) -> np.ndarray:
    """Values of the target, NaN if missing; or class numbers, -1 if missing or unknown."""
    if model.classes_ is None:
        if isinstance(column, NumericColumn):
            return column.values
        raise ValueError(f"the target {model.target_!r} was learned as numbers, and here it is not")
    if isinstance(column, TextColumn):
        place = {str(label): i for i, label in enumerate(model.classes_)}
        table = np.array([*(place.get(value, -1) for value in column.values), -1])
        return table[column.codes]
    place = {float(label): i for i, label in enumerate(model.classes_)}
    return np.array([place.get(float(value), -1) for value in column.values])


def output_names(model: Any) -> list[str]:
    """What the columns of a prediction stand for; two classes have one, the second."""
    if model.classes_ is None:
        return [str(model.target_)]
    labels = [str(label) for label in model.classes_]
    return labels[1:] if len(labels) == 2 else labels


def output_columns(model: Any, said: np.ndarray) -> np.ndarray:
    """Predictions as (n, outputs)."""
    if said.ndim == 1:
        return said[:, None]
    return said[:, 1:] if len(model.classes_) == 2 else said
