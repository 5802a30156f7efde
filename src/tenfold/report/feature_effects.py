"""Feature importance, partial dependence, worst errors and the learning curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.automl.explanation import (
    ColumnImportance,
    Explanation,
    LearningCurve,
    LinearWeights,
    PartialDependence,
    WorstError,
)
from tenfold.report.dataset import as_numbers
from tenfold.report.format import (
    capitalize_first,
    display_value,
    format_count,
    format_percent,
    format_rounded,
    format_value,
    join_names,
    metric_title,
)
from tenfold.report.svg import Canvas, Html, Limits, draw_legend, figure, joined, pad_limits, tag

SMALL = (320, 210)
DEPENDENCE = (
    "One column is moved, the others stay as they are. The line is the mean over all rows; the "
    "band is wide where rows react differently. All pictures have the same scale, and the small "
    "bars below show where the data lie."
)


def dependence_part(dependences: list[PartialDependence]) -> Html | None:
    """Title, a sentence how to read it, pictures; None if there is nothing to show."""
    if not dependences:
        return None
    return joined(
        tag("h3", "How the prediction moves with each"),
        tag("p", DEPENDENCE, class_="quiet"),
        dependence_figures(dependences),
    )


def dependence_figures(dependences: list[PartialDependence]) -> Html:
    """One small picture each, all on the same scale of the prediction."""
    values = [part for each in dependences for part in _reach(each)]
    ends = pad_limits(np.concatenate(values), 0.05) if values else (0.0, 1.0)
    figures = [dependence_figure(each, ends) for each in dependences]
    return tag("div", figures, class_="figures small")


def _reach(each: PartialDependence) -> list[np.ndarray]:
    alone = each.mean.shape[1] == 1
    return [each.low.ravel(), each.high.ravel()] if alone else [each.mean.ravel()]


def dependence_figure(each: PartialDependence, ends: Limits) -> Html:
    """Line for numbers, bars for levels."""
    picture = _curve(each, ends) if each.share is None else _levels(each, ends)
    legend = None
    if len(each.outputs) > 1:
        legend = draw_legend(*((f"c{i % 8}", name) for i, name in enumerate(each.outputs)))
    return figure(joined(legend, picture), each.column, _dependence_said(each))


def _curve(each: PartialDependence, ends: Limits) -> Html:
    xs = as_numbers(each.grid)
    alone = each.mean.shape[1] == 1
    canvas = Canvas(pad_limits(xs, 0.0), ends, size=SMALL, margins=(24, 10, 48, 44))
    canvas.axes("", _output_name(each), ticks=(4, 4))
    if alone:
        canvas.band(xs, each.low[:, 0], each.high[:, 0], "main")
    for i in range(each.mean.shape[1]):
        canvas.line(xs, each.mean[:, i], "main" if alone else f"c{i % 8}")
    if each.values is not None:
        _rug(canvas, as_numbers(each.values), (xs[0], xs[-1]))
    return canvas.drawn(f"Prediction against {each.column}")


def _rug(canvas: Canvas, values: np.ndarray, ends: tuple[float, float]) -> None:
    values = values[np.isfinite(values) & (values >= ends[0]) & (values <= ends[1])]
    if not len(values) or ends[0] == ends[1]:
        return
    counts, edges = np.histogram(values, bins=40, range=ends)
    floor = canvas.height - 2
    for n, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        if n:
            tall = 18 * n / counts.max()
            wide = canvas.x(right) - canvas.x(left) - 1
            canvas.add(
                "rect",
                x=canvas.x(left),
                y=floor - tall,
                width=wide,
                height=tall,
                class_="bar grey pale",
            )


def _levels(each: PartialDependence, ends: Limits) -> Html:
    n = len(each.grid)
    canvas = Canvas(ends, (0, n), size=(SMALL[0], 46 + 24 * n), margins=(18, 10, 22, 112))
    for value, label in canvas.x.ticks(4):
        canvas.upright(value, "grid")
        canvas.text(float(canvas.x(value)), canvas.y.start + 14, label, class_="tick mid")
    canvas.text(2, 10, _output_name(each), class_="name")
    alone = each.mean.shape[1] == 1
    for i, level in enumerate(each.grid):
        y = n - i - 0.5
        name = "missing" if level is None else format_value(level)
        short = name if len(name) <= 16 else name[:15] + "…"
        share = "" if each.share is None else f", {format_percent(float(each.share[i]))} of rows"
        canvas.text(canvas.x.start - 8, float(canvas.y(y)) + 4, short, class_="end")
        for j in range(each.mean.shape[1]):
            colour = "main" if alone else f"c{j % 8}"
            if alone:
                canvas.line([each.low[i, j], each.high[i, j]], [y, y], f"{colour} pale")
            tip = f"{name}: {format_value(each.mean[i, j])}{share}"
            canvas.point(each.mean[i, j], y, f"{colour} ring", tip, 5.5)
    return canvas.drawn(f"Prediction for the levels of {each.column}")


def _output_name(each: PartialDependence) -> str:
    if len(each.outputs) > 1:
        return "probability"
    return f"probability of {each.outputs[0]}" if each.chance else f"predicted {each.outputs[0]}"


def _dependence_said(each: PartialDependence) -> str:
    i = int(np.ptp(each.mean, axis=0).argmax())
    line = each.mean[:, i]
    low, high = int(line.argmin()), int(line.argmax())
    what = f"the probability of {each.outputs[i]}" if each.chance else each.outputs[i]
    if np.ptp(line) < 1e-9:
        return "The prediction does not move with it."
    if each.share is not None:
        return (
            f"Lowest for {_named(each.grid[low])} ({format_rounded(line[low])}), highest for "
            f"{_named(each.grid[high])} ({format_rounded(line[high])})."
        )
    steps = np.diff(line)
    rising = steps[steps > 0].sum() / max(np.abs(steps).sum(), 1e-300)
    way = "rises" if rising > 0.95 else "falls" if rising < 0.05 else None
    from_to = f"{format_value(each.grid[0])} to {format_value(each.grid[-1])}"
    if way:
        return f"From {from_to}, {what} {way} from {format_rounded(line[0])} to {format_rounded(line[-1])}."
    start = what.replace("the", "The", 1) if each.chance else what
    return f"{start} is lowest near {format_value(each.grid[low])} and highest near {format_value(each.grid[high])}."


def _named(level: object) -> str:
    return "missing" if level is None else f"“{format_value(level)}”"


COLUMNS = 15
WEIGHTS = 16


def importance_section(found: Explanation) -> Html:
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
    names = join_names([each.column for each in sure[:kept]], most=4)
    verb = "carries" if kept == 1 else "together carry"
    return (
        f"{names} {verb} {format_percent(half / total)} of what the model knows. Shuffling does harm "
        f"beyond chance for {len(sure)} of {len(found.importances)} columns."
    )


def importance_figure(found: Explanation) -> Html:
    """Fall of the score when a column is shuffled."""
    top = found.importances[:COLUMNS]
    reach = max([max(each.high, each.drop) for each in top] + [1e-12])
    rows = [_importance_bar(each, reach) for each in top]
    left = len(found.importances) - len(top)
    said = (
        f"By how much {metric_title(found.metric)} falls on {format_count(found.n_rows)} rows when a "
        "column is shuffled; the thin line is its 95 % interval. Columns that say the same share "
        "their part." + (f" {left} more columns matter less." if left > 0 else "")
    )
    return figure(tag("div", rows, class_="bars"), "What is lost without a column", said)


def _importance_bar(each: ColumnImportance, reach: float) -> Html:
    wide = 100 * float(np.clip(each.drop / reach, 0, 1))
    low, high = (100 * float(np.clip(v / reach, 0, 1)) for v in (each.low, each.high))
    sure = "main" if each.low > 0 else "grey"
    tip = f"{each.column}: {format_value(each.drop)}\n95 % interval {format_value(each.low)} to {format_value(each.high)}"
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
        tag("span", format_value(each.drop, 2), class_="value"),
    )


def weights_figure(weights: LinearWeights, moves: str) -> Html:
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
        legend = draw_legend(("c0", f"raises {what}"), ("c1", f"lowers {what}"))
        said = moves
    left = len(weights.names) - len(bars)
    said += f" {format_count(left)} more are smaller." if left > 0 else ""
    return figure(joined(legend, tag("div", rows, class_="bars")), "Weights", said)


def ends_of(values: list[float]) -> Limits:
    """A scale that holds all values and zero."""
    low = min([0.0, *values])
    return low, max([0.0, *values, low + 1e-12])


def _strongest(weights: LinearWeights, i: int) -> tuple[str, float]:
    """Label and largest weight of an encoded column."""
    j = int(np.abs(weights.values[i]).argmax())
    several = weights.values.shape[1] > 1
    label = f"{weights.names[i]} → {weights.outputs[j]}" if several else weights.names[i]
    return label, float(weights.values[i, j])


def signed_bar(label: str, value: float, ends: Limits) -> Html:
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
        data_tip=f"{label}: {format_value(value)}",
    )
    return joined(
        tag("span", label, class_="label", title=label),
        track,
        tag("span", format_rounded(value, 2), class_="value"),
    )


ERROR_CELLS = 8
ERROR_CARDS = 6


def worst_errors_section(found: Explanation, name: str = "test row") -> Html:
    """One card per row: truth, prediction, and the cells that matter most."""
    order = [each.column for each in found.importances]
    cards = [_error_card(each, order, name) for each in found.mistakes[:ERROR_CARDS]]
    return joined(
        tag("p", _error_sentence(found.mistakes, name), class_="say"),
        tag("div", cards, class_="cards"),
    )


def _error_sentence(mistakes: list[WorstError], name: str) -> str:
    if mistakes[0].certainty is None:
        return (
            f"The {name}s with the largest errors. Rows like these are worth a look: some are "
            "rare, some are wrong in the table."
        )
    return (
        f"The {name}s that were wrong with the greatest certainty. Rows like these are worth a "
        "look: some are rare, some are labelled wrongly."
    )


def _error_card(each: WorstError, order: list[str], name: str) -> Html:
    names = [column for column in order if column in each.cells]
    names += [column for column in each.cells if column not in names]
    pairs = [
        joined(tag("dt", n), tag("dd", _error_cell(each.cells[n]))) for n in names[:ERROR_CELLS]
    ]
    more = len(names) - ERROR_CELLS
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


def _how_wrong(each: WorstError) -> str:
    if each.certainty is not None:
        return f"{format_percent(each.certainty)} sure"
    return f"off by {format_rounded(abs(each.truth - each.predicted))}"


def _verdict(each: WorstError) -> Html:
    return joined(
        "Is ",
        tag("span", format_value(each.truth), class_="truth"),
        ", said ",
        tag("span", _said(each), class_="wrong"),
    )


def _said(each: WorstError) -> str:
    return (
        format_value(each.predicted)
        if each.certainty is not None
        else format_rounded(each.predicted)
    )


def _error_cell(value: Any) -> str:
    text = format_value(value, 4)
    return text if len(text) <= 160 else text[:159] + "…"


def learning_curve_section(curve: LearningCurve, metric: str, title: str) -> Html:
    """The curve, and what it promises."""
    picture = joined(
        draw_legend(("main", "rows it has not seen"), ("grey", "rows it learned from")),
        _picture(curve, metric),
        _picture(curve, metric, (360, 260), "narrow"),
    )
    said = (
        f"{title}, trained on more and more rows. Bands reach from the worst to the best fold. The "
        "gap between the lines is what the model has learned by heart."
    )
    return joined(
        tag("p", _promise(curve, metric), class_="say"),
        tag(
            "div",
            figure(
                picture, f"{capitalize_first(metric_title(metric))} against rows learned from", said
            ),
            class_="figures one",
        ),
    )


def _picture(
    curve: LearningCurve, metric: str, size: tuple[int, int] = (760, 290), class_: str = "broad"
) -> Html:
    train, test = natural_array(metric, curve.train), natural_array(metric, curve.test)
    seen = np.concatenate([test.mean(axis=1), train.mean(axis=1)])
    ends = pad_limits([*seen, *np.quantile(test, [0.1, 0.9])], 0.08)
    sizes = float(curve.sizes[0]), float(curve.sizes[-1])
    canvas = Canvas(sizes, ends, size=size, margins=(26, 16, 40, 48), log=True)
    canvas.axes("rows to learn from", metric_title(metric))
    for scores, colour in ((train, "grey"), (test, "main")):
        low, high = scores.min(axis=1), scores.max(axis=1)
        means = scores.mean(axis=1)
        canvas.band(curve.sizes, np.clip(low, *ends), np.clip(high, *ends), colour)
        canvas.line(curve.sizes, np.clip(means, *ends), colour)
        for rows, value in zip(curve.sizes, means, strict=True):
            tip = f"{format_count(rows)} rows: {format_value(value)}"
            canvas.point(rows, float(np.clip(value, *ends)), f"{colour} ring", tip)
    return canvas.drawn("Learning curve", class_)


def natural_array(metric: str, scores: np.ndarray) -> np.ndarray:
    """Scores as people know them."""
    return np.asarray(display_value(metric, 1.0) * scores, float)


def _promise(curve: LearningCurve, metric: str) -> str:
    test, train = curve.test.mean(axis=1), curve.train.mean(axis=1)
    last_gain = test[-1] - test[-2]
    noise = (
        curve.test[-1].std(ddof=1) / np.sqrt(curve.test.shape[1]) if curve.test.shape[1] > 1 else 0
    )
    gap = train[-1] - test[-1]
    if last_gain > max(noise, 0.01 * abs(test[-1])):
        words = "Probably: the curve still rises at its right end."
    else:
        words = "Not much: the curve is flat at its right end."
    if gap > max(2 * noise, 0.02):
        return (
            f"{words} The model does better on rows it has learned from, by {format_value(gap, 2)} in "
            f"{metric_title(metric)}: it learns partly by heart."
        )
    return (
        f"{words} It does about as well on new rows as on those it learned from, so it does not "
        "over-fit."
    )
