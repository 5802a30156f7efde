"""Histograms of whole numbers, splits by brute force, tables of nodes, bins."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.tree._binning import bin_rows, find_thresholds, learn_bins, spool_bins
from tenfold.tree._bundles import Bundles, bundle_columns, single_columns
from tenfold.tree._fixed_point import Units
from tenfold.tree._fixed_point_numba import (
    BLOCK_ROWS,
    COARSE,
    CONSTANT,
    FINE,
    leaf_sums,
    quantize,
)
from tenfold.tree._gradient_split_numba import GAIN
from tenfold.tree._growing_tree import GrowingTree, TreeShape
from tenfold.tree._histogram_numba import add_rows, make_table
from tenfold.tree._losses import exact_mean, weighted_quantile
from tenfold.tree._losses_numba import exponentials
from tenfold.tree._nodes import (
    CATEGORICAL,
    LEAF,
    MISSING_LEFT,
    Tree,
    TreeEnsemble,
    pack_categories,
)
from tenfold.tree._predict_numba import apply_trees, ensemble_scores

RNG = np.random.default_rng(0)
SCALES = {CONSTANT: (2.0**30, 1.0), COARSE: (2.0**16, 2.0**16), FINE: (2.0**30, 2.0**30)}


def words_of(g, h, layout):
    words = np.empty(len(g), np.int64), np.empty(len(g), np.int64)
    quantize(g, h, np.zeros(0, np.int64), layout, *SCALES[layout], *words)
    return words


def histogram(bins, words, layout, width, rows=None, bundles=None):
    n, p = bins.shape
    rows = np.arange(n, dtype=np.int32) if rows is None else rows
    codes, starts, members = bundles or (bins, *single_columns(np.full(p, width)))
    table, sums = make_table(len(starts) - 1), np.zeros((p * width, 3), np.int64)
    limit = layout, BLOCK_ROWS[layout]
    add_rows(codes.ravel(), rows, 0, len(rows), *words, *limit, table, starts, members, sums)
    assert not table.any()
    return sums.reshape(p, width, 3)


@pytest.mark.parametrize("layout", [CONSTANT, COARSE, FINE])
def test_histograms_are_exact_sums_in_any_order(layout):
    n, p, width = 20_000, 3, 7
    bins = RNG.integers(0, width, (n, p)).astype(np.uint8)
    g, h = RNG.uniform(-1, 1, n), RNG.uniform(0, 0.25, n)
    words = words_of(g, h, layout)
    sums = histogram(bins, words, layout, width)
    order = RNG.permutation(n).astype(np.int32)
    assert_array_equal(sums, histogram(bins, words, layout, width, order))
    assert_array_equal(sums.sum(axis=1), np.repeat(sums[:1].sum(axis=1), p, axis=0))
    scale_g, scale_h = SCALES[layout]
    for j, b in itertools.product(range(p), range(width)):
        there = bins[:, j] == b
        total = n if layout == CONSTANT else h[there].sum()
        assert sums[j, b, 2] == there.sum()
        assert abs(sums[j, b, 0] / scale_g - g[there].sum()) < 0.02
        if layout != CONSTANT:
            assert abs(sums[j, b, 1] / scale_h - total) < 0.02
    half = order[: n // 2]
    rest = histogram(bins, words, layout, width, order[n // 2 :])
    assert_array_equal(sums - histogram(bins, words, layout, width, half), rest)


@pytest.mark.parametrize("layout", [CONSTANT, COARSE, FINE])
def test_bundles_of_columns_give_the_same_histogram(layout):
    n, width = 70_000, 9
    topic, place = RNG.integers(0, 12, n), RNG.integers(0, 5, n)
    n_bins = np.array([width - 1, *[2] * 12, *[4] * 5, 3])
    bins = np.zeros((n, len(n_bins)), np.uint8)
    bins[:, 0] = RNG.integers(0, width, n)  # with missing values
    bins[np.arange(n), 1 + topic] = 1
    bins[:, 13:18] = 2  # the usual bin is not the first
    bins[np.arange(n), 13 + place] = RNG.integers(0, 4, n)
    bins[:, 18] = (topic == 3) * width  # missing values in a column that is usually 0
    bundles = bundle_columns(bins, np.ascontiguousarray(bins.T), n_bins)
    assert [sorted(bundles.members[a:b, 0]) for a, b in itertools.pairwise(bundles.starts)] == [
        [0], [18], list(range(1, 13)), list(range(13, 18))
    ]  # fmt: skip
    words = words_of(RNG.uniform(-1, 1, n), RNG.uniform(0, 0.25, n), layout)
    for rows in (None, RNG.permutation(n).astype(np.int32)[:30_000]):
        plain = histogram(bins, words, layout, width + 1, rows)
        assert_array_equal(plain, histogram(bins, words, layout, width + 1, rows, bundles))


def test_a_row_with_two_unusual_bins_keeps_columns_apart():
    bins = np.zeros((50_000, 3), np.uint8)
    bins[7, :2] = 1
    bins[9, 2] = 1
    bundles = bundle_columns(bins, np.ascontiguousarray(bins.T), np.full(3, 2))
    assert [sorted(bundles.members[a:b, 0]) for a, b in itertools.pairwise(bundles.starts)] == [
        [1], [0, 2]
    ]  # fmt: skip


def test_bundles_do_not_change_trees():
    n = 40_000
    kind = RNG.integers(0, 9, n)
    X = np.zeros((n, 11), np.float32)
    X[np.arange(n), kind] = 1
    X[:, 9:] = RNG.normal(size=(n, 2))
    y = (kind + X[:, 9] + RNG.normal(size=n)) // 4
    order = RNG.permutation(n)
    model = tenfold.HistGradientBoostingClassifier(max_iter=3, early_stopping=False, random_state=0)
    trees = model.fit(X, y).trees_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tenfold.tree._memory_trainer.bundle_columns", no_bundles)
        alone = model.fit(X, y).trees_
    for name in ("words", "values", "gain"):
        assert_array_equal(getattr(trees, name), getattr(alone, name))
    shuffled = model.fit(X[order], y[order]).trees_
    assert_array_equal(trees.values, shuffled.values)


def no_bundles(bins, _, n_bins):
    return Bundles(bins, *single_columns(n_bins))


@pytest.mark.parametrize("layout", [CONSTANT, COARSE, FINE])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_gradients_do_not_overflow(layout, sign):
    n = 3 * BLOCK_ROWS[layout] + 5
    g = np.full(n, sign)
    scale_g = {CONSTANT: 2.0**37, COARSE: 2.0**16, FINE: 2.0**37}[layout]
    words = np.empty(n, np.int64), np.empty(n, np.int64)
    h = np.full(n, 0.25)
    quantize(g, h, np.zeros(0, np.int64), layout, scale_g, 2.0**32, *words)
    sums = histogram(np.zeros((n, 1), np.uint8), words, layout, 2)
    assert_array_equal(sums[0, 0, [0, 2]], [sign * n * scale_g, n])
    exact = leaf_sums(np.arange(n, dtype=np.int32), 0, n, *words, layout)
    unit = 2.0**32 if layout == COARSE else scale_g
    assert exact[0] == sign * n * unit


def shape(p, **changes):
    settings = dict(
        learning_rate=1.0,
        max_leaf_nodes=2,
        max_depth=None,
        min_samples_leaf=3,
        l2_regularization=0.5,
        max_features=1.0,
        depth_wise=False,
        subsample=1.0,
        monotone=np.zeros(p, np.int64),
        groups=(),
        seed=0,
    )
    return TreeShape(**settings | changes)


def best_gain(bins, g, h, is_categorical, missing, rules):
    """The gain of the best split, by trying all."""
    best = -1.0

    def gain(left):
        if min(left.sum(), (~left).sum()) < rules.min_samples_leaf:
            return -1.0
        parts = [(g[side].sum(), h[side].sum()) for side in (left, ~left, left | True)]
        a, b, whole = (G * G / (H + rules.l2_regularization) for G, H in parts)
        return a + b - whole

    for j in range(bins.shape[1]):
        values = np.unique(bins[:, j])
        if is_categorical[j]:
            for size in range(1, len(values)):
                for chosen in itertools.combinations(values, size):
                    best = max(best, gain(np.isin(bins[:, j], chosen)))
            continue
        for cut in values[values != missing]:
            left = bins[:, j] <= cut
            best = max(
                best, gain(left & (bins[:, j] != missing)), gain(left | (bins[:, j] == missing))
            )
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("categorical", [False, True], ids=["numbers", "categories"])
def test_the_best_split_is_that_of_brute_force(seed, categorical):
    rng = np.random.default_rng(seed)
    n, p, kinds = 96, 3, 6
    bins = rng.integers(0, 9, (n, p)).astype(np.uint8)
    bins[rng.random((n, p)) < 0.1] = 9  # missing
    is_categorical = np.array([categorical, False, False])
    if categorical:  # as many rows of each: then the order by g / (h + 10) is that by g / h
        bins[:, 0] = rng.permutation(np.repeat(np.arange(kinds), n // kinds))
    g, h = rng.normal(size=n), np.ones(n)
    rules = shape(p, min_samples_leaf=16 if categorical else 3)
    words = words_of(g, h, CONSTANT)
    sums = histogram(bins, words, CONSTANT, 10).reshape(-1, 3)
    columns = np.column_stack([np.full(p, 9), is_categorical]).astype(np.int64)
    units = Units(CONSTANT, *SCALES[CONSTANT], (2.0**-30, 1.0), (2.0**-30, 1.0))
    tree = GrowingTree(rules, 0, columns, units, 2)
    tree.start(sums)
    expected = best_gain(bins, g, h, is_categorical, 9, rules)
    found = tree.search(0, sums)
    assert found == (expected > 0)
    if found:
        assert_allclose(tree.numbers[0, GAIN], expected, rtol=1e-6)


def test_of_equal_columns_each_is_chosen_by_some_trees():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 1))
    X, y = np.repeat(x, 3, axis=1), x[:, 0] > 0
    model = tenfold.HistGradientBoostingClassifier(max_iter=30, early_stopping=False).fit(X, y)
    assert (model.split_counts_ > 0).all()


def test_means_are_exact_and_quantiles_repeat_by_weight():
    values = RNG.normal(size=999) * 10.0 ** RNG.integers(-200, 200, 999)
    expected = float(sum(map(Fraction, values.tolist())) / 999)
    assert exact_mean(values, None) == exact_mean(values[::-1].copy(), None) == expected
    w = RNG.integers(0, 4, 999)
    repeated = np.repeat(values, w)
    assert exact_mean(values, w.astype(float)) == exact_mean(repeated, None)
    for q in (0.0, 0.1, 0.5, 1.0):
        assert weighted_quantile(values, w.astype(float), q) == weighted_quantile(repeated, None, q)


def test_the_exponential_is_that_of_the_library_to_the_last_digits():
    x = np.concatenate([np.linspace(-708, 709, 10_001), RNG.normal(size=1000)])
    out = np.empty_like(x)
    exponentials(x, out)
    assert_allclose(out, np.exp(x), rtol=4e-16)


def hand_made_tree():
    kinds = int(CATEGORICAL) | int(MISSING_LEFT) | 1
    return Tree.of(
        [0, LEAF, kinds, LEAF, LEAF],
        [1, 0, 3, 1, 2],
        [0.5, 0, 0, 0, 0],
        [[1.0], [2.0], [3.0]],
        bitsets=pack_categories([1, 70]),
    )


def test_prediction_by_numbers_categories_and_missing_values():
    tree = hand_made_tree()
    rows = [[0.5, 9], [0.6, 1], [1, 70], [1, 2], [1, np.nan], [1, 5000], [1, 1.5], [np.nan, 2]]
    expected = [1.0, 2.0, 2.0, 3.0, 2.0, 2.0, 2.0, 3.0]
    X = np.repeat(np.array(rows), 3, axis=0)
    for kind in (np.float64, np.float32):
        scores = ensemble_scores(Chunk(X.astype(kind)), TreeEnsemble.of([tree, tree]), np.ones(1))
        assert_array_equal(scores[:, 0], 1 + 2 * np.repeat(expected, 3))
    leaves = apply_trees(Chunk(X), TreeEnsemble.of([tree]))
    assert_array_equal(tree.values[tree.nodes["left"][leaves[:, 0]], 0], np.repeat(expected, 3))


def test_an_ensemble_gives_its_trees_back():
    tree = hand_made_tree()
    trees = TreeEnsemble.of([tree, tree, tree], [0, 1, 0])
    assert trees.n_outputs == 2
    assert len(trees) == 3
    again = trees.tree(2)
    assert_array_equal(again.words[:, 0], tree.words[:, 0])
    assert_array_equal(again.values, tree.values)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("left", [9, 0, 3, 1, 2]),  # a child that is not there
        ("left", [0, 0, 3, 1, 2]),  # a way without end
        ("left", [1, 7, 3, 1, 2]),  # a leaf that is not there
        ("threshold", [0, 0, 99.0, 0, 0]),  # a set that is not there
    ],
)
def test_tables_that_lead_outside_are_refused(part, value):
    tree = hand_made_tree()
    columns = {name: tree.nodes[name].copy() for name in ("feature", "left", "threshold")}
    columns[part] = np.array(value)
    with pytest.raises(ValueError, match=r"not there|ends outside"):
        Tree.of(**columns, values=tree.values, bitsets=tree.bitsets)


def test_rows_with_too_few_columns_are_refused():
    with pytest.raises(ValueError, match="the trees ask 2"):
        ensemble_scores(Chunk(np.ones((3, 1))), TreeEnsemble.of([hand_made_tree()]), np.zeros(1))


def test_thresholds_and_bins_are_scikit_learns():
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    X[:, 1] = np.round(X[:, 1], 1)
    for j in range(4):  # 2702 values: no quantile is an observation, where rounding decides
        X[rng.choice(3000, 298, replace=False), j] = np.nan
    rows = Rows(ArraySource(X), allow_nan=True)
    mapper, theirs = learn_bins(rows, 255, 0), _BinMapper(n_bins=256).fit(X)
    for j, thresholds in enumerate(theirs.bin_thresholds_):
        assert_array_equal(mapper.thresholds[j, : mapper.n_bins[j] - 1], thresholds)
    assert_array_equal(bin_rows(Chunk(X), mapper), theirs.transform(X))
    assert_array_equal(spool_bins(rows, mapper).bins[:], bin_rows(Chunk(X), mapper))


def test_thresholds_separate_neighbors_and_infinities():
    a = 1.0
    values = np.array([-np.inf, np.nextafter(a, 2), a, np.inf, -np.inf, np.nan])
    cuts = find_thresholds(values, 255, None)
    assert_array_equal(np.searchsorted(cuts, np.unique(values[:5])), [0, 1, 2, 3])
    small = np.array([1.0, np.nextafter(np.float32(1), np.float32(2))], np.float32)
    mapper = learn_bins(Rows(ArraySource(small[:, None])), 255, 0)
    assert_array_equal(bin_rows(Chunk(small[:, None]), mapper)[:, 0], [0, 1])


def test_whole_weights_repeat_values_in_thresholds():
    x, w = RNG.normal(size=4000), RNG.integers(0, 4, 4000)
    weighted = find_thresholds(x, 100, w.astype(float))
    assert_array_equal(weighted, find_thresholds(np.repeat(x, w), 100, None))
