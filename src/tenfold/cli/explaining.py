"""The command `tenfold explain`: which columns matter to a model, or why one row came out so."""

from __future__ import annotations

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
    require_columns,
)
from tenfold.cli.speaking import Voice

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
    voice = Voice(json=json, quiet=quiet)
    known = opened_model(model)
    if known.target_ is None:
        raise ValueError("this model finds groups: report.html tells what sets them apart")
    if html is not None and html.is_dir():
        raise ValueError(f"{html} is a folder: name a file for the page, such as why.html")
    if not data and row is not None:
        raise ValueError("--row needs a table: name the file that holds the row")
    if not data:
        told = _weights(voice, known)
    else:
        from tenfold.cli.tables import new_rows

        how = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
        records = new_rows(voice, known, data, **how)
        require_columns(known, records)
        told = (
            _importance(voice, known, records, seed, blind=html is not None)
            if row is None
            else _one_row(voice, known, records, row)
        )
    if html is not None:
        from tenfold.report import write_explained

        voice.say(f"The page is {write_explained(known, told, html)}")


def _importance(voice: Voice, model: Any, records: Any, seed: int, *, blind: bool) -> Any:
    """Show what shuffling does, and the weights; `blind`: rows without a truth will do."""
    from tenfold.cli.explained import drops, weight_table
    from tenfold.report import Told
    from tenfold.report.scores import lined_up, title_of
    from tenfold.study.explaining import explain, weights_of
    from tenfold.study.writing import plain

    found, weights = explain(model, records, seed=seed), weights_of(model)
    if found.score is None and not blind:
        raise ValueError(
            f"{records.shown} has no column {model.target_!r}: what matters is measured by the "
            "score, so give rows whose truth is known, or one row with --row"
        )
    columns = [vars(each) for each in found.importances]
    score = {"metric": found.metric, "score": found.score, "rows": found.n_rows}
    voice.give(plain(score | {"importances": columns, "weights": as_document(weights)}))
    if found.score is not None:
        voice.show(
            f"{title_of(found.metric)} is {lined_up(found.metric, found.score)} on "
            f"{found.n_rows:,} rows. By how much it gets worse when a column is shuffled:",
            "",
        )
        voice.show(drops(found.importances))
    if weights is not None:
        voice.show("", *WEIGHTS_ARE)
        voice.show(weight_table(weights))
    return Told(records.shown, found)


def _one_row(voice: Voice, model: Any, records: Any, row: int) -> Any:
    from tenfold.cli.explained import contributions, sentences
    from tenfold.report import Told
    from tenfold.study.explaining import explain_row
    from tenfold.study.writing import plain

    if row >= records.n_rows:
        raise ValueError(f"{records.shown} has {records.n_rows:,} rows: there is no row {row}")
    told = explain_row(model, records.pick([row]))
    parts = [each._asdict() for each in told.contributions]
    voice.give(plain(told._asdict() | {"contributions": parts}))
    voice.show(*sentences(told, row, str(model.target_)), "")
    voice.show(contributions(told.contributions))
    return Told(records.shown, row=(row, told))


WEIGHTS_ARE = ("Weights, the largest first; those of numbers per standard deviation:", "")


def _weights(voice: Voice, model: Any) -> Any:
    from tenfold.cli.explained import weight_table
    from tenfold.report import Told
    from tenfold.study.explaining import weights_of
    from tenfold.study.writing import plain

    weights = weights_of(model)
    if weights is None:
        raise ValueError(
            f"{model.title_} has no weights to show: name rows whose truth is known, and what "
            "matters is measured on them"
        )
    voice.give(plain({"weights": as_document(weights)}))
    voice.show(*WEIGHTS_ARE)
    voice.show(weight_table(weights))
    return Told(weights=weights)


def as_document(weights: Any) -> dict[str, Any] | None:
    """Weights for machines, the strongest first: a value for each output."""
    if weights is None:
        return None
    return {"names": weights.names, "outputs": weights.outputs, "values": weights.values}
