"""Factor analysis against scikit-learn, planted loadings and the density of the observed part."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import FactorAnalysis, ProbabilisticPCA


@pytest.fixture(name="X")
def rows_of_factors():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(500, 8)) * rng.gamma(1, size=8)
    return rng.normal(size=(500, 3)) @ rng.normal(size=(3, 8)) + noise + 5


def with_holes(X, share=0.2, seed=1):
    holes = X.copy()
    holes[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return holes


@pytest.mark.parametrize("k", [0, 1, 3])
def test_is_scikit_learns(X, k):
    theirs = decomposition.FactorAnalysis(k, svd_method="lapack").fit(X)
    ours = FactorAnalysis(k).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_
    assert_allclose(ours.loglike_, theirs.loglike_, rtol=1e-12)
    assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-10)
    assert_allclose(ours.noise_variance_, theirs.noise_variance_, atol=1e-10)
    assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-9)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-8)
    assert_allclose(ours.get_precision(), theirs.get_precision(), atol=1e-8)


def test_as_many_factors_as_columns_have_the_covariance_of_the_rows(X):
    """scikit-learn's likelihood counts factors whose eigenvalue is below one, and stops early."""
    theirs, ours = decomposition.FactorAnalysis().fit(X), FactorAnalysis().fit(X)
    assert ours.score(X) >= theirs.score(X)
    assert ours.loglike_[-1] == pytest.approx(ours.score_samples(X).sum(), rel=1e-9)
    assert_allclose(ours.get_covariance(), np.cov(X.T, bias=True), atol=0.05)


def test_equal_noise_is_probabilistic_pca():
    """Rows whose columns all have the same noise, and a covariance that is exactly so."""
    rng = np.random.default_rng(2)
    W = np.linalg.qr(rng.normal(size=(6, 2)))[0] * [3.0, 2.0]
    root = np.linalg.cholesky(W @ W.T + 0.5 * np.eye(6))
    Z = np.linalg.qr(np.column_stack([np.ones(50), rng.normal(size=(50, 6))]))[0][:, 1:]
    X = Z @ root.T * np.sqrt(50)  # its covariance over n is that of the model
    factors = FactorAnalysis(2, tol=1e-12, max_iter=100_000).fit(X)
    assert_allclose(factors.noise_variance_, 0.5, rtol=1e-4)
    principal = ProbabilisticPCA(2).fit(X)
    assert_allclose(factors.get_covariance(), principal.get_covariance(), atol=1e-4)


def test_quasi_newton_finds_the_maximum_that_em_creeps_towards(X):
    fast = FactorAnalysis(2, solver="lbfgs").fit(X)
    slow = FactorAnalysis(2, tol=1e-5, max_iter=10_000).fit(X)
    assert fast.converged_
    assert fast.n_iter_ < slow.n_iter_ / 10
    assert 0 <= fast.loglike_[-1] - slow.loglike_[-1] < 0.1
    assert_allclose(fast.get_covariance(), slow.get_covariance(), atol=0.05)
    assert fast.loglike_[-1] >= FactorAnalysis(2).fit(X).loglike_[-1]


def test_planted_loadings_are_found_up_to_a_rotation():
    rng = np.random.default_rng(3)
    L = np.kron(np.eye(2), [1.0, 0.8, 0.9, 0.7])
    X = rng.normal(size=(40_000, 2)) @ L + rng.normal(size=(40_000, 8)) * 0.6
    found = FactorAnalysis(2, rotation="varimax", tol=1e-6, max_iter=5000).fit(X)
    order = np.abs(found.components_[:, 0]).argsort()[::-1]
    assert_allclose(np.abs(found.components_[order]), L, atol=0.02)
    assert_allclose(found.noise_variance_, 0.36, atol=0.02)
    assert_allclose(
        found.communalities_, L.sum(axis=0) ** 2 / (L.sum(axis=0) ** 2 + 0.36), atol=0.02
    )


@pytest.mark.parametrize("rotation", ["varimax", "quartimax", "promax", "oblimin"])
def test_rotations_describe_the_same_rows(X, rotation):
    plain, turned = FactorAnalysis(3).fit(X), FactorAnalysis(3, rotation=rotation).fit(X)
    assert_allclose(turned.get_covariance(), plain.get_covariance(), atol=1e-10)
    assert_allclose(turned.score_samples(X), plain.score_samples(X), atol=1e-10)
    assert_allclose(
        turned.inverse_transform(turned.transform(X)), plain.inverse_transform(plain.transform(X))
    )
    precision = turned.get_covariance() @ turned.get_precision()
    assert_allclose(precision, np.eye(8), atol=1e-10)


def test_the_posterior_of_correlated_factors_is_that_of_the_joint_density(X):
    model = FactorAnalysis(2, rotation="oblimin").fit(X)
    L, covariance = model.components_, model.factor_covariance_
    gain = covariance @ L @ np.linalg.inv(model.get_covariance())
    means, covariances = model.posterior(X[:5])
    assert_allclose(means, (X[:5] - model.mean_) @ gain.T, atol=1e-10)
    assert_allclose(covariances[3], covariance - gain @ L.T @ covariance, atol=1e-10)


