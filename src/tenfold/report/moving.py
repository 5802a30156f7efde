"""How the prediction moves with each column that matters: small pictures on one scale."""

from __future__ import annotations

import numpy as np

from tenfold.report.data import as_numbers
from tenfold.report.drawing import Canvas, Ends, figure, key
from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import about, percent, shown
from tenfold.report.scales import padded
from tenfold.study.explaining.explanation import Dependence

SMALL = (320, 210)
DEPENDENCE = (
    "One column is moved, the others stay as they are. The line is the mean over all rows; the "
    "band is wide where rows react differently. All pictures have the same scale, and the small "
    "bars below show where the data lie."
)


def dependence_part(dependences: list[Dependence]) -> Html | None:
    """Title, a sentence how to read it, pictures; None if there is nothing to show."""
    if not dependences:
        return None
    return joined(
        tag("h3", "How the prediction moves with each"),
        tag("p", DEPENDENCE, class_="quiet"),
        dependence_figures(dependences),
    )


def dependence_figures(dependences: list[Dependence]) -> Html:
    """One small picture each, all on the same scale of the prediction."""
    values = [part for each in dependences for part in _reach(each)]
    ends = padded(np.concatenate(values), 0.05) if values else (0.0, 1.0)
    figures = [dependence_figure(each, ends) for each in dependences]
    return tag("div", figures, class_="figures small")


def _reach(each: Dependence) -> list[np.ndarray]:
    alone = each.mean.shape[1] == 1
    return [each.low.ravel(), each.high.ravel()] if alone else [each.mean.ravel()]


def dependence_figure(each: Dependence, ends: Ends) -> Html:
    """Line for numbers, bars for levels."""
    picture = _curve(each, ends) if each.share is None else _levels(each, ends)
    legend = None
    if len(each.outputs) > 1:
        legend = key(*((f"c{i % 8}", name) for i, name in enumerate(each.outputs)))
    return figure(joined(legend, picture), each.column, _dependence_said(each))


def _curve(each: Dependence, ends: Ends) -> Html:
    xs = as_numbers(each.grid)
    alone = each.mean.shape[1] == 1
    canvas = Canvas(padded(xs, 0.0), ends, size=SMALL, margins=(24, 10, 48, 44))
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


def _levels(each: Dependence, ends: Ends) -> Html:
    n = len(each.grid)
    canvas = Canvas(ends, (0, n), size=(SMALL[0], 46 + 24 * n), margins=(18, 10, 22, 112))
    for value, label in canvas.x.ticks(4):
        canvas.upright(value, "grid")
        canvas.text(float(canvas.x(value)), canvas.y.start + 14, label, class_="tick mid")
    canvas.text(2, 10, _output_name(each), class_="name")
    alone = each.mean.shape[1] == 1
    for i, level in enumerate(each.grid):
        y = n - i - 0.5
        name = "missing" if level is None else shown(level)
        short = name if len(name) <= 16 else name[:15] + "…"
        share = "" if each.share is None else f", {percent(float(each.share[i]))} of rows"
        canvas.text(canvas.x.start - 8, float(canvas.y(y)) + 4, short, class_="end")
        for j in range(each.mean.shape[1]):
            colour = "main" if alone else f"c{j % 8}"
            if alone:
                canvas.line([each.low[i, j], each.high[i, j]], [y, y], f"{colour} pale")
            tip = f"{name}: {shown(each.mean[i, j])}{share}"
            canvas.point(each.mean[i, j], y, f"{colour} ring", tip, 5.5)
    return canvas.drawn(f"Prediction for the levels of {each.column}")


def _output_name(each: Dependence) -> str:
    if len(each.outputs) > 1:
        return "probability"
    return f"probability of {each.outputs[0]}" if each.chance else f"predicted {each.outputs[0]}"


def _dependence_said(each: Dependence) -> str:
    i = int(np.ptp(each.mean, axis=0).argmax())
    line = each.mean[:, i]
    low, high = int(line.argmin()), int(line.argmax())
    what = f"the probability of {each.outputs[i]}" if each.chance else each.outputs[i]
    if np.ptp(line) < 1e-9:
        return "The prediction does not move with it."
    if each.share is not None:
        return (
            f"Lowest for {_named(each.grid[low])} ({about(line[low])}), highest for "
            f"{_named(each.grid[high])} ({about(line[high])})."
        )
    steps = np.diff(line)
    rising = steps[steps > 0].sum() / max(np.abs(steps).sum(), 1e-300)
    way = "rises" if rising > 0.95 else "falls" if rising < 0.05 else None
    from_to = f"{shown(each.grid[0])} to {shown(each.grid[-1])}"
    if way:
        return f"From {from_to}, {what} {way} from {about(line[0])} to {about(line[-1])}."
    start = what.replace("the", "The", 1) if each.chance else what
    return (
        f"{start} is lowest near {shown(each.grid[low])} and highest near {shown(each.grid[high])}."
    )


def _named(level: object) -> str:
    return "missing" if level is None else f"“{shown(level)}”"
