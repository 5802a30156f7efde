"""Margin losses, coefficient paths, weights of linear models and contributions to a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tenfold.inspection.contributions import (
    FeatureContributions,
    center_by_class,
    is_naive_bayes,
    linear_form,
    split_last_step,
)
from tenfold.math.losses import (
    HingeLoss,
    LogisticLoss,
    Loss,
    PerceptronLoss,
    SquaredHingeLoss,
    SquaredLoss,
    ZeroOneLoss,
)
from tenfold.plot.style import (
    MUTED_COLOR,
    TEXT_COLOR,
    format_number,
    get_axes,
    get_panels,
    legend_outside,
    palette_color,
    style_axes,
)

_LINE_STYLES = ("-", "--", "-", "-", ":", "-", "--")  # squared over squared hinge: both are seen
_MAX_LABELED_LINES = 7  # lines of a path with a color and a label


class _UnhalvedSquaredLoss(SquaredLoss):
    """(1 - s)^2, which bounds the 0-1 loss; `SquaredLoss` has a factor of one half."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (z - y) ** 2


_MARGIN_LOSSES: dict[str, Loss] = {
    "0-1": ZeroOneLoss(),
    "perceptron": PerceptronLoss(),
    "hinge": HingeLoss(),
    "log (nats)": LogisticLoss(),
    "log (bits)": LogisticLoss(base=2),
    "squared hinge": SquaredHingeLoss(),
    "squared": _UnhalvedSquaredLoss(),
}


def margin_losses(
    losses: Mapping[str, Loss] | None = None,
    *,
    margins: tuple[float, float] = (-2.5, 3.0),
    top: float = 4.0,
    ax: Any = None,
) -> Any:
    """Losses of a classifier against the margin s = y f(x): right of zero is correct.

    The 0-1 loss counts errors. Hinge, squared hinge, squared and log loss in bits lie above it
    everywhere, so they are upper bounds on the error rate; the perceptron loss and the log loss in
    nats are not. Only the squared loss penalizes margins above 1.

    Parameters
    ----------
    losses : dict from names to losses, optional
        Of `tenfold.math.losses`, of labels -1 and 1; by default seven common ones.
    margins : pair of float
        From where to where.
    top : float
        Largest loss shown.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold import plot
    >>> [line.get_label() for line in plot.margin_losses().get_lines()][:3]
    ['0-1', 'perceptron', 'hinge']
    """
    ax = get_axes(ax, (7.2, 4.2))
    below, above = np.linspace(margins[0], 0, 400), np.linspace(0, margins[1], 400)
    above[0] = np.finfo(float).tiny  # makes the step of the 0-1 loss vertical
    s = np.concatenate([below, above])
    for i, (name, loss) in enumerate((_MARGIN_LOSSES if losses is None else losses).items()):
        style = {
            "color": palette_color(i - 1),
            "lw": 2.0,
            "ls": _LINE_STYLES[i % len(_LINE_STYLES)],
        }
        if isinstance(loss, ZeroOneLoss):
            style = {"color": TEXT_COLOR, "lw": 3.0, "zorder": 3}
        ax.plot(s, loss.value(s, np.ones_like(s)), label=name, **style)
    ax.axvline(0, color=MUTED_COLOR, lw=1, zorder=0)
    ax.set(xlim=margins, ylim=(-0.08, top), xlabel="margin  $s = y\\,f(x)$", ylabel="loss")
    ax.annotate(
        "wrong", (0, top), (-6, -12), textcoords="offset points", ha="right", color=TEXT_COLOR
    )
    ax.annotate(
        "right", (0, top), (6, -12), textcoords="offset points", ha="left", color=TEXT_COLOR
    )
    style_axes(ax)
    legend_outside(ax)
    return ax


