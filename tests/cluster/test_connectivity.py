"""Trees of clusters along given links, against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn import cluster
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.neighbors import kneighbors_graph

from tenfold.cluster import _connectivity
from tenfold.cluster.agglomerative import AgglomerativeClustering
from tenfold.cluster.dendrogram import linkage_matrix
from tests.cluster.trees import NOTES, rows

LINKED = ["ward", "complete", "average", "single"]


def cases():
    """Rows and graphs: a grid, a grid of few values with ties, neighbours, a random graph."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    some = sparse.random(120, 120, 0.06, random_state=1, format="csr")
    return {
        "grid": (rng.normal(size=(130, 2)), grid_to_graph(13, 10)),
        "ties": (rng.integers(0, 4, (130, 1)).astype(float), grid_to_graph(13, 10)),
        "neighbours": (X, kneighbors_graph(X, 6)),
        "random": (X, some),
        "dense": (X, (some + sparse.eye(120)).toarray()),
        "everybody": (X, np.ones((120, 120))),
    }


def both(X, links, **options):
    """Our model and scikit-learn's, fitted."""
    options = {"connectivity": links, "compute_distances": True} | options
    its = cluster.AgglomerativeClustering(**options).fit(X)
    return AgglomerativeClustering(**options).fit(X), its


def same_partition(a, b):
    pairs = len(set(zip(a.tolist(), b.tolist(), strict=True)))
    return pairs == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize("linkage", LINKED)
def test_trees_along_links_are_scikit_learns(linkage, case):
    ours, its = both(*cases()[case], n_clusters=7, linkage=linkage)
    assert_array_equal(ours.children_, np.sort(its.children_, axis=1))
    assert_allclose(ours.distances_, its.distances_, rtol=1e-12)
    assert same_partition(ours.labels_, its.labels_)
    assert ours.n_connected_components_ == its.n_connected_components_ == 1


@pytest.mark.parametrize("linkage", LINKED)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), k=st.integers(1, 6))
def test_any_graph_with_ties_too(linkage, seed, n, k):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, 2)).astype(float)
    links = rng.random((n, n)) < 0.1
    links |= np.eye(n, k=1) > 0  # one piece
    ours, its = both(X, links, n_clusters=min(k, n), linkage=linkage)
    assert_array_equal(ours.children_, np.sort(its.children_, axis=1))
    assert same_partition(ours.labels_, its.labels_)


@pytest.mark.parametrize("linkage", LINKED)
def test_when_all_are_linked_links_change_nothing(linkage):
    X = rows(60, 3)
    linked = AgglomerativeClustering(linkage=linkage, connectivity=np.ones((60, 60))).fit(X)
    assert_allclose(linked.linkage_, linkage_matrix(X, linkage), rtol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "precomputed", "callable"])
@pytest.mark.parametrize("linkage", ["complete", "average", "single"])
def test_links_are_measured_by_any_metric(linkage, metric):
    X = rows(50, 4) + 3
    links = kneighbors_graph(X, 5)
    given = squareform(pdist(X, "chebyshev")) if metric == "precomputed" else X
    far = lambda a, b: np.abs(a - b).max()  # noqa: E731
    how = far if metric == "callable" else metric
    ours, its = both(given, links, n_clusters=4, linkage=linkage, metric=how)
    assert_allclose(ours.distances_, its.distances_)
    assert same_partition(ours.labels_, its.labels_)


def test_links_are_measured_by_metrics_that_scikit_learn_has_not_in_pairs():
    X = rows(50, 4)
    links = kneighbors_graph(X, 5)
    named, given = (
        AgglomerativeClustering(4, metric=metric, linkage="average", connectivity=links).fit(Y)
        for metric, Y in (("chebyshev", X), ("precomputed", squareform(pdist(X, "chebyshev"))))
    )
    assert_array_equal(named.children_, given.children_)
    assert_allclose(named.distances_, given.distances_)


@pytest.mark.parametrize("linkage", LINKED)
@pytest.mark.parametrize("at_once", [2**22, 50])
def test_pieces_are_linked_with_a_warning(linkage, at_once, monkeypatch):
    monkeypatch.setattr(_connectivity, "_MAX_ENTRIES_AT_ONCE", at_once)
    X = np.vstack([rows(20, 2, seed) + 9 * seed for seed in range(4)])
    links = kneighbors_graph(X, 3)
    with pytest.warns(UserWarning, match="components of the connectivity matrix is") as warned:
        ours, its = both(X, links, n_clusters=3, linkage=linkage)
    assert warned[1].filename == __file__  # where the user fitted
    assert ours.n_connected_components_ == its.n_connected_components_ > 3
    assert_array_equal(ours.children_, np.sort(its.children_, axis=1))
    assert same_partition(ours.labels_, its.labels_)


def test_a_function_makes_the_links_and_paths_bring_the_rows(tmp_path):
    X = rows(40, 2)
    np.save(tmp_path / "rows.npy", X)
    make = lambda X: kneighbors_graph(X, 8)  # noqa: E731
    expected = AgglomerativeClustering(3, connectivity=make(X)).fit(X)
    for place in (X, tmp_path / "rows.npy"):
        model = AgglomerativeClustering(3, connectivity=make).fit(place)
        assert_array_equal(model.children_, expected.children_)


@pytest.mark.parametrize("linkage", LINKED)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0, 2.0])
def test_thresholds_along_links_are_scikit_learns(linkage, share):
    X, links = cases()["grid"]
    height = share * linkage_matrix(X, "single")[-1, 2]
    options = dict(n_clusters=None, distance_threshold=height, linkage=linkage)
    ours, its = both(X, links, **options)
    assert ours.n_clusters_ == its.n_clusters_
    assert same_partition(ours.labels_, its.labels_)


@pytest.mark.parametrize("full", [True, False, "auto"])
@pytest.mark.parametrize("k", [3, 110])
@pytest.mark.parametrize("linkage", LINKED)
def test_a_tree_may_end_early(linkage, k, full):
    X, links = cases()["grid"]
    ours, its = both(X, links, n_clusters=k, linkage=linkage, compute_full_tree=full)
    assert_array_equal(ours.children_, np.sort(its.children_, axis=1))
    assert_allclose(ours.distances_, its.distances_)
    assert same_partition(ours.labels_, its.labels_)
    assert_array_equal(ours.linkage_[:, :2], ours.children_)
    if len(ours.children_) == 129:
        assert ours.cut(n_clusters=2).max() == 1
    else:
        with pytest.raises(ValueError, match=r"ends at .* compute_full_tree=True"):
            ours.cut(n_clusters=2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"connectivity": np.ones((3, 3))}, "Wrong shape for connectivity matrix"),
        ({"connectivity": np.ones((4, 4)), "linkage": "median"}, "does not support connectivity"),
        ({"connectivity": np.full((4, 4), np.nan)}, "NaN"),
    ],
)
def test_impossible_links_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        AgglomerativeClustering(**params).fit(NOTES)
