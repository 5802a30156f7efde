"""Probabilistic PCA: closed form, EM, the limit without noise, and the density of what is there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import tenfold
from tenfold import PCA, ProbabilisticPCA
from tenfold.decomposition._em_pca import CovarianceProduct, evaluate, iterate


@pytest.fixture(name="X")
def rows_of_factors():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 8))
    return signal + 0.5 * rng.normal(size=(400, 8)) + 5


def with_holes(X, share=0.3, seed=1):
    holes = X.copy()
    holes[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return holes


def test_the_closed_form_is_that_of_tipping_and_bishop(X):
    values, U = np.linalg.eigh(np.cov(X.T, bias=True))
    values, U = values[::-1], U[:, ::-1]
    model = ProbabilisticPCA(3).fit(X)
    assert model.noise_variance_ == pytest.approx(values[3:].mean(), rel=1e-10)
    W = U[:, :3] * np.sqrt(values[:3] - values[3:].mean())
    assert_allclose(np.abs(model.loadings_), np.abs(W.T), atol=1e-10)
    assert_allclose(model.explained_variance_, values[:3])
    density = multivariate_normal(X.mean(axis=0), W @ W.T + values[3:].mean() * np.eye(8))
    assert_allclose(model.score_samples(X), density.logpdf(X), atol=1e-9)
    assert model.log_likelihood_ == pytest.approx(density.logpdf(X).mean(), rel=1e-12)


def test_em_ends_at_the_closed_form(X):
    closed = ProbabilisticPCA(3).fit(X)
    em = ProbabilisticPCA(3, algorithm="em", tol=1e-16, random_state=1).fit(X)
    assert em.converged_
    assert em.noise_variance_ == pytest.approx(closed.noise_variance_, abs=1e-8)
    assert_allclose(em.loadings_, closed.loadings_, atol=1e-8)
    assert_allclose(em.get_covariance(), closed.get_covariance(), atol=1e-8)


def test_em_never_decreases_the_likelihood_and_updates_as_derived(X):
    """E[H] = M^-1 W'Xc, E[HH'] = n s M^-1 + E[H]E[H]', W = Xc E[H]' E[HH']^-1, and s per entry."""
    rng = np.random.default_rng(5)
    Xc = (X - X.mean(axis=0)).T
    p, n = Xc.shape
    W, noise = rng.normal(size=(p, 2)), 0.7
    C = Xc @ Xc.T / n
    product = CovarianceProduct(lambda V: C @ V, C.trace(), p)
    found, found_noise, _ = iterate(product, evaluate(product, W, noise), fixed=False)
    M = W.T @ W + noise * np.eye(2)
    H = np.linalg.solve(M, W.T @ Xc)
    HH = n * noise * np.linalg.inv(M) + H @ H.T
    following = Xc @ H.T @ np.linalg.inv(HH)
    squares = (Xc**2).sum() - 2 * np.trace(H.T @ following.T @ Xc)
    squares += np.trace(HH @ following.T @ following)
    assert_allclose(found, following, atol=1e-10)
    assert found_noise == pytest.approx(squares / (n * p), rel=1e-10)
    fitted = ProbabilisticPCA(2, algorithm="em", random_state=0).fit(X)
    assert (np.diff(fitted.history_["objective"]) <= 1e-12).all()
    assert fitted.converged_


def test_without_noise_em_is_roweis_algorithm_and_finds_the_components(X):
    """H = (W'W)^-1 W'X, then W = X H'(H H')^-1, of centred rows."""
    Xc = (X - X.mean(axis=0)).T
    W = np.random.default_rng(6).normal(size=(8, 3))
    C = Xc @ Xc.T / 400
    product = CovarianceProduct(lambda V: C @ V, C.trace(), 8)
    H = np.linalg.solve(W.T @ W, W.T @ Xc)
    expected = Xc @ H.T @ np.linalg.inv(H @ H.T)
    assert_allclose(iterate(product, evaluate(product, W, 0.0), fixed=True)[0], expected)
    model = ProbabilisticPCA(
        3, algorithm="em", noise_variance=0, tol=1e-15, n_init=3, random_state=0
    ).fit(X)
    exact = PCA(3).fit(X)
    assert_allclose(model.components_, exact.components_, atol=1e-6)
    assert_allclose(model.explained_variance_, exact.explained_variance_ * 399 / 400, rtol=1e-10)
    discarded = np.linalg.eigvalsh(C)[:-3].sum()
    assert model.history_["objective"][-1] == pytest.approx(discarded, rel=1e-10)
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()


def test_less_and_less_noise_leads_to_the_projection_of_pca(X):
    exact = PCA(3).fit(X)
    distances = []
    for noise in (1e-1, 1e-3, 1e-5, 0.0):
        model = ProbabilisticPCA(3, noise_variance=noise).fit(X)
        rows = model.inverse_transform(model.transform(X))
        distances.append(np.abs(rows - exact.inverse_transform(exact.transform(X))).max())
    assert (np.diff(distances) < 0).all()
    assert distances[-1] < 1e-10


def test_an_orthonormal_basis_is_no_eigenvector_before_it_is_turned(X):
    """What the notes call almost an eigenvector: Gram and Schmidt alone do not find one."""
    C = np.cov(X.T, bias=True)
    product = CovarianceProduct(lambda V: C @ V, C.trace(), 8)
    W = np.random.default_rng(0).normal(size=(8, 3))
    for _ in range(200):
        W = iterate(product, evaluate(product, W, 0.0), fixed=True)[0]
    basis = np.linalg.qr(W)[0][:, 0]
    turned = ProbabilisticPCA(3, algorithm="em", noise_variance=0, tol=1e-15, random_state=0).fit(X)
    ratio, exact = C @ basis / basis, C @ turned.components_[0] / turned.components_[0]
    assert ratio.std() > 0.1
    assert exact.std() < 1e-6


def test_observed_entries_have_the_density_of_their_margin(X):
    holes = with_holes(X)
    holes[7] = np.nan
    model = ProbabilisticPCA(3).fit(holes)
    assert model.converged_
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()
    C, got = model.get_covariance(), model.score_samples(holes)
    for i in range(0, 400, 40):
        seen = ~np.isnan(holes[i])
        density = multivariate_normal(model.mean_[seen], C[np.ix_(seen, seen)])
        assert got[i] == pytest.approx(density.logpdf(holes[i][seen]), abs=1e-9)
    assert got[7] == 0


def test_imputed_entries_are_conditional_means_with_their_covariance(X):
    holes = with_holes(X)
    model = ProbabilisticPCA(3).fit(holes)
    filled, covariances = model.impute(holes, return_covariance=True)
    C, seen = model.get_covariance(), ~np.isnan(holes[0])
    o, m = np.flatnonzero(seen), np.flatnonzero(~seen)
    gain = C[np.ix_(m, o)] @ np.linalg.inv(C[np.ix_(o, o)])
    assert_allclose(filled[0, m], model.mean_[m] + gain @ (holes[0, o] - model.mean_[o]))
    assert_allclose(
        covariances[0][np.ix_(m, m)], C[np.ix_(m, m)] - gain @ C[np.ix_(o, m)], atol=1e-12
    )
    assert not covariances[0][o].any()
    assert np.array_equal(filled[~np.isnan(holes)], holes[~np.isnan(holes)])
    error = (filled - X)[np.isnan(holes)]
    assert error.std() < 0.6 * X.std()


def test_gaps_that_are_none_change_nothing(X):
    closed = ProbabilisticPCA(3).fit(X)
    rows = np.vstack([X, np.full(8, np.nan)])
    by_em = ProbabilisticPCA(3, tol=1e-14).fit(rows)
    assert by_em.statistic_ is None
    assert_allclose(by_em.loadings_, closed.loadings_, atol=1e-7)
    assert by_em.noise_variance_ == pytest.approx(closed.noise_variance_, rel=1e-7)


def test_missing_entries_of_planted_factors_are_found_again():
    rng = np.random.default_rng(8)
    W = rng.normal(size=(4, 20))
    X = rng.normal(size=(2000, 4)) @ W + 0.1 * rng.normal(size=(2000, 20))
    holes = with_holes(X, 0.5)
    model = ProbabilisticPCA(4, max_iter=2000).fit(holes)
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.1, rel=0.05)
    error = (model.impute(holes) - X)[np.isnan(holes)]
    assert error.std() < 0.25
    by_mean = (np.nanmean(holes, axis=0) - X)[np.isnan(holes)]
    assert error.std() < 0.2 * by_mean.std()


