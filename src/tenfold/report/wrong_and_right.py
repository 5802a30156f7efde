"""The sealed test: all scores in a table, and pictures of right and wrong."""

from __future__ import annotations

from tenfold.report.classes import class_figures
from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import count
from tenfold.report.scores import natural, score_of, title_of, written
from tenfold.report.values import value_figures
from tenfold.study.result import Study


def judged_section(study: Study) -> Html | None:
    """None without a target."""
    if study.test is None:
        return None
    if study.task == "regression":
        pictures = value_figures(study)
    else:
        pictures = class_figures(study.test, study.classes or [])
    said = (
        f"All that follows is about {count(len(study.test.y))} rows that were sealed until the "
        "model was chosen."
    )
    return joined(tag("p", said, class_="say"), scores_table(study), pictures)


def scores_table(study: Study) -> Html:
    """Every score with its interval and its meaning."""
    test = study.test
    rows = [] if test is None else [_row(study, name) for name in test.scores]
    head = tag(
        "tr",
        tag("th", "score"),
        tag("th", "value", class_="number"),
        tag("th", "95 % interval", class_="number"),
        tag("th", "guessing", class_="number"),
        tag("th", "what it is", class_="extra"),
    )
    table = tag("table", tag("thead", head), tag("tbody", rows))
    return tag("div", table, class_="scroll", style="margin-bottom:18px")


def _row(study: Study, name: str) -> Html:
    assert study.test is not None  # noqa: S101
    low, high = sorted(natural(name, end) for end in study.test.intervals.get(name, (0.0, 0.0)))
    sign = -1 if name.startswith("neg_") else 1
    ends = f"{written(name, sign * low)} to {written(name, sign * high)}"
    return tag(
        "tr",
        tag("td", title_of(name), class_="name"),
        tag("td", tag("b", written(name, study.test.scores[name])), class_="number"),
        tag("td", ends if name in study.test.intervals else "", class_="number quiet"),
        tag("td", _guessing(study, name), class_="number quiet"),
        tag("td", score_of(name).means, class_="quiet extra"),
    )


def _guessing(study: Study, name: str) -> str:
    base = next((each for each in study.ranked if each.key == "baseline"), None)
    if base is None:
        return ""
    scores = base.scores if name == study.metric else base.others.get(name, [])
    return written(name, float(sum(scores) / len(scores))) if len(scores) else ""
