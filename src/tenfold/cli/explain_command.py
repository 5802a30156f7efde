"""The command `tenfold explain`: which columns matter to a model, or what each adds to one row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.cli.console import CommandConsole, sanitize
from tenfold.cli.options import (
    Debug,
    Delimiter,
    Encoding,
    Header,
    Json,
    Model,
    Quiet,
    Sheet,
    complete_tables,
    open_model,
    require_columns,
)

_MAX_LINES = 20  # that are shown
_MAX_OUTPUTS = 6  # columns of weights that fit a screen
_BAR_WIDTH = 24  # letters of the longest bar


def make_importance_table(importances: list[Any]) -> Any:
    """What is lost without each column."""
    from tenfold.report.format import format_fixed

    most = max((each.drop for each in importances), default=0.0)
    table = _make_table("column", "loss", "95 % interval", "")
    for each in importances[:_MAX_LINES]:
        ends = f"{format_fixed(each.low)} to {format_fixed(each.high)}"
        table.add_row(
            sanitize(each.column), format_fixed(each.drop), ends, draw_bar(each.drop, most)
        )
    return _add_remainder(table, len(importances))


def describe_row(told: Any, row: int, target: str) -> list[str]:
    """What was predicted for a row, and against what its columns are to be seen."""
    from tenfold.report.format import format_value

    predicted, output = sanitize(format_value(told.predicted)), sanitize(told.output)
    score, base = format_value(told.score), format_value(told.base)
    return [
        f"Row {row}: {sanitize(target)} is predicted as {predicted}.",
        f"The {told.unit} of {output} is {score}, of a typical row {base}. What each column adds:",
    ]


def make_contribution_table(found: list[Any]) -> Any:
    """What each column adds to one prediction."""
    from tenfold.report.format import format_value

    most = max((abs(each.adds) for each in found), default=0.0)
    table = _make_table("column", "adds", "value", "")
    for each in found[:_MAX_LINES]:
        value = sanitize(format_value(each.value))[:30]
        table.add_row(
            sanitize(each.column), format_value(each.adds), value, draw_bar(each.adds, most)
        )
    return _add_remainder(table, len(found))


def make_weight_table(weights: Any) -> Any:
    """The strongest weights, a column for each output."""
    from tenfold.report.format import format_value

    values, outputs = weights.values, weights.outputs[:_MAX_OUTPUTS]
    one = len(weights.outputs) == 1
    table = _make_table("column", *(sanitize(name) for name in outputs), *([""] if one else []))
    for name, row in list(zip(weights.names, values, strict=True))[:_MAX_LINES]:
        drawn = [draw_bar(row[0], abs(values).max())] if one else []
        table.add_row(sanitize(name), *map(format_value, row[:_MAX_OUTPUTS].tolist()), *drawn)
    return _add_remainder(table, len(weights.names))


def _make_table(first: str, *headings: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    return table


def _add_remainder(table: Any, number: int) -> Any:
    if number > _MAX_LINES:
        table.add_row(f"... and {number - _MAX_LINES:,} more (--json shows all)")
    return table


def draw_bar(value: float, most: float) -> str:
    """The size of a value as a bar, minus signs where it is negative.

    Examples
    --------
    >>> draw_bar(1, 4), draw_bar(-2, 4)
    ('██████', '------------')
    """
    size = round(_BAR_WIDTH * abs(value) / most) if most > 0 else 0
    return ("█" if value > 0 else "-") * size


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
Page = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a page with figures, too.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Of the shuffles.")]


def explain(
    model: Model,
    data: Data = None,
    row: Row = None,
    html: Page = None,
    seed: Seed = 0,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    header: Header = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say which columns matter, or why one row came out so.

    With a table: by how much the score falls when a column is shuffled; with --row, what each
    column adds to one prediction. The weights of a model that has them need no table.
    """
    voice = CommandConsole(json=json, quiet=quiet)
    known = open_model(model)
    if known.target_ is None:
        raise ValueError("this model finds groups: report.html tells what sets them apart")
    if html is not None and html.is_dir():
        raise ValueError(f"{html} is a folder: name a file for the page, such as why.html")
    if not data and row is not None:
        raise ValueError("--row needs a table: name the file that holds the row")
    if not data:
        told = _explain_weights(voice, known)
    else:
        from tenfold.cli.inputs import open_model_input

        how = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
        records = open_model_input(voice, known, data, **how)
        require_columns(known, records)
        told = (
            _explain_columns(voice, known, records, seed, blind=html is not None)
            if row is None
            else _explain_one_row(voice, known, records, row)
        )
    if html is not None:
        from tenfold.report.explanation_page import write_explanation

        voice.log(f"The page is {write_explanation(known, told, html)}")


