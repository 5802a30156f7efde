"""Bayesian networks of neurons: the linear case is exact, bands, chains, probabilities."""

import warnings

import numpy as np
import pytest
from scipy.linalg import block_diag
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import BayesianMLPClassifier, BayesianMLPRegressor
from tenfold.engine.chunk import Chunk
from tenfold.neural._dense_jacobian import (
    assemble_jacobians,
    backward_chains,
    forward_chains,
    layer_sensitivities,
)
from tenfold.neural._laplace_curvature import curvature_sums, invert_curvature
from tenfold.neural._mean_field import bound_sums
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


@pytest.mark.parametrize("targets", [Y, np.column_stack([Y, -X @ [0.0, 1.0, 1.0]])])
def test_factors_of_a_single_layer_are_the_whole_curvature(targets):
    settings = {"prior_precision": 2.0, "noise_variance": 0.16, "tol": 1e-10}
    whole = BayesianMLPRegressor((), **settings).fit(X, targets)
    parts = BayesianMLPRegressor((), hessian_structure="kron", **settings).fit(X, targets)
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)
    assert parts.n_effective_parameters_ == pytest.approx(whole.n_effective_parameters_)
    expected, found = (model.predict(X * 3, return_std=True)[1] for model in (whole, parts))
    assert np.allclose(found, expected, rtol=1e-12)


def test_blocks_of_layers_are_those_of_their_definition():
    widths, rng = (3, 4, 2), np.random.default_rng(1)
    theta, rows, y = rng.normal(size=26), rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    w = rng.integers(1, 3, 30).astype(float)
    state = (theta, widths, "tanh", CategoricalLikelihood())
    full, kron, diag = (
        curvature_sums(Chunk(rows, y, w, 0), *state, kind) for kind in ("full", "kron", "diag")
    )
    twice = np.repeat(np.arange(30), w.astype(int))
    again = curvature_sums(Chunk(rows[twice], y[twice], None, 0), *state, "full")
    assert np.allclose(full.blocks[0], again.blocks[0])
    assert np.allclose(np.concatenate([b.ravel() for b in diag.blocks]), np.diag(full.blocks[0]))
    f, layers = layer_sensitivities(theta, rows, widths, "tanh")
    root = CategoricalLikelihood().terms(f, y)[2]
    for number, (x, G) in enumerate(layers):
        RG = root @ G
        assert np.allclose(kron.blocks[2 * number], np.einsum("n,ni,nj->ij", w, x, x))
        expected = np.einsum("n,nki,nkj->ij", w, RG, RG)
        assert np.allclose(kron.blocks[2 * number + 1], expected)
    factors = invert_curvature(kron, 0.5, "kron").covariance
    assert np.allclose(
        _dense_covariance(factors[0]),
        np.linalg.inv(np.kron(kron.blocks[0], kron.blocks[1]) / kron.n + 0.5 * np.eye(16)),
    )


def _dense_covariance(factors):
    inputs, outputs, variances = factors
    vectors = np.kron(inputs, outputs)
    return (vectors * variances.ravel()) @ vectors.T


def test_variances_by_factors_are_those_of_their_covariance():
    rng = np.random.default_rng(4)
    rows, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    for kind in ("kron", "diag"):
        model = BayesianMLPClassifier((4,), hessian_structure=kind, random_state=0).fit(rows, y)
        factors = model.covariance_factors_
        if kind == "diag":
            factors = [(np.eye(len(v)), np.eye(v.shape[1]), v) for *_, v in factors]
        S = block_diag(*(_dense_covariance(layer) for layer in factors))
        theta = np.concatenate([p.ravel() for p in model.params_])
        J = assemble_jacobians(layer_sensitivities(theta, rows, (2, 4, 3), "tanh")[1])
        _, variances = model._predict_moments(rows)
        assert np.allclose(variances, np.einsum("nkp,pq,nkq->nk", J, S, J))


def test_many_parameters_take_factors():
    rng = np.random.default_rng(5)
    rows, y = rng.normal(size=(30, 40)), rng.normal(size=30)
    model = BayesianMLPRegressor((50,), noise_variance=1.0, tol=0.1, random_state=0).fit(rows, y)
    assert not hasattr(model, "covariance_")
    assert [v.shape for *_, v in model.covariance_factors_] == [(41, 50), (51, 1)]
    assert (model.predict_parts(rows).knowledge_std > 0).all()


