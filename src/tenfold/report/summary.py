"""The header of a report, its warnings and the leaderboard."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.automl.result import Attempt, Finding, Study
from tenfold.report.format import (
    capitalize_first,
    display_value,
    format_aligned,
    format_count,
    format_duration,
    format_percent,
    format_rounded,
    format_score,
    format_value,
    lower_first,
    metric_label,
    metric_title,
    short_title,
)
from tenfold.report.svg import Html, joined, pad_limits, tag


def ruler(study: Study) -> Html:
    """Where the model stands between guessing and perfection, in one line."""
    name, test, base = study.metric, sealed_scores(study), attempt_of(study, "baseline")
    perfect, floor = metric_label(name).perfect, study.chosen.mean if base is None else base.mean
    reached = test.get(name, study.chosen.mean)
    stick = yardstick(study)
    known = [floor, reached] + ([] if stick is None else [stick.mean])
    end = display_value(name, perfect) if perfect is not None else max(known)
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
        _flag(
            "up",
            place(reached),
            format_score(name, reached),
            f"{metric_title(name)} on the sealed test",
        ),
        _flag("down", place(floor), format_score(name, floor), "guessing"),
        _flag("down last", 100.0, format_score(name, end), "perfect"),
    ]
    if stick is not None:
        marks += [
            tag("i", class_="stop stick", style=f"left:{place(stick.mean):.2f}%"),
            _flag(
                "deep",
                place(stick.mean),
                format_score(name, stick.mean),
                "boosted trees, the yardstick",
            ),
        ]
    tall = "ruler" if stick is None else "ruler tall"
    return tag("div", marks, class_=tall, role="img", aria_label=_ruler_in_words(study, reached))


def _ruler_in_words(study: Study, reached: float) -> str:
    return f"{metric_title(study.metric)} {format_score(study.metric, reached)} between guessing and perfect"


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


TASKS = {
    "regression": "Predicting a number",
    "two-class": "Telling two classes apart",
    "multi-class": "Telling classes apart",
    "clusters": "Looking for groups",
}


def hero(study: Study) -> Html:
    """Kicker, headline, paragraph, ruler, facts."""
    kicker = tag(
        "div",
        TASKS[study.task],
        " · ",
        tag("b", place(study.shown)),
        class_="kicker",
        title=study.shown,
    )
    return tag(
        "header",
        kicker,
        tag("h1", headline(study)),
        tag("p", lead(study), class_="lead"),
        None if study.test is None else ruler(study),
        facts(study),
        class_="hero",
    )


def place(shown: str) -> str:
    """The last part of a path; anything else as it is."""
    return shown if " " in shown else shown.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def headline(study: Study) -> Html:
    """How good it is, in one sentence."""
    if study.clusters is not None:
        return joined("The rows fall into ", em(f"{len(study.clusters.sizes)} groups"), ".")
    if study.chosen.key == "baseline":
        return joined("These columns say ", em("nothing certain"), f" about {study.target}.")
    scores, base = sealed_scores(study), attempt_of(study, "baseline")
    if base is not None and scores.get(study.metric, np.inf) <= base.mean:
        return joined("On unseen rows it is ", em("no better than guessing"), f" {study.target}.")
    if study.task == "regression":
        return _explained(study)
    if study.metric.startswith("roc_auc") and study.task == "two-class":
        first = (study.classes or [""])[-1]
        share = em(format_percent(scores[study.metric]))
        return joined(share, f" of the time, it ranks a true “{first}” first.")
    return joined(
        f"It gets {study.target} right for ",
        em(format_percent(scores["accuracy"])),
        " of unseen rows.",
    )


def _explained(study: Study) -> Html:
    r2 = sealed_scores(study).get("r2", np.nan)
    if r2 < 0.05:
        return joined("These columns explain ", em("almost nothing"), f" of {study.target}.")
    return joined("It explains ", em(format_percent(r2)), f" of the differences in {study.target}.")


def lead(study: Study) -> Html:
    """What that is worth: against guessing, against the other models, against the yardstick."""
    if study.clusters is not None:
        return _lead_of_groups(study)
    tried = len(study.ranked)
    parts: list[Any] = [_against_guessing(study), " "]
    if study.chosen.key == "baseline":
        parts.append(f"None of the {tried - 1} models that were tried does clearly better.")
        return joined(parts)
    title = tag("b", lower_first(study.chosen.title))
    if study.chosen is study.best:
        parts += ["The model is ", title, f", the best of {tried} that were tried."]
    else:
        parts += ["The model is ", title, ", the simplest within one standard error of the best."]
    return joined(parts, " ", _against_yardstick(study))


def _lead_of_groups(study: Study) -> Html:
    share = float(np.sum(study.clusters.variance[:2])) if study.clusters is not None else 0.0
    return joined(
        "There was no target, so tenfold looked for groups of rows that resemble each other. "
        f"The two main directions carry {format_percent(min(share, 1.0))} of all variance: the map below "
        "shows that much of the truth."
    )


def _against_guessing(study: Study) -> Html:
    base = attempt_of(study, "baseline")
    scores = sealed_scores(study)
    if study.task == "regression":
        name = "neg_root_mean_squared_error"
        if name not in scores:
            return Html("")
        error, spread = -scores[name], float(np.std(study.test.y)) if study.test else np.nan
        return joined(
            f"Its typical error is {format_rounded(error)}; always guessing the mean misses by "
            f"{format_rounded(spread)}."
        )
    if base is None or "accuracy" not in scores:
        return Html("")
    right = base.scores if study.metric == "accuracy" else base.others.get("accuracy", [np.nan])
    most = f"“{_most_frequent(study)}”"
    return joined(
        f"Always saying {most} would be right for {format_percent(float(np.mean(right)))}"
        + (
            "."
            if study.metric == "accuracy"
            else f"; it is right for {format_percent(scores['accuracy'])}."
        )
    )


def _against_yardstick(study: Study) -> Html:
    stick = yardstick(study)
    if stick is None:
        return Html("")
    gap = study.chosen.mean - stick.mean
    noise = float(np.nanmax([study.chosen.error, stick.error, 1e-12]))
    here = f"{format_score(study.metric, stick.mean)} against {format_score(study.metric, study.chosen.mean)}"
    if abs(gap) <= 2 * noise:
        return joined(
            f"Boosted trees, the yardstick, are no better and no worse on the folds: {here}."
        )
    if gap > 0:
        return joined(f"It beats boosted trees, the yardstick, which reach {here} on the folds.")
    return joined(f"Boosted trees, the yardstick, would do better here: {here} on the folds.")


def facts(study: Study) -> Html:
    """Four numbers that everybody asks for."""
    n_columns = len([name for name in study.kinds if name != study.target])
    rows = ("Rows", format_count(study.n_rows), f"{format_count(n_columns)} columns")
    if study.clusters is not None:
        took = (
            "Time",
            format_duration(study.seconds),
            f"{len(study.ranked)} numbers of groups tried",
        )
        return _tiles(rows, ("Model", study.chosen.title, _params(study.chosen)), took)
    split = (
        "Judged on",
        f"{format_count(study.n_test)} rows",
        f"sealed until the end; {format_count(study.n_train)} to learn from",
    )
    took = (
        "Time",
        format_duration(study.seconds),
        f"{len(study.ranked)} models, {study.folds} folds each",
    )
    return _tiles(rows, split, ("Model", study.chosen.title, _params(study.chosen)), took)


def _tiles(*tiles: tuple[str, str, str]) -> Html:
    cells = [
        tag("div", tag("dt", name), tag("dd", value, tag("small", more)))
        for name, value, more in tiles
    ]
    return tag("dl", cells, class_="facts")


def _params(attempt: Attempt) -> str:
    pairs = [
        f"{key.split('__')[-1]} = {format_value(value)}" for key, value in attempt.params.items()
    ]
    return ", ".join(pairs[:3])


def em(words: str) -> Html:
    """Words that stand out."""
    return tag("em", words)


def _most_frequent(study: Study) -> Any:
    if study.test is None or study.classes is None:
        return ""
    return study.classes[int(np.bincount(study.test.y.astype(int)).argmax())]


LOOKS = {"alarm": "bad", "warning": "warn", "note": "note"}
TRIANGLE = (
    '<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.7" '
    'stroke-linejoin="round" stroke-linecap="round" aria-hidden="true">'
    '<path d="M10 3 18 17H2Z"/><path d="M10 8.2v4M10 14.6v.1"/></svg>'
)
CIRCLE = (
    '<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.7" '
    'stroke-linecap="round" aria-hidden="true">'
    '<circle cx="10" cy="10" r="7.4" style="fill:none"/><path d="M10 9.4v4.2M10 6.5v.1"/></svg>'
)


def findings_list(findings: list[Finding]) -> Html | None:
    """One line each; None if there is nothing to say."""
    if not findings:
        return None
    order = list(LOOKS)
    ranked = sorted(findings, key=lambda each: order.index(each.severity))
    return tag("ul", [_finding_line(each) for each in ranked], class_="findings")


def _finding_line(each: Finding) -> Html:
    look = LOOKS[each.severity]
    sign = Html(CIRCLE if look == "note" else TRIANGLE)
    return tag("li", sign, tag("div", each.text), class_=look)


BESIDE = 2  # further scores that have a column


def leaderboard_section(study: Study) -> Html:
    """A sentence, the table, what was left out."""
    return joined(tag("p", _sentence(study), class_="say"), leaderboard(study), _left_out(study))


def _sentence(study: Study) -> str:
    means = metric_label(study.metric).means
    meaning = f" ({means})" if means else ""
    best, chosen = study.best, study.chosen
    words = (
        f"Every model learned from the same {study.folds - 1} of {study.folds} parts of the "
        f"training rows and was judged on the part left out, {study.folds} times. "
        f"{capitalize_first(metric_title(study.metric))}{meaning} decides."
    )
    if chosen is best:
        return f"{words} {chosen.title} has the highest mean, and nothing simpler comes near it."
    return (
        f"{words} {best.title} has the highest mean, but {lower_first(chosen.title)} is simpler and "
        "within one standard error of it, so it is the one to keep."
    )


def leaderboard(study: Study) -> Html:
    """Finished attempts, the best first."""
    beside = [name for name in study.best.others if name != study.metric][:BESIDE]
    ends = _ends(study)
    names = [("model", ""), (metric_title(study.metric), "number"), ("95 % interval", "interval")]
    names += [(metric_title(name), "number extra") for name in beside]
    names += [("on its own rows", "number extra"), ("time", "number")]
    head = tag("tr", [tag("th", words, class_=kind or None, data_sort="") for words, kind in names])
    rows = [_row(study, attempt, ends, beside) for attempt in study.ranked]
    return tag("div", tag("table", tag("thead", head), tag("tbody", rows)), class_="scroll")


def _ends(study: Study) -> tuple[float, float]:
    values = [v for each in study.ranked for v in _interval(each)]
    better = [v for each in study.ranked if each.key != "baseline" for v in _interval(each)]
    if better and max(better) - min(better) < 0.5 * (max(values) - min(values)):
        return pad_limits(better, 0.12)  # a far baseline would squeeze all others into one place
    return pad_limits(values, 0.06)


def _interval(attempt: Attempt) -> tuple[float, float]:
    if len(attempt.scores) < 2:
        return attempt.mean, attempt.mean
    found = attempt.interval()
    return found.low, found.high


def _row(study: Study, attempt: Attempt, ends: tuple[float, float], beside: list[str]) -> Html:
    name, chosen = study.metric, attempt is study.chosen
    low, high = _interval(attempt)
    told = f"{attempt.title}: {format_score(name, attempt.mean)}\n95 % interval {_both(name, low, high)}"
    cells: list[Any] = [
        tag(
            "td",
            tag("span", short_title(attempt.title), _badges(study, attempt), class_="badged"),
            tag("small", _param_list(attempt)),
            class_="name model-name",
        ),
        _number(format_aligned(name, attempt.mean), attempt.mean),
        tag(
            "td",
            whisker(attempt.mean, low, high, ends, chosen),
            data_tip=told,
            data_value=attempt.mean,
        ),
    ]
    for other in beside:
        value = float(np.mean(attempt.others[other])) if other in attempt.others else np.nan
        cells.append(_number(format_aligned(other, value), value, "number extra"))
    own = float(np.mean(attempt.train)) if len(attempt.train) else np.nan
    cells.append(_number(format_aligned(name, own), own, "number extra quiet"))
    cells.append(_number(format_duration(attempt.seconds), attempt.seconds))
    return tag("tr", cells, class_="chosen" if chosen else "out" if attempt.yardstick else None)


def _both(name: str, low: float, high: float) -> str:
    first, last = sorted((display_value(name, low), display_value(name, high)))
    return f"{format_value(first)} to {format_value(last)}"


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


def _param_list(attempt: Attempt) -> str:
    return ", ".join(f"{k.split('__')[-1]} = {format_value(v)}" for k, v in attempt.params.items())


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
