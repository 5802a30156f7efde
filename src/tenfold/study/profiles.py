"""What sets a group of rows apart: columns in which it differs from all rows, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows.cells import Cells, Dates, Words

Saying = tuple[str, str, float]  # column, words, strength
MOST = 8  # columns that are told of a group
MOST_LEVELS = 50  # a column of more different words is no category


def profiles(cells: Cells, labels: np.ndarray, k: int) -> list[list[Saying]]:
    """For each group the columns that set it apart, the strongest first.

    The strength is the distance of means in standard deviations; of a category, that of the level
    which differs most.
    """
    told: list[list[Saying]] = [[] for _ in range(k)]
    for name in cells.names:
        for group, saying in enumerate(_sayings(name, cells[name], labels, k)):
            told[group] += saying
    return [sorted(each, key=lambda s: -abs(s[2]))[:MOST] for each in told]


def _sayings(name: str, column: Any, labels: np.ndarray, k: int) -> list[list[Saying]]:
    """What a column says of each group."""
    if isinstance(column, Words):
        few = len(column.values) <= MOST_LEVELS
        return [_level(name, column, labels == g) if few else [] for g in range(k)]
    if isinstance(column, Dates):
        return [[] for _ in range(k)]
    return [_number(name, column.values, labels == g) for g in range(k)]


def _number(name: str, values: np.ndarray, own: np.ndarray) -> list[Saying]:
    known = ~np.isnan(values)
    spread = float(values[known].std()) if known.any() else 0.0
    if spread == 0 or not (own & known).any():
        return []
    mean, here = float(values[known].mean()), float(values[own & known].mean())
    side = "higher" if here > mean else "lower"
    words = f"{side}: {here:.4g} on average, against {mean:.4g}"
    return [(name, words, (here - mean) / spread)]


def _level(name: str, column: Words, own: np.ndarray) -> list[Saying]:
    levels = len(column.values)
    known = column.codes >= 0
    if levels == 0 or not (own & known).any():
        return []
    share = np.bincount(column.codes[known], minlength=levels) / known.sum()
    here = np.bincount(column.codes[own & known], minlength=levels) / (own & known).sum()
    apart = (here - share) / np.sqrt(np.maximum(share * (1 - share), 1e-9))
    most = int(np.abs(apart).argmax())
    words = f"{column.values[most]!r} in {here[most]:.0%} of its rows, against {share[most]:.0%}"
    return [(name, words, float(apart[most]))]
