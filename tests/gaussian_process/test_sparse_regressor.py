"""Sparse Gaussian processes: exact at the limit, a bound elsewhere, the same from every place."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import GaussianProcessRegressor, SparseGaussianProcessRegressor
from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows
from tenfold.kernel import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

KERNEL = ConstantKernel(2.0) * RBF([1.0, 2.0, 1.5])


def make_rows(n=200, outputs=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1] * np.cos(X[:, 2]), X.sum(axis=1)])
    y += 0.3 * rng.normal(size=y.shape)
    return X, y[:, 0] if outputs == 1 else y


def fixed(Z, **options):
    return SparseGaussianProcessRegressor(
        KERNEL, inducing=Z, noise_level=0.1, optimizer=None, **{"normalize_y": False} | options
    )


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_all_rows_as_inducing_points_are_the_exact_process(outputs, normalize):
    X, y = make_rows(outputs=outputs)
    y = y + 1e4
    options = {"optimizer": None, "normalize_y": normalize}
    exact = GaussianProcessRegressor(KERNEL, alpha=0.1, **options).fit(X, y)
    sparse = fixed(X, normalize_y=normalize).fit(X, y)
    np.testing.assert_allclose(sparse.lower_bound_, exact.log_marginal_likelihood_value_, rtol=1e-6)
    rows = np.random.default_rng(1).normal(size=(20, 3))
    mean, std = sparse.predict(rows, return_std=True)
    expected_mean, expected_std = exact.predict(rows, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(std, expected_std, rtol=1e-5, atol=1e-6)


def test_the_bound_is_that_of_the_formula_and_rises_with_more_inducing_points():
    X, y = make_rows()
    Z = X[:15]
    bounds = [fixed(X[:m]).fit(X, y).lower_bound_ for m in (1, 5, 15, 50, 200)]
    assert np.all(np.diff(bounds) > -1e-6)
    evidence = GaussianProcessRegressor(KERNEL, alpha=0.1, optimizer=None).fit(X, y)
    assert bounds[-1] <= evidence.log_marginal_likelihood_value_ + 1e-6
    K = KERNEL(X, Z)
    Q = K @ np.linalg.solve(KERNEL(Z), K.T)
    expected = multivariate_normal(cov=Q + 0.1 * np.eye(200)).logpdf(y)
    expected -= 0.5 / 0.1 * (KERNEL.diag(X) - Q.diagonal()).sum()
    np.testing.assert_allclose(bounds[2], expected, rtol=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL,
        ConstantKernel(0.7) * Matern([1.0, 2.0, 0.5], nu=1.5) + DotProduct(0.5),
        (DotProduct(1.0) + Matern(1.5, nu=2.5)) ** 2,
    ],
    ids=str,
)
@pytest.mark.parametrize(("outputs", "normalize"), [(1, False), (2, True)])
def test_gradient_is_that_of_differences(kernel, outputs, normalize):
    X, y = make_rows(60, outputs)
    model = SparseGaussianProcessRegressor(normalize_y=normalize)
    w = np.random.default_rng(2).integers(0, 3, 60).astype(float)
    rows = Rows(ArraySource(X, y, w))
    prior = kernel + WhiteKernel(0.2)
    Z = X[:10] + 0.1

    def evaluate(theta, eval_gradient=False):
        at = prior.clone_with_theta(theta)
        return model._evaluate(rows, at, Z, eval_gradient=eval_gradient)

    gradient = evaluate(prior.theta, eval_gradient=True)[1]
    differences = approx_fprime(prior.theta, evaluate, 1e-6)
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-3)


def test_fitted_hyperparameters_are_a_maximum_and_predict():
    X, y = make_rows(600)
    model = SparseGaussianProcessRegressor(KERNEL, n_inducing=40, random_state=0).fit(X, y)
    assert model.converged_ is True
    assert np.all(np.diff(model.history_["objective"]) <= 1e-8)
    assert 0.07 < model.noise_level_ < 0.12
    assert model.score(*make_rows(200)) > 0.85


@pytest.mark.parametrize("normalize", [False, True])
def test_parts_merge_and_learn_on_to_the_model_of_all_rows(normalize):
    X, y = make_rows(400)
    y = y + 100.0 * normalize

    def part():
        return fixed(X[::20], normalize_y=normalize)

    whole = part().fit(X, y)
    joint = tenfold.merge(part().fit(X[:150], y[:150]), part().fit(X[150:], y[150:]))
    further = part().partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    for other in (joint, further):
        np.testing.assert_allclose(other.predict(X), whole.predict(X), rtol=1e-8)
        np.testing.assert_allclose(other.alpha_, whole.alpha_, rtol=1e-8)
        np.testing.assert_allclose(other.lower_bound_, whole.lower_bound_, rtol=1e-10)
    a, b = (
        SparseGaussianProcessRegressor(optimizer=None, n_inducing=5).fit(X[:99], y[:99])
        for _ in range(2)
    )
    with pytest.raises(ValueError, match="inducing=array and optimizer=None"):
        tenfold.merge(a, b)


def test_a_weight_is_a_repetition():
    X, y = make_rows(100)
    w = np.random.default_rng(1).integers(0, 3, 100)
    model = fixed(X[:10], normalize_y=True)
    weighted = clone(model).fit(X, y, sample_weight=w.astype(float))
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.alpha_, repeated.alpha_, rtol=1e-9)
    np.testing.assert_allclose(weighted.lower_bound_, repeated.lower_bound_, rtol=1e-10)


def test_bits_with_a_search_are_those_of_a_file(tmp_path):
    X, y = make_rows(2500)
    np.save(tmp_path / "X.npy", X)
    model = SparseGaussianProcessRegressor(
        KERNEL, n_inducing=15, max_iter_optimizer=3, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="failed to converge"):
        here = model.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="failed to converge"):
        there = clone(model).fit(tmp_path / "X.npy", y)
    assert here.kernel_.theta.tobytes() == there.kernel_.theta.tobytes()
    assert here.alpha_.tobytes() == there.alpha_.tobytes()


def test_noise_in_the_kernel_is_refused():
    X, y = make_rows(20)
    with pytest.raises(ValueError, match="noise_level"):
        SparseGaussianProcessRegressor(RBF() + WhiteKernel()).fit(X, y)


def test_defaults_take_any_units():
    """Targets far from zero and columns much narrower than one."""
    X, y = load_diabetes(return_X_y=True)
    model = SparseGaussianProcessRegressor(n_inducing=50, random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.4
    mean, std = model.predict(X[1::2], return_std=True)
    error = np.hypot(std, np.sqrt(model.noise_level_) * y[::2].std())
    assert 0.85 < np.mean(np.abs(y[1::2] - mean) < 2 * error) <= 1.0
    other = clone(model).fit(1e3 * X[::2], 1e4 + 1e-3 * y[::2])
    moved = (other.predict(1e3 * X[1::2]) - 1e4) / 1e-3
    np.testing.assert_allclose(moved, mean, rtol=1e-2)


def test_a_constant_target_is_predicted():
    X, _ = make_rows(50)
    model = SparseGaussianProcessRegressor(n_inducing=1, optimizer=None).fit(X, np.full(50, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0)