def coefficient_path(alphas: Any, coefs: Any, names: Any = None, *, ax: Any = None) -> Any:
    """Coefficients against the strength of the penalty: from strong, on the left, to weak.

    Parameters
    ----------
    alphas : (m,) array
        Strengths of the penalty, positive.
    coefs : (p, m) array
        Coefficients, as `lasso_path` returns them.
    names : list of str, optional
        Names of the columns; the largest are written beside their lines.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import plot
    >>> ax = plot.coefficient_path(
    ...     [1.0, 0.1, 0.01], np.array([[0, 1, 2], [0, 0, -1]]), ["age", "income"]
    ... )
    >>> [line.get_label() for line in ax.get_lines()[:2]]
    ['age', 'income']
    """
    alphas, coefs = np.asarray(alphas, float), np.atleast_2d(coefs)
    order = np.argsort(-alphas)
    alphas, coefs = alphas[order], coefs[:, order]
    names = [f"x{j}" for j in range(len(coefs))] if names is None else list(names)
    ranks = np.argsort(np.argsort(-np.abs(coefs).max(axis=1), kind="stable"))
    ax = get_axes(ax, (6.8, 4.4))
    for j, line in enumerate(coefs):
        strong = ranks[j] < _MAX_LABELED_LINES
        hue = palette_color(ranks[j]) if strong else MUTED_COLOR
        ax.plot(alphas, line, color=hue, lw=2 if strong else 1, label=names[j], zorder=2 + strong)
    ax.axhline(0, color=TEXT_COLOR, lw=0.8, zorder=1)
    ax.set_xscale("log")
    ax.set_xlim(alphas.max(), alphas.min())
    ax.set(xlabel="penalty  $\\alpha$  (strong $\\rightarrow$ weak)", ylabel="coefficient")
    style_axes(ax)
    chosen = np.flatnonzero((ranks < _MAX_LABELED_LINES) & (coefs[:, -1] != 0))
    _label_line_ends(
        ax, coefs[chosen, -1], [names[j] for j in chosen], [palette_color(ranks[j]) for j in chosen]
    )
    return ax


def _label_line_ends(ax: Any, ends: np.ndarray, names: list[str], hues: list[str]) -> None:
    """Label the ends of the lines, without overlap."""
    low, high = ax.get_ylim()
    positions = spread_labels((ends - low) / (high - low), 0.055)
    for position, name, hue in zip(positions, names, hues, strict=True):
        ax.text(
            1.015, position, name, color=hue, va="center", transform=ax.transAxes, fontsize="medium"
        )


def spread_labels(positions: np.ndarray, least: float) -> np.ndarray:
    """Positions, moved as little as possible so that neighbors are at least `least` apart.

    Examples
    --------
    >>> import numpy as np
    >>> spread_labels(np.array([0.5, 0.5, 0.9]), 0.1).round(3).tolist()
    [0.45, 0.55, 0.9]
    """
    order = np.argsort(positions, kind="stable")
    groups = []  # [center, size] of groups of labels that touch
    for position in positions[order]:
        groups.append([position, 1])
        while len(groups) > 1 and _overlap(groups[-2], groups[-1], least):
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    moved = np.concatenate([m + least * (np.arange(n) - (n - 1) / 2) for m, n in groups] or [[]])
    return moved[np.argsort(order)]


def _overlap(below: list, above: list, least: float) -> bool:
    return above[0] - below[0] < least * (below[1] + above[1]) / 2


_MAX_PANEL_COLUMNS = 5


