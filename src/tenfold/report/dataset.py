"""The data: every column with its kind and distribution; clusters, where there is no target."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.automl.result import ClusterSummary, Study
from tenfold.report.format import (
    format_count,
    format_percent,
    format_rounded,
    format_value,
    join_names,
    metric_title,
)
from tenfold.report.svg import (
    Canvas,
    Html,
    breakable,
    draw_legend,
    figure,
    format_coordinate,
    joined,
    pad_limits,
    tag,
)

SHOWN_COLUMNS = 12  # columns before the rest is folded away
KINDS = {"number": "number-kind"}
LEVELS = 12
BARS = 22


def data_section(study: Study, order: list[str]) -> Html:
    """Kinds in a sentence, the target, the columns; `order` names those that matter first."""
    names = [name for name in study.kinds if name != study.target]
    if len(names) > SHOWN_COLUMNS and order:
        first = [name for name in order if name in study.kinds][:SHOWN_COLUMNS]
        names = first + [name for name in names if name not in first]
    return joined(
        tag("p", _sentence(study, names), class_="say"),
        _target_figures(study),
        columns_table(study, names),
    )


def _sentence(study: Study, names: list[str]) -> str:
    kinds = [study.kinds[name].kind for name in names]
    counted = [f"{kinds.count(kind)} {_plural(kind, kinds.count(kind))}" for kind in _unique(kinds)]
    gaps = sum(1 for name in names if study.kinds[name].missing)
    words = f"{format_count(study.n_rows)} rows with {join_names(counted)}."
    if not gaps:
        return words + " Nothing is missing."
    return words + f" {gaps} of the columns {'has' if gaps == 1 else 'have'} gaps."


def _plural(kind: str, n: int) -> str:
    many = {"category": "categories", "constant": "constant columns", "text": "columns of text"}
    one = {"constant": "constant column", "text": "column of text"}
    return one.get(kind, kind) if n == 1 else many.get(kind, f"{kind}s")


def _unique(values: list[str]) -> list[str]:
    return sorted(set(values), key=lambda kind: -values.count(kind))


def columns_table(study: Study, names: list[str]) -> Html:
    """One line per column; a long tail is folded away."""
    head = tag(
        "tr",
        tag("th", "column"),
        tag("th", "kind"),
        tag("th", "shape"),
        tag("th", "values", class_="extra"),
        tag("th", "distinct", class_="number extra"),
        tag("th", "missing", class_="number"),
    )
    rows = [_column_row(study, name) for name in names]
    whole = len(rows) if len(rows) <= SHOWN_COLUMNS + 3 else SHOWN_COLUMNS
    first = tag(
        "div", tag("table", tag("thead", head), tag("tbody", rows[:whole])), class_="scroll"
    )
    if whole == len(rows):
        return first
    rest = tag("div", tag("table", tag("thead", head), tag("tbody", rows[whole:])), class_="scroll")
    more = tag("details", tag("summary", f"The other {len(rows) - whole} columns"), rest)
    return joined(first, more)


def _column_row(study: Study, name: str) -> Html:
    kind = study.kinds[name]
    share = (kind.missing or 0) / max(study.n_rows, 1)
    distinct = (
        format_value(kind.distinct, 4) if isinstance(kind.distinct, int) else str(kind.distinct)
    )
    return tag(
        "tr",
        tag("td", breakable(name), class_="name"),
        tag(
            "td", tag("span", tag("i"), kind.kind, class_=f"kind {KINDS.get(kind.kind, kind.kind)}")
        ),
        tag("td", sparkline(_column(study.train_rows, name))),
        tag("td", _values(kind), class_="quiet extra"),
        tag("td", distinct, class_="number extra"),
        tag("td", format_percent(share) if share else "", class_="number"),
    )


def _values(kind: Any) -> str:
    if kind.kind in ("number", "date") and kind.low is not None:
        return f"{format_value(kind.low)} to {format_value(kind.high)}"
    return join_names([_short(format_value(each)) for each in kind.examples or []], most=3)


def _short(text: str, most: int = 28) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _column(cells: Any, name: str) -> Any:
    try:
        return cells[name]
    except (KeyError, IndexError, TypeError):
        return None


def sparkline(column: Any) -> Html | None:
    """A histogram of numbers, or the most frequent levels, in the height of a line."""
    heights = None if column is None else _heights(column)
    if heights is None or not heights.size or not heights.max():
        return None
    wide = 116 / max(len(heights), 6)
    bars = [
        tag(
            "rect",
            x=format_coordinate(i * wide),
            y=format_coordinate(28 - h),
            width=format_coordinate(max(wide - 1.2, 0.8)),
            height=format_coordinate(h),
            rx="1",
        )
        for i, h in enumerate(np.maximum(28 * heights / heights.max(), 0.6 * (heights > 0)))
    ]
    return tag("svg", bars, viewBox="0 0 116 28", class_="spark", aria_hidden="true")


def _heights(column: Any) -> np.ndarray | None:
    if hasattr(column, "codes"):
        codes = column.codes[column.codes >= 0]
        return np.sort(np.bincount(codes))[::-1][:LEVELS] if len(codes) else None
    values = as_numbers(column.values)
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    different, counts = np.unique(values, return_counts=True)
    if len(different) <= BARS:
        return counts
    low, high = np.quantile(values, [0.005, 0.995])
    return np.histogram(np.clip(values, low, high), bins=BARS)[0]


def as_numbers(values: Any) -> np.ndarray:
    """Values as floats; dates as years."""
    values = np.asarray(values)
    if values.dtype.kind not in "MO":
        return values.astype(np.float64)
    times = values.astype("datetime64[us]")
    years = 1970 + times.astype(np.float64) / (86_400e6 * 365.2425)
    return np.where(np.isnat(times), np.nan, years)


def _target_figures(study: Study) -> Html:
    """The target beside what was inferred."""
    told = tag("ul", [tag("li", line) for line in [*study.said, *study.notes]], class_="told")
    inferred = tag("figure", tag("h4", "What was inferred"), told)
    if study.test is None:
        return tag("div", inferred, class_="figures", style="margin-bottom:18px")
    y = study.choosing_y if study.choosing_y is not None else study.test.y
    made = _histogram(study, y) if study.task == "regression" else _shares(study, y)
    return tag("div", made, inferred, class_="figures", style="margin-bottom:18px")


def _histogram(study: Study, y: np.ndarray) -> Html:
    low, high = np.quantile(y, [0.002, 0.998])
    counts, edges = np.histogram(np.clip(y, low, high), bins=2 * BARS)
    wide = Canvas(pad_limits([low, high], 0.01), (0, counts.max() * 1.12), size=(360, 210))
    wide.axes(str(study.target), "rows", ticks=(5, 3))
    for n, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        tip = f"{format_value(left)} to {format_value(right)}: {format_count(n)} rows"
        wide.box((left + 0.06 * (right - left), right), (0, n), "bar main pale", tip)
    middle = float(np.median(y))
    wide.upright(middle, "line thin main")
    wide.text(
        float(wide.x(middle)) + 6,
        wide.y.end + 8,
        f"median {format_rounded(middle)}",
        class_="strong",
    )
    said = (
        f"Half of the rows lie between {format_rounded(np.quantile(y, 0.25))} and "
        f"{format_rounded(np.quantile(y, 0.75))}."
    )
    picture = wide.drawn(f"Histogram of {study.target}")
    return figure(picture, f"{study.target}, the target", said)


def _shares(study: Study, y: np.ndarray) -> Html:
    classes = study.classes or []
    counts = np.bincount(y.astype(int), minlength=len(classes))
    order = np.argsort(-counts, kind="stable")[:LEVELS]
    rows = [
        _share_bar(str(classes[i]), counts[i] / counts.sum(), counts.max() / counts.sum())
        for i in order
    ]
    most = format_percent(counts.max() / counts.sum())
    said = f"“{classes[order[0]]}” is the most frequent, with {most} of the rows"
    said += ": what a guess gets right." if len(classes) < 20 else "."
    return figure(tag("div", rows, class_="bars"), f"{study.target}, the target", said)


def _share_bar(name: str, share: float, largest: float) -> Html:
    fill = tag(
        "i", class_="fill main", style=f"left:0;width:{100 * share / largest:.1f}%;opacity:.6"
    )
    return joined(
        tag("span", name, class_="label", title=name),
        tag("span", fill, class_="track"),
        tag("span", format_percent(share), class_="value"),
    )


TRAITS = 5
POINTS = 2500


def clusters_section(study: Study) -> Html:
    """Map beside the choice of the number, then one card per group."""
    assert study.clusters is not None  # noqa: S101
    found = study.clusters
    cards = [_card(found, i) for i in range(len(found.sizes))]
    return joined(
        tag("div", clusters_map(found), how_many(study), class_="figures"),
        tag("h3", "What sets each group apart"),
        tag("div", cards, class_="cards"),
    )


def clusters_map(found: ClusterSummary) -> Html:
    """Rows along the two main directions."""
    rows = np.unique(
        np.linspace(0, len(found.points) - 1, min(len(found.points), POINTS)).astype(int)
    )
    points, labels = found.points[rows], found.point_labels[rows]
    xs, ys = (pad_limits(np.quantile(points[:, i], [0.002, 0.998]), 0.05) for i in (0, 1))
    canvas = Canvas(xs, ys, size=(400, 340)).axes(_direction(found, 0), _direction(found, 1))
    inside = (points > [xs[0], ys[0]]).all(axis=1) & (points < [xs[1], ys[1]]).all(axis=1)
    for group in range(len(found.sizes)):
        mine = inside & (labels == group)
        canvas.dots(points[mine, 0], points[mine, 1], f"c{group % 8}")
    legend = draw_legend(
        *((f"c{i % 8}", f"group {i + 1}") for i in range(min(len(found.sizes), 12)))
    )
    share = float(np.sum(found.variance[:2]))
    said = (
        "Each point is a row. Near points are alike, as far as two directions of "
        f"{len(found.names)} can show it: they carry {format_percent(min(share, 1.0))} of the variance."
    )
    return figure(joined(legend, canvas.drawn("Map of the rows")), "A map of the rows", said)


def _direction(found: ClusterSummary, i: int) -> str:
    return (
        f"direction {i + 1} ({format_percent(float(found.variance[i]))})"
        if len(found.variance) > i
        else ""
    )


def how_many(study: Study) -> Html:
    """Score of every number of groups that was tried."""
    done = [each for each in study.attempts if each.finished and len(each.scores)]
    places, scores = np.arange(len(done)), np.array([each.mean for each in done])
    canvas = Canvas((-0.4, len(done) - 0.6), pad_limits(scores, 0.12), size=(400, 340))
    canvas.axes("", metric_title(study.metric), ticks=(0, 5))
    canvas.line(places, scores, "grey thin")
    for i, each in enumerate(done):
        mark = "main ring" if each is study.chosen else "grey ring"
        tip = f"{each.title}: {format_value(each.mean)}"
        canvas.point(i, each.mean, mark, tip, 7 if each is study.chosen else 5)
        canvas.text(
            float(canvas.x(i)), canvas.y.start + 16, _number(each.params, i), class_="tick mid"
        )
    canvas.names("number of groups", "")
    said = f"{study.chosen.title} was chosen. " + (study.said[-1] if study.said else "")
    return figure(canvas.drawn("Score against the number of groups"), "How many groups?", said)


def _number(params: dict[str, object], place: int) -> str:
    sizes = [v for k, v in params.items() if k.endswith(("n_clusters", "n_components"))]
    return str(sizes[0]) if sizes else str(place + 1)


def _card(found: ClusterSummary, i: int) -> Html:
    share = found.sizes[i] / max(found.sizes.sum(), 1)
    traits = [
        joined(tag("dt", column), tag("dd", words))
        for column, words, _ in found.profiles[i][:TRAITS]
    ]
    dot = tag("i", class_=f"swatch c{i % 8}")
    return tag(
        "article",
        tag("div", tag("span", dot, tag("b", f"Group {i + 1}")), class_="key group"),
        tag(
            "div",
            f"{format_count(found.sizes[i])} rows, {format_percent(float(share))}",
            class_="verdict",
        ),
        tag("dl", traits, class_="pairs stacked"),
        class_="card",
    )
