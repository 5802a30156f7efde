"""Trees of clusters against scipy, brute force, and worked numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn import cluster
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from tenfold.cluster import dendrogram as trees
from tenfold.cluster.agglomerative import AgglomerativeClustering
from tenfold.cluster.dendrogram import cut_tree, linkage_matrix
from tenfold.math.partitions import group_indices, is_partition
from tenfold.plot.clusters import cut_height, dendrogram, dendrogram_layout
from tenfold.plot.style import TEXT_COLOR
from tests.cluster.trees import NOTES, rows

LINKAGES = ["single", "complete", "average", "centroid", "median", "ward"]


MONOTONE = ["single", "complete", "average", "ward"]


TRIANGLE = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.75]])  # whose centroids come closer


def distance_of(A, B, linkage):
    """The distance of two clusters, from its definition."""
    pairs = np.linalg.norm(A[:, None] - B, axis=2)
    if linkage == "centroid":
        return np.linalg.norm(A.mean(axis=0) - B.mean(axis=0))
    if linkage == "ward":
        squares = [((C - C.mean(axis=0)) ** 2).sum() for C in (np.vstack([A, B]), A, B)]
        return np.sqrt(2 * (squares[0] - squares[1] - squares[2]))
    return {"single": pairs.min(), "complete": pairs.max(), "average": pairs.mean()}[linkage]


def joined_by_hand(X, linkage):
    """Heights of the tree: look at all pairs of clusters, join the nearest, repeat."""
    clusters, heights = [X[i : i + 1] for i in range(len(X))], []
    while len(clusters) > 1:
        found = [
            (distance_of(clusters[i], clusters[j], linkage), i, j)
            for i in range(len(clusters))
            for j in range(i)
        ]
        height, i, j = min(found)
        heights.append(height)
        clusters[j] = np.vstack([clusters[j], clusters.pop(i)])
    return heights


# ------------------------------------------------------------------------------------- oracles


@pytest.mark.parametrize("p", [1, 3, 20, 60])
@pytest.mark.parametrize("n", [2, 3, 10, 300])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_tree_is_scipys(linkage, n, p):
    X = rows(n, p)
    theirs = hierarchy.linkage(pdist(X), linkage)
    assert_allclose(linkage_matrix(X, linkage), theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "chebyshev", "correlation"])
@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
def test_any_metric_gives_scipys_tree(linkage, metric):
    X = rows(80, 4)
    assert_allclose(
        linkage_matrix(X, linkage, metric), hierarchy.linkage(X, linkage, metric), atol=1e-9
    )
    given = squareform(pdist(X, metric))
    assert_allclose(
        linkage_matrix(given, linkage, "precomputed"),
        hierarchy.linkage(X, linkage, metric),
        atol=1e-9,
    )


@pytest.mark.parametrize("linkage", ["centroid", "median"])
def test_means_can_be_joined_from_given_distances(linkage):
    X = rows(50, 2)
    given = squareform(pdist(X))
    assert_allclose(
        linkage_matrix(given, linkage, "precomputed"), hierarchy.linkage(X, linkage), atol=1e-9
    )
    assert_allclose(given, squareform(pdist(X)))  # not overwritten


def test_a_callable_is_a_metric():
    X = rows(20, 2)
    far = lambda a, b: np.abs(a - b).max()  # noqa: E731
    assert_allclose(linkage_matrix(X, "average", far), hierarchy.linkage(X, "average", "chebyshev"))


@pytest.mark.parametrize("linkage", [each for each in LINKAGES if each != "median"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 14), p=st.integers(1, 3))
def test_heights_are_those_of_the_definition(linkage, seed, n, p):
    X = rows(n, p, seed)
    assert_allclose(
        linkage_matrix(X, linkage)[:, 2], joined_by_hand(X, linkage), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("linkage", LINKAGES)
def test_wards_tree_needs_no_matrix_and_others_shrink_theirs(linkage):
    X = rows(700, 5, seed=3)  # several times half of the clusters are gone
    assert_allclose(linkage_matrix(X, linkage), hierarchy.linkage(X, linkage), rtol=1e-9, atol=1e-9)


def test_wards_trees_from_coordinates_and_from_distances_agree(monkeypatch):
    X = rows(200, 8)
    light = linkage_matrix(X, "ward")
    monkeypatch.setattr(trees, "_MAX_COLUMNS_WITHOUT_MATRIX", 0)
    assert_allclose(linkage_matrix(X, "ward"), light, rtol=1e-10)


@pytest.mark.parametrize("linkage", ["centroid", "median"])
def test_trees_of_centres_from_coordinates_and_from_distances_agree(linkage, monkeypatch):
    X = rows(400, 8)
    light = linkage_matrix(X, linkage)
    monkeypatch.setattr(trees, "_MAX_COLUMNS_WITHOUT_MATRIX", 0)
    assert_allclose(linkage_matrix(X, linkage), light, rtol=1e-8)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_distances_that_are_no_numbers_are_refused(linkage, value):
    X = rows(30, 2)
    X[3, 1] = value
    with pytest.raises(ValueError, match="scale the columns"):
        linkage_matrix(X, linkage)


def test_metrics_that_give_no_numbers_are_refused():
    with pytest.raises(ValueError, match="NaN or infinite"):
        linkage_matrix(rows(5), "average", lambda *_: np.inf)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_far_from_zero_nothing_is_lost(linkage):
    X = rows(100, 30)
    assert_allclose(
        linkage_matrix(X + 1e7, linkage)[:, 2], linkage_matrix(X, linkage)[:, 2], rtol=1e-6
    )


# ----------------------------------------------------------------------------------- the notes


@pytest.mark.parametrize(
    ("linkage", "heights"),
    [
        ("single", [1, 2, 4]),
        ("complete", [1, 3, 7]),
        ("average", [1, 2.5, 17 / 3]),
        ("centroid", [1, 2.5, 17 / 3]),
    ],
)
def test_four_points_by_hand(linkage, heights):
    assert_allclose(linkage_matrix(NOTES, linkage)[:, 2], heights)


def test_heights_of_centroids_may_fall():
    assert_allclose(linkage_matrix(TRIANGLE, "centroid")[:, 2], [2, 1.75])
    assert_array_equal(
        cut_tree(linkage_matrix(TRIANGLE, "centroid"), height=1.9), [0, 1, 2]
    )  # 2 lies under 1.75
    assert_array_equal(cut_tree(linkage_matrix(TRIANGLE, "centroid"), height=2.1), [0, 0, 0])


def test_single_linkage_follows_strings_that_complete_linkage_breaks():
    X, y = make_moons(300, noise=0.04, random_state=0)
    agreement = {
        linkage: adjusted_rand_score(y, cut_tree(linkage_matrix(X, linkage), n_clusters=2))
        for linkage in ("single", "complete")
    }
    assert agreement["single"] == 1
    assert agreement["complete"] < 0.8


def test_complete_linkage_is_more_compact():
    X = rows(300, 2)
    widest = {
        linkage: max(pdist(X[members]).max(initial=0) for members in group_indices(labels))
        for linkage in ("single", "complete")
        for labels in [cut_tree(linkage_matrix(X, linkage), n_clusters=5)]
    }
    assert widest["complete"] < widest["single"]


# ---------------------------------------------------------------------------------- properties

small_integers = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=25
)


@pytest.mark.parametrize("linkage", MONOTONE)
@settings(max_examples=40, deadline=None)
@given(points=small_integers)
def test_heights_rise_and_are_an_ultrametric_with_ties_too(linkage, points):
    Z = linkage_matrix(np.array(points, float), linkage)
    assert (np.diff(Z[:, 2]) >= 0).all()
    assert hierarchy.is_valid_linkage(Z)
    U = squareform(hierarchy.cophenet(Z))
    # any two of three rows join no later than the later of the other two pairs
    assert (U[:, :, None] <= np.maximum(U[:, None, :], U[None, :, :]) + 1e-12).all()


@settings(max_examples=40, deadline=None)
@given(points=small_integers)
def test_single_linkage_heights_do_not_depend_on_ties(points):
    X = np.array(points, float)
    theirs = hierarchy.linkage(pdist(X), "single")[:, 2]
    assert_allclose(linkage_matrix(X, "single")[:, 2], theirs, atol=1e-9)


@pytest.mark.parametrize("linkage", LINKAGES)
@settings(max_examples=25, deadline=None)
@given(points=small_integers, data=st.data())
def test_cuts_are_nested_partitions(linkage, points, data):
    Z, n = linkage_matrix(np.array(points, float), linkage), len(points)
    coarse, fine = sorted(data.draw(st.tuples(st.integers(1, n), st.integers(1, n))))
    few, many = cut_tree(Z, n_clusters=coarse), cut_tree(Z, n_clusters=fine)
    for labels, k in ((few, coarse), (many, fine)):
        assert len(group_indices(labels)) == k
        assert is_partition(group_indices(labels), n)
    assert len({(a, b) for a, b in zip(few, many, strict=True)}) == fine  # none is split
    assert_array_equal(
        np.unique(many, return_index=True)[1], np.sort([g[0] for g in group_indices(many)])
    )


@pytest.mark.parametrize("linkage", LINKAGES)
def test_cuts_by_height_are_scipys(linkage):
    Z = linkage_matrix(rows(80, 2), linkage)
    for height in np.quantile(Z[:, 2], [0.1, 0.5, 0.9]) + 1e-6:
        theirs = hierarchy.fcluster(Z, height, "distance")
        assert adjusted_rand_score(theirs, cut_tree(Z, height=height)) == 1
    assert_array_equal(cut_tree(Z, height=0), np.arange(80))
    assert_array_equal(cut_tree(Z, height=np.inf), np.zeros(80))


# ---------------------------------------------------------------------------------- the model


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single"])
def test_the_model_agrees_with_scikit_learns(linkage):
    X, _ = make_blobs(150, centers=4, random_state=1)
    ours = AgglomerativeClustering(4, linkage=linkage).fit(X)
    theirs = cluster.AgglomerativeClustering(4, linkage=linkage, compute_distances=True).fit(X)
    assert adjusted_rand_score(theirs.labels_, ours.labels_) == 1
    assert_array_equal(ours.children_, np.sort(theirs.children_, axis=1))
    assert_allclose(ours.distances_, theirs.distances_)
    assert (ours.n_leaves_, ours.n_clusters_) == (theirs.n_leaves_, theirs.n_clusters_)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_linkage_is_what_scipy_takes(linkage):
    X = rows(40, 2)
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    assert_allclose(model.linkage_, hierarchy.linkage(X, linkage), atol=1e-9)
    assert hierarchy.dendrogram(model.linkage_, no_plot=True)["leaves"]


def test_a_fitted_tree_is_cut_again_without_a_fit():
    X, y = make_blobs(90, centers=3, random_state=0, cluster_std=0.3)
    model = AgglomerativeClustering(2).fit(X)
    assert adjusted_rand_score(y, model.cut(n_clusters=3)) == 1
    height = model.distances_[-3:-1].mean()
    assert_array_equal(model.cut(height=height), model.cut(n_clusters=3))
    again = AgglomerativeClustering(None, distance_threshold=height).fit(X)
    assert_array_equal(again.labels_, model.cut(height=height))
    assert again.n_clusters_ == 3


def test_clusters_at_the_threshold_stay_apart():
    model = AgglomerativeClustering(None, distance_threshold=2.0, linkage="single").fit(NOTES)
    assert_array_equal(model.labels_, [0, 0, 1, 2])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": None}, "Exactly one"),
        ({"distance_threshold": 1.0}, "Exactly one"),
        ({"metric": "manhattan"}, "euclidean"),
        ({"metric": "cosine", "linkage": "centroid"}, "euclidean"),
        ({"metric": "precomputed", "linkage": "single"}, "square"),
        ({"n_clusters": 9}, "more clusters than samples"),
    ],
)
def test_contradictions_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        AgglomerativeClustering(**params).fit(NOTES)


@pytest.mark.parametrize("how", [{}, {"n_clusters": 2, "height": 1.0}, {"n_clusters": 5}])
def test_impossible_cuts_are_refused(how):
    with pytest.raises(ValueError, match="n_clusters"):
        cut_tree(linkage_matrix(NOTES), **how)


# ---------------------------------------------------------------------------------- the picture


@pytest.fixture
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.mark.usefixtures("_no_figure_stays_open")
@pytest.mark.parametrize("linkage", LINKAGES)
def test_bars_stand_where_clusters_join(linkage):
    Z = linkage_matrix(rows(15, 2), linkage)
    order, x, _ = dendrogram_layout(Z)
    assert sorted(order) == list(range(15))
    assert_array_equal(order, hierarchy.dendrogram(Z, no_plot=True)["leaves"])
    bars = dendrogram(Z).get_lines()
    assert_allclose([max(bar.get_ydata()) for bar in bars[:5]], Z[:5, 2])
    assert_allclose(x[15], x[Z[0, :2].astype(int)].mean())


@pytest.mark.usefixtures("_no_figure_stays_open")
@pytest.mark.parametrize("k", [1, 2, 3, 5, 15])
def test_each_cluster_below_the_cut_has_its_colour(k):
    Z = linkage_matrix(rows(15, 2), "average")
    height = cut_height(Z, k)
    labels = cut_tree(Z, height=height)
    assert labels.max() + 1 == k
    lines = dendrogram(Z, n_clusters=k).get_lines()
    above = [line for line in lines[:-1] if line.get_color() == TEXT_COLOR]
    assert len(above) == k - 1
    joined = [group for group in group_indices(labels) if len(group) > 1]
    below = {line.get_color() for line in lines[:-1]} - {TEXT_COLOR}
    assert len(below) == len(joined)
    assert_allclose(lines[-1].get_ydata(), height)


@pytest.mark.usefixtures("_no_figure_stays_open")
def test_leaves_have_names_while_there_is_room():
    few = dendrogram(AgglomerativeClustering().fit(NOTES), names=["a", "b", "c", "d"])
    assert sorted(text.get_text() for text in few.get_xticklabels()) == ["a", "b", "c", "d"]
    assert dendrogram(linkage_matrix(rows(60))).get_xlabel() == "60 rows"
