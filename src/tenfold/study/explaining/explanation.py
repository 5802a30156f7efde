"""What is told about a model: which columns matter, how, and where it is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Importance:
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
class Weights:
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
class Dependence:
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
class Mistake:
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
    importances: list[Importance]
    weights: Weights | None
    dependences: list[Dependence]
    mistakes: list[Mistake]
    curve: LearningCurve | None = None
    notes: list[str] = field(default_factory=list)
