"""The test part: scores, and figures of right and wrong predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.automl.explanation import target_values
from tenfold.automl.result import HoldoutEvaluation, Study
from tenfold.automl.schema import cells_to_records
from tenfold.io.columnar import ColumnBatch
from tenfold.report.format import (
    display_value,
    format_count,
    format_percent,
    format_rounded,
    format_score,
    format_value,
    metric_label,
    metric_title,
)
from tenfold.report.svg import Canvas, Html, draw_legend, figure, joined, pad_limits, tag

MOST_CLASSES = 12  # beyond these a table of all pairs is no picture any more
POINTS = 160
LINES = 6  # classes that have a line; the hardest of many
SQUARE = (360, 300)


def classification_figures(test: HoldoutEvaluation, classes: list[object]) -> Html:
    """All pictures that suit the number of classes."""
    names = [str(each) for each in classes]
    parts: list[Html] = []
    if len(names) <= MOST_CLASSES:
        parts.append(confusion(test, names))
    if test.probabilities is not None:
        parts += [roc(test, names), precision_recall(test, names), calibration(test, names)]
    if len(names) > MOST_CLASSES:
        parts.append(by_class(test, names))
    return tag("div", parts, class_="figures")


def confusion(test: HoldoutEvaluation, names: list[str]) -> Html:
    """Rows are the truth, columns the prediction; each row's colours add up to one."""
    table = np.zeros((len(names), len(names)), int)
    np.add.at(table, (test.y.astype(int), test.predicted.astype(int)), 1)
    head = tag("tr", tag("th"), [tag("th", name, title=name) for name in names])
    rows = [
        tag(
            "tr",
            tag("th", name, class_="row", title=name),
            [_cell(table, i, j, names) for j in range(len(names))],
        )
        for i, name in enumerate(names)
    ]
    kind = "confusion two" if len(names) == 2 else "confusion many"
    body = tag("table", tag("thead", head), tag("tbody", rows), class_=kind)
    return figure(
        tag("div", body, style="overflow-x:auto"),
        "Truth in rows, prediction in columns",
        _confusion_said(table, names),
    )


def _cell(table: np.ndarray, i: int, j: int, names: list[str]) -> Html:
    n, share = int(table[i, j]), table[i, j] / max(table[i].sum(), 1)
    colour = "var(--main)" if i == j else "var(--c1)"
    strong = 8 + 84 * share if n else 0
    ink = "var(--card)" if strong > 55 else "var(--ink)" if n else "var(--faint)"
    back = f"color-mix(in srgb, {colour} {strong:.0f}%, var(--tint))"
    tip = f"truth {names[i]}, predicted {names[j]}: {format_count(n)} rows, {format_percent(share)}"
    more = tag("small", format_percent(share)) if len(names) == 2 else None
    return tag("td", format_count(n), more, style=f"background:{back};color:{ink}", data_tip=tip)


def _confusion_said(table: np.ndarray, names: list[str]) -> str:
    wrong = table - np.diag(np.diag(table))
    if not wrong.any():
        return "Not one row of the test part was mistaken."
    i, j = np.unravel_index(wrong.argmax(), wrong.shape)
    total = int(wrong.sum())
    return (
        f"{format_count(total)} of {format_count(table.sum())} rows are wrong. The most frequent mistake takes "
        f"“{names[i]}” for “{names[j]}”: {format_count(wrong[i, j])} of {format_count(table[i].sum())}."
    )


def roc(test: HoldoutEvaluation, names: list[str]) -> Html:
    """True against false alarms for all thresholds, one line per class."""
    from sklearn.metrics import roc_auc_score, roc_curve

    canvas = Canvas((0, 1), (0, 1), size=SQUARE).axes("false alarms", "found")
    canvas.line([0, 1], [0, 1], "grey dashed")
    areas = {}
    for i, colour, hits, score in _against_rest(test, names):
        false, true, _ = roc_curve(hits, score)
        areas[i] = float(roc_auc_score(hits, score))
        keep = _thin(len(false))
        if len(names) == 2:
            canvas.band(false[keep], np.zeros(len(keep)), true[keep], "main veil")
        canvas.line(false[keep], true[keep], colour)
    if len(names) == 2:
        said = (
            f"The area under the curve is {format_value(areas[1])}: so often a true “{names[1]}” gets a "
            "higher probability than another row. The dashed line is a coin."
        )
    else:
        worst = min(areas, key=lambda i: areas[i])
        said = "Each class against the rest; of many, the hardest. "
        said += (
            "All of them are ranked without a mistake."
            if areas[worst] == 1
            else f"“{names[worst]}” is the hardest to tell, with an area of {format_value(areas[worst])}."
        )
    return figure(
        joined(_legend(test, names), canvas.drawn("ROC curve")), "Found against false alarms", said
    )


