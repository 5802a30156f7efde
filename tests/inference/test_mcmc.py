"""Markov chains against densities that are known, and diagnostics against chains that are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter

from tenfold.inference.chains import (
    autocorrelation_time,
    autocovariance,
    effective_sample_size,
    split_r_hat,
)
from tenfold.inference.hmc import DualAveraging, hamiltonian_monte_carlo, leapfrog
from tenfold.inference.mcmc import ensemble_sampler, metropolis

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[4.0, 1.9, 0.0], [1.9, 1.0, 0.1], [0.0, 0.1, 0.25]])
PRECISION = np.linalg.inv(COVARIANCE)


def gaussian(T):
    D = T - MEAN
    return -0.5 * np.einsum("ij,jk,ik->i", D, PRECISION, D)


def sloped_gaussian(T):
    return gaussian(T), -(T - MEAN) @ PRECISION


def start(m, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


SAMPLERS = {
    "metropolis": lambda seed: metropolis(gaussian, start(8), draws=4000, warmup=1500, seed=seed),
    "ensemble": lambda seed: ensemble_sampler(
        gaussian, start(32), draws=1500, warmup=300, seed=seed
    ),
    "hamiltonian": lambda seed: hamiltonian_monte_carlo(
        sloped_gaussian, start(4), draws=1500, seed=seed
    ),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_moments_of_a_gaussian_within_monte_carlo_error(name):
    chains = SAMPLERS[name](0)
    assert (chains.r_hat < 1.05).all()
    error = np.sqrt(COVARIANCE.diagonal() / chains.effective_sample_size)
    assert (np.abs(chains.mean - MEAN) < 4 * error).all()
    assert_allclose(chains.covariance, COVARIANCE, atol=0.35)
    assert_allclose(chains.central_moment(2), COVARIANCE.diagonal(), rtol=0.15)
    skewness = chains.central_moment(3) / COVARIANCE.diagonal() ** 1.5
    assert_allclose(skewness, 0, atol=0.25)  # R6: the third moment of a Gaussian is zero
    assert_allclose(chains.expectation(lambda T: T[:, 0] * T[:, 1]), -2.0 + 1.9, atol=0.3)
    assert_allclose(chains.log_density.ravel(), gaussian(chains.flat), atol=1e-9)
    assert_allclose(gaussian(chains.best[None])[0], chains.log_density.max())


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_seed_fixes_all_draws(name):
    a, b, c = (SAMPLERS[name](seed) for seed in (3, 3, 4))
    assert_array_equal(a.points, b.points)
    assert not np.array_equal(a.points, c.points)


def test_metropolis_learns_the_best_acceptance():
    chains = SAMPLERS["metropolis"](1)
    assert 0.15 < chains.acceptance.mean() < 0.35
    line = metropolis(lambda T: -np.abs(T[:, 0]), start(8, 1), draws=3000, seed=1)
    assert 0.35 < line.acceptance.mean() < 0.55
    assert_allclose(line.central_moment(2), 2, rtol=0.15)  # a Laplace density has the variance 2


def test_the_ensemble_does_not_see_an_affine_map():
    A, b = np.array([[100.0, 3.0, 0.0], [0.0, 0.01, 0.0], [1.0, 0.0, 5.0]]), np.array([5, 6, 7.0])
    plain = ensemble_sampler(gaussian, start(16), draws=30, warmup=20, seed=2)
    mapped = ensemble_sampler(
        lambda T: gaussian(np.linalg.solve(A, (T - b).T).T),
        start(16) @ A.T + b,
        draws=30,
        warmup=20,
        seed=2,
    )
    assert_allclose(mapped.points, plain.points @ A.T + b, rtol=1e-6, atol=1e-6)
    assert_array_equal(mapped.acceptance, plain.acceptance)


def test_zero_density_is_never_entered():
    def uniform(T):
        return np.where((np.abs(T) < 1).all(axis=1), 0.0, -np.inf)

    box = np.random.default_rng(0).uniform(-0.9, 0.9, size=(20, 2))
    for sampler in (metropolis, ensemble_sampler):
        chains = sampler(uniform, box, draws=2000)
        assert np.abs(chains.flat).max() < 1
        assert_allclose(chains.central_moment(2), 1 / 3, rtol=0.1)


def test_thinning_keeps_every_kth_state():
    every = ensemble_sampler(gaussian, start(8), draws=40, warmup=10, seed=5)
    third = ensemble_sampler(gaussian, start(8), draws=13, warmup=10, thin=3, seed=5)
    assert_array_equal(third.points, every.points[:, 2:39:3])


def test_leapfrog_returns_when_the_momentum_is_reversed_and_keeps_the_energy():
    points, momentum = start(5, seed=1), start(5, seed=2)
    stride = np.array([0.05, 0.02, 0.1])
    to, density, end = leapfrog(sloped_gaussian, points, momentum, stride, 30)
    back, _, again = leapfrog(sloped_gaussian, to, -end, stride, 30)
    assert_allclose(back, points, atol=1e-10)
    assert_allclose(-again, momentum, atol=1e-10)
    energy = gaussian(points) - 0.5 * (momentum**2).sum(axis=1)
    assert_allclose(density - 0.5 * (end**2).sum(axis=1), energy, rtol=0.02)


def test_dual_averaging_finds_the_step_that_is_accepted_as_asked():
    step = DualAveraging.initial(0.1)
    for _ in range(2000):
        step = step.update(np.exp(-step.current), 0.8)  # accepted with probability exp(-step)
    assert_allclose(np.exp(-step.averaged), 0.8, atol=0.01)


def test_hamiltonian_learns_scales_that_differ_by_a_million():
    scale = np.array([1e-3, 1.0, 1e3])
    chains = hamiltonian_monte_carlo(
        lambda T: (-0.5 * ((T / scale) ** 2).sum(axis=1), -T / scale**2),
        start(4) * scale,
        draws=500,
        warmup=800,
    )
    assert (chains.r_hat < 1.05).all()
    assert_allclose(chains.covariance.diagonal() / scale**2, 1, atol=0.25)
    assert abs(chains.acceptance.mean() - 0.8) < 0.2


@given(st.floats(-0.6, 0.9))
@settings(max_examples=20)
def test_autocorrelation_time_of_an_autoregression(a):
    noise = np.random.default_rng(0).normal(size=(4, 20_000, 1))
    chain = lfilter([1], [1, -a], noise, axis=1)[:, 1000:]
    assert_allclose(autocorrelation_time(chain), (1 + a) / (1 - a), rtol=0.15, atol=0.05)


def test_autocovariances_are_the_sums_they_stand_for():
    x = np.random.default_rng(0).normal(size=(2, 50, 1))
    D = x - x.mean(axis=1, keepdims=True)
    direct = [(D[:, : 50 - lag] * D[:, lag:]).sum(axis=1) / 50 for lag in range(50)]
    assert_allclose(autocovariance(x), np.stack(direct, axis=1), atol=1e-12)


def test_r_hat_by_hand_and_when_a_chain_drifts():
    x = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 4.0, 6.0]])[:, :, None]
    halves = np.array([[1, 2], [2, 4], [3, 4], [4, 6]], float)
    within, between = halves.var(axis=1, ddof=1).mean(), halves.mean(axis=1).var(ddof=1)
    assert_allclose(split_r_hat(x), np.sqrt((within / 2 + between) / within))
    drift = np.random.default_rng(0).normal(size=(4, 1000, 1)) + np.linspace(0, 3, 1000)[:, None]
    assert split_r_hat(drift) > 1.2
    assert_array_equal(split_r_hat(np.ones((2, 10, 1))), 1.0)
    stuck = np.repeat([[0.1, 0.1], [0.1, 0.3]], 10, axis=0).reshape(2, 10, 2)
    assert_array_equal(split_r_hat(stuck), [1.0, np.inf])


def test_effective_size_of_independent_draws_is_their_number():
    x = np.random.default_rng(1).normal(size=(4, 5000, 3))
    assert_allclose(effective_sample_size(x), 20_000, rtol=0.1)


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="even number of at least 6"):
        ensemble_sampler(gaussian, start(5))
    with pytest.raises(ValueError, match="common plane"):
        ensemble_sampler(gaussian, np.ones((8, 3)))
    with pytest.raises(ValueError, match="must have the shape"):
        metropolis(lambda T: T, start(2))
    with pytest.raises(ValueError, match="finite"):
        metropolis(lambda T: np.full(len(T), -np.inf), start(2))
    with pytest.raises(ValueError, match="at least 4 draws"):
        split_r_hat(np.ones((2, 3, 1)))
