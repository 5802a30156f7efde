"""Encoders of single columns, and how they are learned from a column's profile.

An encoder has `names`, the columns that it makes. `dense_columns` returns whole columns,
`sparse_entries` single entries (row, column, value), both counted from its first column.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk, chunk_numbers
from tenfold.engine.rows import Rows
from tenfold.io.columnar import TableError
from tenfold.preprocessing.column_profile import (
    MICROSECONDS_PER_DAY,
    DateProfile,
    NumberProfile,
    NumberSummary,
    TableProfile,
    WordProfile,
    to_numbers,
    to_words,
)
from tenfold.preprocessing.text._vocabulary import TermLookup
from tenfold.preprocessing.text.tokens import bag_of_words, encode_documents, tokenize
from tenfold.preprocessing.text.word_counts import normalize_rows, scale_columns

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SparseEntries = tuple[np.ndarray, np.ndarray, np.ndarray]


def no_entries() -> SparseEntries:
    """No single entries."""
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)


class ValueScaling(NamedTuple):
    """(x - center) / scale; missing values become `fill`."""

    center: float
    scale: float
    fill: float

    def transform(self, values: np.ndarray) -> np.ndarray:
        """The scaled values."""
        scaled = (values - self.center) / self.scale
        return np.where(np.isnan(scaled), self.fill, scaled)


class NumberEncoder(NamedTuple):
    """A number, and an indicator of missing values."""

    name: str
    scaling: ValueScaling
    flag_missing: bool
    lenient: bool  # text counts as missing
    input_type = "number"

    @property
    def names(self) -> list[str]:
        return [self.name, f"{self.name} missing"][: 1 + self.flag_missing]

    def dense_columns(self, column: Any) -> list[np.ndarray]:
        return [self.scaling.transform(column.values), column.missing()][: 1 + self.flag_missing]

    def sparse_entries(self, _: Any) -> SparseEntries:
        return no_entries()


class CategoryEncoder(NamedTuple):
    """One-hot: an indicator for each level, for all others, and for missing if there were any."""

    name: str
    levels: list[str]
    first: int  # levels before this one have no indicator (drop_first)
    other: bool
    missing: bool
    input_type = "text"

    @property
    def names(self) -> list[str]:
        names = [f"{self.name}={level}" for level in self.levels[self.first :]]
        return names + [f"{self.name}=other"] * self.other + [f"{self.name} missing"] * self.missing

    def dense_columns(self, _: Any) -> list[np.ndarray]:
        return []

    def sparse_entries(self, column: Any) -> SparseEntries:
        count = len(self.levels) - self.first
        columns = {level: j - self.first for j, level in enumerate(self.levels)}
        other = count if self.other else -1
        missing = count + self.other if self.missing else -1
        table = [columns.get(value, other) for value in column.values]
        encoded = np.array([*table, missing], np.int64)[column.codes]
        rows = np.flatnonzero(encoded >= 0)
        return rows, encoded[rows], np.ones(len(rows))


class HashEncoder(NamedTuple):
    """Feature hashing of a category with many levels; the last column is for missing values."""

    name: str
    buckets: int
    missing: bool
    input_type = "text"

    @property
    def names(self) -> list[str]:
        names = [f"{self.name}#{bucket}" for bucket in range(self.buckets)]
        return names + [f"{self.name} missing"] * self.missing

    def dense_columns(self, _: Any) -> list[np.ndarray]:
        return []

    def sparse_entries(self, column: Any) -> SparseEntries:
        table = [_hash_bucket(value, self.buckets) for value in column.values]
        encoded = np.array([*table, self.buckets if self.missing else -1], np.int64)[column.codes]
        rows = np.flatnonzero(encoded >= 0)
        return rows, encoded[rows], np.ones(len(rows))


def _hash_bucket(value: str, buckets: int) -> int:
    """Hash bucket of a text."""
    return zlib.crc32(value.encode("utf-8", "surrogatepass")) % buckets


class TextEncoder(NamedTuple):
    """Tf-idf of the words of a text, rows scaled to unit length."""

    name: str
    words: list[str]
    weights: np.ndarray
    input_type = "text"

    @property
    def names(self) -> list[str]:
        return [f"{self.name}: {word}" for word in self.words]

    def dense_columns(self, _: Any) -> list[np.ndarray]:
        return []

    def sparse_entries(self, column: Any) -> SparseEntries:
        columns = TermLookup((word.encode(), j) for j, word in enumerate(self.words))
        numbers, starts = encode_documents(column.values, columns.__getitem__, lowercase=True)
        counts = bag_of_words(numbers, starts, len(self.words), np.float64)
        tfidf = normalize_rows(scale_columns(counts, self.weights), "l2")
        present = np.flatnonzero(column.codes >= 0)
        rows = tfidf[column.codes[present]].tocoo()
        return present[rows.coords[0]], rows.coords[1], rows.data


class DateEncoder(NamedTuple):
    """Days since the earliest, year, season, weekday, and the time of day if there are any."""

    name: str
    days: ValueScaling
    years: ValueScaling | None
    has_times: bool
    flag_missing: bool
    input_type = "date"

    @property
    def names(self) -> list[str]:
        names = [
            "days",
            *(["year"] if self.years else []),
            "season sine",
            "season cosine",
            *_WEEKDAYS,
        ]
        names += ["time sine", "time cosine"] if self.has_times else []
        missing = [f"{self.name} missing"] * self.flag_missing
        return [f"{self.name}: {name}" for name in names] + missing

    def dense_columns(self, column: Any) -> list[np.ndarray]:
        present = ~column.missing()
        dates = np.where(present, column.values, np.datetime64(0, "us"))
        days = dates.astype("datetime64[D]")
        year = days.astype("datetime64[Y]")
        number = year.astype(np.int64) + 1970.0
        year_phase = (days - year).astype(np.int64) / 365.25
        weekday = (days.astype(np.int64) + 3) % 7
        days_since_epoch = np.where(present, dates.astype(np.int64) / MICROSECONDS_PER_DAY, np.nan)
        columns = [self.days.transform(days_since_epoch)]
        if self.years:
            columns.append(self.years.transform(np.where(present, number, np.nan)))
        columns += [present * wave for wave in _sine_and_cosine(year_phase)]
        columns += [present & (weekday == day) for day in range(7)]
        if self.has_times:
            columns += [
                present * wave for wave in _sine_and_cosine((dates - days) / np.timedelta64(1, "D"))
            ]
        return columns + [~present] * self.flag_missing

    def sparse_entries(self, _: Any) -> SparseEntries:
        return no_entries()


def _sine_and_cosine(phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cyclic encoding of a phase in [0, 1): 23:59 is near 0:00."""
    return np.sin(2 * np.pi * phase), np.cos(2 * np.pi * phase)


