"""Pictures of groups: a map, sizes and profiles, how many."""

from __future__ import annotations

import numpy as np

from tenfold.report.drawing import Canvas, figure, key
from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import count, percent, shown
from tenfold.report.scales import padded
from tenfold.report.scores import title_of
from tenfold.study.result import Clusters, Study

TRAITS = 5
POINTS = 2500


def groups_section(study: Study) -> Html:
    """Map beside the choice of the number, then one card per group."""
    assert study.clusters is not None  # noqa: S101
    found = study.clusters
    cards = [_card(found, i) for i in range(len(found.sizes))]
    return joined(
        tag("div", groups_map(found), how_many(study), class_="figures"),
        tag("h3", "What sets each group apart"),
        tag("div", cards, class_="cards"),
    )


def groups_map(found: Clusters) -> Html:
    """Rows along the two main directions."""
    rows = np.unique(
        np.linspace(0, len(found.points) - 1, min(len(found.points), POINTS)).astype(int)
    )
    points, labels = found.points[rows], found.point_labels[rows]
    xs, ys = (padded(np.quantile(points[:, i], [0.002, 0.998]), 0.05) for i in (0, 1))
    canvas = Canvas(xs, ys, size=(400, 340)).axes(_direction(found, 0), _direction(found, 1))
    inside = (points > [xs[0], ys[0]]).all(axis=1) & (points < [xs[1], ys[1]]).all(axis=1)
    for group in range(len(found.sizes)):
        mine = inside & (labels == group)
        canvas.dots(points[mine, 0], points[mine, 1], f"c{group % 8}")
    legend = key(*((f"c{i % 8}", f"group {i + 1}") for i in range(min(len(found.sizes), 12))))
    share = float(np.sum(found.variance[:2]))
    said = (
        "Each point is a row. Near points are alike, as far as two directions of "
        f"{len(found.names)} can show it: they carry {percent(min(share, 1.0))} of the variance."
    )
    return figure(joined(legend, canvas.drawn("Map of the rows")), "A map of the rows", said)


def _direction(found: Clusters, i: int) -> str:
    return (
        f"direction {i + 1} ({percent(float(found.variance[i]))})"
        if len(found.variance) > i
        else ""
    )


def how_many(study: Study) -> Html:
    """Score of every number of groups that was tried."""
    done = [each for each in study.attempts if each.finished and len(each.scores)]
    places, scores = np.arange(len(done)), np.array([each.mean for each in done])
    canvas = Canvas((-0.4, len(done) - 0.6), padded(scores, 0.12), size=(400, 340))
    canvas.axes("", title_of(study.metric), ticks=(0, 5))
    canvas.line(places, scores, "grey thin")
    for i, each in enumerate(done):
        mark = "main ring" if each is study.chosen else "grey ring"
        tip = f"{each.title}: {shown(each.mean)}"
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


def _card(found: Clusters, i: int) -> Html:
    share = found.sizes[i] / max(found.sizes.sum(), 1)
    traits = [
        joined(tag("dt", column), tag("dd", words))
        for column, words, _ in found.profiles[i][:TRAITS]
    ]
    dot = tag("i", class_=f"swatch c{i % 8}")
    return tag(
        "article",
        tag("div", tag("span", dot, tag("b", f"Group {i + 1}")), class_="key group"),
        tag("div", f"{count(found.sizes[i])} rows, {percent(float(share))}", class_="verdict"),
        tag("dl", traits, class_="pairs stacked"),
        class_="card",
    )
