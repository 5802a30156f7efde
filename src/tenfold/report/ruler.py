"""Where the model stands between guessing and perfection, in one line."""

from __future__ import annotations

import numpy as np

from tenfold.report.html import Html, tag
from tenfold.report.scores import natural, score_of, title_of, written
from tenfold.study.result import Attempt, Study


def ruler(study: Study) -> Html:
    """Where the model stands between guessing and perfection, in one line."""
    name, test, base = study.metric, sealed_scores(study), attempt_of(study, "baseline")
    perfect, floor = score_of(name).perfect, study.chosen.mean if base is None else base.mean
    reached = test.get(name, study.chosen.mean)
    stick = yardstick(study)
    known = [floor, reached] + ([] if stick is None else [stick.mean])
    end = natural(name, perfect) if perfect is not None else max(known)
    start = min(known) if end >= max(known) else max(known)
    low, high = study.test.intervals.get(name, (reached, reached)) if study.test else (reached,) * 2

    def place(value: float) -> float:
        return float(np.clip(100 * (value - start) / ((end - start) or 1), 0, 100))

    marks = [
        tag("i", class_="rail"),
        tag("i", class_="way", style=f"width:{place(reached):.2f}%"),
        tag("i", class_="span", style=_between(place(low), place(high))),
        tag("i", class_="stop", style=f"left:{place(floor):.2f}%"),
        tag("i", class_="dot", style=f"left:{place(reached):.2f}%"),
        _flag("up", place(reached), written(name, reached), f"{title_of(name)} on the sealed test"),
        _flag("down", place(floor), written(name, floor), "guessing"),
        _flag("down last", 100.0, written(name, end), "perfect"),
    ]
    if stick is not None:
        marks += [
            tag("i", class_="stop stick", style=f"left:{place(stick.mean):.2f}%"),
            _flag(
                "deep", place(stick.mean), written(name, stick.mean), "boosted trees, the yardstick"
            ),
        ]
    tall = "ruler" if stick is None else "ruler tall"
    return tag("div", marks, class_=tall, role="img", aria_label=_ruler_in_words(study, reached))


def _ruler_in_words(study: Study, reached: float) -> str:
    return f"{title_of(study.metric)} {written(study.metric, reached)} between guessing and perfect"


def _between(low: float, high: float) -> str:
    return f"left:{low:.2f}%;width:{max(high - low, 0):.2f}%"


def _flag(kind: str, place: float, value: str, words: str) -> Html:
    side = "left" if place < 20 else "right" if place > 78 else "mid"
    at = f"right:{100 - place:.2f}%" if side == "right" else f"left:{place:.2f}%"
    return tag("span", tag("b", value), " ", words, class_=f"flag {kind} {side}", style=at)


def yardstick(study: Study) -> Attempt | None:
    """The attempt that stands there for comparison, if it was finished."""
    return next((each for each in study.ranked if each.yardstick), None)


def attempt_of(study: Study, key: str) -> Attempt | None:
    """A finished attempt by its key."""
    return next((each for each in study.ranked if each.key == key), None)


def sealed_scores(study: Study) -> dict[str, float]:
    """Scores of the sealed test; none without a target."""
    return {} if study.test is None else study.test.scores