def test_mean_field_of_the_linear_case_has_the_inverse_precisions():
    model = BayesianMLPRegressor(
        (), method="variational", prior_precision=2.0, noise_variance=0.16, tol=1e-8, random_state=0
    ).fit(X, Y)
    mean, S, evidence = linear_posterior(2.0, 0.16)
    precisions = np.diag(np.linalg.inv(S))
    assert np.allclose(np.concatenate([p.ravel() for p in model.params_]), mean, atol=1e-9)
    assert np.allclose(model.variances_, 1 / precisions, rtol=1e-6)
    _, logdet = np.linalg.slogdet(S)
    bound = evidence - (np.log(precisions).sum() + logdet) / 2  # KL of the Gaussians
    assert model.history_["elbo"][-1] == pytest.approx(bound, rel=1e-9)
    assert model.elbo_ == pytest.approx(bound, abs=0.5)


def test_slopes_of_the_bound_are_finite_differences():
    widths, rng = (3, 4, 2), np.random.default_rng(6)
    mean, variance = rng.normal(size=26), rng.uniform(0.1, 0.5, 26)
    chunk = Chunk(rng.normal(size=(5, 3)), rng.integers(0, 2, 5), rng.uniform(0.5, 2, 5), 7)
    rest = (3, widths, "tanh", CategoricalLikelihood())
    sums = bound_sums(chunk, mean, variance, *rest)
    for at in (0, 7, 13, 20, 25):
        step = np.zeros(26)
        step[at] = 1e-6
        up, down = (bound_sums(chunk, mean + s * step, variance, *rest).value for s in (1, -1))
        assert sums.in_mean[at] == pytest.approx((up - down) / 2e-6, abs=1e-6)
        up, down = (bound_sums(chunk, mean, variance + s * step, *rest).value for s in (1, -1))
        assert sums.in_variance[at] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_the_bound_rises_holds_on_new_draws_and_stays_below_the_evidence():
    rng = np.random.default_rng(7)
    x = rng.uniform(-2, 2, (80, 1))
    y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=80)
    settings = {"noise_variance": 0.04, "random_state": 0}
    model = BayesianMLPRegressor((4,), method="variational", n_samples=400, **settings).fit(x, y)
    assert model.converged_
    assert (np.diff(model.history_["elbo"]) > -1e-9).all()
    assert model.elbo_ == pytest.approx(model.history_["elbo"][-1], abs=3)
    assert model.elbo_ < BayesianMLPRegressor((4,), **settings).fit(x, y).log_evidence_


def test_another_method_forgets_what_the_last_one_learned():
    model = BayesianMLPRegressor((), method="variational", noise_variance=0.16).fit(X, Y)
    model.set_params(method="laplace").fit(X, Y)
    assert not hasattr(model, "samples_")
    assert np.array_equal(
        model.predict(X, return_std=True)[1],
        BayesianMLPRegressor((), noise_variance=0.16).fit(X, Y).predict(X, return_std=True)[1],
    )


@pytest.mark.parametrize("changes", [{"hessian_structure": "kron"}, {"method": "variational"}])
def test_saved_and_loaded_predictions_are_the_same(changes, tmp_path):
    model = BayesianMLPRegressor((3,), noise_variance=0.16, tol=0.05, random_state=0, **changes)
    tenfold.save(model.fit(X, Y), tmp_path / "model")
    again = tenfold.load(tmp_path / "model")
    assert np.array_equal(
        model.predict(X, return_std=True)[1], again.predict(X, return_std=True)[1]
    )


def test_threads_and_files_do_not_change_the_bound(tmp_path):
    rng = np.random.default_rng(8)
    rows, y = rng.normal(size=(600, 3)), rng.normal(size=600)
    np.save(tmp_path / "x.npy", np.column_stack([rows, y]))
    settings = {"method": "variational", "noise_variance": 1.0, "max_iter": 5, "random_state": 0}
    fits = []
    for threads in (1, 2):
        with tenfold.threads(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits.append(BayesianMLPRegressor((3,), **settings).fit(rows, y))
            from_file = tenfold.open(tmp_path / "x.npy", target=3)
            fits.append(BayesianMLPRegressor((3,), **settings).fit(from_file))
    assert all(np.array_equal(fits[0].variances_, fit.variances_) for fit in fits)


def test_noise_is_estimated():
    model = BayesianMLPRegressor((), random_state=0).fit(X, Y)
    A = np.column_stack([X, np.ones(len(X))])
    residual = Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]
    assert model.noise_variance_ == pytest.approx(residual @ residual / (60 - 4), rel=0.05)


