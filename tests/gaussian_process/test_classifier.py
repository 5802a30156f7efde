"""Gaussian-process classification against quadrature, brute force, HMC and scikit-learn."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import expit, logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier as SklearnClassifier
from sklearn.gaussian_process import kernels as sk

import tenfold
from tenfold import GaussianProcessClassifier
from tenfold.engine.chunk import Chunk
from tenfold.gaussian_process import _laplace_binary as binary
from tenfold.gaussian_process import _laplace_softmax as multinomial
from tenfold.inference import hamiltonian_monte_carlo
from tenfold.kernel import RBF, ConstantKernel, LinearKernel
from tenfold.kernel._gradient_tiles import translate_kernel

KERNEL = sk.ConstantKernel(2.0) * sk.RBF([1.0, 2.0, 1.5])


def make_rows(n=150, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def test_evidence_gradient_and_probabilities_are_those_of_scikit_learn():
    X, y = make_rows()
    models = [
        model(KERNEL, optimizer=None).fit(X, y)
        for model in (GaussianProcessClassifier, SklearnClassifier)
    ]
    theta = KERNEL.theta + 0.2
    ours, theirs = (model.log_marginal_likelihood(theta, eval_gradient=True) for model in models)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-8)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-6)
    differences = approx_fprime(theta, models[0].log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(ours[1], differences, rtol=1e-4, atol=1e-4)
    rows = np.random.default_rng(1).normal(size=(40, 3))
    ours, theirs = (model.predict_proba(rows) for model in models)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    ours, theirs = (model.latent_mean_and_variance(rows) for model in models)
    np.testing.assert_allclose(ours, theirs, atol=1e-7)
    assert np.array_equal(*(model.predict(rows) for model in models))


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_several_classes_are_those_of_scikit_learn(multi_class):
    X, y = make_rows(90, classes=3)
    ours, theirs = (
        model(KERNEL, optimizer=None, multi_class=multi_class).fit(X, y)
        for model in (GaussianProcessClassifier, SklearnClassifier)
    )
    rows = np.random.default_rng(1).normal(size=(60, 3))
    assert np.array_equal(ours.predict(rows), theirs.predict(rows))
    if multi_class == "one_vs_rest":
        np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-7)
    for theta in (KERNEL.theta, np.tile(KERNEL.theta, 3)):
        np.testing.assert_allclose(
            ours.log_marginal_likelihood(theta), theirs.log_marginal_likelihood(theta), rtol=1e-7
        )


def test_fitted_evidence_is_at_least_that_of_scikit_learn():
    X, y = make_rows(80)
    ours, theirs = (m(KERNEL).fit(X, y) for m in (GaussianProcessClassifier, SklearnClassifier))
    assert ours.log_marginal_likelihood_value_ >= theirs.log_marginal_likelihood_value_ - 1e-4
    assert ours.converged_ is True


def test_the_search_ends_where_the_evidence_is_flat():
    x = np.linspace(0, 10, 30)[:, None]
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(1.0)  # whose constant ends at its bound
    with pytest.warns(ConvergenceWarning, match="upper bound 100"):
        model = GaussianProcessClassifier(kernel).fit(x, np.sin(x[:, 0]) > 0)
    gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)[1]
    assert model.kernel_.theta[0] == np.log(1e2)
    assert abs(gradient[1]) < 1e-5


def test_one_row_in_closed_form():
    """The mode solves f = k sigma(-f); the evidence is near its integral."""
    kernel, row = translate_kernel(ConstantKernel(2.0)), np.zeros((1, 1))
    found, _ = binary.evaluate(kernel, row, np.ones(1), None, 100, eval_gradient=False)
    f = 2.0 * found.dual[0]
    np.testing.assert_allclose(f, 2.0 * expit(-f), rtol=1e-10)
    curvature = expit(f) * expit(-f)
    expected = np.log(expit(f)) - f * f / 4.0 - 0.5 * np.log1p(2.0 * curvature)
    np.testing.assert_allclose(found.log_evidence, expected, rtol=1e-12)
    integral = quad(lambda f: expit(f) * np.exp(-f * f / 4.0) / np.sqrt(4.0 * np.pi), -20, 20)[0]
    assert abs(found.log_evidence - np.log(integral)) < 0.05


@pytest.mark.parametrize(("mean", "variance"), [(0.3, 0.5), (-1.0, 4.0), (3.0, 1e-12)])
def test_mean_of_the_logistic_function_is_its_integral(mean, variance):
    def integrand(z):
        f = mean + np.sqrt(variance) * z
        return expit(f) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    exact = quad(integrand, -10, 10, epsabs=1e-10)[0]
    assert abs(binary.probability(np.array([[mean, variance]]))[0] - exact) < 5e-4


def one_hot_problem(n=60):
    X, y = make_rows(n, classes=3)
    return X, np.eye(3)[y]


def test_softmax_evidence_is_that_of_the_whole_system():
    X, Y = one_hot_problem()
    kernel = translate_kernel(KERNEL)
    found = multinomial.evaluate(kernel, X, Y, None, 100, eval_gradient=False)[0]
    K, n = KERNEL(X), len(X)
    latent = K @ found.dual
    pi = np.exp(latent - logsumexp(latent, axis=1, keepdims=True))
    np.testing.assert_allclose(found.dual, Y - pi, atol=1e-9)  # the gradient vanishes
    whole = np.kron(np.eye(3), K)
    P = np.vstack([np.diag(pi[:, c]) for c in range(3)])
    W = np.diag(pi.T.ravel()) - P @ P.T
    objective = (Y * latent).sum() - logsumexp(latent, axis=1).sum()
    objective -= 0.5 * (found.dual * latent).sum()
    half = 0.5 * np.linalg.slogdet(np.eye(3 * n) + whole @ W)[1]
    np.testing.assert_allclose(found.log_evidence, objective - half, rtol=1e-10)
    model = GaussianProcessClassifier(KERNEL, optimizer=None, multi_class="softmax")
    fitted = model.fit(X, Y.argmax(axis=1)).log_marginal_likelihood_value_
    np.testing.assert_allclose(fitted, objective - half, rtol=1e-10)
    row = np.array([[0.3, -0.2, 1.0]])
    mean, covariance = multinomial._latent_moments(Chunk(row, None, None, 0), X, found)
    k = np.kron(np.eye(3), KERNEL(row, X))
    inner = np.linalg.solve(np.eye(3 * n) + W @ whole, W)
    np.testing.assert_allclose(covariance[0], 2.0 * np.eye(3) - k @ inner @ k.T, atol=1e-10)
    draws = np.random.default_rng(0).multivariate_normal(mean[0], covariance[0], 100_000)
    p = multinomial.softmax_probabilities(
        Chunk(row, None, None, 0), X, found, multinomial.normal_draws(3)
    )
    expected = np.exp(draws - logsumexp(draws, axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(p[0], expected, atol=5e-3)


def test_softmax_gradient_is_that_of_differences():
    X, Y = one_hot_problem()

    def evaluate(theta, eval_gradient=False):
        kernel = translate_kernel(KERNEL.clone_with_theta(theta))
        found, gradient = multinomial.evaluate(kernel, X, Y, None, 100, eval_gradient=eval_gradient)
        return gradient if eval_gradient else found.log_evidence

    theta = KERNEL.theta + 0.1
    differences = approx_fprime(theta, evaluate, 1e-6)
    np.testing.assert_allclose(evaluate(theta, eval_gradient=True), differences, rtol=1e-4)


def test_softmax_of_two_classes_is_logistic_with_twice_the_kernel():
    X, y = make_rows(70)
    kernel = translate_kernel(KERNEL)
    pair = multinomial.evaluate(kernel, X, np.eye(2)[y], None, 100, eval_gradient=False)[0]
    double = ConstantKernel(2.0) * KERNEL
    (single,) = GaussianProcessClassifier(double, optimizer=None).fit(X, y).laplace_
    np.testing.assert_allclose(pair.log_evidence, single.log_evidence, rtol=1e-9)
    np.testing.assert_allclose(pair.residual[:, 1], single.residual, atol=1e-8)


def test_softmax_model_maximizes_its_evidence():
    X, y = make_rows(80, classes=3)
    model = GaussianProcessClassifier(2.0 * RBF(1.0), multi_class="softmax").fit(X, y)
    start = model.log_marginal_likelihood(np.log([2.0, 1.0]))
    assert model.log_marginal_likelihood_value_ > start
    gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)[1]
    assert np.abs(gradient).max() < 0.05
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.8


def test_a_linear_kernel_is_bayesian_logistic_regression():
    X, y = make_rows(80)
    model = GaussianProcessClassifier(LinearKernel(), optimizer=None).fit(X, y)
    bayes = tenfold.BayesianLogisticRegression(prior_precision=1.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(X.T @ model.laplace_[0].dual, bayes.coef_[0], rtol=1e-4)
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, bayes.log_evidence_, rtol=1e-5)


def test_laplace_is_near_hamiltonian_monte_carlo():
    X, y = make_rows(8)
    K = KERNEL(X) + 1e-9 * np.eye(8)
    L, signs = np.linalg.cholesky(K), 2.0 * y - 1.0

    def log_density(z):  # f = L z: the prior of z is standard normal
        f = z @ L.T
        value = -np.logaddexp(0.0, -signs * f).sum(axis=1) - 0.5 * (z * z).sum(axis=1)
        return value, (signs * expit(-signs * f)) @ L - z

    chains = hamiltonian_monte_carlo(log_density, np.zeros((4, 8)), draws=1500, warmup=300)
    f = chains.points.reshape(-1, 8) @ L.T
    model = GaussianProcessClassifier(KERNEL, optimizer=None).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(f).mean(axis=0), atol=0.04)


def test_a_mode_that_was_not_found_is_said():
    X, y = make_rows(60)
    with pytest.warns(tenfold.base.estimator.ConvergenceWarning, match="max_iter_predict=1"):
        model = GaussianProcessClassifier(KERNEL, optimizer=None, max_iter_predict=1).fit(X, y)
    assert model.converged_ is False


def test_warm_start_ends_at_the_same_mode():
    X, y = make_rows(60)
    model = GaussianProcessClassifier(KERNEL, optimizer=None, warm_start=True).fit(X, y)
    value = model.log_marginal_likelihood_value_
    assert abs(model.fit(X, y).log_marginal_likelihood_value_ - value) < 1e-9
