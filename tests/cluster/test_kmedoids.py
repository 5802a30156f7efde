"""k-medoids against brute force, all swaps, scikit-learn's distances, and the notes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from tenfold import KMeans, threads
from tenfold.cluster._pam import (
    assign_to_medoids,
    best_swap,
    find_medoids,
    kmedoids_plusplus,
    pam_build,
    random_medoids,
    removal_losses,
)
from tenfold.cluster.kmedoids import KMedoids
from tenfold.math import distances
from tenfold.math.partitions import group_indices, is_partition

METHODS = ["fasterpam", "pam", "alternate"]


def rows(n=60, p=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def cost(D, medoids):
    return D[:, medoids].min(axis=1).sum()


def least_cost(D, k):
    return min(cost(D, list(medoids)) for medoids in combinations(range(len(D)), k))


def swap_gains(D, medoids):
    """The change of the cost by each swap, from the definition: (k, n)."""
    medoids = list(medoids)
    return np.array(
        [
            [cost(D, [*medoids[:j], c, *medoids[j + 1 :]]) for c in range(len(D))]
            for j in range(len(medoids))
        ]
    ) - cost(D, medoids)


# ------------------------------------------------------------------------------------- oracles


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 30), data=st.data())
def test_a_candidate_is_judged_against_all_medoids_at_once(seed, n, data):
    k = data.draw(st.integers(2, n - 1))
    D = pairwise_distances(rows(n, 2, seed))
    medoids = np.random.default_rng(seed).choice(n, k, replace=False)
    near, first, second = np.zeros(n, np.int32), np.empty(n), np.empty(n)
    assign_to_medoids(D, medoids, near, first, second)
    ordered = np.sort(D[:, medoids], axis=1)
    assert_allclose(first, ordered[:, 0])
    assert_allclose(second, ordered[:, 1])
    gains = swap_gains(D, medoids)
    for c in set(range(n)) - set(medoids.tolist()):
        place, gain = best_swap(
            D[c], near, first, second, removal_losses(near, first, second, k), np.empty(k)
        )
        assert_allclose(gain, gains[:, c].min(), atol=1e-9)
        assert_allclose(gains[place, c], gains[:, c].min(), atol=1e-9)


@pytest.mark.parametrize("method", ["fasterpam", "pam"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5))
def test_no_swap_helps_where_pam_ends(method, seed, k):
    D = pairwise_distances(rows(25, 2, seed))
    found = find_medoids(D, random_medoids(D, k, np.random.default_rng(seed)), method, 100)
    assert_allclose(found.cost, cost(D, found.medoids))
    assert swap_gains(D, found.medoids).min() >= -1e-9


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5))
def test_no_member_is_more_central_where_the_notes_algorithm_ends(seed, k):
    D = pairwise_distances(rows(25, 2, seed))
    found = find_medoids(D, random_medoids(D, k, np.random.default_rng(seed)), "alternate", 100)
    for j, members in enumerate(group_indices(found.labels)):
        sums = D[np.ix_(members, members)].sum(axis=1)
        assert_allclose(D[found.medoids[j], members].sum(), sums.min())


@pytest.mark.parametrize("k", [1, 2, 3])
def test_some_start_finds_the_best_of_all_choices(k):
    D = pairwise_distances(rows(14, 2, seed=k))
    model = KMedoids(k, metric="precomputed", n_init=10, random_state=0).fit(D)
    assert_allclose(model.inertia_, least_cost(D, k))


def test_pam_makes_the_best_swap_first():
    D = pairwise_distances(rows(20))
    start = np.array([0, 1, 2])
    gains = swap_gains(D, start)
    place, c = np.unravel_index(gains.argmin(), gains.shape)
    with pytest.warns(ConvergenceWarning):
        model = KMedoids(3, metric="precomputed", method="pam", init=start, max_iter=1).fit(D)
    expected = start.copy()
    expected[place] = c
    assert_array_equal(model.medoid_indices_, expected)


def test_build_takes_the_row_that_helps_most():
    D = pairwise_distances(rows(30))
    chosen = pam_build(D, 4, np.random.default_rng(0))
    for j in range(4):
        costs = [cost(D, [*chosen[:j], c]) for c in range(30)]
        assert_allclose(costs[chosen[j]], min(costs))


def test_far_apart_rows_are_never_drawn_twice():
    D = np.zeros((6, 6))  # all rows are the same
    assert len(set(kmedoids_plusplus(D, 6, np.random.default_rng(0)).tolist())) == 6


# ---------------------------------------------------------------------------------- properties


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
@pytest.mark.parametrize("method", METHODS)
def test_medoids_are_rows_the_cost_falls_and_labels_are_a_partition(method, metric):
    X = rows(200, 3)
    model = KMedoids(5, metric=metric, method=method, random_state=0).fit(X)
    D = pairwise_distances(X, metric=metric)
    assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
    assert_allclose(model.inertia_, cost(D, model.medoid_indices_))
    assert_array_equal(model.labels_, D[:, model.medoid_indices_].argmin(axis=1))
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.transform(X), D[:, model.medoid_indices_], atol=1e-12)
    assert (np.diff(model.history_["objective"]) <= 0).all()
    assert is_partition(group_indices(model.labels_), 200)


def test_faster_is_as_good_as_pam_and_better_than_alternating():
    """Averaged over starts; swaps can leave where alternating is stuck."""
    D = pairwise_distances(rows(300, 2))
    ends = {
        method: np.mean(
            [
                find_medoids(D, random_medoids(D, 10, np.random.default_rng(s)), method, 300).cost
                for s in range(10)
            ]
        )
        for method in METHODS
    }
    assert ends["fasterpam"] <= 1.01 * ends["pam"]
    assert ends["fasterpam"] < ends["alternate"]


def test_given_distances_are_as_good_as_rows():
    X = rows(150, 3)
    D = pairwise_distances(X, metric="manhattan")
    a = KMedoids(4, metric="manhattan", random_state=3).fit(X)
    b = KMedoids(4, metric="precomputed", random_state=3).fit(D)
    assert_array_equal(a.medoid_indices_, b.medoid_indices_)
    assert_array_equal(a.labels_, b.labels_)
    new = rows(20, 3, seed=9)
    assert_array_equal(a.predict(new), b.predict(pairwise_distances(new, X, metric="manhattan")))


def test_a_callable_and_its_parameters():
    X = rows(60, 3)
    own = lambda a, b, scale: scale * np.abs(a - b).sum()  # noqa: E731
    a = KMedoids(3, metric=own, metric_params={"scale": 2.0}, random_state=0).fit(X)
    b = KMedoids(3, metric="minkowski", metric_params={"p": 1}, random_state=0).fit(X)
    assert_array_equal(a.medoid_indices_, b.medoid_indices_)
    assert_allclose(a.inertia_, 2 * b.inertia_)


def test_categories_are_clustered_without_means():
    """Averages of categories mean nothing; Hamming's distance does. [004, 6.2]"""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 5, size=(3, 12))
    y = rng.integers(0, 3, 120)
    X = np.where(rng.random((120, 12)) < 0.15, rng.integers(0, 5, (120, 12)), kinds[y]).astype(
        float
    )
    model = KMedoids(3, metric="hamming", n_init=3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert_array_equal(X[model.medoid_indices_], model.cluster_centers_)


def test_texts_are_clustered_by_the_words_they_share():
    """Sparse rows go in as their distances. [001; 003, 13.3]"""
    sport = ["the team won the match", "a match of the home team", "the team lost a match at home"]
    bread = ["bake the bread with flour", "flour and yeast make bread", "bread needs yeast"]
    D = distances.pairwise_distances(
        TfidfVectorizer(stop_words="english").fit_transform(sport + bread), metric="cosine"
    )
    model = KMedoids(2, metric="precomputed", n_init=3, random_state=0).fit(D)
    assert adjusted_rand_score([0, 0, 0, 1, 1, 1], model.labels_) == 1


def test_one_far_row_pulls_a_mean_but_no_medoid():
    """Medoids stand outliers better than means do. [003, 14.3]"""
    X = np.append(np.linspace(0, 1, 21), 1000.0)[:, None]
    assert KMeans(1).fit(X).cluster_centers_[0, 0] > 40
    assert abs(KMedoids(1).fit(X).cluster_centers_[0, 0] - 0.5) <= 0.051


def test_the_cost_is_zero_when_every_row_is_a_medoid():
    X = rows(12)
    model = KMedoids(12, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert sorted(model.medoid_indices_) == list(range(12))


def test_rows_at_the_same_place_do_no_harm():
    X = np.repeat([[0.0], [5.0]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = KMedoids(4, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert len(set(model.medoid_indices_.tolist())) == 4


def test_float32_finds_the_same_medoids():
    X = rows(200, 3)
    a, b = (KMedoids(5, random_state=0).fit(X.astype(t)) for t in (np.float64, np.float32))
    assert_array_equal(a.medoid_indices_, b.medoid_indices_)
    assert b.transform(X.astype(np.float32)).dtype == np.float32


# ------------------------------------------------------------------------------------ samples


def test_samples_are_nearly_as_good_as_all_pairs():
    X, _ = make_blobs(3000, centers=6, cluster_std=0.6, random_state=4)
    whole = KMedoids(6, random_state=0).fit(X)
    drawn = KMedoids(6, method="clara", sample_rows=300, random_state=0).fit(X)
    assert drawn.inertia_ <= 1.05 * whole.inertia_
    assert adjusted_rand_score(whole.labels_, drawn.labels_) > 0.95
    assert_array_equal(drawn.cluster_centers_, X[drawn.medoid_indices_])
    assert_allclose(drawn.inertia_, pairwise_distances(X, drawn.cluster_centers_).min(axis=1).sum())


def test_many_rows_are_sampled_on_their_own_and_threads_do_not_matter():
    X, _ = make_blobs(12_000, centers=4, random_state=0)
    with threads(1):
        a = KMedoids(4, random_state=0).fit(X)
    with threads(2):
        b = KMedoids(4, random_state=0).fit(X)
    assert_array_equal(a.medoid_indices_, b.medoid_indices_)
    assert len(a.labels_) == 12_000


# ------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 99}, "n_samples=10 should be >= n_clusters=99"),
        ({"metric": "precomputed"}, "square"),
        ({"init": [0, 0]}, "2 different row numbers"),
        ({"init": [0, 10]}, "from 0 to 9"),
        ({"init": [0, 1], "method": "clara"}, "draws its own"),
        ({"method": "clara", "sample_rows": 1}, "sample_rows=1"),
    ],
)
def test_contradictions_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        KMedoids(**{"n_clusters": 2, **params}).fit(rows(10))
