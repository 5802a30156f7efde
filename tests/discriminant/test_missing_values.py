"""Gaussian classes with missing entries: the likelihood of what is observed, and its posterior."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import tenfold
from tenfold import (
    GaussianClassifier,
    GaussianMixture,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MixedNB,
    MixtureModel,
    QuadraticDiscriminantAnalysis,
)
from tenfold.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Poisson,
    Uniform,
)

MODELS = [
    GaussianClassifier("full", reg_covar=0),
    GaussianClassifier("tied", reg_covar=0),
    GaussianClassifier("diagonal", reg_covar=0),
    GaussianClassifier("spherical", reg_covar=0),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(solver="eigen"),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis("lsqr"),
    LinearDiscriminantAnalysis("eigen"),
    GenerativeClassifier(Gaussian()),
]


def classes(n=90, p=3, k=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 2
    return X + 1.5 * y[:, None], y


def with_holes(X, share=0.25, seed=1):
    holes = np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
    holes[4] = np.nan
    return holes


def fresh(model):
    return type(model)(**model.get_params())


def moments(model, k):
    """Means (k, p) and covariances (k, p, p) of a fitted model."""
    if isinstance(model, GenerativeClassifier):
        return (
            np.stack([d.center for d in model.densities_]),
            np.stack([d.covariance_matrix for d in model.densities_]),
        )
    if isinstance(model, QuadraticDiscriminantAnalysis):
        pairs = zip(model.rotations_, model.scalings_, strict=True)
        return model.means_, np.stack([(V * v) @ V.T for V, v in pairs])
    if isinstance(model, LinearDiscriminantAnalysis):
        C = model._own_covariance()
        return model.means_, np.stack([C] * k)
    C, p = model.covariances_, model.means_.shape[1]
    if model.covariance == "tied":
        return model.means_, np.stack([C] * k)
    if model.covariance == "full":
        return model.means_, C
    return model.means_, np.stack([np.diag(np.broadcast_to(c, p)) for c in C])


def log_marginals(X, mean, C):
    """Log-densities of the observed entries, row by row."""
    out = np.zeros(len(X))
    for i, x in enumerate(X):
        o = np.flatnonzero(~np.isnan(x))
        if len(o):
            d, S = x[o] - mean[o], 2 * np.pi * C[np.ix_(o, o)]
            out[i] = -0.5 * (np.linalg.slogdet(S)[1] + 2 * np.pi * d @ np.linalg.solve(S, d))
    return out


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_posterior_is_that_of_the_observed_entries(model):
    X, y = classes(k=3)
    fitted = fresh(model).fit(X, y)
    holes = with_holes(X)
    means, C = moments(fitted, 3)
    joint = np.stack([log_marginals(holes, means[c], C[c]) for c in range(3)], axis=1)
    joint += np.log(np.bincount(y) / len(y))
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(fitted.predict_proba(holes), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("kind", ["full", "tied", "diagonal", "spherical"])
def test_the_fit_is_the_maximum_of_the_likelihood(kind):
    X, y = classes(40, 2)
    holes = with_holes(X)
    fitted = GaussianClassifier(kind, reg_covar=0).fit(holes, y)
    means, C = moments(fitted, 2)
    k, p = means.shape
    lower = np.tril_indices(p)

    def split(theta):
        m, rest = theta[: k * p].reshape(k, p), theta[k * p :]
        if kind in ("diagonal", "spherical"):
            v = np.exp(rest).reshape(k, -1)
            return m, np.stack([np.diag(np.broadcast_to(part, p)) for part in v])
        L = np.zeros((len(rest) // len(lower[0]), p, p))
        L[:, lower[0], lower[1]] = rest.reshape(len(L), -1)
        S = L @ np.swapaxes(L, 1, 2)
        return m, np.repeat(S, k // len(S), axis=0)

    def cost(theta):
        m, S = split(theta)
        return -sum(log_marginals(holes[y == c], m[c], S[c]).sum() for c in range(k))

    if kind in ("diagonal", "spherical"):
        parts = np.log(np.stack([np.diag(S) for S in C]))
        rest = parts if kind == "diagonal" else parts[:, 0]
    else:
        roots = np.linalg.cholesky(C if kind == "full" else C[:1])
        rest = roots[:, lower[0], lower[1]]
    theta = np.append(means.ravel(), rest.ravel())
    best = minimize(cost, theta + 0.01, method="BFGS", options={"gtol": 1e-6})
    assert cost(theta) <= best.fun + 1e-9
    assert_allclose(theta, best.x, atol=1e-4)


def test_discriminants_learn_the_same_as_gaussian_classes():
    X, y = classes(k=3)
    holes = with_holes(X)
    tied, full = (GaussianClassifier(kind, reg_covar=0).fit(holes, y) for kind in ("tied", "full"))
    for solver in ("svd", "lsqr", "eigen"):
        lda = LinearDiscriminantAnalysis(solver).fit(holes, y)
        assert_allclose(lda.predict_proba(holes), tied.predict_proba(holes), atol=1e-7)
    qda = QuadraticDiscriminantAnalysis().fit(holes, y)
    assert_allclose(qda.predict_proba(holes), full.predict_proba(holes), atol=1e-7)
    density = GenerativeClassifier(Gaussian()).fit(holes, y)
    assert_allclose(density.predict_proba(holes), full.predict_proba(holes), atol=1e-7)
    naive = GaussianNB(var_smoothing=0).fit(holes, y)
    diagonal = GaussianClassifier("diagonal", reg_covar=0).fit(holes, y)
    assert_allclose(naive.predict_proba(holes), diagonal.predict_proba(holes), rtol=1e-9)


def test_mixtures_with_known_components_learn_the_same():
    X, y = classes()
    holes = with_holes(X)
    start = {"n_components": 2, "observed_labels": True, "reg_covar": 0, "tol": 1e-13}
    for kind in ("full", "tied"):
        em = GaussianMixture(covariance_type=kind, max_iter=2000, random_state=0, **start)
        em.fit(holes, y)
        fitted = GaussianClassifier(kind, reg_covar=0).fit(holes, y)
        assert_allclose(fitted.means_, em.means_, atol=1e-5)
        assert_allclose(fitted.covariances_, em.covariances_, atol=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_complete_rows_keep_their_bits(model):
    X, y = classes()
    a, b = fresh(model).fit(X, y), fresh(model).fit(X, y)
    among = np.vstack([X, np.full((1, 3), np.nan)])
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert_allclose(a.predict_proba(among)[:-1], a.predict_proba(X), rtol=1e-12)


def test_projections_are_expected_ones():
    X, y = classes(400, k=3)
    model = LinearDiscriminantAnalysis().fit(X, y)
    x = X[:1].copy()
    x[0, 1] = np.nan
    means, C = model.means_, model._own_covariance()
    p = model.predict_proba(x)[0]
    slope = C[1, [0, 2]] @ np.linalg.inv(C[np.ix_([0, 2], [0, 2])])
    filled = x.copy()
    filled[0, 1] = sum(
        p[c] * (means[c, 1] + slope @ (x[0, [0, 2]] - means[c, [0, 2]])) for c in range(3)
    )
    assert_allclose(model.transform(x), model.transform(filled), rtol=1e-9)
    again = LinearDiscriminantAnalysis().fit(with_holes(X), y)
    assert np.isfinite(again.transform(with_holes(X))).all()
    assert again.sample(5, 0)[0].shape == (5, 3)


def test_what_needs_complete_rows_says_so():
    from sklearn.covariance import OAS

    X, y = classes()
    holes = with_holes(X)
    for model in (
        LinearDiscriminantAnalysis("lsqr", shrinkage="auto"),
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        LinearDiscriminantAnalysis("lsqr", covariance_estimator=OAS()),
    ):
        with pytest.raises(ValueError, match=r"NaN: row .*complete rows"):
            model.fit(holes, y)
    wide = LinearDiscriminantAnalysis().fit(
        np.random.default_rng(0).normal(size=(6, 9)), [0, 1] * 3
    )
    with pytest.raises(ValueError, match="store_covariance=True"):
        wide.predict(np.full((1, 9), np.nan))
    bad = X.copy()
    bad[3, 1] = np.inf
    for model in MODELS:
        with pytest.raises(ValueError, match=r"(?s)(inf|row 3)"):
            fresh(model).fit(bad, y)
        with pytest.raises(ValueError, match="row 3, column 1"):
            fresh(model).fit(X, y).predict_proba(bad)


def test_models_of_parts_with_and_without_holes_merge():
    X, y = classes(300, k=3)
    holes = X.copy()
    holes[150:] = with_holes(X[150:])
    for model in MODELS:
        whole = fresh(model).fit(holes, y)
        a, b = fresh(model).fit(holes[:150], y[:150]), fresh(model).fit(holes[150:], y[150:])
        for pair in ((a, b), (b, a)):
            merged = tenfold.merge(*pair)
            assert_allclose(merged.predict_proba(holes), whole.predict_proba(holes), atol=1e-6)


COLUMNS = [
    Poisson(),
    Bernoulli(),
    Exponential(),
    Gamma(),
    Binomial(9),
    Gaussian(),
    Uniform(),
    Beta(),
]


def column_rows(density, n, rng):
    if isinstance(density, Beta | Bernoulli):
        X = rng.random((n, 2))
        return (X < 0.4).astype(float) if isinstance(density, Bernoulli) else X
    return rng.integers(1, 9, (n, 2)).astype(float)


@pytest.mark.parametrize("density", COLUMNS, ids=lambda d: type(d).__name__)
def test_any_density_of_columns_skips_missing_entries(density):
    rng = np.random.default_rng(0)
    X, y = column_rows(density, 80, rng), np.arange(80) % 2
    holes = with_holes(X)
    joint = Independent((density, density))
    by_column = GenerativeClassifier(joint).fit(holes, y)
    for c in range(2):
        for j in range(2):
            there = holes[(y == c) & ~np.isnan(holes[:, j]), j]
            alone = density.fit(there[:, None])
            ours = by_column.densities_[c].columns[j]
            probe = there[:5, None]
            assert_allclose(ours.log_density(probe), alone.log_density(probe), rtol=1e-9)
    if not isinstance(density, Gaussian):
        at_once = GenerativeClassifier(density).fit(holes, y)
        rows = holes[np.isfinite(by_column.predict_joint_log_proba(holes)).all(axis=1)]
        assert_allclose(
            at_once.predict_proba(rows), by_column.predict_proba(rows), rtol=1e-9, atol=1e-12
        )


def test_mixtures_of_any_density_skip_missing_entries():
    X, _ = classes(100)
    holes = with_holes(X, 0.1)
    own = MixtureModel(Gaussian(floor=1e-6), 2, tol=1e-5, max_iter=200, random_state=0).fit(holes)
    em = GaussianMixture(2, tol=1e-7, max_iter=2000, random_state=0).fit(holes)
    assert_allclose(own.lower_bound_, em.lower_bound_, atol=1e-2)
    assert (np.diff(own.history_["objective"]) <= 1e-9).all()
    with pytest.raises(ValueError, match="NaN"):
        MixtureModel(OnlyComplete(), 2).fit(holes)


class OnlyComplete(Gaussian):
    """A density that says nothing about missing entries."""

    observed_statistic = property()


def test_a_density_without_sample_says_so():
    class Flat:
        def fit(self, X, w):
            return self

        def log_density(self, X):
            return np.zeros(len(X))

        def statistic(self, X, w):
            return np.array([w.sum()])

        def fit_statistic(self, s):
            return self

    X, y = classes()
    for model in (GenerativeClassifier(Flat()).fit(X, y), MixtureModel(Flat(), 2).fit(X)):
        with pytest.raises(TypeError, match=r"Flat cannot be sampled.*sample\(n, rng\)"):
            model.sample(3)


@pytest.mark.parametrize("model", [*MODELS, GaussianNB(), MixedNB()], ids=str)
@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float64, 1e160), (np.float64, 1e308), (np.float32, 3e38)]
)
def test_rows_far_away_have_an_answer_or_a_sentence(model, dtype, size):
    X, y = classes(60)
    fitted = fresh(model).fit(X.astype(dtype), y)
    far = np.sign(X[:4]).astype(dtype) * dtype(size)
    with np.errstate(all="ignore"):
        try:
            p = fitted.predict_proba(far)
        except ValueError as error:
            named = int(re.search(r"row (\d+)", str(error)).group(1))
            p = fitted.predict_proba(far[:named]) if named else np.ones((0, 1))
            with pytest.raises(ValueError, match="row 0"):
                fitted.predict_proba(far[named : named + 1])
    assert not np.isnan(p).any()
    assert_allclose(p.sum(axis=1), 1, rtol=1e-5)


def test_a_copy_of_a_column_may_be_missing():
    X, y = classes(120, k=3)
    X = np.hstack([X, 2 * X[:, :1] + 1])
    holes = X.copy()
    holes[::4, 3] = np.nan
    whole = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(whole.predict_proba(holes), whole.predict_proba(X), rtol=1e-6, atol=1e-9)
    learned = LinearDiscriminantAnalysis().fit(holes, y)
    assert_allclose(learned.predict_proba(X), whole.predict_proba(X), atol=1e-4)


def test_a_column_without_any_entry_changes_nothing():
    X, y = classes(90, k=3)
    empty = np.hstack([X, np.full((90, 1), np.nan)])
    for model in (LinearDiscriminantAnalysis(), GaussianClassifier("full"), GaussianNB()):
        fitted, plain = fresh(model).fit(empty, y), fresh(model).fit(X, y)
        assert_allclose(fitted.predict_proba(empty), plain.predict_proba(X), atol=1e-6)
