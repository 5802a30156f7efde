"""The command `tenfold evaluate`: a model on rows whose truth is known."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tenfold.cli.console import CommandConsole, make_score_table
from tenfold.cli.options import (
    Debug,
    Delimiter,
    Encoding,
    Header,
    Json,
    Model,
    Quiet,
    Sheet,
    open_model,
    require_columns,
)
from tenfold.cli.predict_command import NewData

Metric = Annotated[
    str | None, typer.Option(metavar="NAME", help="The first score, such as roc_auc or r2.")
]


def evaluate(
    model: Model,
    data: NewData,
    metric: Metric = None,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    header: Header = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Score a model on rows whose target is known.

    Rows that it has learned from would flatter it.
    """
    from tenfold.automl.result import to_json_types
    from tenfold.automl.task_scores import evaluate_predictions, make_scoring
    from tenfold.cli.inputs import open_model_input

    voice = CommandConsole(json=json, quiet=quiet)
    known = open_model(model)
    how = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
    records = open_model_input(voice, known, data, **how)
    y, said = target_and_predictions(voice, known, records)
    scoring = make_scoring(known.task_, y, known.classes_ and len(known.classes_), metric)
    found = evaluate_predictions(y, said, scoring, seed=0)
    voice.print_json(
        to_json_types({"rows": len(y), "scores": found.scores, "intervals": found.intervals})
    )
    voice.print(f"{known.title_} on {len(y):,} rows of {records.shown}", "")
    voice.print(make_score_table(found.scores, found.intervals))


def target_and_predictions(voice: CommandConsole, model: Any, records: Any) -> tuple[Any, Any]:
    """Truth (values, or class numbers) and predictions of the rows that have a known truth."""
    import numpy as np

    from tenfold.automl.explanation import target_values
    from tenfold.automl.schema import ExpectedColumn, conform_cells
    from tenfold.automl.target import iterate_cells

    if model.target_ is None:
        raise ValueError("this model finds groups, for which there is no truth to compare with")
    require_columns(model, records, with_target=True)
    wanted = {model.target_: ExpectedColumn(_target_type(model), "target", [])}
    truths, parts, first = [], [], 0
    for cells in iterate_cells(records):
        target = conform_cells(cells, wanted, records, first, model.styles)[model.target_]
        truths.append(target_values(model, target))
        known = conform_cells(cells, model.columns_, records, first, model.styles)
        parts.append(model.predict_cells(known))
        first += cells.n_rows
    y, said = np.concatenate(truths), np.concatenate(parts)
    there = np.flatnonzero(np.isfinite(y) if model.classes_ is None else y >= 0)
    _log_skipped_rows(voice, model, len(y) - len(there), len(there))
    return y[there], said[there]


def _target_type(model: Any) -> str:
    return "text" if model.classes_ and isinstance(model.classes_[0], str) else "number"


def _log_skipped_rows(voice: CommandConsole, model: Any, gone: int, left: int) -> None:
    what = "no value" if model.classes_ is None else "no label, or one that the model never saw"
    if not left:
        raise ValueError(f"all {gone:,} rows have {what} in {model.target_!r}: nothing to score")
    if gone:
        voice.log(f"{gone:,} rows are left out: they have {what} in {model.target_!r}")
