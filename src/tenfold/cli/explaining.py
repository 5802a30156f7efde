"""The command `tenfold explain`: which columns matter to a model, or why one row came out so."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tenfold.cli.completing import complete_tables
from tenfold.cli.options import (
    Debug,
    Delimiter,
    Encoding,
    Json,
    Model,
    Quiet,
    Sheet,
    opened_model,
    require_columns,
)
from tenfold.cli.speaking import Voice, printable

MOST_LINES = 20  # columns that are shown
BAR = 24  # letters of the longest bar
Data = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATA",
        help="Rows to explain it by, best with the target and not learned from.",
        autocompletion=complete_tables,
        show_default=False,
    ),
]
Row = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Explain this row, counted from 0.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Of the shuffles.")]


def explain(
    model: Model,
    data: Data = None,
    row: Row = None,
    seed: Seed = 0,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say which columns matter, or why one row came out so.

    With a table: by how much the score falls when a column is shuffled; with --row, what each
    column adds to one prediction. Without a table: the weights of a linear model.
    """
    voice = Voice(json=json, quiet=quiet)
    known = opened_model(model)
    if not data:
        if row is not None:
            raise ValueError("--row needs a table: name the file that holds the row")
        return _weights(voice, known)
    from tenfold.cli.tables import opened_table

    records = opened_table(data, sheet=sheet, delimiter=delimiter, encoding=encoding).records
    require_columns(known, records)
    if row is not None:
        return _one_row(voice, known, records, row)
    return _importance(voice, known, records, seed)


def _importance(voice: Voice, model: Any, records: Any, seed: int) -> None:
    from tenfold.report.scores import lined_up, title_of
    from tenfold.study.explaining import explain
    from tenfold.study.writing import plain

    found = explain(model, records, seed=seed)
    if found.score is None:
        raise ValueError(
            f"{records.shown} has no column {model.target_!r}: what matters is measured by the "
            "score, so give rows whose truth is known, or one row with --row"
        )
    columns = [vars(each) for each in found.importances]
    score = {"metric": found.metric, "score": found.score, "rows": found.n_rows}
    voice.give(plain(score | {"importances": columns}))
    title = title_of(found.metric)
    voice.show(
        f"{title} is {lined_up(found.metric, found.score)} on {found.n_rows:,} rows. "
        "By how much it gets worse when a column is shuffled:",
        "",
    )
    voice.show(_drops(found.importances))


def _drops(importances: list[Any]) -> Any:
    from tenfold.report.numbers import fixed

    most = max((each.drop for each in importances), default=0.0)
    table = _table("column", "loss", "95 % interval", "")
    for each in importances[:MOST_LINES]:
        ends = f"{fixed(each.low)} to {fixed(each.high)}"
        table.add_row(printable(each.column), fixed(each.drop), ends, bar(each.drop, most))
    return _more(table, len(importances))


def _one_row(voice: Voice, model: Any, records: Any, row: int) -> None:
    from tenfold.report.numbers import shown
    from tenfold.study.explaining import explain_row
    from tenfold.study.writing import plain

    if row >= records.n_rows:
        raise ValueError(f"{records.shown} has {records.n_rows:,} rows: there is no row {row}")
    told = explain_row(model, records.pick([row]))
    parts = [each._asdict() for each in told.contributions]
    voice.give(plain(told._asdict() | {"contributions": parts}))
    predicted, output = printable(shown(told.predicted)), printable(told.output)
    voice.show(
        f"Row {row}: {model.target_} is predicted as {predicted}.",
        f"The {told.unit} of {output} is {shown(told.score)}, of a typical row {shown(told.base)}. "
        "What each column adds:",
        "",
    )
    voice.show(_contributions(told.contributions))


def _contributions(found: list[Any]) -> Any:
    from tenfold.report.numbers import shown

    most = max((abs(each.adds) for each in found), default=0.0)
    table = _table("column", "adds", "value", "")
    for each in found[:MOST_LINES]:
        value = printable(shown(each.value))[:30]
        table.add_row(printable(each.column), shown(each.adds), value, bar(each.adds, most))
    return _more(table, len(found))


def _weights(voice: Voice, model: Any) -> None:
    from tenfold.study.explaining.encoded_rows import outputs_of
    from tenfold.study.explaining.weights import linear_parts
    from tenfold.study.writing import plain

    parts = linear_parts(model)
    if parts is None:
        raise ValueError(
            f"{model.title_} has no weights to show: name rows whose truth is known, and what "
            "matters is measured on them"
        )
    names = [str(name) for name in model.encoder_.get_feature_names_out()]
    outputs = outputs_of(model)
    voice.give(plain({"names": names, "outputs": outputs, "weights": parts[0]}))
    voice.show("Weights, per standard deviation of a number or for a category:", "")
    voice.show(_weight_table(names, outputs, parts[0]))


def _weight_table(names: list[str], outputs: list[str], weights: Any) -> Any:
    """The strongest weights, a column for each output."""
    from tenfold.report.numbers import shown

    order = abs(weights).max(axis=1).argsort()[::-1]
    one = len(outputs) == 1
    table = _table("column", *(printable(name) for name in outputs), *([""] if one else []))
    for at in order[:MOST_LINES]:
        drawn = [bar(weights[at, 0], abs(weights).max())] if one else []
        table.add_row(printable(names[at]), *map(shown, weights[at].tolist()), *drawn)
    return _more(table, len(names))


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
