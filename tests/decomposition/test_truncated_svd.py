"""Truncated singular values against NumPy's, of dense, sparse, weighted and stored rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import decomposition

import tenfold
from tenfold import TruncatedSVD


def sparse_rows(n=600, p=900, rank=8, seed=0):
    """Sparse rows with a few large directions."""
    rng = np.random.default_rng(seed)
    blocks = np.kron(np.diag(np.arange(rank, 0, -1.0)), np.ones((n // rank, p // rank)))
    X = np.zeros((n, p))
    X[: blocks.shape[0], : blocks.shape[1]] = blocks
    return sparse.csr_array(X * (rng.random((n, p)) < 0.3))


def assert_is_svd(model, X, atol=1e-7):
    X = X.toarray() if sparse.issparse(X) else X
    values, Vt = np.linalg.svd(X, full_matrices=False)[1:]
    k = len(model.components_)
    assert_allclose(model.singular_values_, values[:k], rtol=1e-6)
    assert_allclose(np.abs((model.components_ * Vt[:k]).sum(axis=1)), 1, atol=atol)
    W = model.components_
    assert (W[np.arange(k), np.abs(W).argmax(axis=1)] > 0).all()
    Z = X @ W.T
    assert_allclose(model.explained_variance_, Z.var(axis=0), rtol=1e-9, atol=1e-12)
    share = Z.var(axis=0) / X.var(axis=0).sum()
    assert_allclose(model.explained_variance_ratio_, share, rtol=1e-8)


@pytest.mark.parametrize("algorithm", ["randomized", "arpack"])
@pytest.mark.parametrize("shape", [(300, 20), (30, 200), (50, 50)])
def test_dense_rows_of_few_columns_are_exact(algorithm, shape):
    X = np.random.default_rng(0).normal(size=shape) + 100  # far from zero: not centered
    assert_is_svd(TruncatedSVD(5, algorithm=algorithm, random_state=0).fit(X), X)


@pytest.mark.parametrize("algorithm", ["randomized", "arpack"])
def test_sparse_rows(algorithm, monkeypatch):
    X = sparse_rows()
    monkeypatch.setattr(sparse.csr_array, "toarray", None)  # nothing becomes dense
    options = {"algorithm": algorithm, "n_iter": 12, "random_state": 0}
    model = TruncatedSVD(6, **options).fit(X)
    Z = model.transform(X)
    monkeypatch.undo()
    assert_is_svd(model, X, atol=1e-6)
    assert_allclose(Z, X.toarray() @ model.components_.T, atol=1e-10)
    theirs = decomposition.TruncatedSVD(6, **options).fit(X)
    assert_allclose(model.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-6)
    assert_allclose(np.abs(model.components_), np.abs(theirs.components_), atol=1e-3)


def test_more_iterations_come_closer_and_arpack_arrives():
    X = sparse.random_array((700, 600), density=0.02, format="csr", rng=np.random.default_rng(0))
    true = np.linalg.svd(X.toarray(), compute_uv=False)[:3]

    def error(**options):
        return np.abs(
            TruncatedSVD(3, random_state=0, **options).fit(X).singular_values_ - true
        ).max()

    errors = [error(n_iter=t) for t in (0, 2, 8)]
    assert errors[0] > errors[1] > errors[2]
    assert error(algorithm="arpack") < 1e-9
    assert error(algorithm="arpack") < error(algorithm="arpack", tol=0.1)


def test_the_same_from_a_file_and_with_weights(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 8))
    np.save(tmp_path / "X.npy", X)
    model = TruncatedSVD(3, random_state=0).fit(X)
    stored = TruncatedSVD(3, random_state=0).fit(tmp_path / "X.npy")
    assert_array_equal(stored.components_, model.components_)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = TruncatedSVD(3).fit(tenfold.open(X, weight=w.astype(float)))
    named = TruncatedSVD(3).fit(X, sample_weight=w)
    assert_array_equal(named.components_, weighted.components_)
    repeated = TruncatedSVD(3).fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.components_, repeated.components_, atol=1e-9)
    assert_allclose(weighted.explained_variance_, repeated.explained_variance_)


def test_back_and_names():
    X = np.random.default_rng(0).normal(size=(50, 4))
    model = TruncatedSVD(4).fit(X)
    assert_allclose(model.inverse_transform(model.transform(X)), X)
    assert model.get_feature_names_out().tolist() == [f"truncatedsvd{i}" for i in range(4)]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_number_of_components(kind):
    X = kind(np.random.default_rng(0).normal(size=(5, 9)))
    with pytest.raises(ValueError, match=r"n_components\(10\) must be <= n_features\(9\)"):
        TruncatedSVD(10).fit(X)
    with pytest.raises(ValueError, match="algorithm='randomized'"):
        TruncatedSVD(5, algorithm="arpack").fit(X)
    assert TruncatedSVD(8, random_state=0).fit(X).components_.shape == (5, 9)  # as many as rows
