"""Kernel PCA: linear kernel = PCA, scikit-learn's numbers, weights, the way back."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import KernelPCA as TheirKernelPCA

from tenfold import PCA, KernelPCA
from tenfold.kernel import RBF

RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 4)) @ RNG.normal(size=(4, 4))


def same_up_to_signs(a, b, **tolerance):
    signs = np.sign((a * b).sum(axis=0))
    np.testing.assert_allclose(a, b * signs, **tolerance)


def test_a_linear_kernel_gives_principal_components():
    same_up_to_signs(KernelPCA(3).fit_transform(X), PCA(3).fit_transform(X), atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine", "precomputed"])
@pytest.mark.parametrize("solver", ["dense", "arpack", "randomized"])
def test_components_are_those_of_scikit_learn(kernel, solver):
    A, B = (X, X[:9] + 0.1) if kernel != "precomputed" else (RBF()(X), RBF()(X[:9] + 0.1, X))
    ours = KernelPCA(3, kernel=kernel, gamma=0.1, eigen_solver=solver, random_state=0).fit(A)
    theirs = TheirKernelPCA(3, kernel=kernel, gamma=0.1, eigen_solver="dense").fit(A)
    loose = {"rtol": 1e-3, "atol": 1e-3} if solver == "randomized" else {"atol": 1e-8}
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, **loose)
    same_up_to_signs(ours.transform(B), theirs.transform(B), **loose)


def test_weights_are_repetitions():
    w = RNG.integers(0, 3, 60)
    a = KernelPCA(3, kernel="rbf").fit(X, sample_weight=w.astype(float))
    b = KernelPCA(3, kernel="rbf").fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(a.transform(X), b.transform(X), atol=1e-9)


def test_the_way_back():
    ours = KernelPCA(3, kernel="rbf", fit_inverse_transform=True, alpha=0.01).fit(X)
    theirs = TheirKernelPCA(3, kernel="rbf", fit_inverse_transform=True, alpha=0.01).fit(X)
    Z = theirs.transform(X[:8])
    signs = np.sign((ours.transform(X) * theirs.transform(X)).sum(axis=0))
    np.testing.assert_allclose(
        ours.inverse_transform(Z * signs), theirs.inverse_transform(Z), atol=1e-7
    )
    assert np.abs(ours.inverse_transform(ours.transform(X)) - X).mean() < np.abs(X).mean()
    with pytest.raises(ValueError, match="precomputed"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(RBF()(X))


def test_sparse_rows_and_all_components():
    S = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    same_up_to_signs(
        KernelPCA(2, kernel="rbf").fit_transform(S),
        KernelPCA(2, kernel="rbf").fit_transform(S.toarray()),
        atol=1e-9,
    )
    model = KernelPCA().fit(X)
    assert model.eigenvalues_.shape == (4,)
    assert model.get_feature_names_out().tolist() == [f"kernelpca{i}" for i in range(4)]
    assert KernelPCA(20, remove_zero_eig=True).fit(X).eigenvectors_.shape == (60, 4)


def test_default_fits_are_the_same_bits():
    rows = np.random.default_rng(1).normal(size=(300, 4))  # enough rows for an iteration
    first, second = (KernelPCA(2, kernel="rbf").fit_transform(rows) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_kernel_values_that_are_not_finite_are_named():
    with pytest.raises(ValueError, match="kernel value of rows 0 and 0 is inf"):
        KernelPCA(kernel="poly", degree=9).fit(1e40 * np.abs(X))


def test_rows_that_are_all_apart():
    """The kernel matrix is the identity, with equal eigenvalues."""
    model = KernelPCA(2, kernel="rbf", gamma=1e9).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, 1.0)
    assert np.isfinite(model.transform(X)).all()
