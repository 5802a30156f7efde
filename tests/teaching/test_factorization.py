"""The frame of factorizations: what each method's sets say, and what they leave open."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from tenfold import PCA, FactorAnalysis, FastICA, KMeans, ProbabilisticPCA, TruncatedSVD
from tenfold.teaching import factor_pair, factorization_methods, mix_factors

X = load_digits().data[:300]


def test_each_pair_is_what_its_model_restores():
    for model in (PCA(5), FastICA(5, random_state=0), ProbabilisticPCA(5), FactorAnalysis(5)):
        pair = factor_pair(model.fit(X), X)
        assert_allclose(pair.product, model.inverse_transform(model.transform(X)), atol=1e-8)
        assert pair.W.shape == (64, 5)
        assert pair.Z.shape == (5, 300)
    svd = TruncatedSVD(5).fit(X)
    assert_allclose(factor_pair(svd, X).product, svd.inverse_transform(svd.transform(X)))


def test_pca_has_orthonormal_columns_and_uncorrelated_codes():
    pair = factor_pair(PCA(5).fit(X), X)
    assert_allclose(pair.W.T @ pair.W, np.eye(5), atol=1e-10)
    products = pair.Z @ pair.Z.T
    assert_allclose(products, np.diag(products.diagonal()), atol=1e-6)
    assert (np.diff(products.diagonal()) < 0).all()


def test_k_means_has_codes_with_a_single_one_and_its_inertia_is_the_cost():
    model = KMeans(5, random_state=0).fit(X)
    pair = factor_pair(model, X)
    assert set(np.unique(pair.Z)) == {0.0, 1.0}
    assert_allclose(pair.Z.sum(axis=0), 1)
    assert ((X - pair.product) ** 2).sum() == pytest.approx(model.inertia_, rel=1e-9)


def test_inference_of_ica_has_a_matrix_of_its_own():
    model = FastICA(5, random_state=0).fit(X)
    pair = factor_pair(model, X)
    by_formula = model.components_ @ (X.T - pair.offset)
    assert_allclose(pair.Z, by_formula, atol=1e-8)
    assert not np.allclose(model.components_, pair.W.T)


def test_mixed_factors_have_the_same_product_and_leave_the_sets():
    pair = factor_pair(PCA(4).fit(X), X)
    C = np.random.default_rng(0).normal(size=(4, 4))
    mixed = mix_factors(pair, C)
    assert_allclose(mixed.product, pair.product, atol=1e-8)
    assert not np.allclose(mixed.W.T @ mixed.W, np.eye(4), atol=0.1)
    turned = mix_factors(pair, np.linalg.qr(C)[0])
    assert_allclose(turned.W.T @ turned.W, np.eye(4), atol=1e-10)
    products = turned.Z @ turned.Z.T  # orthonormal columns alone allow every rotation
    assert np.abs(products - np.diag(products.diagonal())).max() > 1


def test_pca_and_ica_learn_other_dictionaries_of_one_subspace():
    by_pca, by_ica = (factor_pair(m.fit(X), X) for m in (PCA(5), FastICA(5, random_state=0)))
    assert_allclose(by_pca.product, by_ica.product, atol=1e-6)
    C = np.linalg.lstsq(by_pca.W, by_ica.W, rcond=None)[0]
    assert_allclose(mix_factors(by_pca, C).W, by_ica.W, atol=1e-6)
    assert not np.allclose(np.abs(C), np.diag(np.abs(C).max(axis=0)), atol=0.1)


def test_the_table_says_where_inference_is_a_formula():
    formulas = {name for name, method in factorization_methods().items() if method.is_formula}
    assert formulas == {"PCA", "k-means", "ICA"}


def test_what_has_no_dictionary_is_refused():
    with pytest.raises(ValueError, match="invertible"):
        mix_factors(factor_pair(PCA(3).fit(X), X), np.ones((3, 3)))

    class Identity:
        def transform(self, X):
            return X

    with pytest.raises(TypeError, match="no dictionary"):
        factor_pair(Identity(), X)
