"""Principal components against scikit-learn, the SVD of centred rows, and the notes."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn import decomposition

import tenfold
from tenfold import PCA, ProbabilisticPCA, TfIdf, datasets
from tenfold.datasets import load_iris

SHAPES = [(200, 6), (6, 20), (300, 2), (50, 49), (9, 9), (2, 3)]


def table(n=200, p=6, seed=0):
    """Correlated columns away from zero."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 10 * rng.normal(size=p)


def same_components(a, b, atol=1e-9):
    """Equal attributes, signs included; directions without variance may be any."""
    assert a.n_components_ == b.n_components_
    total = b.explained_variance_.sum() or 1.0
    real = b.explained_variance_ > 1e-12 * total
    assert_allclose(a.components_[real], b.components_[real], atol=atol)
    assert_allclose(a.mean_, b.mean_, rtol=1e-12, atol=atol)
    for name in ("explained_variance_", "noise_variance_"):
        assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-12 * total)
    assert_allclose(a.explained_variance_ratio_, b.explained_variance_ratio_, atol=1e-12)
    assert_allclose(a.singular_values_[real], b.singular_values_[real], rtol=1e-9)


# ------------------------------------------------------------------------------- scikit-learn's


@pytest.mark.parametrize("wanted", [None, 1, 2, 0.5, 0.95, "mle"])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_is_scikit_learns(n, p, wanted):
    X = table(n, p)
    if wanted == "mle" and n < p:
        with pytest.raises(ValueError, match="mle"):
            PCA(wanted).fit(X)
        return
    ours, theirs = PCA(wanted).fit(X), decomposition.PCA(wanted, svd_solver="full").fit(X)
    same_components(ours, theirs)
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-8)
    assert_allclose(PCA(wanted).fit_transform(X), theirs.transform(X), atol=1e-8)
    back = ours.inverse_transform(ours.transform(X))
    assert_allclose(back, theirs.inverse_transform(theirs.transform(X)), atol=1e-8)
    assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-8)
    if n > p:
        assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-6, atol=1e-6)
        assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-7)
        assert_allclose(ours.score(X), theirs.score(X), rtol=1e-8)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


def test_one_column_is_its_own_component():
    X = table(300, 1)
    model = PCA().fit(X)
    same_components(model, decomposition.PCA().fit(X))
    assert_array_equal(model.transform(X), X - X.mean())
    assert PCA("mle").fit(X).n_components_ == 0


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "randomized"])
@pytest.mark.parametrize("wanted", [None, 3])
@pytest.mark.parametrize("n", [200, 5])
@pytest.mark.parametrize("shift", [0, 1e6])
def test_all_solvers_agree(solver, wanted, n, shift):
    X = table(n) + shift
    ours = PCA(wanted, svd_solver=solver, random_state=0).fit(X)
    same_components(ours, decomposition.PCA(wanted, svd_solver="full").fit(X), atol=1e-7)


def test_randomised_for_wide_rows():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 5)) * [9, 7, 5, 3, 2]) @ rng.normal(size=(5, 1000))
    X += rng.normal(size=X.shape) + 5
    exact = PCA(4, svd_solver="full").fit(X)
    auto = PCA(4, random_state=0).fit(X)
    same_components(auto, exact, atol=1e-8)
    assert_array_equal(PCA(4, random_state=0).fit(X).components_, auto.components_)
    same_components(PCA(4, random_state=0).fit(sparse.csr_array(X)), exact, atol=1e-8)
    flat = rng.normal(size=(200, 800))  # no gap between the variances: more passes come closer
    true = PCA(3, svd_solver="full").fit(flat).explained_variance_
    errors = [
        np.abs(PCA(3, iterated_power=t, random_state=0).fit(flat).explained_variance_ - true).max()
        for t in (1, 5, 25)
    ]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize(("n", "p"), [(300, 40), (30, 60)])
@pytest.mark.parametrize("wanted", [None, 5, 0.7])
def test_sparse_is_dense(n, p, wanted):
    X = sparse.random_array((n, p), density=0.2, rng=np.random.default_rng(0), format="csr")
    ours, dense = PCA(wanted).fit(X), PCA(wanted).fit(X.toarray())
    same_components(ours, dense, atol=1e-8)
    kept = ours.explained_variance_ > 1e-12
    assert_allclose(ours.transform(X)[:, kept], dense.transform(X.toarray())[:, kept], atol=1e-8)


