"""Incremental PCA: the exact fold, in any batches, of wide, narrow, sparse and weighted rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import decomposition

import tenfold
from tenfold import PCA, IncrementalPCA


def table(n=200, p=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 10 * rng.normal(size=p)


def assert_same_model(a, b, atol=1e-8):
    real = b.explained_variance_ > 1e-12 * b.explained_variance_[0]
    assert_allclose(a.components_[real], b.components_[real], atol=atol)
    assert_allclose(a.explained_variance_, b.explained_variance_, rtol=1e-9, atol=atol)
    assert_allclose(a.explained_variance_ratio_, b.explained_variance_ratio_, atol=1e-10)
    assert_allclose(a.mean_, b.mean_, rtol=1e-10)
    assert_allclose(a.noise_variance_, b.noise_variance_, rtol=1e-9, atol=atol)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 90),
    st.integers(1, 12),
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.integers(0, 99),
)
def test_any_batches_give_the_components_of_all_rows(n, p, sizes, seed):
    """Also batches of one row, and of fewer rows than columns or components."""
    X = table(n, p, seed)
    cuts = np.cumsum(sizes)
    model = IncrementalPCA()
    for batch in np.split(X, cuts[cuts < n]):
        model.partial_fit(batch)
    assert_same_model(model, PCA(svd_solver="full").fit(X), atol=1e-7)
    assert model.n_samples_seen_ == n
    assert_allclose(model.var_, X.var(axis=0), rtol=1e-9, atol=1e-12)


def test_is_scikit_learns_where_that_is_exact():
    X = table()
    ours, theirs = IncrementalPCA(6).fit(X), decomposition.IncrementalPCA(6).fit(X)
    for name in ("mean_", "var_", "explained_variance_", "singular_values_", "components_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10)
    assert ours.n_samples_seen_ == theirs.n_samples_seen_
    assert ours.batch_size_ == theirs.batch_size_ == 30
    few = decomposition.IncrementalPCA(2, batch_size=20).fit(X)
    exact = PCA(2).fit(X).components_
    errors = [np.abs(m.components_ - exact).max() for m in (IncrementalPCA(2).fit(X), few)]
    assert errors[0] < 1e-10 < errors[1]  # theirs discards directions after each batch


def test_small_components_keep_their_digits():
    """Second moments would lose a variance of 1e-14 of the largest; the factor does not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) * [1.0, 1.0, 1e-7]
    model = IncrementalPCA()
    for batch in np.array_split(X, 9):
        model.partial_fit(batch)
    assert_allclose(model.explained_variance_[2], X[:, 2].var(ddof=1), rtol=1e-2)


def test_sparse_rows_whitening_and_back():
    X = sparse.random_array((300, 40), density=0.2, format="csr", rng=np.random.default_rng(0))
    model = IncrementalPCA(10).fit(X)
    assert_same_model(model, PCA(10).fit(X.toarray()))
    parts = IncrementalPCA(10).partial_fit(X[:111]).partial_fit(X[111:])
    assert_same_model(parts, model)
    white = IncrementalPCA(5, whiten=True).fit(table())
    Z = white.transform(table())
    assert_allclose(np.cov(Z.T), np.eye(5), atol=1e-9)
    assert_allclose(
        white.inverse_transform(Z),
        PCA(5).fit(table()).inverse_transform(PCA(5).fit_transform(table())),
        atol=1e-8,
    )


def test_weights_and_merging():
    X, w = table(), np.random.default_rng(1).integers(0, 3, 200).astype(float)
    weighted = IncrementalPCA(3).fit(tenfold.open(X, weight=w))
    repeated = PCA(3).fit(np.repeat(X, w.astype(int), axis=0))
    assert_allclose(weighted.components_, repeated.components_, atol=1e-9)
    a, b = IncrementalPCA(3).fit(X[:50]), IncrementalPCA(3).fit(X[50:])
    assert_same_model(tenfold.merge(a, b), PCA(3).fit(X))


def test_number_of_components():
    X = table()
    with pytest.raises(ValueError, match="invalid for n_features=6"):
        IncrementalPCA(7).fit(X)
    with pytest.raises(ValueError, match="batch number of samples 3"):
        IncrementalPCA(4).partial_fit(X[:3])
    grown = IncrementalPCA().partial_fit(X[:3])
    assert grown.n_components_ == 3
    assert grown.partial_fit(X[3:]).n_components_ == 6
    with pytest.raises(ValueError, match="features"):
        grown.partial_fit(X[:, :3])
