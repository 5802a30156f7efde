"""Column profiles of a table in one pass: counts, moments, distinct values; statistics that merge."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.io.columnar import ColumnBatch, DateColumn, NumericColumn, TextColumn


class DistinctCount(NamedTuple):
    """The smallest hashes of the values, each once: how many different values there are."""

    hashes: np.ndarray  # ascending
    limit: int

    @classmethod
    def of(cls, hashes: np.ndarray, limit: int) -> DistinctCount:
        """From the hashes of all values, or of each value once."""
        return cls(_unique_sorted(np.sort(hashes))[:limit], limit)

    def merge(self, other: DistinctCount) -> DistinctCount:
        both = np.sort(np.concatenate([self.hashes, other.hashes]), kind="stable")
        return DistinctCount(_unique_sorted(both)[: self.limit], self.limit)

    @property
    def more(self) -> bool:
        """Whether there are at least `limit` values, so that `number` is an estimate."""
        return len(self.hashes) >= self.limit

    @property
    def number(self) -> float:
        """How many; beyond the limit judged by how closely the smallest hashes lie."""
        if not self.more:
            return len(self.hashes)
        return (self.limit - 1) * 2.0**64 / max(float(self.hashes[-1]), 1.0)


def _unique_sorted(ascending: np.ndarray) -> np.ndarray:
    """Sorted numbers, each once."""
    return ascending[np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]]


def _hash_text(value: str) -> int:
    """64 bits of a text, the same in every process."""
    letters = value.encode("utf-8", "surrogatepass")
    return zlib.crc32(letters) << 32 | zlib.adler32(letters)


def _mix_bits(bits: np.ndarray) -> np.ndarray:
    """Spread 64 bits evenly (the finaliser of splitmix64); different stay different."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


MAX_COUNTED_VALUES = 10_000  # different values that are counted one by one
_SKETCH_BYTES = 2**23  # bytes of all sketches together
MICROSECONDS_PER_DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")


