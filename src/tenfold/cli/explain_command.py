"""The command `tenfold explain`: feature importance, weights, contributions to one row."""

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

_MAX_LINES = 20  # of a table
_MAX_OUTPUTS = 6  # columns of weights that fit a screen
_BAR_WIDTH = 24  # characters of the longest bar


def make_importance_table(importances: list[Any]) -> Any:
    """Permutation importance of each column."""
    from tenfold.report.format import format_fixed

    largest = max((each.drop for each in importances), default=0.0)
    table = _make_table("column", "importance", "95 % interval", "")
    for each in importances[:_MAX_LINES]:
        interval = f"{format_fixed(each.low)} to {format_fixed(each.high)}"
        bar = draw_bar(each.drop, largest)
        table.add_row(sanitize(each.column), format_fixed(each.drop), interval, bar)
    return _add_remainder(table, len(importances))


def describe_row(explanation: Any, row: int, target: str) -> list[str]:
    """The prediction for a row, its score, and that of a typical row."""
    from tenfold.report.format import format_value

    predicted = sanitize(format_value(explanation.predicted))
    score, base = format_value(explanation.score), format_value(explanation.base)
    output = f"The {explanation.unit} of {sanitize(explanation.output)}"
    how = "" if explanation.exact else ", each by itself in the place of a typical value"
    return [
        f"Row {row}: {sanitize(target)} is predicted as {predicted}.",
        f"{output} is {score}, of a typical row {base}. Contributions of the columns{how}:",
    ]


def make_contribution_table(contributions: list[Any]) -> Any:
    """The contribution of each column to one prediction."""
    from tenfold.report.format import format_value

    largest = max((abs(each.adds) for each in contributions), default=0.0)
    table = _make_table("column", "contribution", "value", "")
    for each in contributions[:_MAX_LINES]:
        value = sanitize(format_value(each.value))[:30]
        contribution = format_value(each.adds, scale=largest)
        table.add_row(sanitize(each.column), contribution, value, draw_bar(each.adds, largest))
    return _add_remainder(table, len(contributions))


def make_weight_table(weights: Any) -> Any:
    """The largest weights, a column for each output."""
    from tenfold.report.format import format_value

    values, outputs = weights.values, weights.outputs[:_MAX_OUTPUTS]
    has_bars, largest = len(weights.outputs) == 1, abs(values).max(initial=0.0)
    last = [""] if has_bars else []
    table = _make_table("column", *(sanitize(name) for name in outputs), *last)
    for name, row in list(zip(weights.names, values, strict=True))[:_MAX_LINES]:
        bar = [draw_bar(row[0], largest)] if has_bars else []
        texts = [format_value(weight, scale=largest) for weight in row[:_MAX_OUTPUTS].tolist()]
        table.add_row(sanitize(name), *texts, *bar)
    return _add_remainder(table, len(weights.names))


def _make_table(first: str, *headings: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    return table


def _add_remainder(table: Any, n_lines: int) -> Any:
    if n_lines > _MAX_LINES:
        table.add_row(f"... and {n_lines - _MAX_LINES:,} more (--json shows all)")
    return table


def draw_bar(value: float, largest: float) -> str:
    """The absolute value as a bar, of minus signs if the value is negative.

    Examples
    --------
    >>> draw_bar(1, 4), draw_bar(-2, 4)
    ('██████', '------------')
    """
    size = round(_BAR_WIDTH * abs(value) / largest) if largest > 0 else 0
    return ("█" if value > 0 else "-") * size


Data = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATA",
        help="Rows to explain the model with: with the target, and not used for training.",
        autocompletion=complete_tables,
        show_default=False,
    ),
]
Row = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Explain this row, counted from 0."),
]
Page = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with figures.")
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Random seed of the permutations.")
]


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
    """Explain a model: feature importance, weights, or one prediction.

    With a table, prints the permutation importance of each column; with --row, the contribution of
    each column to one prediction. The weights of a linear model need no table.
    """
    console = CommandConsole(json=json, quiet=quiet)
    table_model = open_model(model)
    if table_model.target_ is None:
        raise ValueError("this model finds clusters: report.html describes them")
    if html is not None and html.is_dir():
        raise ValueError(f"{html} is a folder: name a file for the page, such as why.html")
    if not data and row is not None:
        raise ValueError("--row needs a table: name the file that contains the row")
    if not data:
        explanation = _explain_weights(console, table_model)
    else:
        from tenfold.cli.inputs import open_model_input

        reading = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
        records = open_model_input(console, table_model, data, **reading)
        require_columns(table_model, records)
        if row is None:
            needs_target = html is None
            explanation = _explain_columns(
                console, table_model, records, seed, needs_target=needs_target
            )
        else:
            explanation = _explain_one_row(console, table_model, records, row)
    if html is not None:
        from tenfold.report.explanation_page import write_explanation

        console.log(f"Wrote {write_explanation(table_model, explanation, html)}")


