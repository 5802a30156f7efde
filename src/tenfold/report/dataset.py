"""The data of a study: its columns, the target, and clusters where there is no target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.automl.result import ClusterSummary, Study
from tenfold.report.evaluation import bin_tips
from tenfold.report.figures import Figure, count_bins, share_bar, thin_indices
from tenfold.report.format import (
    format_count,
    format_percent,
    format_rounded,
    format_value,
    join_names,
    metric_title,
    shorten,
)
from tenfold.report.svg import Chart, draw_sparkline, pad_limits

SHOWN_COLUMNS = 12  # the others are folded away
_MAX_LEVELS = 12
_HISTOGRAM_BINS = 22
_MAX_TRAITS = 5
_MAP_POINTS = 2500
_MAP_SIZE = (400, 340)
_PLURALS = {"category": "categories", "constant": "constant columns", "text": "text columns"}
_SINGULARS = {"constant": "constant column", "text": "text column"}


class ColumnRow(NamedTuple):
    """A line of the table of columns."""

    name: str
    kind: str
    sparkline: Markup | None
    values: str
    distinct: str
    missing: str


def column_rows(study: Study, order: list[str]) -> list[ColumnRow]:
    """A line per column; if there are many, those that stand first in `order` come first."""
    names = [name for name in study.kinds if name != study.target]
    if len(names) > SHOWN_COLUMNS and order:
        first = [name for name in order if name in study.kinds][:SHOWN_COLUMNS]
        names = first + [name for name in names if name not in first]
    return [_column_row(study, name) for name in names]


def _column_row(study: Study, name: str) -> ColumnRow:
    kind = study.kinds[name]
    missing = (kind.missing or 0) / max(study.n_rows, 1)
    distinct = kind.distinct
    column = study.train_rows[name] if name in study.train_rows.names else None
    return ColumnRow(
        name,
        kind.kind,
        draw_sparkline(None if column is None else _bar_heights(column)),
        _example_values(kind),
        format_value(distinct, 4) if isinstance(distinct, int) else str(distinct),
        format_percent(missing) if missing else "",
    )


def summarize_columns(study: Study) -> str:
    """Numbers of rows and of columns of each kind, and of columns with missing values."""
    names = [name for name in study.kinds if name != study.target]
    kinds = [study.kinds[name].kind for name in names]
    by_count = sorted(set(kinds), key=lambda kind: -kinds.count(kind))
    counted = [f"{kinds.count(kind)} {_plural(kind, kinds.count(kind))}" for kind in by_count]
    summary = f"{format_count(study.n_rows)} rows with {join_names(counted)}."
    missing = sum(1 for name in names if study.kinds[name].missing)
    if not missing:
        return f"{summary} No value is missing."
    verb = "column has" if missing == 1 else "columns have"
    return f"{summary} {missing} {verb} missing values."


def _plural(kind: str, n: int) -> str:
    return _SINGULARS.get(kind, kind) if n == 1 else _PLURALS.get(kind, f"{kind}s")


def _example_values(kind: Any) -> str:
    if kind.kind in ("number", "date") and kind.low is not None:
        return f"{format_value(kind.low)} to {format_value(kind.high)}"
    return join_names([shorten(format_value(v), 28) for v in kind.examples or []], most=3)


def _bar_heights(column: Any) -> np.ndarray | None:
    """Counts of a histogram of numbers, or of the most frequent levels."""
    if hasattr(column, "codes"):
        codes = column.codes[column.codes >= 0]
        return np.sort(np.bincount(codes))[::-1][:_MAX_LEVELS] if len(codes) else None
    values = to_numbers(column.values)
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= _HISTOGRAM_BINS:
        return counts
    low, high = np.quantile(values, [0.005, 0.995])
    return count_bins(np.clip(values, low, high), _HISTOGRAM_BINS)[0]


def to_numbers(values: Any) -> np.ndarray:
    """Values as floats; dates as years."""
    values = np.asarray(values)
    if values.dtype.kind not in "MO":
        return values.astype(np.float64)
    times = values.astype("datetime64[us]")
    years = 1970 + times.astype(np.float64) / (86_400e6 * 365.2425)
    return np.where(np.isnat(times), np.nan, years)


def target_figure(study: Study) -> Figure | None:
    """Distribution of the target; None without one."""
    if study.test is None:
        return None
    y = study.choosing_y if study.choosing_y is not None else study.test.y
    return _target_histogram(study, y) if study.task == "regression" else _class_bars(study, y)


def _target_histogram(study: Study, y: np.ndarray) -> Figure:
    low, high = np.quantile(y, [0.002, 0.998])
    counts, edges = count_bins(np.clip(y, low, high), 2 * _HISTOGRAM_BINS)
    chart = Chart(pad_limits([low, high], 0.01), (0, counts.max() * 1.12), size=(360, 210))
    chart.axes(str(study.target), "rows", ticks=(5, 3))
    chart.histogram(counts, edges, "bar main pale", bin_tips(counts, edges))
    median = float(np.median(y))
    chart.vertical_line(median, "line thin main")
    label = f"median {format_rounded(median)}"
    chart.text(float(chart.x(median)) + 6, chart.y.end + 8, label, class_="strong")
    caption = (
        f"Half of the rows lie between {format_rounded(np.quantile(y, 0.25))} and "
        f"{format_rounded(np.quantile(y, 0.75))}."
    )
    title = f"Distribution of the target, {study.target}"
    return Figure(title, caption, [chart.render(f"Histogram of {study.target}")])


def _class_bars(study: Study, y: np.ndarray) -> Figure:
    classes = study.classes or []
    counts = np.bincount(y.astype(int), minlength=len(classes))
    shares = counts / counts.sum()
    order = np.argsort(-counts, kind="stable")[:_MAX_LEVELS]
    bars = [
        share_bar(str(classes[i]), shares[i], format_percent(shares[i]), shares.max())
        for i in order
    ]
    caption = (
        f"“{classes[order[0]]}” is the most frequent class, with {format_percent(shares.max())} "
        "of the rows"
    )
    caption += ": the accuracy of always predicting it." if len(classes) < 20 else "."
    return Figure(f"Distribution of the target, {study.target}", caption, bars=bars)


# ---- clusters


class ClusterCard(NamedTuple):
    """A cluster: number, color, size, and pairs of a column and how it differs there."""

    number: int
    color: str
    size: str
    traits: list[tuple[str, str]]


def cluster_cards(clusters: ClusterSummary) -> list[ClusterCard]:
    """One card per cluster."""
    total = max(clusters.sizes.sum(), 1)
    return [
        ClusterCard(
            i + 1,
            f"c{i % 8}",
            f"{format_count(size)} rows, {format_percent(float(size / total))}",
            [(column, text) for column, text, _ in clusters.profiles[i][:_MAX_TRAITS]],
        )
        for i, size in enumerate(clusters.sizes)
    ]


def cluster_figures(study: Study) -> list[Figure]:
    """The rows in two components and as a map, and the score of each number of clusters."""
    if study.clusters is None:
        return []
    figures = [_projection_figure(study.clusters), _n_clusters_figure(study)]
    if study.clusters.map is not None:
        figures.insert(1, _map_figure(study.clusters))
    if len(study.clusters.variance) > 2:  # else two components show everything
        figures.append(_variance_figure(study.clusters))
    return figures


def _cluster_chart(points: np.ndarray, labels: np.ndarray, names: tuple[str, str]) -> Chart:
    """Points of rows, colored by cluster."""
    rows = thin_indices(len(points), _MAP_POINTS)
    points, labels = points[rows], labels[rows]
    xs, ys = (pad_limits(np.quantile(points[:, i], [0.002, 0.998]), 0.05) for i in (0, 1))
    chart = Chart(xs, ys, size=_MAP_SIZE).axes(*names)
    inside = (points > [xs[0], ys[0]]).all(axis=1) & (points < [xs[1], ys[1]]).all(axis=1)
    for cluster in range(int(labels.max(initial=0)) + 1):
        members = inside & (labels == cluster)
        chart.points(points[members, 0], points[members, 1], f"c{cluster % 8}")
    return chart


def _cluster_legend(clusters: ClusterSummary) -> list[tuple[str, str]]:
    return [(f"c{i % 8}", f"cluster {i + 1}") for i in range(min(len(clusters.sizes), 12))]


def _map_figure(clusters: ClusterSummary) -> Figure:
    found = clusters.map
    if found is None:
        raise ValueError("the study has no map")
    chart = _cluster_chart(found.points, found.labels, ("", ""))
    caption = (
        f"A map of {format_count(len(found.points))} rows by t-SNE: rows that are alike lie side "
        "by side, whatever their cluster. Gaps and sizes of groups say little. Trustworthiness "
        f"{found.trust:.2f} (1: all neighbors in the map are neighbors in the data)."
    )
    picture = chart.render("Map of the rows by t-SNE")
    return Figure("Map of neighbors", caption, [picture], _cluster_legend(clusters))


def _projection_figure(clusters: ClusterSummary) -> Figure:
    names = _component(clusters, 0), _component(clusters, 1)
    chart = _cluster_chart(clusters.points, clusters.point_labels, names)
    legend = _cluster_legend(clusters)
    share = float(np.sum(clusters.variance[:2]))
    caption = (
        f"Each point is a row in the first two of {len(clusters.names)} principal components, "
        f"which explain {format_percent(min(share, 1.0))} of the variance."
    )
    for i, weights in enumerate(clusters.loadings[:2]):
        words = ", ".join(f"{'+' if w > 0 else '−'} {name}" for name, w in weights)
        caption += f" Component {i + 1}: {words}."
    return Figure("Principal components", caption, [chart.render("Projection of the rows")], legend)


def _variance_figure(clusters: ClusterSummary) -> Figure:
    """How much of the variance the first components keep."""
    shares = np.minimum(np.cumsum(clusters.variance), 1.0)
    numbers = np.arange(1, len(shares) + 1)
    step = -(-len(shares) // _MAX_LEVELS)  # between numbers that are written below the axis
    chart = Chart((0.6, len(shares) + 0.4), (0.0, 1.05), size=_MAP_SIZE)
    chart.axes("number of components", "share of the variance", ticks=(0, 5))
    chart.line(numbers, shares, "grey thin")
    for number, share in zip(numbers.tolist(), shares.tolist(), strict=True):
        tip = f"{number} components: {format_percent(share)}"
        chart.marker(number, share, "main ring", tip, 5)
        if number % step == 0:
            chart.text(float(chart.x(number)), chart.y.start + 16, str(number), class_="tick mid")
    reached = [
        f"{format_percent(goal)} by {int(np.searchsorted(shares, goal)) + 1}"
        for goal in (0.5, 0.8, 0.95)
        if goal <= shares[-1]
    ]
    caption = "How much of the variance of all columns the first principal components keep"
    caption += f": {', '.join(reached)}." if reached else "."
    return Figure("Retained variance", caption, [chart.render("Retained variance")])


def _component(clusters: ClusterSummary, i: int) -> str:
    if len(clusters.variance) <= i:
        return ""
    return f"component {i + 1} ({format_percent(float(clusters.variance[i]))})"


def _n_clusters_figure(study: Study) -> Figure:
    attempts = [each for each in study.attempts if each.is_finished and len(each.scores)]
    scores = np.array([attempt.mean for attempt in attempts])
    chart = Chart((-0.4, len(attempts) - 0.6), pad_limits(scores, 0.12), size=_MAP_SIZE)
    chart.axes("number of clusters", metric_title(study.metric), ticks=(0, 5))
    chart.line(np.arange(len(attempts)), scores, "grey thin")
    for i, attempt in enumerate(attempts):
        is_chosen = attempt is study.chosen
        tip = f"{attempt.title}: {format_value(attempt.mean)}"
        color = "main ring" if is_chosen else "grey ring"
        chart.marker(i, attempt.mean, color, tip, 7 if is_chosen else 5)
        label = _cluster_count(attempt.params, i)
        chart.text(float(chart.x(i)), chart.y.start + 16, label, class_="tick mid")
    caption = f"{study.chosen.title} were chosen. " + (study.said[-1] if study.said else "")
    label = "Score against the number of clusters"
    return Figure("Number of clusters", caption, [chart.render(label)])


def _cluster_count(params: dict[str, Any], index: int) -> str:
    counts = [v for k, v in params.items() if k.endswith(("n_clusters", "n_components"))]
    return str(counts[0]) if counts else str(index + 1)
