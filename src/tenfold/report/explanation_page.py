"""The page of `tenfold explain --html`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.automl.contributions import RowExplanation
from tenfold.automl.explanation import Explanation, LinearWeights
from tenfold.engine.atomic import write_atomic
from tenfold.report.feature_effects import (
    ends_of,
    importance_section,
    signed_bar,
    weights_figure,
    worst_errors_section,
)
from tenfold.report.format import (
    format_count,
    format_rounded,
    format_score,
    format_value,
    join_names,
    metric_title,
)
from tenfold.report.pages import pairs, render_page
from tenfold.report.summary import em, place
from tenfold.report.svg import Html, figure, joined, tag

BARS = 20
RAW = (
    "What one standard deviation of a number, or a level of a category, adds to the prediction; "
    "for classes in log-odds, or in the margin of a linear SVM."
)


class ModelExplanation(NamedTuple):
    """What is known of a model.

    Attributes
    ----------
    table : the rows that it was explained by, in words; None without rows
    found : what they said
    weights : of a model that has them, where there are no rows
    row : why one row came out so, and its number
    """

    table: str | None = None
    found: Explanation | None = None
    weights: LinearWeights | None = None
    row: tuple[int, RowExplanation] | None = None


def write_explanation(model: Any, told: ModelExplanation, path: str | os.PathLike[str]) -> Path:
    """Write the page that explains a model; it appears complete or not at all.

    Parameters
    ----------
    model : TableModel
        From `tenfold.learn`.
    told : Told
        What was found out about it.
    path : path
        Of the page.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, render_explanation(model, told))
    return path


def render_explanation(model: Any, told: ModelExplanation) -> str:
    """The page that explains a model as one string of HTML.

    Parameters
    ----------
    model : TableModel
        From `tenfold.learn`.
    told : Told
        What was found out about it.
    """
    found = told.found
    parts = [
        ("row", "Why did this row come out so?", told.row and _row(*told.row)),
        ("columns", "Which columns matter?", found and importance_section(found)),
        ("weights", "What does it weigh?", told.weights and _weights(told.weights)),
        (
            "mistakes",
            "Where is it most wrong?",
            found and found.mistakes and worst_errors_section(found, "row"),
        ),
        ("model", "What is this model?", _model(model)),
    ]
    return render_page(f"{model.target_} explained", _hero(model, told), parts)


def _hero(model: Any, told: ModelExplanation) -> Html:
    where = "" if told.table is None else place(told.table)
    kicker = tag("div", "Explaining a model", " · " if where else None, tag("b", where),
                 class_="kicker", title=told.table)  # fmt: skip
    return tag(
        "header", kicker, tag("h1", _headline(model, told)), tag("p", _lead(model, told),
        class_="lead"), class_="hero",
    )  # fmt: skip


def _headline(model: Any, told: ModelExplanation) -> Html:
    if told.row is not None:
        number, row = told.row
        return joined(f"Row {number}: {model.target_} is ", em(format_value(row.predicted)), ".")
    names = _first_names(told)
    if not names:
        return joined("What moves ", em(str(model.target_)), "?")
    return joined(em(join_names(names, most=3)), f" move{'s' if len(names) == 1 else ''} "
                  f"{model.target_} most.")  # fmt: skip


def _first_names(told: ModelExplanation) -> list[str]:
    if told.found is not None:
        return [each.column for each in told.found.importances[:3] if each.low > 0]
    return [] if told.weights is None else told.weights.names[:3]


def _lead(model: Any, told: ModelExplanation) -> str:
    who = f"{model.title_} predicts {model.target_}."
    found = told.found
    if found is None or found.score is None:
        return who
    score = f"{metric_title(found.metric)} is {format_score(found.metric, found.score)}"
    return f"{who} {score} on {format_count(found.n_rows)} rows of this table."


def _weights(weights: LinearWeights) -> Html:
    return tag("div", weights_figure(weights, RAW), class_="figures wide-ones")


def _row(number: int, row: RowExplanation) -> Html:
    parts = row.contributions[:BARS]
    ends = ends_of([each.adds for each in parts])
    bars = [
        signed_bar(f"{each.column} = {format_value(each.value)}", each.adds, ends) for each in parts
    ]
    said = (
        f"The {row.unit} of {row.output} is {format_rounded(row.score)}, of a typical row "
        f"{format_rounded(row.base)}. A bar is what the row's value in a column adds."
    )
    picture = figure(
        tag("div", bars, class_="bars"), f"What each column adds to row {number}", said
    )
    return tag("div", picture, class_="figures wide-ones")


def _model(model: Any) -> Html:
    facts = {
        "Model": model.title_,
        "Target": str(model.target_),
        "Task": model.task_,
        "Columns": format_count(len(model.columns_)),
        "Made": model.created_[:10],
    }
    test = model.scores_.get("test", {})
    scores = {metric_title(name): format_score(name, score) for name, score in test.items()}
    tested = pairs("On the sealed test", scores) if scores else None
    return tag("div", pairs("Facts", facts), tested, class_="figures")