def precision_recall(test: HoldoutEvaluation, names: list[str]) -> Html:
    """How clean the alarms are when more and more of the positives are found."""
    from sklearn.metrics import average_precision_score, precision_recall_curve

    canvas = Canvas((0, 1), (0, 1), size=SQUARE).axes(
        "share of positives found", "alarms that are true"
    )
    said = ""
    for _, colour, hits, score in _against_rest(test, names):
        precision, recall, *_ = precision_recall_curve(hits, score)
        keep = _thin(len(recall))
        canvas.line(recall[keep], precision[keep], colour)
        if len(names) == 2:
            share = float(np.mean(hits))
            canvas.line([0, 1], [share, share], "grey dashed")
            clean = float(precision[recall >= 0.9].max())
            said = (
                f"To find nine of ten “{names[1]}”, take a threshold at which {format_percent(clean)} of "
                f"the alarms are true. Without a model it would be {format_percent(share)} (dashed). "
                f"Average precision: {format_value(average_precision_score(hits, score))}."
            )
    said = (
        said or "Lines that stay high to the right edge belong to classes that are found cleanly."
    )
    return figure(
        joined(_legend(test, names), canvas.drawn("Precision and recall")), "Clean alarms", said
    )


def calibration(test: HoldoutEvaluation, names: list[str]) -> Html:
    """Whether 80 % means eight of ten."""
    sure, right = _stated(test, names)
    canvas = Canvas((0, 1), (0, 1), size=SQUARE).axes("stated probability", "share that came true")
    canvas.line([0, 1], [0, 1], "grey dashed")
    edges = np.unique(np.round(np.quantile(sure, np.linspace(0, 1, 11)), 2))
    groups = np.clip(np.searchsorted(edges, sure, side="right") - 1, 0, max(len(edges) - 2, 0))
    means = [
        (sure[groups == g].mean(), right[groups == g].mean(), (groups == g).sum())
        for g in np.unique(groups)
    ]
    for stated, came, n in means:
        half = 1.96 * np.sqrt(max(came * (1 - came), 0.25 / n) / n)
        ends = np.clip([came - half, came + half], 0, 1)
        canvas.add(
            "line",
            x1=canvas.x(stated),
            x2=canvas.x(stated),
            y1=canvas.y(ends[0]),
            y2=canvas.y(ends[1]),
            class_="line thin main pale",
        )
    canvas.line([m[0] for m in means], [m[1] for m in means], "main")
    for stated, came, n in means:
        tip = f"{format_count(n)} rows: stated {format_percent(stated)}, came true {format_percent(came)}"
        canvas.point(stated, came, "main ring", tip)
    gap = float(np.sum([n * abs(came - stated) for stated, came, n in means]) / len(sure))
    verdict = "can be taken at their word" if gap < 0.05 else "should be taken with care"
    said = (
        f"Stated and observed shares differ by {format_percent(gap)} on average: the probabilities "
        f"{verdict}."
    )
    return figure(canvas.drawn("Calibration"), "Does 80 % mean eight of ten?", said)


