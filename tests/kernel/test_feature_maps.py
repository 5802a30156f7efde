"""Explicit features and Mercer's condition, with the worked numbers of the notes."""

from math import comb

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from tenfold import kernel as tk

X = np.random.default_rng(0).normal(size=(12, 3))

FINITE = [
    tk.ConstantKernel(2.5),
    tk.LinearKernel(),
    tk.DotProduct(1.5),
    tk.PolynomialKernel(3, 0.5, 2.0),
    tk.PolynomialKernel(2, coef0=0.0),
    tk.QuadraticKernel(),
    tk.CosineKernel(),
    tk.LinearKernel() + tk.LinearKernel() ** 2,
    tk.LinearKernel() * tk.QuadraticKernel() + 1.0,
    tk.FunctionScaledKernel(tk.PolynomialKernel(2), lambda rows: 1 + rows[:, 0] ** 2),
]


@pytest.mark.parametrize("kernel", FINITE, ids=lambda kernel: type(kernel).__name__)
def test_dot_products_of_features_are_kernel_values(kernel):
    phi = tk.explicit_features(kernel, 3)
    assert kernel.feature_map(3).n_outputs == phi.n_outputs
    features = phi(X)
    assert features.shape == (12, phi.n_outputs)
    np.testing.assert_allclose(features @ features.T, kernel(X), rtol=1e-12, atol=1e-12)
    assert tk.check_gram(kernel, X)


def test_number_of_monomials():
    assert tk.PolynomialKernel(2).feature_map(2).n_outputs == comb(4, 2)
    assert [tk.PolynomialKernel(q).feature_map(d).n_outputs for d, q in ((2, 3), (10, 3))] == [
        10,
        286,
    ]
    assert tk.explicit_features(tk.QuadraticKernel(), 2).n_outputs == 5


def test_features_of_the_notes():
    x = np.array([[1.0, 2.0]])
    root = np.sqrt(2)
    np.testing.assert_allclose(
        tk.PolynomialKernel(2).feature_map(2)(x)[0], [1, root, 2 * root, 1, 2 * root, 4]
    )
    np.testing.assert_allclose(tk.QuadraticKernel().feature_map(2)(x)[0], [1, 2, 1, 2 * root, 4])
    z = np.array([[3.0, -1.0]])
    assert tk.QuadraticKernel()(x, z).item() == 2.0
    assert tk.PolynomialKernel(2)(x, z).item() == 4.0


def test_the_series_of_rbf_has_the_errors_of_the_notes():
    x, z, kernel = [[0.8]], [[-1.1]], tk.RBF(1.3)
    for terms, error in ((2, -6.6e-2), (5, 1.7e-4), (10, -2.2e-10), (20, 0.0)):
        phi = tk.rbf_series(kernel, 1, degree=terms - 1)
        found = (phi(x) @ phi(z).T - kernel(x, z)).item()
        assert found == pytest.approx(error, rel=0.05, abs=1e-15)
    phi = tk.rbf_series(tk.RBF(1.3), 3, degree=25)
    np.testing.assert_allclose(phi(X) @ phi(X).T, kernel(X), atol=1e-9)


def test_what_has_no_features_says_so():
    for kernel in (tk.RBF(), tk.SigmoidKernel(), tk.LinearKernel() ** 0.5):
        with pytest.raises(TypeError, match="no finite feature map"):
            kernel.feature_map(2)
    with pytest.raises(ValueError, match="one length scale"):
        tk.rbf_series(tk.RBF([1.0, 2.0]), 2, 3)
    with pytest.raises(ValueError, match="use the kernel"):
        tk.PolynomialKernel(12).feature_map(100)
    with pytest.raises(TypeError, match="series of an RBF kernel"):
        tk.rbf_series(tk.Matern(), 2, 3)
    with pytest.raises(TypeError, match="take its method `counts`"):
        tk.SetIntersectionKernel().feature_map(2)


def test_the_series_of_a_kernel_of_scikit_learn():
    np.testing.assert_array_equal(
        tk.rbf_series(RBF(0.7), 3, 4)(X), tk.rbf_series(tk.RBF(0.7), 3, 4)(X)
    )


@pytest.mark.parametrize("kernel", FINITE, ids=lambda kernel: type(kernel).__name__)
def test_a_map_takes_rows_of_its_columns_alone(kernel):
    with pytest.raises(ValueError, match="made for rows of 2"):
        kernel.feature_map(2)(X)
    with pytest.raises(ValueError, match="row 0, column 1"):
        kernel.feature_map(2)([[1.0, np.nan]])


def test_a_violating_vector_is_found():
    found = tk.check_gram(tk.SigmoidKernel(1.0, -1.0), X)
    K = tk.SigmoidKernel(1.0, -1.0)(X)
    assert not found
    assert found.vector @ K @ found.vector == pytest.approx(found.value)
    assert found.value < 0
    additive = tk.check_gram(tk.AdditiveChi2Kernel(), np.abs(X))
    assert not additive
    assert abs(additive.vector.sum()) > 1e-3
    crooked = tk.check_gram(np.array([[2.0, 0.0], [0.5, 2.0]]))
    assert not crooked
    assert crooked.asymmetric_pair in {(0, 1), (1, 0)}
    assert crooked.vector is None
    with pytest.raises(ValueError, match="square"):
        tk.check_gram(np.ones((2, 3)))
    with pytest.raises(ValueError, match="not empty"):
        tk.check_gram(np.empty((0, 0)))
    for kernel in (tk.RBF(), "rbf", min):
        with pytest.raises(TypeError, match="needs rows"):
            tk.check_gram(kernel)


def test_the_periodic_kernel_of_several_columns_is_none():
    assert tk.check_gram(tk.ExpSineSquared(), X[:, :1])
    assert not tk.check_gram(tk.ExpSineSquared(0.3), X)


@pytest.mark.parametrize(
    "kernel", [tk.RBF(), tk.Matern(), tk.LaplacianKernel(), tk.RationalQuadratic()], ids=repr
)
def test_kernels_pass_with_repeated_rows(kernel):
    assert tk.check_gram(kernel, np.repeat(X, 3, axis=0))
