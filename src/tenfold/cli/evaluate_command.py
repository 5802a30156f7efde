"""The command `tenfold evaluate`: scores of a model on rows with a known target."""

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
    str | None, typer.Option(metavar="NAME", help="First metric, such as roc_auc or r2.")
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
    """Score a model on rows with a known target.

    Scores on rows that it was trained on are too optimistic.
    """
    from tenfold.automl.result import to_json_types
    from tenfold.automl.task_scores import evaluate_predictions, make_scoring
    from tenfold.cli.inputs import open_model_input

    console = CommandConsole(json=json, quiet=quiet)
    table_model = open_model(model)
    reading = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
    records = open_model_input(console, table_model, data, **reading)
    y, predictions = target_and_predictions(console, table_model, records)
    n_classes = table_model.classes_ and len(table_model.classes_)
    scoring = make_scoring(table_model.task_, y, n_classes, metric)
    result = evaluate_predictions(y, predictions, scoring, seed=0)
    document = {"rows": len(y), "scores": result.scores, "intervals": result.intervals}
    console.print_json(to_json_types(document))
    console.print(f"{table_model.title_} on {len(y):,} rows of {records.shown}", "")
    console.print(make_score_table(result.scores, result.intervals))


def target_and_predictions(console: CommandConsole, model: Any, records: Any) -> tuple[Any, Any]:
    """Target (values, or class indices) and predictions of the rows with a known target."""
    import numpy as np

    from tenfold.automl.explanation import target_values
    from tenfold.automl.schema import ExpectedColumn, conform_cells
    from tenfold.automl.target import iterate_cells

    if model.target_ is None:
        raise ValueError("this model finds clusters: it has no target to compare with")
    require_columns(model, records, with_target=True)
    target_column = {model.target_: ExpectedColumn(_target_type(model), "target", [])}
    targets, predictions, first = [], [], 0
    for cells in iterate_cells(records):
        target = conform_cells(cells, target_column, records, first, model.styles)[model.target_]
        targets.append(target_values(model, target))
        inputs = conform_cells(cells, model.columns_, records, first, model.styles)
        predictions.append(model.predict_cells(inputs))
        first += cells.n_rows
    y, predicted = np.concatenate(targets), np.concatenate(predictions)
    rows = np.flatnonzero(np.isfinite(y) if model.classes_ is None else y >= 0)
    _log_skipped_rows(console, model, len(y) - len(rows), len(rows))
    return y[rows], predicted[rows]


def _target_type(model: Any) -> str:
    return "text" if model.classes_ and isinstance(model.classes_[0], str) else "number"


def _log_skipped_rows(console: CommandConsole, model: Any, n_skipped: int, n_used: int) -> None:
    is_regression = model.classes_ is None
    reason = "no value" if is_regression else "no label, or one unknown to the model,"
    if not n_used:
        raise ValueError(
            f"all {n_skipped:,} rows have {reason} in {model.target_!r}: nothing to score"
        )
    if n_skipped:
        console.log(f"Skipped {n_skipped:,} rows with {reason} in {model.target_!r}")
