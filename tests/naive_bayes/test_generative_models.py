"""Gaussian naive Bayes against scikit-learn, scipy's normal density and the notes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn import naive_bayes

import tenfold
from tenfold import GaussianNB
from tenfold.datasets import load_iris


def table(n=400, k=3, seed=0):
    """Rows of k classes whose columns differ in scale and in place."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    return rng.normal(size=(n, 4)) * [1, 2, 0.1, 5] + y[:, None] * [1, 0, 0.1, 2], y


def same_model(a, b, X, atol=1e-9):
    """Equal learned numbers and equal predictions."""
    assert_array_equal(a.classes_, b.classes_)
    assert_allclose(a.theta_, b.theta_, rtol=1e-12, atol=1e-12)
    assert_allclose(a.var_, b.var_, rtol=1e-9)
    assert_allclose(a.class_prior_, b.class_prior_, rtol=1e-12)
    assert_allclose(a.class_count_, b.class_count_, rtol=1e-12)
    assert_allclose(a.epsilon_, b.epsilon_, rtol=1e-9)
    assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-9)
    assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=1e-9, atol=atol)
    assert_array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("shift", [0, 1e3, 1e6])
@pytest.mark.parametrize(
    "options", [{}, {"priors": [0.2, 0.3, 0.5]}, {"var_smoothing": 0.01}, {"var_smoothing": 0.0}]
)
def test_is_scikit_learns(shift, options):
    X, y = table()
    X += shift
    same_model(GaussianNB(**options).fit(X, y), naive_bayes.GaussianNB(**options).fit(X, y), X)


def test_weights_are_repetitions_and_zero_is_absence():
    X, y = table()
    times = np.random.default_rng(1).integers(0, 4, 400)
    repeated = naive_bayes.GaussianNB().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    same_model(GaussianNB().fit(X, y, times.astype(float)), repeated, X)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 5), st.floats(-1e4, 1e4))
def test_formula_is_prior_times_normal_densities(seed, n, k, shift):  # [002, 5.3; 004, 3.6]
    X, y = table(max(n, k), k, seed)
    X += shift
    smooth = 0.01
    model = GaussianNB(var_smoothing=smooth).fit(X, y)
    floor = smooth * X.var(axis=0).max()
    groups = [X[y == c] for c in range(k)]
    joint = np.stack(
        [
            norm.logpdf(X, g.mean(axis=0), np.sqrt(g.var(axis=0) + floor)).sum(axis=1)
            + np.log(len(g) / len(y))
            for g in groups
        ],
        axis=1,
    )
    assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-8, atol=1e-8)
    logs = joint - logsumexp(joint, axis=1, keepdims=True)
    assert_allclose(model.predict_log_proba(X), logs, atol=1e-6)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert_array_equal(model.predict(X), model.predict_log_proba(X).argmax(axis=1))


def test_estimates_are_the_most_likely():  # [001, 2.9]
    X, y = table()
    model = GaussianNB(var_smoothing=0.0).fit(X, y)

    def likelihood(theta, var):
        return norm.logpdf(X, theta[y], np.sqrt(var[y])).sum()

    best = likelihood(model.theta_, model.var_)
    rng = np.random.default_rng(0)
    for step in rng.normal(scale=0.02, size=(50, *model.theta_.shape)):
        assert likelihood(model.theta_ + step * np.sqrt(model.var_), model.var_) < best
        assert likelihood(model.theta_, model.var_ * np.exp(step)) < best


def test_equal_variances_give_the_boundary_half_way():
    X = np.array([[-3.0], [-1.0], [1.0], [3.0]])
    model = GaussianNB().fit(X, [0, 0, 1, 1])
    assert_allclose(model.predict_proba([[0.0]]), 0.5)
    assert model.predict([[-1e-9], [1e-9]]).tolist() == [0, 1]
    slope = np.diff(model.predict_joint_log_proba([[0.0], [1.0]]) @ [-1, 1])
    assert_allclose(slope, 4.0, rtol=1e-6)  # (mean 2 - mean 1) / variance


# ------------------------------------------------------------------------ parts and merged models


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 400), max_size=5))
def test_any_order_of_any_batches_is_the_fit(seed, cuts):
    X, y = table()
    w = np.random.default_rng(2).random(400)
    order = np.random.default_rng(seed).permutation(400)
    learner = GaussianNB()
    for part in np.split(order, sorted(cuts)):
        if len(part):
            learner.partial_fit(X[part], y[part], [0, 1, 2], w[part])
    same_model(learner, GaussianNB().fit(X, y, w), X)


