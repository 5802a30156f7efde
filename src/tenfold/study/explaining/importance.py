"""Permutation importance: what the score loses when a column is shuffled."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from tenfold.study.explaining.encoded_rows import EncodedRows
from tenfold.study.explaining.explanation import Importance
from tenfold.study.scoring import Scoring

SHUFFLES = (2, 8)  # so many if the table is wide, so many otherwise
CELLS = 2**28  # encoded cells that are predicted in all, at most


def importances(
    rows: EncodedRows, y: np.ndarray, scoring: Scoring, *, seed: int
) -> tuple[float, list[Importance]]:
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
    few, many = SHUFFLES
    wide = rows.X.size * len(rows.places) * many > CELLS
    orders = _orders(len(y), few if wide else many, seed)
    stack = np.tile(rows.X, (len(orders), 1))
    found = [
        _interval(name, score - _shuffled(rows, stack, places, orders, y, scoring))
        for name, places in rows.places.items()
    ]
    return score, sorted(found, key=lambda each: -each.drop)


def _orders(n: int, shuffles: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(shuffles)]


def _shuffled(
    rows: EncodedRows,
    stack: np.ndarray,
    places: np.ndarray,
    orders: list[np.ndarray],
    y: np.ndarray,
    scoring: Scoring,
) -> np.ndarray:
    """Score of each shuffle; the stack is put back as it was."""
    own = rows.X[:, places]
    stack[:, places] = own[np.concatenate(orders)]
    said = np.split(rows.predict(stack), len(orders))
    stack[:, places] = np.tile(own, (len(orders), 1))
    return np.array([scoring.score(y, part) for part in said])


def _interval(column: str, drops: np.ndarray) -> Importance:
    mean, error = float(drops.mean()), float(drops.std(ddof=1) / np.sqrt(len(drops)))
    half = float(t.ppf(0.975, len(drops) - 1)) * error
    return Importance(column, mean, mean - half, mean + half)
