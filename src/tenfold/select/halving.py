"""Successive halving: judge all on few rows, then the better ones on more."""

from __future__ import annotations

import numpy as np

from tenfold.select.splits import Split

LEAST_ROWS = 50  # per part, in the first round


def shares(n: int, parts: int, candidates: int, factor: float) -> list[float]:
    """Shares of the rows in each round; the last is all of them.

    Examples
    --------
    >>> shares(100_000, 10, 27, 3.0)
    [0.1111111111111111, 0.3333333333333333, 1.0]
    """
    rounds = int(np.ceil(np.log(max(candidates, 1)) / np.log(factor)))
    most = int(np.log(max(n / (LEAST_ROWS * parts), 1.0)) / np.log(factor))
    return [factor**-r for r in range(min(rounds - 1, most), 0, -1)] + [1.0]


def thinned(split: Split, share: float, seed: int) -> Split:
    """The same parts with a share of the rows; rows of a smaller share are among the larger's."""
    if share >= 1:
        return split
    cells = len(split.train[0])
    out = np.random.default_rng(seed).random(len(split.cell)) >= share
    cell = np.where(out, cells, split.cell.astype(np.int32))
    train, test = (np.pad(np.stack(list(part)), ((0, 0), (0, 1))) for part in split[1:])
    return Split(cell.astype(np.min_scalar_type(cells)), train, test)


def survivors(scores: np.ndarray, factor: float) -> list[int]:
    """Numbers of the best candidates, one in `factor`, at least one, in their order."""
    mean = np.nan_to_num(scores.mean(axis=0), nan=-np.inf)
    keep = max(int(np.ceil(len(mean) / factor)), 1)
    return sorted(np.argsort(-mean, kind="stable")[:keep].tolist())
