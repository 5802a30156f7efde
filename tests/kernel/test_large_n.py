"""Landmarks and random features: convergence to kernels, exact limits, folds from one statistic."""

import numpy as np
import pytest
from sklearn.kernel_approximation import PolynomialCountSketch as TheirSketch
from sklearn.kernel_approximation import RBFSampler as TheirSampler
from sklearn.kernel_approximation import SkewedChi2Sampler as TheirSkewed
from sklearn.model_selection import KFold, cross_val_score

import tenfold
from tenfold import (
    KernelLogisticRegression,
    KernelRidge,
    LogisticRegression,
    Nystroem,
    NystroemLogisticRegression,
    NystroemRidge,
    NystroemRidgeCV,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from tenfold.kernel import RBF, PolynomialKernel, nystroem_logistic
from tenfold.kernel._cosines_numba import cosine_features

RNG = np.random.default_rng(8)
X = RNG.normal(size=(300, 4))
Y = np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2]] + 0.1 * RNG.normal(size=(300, 2))
LABELS = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.4])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cosines(dtype):
    x = np.r_[np.linspace(-50, 50, 4001), 500 * RNG.normal(size=4001)].astype(dtype)[None]
    found = x.copy()
    cosine_features(found, np.zeros(x.shape[1], dtype), dtype(1))
    error = np.abs(found - np.cos(x.astype(np.float64))).max()
    assert error < (5e-16 if dtype == np.float64 else 3e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e6, 1e8, 1e12, 1e17, 1e30])
def test_cosines_of_large_numbers(dtype, size):
    """Of columns such as times in seconds, whose reduction by multiples of pi is not exact."""
    x = RNG.uniform(-size, size, (3, 200)).astype(dtype)
    found = x.copy()
    cosine_features(found, np.zeros(200, dtype), dtype(1))
    assert np.abs(found - np.cos(x.astype(np.float64))).max() < 3e-7


def test_the_scale_of_shifted_rows():
    shifted = X + 1e7
    np.testing.assert_allclose(
        RBFSampler(gamma="scale").fit(shifted)._gamma, 1 / (4 * shifted.var()), rtol=1e-9
    )


@pytest.mark.parametrize("method", ["random", "orthogonal", "structured"])
def test_fourier_features_tend_to_the_kernel(method):
    K, errors = RBF.from_gamma(0.1)(X[:80]), []
    for m in (64, 4096):
        sampler = RBFSampler(gamma=0.1, n_components=m, random_state=0, method=method)
        Z = sampler.fit_transform(X[:80])
        errors.append(np.sqrt(np.mean((Z @ Z.T - K) ** 2)))
    assert errors[1] < 0.03
    assert 3 < errors[0] / errors[1] < 20  # like 1 / sqrt(m): 8


def test_orthogonal_frequencies_have_smaller_errors():
    K, errors = RBF.from_gamma(0.1)(X[:80]), {}
    for method in ("random", "orthogonal", "structured"):
        draws = []
        for seed in range(20):
            Z = RBFSampler(gamma=0.1, n_components=32, random_state=seed, method=method)
            Z = Z.fit_transform(X[:80])
            draws.append(np.mean((Z @ Z.T - K) ** 2))
        errors[method] = np.mean(draws)
    assert errors["orthogonal"] < errors["random"]
    W = RBFSampler(gamma=0.5, n_components=8, method="orthogonal", random_state=0).fit(X)
    Q = W.random_weights_[:, :4]
    np.testing.assert_allclose(Q.T @ Q, np.diag(np.diagonal(Q.T @ Q)), atol=1e-10)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (RBFSampler(gamma=0.3, random_state=3), TheirSampler(gamma=0.3, random_state=3)),
        (RBFSampler(gamma="scale", random_state=3), TheirSampler(gamma="scale", random_state=3)),
        (SkewedChi2Sampler(random_state=3), TheirSkewed(random_state=3)),
        (
            PolynomialCountSketch(degree=3, coef0=1, random_state=3),
            TheirSketch(degree=3, coef0=1, random_state=3),
        ),
    ],
    ids=repr,
)
def test_equal_seeds_give_the_features_of_scikit_learn(ours, theirs):
    A = np.abs(X[:50])
    np.testing.assert_allclose(ours.fit_transform(A), theirs.fit_transform(A), atol=1e-10)


