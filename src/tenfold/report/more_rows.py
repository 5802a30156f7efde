"""Would more rows help? The learning curve."""

from __future__ import annotations

import numpy as np

from tenfold.report.drawing import Canvas, figure, key
from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import count, shown
from tenfold.report.scales import padded
from tenfold.report.scores import natural, title_of
from tenfold.report.words import at_start
from tenfold.study.explaining.explanation import LearningCurve


def more_rows_section(curve: LearningCurve, metric: str, title: str) -> Html:
    """The curve, and what it promises."""
    picture = joined(
        key(("main", "rows it has not seen"), ("grey", "rows it learned from")),
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
            figure(picture, f"{at_start(title_of(metric))} against rows learned from", said),
            class_="figures one",
        ),
    )


def _picture(
    curve: LearningCurve, metric: str, size: tuple[int, int] = (760, 290), class_: str = "broad"
) -> Html:
    train, test = natural_array(metric, curve.train), natural_array(metric, curve.test)
    seen = np.concatenate([test.mean(axis=1), train.mean(axis=1)])
    ends = padded([*seen, *np.quantile(test, [0.1, 0.9])], 0.08)
    sizes = float(curve.sizes[0]), float(curve.sizes[-1])
    canvas = Canvas(sizes, ends, size=size, margins=(26, 16, 40, 48), log=True)
    canvas.axes("rows to learn from", title_of(metric))
    for scores, colour in ((train, "grey"), (test, "main")):
        low, high = scores.min(axis=1), scores.max(axis=1)
        means = scores.mean(axis=1)
        canvas.band(curve.sizes, np.clip(low, *ends), np.clip(high, *ends), colour)
        canvas.line(curve.sizes, np.clip(means, *ends), colour)
        for rows, value in zip(curve.sizes, means, strict=True):
            tip = f"{count(rows)} rows: {shown(value)}"
            canvas.point(rows, float(np.clip(value, *ends)), f"{colour} ring", tip)
    return canvas.drawn("Learning curve", class_)


def natural_array(metric: str, scores: np.ndarray) -> np.ndarray:
    """Scores as people know them."""
    return np.asarray(natural(metric, 1.0) * scores, float)


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
            f"{words} The model does better on rows it has learned from, by {shown(gap, 2)} in "
            f"{title_of(metric)}: it learns partly by heart."
        )
    return (
        f"{words} It does about as well on new rows as on those it learned from, so it does not "
        "over-fit."
    )