def test_classes_may_come_one_after_the_other():
    X, y = table()
    learner = GaussianNB()
    for c in (2, 0, 1):
        learner.partial_fit(X[y == c], y[y == c], [0, 1, 2] if c == 2 else None)
        assert set(learner.predict(X)) <= {2, 0} | {c}  # never a class without rows
        assert np.isfinite(learner.predict_proba(X)).all()
    same_model(learner, GaussianNB().fit(X, y), X)


def test_another_class_leaves_the_others_alone():  # [002, 5.4]
    X, y = table()
    two = GaussianNB(var_smoothing=0.0).fit(X[y < 2], y[y < 2])
    three = tenfold.merge(two, GaussianNB(var_smoothing=0.0).fit(X[y == 2], y[y == 2]))
    assert_array_equal(three.theta_[:2], two.theta_)
    assert_array_equal(three.var_[:2], two.var_)
    assert_allclose(three.class_prior_, np.bincount(y) / 400)


@pytest.mark.parametrize("names", [[0, 1, 2], ["x", "yy", "zzz"], [-1.0, 0.0, 3.0]])
def test_models_of_other_labels_merge(names):
    X, y = table()
    label = np.asarray(names)[y]
    low, high = y < 2, y > 0
    merged = tenfold.merge(
        GaussianNB().fit(X[low], label[low]), GaussianNB().fit(X[high], label[high])
    )
    rows = np.append(np.flatnonzero(low), np.flatnonzero(high))
    same_model(merged, GaussianNB().fit(X[rows], label[rows]), X)


def test_wrong_labels_say_so():
    X, y = table()
    with pytest.raises(ValueError, match="classes"):
        GaussianNB().partial_fit(X, y)
    with pytest.raises(ValueError, match="not the same as on last call"):
        GaussianNB().partial_fit(X, y, [0, 1, 2]).partial_fit(X, y, [0, 1, 3])
    with pytest.raises(ValueError, match="not among the classes"):
        GaussianNB().partial_fit(X[2:], y[2:], [0, 1])


# ----------------------------------------------------------------------------------------- corners


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_constant_columns_say_nothing(value):
    X, y = table()
    X[:, 1] = value
    model = GaussianNB().fit(X, y)
    others = GaussianNB(var_smoothing=0.0).fit(X[:, [0, 2, 3]], y)
    probabilities = others.predict_proba(X[:, [0, 2, 3]])
    assert_allclose(model.predict_proba(X), probabilities, atol=1e-5)


def test_all_columns_constant_leave_the_priors():
    model = GaussianNB().fit(np.full((9, 2), 0.1), np.arange(9) % 2)
    assert_allclose(model.predict_proba([[0.1, 0.1]]), [[5 / 9, 4 / 9]])


def test_a_class_of_one_row():
    X, y = table(60)
    y[0] = 9
    theirs = naive_bayes.GaussianNB().fit(X, y)
    same_model(GaussianNB().fit(X, y), theirs, X, atol=1e-4)


def test_one_class_is_certain():
    X, y = table()
    assert_array_equal(GaussianNB().fit(X, 0 * y).predict_proba(X), 1)


def test_a_prior_of_zero_excludes_a_class():
    X, y = table()
    model = GaussianNB(priors=[0.0, 0.5, 0.5]).fit(X, y)
    assert_array_equal(model.predict_log_proba(X)[:, 0], -np.inf)
    assert set(model.predict(X)) == {1, 2}


@pytest.mark.parametrize(
    ("priors", "message"),
    [([0.5, 0.5], "number of classes"), ([-0.5, 1, 0.5], "non-negative"), ([0.5, 0.1, 0.5], "1.1")],
)
def test_wrong_priors_say_so(priors, message):
    with pytest.raises(ValueError, match=message):
        GaussianNB(priors=priors).fit(*table())


def test_far_rows_keep_their_logarithms():  # a product of densities would underflow [002, 5.2]
    X, y = table()
    model = GaussianNB().fit(X, y)
    logs = model.predict_log_proba(X * 1e6)
    assert np.isfinite(logs).all()
    assert_allclose(np.exp(logs).sum(axis=1), 1)
    assert (model.predict_joint_log_proba(X * 1e6).max(axis=1) < -745).all()


@pytest.mark.parametrize("shift", [0, 1e2])
def test_float32(shift):
    X, y = load_iris(return_X_y=True)
    X = (X + shift).astype(np.float32)
    ours, theirs = GaussianNB().fit(X, y), naive_bayes.GaussianNB().fit(X.astype(float), y)
    assert ours.theta_.dtype == ours.predict_proba(X).dtype == np.float32
    assert_allclose(ours.var_, theirs.var_, rtol=1e-5)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X.astype(float)), atol=5e-3)
