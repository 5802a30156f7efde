"""From what a pass says about the columns to the parts of the encoder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.maths.tokens import words_of
from tenfold.rows import Chunk, Rows
from tenfold.rows.chunk import spans
from tenfold.rows.files.records import TableError
from tenfold.tables.parts import (
    CategoryPart,
    DatePart,
    HashPart,
    NumberPart,
    Part,
    Scaled,
    TextPart,
)
from tenfold.tables.profile import (
    DateProfile,
    NumberProfile,
    Profile,
    Spread,
    WordProfile,
    as_numbers,
    worded,
)

MOST_WORDS = 500_000  # kept while counting; then those that were met once are forgotten


class Wishes(NamedTuple):
    """The parameters of the encoder."""

    max_categories: int
    min_count: int
    hash_columns: int
    max_words: int
    standardise: bool
    flag_missing: bool
    drop_first: bool


def part_of(
    name: str, kind: str, one: Any, wishes: Wishes, words: WordTally | None, *, lenient: bool
) -> Part | None:
    """The part for a column, or None if it makes no columns."""
    if kind in {"identifier", "constant"}:
        return None
    if kind == "text":
        return None if words is None else text_part(name, words, wishes)
    if isinstance(one, WordProfile):
        return category_part(name, one, wishes)
    if isinstance(one, DateProfile):
        return date_part(name, one, wishes)
    return number_part(name, one, wishes, lenient=lenient)


def assert_finite(records: Any, found: Profile, kinds: dict[str, Any]) -> None:
    """Raise an error that names the place of the first infinity in a column of numbers."""
    bad = [n for n, k in kinds.items() if k.kind == "number" and found.columns[n].infinite]
    if not bad:
        return
    for chunk in records.select(bad[:1]).chunks(spans(records.n_rows, records.grid)):
        infinite = np.isinf(as_numbers(chunk.X[bad[0]]).values)
        if infinite.any():
            place = records.where(chunk.first + int(np.argmax(infinite)))
            raise no_infinity(place, bad[0])


def no_infinity(place: str, name: str) -> TableError:
    """The error about an infinity."""
    return TableError(
        f"{place}, column {name!r}: infinity is no value to learn from. Correct it, or leave it "
        "empty."
    )


def number_part(name: str, one: NumberProfile, wishes: Wishes, *, lenient: bool) -> NumberPart:
    """Missing values become the mean."""
    flag = wishes.flag_missing and one.missing > 0
    return NumberPart(name, scaled(one.spread, wishes), flag, lenient)


def scaled(spread: Spread, wishes: Wishes) -> Scaled:
    """Mean zero and deviation one, or as it is."""
    if not wishes.standardise:
        return Scaled(0.0, 1.0, spread.mean)
    size = max(abs(spread.low), abs(spread.high), 1e-300)
    varies = spread.deviation > 1e-12 * size
    return Scaled(spread.mean, spread.deviation if varies else 1.0, 0.0)


def category_part(name: str, one: WordProfile, wishes: Wishes) -> CategoryPart | HashPart:
    """One indicator per level; if the frequent ones are not half of all, buckets."""
    missing = wishes.flag_missing and one.missing > 0
    there = one.rows - one.missing
    kept = [] if one.counts is None else frequent(one.counts, wishes)
    covered = sum((one.counts or {})[level] for level in kept)
    if 2 * covered < there and one.different.number > wishes.max_categories:
        buckets = int(min(wishes.hash_columns, one.different.number))
        return HashPart(name, buckets, missing)
    other = covered < there
    first = int(wishes.drop_first and len(kept) + other + missing > 1)
    return CategoryPart(name, sorted(kept), first, other, missing)


def frequent(counts: dict[str, int], wishes: Wishes) -> list[str]:
    """Levels with an indicator of their own; one place is left for the others if there are any."""
    often = [level for level, count in counts.items() if count >= wishes.min_count]
    often.sort(key=lambda level: (-counts[level], level))
    if len(often) == len(counts) <= wishes.max_categories:
        return often
    return often[: wishes.max_categories - 1]


def date_part(name: str, one: DateProfile, wishes: Wishes) -> DatePart:
    """Days are counted from the earliest, unless they are standardised anyway."""
    days = scaled(one.days, wishes)
    if not wishes.standardise:
        days = Scaled(one.days.low, 1.0, one.days.mean - one.days.low)
    years = scaled(one.years, wishes) if one.years.low < one.years.high else None
    return DatePart(name, days, years, one.hours, wishes.flag_missing and one.missing > 0)


def text_part(name: str, words: WordTally, wishes: Wishes) -> TextPart | None:
    """The words that the most rows have; those of a single row only if there are few rows."""
    least = 2 if words.documents >= 50 else 1
    found = [word for word, n in words.within.items() if n >= least and len(word.decode()) > 1]
    found.sort(key=lambda word: (-words.within[word], word))
    chosen = sorted(found[: wishes.max_words])
    within = np.array([words.within[word] for word in chosen], float)
    weights = np.log((1 + words.documents) / (1 + within)) + 1
    return TextPart(name, [word.decode() for word in chosen], weights) if chosen else None


class WordTally(NamedTuple):
    """In how many rows each word occurs."""

    documents: int
    within: dict[bytes, int]

    def merge(self, other: WordTally) -> WordTally:
        both = dict(self.within)
        for word, count in other.within.items():
            both[word] = both.get(word, 0) + count
        if len(both) > MOST_WORDS:
            both = {word: count for word, count in both.items() if count > 1}
        return WordTally(self.documents + other.documents, both)


class WordTallies(NamedTuple):
    """Of all columns of text."""

    columns: dict[str, WordTally]
    narrow = True

    def merge(self, other: WordTallies) -> WordTallies:
        return WordTallies({n: one.merge(other.columns[n]) for n, one in self.columns.items()})


def word_tallies(records: Any, names: list[str]) -> dict[str, WordTally]:
    """One pass over the columns of text, if there are any."""
    if not names:
        return {}
    return Rows(records.select(names), allow_nan=True).total(tallies_of, names).columns


def tallies_of(chunk: Chunk, names: list[str]) -> WordTallies:
    """The words of a chunk."""
    cells = chunk.X
    return WordTallies({n: tally_of(worded(cells[n], cells.types[n])) for n in names})


def tally_of(column: Any) -> WordTally:
    """The words of a column."""
    times = np.bincount(column.codes + 1, minlength=len(column.values) + 1)[1:].tolist()
    within: dict[bytes, int] = {}
    for value, count in zip(column.values, times, strict=True):
        for word in set(words_of(value)):
            within[word] = within.get(word, 0) + count
    return WordTally(sum(times), within)
