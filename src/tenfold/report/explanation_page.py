"""The page of `tenfold explain --html`: what a model depends on, without a study."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.automl.contributions import RowExplanation
from tenfold.automl.explanation import Explanation, LinearWeights
from tenfold.report.figures import Figure, signed_bars
from tenfold.report.format import (
    format_count,
    format_rounded,
    format_score,
    format_value,
    join_names,
    metric_title,
)
from tenfold.report.pages import Section, render_page, write_page
from tenfold.report.summary import Emphasis, source_name

_MAX_CONTRIBUTIONS = 20


class ModelExplanation(NamedTuple):
    """What is known of a model.

    Attributes
    ----------
    table : description of the rows that it was explained with; None without rows
    explanation : importance, partial dependence and errors on these rows
    weights : of a linear model, where there are no rows
    row : number of a row, and the contributions of its columns
    """

    table: str | None = None
    explanation: Explanation | None = None
    weights: LinearWeights | None = None
    row: tuple[int, RowExplanation] | None = None


def write_explanation(
    model: Any, explained: ModelExplanation, path: str | os.PathLike[str]
) -> Path:
    """Write the page that explains a model; it is replaced only when the new one is complete.

    Parameters
    ----------
    model : TableModel
        From `tenfold.learn`.
    explained : ModelExplanation
        What is known of it.
    path : path
        Of the page.

    Returns
    -------
    Path
        Path of the page.
    """
    return write_page(path, render_explanation(model, explained))


def render_explanation(model: Any, explained: ModelExplanation) -> str:
    """The page that explains a model as HTML.

    Parameters
    ----------
    model : TableModel
        From `tenfold.learn`.
    explained : ModelExplanation
        What is known of it.

    Returns
    -------
    str
        One page without references to other files.
    """
    explanation = explained.explanation
    has_errors = explanation is not None and bool(explanation.mistakes)
    sections = [
        (explained.row is not None, Section("row", "Contributions", "row")),
        (explanation is not None, Section("importance", "Feature importance", "importance")),
        (explained.weights is not None, Section("weights", "Weights", "weights")),
        (has_errors, Section("errors", "Worst errors", "errors")),
        (True, Section("model", "Model", "model")),
    ]
    return render_page(
        "explanation.html.j2",
        f"{model.target_} explained",
        [section for is_shown, section in sections if is_shown],
        source=None if explained.table is None else source_name(explained.table),
        explained=explained,
        explanation=explanation,
        headline=_headline(model, explained),
        lead=_lead(model, explained),
        row_figure=None if explained.row is None else _row_figure(*explained.row),
        facts=_facts(model),
        scores={
            metric_title(name): format_score(name, score)
            for name, score in model.scores_.get("test", {}).items()
        },
    )


def _headline(model: Any, explained: ModelExplanation) -> Emphasis:
    if explained.row is not None:
        number, row = explained.row
        return Emphasis(f"Row {number}: {model.target_} is ", format_value(row.predicted), ".")
    names = _top_columns(explained)
    if not names:
        return Emphasis("What determines ", str(model.target_), "?")
    verb = "determines" if len(names) == 1 else "determine"
    return Emphasis("", join_names(names, most=3), f" {verb} {model.target_} most.")


def _top_columns(explained: ModelExplanation) -> list[str]:
    if explained.explanation is not None:
        return [each.column for each in explained.explanation.importances[:3] if each.low > 0]
    return [] if explained.weights is None else explained.weights.names[:3]


def _lead(model: Any, explained: ModelExplanation) -> str:
    sentence = f"{model.title_} predicts {model.target_}."
    explanation = explained.explanation
    if explanation is None or explanation.score is None:
        return sentence
    score = format_score(explanation.metric, explanation.score)
    return (
        f"{sentence} {metric_title(explanation.metric)} is {score} on "
        f"{format_count(explanation.n_rows)} rows of this table."
    )


def _row_figure(number: int, row: RowExplanation) -> Figure:
    contributions = row.contributions[:_MAX_CONTRIBUTIONS]
    bars = signed_bars([(f"{c.column} = {format_value(c.value)}", c.adds) for c in contributions])
    caption = (
        f"The {row.unit} of {row.output} is {format_rounded(row.score)}, of a typical row "
        f"{format_rounded(row.base)}. A bar is the contribution of a column."
    )
    return Figure(f"Contributions to row {number}", caption, bars=bars)


def _facts(model: Any) -> dict[str, str]:
    return {
        "Model": model.title_,
        "Target": str(model.target_),
        "Task": model.task_,
        "Columns": format_count(len(model.columns_)),
        "Created": model.created_[:10],
    }
