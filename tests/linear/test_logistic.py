"""Logistic regression: objective, gradient, extreme scores, starts, labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import log_softmax, logsumexp
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from tenfold import LogisticRegression, Ridge
from tests.linear.exact_solutions import weights


def votes(k, n=300, p=4, seed=0):
    """Rows whose labels come from a softmax model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X @ rng.normal(size=(p, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)


def objective(theta, X, y, C=1.0, w=None, *, intercept=True):
    """C times the weighted loss + |coefficients|^2 / 2, over the weight; the notes' formula."""
    w = np.ones(len(y)) if w is None else w
    scores = X @ theta[:, :-1].T + theta[:, -1] * intercept
    scores = np.hstack([0 * scores, scores]) if len(theta) == 1 else scores
    loss = logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
    penalty = 0.0 if np.isinf(C) else np.sum(theta[:, :-1] ** 2) / (2 * C)
    return (w @ loss + penalty) / w.sum()


def theta_of(model):
    return np.column_stack([model.coef_, np.broadcast_to(model.intercept_, len(model.coef_))])


def slope_of(f, theta, e=1e-5):
    """Gradient by central differences."""
    steps = e * np.eye(theta.size).reshape(-1, *theta.shape)
    return np.array([(f(theta + s) - f(theta - s)) / (2 * e) for s in steps])


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 1e2, 1e4, np.inf])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_objective_is_at_most_scikit_learns(k, C, solver):
    X, y = votes(k)
    w = weights(300)
    for options in ({}, {"fit_intercept": False}):
        both = {"C": C, "tol": 1e-9, "max_iter": 1000, **options}
        ours = LogisticRegression(solver=solver, **both).fit(X, y, w)
        theirs = linear_model.LogisticRegression(solver="newton-cholesky", **both).fit(X, y, w)
        f = objective(theta_of(ours), X, y, C, w)
        assert f <= objective(theta_of(theirs), X, y, C, w) * (1 + 1e-9)
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-5 * np.abs(theirs.coef_).max())
        assert_allclose(ours.history_["objective"][-1], f, rtol=1e-12)
        assert (np.diff(ours.history_["objective"]) <= 1e-13).all()


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
@pytest.mark.parametrize("k", [2, 3])
def test_class_weights_are_scikit_learns(k, class_weight):
    X, y = votes(k)
    both = {"class_weight": class_weight, "tol": 1e-9, "solver": "newton-cholesky"}
    for w in (None, weights(300)):
        ours = LogisticRegression(**both).fit(X, y, w)
        theirs = linear_model.LogisticRegression(**both).fit(X, y, w)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    with pytest.raises(ValueError, match="no labels"):
        LogisticRegression(class_weight={7: 1.0}).fit(X, y)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("sparsely", [False, True])
def test_the_slope_at_the_solution_is_nothing(k, solver, sparsely):
    X, y = votes(k)
    model = LogisticRegression(C=0.5, solver=solver, tol=1e-8)
    model.fit(sparse.csr_array(X) if sparsely else X, y)
    slope = slope_of(lambda t: objective(t, X, y, 0.5), theta_of(model))
    assert_allclose(slope, 0, atol=1e-6)
    if k > 2:  # the penalty picks the coefficients that sum to nothing
        assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)


def test_no_point_nearby_is_better():  # the objective is convex [002, 2.3]
    X, y = votes(3)
    best = theta_of(LogisticRegression(tol=1e-9).fit(X, y))
    f = objective(best, X, y)
    for step in np.random.default_rng(0).normal(size=(50, *best.shape)):
        for size in (1e-3, 0.1, 3.0):
            assert objective(best + size * step, X, y) > f


def test_two_classes_are_softmax_with_two_rows():  # [002, 2.3; 000, 1.5]
    X, y = votes(2)
    model = LogisticRegression(C=2.0, tol=1e-10).fit(X, y)
    halves = np.stack([-theta_of(model)[0], theta_of(model)[0]]) / 2
    scores = X @ halves[:, :-1].T + halves[:, -1]
    assert_allclose(model.predict_log_proba(X), log_softmax(scores, axis=1), atol=1e-12)
    # two rows w/2 and -w/2 have half the squared length of w: the same with half of C
    slope = slope_of(lambda t: objective(t, X, y, 1.0), halves)
    assert_allclose(slope, 0, atol=1e-8)


def test_softmax_of_the_notes():  # [002, 2.3; 003, unit 2; 004, 3.6]
    X, y = votes(3)
    model = LogisticRegression().fit(X, y)
    cases = {(2, 1, -3): (0.72748, 0.26762, 0.00490), (1, 2, 3): (0.0900, 0.2447, 0.6652)}
    cases |= {(4, 1, 7): (0.047, 0.002, 0.950), (0.1, 0.2, 0.3): (0.3006, 0.3322, 0.3672)}
    for logits, p in cases.items():
        model.coef_, model.intercept_ = np.zeros((3, 4)), np.array(logits, dtype=float)
        assert_allclose(model.predict_proba(X[:1])[0], p, atol=6e-4)
        model.intercept_ += 1000  # a shift of all scores changes nothing
        assert_allclose(model.predict_proba(X[:1])[0], p, atol=6e-4)
        assert model.predict(X[:1])[0] == np.argmax(logits)


def test_at_zero_the_loss_is_the_log_of_the_number_of_classes():
    X, y = votes(5)
    with pytest.warns(ConvergenceWarning, match="max_iter=0 "):
        model = LogisticRegression(max_iter=0).fit(X, y)
    assert_allclose(model.predict_log_proba(X), -np.log(5))


