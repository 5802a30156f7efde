"""Densities against scipy.stats, and most likely parameters against search."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, sparse, special, stats

from tenfold import GenerativeClassifier, distributions
from tenfold.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    CustomDistribution,
    Dirichlet,
    DiscreteUniform,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Multinomial,
    Poisson,
    Uniform,
    maximum_likelihood,
    multinomial_coefficient,
)
from tenfold.distributions._gamma_mle import fit_dirichlet_concentration, solve_gamma_shape
from tenfold.engine.merge_tree import merge
from tests.distributions.cases import CALM, MEAN, PARAMETERS, WORDS, C, draws, nudged, total

COLUMNS = [  # one column: scipy has the same
    Bernoulli(0.3),
    Binomial(9, 0.3),
    Poisson(2.5),
    Exponential(0.4),
    Gamma(2.5, 1.7),
    Gamma(0.4, 3.0),
    Beta(2.0, 5.0),
    Beta(0.5, 0.7),
    Uniform(-1.0, 3.0),
    DiscreteUniform(2, 7),
]


ALL = [
    *COLUMNS,
    Bernoulli(np.array([0.1, 0.5, 0.8])),
    Binomial(np.array([3, 8]), np.array([0.2, 0.7])),
    Poisson(np.array([0.3, 7.0])),
    Exponential(np.array([0.3, 7.0])),
    Gamma(np.array([0.3, 7.0]), np.array([1.0, 3.0])),
    Beta(np.array([0.8, 7.0]), np.array([1.0, 3.0])),
    Uniform(np.zeros(2), np.ones(2)),
    Gaussian(MEAN, C),
    Gaussian(MEAN, C.diagonal(), "diagonal"),
    Gaussian(MEAN, 0.7, "spherical"),
    Dirichlet(np.array([0.5, 2.0, 4.0])),
    Categorical(WORDS),
    Multinomial(WORDS, trials=12),
    Multinomial(WORDS, ordered=True, trials=12),
    Independent((Bernoulli(0.2), Poisson(3.0))),
]


def flat(density):
    fields = [v for k, v in vars(density).items() if k in PARAMETERS]
    return np.concatenate([np.ravel(v) for v in fields if v is not None])


# ------------------------------------------------------------------------ log-density and draws


@pytest.mark.parametrize("density", COLUMNS, ids=repr)
def test_columns_agree_with_scipy(density):
    x = np.append(draws(density)[:, 0], [-3.0, 0.0, 0.5, 1.0, 2.0, 50.0])
    law = density.to_scipy()
    its = law.logpmf(x) if hasattr(law, "pmf") and hasattr(law.dist, "_pmf") else law.logpdf(x)
    assert_allclose(density.log_density(x), its, rtol=1e-10, atol=1e-12)
    assert_allclose(density.cdf(x), law.cdf(x))
    assert_allclose([density.mean, density.variance], [law.mean(), law.var()], rtol=1e-12)


@pytest.mark.parametrize("density", ALL, ids=repr)
def test_columns_are_independent(density):
    X = draws(density, 20)
    assert X.shape[0] == 20
    assert X.ndim == 2
    if isinstance(density, distributions.base.ColumnwiseDistribution) and X.shape[1] > 1:
        names = [k for k in vars(density) if k != "prior"]
        parts = [
            type(density)(*(np.asarray(getattr(density, k))[j] for k in names)).log_density(X[:, j])
            for j in range(X.shape[1])
        ]
        assert_allclose(density.log_density(X), np.sum(parts, axis=0))


def test_gaussians_agree_with_scipy_and_each_other():  # [000, 2.2; 003, unit 4]
    X = draws(Gaussian(MEAN, C), 50)
    assert_allclose(Gaussian(MEAN, C).log_density(X), stats.multivariate_normal(MEAN, C).logpdf(X))
    for v in (0.7, np.array([0.7, 2.0, 0.1])):
        full = Gaussian(MEAN, np.diag(np.broadcast_to(v, 3)))
        assert_allclose(Gaussian(MEAN, v).log_density(X), full.log_density(X))
        sides = [
            stats.norm(m, np.sqrt(s)).logpdf(x)
            for m, s, x in zip(MEAN, np.broadcast_to(v, 3), X.T, strict=True)
        ]
        assert_allclose(full.log_density(X), np.sum(sides, axis=0))
    one = Gaussian(2.0, 9.0)
    assert_allclose(one.log_density([1.0, 2.0]), stats.norm(2, 3).logpdf([1.0, 2.0]))
    assert_allclose(integrate.quad(lambda x: np.exp(one.log_density([x])[0]), -40, 40)[0], 1)


def test_vectors_of_shares_and_counts_agree_with_scipy():
    a = np.array([0.5, 2.0, 4.0])
    X = draws(Dirichlet(a), 20)
    assert_allclose(Dirichlet(a).log_density(X), [stats.dirichlet(a).logpdf(x) for x in X])
    assert Dirichlet(a).log_density([[0.5, 0.6, 0.1]])[0] == -np.inf
    beta = Beta(2.0, 5.0).log_density(X[:, 0])
    assert_allclose(
        Dirichlet(np.array([2.0, 5.0])).log_density(np.stack([X[:, 0], 1 - X[:, 0]], 1)), beta
    )
    X = draws(Multinomial(WORDS, trials=12), 20)
    assert_allclose(Multinomial(WORDS).log_density(X), stats.multinomial(12, WORDS).logpmf(X))
    ordered = Multinomial(WORDS, ordered=True)
    assert_allclose(
        ordered.log_density(X) + np.log(multinomial_coefficient(X)),
        Multinomial(WORDS).log_density(X),
    )
    for one in (ordered, Multinomial(WORDS)):
        assert_allclose(one.log_density(sparse.csr_array(X)), one.log_density(X))
        assert_allclose(one.fit(sparse.csr_array(X)).p, one.fit(X).p)
    words = ordered.sequence(9, np.random.default_rng(0))
    assert_allclose(
        ordered.log_density([np.bincount(words, minlength=3)]), np.log(WORDS)[words].sum()
    )


def test_worked_numbers_of_words():  # [003, unit 4; 001, 2.7]
    cat_cat_dog = np.array([[2, 1]])
    both = [
        np.exp(Multinomial(p, ordered=True).log_density(cat_cat_dog)[0])
        for p in ([0.3, 0.7], [0.9, 0.1])
    ]
    assert_allclose(both, [0.063, 0.081])
    best = Multinomial().fit(cat_cat_dog)
    assert_allclose(best.p, [2 / 3, 1 / 3])
    assert_allclose(np.exp(replace(best, ordered=True).log_density(cat_cat_dog)), 4 / 27)
    assert_allclose(multinomial_coefficient([[2, 2, 1]]), 30)
    apart = Multinomial().fit([[2, 1, 0], [1, 0, 5]])  # several documents are one long one
    assert_allclose(apart.p, Multinomial().fit([[3, 1, 5]]).p)
    dice = [[0.4, 0.2, 0.1, 0.1, 0.1, 0.1], [0.2, 0.2, 0.1, 0.3, 0.1, 0.1]]  # [004, 3.6]
    logs = [Multinomial(p, ordered=True).log_density([[3, 1, 2, 2, 1, 1]])[0] for p in dice]
    assert_allclose(np.exp(logs) * [0.3, 0.7], [3.84e-9, 1.008e-8], rtol=1e-3)


@pytest.mark.parametrize("density", ALL, ids=repr)
def test_draws_have_the_mean_and_are_reproducible(density):
    X = draws(density, 20000)
    assert_array_equal(X[:100], draws(density, 20000)[:100])
    mean = getattr(density, "mean", None)
    if mean is not None:
        spread = np.sqrt(np.asarray(density.variance) / len(X))
        assert (np.abs(X.mean(axis=0) - mean) < 5 * spread + 1e-12).all()
        assert_allclose(X.var(axis=0), np.broadcast_to(density.variance, X.shape[1]), rtol=0.15)


def test_probabilities_sum_to_one():
    for pmf, support in (
        (Binomial(9, 0.3), np.arange(10)),
        (Poisson(2.5), np.arange(60)),
        (Categorical(WORDS), np.arange(3)),
        (DiscreteUniform(2, 7), np.arange(10)),
    ):
        assert_allclose(np.exp(pmf.log_density(support)).sum(), 1)
    a = Dirichlet(np.array([1.5, 2.0, 4.0]))
    inside = integrate.dblquad(
        lambda y, x: np.exp(a.log_density([[x, y, 1 - x - y]])[0]),
        0,
        1,
        0,
        lambda x: 1 - x,
        epsabs=1e-5,
    )
    assert_allclose(inside[0], 1, atol=1e-4)


# ------------------------------------------------------------------------- maximum likelihood


@pytest.mark.parametrize("density", ALL, ids=repr)
def test_weights_are_repetitions_and_parts_merge(density):
    X = draws(density, 60)
    w = np.random.default_rng(1).integers(0, 4, 60)
    s = density.statistic(X, w)
    weighted, repeated = density.fit_statistic(s), density.fit(np.repeat(X, w, axis=0))
    parts = [density.statistic(X[i::3], w[i::3]) for i in range(3)]
    merged = density.fit_statistic(merge(parts[0], merge(parts[1], parts[2])))
    if isinstance(density, Independent):
        weighted, repeated, merged = (d.columns[0] for d in (weighted, repeated, merged))
    assert_allclose(flat(weighted), flat(repeated), rtol=1e-8)
    assert_allclose(flat(merged), flat(weighted), rtol=1e-8)


@pytest.mark.parametrize("density", ALL, ids=repr)
def test_fitted_is_the_most_likely(density):
    X = draws(density, 300)
    w = np.random.default_rng(1).random(300)
    best = density.fit(X, w)
    assert total(best, X, w) >= total(density, X, w)
    if isinstance(density, Independent | Uniform | DiscreteUniform):
        return  # columns are tested by themselves; ranges are extremes
    rng = np.random.default_rng(2)
    for _ in range(30):
        assert total(nudged(best, rng), X, w) <= total(best, X, w)


def test_most_likely_parameters_of_the_notes():  # [001, A.6; 002, 1.5; 003, unit 4]
    x = np.array([1, 0, 0, 1, 1, 1, 0, 1])
    assert Bernoulli().fit(x).p == x.mean()
    grid = np.linspace(0.01, 0.99, 99)
    heights = [total(Bernoulli(p), x) for p in grid]
    assert abs(grid[np.argmax(heights)] - x.mean()) < 0.0051
    t = np.array([0.5, 2.0, 3.5])
    assert_allclose(Exponential().fit(t).rate, 1 / t.mean())
    X = draws(Gaussian(MEAN, C), 40)
    full, diagonal, round_ = (Gaussian(kind=k).fit(X) for k in ("full", "diagonal", "spherical"))
    assert_allclose(full.mean, X.mean(axis=0))
    assert_allclose(full.covariance, np.cov(X.T, bias=True))
    assert_allclose(diagonal.covariance, X.var(axis=0))
    assert_allclose(round_.covariance, ((X - X.mean(axis=0)) ** 2).sum() / X.size)


@pytest.mark.parametrize(
    ("density", "law"), [(Gamma(2.5, 1.7), stats.gamma), (Beta(2.0, 0.6), stats.beta)]
)
def test_newton_finds_what_scipy_finds(density, law):
    x = draws(density)[:, 0]
    ours = density.fit(x)
    fixed = {"floc": 0} if law is stats.gamma else {"floc": 0, "fscale": 1}
    first, second, *_ = law.fit(x, **fixed)
    its = (first, 1 / _[-1]) if law is stats.gamma else (first, second)
    assert_allclose(flat(ours), its, rtol=1e-4)


@CALM
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6))
def test_means_of_logs_give_the_parameters_back(logs):
    a = np.exp(logs)
    assert_allclose(
        fit_dirichlet_concentration(special.psi(a) - special.psi(a.sum())), a, rtol=1e-5
    )
    assert_allclose(solve_gamma_shape(np.log(a) - special.psi(a)), a, rtol=1e-5)


def test_any_formula_is_fitted():
    x = draws(Gamma(2.5, 1.7))[:, 0]
    w = np.random.default_rng(0).random(len(x))

    def formula(X, theta):
        return stats.gamma(theta[0], scale=1 / theta[1]).logpdf(X[:, 0])

    bounds = [(1e-6, None), (1e-6, None)]
    found = maximum_likelihood(formula, x, [1.0, 1.0], w=w, bounds=bounds)
    ours = Gamma().fit(x, w)
    assert_allclose(found.theta, [ours.shape, ours.rate], rtol=1e-5)
    assert_allclose(found.log_likelihood, total(ours, x, w), rtol=1e-9)
    own = CustomDistribution(
        formula, np.ones(2), lambda n, t, rng: rng.gamma(t[0], 1 / t[1], n), bounds
    )
    s = own.statistic(x[:100], w[:100]).merge(own.statistic(x[100:], w[100:]))
    assert_allclose(own.fit_statistic(s).theta, found.theta, rtol=1e-6)
    assert draws(own, 5).shape == (5, 1)
    with pytest.raises(ValueError, match="not finite at the start"):
        maximum_likelihood(formula, x, [-1.0, 1.0])
    with pytest.raises(ValueError, match="cannot be sampled"):
        draws(CustomDistribution(formula, np.ones(2)))


# ----------------------------------------------------------------------------------- corners


@pytest.mark.parametrize("density", ALL, ids=repr)
def test_no_weight_changes_nothing(density):
    X = draws(density, 5)
    same = density.fit_statistic(density.statistic(X, np.zeros(5)))
    if not isinstance(density, Independent):
        assert_array_equal(flat(same), flat(density))


def test_zeros_are_safe():
    with np.errstate(all="raise"):
        assert_array_equal(Bernoulli(0.0).log_density([0, 1]), [0, -np.inf])
        assert_array_equal(Bernoulli(1.0).log_density([0, 1, 0.5]), [-np.inf, 0, -np.inf])
        assert_array_equal(Poisson(0.0).log_density([0, 1, -1]), [0, -np.inf, -np.inf])
        assert_array_equal(Categorical([1.0, 0.0]).log_density([0, 1, 2]), [0, -np.inf, -np.inf])
        assert_array_equal(Multinomial([1.0, 0.0]).log_density([[3, 0], [2, 1]]), [0, -np.inf])
        assert Poisson().fit([0, 0]).rate == 0
        assert np.isfinite(Exponential().fit([0.0, 0.0]).log_density([0.0]))
        far = Gaussian(0.0, 1.0).log_density([1e150])
        assert far < -1e299
        assert np.isfinite(far)


@pytest.mark.parametrize("density", [Gamma(), Beta(), Dirichlet(np.ones(2))], ids=repr)
def test_data_without_spread_have_a_sharp_density(density):
    X = np.array([[0.3, 0.7]] * 3)[:, : 2 if isinstance(density, Dirichlet) else 1]
    sharp = density.fit(X)
    assert_allclose(sharp.mean, X[0], rtol=1e-4)
    assert np.max(sharp.variance) < 1e-8
    assert np.isfinite(sharp.log_density(X)).all()
    one = density.fit(X[:1])
    assert_allclose(one.mean, X[0], rtol=1e-4)


def test_data_with_zeros_have_a_gamma_and_a_beta():
    assert np.isfinite(flat(Gamma().fit([0.0, 1.0, 2.0]))).all()
    assert np.isfinite(flat(Beta().fit([0.0, 1.0, 0.5]))).all()


def test_degenerate_gaussians_say_so():
    X = np.array([[1.0, 2.0], [1.0, 3.0]])
    for kind, what in (("full", "singular"), ("diagonal", "variances")):
        flat_one = Gaussian(kind=kind).fit(X)
        with pytest.raises(ValueError, match=f"{what}.*no density: set floor="):
            flat_one.log_density(X)
        assert_allclose(draws(flat_one, 9)[:, 0], 1.0)  # it can still be drawn from
        assert np.isfinite(Gaussian(kind=kind, floor=1e-6).fit(X).log_density(X)).all()
    assert_allclose(Gaussian(floor=0.5).fit(X[:1]).covariance, 0.5 * np.eye(2))
    with pytest.raises(ValueError, match="no density between"):
        Uniform().fit([1.0, 1.0]).log_density([1.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bernoulli(1.5), "between 0 and 1"),
        (lambda: Categorical([0.5, 0.6]), "sum to 1"),
        (lambda: Multinomial([1.5, -0.5]), "not be negative"),
        (lambda: Gaussian(kind="tied"), "kind must be one of"),
        (lambda: Categorical([0.5, 0.5]).fit([0, 2]), "from 0 to 1"),
        (lambda: Bernoulli().posterior(Bernoulli().statistic([1])), "needs prior=Beta"),
        (lambda: Poisson(prior=Beta()).fit([1]), "needs prior=Gamma"),
        (lambda: Independent((Bernoulli(),)).fit([[1, 2]]), "1 densities for 2 columns"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_far_columns_keep_their_variance():
    X = 1e9 + np.array([[0.0], [1.0], [2.0]])
    for kind in ("full", "diagonal", "spherical"):
        assert_allclose(np.ravel(Gaussian(kind=kind).fit(X).covariance), 2 / 3, rtol=1e-7)


# ---------------------------------------------------------------------------- in classifiers


def test_densities_serve_classifiers():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [draws(Poisson(np.array([1.0, 6.0])), 60), draws(Poisson(np.array([5.0, 2.0])), 60)]
    )
    y = np.repeat([0, 1], 60)
    order = rng.permutation(120)
    model = GenerativeClassifier(Poisson()).fit(X[order], y[order])
    assert model.score(X, y) > 0.9
    assert_allclose(model.densities_[1].rate, X[60:].mean(axis=0))
    parts = (
        GenerativeClassifier(Poisson())
        .partial_fit(X[:70], y[:70], [0, 1])
        .partial_fit(X[70:], y[70:])
    )
    assert_allclose(parts.densities_[1].rate, X[60:].mean(axis=0))
    mixed = GenerativeClassifier(Independent((Poisson(), Exponential()))).fit(X, y)
    assert_allclose(mixed.densities_[0].columns[1].rate, 1 / X[:60, 1].mean())
    assert mixed.sample(3, random_state=0)[0].shape == (3, 2)


def test_names_are_lazy_and_complete():
    assert set(distributions.__all__) <= set(dir(distributions))
    for name in distributions.__all__:
        assert getattr(distributions, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Cauchy'"):
        _ = distributions.Cauchy
