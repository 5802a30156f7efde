"""Where a regression is right and wrong: predicted against true, residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.report.drawing import Canvas, figure
from tenfold.report.html import Html, tag
from tenfold.report.numbers import about, count, percent, shown
from tenfold.report.scales import padded
from tenfold.rows.cells import Cells
from tenfold.study.encoding import as_records
from tenfold.study.explaining.encoded_rows import truth_of
from tenfold.study.result import Judged, Study

POINTS = 900
LEVELS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
SQUARE = (360, 300)


def value_figures(study: Study) -> Html:
    """Four pictures of the same errors."""
    test, target = study.test, str(study.target)
    assert test is not None  # noqa: S101
    return tag(
        "div",
        true_against_predicted(test, target),
        spread_of_errors(test),
        errors_along(test, target),
        coverage(study.model, study.test_rows),
        class_="figures",
    )


def true_against_predicted(test: Judged, target: str) -> Html:
    """Each test row as a point; on the line it is right."""
    ends = padded(np.concatenate([_most(test.y), _most(test.predicted)]), 0.04)
    canvas = Canvas(ends, ends, size=SQUARE, margins=(26, 12, 40, 50)).axes(
        "predicted", f"true {target}"
    )
    canvas.line(ends, ends, "grey dashed")
    rows = _some(len(test.y))
    inside = rows[(_within(test.y[rows], ends)) & _within(test.predicted[rows], ends)]
    canvas.dots(test.predicted[inside], test.y[inside], "main")
    off = np.abs(test.y - test.predicted)
    said = (
        f"Half of the predictions are off by less than {about(np.median(off))}, nine of ten by "
        f"less than {about(np.quantile(off, 0.9))}. On the dashed line a prediction is right."
    )
    return figure(canvas.drawn("True against predicted values"), "True against predicted", said)


def spread_of_errors(test: Judged) -> Html:
    """Histogram of truth minus prediction."""
    errors = test.y - test.predicted
    reach = float(np.quantile(np.abs(errors), 0.99)) or 1.0
    counts, edges = np.histogram(np.clip(errors, -reach, reach), bins=31, range=(-reach, reach))
    canvas = Canvas((-reach, reach), (0, counts.max() * 1.1), size=SQUARE).axes(
        "true minus predicted", "rows", ticks=(5, 4)
    )
    for n, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        tip = f"{shown(left)} to {shown(right)}: {count(n)} rows"
        canvas.box((left + 0.07 * (right - left), right), (0, n), "bar main", tip)
    canvas.upright(0, "line thin grey dashed")
    return figure(
        canvas.drawn("Histogram of errors"), "How large are the errors?", _bias_said(errors)
    )


def _bias_said(errors: np.ndarray) -> str:
    mean, error = float(errors.mean()), float(errors.std() / np.sqrt(len(errors)))
    if abs(mean) < 2 * error:
        words = "Errors lie evenly on both sides of zero: the model is not biased."
    else:
        way = "low" if mean > 0 else "high"
        words = f"On average the model guesses too {way}, by {about(abs(mean))}."
    size = np.sort(np.abs(errors))[::-1]
    top = float((size[: max(len(size) // 20, 1)] ** 2).sum() / max((size**2).sum(), 1e-300))
    return f"{words} The worst twentieth of the rows makes {percent(top)} of the squared error."


def errors_along(test: Judged, target: str) -> Html:
    """Errors against the prediction, with their running quantiles."""
    errors = test.y - test.predicted
    reach = float(np.quantile(np.abs(errors), 0.985)) * 1.1 or 1.0
    ends = padded(_most(test.predicted), 0.03)
    canvas = Canvas(ends, (-reach, reach), size=SQUARE, margins=(26, 12, 40, 50)).axes(
        f"predicted {target}", "true minus predicted"
    )
    rows = _some(len(errors))
    rows = rows[_within(errors[rows], (-reach, reach)) & _within(test.predicted[rows], ends)]
    canvas.dots(test.predicted[rows], errors[rows], "main")
    canvas.line(ends, (0, 0), "grey dashed")
    centre, low, mid, high = running_quantiles(test.predicted, errors)
    canvas.band(centre, np.maximum(low, -reach), np.minimum(high, reach), "warm")
    canvas.line(centre, np.clip(mid, -reach, reach), "warm")
    said = f"The band holds eight of ten rows. {_width_said(test, high - low)}"
    return figure(canvas.drawn("Errors against predictions"), "Errors along the range", said)


def running_quantiles(
    x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Middle of x, and 10, 50 and 90 % quantiles of y, in windows that overlap."""
    order = np.argsort(x, kind="stable")
    wide = int(np.clip(len(x) // 6, min(20, len(x)), 400))
    starts = np.unique(np.linspace(0, len(x) - wide, 24).astype(int))
    windows = [order[start : start + wide] for start in starts]
    centres = np.array([np.median(x[window]) for window in windows])
    quantiles = np.array([np.quantile(y[window], [0.1, 0.5, 0.9]) for window in windows])
    low, mid, high = quantiles.T
    return centres, low, mid, high


def _width_said(test: Judged, width: np.ndarray) -> str:
    ratio = float(width[-1] / max(width[0], 1e-300))
    if len(test.y) < 200 or 0.6 <= ratio <= 1.6:
        return "Where its middle leaves the dashed line, the model is off on average."
    if ratio < 0.6:
        return "It is narrower for large predictions."
    return f"It is {about(ratio, 2)} times wider for large predictions than for small ones."


def coverage(model: Any, cells: Cells) -> Html:
    """Share of the test rows that lie in the intervals of each level."""
    y, records = truth_of(model, cells[model.target_]), as_records(cells)
    ends = [model.predict_interval(records, level).T for level in LEVELS]
    held = [float(np.mean((low <= y) & (y <= high))) for low, high in ends]
    canvas = Canvas((0.4, 1), (0.4, 1), size=SQUARE).axes("level that was asked", "share inside")
    canvas.line([0.4, 1], [0.4, 1], "grey dashed")
    canvas.line(LEVELS, np.maximum(held, 0.4), "main")
    for level, share in zip(LEVELS, held, strict=True):
        tip = f"{percent(level)} asked, {percent(share)} inside"
        canvas.point(level, max(share, 0.4), "main ring", tip)
    width = float(np.median(ends[-1][1] - ends[-1][0]))
    said = (
        f"Intervals of 90 % hold the truth for {percent(held[LEVELS.index(0.9)])} of the test "
        f"rows. Those of 95 % are {about(width)} wide in the middle."
    )
    return figure(canvas.drawn("Coverage of intervals"), "Do the intervals hold?", said)


def _most(values: np.ndarray) -> np.ndarray:
    return np.quantile(values, [0.003, 0.997])


def _within(values: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    return (values >= ends[0]) & (values <= ends[1])


def _some(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, POINTS)).astype(int))