@pytest.mark.parametrize("k", [2, 3])
def test_log_probabilities_at_extreme_scores(k):
    X, y = votes(k)
    model = LogisticRegression().fit(X, y)
    for size in (1.0, 1e4, 1e100, 1e300):
        logs, p = model.predict_log_proba(X * size), model.predict_proba(X * size)
        assert np.isfinite(logs).all()
        assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert_allclose(p, np.exp(logs), rtol=1e-9, atol=1e-300)
        assert_array_equal(model.predict(X * size), p.argmax(axis=1))
    scores = model.decision_function(X)
    assert scores.shape == ((300,) if k == 2 else (300, 3))
    assert_array_equal(model.predict(X), scores > 0 if k == 2 else scores.argmax(axis=1))


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_unscaled_columns_need_few_rounds(solver):
    rng = np.random.default_rng(0)
    scale = 10.0 ** np.linspace(-3, 3, 7)
    X = (rng.normal(size=(500, 7)) + rng.normal(size=7)) * scale
    y = (X / scale) @ rng.normal(size=7) + rng.logistic(size=500) > 0
    ours = LogisticRegression(C=100.0, solver=solver).fit(X, y)
    theirs = linear_model.LogisticRegression(C=100.0, max_iter=3000).fit(X, y)
    assert 5 * ours.n_iter_[0] < theirs.n_iter_[0]
    f = objective(theta_of(ours), X, y.astype(int), 100.0)
    assert f <= objective(theta_of(theirs), X, y.astype(int), 100.0) * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("shift", [10.0, 1e3, 1e5, 1e6])
def test_a_shift_of_the_columns_only_moves_the_constant(solver, shift):
    X, y = votes(2)
    near = LogisticRegression(tol=1e-9).fit(X, y)
    far = LogisticRegression(solver=solver).fit(X + shift, y)
    assert_allclose(far.coef_, near.coef_, atol=1e-4)
    assert_allclose(far.predict_proba(X + shift), near.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("k", [2, 3])
def test_separable_rows_end_with_finite_coefficients(solver, k):
    X, _ = votes(k)
    y = np.digitize(X[:, 0], [0.0, 1.0][: k - 1])
    with pytest.warns(ConvergenceWarning, match="separable"):
        model = LogisticRegression(C=np.inf, solver=solver, max_iter=500).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert not model.converged_
    assert model.score(X, y) == 1.0
    small = LogisticRegression(C=1.0, solver=solver).fit(X, y)
    assert np.abs(small.coef_).max() < np.abs(model.coef_).max()  # [000, 1.4]


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_warm_start_takes_fewer_rounds(solver):
    X, y = votes(3)
    model = LogisticRegression(warm_start=True, solver=solver, tol=1e-6).fit(X, y)
    first, coef = model.n_iter_[0], model.coef_.copy()
    assert model.fit(X, y).n_iter_[0] <= 1 < first
    assert_allclose(model.coef_, coef, atol=1e-5)
    assert model.set_params(C=1.1).fit(X, y).n_iter_[0] < first
    assert model.fit(X[:, :2], y).coef_.shape == (3, 2)  # another width starts afresh


@pytest.mark.parametrize("solver", ["auto", "newton-cholesky", "lbfgs"])
def test_too_few_rounds_warn(solver):
    X, y = votes(3)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = LogisticRegression(max_iter=1, solver=solver).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == [1]
    assert len(model.history_["objective"]) == 1


@pytest.mark.parametrize(
    "labels", [["b", "a"], [True, False], [-1, 1], [2.0, 7.0], np.array(["b", "aa"], dtype=object)]
)
def test_labels_of_any_type(labels):
    X, y = votes(2)
    y = np.asarray(labels)[y]
    ours = LogisticRegression(tol=1e-9).fit(X, y)
    theirs = linear_model.LogisticRegression(tol=1e-9, solver="newton-cholesky").fit(X, y)
    assert_array_equal(ours.classes_, theirs.classes_)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.predict(X).dtype == theirs.predict(X).dtype
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)


def test_labels_that_cannot_be_learned():
    X, y = votes(2)
    with pytest.raises(ValueError, match="one class"):
        LogisticRegression().fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="continuous"):
        LogisticRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="C"):
        LogisticRegression(C=0.0).fit(X, y)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_float32_logistic(solver):
    X, y = votes(3)
    model = LogisticRegression(solver=solver).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.coef_, LogisticRegression(tol=1e-9).fit(X, y).coef_, atol=2e-3)


def test_wide_rows():
    X, y = votes(3, n=40, p=400)
    for rows in (X, sparse.csr_array(X)):
        ours = LogisticRegression(tol=1e-8, max_iter=500).fit(rows, y)
        slope = slope_of(lambda t: objective(t, X, y), theta_of(ours), 1e-4)
        assert_allclose(slope, 0, atol=1e-6)


def test_conjugate_gradients_solve_dense_problems_too():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 12)) + 1
    y = X @ rng.normal(size=12) + rng.normal(size=300)
    exact = Ridge(alpha=2.0).fit(X, y)
    iterated = Ridge(alpha=2.0, solver="sparse_cg", tol=1e-12).fit(X, y)
    assert iterated.n_iter_ > 1
    np.testing.assert_allclose(iterated.coef_, exact.coef_, rtol=1e-8)
    np.testing.assert_allclose(iterated.intercept_, exact.intercept_, rtol=1e-8)