def test_number_of_components():
    X = table()
    with pytest.raises(ValueError, match="n_components=7"):
        PCA(7).fit(X)
    with pytest.raises(ValueError, match="n_components=6"):
        PCA(6).fit(X[:4])
    with pytest.raises(ValueError, match="n_components=3"):
        PCA(3).partial_fit(X[:2])
    none = PCA(0).fit(X)
    assert none.transform(X).shape == (200, 0)
    assert_allclose(none.noise_variance_, X.var(axis=0, ddof=1).mean())
    shares = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    for k in range(1, 6):  # the least number that reaches the share [004, 7.3]
        assert PCA(shares[k - 1] - 1e-9).fit(X).n_components_ == k
        assert PCA(shares[k - 1] + 1e-9).fit(X).n_components_ == k + 1


# ------------------------------------------------------------------------------------ the notes


def test_worked_example():  # [004, 7.3]
    X = np.array([[2.0, 0], [-2, 0], [0, 1], [0, -1]])
    model = PCA(1).fit(X)
    assert_allclose(model.components_, [[1, 0]], atol=1e-15)
    assert_allclose(PCA().fit(X).explained_variance_ * 3 / 4, [2, 0.5])  # the notes divide by n
    assert_allclose(model.explained_variance_ratio_, 0.8)
    lost = ((X - model.inverse_transform(model.transform(X))) ** 2).sum() / 4
    assert_allclose(lost, 0.5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 10))
def test_what_components_are(seed, n, p):  # [000, 3.2; 001, 4.4; 004, 7.3]
    X = table(n, p, seed)
    model = PCA().fit(X)
    W, k = model.components_, min(n, p)
    assert_allclose(W @ W.T, np.eye(k), atol=1e-8)
    assert (W[np.arange(k), np.abs(W).argmax(axis=1)] > 0).all()  # the sign is fixed
    Z = model.transform(X)
    spread = np.cov(Z.T).reshape(k, k)
    total = X.var(axis=0, ddof=1).sum()
    assert_allclose(spread, np.diag(model.explained_variance_), atol=1e-9 * total)
    assert (np.diff(model.explained_variance_) <= 1e-9).all()
    assert (model.explained_variance_ >= 0).all()
    assert_allclose(model.explained_variance_.sum(), total)
    assert_allclose(
        np.cov(X.T).reshape(p, p) @ W.T, W.T * model.explained_variance_, atol=1e-8 * total
    )
    assert_allclose(model.inverse_transform(Z), X, atol=1e-8)


@pytest.mark.parametrize("k", range(1, 7))
def test_the_error_is_the_variance_left_out_and_no_subspace_has_less(k):
    X = table()
    model = PCA(k).fit(X)

    def lost(W):
        D = X - X.mean(axis=0)
        return ((D - D @ W.T @ W) ** 2).sum() / 199

    error = ((X - model.inverse_transform(model.transform(X))) ** 2).sum() / 199
    left_out = PCA().fit(X).explained_variance_[k:]
    assert_allclose(error, left_out.sum(), atol=1e-9)
    assert_allclose(model.noise_variance_, left_out.mean() if k < 6 else 0, atol=1e-12)
    kept = model.explained_variance_.sum()
    assert_allclose(error + kept, X.var(axis=0, ddof=1).sum())
    rng = np.random.default_rng(0)
    for _ in range(100):
        W = np.linalg.qr(rng.normal(size=(6, k)))[0].T
        assert lost(W) >= error - 1e-9
        near = np.linalg.qr(model.components_.T + 0.05 * rng.normal(size=(6, k)))[0].T
        assert lost(near) >= error - 1e-9


@pytest.mark.parametrize("wanted", [None, 3])
def test_whitened_columns_are_uncorrelated_and_equal(wanted):
    X = table()
    model = PCA(wanted, whiten=True).fit(X)
    k = wanted or 6
    Z = model.transform(X)
    assert_allclose(np.cov(Z.T), np.eye(k), atol=1e-9)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-10)
    assert_allclose(Z, decomposition.PCA(wanted, whiten=True).fit_transform(X), atol=1e-9)
    plain = PCA(wanted).fit(X)
    assert_allclose(model.inverse_transform(Z), plain.inverse_transform(plain.transform(X)))
    # how rows are written down does not change the model of them
    assert_allclose(model.get_covariance(), plain.get_covariance())
    assert_allclose(model.score(X), plain.score(X))


