"""k-means in half-steps, from labels, from anywhere in the box; what is left of the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import kstest

import tenfold
from tenfold import KMeans, MiniBatchKMeans, SphericalKMeans, lloyd_steps
from tenfold.cluster.initialization import random_points

SQUARE = np.array([[0.0, 0], [0, 2], [4, 0], [4, 2]])  # the four points of [002, 7.3]
SIX = np.array([[-3.0, -3], [-1, -3], [3, 0], [-2, -1], [0, 0], [-1, -2]])  # A to F, worked by hand


def table(n=200, p=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def by_hand(X, w, labels, centres):
    return sum(w[i] * ((X[i] - centres[labels[i]]) ** 2).sum() for i in range(len(X)))


# ------------------------------------------------------------------------------------ half-steps


def test_worked_half_steps():  # B and F; [002, 7.3]: two starts, two ends
    steps = list(lloyd_steps(SIX, SIX[[1, 5]]))
    assert [step.kind for step in steps] == ["assign", "move"] * 2
    assert [step.iteration for step in steps] == [1, 1, 2, 2]
    assert_allclose([step.cost for step in steps], [31, 18.75, 18.125, 10])
    assert_allclose(steps[-1].centers, [[-1.75, -2.25], [1.5, 0]])
    assert [list(lloyd_steps(SQUARE, SQUARE[s]))[-1].cost for s in ([0, 2], [0, 1])] == [4, 16]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(8, 60), st.booleans(), st.booleans())
def test_no_half_step_raises_the_cost(seed, k, n, whole, weighted):
    rng = np.random.default_rng(seed)
    X = table(n, 2, seed)
    X = np.round(2 * X) if whole else X  # whole numbers: ties, equal rows, empty clusters
    w = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    start = rng.normal(size=(k, 2)) * 3
    steps = list(lloyd_steps(X, start, sample_weight=w))
    costs = [step.cost for step in steps]
    assert (np.diff(costs) <= 1e-9 * (1 + costs[0])).all()
    for step in steps:
        assert_allclose(step.cost, by_hand(X, w, step.labels, step.centers), atol=1e-9)
    assert whole or (np.bincount(steps[-1].labels, minlength=k) > 0).all()


@pytest.mark.parametrize("far", [0, 1, 2])  # so many centres begin where no rows are
@pytest.mark.parametrize("weighted", [False, True])
def test_half_steps_are_the_rounds_of_kmeans(far, weighted):
    X, rng = table(100, 2), np.random.default_rng(0)
    w = rng.integers(1, 4, 100).astype(float) if weighted else np.ones(100)
    start = np.vstack([X[:5], 50.0 + np.arange(2 * far).reshape(far, 2)])
    steps = list(lloyd_steps(X, start, sample_weight=w))
    model = KMeans(5 + far, init=start, tol=0.0).fit(X, sample_weight=w)
    assert_allclose(model.cluster_centers_, steps[-1].centers, atol=1e-9)
    assert_array_equal(model.labels_, steps[-1].labels)
    assert_allclose(model.inertia_, steps[-1].cost)
    before = [step.cost for step in steps if step.kind == "assign"]
    assert_allclose(model.history_["objective"][: len(before)], before)


def test_equal_rows_and_more_clusters_than_places_come_to_an_end():
    steps = list(lloyd_steps(np.zeros((5, 1)), np.zeros((4, 1))))
    assert steps[-1].cost == 0
    assert len(steps) < 10


# ------------------------------------------------------------------------------------ from labels


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans())
def test_labels_are_centres_after_the_first_move(seed, k, weighted):  # [000, 4.1]
    X, rng = table(50, 3, seed), np.random.default_rng(seed)
    labels = rng.integers(k, size=50)
    w = rng.integers(0, 3, 50).astype(float) if weighted else np.ones(50)
    weight = np.bincount(labels, w, k)
    means = [np.average(X, axis=0, weights=w * (labels == j) if weight[j] else w) for j in range(k)]
    from_labels = KMeans(k, init=labels).fit(X, sample_weight=w)
    from_centres = KMeans(k, init=np.array(means)).fit(X, sample_weight=w)
    assert_allclose(from_labels.cluster_centers_, from_centres.cluster_centers_, atol=1e-9)
    assert_array_equal(from_labels.labels_, from_centres.labels_)
    steps = list(lloyd_steps(X, labels, n_clusters=k, sample_weight=w))
    assert (steps[0].kind, steps[0].iteration) == ("move", 1)
    assert_allclose(steps[0].centers, means)
    assert_allclose(steps[-1].centers, from_labels.cluster_centers_, atol=1e-9)


def test_labels_of_a_solution_stay():
    X = table()
    done = KMeans(4, random_state=0, tol=0.0).fit(X)
    again = KMeans(4, init=done.labels_, tol=0.0).fit(X)
    assert_array_equal(again.labels_, done.labels_)
    assert again.n_iter_ == 1
    for other in (
        MiniBatchKMeans(4, init=done.labels_, random_state=0),
        SphericalKMeans(4, init=done.labels_),
    ):
        assert len(set(other.fit(X).labels_)) == 4


@pytest.mark.parametrize("place", ["file", "sparse", "threads"])
def test_labels_lead_to_the_same_bits_everywhere(place, tmp_path):
    X = table(30_000, 4)
    labels = np.random.default_rng(1).integers(5, size=len(X))
    model = KMeans(5, init=labels)
    plain = model.fit(X).cluster_centers_
    if place == "file":
        np.save(tmp_path / "rows.npy", X)
        assert_array_equal(model.fit(tmp_path / "rows.npy").cluster_centers_, plain)
    elif place == "threads":
        with tenfold.threads(1):
            assert_array_equal(model.fit(X).cluster_centers_, plain)
    else:
        assert_allclose(model.fit(sparse.csr_array(X)).cluster_centers_, plain, atol=1e-9)


def test_labels_that_cannot_be_are_named():
    X = table(10)
    with pytest.raises(ValueError, match="9 labels, but there are 10 rows"):
        KMeans(2, init=np.zeros(9, int)).fit(X)
    with pytest.raises(ValueError, match=r"label 2 of row 3 is none of 0, ..., 1"):
        KMeans(2, init=np.array([0, 1, 1, 2, 0, 0, 0, 0, 0, 0])).fit(X)
    with pytest.raises(ValueError, match="shape"):
        KMeans(2, init=np.zeros(10)).fit(X)


# ------------------------------------------------------------------------------ anywhere in the box


def test_random_points_fill_the_box_of_the_rows_that_weigh():
    X = np.array([[0.0, -1], [2, 5], [1, 2], [99, 99]])
    points = random_points(X, np.array([1.0, 1, 2, 0]), 4000, np.random.default_rng(0))
    assert kstest(points[:, 0] / 2, "uniform").pvalue > 1e-3
    assert kstest((points[:, 1] + 1) / 6, "uniform").pvalue > 1e-3
    few = random_points(sparse.csr_array(X[:3]), np.ones(3), 50, np.random.default_rng(0))
    assert (few >= [0, -1]).all()
    assert (few <= [2, 5]).all()


def test_starts_differ_in_how_often_they_end_well():  # [004, 6.2; 003, 13.8]
    rng = np.random.default_rng(0)
    X = np.repeat(np.indices((3, 3)).reshape(2, 9).T * 10.0, 30, axis=0) + rng.normal(size=(270, 2))
    best = KMeans(9, n_init=20, random_state=0).fit(X).inertia_
    hits = {
        init: np.mean(
            [
                KMeans(9, init=init, n_init=1, random_state=s).fit(X).inertia_ < 1.01 * best
                for s in range(30)
            ]
        )
        for init in ("k-means++", "random", "uniform", "farthest")
    }
    assert hits["k-means++"] > 0.8
    assert max(hits["random"], hits["uniform"]) < 0.5
    blind = KMeans(9, init="uniform", random_state=0).fit(X)  # ten starts by itself
    assert blind.inertia_ <= KMeans(9, init="uniform", n_init=1, random_state=0).fit(X).inertia_


# ---------------------------------------------------------------------------------- what is left


def test_k_means_is_a_factorisation_with_one_hot_codes():  # [000, 4.1]: ||X - Z C||^2
    X = table(300, 5)
    model = KMeans(7, random_state=0, tol=0.0).fit(X)
    Z, C = np.eye(7)[model.labels_], model.cluster_centers_
    assert_allclose(model.reconstruct(X), Z @ C)
    assert_allclose(((X - Z @ C) ** 2).sum(), model.inertia_)
    within = sum(((X[model.labels_ == j] - C[j]) ** 2).sum() for j in range(7))
    assert_allclose(within, model.inertia_)  # the two forms of the cost
    assert_allclose(C, np.linalg.lstsq(Z, X)[0])  # the best C for these codes
    for j in range(7):  # and the best codes for this C
        other = np.eye(7)[np.full(300, j)]
        assert (((X - Z @ C) ** 2).sum(axis=1) <= ((X - other @ C) ** 2).sum(axis=1) + 1e-12).all()


def test_labels_are_turned_back_into_centres():  # [002, 7.3]: compression
    X = table(300, 5)
    model = KMeans(7, random_state=0).fit(X)
    assert_array_equal(model.reconstruct(model.predict(X)), model.reconstruct(X))
    assert_array_equal(model.reconstruct(np.array([3, 3])), model.cluster_centers_[[3, 3]])
    with pytest.raises(ValueError, match="label 7 of row 1"):
        model.reconstruct(np.array([0, 7]))