def test_bartlett_scores_are_unbiased(X):
    model = FactorAnalysis(3, scores="bartlett").fit(X)
    Z = np.random.default_rng(0).normal(size=(4, 3))
    assert_allclose(model.transform(model.inverse_transform(Z)), Z, atol=1e-9)
    shrunken = FactorAnalysis(3).fit(X).transform(model.inverse_transform(Z))
    assert np.linalg.norm(shrunken) < np.linalg.norm(Z)


def test_missing_entries_have_the_likelihood_of_the_observed_part(X):
    holes = with_holes(X)
    holes[7] = np.nan
    model = FactorAnalysis(3).fit(holes)
    assert (np.diff(model.loglike_) > -1e-9).all()
    C, got = model.get_covariance(), model.score_samples(holes)
    for i in range(0, 500, 50):
        seen = ~np.isnan(holes[i])
        density = multivariate_normal(model.mean_[seen], C[np.ix_(seen, seen)])
        assert got[i] == pytest.approx(density.logpdf(holes[i][seen]), abs=1e-9)
    assert got[7] == 0
    error = (model.impute(holes) - X)[np.isnan(holes)]
    assert error.std() < 0.8 * X.std()


def test_a_row_without_entries_changes_nothing_but_the_algorithm(X):
    settings = {"n_components": 2, "tol": 1e-3, "max_iter": 5000}
    whole = FactorAnalysis(**settings).fit(X)
    by_em = FactorAnalysis(**settings).fit(np.vstack([X, np.full(8, np.nan)]))
    assert by_em.statistic_ is None
    assert_allclose(by_em.get_covariance(), whole.get_covariance(), atol=0.03)


def test_a_heywood_case_stays_above_the_floor():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(60, 1))
    X = np.column_stack([z, z + 1e-4 * rng.normal(size=(60, 1)), rng.normal(size=(60, 3))])
    free = FactorAnalysis(2, tol=1e-4, max_iter=3000).fit(X)
    floored = FactorAnalysis(2, tol=1e-4, max_iter=3000, min_noise_ratio=0.005).fit(X)
    assert (floored.noise_variance_ >= 0.005 * X.var(axis=0) * (1 - 1e-12)).all()
    assert floored.heywood_.any()
    assert free.noise_variance_.min() < 0.005 * X.var(axis=0).min()


@pytest.mark.parametrize("solver", ["em", "lbfgs"])
@pytest.mark.parametrize("least", [0.005, 0.2])
def test_columns_at_the_floor_are_marked_by_both_solvers(solver, least):
    z, a, b = np.random.default_rng(1).normal(size=(3, 100))
    X = np.column_stack([z, 0.9 * z + 0.3 * a, 0.8 * z + 0.5 * b])
    model = FactorAnalysis(1, solver=solver, min_noise_ratio=least, tol=1e-6, max_iter=3000).fit(X)
    ratio = model.noise_variance_ / X.var(axis=0)
    assert_array_equal(model.heywood_, ratio < 1.001 * least)
    assert model.heywood_[0]
    assert not model.heywood_[2]


def test_a_fit_that_gets_no_further_names_the_floor_instead_of_more_iterations(X):
    with pytest.warns(
        ConvergenceWarning, match="got no further after .* min_noise_ratio"
    ) as caught:
        FactorAnalysis(4, solver="lbfgs", tol=1e-300).fit(X)
    assert "increase the number of iterations" not in str(caught[0].message)


def test_parts_merge_and_weights_are_repetitions(X):
    whole = FactorAnalysis(2).fit(X)
    merged = tenfold.merge(FactorAnalysis(2).fit(X[:123]), FactorAnalysis(2).fit(X[123:]))
    assert_allclose(merged.components_, whole.components_, atol=1e-9)
    w = np.random.default_rng(0).integers(0, 3, 500)
    weighted = FactorAnalysis(2).fit(X, sample_weight=w)
    repeated = FactorAnalysis(2).fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.noise_variance_, repeated.noise_variance_, rtol=1e-9)
    assert_allclose(weighted.loglike_, repeated.loglike_, rtol=1e-10)


def test_samples_have_the_covariance_of_the_model(X):
    model = FactorAnalysis(2, rotation="promax").fit(X)
    drawn = model.sample(100_000, random_state=0)
    assert_allclose(np.cov(drawn.T), model.get_covariance(), atol=0.3)


def test_errors_name_the_cure(X):
    with pytest.raises(ValueError, match="partial_fit needs rows without missing"):
        FactorAnalysis(2).partial_fit(with_holes(X))
    with pytest.raises(ValueError, match="column 3 has no entry"):
        FactorAnalysis(2).fit(np.where(np.arange(8) == 3, np.nan, X))
    with pytest.raises(ValueError, match="infinity"):
        FactorAnalysis(2).fit(np.where(np.arange(8) == 3, np.inf, X))
    with pytest.raises(ValueError, match="at most the number of columns, 8"):
        FactorAnalysis(9).fit(X)
    with pytest.raises(ValueError, match="does not match"):
        FactorAnalysis(2, noise_variance_init=np.ones(3)).fit(X)
    with pytest.warns(UserWarning, match="max_iter"):
        assert not FactorAnalysis(2, max_iter=1).fit(X).converged_