def test_the_posterior_is_that_of_the_notes_corrected(X):
    """h | x ~ N(M^-1 W'(x - mu), s M^-1) with M = W'W + s I."""
    model = ProbabilisticPCA(2).fit(X)
    W, noise = model.loadings_.T, model.noise_variance_
    M = W.T @ W + noise * np.eye(2)
    means, covariances = model.posterior(X)
    assert_allclose(means, np.linalg.solve(M, W.T @ (X - model.mean_).T).T, atol=1e-10)
    assert_allclose(covariances[11], noise * np.linalg.inv(M), atol=1e-12)
    assert_allclose(model.transform(X), means)


def test_parts_merge_weights_repeat_and_batches_add_up(X):
    whole = ProbabilisticPCA(2).fit(X)
    merged = tenfold.merge(ProbabilisticPCA(2).fit(X[:100]), ProbabilisticPCA(2).fit(X[100:]))
    batches = ProbabilisticPCA(2)
    for part in np.array_split(X, 7):
        batches.partial_fit(part)
    for other in (merged, batches):
        assert_allclose(other.loadings_, whole.loadings_, atol=1e-10)
        assert other.noise_variance_ == pytest.approx(whole.noise_variance_)
    w = np.random.default_rng(0).integers(0, 3, len(X))
    for rows in (X, with_holes(X)):
        weighted = ProbabilisticPCA(2, tol=1e-10).fit(rows, sample_weight=w)
        repeated = ProbabilisticPCA(2, tol=1e-10).fit(np.repeat(rows, w, axis=0))
        assert_allclose(weighted.get_covariance(), repeated.get_covariance(), atol=1e-5)


