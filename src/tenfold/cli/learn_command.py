"""The command `tenfold learn`: from a table to a judged model and a page that explains it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from tenfold.cli.console import CommandConsole
from tenfold.cli.errors import EXIT_INTERRUPTED
from tenfold.cli.options import (
    MODEL_FILE,
    Debug,
    Delimiter,
    Encoding,
    Header,
    Json,
    Quiet,
    Sheet,
    complete_tables,
)

_REPORT_FILE = "report.html"
Data = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATA",
        help="Files, a folder, a pattern, - for standard input, or the name of a data set.",
        autocompletion=complete_tables,
        show_default=False,
    ),
]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
]
Task = Annotated[
    str | None,
    typer.Option(metavar="TASK", help="regression, two-class, multi-class or clusters."),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=KIND",
        help="Take a column for a number, category, text, date, identifier or constant.",
    ),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out.")]
Metric = Annotated[
    str | None, typer.Option(metavar="NAME", help="The deciding score, such as roc_auc.")
]
Folds = Annotated[int, typer.Option(min=2, max=50, metavar="N", help="Of the cross-validation.")]
TestShare = Annotated[
    float,
    typer.Option(min=0.01, max=0.9, metavar="SHARE", help="Rows that are sealed for the test."),
]
Minutes = Annotated[float, typer.Option(min=0.0, metavar="N", help="Time for trying models.")]
Models = Annotated[
    str | None, typer.Option(metavar="KEY,KEY", help="Try these alone, such as ridge,lasso.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Of everything that is drawn.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.  [tenfold-NAME]"),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an earlier run was stopped.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.html.")]
Open = Annotated[bool, typer.Option("--open", help="Show the report in the browser.")]


def learn(
    data: Data = None,
    target: Target = None,
    task: Task = None,
    kind: Kind = None,
    drop: Drop = None,
    metric: Metric = None,
    folds: Folds = 5,
    test_share: TestShare = 0.2,
    minutes: Minutes = 2.0,
    models: Models = None,
    seed: Seed = 0,
    output: Output = None,
    resume: Resume = False,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    header: Header = None,
    no_report: NoReport = False,
    open_report: Open = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Try models on a table, keep the simplest good one, explain it.

    Every model is judged on rows that it has not seen, the chosen one once more on a part that was
    sealed. Without --target, groups of rows are looked for. Writes model.tenfold, metrics.json and
    report.html. Ctrl-C stops trying and goes on with what is done; twice, it ends, and --resume
    goes on later.
    """
    from tenfold.cli.inputs import open_table

    voice = CommandConsole(json=json, quiet=quiet)
    how = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
    table = open_table(data or [], **how)
    voice.log_all([table.said, *table.records.notes])
    folder = output or Path(f"tenfold-{table.name}")
    settings = dict(
        target=target or (None if task == "clusters" else table.target),
        task=task,
        kinds=parse_kinds(kind or []),
        drop=tuple(drop or ()),
        metric=metric,
        folds=folds,
        test_share=test_share,
        minutes=minutes,
        models=[key.strip() for key in models.split(",")] if models else None,
        seed=seed,
        output=folder,
        resume=resume,
    )
    with output_folder(folder):
        study = _run_study(voice, table.records, settings)
    files = _write_files(voice, study, folder, report=not no_report)
    report_study(voice, study, files)
    if open_report and "report" in files:
        typer.launch(files["report"].resolve().as_uri())


def parse_kinds(given: list[str]) -> dict[str, str]:
    """Columns and their kinds, from words such as "zip=category".

    Examples
    --------
    >>> parse_kinds(["zip=category", "a=b=text"])
    {'zip': 'category', 'a=b': 'text'}
    """
    found = {}
    for word in given:
        name, equals, kind = word.rpartition("=")
        if not equals:
            raise ValueError(f"--kind {word!r} has no '=': write COLUMN=KIND, as in zip=category")
        found[name] = kind
    return found


def _run_study(voice: CommandConsole, records: Any, settings: dict[str, Any]) -> Any:
    import tenfold
    from tenfold.cli.progress import make_progress

    try:
        with make_progress(voice, settings["folds"], settings["metric"]) as watch:
            return tenfold.learn(records, watch=watch, **settings)
    except KeyboardInterrupt:
        voice.log("interrupted: the same command with --resume goes on where this one was")
        raise typer.Exit(EXIT_INTERRUPTED) from None


@contextmanager
def output_folder(folder: Path) -> Iterator[None]:
    """A folder to write into; taken away again if it was made for nothing."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder with --output")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new and not any(map(_is_worth_keeping, folder.rglob("*"))):
            shutil.rmtree(folder)
        raise


def _is_worth_keeping(path: Path) -> bool:
    """Whether a later run could go on with it: a finished fold, not the head of the journal."""
    return path.is_file() and path.name != "about.npz"


def _write_files(
    voice: CommandConsole, study: Any, folder: Path, *, report: bool
) -> dict[str, Path]:
    """The files of a study; a report is written if it is wanted: an old one is of another model."""
    from tenfold.report.pages import write_report

    files = {"model": folder / MODEL_FILE, "metrics": folder / "metrics.json"}
    if not report:
        (folder / _REPORT_FILE).unlink(missing_ok=True)
        return files
    voice.log("Writing the report ...")
    return files | {"report": write_report(study, folder / _REPORT_FILE)}


def report_study(voice: CommandConsole, study: Any, files: dict[str, Path]) -> None:
    """Show a person the leaderboard and the verdict; give a machine all figures."""
    from tenfold.cli.console import make_leaderboard, summarize_study

    voice.print_json(study.metrics() | {"files": {name: str(path) for name, path in files.items()}})
    voice.print("", make_leaderboard(study, voice.out.width), "", summarize_study(study), "")
    width = max(map(len, files))
    voice.print(*(f"{name:<{width}}  {path}" for name, path in files.items()))
    folder = quote(str(files["model"].parent))
    voice.print("", f"Use it on new rows:  tenfold predict {folder} new.csv -o predictions.csv")
