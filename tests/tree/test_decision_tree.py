"""Decision trees against brute force over all splits, scikit-learn's numbers, and laws."""

from itertools import pairwise

import numpy as np
import pytest
import sklearn.tree

import tenfold
from tenfold import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
from tenfold.testing.bitwise import assert_bitwise_equal
from tenfold.tree import _rank_codes

CLASS_CRITERIA = ["gini", "entropy", "log_loss"]
TARGET_CRITERIA = ["squared_error", "absolute_error", "poisson"]


def impurity(criterion, y, w):
    """Impurity by definition."""
    if criterion in CLASS_CRITERIA:
        p = np.bincount(y.astype(int), w) / w.sum()
        p = p[p > 0]
        return 1 - (p**2).sum() if criterion == "gini" else -(p * np.log2(p)).sum()
    if criterion == "squared_error":
        return np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    if criterion == "absolute_error":
        return (np.abs(y[:, None] - y) @ w).min() / w.sum()
    mean = np.average(y, weights=w)
    if mean <= 0:
        return np.inf
    return np.average(np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0), weights=w)


def all_masks(x):
    """Left sides of all cuts of a column, missing values on either side."""
    known = np.unique(x[~np.isnan(x)])
    missing = np.isnan(x)
    for a, b in pairwise(known):
        yield x <= (a + b) / 2
        if missing.any():
            yield (x <= (a + b) / 2) | missing
    if missing.any() and len(known):
        yield ~missing


def best_loss(criterion, X, y, w, min_leaf=1):
    """The least weighted impurity of two children, by brute force."""
    best = np.inf
    for x in X.T:
        for left in all_masks(x):
            if min(left.sum(), (~left).sum()) >= min_leaf:
                sides = [(y[s], w[s]) for s in (left, ~left)]
                best = min(best, sum(v.sum() * impurity(criterion, t, v) for t, v in sides))
    return best


def check_every_split(model, X, y, w, min_leaf=1):
    """Every node has the impurity of its rows, and the best of all splits, or is a leaf."""
    tree, paths = model.tree_, model.decision_path(X).toarray().astype(bool)
    for node in range(tree.node_count):
        rows = paths[:, node]
        assert rows.sum() == tree.n_node_samples[node]
        own = impurity(model.criterion, y[rows], w[rows])
        np.testing.assert_allclose(tree.impurity[node], own, atol=1e-12)
        best = best_loss(model.criterion, X[rows], y[rows], w[rows], min_leaf)
        if tree.children_left[node] < 0:
            assert np.ptp(y[rows]) == 0 or not np.isfinite(best)
            continue
        left = paths[:, tree.children_left[node]]
        sides = [rows & left, rows & ~left]
        loss = sum(w[s].sum() * impurity(model.criterion, y[s], w[s]) for s in sides)
        np.testing.assert_allclose(loss, best, rtol=1e-10, atol=1e-10)


def small_table(seed, criterion, *, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4)).round(1)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    score = np.nan_to_num(X[:, 0]) * 2 + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=40)
    if criterion in CLASS_CRITERIA:
        return X, np.digitize(score, [0.0, 1.5]), rng.integers(1, 4, 40).astype(float)
    y = np.abs(score).round(2) if criterion == "poisson" else score
    return X, y, rng.integers(1, 4, 40).astype(float)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", CLASS_CRITERIA + TARGET_CRITERIA)
def test_every_split_is_the_best_of_all(criterion, missing):
    family = DecisionTreeClassifier if criterion in CLASS_CRITERIA else DecisionTreeRegressor
    for seed in range(2):
        X, y, w = small_table(seed, criterion, missing=missing)
        ones = np.ones(40)
        check_every_split(family(criterion=criterion).fit(X, y), X, y, ones)
        check_every_split(family(criterion=criterion).fit(X, y, sample_weight=w), X, y, w)
        model = family(criterion=criterion, min_samples_leaf=4).fit(X, y)
        check_every_split(model, X, y, ones, min_leaf=4)


