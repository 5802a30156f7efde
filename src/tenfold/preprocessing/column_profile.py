"""Column profiles of a table in one pass: counts, moments and distinct values, all mergeable."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.io.columnar import ColumnBatch, DateColumn, NumericColumn, TextColumn


class DistinctCount(NamedTuple):
    """Number of distinct values by a k-minimum-values sketch: the smallest distinct hashes."""

    hashes: np.ndarray  # ascending
    limit: int

    @classmethod
    def from_values(cls, hashes: np.ndarray, limit: int) -> DistinctCount:
        """From the hashes of all values; repeated ones count once."""
        return cls(_unique_sorted(np.sort(hashes))[:limit], limit)

    def merge(self, other: DistinctCount) -> DistinctCount:
        merged = np.sort(np.concatenate([self.hashes, other.hashes]), kind="stable")
        return DistinctCount(_unique_sorted(merged)[: self.limit], self.limit)

    @property
    def is_estimate(self) -> bool:
        """Whether there are at least `limit` values, so that `estimate` is not exact."""
        return len(self.hashes) >= self.limit

    @property
    def estimate(self) -> float:
        """Exact below the limit; beyond it (limit - 1) / largest kept hash, scaled to [0, 1]."""
        if not self.is_estimate:
            return len(self.hashes)
        return (self.limit - 1) * 2.0**64 / max(float(self.hashes[-1]), 1.0)


def _unique_sorted(ascending: np.ndarray) -> np.ndarray:
    """Distinct values of a sorted array."""
    return ascending[np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]]


def _hash_text(value: str) -> int:
    """64-bit hash of a text, the same in every process."""
    encoded = value.encode("utf-8", "surrogatepass")
    return zlib.crc32(encoded) << 32 | zlib.adler32(encoded)


def _mix_bits(bits: np.ndarray) -> np.ndarray:
    """Finalizer of splitmix64, a bijection of 64-bit integers."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


MAX_COUNTED_VALUES = 10_000  # distinct values up to which each is counted
_SKETCH_BYTES = 2**23  # memory for the sketches of all columns
MICROSECONDS_PER_DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")


