"""The command `tenfold evaluate`: a model on rows whose truth is known."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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
from tenfold.cli.predicting import New
from tenfold.cli.scores import score_table
from tenfold.cli.speaking import Voice

Metric = Annotated[
    str | None, typer.Option(metavar="NAME", help="The first score, such as roc_auc or r2.")
]


def evaluate(
    model: Model,
    data: New,
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
    from tenfold.cli.tables import new_rows
    from tenfold.study.scoring import scoring_of
    from tenfold.study.verdict import judged
    from tenfold.study.writing import plain

    voice = Voice(json=json, quiet=quiet)
    known = opened_model(model)
    how = {"sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header": header}
    records = new_rows(voice, known, data, **how)
    y, said = truth_and_predictions(voice, known, records)
    scoring = scoring_of(known.task_, y, known.classes_ and len(known.classes_), metric)
    found = judged(y, said, scoring, seed=0)
    voice.give(plain({"rows": len(y), "scores": found.scores, "intervals": found.intervals}))
    voice.show(f"{known.title_} on {len(y):,} rows of {records.shown}", "")
    voice.show(score_table(found.scores, found.intervals))


def truth_and_predictions(voice: Voice, model: Any, records: Any) -> tuple[Any, Any]:
    """Truth (values, or class numbers) and predictions of the rows that have a known truth."""
    import numpy as np

    from tenfold.study.explaining.encoded_rows import truth_of
    from tenfold.study.matching import Expected, conformed
    from tenfold.study.targets import walk

    if model.target_ is None:
        raise ValueError("this model finds groups, for which there is no truth to compare with")
    require_columns(model, records, with_target=True)
    wanted = {model.target_: Expected(_target_type(model), "target", [])}
    truths, parts, first = [], [], 0
    for cells in walk(records):
        target = conformed(cells, wanted, records, first, model.styles)[model.target_]
        truths.append(truth_of(model, target))
        known = conformed(cells, model.columns_, records, first, model.styles)
        parts.append(model.predict_cells(known))
        first += cells.n_rows
    y, said = np.concatenate(truths), np.concatenate(parts)
    there = np.flatnonzero(np.isfinite(y) if model.classes_ is None else y >= 0)
    _say_what_is_left_out(voice, model, len(y) - len(there), len(there))
    return y[there], said[there]


def _target_type(model: Any) -> str:
    return "text" if model.classes_ and isinstance(model.classes_[0], str) else "number"


def _say_what_is_left_out(voice: Voice, model: Any, gone: int, left: int) -> None:
    what = "no value" if model.classes_ is None else "no label, or one that the model never saw"
    if not left:
        raise ValueError(f"all {gone:,} rows have {what} in {model.target_!r}: nothing to score")
    if gone:
        voice.say(f"{gone:,} rows are left out: they have {what} in {model.target_!r}")
