"""Variants that rows of the syllabus name and that no test of their family shows on their own."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import Ellipse

from tenfold import (
    PCA,
    GaussianMixture,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    PolynomialFeatures,
    Ridge,
    search,
    validation_curve,
)
from tenfold.cluster import knee, random_rows
from tenfold.datasets import load_iris, make_blobs, make_sine
from tenfold.mixture import GaussianParameters
from tenfold.optim import alternating_minimization, newton, newton_cg
from tenfold.plot import ValidationCurveDisplay, em_steps, mixture
from tenfold.teaching import autodiff, e_step, m_step

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def test_conjugate_gradients_take_newtons_step():  # O03
    A = RNG.normal(size=(30, 4))

    def f(x):
        return np.logaddexp(0, A @ x).sum() + x @ x, A.T @ (1 / (1 + np.exp(-A @ x))) + 2 * x

    def hessian(x):
        p = 1 / (1 + np.exp(-A @ x))
        return (A.T * (p * (1 - p))) @ A + 2 * np.eye(4)

    by_products = newton_cg(f, lambda x, v: hessian(x) @ v, np.zeros(4), tol=1e-10)
    by_matrix = newton(lambda x: (*f(x), hessian(x)), np.zeros(4), tol=1e-10)
    assert_allclose(by_products.x, by_matrix.x, atol=1e-7)
    assert_allclose(f(by_products.x)[1], 0, atol=1e-6)


def test_random_rows_are_rows_drawn_by_weight():  # C02
    X = np.arange(6.0)[:, None]
    weights = np.array([0.0, 1, 1, 1, 1, 1])
    for _ in range(20):
        drawn = random_rows(X, weights, 3, RNG).ravel()
        assert set(drawn) <= {1, 2, 3, 4, 5}
        assert len(set(drawn)) == 3


def test_users_without_ratings_belong_by_the_weights():  # G07
    X = np.array([[1.0, 5], [1, 4], [5, 1], [np.nan, np.nan], [4, np.nan]])
    start = {
        "weights_init": [0.7, 0.3],
        "means_init": [[1.0, 5], [5, 1]],
        "precisions_init": [1, 1],
    }
    model = GaussianMixture(2, covariance_type="spherical", min_variance=0.25, **start).fit(X)
    assert_allclose(model.predict_proba(X)[3], model.weights_)
    assert_allclose(model.impute(X)[3], model.weights_ @ model.means_)
    assert (model.covariances_ >= 0.25).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_degrees_ranks_and_units_are_searched():  # S06
    X, y = make_sine(60, noise=0.1, random_state=0)
    curve = make_pipeline(PolynomialFeatures(), LinearRegression())
    degree = search(curve, {"polynomialfeatures__degree": [1, 3, 15]}, X, y, folds=5)
    assert degree.best_params_ == {"polynomialfeatures__degree": 3}
    data, labels = load_iris(return_X_y=True)
    order = RNG.permutation(150)
    data, labels = data[order], labels[order]
    ranked = make_pipeline(PCA(), LogisticRegression(tol=1e-2))
    rank = search(ranked, {"pca__n_components": [1, 3]}, data, labels, folds=3)
    assert rank.best_params_ == {"pca__n_components": 3}
    corners = RNG.uniform(-1, 1, (150, 2))
    sides = (corners[:, 0] * corners[:, 1] > 0).astype(int)
    net = MLPClassifier(activation="tanh", solver="lbfgs", max_iter=300, random_state=0)
    units = search(net, {"hidden_layer_sizes": [(1,), (8,)]}, corners, sides, folds=3)
    assert units.best_params_ == {"hidden_layer_sizes": (8,)}


def test_curves_of_settings_are_drawn():  # S03
    X, y = make_sine(40, noise=0.2, random_state=0)
    values = [0.01, 1.0, 100.0]
    shown = ValidationCurveDisplay.of_setting(Ridge(), "alpha", values, X, y, folds=4)
    curve = validation_curve(Ridge(), "alpha", values, X, y, folds=4)
    train, test = (np.asarray(line.get_ydata()) for line in shown.lines_)
    assert_allclose(train, np.asarray(curve.train).mean(axis=1))
    assert_allclose(test, np.asarray(curve.test).mean(axis=1))
    assert shown.ax_.get_xlabel() == "alpha"


def test_steps_of_em_are_drawn_with_their_ellipses():  # D31
    X = np.r_[RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2)) + 4]
    start = GaussianParameters(np.full(2, 0.5), X[[0, 40]], np.tile(np.eye(2), (2, 1, 1)))
    axes = em_steps(X, start, iterations=(0, 1, 3))
    *panels, trace = np.ravel(axes)
    assert len(panels) == 3
    now, heights = start, []
    for _ in range(4):
        R, likelihood = e_step(X, now)
        heights.append(likelihood.mean())
        now = m_step(X, R, now)
    drawn = trace.get_lines()[0].get_ydata()
    assert_allclose(drawn[: len(heights)], heights[: len(drawn)], rtol=1e-6)
    centers = [p.get_center() for p in panels[0].patches if isinstance(p, Ellipse)]
    assert_allclose(np.unique(centers, axis=0), np.unique(start.means, axis=0))


def test_mixtures_are_drawn_at_their_means():  # D31
    X = np.r_[RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2)) + 6]
    model = GaussianMixture(2, random_state=0).fit(X)
    ax = mixture(model, X)
    ellipses = [p.get_center() for p in ax.patches if isinstance(p, Ellipse)]
    assert_allclose(np.unique(ellipses, axis=0), np.unique(model.means_, axis=0))
    assert_array_equal(len(ax.collections[0].get_offsets()), 60)


def test_fishers_identity_in_the_means():  # G06
    """The gradient of log p(x) is the expected gradient of log p(x, z) under the posterior."""
    X = RNG.normal(size=(25, 2)) * 2
    mix = GaussianParameters(np.array([0.3, 0.7]), X[:2], np.array([0.8, 1.5]))
    R, _ = e_step(X, mix, "spherical")
    expected = [(R[:, [k]] * (X - mix.means[k])).sum(axis=0) / mix.covariances[k] for k in range(2)]

    def likelihood(flat):
        moved = mix._replace(means=flat.reshape(2, 2))
        return e_step(X, moved, "spherical")[1].sum()

    found = autodiff.numerical_gradient(likelihood, mix.means.ravel())
    assert_allclose(found.reshape(2, 2), expected, rtol=1e-5)


def test_blobs_are_scattered_about_their_centres():  # X06
    X, y = make_blobs(300, centers=[[0.0, 0], [9, 9]], cluster_std=0.5, random_state=0)
    assert_allclose([X[y == k].mean(axis=0) for k in (0, 1)], [[0, 0], [9, 9]], atol=0.2)
    assert_allclose(X[y == 0].std(), 0.5, atol=0.1)


def test_pca_is_a_minimum_over_orthonormal_columns():  # F01
    """min |X - Z W'| with W'W = I, by turns: codes for given columns, columns for given codes."""
    X = load_iris().data - load_iris().data.mean(axis=0)

    def nearest_columns(b):
        U, _, Vt = np.linalg.svd(X.T @ b["Z"], full_matrices=False)
        return U @ Vt

    steps = {"Z": lambda b: X @ b["W"], "W": nearest_columns}
    start = {"Z": np.zeros((150, 2)), "W": np.linalg.qr(RNG.normal(size=(4, 2)))[0]}
    found = alternating_minimization(
        steps, start, lambda b: ((X - b["Z"] @ b["W"].T) ** 2).sum(), tol=1e-13, max_iter=2000
    )
    model = PCA(2).fit(X)
    left = ((X - model.inverse_transform(model.transform(X))) ** 2).sum()
    assert_allclose(found.cost, left, rtol=1e-6)
    W = found.blocks["W"]
    assert_allclose(W @ W.T, model.components_.T @ model.components_, atol=1e-3)


def test_components_at_the_knee_of_the_error():  # F01
    rows = RNG.normal(size=(200, 2)) @ RNG.normal(size=(2, 8)) * 5 + 0.1 * RNG.normal(size=(200, 8))
    variances = PCA().fit(rows).explained_variance_
    left = variances.sum() - np.cumsum(variances)
    assert knee(range(1, 9), left) == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_components_before_a_network():  # F01
    data, labels = load_iris(return_X_y=True)
    pipe = make_pipeline(PCA(2, whiten=True), MLPClassifier(8, solver="lbfgs", random_state=0))
    assert pipe.fit(data, labels).score(data, labels) > 0.9
    assert pipe[-1].coefs_[0].shape == (2, 8)
