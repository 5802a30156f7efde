"""Where one-against-the-rest and one-against-one do not know what to say."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from tenfold.linear.logistic import LogisticRegression
from tenfold.linear.reading.ambiguity import claims, votes
from tenfold.plot.deciding import Grid, draw_classes, tinted
from tenfold.plot.style import INK, clean, panels

KINDS = {
    "one-vs-rest": "one against the rest",
    "one-vs-one": "one against one",
    "argmax": "the largest score",
}
NOBODY, SEVERAL = -1, -2  # instead of the number of a class
DISPUTED = {
    NOBODY: ("nobody claims", "#FFFFFF", "..."),
    SEVERAL: ("several claim", "#DCDCDC", "////"),
}
HATCH = "#8A8A8A"


def ambiguous_regions(
    X: Any, y: Any, model: Any = None, *, kinds: Any = tuple(KINDS), resolution: int = 300,
    ax: Any = None
) -> np.ndarray:  # fmt: skip
    """Map where classifiers of two classes leave three or more classes undecided.

    One against the rest: each class has its own yes or no, and where two say yes, or none, the
    class is open. One against one: each pair votes, and where votes tie, it is open. The largest of
    the scores of one against the rest always decides. [004, 3.3]

    Parameters
    ----------
    X : (n, 2) array
        Rows.
    y : (n,) array
        Labels of at least three classes.
    model : classifier, optional
        What tells two classes apart; by default `LogisticRegression`.
    kinds : list of {"one-vs-rest", "one-vs-one", "argmax"}
        A panel each.
    resolution : int
        Points along each axis.
    ax : array of Axes, optional
        Where to draw, one for each kind.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import plot
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [5.0, 0.0], [2.0, 3.0], [3.0, 4.0]])
    >>> row = plot.ambiguous_regions(X, [0, 0, 1, 1, 2, 2], resolution=50)
    >>> [axis.get_title() for axis in row]
    ['one against the rest', 'one against one', 'the largest score']
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if len(np.unique(y)) < 3:
        raise ValueError("two classes are never in dispute: this needs three or more")
    part = LogisticRegression() if model is None else model
    grid = Grid.around(X, resolution)
    row = panels(ax, 1, len(kinds), 3.6, sharey=True)[0]
    for axis, kind in zip(row, kinds, strict=True):
        fitted = (OneVsOneClassifier if kind == "one-vs-one" else OneVsRestClassifier)(clone(part))
        fitted.fit(X, y)
        regions = grid.of(lambda Z, m=fitted, k=kind: decided(m, Z, k))
        draw(axis, grid, regions)
        draw_parts(axis, grid, fitted, ":" if kind == "argmax" else "-")
        draw_classes(axis, X, y, fitted.classes_, 26)
        axis.set(title=KINDS[kind], xlabel="$x_1$")
        clean(axis, grid=False)
    row[0].set_ylabel("$x_2$", rotation=0, labelpad=10)
    explain(row)
    return row


def decided(model: Any, Z: np.ndarray, kind: str) -> np.ndarray:
    """Number of the class of each row; NOBODY or SEVERAL where that is disputed."""
    if kind == "one-vs-one":
        counted = votes(model, Z)
        most = counted == counted.max(axis=1, keepdims=True)
        return np.where(most.sum(axis=1) == 1, counted.argmax(axis=1), SEVERAL)
    best = np.column_stack([signed(part, Z) for part in model.estimators_]).argmax(axis=1)
    if kind == "argmax":
        return best
    number = claims(model, Z)
    return np.where(number == 1, best, np.where(number == 0, NOBODY, SEVERAL))


def signed(model: Any, Z: np.ndarray) -> np.ndarray:
    """A score whose sign is the answer of a classifier of two classes."""
    if hasattr(model, "decision_function"):
        return np.ravel(model.decision_function(Z))
    return model.predict_proba(Z)[:, 1] - 0.5


def draw(ax: Any, grid: Grid, regions: np.ndarray) -> None:
    """Regions in the colours of their classes, hatched where they are disputed."""
    picture = tinted(np.maximum(regions, 0), None)
    ax.imshow(picture, extent=grid.extent, origin="lower", aspect="auto", zorder=0)
    for code, (name, face, hatch) in DISPUTED.items():
        if (regions == code).any():
            inside = np.where(regions == code, 1.0, 0.0)
            area = ax.contourf(
                *grid, inside, levels=[0.5, 1.5], colors=[face], hatches=[hatch], zorder=1
            )
            area.set_edgecolor(HATCH)  # of the hatching
            area.set_linewidth(0)
            area.set_gid(name)


def draw_parts(ax: Any, grid: Grid, model: Any, style: str) -> None:
    """The line of each classifier of two classes."""
    for part in model.estimators_:
        line = grid.of(lambda Z, part=part: signed(part, Z))
        look = {"colors": INK, "linewidths": 1, "linestyles": style, "zorder": 2}
        ax.contour(*grid, line, levels=[0.0], **look)


def explain(row: np.ndarray) -> None:
    """One legend below all panels: the classes, and what hatching means."""
    from matplotlib.patches import Patch

    handles, labels = row[0].get_legend_handles_labels()
    for name, face, hatch in DISPUTED.values():
        handles.append(Patch(facecolor=face, hatch=hatch, edgecolor=HATCH))
        labels.append(name)
    row[0].figure.legend(handles, labels, loc="outside lower center", ncols=8, frameon=False)
