"""What the data are: every column with its kind, its shape and what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.report.drawing import Canvas, at, figure
from tenfold.report.html import Html, breakable, joined, tag
from tenfold.report.numbers import about, count, percent, shown
from tenfold.report.scales import padded
from tenfold.report.words import list_in_words
from tenfold.study.result import Study

SHOWN = 12  # columns before the rest is folded away
KINDS = {"number": "number-kind"}
LEVELS = 12
BARS = 22


def data_section(study: Study, order: list[str]) -> Html:
    """Kinds in a sentence, the target, the columns; `order` names those that matter first."""
    names = [name for name in study.kinds if name != study.target]
    if len(names) > SHOWN and order:
        first = [name for name in order if name in study.kinds][:SHOWN]
        names = first + [name for name in names if name not in first]
    return joined(
        tag("p", _sentence(study, names), class_="say"),
        _target(study),
        columns_table(study, names),
    )


def _sentence(study: Study, names: list[str]) -> str:
    kinds = [study.kinds[name].kind for name in names]
    counted = [f"{kinds.count(kind)} {_plural(kind, kinds.count(kind))}" for kind in _unique(kinds)]
    gaps = sum(1 for name in names if study.kinds[name].missing)
    words = f"{count(study.n_rows)} rows with {list_in_words(counted)}."
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
    whole = len(rows) if len(rows) <= SHOWN + 3 else SHOWN
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
    distinct = shown(kind.distinct, 4) if isinstance(kind.distinct, int) else str(kind.distinct)
    return tag(
        "tr",
        tag("td", breakable(name), class_="name"),
        tag(
            "td", tag("span", tag("i"), kind.kind, class_=f"kind {KINDS.get(kind.kind, kind.kind)}")
        ),
        tag("td", sparkline(_column(study.train_rows, name))),
        tag("td", _values(kind), class_="quiet extra"),
        tag("td", distinct, class_="number extra"),
        tag("td", percent(share) if share else "", class_="number"),
    )


def _values(kind: Any) -> str:
    if kind.kind in ("number", "date") and kind.low is not None:
        return f"{shown(kind.low)} to {shown(kind.high)}"
    return list_in_words([_short(shown(each)) for each in kind.examples or []], most=3)


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
            x=at(i * wide),
            y=at(28 - h),
            width=at(max(wide - 1.2, 0.8)),
            height=at(h),
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


def _target(study: Study) -> Html:
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
    wide = Canvas(padded([low, high], 0.01), (0, counts.max() * 1.12), size=(360, 210))
    wide.axes(str(study.target), "rows", ticks=(5, 3))
    for n, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        tip = f"{shown(left)} to {shown(right)}: {count(n)} rows"
        wide.box((left + 0.06 * (right - left), right), (0, n), "bar main pale", tip)
    middle = float(np.median(y))
    wide.upright(middle, "line thin main")
    wide.text(float(wide.x(middle)) + 6, wide.y.end + 8, f"median {about(middle)}", class_="strong")
    said = (
        f"Half of the rows lie between {about(np.quantile(y, 0.25))} and "
        f"{about(np.quantile(y, 0.75))}."
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
    most = percent(counts.max() / counts.sum())
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
        tag("span", percent(share), class_="value"),
    )
