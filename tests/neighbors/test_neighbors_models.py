"""Votes, means, outliers and graphs of neighbors against closed forms and scikit-learn."""

import os
from unittest import mock

import numpy as np
import pytest
import sklearn.neighbors as peers
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict

import tenfold
from tenfold import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    LocalOutlierFactor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    Search,
)
from tenfold.datasets import fetch_olivetti_faces
from tenfold.model_selection import _evaluation
from tenfold.neighbors._metric_tree import MetricTree
from tenfold.testing.missing_value_law import check_missing_values

ALGORITHMS = ("brute", "kd_tree", "ball_tree", "auto")


@pytest.fixture
def xor():
    """Rows near the corners of a square; opposite corners have the same label."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 4, 80)
    centers = np.array([[1, 1], [-1, -1], [-1, 1], [1, -1]])
    return centers[corner] + 0.3 * rng.normal(size=(80, 2)), (corner < 2).astype(int)


def test_one_neighbor_gives_voronoi_cells(xor):
    X, y = xor
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-2, 2, 30)]), axis=-1).reshape(-1, 2)
    cell = cdist(grid, X).argmin(axis=1)
    model = KNeighborsClassifier(1).fit(X, y)
    assert np.array_equal(model.predict(grid), y[cell])
    assert model.score(X, y) == 1.0  # distinct rows
    assert np.array_equal(model.kneighbors(grid, 1, return_distance=False)[:, 0], cell)


def test_radial_features_argmax_and_labels_are_one_neighbor(xor):
    X, y = xor
    Q = np.random.default_rng(1).normal(size=(50, 2))
    features = np.exp(-(cdist(Q, X) ** 2))  # a basis function on every training row
    one_hot = features == features.max(axis=1, keepdims=True)
    labels = np.eye(2)[y]
    assert np.array_equal(
        (one_hot @ labels).argmax(axis=1), KNeighborsClassifier(1).fit(X, y).predict(Q)
    )


def test_the_tree_of_any_metric_is_used_and_gives_the_rows_of_brute_force():
    rng = np.random.default_rng(5)
    X, Q = rng.uniform(-1, 1, (500, 2)), rng.uniform(-1, 1, (40, 2))
    for metric in ("haversine", "canberra", "manhattan", lambda x, y: float(abs(x - y).max())):
        tree = NearestNeighbors(metric=metric, algorithm="ball_tree").fit(X)
        assert isinstance(tree._index.search, MetricTree)
        brute = NearestNeighbors(metric=metric, algorithm="brute").fit(X)
        for ours, expected in zip(tree.kneighbors(Q), brute.kneighbors(Q), strict=True):
            assert np.array_equal(ours, expected)


def test_all_rows_as_neighbors_give_shares_and_means(xor):
    X, y = xor
    shares = KNeighborsClassifier(len(X)).fit(X, y).predict_proba(X[:5])
    np.testing.assert_allclose(shares, np.tile(np.bincount(y) / len(y), (5, 1)), rtol=1e-14)
    means = KNeighborsRegressor(len(X)).fit(X, X).predict(X[:5])
    np.testing.assert_allclose(means, np.tile(X.mean(axis=0), (5, 1)), rtol=1e-12)


def test_a_lone_mislabelled_row_matters_for_one_neighbor_only():
    X = np.linspace(0, 1, 21)[:, None]
    y = np.zeros(21, int)
    y[10] = 1
    assert KNeighborsClassifier(1).fit(X, y).predict([[0.51]]) == 1
    assert KNeighborsClassifier(3).fit(X, y).predict([[0.51]]) == 0


def test_distance_ties_go_to_the_first_row_and_vote_ties_to_the_first_class():
    X, y = [[0.0], [2.0], [2.0], [-2.0]], ["a", "c", "b", "b"]
    for algorithm in ALGORITHMS:
        model = NearestNeighbors(n_neighbors=3, algorithm=algorithm).fit(X)
        assert model.kneighbors([[0.0]], return_distance=False).tolist() == [[0, 1, 2]]
        assert model.kneighbors(return_distance=False).tolist() == [
            [1, 2, 3],
            [2, 0, 3],
            [1, 0, 3],
            [0, 1, 2],
        ]
    Q = [[1.2]]  # rows 1 (c) and 2 (b) at 0.8, row 0 (a) at 1.2
    assert KNeighborsClassifier(3).fit(X, y).predict(Q) == "a"
    assert KNeighborsClassifier(3, tie_break="nearest").fit(X, y).predict(Q) == "b"
    assert KNeighborsClassifier(1).fit(X, y).predict(Q) == "c"


def test_a_row_is_its_own_first_neighbor_among_distinct_rows(xor):
    X, _ = xor
    rows = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(X, return_distance=False)
    assert np.array_equal(rows[:, 0], np.arange(len(X)))


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("sort", ["neighbors", "radius"])
def test_predictions_are_those_of_scikit_learn(weights, sort):
    X, y = load_iris(return_X_y=True)
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)  # no ties
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    both = np.column_stack([y, X[:, 0]])
    pairs = [
        (KNeighborsClassifier(7, weights=weights), peers.KNeighborsClassifier(7, weights=weights)),
        (KNeighborsRegressor(7, weights=weights), peers.KNeighborsRegressor(7, weights=weights)),
    ]
    if sort == "radius":
        pairs = [
            (
                RadiusNeighborsClassifier(1.0, weights=weights, outlier_label=2),
                peers.RadiusNeighborsClassifier(1.0, weights=weights, outlier_label=2),
            ),
            (
                RadiusNeighborsRegressor(2.0, weights=weights),
                peers.RadiusNeighborsRegressor(2.0, weights=weights),
            ),
        ]
    classifiers, regressors = [
        [m.fit(X[train], t[train]) for m in pair]
        for t, pair in zip((y, y.astype(float)), pairs, strict=True)
    ]
    ours, theirs = (m.predict_proba(X[test]) for m in classifiers)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert np.array_equal(*(m.predict(X[test]) for m in classifiers))
    np.testing.assert_allclose(*(m.predict(X[test]) for m in regressors), atol=1e-12)
    several = [m.fit(X[train], both[train]) for m in pairs[1]]
    np.testing.assert_allclose(*(m.predict(X[test]) for m in several), atol=1e-12)


def test_several_outputs_and_labels(xor):
    X, y = xor
    Y = np.column_stack([y, np.where(X[:, 0] > 0, "right", "left")]).astype(object)
    model = KNeighborsClassifier(5).fit(X, np.column_stack([y, y + 1]))
    theirs = peers.KNeighborsClassifier(5).fit(X, np.column_stack([y, y + 1]))
    assert np.array_equal(model.predict(X), theirs.predict(X))
    assert [p.shape for p in model.predict_proba(X)] == [(80, 2), (80, 2)]
    assert (
        KNeighborsClassifier(1).fit(X, Y.astype(str)).predict(X).tolist() == Y.astype(str).tolist()
    )
    labels = np.column_stack([y, 1 - y, X[:, 0] > 0]).astype(int)
    assert np.array_equal(KNeighborsClassifier(1).fit(X, labels).predict(X), labels)


def test_weights_are_parts_of_neighbors():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 3.0])
    model = KNeighborsRegressor(2).fit(X, y, sample_weight=[0.5, 1.0, 3.0, 0.0])
    # half of row 0, all of row 1, half of row 2
    np.testing.assert_allclose(model.predict([[0.0]]), (0.5 * 0 + 1 * 1 + 0.5 * 2) / 2)
    assert model.kneighbors([[3.0]], 3, return_distance=False).tolist() == [[2, 1, 0]]
    with pytest.raises(ValueError, match="weigh less"):
        KNeighborsRegressor(3).fit(X, y, sample_weight=[0.5, 0.5, 0.5, 0.5]).predict([[0.0]])


def test_leave_one_out_and_groups(xor):
    X, y = xor
    model = KNeighborsClassifier(3).fit(X, y)
    by_loop = [
        KNeighborsClassifier(3).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0]
        for i in range(len(X))
    ]
    assert model.predict().tolist() == by_loop
    groups = np.arange(80) % 4
    grouped = KNeighborsClassifier(3).fit(X, y, groups=groups)
    folds = cross_val_predict(KNeighborsClassifier(3), X, y, groups=groups, cv=GroupKFold(4))
    assert np.array_equal(grouped.predict(X, groups=groups), folds)
    assert np.array_equal(grouped.predict(X, groups=np.full(80, 99)), model.predict(X))
    with pytest.raises(ValueError, match="groups of the training rows"):
        model.predict(X, groups=groups)
    with pytest.raises(ValueError, match="fewer than 70 neighbors"):
        grouped.kneighbors(X, 70, groups=groups)


def test_rows_are_added_and_models_merge(xor):
    X, y = xor
    names = np.array(["blue", "red", "green"])[y]
    a = KNeighborsClassifier(4).fit(X[:30], names[:30])
    b = KNeighborsClassifier(4).fit(X[30:], np.where(X[30:, 0] > 0, "green", names[30:]))
    whole = KNeighborsClassifier(4).fit(
        X, np.append(names[:30], np.where(X[30:, 0] > 0, "green", names[30:]))
    )
    merged = tenfold.merge(a, b)
    assert np.array_equal(merged.predict_proba(X), whole.predict_proba(X))
    search = NearestNeighbors().fit(X[:50]).partial_fit(X[50:])
    assert np.array_equal(search.kneighbors(X)[1], NearestNeighbors().fit(X).kneighbors(X)[1])


@pytest.mark.filterwarnings("ignore:row 5 is infinitely far")
def test_missing_values_obey_their_law():
    check_missing_values(KNeighborsClassifier(metric="nan_euclidean"))
    check_missing_values(KNeighborsRegressor(metric="nan_euclidean"))


def test_search_over_neighbors_is_the_plain_loop():
    X, y = load_iris(return_X_y=True)
    grid = {"n_neighbors": [1, 2, 5, 30], "weights": ["uniform", "distance"], "p": [1, 2]}
    for scoring in ("accuracy", "neg_log_loss"):
        fast = Search(KNeighborsClassifier(), grid, folds=5, scoring=scoring).fit(X, y)
        with mock.patch.object(_evaluation, "out_of_fold_scores", return_value=None):
            plain = Search(KNeighborsClassifier(), grid, folds=5, scoring=scoring).fit(X, y)
        key = "mean_test_score" if "mean_test_score" in fast.cv_results_ else f"mean_test_{scoring}"
        np.testing.assert_allclose(fast.cv_results_[key], plain.cv_results_[key], rtol=1e-13)
        assert fast.best_params_ == plain.best_params_
    X, y = load_diabetes(return_X_y=True)
    ours = Search(KNeighborsRegressor(), {"n_neighbors": [1, 5, 20]}, folds=5).fit(X, y)
    theirs = GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1, 5, 20]}, cv=5).fit(X, y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-12
    )


def test_leave_one_out_curve_over_k():
    X, y = load_diabetes(return_X_y=True)
    grid = {"n_neighbors": [1, 3, 9, 40]}
    found = Search(KNeighborsRegressor(), grid, folds="loo", scoring="neg_mean_squared_error")
    found.fit(X, y)
    key = next(name for name in found.cv_results_ if name.startswith("mean_test"))
    direct = [
        -np.mean((KNeighborsRegressor(k).fit(X, y).predict() - y) ** 2) for k in (1, 3, 9, 40)
    ]
    np.testing.assert_allclose(found.cv_results_[key], direct, rtol=1e-12)


def test_rows_in_a_file_give_the_bits_of_rows_in_memory(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 9, (20_000, 3)).astype(float), rng.integers(0, 3, 20_000)
    Q = rng.integers(0, 9, (40, 3)).astype(float)
    columns = {f"x{j}": X[:, j] for j in range(3)} | {"label": y}
    path, queries = tmp_path / "rows.parquet", tmp_path / "queries.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=3000)
    pq.write_table(pa.table({f"x{j}": Q[:, j] for j in range(3)}), queries)
    for model in (
        RadiusNeighborsClassifier(1.0, weights="distance", outlier_label="most_frequent"),
        RadiusNeighborsRegressor(1.5),
        KNeighborsClassifier(),
        KNeighborsRegressor(weights="distance"),
    ):
        here = tenfold.testing.instances.clone_model(model).fit(X, y)
        there = model.set_params(keep_rows="file").fit(path, "label")
        assert there.statistic_ is None
        assert np.array_equal(here.predict(Q), there.predict(queries))
        if hasattr(model, "kneighbors"):
            pairs = zip(here.kneighbors(Q), there.kneighbors(queries), strict=True)
        else:
            graphs = here.radius_neighbors_graph(Q), there.radius_neighbors_graph(queries)
            pairs = [tuple(getattr(g, part) for g in graphs) for part in ("indices", "indptr")]
            radii = np.linspace(0, 1, 40)
            lists = [
                m.radius_neighbors(q, radii, sort_results=True)
                for m, q in ((here, Q), (there, queries))
            ]
            pairs += [map(np.concatenate, part) for part in zip(*lists, strict=True)]
        for ours, theirs in pairs:
            assert np.array_equal(ours, theirs)
        there.save(tmp_path / "light", copy_rows=False)
        there.save(tmp_path / "whole")
        assert (tmp_path / "light").stat().st_size < 10_000 < (tmp_path / "whole").stat().st_size
        for name in ("light", "whole"):
            assert np.array_equal(tenfold.load(tmp_path / name).predict(queries), here.predict(Q))
    light = tenfold.load(tmp_path / "light")
    pq.write_table(pa.table(columns | {"x1": X[:, 1] + 1}), path, row_group_size=3000)
    for changed in (there, light):
        with pytest.raises(ValueError, match="changed since the fit"):
            changed.predict(queries)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="refers to this file"):
        light.predict(queries)
    assert np.array_equal(tenfold.load(tmp_path / "whole").predict(queries), here.predict(Q))


def test_too_many_rows_are_refused_before_memory_fills(xor):
    X, y = xor
    with (
        mock.patch("tenfold.engine.memory.available_memory", return_value=1.0),
        mock.patch("tenfold.engine.memory._GIB", 1),
        pytest.raises(MemoryError, match="keep the rows in a file"),
    ):
        KNeighborsClassifier().fit(X, y)


@pytest.mark.parametrize("k", [5, 20])
def test_local_outlier_factors_are_those_of_scikit_learn(k):
    rng = np.random.default_rng(4)
    X = np.vstack([rng.normal(size=(200, 3)), rng.uniform(-6, 6, (20, 3))])
    Q = rng.normal(size=(30, 3))
    ours, theirs = (
        c(n_neighbors=k, contamination=0.1).fit(X)
        for c in (LocalOutlierFactor, peers.LocalOutlierFactor)
    )
    np.testing.assert_allclose(ours.negative_outlier_factor_, theirs.negative_outlier_factor_)
    np.testing.assert_allclose(ours.offset_, theirs.offset_)
    assert np.array_equal(ours.fit_predict(X), theirs.fit_predict(X))
    ours, theirs = (
        c(n_neighbors=k, novelty=True).fit(X)
        for c in (LocalOutlierFactor, peers.LocalOutlierFactor)
    )
    np.testing.assert_allclose(ours.score_samples(Q), theirs.score_samples(Q))
    assert np.array_equal(ours.predict(Q), theirs.predict(Q))


def test_graphs(xor):
    X, _ = xor
    ours, theirs = (
        m.fit_transform(X) for m in (KNeighborsTransformer(), peers.KNeighborsTransformer())
    )
    np.testing.assert_allclose(ours.toarray(), theirs.toarray())
    for include in (True, False):
        ours = tenfold.kneighbors_graph(X, 4, mode="distance", include_self=include)
        theirs = peers.kneighbors_graph(X, 4, mode="distance", include_self=include)
        np.testing.assert_allclose(ours.toarray(), theirs.toarray())
        ours = tenfold.radius_neighbors_graph(X, 0.7, include_self=include)
        theirs = peers.radius_neighbors_graph(X, 0.7, include_self=include)
        np.testing.assert_allclose(ours.toarray(), theirs.toarray())
    graph = sparse.csr_array(peers.kneighbors_graph(X, 30, mode="distance"))
    search = NearestNeighbors(n_neighbors=5, metric="precomputed").fit(graph)
    assert np.array_equal(
        search.kneighbors()[1], NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[1]
    )


@pytest.mark.skipif("TENFOLD_DATA" not in os.environ, reason="needs TENFOLD_DATA")
def test_one_neighbor_recognizes_faces():
    """Leave-one-out: 94.5 % of the 400 Olivetti faces."""
    X, y = fetch_olivetti_faces(return_X_y=True)
    assert KNeighborsClassifier(1).fit(X, y).score(None, y) == 0.945


def test_fractional_weights_give_an_answer():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), rng.random(60)
    model = KNeighborsClassifier(5).fit(X, y, sample_weight=w)
    proba = model.predict_proba(X)
    order = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1, kind="stable")
    for row in range(60):
        left, votes = 5.0, np.zeros(3)
        for neighbor in order[row]:
            share = min(w[neighbor], left)
            votes[y[neighbor]] += share
            left -= share
        np.testing.assert_allclose(proba[row], votes / 5, atol=1e-12)


@pytest.mark.parametrize("model", [KNeighborsRegressor(3), RadiusNeighborsRegressor(2.0)], ids=repr)
def test_functions_of_distances_that_give_no_weights_are_refused(model):
    X, y = np.arange(10.0)[:, None], np.arange(10.0)
    with pytest.raises(ValueError, match="zero weights"):
        model.set_params(weights=np.zeros_like).fit(X, y).predict(X)
    with pytest.raises(ValueError, match=r"shape \(1,\) for distances of shape"):
        model.set_params(weights=lambda _: [1.0]).fit(X, y).predict(X)