def _explain_columns(
    console: CommandConsole, model: Any, records: Any, seed: int, *, needs_target: bool
) -> Any:
    """Print permutation importance and weights."""
    from tenfold.automl.contributions import linear_weights
    from tenfold.automl.explainer import explain
    from tenfold.automl.result import to_json_types
    from tenfold.report.explanation_page import ModelExplanation
    from tenfold.report.format import format_aligned, metric_title

    result, weights = explain(model, records, seed=seed), linear_weights(model)
    if result.score is None and needs_target:
        raise ValueError(
            f"{records.shown} has no column {model.target_!r}: importance is measured by the "
            "score, so give rows with a known target, or explain one row with --row"
        )
    columns = [vars(each) for each in result.importances]
    score = {"metric": result.metric, "score": result.score, "rows": result.n_rows}
    console.print_json(
        to_json_types(score | {"importances": columns, "weights": weights_to_dict(weights)})
    )
    if result.score is not None:
        console.print(
            f"{metric_title(result.metric)} is {format_aligned(result.metric, result.score)} on "
            f"{result.n_rows:,} rows. Its decrease when a column is permuted:",
            "",
        )
        console.print(make_importance_table(result.importances))
    if weights is not None:
        console.print("", *_WEIGHTS_HEADING)
        console.print(make_weight_table(weights))
    return ModelExplanation(records.shown, result)


def _explain_one_row(console: CommandConsole, model: Any, records: Any, row: int) -> Any:
    from tenfold.automl.contributions import explain_row
    from tenfold.automl.result import to_json_types
    from tenfold.report.explanation_page import ModelExplanation

    if row >= records.n_rows:
        raise ValueError(f"{records.shown} has {records.n_rows:,} rows: there is no row {row}")
    result = explain_row(model, records.pick([row]))
    contributions = [each._asdict() for each in result.contributions]
    console.print_json(to_json_types(result._asdict() | {"contributions": contributions}))
    console.print(*describe_row(result, row, str(model.target_)), "")
    console.print(make_contribution_table(result.contributions))
    return ModelExplanation(records.shown, row=(row, result))


_WEIGHTS_HEADING = ("Weights, the largest first; of numbers, per standard deviation:", "")


def _explain_weights(console: CommandConsole, model: Any) -> Any:
    from tenfold.automl.contributions import linear_weights
    from tenfold.automl.result import to_json_types
    from tenfold.report.explanation_page import ModelExplanation

    weights = linear_weights(model)
    if weights is None:
        raise ValueError(
            f"{model.title_} has no weights: give rows with a known target to measure "
            "feature importance"
        )
    console.print_json(to_json_types({"weights": weights_to_dict(weights)}))
    console.print(*_WEIGHTS_HEADING)
    console.print(make_weight_table(weights))
    return ModelExplanation(weights=weights)


def weights_to_dict(weights: Any) -> dict[str, Any] | None:
    """Weights in JSON types, the largest first: a value for each output."""
    if weights is None:
        return None
    return {"names": weights.names, "outputs": weights.outputs, "values": weights.values}
