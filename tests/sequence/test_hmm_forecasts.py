"""What comes after the end of sequences, and draws from seeds of every kind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold import GMMHMM, HMM, GaussianHMM, KalmanFilter, MarkovChain, MultinomialHMM, PoissonHMM
from tenfold.distributions import Gaussian, Independent, Poisson

rng = np.random.default_rng(0)
NUMBERS = rng.normal(size=(60, 2)) + np.array([5.0, -3.0])
COUNTS = rng.multinomial(9, [0.2, 0.3, 0.5], 60)
MIXED = np.column_stack([NUMBERS[:, 0], COUNTS[:, 0]])
SEEDS = (lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3))


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (GaussianHMM(1, covariance_type="full"), NUMBERS),
        (GMMHMM(1, n_mix=1), NUMBERS),
        (PoissonHMM(1), COUNTS),
        (MultinomialHMM(1), COUNTS),
        (HMM(1, Independent([Gaussian(), Poisson()])), MIXED),
    ],
)
def test_a_single_state_forecasts_the_mean_of_the_steps(model, X):
    model.set_params(random_state=0, n_iter=50).fit(X, [20, 40])
    found = model.predict_next_emission(X, 3, [20, 40])
    assert_allclose(found, np.tile(X.mean(axis=0), (2, 1)))


def test_a_forecast_is_the_mean_of_what_each_state_emits():
    model = GMMHMM(2, n_mix=2)
    model.startprob_, model.transmat_ = np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]])
    model.weights_ = np.array([[0.25, 0.75], [1.0, 0.0]])
    model.means_, model.covars_ = np.array([[[0.0], [4.0]], [[7.0], [9.0]]]), np.ones((2, 2, 1))
    model.n_features = 1
    x = np.array([[3.0], [7.0], [3.0]])  # ends in state 0
    assert_allclose([model.predict_next_emission(x, h)[0, 0] for h in (1, 2, 3)], [7, 3, 7])


def test_trials_of_a_forecast_are_those_of_samples():
    model = MultinomialHMM(1, n_trials=20, n_iter=50, random_state=0).fit(COUNTS)
    assert_allclose(model.predict_next_emission(COUNTS).sum(), 20)


class Peak:
    """A density without a mean."""

    def log_density(self, X):
        return -np.abs(X[:, 0])

    def statistic(self, X, w=None):
        return np.ones(1)

    def fit_statistic(self, statistic):
        return self


def test_a_density_without_a_mean_is_named():
    model = HMM(1, Peak(), random_state=0, n_iter=20).fit(NUMBERS[:, :1])
    assert_allclose(model.predict_next(NUMBERS[:, :1]), [[1.0]])
    with pytest.raises(AttributeError, match="Peak has no mean"):
        model.predict_next_emission(NUMBERS[:, :1])


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_seeds_of_any_kind_draw_the_same(seed):
    model = GaussianHMM(2, random_state=0, n_iter=50, tol=1).fit(NUMBERS)
    kalman = KalmanFilter(1, random_state=0, tol=1e6).fit(NUMBERS)
    for draw in (
        lambda random: model.sample(4, random_state=random)[0],
        lambda random: model.sample_paths(NUMBERS, 2, random_state=random),
        lambda random: kalman.sample(4, random_state=random)[0],
    ):
        assert_array_equal(draw(seed()), draw(seed()))
    again = model.sample(4)[0]  # the seed of the model
    assert_array_equal(model.sample(4)[0], again)


def test_numbers_of_steps_are_whole():
    model = GaussianHMM(1, n_iter=50).fit(NUMBERS)
    kalman = KalmanFilter(1, random_state=0, tol=1e6).fit(NUMBERS)
    chain = MarkovChain().fit([["a", "b"]])
    for ask in (
        lambda: model.predict_next(NUMBERS, 1.5),
        lambda: model.predict_next_emission(NUMBERS, 0),
        lambda: model.best_paths(NUMBERS, 1.5),
        lambda: model.sample_paths(NUMBERS, 0),
        lambda: model.sample(0),
        lambda: kalman.predict_next(NUMBERS, 0),
        lambda: kalman.sample(-1),
        lambda: chain.sample(1.5),
    ):
        with pytest.raises(ValueError, match=r"give a whole number, [01] or more"):
            ask()


def test_a_state_space_forecasts_one_sequence_at_a_time():
    kalman = KalmanFilter(1, random_state=0, tol=1e6).fit(NUMBERS)
    assert_array_equal(kalman.predict_next([NUMBERS], 2)[0], kalman.predict_next(NUMBERS, 2)[0])
    with pytest.raises(ValueError, match="there are 2 sequences"):
        kalman.predict_next([NUMBERS, NUMBERS[:5]])