def test_wide_rows_by_svd_and_by_em_without_a_covariance():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 300)) + 0.3 * rng.normal(size=(60, 300))
    closed = ProbabilisticPCA(3).fit(X)
    em = ProbabilisticPCA(3, algorithm="em", tol=1e-12, random_state=0).fit(X)
    C = np.cov(X.T, bias=True)
    values = np.linalg.eigvalsh(C)[::-1]
    assert closed.noise_variance_ == pytest.approx(values[3:].sum() / 297, rel=1e-9)
    assert em.log_likelihood_ == pytest.approx(closed.log_likelihood_, abs=1e-6)
    assert_allclose(em.get_covariance(), closed.get_covariance(), atol=1e-4)
    assert closed.statistic_ is None


def test_samples_have_the_moments_of_the_model(X):
    model = ProbabilisticPCA(2, random_state=0).fit(X)
    drawn = model.sample(200_000)
    assert_allclose(drawn.mean(axis=0), model.mean_, atol=0.05)
    assert_allclose(np.cov(drawn.T), model.get_covariance(), atol=0.1)
    assert np.array_equal(drawn, model.sample(200_000))


def test_a_share_a_rule_or_no_number_of_components(X):
    assert ProbabilisticPCA(0.9).fit(X).n_components_ == PCA(0.9).fit(X).n_components_
    assert ProbabilisticPCA("cv").fit(X).n_components_ == 3
    assert ProbabilisticPCA("elbow").fit(X).n_components_ == 3
    assert ProbabilisticPCA().fit(X).n_components_ == 7


def test_errors_name_the_cure(X):
    holes = with_holes(X)
    with pytest.raises(ValueError, match=r"closed_form.*missing entries"):
        ProbabilisticPCA(2, algorithm="closed_form").fit(holes)
    with pytest.raises(ValueError, match="noise_variance=0 needs rows without"):
        ProbabilisticPCA(2, noise_variance=0).fit(holes)
    with pytest.raises(ValueError, match="give a number"):
        ProbabilisticPCA(0.9).fit(holes)
    with pytest.raises(ValueError, match="partial_fit needs rows without"):
        ProbabilisticPCA(2).partial_fit(holes)
    with pytest.raises(ValueError, match="use `fit`"):
        ProbabilisticPCA("cv").partial_fit(X)
    with pytest.raises(ValueError, match="n_components=9"):
        ProbabilisticPCA(9).fit(X)
    with pytest.raises(ValueError, match="infinity"):
        ProbabilisticPCA(2).fit(np.where(np.arange(8) == 1, np.inf, X))


def test_em_of_rows_that_are_all_alike_is_the_closed_form():
    for X in (np.zeros((9, 3)), np.full((9, 3), 7.0), np.tile([1.0, 2.0, 3.0], (9, 1))):
        by_em = ProbabilisticPCA(2, algorithm="em", random_state=0).fit(X)
        assert_allclose(by_em.mean_, X[0])
        assert np.isfinite(by_em.components_).all()
        assert_allclose(by_em.explained_variance_, 0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e150, 1e-160])
def test_no_solution_is_an_error_and_not_a_number(unit):
    X = np.random.default_rng(0).normal(size=(60, 6)) * unit
    with pytest.raises(ValueError, match="no finite solution: components_ is NaN"):
        ProbabilisticPCA(2, algorithm="em", random_state=0).fit(X)
