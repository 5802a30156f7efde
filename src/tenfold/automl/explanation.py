"""Parts of an explanation of a table model, and the encoded rows it is computed from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tenfold.io.columnar import Column, ColumnBatch, NumericColumn, TextColumn
from tenfold.math.linalg import to_dense


@dataclass(frozen=True)
class ColumnImportance:
    """Permutation importance: decrease of the deciding score when a column is shuffled.

    Attributes
    ----------
    column : name of the input column
    drop : mean decrease of the score over the shuffles
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
    names : names of encoded columns, or of features derived from them
    values : (n_names, n_outputs) weights
    outputs : names of the outputs: the target, or classes
    positions : (n_names,) their positions in the model
    """

    names: list[str]
    values: np.ndarray
    outputs: list[str]
    positions: Any = None


@dataclass(frozen=True)
class PartialDependence:
    """Partial dependence: mean prediction as a function of one column.

    Attributes
    ----------
    column, kind : name and kind of the input column
    grid : values of the column
    mean : (n_grid, n_outputs) mean prediction over rows
    low, high : (n_grid, n_outputs) 10 % and 90 % quantiles, rows shifted to the mean level
    share : fraction of rows at each level of a category; None for numbers
    values : values of the column among the rows, for numbers
    outputs : names of the outputs
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
    is_probability: bool


@dataclass(frozen=True)
class WorstError:
    """A row with a large error.

    Attributes
    ----------
    row : its index among the given rows
    cells : the original cells by column
    truth, predicted : in the type of the target
    loss : absolute error, or log loss
    certainty : probability of the predicted class; None for regression
    """

    row: int
    cells: dict[str, Any]
    truth: Any
    predicted: Any
    loss: float
    certainty: float | None = None


@dataclass(frozen=True)
class LearningCurve:
    """Score as a function of the number of training rows.

    Attributes
    ----------
    sizes : (n_sizes,) numbers of rows
    train, test : (n_sizes, n_folds) deciding score on training and held-out rows
    """

    sizes: np.ndarray
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Explanation:
    """Result of `explain`.

    Attributes
    ----------
    metric, score : the deciding score, and its value on the rows before anything was shuffled
    n_rows : rows on which importance was measured
    importances : the most important column first; empty without a target
    weights : of a linear model, else None
    dependences : partial dependence of the most important columns
    mistakes : the worst first; empty without a target
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
    """Encoded rows of a table.

    Attributes
    ----------
    model : TableModel
    cells : the rows of the table
    X : (n_rows, n_encoded) dense array
    positions : indices of the encoded columns of each column of the table
    sparse : whether the model takes CSR matrices
    """

    model: Any
    cells: ColumnBatch
    X: np.ndarray
    positions: dict[str, np.ndarray]
    sparse: bool

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Values (n_rows,) or probabilities (n_rows, n_classes) of encoded rows."""
        return self.model.predict_encoded(sparse.csr_matrix(X) if self.sparse else X)

    def first(self, n: int) -> EncodedRows:
        """The first n rows."""
        return self._replace(cells=self.cells[:n], X=self.X[:n])

    def encode_values(self, column: str, values: Column) -> np.ndarray:
        """Encoded columns of one column for given values, (n_values, n_encoded)."""
        like = self.cells.take(np.zeros(len(values), int))
        changed = ColumnBatch({**like.columns, column: values}, like.types, len(values))
        return to_dense(self.model.encode(changed))[:, self.positions[column]]


def encode_rows(model: Any, cells: ColumnBatch) -> EncodedRows:
    """Encode rows once for all parts of an explanation."""
    X = model.encode(cells)
    origins = np.asarray(model.encoder_.origin_)
    names = [name for name in cells.names if name in model.columns_ and (origins == name).any()]
    positions = {name: np.flatnonzero(origins == name) for name in names}
    return EncodedRows(model, cells, to_dense(X), positions, sparse.issparse(X))


def target_values(model: Any, column: Column) -> np.ndarray:
    """Values of the target, NaN if missing; or class indices, -1 if missing or unknown."""
    if model.classes_ is None:
        if isinstance(column, NumericColumn):
            return column.values
        raise ValueError(
            f"the target {model.target_!r} was numeric in training, and here it is not"
        )
    if isinstance(column, TextColumn):
        index = {str(label): i for i, label in enumerate(model.classes_)}
        table = np.array([*(index.get(value, -1) for value in column.values), -1])
        return table[column.codes]
    index = {float(label): i for i, label in enumerate(model.classes_)}
    return np.array([index.get(float(value), -1) for value in column.values])


def output_names(model: Any) -> list[str]:
    """Names of the outputs; two classes have one output, the second class."""
    if model.classes_ is None:
        return [str(model.target_)]
    labels = [str(label) for label in model.classes_]
    return labels[1:] if len(labels) == 2 else labels


def output_columns(model: Any, predictions: np.ndarray) -> np.ndarray:
    """Predictions as (n_rows, n_outputs)."""
    if predictions.ndim == 1:
        return predictions[:, None]
    return predictions[:, 1:] if len(model.classes_) == 2 else predictions