def weights(
    model: Any, shape: tuple[int, int], *, names: Any = None, limit: float | None = None,
    ax: Any = None
) -> np.ndarray:  # fmt: skip
    """Heat maps of the weights of images: one panel per class, red for it, blue against it.

    White is zero, and all panels share one scale.

    Parameters
    ----------
    model : fitted linear model, or a pipeline that ends in one
        Two classes have one panel, the weights of the second. Of naive Bayes, log-odds.
    shape : pair of int
        Height and width of the images.
    names : list of str, optional
        Titles; by default the classes.
    limit : float, optional
        Weight of the strongest color; by default the largest.
    ax : array of Axes, optional
        Axes to draw into, one for each panel.

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
    _, last = split_last_step(model)
    form, classes = linear_form(last), getattr(last, "classes_", None)
    titles = [str(i) for i in range(len(form.terms))] if classes is None else list(classes)
    if classes is not None and (is_naive_bayes(last) or len(form.terms) == 1):
        form, titles = center_by_class(form, classes)
    if form.terms.shape[1] != shape[0] * shape[1]:
        raise ValueError(
            f"{form.terms.shape[1]} weights are not an image of {shape[0]} x {shape[1]}"
        )
    if classes is not None and len(form.terms) == 1:
        titles = [f"{classes[1]} (red) against {classes[0]} (blue)"]
    k = len(form.terms)
    columns = min(k, _MAX_PANEL_COLUMNS)
    grid = get_panels(ax, -(-k // columns), columns, 1.9 if k > 1 else 3.4).ravel()
    top = float(np.abs(form.terms).max()) if limit is None else limit
    images = [
        axis.imshow(w.reshape(shape), cmap="RdBu_r", vmin=-top, vmax=top)
        for axis, w in zip(grid, form.terms, strict=False)
    ]
    for axis, title in zip(grid, names or titles, strict=False):
        axis.set_title(str(title), color=TEXT_COLOR)
    for place, axis in enumerate(grid):
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_color(MUTED_COLOR)
        axis.set_visible(place < k)
    bar = grid[0].figure.colorbar(images[0], ax=list(grid), shrink=0.8, aspect=25, label="weight")
    bar.outline.set_visible(False)
    return grid[:k]


def contributions(
    why: FeatureContributions, output: Any = None, *, top: int = 10, ax: Any = None
) -> Any:
    """Waterfall plot of the contributions to a prediction, from the baseline to the score.

    Parameters
    ----------
    why : Reasons
        Of `tenfold.inspection.contributions.feature_contributions`.
    output : label, optional
        Which score; by default the highest.
    top : int
        Most columns that are shown by name; the others are one step.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearRegression, plot
    >>> from tenfold.inspection.contributions import feature_contributions
    >>> X = np.array([[1.0, 50.0], [2.0, 60.0], [3.0, 110.0]])
    >>> why = feature_contributions(
    ...     LinearRegression().fit(X, X @ [100, 1] + 30), X[2], ["rooms", "area"]
    ... )
    >>> [label.get_text() for label in plot.contributions(why).get_yticklabels()]
    ['baseline', 'rooms = 3', 'area = 110', 'score']
    """
    i = why.output_index(output)
    c = why.contributions[i]
    order = [j for j in np.argsort(-np.abs(c), kind="stable") if c[j]]
    shown, rest = order[:top], order[top:]
    steps = [*c[shown], *([c[rest].sum()] if rest else [])]
    starts = why.baselines[i] + np.concatenate([[0.0], np.cumsum(steps)])
    labels = [f"{why.names[j]} = {format_number(float(why.values[j]))}" for j in shown]
    labels = ["baseline", *labels, *([f"{len(rest)} others"] if rest else []), "score"]
    ax = get_axes(ax, (7.0, 1.2 + 0.36 * len(labels)))
    rows = np.arange(1, len(steps) + 1)
    hues = [palette_color(0) if step > 0 else palette_color(1) for step in steps]
    ax.barh(rows, steps, left=starts[:-1], color=hues, height=0.62)
    ends = [(0, why.baselines[i]), (len(labels) - 1, why.scores[i])]
    ax.plot([x for _, x in ends], [y for y, _ in ends], "D", color=TEXT_COLOR, ms=6, zorder=3)
    for row, x in enumerate(starts):
        ax.plot([x, x], [row, row + 1], color=MUTED_COLOR, lw=1, zorder=0)
    _annotate_bars(ax, rows, starts, steps, ends)
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlabel(why.score_title(i))
    style_axes(ax)
    ax.grid(visible=False, axis="y")
    return ax


def _annotate_bars(ax: Any, rows: np.ndarray, starts: np.ndarray, steps: list, ends: list) -> None:
    """Values of the bars and of the two ends."""
    style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": TEXT_COLOR}
    for row, step in zip(rows, steps, strict=True):
        x = max(starts[row - 1], starts[row])
        ax.annotate(format_number(step, "+.3g"), (x, row), (5, 0), **style)
    for row, x in ends:
        ax.annotate(format_number(x), (x, row), (8, 0), weight="bold", **style)
    ax.use_sticky_edges = False
    ax.margins(x=0.14)