def test_score_is_a_normal_density():
    X = table()
    model = PCA(2).fit(X)
    W, left = model.components_, model.noise_variance_
    C = (W.T * (model.explained_variance_ - left)) @ W + left * np.eye(6)
    assert_allclose(model.score_samples(X), multivariate_normal(X.mean(axis=0), C).logpdf(X))
    assert_allclose(PCA().fit(X).get_covariance(), np.cov(X.T))
    assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(6), atol=1e-9)


# ------------------------------------------------------------------------------------- accuracy


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
def test_small_components_of_nearly_dependent_columns(gap):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X[:, 3] = X[:, 0] + gap * X[:, 3]
    wide = X.astype(np.longdouble)
    sizes, Vt = np.linalg.svd((wide - wide.mean(axis=0)).astype(float), full_matrices=False)[1:]
    model = PCA().fit(X)
    assert_allclose(model.explained_variance_, sizes**2 / 499, rtol=1e-8)
    assert_allclose(np.abs(model.components_[-1]), np.abs(Vt[-1]), atol=1e-6)
    few = PCA(2).fit(X)  # large components need no second pass
    assert_allclose(few.explained_variance_, sizes[:2] ** 2 / 499, rtol=1e-12)


@pytest.mark.parametrize("shift", [0, 1e2, 1e4])
@pytest.mark.parametrize("n", [200, 20_000])
def test_float32(n, shift):
    X = (table(n) + shift).astype(np.float32)
    model = PCA(3).fit(X)
    theirs = decomposition.PCA(3, svd_solver="full").fit(X.astype(float))
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    assert_allclose(model.explained_variance_, theirs.explained_variance_, rtol=1e-4)
    assert_allclose(model.components_, theirs.components_, atol=1e-3)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_constant_columns(value):
    X = table(20_000)
    with_flat = np.insert(X, 2, value, axis=1)
    model, plain = PCA(6).fit(with_flat), PCA().fit(X)
    assert_allclose(model.explained_variance_, plain.explained_variance_, rtol=1e-9)
    assert_allclose(model.components_[:, 2], 0, atol=1e-9)
    flat = PCA().fit(np.full((9, 3), 0.1))
    assert_allclose(flat.explained_variance_, 0, atol=1e-30)
    assert np.isfinite(flat.explained_variance_ratio_).all()
    assert PCA(0.95).fit(np.full((9, 3), 0.1)).n_components_ >= 1


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scale_only_scales(scale):
    X = table()
    plain, scaled = PCA(3).fit(X), PCA(3).fit(X * scale)
    assert_allclose(scaled.components_, plain.components_, atol=1e-10)
    assert_allclose(scaled.singular_values_ / scale, plain.singular_values_)


# ------------------------------------------------------------------------ parts and merged models


@pytest.mark.parametrize("cuts", [[100], [7, 60], range(6, 200, 13)])
@pytest.mark.parametrize("wanted", [None, 3, 0.9])
def test_parts_make_the_whole(cuts, wanted):
    X = table()
    whole = PCA(wanted).fit(X)
    learner, merged = PCA(wanted), None
    for part in np.split(np.arange(200), cuts):
        learner.partial_fit(X[part])
        alone = PCA(wanted).partial_fit(X[part])
        merged = alone if merged is None else tenfold.merge(merged, alone)
    for joined in (learner, merged):
        same_components(joined, whole)
        assert joined.n_samples_ == 200
        assert_allclose(joined.statistic_.scatter, np.cov(X.T) * 199)
        assert_allclose(joined.transform(X), whole.transform(X), atol=1e-9)


def test_what_keeps_no_statistic_says_so():
    X = table()
    wide = PCA(2).fit(X[:4])
    assert wide.statistic_ is None
    with pytest.raises(TypeError, match="statistic"):
        wide.partial_fit(X)
    with pytest.raises(TypeError, match="statistic"):
        tenfold.merge(wide, wide)


