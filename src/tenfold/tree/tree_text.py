"""The rules of a decision tree as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tenfold.tree._forest_tables import TreeArrays


def export_text(
    decision_tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """The rules of a tree as text, one line for each branch; scikit-learn's format.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree, also one of the `estimators_` of a forest.
    feature_names : list of str, optional
        Names of the columns; those of the fit, or "feature_0" and so on, by default.
    class_names : list of str, optional
        Names of the classes; the labels by default.
    max_depth : int
        Deeper branches are cut off.
    spacing : int
        Width of an indentation.
    decimals : int
        Digits of thresholds and values.
    show_weights : bool
        Whether leaves of a classifier show the weights of the classes.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import DecisionTreeClassifier, export_text
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array(["no", "no", "yes", "yes"])
    >>> print(export_text(DecisionTreeClassifier().fit(X, y), feature_names=["size"]), end="")
    |--- size <= 2.50
    |   |--- class: no
    |--- size >  2.50
    |   |--- class: yes
    """
    check_is_fitted(decision_tree)
    require_single_tree(decision_tree, "export_text writes")
    tree: TreeArrays = decision_tree.tree_
    names = _feature_names(decision_tree, feature_names)
    leaf = _leaf_writer(decision_tree, tree, class_names, decimals, show_weights=show_weights)
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 1, "")]
    while stack:
        node, depth, condition = stack.pop()
        if condition:
            lines.append(condition)
        stem = f"{'|' + ' ' * spacing}" * (depth - 1) + "|" + "-" * spacing
        left = int(tree.children_left[node])
        if depth > max_depth + 1:
            below = _depth_below(tree, node)
            text = leaf(node) if below == 0 else f" truncated branch of depth {below + 1}"
            lines.append(f"{stem}{text}")
        elif left < 0:
            lines.append(f"{stem}{leaf(node)}")
        else:
            name, cut = names[int(tree.feature[node])], f"{tree.threshold[node]:.{decimals}f}"
            stack.append((left + 1, depth + 1, f"{stem} {name} >  {cut}"))
            stack.append((left, depth + 1, f"{stem} {name} <= {cut}"))
    return "\n".join(lines) + "\n"


def require_single_tree(model: Any, what: str) -> None:
    """Refuse a model of many trees, with how to choose one."""
    if hasattr(model, "tree_"):
        return
    cure = (
        "give one of its estimators_" if hasattr(model, "estimators_") else "give a decision tree"
    )
    raise TypeError(f"{what} a single tree, not a {type(model).__name__}: {cure}")


def _feature_names(model: Any, given: Sequence[str] | None) -> list[str]:
    n = model.n_features_in_
    if given is None:
        known = getattr(model, "feature_names_in_", None)
        return [f"feature_{j}" for j in range(n)] if known is None else [str(k) for k in known]
    if len(given) != n:
        raise ValueError(f"feature_names must contain {n} elements, got {len(given)}")
    return [str(name) for name in given]


def _leaf_writer(
    model: Any,
    tree: TreeArrays,
    class_names: Sequence[str] | None,
    decimals: int,
    *,
    show_weights: bool,
) -> Any:
    """A function that writes what a leaf predicts."""
    if not is_classifier(model):
        return lambda node: " value: " + _numbers(tree.value[node].T[0], decimals)
    if tree.n_outputs > 1:
        raise ValueError("export_text writes trees of one output: give one tree per output")
    labels = model.classes_ if class_names is None else class_names
    if len(labels) != tree.n_classes[0]:
        raise ValueError(
            f"class_names holds {len(labels)} names, but the tree knows {tree.n_classes[0]} classes"
        )

    def write(node: int) -> str:
        share = tree.value[node][0]
        weights = share * tree.weighted_n_node_samples[node]
        prefix = f" weights: {_numbers(weights, decimals)}" if show_weights else ""
        return f"{prefix} class: {labels[int(np.argmax(share))]}"

    return write


def _numbers(values: np.ndarray, decimals: int) -> str:
    return "[" + ", ".join(f"{value:.{decimals}f}" for value in values) + "]"


def _depth_below(tree: TreeArrays, node: int) -> int:
    """Depth of the subtree of a node."""
    deepest, stack = 0, [(node, 0)]
    while stack:
        at, depth = stack.pop()
        deepest = max(deepest, depth)
        left = int(tree.children_left[at])
        if left >= 0:
            stack += [(left, depth + 1), (left + 1, depth + 1)]
    return deepest