def _stated(test: HoldoutEvaluation, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Two classes: probability of the second and whether it came; else that of what was said."""
    assert test.probabilities is not None  # noqa: S101
    if len(names) == 2:
        return test.probabilities[:, 1], test.y == 1
    return test.probabilities.max(axis=1), test.probabilities.argmax(axis=1) == test.y


def found_shares(test: HoldoutEvaluation) -> dict[int, float]:
    """Share of each class that is recognised, the lowest first."""
    known = np.unique(test.y).astype(int)
    found = {int(i): float(np.mean(test.predicted[test.y == i] == i)) for i in known}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def by_class(test: HoldoutEvaluation, names: list[str]) -> Html:
    """How many of each class are found, the worst first."""
    found = found_shares(test)
    worst = list(found)[:14]
    rows = [
        joined(
            tag("span", names[i], class_="label", title=names[i]),
            tag(
                "span",
                tag("i", class_="fill main", style=f"left:0;width:{100 * found[i]:.1f}%"),
                class_="track",
            ),
            tag("span", format_percent(found[i]), class_="value"),
        )
        for i in worst
    ]
    said = (
        f"Of all rows that are “{names[worst[0]]}”, {format_percent(found[worst[0]])} are recognised: the "
        "fewest."
    )
    return figure(tag("div", rows, class_="bars"), "Share found, class by class", said)


def _shown_classes(test: HoldoutEvaluation, names: list[str]) -> list[int]:
    """The second of two classes; of many, those that are found least."""
    return [1] if len(names) == 2 else sorted(list(found_shares(test))[:LINES])


def _against_rest(
    test: HoldoutEvaluation, names: list[str]
) -> list[tuple[int, str, np.ndarray, np.ndarray]]:
    """Class, colour, whether each row is of it, and its probability."""
    assert test.probabilities is not None  # noqa: S101
    found = []
    for place, i in enumerate(_shown_classes(test, names)):
        colour = "main" if len(names) == 2 else f"c{place} thin"
        found.append((i, colour, test.y == i, test.probabilities[:, i]))
    return [each for each in found if each[2].any() and not each[2].all()]


def _legend(test: HoldoutEvaluation, names: list[str]) -> Html | None:
    if len(names) == 2:
        return None
    chosen = _shown_classes(test, names)
    return draw_legend(*((f"c{place}", names[i]) for place, i in enumerate(chosen)))


def _thin(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, POINTS)).astype(int))


SCATTER_POINTS = 900
COVERAGE_LEVELS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
REGRESSION_SQUARE = (360, 300)


def regression_figures(study: Study) -> Html:
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


def true_against_predicted(test: HoldoutEvaluation, target: str) -> Html:
    """Each test row as a point; on the line it is right."""
    ends = pad_limits(np.concatenate([_most(test.y), _most(test.predicted)]), 0.04)
    canvas = Canvas(ends, ends, size=REGRESSION_SQUARE, margins=(26, 12, 40, 50)).axes(
        "predicted", f"true {target}"
    )
    canvas.line(ends, ends, "grey dashed")
    rows = _some(len(test.y))
    inside = rows[(_within(test.y[rows], ends)) & _within(test.predicted[rows], ends)]
    canvas.dots(test.predicted[inside], test.y[inside], "main")
    off = np.abs(test.y - test.predicted)
    said = (
        f"Half of the predictions are off by less than {format_rounded(np.median(off))}, nine of ten by "
        f"less than {format_rounded(np.quantile(off, 0.9))}. On the dashed line a prediction is right."
    )
    return figure(canvas.drawn("True against predicted values"), "True against predicted", said)


def spread_of_errors(test: HoldoutEvaluation) -> Html:
    """Histogram of truth minus prediction."""
    errors = test.y - test.predicted
    reach = float(np.quantile(np.abs(errors), 0.99)) or 1.0
    counts, edges = np.histogram(np.clip(errors, -reach, reach), bins=31, range=(-reach, reach))
    canvas = Canvas((-reach, reach), (0, counts.max() * 1.1), size=REGRESSION_SQUARE).axes(
        "true minus predicted", "rows", ticks=(5, 4)
    )
    for n, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        tip = f"{format_value(left)} to {format_value(right)}: {format_count(n)} rows"
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
        words = f"On average the model guesses too {way}, by {format_rounded(abs(mean))}."
    size = np.sort(np.abs(errors))[::-1]
    top = float((size[: max(len(size) // 20, 1)] ** 2).sum() / max((size**2).sum(), 1e-300))
    return (
        f"{words} The worst twentieth of the rows makes {format_percent(top)} of the squared error."
    )


def errors_along(test: HoldoutEvaluation, target: str) -> Html:
    """Errors against the prediction, with their running quantiles."""
    errors = test.y - test.predicted
    reach = float(np.quantile(np.abs(errors), 0.985)) * 1.1 or 1.0
    ends = pad_limits(_most(test.predicted), 0.03)
    canvas = Canvas(ends, (-reach, reach), size=REGRESSION_SQUARE, margins=(26, 12, 40, 50)).axes(
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


def _width_said(test: HoldoutEvaluation, width: np.ndarray) -> str:
    ratio = float(width[-1] / max(width[0], 1e-300))
    if len(test.y) < 200 or 0.6 <= ratio <= 1.6:
        return "Where its middle leaves the dashed line, the model is off on average."
    if ratio < 0.6:
        return "It is narrower for large predictions."
    return (
        f"It is {format_rounded(ratio, 2)} times wider for large predictions than for small ones."
    )


def coverage(model: Any, cells: ColumnBatch) -> Html:
    """Share of the test rows that lie in the intervals of each level."""
    y, records = target_values(model, cells[model.target_]), cells_to_records(cells)
    ends = [model.predict_interval(records, level).T for level in COVERAGE_LEVELS]
    held = [float(np.mean((low <= y) & (y <= high))) for low, high in ends]
    canvas = Canvas((0.4, 1), (0.4, 1), size=REGRESSION_SQUARE).axes(
        "level that was asked", "share inside"
    )
    canvas.line([0.4, 1], [0.4, 1], "grey dashed")
    canvas.line(COVERAGE_LEVELS, np.maximum(held, 0.4), "main")
    for level, share in zip(COVERAGE_LEVELS, held, strict=True):
        tip = f"{format_percent(level)} asked, {format_percent(share)} inside"
        canvas.point(level, max(share, 0.4), "main ring", tip)
    width = float(np.median(ends[-1][1] - ends[-1][0]))
    said = (
        f"Intervals of 90 % hold the truth for {format_percent(held[COVERAGE_LEVELS.index(0.9)])} of the test "
        f"rows. Those of 95 % are {format_rounded(width)} wide in the middle."
    )
    return figure(canvas.drawn("Coverage of intervals"), "Do the intervals hold?", said)


def _most(values: np.ndarray) -> np.ndarray:
    return np.quantile(values, [0.003, 0.997])


def _within(values: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    return (values >= ends[0]) & (values <= ends[1])


def _some(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, SCATTER_POINTS)).astype(int))


def evaluation_section(study: Study) -> Html | None:
    """None without a target."""
    if study.test is None:
        return None
    if study.task == "regression":
        pictures = regression_figures(study)
    else:
        pictures = classification_figures(study.test, study.classes or [])
    said = (
        f"All that follows is about {format_count(len(study.test.y))} rows that were sealed until the "
        "model was chosen."
    )
    return joined(tag("p", said, class_="say"), scores_table(study), pictures)


def scores_table(study: Study) -> Html:
    """Every score with its interval and its meaning."""
    test = study.test
    rows = [] if test is None else [_row(study, name) for name in test.scores]
    head = tag(
        "tr",
        tag("th", "score"),
        tag("th", "value", class_="number"),
        tag("th", "95 % interval", class_="number"),
        tag("th", "guessing", class_="number"),
        tag("th", "what it is", class_="extra"),
    )
    table = tag("table", tag("thead", head), tag("tbody", rows))
    return tag("div", table, class_="scroll", style="margin-bottom:18px")


def _row(study: Study, name: str) -> Html:
    assert study.test is not None  # noqa: S101
    low, high = sorted(
        display_value(name, end) for end in study.test.intervals.get(name, (0.0, 0.0))
    )
    sign = -1 if name.startswith("neg_") else 1
    ends = f"{format_score(name, sign * low)} to {format_score(name, sign * high)}"
    return tag(
        "tr",
        tag("td", metric_title(name), class_="name"),
        tag("td", tag("b", format_score(name, study.test.scores[name])), class_="number"),
        tag("td", ends if name in study.test.intervals else "", class_="number quiet"),
        tag("td", _guessing(study, name), class_="number quiet"),
        tag("td", metric_label(name).means, class_="quiet extra"),
    )


def _guessing(study: Study, name: str) -> str:
    base = next((each for each in study.ranked if each.key == "baseline"), None)
    if base is None:
        return ""
    scores = base.scores if name == study.metric else base.others.get(name, [])
    return format_score(name, float(sum(scores) / len(scores))) if len(scores) else ""
