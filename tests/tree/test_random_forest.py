"""Forests: out-of-bag predictions by refits, pooling, laws of seeds, text, isolation."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree

import tenfold
from tenfold import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    export_text,
    pool_forests,
)
from tenfold.testing.bitwise import assert_bitwise_equal
from tenfold.tree.isolation_forest import average_path_length


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=300)
    return X, score, np.digitize(score, [-0.5, 0.8])


def test_out_of_bag_is_what_trees_without_the_row_predict(data):
    X, y, label = data
    forest = RandomForestRegressor(25, oob_score=True, random_state=0, max_depth=5).fit(X, y)
    total, votes = np.zeros(300), np.zeros(300)
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        outside = np.setdiff1d(np.arange(300), drawn)
        total[outside] += tree.predict(X[outside])
        votes[outside] += 1
    np.testing.assert_allclose(forest.oob_prediction_, total / votes, rtol=1e-12)
    assert forest.oob_score_ == sklearn.metrics.r2_score(y, forest.oob_prediction_)
    classifier = RandomForestClassifier(25, oob_score=True, random_state=0).fit(X, label)
    assert abs(classifier.oob_score_ - 0.75) < 0.15
    np.testing.assert_allclose(classifier.oob_decision_function_.sum(axis=1), 1)


def test_a_tree_of_the_forest_is_a_tree_on_its_draw(data):
    """Refit by weights: the counts of the draw are the weights of the rows."""
    X, y, _ = data
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    tree, drawn = forest.estimators_[1], forest.estimators_samples_[1]
    assert len(drawn) == 300
    counts = np.bincount(drawn, minlength=300)
    again = DecisionTreeRegressor(random_state=0).fit(X, y, sample_weight=counts.astype(float))
    inside = np.unique(drawn)
    np.testing.assert_allclose(tree.predict(X[inside]), again.predict(X[inside]), rtol=1e-9)
    np.testing.assert_allclose(tree.tree_.impurity[0], again.tree_.impurity[0], rtol=1e-12)


@pytest.mark.parametrize("family", [RandomForestClassifier, ExtraTreesClassifier])
def test_probabilities_are_the_mean_of_the_trees(family, data):
    X, _, label = data
    forest = family(7, random_state=1).fit(X, label)
    mean = np.mean([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), mean, rtol=1e-12)
    leaves = np.stack([tree.apply(X) for tree in forest.estimators_], axis=1)
    np.testing.assert_array_equal(forest.apply(X), leaves)
    paths, starts = forest.decision_path(X)
    assert paths.shape == (300, starts[-1])
    np.testing.assert_allclose(forest.feature_importances_.sum(), 1)


def test_more_trees_by_warm_start_are_those_of_a_larger_forest(data):
    X, y, _ = data
    small = RandomForestRegressor(3, random_state=5, warm_start=True, max_depth=4).fit(X, y)
    small.set_params(n_estimators=8).fit(X, y)
    large = RandomForestRegressor(8, random_state=5, max_depth=4).fit(X, y)
    assert_bitwise_equal(small, large, "warm start")


def test_pooled_votes_are_the_mean_of_votes(data):
    X, y, label = data
    a = RandomForestClassifier(4, random_state=0).fit(X[label < 2], label[label < 2])
    b = RandomForestClassifier(12, random_state=1).fit(X[label > 0], label[label > 0])
    pooled = pool_forests(a, b)
    assert pooled.classes_.tolist() == [0, 1, 2]
    p, q = np.zeros((300, 3)), np.zeros((300, 3))
    p[:, :2], q[:, 1:] = a.predict_proba(X), b.predict_proba(X)
    np.testing.assert_allclose(pooled.predict_proba(X), (4 * p + 12 * q) / 16, atol=1e-15)
    parts = [ExtraTreesRegressor(n, random_state=n).fit(X, y) for n in (2, 6)]
    mean = (2 * parts[0].predict(X) + 6 * parts[1].predict(X)) / 8
    np.testing.assert_allclose(pool_forests(*parts).predict(X), mean, rtol=1e-12)
    with pytest.raises(TypeError, match="different kinds"):
        pool_forests(a, parts[0])
    table = pd.DataFrame(X, columns=list("abcde"))
    with pytest.raises(ValueError, match="columns of other names, or in another order"):
        pool_forests(*(RandomForestRegressor(1).fit(t, y) for t in (table, table[list("edcba")])))
    named = RandomForestClassifier(1).fit(X, np.array(["low", "mid", "top"])[label])
    with pytest.raises(ValueError, match="numbers for classes, others names"):
        pool_forests(a, named)


def test_a_warm_start_with_another_table_is_refused(data):
    X, _, label = data
    forest = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, label)
    for rows, target in ((X[:, :2], label), (X, label > 0), (X, np.column_stack([label, label]))):
        with pytest.raises(ValueError, match="fit a new forest, or set warm_start=False"):
            deepcopy(forest).set_params(n_estimators=5).fit(rows, target)


def test_quantiles_of_a_pooled_forest_weigh_the_leaves_of_all_trees(data):
    X, y, _ = data
    settings = {"min_samples_leaf": 6, "keep_targets": True}
    a = RandomForestRegressor(5, random_state=0, **settings).fit(X[:200], y[:200])
    b = RandomForestRegressor(4, random_state=1, **settings).fit(X[100:], y[100:])
    pooled, shares, order = pool_forests(a, b), [0.05, 0.5, 0.93], np.argsort(y)
    found = pooled.predict_quantiles(X[:20], shares)
    parts = [(a, 0, slice(200)), (b, 100, slice(100, None))]
    for i in range(20):
        weight = np.zeros(300)
        for forest, first, rows in parts:
            leaves = forest.apply(X)
            for t, drawn in enumerate(forest.estimators_samples_):
                counts = np.bincount(drawn + first, minlength=300)
                counts[rows] *= leaves[rows, t] == leaves[i, t]
                weight += counts / counts.sum() / 9
        places = np.searchsorted(np.cumsum(weight[order]), np.array(shares) - 1e-9)
        np.testing.assert_array_equal(found[i], y[order][places])
    with pytest.raises(ValueError, match="keep_targets=True"):
        pool_forests(a, RandomForestRegressor(2).fit(X, y)).predict_quantiles(X)


def test_many_targets_of_pooled_forests_are_thinned_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2, 120_000, 1))
    settings = {"max_depth": 1, "bootstrap": False, "keep_targets": True}
    parts = [RandomForestRegressor(1, **settings).fit(X[i::2], y[i::2, 0]) for i in range(2)]
    pooled = pool_forests(*parts)
    found, kept = (m.predict_quantiles(X[:3], [0, 0.5, 1]) for m in (pooled, parts[0]))
    np.testing.assert_allclose(found[:, 1], kept[:, 1], atol=0.05)
    assert len(pooled.leaf_targets_.levels) < 2**16
    assert pooled.leaf_targets_.levels[-1] == y.max()


def test_what_a_pooled_forest_cannot_know_is_refused(data, tmp_path):
    X, y, _ = data
    parts = [RandomForestRegressor(3, random_state=i, max_depth=3).fit(X, y) for i in range(2)]
    pool_forests(*parts).save(tmp_path / "pooled")
    for pooled in (pool_forests(*parts), tenfold.load(tmp_path / "pooled")):
        with pytest.raises(ValueError, match="pooled forest does not know its draws"):
            pooled.estimators_samples_  # noqa: B018
        with pytest.raises(ValueError, match="grow the forests, then pool them"):
            pooled.set_params(warm_start=True, n_estimators=9).fit(X, y)
        assert len(pooled.set_params(warm_start=False, n_estimators=2).fit(X, y)) == 2


def test_bootstrap_weights_are_chances(data):
    """Rows of weight zero are never drawn; the others in proportion."""
    X, y, _ = data
    w = np.where(np.arange(300) < 100, 0.0, np.where(np.arange(300) < 200, 1.0, 3.0))
    forest = RandomForestRegressor(40, random_state=0, max_depth=1).fit(X, y, sample_weight=w)
    counts = sum(np.bincount(drawn, minlength=300) for drawn in forest.estimators_samples_)
    assert counts[:100].sum() == 0
    assert 2.7 < counts[200:].sum() / counts[100:200].sum() < 3.3


def test_quality_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 8))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.3 * rng.normal(size=2000)
    for name in ("RandomForestRegressor", "ExtraTreesRegressor"):
        scores = [
            getattr(home, name)(30, random_state=0)
            .fit(X[:1000], y[:1000])
            .score(X[1000:], y[1000:])
            for home in (tenfold, sklearn.ensemble)
        ]
        assert abs(scores[0] - scores[1]) < 0.03


def test_text_is_that_of_scikit_learn(data):
    X, y, label = data
    X = X.astype(np.float32)
    params = {"max_depth": 3, "min_samples_leaf": 20, "random_state": 0}
    options = {"feature_names": list("abcde"), "decimals": 3}
    for name, target, more in (
        ("Classifier", label, {"show_weights": True}),
        ("Regressor", y, {}),
        ("Classifier", label, {"max_depth": 1}),
    ):
        ours = getattr(tenfold, f"DecisionTree{name}")(**params).fit(X, target)
        theirs = getattr(sklearn.tree, f"DecisionTree{name}")(**params).fit(X, target)
        expected = sklearn.tree.export_text(theirs, **options, **more)
        assert export_text(ours, **options, **more) == expected


def test_isolation_finds_what_lies_apart():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(500, 3)), rng.uniform(5, 9, size=(10, 3))])
    model = IsolationForest(random_state=0, contamination=0.02).fit(X)
    assert (model.predict(X[500:]) == -1).mean() > 0.9
    assert (model.predict(X) == -1).sum() <= 11
    np.testing.assert_allclose(
        average_path_length([1, 2, 4]), [0, 1, 2 * (np.log(3) + np.euler_gamma) - 1.5]
    )
    theirs = sklearn.ensemble.IsolationForest(random_state=0).fit(X).score_samples(X)
    ours = IsolationForest(random_state=0).fit(X).score_samples(X)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.95


def test_isolation_draws_no_row_of_weight_zero(data):
    X, _, _ = data
    weight = np.zeros(300)
    weight[50:70] = 1
    forest = IsolationForest(n_estimators=3, random_state=0).fit(X, sample_weight=weight)
    assert forest.max_samples_ == 20
    assert all(rows.tolist() == list(range(50, 70)) for rows in forest.estimators_samples_)


def test_balanced_subsamples_raise_the_rare_class(data):
    X, y, _ = data
    rare = (y > 1.8).astype(int)
    plain = RandomForestClassifier(30, random_state=0, max_depth=3).fit(X, rare)
    balanced = RandomForestClassifier(
        30, random_state=0, max_depth=3, class_weight="balanced_subsample"
    ).fit(X, rare)
    assert balanced.predict_proba(X)[:, 1].mean() > 2 * plain.predict_proba(X)[:, 1].mean()


def test_a_single_tree_without_a_bootstrap_is_a_decision_tree(data):
    X, _, label = data
    forest = RandomForestClassifier(1, bootstrap=False, max_features=None, random_state=0)
    tree = DecisionTreeClassifier(random_state=3)
    np.testing.assert_array_equal(forest.fit(X, label).predict(X), tree.fit(X, label).predict(X))


@pytest.mark.parametrize("family", [RandomForestRegressor, ExtraTreesRegressor])
def test_quantiles_weigh_the_rows_of_the_leaves(family, data):
    """Meinshausen's weights, by definition."""
    X, y, _ = data
    forest = family(9, random_state=0, min_samples_leaf=6, keep_targets=True).fit(X, y)
    shares, order = [0.05, 0.5, 0.93], np.argsort(y)
    leaves, drawn = forest.apply(X), forest.estimators_samples_
    found = forest.predict_quantiles(X[:20], shares)
    for i in range(20):
        weight = np.zeros(300)
        for t in range(9):
            counts = np.bincount(drawn[t], minlength=300) * (leaves[:, t] == leaves[i, t])
            weight += counts / counts.sum() / 9
        places = np.searchsorted(np.cumsum(weight[order]), np.array(shares) - 1e-9)
        np.testing.assert_array_equal(found[i], y[order][places])
    low, high = forest.predict_interval(X, 0.8).T
    assert np.mean((low <= y) & (y <= high)) > 0.75
    with pytest.raises(ValueError, match="keep_targets=True"):
        family(2).fit(X, y).predict_quantiles(X)
    with pytest.raises(ValueError, match=r"0\.9 is an interval of 90 %"):
        forest.predict_interval(X, 90)


