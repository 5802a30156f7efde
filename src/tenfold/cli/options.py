"""Options that several commands share, shell completion, and how a model is opened."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.cli.errors import DebugMode


def complete_tables(incomplete: str) -> list[str]:
    """Data sets and files that begin with what was typed."""
    from tenfold.datasets.catalog import DATASETS

    names = [name for name in DATASETS if name.startswith(incomplete)]
    return names + _matching_files(incomplete)


def complete_models(incomplete: str) -> list[str]:
    """Files and folders that begin with what was typed: a folder may hold a model."""
    found = _matching_files(incomplete)
    return [place for place in found if place.endswith((".tenfold", os.sep))]


def _matching_files(incomplete: str) -> list[str]:
    folder, begun = os.path.split(incomplete)
    there = sorted(Path(folder or ".").iterdir()) if Path(folder or ".").is_dir() else []
    found = [path for path in there if path.name.startswith(begun)]
    found = [path for path in found if begun or not path.name.startswith(".")]
    return [f"{Path(folder, path.name)}{os.sep if path.is_dir() else ''}" for path in found]


MODEL_FILE = "model.tenfold"


def _set_debug(on: bool) -> bool:
    DebugMode.debug = on
    return on


Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        callback=_set_debug,
        is_eager=True,
        help="On an error, show where it came from.",
    ),
]
Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="The model.tenfold that `tenfold learn` wrote, or its folder.",
        autocompletion=complete_models,
    ),
]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="Sheet of an Excel file.")]
Delimiter = Annotated[
    str | None, typer.Option(metavar="SIGN", help="What separates the cells of a CSV file.")
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Letters of a CSV file, such as latin-1.")
]

Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV file holds names.  [looks at it]",
        show_default=False,
    ),
]


def model_path(where: str) -> Path:
    """The file of a model: the one named, or the one in a folder."""
    path = Path(where)
    return path / MODEL_FILE if path.is_dir() else path


def open_model(where: str) -> Any:
    """The model of a table that a file, or the file in a folder, holds."""
    import tenfold

    path = model_path(where)
    if not path.is_file():
        raise ValueError(
            f"there is no model at {path}{_suggest_file(path)}: `tenfold learn` writes one"
        )
    try:
        model = tenfold.load(path)
    except ValueError as error:
        cure = "it was altered or cut short: make it again with `tenfold learn`"
        raise ValueError(f"{error}; {cure}") from error
    if not hasattr(model, "predict_chunks"):
        kind = type(model).__name__
        raise ValueError(
            f"{path} holds a {kind}, not a model of tables: use tenfold.load in Python"
        )
    return model


def require_columns(model: Any, records: Any, *, with_target: bool = False) -> None:
    """Refuse a table that lacks a column; all that are not there are named."""
    from tenfold.automl.schema import missing_columns

    if with_target:
        records.assert_column(model.target_)
    if problems := missing_columns(model.columns_, records.names):
        raise ValueError(f"{records.shown}: {'; '.join(problems)}")


def _suggest_file(path: Path) -> str:
    """A file beside it that may have been meant."""
    if not path.parent.is_dir():
        return f" (nor a folder {path.parent})"
    there = [file.name for file in path.parent.iterdir()]
    close = get_close_matches(path.name, there, n=1)
    return f" (did you mean {path.with_name(close[0])}?)" if close else ""
