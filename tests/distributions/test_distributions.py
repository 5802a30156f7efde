"""Densities against scipy.stats, most likely parameters against search, conjugate priors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
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
    NormalInverseGamma,
    NormalInverseWishart,
    Poisson,
    Uniform,
    maximum_likelihood,
    multinomial_coefficient,
)
from tenfold.distributions._gamma_mle import fit_dirichlet_concentration, solve_gamma_shape
from tenfold.engine.merge_tree import merge

CALM = settings(max_examples=40, deadline=None)
C = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])
MEAN = np.array([1.0, -2.0, 0.5])
WORDS = np.array([0.5, 0.3, 0.2])

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


def draws(density, n=400, seed=0):
    return density.sample(n, np.random.default_rng(seed))


def total(density, X, w=None):
    each = density.log_density(X)
    return each.sum() if w is None else w @ each


def flat(density):
    fields = [v for k, v in vars(density).items() if k in PARAMETERS]
    return np.concatenate([np.ravel(v) for v in fields if v is not None])


PARAMETERS = {"p", "rate", "shape", "a", "b", "low", "high", "mean", "covariance"}


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


def nudged(density, rng):
    if isinstance(density, Categorical | Multinomial):
        p = density.p * np.exp(0.1 * rng.normal(size=len(density.p)))
        return replace(density, p=p / p.sum())
    if isinstance(density, Gaussian):
        factor = np.exp(0.1 * rng.normal())
        return replace(
            density,
            mean=density.mean + 0.1 * rng.normal(size=3),
            covariance=density.covariance * factor,
        )
    names = [k for k in vars(density) if k in PARAMETERS]
    moved = {k: np.asarray(getattr(density, k)) * np.exp(0.1 * rng.normal()) for k in names}
    return replace(
        density, **{k: np.minimum(v, 0.999) if k == "p" else v for k, v in moved.items()}
    )


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


# --------------------------------------------------------------------------- conjugate priors

CONJUGATE = [
    Bernoulli(prior=Beta(2.0, 3.0)),
    Bernoulli(np.full(3, 0.5), prior=Beta(np.array([1.0, 2.0, 3.0]), np.ones(3))),
    Binomial(9, prior=Beta(2.0, 3.0)),
    Categorical(WORDS, prior=Dirichlet(np.array([1.0, 2.0, 3.0]))),
    Multinomial(WORDS, trials=5, prior=Dirichlet(np.array([1.0, 2.0, 3.0]))),
    Poisson(2.0, prior=Gamma(3.0, 2.0)),
    Exponential(2.0, prior=Gamma(3.0, 2.0)),
    Gaussian(MEAN, C, prior=Gaussian(np.zeros(3), np.eye(3) + 0.2)),
    Gaussian(MEAN, 0.5, "spherical", prior=Gaussian(np.zeros(3), 2.0)),
    Gaussian(MEAN, C, prior=NormalInverseWishart(np.zeros(3), 2.0, 5.0, np.eye(3))),
    Gaussian(
        MEAN, C.diagonal(), "diagonal", prior=NormalInverseGamma(np.zeros(3), 2.0, 2.0, np.ones(3))
    ),
]


def beliefs(prior):
    return np.concatenate(
        [np.ravel(v) for v in vars(prior).values() if isinstance(v, float | np.ndarray)]
    )


@pytest.mark.parametrize("density", CONJUGATE, ids=repr)
def test_sequential_updates_are_the_batch_update(density):  # [001, A.7; 004, 2.7]
    X = draws(density, 30)
    batch = density.update(X)
    steps = density.update(X[:7]).update(X[7:8]).update(X[8:])
    assert_allclose(beliefs(steps.prior), beliefs(batch.prior), rtol=1e-10)
    together = density.log_evidence(X)
    apart = density.log_evidence(X[:7]) + density.update(X[:7]).log_evidence(X[7:])
    assert_allclose(apart, together, rtol=1e-10)
    assert_allclose(density.log_evidence(X, np.zeros(30)), 0, atol=1e-9)


@pytest.mark.parametrize("density", CONJUGATE, ids=repr)
def test_map_is_the_top_of_the_posterior(density):
    X = draws(density, 30)
    best = density.fit(X)
    prior = density.prior

    def height(one):
        theta = parameter(one, prior)
        return total(one, X) + np.sum(prior.log_density(theta))

    rng = np.random.default_rng(3)
    for _ in range(20):
        assert height(nudged_parameter(best, prior, rng)) <= height(best) + 1e-9


def parameter(density, prior):
    if isinstance(density, Gaussian):
        known = isinstance(prior, Gaussian)
        return density.mean[None] if known else (density.mean, density.covariance)
    value = density.rate if hasattr(density, "rate") else density.p
    return np.atleast_2d(value)


def nudged_parameter(density, prior, rng):
    if isinstance(density, Gaussian) and isinstance(prior, Gaussian):
        return replace(density, mean=density.mean + 0.05 * rng.normal(size=3))
    return nudged(density, rng)


def test_evidence_is_the_integral():
    x = [1, 0, 1, 1]
    exact = integrate.quad(
        lambda p: np.exp(total(Bernoulli(p), x)) * stats.beta(2, 3).pdf(p), 0, 1
    )[0]
    assert_allclose(np.exp(Bernoulli(prior=Beta(2, 3)).log_evidence(x)), exact)
    exact = integrate.quad(
        lambda r: np.exp(total(Poisson(r), x)) * stats.gamma(3, scale=0.5).pdf(r), 0, 60
    )[0]
    assert_allclose(np.exp(Poisson(prior=Gamma(3, 2)).log_evidence(x)), exact)
    t = [0.4, 2.0]
    exact = integrate.quad(
        lambda r: np.exp(total(Exponential(r), t)) * stats.gamma(3, scale=0.5).pdf(r), 0, 60
    )[0]
    assert_allclose(np.exp(Exponential(prior=Gamma(3, 2)).log_evidence(t)), exact)
    X = draws(Gaussian(MEAN, C), 4)
    prior = Gaussian(np.zeros(3), np.eye(3) + 0.2)
    wide = np.kron(np.eye(4), C) + np.kron(np.ones((4, 4)), prior.covariance)
    joint = stats.multivariate_normal(np.zeros(12), wide).logpdf(X.ravel())
    assert_allclose(Gaussian(MEAN, C, prior=prior).log_evidence(X), joint)


def test_next_row_of_an_unknown_gaussian_is_a_t():
    belief = NormalInverseWishart(np.zeros(3), 2.0, 5.0, np.eye(3))
    known = Gaussian(MEAN, C, prior=belief).update(draws(Gaussian(MEAN, C), 9))
    row = np.array([[0.3, -1.0, 1.0]])
    assert_allclose(known.log_evidence(row), known.prior.predictive().logpdf(row[0]))
    law = stats.invwishart(5.0, np.eye(3)).logpdf(C) + stats.multivariate_normal(
        np.zeros(3), C / 2
    ).logpdf(MEAN)
    assert_allclose(belief.log_density((MEAN, C)), law)
    means, covariances = belief.sample(4000, np.random.default_rng(0))
    assert_allclose(covariances.mean(axis=0), belief.mean.covariance, atol=0.2)
    assert_allclose(means.mean(axis=0), 0, atol=0.1)
    one = NormalInverseGamma(np.zeros(1), 2.0, 2.5, np.array([0.5]))
    wishart = NormalInverseWishart(np.zeros(1), 2.0, 5.0, np.eye(1))  # the same in one dimension
    x = np.array([[0.3], [1.0]])
    both = [
        Gaussian(kind=k, prior=b).log_evidence(x) for k, b in (("diagonal", one), ("full", wishart))
    ]
    assert_allclose(*both)
    drawn = one.sample(20000, np.random.default_rng(0))
    assert_allclose(drawn.covariance.mean(), one.mean.covariance[0], rtol=0.05)
    with pytest.raises(ValueError, match="no mean"):
        _ = NormalInverseGamma(np.zeros(1), 1.0, 0.5, np.ones(1)).mean
    with pytest.raises(ValueError, match="full covariances"):
        Gaussian(kind="diagonal", prior=wishart).fit(x)


def test_belief_about_a_coin():  # [001, A.7]
    flips = np.repeat([1, 0], [7, 3])
    flat_prior = Bernoulli(prior=Beta(1, 1)).update(flips)
    assert (flat_prior.prior.a, flat_prior.prior.b) == (8, 4)
    assert_allclose(np.exp(Binomial(10, prior=Beta(1, 1)).log_evidence([7])), 1 / 11)
    assert_allclose(
        np.exp(Bernoulli(prior=Beta(1, 1)).log_evidence(flips)), 1 / (special.comb(10, 7) * 11)
    )
    a, b = 2.0, 5.0
    after = Bernoulli(prior=Beta(a, b)).update(flips).prior
    assert_allclose(after.mean, (a + 7) / (a + b + 10))  # the best guess of p
    assert_allclose(after.variance, 9 * 8 / (17**2 * 18))
    assert_allclose(Bernoulli(prior=Beta(1, 1)).fit(flips).p, 0.7)  # a flat prior: most likely
    assert Beta(0.5, 0.5).mode == 0.5
    assert Beta(0.5, 2.0).mode == 0.0


@CALM
@given(st.integers(0, 30), st.integers(0, 30))
def test_flips_of_an_unknown_coin_are_uniform(n, k):  # [001, A.7: A_{n,k} and its recursion]
    n, k = max(n, k), min(n, k)
    unknown = Binomial(n, prior=Beta(1.0, 1.0))
    assert_allclose(np.exp(unknown.log_evidence([k])), 1 / (n + 1), rtol=1e-9)
    A = [special.beta(j + 1, n - j + 1) for j in range(n + 1)]
    assert_allclose(A[k], 1 / (special.comb(n, k) * (n + 1)))
    if k:
        assert_allclose(A[k], k / (n - k + 1) * A[k - 1])


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
