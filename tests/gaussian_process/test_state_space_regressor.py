"""Gaussian processes in linear time against the dense ones."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from tenfold import GaussianProcessRegressor, StateSpaceGaussianProcessRegressor
from tenfold.engine.chunk import Chunk
from tenfold.gaussian_process._state_space import complex_steps, read_gradient, time_element
from tenfold.kernel import RBF, ConstantKernel, Matern, WhiteKernel

NOISE = WhiteKernel(0.1)
KERNELS = [
    *(ConstantKernel(2.0) * Matern(1.3, nu=nu) + NOISE for nu in (0.5, 1.5, 2.5)),
    Matern(1.3, nu=1.5) * ConstantKernel(2.0) + Matern(0.3, nu=0.5) + NOISE,
    ConstantKernel(2.0, "fixed") * Matern(1.3, "fixed", nu=2.5) + Matern(0.4, nu=1.5) + NOISE,
]


def make_rows(n=300):
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 20, n))
    t[10:13] = t[10]  # rows of one time
    return t[:, None], np.sin(t) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("normalize", [False, True])
def test_it_is_the_dense_process(kernel, normalize):
    X, y = make_rows()
    options = {"optimizer": None, "alpha": 0.02, "normalize_y": normalize}
    dense = GaussianProcessRegressor(kernel, **options).fit(X, y)
    fast = StateSpaceGaussianProcessRegressor(kernel, **options).fit(X, y)
    value = dense.log_marginal_likelihood_value_
    np.testing.assert_allclose(fast.log_marginal_likelihood_value_, value, rtol=1e-10)
    theta = kernel.theta + 0.1
    ours, theirs = (m.log_marginal_likelihood(theta, eval_gradient=True) for m in (fast, dense))
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-10)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-8, atol=1e-8)
    rows = np.concatenate([np.linspace(-3, 23, 57), X[8:15, 0], X[[0, -1], 0]])[:, None]
    for got, want in zip(
        fast.predict(rows, return_std=True), dense.predict(rows, return_std=True), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=str)
def test_elements_compose_in_any_grouping(kernel):
    X, y = make_rows()
    steps = complex_steps(kernel, kernel.theta, 0.01)
    cuts = [0, 1, 90, 150, 300]
    parts = [
        time_element(Chunk(X[a:b], y[a:b], None, a), steps, 0.0, 1.0) for a, b in pairwise(cuts)
    ]
    whole = time_element(Chunk(X, y, None, 0), steps, 0.0, 1.0)
    left = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
    right = parts[0].merge(parts[1].merge(parts[2].merge(parts[3])))
    for value in (left, right):
        np.testing.assert_allclose(value.packed, whole.packed, rtol=1e-9, atol=1e-9)
    dense = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.01).fit(X, y)
    differences = approx_fprime(kernel.theta, dense.log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(read_gradient(left)[1], differences, rtol=1e-4, atol=1e-3)


def test_hyperparameters_are_those_of_the_dense_process():
    X, y = make_rows(150)
    dense, fast = (
        model(KERNELS[1]).fit(X, y)
        for model in (GaussianProcessRegressor, StateSpaceGaussianProcessRegressor)
    )
    np.testing.assert_allclose(
        fast.log_marginal_likelihood_value_, dense.log_marginal_likelihood_value_, atol=1e-5
    )
    assert fast.converged_ is True


def test_many_rows_on_several_chunks_and_from_a_file(tmp_path):
    rng = np.random.default_rng(1)
    t = np.cumsum(rng.exponential(size=100_000)) / 1000
    y = np.sin(t) + 0.3 * rng.normal(size=len(t))
    np.save(tmp_path / "t.npy", t[:, None])
    kernel = ConstantKernel(1.0) * Matern(1.0, nu=1.5) + WhiteKernel(0.1)
    here = StateSpaceGaussianProcessRegressor(kernel, optimizer=None).fit(t[:, None], y)
    there = StateSpaceGaussianProcessRegressor(kernel, optimizer=None).fit(tmp_path / "t.npy", y)
    assert here.log_marginal_likelihood_value_ == there.log_marginal_likelihood_value_
    whole = time_element(
        Chunk(t[:, None], y, None, 0), complex_steps(kernel, kernel.theta, 1e-10), 0.0, 1.0
    )
    expected = read_gradient(whole)[0]
    np.testing.assert_allclose(here.log_marginal_likelihood_value_, expected, rtol=1e-10)
    assert np.abs(here.predict(t[::1000, None]) - np.sin(t[::1000])).mean() < 0.1


def test_stored_number_of_celerite2():
    """celerite2 0.3.3, Matern32Term(sigma=sqrt(2), rho=1.3, eps=1e-5), an approximation."""
    t = np.linspace(0, 10, 200)
    model = StateSpaceGaussianProcessRegressor(
        ConstantKernel(2.0) * Matern(1.3, nu=1.5), alpha=0.1, optimizer=None
    ).fit(t[:, None], np.sin(t))
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, 0.6529880608230498, rtol=1e-6)


def test_unsorted_rows_are_sorted_and_weights_are_repetitions():
    X, y = make_rows(80)
    order = np.random.default_rng(3).permutation(80)
    model = StateSpaceGaussianProcessRegressor(KERNELS[1], optimizer=None)
    expected = model.fit(X, y).log_marginal_likelihood_value_
    shuffled = model.fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.log_marginal_likelihood_value_, expected, rtol=1e-12)
    w = np.random.default_rng(4).integers(0, 3, 80)
    repeated = model.fit(np.repeat(X, w, axis=0), np.repeat(y, w)).log_marginal_likelihood_value_
    weighted = model.fit(X, y, sample_weight=w.astype(float)).log_marginal_likelihood_value_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-10)


def test_what_has_no_state_space_is_refused():
    X, y = make_rows(20)
    for kernel in (RBF(), Matern(nu=0.7), NOISE):
        with pytest.raises(ValueError, match="Matern"):
            StateSpaceGaussianProcessRegressor(kernel).fit(X, y)
    with pytest.raises(ValueError, match="takes one"):
        StateSpaceGaussianProcessRegressor().fit(np.c_[X, X], y)
