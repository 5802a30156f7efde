"""Bayesian regression against integrals, formulas and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import LinearRegression, Ridge
from tenfold.inference.mcmc import ensemble_sampler
from tenfold.linear.bayesian.bayesian_linear import BayesianLinearRegression
from tenfold.linear.bayesian.bayesian_ridge import ARDRegression, BayesianRidge
from tenfold.linear.bayesian.prior import ridge_penalty
from tenfold.linear.gaussian_regression import GaussianRegression, gaussian_log_likelihood
from tests.linear.bayesian_tables import cubic, known, table

FLIGHT = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 4.0, 8.0])  # 004, 2-12


# --------------------------------------------------------------- maximum likelihood (L06)


def test_the_worked_example_of_maximum_likelihood():  # 004, 2-12 and 2-14
    X, y = FLIGHT
    model = GaussianRegression().fit(X, y)
    assert_allclose([model.intercept_, *model.coef_], [0.7, 2.2])
    assert_allclose(
        [model.squares_, model.noise_variance_, model.precision_], [1.8, 0.45, 1 / 0.45]
    )
    assert_allclose(GaussianRegression(unbiased=True).fit(X, y).noise_variance_, 0.9)
    r = np.array([0.3, 0.1, -1.1, 0.7])
    assert_allclose(model.log_likelihood_, stats.norm(0, np.sqrt(0.45)).logpdf(r).sum())
    assert_allclose(model.log_likelihood(X, y), model.log_likelihood_)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_likelihood_is_highest_at_least_squares_for_every_sigma(intercept):  # 001, 1-15
    X, y = table()
    model = GaussianRegression(fit_intercept=intercept).fit(X, y)
    plain = LinearRegression(fit_intercept=intercept).fit(X, y)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-12)
    assert_allclose(model.squares_, ((y - plain.predict(X)) ** 2).sum(), rtol=1e-10)
    rng = np.random.default_rng(0)
    for sigma in (0.1, 0.5, 3.0):
        best = model.log_likelihood(X, y, sigma)
        assert best <= model.log_likelihood_ + 1e-9
        other = GaussianRegression(fit_intercept=intercept).fit(X, y)
        other.coef_ = model.coef_ + 0.1 * rng.normal(size=3)
        assert other.log_likelihood(X, y, sigma) < best


def test_sigma_of_the_maximum_and_the_sign_of_the_curvature():  # 001, ERR-3 and ERR-4
    R, n, h = 7.0, 20, 1e-4
    best = np.sqrt(R / n)

    def f(s):
        return gaussian_log_likelihood(R, n, s)

    assert_allclose((f(best + h) - f(best - h)) / (2 * h), 0, atol=1e-4)
    for s in (best, 2.0):
        curvature = (f(s + h) - 2 * f(s) + f(s - h)) / h**2
        assert_allclose(curvature, n / s**2 - 3 * R / s**4, rtol=1e-4)
    assert n / 2.0**2 - 3 * R / 2.0**4 > 0  # not concave everywhere


def test_the_story_can_be_told_again():
    X, y = table(20_000)
    model = GaussianRegression().fit(X, y)
    fresh = model.sample_y(X, 3, random_state=0)
    assert fresh.shape == (20_000, 3)
    again = GaussianRegression().fit(X, fresh[:, 1])
    assert_allclose(again.coef_, model.coef_, atol=0.02)
    assert_allclose(again.noise_variance_, model.noise_variance_, rtol=0.05)
    assert_array_equal(fresh[:, :1][5:9], model.sample_y(X, 3, random_state=0)[5:9, :1])
    mean, band = model.predict(X[:5], return_std=True)
    assert_array_equal(band, np.full(5, np.sqrt(model.noise_variance_)))
    assert_allclose(mean, model.predict(X[:5]))


def test_unbiased_noise_counts_the_coefficients_that_are_determined():
    """Indicators of three groups beside a constant: three coefficients, not four."""
    rng = np.random.default_rng(0)
    group, y = rng.integers(0, 3, 30), rng.normal(size=30)
    residuals = y - np.array([y[group == k].mean() for k in range(3)])[group]
    for X, fit_intercept in ((np.eye(3)[group], True), (np.eye(3)[group], False)):
        model = GaussianRegression(unbiased=True, fit_intercept=fit_intercept).fit(X, y)
        assert_allclose(model.noise_variance_, residuals @ residuals / 27)
        assert model.rank_ == 3 - fit_intercept


def test_small_noise_is_found_by_a_second_pass():
    X, y = table(500, noise=1e-9, shift=100.0)
    found = GaussianRegression().fit(X, y).noise_variance_ ** 0.5
    assert 0 < found < 1e-7
    wide = GaussianRegression().fit(*table(4, 9))
    assert wide.noise_variance_ < 1e-20
    with pytest.raises(ValueError, match="unbiased=False"):
        GaussianRegression(unbiased=True).fit(*table(4, 9))


# ------------------------------------------------------ Bayesian linear regression (L07)


@pytest.mark.parametrize("n", [3, 60, 20_000])
@pytest.mark.parametrize("kind", ["number", "diagonal", "full", "covariance"])
def test_posterior_and_predictive_by_the_formulas(n, kind):  # 000, R21; 001, 1-18; 004, 2-23
    X, y = table(n)
    A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.2], [0.0, -0.2, 3.0]])
    given_ = {"number": 2.0, "diagonal": [1.0, 5.0, 0.2], "full": A, "covariance": A}[kind]
    L = {"number": 2 * np.eye(3), "diagonal": np.diag([1.0, 5.0, 0.2]), "full": A}.get(kind)
    L = np.linalg.inv(A) if L is None else L
    mean = np.array([1.0, -1.0, 0.5])
    name = "prior_covariance" if kind == "covariance" else "prior_precision"
    model = BayesianLinearRegression(
        **{name: given_}, prior_mean=mean, noise=0.5, fit_intercept=False
    ).fit(X, y)
    S = np.linalg.inv(L + X.T @ X / 0.25)
    m = S @ (L @ mean + X.T @ y / 0.25)
    assert_allclose(model.coef_, m, rtol=1e-7, atol=1e-9)
    assert_allclose(model.sigma_, S, rtol=1e-6, atol=1e-12)
    Z = np.random.default_rng(1).normal(size=(7, 3)) * 5
    got, std = model.predict(Z, return_std=True)
    assert_allclose(got, Z @ m, rtol=1e-7)
    assert_allclose(std, np.sqrt(0.25 + np.einsum("ij,jk,ik->i", Z, S, Z)), rtol=1e-6)
    if n < 100:
        C = 0.25 * np.eye(n) + X @ np.linalg.inv(L) @ X.T
        evidence = stats.multivariate_normal(X @ mean, C).logpdf(y)
        assert_allclose(model.log_evidence_, evidence, rtol=1e-7)


def test_evidence_and_predictive_by_brute_integration():
    X, y = table(5, 1, shift=0.5)
    model = known(1.5, 0.7, intercept_precision=0.3).fit(X, y)

    w, b = np.meshgrid(np.linspace(-8, 8, 801), np.linspace(-9, 9, 901))  # 0.02 apart
    joint = stats.norm.pdf(w, 0, 1.5**-0.5) * stats.norm.pdf(b, 0, 0.3**-0.5)
    for x, target in zip(X[:, 0], y, strict=True):
        joint *= stats.norm.pdf(target, w * x + b, 0.7)
    evidence = joint.sum() * 0.02**2
    assert_allclose(model.log_evidence_, np.log(evidence), rtol=1e-9)
    mean = ((w * 2 + b) * joint).sum() / joint.sum()
    variance = ((w * 2 + b - mean) ** 2 * joint).sum() / joint.sum()
    got, std = model.predict([[2.0]], return_std=True)
    assert_allclose(got, mean, rtol=1e-9)
    assert_allclose(std**2, 0.49 + variance, rtol=1e-9)


@pytest.mark.parametrize("k", [0.0, 1e-9])
def test_a_flat_prior_of_the_constant_is_the_limit_of_a_wide_one(k):
    X, y = table(40)
    model = known(2.0, 0.5, intercept_precision=k).fit(X, y)
    A = np.column_stack([X, np.ones(40)])
    P = np.diag([2.0, 2.0, 2.0, 0.0]) + A.T @ A / 0.25
    centre = np.linalg.solve(P, A.T @ y / 0.25)
    assert_allclose([*model.coef_, model.intercept_], centre, rtol=1e-6)
    a = np.array([4.0, -1.0, 0.0, 1.0])
    std = model.predict([a[:3]], return_std=True)[1]
    assert_allclose(std**2, 0.25 + a @ np.linalg.solve(P, a), rtol=1e-6)
    draws = model.sample_posterior(40_000, random_state=0)
    cov = np.cov(np.column_stack([draws.coef, draws.intercept]), rowvar=False)
    assert_allclose(cov, np.linalg.inv(P), atol=0.03 * np.linalg.inv(P).max())
    if k == 0:  # a flat density of 1 instead of a normal one
        tight = known(2.0, 0.5, intercept_precision=1e-8).fit(X, y)
        log_height = 0.5 * np.log(1e-8 / (2 * np.pi))
        assert_allclose(model.log_evidence_, tight.log_evidence_ - log_height, rtol=1e-6)


def test_the_mode_is_ridge_in_every_convention():  # 000, R20; 001, (43); 002, E39; 004, 2-20, 2-23
    X, y = FLIGHT
    all_penalised = known(1.0, 1.0, intercept_precision=1.0).fit(X, y)
    assert_allclose(
        [all_penalised.intercept_, *all_penalised.coef_], [0.769231, 2.025641], atol=1e-6
    )
    slope_alone = known(1.0, 1.0).fit(X, y)
    assert_allclose([slope_alone.intercept_, *slope_alone.coef_], [1.25, 1.833333], atol=1e-6)
    X, y = table(30)
    X, y = X - X.mean(axis=0), y - y.mean()
    sigma, precision, n = 0.7, 3.0, 30
    mode = known(precision, sigma, fit_intercept=False).fit(X, y).coef_
    assert_allclose(mode, Ridge(ridge_penalty(precision, sigma)).fit(X, y).coef_, rtol=1e-9)
    scale = {"sum": 1, "half": 0.5, "mean": 1 / n, "half mean": 0.5 / n}
    for convention in (*scale, "likelihood"):
        lam = ridge_penalty(precision, sigma, convention=convention, n=n)
        factor = scale.get(convention, 1 / (2 * sigma**2))
        weight = 0.5 if "half" in convention else 1.0
        gradient = -2 * factor * X.T @ (y - X @ mode) + 2 * weight * lam * mode
        assert_allclose(gradient, 0, atol=1e-9)
    with pytest.raises(ValueError, match="is none of"):
        ridge_penalty(1.0, convention="median")


def test_an_infinitely_wide_prior_is_least_squares_and_a_tight_one_wins():  # 001, 1-18; 004, 2-23
    X, y = table()
    assert_allclose(known(1e-12).fit(X, y).coef_, LinearRegression().fit(X, y).coef_, rtol=1e-9)
    mean = [1.0, 2.0, 3.0]
    assert_allclose(known(1e12, prior_mean=mean).fit(X, y).coef_, mean, rtol=1e-8)


def test_sequential_is_batch():  # 001, 1-18; 004, 2-23
    X, y = table(90)
    whole = known().fit(X, y)
    grown = known()
    for part in np.split(np.arange(90), [1, 20, 55]):
        grown.partial_fit(X[part], y[part])
    merged = tenfold.merge(known().fit(X[50:], y[50:]), known().fit(X[:50], y[:50]))
    for model in (grown, merged):
        assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        assert_allclose(model.sigma_, whole.sigma_, rtol=1e-8)
        assert_allclose(model.log_evidence_, whole.log_evidence_, rtol=1e-9)
    flat = {"fit_intercept": False}
    first = known(**flat).fit(X[:50], y[:50])  # yesterday's posterior is today's prior
    then = known("isotropic", prior_covariance=first.sigma_, prior_mean=first.coef_, **flat).fit(
        X[50:], y[50:]
    )
    both = known(**flat).fit(X, y)
    assert_allclose(then.coef_, both.coef_, rtol=1e-8)
    assert_allclose(then.sigma_, both.sigma_, rtol=1e-7)
    assert_allclose(first.log_evidence_ + then.log_evidence_, both.log_evidence_, rtol=1e-9)


@given(st.integers(1, 40), st.floats(0.05, 3), st.floats(1e-3, 1e3), st.integers(0, 10))
def test_more_rows_never_widen_the_prediction(cut, noise, precision, seed):  # 001, 1-18
    X, y = table(50, 2, seed)
    few, all_ = known(precision, noise).fit(X[:cut], y[:cut]), known(precision, noise).fit(X, y)
    none = np.linalg.eigvalsh(few.sigma_ - all_.sigma_).min()
    assert none > -1e-9 / precision
    std = all_.predict(X, return_std=True)[1]
    assert (std >= noise * (1 - 1e-9)).all()


def test_draws_reproduce_the_predictive():  # 001, (45)
    x, X, y = cubic(30, degree=3)
    model = known(0.01, 0.3, intercept_precision=0.0).fit(X[:, 1:], y)
    at = np.vander([0.5, 2.0, 3.5], 4, increasing=True)[:, 1:]
    mean, std = model.predict(at, return_std=True)
    assert std[0] > 2 * std[1]
    assert std[2] > 2 * std[1]  # wider outside of the data
    draws = model.sample_y(at, 40_000, random_state=3)
    assert_allclose(draws.mean(axis=1), mean, atol=0.05 * std.max())
    assert_allclose(draws.std(axis=1), std, rtol=0.03)
    assert_array_equal(draws[:, :5], model.sample_y(at, 40_000, random_state=3)[:, :5])
    assert x.min() > 1


def test_mcmc_agrees_with_the_exact_posterior():  # 000, R23
    X, y = table(40, 2)
    model = known(1.0, 0.5, fit_intercept=False, prior_mean=[1.0, 0.0]).fit(X, y)

    def log_posterior(W):
        misfit = ((y - W @ X.T) ** 2).sum(axis=1) / 0.25
        return -0.5 * (misfit + ((W - [1.0, 0.0]) ** 2).sum(axis=1))

    start = model.coef_ + 0.1 * np.random.default_rng(0).normal(size=(16, 2))
    chains = ensemble_sampler(log_posterior, start, draws=2000, seed=1)
    error = np.sqrt(model.sigma_.diagonal() / chains.effective_sample_size)
    assert (np.abs(chains.mean - model.coef_) < 4 * error).all()
    assert_allclose(chains.covariance, model.sigma_, atol=0.1 * model.sigma_.max())


# -------------------------------------------------------- evidence, scikit-learn's numbers


SHAPES = [(200, 5), (50, 50), (20, 40), (9000, 7)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_numbers_of_bayesian_ridge(n, p, intercept, weighted):
    X, y = table(n, p, seed=3)
    w = np.random.default_rng(1).integers(0, 3, n).astype(float) if weighted else None
    ours = BayesianLinearRegression(compute_score=True, fit_intercept=intercept).fit(X, y, w)
    theirs = linear_model.BayesianRidge(compute_score=True, fit_intercept=intercept).fit(X, y, w)
    assert ours.n_iter_ == theirs.n_iter_
    for name in ("coef_", "intercept_", "alpha_", "lambda_", "sigma_"):
        got, want = getattr(ours, name), getattr(theirs, name)
        assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=name)
    assert_allclose(ours.scores_[:-1], theirs.scores_[:-1], rtol=1e-6)
    for got, want in zip(ours.predict(X, True), theirs.predict(X, True), strict=True):
        assert_allclose(got, want, rtol=1e-6, atol=1e-9)


def test_the_last_score_is_the_evidence_at_the_estimates():
    # scikit-learn's last entry mixes the coefficients of the round before with the new squares
    X, y = table()
    model = BayesianRidge(compute_score=True).fit(X, y)
    D, r = X - X.mean(axis=0), y - y.mean()
    C = np.eye(len(y)) / model.alpha_ + D @ D.T / model.lambda_
    evidence = stats.multivariate_normal(np.zeros(len(y)), C).logpdf(r)
    assert_allclose(model.log_evidence_, evidence, rtol=1e-9)
    gammas = 1e-6 * (np.log(model.lambda_ * model.alpha_) - model.lambda_ - model.alpha_)
    assert_allclose(model.scores_[-1], evidence + gammas, rtol=1e-9)


def test_the_fixed_point_maximises_the_evidence():
    X, y = table(80)
    flat = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0.0)
    best = BayesianLinearRegression(tol=1e-12, max_iter=1000, **flat).fit(X, y)
    for a, b in [(1.05, 1), (0.95, 1), (1, 1.2), (1, 0.8)]:
        other = known(best.lambda_ * a, (best.alpha_ * b) ** -0.5).fit(X, y)
        assert other.log_evidence_ < best.log_evidence_
    same = known(best.lambda_, best.alpha_**-0.5).fit(X, y)
    assert_allclose(same.log_evidence_, best.log_evidence_, rtol=1e-9)
    assert_allclose(same.coef_, best.coef_, rtol=1e-8)


def test_known_noise_leaves_the_prior_to_the_evidence_and_the_other_way_round():
    X, y = table(80)
    a = BayesianLinearRegression(noise=0.5, tol=1e-10).fit(X, y)
    assert a.alpha_ == 4.0
    scores = [known(a.lambda_ * f).fit(X, y).log_evidence_ for f in (0.9, 1.0, 1.1)]
    assert max(scores) == scores[1]
    b = BayesianLinearRegression(prior_precision=[1.0, 2.0, 3.0], tol=1e-10).fit(X, y)
    scores = [
        known([1.0, 2.0, 3.0], (b.alpha_ * f) ** -0.5).fit(X, y).log_evidence_
        for f in (0.95, 1.0, 1.05)
    ]
    assert max(scores) == scores[1]
    assert_allclose(b.lambda_, np.diag([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "p"), [(200, 5), (9000, 7), (60, 20)])
def test_numbers_of_ard_regression(n, p, intercept):
    X, y = table(n, p, seed=5)
    y = y - X[:, ::2] @ np.ones(len(X[0, ::2]))
    X[:, 1] = np.random.default_rng(0).normal(size=n)  # one that says nothing
    ours = ARDRegression(fit_intercept=intercept).fit(X, y)
    theirs = linear_model.ARDRegression(fit_intercept=intercept).fit(X, y)
    assert ours.n_iter_ == theirs.n_iter_
    for name in ("coef_", "intercept_", "alpha_", "lambda_", "sigma_"):
        got, want = getattr(ours, name), getattr(theirs, name)
        assert_allclose(got, want, rtol=1e-6, atol=1e-8, err_msg=name)
    for got, want in zip(ours.predict(X, True), theirs.predict(X, True), strict=True):
        assert_allclose(got, want, rtol=1e-6, atol=1e-8)
    wide = BayesianLinearRegression(prior_precision="relevance", fit_intercept=intercept)
    assert_allclose(wide.fit(X, y).predict(X, True), ours.predict(X, True), rtol=1e-12)
    assert wide.sigma_.shape == (p, p)


@pytest.mark.parametrize(
    "start", [{"alpha_init": 0.0}, {"lambda_init": 0.0}, {"lambda_init": 1e-3}]
)
def test_any_start_is_scikit_learns(start):
    X, y = table(50, 4)
    ours, theirs = BayesianRidge(**start).fit(X, y), linear_model.BayesianRidge(**start)
    if "alpha_init" in start:  # scikit-learn divides by it
        theirs = linear_model.BayesianRidge(alpha_init=1e-300)
    assert_allclose(ours.coef_, theirs.fit(X, y).coef_, rtol=1e-6)


def test_hidden_noise_is_found_where_moments_lose_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * [1e-3, 1.0, 1e4] + [5, 1e5, 0]
    y = X @ [2e3, -1.0, 3e-4] + 1e-6 * rng.normal(size=400)
    known_ = known(1e-12, 1e-6).fit(X, y)
    assert_allclose(known_.coef_, [2e3, -1.0, 3e-4], rtol=1e-6)
    far = {"alpha_1": 0, "alpha_2": 0, "lambda_init": 1e-9, "alpha_init": 1e10}
    assert 0.5e-6 < BayesianLinearRegression(**far).fit(X, y).alpha_ ** -0.5 < 2e-6


def test_sparse_rows_are_dense_rows():
    X, y = table(300, 6, shift=0.0)
    X[np.abs(X) < 0.7] = 0
    dense, thin = known().fit(X, y), known().fit(sparse.csr_array(X), y)
    assert_allclose(thin.coef_, dense.coef_, rtol=1e-9)
    assert_allclose(thin.predict(sparse.csr_array(X), True), dense.predict(X, True), rtol=1e-9)


def test_wrong_priors_are_refused():
    X, y = table()
    for bad, words in [
        ({"prior_precision": [1.0, 2.0]}, r"must be a number, \(3,\)"),
        ({"prior_precision": [1.0, 2.0, 0.0]}, "positive definite"),
        ({"prior_precision": -np.eye(3)}, "positive definite"),
        ({"prior_covariance": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "not symmetric"),
        ({"intercept_precision": 1.0}, "known noise"),
    ]:
        with pytest.raises(ValueError, match=words):
            BayesianLinearRegression(**bad).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        BayesianLinearRegression(max_iter=1).fit(X, y)


def test_a_singular_covariance_fixes_what_it_knows():
    X, y = table()
    model = known(prior_covariance=[0.0, 1.0, 1.0], prior_mean=[0.25, 0.0, 0.0]).fit(X, y)
    assert model.coef_[0] == 0.25
    assert_array_equal(model.sigma_[0], 0)
    rest = known().fit(X[:, 1:], y - 0.25 * X[:, 0])
    assert_allclose(model.coef_[1:], rest.coef_, rtol=1e-9)
    assert_allclose(model.log_evidence_, rest.log_evidence_, rtol=1e-9)


def test_no_column_has_a_covariance_when_all_are_pruned():
    X = np.random.default_rng(0).normal(size=(30, 3))
    for model in (ARDRegression(), linear_model.ARDRegression()):
        model.fit(X, np.ones(30))
        assert model.sigma_.shape == (0, 0)
        mean, deviation = model.predict(X[:4], return_std=True)
        assert_allclose(mean, 1)
        assert_allclose(deviation, deviation[0])
