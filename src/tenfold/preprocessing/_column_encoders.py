"""Encoders of single columns: what each one makes of a column, and how it is learned from a profile."""

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
from tenfold.preprocessing.text.tokens import bag_of_words, encode_documents, tokenize

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SparseEntries = tuple[np.ndarray, np.ndarray, np.ndarray]


def no_entries() -> SparseEntries:
    """No single entries."""
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)


class ValueScaling(NamedTuple):
    """(x - centre) / scale; what is missing becomes `fill`."""

    centre: float
    scale: float
    fill: float

    def of(self, values: np.ndarray) -> np.ndarray:
        """The scaled values."""
        made = (values - self.centre) / self.scale
        return np.where(np.isnan(made), self.fill, made)


class NumberEncoder(NamedTuple):
    """A number, and whether it was missing."""

    name: str
    scaled: ValueScaling
    flag: bool
    lenient: bool  # words count as missing
    takes = "number"

    @property
    def names(self) -> list[str]:
        return [self.name, f"{self.name} missing"][: 1 + self.flag]

    def vectors(self, column: Any) -> list[np.ndarray]:
        return [self.scaled.of(column.values), column.missing()][: 1 + self.flag]

    def marks(self, _: Any) -> SparseEntries:
        return no_entries()


class CategoryEncoder(NamedTuple):
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

    def marks(self, column: Any) -> SparseEntries:
        count = len(self.levels) - self.first
        places = {level: j - self.first for j, level in enumerate(self.levels)}
        other = count if self.other else -1
        gone = count + self.other if self.missing else -1
        table = [places.get(value, other) for value in column.values]
        at = np.array([*table, gone], np.int64)[column.codes]
        rows = np.flatnonzero(at >= 0)
        return rows, at[rows], np.ones(len(rows))


class HashEncoder(NamedTuple):
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

    def marks(self, column: Any) -> SparseEntries:
        table = [_hash_bucket(value, self.buckets) for value in column.values]
        at = np.array([*table, self.buckets if self.missing else -1], np.int64)[column.codes]
        rows = np.flatnonzero(at >= 0)
        return rows, at[rows], np.ones(len(rows))


def _hash_bucket(value: str, buckets: int) -> int:
    """The bucket of a text."""
    return zlib.crc32(value.encode("utf-8", "surrogatepass")) % buckets


class TextEncoder(NamedTuple):
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

    def marks(self, column: Any) -> SparseEntries:
        known = _WordColumns((word.encode(), j) for j, word in enumerate(self.words))
        found = bag_of_words(
            *encode_documents(column.values, known.__getitem__, lowercase=True),
            len(self.words),
            np.float64,
        )
        found.data *= self.weights[found.indices]
        lengths = np.sqrt(np.add.reduceat(np.append(found.data**2, 0.0), found.indptr[:-1]))
        lengths[np.diff(found.indptr) == 0] = 1.0
        found.data /= np.repeat(lengths, np.diff(found.indptr))
        there = np.flatnonzero(column.codes >= 0)
        rows = found[column.codes[there]].tocoo()
        return there[rows.coords[0]], rows.coords[1], rows.data


class _WordColumns(dict):
    """word -> column, and -1 for a word that is no column."""

    def __missing__(self, word: bytes) -> int:
        return -1


class DateEncoder(NamedTuple):
    """Days since the earliest, year, season, weekday, and the time of day if there are any."""

    name: str
    days: ValueScaling
    years: ValueScaling | None
    hours: bool
    flag: bool
    takes = "date"

    @property
    def names(self) -> list[str]:
        own = [
            "days",
            *(["year"] if self.years else []),
            "season sine",
            "season cosine",
            *_WEEKDAYS,
        ]
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
        exact = np.where(there, when.astype(np.int64) / MICROSECONDS_PER_DAY, np.nan)
        made = [self.days.of(exact)]
        if self.years:
            made.append(self.years.of(np.where(there, number, np.nan)))
        made += [there * wave for wave in _sine_and_cosine(phase)]
        made += [there & (weekday == day) for day in range(7)]
        if self.hours:
            made += [
                there * wave for wave in _sine_and_cosine((when - days) / np.timedelta64(1, "D"))
            ]
        return made + [~there] * self.flag

    def marks(self, _: Any) -> SparseEntries:
        return no_entries()


