"""The command `tenfold predict`: a table of any size in, a table of predictions out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.cli.completing import complete_tables
from tenfold.cli.options import (
    Debug,
    Delimiter,
    Encoding,
    Header,
    Json,
    Model,
    Quiet,
    Sheet,
    opened_model,
)
from tenfold.cli.speaking import Voice

STDOUT = "-"
SLOW_ROWS = 100_000  # fewer are done before a bar is seen
New = Annotated[
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
    new: New,
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
    from tenfold.cli.tables import new_rows
    from tenfold.rows.files.table_writer import writer_of

    voice = Voice(json=json, quiet=quiet)
    if output != STDOUT:
        writer_of(Path(output))  # a format we cannot write is said before the work
    known = opened_model(model)
    how = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
    records = new_rows(voice, known, new, **how)
    kept = records.names if all_columns else [name for name in (keep or "").split(",") if name]
    for name in kept:
        records.assert_column(name)
    parts = known.predict_chunks(records, probabilities=probabilities, level=interval, keep=kept)
    kept_types = {name: records.types[name] for name in kept}
    types = partial(column_types, kept=kept_types, model=known)
    _write(_watched(voice, parts, records.n_rows), output, types, as_json=json)
    if output != STDOUT:
        voice.say(f"{records.n_rows:,} predictions are in {output}")
        voice.give({"rows": records.n_rows, "output": output})


def _write(
    parts: Iterator[dict[str, list[Any]]],
    output: str,
    types: Callable[[list[str]], dict[str, str]],
    *,
    as_json: bool,
) -> None:
    """Write parts as they come; the first tells the columns."""
    first = next(parts)
    with _writer(output, types(list(first)), as_json=as_json) as write:
        write(first)
        for part in parts:
            write(part)


def _writer(output: str, types: dict[str, str], *, as_json: bool) -> Any:
    from tenfold.rows.files.table_writer import json_rows, table_writer

    if as_json and output == STDOUT:
        return nullcontext(json_rows(sys.stdout, types))
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


def _watched(voice: Voice, parts: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same parts; on a terminal a bar shows how many rows are done."""
    from rich.progress import Progress

    if voice.quiet or not voice.err.is_terminal or rows < SLOW_ROWS:
        yield from parts
        return
    with Progress(console=voice.err, transient=True) as progress:
        task = progress.add_task("predicting", total=rows)
        for part in parts:
            progress.advance(task, len(next(iter(part.values()))))
            yield part
