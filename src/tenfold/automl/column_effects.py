"""Permutation importance and partial dependence of the columns of a table."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from tenfold.automl.explanation import (
    ColumnImportance,
    EncodedRows,
    PartialDependence,
    output_columns,
    output_names,
)
from tenfold.automl.task_scores import TaskScoring
from tenfold.io.columnar import Column, DateColumn, NumericColumn, TextColumn

N_SHUFFLES = (2, 8)  # shuffles of a column in wide tables, and in others
_MAX_PREDICTED_CELLS = 2**28  # encoded cells of all predictions, beyond which a table is wide


def permutation_importances(
    rows: EncodedRows, y: np.ndarray, scoring: TaskScoring, *, seed: int
) -> tuple[float, list[ColumnImportance]]:
    """The score, and its decrease for each shuffled column of the table, the largest first.

    All encoded columns of a column are shuffled together; all shuffles are predicted in one call.

    Parameters
    ----------
    rows : EncodedRows
        Rows that were not used in training.
    y : (n_rows,) array
        Target: values, or class indices.
    scoring : TaskScoring
        The deciding score.
    seed : int
        Seed of the shuffles.

    References
    ----------
    L. Breiman (2001), "Random forests".
    """
    score = scoring.score(y, rows.predict(rows.X))
    few, many = N_SHUFFLES
    is_wide = rows.X.size * len(rows.positions) * many > _MAX_PREDICTED_CELLS
    orders = _permutations(len(y), few if is_wide else many, seed)
    stack = np.tile(rows.X, (len(orders), 1))
    importances = [
        _mean_interval(name, score - _score_shuffled(rows, stack, positions, orders, y, scoring))
        for name, positions in rows.positions.items()
    ]
    return score, sorted(importances, key=lambda importance: -importance.drop)


def _permutations(n: int, shuffles: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(shuffles)]


def _score_shuffled(
    rows: EncodedRows,
    stack: np.ndarray,
    positions: np.ndarray,
    orders: list[np.ndarray],
    y: np.ndarray,
    scoring: TaskScoring,
) -> np.ndarray:
    """Score of each shuffle; the stack is restored."""
    values = rows.X[:, positions]
    stack[:, positions] = values[np.concatenate(orders)]
    predictions = np.split(rows.predict(stack), len(orders))
    stack[:, positions] = np.tile(values, (len(orders), 1))
    return np.array([scoring.score(y, part) for part in predictions])


def _mean_interval(column: str, drops: np.ndarray) -> ColumnImportance:
    mean, error = float(drops.mean()), float(drops.std(ddof=1) / np.sqrt(len(drops)))
    half = float(t.ppf(0.975, len(drops) - 1)) * error
    return ColumnImportance(column, mean, mean - half, mean + half)


_GRID_SIZE = 25  # values of a numeric column
_MAX_LEVELS = 8  # levels of a category
_AVERAGED_ROWS = 250  # rows over which predictions are averaged
_MAX_OUTPUTS = 4  # classes, those whose prediction changes most


def partial_dependence(rows: EncodedRows, column: str) -> PartialDependence | None:
    """Mean and quantiles of the prediction over a grid of a column's values; None for texts.

    The grid are quantiles of numbers and dates, and the most frequent levels of categories.

    References
    ----------
    J. H. Friedman (2001), "Greedy function approximation: a gradient boosting machine".
    """
    kind = rows.model.columns_[column].kind
    if kind == "text":
        return None
    values = rows.cells[column]
    has_levels = kind == "category" or len(np.unique(_present(values)[0])) <= 2
    grid, share = _level_grid(values) if has_levels else (_quantile_grid(values), None)
    if len(grid) < 2:
        return None
    low, mean, high, outputs = _average_over_rows(rows, column, grid)
    present = None if share is not None else np.asarray(_present(values)[0])
    is_probability = rows.model.classes_ is not None
    if is_probability:  # shifted to the mean level, quantiles may leave the range of probabilities
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    return PartialDependence(
        column, kind, grid.plain(), mean, low, high, share, present, outputs, is_probability
    )


def _average_over_rows(
    rows: EncodedRows, column: str, grid: Column
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Low, mean and high prediction (n_grid, n_outputs), with every grid value in every row."""
    sample = rows.first(_AVERAGED_ROWS)
    n = len(sample.X)
    stack = np.repeat(sample.X, len(grid), axis=0)
    stack[:, rows.positions[column]] = np.tile(rows.encode_values(column, grid), (n, 1))
    predictions = output_columns(rows.model, rows.predict(stack)).reshape(n, len(grid), -1)
    mean = predictions.mean(axis=0)
    top = np.sort(np.argsort(-np.ptp(mean, axis=0), kind="stable")[:_MAX_OUTPUTS])
    levels = predictions.mean(axis=1, keepdims=True)
    low, high = np.quantile(predictions - levels, [0.1, 0.9], axis=0) + levels.mean(axis=0)
    names = output_names(rows.model)
    return low[:, top], mean[:, top], high[:, top], [names[i] for i in top]


def _present(column: Column) -> Column:
    return column.at(np.flatnonzero(~column.missing()))


def _quantile_grid(column: Column) -> Column:
    """Distinct quantiles from 2 % to 98 %."""
    present = _present(column)
    if isinstance(present, TextColumn) or not len(present):
        return present.at(slice(0))
    values = np.sort(present.values)
    shares = np.linspace(0.02, 0.98, _GRID_SIZE)
    indices = np.round(shares * (len(values) - 1)).astype(int)
    grid = np.unique(values[indices])
    return DateColumn(grid) if isinstance(present, DateColumn) else NumericColumn(grid)


def _level_grid(column: Column) -> tuple[Column, np.ndarray]:
    """The most frequent levels, and their fractions of the rows."""
    keys = column.codes if isinstance(column, TextColumn) else column.values
    is_known = ~column.missing()
    levels, first, counts = np.unique(keys[is_known], return_index=True, return_counts=True)
    top = np.argsort(-counts, kind="stable")[: min(_MAX_LEVELS, len(levels))]
    rows = np.flatnonzero(is_known)[first[top]]
    return column.at(rows), counts[top] / len(column)
