"""Single decision trees: CART with exact splits, and extremely randomized trees."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, RealNotInt, StrOptions
from tenfold.engine.rows import Rows
from tenfold.tree._cart_base import CartClassifier, CartModel, CartRegressor
from tenfold.tree._cart_grower import grow_tree, make_rules
from tenfold.tree._cost_complexity import prune, pruning_sequence
from tenfold.tree._forest_tables import ForestTables, TreeArrays
from tenfold.tree._grown_tree import GrownTree

TREE_CONSTRAINTS: dict[str, Any] = {
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_split": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
    ],
    "min_samples_leaf": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="neither"),
    ],
    "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
    "random_state": ["random_state"],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    "monotonic_cst": ["array-like", None],
}
CLASS_CRITERIA: list[Any] = [StrOptions({"gini", "entropy", "log_loss"})]
TARGET_CRITERIA: list[Any] = [
    StrOptions({"squared_error", "friedman_mse", "absolute_error", "poisson"})
]


class DecisionTreeModel(CartModel):
    """What the four kinds of single trees share.

    Methods take scikit-learn's `check_input`; input is checked in any case.
    """

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN is a missing value.
        y : array or column name
            Targets or labels; several columns are several outputs.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.
        check_input : bool
            No effect: input is always checked.

        Returns
        -------
        self
        """
        del check_input
        return super().fit(X, y, sample_weight)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        data = self._training_data(rows, self.splitter)
        rules = make_rules(self, data.rows, data.targets, self.criterion, self.splitter)
        seed = int(rng.integers(2**63))
        tree = grow_tree(data.rows, rules, seed)
        tree = self._finish_tree(tree, data.targets, data.weight_unit)
        if self.ccp_alpha > 0.0:
            tree = prune(tree, self.ccp_alpha)
        return {
            "max_features_": rules.max_features,
            "tables_": ForestTables.of([tree]),
        }

    @property
    def _grown(self) -> GrownTree:
        check_is_fitted(self)
        return self.tables_.grown(0)

    @property
    def tree_(self) -> TreeArrays:
        """The tree as arrays with scikit-learn's names: `children_left`, `threshold`, `value`."""
        return TreeArrays(self._grown, self.n_features_in_, self._n_classes_by_output)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in the total decrease of impurity."""
        return self.tree_.compute_feature_importances()

    def get_depth(self) -> int:
        """Depth of the deepest leaf."""
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        return self.tree_.n_leaves

    def apply(self, X: Any, check_input: bool = True) -> np.ndarray:
        """Number of the leaf that each row comes to, a node number of `tree_`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        check_input : bool
            No effect: input is always checked.
        """
        del check_input
        return super().apply(X)[:, 0]

    def decision_path(self, X: Any, check_input: bool = True) -> csr_matrix:
        """Which nodes each row goes through, (n, n_nodes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        check_input : bool
            No effect: input is always checked.
        """
        del check_input
        return self._decision_paths(X)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Alphas at which minimal cost-complexity pruning collapses subtrees.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The rows from which the tree is grown anew, without pruning.

        Returns
        -------
        Bunch with `ccp_alphas` and `impurities`, the impurity of all leaves after each step
        """
        params = self.get_params() | {"ccp_alpha": 0.0}
        model = type(self)(**params).fit(X, y, sample_weight)
        alphas, impurities, _ = pruning_sequence(model._grown)  # noqa: SLF001
        return Bunch(ccp_alphas=alphas, impurities=impurities)


class DecisionTreeClassifier(CartClassifier, DecisionTreeModel):
    r"""A classification tree (CART) whose splits are exact.

    A node is split at the column and the threshold that lower the impurity of its children most,

    .. math:: \sum_{s \in \{l, r\}} \frac{W_s}{W} H(p_s), \qquad
        H_{gini}(p) = 1 - \sum_c p_c^2, \quad H_{entropy}(p) = - \sum_c p_c \log_2 p_c,

    among all thresholds between neighboring values. Class weights are whole numbers, so their sums
    are exact: the tree does not depend on the order of the rows, on threads, or on whether they lie
    in memory, in a file or on a cluster. A row of weight two is the row twice.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}
        The impurity.
    splitter : {"best", "random"}
        "random" looks at one random threshold for each column.
    max_depth : int, optional
        Depth of the deepest leaf.
    min_samples_split, min_samples_leaf : int or float
        Rows, or a share of them, that a node needs to be split, and that each child needs.
    min_weight_fraction_leaf : float
        Share of the total weight that each leaf needs.
    max_features : int, float, {"sqrt", "log2"}, optional
        Columns that each split looks at, drawn anew for each node.
    random_state : int, RandomState, optional
        Seed of the draws; also decides between equally good columns.
    max_leaf_nodes : int, optional
        Number of leaves; the node with the largest decrease of impurity is split first.
    min_impurity_decrease : float
        Least decrease of impurity, weighted by the share of the rows in the node.
    class_weight : dict, list of dicts, "balanced", optional
        Weights of the classes.
    ccp_alpha : float
        Subtrees whose effective alpha is not larger are pruned.
    monotonic_cst : array of -1, 0, 1, optional
        Whether the probability of the second class falls (-1) or rises (1) with each column.

    Attributes
    ----------
    classes_ : array of labels, or a list of them for several outputs
    n_classes_ : int, or an array of them
    n_outputs_ : int
    max_features_ : int
    feature_importances_ : (n_features,) array
    tree_ : the nodes as arrays, with scikit-learn's names

    See Also
    --------
    RandomForestClassifier : Many trees.
    tenfold.export_text : The rules of a tree as text.

    Notes
    -----
    A missing value (NaN) goes to the side where it lowers the impurity more; in a column without
    missing values in the training rows, to the side with more rows.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984), Classification and Regression Trees.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import DecisionTreeClassifier
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> tree = DecisionTreeClassifier().fit(X, y)
    >>> tree.tree_.threshold[0], tree.predict([[2.4], [2.6]]).tolist()
    (np.float64(2.5), [0, 1])
    """

    _parameter_constraints: dict[str, Any] = {
        **TREE_CONSTRAINTS,
        "splitter": [StrOptions({"best", "random"})],
        "criterion": CLASS_CRITERIA,
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst


class DecisionTreeRegressor(CartRegressor, DecisionTreeModel):
    r"""A regression tree (CART) whose splits are exact.

    A node is split at the column and the threshold that lower the impurity of its children most.
    The impurity of a node with mean :math:`\bar y` and median :math:`m` is

    .. math:: \frac{1}{W} \sum_i w_i (y_i - \bar y)^2, \quad \frac{1}{W} \sum_i w_i |y_i - m|,
        \quad \frac{1}{W} \sum_i w_i y_i \log \frac{y_i}{\bar y}

    for "squared_error", "absolute_error" and "poisson". Targets are summed in fixed point (60 bits
    for the sum over all rows), so sums are exact in any order: the tree does not depend on the
    order of the rows, on threads, or on where the rows lie.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}
        The impurity; "friedman_mse" is another name of "squared_error", as in scikit-learn.
    splitter, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf :
        As in `DecisionTreeClassifier`.
    max_features, random_state, max_leaf_nodes, min_impurity_decrease, ccp_alpha :
        As in `DecisionTreeClassifier`.
    monotonic_cst : array of -1, 0, 1, optional
        Whether the prediction falls (-1) or rises (1) with each column.

    Attributes
    ----------
    n_outputs_ : int
    max_features_ : int
    feature_importances_ : (n_features,) array
    tree_ : the nodes as arrays, with scikit-learn's names

    See Also
    --------
    RandomForestRegressor : Many trees.
    HistGradientBoostingRegressor : Trees that correct each other.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984), Classification and Regression Trees.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import DecisionTreeRegressor
    >>> X, y = np.arange(6.0)[:, None], np.array([1.0, 1.0, 1.0, 5.0, 5.0, 8.0])
    >>> tree = DecisionTreeRegressor(max_depth=1).fit(X, y)
    >>> tree.predict([[0.0], [9.0]]).tolist()
    [1.0, 6.0]
    """

    _parameter_constraints: dict[str, Any] = {
        **TREE_CONSTRAINTS,
        "splitter": [StrOptions({"best", "random"})],
        "criterion": TARGET_CRITERIA,
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst


class ExtraTreeClassifier(DecisionTreeClassifier):
    """A classification tree with random thresholds: the best of one random cut per column.

    Parameters, attributes and methods are those of `DecisionTreeClassifier`; the defaults are
    ``splitter="random"`` and ``max_features="sqrt"``.

    See Also
    --------
    ExtraTreesClassifier : A forest of such trees.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel (2006), Extremely randomized trees.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ExtraTreeClassifier
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
        )


class ExtraTreeRegressor(DecisionTreeRegressor):
    """A regression tree with random thresholds: the best of one random cut per column.

    Parameters, attributes and methods are those of `DecisionTreeRegressor`; the defaults are
    ``splitter="random"`` and ``max_features=1.0``.

    See Also
    --------
    ExtraTreesRegressor : A forest of such trees.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel (2006), Extremely randomized trees.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ExtraTreeRegressor
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0.0, 0.0, 1.0, 2.0])
    >>> ExtraTreeRegressor(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        random_state: Any = None,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
        )
