"""The command `tenfold learn`: from a table to an evaluated model and a report."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from tenfold.cli.console import ClosedOutput, CommandConsole
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
        help="Files, a folder, a glob pattern, - for stdin, or the name of a data set.",
        autocompletion=complete_tables,
        show_default=False,
    ),
]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="TASK", help="regression, two-class, multi-class, clusters or recommendation."
    ),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=KIND",
        help="Set the kind of a column: number, category, text, date, identifier or constant.",
    ),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Ignore a column.")]
Metric = Annotated[
    str | None, typer.Option(metavar="NAME", help="Metric that decides, such as roc_auc.")
]
Folds = Annotated[int, typer.Option(min=2, max=50, metavar="N", help="Folds of cross-validation.")]
TestShare = Annotated[
    float,
    typer.Option(min=0.01, max=0.9, metavar="SHARE", help="Share of rows held out."),
]
Minutes = Annotated[float, typer.Option(min=0.0, metavar="N", help="Time budget of fitting.")]
Models = Annotated[
    str | None, typer.Option(metavar="KEY,KEY", help="Models to try, such as ridge,lasso.")
]
Prefer = Annotated[
    str,
    typer.Option(
        metavar="WHICH", help="simple: the simplest within one standard error of the best; or best."
    ),
]
Yardstick = Annotated[
    bool, typer.Option("--yardstick", help="Also evaluate scikit-learn's boosted trees.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Random seed.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FOLDER", help="Output folder.  [tenfold-NAME]"),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")]
Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]


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
    prefer: Prefer = "simple",
    yardstick: Yardstick = False,
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
    """Compare models on a table and save the best simple one with a report.

    Models are compared by cross-validation; the chosen one is evaluated on rows that were held out.
    Without --target, the rows are clustered; a table of users, items and ratings gets a
    recommender. Writes model.tenfold, metrics.json and report.html.
    Ctrl-C stops the comparison and continues with the finished models; a second Ctrl-C ends the
    command, and --resume continues it later.
    """
    from tenfold.cli.inputs import open_input

    console = CommandConsole(json=json, quiet=quiet)
    reading = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
    table = open_input(data or [], **reading)
    console.log_all([table.summary, *table.records.notes])
    folder = output or Path(f"tenfold-{table.name}")
    settings = dict(
        target=target or (None if task in {"clusters", "recommendation"} else table.target),
        task=task,
        kinds=parse_kinds(kind or []),
        drop=tuple(drop or ()),
        metric=metric,
        folds=folds,
        test_share=test_share,
        minutes=minutes,
        models=[key.strip() for key in models.split(",")] if models else None,
        prefer=prefer,
        yardstick=yardstick,
        seed=seed,
        output=folder,
        resume=resume,
    )
    with output_folder(folder):
        study = _run_study(console, table.records, settings)
    files = _write_files(console, study, folder, report=not no_report)
    report_study(console, study, files)
    if open_report and "report" in files:
        typer.launch(files["report"].resolve().as_uri())


def parse_kinds(pairs: list[str]) -> dict[str, str]:
    """Columns and their kinds, from arguments such as "zip=category".

    Examples
    --------
    >>> parse_kinds(["zip=category", "a=b=text"])
    {'zip': 'category', 'a=b': 'text'}
    """
    kinds = {}
    for pair in pairs:
        name, equals, kind = pair.rpartition("=")
        if not equals:
            raise ValueError(f"--kind {pair!r} has no '=': write COLUMN=KIND, as in zip=category")
        kinds[name] = kind
    return kinds


def _run_study(console: CommandConsole, records: Any, settings: dict[str, Any]) -> Any:
    import tenfold
    from tenfold.cli.progress import make_progress

    try:
        with make_progress(console, settings["folds"], settings["metric"]) as watch:
            return tenfold.learn(records, watch=watch, **settings)
    except KeyboardInterrupt:
        console.log("interrupted: run the same command with --resume to continue")
        raise typer.Exit(EXIT_INTERRUPTED) from None


@contextmanager
def output_folder(folder: Path) -> Iterator[None]:
    """Make the output folder; remove it again if an error leaves nothing worth keeping."""
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
    """Whether --resume can use it: a finished fold, not the header of the checkpoints."""
    return path.is_file() and path.name != "about.npz"


def _write_files(
    console: CommandConsole, study: Any, folder: Path, *, report: bool
) -> dict[str, Path]:
    """Paths of the files of a study; writes the report, or removes that of an earlier model."""
    from tenfold.report.pages import write_report
    from tenfold.report.recommendation_page import write_recommendations

    files = {"model": folder / MODEL_FILE, "metrics": folder / "metrics.json"}
    if not report:
        (folder / _REPORT_FILE).unlink(missing_ok=True)
        return files
    console.log("Writing the report ...")
    try:
        write = write_recommendations if study.task == "recommendation" else write_report
        return files | {"report": write(study, folder / _REPORT_FILE)}
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - the study is finished and saved
        console.log(f"warning: there is no report, as writing it failed ({error})", "yellow")
        return files


def report_study(console: CommandConsole, study: Any, files: dict[str, Path]) -> None:
    """Print the leaderboard and a summary, or all results as JSON."""
    from tenfold.cli.console import make_leaderboard, summarize_study

    paths = {name: str(path) for name, path in files.items()}
    console.print_json(study.metrics() | {"files": paths})
    if isinstance(sys.stdout, ClosedOutput):
        return  # all results are in files
    if study.task == "recommendation":
        console.print("", str(study), "")
    else:
        table = make_leaderboard(study, console.out.width)
        console.print("", table, "", summarize_study(study), "")
    width = max(map(len, files))
    console.print(*(f"{name:<{width}}  {path}" for name, path in files.items()))
    folder = quote(str(files["model"].parent))
    if study.task != "recommendation":
        console.print("", f"Predict new rows:  tenfold predict {folder} new.csv -o predictions.csv")
