"""Effects of the terms of an additive model: step functions, bars of categories, maps of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.plot.style import COLORS, MUTED_COLOR, get_panels, palette_color, style_axes

_COLUMNS = 3  # panels in a row
_MAX_LABELS = 20  # categories that are named


def additive_terms(model: Any, most: int = 9, *, output: int = 0, ax: Any = None) -> np.ndarray:
    """Draw the strongest terms of an explainable boosting model.

    A column of numbers is a step function over its values, above the share of the training rows in
    each bin; a column of categories has bars; a pair of columns is a map. The dotted line or last
    bar is the effect of a missing value.

    Parameters
    ----------
    model : ExplainableBoostingRegressor or ExplainableBoostingClassifier
        Fitted.
    most : int
        Number of terms at most, the most important first.
    output : int
        Number of the class whose score is drawn, if there are more than two.
    ax : array of Axes, optional
        Where to draw.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import ExplainableBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExplainableBoostingRegressor(max_iter=20).fit(X, y)
    >>> additive_terms(model, 2).shape
    (1, 2)
    """
    check_is_fitted(model)
    order = np.argsort(-model.term_importances_, kind="stable")[:most]
    if len(order) == 0:
        raise ValueError("the model has no terms: no column had an effect")
    columns = min(_COLUMNS, len(order))
    panels = get_panels(ax, -(-len(order) // columns), columns)
    names = model.term_names_
    for number, panel in zip(order, panels.ravel(), strict=False):
        term = model.terms_[number]
        labels = [
            [*map(str, model.category_names(column))] if categorical else []
            for column, categorical in zip(term.columns, term.is_categorical, strict=True)
        ]
        _draw_term(panel, term, names[number], labels, output)
    for panel in panels.ravel()[len(order) :]:
        panel.set_visible(False)
    return panels


def _draw_term(ax: Any, term: Any, name: str, labels: list[list[str]], output: int) -> None:
    """Draw a term; `labels` are the categories of its columns."""
    values = term.values[..., output]
    if len(term.columns) == 2:
        _draw_map(ax, values, name, labels)
        return
    style_axes(ax)
    ax.set_title(name)
    ax.set_ylabel("effect on the score")
    ax.axhline(0, color=MUTED_COLOR, linewidth=1)
    if term.is_categorical[0]:
        ax.bar(np.arange(len(values)), values, color=palette_color(0))
        if len(values) <= _MAX_LABELS:
            ax.set_xticks(np.arange(len(values)), [*labels[0], "missing"])
        return
    edges = term.edges[0]
    margin = max(float(np.ptp(edges)), 1e-12) * 0.05
    places = np.concatenate([[edges[0] - margin], edges, [edges[-1] + margin]])
    ax.stairs(values[:-1], places, baseline=None, color=palette_color(0), linewidth=2)
    if term.weights[-1] > 0:
        ax.axhline(values[-1], color=palette_color(1), linestyle=":", label="missing")
        ax.legend(frameon=False)
    share = ax.twinx()
    share.stairs(term.weights[:-1] / term.weights.sum(), places, fill=True, color="#DDDDDD")
    share.set_ylim(0, 4 * max(float(term.weights[:-1].max() / term.weights.sum()), 1e-12))
    share.axis("off")
    ax.set_zorder(share.get_zorder() + 1)
    ax.patch.set_visible(False)


def _draw_map(ax: Any, values: np.ndarray, name: str, labels: list[list[str]]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("effect", [COLORS[0], "white", COLORS[1]])
    known = values[:-1, :-1]
    limit = max(float(np.abs(known).max()), 1e-12)
    shown = ax.imshow(known.T, origin="lower", aspect="auto", cmap=colors, vmin=-limit, vmax=limit)
    ax.set_title(name)
    first, _, second = name.partition(" x ")
    ax.set(xlabel=f"bins of {first}", ylabel=f"bins of {second}")
    for axis, texts in zip((ax.xaxis, ax.yaxis), labels, strict=True):
        if 0 < len(texts) <= _MAX_LABELS:
            axis.set_ticks(np.arange(len(texts)), texts)
    ax.figure.colorbar(shown, ax=ax, shrink=0.8)