class NumberSummary(NamedTuple):
    """Number, mean and squares about the mean of some numbers, their least and largest."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    @classmethod
    def of(cls, values: np.ndarray) -> NumberSummary:
        """Of some finite numbers."""
        if not len(values):
            return cls()
        mean = float(values.mean())
        squares = float(((values - mean) ** 2).sum())
        return cls(len(values), mean, squares, float(values.min()), float(values.max()))

    def merge(self, other: NumberSummary) -> NumberSummary:
        n = self.n + other.n
        if not self.n or not other.n:
            return other if other.n else self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.n / n
        squares = self.squares + other.squares + apart**2 * self.n * other.n / n
        return NumberSummary(n, mean, squares, min(self.low, other.low), max(self.high, other.high))

    @property
    def deviation(self) -> float:
        """Standard deviation, divided by n."""
        return float(np.sqrt(self.squares / self.n)) if self.n else 0.0


class NumberProfile(NamedTuple):
    """Of a column of numbers."""

    rows: int
    spread: NumberSummary
    infinite: int
    whole: bool
    different: DistinctCount

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
    sketch: DistinctCount | None
    limit: int

    def merge(self, other: WordProfile) -> WordProfile:
        counts = sketch = None
        if self.counts is not None and other.counts is not None:
            counts = _merge_counts(self.counts, other.counts)
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
    def different(self) -> DistinctCount:
        """How many different values there are."""
        if self.sketch is not None:
            return self.sketch
        counts = self.counts or {}
        hashes = np.fromiter(map(_hash_text, counts), np.uint64, len(counts))
        return DistinctCount.of(_mix_bits(hashes), self.limit)


class DateProfile(NamedTuple):
    """Of a column of dates: days since 1970, years, whether there are times of day."""

    rows: int
    days: NumberSummary
    years: NumberSummary
    hours: bool
    different: DistinctCount

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


class TableProfile(NamedTuple):
    """Of all columns of a table."""

    columns: dict[str, Any]
    narrow = True  # its numbers are as wide as they should be

    def merge(self, other: TableProfile) -> TableProfile:
        return TableProfile(
            {name: one.merge(other.columns[name]) for name, one in self.columns.items()}
        )


def profile_table(records: Any, taken_as: dict[str, str] | None = None) -> TableProfile:
    """One pass over records; some columns are taken as "text" or "number" whatever they hold."""
    limit = int(np.clip(_SKETCH_BYTES // (8 * max(records.n_features, 1)), 256, MAX_COUNTED_VALUES))
    return Rows(records, allow_nan=True).total(_profile_chunk, taken_as or {}, limit)


def _profile_chunk(chunk: Chunk, taken_as: dict[str, str], limit: int) -> TableProfile:
    """The profile of a chunk."""
    cells: ColumnBatch = chunk.X
    columns = {name: _read_column_as(cells, name, taken_as.get(name)) for name in cells.names}
    return TableProfile({name: profile_column(column, limit) for name, column in columns.items()})


def _read_column_as(cells: ColumnBatch, name: str, kind: str | None) -> Any:
    """A column as it is, or as text or numbers."""
    if kind == "text":
        return to_words(cells[name], cells.types[name])
    return cells[name] if kind is None else to_numbers(cells[name])


def profile_column(column: Any, limit: int) -> ColumnProfile:
    """The profile of a column of a chunk."""
    if isinstance(column, NumericColumn):
        return _profile_numbers(column, limit)
    return (
        _profile_words(column, limit)
        if isinstance(column, TextColumn)
        else _profile_dates(column, limit)
    )


def _profile_numbers(column: NumericColumn, limit: int) -> NumberProfile:
    values = column.values
    there = values[np.isfinite(values)]
    whole = bool((there == np.rint(there)).all())
    different = DistinctCount.of(_mix_bits((there + 0.0).view(np.uint64)), limit)
    missing = int(np.isnan(values).sum())
    infinite = len(values) - len(there) - missing
    return NumberProfile(len(values), NumberSummary.of(there), infinite, whole, different)


def _profile_words(column: TextColumn, limit: int) -> WordProfile:
    times = np.bincount(column.codes + 1, minlength=len(column.values) + 1).tolist()
    counts = {v: n for v, n in zip(column.values, times[1:], strict=True) if n}
    words = sum(n * len(v.split()) for v, n in counts.items())
    return WordProfile(len(column), times[0], words, counts, None, limit).shortened()


def _profile_dates(column: DateColumn, limit: int) -> DateProfile:
    there = column.values[~np.isnat(column.values)]
    micros = there.astype("datetime64[us]").astype(np.int64)
    days = micros / MICROSECONDS_PER_DAY
    years = there.astype("datetime64[Y]").astype(np.int64) + 1970.0
    different = DistinctCount.of(_mix_bits(micros.view(np.uint64)), limit)
    hours = bool((micros % int(MICROSECONDS_PER_DAY)).any())
    return DateProfile(
        len(column), NumberSummary.of(days), NumberSummary.of(years), hours, different
    )


def _merge_counts(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    """Counts of both parts."""
    both = dict(a)
    for value, count in b.items():
        both[value] = both.get(value, 0) + count
    return both


def to_numbers(column: Any) -> NumericColumn:
    """Words as numbers; what is none counts as missing."""
    if isinstance(column, NumericColumn):
        return column
    return NumericColumn(np.array([*map(_parse_number, column.values), np.nan])[column.codes])


def _parse_number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return np.nan


def to_words(column: Any, kind: str) -> TextColumn:
    """A column as text, whatever it holds: 3 and 3.0 are "3", truth values "true" and "false"."""
    if isinstance(column, TextColumn):
        return column
    there = ~column.missing()
    values, inverse = np.unique(column.values[there], return_inverse=True)
    codes = np.full(len(column), -1, np.int32)
    codes[there] = inverse
    plain = type(column)(values).plain()
    words = [str(v).lower() if kind == "bool" else str(v) for v in _to_bools(plain, kind)]
    return TextColumn(codes, words)


def _to_bools(plain: list[Any], kind: str) -> list[Any]:
    return [bool(value) for value in plain] if kind == "bool" else plain
