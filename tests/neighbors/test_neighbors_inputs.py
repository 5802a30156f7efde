"""Metrics by all names of SciPy, targets that are text, queries and weights that say nothing."""

import numpy as np
import pytest
from scipy.spatial import distance

from tenfold import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)

NO_METRICS = {
    *("cdist", "pdist", "squareform", "is_valid_dm", "is_valid_y", "num_obs_dm", "num_obs_y"),
    "directed_hausdorff",  # between sets of rows
}
BOOLEAN = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
SCIPY_METRICS = sorted(set(distance.__all__) - NO_METRICS)


def test_a_radius_below_zero_is_refused():
    model = NearestNeighbors().fit(np.eye(3))
    for radius in (-1.0, np.nan, [1.0, -1.0, 1.0]):
        with pytest.raises(ValueError, match="at least 0"):
            model.radius_neighbors(np.eye(3), radius)
    assert [rows.tolist() for rows in model.radius_neighbors(np.eye(3), 0.0)[1]] == [[0], [1], [2]]


@pytest.mark.parametrize("name", SCIPY_METRICS)
@pytest.mark.parametrize("algorithm", ["auto", "brute"])
def test_every_metric_of_scipy_has_its_name(name, algorithm):
    rng = np.random.default_rng(0)
    X, Q = rng.random((40, 3)), rng.random((6, 3))
    params = {"seuclidean": {"V": np.ones(3)}, "mahalanobis": {"VI": np.eye(3)}}.get(name, {})
    if name in BOOLEAN:
        X, Q = (X > 0.4).astype(float), (Q > 0.4).astype(float)
    search = NearestNeighbors(n_neighbors=5, metric=name, metric_params=params, algorithm=algorithm)
    kind = bool if name in BOOLEAN else float
    D = distance.cdist(Q.astype(kind), X.astype(kind), name, **params)
    found = search.fit(X).kneighbors(Q)[0]
    np.testing.assert_allclose(found, np.sort(D, axis=1)[:, :5], rtol=1e-9, atol=1e-12)


def test_jensenshannon_refuses_rows_that_are_no_distributions():
    search = NearestNeighbors(n_neighbors=1, metric="jensenshannon").fit([[0.5, 0.5], [1.0, 0.0]])
    with pytest.raises(ValueError, match="positive sum"):
        search.kneighbors([[0.0, 0.0]])
    with pytest.raises(ValueError, match="not valid"):
        NearestNeighbors(metric="jensenshannon", algorithm="ball_tree").fit([[0.5, 0.5]])


@pytest.mark.parametrize("model", [KNeighborsRegressor(2), RadiusNeighborsRegressor(2.0)])
def test_text_targets_are_refused_at_fit(model):
    X, words = np.arange(4.0)[:, None], np.array(["a", "b", "a", "b"])
    for y in (words, words.astype(object), np.column_stack([words, words])):
        with pytest.raises(ValueError, match="could not convert string to float"):
            model.fit(X, y)
    assert np.array_equal(
        model.fit(X, np.array(["0", "1", "2", "3"])).predict(X), model.fit(X, X[:, 0]).predict(X)
    )


@pytest.mark.parametrize("kind", [KNeighborsClassifier, KNeighborsRegressor])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_a_query_without_values_is_warned_of(kind, weights):
    X, y = np.random.default_rng(0).random((200, 2)), np.arange(200) % 2
    model = kind(3, metric="nan_euclidean", weights=weights).fit(X, y)
    Q = X.copy()
    Q[170] = np.nan
    with pytest.warns(UserWarning, match="row 170 is infinitely far"):
        model.predict(Q)


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(3),
        KNeighborsRegressor(3),
        RadiusNeighborsClassifier(1.5),
        RadiusNeighborsRegressor(1.5),
    ],
)
def test_weights_that_are_nan_are_refused(model):
    X, y = np.arange(200.0)[:, None], np.arange(200) % 2
    Q = X.copy()
    Q[150] += 0.25
    model.set_params(weights=lambda d: np.where(d == 0.25, np.nan, 1.0)).fit(X, y)
    with pytest.raises(ValueError, match="NaN for a neighbor of row 150"):
        model.predict(Q)


def test_negative_weights_of_columns_are_refused():
    with pytest.raises(ValueError, match="cannot be negative"):
        NearestNeighbors(metric_params={"w": [-1.0, 1.0]}).fit([[0.0, 1.0], [1.0, 0.0]])
