"""The command `tenfold predict`: predictions for a table of any size."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.cli.console import CommandConsole, require_stdout
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
)

STDOUT = "-"
_PROGRESS_ROWS = 100_000  # fewer are predicted before a progress bar is seen
NewData = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files, a folder, a glob pattern, - for stdin, or the name of a data set.",
        autocompletion=complete_tables,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Output file: .csv, .tsv, .jsonl, .parquet or .arrow; - prints CSV.",
    ),
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", "-p", help="Add the probability of each class.")
]
Interval = Annotated[
    float | None,
    typer.Option(metavar="LEVEL", help="Add prediction intervals of this level, such as 0.9."),
]
Keep = Annotated[
    str | None, typer.Option(metavar="COLUMN,COLUMN", help="Copy these columns to the output.")
]
All = Annotated[bool, typer.Option("--all", help="Copy all columns to the output.")]


def predict(
    model: Model,
    new: NewData,
    output: Output = STDOUT,
    probabilities: Probabilities = False,
    interval: Interval = None,
    keep: Keep = None,
    all_columns: All = False,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    header: Header = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the rows of a table of any size.

    With --json and without --output, prints JSON lines.
    """
    from tenfold.cli.inputs import open_model_input
    from tenfold.io.writer import find_writer

    console = CommandConsole(json=json, quiet=quiet)
    if output == STDOUT:
        require_stdout()
    else:
        find_writer(Path(output))  # fail early for an unknown format
    table_model = open_model(model)
    reading = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
    records = open_model_input(console, table_model, new, **reading)
    kept = records.names if all_columns else [name for name in (keep or "").split(",") if name]
    for name in kept:
        records.assert_column(name)
    parts = table_model.predict_chunks(
        records, probabilities=probabilities, level=interval, keep=kept
    )
    kept_types = {name: records.types[name] for name in kept}
    types = partial(column_types, kept=kept_types, model=table_model)
    _write_parts(_with_progress(console, parts, records.n_rows), output, types, as_json=json)
    if output != STDOUT:
        console.log(f"Wrote {records.n_rows:,} predictions to {output}")
        console.print_json({"rows": records.n_rows, "output": output})


def _write_parts(
    parts: Iterator[dict[str, list[Any]]],
    output: str,
    types: Callable[[list[str]], dict[str, str]],
    *,
    as_json: bool,
) -> None:
    """Write parts as they are predicted; the first one determines the columns."""
    first = next(parts)
    with _open_writer(output, types(list(first)), as_json=as_json) as write:
        write(first)
        for part in parts:
            write(part)


def _open_writer(output: str, types: dict[str, str], *, as_json: bool) -> Any:
    from tenfold.io.writer import json_row_writer, table_writer

    if as_json and output == STDOUT:
        return nullcontext(json_row_writer(sys.stdout, types))
    return table_writer(output, types)


def column_types(names: list[str], kept: dict[str, str], model: Any) -> dict[str, str]:
    """Type of each output column: copied columns, the prediction, then numbers."""
    prediction = names[len(kept)]
    return dict.fromkeys(names, "number") | kept | {prediction: predicted_type(model)}


def predicted_type(model: Any) -> str:
    """Type of the predictions of a model."""
    if model.classes_ is None:
        return "number" if model.task_ == "regression" else "whole"
    types = {bool: "bool", int: "whole", float: "number", str: "text"}
    label_types = {types[type(label)] for label in model.classes_}
    return label_types.pop() if len(label_types) == 1 else "number"


def _with_progress(console: CommandConsole, parts: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same parts, with a progress bar if stderr is a terminal."""
    from rich.progress import Progress

    if console.quiet or not console.err.is_terminal or rows < _PROGRESS_ROWS:
        yield from parts
        return
    with Progress(console=console.err, transient=True) as progress:
        task = progress.add_task("predicting", total=rows)
        for part in parts:
            progress.advance(task, len(next(iter(part.values()))))
            yield part
