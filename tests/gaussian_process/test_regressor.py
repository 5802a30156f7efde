"""Exact Gaussian-process regression against closed forms, brute force and scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor as SklearnRegressor
from sklearn.gaussian_process import kernels as sk

import tenfold
from tenfold import GaussianProcessRegressor
from tenfold.kernel import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

KERNELS = [
    sk.ConstantKernel(2.0) * sk.RBF([1.0, 2.0, 3.0]) + sk.WhiteKernel(0.1),
    sk.ConstantKernel(1.5) * sk.Matern([1.0, 2.0, 0.5], nu=0.5) + sk.WhiteKernel(0.1),
    sk.Matern([1.0, 2.0, 0.5], nu=1.5) + sk.WhiteKernel(0.1),
    sk.Matern(0.7, nu=2.5) * sk.ConstantKernel(0.5) + sk.WhiteKernel(0.1),
    sk.RationalQuadratic(1.2, 0.7) + sk.ConstantKernel(2.0) * sk.WhiteKernel(0.1),
    sk.ExpSineSquared(3.0, 20.0) * sk.DotProduct(0.7) + sk.WhiteKernel(0.5),
    (sk.DotProduct(1.0) + sk.RBF(2.0)) ** 2 + sk.WhiteKernel(0.2),
    sk.ConstantKernel(1.0, "fixed") * sk.RBF(1.0) + sk.WhiteKernel(0.1, "fixed"),
]


def make_rows(n=300, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], X.sum(axis=1) ** 2])
    y += 0.1 * rng.normal(size=y.shape)
    return X, y[:, 0] if outputs == 1 else y


def test_one_and_two_rows_in_closed_form():
    one = GaussianProcessRegressor(RBF(2.0), alpha=0.5, optimizer=None).fit([[0.0]], [3.0])
    k = np.exp(-0.125)
    mean, std = one.predict([[1.0]], return_std=True)
    np.testing.assert_allclose(mean, k * 3.0 / 1.5, rtol=1e-14)
    np.testing.assert_allclose(std**2, 1.0 - k * k / 1.5, rtol=1e-14)
    evidence = -0.5 * (9.0 / 1.5 + np.log(1.5) + np.log(2 * np.pi))
    np.testing.assert_allclose(one.log_marginal_likelihood_value_, evidence, rtol=1e-14)
    two = GaussianProcessRegressor(RBF(2.0), alpha=0.5, optimizer=None)
    two.fit([[0.0], [1.0]], [3.0, -1.0])
    weights = np.array([1.5 * 3.0 + k, -1.5 - 3.0 * k]) / (2.25 - k * k)
    np.testing.assert_allclose(two.alpha_, weights, rtol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_evidence_and_gradient_are_those_of_scikit_learn_and_of_differences(kernel):
    for outputs in (1, 2):
        X, y = make_rows(outputs=outputs)
        ours, theirs = (
            model(kernel, optimizer=None, normalize_y=True).fit(X, y)
            for model in (GaussianProcessRegressor, SklearnRegressor)
        )
        theta = kernel.theta + 0.1
        value, gradient = ours.log_marginal_likelihood(theta, eval_gradient=True)
        expected, slopes = theirs.log_marginal_likelihood(theta, eval_gradient=True)
        np.testing.assert_allclose(value, expected, rtol=1e-10)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-8, atol=1e-8)
    X, y = make_rows(40)
    small = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    gradient = small.log_marginal_likelihood(theta, eval_gradient=True)[1]
    differences = approx_fprime(theta, small.log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(gradient, differences, rtol=1e-3, atol=1e-3)


def test_evidence_is_the_density_of_the_targets():
    X, y = make_rows(50)
    kernel = ConstantKernel(2.0) * RBF(1.5) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.2).fit(X, y)
    density = multivariate_normal(cov=kernel(X) + 0.2 * np.eye(50)).logpdf(y)
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, density, rtol=1e-12)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("normalize", [False, True])
def test_predictions_and_samples_are_those_of_scikit_learn(outputs, normalize):
    X, y = make_rows(outputs=outputs)
    noise = np.random.default_rng(1).uniform(0.1, 0.5, len(X))
    models = [
        model(KERNELS[0], optimizer=None, alpha=noise, normalize_y=normalize).fit(X, y)
        for model in (GaussianProcessRegressor, SklearnRegressor)
    ]
    rows = np.random.default_rng(2).normal(size=(15, 3))
    for options in ({"return_std": True}, {"return_cov": True}):
        for got, want in zip(*(model.predict(rows, **options) for model in models), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11)
    ours, theirs = (model.sample_y(rows, 4) for model in models)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)
    assert np.shape(models[0].predict(rows)) == np.shape(models[1].predict(rows))


def test_fitted_evidence_is_at_least_that_of_scikit_learn_and_restarts_repeat():
    X, y = make_rows(120)
    ours, theirs = (m(KERNELS[0]).fit(X, y) for m in (GaussianProcessRegressor, SklearnRegressor))
    least = theirs.log_marginal_likelihood_value_ - 1e-5
    assert ours.log_marginal_likelihood_value_ >= least
    assert ours.converged_ is True
    assert np.all(np.diff(ours.history_["objective"]) <= 1e-9)
    restarts = [
        GaussianProcessRegressor(KERNELS[0], n_restarts_optimizer=2, random_state=3).fit(X, y)
        for _ in range(2)
    ]
    assert restarts[0].kernel_.theta.tobytes() == restarts[1].kernel_.theta.tobytes()
    assert restarts[0].log_marginal_likelihood_value_ >= least


@pytest.mark.parametrize("outputs", [1, 2])
def test_leave_one_out_is_that_of_refits(outputs):
    X, y = make_rows(25, outputs)
    kernel = ConstantKernel(2.0) * RBF(1.5)
    noise = np.random.default_rng(0).uniform(0.1, 0.3, 25)
    model = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)
    mean, std = model.predict_leave_one_out()
    density = model.leave_one_out_log_density()
    for i in range(25):
        rest = np.arange(25) != i
        refit = GaussianProcessRegressor(kernel, alpha=noise[rest], optimizer=None)
        m, s = refit.fit(X[rest], y[rest]).predict(X[i : i + 1], return_std=True)
        spread = np.sqrt(s[0] ** 2 + noise[i])
        np.testing.assert_allclose(mean[i], m[0], rtol=1e-9)
        np.testing.assert_allclose(std[i], spread, rtol=1e-9)
        z = (y[i] - m[0]) / spread
        expected = -0.5 * z**2 - np.log(spread) - 0.5 * np.log(2 * np.pi)
        np.testing.assert_allclose(density[i], expected, rtol=1e-8)


def test_leave_one_out_of_a_normalized_target_is_in_its_units():
    X, y = make_rows(30)
    plain = GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None).fit(X, y)
    scaled = GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None, normalize_y=True)
    scaled.fit(X, (y - y.mean()) / y.std() * 7.0 + 5.0)
    plain.fit(X, (y - y.mean()) / y.std())
    (mean, std), (plain_mean, plain_std) = (
        model.predict_leave_one_out() for model in (scaled, plain)
    )
    np.testing.assert_allclose(mean, plain_mean * 7.0 + 5.0, rtol=1e-9)
    np.testing.assert_allclose(std, plain_std * 7.0, rtol=1e-9)
    np.testing.assert_allclose(
        scaled.leave_one_out_log_density(), plain.leave_one_out_log_density() - np.log(7.0)
    )


def test_a_linear_kernel_is_bayesian_linear_regression():
    X, y = make_rows(60)
    prior, noise = 2.0, 0.3
    model = GaussianProcessRegressor(
        ConstantKernel(prior) * DotProduct(sigma_0=0.0, sigma_0_bounds="fixed"),
        alpha=noise,
        optimizer=None,
    ).fit(X, y)
    precision = np.eye(3) / prior + X.T @ X / noise
    weights = np.linalg.solve(precision, X.T @ y / noise)
    rows = np.random.default_rng(3).normal(size=(9, 3))
    mean, std = model.predict(rows, return_std=True)
    np.testing.assert_allclose(mean, rows @ weights, rtol=1e-9)
    np.testing.assert_allclose(
        std**2, np.einsum("ij,jk,ik->i", rows, np.linalg.inv(precision), rows), rtol=1e-7
    )
    bayes = tenfold.BayesianRidge(fit_intercept=False).fit(X, y)
    same = GaussianProcessRegressor(
        ConstantKernel(1 / bayes.lambda_) * DotProduct(0.0, "fixed"),
        alpha=1 / bayes.alpha_,
        optimizer=None,
    ).fit(X, y)
    np.testing.assert_allclose(same.predict(rows), bayes.predict(rows), rtol=1e-6)


def test_bits_are_those_of_a_file_with_the_evidence_maximized(tmp_path):
    X, y = make_rows(600)
    np.save(tmp_path / "X.npy", X)
    kernel = ConstantKernel(1.0) * Matern([1.0, 1.0, 1.0]) + WhiteKernel(0.1)
    models = []
    for threads in (1, 2):
        with tenfold.threads(threads):
            models.append(GaussianProcessRegressor(kernel).fit(X, y))
    models.append(GaussianProcessRegressor(kernel).fit(tmp_path / "X.npy", y))
    for other in models[1:]:
        assert other.kernel_.theta.tobytes() == models[0].kernel_.theta.tobytes()
        assert other.alpha_.tobytes() == models[0].alpha_.tobytes()
    from_file = models[0].predict(tmp_path / "X.npy", return_std=True)
    for got, want in zip(from_file, models[0].predict(X, return_std=True), strict=True):
        assert got.tobytes() == want.tobytes()


def test_what_is_too_large_is_refused_with_bytes_and_a_substitute():
    X = np.lib.stride_tricks.as_strided(np.zeros(1), (3_000_000, 1), (0, 0))
    with pytest.raises(MemoryError, match=r"3,000,000 rows.*SparseGaussianProcessRegressor"):
        GaussianProcessRegressor(optimizer=None).fit(X, np.zeros(3_000_000))


def test_repeated_rows_without_noise_are_refused_with_the_cure():
    with pytest.raises(np.linalg.LinAlgError, match="increasing the 'alpha' parameter"):
        GaussianProcessRegressor(RBF(), alpha=0.0, optimizer=None).fit(np.ones((5, 1)), np.ones(5))


def test_wrong_noise_and_targets_are_refused():
    X, y = make_rows(10)
    with pytest.raises(ValueError, match="same number of entries as y"):
        GaussianProcessRegressor(alpha=np.ones(9)).fit(X, y)
    with pytest.raises(ValueError, match="number of targets seen"):
        GaussianProcessRegressor(n_targets=2).fit(X, y)


def test_a_compound_of_kernels_is_refused_with_a_cure():
    kernel = sk.CompoundKernel([sk.RBF()])
    with pytest.raises(ValueError, match="take a sum or a product"):
        GaussianProcessRegressor(kernel).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize(
    "name", ["GaussianProcessRegressor", "NearestNeighborGaussianProcessRegressor"]
)
def test_rows_beyond_all_numbers_are_named(name):
    rng = np.random.default_rng(0)
    rows, targets = 1e200 * rng.normal(size=(60, 2)), 1e160 * rng.normal(size=60)
    with pytest.raises(ValueError, match=r"overflow.*[Dd]ivide"):
        getattr(tenfold, name)().fit(rows, targets)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (-1.0 * RBF(), "constant_value=-1.0"),
        (RBF([1.0, -1.0]), "length_scale"),
        (RBF() + WhiteKernel(0.0), "noise_level=0.0"),
    ],
)
def test_hyperparameters_without_a_logarithm_are_named(kernel, name):
    with pytest.raises(ValueError, match=f"must be positive, got .*{name}"):
        GaussianProcessRegressor(kernel).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
