"""Nearest-neighbor Gaussian processes: exact at the limit, a product of conditionals elsewhere."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm
from sklearn.gaussian_process import kernels as sklearn_kernels

import tenfold
from tenfold import GaussianProcessRegressor, NearestNeighborGaussianProcessRegressor
from tenfold.gaussian_process import _vecchia
from tenfold.gaussian_process._vecchia import neighbors_before, order_rows
from tenfold.kernel import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    LaplacianKernel,
    Matern,
    RationalQuadratic,
    SpectrumKernel,
    WhiteKernel,
)

KERNEL = ConstantKernel(2.0) * Matern([1.0, 2.0, 0.5], nu=1.5) + WhiteKernel(0.1)
KERNELS = [
    ConstantKernel(2.0) * RBF([1.0, 2.0, 1.5]) + WhiteKernel(0.1),
    KERNEL + DotProduct(0.5),
    RationalQuadratic(1.2, 0.7) * (ExpSineSquared(1.0, 30.0) + 2.0) + WhiteKernel(0.3),
    (DotProduct(1.0) + Matern(1.5, nu=2.5)) ** 2 + WhiteKernel(0.3),
    LaplacianKernel(0.5) + WhiteKernel(0.1),
]


def make_rows(n=120, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X.sum(axis=1)])
    y += 0.3 * rng.normal(size=y.shape)
    return X, y[:, 0] if outputs == 1 else y


def fixed(kernel=KERNEL, **options):
    return NearestNeighborGaussianProcessRegressor(kernel, optimizer=None, **options)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(("outputs", "ordering"), [(1, "maximin"), (2, "random"), (2, "given")])
def test_with_all_rows_as_neighbors_it_is_the_exact_process(kernel, outputs, ordering):
    X, y = make_rows(50, outputs)
    alpha = np.random.default_rng(1).uniform(0.01, 0.2, 50)
    options = {"alpha": alpha, "normalize_y": True}
    exact = GaussianProcessRegressor(kernel, optimizer=None, **options).fit(X, y)
    model = fixed(kernel, n_neighbors=50, ordering=ordering, **options).fit(X, y)
    theta = kernel.theta + 0.1
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    expected, expected_gradient = exact.log_marginal_likelihood(theta, eval_gradient=True)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-7, atol=1e-7)
    rows = np.random.default_rng(2).normal(size=(20, 3))
    for ours, theirs in zip(*(m.predict(rows, True) for m in (model, exact)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


def test_the_likelihood_is_the_product_of_the_conditional_densities():
    X, y = make_rows(60)
    model = fixed(n_neighbors=5, normalize_y=False, ordering="given").fit(X, y)
    K, scaled = KERNEL(X), X / [1.0, 2.0, 0.5]
    total = 0.0
    for i in range(60):
        near = np.argsort(np.square(scaled[:i] - scaled[i]).sum(axis=1), kind="stable")[:5]
        w = np.linalg.solve(K[np.ix_(near, near)], K[near, i]) if i else np.zeros(0)
        total += norm(w @ y[near], np.sqrt(K[i, i] - w @ K[near, i])).logpdf(y[i])
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, total, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradient_is_that_of_differences(kernel):
    X, y = make_rows(60, 2)
    model = fixed(kernel, n_neighbors=7).fit(X, y)
    gradient = model.log_marginal_likelihood(kernel.theta, eval_gradient=True)[1]
    expected = approx_fprime(kernel.theta, model.log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("order", ["random", "sorted", "clusters", "equal"])
def test_neighbors_are_the_nearest_rows_before(order):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (300, 2)).astype(float)  # full of ties
    if order == "sorted":
        X = X[np.lexsort(X.T)]
    if order == "clusters":  # the first row of the second cluster is far from all before
        X[150:] += 1000.0
    if order == "equal":
        X[:] = 1.0
    sets, counts = neighbors_before(X, 9)
    for i in range(300):
        squares = np.square(X[:i] - X[i]).sum(axis=1)
        expected = np.lexsort((np.arange(i), squares))[:9]
        assert counts[i] == len(expected)
        assert sets[i, : counts[i]].tolist() == expected.tolist()
        assert sets[i, -1] == i


def test_maximin_order_takes_the_farthest_row_each_time(monkeypatch):
    X = make_rows(80)[0]
    order = order_rows(X, "maximin", np.random.default_rng(0))
    assert sorted(order) == list(range(80))
    assert order[0] == np.linalg.norm(X - X.mean(axis=0), axis=1).argmin()
    D = np.linalg.norm(X[:, None] - X, axis=2)
    for i in range(1, 80):
        left = order[i:]
        assert D[order[i], order[:i]].min() >= D[np.ix_(left, order[:i])].min(axis=1).max() - 1e-12
    monkeypatch.setattr(_vecchia, "MAXIMIN_ROWS", 10)
    shorter = order_rows(X, "maximin", np.random.default_rng(0))
    assert shorter[:10].tolist() == order[:10].tolist()
    assert sorted(shorter) == list(range(80))


def test_more_neighbors_come_nearer_to_the_exact_process():
    X, y = make_rows(250)
    options = {"normalize_y": True, "optimizer": None}
    exact = GaussianProcessRegressor(KERNEL, alpha=1e-10, **options).fit(X, y)
    evidence, mean = exact.log_marginal_likelihood_value_, exact.predict(X[:50] + 0.1)
    gaps = []
    for m in (1, 8, 30, 120):
        model = fixed(n_neighbors=m).fit(X, y)
        far = np.abs(model.predict(X[:50] + 0.1) - mean).max()
        gaps.append([abs(model.log_marginal_likelihood_value_ - evidence), far])
    assert np.all(np.diff(gaps, axis=0) < 0)
    assert gaps[-1][0] < 0.1
    assert gaps[-1][1] < 0.02


@pytest.mark.filterwarnings("ignore:The optimal value:sklearn.exceptions.ConvergenceWarning")
def test_a_fit_recovers_the_hyperparameters_and_updates_neighbors_by_relevance():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 4, (600, 3))
    X[:, 2] *= 100.0  # a column without influence, in large units
    truth = ConstantKernel(1.0) * Matern([0.7, 1.5], nu=1.5)
    K = truth(X[:, :2]) + 1e-9 * np.eye(600)
    y = np.linalg.cholesky(K) @ rng.normal(size=600) + 0.1 * rng.normal(size=600)
    bounds = (1e-2, 1e5)
    kernel = ConstantKernel() * Matern([1.0, 1.0, 100.0], bounds, nu=1.5) + WhiteKernel(0.1)
    options = {"n_neighbors": 12, "max_iter_optimizer": 40}
    model = NearestNeighborGaussianProcessRegressor(kernel, **options).fit(X, y)
    scales = model.kernel_.k1.k2.length_scale
    assert 0.4 < scales[0] < 1.2
    assert 0.8 < scales[1] < 3.0
    assert scales[2] > 300.0
    assert 0.05 < np.sqrt(model.kernel_.k2.noise_level) * y.std() < 0.2
    assert len(model.history_["objective"]) == model.n_iter_
    assert np.all(np.diff(model.history_["objective"]) < 1e-6)
    likelihood, order = model.log_marginal_likelihood_value_, model.order_
    once = model.set_params(n_neighbor_updates=0).fit(X, y)
    assert likelihood > once.log_marginal_likelihood_value_ + 5.0  # nearer to the exact one
    assert not np.array_equal(once.order_, order)


@pytest.mark.filterwarnings("ignore:The optimal value:sklearn.exceptions.ConvergenceWarning")
def test_kernels_of_scikit_learn_and_restarts_repeat():
    X, y = make_rows(60)
    theirs = sklearn_kernels.RBF([1.0, 1.0, 1.0]) + sklearn_kernels.WhiteKernel(0.1)
    ours = RBF([1.0, 1.0, 1.0]) + WhiteKernel(0.1)
    values = []
    for kernel in (theirs, ours, ours):
        options = {"n_neighbors": 6, "n_restarts_optimizer": 1, "random_state": 0}
        model = NearestNeighborGaussianProcessRegressor(kernel, **options).fit(X, y)
        values.append(model.log_marginal_likelihood_value_)
    assert values[0] == values[1] == values[2]


def test_predictions_do_not_depend_on_the_other_queries_and_survive_equal_rows():
    X, y = make_rows(100)
    X[50:] = X[:50]
    with pytest.raises(np.linalg.LinAlgError, match=r"increase alpha, or add a\s+WhiteKernel"):
        fixed(RBF(), alpha=0.0, n_neighbors=10).fit(X, y)
    model = fixed(RBF(), alpha=1e-8, n_neighbors=10).fit(X, y)
    together = model.predict(X, return_std=True)
    alone = [model.predict(x[None], return_std=True) for x in X[:5]]
    np.testing.assert_array_equal(together[0][:5], [a[0][0] for a in alone])
    np.testing.assert_array_equal(together[1][:5], [a[1][0] for a in alone])
    assert np.isfinite(together).all()


def test_a_loaded_model_predicts_the_same(tmp_path):
    X, y = make_rows(90, 2)
    model = fixed(n_neighbors=8).fit(X, y)
    model.save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    for ours, theirs in zip(model.predict(X, True), loaded.predict(X, True), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    theta = model.kernel_.theta
    assert loaded.log_marginal_likelihood(theta) == model.log_marginal_likelihood(theta)


def test_what_cannot_be_is_refused(monkeypatch):
    X, y = make_rows(40)
    with pytest.raises(ValueError, match="no nearest neighbors here: take GaussianProcessRegr"):
        fixed(SpectrumKernel()).fit(["ab", "b"], [1.0, 2.0])
    with pytest.raises(ValueError, match="same number of entries as y"):
        fixed(alpha=np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="Gradient can only be evaluated for theta"):
        fixed().fit(X, y).log_marginal_likelihood(eval_gradient=True)
    monkeypatch.setattr("tenfold.engine.memory.available_memory", lambda: 1000.0)
    monkeypatch.setattr("tenfold.engine.memory._GIB", 4.0)
    with pytest.raises(MemoryError, match="smaller n_neighbors, or SparseGaussianProcessRegressor"):
        fixed().fit(X, y)
