"""One forest of forests that were trained apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.tree._forest_base import ForestClassifier, ForestModel
from tenfold.tree._forest_tables import ForestTables
from tenfold.tree._grown_tree import GrownTree
from tenfold.tree._leaf_targets import pool_targets


def pool_forests(*forests: Any) -> Any:
    """One forest with the trees of several, which may know different classes.

    The probabilities (or means) of the pooled forest are those of all trees, averaged: a forest of
    many trees counts for more than one of few. Unlike `tenfold.merge`, which gives the model of all
    rows, no tree learns anything new. Classes that a forest has not seen have probability zero in
    its trees. If all forests keep their targets, the pooled one has quantiles and intervals too. It
    does not know which rows its trees have drawn, so it has no out-of-bag score and cannot grow.

    Parameters
    ----------
    *forests : fitted forests of one kind
        `RandomForestClassifier`, `ExtraTreesClassifier`, `RandomForestRegressor` or
        `ExtraTreesRegressor`, with the same columns.

    Returns
    -------
    A forest of that kind, with the parameters of the first

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RandomForestClassifier, pool_forests
    >>> X = np.arange(8.0)[:, None]
    >>> a = RandomForestClassifier(10, random_state=0).fit(X[:5], ["a", "a", "a", "b", "b"])
    >>> b = RandomForestClassifier(30, random_state=1).fit(X[3:], ["b", "b", "c", "c", "c"])
    >>> both = pool_forests(a, b)
    >>> both.classes_.tolist(), len(both.estimators_)
    (['a', 'b', 'c'], 40)
    """
    _check_alike(forests)
    first = forests[0]
    n_trees = sum(len(forest.tables_) for forest in forests)
    pooled = type(first)(**(first.get_params(deep=False) | {"n_estimators": n_trees}))
    for name in ("n_features_in_", "n_outputs_", "feature_names_in_", "_seed"):
        if hasattr(first, name):
            setattr(pooled, name, getattr(first, name))
    trees = [[f.tables_.grown(t) for t in range(len(f.tables_))] for f in forests]
    if isinstance(first, ForestClassifier):
        pooled.classes_ = np.unique(np.concatenate([forest.classes_ for forest in forests]))
        pooled.n_classes_ = len(pooled.classes_)
        trees = [
            [_spread(tree, forest.classes_, pooled.classes_) for tree in part]
            for forest, part in zip(forests, trees, strict=True)
        ]
    pooled.tables_ = ForestTables.of([tree for part in trees for tree in part])
    if all(hasattr(forest, "leaf_targets_") for forest in forests):
        pooled.leaf_targets_ = pool_targets([forest.leaf_targets_ for forest in forests])
    return pooled


def _check_alike(forests: tuple[Any, ...]) -> None:
    if not forests or not all(isinstance(forest, ForestModel) for forest in forests):
        raise TypeError(
            "pool_forests needs one or more forests of tenfold, one after the other: "
            "pool_forests(a, b), or pool_forests(*forests) for a list"
        )
    for forest in forests:
        check_is_fitted(forest)
    kinds = sorted({type(forest).__name__ for forest in forests})
    if len(kinds) > 1:
        raise TypeError(f"forests of different kinds cannot be pooled: {', '.join(kinds)}")
    widths = {(forest.n_features_in_, forest.n_outputs_) for forest in forests}
    if len(widths) > 1:
        raise ValueError(
            f"the forests have different columns or outputs, {sorted(widths)}: fit them to the "
            "same columns"
        )
    names = {tuple(getattr(forest, "feature_names_in_", ())) for forest in forests} - {()}
    if len(names) > 1:
        raise ValueError("the forests know columns of other names, or in another order")
    if not isinstance(forests[0], ForestClassifier):
        return
    if forests[0].n_outputs_ > 1:
        raise ValueError("forests of several labels cannot be pooled: pool one output at a time")
    if len({forest.classes_.dtype.kind in "biuf" for forest in forests}) > 1:
        raise ValueError("some forests have numbers for classes, others names: fit all to names")


def _spread(tree: GrownTree, known: np.ndarray, classes: np.ndarray) -> GrownTree:
    """A tree whose values are shares of more classes."""
    value = np.zeros((len(tree.value), len(classes)))
    value[:, np.searchsorted(classes, known)] = tree.value
    return tree._replace(value=value)