def test_the_sketch_tends_to_the_polynomial_kernel():
    K = PolynomialKernel(2, 0.5, 1.0)(X[:60])
    Z = PolynomialCountSketch(gamma=0.5, degree=2, coef0=1, n_components=4096, random_state=0)
    Z = Z.fit_transform(X[:60])
    assert np.abs(Z @ Z.T - K).mean() < 0.1 * np.abs(K).mean()


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans", "leverage"])
def test_landmarks_approximate_the_kernel(landmarks):
    K, errors = RBF(2.0)(X), []
    for m in (10, 120):
        Z = Nystroem(RBF(2.0), n_components=m, landmarks=landmarks, random_state=0)
        Z = Z.fit_transform(X)
        errors.append(np.abs(Z @ Z.T - K).mean())
    assert errors[1] < 0.1 * errors[0]
    assert errors[1] < 0.01


def test_leverage_finds_rows_that_stand_alone():
    A = np.vstack([RNG.normal(scale=0.01, size=(990, 2)), 10 * RNG.normal(size=(10, 2))])
    common = {"kernel": RBF(1.0), "n_components": 15, "random_state": 1}
    by_leverage = Nystroem(landmarks="leverage", **common).fit(A)
    assert (by_leverage.component_indices_ >= 990).sum() >= 8
    assert (Nystroem(**common).fit(A).component_indices_ >= 990).sum() <= 3


@pytest.mark.parametrize("w", [None, RNG.integers(0, 3, 300).astype(float)])
def test_all_rows_as_landmarks_are_kernel_ridge(w):
    exact = KernelRidge(0.3, kernel="rbf", gamma=0.2).fit(X, Y, sample_weight=w)
    model = NystroemRidge(0.3, gamma=0.2, landmarks=X, fit_intercept=False)
    np.testing.assert_allclose(
        model.fit(X, Y, sample_weight=w).predict(X[:20]), exact.predict(X[:20]), atol=1e-6
    )


def test_the_minimum_of_the_objective():
    marks = X[:15]
    model = NystroemRidge(0.7, kernel=RBF(1.5), landmarks=marks).fit(X, Y)
    K, M = RBF(1.5)(X, marks), RBF(1.5)(marks)
    residual = Y - K @ model.dual_coef_ - model.intercept_
    np.testing.assert_allclose(K.T @ residual, 0.7 * M @ model.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-9)


def test_parts_merge_with_the_same_landmarks():
    make = lambda: NystroemRidge(0.1, gamma=0.2, landmarks=X[:20])  # noqa: E731
    whole, a, b = make().fit(X, Y), make().fit(X[:100], Y[:100]), make().fit(X[100:], Y[100:])
    for other in (tenfold.merge(a, b), a.partial_fit(X[100:], Y[100:])):
        np.testing.assert_allclose(other.dual_coef_, whole.dual_coef_, rtol=1e-6, atol=1e-8)
    drawn = [
        NystroemRidge(random_state=0).fit(X[part], Y[part])
        for part in ([*range(150)], [*range(150, 300)])
    ]
    with pytest.raises(ValueError, match="other landmarks"):
        tenfold.merge(*drawn)
    with pytest.raises(ValueError, match="columns"):
        NystroemRidge(landmarks=X[:5, :2]).fit(X, Y)


def test_folds_and_penalties_come_from_one_statistic():
    alphas = [1e-4, 1e-2, 1.0, 100.0]
    marks, folds = X[::6], KFold(4)
    model = NystroemRidgeCV(alphas, gamma=0.2, landmarks=marks, cv=folds).fit(X, Y[:, 0])
    scores = [
        -cross_val_score(
            NystroemRidge(alpha, gamma=0.2, landmarks=marks),
            X, Y[:, 0], cv=folds, scoring="neg_mean_squared_error",
        )
        for alpha in alphas
    ]  # fmt: skip
    np.testing.assert_allclose(model.mse_path_, scores, rtol=1e-6)
    assert model.alpha_ == alphas[int(np.mean(scores, axis=1).argmin())]
    refit = NystroemRidge(model.alpha_, gamma=0.2, landmarks=marks).fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.dual_coef_, refit.dual_coef_)