def test_a_picture_shows_every_split_of_the_upper_levels(data):
    import matplotlib as mpl

    mpl.use("agg")
    from tenfold.plot import tree
    from tenfold.plot.trees import tree_layout

    X, _, label = data
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, label)
    ax = tree(model, feature_names=list("abcde"), max_depth=2)
    texts = [text.get_text() for text in ax.texts]
    root = model.tree_
    assert texts[0].startswith(f"{'abcde'[root.feature[0]]} ≤ {root.threshold[0]:.2f}")
    position = tree_layout(root.children_left, root.children_right, 9)
    assert len(position) == root.node_count
    places = list(position.values())
    assert len(set(places)) == len(places)


def test_many_trees_are_no_text_and_no_picture(data):
    from tenfold.plot import tree

    X, _, label = data
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, label)
    boosted = HistGradientBoostingClassifier(max_iter=2).fit(X, label)
    for show in (export_text, tree):
        with pytest.raises(TypeError, match="not a RandomForestClassifier: give one of its estim"):
            show(forest)
        with pytest.raises(TypeError, match="single tree, not a HistGradientBoostingClassifier"):
            show(boosted)


def test_large_pieces_of_rows_have_the_predictions_of_their_rows() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20_000, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) > rng.normal(size=len(X))).astype(int)
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    assert len(forest.tables_.trees.words) > 2 * 4096  # trees that take all rows at once
    shares, leaves = forest.predict_proba(X), forest.apply(X)
    parts = [slice(0, 5), slice(5, 12), slice(12, 25), slice(8190, 8203), slice(19_990, 20_000)]
    for part in parts:
        np.testing.assert_array_equal(forest.predict_proba(X[part]), shares[part])
        np.testing.assert_array_equal(forest.apply(X[part]), leaves[part])
    trees = [forest.tables_.grown(t) for t in range(2)]
    for row in (0, 7, 19_999):  # one step after the other
        for t, tree in enumerate(trees):
            at = 0
            while tree.feature[at] >= 0:
                x = X[row, tree.feature[at]]
                goes_left = tree.missing_left[at] if np.isnan(x) else x <= tree.threshold[at]
                at = tree.left[at] + (not goes_left)
            assert leaves[row, t] == at


def test_forests_in_a_list_are_refused_with_the_cure(data):
    X, _, y = data
    model = RandomForestClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"pool_forests\(\*forests\)"):
        pool_forests([model, model])


@pytest.mark.filterwarnings("error")
def test_numbers_beyond_singles_are_no_matter_for_a_warning(data):
    X, _, y = data
    shown = RandomForestClassifier(3, random_state=0).fit(X, y)
    large = RandomForestClassifier(3, random_state=0).fit(X * 1e300, y)
    assert (large.predict_proba(X * 1e300) == shown.predict_proba(X)).all()


def test_trees_that_share_memory_are_trees_by_themselves(data):
    X, _, y = data
    forest = RandomForestClassifier(4, random_state=3).fit(X, y)
    for t, tree in enumerate(forest.estimators_):
        more = RandomForestClassifier(t + 1, random_state=3).fit(X, y).estimators_[t]
        assert (tree.predict_proba(X) == more.predict_proba(X)).all()
        assert (tree.tree_.threshold == more.tree_.threshold).all()
