"""Tests of conditional independence: of counts, of correlations, or of the user's own making."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.stats import chi2, norm

from tenfold.engine.chunk import Chunk
from tenfold.graphical._state_rows import StateRows
from tenfold.graphical._structure_base import MAX_CELLS
from tenfold.stats.moments import Moments

Triple = tuple[str, str, tuple[str, ...]]  # two variables, and those that are given


class CountTest:
    """Chi-square or G test of counts, summed over the states of what is given.

    Degrees of freedom count only states that occur in each part of the table, so that empty cells
    of thin tables do not make a test too mild.
    """

    def __init__(self, coded: StateRows, kind: str) -> None:
        self.coded, self.kind = coded, kind

    def p_values(self, triples: Iterable[Triple]) -> list[float]:
        """The p-value of each hypothesis of independence; in passes of bounded memory."""
        found: list[float] = []
        lot: list[Triple] = []
        cells = 0.0
        for a, b, given in triples:
            size = float(np.prod([float(len(self.coded.states[v])) for v in (a, b, *given)]))
            if lot and cells + size > MAX_CELLS:
                found += self._count(lot)
                lot, cells = [], 0.0
            lot.append((a, b, given))
            cells += size
        return found + (self._count(lot) if lot else [])

    def _count(self, lot: list[Triple]) -> list[float]:
        tables = self.coded.count_states([(*given, a, b) for a, b, given in lot])
        return [count_p_value(t.reshape(-1, *t.shape[-2:]), self.kind) for t in tables]


def count_p_value(table: np.ndarray, kind: str = "chi_square") -> float:
    """p-value of the independence of the last two axes given the first.

    Parameters
    ----------
    table : (k, n, m) array
        Counts.
    kind : {"chi_square", "g_square"}
        Statistic of Pearson, or twice the log of the likelihood ratio.
    """
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    totals = rows.sum(axis=1)
    used = totals > 0
    table, rows, columns, totals = table[used], rows[used], columns[used], totals[used]
    expected = rows[:, :, None] * columns[:, None, :] / totals[:, None, None]
    degrees = float((((rows > 0).sum(axis=1) - 1) * ((columns > 0).sum(axis=1) - 1)).sum())
    if degrees <= 0:
        return 1.0
    there = expected > 0
    if kind == "g_square":
        there &= table > 0
        statistic = 2 * (table[there] * np.log(table[there] / expected[there])).sum()
    else:
        statistic = ((table[there] - expected[there]) ** 2 / expected[there]).sum()
    return float(chi2.sf(statistic, degrees))


class CorrelationTest:
    """Fisher's z test of partial correlations, for numbers."""

    def __init__(self, names: list[str], moments: Moments) -> None:
        spread = np.sqrt(np.diag(moments.scatter))
        if not (spread > 0).all():
            name = names[int(np.argmin(spread))]
            raise ValueError(f"the column {name!r} is constant: it has no correlations")
        self.place = {name: at for at, name in enumerate(names)}
        self.correlations = moments.scatter / np.outer(spread, spread)
        self.n = moments.n

    def p_values(self, triples: Iterable[Triple]) -> list[float]:
        """The p-value of each hypothesis of independence."""
        return [self._p_value(*triple) for triple in triples]

    def _p_value(self, a: str, b: str, given: tuple[str, ...]) -> float:
        at = [self.place[v] for v in (a, b, *given)]
        precision = np.linalg.pinv(self.correlations[np.ix_(at, at)])
        r = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
        degrees = self.n - len(given) - 3
        if degrees <= 0:
            return 1.0
        z = np.sqrt(degrees) * np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15))
        return float(2 * norm.sf(abs(z)))


class OwnTest:
    """A function of two variables and those that are given, which returns a p-value."""

    def __init__(self, function: Callable[..., float]) -> None:
        self.function = function

    def p_values(self, triples: Iterable[Triple]) -> list[float]:
        """The p-value of each hypothesis of independence."""
        return [float(self.function(*triple)) for triple in triples]


def chunk_moments(chunk: Chunk) -> Moments:
    """Moments of the rows of a chunk about their own mean."""
    w, X = chunk.weights().astype(np.float64), chunk.X.astype(np.float64)
    n = float(w.sum())
    mean = w @ X / n if n > 0 else np.zeros(X.shape[1])
    centered = X - mean
    return Moments(n, mean, (centered * w[:, None]).T @ centered, int((w > 0).sum()))