@pytest.mark.parametrize("activation", ["tanh", "softplus", "sigmoid"])
def test_jacobians_and_gradients_are_finite_differences(activation):
    widths, rng = (3, 4, 2), np.random.default_rng(1)
    theta, rows = rng.normal(size=26), rng.normal(size=(5, 3))
    J = assemble_jacobians(layer_sensitivities(theta, rows, widths, activation)[1])
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


@pytest.mark.filterwarnings("ignore:.*chains disagree")  # a few draws show the bands
@pytest.mark.parametrize("method", ["laplace", "hmc", "ensemble"])  # mean-field bands are too sure
def test_bands_widen_where_there_are_no_rows_and_cover_where_there_are(method):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-2, -0.7, 25), rng.uniform(0.7, 2, 25)])[:, None]
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=50)
    model = BayesianMLPRegressor(
        (6,), method=method, noise_variance=0.01, n_samples=8, warmup=60, tol=1e-3, random_state=0
    ).fit(x, y)
    mean, std = model.predict(x, return_std=True)
    assert (np.abs(y - mean) < 2 * std).mean() > 0.85
    near, far = model.predict_parts([[1.3]]), model.predict_parts([[4.0]])
    assert far.knowledge_std[0] > 2 * near.knowledge_std[0]
    assert far.noise_std[0] == near.noise_std[0] == pytest.approx(0.1)


@pytest.mark.filterwarnings("ignore:.*chains disagree")
@pytest.mark.parametrize("method", ["laplace", "variational", "hmc", "ensemble"])
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


@pytest.mark.parametrize("sizes", [(-1,), (0,), (2.5,)])
def test_layers_without_units_are_refused(sizes):
    with pytest.raises(ValueError, match="hidden_layer_sizes must be"):
        BayesianMLPRegressor(sizes).fit(X, Y)


@pytest.mark.parametrize("method", ["laplace", "variational"])
def test_rows_and_labels_of_the_wrong_kind_are_refused(method):
    bad = X.copy()
    bad[3, 1] = np.nan
    model = BayesianMLPRegressor((2,), method=method, tol=0.1, random_state=0)
    with pytest.raises(ValueError, match="row 3, column 1"):
        model.fit(bad, Y)
    with pytest.raises(ValueError, match="row 3, column 1"):
        model.fit(X, Y).predict(bad)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        BayesianMLPClassifier((2,), method=method).fit(X, Y)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.fit(X, np.where(Y > 0, np.nan, Y))


def test_members_that_did_not_converge_are_told():
    x = np.linspace(-2, 2, 40)[:, None]
    settings = {"noise_variance": 0.01, "n_samples": 6, "random_state": 0}
    model = BayesianMLPRegressor((8,), method="ensemble", max_iter=25, **settings)
    alone = BayesianMLPRegressor((8,), max_iter=25, **settings)
    with pytest.warns(ConvergenceWarning, match="max_iter=25 iterations"):
        assert not model.fit(x, np.sin(2 * x[:, 0])).converged_
    with pytest.warns(ConvergenceWarning, match="max_iter=25 iterations"):
        alone.set_params(noise_variance="auto").fit(x, np.sin(2 * x[:, 0]))
    assert alone.n_iter_ > 25  # of all estimates of the noise


def test_chains_say_whether_they_agree():
    x = np.linspace(-2, 2, 40)[:, None]
    settings = {"method": "hmc", "noise_variance": 0.1, "warmup": 100, "random_state": 0}
    model = BayesianMLPRegressor((), n_samples=400, **settings)
    assert model.fit(x, x[:, 0]).converged_
    assert 0.9 < model.r_hat_ < 1.2
    few = BayesianMLPRegressor((), n_samples=8, **settings)
    with pytest.warns(ConvergenceWarning, match="chains disagree"):
        assert not few.fit(x, x[:, 0]).converged_
    assert not hasattr(model.set_params(method="laplace").fit(x, x[:, 0]), "r_hat_")
