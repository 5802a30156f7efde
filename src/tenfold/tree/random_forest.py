"""Random forests: exact trees on bootstrap samples."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

from tenfold.base._sklearn import Interval, RealNotInt, StrOptions
from tenfold.base.estimator import store_arguments
from tenfold.tree._forest_base import ForestClassifier, ForestRegressor
from tenfold.tree.decision_tree import (
    CLASS_CRITERIA,
    TARGET_CRITERIA,
    TREE_CONSTRAINTS,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

FOREST_CONSTRAINTS: dict[str, Any] = {
    **TREE_CONSTRAINTS,
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "bootstrap": ["boolean"],
    "oob_score": ["boolean", callable],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "max_samples": [
        None,
        Interval(RealNotInt, 0.0, None, closed="neither"),
        Interval(Integral, 1, None, closed="left"),
    ],
}
CLASS_WEIGHTS: list[Any] = [dict, list, StrOptions({"balanced", "balanced_subsample"}), None]


class RandomForestClassifier(ForestClassifier):
    r"""A random forest for labels: exact trees on bootstrap samples, their probabilities averaged.

    .. math:: p(c \mid x) = \frac{1}{T} \sum_{t=1}^{T} p_t(c \mid x)

    Each tree learns from a bootstrap sample, and each of its splits looks at a few columns drawn at
    random. Rows are drawn by a hash of (seed, tree, draw), columns by a hash of (seed, tree, path
    to the node), and sums of weights are exact: the same forest from any number of threads, from
    memory, file and cluster.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf :
        As in `DecisionTreeClassifier`, for each tree.
    max_features, max_leaf_nodes, min_impurity_decrease, ccp_alpha, monotonic_cst :
        As in `DecisionTreeClassifier`, for each tree.
    bootstrap : bool
        Whether each tree learns from a sample of the rows, drawn with replacement. With
        `sample_weight`, rows are drawn in proportion to their weights.
    oob_score : bool or callable
        Whether each row is also predicted by the trees that have not drawn it; a callable
        ``score(y_true, y_pred)`` gives the score.
    n_jobs : int, optional
        Threads; all by default. Trees do not depend on it.
    random_state : int, RandomState, optional
        Seed of draws of rows and columns. Tree t depends on the seed and t alone.
    verbose : int
        Whether to show progress.
    warm_start : bool
        Whether `fit` keeps the trees of the last fit and adds some; they are those that a larger
        forest would have had.
    class_weight : dict, list of dicts, "balanced", "balanced_subsample", optional
        Weights of the classes; "balanced_subsample" balances each bootstrap sample.
    max_samples : int or float, optional
        Number of draws of each tree, or their share of the rows; as many as rows by default.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier, views of the trees
    classes_ : array of labels, or a list of them
    n_classes_, n_outputs_ : int
    feature_importances_ : (n_features,) array
    oob_score_ : float
    oob_decision_function_ : (n, n_classes) array, probabilities of the rows out of bag
    estimators_samples_ : list of row numbers that each tree has drawn

    See Also
    --------
    ExtraTreesClassifier : Random cuts, no bootstrap.
    tenfold.pool_forests : One forest of forests that were trained apart.

    References
    ----------
    L. Breiman (2001), Random forests.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RandomForestClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] > 0
    >>> RandomForestClassifier(20, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _tree_class = DecisionTreeClassifier
    _split_mode = "best"
    _samples_rows = True
    _law_params: dict[str, Any] = {"n_estimators": 4, "max_depth": 8}
    _parameter_constraints: dict[str, Any] = {
        **FOREST_CONSTRAINTS,
        "criterion": CLASS_CRITERIA,
        "class_weight": CLASS_WEIGHTS,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
    ) -> None:
        store_arguments(self, locals())


class RandomForestRegressor(ForestRegressor):
    r"""A random forest for numbers: exact trees on bootstrap samples, their means averaged.

    .. math:: f(x) = \frac{1}{T} \sum_{t=1}^{T} f_t(x)

    Rows are drawn by a hash of (seed, tree, draw), columns by a hash of (seed, tree, path to the
    node), and sums of targets are exact in fixed point: the same forest from any number of threads,
    from memory, file and cluster.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf :
        As in `DecisionTreeRegressor`, for each tree.
    max_features, max_leaf_nodes, min_impurity_decrease, ccp_alpha, monotonic_cst :
        As in `DecisionTreeRegressor`, for each tree.
    bootstrap : bool
        Whether each tree learns from a sample of the rows, drawn with replacement. With
        `sample_weight`, rows are drawn in proportion to their weights.
    oob_score : bool or callable
        Whether each row is also predicted by the trees that have not drawn it; a callable
        ``score(y_true, y_pred)`` gives the score.
    n_jobs : int, optional
        Threads; all by default. Trees do not depend on it.
    random_state : int, RandomState, optional
        Seed of draws of rows and columns. Tree t depends on the seed and t alone.
    verbose : int
        Whether to show progress.
    warm_start : bool
        Whether `fit` keeps the trees of the last fit and adds some; they are those that a larger
        forest would have had.
    max_samples : int or float, optional
        Number of draws of each tree, or their share of the rows; as many as rows by default.
    keep_targets : bool
        Whether leaves keep a histogram of their targets, for `predict_quantiles` and
        `predict_interval`.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor, views of the trees
    n_outputs_ : int
    feature_importances_ : (n_features,) array
    oob_score_ : float
    oob_prediction_ : (n,) array, predictions of the rows out of bag
    estimators_samples_ : list of row numbers that each tree has drawn

    See Also
    --------
    ExtraTreesRegressor : Random cuts, no bootstrap.
    tenfold.pool_forests : One forest of forests that were trained apart.

    References
    ----------
    L. Breiman (2001), Random forests.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RandomForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] + X[:, 1]
    >>> RandomForestRegressor(20, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _tree_class = DecisionTreeRegressor
    _split_mode = "best"
    _samples_rows = True
    _law_params: dict[str, Any] = {"n_estimators": 4, "max_depth": 8}
    _parameter_constraints: dict[str, Any] = {
        **FOREST_CONSTRAINTS,
        "criterion": TARGET_CRITERIA,
        "keep_targets": ["boolean"],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        keep_targets: bool = False,
    ) -> None:
        store_arguments(self, locals())
