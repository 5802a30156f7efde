"""Labels that no rounding moves, remembered gaps, and the variants of k-means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import cluster
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from tenfold.cluster._kmeans_assign import assign_rows, center_hint, find_nearest_centers
from tenfold.cluster.initialization import farthest_first
from tenfold.cluster.kernel_kmeans import KernelKMeans
from tenfold.cluster.kmeans import KMeans
from tenfold.cluster.minibatch_kmeans import MiniBatchKMeans
from tenfold.cluster.spherical_kmeans import SphericalKMeans


def table(n=500, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def squares(X, centres):
    return ((np.asarray(X, float)[:, None] - np.asarray(centres, float)) ** 2).sum(axis=2)


# --------------------------------------------------------------------- labels, bounds, same bits


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_labels_are_those_of_the_differences(dtype, scale):
    X = (table(3000, 7) * scale).astype(dtype)
    centres = X[::100].copy()
    assert_array_equal(find_nearest_centers(X, centres).label, squares(X, centres).argmin(axis=1))


def test_ties_and_equal_centres_go_to_the_first():
    X = np.round(table(4000, 2) * 2)  # whole numbers: many exact ties
    centres = np.vstack([X[:20], X[:20], X[:20] + 1])
    want = squares(X, centres).argmin(axis=1)
    assert_array_equal(find_nearest_centers(X, centres).label, want)
    assert_array_equal(
        find_nearest_centers(X.astype(np.float32), centres.astype(np.float32)).label, want
    )


def test_one_outlier_does_not_blur_the_rest():
    X = table(3000, 3)
    X[0] = 1e12
    centres = np.vstack([X[0], X[1:30]])
    assert_array_equal(find_nearest_centers(X, centres).label, squares(X, centres).argmin(axis=1))


def test_a_label_does_not_depend_on_the_rows_beside_it():
    X = table(5000, 9).astype(np.float32)
    centres = X[:40].copy()
    whole = find_nearest_centers(X, centres).label
    order = np.random.default_rng(1).permutation(len(X))
    assert_array_equal(find_nearest_centers(X[order], centres).label, whole[order])
    assert_array_equal(find_nearest_centers(np.asfortranarray(X), centres).label, whole)
    assert_array_equal(find_nearest_centers(X[17:1500], centres).label, whole[17:1500])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(-9, 0), st.booleans())
def test_remembered_gaps_change_no_label(seed, k, size, narrow):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 40)).astype(np.float32 if narrow else np.float64)
    centres = X[:k].copy()
    bounds = last = None
    for _ in range(6):
        label, bounds = assign_rows(X, bounds, centres, center_hint(centres, last))
        assert_array_equal(label, find_nearest_centers(X, centres).label)
        last = centres
        moves = 10**size * rng.normal(size=centres.shape) * rng.random((k, 1))
        centres = (centres + moves).astype(X.dtype)


def test_gaps_save_most_of_the_work(monkeypatch):
    from tenfold.cluster import _kmeans_assign as module

    asked = []
    look = module._reassign_rows
    monkeypatch.setattr(
        module,
        "_reassign_rows",
        lambda X, centres, rows, *more: (
            asked.append(len(X) if rows is None else len(rows)),
            look(X, centres, rows, *more),
        ),
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 48)) + rng.normal(size=(12, 48))[rng.integers(12, size=6000)]
    bounds, last, centres = None, None, X[:12].copy()
    for _ in range(15):
        label, bounds = assign_rows(X, bounds, centres, center_hint(centres, last))
        last = centres
        centres = np.stack([X[label == j].mean(axis=0) for j in range(12)])
    assert sum(asked[-5:]) < 0.2 * 5 * len(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_with_memory_and_files_without_have_the_same_bits(tmp_path, dtype):
    X = (table(60_000, 6) + table(8, 6, 1)[np.arange(60_000) % 8]).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    model = KMeans(8, random_state=0, tol=0, max_iter=40)
    with pytest.warns(match="did not converge"):
        here = KMeans(**model.get_params()).fit(X)
    with pytest.warns(match="did not converge"):
        there = model.fit(tmp_path / "X.npy")
    for name in ("cluster_centers_", "labels_", "inertia_"):
        assert (
            np.asarray(getattr(here, name)).tobytes() == np.asarray(getattr(there, name)).tobytes()
        )
    elkan = KMeans(8, random_state=0, algorithm="elkan").fit(X)
    lloyd = KMeans(8, random_state=0, algorithm="lloyd").fit(X)
    assert_array_equal(elkan.cluster_centers_, lloyd.cluster_centers_)


# --------------------------------------------------------------------------------------- starts


def test_a_start_on_samples_needs_few_rounds_on_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 8)) + rng.normal(size=(10, 8))[rng.integers(10, size=60_000)]
    ours = KMeans(10, random_state=0).fit(X)
    theirs = cluster.KMeans(10, random_state=0).fit(X)
    assert ours.inertia_ <= 1.005 * theirs.inertia_
    assert ours.n_iter_ < theirs.n_iter_


def test_farthest_first():  # at most twice the best width [002, 7.3: other starts]
    X = table(200, 2)
    starts = farthest_first(X, np.ones(200), 6, np.random.default_rng(0))
    width = np.sqrt(squares(X, starts).min(axis=1).max())
    best = min(
        np.sqrt(squares(X, X[np.random.default_rng(s).choice(200, 6, False)]).min(axis=1).max())
        for s in range(300)
    )
    assert width <= 2 * best
    model = KMeans(6, init="farthest", random_state=0).fit(X)
    assert model.inertia_ < squares(X, starts).min(axis=1).sum()
    absent = farthest_first(
        np.vstack([X, [[99.0, 99.0]]]), np.r_[np.ones(200), 0], 6, np.random.default_rng(0)
    )
    assert absent.max() < 99


def test_rows_as_their_centres():  # [002, 7.3: reconstruction error; 000, 4.1: one-hot codes]
    X = table(300, 4)
    model = KMeans(5, random_state=0).fit(X)
    codes = np.eye(5)[model.labels_]
    assert_allclose(model.reconstruct(X), codes @ model.cluster_centers_)
    assert_allclose(((X - model.reconstruct(X)) ** 2).sum(), model.inertia_)


# ---------------------------------------------------------------------------------- mini-batches


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_mini_batches_come_close_to_all_rows(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5)) + 4 * rng.normal(size=(8, 5))[rng.integers(8, size=6000)]
    X = X if kind == "dense" else sparse.csr_array(X)
    model = MiniBatchKMeans(8, random_state=0, n_init=3, batch_size=500).fit(X)
    best = cluster.KMeans(8, n_init=10, random_state=0).fit(X)
    assert model.inertia_ < 1.1 * best.inertia_
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.score(X), -model.inertia_)
    assert model.n_steps_ > 1


def test_a_step_is_scikit_learns():
    X, start = table(400, 3), table(5, 3, 1)
    ours = MiniBatchKMeans(5, init=start, reassignment_ratio=0)
    theirs = cluster.MiniBatchKMeans(5, init=start, n_init=1, reassignment_ratio=0)
    for part in np.split(X, 4):
        ours.partial_fit(part)
        theirs.partial_fit(part)
        assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-12)
        assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.counts_, theirs._counts)


def test_centres_that_meet_no_rows_are_moved():
    X = table(2000, 2)
    start = np.vstack([X[:3], np.full((2, 2), 1e3)])
    model = MiniBatchKMeans(5, init=start, random_state=0).fit(X)
    assert np.abs(model.cluster_centers_).max() < 10


def test_the_last_epoch_is_an_end_without_a_warning():  # warnings are errors here
    X = table(60, 2)
    for kind in (MiniBatchKMeans, cluster.MiniBatchKMeans):
        model = kind(3, max_iter=3, max_no_improvement=None, random_state=0).fit(X)
        assert model.n_iter_ == 3
    ours = MiniBatchKMeans(3, max_iter=3, random_state=0).fit(X)
    assert not ours.converged_
    assert MiniBatchKMeans(3, max_iter=500, tol=0.01, random_state=0).fit(X).converged_


def test_an_epoch_of_one_batch_has_a_cost():
    X = table(60, 2)
    model = MiniBatchKMeans(3, max_iter=4, random_state=0).fit(X)
    assert np.isfinite(model.history_["objective"]).all()
    once = MiniBatchKMeans(3, max_iter=1, compute_labels=False, random_state=0).fit(X)
    assert_allclose(once.inertia_, 60 * once.history_["objective"][0])
    assert once.inertia_ >= MiniBatchKMeans(3, max_iter=1, random_state=0).fit(X).inertia_


# ------------------------------------------------------------------------------------- spherical


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_directions_are_clustered_whatever_the_length(kind):  # [003, unit 4: cosine]
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(4, 20))
    y = rng.integers(4, size=800)
    X = (ways[y] + 0.3 * rng.normal(size=(800, 20))) * rng.exponential(3, size=(800, 1))
    model = SphericalKMeans(4, random_state=0).fit(X if kind == "dense" else sparse.csr_array(X))
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert_allclose((model.cluster_centers_**2).sum(axis=1), 1)
    again = SphericalKMeans(4, random_state=0).fit(X * rng.exponential(1, size=(800, 1)))
    assert_array_equal(again.labels_, model.labels_)
    unit = X / np.sqrt((X**2).sum(axis=1))[:, None]
    cosine = (unit * model.cluster_centers_[model.labels_]).sum(axis=1)
    assert_allclose(model.inertia_, (1 - cosine).sum())
    half = squares(unit, model.cluster_centers_) / 2
    assert_allclose(model.transform(X), half, atol=1e-12)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()


def test_spherical_corners():
    X = table(50, 2)
    X[:20] = 0.0  # no direction: never a start
    for seed in range(5):
        model = SphericalKMeans(3, random_state=seed).fit(sparse.csr_array(X))
        assert_allclose((model.cluster_centers_**2).sum(axis=1), 1)
        assert set(model.labels_[20:]) == {0, 1, 2}
    X = X[20:]
    start = np.vstack([X[:2], X[:1]])  # the third is never nearest: it gets a row
    assert set(SphericalKMeans(3, init=start).fit(X).labels_) == {0, 1, 2}


# ---------------------------------------------------------------------------------------- kernel


def test_a_linear_kernel_is_k_means():
    X = table(200, 3)
    model = KernelKMeans(4, kernel="linear", n_landmarks=None, random_state=0, tol=0, n_init=5)
    found = model.fit(X)
    means = np.stack([X[found.labels_ == j].mean(axis=0) for j in range(4)])
    plain = KMeans(4, init=means, tol=0).fit(X)
    assert plain.n_iter_ <= 2  # a fixed point of k-means
    assert_array_equal(plain.labels_, found.labels_)
    assert_allclose(found.inertia_, plain.inertia_)


def test_rings_need_a_kernel():  # [003, unit 4: not round]
    X, y = make_circles(400, factor=0.3, noise=0.03, random_state=0)
    product = KernelKMeans(2, kernel="poly", degree=2, gamma=1, coef0=0, n_init=10, random_state=0)
    lifted = KernelKMeans(2, kernel=lambda a, b: (a @ a) * (b @ b), random_state=0)
    assert adjusted_rand_score(y, KMeans(2, random_state=0).fit(X).labels_) < 0.1
    assert adjusted_rand_score(y, lifted.fit(X).labels_) == 1.0
    assert (np.diff(product.fit(X).history_["objective"]) <= 1e-9).all()


def test_a_precomputed_kernel_is_the_same_model():
    X, new = table(150, 2), table(30, 2, 1)
    direct = KernelKMeans(3, gamma=0.5, random_state=0).fit(X)
    given_values = KernelKMeans(3, kernel="precomputed", random_state=0)
    given_values.fit(rbf_kernel(X, gamma=0.5))
    assert_array_equal(direct.labels_, given_values.labels_)
    assert_allclose(direct.inertia_, given_values.inertia_)
    assert_array_equal(direct.predict(new), given_values.predict(rbf_kernel(new, X, gamma=0.5)))
    assert_array_equal(direct.predict(X), direct.labels_)
    with pytest.raises(ValueError, match="150 rows and 2 columns"):
        KernelKMeans(3, kernel="precomputed").fit(X)


def test_landmarks_come_close_to_all_rows():
    X = np.vstack([table(300, 2, s) + 4 * s for s in range(3)])
    whole = KernelKMeans(3, gamma=0.2, n_landmarks=None, n_init=5, random_state=0).fit(X)
    some = KernelKMeans(3, gamma=0.2, n_landmarks=60, n_init=5, random_state=0).fit(X)
    assert whole.inertia_ <= some.inertia_ * 1.001
    assert some.inertia_ < 1.02 * whole.inertia_
    assert adjusted_rand_score(whole.labels_, some.labels_) > 0.95


@pytest.mark.parametrize("exponent", [59, 60, 62, 100])
def test_nearest_centers_do_not_change_with_a_scale_at_which_float32_overflows(exponent):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20)) + 10 * rng.integers(0, 5, (3000, 1))
    scaled = X * 2.0**exponent
    assert_array_equal(
        find_nearest_centers(scaled, scaled[:109]).label, find_nearest_centers(X, X[:109]).label
    )