@pytest.mark.parametrize(("signal", "min_leaf"), [(0.0, 1), (0.1, 1), (0.1, 300), (3.0, 1)])
@pytest.mark.parametrize("missing", [False, True])
def test_the_split_of_many_rows_of_two_classes_is_the_best_of_all(signal, min_leaf, missing):
    """Blocks of rows in which no cut can be the best are passed over: none that holds it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 3)).round(2)
    y = (signal * np.abs(X[:, 1]) + rng.normal(size=1500) > 0.5).astype(int)
    w = rng.integers(1, 2000, 1500).astype(float)
    X[rng.random(X.shape) < 0.1 * missing] = np.nan
    stump = DecisionTreeClassifier(max_depth=1, min_samples_leaf=min_leaf)
    leaves = stump.fit(X, y, sample_weight=w).apply(X)
    sides = [(y[leaves == leaf], w[leaves == leaf]) for leaf in (1, 2)]
    loss = sum(v.sum() * impurity("gini", t, v) for t, v in sides)
    best = best_loss("gini", X, y, w, min_leaf)
    np.testing.assert_allclose(loss, best, rtol=1e-13)


def preorder(tree):
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.children_left[node] >= 0:
            stack += [tree.children_right[node], tree.children_left[node]]
    return np.array(order)


def assert_same_tree(ours, theirs):
    a, b = preorder(ours), preorder(theirs)
    np.testing.assert_array_equal(ours.feature[a], theirs.feature[b])
    np.testing.assert_array_equal(ours.threshold[a], theirs.threshold[b])
    np.testing.assert_array_equal(ours.n_node_samples[a], theirs.n_node_samples[b])
    for name in ("impurity", "value", "weighted_n_node_samples"):
        np.testing.assert_allclose(getattr(ours, name)[a], getattr(theirs, name)[b], atol=1e-12)


@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 5},
        {"max_depth": 3},
        {"max_leaf_nodes": 12},
        {"min_samples_split": 60},
        {"ccp_alpha": 0.01},
    ],
    ids=str,
)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
def test_scikit_learn_grows_the_same_tree(criterion, params):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 5)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=500)
    name = "Classifier" if criterion in CLASS_CRITERIA else "Regressor"
    y = np.digitize(score, [-0.5, 1.0]) if name == "Classifier" else np.exp(score)
    params = {"criterion": criterion, "min_samples_leaf": 15, "random_state": 0, **params}
    w = rng.uniform(0.5, 1.5, 500)  # no two splits are equally good
    ours, theirs = (
        getattr(home, f"DecisionTree{name}")(**params).fit(X, y, sample_weight=w)
        for home in (tenfold, sklearn.tree)
    )
    assert_same_tree(ours.tree_, theirs.tree_)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    paths = [m.cost_complexity_pruning_path(X, y, sample_weight=w) for m in (ours, theirs)]
    for key in ("ccp_alphas", "impurities"):
        np.testing.assert_allclose(paths[0][key], paths[1][key], rtol=1e-9, atol=1e-12)


def test_several_outputs():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    Y = np.stack([X[:, 0] + X[:, 1] ** 2, X[:, 2] * 3 + 0.1 * rng.normal(size=300)], axis=1)
    params = {"min_samples_leaf": 20, "random_state": 0}
    for name, target in (("Regressor", Y), ("Classifier", np.digitize(Y, [-1.0, 1.0]))):
        ours, theirs = (
            getattr(home, f"DecisionTree{name}")(**params).fit(X, target)
            for home in (tenfold, sklearn.tree)
        )
        assert_same_tree(ours.tree_, theirs.tree_)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
        assert ours.n_outputs_ == 2
    for p, q in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-12)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_monotone_constraints_hold_everywhere(criterion):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(400, 3))
    y = 2 + np.sin(9 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=400) ** 2
    model = DecisionTreeRegressor(criterion=criterion, monotonic_cst=[1, -1, 0]).fit(X, y)
    points = rng.uniform(size=(2000, 3))
    for column, sign in ((0, 1), (1, -1)):
        further = points.copy()
        further[:, column] += rng.uniform(size=2000)
        assert (sign * (model.predict(further) - model.predict(points)) >= 0).all()
    label = (y > 3).astype(int)
    tree = DecisionTreeClassifier(monotonic_cst=[1, 0, 0], max_leaf_nodes=30).fit(X, label)
    further = points + np.array([0.3, 0, 0])
    assert (tree.predict_proba(further)[:, 1] >= tree.predict_proba(points)[:, 1]).all()


def test_a_threshold_lies_between_its_neighbors():
    """Neighboring float64 numbers have no middle; the lower one is the threshold."""
    low = 1.0
    high = np.nextafter(low, 2)
    X, y = np.array([[low], [high]]), np.array([0, 1])
    model = DecisionTreeClassifier().fit(X, y)
    assert model.tree_.threshold[0] == low
    np.testing.assert_array_equal(model.predict(X), y)


def test_a_strictly_monotone_map_changes_no_partition():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    a = DecisionTreeRegressor(random_state=0, max_depth=6).fit(X, y)
    b = DecisionTreeRegressor(random_state=0, max_depth=6).fit(np.exp(X), y)
    np.testing.assert_array_equal(a.apply(X), b.apply(np.exp(X)))


def test_many_distinct_values_take_wider_codes():
    """More than 65,535 values of a column: still exact."""
    rng = np.random.default_rng(5)
    X = rng.permutation(70_000)[:, None] + 0.1
    y = (X[:, 0] > 12_345.6).astype(float)
    model = DecisionTreeRegressor().fit(X, y)
    assert model.get_n_leaves() == 2
    assert 12_345.1 < model.tree_.threshold[0] < 12_346.1


def test_edges():
    one = DecisionTreeClassifier().fit([[1.0]], [3])
    assert one.predict([[5.0]]).tolist() == [3]
    assert (one.get_depth(), one.get_n_leaves()) == (0, 1)
    constant = DecisionTreeRegressor().fit(np.arange(9.0)[:, None], np.full(9, 0.1))
    np.testing.assert_array_equal(constant.predict([[4.0]]), [0.1])
    wide = np.random.default_rng(0).normal(size=(30, 5000))
    assert DecisionTreeClassifier().fit(wide, wide[:, 4321] > 0).score(wide, wide[:, 4321] > 0) == 1
    chain = np.arange(3000.0)[:, None]  # each split separates one row
    deep = ExtraTreeRegressor(random_state=0).fit(chain, 2.0 ** -np.arange(3000))
    assert deep.get_depth() > 10
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeRegressor().fit([[np.inf], [1.0]], [0.0, 1.0])


def test_a_tiny_scale_is_no_noise():
    """Targets of 1e-12 and columns of 1e-9 are split like others."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] + X[:, 1]
    plain = DecisionTreeRegressor(random_state=0).fit(X, y)
    small = DecisionTreeRegressor(random_state=0).fit(X * 2.0**-30, y * 2.0**-40)
    np.testing.assert_array_equal(plain.apply(X), small.apply(X * 2.0**-30))


