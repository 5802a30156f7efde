"""Kernel ridge: closed forms, scikit-learn's numbers, leave-one-out against refits."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as TheirKernelRidge

import tenfold
from tenfold import KernelRidge, KernelRidgeCV, Ridge
from tenfold.engine import memory
from tenfold.kernel import RBF, WhiteKernel

RNG = np.random.default_rng(3)
X = RNG.normal(size=(50, 3))
Y = np.c_[np.sin(X[:, 0]), X[:, 1] ** 2] + 0.1 * RNG.normal(size=(50, 2))
W = RNG.integers(0, 3, 50).astype(float)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "cosine"])
@pytest.mark.parametrize("w", [None, W])
def test_dual_coefficients_are_those_of_scikit_learn(kernel, w):
    ours = KernelRidge(0.3, kernel=kernel).fit(X, Y, sample_weight=w)
    theirs = TheirKernelRidge(0.3, kernel=kernel).fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.predict(X[:7]), theirs.predict(X[:7]), rtol=1e-9, atol=1e-10)


def test_a_penalty_for_each_target():
    ours = KernelRidge([0.1, 5.0], kernel="rbf").fit(X, Y)
    for t, alpha in enumerate((0.1, 5.0)):
        single = KernelRidge(alpha, kernel="rbf").fit(X, Y[:, t])
        np.testing.assert_allclose(ours.dual_coef_[:, t], single.dual_coef_, atol=1e-9)
    with pytest.raises(ValueError, match="do not correspond"):
        KernelRidge([0.1, 5.0, 2.0]).fit(X, Y)


def test_a_linear_kernel_is_ridge_regression():
    ours = KernelRidge(2.0).fit(X, Y)
    theirs = Ridge(2.0, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-10)


def test_the_scaling_of_the_notes():
    """alpha = (K + n lambda I)^-1 y."""
    K = RBF()(X)
    model = KernelRidge(len(X) * 0.01, kernel=RBF()).fit(X, Y[:, 0])
    expected = np.linalg.solve(K + len(X) * 0.01 * np.eye(len(X)), Y[:, 0])
    np.testing.assert_allclose(model.dual_coef_, expected, atol=1e-10)


def test_precomputed_values():
    K = RBF()(X)
    ours = KernelRidge(0.2, kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(
        ours.predict(K[:5]), KernelRidge(0.2, kernel=RBF()).fit(X, Y).predict(X[:5]), atol=1e-10
    )
    with pytest.raises(ValueError, match="Precomputed metric requires shape"):
        KernelRidge(kernel="precomputed").fit(X, Y)


def test_a_singular_system_warns():
    with pytest.warns(UserWarning, match="Singular matrix"):
        model = KernelRidge(0.0, kernel="poly", degree=2).fit(np.repeat(X[:25], 2, axis=0), W)
    assert np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize("w", [None, W])
def test_leave_one_out_is_that_of_refits(w):
    rows, y, weights = X[:20], Y[:20], None if w is None else w[:20]
    alphas = [0.01, 0.5, 20.0]
    model = KernelRidgeCV(alphas, kernel="rbf").fit(rows, y, sample_weight=weights)
    total = np.ones(20) if weights is None else weights
    errors = []
    for alpha in alphas:
        predictions = np.empty_like(y)
        for i in range(20):
            part = np.maximum(total - (np.arange(20) == i), 0.0)
            fit = KernelRidge(alpha, kernel="rbf").fit(rows, y, sample_weight=part)
            predictions[i] = fit.predict(rows[i : i + 1])[0]
        errors.append((total[:, None] * (y - predictions) ** 2).sum(axis=0) / total.sum())
        if alpha == model.alpha_:
            np.testing.assert_allclose(model.leave_one_out_, predictions, atol=1e-8)
    np.testing.assert_allclose(model.mse_path_, errors, rtol=1e-7)
    assert model.alpha_ == alphas[int(np.mean(errors, axis=1).argmin())]
    assert model.best_score_ == pytest.approx(-np.mean(errors, axis=1).min())
    refit = KernelRidge(model.alpha_, kernel="rbf").fit(rows, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), refit.predict(X), atol=1e-9)


def test_each_target_may_choose():
    model = KernelRidgeCV([1e-3, 1.0, 100.0], kernel="rbf", alpha_per_target=True).fit(X, Y)
    assert model.alpha_.shape == model.best_score_.shape == (2,)
    for t in range(2):
        single = KernelRidgeCV([1e-3, 1.0, 100.0], kernel="rbf").fit(X, Y[:, t])
        assert single.alpha_ == model.alpha_[t]
        np.testing.assert_allclose(single.dual_coef_, model.dual_coef_[:, t], atol=1e-9)
    with pytest.raises(ValueError, match="above 0"):
        KernelRidgeCV([0.0, 1.0]).fit(X, Y)


def test_noise_in_the_kernel_is_a_penalty():
    a = KernelRidge(0.5, kernel=RBF()).fit(X, Y)
    b = KernelRidge(0.2, kernel=RBF() + WhiteKernel(0.3)).fit(X, Y)
    np.testing.assert_allclose(a.predict(X[:9] + 0.1), b.predict(X[:9] + 0.1), atol=1e-10)


def test_too_many_rows_are_refused_before_memory_fills(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1e9)
    rows = np.zeros((20_000, 1))
    with pytest.raises(MemoryError, match=r"20,000 rows .*3,200,000,000 bytes.*Nystroem"):
        tenfold.KernelRidge().fit(rows, rows[:, 0])


@pytest.mark.parametrize("alpha", [[-1.0, 1.0], [np.nan, 1.0], []])
def test_what_is_no_penalty_is_refused(alpha):
    with pytest.raises(ValueError, match="all at least 0"):
        KernelRidge(alpha).fit(X, Y)
    with pytest.raises(ValueError, match="all at least 0"):
        KernelRidgeCV(alpha).fit(X, Y)


def test_a_singular_system_of_one_target_does_not_touch_the_others():
    with pytest.warns(UserWarning, match="Singular matrix"):
        model = KernelRidge([0.0, 1.0]).fit(X, X[:, :2])
    np.testing.assert_allclose(model.predict(X)[:, 0], X[:, 0], atol=1e-9)
    np.testing.assert_allclose(model.predict(X)[:, 1], KernelRidge(1.0).fit(X, X[:, 1]).predict(X))


def test_small_penalties_of_float32_rows():
    """Coefficients are large then: rounded to float32 they predicted noise."""
    rows, wide = X.astype(np.float32), RBF(10.0)
    for model in (KernelRidge(1e-9, kernel=wide), KernelRidgeCV([1e-9], kernel=wide)):
        single = model.fit(rows, Y).predict(rows)
        double = model.fit(rows.astype(np.float64), Y).predict(rows.astype(np.float64))
        np.testing.assert_allclose(single, double, atol=1e-5)
