"""Gaussian processes in files: whose kernels they hold, and which they refuse."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

import tenfold
from tenfold import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    SparseGaussianProcessRegressor,
    StateSpaceGaussianProcessRegressor,
)
from tenfold.kernel import RBF, SpectrumKernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=30)
FOREIGN = sk.ConstantKernel(2.0) * sk.RBF([1.0, 2.0])
MODELS = [
    GaussianProcessRegressor(FOREIGN + sk.WhiteKernel(0.1) + sk.DotProduct() ** 2),
    GaussianProcessRegressor(sk.PairwiseKernel(metric="laplacian"), alpha=0.1),
    GaussianProcessClassifier(FOREIGN + sk.RationalQuadratic() * sk.ExpSineSquared()),
    GaussianProcessClassifier(FOREIGN, multi_class="softmax"),
    SparseGaussianProcessRegressor(FOREIGN + sk.Matern(), n_inducing=5),
    StateSpaceGaussianProcessRegressor(sk.Matern() + sk.WhiteKernel(0.1)),
]


def fit(model):
    rows = X[:, :1] if isinstance(model, StateSpaceGaussianProcessRegressor) else X
    classes = np.digitize(Y, [-0.5, 0.5])
    target = classes if isinstance(model, GaussianProcessClassifier) else Y
    return rows, model.set_params(optimizer=None).fit(rows, target)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_kernels_of_scikit_learn_are_saved(model, tmp_path):
    rows, fitted = fit(model)
    fitted.save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    np.testing.assert_array_equal(loaded.predict(rows), fitted.predict(rows))
    assert loaded.kernel == model.kernel
    assert loaded.kernel_ == fitted.kernel_


def test_models_of_words_are_saved(tmp_path):
    words = ["abba", "baba", "cdcd", "dcdc"]
    for model in (GaussianProcessRegressor, GaussianProcessClassifier):
        fitted = model(SpectrumKernel(2)).set_params(optimizer=None)
        fitted.fit(words, [0, 0, 1, 1]).save(tmp_path / "model.tenfold")
        loaded = tenfold.load(tmp_path / "model.tenfold")
        np.testing.assert_array_equal(loaded.predict(words), fitted.predict(words))


@pytest.mark.parametrize(
    "model",
    [
        GaussianProcessRegressor(RBF([1.0, 1.0]), alpha=0.1),
        GaussianProcessClassifier(RBF([1.0, 1.0])),
        SparseGaussianProcessRegressor(RBF([1.0, 1.0]), n_inducing=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_length_scales_for_other_columns_are_refused(model, tmp_path):
    _, fitted = fit(model)
    parts = getattr(fitted, "laplace_", None)
    kernel = parts[0].kernel if parts else fitted.kernel_
    kernel.length_scale = np.ones(3)
    with pytest.raises(ValueError, match="kernel_ does not fit the rows"):
        fitted.save(tmp_path / "model.tenfold")


def test_approximations_that_do_not_fit_are_refused(tmp_path):
    _, fitted = fit(GaussianProcessClassifier(multi_class="softmax"))
    fitted.laplace_[0] = fitted.laplace_[0]._replace(E=fitted.laplace_[0].E[:2])
    with pytest.raises(ValueError, match=r"laplace_\[0\].E is not an array of shape"):
        fitted.save(tmp_path / "model.tenfold")
