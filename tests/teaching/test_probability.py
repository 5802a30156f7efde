"""Information, covariances, Gaussians, conditioning and quadrature: numbers and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import stats

from tenfold.distributions import (
    Beta,
    Binomial,
    Exponential,
    FiniteDistribution,
    Gamma,
    Gaussian,
    Uniform,
    gauss_quadrature,
    quadrature_nodes,
)
from tenfold.teaching import probability
from tenfold.teaching.probability import (
    ContinuousDistribution,
    JointDensity,
    JointTable,
    complete_log_likelihood,
    condition_gaussian,
    conditional_mean,
    conditional_mse_decomposition,
    conditional_variance,
    cross_entropy,
    density_ellipse,
    entropy,
    evidence_decomposition,
    expected_complete_log_likelihood,
    gibbs_inequality,
    jensen_inequality,
    kl_divergence,
    log_sum_inequality,
    marginalize_gaussian,
    sample_covariance,
    sample_moments,
    summarize_moments,
    total_moments,
    total_variance,
    tower_rule,
    transform_gaussian,
)
from tests.teaching.probability_cases import CALM, STARS, shares, tables


@CALM
@given(shares(4), shares(4))
def test_inequalities(p, q):  # [001, 4.6; 002, 2.3]
    assert -1e-12 <= entropy(p) <= np.log(4) + 1e-12
    assert kl_divergence(p, q) >= -1e-12
    larger, smaller = gibbs_inequality(p, q)
    assert larger >= smaller - 1e-12
    if np.isfinite(larger):
        assert_allclose(larger - smaller, kl_divergence(p, q), atol=1e-9)
    assert_allclose(cross_entropy(p, p), entropy(p))
    larger, smaller = log_sum_inequality(3 * p, 5 * q)
    assert larger >= smaller - 1e-12
    values = np.array([-2.0, 0.3, 1.0, 2.0])
    for f in (np.exp, np.abs, np.square):
        larger, smaller = jensen_inequality(f, values, p)
        assert larger >= smaller - 1e-12
    smaller, larger = jensen_inequality(np.log, np.exp(values), p)  # concave: the other way
    assert larger >= smaller - 1e-12


def test_information_against_scipy_and_corners():
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.25, 0.25])
    assert_allclose(entropy(p), stats.entropy(p))
    assert_allclose(kl_divergence(p, q), stats.entropy(p, q))
    assert kl_divergence(p, p) == 0
    assert kl_divergence(p, q) != kl_divergence(q, p)
    assert entropy([1.0, 0.0]) == 0
    assert_allclose(entropy(np.full(7, 1 / 7)), np.log(7))
    assert cross_entropy([1.0, 0.0], [0.0, 1.0]) == np.inf
    assert_allclose(entropy(np.stack([p, q])), [entropy(p), entropy(q)])
    assert_allclose(cross_entropy([0, 1, 0], q), -np.log(0.25))  # one-hot: the log loss
    equal = log_sum_inequality([1.0, 2.0], [2.0, 4.0])  # equal if the ratios are
    assert_allclose(*equal)


@CALM
@given(
    arrays(np.float64, (3, 4), elements=st.floats(-800, 5)),
    st.tuples(shares(4), shares(4), shares(4)),
)
def test_evidence_is_bound_plus_divergence(log_joint, Q):  # [000, 4.1; 001, 4.6]
    terms = evidence_decomposition(log_joint, np.stack(Q))
    assert_allclose(
        terms.log_evidence, terms.expected_log_joint + terms.entropy + terms.divergence, atol=1e-8
    )
    assert (terms.divergence >= -1e-8).all()
    assert (terms.elbo <= terms.log_evidence + 1e-8).all()
    posterior = np.exp(log_joint - terms.log_evidence[:, None])
    assert_allclose(evidence_decomposition(log_joint, posterior).divergence, 0, atol=1e-8)
    assert_allclose(
        expected_complete_log_likelihood(log_joint, np.stack(Q)), terms.expected_log_joint.sum()
    )
    hard = np.eye(4)[[2, 0, 1]]
    one = expected_complete_log_likelihood(log_joint, hard)
    assert_allclose(one, complete_log_likelihood(log_joint, [2, 0, 1]))


def test_impossible_causes_count_nothing():
    terms = evidence_decomposition([-np.inf, 0.0], [0.0, 1.0])
    assert_allclose(terms, [0, 0, 0, 0])
    assert expected_complete_log_likelihood([[-np.inf, 1.0]], [[0.0, 1.0]]) == 1


# ------------------------------------------------------------ P09: data, and Gaussians on the move


@CALM
@given(st.integers(2, 30), st.integers(0, 10**6), st.floats(-1e6, 1e6))
def test_covariance_of_data(n, seed, shift):  # [001, 4.4; 002, 8.1]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + shift
    s = summarize_moments(sample_moments(X))
    assert_allclose(s.covariance, np.cov(X.T, bias=True), rtol=1e-6, atol=1e-9)
    entries = [[sample_covariance(x, y) for y in X.T] for x in X.T]
    assert_allclose(entries, s.covariance, rtol=1e-6, atol=1e-9)
    assert_allclose(s.variance, s.covariance.diagonal())
    assert_allclose(s.total, ((X - X.mean(axis=0)) ** 2).sum() / n, rtol=1e-6)
    assert_allclose(s.correlation, np.corrcoef(X.T), rtol=1e-5, atol=1e-7)
    half = sample_moments(X[:1]).merge(sample_moments(X[1:]))
    assert_allclose(summarize_moments(half).covariance, s.covariance, rtol=1e-6, atol=1e-9)
    w = rng.integers(1, 4, n)
    weighted, repeated = (
        summarize_moments(sample_moments(X, w)),
        summarize_moments(sample_moments(np.repeat(X, w, axis=0))),
    )
    assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-6, atol=1e-9)


def test_columns_that_do_not_vary_have_no_correlation():
    s = summarize_moments(sample_moments([[1.0, 2.0], [1.0, 3.0]]))
    assert np.isnan(s.correlation[0]).all()
    assert s.correlation[1, 1] == 1
    with pytest.raises(ValueError, match="no rows"):
        sample_moments([[1.0]], [0.0])


def gaussian(rng, p):
    A = rng.normal(size=(p, p + 1))
    return Gaussian(rng.normal(size=p), A @ A.T)


@CALM
@given(st.integers(0, 10**6))
def test_gaussians_under_maps(seed):  # [003, unit 4]
    rng = np.random.default_rng(seed)
    g = gaussian(rng, 3)
    A, b, B = rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal(size=(2, 2))
    once, twice = (
        transform_gaussian(g, B @ A, B @ b),
        transform_gaussian(transform_gaussian(g, A, b), B),
    )
    assert_allclose(once.mean, twice.mean)
    assert_allclose(once.covariance, twice.covariance)
    assert_allclose(
        marginalize_gaussian(g, [2, 0]).covariance,
        transform_gaussian(g, np.eye(3)[[2, 0]]).covariance,
    )
    alpha = rng.normal(size=3)  # every combination of a Gaussian vector is Gaussian
    assert_allclose(transform_gaussian(g, alpha).covariance, [[alpha @ g.covariance @ alpha]])
    x, y = rng.normal(size=1), rng.normal(size=2)
    joint = g.log_density([[y[0], x[0], y[1]]])
    chain = marginalize_gaussian(g, [1]).log_density(x) + condition_gaussian(g, [1], x).log_density(
        [y]
    )
    assert_allclose(joint, chain)
    assert_allclose(transform_gaussian(Gaussian([2.0], 3.0), 4.0, 1.0, 0.5).covariance, [[48.5]])


def test_conditioning_is_what_a_density_gives():
    g = Gaussian([1.0, -1.0], [[2.0, 0.8], [0.8, 1.0]])
    law = stats.multivariate_normal(g.mean, g.covariance)
    cut = JointDensity(lambda x, y: law.pdf([x, y])).given("y", 0.5)
    ours = condition_gaussian(g, [1], [0.5])
    assert_allclose([cut.mean, cut.variance], [ours.mean[0], ours.covariance[0, 0]], rtol=1e-6)


@pytest.mark.parametrize(("c", "degrees"), [(0.5, 45), (-0.5, 135)])
def test_ellipses(c, degrees):  # [002, 8.1: covariance +-.5]
    g = Gaussian([1.0, 2.0], [[1.0, c], [c, 1.0]])
    e = density_ellipse(g, 2.0)
    assert_allclose(np.degrees(e.angle), degrees)
    assert_allclose(e.radii, 2 * np.sqrt([1.5, 0.5]))
    on_it = e.points()
    D = on_it - g.mean
    assert_allclose((D @ np.linalg.inv(g.covariance) * D).sum(axis=1), 4)
    assert_allclose(on_it[0], on_it[-1])
    X = g.sample(20000, np.random.default_rng(0)) - g.mean
    for mass in (0.5, 0.9):
        r = density_ellipse(g, mass=mass).radii[0] / np.sqrt(1.5)
        inside = (X @ np.linalg.inv(g.covariance) * X).sum(axis=1) <= r**2
        assert abs(inside.mean() - mass) < 0.02
    with pytest.raises(ValueError, match="two columns"):
        density_ellipse(Gaussian(np.zeros(3), np.eye(3)))


# ----------------------------------------------------------------------- P11: conditioning


@CALM
@given(tables(3, 4), arrays(np.float64, 3, elements=st.floats(-3, 3)))
def test_laws_of_conditioning(p, said):  # [001, A.3 and A.4]
    table = JointTable(p, {"x": [0, 1, 2], "y": [-1.0, 0.0, 2.0, 5.0]})
    assert_allclose(*tower_rule(table, "y", "x"), atol=1e-12)
    assert_allclose(*tower_rule(table, "y", "x", lambda y: (y <= 0).astype(float)), atol=1e-12)
    parts = total_variance(table, "y", "x")
    assert_allclose(parts.total, parts.within + parts.between, atol=1e-12)
    squares = conditional_mean(table, "y", "x", np.square) - conditional_mean(table, "y", "x") ** 2
    assert_allclose(conditional_variance(table, "y", "x"), squares, atol=1e-9)
    guess = conditional_mse_decomposition(table, "y", "x", lambda x: said[x])
    assert_allclose(guess.mse, guess.squared_bias + guess.variance, atol=1e-9)
    px = table.marginal("x").p
    possible = px > 0
    best = parts.within  # no function of x is closer to y than its conditional mean
    assert px[possible] @ guess.mse[possible] >= best - 1e-9


@pytest.mark.parametrize("n", [1, 10, 25])
def test_flips_of_a_random_coin(n):  # [001, A.3 and A.4: n / 2 and n^2 / 12 + n / 6]
    law = total_moments(
        ContinuousDistribution.of(Uniform(0.0, 1.0)), lambda p: n * p, lambda p: n * p * (1 - p)
    )
    assert_allclose(law.mean, n / 2)
    assert_allclose(law.variance, n**2 / 12 + n / 6)
    p, w = gauss_quadrature(Uniform(0.0, 1.0), 40)
    table = JointTable.from_conditional(
        FiniteDistribution(p, w),
        stats.binom(n, p[:, None]).pmf(np.arange(n + 1)),
        ("coin", "heads"),
        range(n + 1),
    )
    assert_allclose(table.distribution("heads").p, 1 / (n + 1))  # and uniform they are [001, A.7]
    assert_allclose(table.distribution("heads").variance, law.variance)


# -------------------------------------------------------------------------------- quadrature


@pytest.mark.parametrize(
    "density",
    [
        Gaussian(1.0, 4.0),
        Gamma(0.3, 2.0),
        Gamma(900.0, 2.0),
        Exponential(0.2),
        Beta(0.5, 0.5),
        Beta(1e4, 2e4),
        Uniform(-1.0, 4.0),
    ],
    ids=repr,
)
def test_nodes_give_moments_exactly(density):
    x, w = gauss_quadrature(density, 20)
    law = stats.norm(1, 2) if isinstance(density, Gaussian) else density.to_scipy()
    assert_allclose(w.sum(), 1)
    for order in range(1, 9):
        assert_allclose(w @ x**order, law.moment(order), rtol=1e-8)


def test_beliefs_in_several_dimensions():
    rng = np.random.default_rng(0)
    for p in (2, 3, 5):
        g = gaussian(rng, p)
        x, w = quadrature_nodes(g)
        assert_allclose(w @ x, g.mean, atol=1e-9)
        assert_allclose((x - g.mean).T * w @ (x - g.mean), g.covariance, atol=1e-8)
    x, w = quadrature_nodes(Beta(np.array([2.0, 3.0]), np.array([5.0, 1.0])))
    assert_allclose(w @ x, [2 / 7, 3 / 4])
    with pytest.raises(TypeError, match="no quadrature"):
        gauss_quadrature(Binomial(3))


# ----------------------------------------------------------------------------- large numbers


def test_sample_means_settle_and_become_normal():  # [000, 2.2; 002, 1.5]
    rng = np.random.default_rng(0)
    X = rng.choice(STARS.values, (4000, 256), p=STARS.p)
    errors = [np.sqrt(np.mean((X[:, :n].mean(axis=1) - STARS.mean) ** 2)) for n in (4, 16, 64, 256)]
    assert_allclose(errors, STARS.standard_deviation / np.sqrt([4, 16, 64, 256]), rtol=0.05)
    Z = (X.mean(axis=1) - STARS.mean) / (STARS.standard_deviation / 16)
    assert stats.kstest(Z, "norm").statistic < 0.03


def test_names_are_lazy_and_complete():
    assert set(probability.__all__) <= set(dir(probability))
    for name in probability.__all__:
        assert getattr(probability, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'chance'"):
        _ = probability.chance