ColumnEncoder = NumberEncoder | CategoryEncoder | HashEncoder | TextEncoder | DateEncoder

_MAX_WORDS_WHILE_COUNTING = 500_000  # beyond it, words counted once are dropped (bounds memory)


class EncoderOptions(NamedTuple):
    """The parameters of the encoder."""

    max_categories: int
    min_count: int
    hash_columns: int
    max_words: int
    standardize: bool
    flag_missing: bool
    drop_first: bool


def make_column_encoder(
    name: str,
    kind: str,
    profile: Any,
    options: EncoderOptions,
    words: DocumentFrequencies | None,
    *,
    lenient: bool,
) -> ColumnEncoder | None:
    """The encoder of a column, or None if it makes no columns."""
    if kind in {"identifier", "constant"}:
        return None
    if kind == "text":
        return None if words is None else _make_text_encoder(name, words, options)
    if isinstance(profile, WordProfile):
        return _make_category_encoder(name, profile, options)
    if isinstance(profile, DateProfile):
        return _make_date_encoder(name, profile, options)
    return _make_number_encoder(name, profile, options, lenient=lenient)


def check_finite(records: Any, profiles: TableProfile, kinds: dict[str, Any]) -> None:
    """Raise an error that names the place of the first infinity in a column of numbers."""
    numeric = (n for n, k in kinds.items() if k.kind == "number")
    name = next((n for n in numeric if profiles.columns[n].n_infinite), None)
    if name is None:
        return
    for chunk in records.select([name]).chunks(chunk_numbers(records.n_rows, records.grid)):
        infinite = np.isinf(to_numbers(chunk.X[name]).values)
        if infinite.any():
            raise infinity_error(records.where(chunk.first + int(np.argmax(infinite))), name)


def infinity_error(where: str, name: str) -> TableError:
    """The error about an infinity."""
    return TableError(
        f"{where}, column {name!r}: infinite values cannot be used. Correct it, or leave it empty."
    )


def _make_number_encoder(
    name: str, profile: NumberProfile, options: EncoderOptions, *, lenient: bool
) -> NumberEncoder:
    """Missing values become the mean."""
    flag_missing = options.flag_missing and profile.missing > 0
    return NumberEncoder(name, _make_scaling(profile.summary, options), flag_missing, lenient)


def _make_scaling(summary: NumberSummary, options: EncoderOptions) -> ValueScaling:
    """Mean zero and standard deviation one, or unscaled."""
    if not options.standardize:
        return ValueScaling(0.0, 1.0, summary.mean)
    size = max(abs(summary.low), abs(summary.high), 1e-300)
    is_varying = summary.std > 1e-12 * size
    return ValueScaling(summary.mean, summary.std if is_varying else 1.0, 0.0)


