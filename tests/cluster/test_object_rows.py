"""Clusters of what is no table of numbers: words, categories, sparse rows, odd matrices."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import (
    AgglomerativeClustering,
    ClusterFeatures,
    GaussianMixture,
    KernelKMeans,
    KMeans,
    KMedoids,
    choose_k,
    quantize,
)
from tenfold.math.distances import hamming_distances, pairwise_distances

WORDS = np.array([["bat"], ["cat"], ["rat"], ["stone"], ["phone"], ["atone"], ["hat"]])


def edit_distance(a, b):
    """Insertions, deletions and replacements from one word to the other."""
    a, b = a[0], b[0]
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def all_distances():
    return np.array([[edit_distance(a, b) for b in WORDS] for a in WORDS], float)


def test_medoids_of_words_are_the_best_of_all():
    D = all_distances()
    best = min(
        D[:, list(pair)].min(axis=1).sum() for pair in itertools.combinations(range(len(D)), 2)
    )
    model = KMedoids(2, metric=edit_distance, n_init=5, random_state=0).fit(WORDS)
    assert model.inertia_ == best
    assert_array_equal(model.cluster_centers_, WORDS[model.medoid_indices_])
    assert len(set(model.labels_[[0, 1, 2, 6]])) == len(set(model.labels_[[3, 4, 5]])) == 1
    assert_array_equal(model.transform(WORDS), D[:, model.medoid_indices_])
    assert_array_equal(model.predict(WORDS), model.labels_)
    new = model.predict([["throne"], ["mat"]])
    assert_array_equal(new, model.labels_[[3, 0]])


def test_a_comparison_of_rows_is_a_metric():
    rows = np.array([["red"], ["blue"], ["red"]])
    model = KMedoids(2, metric=lambda a, b: float(a != b), random_state=0).fit(rows)
    assert model.inertia_ == 0
    assert model.labels_[0] == model.labels_[2] != model.labels_[1]


@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
def test_trees_of_words_are_those_of_their_distances(linkage):
    options = {"linkage": linkage, "n_clusters": 3}
    model = AgglomerativeClustering(metric=edit_distance, **options).fit(WORDS)
    wanted = AgglomerativeClustering(metric="precomputed", **options).fit(all_distances())
    assert_array_equal(model.labels_, wanted.labels_)
    assert_allclose(model.distances_, wanted.distances_)
    with pytest.raises(ValueError, match="euclidean"):
        AgglomerativeClustering(metric=edit_distance).fit(WORDS)
    with pytest.raises(ValueError, match="more clusters than samples"):
        AgglomerativeClustering(9, metric=edit_distance, linkage=linkage).fit(WORDS)


def test_categories_by_hamming_and_mixed_columns_by_a_function(tmp_path):
    table = pd.DataFrame({"color": ["red", "red", "blue", "blue"], "size": [1, 2, 30, 31]})
    colors = table[["color"]].assign(shape=["a", "b", "c", "d"])
    by_name = KMedoids(2, metric="hamming", random_state=0).fit(colors)
    assert by_name.feature_names_in_.tolist() == ["color", "shape"]
    assert len(set(by_name.labels_[:2])) == len(set(by_name.labels_[2:])) == 1
    by_name.save(tmp_path / "medoids.tenfold")
    assert_array_equal(tenfold.load(tmp_path / "medoids.tenfold").predict(colors), by_name.labels_)
    mixed = KMedoids(2, metric=lambda a, b: (a[0] != b[0]) + abs(a[1] - b[1]), random_state=0)
    assert len(set(mixed.fit(table).labels_[:2])) == 1
    with pytest.raises(ValueError, match="fasterpam"):
        KMedoids(2, metric="hamming", method="clara").fit(colors)
    with pytest.raises(ValueError, match="n_samples=4"):
        KMedoids(5, metric="hamming").fit(colors)


def test_hamming_of_words_and_numbers():
    X = np.array([["a", "b"], ["a", "c"], ["d", "c"]])
    wanted = [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]
    assert_array_equal(pairwise_distances(X, metric="hamming"), wanted)
    assert_array_equal(hamming_distances(X, X), wanted)
    assert_array_equal(pairwise_distances(X, X[:1], "hamming").ravel(), [0, 0.5, 1])
    with pytest.raises(ValueError, match="needs numbers"):
        pairwise_distances(X)


def sparse_clouds(n=200):
    rng = np.random.default_rng(0)
    X = rng.random((n, 6)) * (rng.random((n, 6)) < 0.4)
    X[: n // 2, :2] += 2
    X[n // 2 :, 3:5] += 2
    return sparse.csr_array(X)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("method", ["fasterpam", "clara"])
def test_medoids_of_sparse_rows(metric, method):
    X = sparse_clouds()
    options = {"metric": metric, "method": method, "sample_rows": 80, "random_state": 0}
    thin, dense = KMedoids(2, **options).fit(X), KMedoids(2, **options).fit(X.toarray())
    assert_array_equal(thin.medoid_indices_, dense.medoid_indices_)
    assert_allclose(thin.inertia_, dense.inertia_)
    assert_allclose(thin.transform(X), dense.transform(X.toarray()), atol=1e-7)
    with pytest.raises(ValueError, match="dense"):
        KMedoids(2, metric="precomputed").fit(sparse.csr_array(np.ones((3, 3))))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine", "sigmoid", "laplacian"])
def test_kernel_clusters_of_sparse_rows(kernel):
    X = sparse_clouds()
    options = {"kernel": kernel, "gamma": 0.1, "random_state": 0}
    thin, dense = KernelKMeans(2, **options).fit(X), KernelKMeans(2, **options).fit(X.toarray())
    assert_array_equal(thin.labels_, dense.labels_)
    assert_allclose(thin.inertia_, dense.inertia_, rtol=1e-9)
    assert_array_equal(thin.predict(X), dense.predict(X.toarray()))


def test_kernels_that_need_dense_rows_say_so():
    with pytest.raises(TypeError, match="needs dense rows"):
        KernelKMeans(2, kernel="chi2").fit(sparse_clouds())


@pytest.mark.parametrize("method", ["fasterpam", "clara"])
def test_fewer_different_rows_than_clusters_are_told(method):
    X = np.repeat([[0.0], [5.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\).*n_clusters \(3\)"):
        KMedoids(3, method=method, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        KMedoids(3, metric="hamming", random_state=0).fit([["a"], ["a"], ["b"]])
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        KMedoids(3, metric="precomputed", random_state=0).fit(np.abs(X - X.T))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KMedoids(2, method=method, random_state=0).fit(X)


def test_distances_that_are_not_symmetric_are_refused():
    D = np.array([[0.0, 1, 2], [1, 0, 3], [2, 4, 0]])
    with pytest.raises(ValueError, match=r"entry \(2, 1\) is 4 and entry \(1, 2\) is 3"):
        KMedoids(2, metric="precomputed").fit(D)
    rounded = np.maximum(D, D.T) + 1e-12 * np.triu(np.ones((3, 3)), 1)
    KMedoids(2, metric="precomputed", random_state=0).fit(rounded)


def test_gray_pictures_are_quantized():
    picture = np.array([[0, 250], [10, 240]], np.uint8)
    found = quantize(picture, 2)
    assert found.image.shape == (2, 2)
    assert found.image.dtype == np.uint8
    assert_array_equal(found.image, [[5, 245], [5, 245]])
    assert found.size.full == 4 * 8
    with pytest.raises(ValueError, match="height, width"):
        quantize(picture.ravel())


def test_memberships_of_a_mixture_are_features():
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[30:] += 3
    model = ClusterFeatures(GaussianMixture(2, random_state=0), features="membership").fit(X)
    made = model.transform(X)
    assert_array_equal(made, model.clusterer_.predict_proba(X))
    assert model.get_feature_names_out().tolist() == ["cluster0", "cluster1"]
    with pytest.raises(ValueError, match="features='membership'"):
        ClusterFeatures(GaussianMixture(2)).fit(X)
    both = ClusterFeatures(KMeans(2, random_state=0), features="both").fit(X.astype(np.float32))
    assert both.transform(X.astype(np.float32)).dtype == np.float32


def test_the_number_of_components_is_chosen_elsewhere():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(TypeError, match=r"choose_components\(GaussianMixture\(\), X\)"):
        choose_k(GaussianMixture(), X)
    with pytest.raises(TypeError, match="give a clusterer"):
        choose_k(tenfold.Ridge(), X)