class NumberSummary(NamedTuple):
    """Count, mean, centered sum of squares, minimum and maximum of finite numbers."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    @classmethod
    def from_values(cls, values: np.ndarray) -> NumberSummary:
        """Summary of finite numbers."""
        if not len(values):
            return cls()
        mean = float(values.mean())
        squares = float(((values - mean) ** 2).sum())
        return cls(len(values), mean, squares, float(values.min()), float(values.max()))

    def merge(self, other: NumberSummary) -> NumberSummary:
        n = self.n + other.n
        if not self.n or not other.n:
            return other if other.n else self
        delta = other.mean - self.mean
        mean = self.mean + delta * other.n / n
        squares = self.squares + other.squares + delta**2 * self.n * other.n / n
        return NumberSummary(n, mean, squares, min(self.low, other.low), max(self.high, other.high))

    @property
    def std(self) -> float:
        """Population standard deviation."""
        return float(np.sqrt(self.squares / self.n)) if self.n else 0.0


class NumberProfile(NamedTuple):
    """Profile of a column of numbers."""

    rows: int
    summary: NumberSummary
    n_infinite: int
    is_integer: bool
    distinct: DistinctCount

    def merge(self, other: NumberProfile) -> NumberProfile:
        return NumberProfile(
            self.rows + other.rows,
            self.summary.merge(other.summary),
            self.n_infinite + other.n_infinite,
            self.is_integer and other.is_integer,
            self.distinct.merge(other.distinct),
        )

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return self.rows - self.summary.n - self.n_infinite


class WordProfile(NamedTuple):
    """Profile of a column of text: the count of each value, or a sketch if they are too many."""

    rows: int
    missing: int
    n_words: int
    counts: dict[str, int] | None
    sketch: DistinctCount | None
    limit: int

    def merge(self, other: WordProfile) -> WordProfile:
        counts = sketch = None
        if self.counts is not None and other.counts is not None:
            counts = _merge_counts(self.counts, other.counts)
        else:
            sketch = self.distinct.merge(other.distinct)
        return WordProfile(
            self.rows + other.rows,
            self.missing + other.missing,
            self.n_words + other.n_words,
            counts,
            sketch,
            self.limit,
        ).without_excess_counts()

    def without_excess_counts(self) -> WordProfile:
        """Drop the counts if there are too many."""
        if self.counts is None or len(self.counts) < self.limit:
            return self
        return self._replace(counts=None, sketch=self.distinct)

    @property
    def distinct(self) -> DistinctCount:
        """Number of distinct values."""
        if self.sketch is not None:
            return self.sketch
        counts = self.counts or {}
        hashes = np.fromiter(map(_hash_text, counts), np.uint64, len(counts))
        return DistinctCount.from_values(_mix_bits(hashes), self.limit)


class DateProfile(NamedTuple):
    """Profile of a column of dates: days since 1970, years, whether there are times of day."""

    rows: int
    days: NumberSummary
    years: NumberSummary
    has_times: bool
    distinct: DistinctCount

    def merge(self, other: DateProfile) -> DateProfile:
        return DateProfile(
            self.rows + other.rows,
            self.days.merge(other.days),
            self.years.merge(other.years),
            self.has_times or other.has_times,
            self.distinct.merge(other.distinct),
        )

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return self.rows - self.days.n


ColumnProfile = NumberProfile | WordProfile | DateProfile


class TableProfile(NamedTuple):
    """Profiles of all columns of a table."""

    columns: dict[str, Any]
    narrow = True  # integers stay integers when statistics merge

    def merge(self, other: TableProfile) -> TableProfile:
        return TableProfile(
            {name: profile.merge(other.columns[name]) for name, profile in self.columns.items()}
        )


def profile_table(records: Any, overrides: dict[str, str] | None = None) -> TableProfile:
    """Profile records in one pass; `overrides` reads columns as "text" or "number"."""
    limit = int(np.clip(_SKETCH_BYTES // (8 * max(records.n_features, 1)), 256, MAX_COUNTED_VALUES))
    return Rows(records, allow_nan=True).total(_profile_chunk, overrides or {}, limit)


def _profile_chunk(chunk: Chunk, overrides: dict[str, str], limit: int) -> TableProfile:
    """The profile of a chunk."""
    cells: ColumnBatch = chunk.X
    columns = {name: _read_column_as(cells, name, overrides.get(name)) for name in cells.names}
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
    present = values[np.isfinite(values)]
    is_integer = bool((present == np.rint(present)).all())
    distinct = DistinctCount.from_values(_mix_bits((present + 0.0).view(np.uint64)), limit)
    missing = int(np.isnan(values).sum())
    n_infinite = len(values) - len(present) - missing
    return NumberProfile(
        len(values), NumberSummary.from_values(present), n_infinite, is_integer, distinct
    )


def _profile_words(column: TextColumn, limit: int) -> WordProfile:
    frequencies = np.bincount(column.codes + 1, minlength=len(column.values) + 1).tolist()
    counts = {v: n for v, n in zip(column.values, frequencies[1:], strict=True) if n}
    n_words = sum(n * len(v.split()) for v, n in counts.items())
    return WordProfile(
        len(column), frequencies[0], n_words, counts, None, limit
    ).without_excess_counts()


def _profile_dates(column: DateColumn, limit: int) -> DateProfile:
    present = column.values[~np.isnat(column.values)]
    micros = present.astype("datetime64[us]").astype(np.int64)
    days = micros / MICROSECONDS_PER_DAY
    years = present.astype("datetime64[Y]").astype(np.int64) + 1970.0
    distinct = DistinctCount.from_values(_mix_bits(micros.view(np.uint64)), limit)
    has_times = bool((micros % int(MICROSECONDS_PER_DAY)).any())
    return DateProfile(
        len(column),
        NumberSummary.from_values(days),
        NumberSummary.from_values(years),
        has_times,
        distinct,
    )


def _merge_counts(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    """Sum of the counts of both parts."""
    merged = dict(a)
    for value, count in b.items():
        merged[value] = merged.get(value, 0) + count
    return merged


def to_numbers(column: Any) -> NumericColumn:
    """Text as numbers; text that is not a number is missing."""
    if isinstance(column, NumericColumn):
        return column
    return NumericColumn(np.array([*map(_parse_number, column.values), np.nan])[column.codes])


def _parse_number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return np.nan


def to_words(column: Any, kind: str) -> TextColumn:
    """A column as text, whatever its type: 3 and 3.0 are "3", booleans "true" and "false"."""
    if isinstance(column, TextColumn):
        return column
    present = ~column.missing()
    values, inverse = np.unique(column.values[present], return_inverse=True)
    codes = np.full(len(column), -1, np.int32)
    codes[present] = inverse
    plain = type(column)(values).plain()
    n_words = [str(v).lower() if kind == "bool" else str(v) for v in _to_bools(plain, kind)]
    return TextColumn(codes, n_words)


def _to_bools(plain: list[Any], kind: str) -> list[Any]:
    return [bool(value) for value in plain] if kind == "bool" else plain
