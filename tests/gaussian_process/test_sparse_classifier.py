"""Sparse Gaussian-process classification: Laplace's at the limit, and folds elsewhere."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import tenfold
from tenfold import GaussianProcessClassifier, SparseGaussianProcessClassifier
from tenfold.engine.arrays import ArraySource
from tenfold.engine.rows import Rows
from tenfold.gaussian_process._sparse_laplace import LabelProblem, evaluate
from tenfold.kernel import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

KERNEL = ConstantKernel(2.0) * Matern([1.0, 2.0, 1.5], nu=1.5)


def make_rows(n=120, classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, [0.0] if classes == 2 else [-0.7, 0.5])


def fixed(Z, kernel=KERNEL, **options):
    return SparseGaussianProcessClassifier(kernel, inducing=Z, optimizer=None, **options)


@pytest.mark.parametrize(
    ("classes", "multi_class"),
    [(2, "one_vs_rest"), (3, "one_vs_rest"), (3, "one_vs_one"), (3, "softmax")],
)
def test_all_rows_as_inducing_points_are_the_exact_approximation(classes, multi_class):
    X, y = make_rows(classes=classes)
    labels = np.array(["no", "some", "all"])[y]
    exact = GaussianProcessClassifier(KERNEL, optimizer=None, multi_class=multi_class)
    exact.fit(X, labels)
    model = fixed(X, multi_class=multi_class).fit(X, labels)
    evidence = exact.log_marginal_likelihood_value_
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, evidence, rtol=1e-9)
    rows = np.random.default_rng(1).normal(size=(40, 3))
    assert model.predict(rows).tolist() == exact.predict(rows).tolist()
    if multi_class == "one_vs_one":
        with pytest.raises(ValueError, match="one_vs_one multi-class mode does not support"):
            model.predict_proba(rows)
        return
    expected = exact.predict_proba(rows)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-7)
    if classes == 2:
        moments = model.latent_mean_and_variance(rows)
        np.testing.assert_allclose(moments, exact.latent_mean_and_variance(rows), atol=1e-6)


def test_the_evidence_is_that_of_the_formula():
    X, y = make_rows(60)
    Z = X[:8] + 0.1
    K = KERNEL(X, Z)
    A = np.linalg.solve(np.linalg.cholesky(KERNEL(Z)), K.T)

    def loss(v):
        return np.logaddexp(0.0, (1 - 2 * y) * (A.T @ v)).sum() + 0.5 * v @ v

    found = minimize(loss, np.zeros(8), tol=1e-12)
    pi = expit(A.T @ found.x)
    W = pi * (1 - pi)
    missed = KERNEL.diag(X) - np.square(A).sum(axis=0)
    expected = -found.fun - 0.5 * (np.linalg.slogdet(np.eye(8) + (A * W) @ A.T)[1] + W @ missed)
    model = fixed(Z).fit(X, y)
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("problem", "classes"),
    [(LabelProblem(1, 1), 2), (LabelProblem(1, 2, 0), 3), (LabelProblem(3), 3)],
)
@pytest.mark.parametrize("kernel", [KERNEL, (DotProduct(0.5) + RBF(1.5)) ** 2], ids=str)
def test_gradient_is_that_of_differences(problem, classes, kernel):
    X, y = make_rows(80, classes)
    w = np.random.default_rng(2).integers(0, 3, 80).astype(float)
    rows, Z = Rows(ArraySource(X, y, w)), X[:10] + 0.1

    def evidence(theta):
        at = kernel.clone_with_theta(theta)
        return evaluate(rows, at, Z, problem, None, 100, eval_gradient=False)[0].log_evidence

    found, gradient = evaluate(rows, kernel, Z, problem, None, 100, eval_gradient=True)
    assert found.converged
    moves = 1e-4 * np.eye(kernel.n_dims)  # modes are known to 1e-10 of the objective
    expected = [evidence(kernel.theta + e) - evidence(kernel.theta - e) for e in moves]
    expected = np.array(expected) / 2e-4
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)


def test_weights_are_repetitions():
    X, y = make_rows(100, 3)
    w = np.random.default_rng(3).integers(0, 4, 100)
    repeated = np.repeat(np.arange(100), w)
    for multi_class in ("one_vs_rest", "softmax"):
        model = fixed(X[:15], multi_class=multi_class)
        weighted = model.fit(X, y, sample_weight=w).predict_proba(X)
        np.testing.assert_allclose(
            weighted, model.fit(X[repeated], y[repeated]).predict_proba(X), rtol=1e-7
        )


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 2))
    y = (np.linalg.norm(X, axis=1) > 1.2) ^ (rng.uniform(size=3000) < 0.05)
    options = {"n_inducing": 25, "random_state": 0}
    return X, y, SparseGaussianProcessClassifier(ConstantKernel() * RBF(1.0), **options).fit(X, y)


def test_a_fit_maximizes_the_evidence_and_finds_rings(rings):
    X, _, model = rings
    assert model.converged_
    assert np.all(np.diff(model.history_["objective"]) < 1e-6)
    start = -model.history_["objective"][0]
    assert model.log_marginal_likelihood_value_ > start
    truth = np.linalg.norm(X, axis=1) > 1.2
    assert np.mean(model.predict(X) == truth) > 0.97
    p = model.predict_proba(X)[:, 1]
    near_edge = np.abs(np.linalg.norm(X, axis=1) - 1.2) > 0.3
    assert abs(p[near_edge & truth].mean() - 0.95) < 0.02  # labels were flipped


def test_files_and_saved_models_give_the_same_bits(rings, tmp_path):
    X, y, model = rings
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    rows = tenfold.open(tmp_path / "rows.npy", target=2)
    kernel = ConstantKernel() * RBF(1.0)
    options = {"n_inducing": 25, "random_state": 0, "max_iter_optimizer": 2}
    with pytest.warns(match="failed to converge"):
        here = SparseGaussianProcessClassifier(kernel, **options).fit(X, y.astype(float))
    with pytest.warns(match="failed to converge"), tenfold.threads(2):
        there = SparseGaussianProcessClassifier(kernel, **options).fit(rows)
    np.testing.assert_array_equal(here.predict_proba(X), there.predict_proba(X))
    model.save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.kernel_ == model.kernel_


def test_what_cannot_be_is_refused(monkeypatch):
    X, y = make_rows(30, 3)
    with pytest.raises(ValueError, match="WhiteKernel: leave it out, labels have a noise of"):
        fixed(X, RBF() + WhiteKernel()).fit(X, y)
    with pytest.raises(ValueError, match="requires 2 or more distinct classes; got 1 class"):
        fixed(X).fit(X, np.ones(30))
    with pytest.raises(ValueError, match=r"inducing has shape \(30, 2\): give \(m, 3\)"):
        fixed(X[:, :2]).fit(X, y)
    with pytest.raises(ValueError, match="only supported for binary classification"):
        fixed(X).fit(X, y).latent_mean_and_variance(X)
    with pytest.warns(match="did not find a mode in max_iter_predict=1"):
        assert not fixed(X, max_iter_predict=1).fit(X, y).converged_
    monkeypatch.setattr("tenfold.engine.memory.available_memory", lambda: 1000.0)
    monkeypatch.setattr("tenfold.engine.memory._GIB", 4.0)
    with pytest.raises(MemoryError, match="fewer inducing points, or multi_class='one_vs_rest'"):
        fixed(X, multi_class="softmax").fit(X, y)
