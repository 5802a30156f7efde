"""The test part of a study: a table of scores, and figures of the errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.explanation import target_values
from tenfold.automl.result import HoldoutEvaluation, Study
from tenfold.automl.schema import cells_to_records
from tenfold.io.columnar import ColumnBatch
from tenfold.metrics.calibration import Calibration
from tenfold.metrics.confusion import ConfusionMatrix
from tenfold.metrics.threshold_curves import PrecisionRecallCurve, RocCurve
from tenfold.report.figures import Figure, MatrixCell, count_bins, share_bar, thin_indices
from tenfold.report.format import (
    clip_interval,
    display_value,
    format_count,
    format_percent,
    format_rounded,
    format_score,
    format_value,
    metric_label,
    metric_title,
)
from tenfold.report.svg import Chart, pad_limits

_MAX_MATRIX_CLASSES = 12  # a larger confusion matrix cannot be read
_MAX_BAR_CLASSES = 14
_MAX_CURVES = 6  # classes that get a curve: those of lowest recall
_CURVE_POINTS = 160
_SCATTER_POINTS = 900
_COVERAGE_LEVELS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
_SIZE = (360, 300)
_MARGINS = (26, 12, 40, 50)


class ScoreRow(NamedTuple):
    """A line of the table of scores."""

    title: str
    value: str
    interval: str
    baseline: str
    meaning: str


def score_rows(study: Study) -> list[ScoreRow]:
    """Every score of the test part, with its interval, that of the baseline, and its meaning."""
    return [] if study.test is None else [_score_row(study, name) for name in study.test.scores]


def _score_row(study: Study, name: str) -> ScoreRow:
    assert study.test is not None  # noqa: S101
    interval = ""
    if name in study.test.intervals:
        ends = clip_interval(name, *study.test.intervals[name])
        low, high = sorted(ends, key=lambda end: display_value(name, end))
        interval = f"{format_score(name, low)} to {format_score(name, high)}"
    return ScoreRow(
        metric_title(name),
        format_score(name, study.test.scores[name]),
        interval,
        _baseline_score(study, name),
        metric_label(name).meaning,
    )


def _baseline_score(study: Study, name: str) -> str:
    baseline = next((attempt for attempt in study.ranking if attempt.key == "baseline"), None)
    if baseline is None:
        return ""
    scores = baseline.scores if name == study.metric else baseline.others.get(name, [])
    return format_score(name, float(sum(scores) / len(scores))) if len(scores) else ""


def holdout_figures(study: Study) -> list[Figure]:
    """Figures of the test part that suit the task."""
    if study.test is None:
        return []
    if study.task == "regression":
        return regression_figures(study)
    return classification_figures(study.test, study.classes or [])


# ---- classification


def classification_figures(test: HoldoutEvaluation, classes: list[Any]) -> list[Figure]:
    """Confusion matrix, ROC curve, precision and recall, calibration; recall of many classes."""
    names = [str(label) for label in classes]
    figures = []
    if len(names) <= _MAX_MATRIX_CLASSES:
        figures.append(_confusion_figure(test, names))
    if test.probabilities is not None:
        curves = _shown_curves(test, names)
        figures.append(_roc_figure(curves, names))
        figures.append(_precision_recall_figure(curves, names))
        figures.append(_calibration_figure(test, names))
    if len(names) > _MAX_MATRIX_CLASSES:
        figures.append(_recall_figure(test, names))
    return figures


def _confusion_figure(test: HoldoutEvaluation, names: list[str]) -> Figure:
    labels = np.arange(len(names))
    matrix = ConfusionMatrix.from_predictions(
        test.y.astype(int), test.predicted.astype(int), classes=labels
    )
    counts = matrix.counts.astype(int)
    rows = [
        (name, [_matrix_cell(counts, i, j, names) for j in range(len(names))])
        for i, name in enumerate(names)
    ]
    return Figure("Confusion matrix", _confusion_caption(counts, names), matrix=rows)


def _matrix_cell(counts: np.ndarray, i: int, j: int, names: list[str]) -> MatrixCell:
    n, share = int(counts[i, j]), counts[i, j] / max(counts[i].sum(), 1)
    color = "var(--main)" if i == j else "var(--c1)"
    strength = 8 + 84 * share if n else 0
    text = "var(--card)" if strength > 55 else "var(--ink)" if n else "var(--faint)"
    background = f"color-mix(in srgb, {color} {strength:.0f}%, var(--tint))"
    tip = f"true {names[i]}, predicted {names[j]}: {format_count(n)} rows, {format_percent(share)}"
    style = f"background:{background};color:{text}"
    return MatrixCell(format_count(n), format_percent(share), tip, style)


def _confusion_caption(counts: np.ndarray, names: list[str]) -> str:
    axes = "Rows are the true class, columns the predicted one."
    errors = counts - np.diag(np.diag(counts))
    if not errors.any():
        return f"{axes} Every row of the test part is predicted correctly."
    i, j = np.unravel_index(errors.argmax(), errors.shape)
    return (
        f"{axes} {format_count(errors.sum())} of {format_count(counts.sum())} predictions are "
        f"wrong. The most frequent error takes “{names[i]}” for “{names[j]}”: "
        f"{format_count(errors[i, j])} of {format_count(counts[i].sum())}."
    )


class _ClassCurve(NamedTuple):
    """One class against the rest: its index, the color of its curve, and its predictions."""

    class_index: int
    color: str
    is_class: np.ndarray
    probability: np.ndarray


def _shown_curves(test: HoldoutEvaluation, names: list[str]) -> list[_ClassCurve]:
    """The second of two classes; of many, those of lowest recall."""
    assert test.probabilities is not None  # noqa: S101
    two = len(names) == 2
    indices = [1] if two else sorted(list(class_recalls(test))[:_MAX_CURVES])
    curves = [
        _ClassCurve(i, "main" if two else f"c{n} thin", test.y == i, test.probabilities[:, i])
        for n, i in enumerate(indices)
    ]
    return [curve for curve in curves if curve.is_class.any() and not curve.is_class.all()]


def _curve_legend(curves: list[_ClassCurve], names: list[str]) -> list[tuple[str, str]]:
    if len(names) == 2:
        return []
    return [(curve.color.split()[0], names[curve.class_index]) for curve in curves]


def _roc_figure(curves: list[_ClassCurve], names: list[str]) -> Figure:
    chart = Chart((0, 1), (0, 1), size=_SIZE).axes("false positive rate", "true positive rate")
    chart.line([0, 1], [0, 1], "grey dashed")
    areas = {}
    for curve in curves:
        roc = RocCurve.from_predictions(curve.is_class, curve.probability)
        areas[curve.class_index] = roc.auc
        points = thin_indices(len(roc.fpr), _CURVE_POINTS)
        if len(names) == 2:
            chart.band(roc.fpr[points], np.zeros(len(points)), roc.tpr[points], "main veil")
        chart.line(roc.fpr[points], roc.tpr[points], curve.color)
    return Figure(
        "ROC curve",
        _roc_caption(areas, names),
        [chart.render("ROC curve")],
        _curve_legend(curves, names),
    )


def _roc_caption(areas: dict[int, float], names: list[str]) -> str:
    if not areas:
        return "The test part holds rows of one class only: there is no curve."
    if len(names) == 2:
        return (
            f"The area under the curve is {format_value(areas[1])}: the probability that a true "
            f"“{names[1]}” is ranked above another row. The dashed line is random guessing."
        )
    worst = min(areas, key=lambda i: areas[i])
    if areas[worst] == 1:
        return "Each class against the rest. All classes are ranked without an error."
    return (
        f"Each class against the rest. “{names[worst]}” is the hardest to separate, with an area "
        f"under the curve of {format_value(areas[worst])}."
    )


def _precision_recall_figure(curves: list[_ClassCurve], names: list[str]) -> Figure:
    chart = Chart((0, 1), (0, 1), size=_SIZE).axes("recall", "precision")
    caption = "Precision at each recall, each class against the rest; higher is better."
    for curve in curves:
        pr = PrecisionRecallCurve.from_predictions(curve.is_class, curve.probability)
        points = thin_indices(len(pr.recall), _CURVE_POINTS)
        chart.line(pr.recall[points], pr.precision[points], curve.color)
        if len(names) == 2:
            chart.line([0, 1], [pr.prevalence, pr.prevalence], "grey dashed")
            best = float(pr.precision[pr.recall >= 0.9].max())
            caption = (
                f"To find nine of ten “{names[1]}” rows, accept that {format_percent(best)} of "
                f"the positive predictions are correct; random guessing has "
                f"{format_percent(pr.prevalence)} (dashed). Average precision: "
                f"{format_value(pr.average_precision)}."
            )
    charts = [chart.render("Precision-recall curve")]
    return Figure("Precision and recall", caption, charts, _curve_legend(curves, names))


def _calibration_figure(test: HoldoutEvaluation, names: list[str]) -> Figure:
    """Observed frequency against predicted probability; of many classes, of the predicted one."""
    assert test.probabilities is not None  # noqa: S101
    if len(names) == 2:
        probability, is_true = test.probabilities[:, 1], test.y == 1
    else:
        probability = test.probabilities.max(axis=1)
        is_true = test.probabilities.argmax(axis=1) == test.y
    bins = Calibration.from_predictions(is_true, probability, positive=True)
    chart = Chart((0, 1), (0, 1), size=_SIZE).axes("predicted probability", "observed frequency")
    chart.line([0, 1], [0, 1], "grey dashed")
    used = np.flatnonzero(bins.weight)
    points = [(bins.predicted[b], bins.observed[b], bins.weight[b]) for b in used]
    for predicted, observed, n in points:
        half = 1.96 * np.sqrt(max(observed * (1 - observed), 0.25 / n) / n)
        low, high = np.clip([observed - half, observed + half], 0, 1)
        chart.error_bar(predicted, low, high, "line thin main pale")
    chart.line(bins.predicted[used], bins.observed[used], "main")
    for predicted, observed, n in points:
        tip = (
            f"{format_count(n)} rows: predicted {format_percent(predicted)}, "
            f"observed {format_percent(observed)}"
        )
        chart.marker(predicted, observed, "main ring", tip)
    error = bins.expected_error
    verdict = "are well calibrated" if error < 0.05 else "should be read with care"
    caption = (
        f"Predicted probabilities and observed frequencies differ by {format_percent(error)} on "
        f"average: the probabilities {verdict}."
    )
    return Figure("Calibration", caption, [chart.render("Calibration")])


def class_recalls(test: HoldoutEvaluation) -> dict[int, float]:
    """Recall of each class, the lowest first."""
    present = np.unique(test.y).astype(int)
    recalls = {int(i): float(np.mean(test.predicted[test.y == i] == i)) for i in present}
    return dict(sorted(recalls.items(), key=lambda pair: pair[1]))


def _recall_figure(test: HoldoutEvaluation, names: list[str]) -> Figure:
    recalls = class_recalls(test)
    worst = list(recalls)[:_MAX_BAR_CLASSES]
    bars = [share_bar(names[i], recalls[i], format_percent(recalls[i])) for i in worst]
    caption = (
        f"Share of each class that is predicted correctly, the lowest first: "
        f"{format_percent(recalls[worst[0]])} of the “{names[worst[0]]}” rows."
    )
    return Figure("Recall by class", caption, bars=bars)


# ---- regression


def regression_figures(study: Study) -> list[Figure]:
    """Predictions against true values, the errors, and the coverage of intervals."""
    test, target = study.test, str(study.target)
    assert test is not None  # noqa: S101
    return [
        _prediction_figure(test, target),
        _residual_histogram(test),
        _residual_figure(test, target),
        _coverage_figure(study.model, study.test_rows),
    ]


def _prediction_figure(test: HoldoutEvaluation, target: str) -> Figure:
    limits = pad_limits(np.concatenate([_central(test.y), _central(test.predicted)]), 0.04)
    chart = Chart(limits, limits, size=_SIZE, margins=_MARGINS).axes("predicted", f"true {target}")
    chart.line(limits, limits, "grey dashed")
    rows = thin_indices(len(test.y), _SCATTER_POINTS)
    rows = rows[_is_within(test.y[rows], limits) & _is_within(test.predicted[rows], limits)]
    chart.points(test.predicted[rows], test.y[rows], "main")
    error = np.abs(test.y - test.predicted)
    caption = (
        f"Half of the predictions are off by less than {format_rounded(np.median(error))}, nine "
        f"of ten by less than {format_rounded(np.quantile(error, 0.9))}. On the dashed line the "
        "prediction is exact."
    )
    return Figure("Predicted and true values", caption, [chart.render("True against predicted")])


def _residual_histogram(test: HoldoutEvaluation) -> Figure:
    errors = test.y - test.predicted
    limit = float(np.quantile(np.abs(errors), 0.99)) or 1.0
    counts, edges = count_bins(np.clip(errors, -limit, limit), 31, (-limit, limit))
    chart = Chart((-limit, limit), (0, counts.max() * 1.1), size=_SIZE)
    chart.axes("true minus predicted", "rows", ticks=(5, 4))
    chart.histogram(counts, edges, "bar main", bin_tips(counts, edges))
    chart.vertical_line(0, "line thin grey dashed")
    return Figure("Residuals", _residual_caption(errors), [chart.render("Histogram of residuals")])


def bin_tips(counts: np.ndarray, edges: np.ndarray) -> list[str]:
    """Tooltips of a histogram."""
    scale = float(np.abs(edges).max())
    texts = [format_value(edge, scale=scale) for edge in edges]
    return [
        f"{low} to {high}: {format_count(n)} rows"
        for n, low, high in zip(counts, texts[:-1], texts[1:], strict=True)
    ]


def _residual_caption(errors: np.ndarray) -> str:
    mean, error = float(errors.mean()), float(errors.std() / np.sqrt(len(errors)))
    if abs(mean) < 2 * error:
        bias = "The mean error is not distinguishable from zero: the model is not biased."
    else:
        direction = "low" if mean > 0 else "high"
        bias = f"On average the predictions are too {direction}, by {format_rounded(abs(mean))}."
    size = np.sort(np.abs(errors))[::-1]
    worst = float((size[: max(len(size) // 20, 1)] ** 2).sum() / max((size**2).sum(), 1e-300))
    return f"{bias} The worst 5 % of the rows cause {format_percent(worst)} of the squared error."


def _residual_figure(test: HoldoutEvaluation, target: str) -> Figure:
    errors = test.y - test.predicted
    limit = float(np.quantile(np.abs(errors), 0.985)) * 1.1 or 1.0
    limits = pad_limits(_central(test.predicted), 0.03)
    chart = Chart(limits, (-limit, limit), size=_SIZE, margins=_MARGINS)
    chart.axes(f"predicted {target}", "true minus predicted")
    rows = thin_indices(len(errors), _SCATTER_POINTS)
    rows = rows[_is_within(errors[rows], (-limit, limit))]
    rows = rows[_is_within(test.predicted[rows], limits)]
    chart.points(test.predicted[rows], errors[rows], "main")
    chart.line(limits, (0, 0), "grey dashed")
    centers, low, median, high = running_quantiles(test.predicted, errors)
    chart.band(centers, np.maximum(low, -limit), np.minimum(high, limit), "warm")
    chart.line(centers, np.clip(median, -limit, limit), "warm")
    caption = f"The band holds 80 % of the rows. {_spread_caption(test, high - low)}"
    return Figure(
        "Residuals against predictions", caption, [chart.render("Residuals against predictions")]
    )


def running_quantiles(
    x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Medians of x, and 10, 50 and 90 % quantiles of y, in overlapping windows along x."""
    order = np.argsort(x, kind="stable")
    size = int(np.clip(len(x) // 6, min(20, len(x)), 400))
    starts = np.unique(np.linspace(0, len(x) - size, 24).astype(int))
    windows = [order[start : start + size] for start in starts]
    centers = np.array([np.median(x[window]) for window in windows])
    low, median, high = np.array([np.quantile(y[w], [0.1, 0.5, 0.9]) for w in windows]).T
    return centers, low, median, high


def _spread_caption(test: HoldoutEvaluation, width: np.ndarray) -> str:
    ratio = float(width[-1] / max(width[0], 1e-300))
    if len(test.y) < 200 or 0.6 <= ratio <= 1.6:
        return "Where its median leaves the dashed line, predictions are biased."
    if ratio < 0.6:
        return "It is narrower for large predictions."
    return f"It is {format_rounded(ratio, 2)} times wider for large predictions than for small."


def _coverage_figure(model: Any, cells: ColumnBatch) -> Figure:
    y, records = target_values(model, cells[model.target_]), cells_to_records(cells)
    intervals = [model.predict_interval(records, level).T for level in _COVERAGE_LEVELS]
    coverage = [float(np.mean((low <= y) & (y <= high))) for low, high in intervals]
    chart = Chart((0.4, 1), (0.4, 1), size=_SIZE).axes("level of the interval", "coverage")
    chart.line([0.4, 1], [0.4, 1], "grey dashed")
    chart.line(_COVERAGE_LEVELS, np.maximum(coverage, 0.4), "main")
    for level, share in zip(_COVERAGE_LEVELS, coverage, strict=True):
        tip = f"level {format_percent(level)}, coverage {format_percent(share)}"
        chart.marker(level, max(share, 0.4), "main ring", tip)
    width = float(np.median(intervals[-1][1] - intervals[-1][0]))
    caption = (
        f"Prediction intervals of 90 % contain "
        f"{format_percent(coverage[_COVERAGE_LEVELS.index(0.9)])} of the test rows. The median "
        f"width of those of 95 % is {format_rounded(width)}."
    )
    return Figure("Coverage of intervals", caption, [chart.render("Coverage of intervals")])


def _central(values: np.ndarray) -> np.ndarray:
    return np.quantile(values, [0.003, 0.997])


def _is_within(values: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
    return (values >= limits[0]) & (values <= limits[1])
