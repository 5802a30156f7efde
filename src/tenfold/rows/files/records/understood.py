"""What columns of text hold, decided over all rows.

A column is read as the first of `READINGS` under which every value makes sense. A value that does
not, however far down, makes the column fall to the next reading, and the rows are read once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tenfold.rows.files.records.computing import compute
from tenfold.rows.files.records.errors import TableError
from tenfold.rows.files.records.number_styles import ANY_STYLE, Style, first_marked
from tenfold.rows.files.records.readings import (
    DATE,
    DECIMAL_COMMA,
    IS_NUMBER,
    NUMBER,
    READINGS,
    STYLED,
    TEXT,
)
from tenfold.rows.files.records.store import InFile, InMemory, Store

NAMES = {number: name for name, number in STYLED.items()}
HEAD = 64  # values that are tried first


class Odd(NamedTuple):
    """Values of a column that are no numbers: how many of how many, and the first."""

    found: int = 0
    of: int = 0
    row: int = -1
    value: str = ""
    counting: bool = True

    def seen(self, column: Any, first: int) -> Odd:
        """With those of a further batch; a column of words is given up."""
        pc = compute()
        odd = pc.invert(pc.match_substring_regex(column, f"{IS_NUMBER}|{ANY_STYLE}")).fill_null(
            False
        )
        here, values = int(pc.sum(odd).as_py() or 0), len(column) - column.null_count
        if 2 * here > values:
            return self._replace(counting=False)
        row, value = self.row, self.value
        if here and not self.found:
            place = pc.index(odd, value=True).as_py()
            row, value = first + place, column[place].as_py()
        return Odd(self.found + here, self.of + values, row, value)

    @property
    def few(self) -> bool:
        """Whether the column would be one of numbers but for less than one in a hundred."""
        return self.counting and 0 < 100 * self.found < self.of


class Understood:
    """What the columns of a text table are, as far as they were read.

    Parameters
    ----------
    names : the columns
    known : dict, name -> type of columns that have one; of these, text may still be dates
    styles : dict, name -> name of the style of its numbers, for columns that must have this one

    Attributes
    ----------
    at : dict, name -> number of the reading that has made sense so far
    marked : dict, name -> style of its numbers, and the first cell that shows it
    seen : names of the columns that had a value
    changed : whether a value forced another reading on rows that were stored before
    """

    def __init__(
        self,
        names: list[str],
        known: dict[str, str] | None = None,
        styles: dict[str, str] | None = None,
    ) -> None:
        self.names = names
        self.asked = {name: STYLED[style] for name, style in (styles or {}).items()}
        known = known or {}
        self.known = {name: kind for name, kind in known.items() if kind != "text"}
        self.loose = [name for name in names if name not in known]
        start = {name: DATE if name in known else NUMBER for name in names}
        self.at = start | {name: at for name, at in self.asked.items() if name in self.loose}
        self.agreed = False
        self.instead: dict[str, int] = {}  # readings of columns on trial for another
        self.begin()

    def begin(self) -> None:
        """Start to read from the first row."""
        self.seen: set[str] = set()
        self.marked: dict[str, tuple[Style, str]] = {}
        self.odd = dict.fromkeys(self.loose, Odd())
        self.numbers: dict[str, int] = dict.fromkeys(self.loose, 0)
        self.changed, self.rows = False, 0

    @property
    def types(self) -> dict[str, str]:
        """Type of each column; one without values counts as numbers."""
        seen = {n: READINGS[self.at[n]].type if n in self.seen else "number" for n in self.names}
        return seen | self.known

    @property
    def styles(self) -> dict[str, str]:
        """How the numbers of each column are written; nothing if all are plain."""
        if not self.marked:
            return {}
        at = {name: self.at[name] for name in self.loose if self.types[name] == "number"}
        return {name: NAMES[number] for name, number in at.items() if number in NAMES}

    def mixed(self, line: Callable[[int], int]) -> dict[str, tuple[int, str, int]]:
        """Columns of numbers but for a few values: line and text of the first, and how many."""
        types = self.types
        few = {n: o for n, o in self.odd.items() if types[n] == "text" and o.few}
        return {name: (line(odd.row), odd.value, odd.found) for name, odd in few.items()}

    def read(self, batch: Any) -> Any:
        """A batch of strings as a batch of numbers, dates and strings."""
        import pyarrow as pa

        columns = [self._column(name, batch.column(j)) for j, name in enumerate(self.names)]
        self.rows += batch.num_rows
        return pa.RecordBatch.from_arrays(columns, names=self.names)

    def _column(self, name: str, column: Any) -> Any:
        import pyarrow as pa

        if name in self.known:
            return column
        before = self.at[name]
        if column.null_count == len(column):
            parsed = _empty(len(column), READINGS[before].type)
        else:
            self.at[name], parsed = _understood(column, self._readings(name))
            self._count_odd(name, column)
            self._mark(name, column)
            stored = name in self.seen or _physical(self.at[name]) != _physical(before)
            self.changed |= self.rows > 0 and self.at[name] != before and stored
            self.seen.add(name)
        return parsed.combine_chunks() if isinstance(parsed, pa.ChunkedArray) else parsed

    def _readings(self, name: str) -> Iterable[int]:
        """Readings that may still make sense, in their order."""
        at = self.at[name]
        if name in self.asked:
            return (at, TEXT)
        if name in self.instead and at == DECIMAL_COMMA:
            return (at, self.instead[name])
        return range(at, len(READINGS))

    def _mark(self, name: str, column: Any) -> None:
        style = READINGS[self.at[name]].style
        if style is None:
            self.marked.pop(name, None)
        elif name not in self.marked and (cell := first_marked(column, style)) is not None:
            self.marked[name] = style, cell

    def agree(self) -> bool:
        """Try decimal commas on all columns of numbers, once, if one has them for certain."""
        if self.agreed or DECIMAL_COMMA not in [self.at[name] for name in self.loose]:
            return False
        self.agreed = True
        self.instead = {
            name: self.at[name]
            for name in self.loose
            if self.at[name] < DECIMAL_COMMA and name in self.seen and name not in self.asked
        }
        self.at |= dict.fromkeys(self.instead, DECIMAL_COMMA)
        return bool(self.instead)

    def _count_odd(self, name: str, column: Any) -> None:
        if name not in self.odd:
            return
        if self.at[name] <= DECIMAL_COMMA:
            self.numbers[name] += len(column) - column.null_count
            return
        odd = self.odd[name]
        if odd.counting:
            if not odd.of:  # all so far were numbers
                odd = odd._replace(of=self.numbers[name])
            self.odd[name] = odd.seen(column, self.rows)


def _understood(column: Any, readings: Iterable[int]) -> tuple[int, Any]:
    """The first reading that makes sense; of most others a few values tell that they do not."""
    import pyarrow as pa

    head = column.slice(0, HEAD).drop_null()
    for number in readings:
        try:
            READINGS[number].parse(head)
            return number, READINGS[number].parse(column)
        except (ValueError, pa.ArrowException):
            continue
    raise AssertionError("text can always be read as text")


def _physical(number: int) -> str:
    return {"bool": "number"}.get(READINGS[number].type, READINGS[number].type)


def _empty(rows: int, kind: str) -> Any:
    import pyarrow as pa

    arrow = {"text": pa.string(), "date": pa.timestamp("us")}.get(kind, pa.float64())
    return pa.nulls(rows, arrow)


def settle(
    understood: Understood, batches: Callable[[], Iterable[Any]], shown: str
) -> InMemory | InFile:
    """Read batches of strings until every column is understood, at most a few times."""
    while True:
        understood.begin()
        store = Store(len(understood.names))
        for batch in batches():
            parsed = understood.read(batch)
            if not understood.changed:
                store.put(parsed)
        if not understood.rows:
            raise TableError(f"{shown} has column names but no rows. Give at least one row.")
        if not understood.changed and not understood.agree():
            return store.done(understood.types)
