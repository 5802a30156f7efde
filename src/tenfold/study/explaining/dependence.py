"""Partial dependence: how the prediction moves with one column, all others held."""

from __future__ import annotations

import numpy as np

from tenfold.rows.cells import Column, Dates, Numbers, Words
from tenfold.study.explaining.encoded_rows import EncodedRows, as_outputs, outputs_of
from tenfold.study.explaining.explanation import Dependence

GRID = 25
LEVELS = 8
ROWS = 250  # rows whose lines are averaged
OUTPUTS = 4  # classes that are shown, those that move most


def dependence(rows: EncodedRows, column: str) -> Dependence | None:
    """Mean and spread of the prediction over a grid of a column's values; None for texts.

    Numbers and dates are given quantiles, categories their most frequent levels.
    """
    kind = rows.model.columns_[column].kind
    if kind == "text":
        return None
    values = rows.cells[column]
    few = kind == "category" or len(np.unique(_known(values)[0])) <= 2
    grid, share = _levels(values) if few else (_quantiles(values), None)
    if len(grid) < 2:
        return None
    low, mean, high, outputs = _moved(rows, column, grid)
    seen = None if share is not None else np.asarray(_known(values)[0])
    chance = rows.model.classes_ is not None
    if chance:  # a line that is shifted to the mean level may leave the range of probabilities
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    return Dependence(column, kind, grid.plain(), mean, low, high, share, seen, outputs, chance)


def _moved(
    rows: EncodedRows, column: str, grid: Column
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Low, mean and high prediction (grid, outputs): every row is given every value."""
    some = rows.first(ROWS)
    n = len(some.X)
    stack = np.repeat(some.X, len(grid), axis=0)
    stack[:, rows.places[column]] = np.tile(rows.block(column, grid), (n, 1))
    said = as_outputs(rows.model, rows.predict(stack)).reshape(n, len(grid), -1)
    mean = said.mean(axis=0)
    most = np.sort(np.argsort(-np.ptp(mean, axis=0), kind="stable")[:OUTPUTS])
    levels = said.mean(axis=1, keepdims=True)
    low, high = np.quantile(said - levels, [0.1, 0.9], axis=0) + levels.mean(axis=0)
    names = outputs_of(rows.model)
    return low[:, most], mean[:, most], high[:, most], [names[i] for i in most]


def _known(column: Column) -> Column:
    return column.at(np.flatnonzero(~column.missing()))


def _quantiles(column: Column) -> Column:
    """Values at even shares of the rows, from the 2nd to the 98th in a hundred."""
    known = _known(column)
    if isinstance(known, Words) or not len(known):
        return known.at(slice(0))
    values = np.sort(known.values)
    shares = np.linspace(0.02, 0.98, GRID)
    places = np.round(shares * (len(values) - 1)).astype(int)
    kept = np.unique(values[places])
    return Dates(kept) if isinstance(known, Dates) else Numbers(kept)


def _levels(column: Column) -> tuple[Column, np.ndarray]:
    """The most frequent levels, and their shares of the rows."""
    keys = column.codes if isinstance(column, Words) else column.values
    known = ~column.missing()
    levels, first, counts = np.unique(keys[known], return_index=True, return_counts=True)
    top = np.argsort(-counts, kind="stable")[: min(LEVELS, len(levels))]
    rows = np.flatnonzero(known)[first[top]]
    return column.at(rows), counts[top] / len(column)