def test_all_rows_as_landmarks_are_kernel_logistic_regression():
    exact = KernelLogisticRegression(gamma=0.2, tol=1e-9).fit(X, LABELS)
    model = NystroemLogisticRegression(gamma=0.2, landmarks=X, tol=1e-9).fit(X, LABELS)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("n", [500, 9000])  # preconditioned on all rows, and on a sample
@pytest.mark.parametrize("k", [2, 3])
def test_landmarks_are_logistic_regression_on_their_features(n, k):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, 3))
    b = np.digitize(A[:, 0] * A[:, 1] + 0.3 * rng.normal(size=n), [0.0, 0.4][: k - 1])
    options = {"C": 0.5, "class_weight": {0: 2.0}, "tol": 1e-9}
    marks = Nystroem(gamma=0.3, n_components=20, random_state=0).fit(A)
    linear = LogisticRegression(**options).fit(marks.transform(A), b)
    model = NystroemLogisticRegression(gamma=0.3, landmarks=marks.components_, **options).fit(A, b)
    assert model.converged_
    expected = linear.predict_proba(marks.transform(A))
    np.testing.assert_allclose(model.predict_proba(A), expected, atol=1e-6)


def test_kernel_values_in_memory_or_in_every_pass_give_the_same_bits(monkeypatch):
    A = RNG.normal(size=(9000, 4))
    b = np.array(["no", "yes"])[(A[:, 0] + 0.5 * A[:, 1] ** 2 > 0.5).astype(int)]
    make = lambda: NystroemLogisticRegression(  # noqa: E731
        gamma=0.2, n_components=15, class_weight={"no": 2.0}, random_state=0
    )
    kept = make().fit(A, b)
    monkeypatch.setattr(nystroem_logistic, "available_memory", lambda: 1e3)
    computed = make().fit(A, b)
    assert np.array_equal(kept.dual_coef_, computed.dual_coef_)
    assert kept.score(A, b) > 0.8


@pytest.mark.parametrize("landmarks", ["uniform", "leverage"])
def test_rows_of_weight_zero_are_no_landmarks(landmarks):
    w = (np.arange(300) < 40).astype(float)
    model = NystroemRidge(n_components=30, landmarks=landmarks, random_state=0)
    marks = model.fit(X, Y, sample_weight=w).components_
    assert len(marks) == 30
    assert all((X[:40] == mark).all(axis=1).any() for mark in marks)


@pytest.mark.parametrize(("dtype", "loss"), [(np.float64, 1e-3), (np.float32, 0.05)])
@pytest.mark.parametrize("gamma", [0.3, 0.05])
def test_small_penalties_do_not_amplify_rounding(dtype, loss, gamma):
    """Directions that the moments do not know were divided by the penalty alone."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-3, 3, (3000, 3))
    y = np.sin(rows[:, 0]) * rows[:, 1] + np.cos(rows[:, 2]) + 0.05 * rng.normal(size=3000)
    train, test = rows[:2500].astype(dtype), rows[2500:].astype(dtype)
    for alpha in (1e-2, 1e-4, 1e-6, 1e-9):
        model = NystroemRidge(alpha, gamma=gamma, n_components=200, random_state=0)
        assert model.fit(train, y[:2500]).score(test, y[2500:]) > 0.998 - loss


def test_a_sketch_with_a_negative_offset_is_refused():
    with pytest.raises(ValueError, match="at least 0"):
        PolynomialCountSketch(coef0=-1.0).fit(X)


def test_no_penalties_are_refused():
    with pytest.raises(ValueError, match="all at least 0"):
        NystroemRidgeCV([]).fit(X, Y)
