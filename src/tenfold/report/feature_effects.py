"""Figures of an explanation: importance, partial dependence, worst errors, learning curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.automl.explanation import (
    ColumnImportance,
    Explanation,
    LearningCurve,
    LinearWeights,
    PartialDependence,
    WorstError,
)
from tenfold.report.dataset import to_numbers
from tenfold.report.figures import Bar, Figure, count_bins, signed_bars
from tenfold.report.format import (
    capitalize_first,
    display_value,
    format_count,
    format_percent,
    format_rounded,
    format_value,
    join_names,
    metric_title,
    shorten,
)
from tenfold.report.svg import Chart, Limits, pad_limits

STANDARDIZED_WEIGHTS = (
    "Change of the prediction per standard deviation of the column, all others fixed; for classes "
    "in log-odds, or in the margin of a linear SVM."
)
RAW_WEIGHTS = (
    "Change of the prediction per standard deviation of a number, or for a level of a category; "
    "for classes in log-odds, or in the margin of a linear SVM."
)
PARTIAL_DEPENDENCE = (
    "The mean prediction as one column varies and the others stay as they are. The band is wide "
    "where rows react differently. All charts share one scale; small bars show where the data lie."
)
_MAX_COLUMNS = 15
_MAX_WEIGHTS = 16
_SMALL = (320, 210)
_MAX_CELLS = 8  # of a row that was predicted badly
_MAX_ERRORS = 6
_MAX_CELL_LENGTH = 160


# ---- importance and weights


def summarize_importance(explanation: Explanation) -> str:
    """Which columns carry most of the importance, and how many have any."""
    significant = [each for each in explanation.importances if each.low > 0]
    if not significant:
        return "No single column matters: permuting any one of them leaves the score unchanged."
    total = sum(each.drop for each in significant)
    part, n = 0.0, 0
    while part < 0.5 * total:
        part, n = part + significant[n].drop, n + 1
    names = join_names([each.column for each in significant[:n]], most=4)
    verb = "accounts" if n == 1 else "together account"
    return (
        f"{names} {verb} for {format_percent(part / total)} of the importance. It is above zero "
        f"for {len(significant)} of {len(explanation.importances)} columns."
    )


def importance_figures(explanation: Explanation) -> list[Figure]:
    """Permutation importance and, of a linear model, its weights."""
    figures = [_importance_figure(explanation)] if explanation.importances else []
    if explanation.weights is not None:
        figures.append(weights_figure(explanation.weights, STANDARDIZED_WEIGHTS))
    return figures


def _importance_figure(explanation: Explanation) -> Figure:
    top = explanation.importances[:_MAX_COLUMNS]
    scale = max([max(each.high, each.drop) for each in top] + [1e-12])
    others = len(explanation.importances) - len(top)
    caption = (
        f"Decrease of {metric_title(explanation.metric)} on {format_count(explanation.n_rows)} "
        "rows when a column is permuted; the thin line is the 95 % interval. Correlated columns "
        "share their importance."
    )
    caption += f" {others} more columns are less important." if others > 0 else ""
    bars = [_importance_bar(each, scale) for each in top]
    return Figure("Feature importance", caption, bars=bars)


def _importance_bar(importance: ColumnImportance, scale: float) -> Bar:
    width, low, high = (
        100 * float(np.clip(v / scale, 0, 1))
        for v in (importance.drop, importance.low, importance.high)
    )
    drop, first, last = (
        format_value(v, scale=scale) for v in (importance.drop, importance.low, importance.high)
    )
    return Bar(
        importance.column,
        format_value(importance.drop, 2, scale=scale),
        0.0,
        width,
        "main" if importance.low > 0 else "grey",
        f"{importance.column}: {drop}\n95 % interval {first} to {last}",
        interval=(low, max(high - low, 0.0)),
    )


def weights_figure(weights: LinearWeights, meaning: str) -> Figure:
    """The largest weights of a linear model, signed; `meaning` says what a weight is."""
    n_shown = min(_MAX_WEIGHTS, len(weights.names))
    bars = signed_bars([_largest_weight(weights, i) for i in range(n_shown)])
    if weights.values.shape[1] > 1:
        caption = "The largest weight of each column, and the class whose score it changes."
        legend = []
    else:
        output = weights.outputs[0]
        legend, caption = [("c0", f"raises {output}"), ("c1", f"lowers {output}")], meaning
    others = len(weights.names) - len(bars)
    caption += f" {format_count(others)} more are smaller." if others > 0 else ""
    return Figure("Weights", caption, legend=legend, bars=bars)


def _largest_weight(weights: LinearWeights, i: int) -> tuple[str, float]:
    """Label and largest weight of an encoded column."""
    j = int(np.abs(weights.values[i]).argmax())
    several = weights.values.shape[1] > 1
    label = f"{weights.names[i]} → {weights.outputs[j]}" if several else weights.names[i]
    return label, float(weights.values[i, j])


# ---- partial dependence


def dependence_figures(dependences: Sequence[PartialDependence]) -> list[Figure]:
    """A small chart per column, all on one scale of the prediction."""
    values = [part for each in dependences for part in _dependence_range(each)]
    limits = pad_limits(np.concatenate(values), 0.05) if values else (0.0, 1.0)
    return [_dependence_figure(each, limits) for each in dependences]


def _dependence_range(dependence: PartialDependence) -> list[np.ndarray]:
    has_band = dependence.mean.shape[1] == 1
    return (
        [dependence.low.ravel(), dependence.high.ravel()] if has_band else [dependence.mean.ravel()]
    )


def _dependence_figure(dependence: PartialDependence, limits: Limits) -> Figure:
    is_numeric = dependence.share is None
    chart = (
        _dependence_curve(dependence, limits)
        if is_numeric
        else _dependence_levels(dependence, limits)
    )
    legend = []
    if len(dependence.outputs) > 1:
        legend = [(f"c{i % 8}", name) for i, name in enumerate(dependence.outputs)]
    return Figure(dependence.column, _dependence_caption(dependence), [chart], legend)


def _dependence_curve(dependence: PartialDependence, limits: Limits) -> Markup:
    xs = to_numbers(dependence.grid)
    has_band = dependence.mean.shape[1] == 1
    chart = Chart(pad_limits(xs, 0.0), limits, size=_SMALL, margins=(24, 10, 48, 44))
    chart.axes("", _output_label(dependence), ticks=(4, 4))
    if has_band:
        chart.band(xs, dependence.low[:, 0], dependence.high[:, 0], "main")
    for i in range(dependence.mean.shape[1]):
        chart.line(xs, dependence.mean[:, i], "main" if has_band else f"c{i % 8}")
    if dependence.values is not None:
        _draw_rug(chart, to_numbers(dependence.values), (xs[0], xs[-1]))
    return chart.render(f"Prediction against {dependence.column}")


def _draw_rug(chart: Chart, values: np.ndarray, limits: Limits) -> None:
    """A small histogram of the column below the chart."""
    values = values[np.isfinite(values) & (values >= limits[0]) & (values <= limits[1])]
    if not len(values) or limits[0] == limits[1]:
        return
    counts, edges = count_bins(values, 40, limits)
    for n, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        if n:
            height = 18 * n / counts.max()
            chart.add(
                "rect",
                x=chart.x(left),
                y=chart.height - 2 - height,
                width=chart.x(right) - chart.x(left) - 1,
                height=height,
                class_="bar grey pale",
            )


def _dependence_levels(dependence: PartialDependence, limits: Limits) -> Markup:
    n = len(dependence.grid)
    chart = Chart(limits, (0, n), size=(_SMALL[0], 46 + 24 * n), margins=(18, 10, 22, 112))
    for value, label in chart.x.ticks(4):
        chart.vertical_line(value, "grid")
        chart.text(float(chart.x(value)), chart.y.start + 14, label, class_="tick mid")
    chart.text(2, 10, _output_label(dependence), class_="name")
    has_band = dependence.mean.shape[1] == 1
    for i, level in enumerate(dependence.grid):
        y = n - i - 0.5
        name = "missing" if level is None else format_value(level)
        share = (
            ""
            if dependence.share is None
            else f", {format_percent(float(dependence.share[i]))} of rows"
        )
        chart.text(chart.x.start - 8, float(chart.y(y)) + 4, shorten(name, 16), class_="end")
        for j in range(dependence.mean.shape[1]):
            color = "main" if has_band else f"c{j % 8}"
            if has_band:
                chart.line([dependence.low[i, j], dependence.high[i, j]], [y, y], f"{color} pale")
            tip = f"{name}: {format_value(dependence.mean[i, j], scale=_size(limits))}{share}"
            chart.marker(dependence.mean[i, j], y, f"{color} ring", tip, 5.5)
    return chart.render(f"Prediction for the levels of {dependence.column}")


def _size(limits: Limits) -> float:
    return max(abs(limits[0]), abs(limits[1]))


def _output_label(dependence: PartialDependence) -> str:
    if len(dependence.outputs) > 1:
        return "probability"
    return (
        f"probability of {dependence.outputs[0]}"
        if dependence.is_probability
        else f"predicted {dependence.outputs[0]}"
    )


def _dependence_caption(dependence: PartialDependence) -> str:
    i = int(np.ptp(dependence.mean, axis=0).argmax())
    curve = dependence.mean[:, i]
    scale = float(np.abs(curve).max())
    low, high = int(curve.argmin()), int(curve.argmax())
    output = (
        f"the probability of {dependence.outputs[i]}"
        if dependence.is_probability
        else dependence.outputs[i]
    )
    texts = [format_rounded(value, scale=scale) for value in curve]
    if np.ptp(curve) <= 1e-9 * max(scale, 1.0):
        return "The prediction does not depend on it."
    if dependence.share is not None:
        return (
            f"Lowest for {_quote_level(dependence.grid[low])} ({texts[low]}), highest for "
            f"{_quote_level(dependence.grid[high])} ({texts[high]})."
        )
    steps = np.diff(curve)
    rising = steps[steps > 0].sum() / max(np.abs(steps).sum(), 1e-300)
    verb = "rises" if rising > 0.95 else "falls" if rising < 0.05 else None
    if verb:
        ends = f"{format_value(dependence.grid[0])} to {format_value(dependence.grid[-1])}"
        return f"From {ends}, {output} {verb} from {texts[0]} to {texts[-1]}."
    subject = capitalize_first(output) if dependence.is_probability else output
    return (
        f"{subject} is lowest near {format_value(dependence.grid[low])} and highest near "
        f"{format_value(dependence.grid[high])}."
    )


def _quote_level(level: object) -> str:
    return "missing" if level is None else f"“{format_value(level)}”"


# ---- worst errors


class ErrorCard(NamedTuple):
    """A row that was predicted badly."""

    row: int
    size: str
    truth: str
    predicted: str
    cells: list[tuple[str, str]]
    n_more: int


def summarize_errors(errors: Sequence[WorstError], row_name: str) -> str:
    """What the cards show."""
    if errors[0].certainty is None:
        kind = f"The {row_name}s with the largest errors"
    else:
        kind = f"The {row_name}s that were misclassified with the highest probability"
    return f"{kind}. Check such rows: some are rare cases, others are errors in the table."


def error_cards(explanation: Explanation) -> list[ErrorCard]:
    """One card per row, its most important columns first."""
    order = [each.column for each in explanation.importances]
    return [_error_card(each, order) for each in explanation.mistakes[:_MAX_ERRORS]]


def _error_card(error: WorstError, order: list[str]) -> ErrorCard:
    names = [column for column in order if column in error.cells]
    names += [column for column in error.cells if column not in names]
    cells = [(name, _cell_text(error.cells[name])) for name in names[:_MAX_CELLS]]
    if error.certainty is None:
        size = f"off by {format_rounded(abs(error.truth - error.predicted))}"
        predicted = format_rounded(error.predicted)
    else:
        size = f"probability {format_percent(error.certainty)}"
        predicted = format_value(error.predicted)
    n_more = max(len(names) - _MAX_CELLS, 0)
    return ErrorCard(error.row, size, format_value(error.truth), predicted, cells, n_more)


def _cell_text(value: Any) -> str:
    return shorten(format_value(value, 4), _MAX_CELL_LENGTH)


# ---- learning curve


def learning_curve_figure(curve: LearningCurve, metric: str, title: str) -> Figure:
    """Score against the number of training rows."""
    caption = (
        f"{capitalize_first(metric_title(metric))} of {title}, fitted on more and more rows. Bands "
        "span the folds. The gap between the curves is overfitting."
    )
    charts = [
        _learning_chart(curve, metric, (760, 290), "broad"),
        _learning_chart(curve, metric, (360, 260), "narrow"),
    ]
    legend = [("main", "validation rows"), ("grey", "training rows")]
    return Figure("Learning curve", caption, charts, legend)


def _learning_chart(
    curve: LearningCurve, metric: str, size: tuple[int, int], class_: str
) -> Markup:
    sign = display_value(metric, 1.0)
    train, test = sign * curve.train, sign * curve.test
    means = np.concatenate([test.mean(axis=1), train.mean(axis=1)])
    limits = pad_limits([*means, *np.quantile(test, [0.1, 0.9])], 0.08)
    sizes = float(curve.sizes[0]), float(curve.sizes[-1])
    chart = Chart(sizes, limits, size=size, margins=(26, 16, 40, 48), log=True)
    chart.axes("training rows", metric_title(metric))
    for scores, color in ((train, "grey"), (test, "main")):
        low, high, mean = scores.min(axis=1), scores.max(axis=1), scores.mean(axis=1)
        chart.band(curve.sizes, np.clip(low, *limits), np.clip(high, *limits), color)
        chart.line(curve.sizes, np.clip(mean, *limits), color)
        for rows, value in zip(curve.sizes, mean, strict=True):
            tip = f"{format_count(rows)} rows: {format_value(value, scale=_size(limits))}"
            chart.marker(rows, float(np.clip(value, *limits)), f"{color} ring", tip)
    return chart.render("Learning curve", class_)


def summarize_learning_curve(curve: LearningCurve, metric: str) -> str:
    """Whether more rows would help, and whether the model overfits."""
    test, train = curve.test.mean(axis=1), curve.train.mean(axis=1)
    folds = curve.test.shape[1]
    error = curve.test[-1].std(ddof=1) / np.sqrt(folds) if folds > 1 else 0
    if test[-1] - test[-2] > max(error, 0.01 * abs(test[-1])):
        trend = "More rows would probably help: the curve still rises at its right end."
    else:
        trend = "More rows would not help much: the curve is flat at its right end."
    gap = train[-1] - test[-1]
    if gap > max(2 * error, 0.02):
        return (
            f"{trend} The model scores better on training rows, by {format_value(gap, 2)} in "
            f"{metric_title(metric)}: it partly memorizes the training data."
        )
    return f"{trend} It scores about the same on training and validation rows: no overfitting."
