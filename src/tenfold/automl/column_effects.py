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

N_SHUFFLES = (2, 8)  # so many if the table is wide, so many otherwise
_MAX_PREDICTED_CELLS = 2**28  # encoded cells that are predicted in all, at most


def permutation_importances(
    rows: EncodedRows, y: np.ndarray, scoring: TaskScoring, *, seed: int
) -> tuple[float, list[ColumnImportance]]:
    """The score as it is, and its fall for each column of the table, the largest first.

    All encoded columns of a column move together; its shuffles are predicted in one call.

    Parameters
    ----------
    rows : EncodedRows
        Rows that the model has not learned from.
    y : (n,) array
        Truth: values, or class numbers.
    scoring : Scoring
        The deciding score.
    seed : int
        Of the shuffles.
    """
    score = scoring.score(y, rows.predict(rows.X))
    few, many = N_SHUFFLES
    wide = rows.X.size * len(rows.places) * many > _MAX_PREDICTED_CELLS
    orders = _permutations(len(y), few if wide else many, seed)
    stack = np.tile(rows.X, (len(orders), 1))
    found = [
        _mean_interval(name, score - _score_shuffled(rows, stack, places, orders, y, scoring))
        for name, places in rows.places.items()
    ]
    return score, sorted(found, key=lambda each: -each.drop)


def _permutations(n: int, shuffles: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(shuffles)]


def _score_shuffled(
    rows: EncodedRows,
    stack: np.ndarray,
    places: np.ndarray,
    orders: list[np.ndarray],
    y: np.ndarray,
    scoring: TaskScoring,
) -> np.ndarray:
    """Score of each shuffle; the stack is put back as it was."""
    own = rows.X[:, places]
    stack[:, places] = own[np.concatenate(orders)]
    said = np.split(rows.predict(stack), len(orders))
    stack[:, places] = np.tile(own, (len(orders), 1))
    return np.array([scoring.score(y, part) for part in said])


def _mean_interval(column: str, drops: np.ndarray) -> ColumnImportance:
    mean, error = float(drops.mean()), float(drops.std(ddof=1) / np.sqrt(len(drops)))
    half = float(t.ppf(0.975, len(drops) - 1)) * error
    return ColumnImportance(column, mean, mean - half, mean + half)


_GRID_SIZE = 25
_MAX_LEVELS = 8
_AVERAGED_ROWS = 250  # rows whose lines are averaged
_MAX_OUTPUTS = 4  # classes that are shown, those that move most


def partial_dependence(rows: EncodedRows, column: str) -> PartialDependence | None:
    """Mean and spread of the prediction over a grid of a column's values; None for texts.

    Numbers and dates are given quantiles, categories their most frequent levels.
    """
    kind = rows.model.columns_[column].kind
    if kind == "text":
        return None
    values = rows.cells[column]
    few = kind == "category" or len(np.unique(_present(values)[0])) <= 2
    grid, share = _level_grid(values) if few else (_quantile_grid(values), None)
    if len(grid) < 2:
        return None
    low, mean, high, outputs = _average_over_rows(rows, column, grid)
    seen = None if share is not None else np.asarray(_present(values)[0])
    chance = rows.model.classes_ is not None
    if chance:  # a line that is shifted to the mean level may leave the range of probabilities
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    return PartialDependence(
        column, kind, grid.plain(), mean, low, high, share, seen, outputs, chance
    )


def _average_over_rows(
    rows: EncodedRows, column: str, grid: Column
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Low, mean and high prediction (grid, outputs): every row is given every value."""
    some = rows.first(_AVERAGED_ROWS)
    n = len(some.X)
    stack = np.repeat(some.X, len(grid), axis=0)
    stack[:, rows.places[column]] = np.tile(rows.block(column, grid), (n, 1))
    said = output_columns(rows.model, rows.predict(stack)).reshape(n, len(grid), -1)
    mean = said.mean(axis=0)
    most = np.sort(np.argsort(-np.ptp(mean, axis=0), kind="stable")[:_MAX_OUTPUTS])
    levels = said.mean(axis=1, keepdims=True)
    low, high = np.quantile(said - levels, [0.1, 0.9], axis=0) + levels.mean(axis=0)
    names = output_names(rows.model)
    return low[:, most], mean[:, most], high[:, most], [names[i] for i in most]


def _present(column: Column) -> Column:
    return column.at(np.flatnonzero(~column.missing()))


def _quantile_grid(column: Column) -> Column:
    """Values at even shares of the rows, from the 2nd to the 98th in a hundred."""
    known = _present(column)
    if isinstance(known, TextColumn) or not len(known):
        return known.at(slice(0))
    values = np.sort(known.values)
    shares = np.linspace(0.02, 0.98, _GRID_SIZE)
    places = np.round(shares * (len(values) - 1)).astype(int)
    kept = np.unique(values[places])
    return DateColumn(kept) if isinstance(known, DateColumn) else NumericColumn(kept)


def _level_grid(column: Column) -> tuple[Column, np.ndarray]:
    """The most frequent levels, and their shares of the rows."""
    keys = column.codes if isinstance(column, TextColumn) else column.values
    known = ~column.missing()
    levels, first, counts = np.unique(keys[known], return_index=True, return_counts=True)
    top = np.argsort(-counts, kind="stable")[: min(_MAX_LEVELS, len(levels))]
    rows = np.flatnonzero(known)[first[top]]
    return column.at(rows), counts[top] / len(column)
