"""What was tried: the leaderboard, with intervals drawn on one scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import seconds, shown
from tenfold.report.scales import padded
from tenfold.report.scores import lined_up, natural, score_of, title_of, written
from tenfold.report.words import at_start, model_name, within
from tenfold.study.result import Attempt, Study

BESIDE = 2  # further scores that have a column


def tried_section(study: Study) -> Html:
    """A sentence, the table, what was left out."""
    return joined(tag("p", _sentence(study), class_="say"), leaderboard(study), _left_out(study))


def _sentence(study: Study) -> str:
    means = score_of(study.metric).means
    meaning = f" ({means})" if means else ""
    best, chosen = study.best, study.chosen
    words = (
        f"Every model learned from the same {study.folds - 1} of {study.folds} parts of the "
        f"training rows and was judged on the part left out, {study.folds} times. "
        f"{at_start(title_of(study.metric))}{meaning} decides."
    )
    if chosen is best:
        return f"{words} {chosen.title} has the highest mean, and nothing simpler comes near it."
    return (
        f"{words} {best.title} has the highest mean, but {within(chosen.title)} is simpler and "
        "within one standard error of it, so it is the one to keep."
    )


def leaderboard(study: Study) -> Html:
    """Finished attempts, the best first."""
    beside = [name for name in study.best.others if name != study.metric][:BESIDE]
    ends = _ends(study)
    names = [("model", ""), (title_of(study.metric), "number"), ("95 % interval", "interval")]
    names += [(title_of(name), "number extra") for name in beside]
    names += [("on its own rows", "number extra"), ("time", "number")]
    head = tag("tr", [tag("th", words, class_=kind or None, data_sort="") for words, kind in names])
    rows = [_row(study, attempt, ends, beside) for attempt in study.ranked]
    return tag("div", tag("table", tag("thead", head), tag("tbody", rows)), class_="scroll")


def _ends(study: Study) -> tuple[float, float]:
    values = [v for each in study.ranked for v in _interval(each)]
    better = [v for each in study.ranked if each.key != "baseline" for v in _interval(each)]
    if better and max(better) - min(better) < 0.5 * (max(values) - min(values)):
        return padded(better, 0.12)  # a far baseline would squeeze all others into one place
    return padded(values, 0.06)


def _interval(attempt: Attempt) -> tuple[float, float]:
    if len(attempt.scores) < 2:
        return attempt.mean, attempt.mean
    found = attempt.interval()
    return found.low, found.high


def _row(study: Study, attempt: Attempt, ends: tuple[float, float], beside: list[str]) -> Html:
    name, chosen = study.metric, attempt is study.chosen
    low, high = _interval(attempt)
    told = f"{attempt.title}: {written(name, attempt.mean)}\n95 % interval {_both(name, low, high)}"
    cells: list[Any] = [
        tag(
            "td",
            tag("span", model_name(attempt.title), _badges(study, attempt), class_="badged"),
            tag("small", _params(attempt)),
            class_="name model-name",
        ),
        _number(lined_up(name, attempt.mean), attempt.mean),
        tag(
            "td",
            whisker(attempt.mean, low, high, ends, chosen),
            data_tip=told,
            data_value=attempt.mean,
        ),
    ]
    for other in beside:
        value = float(np.mean(attempt.others[other])) if other in attempt.others else np.nan
        cells.append(_number(lined_up(other, value), value, "number extra"))
    own = float(np.mean(attempt.train)) if len(attempt.train) else np.nan
    cells.append(_number(lined_up(name, own), own, "number extra quiet"))
    cells.append(_number(seconds(attempt.seconds), attempt.seconds))
    return tag("tr", cells, class_="chosen" if chosen else "out" if attempt.yardstick else None)


def _both(name: str, low: float, high: float) -> str:
    first, last = sorted((natural(name, low), natural(name, high)))
    return f"{shown(first)} to {shown(last)}"


def _number(words: str, value: float, class_: str = "number") -> Html:
    return tag("td", words, class_=class_, data_value=value)


def _badges(study: Study, attempt: Attempt) -> list[Html]:
    badges = []
    if attempt is study.chosen:
        badges.append(tag("span", "chosen", class_="badge chosen"))
    if attempt is study.best:
        badges.append(tag("span", "best", class_="badge best"))
    if attempt.yardstick:
        badges.append(tag("span", "yardstick", class_="badge"))
    return badges


def _params(attempt: Attempt) -> str:
    return ", ".join(f"{k.split('__')[-1]} = {shown(v)}" for k, v in attempt.params.items())


def whisker(mean: float, low: float, high: float, ends: tuple[float, float], chosen: bool) -> Html:
    """A mean with its interval on the scale that all rows share."""

    def place(value: float) -> str:
        return f"{float(np.clip(100 * (value - ends[0]) / (ends[1] - ends[0]), 0, 100)):.1f}%"

    outside = high < ends[0]
    mark = tag("circle", cx=place(mean), cy="11", r="0" if outside else "5")
    span = tag("line", x1=place(low), x2=place(high), y1="11", y2="11", class_="span")
    arrow = tag("text", "‹ far below", x="2", y="15", class_="tick") if outside else None
    rail = tag("line", x1="0", x2="100%", y1="11", y2="11", class_="rail")
    colour = "whisker main" if chosen else "whisker grey"
    return tag(
        "svg", rail, None if outside else span, mark, arrow, class_=colour, aria_hidden="true"
    )


def _left_out(study: Study) -> Html | None:
    if not study.skipped:
        return None
    lines = [tag("li", tag("b", each.title), f": {each.note}") for each in study.skipped]
    return tag("details", tag("summary", f"{len(lines)} not finished, and why"), tag("ul", lines))
