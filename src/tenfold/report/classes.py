"""Where a classifier is right and wrong: confusion, curves of all thresholds, calibration."""

from __future__ import annotations

import numpy as np

from tenfold.report.drawing import Canvas, figure, key
from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import count, percent, shown
from tenfold.study.result import Judged

MOST_CLASSES = 12  # beyond these a table of all pairs is no picture any more
POINTS = 160
LINES = 6  # classes that have a line; the hardest of many
SQUARE = (360, 300)


def class_figures(test: Judged, classes: list[object]) -> Html:
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


def confusion(test: Judged, names: list[str]) -> Html:
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
    tip = f"truth {names[i]}, predicted {names[j]}: {count(n)} rows, {percent(share)}"
    more = tag("small", percent(share)) if len(names) == 2 else None
    return tag("td", count(n), more, style=f"background:{back};color:{ink}", data_tip=tip)


def _confusion_said(table: np.ndarray, names: list[str]) -> str:
    wrong = table - np.diag(np.diag(table))
    if not wrong.any():
        return "Not one row of the test part was mistaken."
    i, j = np.unravel_index(wrong.argmax(), wrong.shape)
    total = int(wrong.sum())
    return (
        f"{count(total)} of {count(table.sum())} rows are wrong. The most frequent mistake takes "
        f"“{names[i]}” for “{names[j]}”: {count(wrong[i, j])} of {count(table[i].sum())}."
    )


def roc(test: Judged, names: list[str]) -> Html:
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
            f"The area under the curve is {shown(areas[1])}: so often a true “{names[1]}” gets a "
            "higher probability than another row. The dashed line is a coin."
        )
    else:
        worst = min(areas, key=lambda i: areas[i])
        said = "Each class against the rest; of many, the hardest. "
        said += (
            "All of them are ranked without a mistake."
            if areas[worst] == 1
            else f"“{names[worst]}” is the hardest to tell, with an area of {shown(areas[worst])}."
        )
    return figure(
        joined(_legend(test, names), canvas.drawn("ROC curve")), "Found against false alarms", said
    )


def precision_recall(test: Judged, names: list[str]) -> Html:
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
                f"To find nine of ten “{names[1]}”, take a threshold at which {percent(clean)} of "
                f"the alarms are true. Without a model it would be {percent(share)} (dashed). "
                f"Average precision: {shown(average_precision_score(hits, score))}."
            )
    said = (
        said or "Lines that stay high to the right edge belong to classes that are found cleanly."
    )
    return figure(
        joined(_legend(test, names), canvas.drawn("Precision and recall")), "Clean alarms", said
    )


def calibration(test: Judged, names: list[str]) -> Html:
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
        tip = f"{count(n)} rows: stated {percent(stated)}, came true {percent(came)}"
        canvas.point(stated, came, "main ring", tip)
    gap = float(np.sum([n * abs(came - stated) for stated, came, n in means]) / len(sure))
    verdict = "can be taken at their word" if gap < 0.05 else "should be taken with care"
    said = (
        f"Stated and observed shares differ by {percent(gap)} on average: the probabilities "
        f"{verdict}."
    )
    return figure(canvas.drawn("Calibration"), "Does 80 % mean eight of ten?", said)


def _stated(test: Judged, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Two classes: probability of the second and whether it came; else that of what was said."""
    assert test.probabilities is not None  # noqa: S101
    if len(names) == 2:
        return test.probabilities[:, 1], test.y == 1
    return test.probabilities.max(axis=1), test.probabilities.argmax(axis=1) == test.y


def found_shares(test: Judged) -> dict[int, float]:
    """Share of each class that is recognised, the lowest first."""
    known = np.unique(test.y).astype(int)
    found = {int(i): float(np.mean(test.predicted[test.y == i] == i)) for i in known}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def by_class(test: Judged, names: list[str]) -> Html:
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
            tag("span", percent(found[i]), class_="value"),
        )
        for i in worst
    ]
    said = (
        f"Of all rows that are “{names[worst[0]]}”, {percent(found[worst[0]])} are recognised: the "
        "fewest."
    )
    return figure(tag("div", rows, class_="bars"), "Share found, class by class", said)


def _shown_classes(test: Judged, names: list[str]) -> list[int]:
    """The second of two classes; of many, those that are found least."""
    return [1] if len(names) == 2 else sorted(list(found_shares(test))[:LINES])


def _against_rest(test: Judged, names: list[str]) -> list[tuple[int, str, np.ndarray, np.ndarray]]:
    """Class, colour, whether each row is of it, and its probability."""
    assert test.probabilities is not None  # noqa: S101
    found = []
    for place, i in enumerate(_shown_classes(test, names)):
        colour = "main" if len(names) == 2 else f"c{place} thin"
        found.append((i, colour, test.y == i, test.probabilities[:, i]))
    return [each for each in found if each[2].any() and not each[2].all()]


def _legend(test: Judged, names: list[str]) -> Html | None:
    if len(names) == 2:
        return None
    chosen = _shown_classes(test, names)
    return key(*((f"c{place}", names[i]) for place, i in enumerate(chosen)))


def _thin(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, POINTS)).astype(int))