def _make_category_encoder(
    name: str, profile: WordProfile, options: EncoderOptions
) -> CategoryEncoder | HashEncoder:
    """One-hot; feature hashing if the frequent levels are less than half of all rows."""
    missing = options.flag_missing and profile.missing > 0
    n_present = profile.rows - profile.missing
    levels = [] if profile.counts is None else _frequent_levels(profile.counts, options)
    n_covered = sum((profile.counts or {})[level] for level in levels)
    if 2 * n_covered < n_present and profile.distinct.estimate > options.max_categories:
        buckets = int(min(options.hash_columns, profile.distinct.estimate))
        return HashEncoder(name, buckets, missing)
    other = n_covered < n_present
    first = int(options.drop_first and len(levels) + other + missing > 1)
    return CategoryEncoder(name, sorted(levels), first, other, missing)


def _frequent_levels(counts: dict[str, int], options: EncoderOptions) -> list[str]:
    """Levels with their own indicator; one is reserved for the others if there are any."""
    levels_by_frequency = [level for level, count in counts.items() if count >= options.min_count]
    levels_by_frequency.sort(key=lambda level: (-counts[level], level))
    if len(levels_by_frequency) == len(counts) <= options.max_categories:
        return levels_by_frequency
    return levels_by_frequency[: options.max_categories - 1]


def _make_date_encoder(name: str, profile: DateProfile, options: EncoderOptions) -> DateEncoder:
    """Days are counted from the earliest, unless they are standardized."""
    days = _make_scaling(profile.days, options)
    if not options.standardize:
        days = ValueScaling(profile.days.low, 1.0, profile.days.mean - profile.days.low)
    years = (
        _make_scaling(profile.years, options) if profile.years.low < profile.years.high else None
    )
    return DateEncoder(
        name, days, years, profile.has_times, options.flag_missing and profile.missing > 0
    )


def _make_text_encoder(
    name: str, words: DocumentFrequencies, options: EncoderOptions
) -> TextEncoder | None:
    """Words of highest document frequency; words of a single row only if rows are few."""
    min_documents = 2 if words.documents >= 50 else 1
    eligible = [
        word for word, n in words.counts.items() if n >= min_documents and len(word.decode()) > 1
    ]
    eligible.sort(key=lambda word: (-words.counts[word], word))
    vocabulary = sorted(eligible[: options.max_words])
    counts = np.array([words.counts[word] for word in vocabulary], float)
    weights = np.log((1 + words.documents) / (1 + counts)) + 1
    return (
        TextEncoder(name, [word.decode() for word in vocabulary], weights) if vocabulary else None
    )


class DocumentFrequencies(NamedTuple):
    """In how many rows each word occurs."""

    documents: int
    counts: dict[bytes, int]

    def merge(self, other: DocumentFrequencies) -> DocumentFrequencies:
        merged = dict(self.counts)
        for word, count in other.counts.items():
            merged[word] = merged.get(word, 0) + count
        if len(merged) > _MAX_WORDS_WHILE_COUNTING:
            merged = {word: count for word, count in merged.items() if count > 1}
        return DocumentFrequencies(self.documents + other.documents, merged)


class ColumnDocumentFrequencies(NamedTuple):
    """Document frequencies of all columns of text."""

    columns: dict[str, DocumentFrequencies]
    narrow = True

    def merge(self, other: ColumnDocumentFrequencies) -> ColumnDocumentFrequencies:
        return ColumnDocumentFrequencies(
            {n: column.merge(other.columns[n]) for n, column in self.columns.items()}
        )


def count_document_frequencies(records: Any, names: list[str]) -> dict[str, DocumentFrequencies]:
    """Count words in one pass over the columns of text, if there are any."""
    if not names:
        return {}
    return Rows(records.select(names), allow_nan=True).total(_count_chunk_documents, names).columns


def _count_chunk_documents(chunk: Chunk, names: list[str]) -> ColumnDocumentFrequencies:
    """Document frequencies of the text columns of a chunk."""
    cells = chunk.X
    return ColumnDocumentFrequencies(
        {n: _count_column_documents(to_words(cells[n], cells.types[n])) for n in names}
    )


def _count_column_documents(column: Any) -> DocumentFrequencies:
    """Document frequencies of a column."""
    frequencies = np.bincount(column.codes + 1, minlength=len(column.values) + 1)[1:].tolist()
    counts: dict[bytes, int] = {}
    for value, count in zip(column.values, frequencies, strict=True):
        for word in set(tokenize(value)):
            counts[word] = counts.get(word, 0) + count
    return DocumentFrequencies(sum(frequencies), counts)
