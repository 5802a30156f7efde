"""The rows on which the model is most wrong, as they stand in the table."""

from __future__ import annotations

from typing import Any

from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import about, percent, shown
from tenfold.study.explaining.explanation import Explanation, Mistake

CELLS = 8
CARDS = 6


def mistakes_section(found: Explanation, name: str = "test row") -> Html:
    """One card per row: truth, prediction, and the cells that matter most."""
    order = [each.column for each in found.importances]
    cards = [_card(each, order, name) for each in found.mistakes[:CARDS]]
    return joined(
        tag("p", _sentence(found.mistakes, name), class_="say"), tag("div", cards, class_="cards")
    )


def _sentence(mistakes: list[Mistake], name: str) -> str:
    if mistakes[0].certainty is None:
        return (
            f"The {name}s with the largest errors. Rows like these are worth a look: some are "
            "rare, some are wrong in the table."
        )
    return (
        f"The {name}s that were wrong with the greatest certainty. Rows like these are worth a "
        "look: some are rare, some are labelled wrongly."
    )


def _card(each: Mistake, order: list[str], name: str) -> Html:
    names = [column for column in order if column in each.cells]
    names += [column for column in each.cells if column not in names]
    pairs = [joined(tag("dt", n), tag("dd", _cell(each.cells[n]))) for n in names[:CELLS]]
    more = len(names) - CELLS
    return tag(
        "article",
        tag("header", tag("span", f"{name} {each.row}"), tag("span", _how_wrong(each))),
        tag("div", _verdict(each), class_="verdict"),
        tag("dl", pairs, class_="pairs"),
        tag("div", f"and {more} more columns", class_="sub", style="margin-top:8px")
        if more > 0
        else None,
        class_="card",
    )


def _how_wrong(each: Mistake) -> str:
    if each.certainty is not None:
        return f"{percent(each.certainty)} sure"
    return f"off by {about(abs(each.truth - each.predicted))}"


def _verdict(each: Mistake) -> Html:
    return joined(
        "Is ",
        tag("span", shown(each.truth), class_="truth"),
        ", said ",
        tag("span", _said(each), class_="wrong"),
    )


def _said(each: Mistake) -> str:
    return shown(each.predicted) if each.certainty is not None else about(each.predicted)


def _cell(value: Any) -> str:
    text = shown(value, 4)
    return text if len(text) <= 160 else text[:159] + "…"
