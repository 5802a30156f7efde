"""Weights as pictures: heat maps of image weights, and the reasons of a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.linear.reading.additive import by_class, is_bayes, last_step, linear_form
from tenfold.linear.reading.reasons import Reasons
from tenfold.plot.style import FAINT, INK, axes, clean, colour, number, panels

MOST_IN_A_ROW = 5


def weights(
    model: Any, shape: tuple[int, int], *, names: Any = None, limit: float | None = None,
    ax: Any = None
) -> np.ndarray:  # fmt: skip
    """Heat maps of the weights of images: one panel per class, red for it, blue against it.

    White is zero, and all panels share one scale. [000, 1.6; 001, 2.3]

    Parameters
    ----------
    model : fitted linear model, or a pipeline that ends in one
        Two classes have one panel, the weights of the second. Of naive Bayes, log-odds.
    shape : pair of int
        Height and width of the images.
    names : list of str, optional
        Titles; by default the classes.
    limit : float, optional
        Weight of the strongest colour; by default the largest.
    ax : array of Axes, optional
        Where to draw, one for each panel.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LogisticRegression, plot
    >>> X, y = np.eye(4), [0, 1, 2, 2]
    >>> len(plot.weights(LogisticRegression().fit(X, y), (2, 2)))
    3
    """
    _, last = last_step(model)
    form, classes = linear_form(last), getattr(last, "classes_", None)
    titles = [str(i) for i in range(len(form.terms))] if classes is None else list(classes)
    if classes is not None and (is_bayes(last) or len(form.terms) == 1):
        form, titles = by_class(form, classes)
    if form.terms.shape[1] != shape[0] * shape[1]:
        raise ValueError(f"{form.terms.shape[1]} weights are no image of {shape[0]} x {shape[1]}")
    if classes is not None and len(form.terms) == 1:
        titles = [f"{classes[1]} (red) against {classes[0]} (blue)"]
    k = len(form.terms)
    columns = min(k, MOST_IN_A_ROW)
    grid = panels(ax, -(-k // columns), columns, 1.9 if k > 1 else 3.4).ravel()
    top = float(np.abs(form.terms).max()) if limit is None else limit
    images = [
        axis.imshow(w.reshape(shape), cmap="RdBu_r", vmin=-top, vmax=top)
        for axis, w in zip(grid, form.terms, strict=False)
    ]
    for axis, title in zip(grid, names or titles, strict=False):
        axis.set_title(str(title), color=INK)
    for place, axis in enumerate(grid):
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_color(FAINT)
        axis.set_visible(place < k)
    bar = grid[0].figure.colorbar(images[0], ax=list(grid), shrink=0.8, aspect=25, label="weight")
    bar.outline.set_visible(False)
    return grid[:k]


def reasons(why: Reasons, output: Any = None, *, top: int = 10, ax: Any = None) -> Any:
    """The reasons of a prediction as steps from the baseline to the score.

    Parameters
    ----------
    why : Reasons
        Of `tenfold.linear.reading.reasons.reasons`.
    output : label, optional
        Which score; by default the highest.
    top : int
        Most columns that are shown by name; the others are one step.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearRegression, plot
    >>> from tenfold.linear.reading.reasons import reasons
    >>> X = np.array([[1.0, 50.0], [2.0, 60.0], [3.0, 110.0]])
    >>> why = reasons(LinearRegression().fit(X, X @ [100, 1] + 30), X[2], ["rooms", "area"])
    >>> [label.get_text() for label in plot.reasons(why).get_yticklabels()]
    ['baseline', 'rooms = 3', 'area = 110', 'score']
    """
    i = why.of(output)
    c = why.contributions[i]
    order = [j for j in np.argsort(-np.abs(c), kind="stable") if c[j]]
    shown, rest = order[:top], order[top:]
    steps = [*c[shown], *([c[rest].sum()] if rest else [])]
    starts = why.baselines[i] + np.concatenate([[0.0], np.cumsum(steps)])
    labels = [f"{why.names[j]} = {number(float(why.values[j]))}" for j in shown]
    labels = ["baseline", *labels, *([f"{len(rest)} others"] if rest else []), "score"]
    ax = axes(ax, (7.0, 1.2 + 0.36 * len(labels)))
    rows = np.arange(1, len(steps) + 1)
    hues = [colour(0) if step > 0 else colour(1) for step in steps]
    ax.barh(rows, steps, left=starts[:-1], color=hues, height=0.62)
    ends = [(0, why.baselines[i]), (len(labels) - 1, why.scores[i])]
    ax.plot([x for _, x in ends], [y for y, _ in ends], "D", color=INK, ms=6, zorder=3)
    for row, x in enumerate(starts):
        ax.plot([x, x], [row, row + 1], color=FAINT, lw=1, zorder=0)
    _write(ax, rows, starts, steps, ends)
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlabel(why.title(i))
    clean(ax)
    ax.grid(visible=False, axis="y")
    return ax


def _write(ax: Any, rows: np.ndarray, starts: np.ndarray, steps: list, ends: list) -> None:
    """Numbers right of the bars, and of the two ends."""
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": INK}
    for row, step in zip(rows, steps, strict=True):
        x = max(starts[row - 1], starts[row])
        ax.annotate(number(step, "+.3g"), (x, row), (5, 0), **look)
    for row, x in ends:
        ax.annotate(number(x), (x, row), (8, 0), weight="bold", **look)
    ax.use_sticky_edges = False
    ax.margins(x=0.14)