def _sine_and_cosine(phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A circle for what comes again: 23:59 is near 0:00."""
    return np.sin(2 * np.pi * phase), np.cos(2 * np.pi * phase)


ColumnEncoder = NumberEncoder | CategoryEncoder | HashEncoder | TextEncoder | DateEncoder

_MAX_WORDS_WHILE_COUNTING = (
    500_000  # kept while counting; then those that were met once are forgotten
)


class EncoderOptions(NamedTuple):
    """The parameters of the encoder."""

    max_categories: int
    min_count: int
    hash_columns: int
    max_words: int
    standardise: bool
    flag_missing: bool
    drop_first: bool


def make_column_encoder(
    name: str,
    kind: str,
    one: Any,
    wishes: EncoderOptions,
    words: DocumentFrequencies | None,
    *,
    lenient: bool,
) -> ColumnEncoder | None:
    """The part for a column, or None if it makes no columns."""
    if kind in {"identifier", "constant"}:
        return None
    if kind == "text":
        return None if words is None else _make_text_encoder(name, words, wishes)
    if isinstance(one, WordProfile):
        return _make_category_encoder(name, one, wishes)
    if isinstance(one, DateProfile):
        return _make_date_encoder(name, one, wishes)
    return _make_number_encoder(name, one, wishes, lenient=lenient)


def check_finite(records: Any, found: TableProfile, kinds: dict[str, Any]) -> None:
    """Raise an error that names the place of the first infinity in a column of numbers."""
    bad = [n for n, k in kinds.items() if k.kind == "number" and found.columns[n].infinite]
    if not bad:
        return
    for chunk in records.select(bad[:1]).chunks(chunk_numbers(records.n_rows, records.grid)):
        infinite = np.isinf(to_numbers(chunk.X[bad[0]]).values)
        if infinite.any():
            place = records.where(chunk.first + int(np.argmax(infinite)))
            raise infinity_error(place, bad[0])


def infinity_error(place: str, name: str) -> TableError:
    """The error about an infinity."""
    return TableError(
        f"{place}, column {name!r}: infinity is no value to learn from. Correct it, or leave it "
        "empty."
    )


def _make_number_encoder(
    name: str, one: NumberProfile, wishes: EncoderOptions, *, lenient: bool
) -> NumberEncoder:
    """Missing values become the mean."""
    flag = wishes.flag_missing and one.missing > 0
    return NumberEncoder(name, _make_scaling(one.spread, wishes), flag, lenient)


def _make_scaling(spread: NumberSummary, wishes: EncoderOptions) -> ValueScaling:
    """Mean zero and deviation one, or as it is."""
    if not wishes.standardise:
        return ValueScaling(0.0, 1.0, spread.mean)
    size = max(abs(spread.low), abs(spread.high), 1e-300)
    varies = spread.deviation > 1e-12 * size
    return ValueScaling(spread.mean, spread.deviation if varies else 1.0, 0.0)


def _make_category_encoder(
    name: str, one: WordProfile, wishes: EncoderOptions
) -> CategoryEncoder | HashEncoder:
    """One indicator per level; if the frequent ones are not half of all, buckets."""
    missing = wishes.flag_missing and one.missing > 0
    there = one.rows - one.missing
    kept = [] if one.counts is None else _frequent_levels(one.counts, wishes)
    covered = sum((one.counts or {})[level] for level in kept)
    if 2 * covered < there and one.different.number > wishes.max_categories:
        buckets = int(min(wishes.hash_columns, one.different.number))
        return HashEncoder(name, buckets, missing)
    other = covered < there
    first = int(wishes.drop_first and len(kept) + other + missing > 1)
    return CategoryEncoder(name, sorted(kept), first, other, missing)


def _frequent_levels(counts: dict[str, int], wishes: EncoderOptions) -> list[str]:
    """Levels with an indicator of their own; one place is left for the others if there are any."""
    often = [level for level, count in counts.items() if count >= wishes.min_count]
    often.sort(key=lambda level: (-counts[level], level))
    if len(often) == len(counts) <= wishes.max_categories:
        return often
    return often[: wishes.max_categories - 1]


def _make_date_encoder(name: str, one: DateProfile, wishes: EncoderOptions) -> DateEncoder:
    """Days are counted from the earliest, unless they are standardised anyway."""
    days = _make_scaling(one.days, wishes)
    if not wishes.standardise:
        days = ValueScaling(one.days.low, 1.0, one.days.mean - one.days.low)
    years = _make_scaling(one.years, wishes) if one.years.low < one.years.high else None
    return DateEncoder(name, days, years, one.hours, wishes.flag_missing and one.missing > 0)


def _make_text_encoder(
    name: str, words: DocumentFrequencies, wishes: EncoderOptions
) -> TextEncoder | None:
    """The words that the most rows have; those of a single row only if there are few rows."""
    least = 2 if words.documents >= 50 else 1
    found = [word for word, n in words.within.items() if n >= least and len(word.decode()) > 1]
    found.sort(key=lambda word: (-words.within[word], word))
    chosen = sorted(found[: wishes.max_words])
    within = np.array([words.within[word] for word in chosen], float)
    weights = np.log((1 + words.documents) / (1 + within)) + 1
    return TextEncoder(name, [word.decode() for word in chosen], weights) if chosen else None


class DocumentFrequencies(NamedTuple):
    """In how many rows each word occurs."""

    documents: int
    within: dict[bytes, int]

    def merge(self, other: DocumentFrequencies) -> DocumentFrequencies:
        both = dict(self.within)
        for word, count in other.within.items():
            both[word] = both.get(word, 0) + count
        if len(both) > _MAX_WORDS_WHILE_COUNTING:
            both = {word: count for word, count in both.items() if count > 1}
        return DocumentFrequencies(self.documents + other.documents, both)


class ColumnDocumentFrequencies(NamedTuple):
    """Of all columns of text."""

    columns: dict[str, DocumentFrequencies]
    narrow = True

    def merge(self, other: ColumnDocumentFrequencies) -> ColumnDocumentFrequencies:
        return ColumnDocumentFrequencies(
            {n: one.merge(other.columns[n]) for n, one in self.columns.items()}
        )


def count_document_frequencies(records: Any, names: list[str]) -> dict[str, DocumentFrequencies]:
    """One pass over the columns of text, if there are any."""
    if not names:
        return {}
    return Rows(records.select(names), allow_nan=True).total(_count_chunk_documents, names).columns


def _count_chunk_documents(chunk: Chunk, names: list[str]) -> ColumnDocumentFrequencies:
    """The words of a chunk."""
    cells = chunk.X
    return ColumnDocumentFrequencies(
        {n: _count_column_documents(to_words(cells[n], cells.types[n])) for n in names}
    )


def _count_column_documents(column: Any) -> DocumentFrequencies:
    """The words of a column."""
    times = np.bincount(column.codes + 1, minlength=len(column.values) + 1)[1:].tolist()
    within: dict[bytes, int] = {}
    for value, count in zip(column.values, times, strict=True):
        for word in set(tokenize(value)):
            within[word] = within.get(word, 0) + count
    return DocumentFrequencies(sum(times), within)
