"""Which columns matter, and how."""

from __future__ import annotations

import numpy as np

from tenfold.report.drawing import Ends, figure, key
from tenfold.report.html import Html, joined, tag
from tenfold.report.moving import dependence_part
from tenfold.report.numbers import about, count, percent, shown
from tenfold.report.scores import title_of
from tenfold.report.words import list_in_words
from tenfold.study.explaining.explanation import Explanation, Importance, Weights

COLUMNS = 15
WEIGHTS = 16


def mattering_section(found: Explanation) -> Html:
    """Importance, weights, dependence: of these, what there is."""
    known = found.importances
    sides = [importance_figure(found)] if known else []
    if found.weights is not None:
        sides.append(weights_figure(found.weights, MOVES))
    return joined(
        tag("p", _sentence(found), class_="say") if known else None,
        tag("div", sides, class_="figures wide-ones") if sides else None,
        dependence_part(found.dependences),
    )


MOVES = (
    "How far one standard deviation of the column moves the prediction, all others held; for "
    "classes in log-odds, or in the margin of a linear SVM."
)


def _sentence(found: Explanation) -> str:
    sure = [each for each in found.importances if each.low > 0]
    if not sure:
        return "No column matters by itself: shuffling any one of them leaves the score as it is."
    total = sum(each.drop for each in sure)
    half, kept = 0.0, 0
    while half < 0.5 * total:
        half, kept = half + sure[kept].drop, kept + 1
    names = list_in_words([each.column for each in sure[:kept]], most=4)
    verb = "carries" if kept == 1 else "together carry"
    return (
        f"{names} {verb} {percent(half / total)} of what the model knows. Shuffling does harm "
        f"beyond chance for {len(sure)} of {len(found.importances)} columns."
    )


def importance_figure(found: Explanation) -> Html:
    """Fall of the score when a column is shuffled."""
    top = found.importances[:COLUMNS]
    reach = max([max(each.high, each.drop) for each in top] + [1e-12])
    rows = [_importance_bar(each, reach) for each in top]
    left = len(found.importances) - len(top)
    said = (
        f"By how much {title_of(found.metric)} falls on {count(found.n_rows)} rows when a "
        "column is shuffled; the thin line is its 95 % interval. Columns that say the same share "
        "their part." + (f" {left} more columns matter less." if left > 0 else "")
    )
    return figure(tag("div", rows, class_="bars"), "What is lost without a column", said)


def _importance_bar(each: Importance, reach: float) -> Html:
    wide = 100 * float(np.clip(each.drop / reach, 0, 1))
    low, high = (100 * float(np.clip(v / reach, 0, 1)) for v in (each.low, each.high))
    sure = "main" if each.low > 0 else "grey"
    tip = (
        f"{each.column}: {shown(each.drop)}\n95 % interval {shown(each.low)} to {shown(each.high)}"
    )
    track = tag(
        "span",
        tag("i", class_=f"fill {sure}", style=f"left:0;width:{wide:.1f}%"),
        tag("i", class_="range", style=f"left:{low:.1f}%;width:{max(high - low, 0):.1f}%"),
        class_="track",
        data_tip=tip,
    )
    return joined(
        tag("span", each.column, class_="label", title=each.column),
        track,
        tag("span", shown(each.drop, 2), class_="value"),
    )


def weights_figure(weights: Weights, moves: str) -> Html:
    """The largest weights of a linear model, signed; `moves` says what a weight means."""
    several = weights.values.shape[1] > 1
    bars = [_strongest(weights, i) for i in range(min(WEIGHTS, len(weights.names)))]
    values = [value for _, value in bars]
    ends = ends_of(values)
    rows = [signed_bar(label, value, ends) for label, value in bars]
    if several:
        said = "The strongest weight of each column, and the class it speaks for (or against)."
        legend = None
    else:
        what = weights.outputs[0]
        legend = key(("c0", f"raises {what}"), ("c1", f"lowers {what}"))
        said = moves
    left = len(weights.names) - len(bars)
    said += f" {count(left)} more are smaller." if left > 0 else ""
    return figure(joined(legend, tag("div", rows, class_="bars")), "Weights", said)


def ends_of(values: list[float]) -> Ends:
    """A scale that holds all values and zero."""
    low = min([0.0, *values])
    return low, max([0.0, *values, low + 1e-12])


def _strongest(weights: Weights, i: int) -> tuple[str, float]:
    """Label and largest weight of an encoded column."""
    j = int(np.abs(weights.values[i]).argmax())
    several = weights.values.shape[1] > 1
    label = f"{weights.names[i]} → {weights.outputs[j]}" if several else weights.names[i]
    return label, float(weights.values[i, j])


def signed_bar(label: str, value: float, ends: Ends) -> Html:
    """A bar to the right of zero or to the left."""
    low, high = ends
    zero, end = (100 * (v - low) / (high - low) for v in (0.0, value))
    left, wide = min(zero, end), abs(end - zero)
    colour = "c1" if value < 0 else "c0"
    track = tag(
        "span",
        tag("i", class_="zero", style=f"left:{zero:.1f}%"),
        tag("i", class_=f"fill {colour}", style=f"left:{left:.1f}%;width:{wide:.1f}%"),
        class_="track",
        data_tip=f"{label}: {shown(value)}",
    )
    return joined(
        tag("span", label, class_="label", title=label),
        track,
        tag("span", about(value, 2), class_="value"),
    )