def _explain_columns(
    voice: CommandConsole, model: Any, records: Any, seed: int, *, blind: bool
) -> Any:
    """Show what shuffling does, and the weights; `blind`: rows without a truth will do."""
    from tenfold.automl.contributions import linear_weights
    from tenfold.automl.explainer import explain
    from tenfold.automl.result import to_json_types
    from tenfold.report.explanation_page import ModelExplanation
    from tenfold.report.format import format_aligned, metric_title

    found, weights = explain(model, records, seed=seed), linear_weights(model)
    if found.score is None and not blind:
        raise ValueError(
            f"{records.shown} has no column {model.target_!r}: what matters is measured by the "
            "score, so give rows whose truth is known, or one row with --row"
        )
    columns = [vars(each) for each in found.importances]
    score = {"metric": found.metric, "score": found.score, "rows": found.n_rows}
    voice.print_json(
        to_json_types(score | {"importances": columns, "weights": weights_to_dict(weights)})
    )
    if found.score is not None:
        voice.print(
            f"{metric_title(found.metric)} is {format_aligned(found.metric, found.score)} on "
            f"{found.n_rows:,} rows. By how much it gets worse when a column is shuffled:",
            "",
        )
        voice.print(make_importance_table(found.importances))
    if weights is not None:
        voice.print("", *_WEIGHTS_HEADING)
        voice.print(make_weight_table(weights))
    return ModelExplanation(records.shown, found)


def _explain_one_row(voice: CommandConsole, model: Any, records: Any, row: int) -> Any:
    from tenfold.automl.contributions import explain_row
    from tenfold.automl.result import to_json_types
    from tenfold.report.explanation_page import ModelExplanation

    if row >= records.n_rows:
        raise ValueError(f"{records.shown} has {records.n_rows:,} rows: there is no row {row}")
    told = explain_row(model, records.pick([row]))
    parts = [each._asdict() for each in told.contributions]
    voice.print_json(to_json_types(told._asdict() | {"contributions": parts}))
    voice.print(*describe_row(told, row, str(model.target_)), "")
    voice.print(make_contribution_table(told.contributions))
    return ModelExplanation(records.shown, row=(row, told))


_WEIGHTS_HEADING = ("Weights, the largest first; those of numbers per standard deviation:", "")


def _explain_weights(voice: CommandConsole, model: Any) -> Any:
    from tenfold.automl.contributions import linear_weights
    from tenfold.automl.result import to_json_types
    from tenfold.report.explanation_page import ModelExplanation

    weights = linear_weights(model)
    if weights is None:
        raise ValueError(
            f"{model.title_} has no weights to show: name rows whose truth is known, and what "
            "matters is measured on them"
        )
    voice.print_json(to_json_types({"weights": weights_to_dict(weights)}))
    voice.print(*_WEIGHTS_HEADING)
    voice.print(make_weight_table(weights))
    return ModelExplanation(weights=weights)


def weights_to_dict(weights: Any) -> dict[str, Any] | None:
    """Weights for machines, the strongest first: a value for each output."""
    if weights is None:
        return None
    return {"names": weights.names, "outputs": weights.outputs, "values": weights.values}
