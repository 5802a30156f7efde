"""Nadaraya-Watson and kernel density: formulas, limits, leave-one-out, scikit-learn's numbers."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.neighbors import KernelDensity as TheirKernelDensity
from sklearn.neighbors import KNeighborsRegressor

import tenfold
from tenfold import KernelDensity, NadarayaWatsonClassifier, NadarayaWatsonRegressor
from tenfold.kernel import RBF, _training_rows
from tenfold.kernel._kernel_sums import DENSITY_KERNELS, log_volume

RNG = np.random.default_rng(5)
X, Q = RNG.normal(size=(70, 2)), RNG.normal(size=(12, 2))
Y = np.c_[np.sin(X[:, 0]), X[:, 1] ** 2]
W = RNG.integers(0, 3, 70).astype(float)


def weighted_means(h, w=None):
    K = RBF(h)(Q, X) * (1.0 if w is None else w)
    return K @ Y / K.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("w", [None, W])
def test_the_formula(w):
    model = NadarayaWatsonRegressor(0.4).fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(model.predict(Q), weighted_means(0.4, w), rtol=1e-10)
    assert (model.predict(Q) >= Y.min(axis=0)).all()
    assert (model.predict(Q) <= Y.max(axis=0)).all()


@pytest.mark.parametrize("h", [0.0, 1e-200, 1e-5])
def test_a_small_bandwidth_is_the_nearest_neighbor(h):
    far = 1e3 * Q  # where all kernel values underflow
    nearest = KNeighborsRegressor(1).fit(X, Y)
    for queries in (Q, far, X):
        predictions = NadarayaWatsonRegressor(h).fit(X, Y).predict(queries)
        np.testing.assert_allclose(predictions, nearest.predict(queries))


def test_ties_of_nearest_rows_are_averaged():
    assert NadarayaWatsonRegressor(0.0).fit([[0.0], [2.0]], [1.0, 5.0]).predict([[1.0]]) == [3.0]


def test_a_large_bandwidth_is_the_mean():
    for h in (1e9, np.inf):
        np.testing.assert_allclose(
            NadarayaWatsonRegressor(h).fit(X, Y).predict(Q), np.tile(Y.mean(axis=0), (12, 1))
        )


def test_local_lines():
    model = NadarayaWatsonRegressor(0.5, degree=1).fit(X, Y)
    for q, found in zip(Q, model.predict(Q), strict=True):
        k = np.sqrt(RBF(0.5)(q[None], X)[0])[:, None]
        A = np.c_[np.ones(len(X)), X - q]
        np.testing.assert_allclose(
            found, np.linalg.lstsq(k * A, k * Y, rcond=None)[0][0], atol=1e-8
        )
    plane = X @ [2.0, -1.0] + 3
    lines = NadarayaWatsonRegressor(0.3, degree=1).fit(X, plane)
    np.testing.assert_allclose(lines.predict(Q), Q @ [2.0, -1.0] + 3, atol=1e-7)


@pytest.mark.parametrize("degree", [0, 1])
def test_the_bandwidth_by_leave_one_out(degree):
    grid = [0.1, 0.4, 1.5]
    model = NadarayaWatsonRegressor(bandwidths=grid, degree=degree).fit(X, Y, sample_weight=W)
    errors = []
    for h in grid:
        total = 0.0
        for i in np.flatnonzero(W):
            w = np.maximum(W - (np.arange(70) == i), 0)
            fit = NadarayaWatsonRegressor(h, degree=degree).fit(X, Y, sample_weight=w)
            total += W[i] * ((fit.predict(X[i : i + 1])[0] - Y[i]) ** 2).sum()
        errors.append(total / W.sum())
    np.testing.assert_allclose(model.loo_errors_, errors, rtol=1e-8)
    assert model.bandwidth_ == grid[int(np.argmin(errors))]
    sampled = NadarayaWatsonRegressor(bandwidths=grid, loo_rows=20, random_state=0).fit(X, Y)
    assert sampled.bandwidth_ in grid


def test_targets_of_several_outputs_are_saved(tmp_path):
    for y in (Y, Y[:, 0], Y[:, :1], Y[:, 0] > 0):
        model = NadarayaWatsonRegressor(0.4).fit(X, y)
        model.save(tmp_path / "model.tenfold")
        loaded = tenfold.load(tmp_path / "model.tenfold")
        assert np.array_equal(loaded.predict(Q), model.predict(Q))


def test_probabilities_are_shares():
    labels = np.array(["a", "b", "c"])[RNG.integers(0, 3, 70)]
    model = NadarayaWatsonClassifier(0.4).fit(X, labels)
    K = RBF(0.4)(Q, X)
    shares = np.column_stack([K[:, labels == c].sum(axis=1) for c in "abc"]) / K.sum(1)[:, None]
    np.testing.assert_allclose(model.predict_proba(Q), shares, rtol=1e-10)
    assert (
        model.predict(X[:5]).tolist()
        == model.classes_[model.predict_proba(X[:5]).argmax(1)].tolist()
    )
    nearest = NadarayaWatsonClassifier(0.0).fit(X, labels)
    assert nearest.predict(X).tolist() == labels.tolist()


def test_rows_in_a_file_give_the_same_bits(tmp_path, monkeypatch):
    A, b = RNG.normal(size=(9000, 3)), RNG.normal(size=9000)
    np.save(tmp_path / "X.npy", A)
    queries = RNG.normal(size=(5000, 3))
    here = NadarayaWatsonRegressor(0.5).fit(A, b)
    dense = KernelDensity(bandwidth=0.5).fit(A)
    monkeypatch.setattr(_training_rows, "available_memory", lambda: 1e4)
    there = NadarayaWatsonRegressor(0.5).fit(tmp_path / "X.npy", b)
    assert there.X_fit_ is None
    assert np.array_equal(here.predict(queries), there.predict(queries))
    stored = KernelDensity(bandwidth=0.5).fit(tmp_path / "X.npy")
    assert np.array_equal(dense.score_samples(queries), stored.score_samples(queries))
    with pytest.raises(ValueError, match="in a file"):
        stored.sample()


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
@pytest.mark.parametrize("w", [None, W + 0.5])
def test_densities_are_those_of_scikit_learn(kernel, w):
    p = 1 if kernel == "cosine" else 2  # scikit-learn's cosine integrates to 0.36 in the plane
    ours = KernelDensity(bandwidth=0.8, kernel=kernel).fit(X[:, :p], sample_weight=w)
    theirs = TheirKernelDensity(bandwidth=0.8, kernel=kernel).fit(X[:, :p], sample_weight=w)
    queries = Q[:, :p]
    np.testing.assert_allclose(ours.score_samples(queries), theirs.score_samples(queries))
    assert ours.score(X[:, :p]) == pytest.approx(theirs.score(X[:, :p]))


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_densities_in_the_plane_integrate_to_one(kernel):
    grid = np.linspace(-8, 8, 161)
    points = np.array(np.meshgrid(grid, grid)).reshape(2, -1).T
    density = KernelDensity(bandwidth=0.8, kernel=kernel).fit([[0.01, 0.02]])
    assert np.exp(density.score_samples(points)).sum() * 0.01 == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_volumes(kernel):
    density = KernelDensity(bandwidth=0.7, kernel=kernel).fit([[0.3]])
    total = quad(lambda t: np.exp(density.score_samples([[t]])[0]), -20, 20, points=[-0.4, 0.3, 1])
    assert total[0] == pytest.approx(1.0, abs=1e-5)
    assert np.isfinite(log_volume(kernel, 0.7, 40))


def test_other_metrics_rules_and_draws():
    ours = KernelDensity(metric="manhattan", kernel="exponential").fit(X)
    theirs = TheirKernelDensity(metric="manhattan", kernel="exponential", algorithm="ball_tree")
    np.testing.assert_allclose(ours.score_samples(Q), theirs.fit(X).score_samples(Q))
    for rule in ("scott", "silverman"):
        expected = TheirKernelDensity(bandwidth=rule).fit(X).bandwidth_
        assert KernelDensity(bandwidth=rule).fit(X).bandwidth_ == pytest.approx(expected)
    for kernel in ("gaussian", "tophat"):
        model = KernelDensity(bandwidth=0.1, kernel=kernel).fit(X, sample_weight=W)
        draws = model.sample(4000, random_state=0)
        np.testing.assert_allclose(draws.mean(axis=0), W @ X / W.sum(), atol=0.08)
        assert np.isfinite(model.score_samples(draws)).all()
    with pytest.raises(NotImplementedError, match="tophat"):
        KernelDensity(kernel="linear").fit(X).sample()


@pytest.mark.parametrize("degree", [0, 1])
def test_a_single_row_is_the_prediction(degree):
    model = NadarayaWatsonRegressor(degree=degree).fit(X[:1], Y[:1, 0])
    np.testing.assert_allclose(model.predict(Q), Y[0, 0])


@pytest.mark.parametrize("bandwidths", [[], [-1.0, 1.0], [np.nan]])
def test_what_is_no_bandwidth_is_refused(bandwidths):
    with pytest.raises(ValueError, match="give a list of numbers"):
        NadarayaWatsonRegressor(bandwidths=bandwidths).fit(X, Y)
