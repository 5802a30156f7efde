"""What one pass says about the columns of a table: a statistic that merges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.rows import Chunk, Rows
from tenfold.rows.cells import Cells, Dates, Numbers, Words
from tenfold.tables.sketch import Different, hash_of, mixed_bits

EXACT = 10_000  # different values that are counted one by one
SKETCHES = 2**23  # bytes of all sketches together
DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")


class Spread(NamedTuple):
    """Number, mean and squares about the mean of some numbers, their least and largest."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    @classmethod
    def of(cls, values: np.ndarray) -> Spread:
        """Of some finite numbers."""
        if not len(values):
            return cls()
        mean = float(values.mean())
        squares = float(((values - mean) ** 2).sum())
        return cls(len(values), mean, squares, float(values.min()), float(values.max()))

    def merge(self, other: Spread) -> Spread:
        n = self.n + other.n
        if not self.n or not other.n:
            return other if other.n else self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.n / n
        squares = self.squares + other.squares + apart**2 * self.n * other.n / n
        return Spread(n, mean, squares, min(self.low, other.low), max(self.high, other.high))

    @property
    def deviation(self) -> float:
        """Standard deviation, divided by n."""
        return float(np.sqrt(self.squares / self.n)) if self.n else 0.0


class NumberProfile(NamedTuple):
    """Of a column of numbers."""

    rows: int
    spread: Spread
    infinite: int
    whole: bool
    different: Different

    def merge(self, other: NumberProfile) -> NumberProfile:
        return NumberProfile(
            self.rows + other.rows,
            self.spread.merge(other.spread),
            self.infinite + other.infinite,
            self.whole and other.whole,
            self.different.merge(other.different),
        )

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return self.rows - self.spread.n - self.infinite


class WordProfile(NamedTuple):
    """Of a column of text: how often each value is there, or, if they are too many, a sketch."""

    rows: int
    missing: int
    words: int
    counts: dict[str, int] | None
    sketch: Different | None
    limit: int

    def merge(self, other: WordProfile) -> WordProfile:
        counts = sketch = None
        if self.counts is not None and other.counts is not None:
            counts = merged_counts(self.counts, other.counts)
        else:
            sketch = self.different.merge(other.different)
        return WordProfile(
            self.rows + other.rows,
            self.missing + other.missing,
            self.words + other.words,
            counts,
            sketch,
            self.limit,
        ).shortened()

    def shortened(self) -> WordProfile:
        """Without the counts, if there are too many."""
        if self.counts is None or len(self.counts) < self.limit:
            return self
        return self._replace(counts=None, sketch=self.different)

    @property
    def different(self) -> Different:
        """How many different values there are."""
        if self.sketch is not None:
            return self.sketch
        counts = self.counts or {}
        hashes = np.fromiter(map(hash_of, counts), np.uint64, len(counts))
        return Different.of(mixed_bits(hashes), self.limit)


class DateProfile(NamedTuple):
    """Of a column of dates: days since 1970, years, whether there are times of day."""

    rows: int
    days: Spread
    years: Spread
    hours: bool
    different: Different

    def merge(self, other: DateProfile) -> DateProfile:
        return DateProfile(
            self.rows + other.rows,
            self.days.merge(other.days),
            self.years.merge(other.years),
            self.hours or other.hours,
            self.different.merge(other.different),
        )

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return self.rows - self.days.n


ColumnProfile = NumberProfile | WordProfile | DateProfile


class Profile(NamedTuple):
    """Of all columns of a table."""

    columns: dict[str, Any]
    narrow = True  # its numbers are as wide as they should be

    def merge(self, other: Profile) -> Profile:
        return Profile({name: one.merge(other.columns[name]) for name, one in self.columns.items()})


def profile(records: Any, taken_as: dict[str, str] | None = None) -> Profile:
    """One pass over records; some columns are taken as "text" or "number" whatever they hold."""
    limit = int(np.clip(SKETCHES // (8 * max(records.n_features, 1)), 256, EXACT))
    return Rows(records, allow_nan=True).total(profile_of, taken_as or {}, limit)


def profile_of(chunk: Chunk, taken_as: dict[str, str], limit: int) -> Profile:
    """The profile of a chunk."""
    cells: Cells = chunk.X
    columns = {name: taken(cells, name, taken_as.get(name)) for name in cells.names}
    return Profile({name: column_profile(column, limit) for name, column in columns.items()})


def taken(cells: Cells, name: str, kind: str | None) -> Any:
    """A column as it is, or as text or numbers."""
    if kind == "text":
        return worded(cells[name], cells.types[name])
    return cells[name] if kind is None else as_numbers(cells[name])


def column_profile(column: Any, limit: int) -> ColumnProfile:
    """The profile of a column of a chunk."""
    if isinstance(column, Numbers):
        return _number_profile(column, limit)
    return (
        _word_profile(column, limit) if isinstance(column, Words) else _date_profile(column, limit)
    )


def _number_profile(column: Numbers, limit: int) -> NumberProfile:
    values = column.values
    there = values[np.isfinite(values)]
    whole = bool((there == np.rint(there)).all())
    different = Different.of(mixed_bits((there + 0.0).view(np.uint64)), limit)
    missing = int(np.isnan(values).sum())
    infinite = len(values) - len(there) - missing
    return NumberProfile(len(values), Spread.of(there), infinite, whole, different)


def _word_profile(column: Words, limit: int) -> WordProfile:
    times = np.bincount(column.codes + 1, minlength=len(column.values) + 1).tolist()
    counts = {v: n for v, n in zip(column.values, times[1:], strict=True) if n}
    words = sum(n * len(v.split()) for v, n in counts.items())
    return WordProfile(len(column), times[0], words, counts, None, limit).shortened()


def _date_profile(column: Dates, limit: int) -> DateProfile:
    there = column.values[~np.isnat(column.values)]
    micros = there.astype("datetime64[us]").astype(np.int64)
    days = micros / DAY
    years = there.astype("datetime64[Y]").astype(np.int64) + 1970.0
    different = Different.of(mixed_bits(micros.view(np.uint64)), limit)
    hours = bool((micros % int(DAY)).any())
    return DateProfile(len(column), Spread.of(days), Spread.of(years), hours, different)


def merged_counts(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    """Counts of both parts."""
    both = dict(a)
    for value, count in b.items():
        both[value] = both.get(value, 0) + count
    return both


def as_numbers(column: Any) -> Numbers:
    """Words as numbers; what is none counts as missing."""
    if isinstance(column, Numbers):
        return column
    return Numbers(np.array([*map(_number, column.values), np.nan])[column.codes])


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return np.nan


def worded(column: Any, kind: str) -> Words:
    """A column as text, whatever it holds: 3 and 3.0 are "3", truth values "true" and "false"."""
    if isinstance(column, Words):
        return column
    there = ~column.missing()
    values, inverse = np.unique(column.values[there], return_inverse=True)
    codes = np.full(len(column), -1, np.int32)
    codes[there] = inverse
    plain = type(column)(values).plain()
    words = [str(v).lower() if kind == "bool" else str(v) for v in _named(plain, kind)]
    return Words(codes, words)


def _named(plain: list[Any], kind: str) -> list[Any]:
    return [bool(value) for value in plain] if kind == "bool" else plain
