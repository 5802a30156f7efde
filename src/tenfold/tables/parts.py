"""How one column of a table becomes columns of numbers. Parts are what the encoder learned.

Each part has `names`, the columns that it makes. `vectors` gives whole columns, `marks` single
entries (row, column, value), both counted from the part's first column.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from tenfold.maths.tokens import bag, numbered
from tenfold.tables.profile import DAY

WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Marks = tuple[np.ndarray, np.ndarray, np.ndarray]


def no_marks() -> Marks:
    """No single entries."""
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)


class Scaled(NamedTuple):
    """(x - centre) / scale; what is missing becomes `fill`."""

    centre: float
    scale: float
    fill: float

    def of(self, values: np.ndarray) -> np.ndarray:
        """The scaled values."""
        made = (values - self.centre) / self.scale
        return np.where(np.isnan(made), self.fill, made)


class NumberPart(NamedTuple):
    """A number, and whether it was missing."""

    name: str
    scaled: Scaled
    flag: bool
    lenient: bool  # words count as missing
    takes = "number"

    @property
    def names(self) -> list[str]:
        return [self.name, f"{self.name} missing"][: 1 + self.flag]

    def vectors(self, column: Any) -> list[np.ndarray]:
        return [self.scaled.of(column.values), column.missing()][: 1 + self.flag]

    def marks(self, _: Any) -> Marks:
        return no_marks()


class CategoryPart(NamedTuple):
    """One indicator for each level; one for all others, and one for missing, if there were any."""

    name: str
    levels: list[str]
    first: int  # levels before this one have no indicator (drop_first)
    other: bool
    missing: bool
    takes = "text"

    @property
    def names(self) -> list[str]:
        own = [f"{self.name}={level}" for level in self.levels[self.first :]]
        return own + [f"{self.name}=other"] * self.other + [f"{self.name} missing"] * self.missing

    def vectors(self, _: Any) -> list[np.ndarray]:
        return []

    def marks(self, column: Any) -> Marks:
        count = len(self.levels) - self.first
        places = {level: j - self.first for j, level in enumerate(self.levels)}
        other = count if self.other else -1
        gone = count + self.other if self.missing else -1
        table = [places.get(value, other) for value in column.values]
        at = np.array([*table, gone], np.int64)[column.codes]
        rows = np.flatnonzero(at >= 0)
        return rows, at[rows], np.ones(len(rows))


class HashPart(NamedTuple):
    """Too many levels: each falls into one of some buckets; the last column is for missing."""

    name: str
    buckets: int
    missing: bool
    takes = "text"

    @property
    def names(self) -> list[str]:
        own = [f"{self.name}#{bucket}" for bucket in range(self.buckets)]
        return own + [f"{self.name} missing"] * self.missing

    def vectors(self, _: Any) -> list[np.ndarray]:
        return []

    def marks(self, column: Any) -> Marks:
        table = [bucket(value, self.buckets) for value in column.values]
        at = np.array([*table, self.buckets if self.missing else -1], np.int64)[column.codes]
        rows = np.flatnonzero(at >= 0)
        return rows, at[rows], np.ones(len(rows))


def bucket(value: str, buckets: int) -> int:
    """The bucket of a text."""
    return zlib.crc32(value.encode("utf-8", "surrogatepass")) % buckets


class TextPart(NamedTuple):
    """Words, counted, weighed by how few rows have them, of length one by the row (tf-idf)."""

    name: str
    words: list[str]
    weights: np.ndarray
    takes = "text"

    @property
    def names(self) -> list[str]:
        return [f"{self.name}: {word}" for word in self.words]

    def vectors(self, _: Any) -> list[np.ndarray]:
        return []

    def marks(self, column: Any) -> Marks:
        known = _Known((word.encode(), j) for j, word in enumerate(self.words))
        found = bag(
            *numbered(column.values, known.__getitem__, lowercase=True), len(self.words), np.float64
        )
        found.data *= self.weights[found.indices]
        lengths = np.sqrt(np.add.reduceat(np.append(found.data**2, 0.0), found.indptr[:-1]))
        lengths[np.diff(found.indptr) == 0] = 1.0
        found.data /= np.repeat(lengths, np.diff(found.indptr))
        there = np.flatnonzero(column.codes >= 0)
        rows = found[column.codes[there]].tocoo()
        return there[rows.coords[0]], rows.coords[1], rows.data


class _Known(dict):
    """word -> column, and -1 for a word that is no column."""

    def __missing__(self, word: bytes) -> int:
        return -1


class DatePart(NamedTuple):
    """Days since the earliest, year, season, weekday, and the time of day if there are any."""

    name: str
    days: Scaled
    years: Scaled | None
    hours: bool
    flag: bool
    takes = "date"

    @property
    def names(self) -> list[str]:
        own = ["days", *(["year"] if self.years else []), "season sine", "season cosine", *WEEK]
        own += ["time sine", "time cosine"] if self.hours else []
        return [f"{self.name}: {one}" for one in own] + [f"{self.name} missing"] * self.flag

    def vectors(self, column: Any) -> list[np.ndarray]:
        there = ~column.missing()
        when = np.where(there, column.values, np.datetime64(0, "us"))
        days = when.astype("datetime64[D]")
        year = days.astype("datetime64[Y]")
        number = year.astype(np.int64) + 1970.0
        phase = (days - year).astype(np.int64) / 365.25
        weekday = (days.astype(np.int64) + 3) % 7
        exact = np.where(there, when.astype(np.int64) / DAY, np.nan)
        made = [self.days.of(exact)]
        if self.years:
            made.append(self.years.of(np.where(there, number, np.nan)))
        made += [there * wave for wave in _waves(phase)]
        made += [there & (weekday == day) for day in range(7)]
        if self.hours:
            made += [there * wave for wave in _waves((when - days) / np.timedelta64(1, "D"))]
        return made + [~there] * self.flag

    def marks(self, _: Any) -> Marks:
        return no_marks()


def _waves(phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A circle for what comes again: 23:59 is near 0:00."""
    return np.sin(2 * np.pi * phase), np.cos(2 * np.pi * phase)


Part = NumberPart | CategoryPart | HashPart | TextPart | DatePart