def test_iris():
    X, _ = load_iris(return_X_y=True)
    ratio = PCA().fit(X).explained_variance_ratio_
    assert_allclose(ratio, [0.92461872, 0.05306648, 0.01710261, 0.00521218], atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "randomized"])
@pytest.mark.parametrize("wanted", [None, 19, 20])
def test_scores_without_noise_are_finite_and_prefer_rows_of_the_subspace(wanted, solver, dtype):
    X = np.random.default_rng(0).normal(size=(20, 40)).astype(dtype)
    model = PCA(wanted, svd_solver=solver, random_state=0).fit(X)
    off = X + 0.1 * np.random.default_rng(1).normal(size=X.shape).astype(dtype)
    assert np.isfinite(model.get_precision()).all()
    assert np.isfinite(model.score(off))
    assert model.score(X) > model.score(off)
    few = PCA(3, svd_solver=solver, random_state=0).fit(X)
    assert few.score(off) > model.score(off)  # what a search over n_components sees


def test_precision_is_the_inverse_of_the_covariance():
    X = table(200, 6)
    for wanted in (1, 3, 6, None):
        model = PCA(wanted).fit(X)
        product = model.get_precision() @ model.get_covariance()
        assert_allclose(product, np.eye(6), atol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_arpack_finds_scikit_learns_components(make):
    X = table(60, 20)
    ours = PCA(4, svd_solver="arpack", tol=1e-6, power_iteration_normalizer="QR").fit(make(X))
    theirs = decomposition.PCA(4, svd_solver="arpack", random_state=0).fit(X)
    same_components(ours, theirs)
    assert PCA(svd_solver="arpack").fit(X).n_components_ == 19
    for wanted in (20, 0.5, "mle"):
        with pytest.raises(ValueError, match="arpack"):
            PCA(wanted, svd_solver="arpack").fit(X)


@pytest.mark.parametrize("seed", range(4))
def test_a_share_that_is_reached_exactly_takes_one_component_more(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6)) @ rng.normal(size=(6, 6))
    for model in (PCA, decomposition.PCA):
        shares = model().fit(X).explained_variance_ratio_.cumsum()[:5]
        found = [model(n_components=share).fit(X).n_components_ for share in shares]
        assert found == [2, 3, 4, 5, 6]


def test_weights_are_repetitions():
    X = table(300, 6)
    w = np.random.default_rng(0).integers(0, 3, 300)
    for solver in ("auto", "full", "randomized"):
        weighted = PCA(3, svd_solver=solver, random_state=0).fit(X, sample_weight=w)
        repeated = PCA(3, svd_solver=solver, random_state=0).fit(np.repeat(X, w, axis=0))
        same_components(weighted, repeated)
        assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-9)


def test_sparse_rows_of_words():
    """tf-idf of texts in two groups: the first component tells them apart."""
    texts = ["cat dog pet", "dog cat fur", "pet fur cat"] * 5 + [
        "stock bond",
        "bond rate stock",
    ] * 5
    words = TfIdf().fit_transform(texts)
    model = PCA(2, random_state=0).fit(words)
    dense = PCA(2, svd_solver="full").fit(words.toarray())
    assert_allclose(model.components_[0], dense.components_[0], atol=1e-9)
    first = model.transform(words)[:, 0]
    assert abs(np.sign(first[:15]).sum()) == 15
    assert np.sign(first[0]) != np.sign(first[-1])


@pytest.mark.skipif("TENFOLD_DATA" not in os.environ, reason="needs the faces")
def test_faces_by_svd_and_by_em():
    """The first eigenvalue of Olivetti's faces, 18.840 (over n - 1), by three routes."""
    X = datasets.fetch_olivetti_faces(return_X_y=True)[0].astype(np.float64)
    exact = PCA(24, svd_solver="full").fit(X)
    assert exact.explained_variance_[0] == pytest.approx(18.840, abs=0.01)
    fast = PCA(24, random_state=0).fit(X)
    assert fast.explained_variance_[0] == pytest.approx(exact.explained_variance_[0], rel=1e-6)
    em = ProbabilisticPCA(3, algorithm="em", noise_variance=0, tol=1e-9, random_state=0).fit(X)
    assert_allclose(np.abs(em.components_ @ exact.components_[:3].T), np.eye(3), atol=1e-2)
