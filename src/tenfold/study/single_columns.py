"""How much of the target each column tells on its own: a mean for each of its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows.cells import Cells, Words

BINS = 100
MOST_ROWS = 20_000


def single_scores(cells: Cells, y: np.ndarray, k: int | None, seed: int) -> dict[str, float]:
    """Share of what there is to explain that each column explains alone, on rows held out.

    Half of the rows give a mean (or shares of classes) for each value, or bin, of a column; the
    other half judges them: R², or the accuracy between that of the largest class (0) and 1.

    Examples
    --------
    >>> from tenfold.rows.cells import Numbers
    >>> y = np.arange(1000) % 2
    >>> columns = {"leak": Numbers(y + 5.0), "noise": Numbers(np.arange(1000.0) // 2 % 7)}
    >>> cells = Cells(columns, {"leak": "number", "noise": "number"})
    >>> scores = single_scores(cells, y, 2, 0)
    >>> scores["leak"], scores["noise"] < 0.2
    (1.0, True)
    """
    order = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    half = len(order) // 2
    wanted = y[:, None].astype(np.float64) if k is None else np.eye(k)[y]
    learn, judge = order[:half], order[half:]
    scores = {}
    for name in cells.names:
        codes = _codes(cells[name])
        means = _means(codes[learn], wanted[learn], int(codes.max()) + 1)
        scores[name] = _worth(means[codes[judge]], wanted[judge], wanted[learn], k)
    return scores


def _codes(column: Any) -> np.ndarray:
    """A number for each value, or for each of many bins; missing ones have their own."""
    if isinstance(column, Words):
        return column.codes + 1
    missing = column.missing()
    values = np.where(missing, 0, column.values.astype(np.float64))
    edges = (
        np.unique(np.quantile(values[~missing], np.linspace(0, 1, BINS)[1:-1]))
        if not missing.all()
        else np.empty(0)
    )
    return np.where(missing, 0, np.searchsorted(edges, values, "right") + 1)


def _means(codes: np.ndarray, wanted: np.ndarray, n: int) -> np.ndarray:
    """Mean of each value, (n, q); that of all rows where a value does not occur."""
    counts = np.bincount(codes, minlength=n)
    sums = np.stack([np.bincount(codes, column, minlength=n) for column in wanted.T], axis=1)
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], wanted.mean(axis=0))


def _worth(said: np.ndarray, true: np.ndarray, seen: np.ndarray, k: int | None) -> float:
    if k is None:
        spread = ((true - seen.mean()) ** 2).sum()
        return float(1 - ((true - said) ** 2).sum() / spread) if spread > 0 else 0.0
    right = float((said.argmax(axis=1) == true.argmax(axis=1)).mean())
    guess = float((seen.sum(axis=0).argmax() == true.argmax(axis=1)).mean())
    return (right - guess) / (1 - guess) if guess < 1 else 0.0
