"""Where a mixture starts: rows that stand for the components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.maths.distances import nearest_centres
from tenfold.maths.leaves import add_rows, squares_to
from tenfold.rows import Rows
from tenfold.solve.spreading import plus_plus, start_sample

START_ROWS = 3_000  # starts look at this many rows (or 150 for each component)
START_NUMBERS = 2**25  # at most: rows of a wide sparse matrix become dense
SPREAD_ROWS = 500  # of these, k-means++ looks at so many (or 20 for each component)
TRIES = 5  # of k-means on these rows; the best is kept
ROUNDS = 30  # of k-means: EM goes on from there anyway
STILL = 1e-4  # share of the mean square of the entries by which centres may still move

STARTS = ("kmeans", "k-means++", "random", "random_from_data")


class Start(NamedTuple):
    """Centres of the components, and what stands for missing entries; no centres: divide at random.

    Attributes
    ----------
    centres : (k, p) or None
    fill : (p,) means of the columns
    """

    centres: np.ndarray | None
    fill: np.ndarray


def draw_start(rows: Rows, k: int, how: str, rng: np.random.Generator) -> Start:
    """Centres from a sample of the rows, which is drawn by global row number."""
    some = min(max(START_ROWS, 150 * k), max(START_NUMBERS // max(rows.n_features, 1), 2 * k))
    X, w = start_sample(rows, some, int(rng.integers(2**31)))
    X = X if isinstance(X, np.ndarray) else X.toarray()
    X, fill = filled(X.astype(np.float64), w)
    if how == "random":
        return Start(None, fill)
    if how == "random_from_data":
        return Start(X[np.sort(rng.choice(len(X), k, replace=len(X) < k, p=w / w.sum()))], fill)
    if how == "k-means++" or k == 1:
        return Start(plus_plus(X, w, k, rng), fill)
    tries = [settled(X, w, spread_rows(X, w, k, rng)) for _ in range(TRIES)]
    return Start(min(tries, key=lambda centres: cost(X, w, centres)), fill)


def spread_rows(X: np.ndarray, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Far-apart rows among some of them: k-means moves them to the middle of a group anyway."""
    some = np.sort(rng.choice(len(X), min(len(X), max(SPREAD_ROWS, 20 * k)), replace=False))
    return plus_plus(X[some], w[some], k, rng)


def cost(X: np.ndarray, w: np.ndarray, centres: np.ndarray) -> float:
    """Weighted sum of squared distances to the nearest centre."""
    return float(w @ squares_to(X, nearest_centres(X, centres), centres))


def filled(X: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the mean of its column for each missing entry, and these means."""
    if np.isinf(X).any():
        raise ValueError("Input X contains infinity. Write NaN where a value is missing.")
    there = ~np.isnan(X)
    seen = w @ there
    fill = (w @ np.where(there, X, 0.0)) / np.where(seen > 0, seen, 1.0)
    return np.where(there, X, fill), fill


def settled(X: np.ndarray, w: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Centres after some rounds of k-means on a sample; one that loses its rows stays."""
    middle = centres.mean(axis=0)
    X, centres = X - middle, centres - middle
    still = STILL * float(w @ (X * X).mean(axis=1)) / w.sum()
    for _ in range(ROUNDS):
        n, sums = np.zeros(len(centres)), np.zeros(centres.shape)
        add_rows(X, w, nearest_centres(X, centres), sums, n)
        moved = np.where(n[:, None] > 0, sums / np.where(n > 0, n, 1.0)[:, None], centres)
        change, centres = ((moved - centres) ** 2).sum(), moved
        if change <= still:
            break
    return centres + middle