def test_sparse_rows_are_dense_rows():
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.3)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    a = DecisionTreeClassifier(random_state=0).fit(X, y)
    b = DecisionTreeClassifier(random_state=0).fit(csr_matrix(X), y)
    assert_bitwise_equal(a, b, "sparse")
    np.testing.assert_array_equal(a.predict(X), b.predict(csr_matrix(X)))


def test_class_weights_are_weights():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 1).astype(int)
    a = DecisionTreeClassifier(class_weight={0: 1, 1: 3}, random_state=0, max_depth=4).fit(X, y)
    b = DecisionTreeClassifier(random_state=0, max_depth=4)
    assert_bitwise_equal(a, b.fit(X, y, sample_weight=1.0 + 2 * y), "class_weight")


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (DecisionTreeClassifier(random_state=0), "label"),
        (DecisionTreeClassifier(criterion="entropy", min_samples_leaf=3, random_state=0), "label"),
        (DecisionTreeRegressor(max_leaf_nodes=40, random_state=0), "number"),
        (DecisionTreeRegressor(max_features=0.6, max_depth=7, random_state=0), "number"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_orders_of_columns_that_are_kept_give_the_trees_of_sorted_nodes(
    model, kind, weighted, monkeypatch
):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    score = np.nan_to_num(X[:, 0] * X[:, 1]) + rng.normal(size=400)
    y = score if kind == "number" else np.digitize(score, [-0.5, 0.5])
    w = rng.integers(0, 4, 400).astype(float) if weighted else None
    kept = model.fit(X, y, sample_weight=w).tables_
    monkeypatch.setattr(_rank_codes, "_MAX_ORDER_BYTES", 0)
    tables = model.fit(X, y, sample_weight=w).tables_
    np.testing.assert_array_equal(tables.trees.words, kept.trees.words)
    np.testing.assert_array_equal(tables.trees.values, kept.trees.values)
    np.testing.assert_array_equal(tables.impurity, kept.impurity)
