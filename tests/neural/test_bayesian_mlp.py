"""Bayesian networks of neurons: the linear case is exact, bands, chains, probabilities."""

import numpy as np
import pytest

from tenfold import BayesianMLPClassifier, BayesianMLPRegressor
from tenfold.neural._dense_jacobian import backward_chains, forward_chains, output_jacobians
from tenfold.neural.bayesian_mlp import CategoricalLikelihood

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 + 0.4 * RNG.normal(size=60)


def linear_posterior(alpha, variance):
    """Mean and covariance of weights and bias, and the log evidence, in closed form."""
    A = np.column_stack([X, np.ones(len(X))])
    S = np.linalg.inv(A.T @ A / variance + alpha * np.eye(4))
    C = variance * np.eye(len(X)) + A @ A.T / alpha
    _, logdet = np.linalg.slogdet(2 * np.pi * C)
    return S @ A.T @ Y / variance, S, -(logdet + Y @ np.linalg.solve(C, Y)) / 2


def test_without_hidden_layers_laplace_is_bayesian_linear_regression():
    model = BayesianMLPRegressor((), prior_precision=2.0, noise_variance=0.16, tol=1e-10)
    model.fit(X, Y)
    mean, S, evidence = linear_posterior(2.0, 0.16)
    assert np.allclose(np.concatenate([p.ravel() for p in model.params_]), mean, atol=1e-6)
    assert np.allclose(model.covariance_, S, rtol=1e-8)
    assert model.log_evidence_ == pytest.approx(evidence, rel=1e-9)
    new = RNG.normal(size=(5, 3)) * 3
    A = np.column_stack([new, np.ones(5)])
    found, std = model.predict(new, return_std=True)
    assert np.allclose(found, A @ mean, atol=1e-6)
    assert np.allclose(std, np.sqrt(0.16 + np.einsum("ij,jk,ik->i", A, S, A)), rtol=1e-8)
    parts = model.predict_parts(new)
    assert np.allclose(parts.noise_std, 0.4)


def test_chains_of_the_linear_case_have_its_mean_and_spread():
    model = BayesianMLPRegressor(
        (), method="hmc", prior_precision=2.0, noise_variance=0.16, n_samples=2000, random_state=0
    ).fit(X, Y)
    mean, S, _ = linear_posterior(2.0, 0.16)
    deviation = np.sqrt(np.diag(S))
    assert (np.abs(model.samples_.mean(axis=0) - mean) < 0.15 * deviation).all()
    assert np.allclose(model.samples_.std(axis=0), deviation, rtol=0.1)


def test_noise_is_estimated():
    model = BayesianMLPRegressor((), random_state=0).fit(X, Y)
    A = np.column_stack([X, np.ones(len(X))])
    residual = Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]
    assert model.noise_variance_ == pytest.approx(residual @ residual / (60 - 4), rel=0.05)


@pytest.mark.parametrize("activation", ["tanh", "softplus", "sigmoid"])
def test_jacobians_and_gradients_are_finite_differences(activation):
    widths, rng = (3, 4, 2), np.random.default_rng(1)
    theta, rows = rng.normal(size=26), rng.normal(size=(5, 3))
    _, J = output_jacobians(theta, rows, widths, activation)
    for at in (0, 7, 13, 20, 25):
        step = np.zeros(26)
        step[at] = 1e-6
        up, down = (
            forward_chains((theta + s * step)[None], rows, widths, activation)[0][0]
            for s in (1, -1)
        )
        assert np.allclose(J[:, :, at], (up - down) / 2e-6, atol=1e-7)
    G = rng.normal(size=(1, 5, 2))
    _, caches = forward_chains(theta[None], rows, widths, activation)
    whole = backward_chains(theta[None], caches, G.copy(), widths, activation)[0]
    assert np.allclose(whole, np.einsum("nk,nkp->p", G[0], J))


def test_the_root_of_the_curvature_of_classes_is_one():
    f = np.random.default_rng(0).normal(size=(4, 3))
    _, _, root = CategoricalLikelihood().terms(f, np.zeros(4))
    p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
    expected = np.einsum("nk,kl->nkl", p, np.eye(3)) - p[:, :, None] * p[:, None, :]
    assert np.allclose(np.swapaxes(root, 1, 2) @ root, expected)


@pytest.mark.parametrize("method", ["laplace", "hmc", "ensemble"])
def test_bands_widen_where_there_are_no_rows_and_cover_where_there_are(method):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-2, -0.7, 25), rng.uniform(0.7, 2, 25)])[:, None]
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=50)
    model = BayesianMLPRegressor(
        (6,), method=method, noise_variance=0.01, n_samples=12, warmup=100, random_state=0
    ).fit(x, y)
    mean, std = model.predict(x, return_std=True)
    assert (np.abs(y - mean) < 2 * std).mean() > 0.85
    near, far = model.predict_parts([[1.3]]), model.predict_parts([[4.0]])
    assert far.knowledge_std[0] > 2 * near.knowledge_std[0]
    assert far.noise_std[0] == near.noise_std[0] == pytest.approx(0.1)


@pytest.mark.parametrize("method", ["laplace", "hmc", "ensemble"])
def test_probabilities_are_sure_near_the_rows_and_less_so_far_away(method):
    rng = np.random.default_rng(3)
    rows = np.vstack([rng.normal(-1.5, 0.5, (30, 2)), rng.normal(1.5, 0.5, (30, 2))])
    labels = np.repeat(["a", "b"], 30)
    model = BayesianMLPClassifier((5,), method=method, n_samples=12, warmup=100, random_state=0)
    model.fit(rows, labels)
    assert model.score(rows, labels) == 1
    p = model.predict_proba(np.array([[-1.5, -1.5], [1.5, 1.5], [20.0, -20.0]]))
    assert np.allclose(p.sum(axis=1), 1)
    assert p[0, 0] > 0.9
    assert p[1, 1] > 0.9
    assert abs(p[2, 0] - 0.5) < 0.4
