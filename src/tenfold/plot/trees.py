"""A picture of a decision tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, get_axes, palette_color
from tenfold.tree.tree_text import require_single_tree


def tree(
    model: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int = 4,
    decimals: int = 2,
    ax: Any = None,
) -> Any:
    r"""The upper levels of a decision tree: questions in boxes, yes to the left, no to the right.

    The color of a box is that of its most frequent class, or darker for larger values; the paler,
    the less pure. The lower line says how many rows came to the node.

    Parameters
    ----------
    model : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree with one output, also one of the `estimators_` of a forest.
    feature_names : list of str, optional
        Names of the columns; those of the fit by default.
    class_names : list of str, optional
        Names of the classes; the labels by default.
    max_depth : int
        Levels below the root that are shown.
    decimals : int
        Digits of thresholds and values.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import DecisionTreeRegressor
    >>> from tenfold.plot import tree
    >>> X = np.arange(4.0)[:, None]
    >>> ax = tree(DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0] > 1), decimals=1)
    >>> [text.get_text() for text in ax.texts]
    ['feature 0 ≤ 1.5\nn = 4', '0.0\nn = 2', '1.0\nn = 2']
    """
    check_is_fitted(model)
    require_single_tree(model, "plot.tree draws")
    arrays = model.tree_
    if arrays.n_outputs > 1:
        raise ValueError("plot.tree draws trees of one output: give one tree per output")
    position = tree_layout(arrays.children_left, arrays.children_right, max_depth)
    leaves = sum(x == int(x) for x, _ in position.values())
    depth = max(level for _, level in position.values())
    ax = get_axes(ax, (max(1.5 * leaves, 3.0), 1.3 * depth + 1.2))
    names = _column_names(model, feature_names)
    for node, (x, level) in position.items():
        left = int(arrays.children_left[node])
        is_shown_split = left in position
        for child in (left, left + 1) if is_shown_split else ():
            ax.plot(
                [x, position[child][0]], [-level, -level - 1], color=MUTED_COLOR, lw=1, zorder=1
            )
        if is_shown_split:
            head = f"{names[arrays.feature[node]]} ≤ {arrays.threshold[node]:.{decimals}f}"
        else:
            head = _value_text(model, arrays.value[node, 0], class_names, decimals)
            head += "" if left < 0 else " …"
        box = {"boxstyle": "round", "fc": _node_color(model, arrays, node), "ec": MUTED_COLOR}
        text = f"{head}\nn = {arrays.n_node_samples[node]:,}"
        ax.text(x, -level, text, ha="center", va="center", color=TEXT_COLOR, size=8, bbox=box)
    ax.set(xlim=(-0.7, leaves - 0.3), ylim=(-depth - 0.6, 0.6))
    ax.axis("off")
    return ax


def tree_layout(
    left: np.ndarray, right: np.ndarray, max_depth: int
) -> dict[int, tuple[float, int]]:
    """Position (x, level) of the nodes down to a level: leaves side by side, parents between."""
    order, stack = [], [(0, 0)]
    while stack:
        node, level = stack.pop()
        order.append((node, level))
        if left[node] >= 0 and level < max_depth:
            stack += [(int(right[node]), level + 1), (int(left[node]), level + 1)]
    levels = dict(order)
    place: dict[int, float] = {}
    next_leaf = 0
    for node, _ in order:
        if left[node] < 0 or int(left[node]) not in levels:
            place[node] = float(next_leaf)
            next_leaf += 1
    for node, _ in reversed(order):
        if node not in place:
            place[node] = (place[int(left[node])] + place[int(right[node])]) / 2
    return {node: (place[node], level) for node, level in order}


def _column_names(model: Any, given: Sequence[str] | None) -> list[str]:
    known = getattr(model, "feature_names_in_", None) if given is None else given
    if known is None:
        return [f"feature {j}" for j in range(model.n_features_in_)]
    if len(known) != model.n_features_in_:
        raise ValueError(f"feature_names needs {model.n_features_in_} names, got {len(known)}")
    return [str(name) for name in known]


def _value_text(
    model: Any, value: np.ndarray, class_names: Sequence[str] | None, decimals: int
) -> str:
    if not is_classifier(model):
        return f"{value[0]:.{decimals}f}"
    names = model.classes_ if class_names is None else class_names
    best = int(np.argmax(value))
    return f"{names[best]} ({value[best]:.0%})"


def _node_color(model: Any, arrays: Any, node: int) -> tuple[float, ...]:
    """White mixed with the color of the class, or of all values, by purity or size."""
    from matplotlib.colors import to_rgb

    values = arrays.value[:, 0]
    if is_classifier(model):
        best, least = int(np.argmax(values[node])), 1 / values.shape[1]
        share = (values[node, best] - least) / max(1 - least, 1e-12)
    else:
        best, low, high = 0, values[:, 0].min(), values[:, 0].max()
        share = (values[node, 0] - low) / (high - low) if high > low else 0.0
    mixed = 1 - 0.65 * share * (1 - np.array(to_rgb(palette_color(best))))
    return tuple(mixed)
