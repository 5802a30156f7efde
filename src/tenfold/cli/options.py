"""Options that several commands share, shell completion, and how a model is opened."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.cli.errors import DebugMode


def complete_tables(incomplete: str) -> list[str]:
    """Names of data sets and paths with this prefix."""
    from tenfold.datasets.catalog import DATASETS

    names = [name for name in DATASETS if name.startswith(incomplete)]
    return names + _matching_files(incomplete)


def complete_models(incomplete: str) -> list[str]:
    """Model files and folders with this prefix; a folder may hold a model."""
    paths = _matching_files(incomplete)
    return [path for path in paths if path.endswith((".tenfold", os.sep))]


def _matching_files(incomplete: str) -> list[str]:
    folder, prefix = os.path.split(incomplete)
    parent = Path(folder or ".")
    paths = sorted(parent.iterdir()) if parent.is_dir() else []
    paths = [path for path in paths if path.name.startswith(prefix)]
    paths = [path for path in paths if prefix or not path.name.startswith(".")]
    return [f"{Path(folder, path.name)}{os.sep if path.is_dir() else ''}" for path in paths]


MODEL_FILE = "model.tenfold"


def _set_debug(on: bool) -> bool:
    DebugMode.debug = on
    return on


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        callback=_set_debug,
        is_eager=True,
        help="Print the traceback of an error.",
    ),
]
Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="The file model.tenfold of `tenfold learn`, or its folder.",
        autocompletion=complete_models,
    ),
]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="Sheet of an Excel file.")]
Delimiter = Annotated[str | None, typer.Option(metavar="CHAR", help="Delimiter of a CSV file.")]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Encoding of a CSV file, such as latin-1.")
]

Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV file is a header.  [detected]",
        show_default=False,
    ),
]


def model_path(name: str) -> Path:
    """The path of a model file: the one given, or the one in a folder."""
    path = Path(name)
    return path / MODEL_FILE if path.is_dir() else path


def open_model(name: str) -> Any:
    """Load the table model of a file, or of the file in a folder."""
    import tenfold

    path = model_path(name)
    if not path.is_file():
        raise ValueError(f"no model at {path}{_suggest_file(path)}: `tenfold learn` writes one")
    try:
        model = tenfold.load(path)
    except ValueError as error:
        cure = "the file is damaged: create it again with `tenfold learn`"
        raise ValueError(f"{error}; {cure}") from error
    if not hasattr(model, "predict_chunks"):
        kind = type(model).__name__
        raise ValueError(f"{path} holds a {kind}, not a table model: use tenfold.load in Python")
    return model


def require_columns(model: Any, records: Any, *, with_target: bool = False) -> None:
    """Raise an error that names all missing columns."""
    from tenfold.automl.schema import missing_columns

    if with_target:
        records.assert_column(model.target_)
    if problems := missing_columns(model.columns_, records.names):
        raise ValueError(f"{records.shown}: {'; '.join(problems)}")


def _suggest_file(path: Path) -> str:
    """The most similar name in the folder."""
    if not path.parent.is_dir():
        return f" (nor a folder {path.parent})"
    names = [file.name for file in path.parent.iterdir()]
    close = get_close_matches(path.name, names, n=1)
    return f" (did you mean {path.with_name(close[0])}?)" if close else ""
