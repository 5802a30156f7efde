"""The command `tenfold predict`: a table of any size in, a table of predictions out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.cli.console import CommandConsole
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
_PROGRESS_ROWS = 100_000  # fewer are done before a bar is seen
NewData = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files, a folder, a pattern, - for standard input, or the name of a data set.",
        autocompletion=complete_tables,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="File .csv, .tsv, .jsonl, .parquet or .arrow; - is CSV.",
    ),
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", "-p", help="A column for each class.")
]
Interval = Annotated[
    float | None,
    typer.Option(metavar="LEVEL", help="Ends of an interval that holds this share, such as 0.9."),
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

    With --json and no file, the predictions are JSON lines.
    """
    from tenfold.cli.inputs import open_model_input
    from tenfold.io.writer import find_writer

    voice = CommandConsole(json=json, quiet=quiet)
    if output != STDOUT:
        find_writer(Path(output))  # a format we cannot write is said before the work
    known = open_model(model)
    how = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
    records = open_model_input(voice, known, new, **how)
    kept = records.names if all_columns else [name for name in (keep or "").split(",") if name]
    for name in kept:
        records.assert_column(name)
    parts = known.predict_chunks(records, probabilities=probabilities, level=interval, keep=kept)
    kept_types = {name: records.types[name] for name in kept}
    types = partial(column_types, kept=kept_types, model=known)
    _write_parts(_with_progress(voice, parts, records.n_rows), output, types, as_json=json)
    if output != STDOUT:
        voice.log(f"{records.n_rows:,} predictions are in {output}")
        voice.print_json({"rows": records.n_rows, "output": output})


def _write_parts(
    parts: Iterator[dict[str, list[Any]]],
    output: str,
    types: Callable[[list[str]], dict[str, str]],
    *,
    as_json: bool,
) -> None:
    """Write parts as they come; the first tells the columns."""
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
    """The type of each column of the output: those kept, the prediction, then numbers."""
    prediction = names[len(kept)]
    return dict.fromkeys(names, "number") | kept | {prediction: predicted_type(model)}


def predicted_type(model: Any) -> str:
    """The type of what a model predicts."""
    if model.classes_ is None:
        return "number" if model.task_ == "regression" else "whole"
    types = {bool: "bool", int: "whole", float: "number", str: "text"}
    found = {types[type(label)] for label in model.classes_}
    return found.pop() if len(found) == 1 else "number"


def _with_progress(voice: CommandConsole, parts: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same parts; on a terminal a bar shows how many rows are done."""
    from rich.progress import Progress

    if voice.quiet or not voice.err.is_terminal or rows < _PROGRESS_ROWS:
        yield from parts
        return
    with Progress(console=voice.err, transient=True) as progress:
        task = progress.add_task("predicting", total=rows)
        for part in parts:
            progress.advance(task, len(next(iter(part.values()))))
            yield part
