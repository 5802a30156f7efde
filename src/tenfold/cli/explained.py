"""Tables of what explains a model: columns that matter, weights, what a row's cells add."""

from __future__ import annotations

from typing import Any

from tenfold.cli.speaking import printable

MOST_LINES = 20  # that are shown
MOST_OUTPUTS = 6  # columns of weights that fit a screen
BAR = 24  # letters of the longest bar


def drops(importances: list[Any]) -> Any:
    """What is lost without each column."""
    from tenfold.report.numbers import fixed

    most = max((each.drop for each in importances), default=0.0)
    table = _table("column", "loss", "95 % interval", "")
    for each in importances[:MOST_LINES]:
        ends = f"{fixed(each.low)} to {fixed(each.high)}"
        table.add_row(printable(each.column), fixed(each.drop), ends, bar(each.drop, most))
    return _more(table, len(importances))


def sentences(told: Any, row: int, target: str) -> list[str]:
    """What was predicted for a row, and against what its columns are to be seen."""
    from tenfold.report.numbers import shown

    predicted, output = printable(shown(told.predicted)), printable(told.output)
    score, base = shown(told.score), shown(told.base)
    return [
        f"Row {row}: {printable(target)} is predicted as {predicted}.",
        f"The {told.unit} of {output} is {score}, of a typical row {base}. What each column adds:",
    ]


def contributions(found: list[Any]) -> Any:
    """What each column adds to one prediction."""
    from tenfold.report.numbers import shown

    most = max((abs(each.adds) for each in found), default=0.0)
    table = _table("column", "adds", "value", "")
    for each in found[:MOST_LINES]:
        value = printable(shown(each.value))[:30]
        table.add_row(printable(each.column), shown(each.adds), value, bar(each.adds, most))
    return _more(table, len(found))


def weight_table(weights: Any) -> Any:
    """The strongest weights, a column for each output."""
    from tenfold.report.numbers import shown

    values, outputs = weights.values, weights.outputs[:MOST_OUTPUTS]
    one = len(weights.outputs) == 1
    table = _table("column", *(printable(name) for name in outputs), *([""] if one else []))
    for name, row in list(zip(weights.names, values, strict=True))[:MOST_LINES]:
        drawn = [bar(row[0], abs(values).max())] if one else []
        table.add_row(printable(name), *map(shown, row[:MOST_OUTPUTS].tolist()), *drawn)
    return _more(table, len(weights.names))


def _table(first: str, *headings: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    return table


def _more(table: Any, number: int) -> Any:
    if number > MOST_LINES:
        table.add_row(f"... and {number - MOST_LINES:,} more (--json shows all)")
    return table


def bar(value: float, most: float) -> str:
    """The size of a value as a bar, minus signs where it is negative.

    Examples
    --------
    >>> bar(1, 4), bar(-2, 4)
    ('██████', '------------')
    """
    size = round(BAR * abs(value) / most) if most > 0 else 0
    return ("█" if value > 0 else "-") * size
