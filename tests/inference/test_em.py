"""The EM driver: it climbs, it watches, it starts again."""

import numpy as np
import pytest

from tenfold.inference.em import LikelihoodDecreasedError, expectation_maximization
from tenfold.mixture._gaussian import GaussianParameters
from tenfold.teaching.em_steps import e_step, elbo_terms, log_joint, m_step

HEADS = np.array([5, 9, 8, 4, 7])


def coins(p):
    joint = 0.5 * p ** HEADS[:, None] * (1 - p) ** (10 - HEADS[:, None])
    return joint / joint.sum(axis=1, keepdims=True), np.log(joint.sum(axis=1)).sum()


def thrown(which):
    return HEADS @ which / (10 * which.sum(axis=0))


def mixture_of(X, k, rng):
    means = X[rng.choice(len(X), k, replace=False)]
    return GaussianParameters(np.full(k, 1 / k), means, np.stack([np.cov(X.T)] * k))


@pytest.fixture
def X():  # noqa: N802
    rng = np.random.default_rng(3)
    return np.concatenate([rng.normal(size=(80, 2)) * s + c for s, c in ((1, 0), (2, 5), (0.5, 9))])


def steps(X):
    def expectation(mixture):
        R, heights = e_step(X, mixture)
        return R, heights.sum()

    return expectation, lambda R: m_step(X, R)


def test_two_coins_reach_a_fixed_point_that_is_a_maximum():
    found = expectation_maximization(coins, thrown, np.array([0.6, 0.5]), tol=1e-12)
    again, height = coins(found.parameters)
    assert np.allclose(thrown(again), found.parameters, atol=1e-5)
    assert height == found.log_likelihood
    for step in np.eye(2) * 0.01:
        assert coins(found.parameters + step)[1] < height > coins(found.parameters - step)[1]


def test_likelihood_never_falls_and_history_says_so(X):
    found = expectation_maximization(
        *steps(X), mixture_of(X, 3, np.random.default_rng(0)), tol=1e-9
    )
    heights = -found.report["history_"]["objective"]
    assert found.report["converged_"]
    assert len(heights) == found.report["n_iter_"] > 3
    assert (np.diff(heights) > -1e-10 * abs(heights[0])).all()


def test_a_wrong_m_step_is_an_error_that_says_so(X):
    right = steps(X)
    wrong = lambda R: m_step(X, R)._replace(means=np.zeros((3, 2)))  # noqa: E731
    start = mixture_of(X, 3, np.random.default_rng(0))
    with pytest.raises(LikelihoodDecreasedError, match="decreased the log-likelihood"):
        expectation_maximization(right[0], wrong, m_step(X, right[0](start)[0]), max_iter=5)
    expectation_maximization(right[0], wrong, start, max_iter=5, check_increase=False)


def test_a_likelihood_of_nan_is_an_error():
    with pytest.raises(ArithmeticError, match="NaN"):
        expectation_maximization(lambda p: (p, np.nan), lambda p: p, 1.0)


def test_restarts_keep_the_best(X):
    start = lambda rng: mixture_of(X, 3, rng)  # noqa: E731
    found = expectation_maximization(*steps(X), start, n_init=5, random_state=1)
    assert len(found.starts) == 5
    assert found.log_likelihood == found.starts.max() > found.starts.min()
    again = expectation_maximization(*steps(X), start, n_init=5, random_state=1)
    assert np.array_equal(again.starts, found.starts)
    with pytest.raises(ValueError, match="would be identical"):
        expectation_maximization(*steps(X), start(np.random.default_rng(0)), n_init=2)


def test_the_bound_is_exact_for_any_q(X):
    """log p(x) = sum q log p(x, z) + H(q) + KL(q || p(z | x)) [000, 4.2.1]."""
    mixture = mixture_of(X, 3, np.random.default_rng(0))
    R, heights = e_step(X, mixture)
    Q = np.random.default_rng(1).dirichlet(np.ones(3), len(X))
    for q in (Q, R, np.eye(3)[Q.argmax(axis=1)]):
        parts = elbo_terms(X, q, mixture)
        assert np.isclose(sum(parts), heights.sum())
        assert parts.divergence >= 0
    assert np.isclose(elbo_terms(X, R, mixture).divergence, 0, atol=1e-12)


def test_the_m_step_maximises_the_expected_complete_likelihood(X):
    mixture = mixture_of(X, 3, np.random.default_rng(0))
    R, _ = e_step(X, mixture)
    best = m_step(X, R)
    height = (R * log_joint(X, best)).sum()
    rng = np.random.default_rng(2)
    for _ in range(20):
        other = best._replace(
            weights=rng.dirichlet(100 * best.weights),
            means=best.means + 0.1 * rng.normal(size=(3, 2)),
            covariances=best.covariances * rng.uniform(0.8, 1.2, (3, 1, 1)),
        )
        assert (R * log_joint(X, other)).sum() < height


@pytest.mark.parametrize(
    ("x", "means", "shares", "moved", "variance"),
    [  # [002, 8.4] and [004, 9.4]
        ([0, 1, 3, 4], [0, 4], [0.999665, 0.982014, 0.017986, 0.000335], 0.518657, 0.305623),
        ([0, 1, 4, 5], [0, 5], [0.999996, 0.999447, 0.000553, 0.000004], 0.500838, 0.253353),
    ],
)
def test_worked_rounds(x, means, shares, moved, variance):
    X = np.array(x, float)[:, None]
    mixture = GaussianParameters(np.array([0.5, 0.5]), np.array(means, float)[:, None], np.ones(2))
    R, heights = e_step(X, mixture, "spherical")
    assert np.allclose(R[:, 0], shares, atol=1e-6)
    after = m_step(X, R, mixture, "spherical")
    assert np.allclose(after.means.ravel(), [moved, x[-1] - moved], atol=1e-6)
    assert np.allclose(after.covariances, variance, atol=1e-6)
    assert np.allclose(after.weights, 0.5)
    if x[-1] == 5:
        assert np.isclose(heights.sum(), -7.447230, atol=1e-6)
        assert np.isclose(e_step(X, after, "spherical")[1].sum(), -5.675936, atol=1e-6)
