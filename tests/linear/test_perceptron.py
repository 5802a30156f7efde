"""Perceptron, Pegasos, separability: worked numbers and claims of the notes."""

import numpy as np
import pytest
import sklearn.linear_model as sk
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC

from tenfold.linear.separability import is_linearly_separable, min_norm_separator, novikoff_bound
from tenfold.linear.stochastic.pegasos import Pegasos, pegasos_step
from tenfold.linear.stochastic.perceptron import Perceptron, perceptron_step

XOR = np.array([[2.0, 2], [-2, 2], [-2, -2], [2, -2]]), np.array([1, -1, 1, -1])
LINE = np.array([-3.0, 2, 5]), np.array([1, -1, 1])


def parabola():
    """Three points of a line, which a parabola separates and no threshold does [003, unit 2]."""
    x, y = LINE
    return np.column_stack([x, x**2]), y


def separable_cloud(seed, n=40, p=3, offset=0.0):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, p)), rng.normal(size=p)
    score = X @ w + offset
    kept = np.abs(score) > 0.1
    return X[kept], np.sign(score[kept]).astype(int)


def by_hand(X, y, epochs, *, offset=True):
    """The algorithm of the notes, and the weights after every step."""
    theta, theta_0, mistakes, path = np.zeros(X.shape[1]), 0.0 if offset else None, [], []
    for _ in range(epochs):
        mistakes.append(0)
        for x, label in zip(X, y, strict=True):
            before = theta
            theta, theta_0 = perceptron_step(x, label, theta, theta_0)
            mistakes[-1] += theta is not before
            path.append(np.append(theta, theta_0 or 0.0))
    return np.array(path), mistakes


# --------------------------------------------------------------------------------- single steps
def test_first_step_of_the_notes():
    """x = (2, 4), y = -1 [003, A022]: an error at the start, none after the step."""
    theta, _ = perceptron_step([2, 4], -1, [0, 0])
    assert_array_equal(theta, [-2, -4])
    again, _ = perceptron_step([2, 4], -1, theta)
    assert again is theta


def test_a_point_on_the_boundary_is_a_mistake():
    theta, theta_0 = perceptron_step([1.0, 1.0], 1, [1.0, -1.0], 0.0)
    assert_array_equal(theta, [2, 0])
    assert theta_0 == 1
    assert perceptron_step([1.0, 1.0], 1, [1.0, -1.0], 0.5)[1] == 0.5


@given(st.integers(0, 1000), st.sampled_from([-1.0, 1.0]))
def test_a_step_raises_the_agreement_by_the_square_of_the_row(seed, y):
    x, theta = np.random.default_rng(seed).normal(size=(2, 4))
    after, after_0 = perceptron_step(x, y, theta, 0.3)
    if y * (theta @ x + 0.3) <= 0:
        gain = y * (after @ x + after_0) - y * (theta @ x + 0.3)
        assert_allclose(gain, x @ x + 1)
    else:
        assert after is theta


# ---------------------------------------------------------------------------------- the perceptron
def test_worked_trace_of_the_notes():
    """8 passes, 9 updates, theta = (-12, 6), theta_0 = -5 [003, A023]."""
    model = Perceptron(shuffle=False, tol=None).fit(*parabola())
    assert_array_equal(model.coef_, [[-12, 6]])
    assert_array_equal(model.intercept_, [-5])
    assert (model.mistakes_, model.n_iter_) == (9, 8)
    assert model.history_["mistakes"][-1] == 0


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("rows", [np.asarray, np.float32], ids=["float64", "float32"])
def test_fit_is_the_loop_of_single_steps(offset, rows):
    X, y = load_iris(return_X_y=True)
    y = np.where(y == 1, 1, -1)
    path, mistakes = by_hand(rows(X).astype(float), y, 4, offset=offset)
    settings = {"shuffle": False, "tol": None, "max_iter": 4, "fit_intercept": offset}
    model = Perceptron(**settings).fit(rows(X), y)
    assert_allclose(np.append(model.coef_, model.intercept_), path[-1], rtol=1e-5, atol=1e-4)
    assert_array_equal(model.history_["mistakes"][:, 0], mistakes)
    assert model.mistakes_ == sum(mistakes)
    averaged = Perceptron(average=True, **settings).fit(rows(X), y)
    means = np.append(averaged.coef_, averaged.intercept_)
    assert_allclose(means, path.mean(axis=0), rtol=1e-5, atol=1e-4)  # over all n T steps


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
def test_steps_are_those_of_scikit_learn(penalty):
    X, y = load_iris(return_X_y=True)
    settings = {"shuffle": False, "tol": None, "max_iter": 5, "penalty": penalty, "eta0": 0.5}
    ours, theirs = (m(**settings).fit(X, y) for m in (Perceptron, sk.Perceptron))
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-10)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    rows = sparse.csr_matrix(X)
    settings["fit_intercept"] = False  # theirs has smaller steps on sparse rows
    ours, theirs = (m(**settings).fit(rows, y) for m in (Perceptron, sk.Perceptron))
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize("average", [False, True])
def test_sparse_rows_give_the_steps_of_dense_ones(penalty, average):
    X, y = load_iris(return_X_y=True)
    settings = {"tol": None, "max_iter": 5, "penalty": penalty, "average": average}
    dense, sparsely = (Perceptron(**settings).fit(a, y) for a in (X, sparse.csr_array(X)))
    assert_allclose(sparsely.coef_, dense.coef_, rtol=1e-9, atol=1e-9)
    assert_allclose(sparsely.intercept_, dense.intercept_, rtol=1e-9, atol=1e-9)
    assert sparsely.mistakes_ == dense.mistakes_
    for rows in (X, sparse.csr_array(X)):
        parts = Perceptron(shuffle=False, average=average, penalty=penalty)
        parts.partial_fit(rows[:75], y[:75], classes=[0, 1, 2]).partial_fit(rows[75:], y[75:])
        whole = Perceptron(**settings | {"shuffle": False, "max_iter": 1}).fit(rows, y)
        assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@given(st.integers(0, 10_000))
def test_offset_is_a_column_of_ones(layout, seed):
    """[003, A023]"""
    X, y = separable_cloud(seed, offset=0.7)
    assume(len(np.unique(y)) == 2)
    settings = {"random_state": seed, "tol": None, "max_iter": 20}
    offset = Perceptron(**settings).fit(layout(X), y)
    column = layout(np.column_stack([X, np.ones(len(X))]))
    origin = Perceptron(fit_intercept=False, **settings).fit(column, y)
    assert_allclose(np.append(offset.coef_, offset.intercept_), origin.coef_[0], atol=1e-12)
    assert offset.mistakes_ == origin.mistakes_
    assert_array_equal(origin.intercept_, 0)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans())
def test_mistakes_obey_novikoff(seed, offset):
    """At most (R / gamma)^2 of them, in any order [003, A030]; then the fit comes to rest."""
    X, y = separable_cloud(seed, offset=0.5 * offset)
    assume(len(np.unique(y)) == 2)
    bound = novikoff_bound(X, y, fit_intercept=offset)
    for order in ({"shuffle": False}, {"random_state": seed}):
        model = Perceptron(fit_intercept=offset, max_iter=100_000, tol=None, **order).fit(X, y)
        assert model.mistakes_ <= bound
        assert model.history_["mistakes"][-1] == 0
        assert model.score(X, y) == 1


def test_eta_scales_the_weights_and_nothing_else():
    X, y = separable_cloud(3)
    one, two = (Perceptron(eta0=eta).fit(X, y) for eta in (1.0, 0.25))
    assert_allclose(two.coef_, one.coef_ / 4)
    assert two.mistakes_ == one.mistakes_


def test_never_rests_on_what_cannot_be_separated():
    """[003, A022 and L1582]"""
    X, y = XOR
    model = Perceptron(max_iter=50, tol=None).fit(X, y)
    assert (model.history_["mistakes"] > 0).all()
    assert model.n_iter_ == 50
    with pytest.warns(ConvergenceWarning):
        assert not Perceptron(max_iter=5, n_iter_no_change=50).fit(X, y).converged_


def test_stops_after_an_epoch_without_mistakes():
    X, y = separable_cloud(5)
    model = Perceptron(tol=0.0, n_iter_no_change=1000).fit(X, y)
    assert_array_equal(
        model.history_["mistakes"][:, 0] == 0, np.arange(model.n_iter_) == model.n_iter_ - 1
    )
    asked = Perceptron(average=True, tol=None, max_iter=model.n_iter_ + 3).fit(X, y)
    assert asked.n_iter_ == model.n_iter_ + 3  # the average still moves
    shrinking = Perceptron(penalty="l2", tol=None, max_iter=model.n_iter_ + 3).fit(X, y)
    assert shrinking.n_iter_ == model.n_iter_ + 3


def test_averaging_steadies_the_perceptron():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    errors = {
        average: [
            1
            - Perceptron(average=average, random_state=s, max_iter=5, tol=None)
            .fit(X[::2], y[::2])
            .score(X[1::2], y[1::2])
            for s in range(10)
        ]
        for average in (False, True)
    }
    assert np.mean(errors[True]) < np.mean(errors[False])
    assert np.std(errors[True]) < np.std(errors[False])


def test_threshold_rule():
    """+1 where phi(x).w >= theta, with theta minus the offset [001, 1-21]."""
    X, y = separable_cloud(7, offset=0.4)
    model = Perceptron().fit(X, y)
    assert_array_equal(model.predict(X), np.where(X @ model.coef_[0] >= -model.intercept_, 1, -1))


def test_mistakes_of_a_stream_add_up():
    X, y = separable_cloud(9)
    whole = Perceptron(shuffle=False, tol=None, max_iter=1).fit(X, y)
    stream = Perceptron(shuffle=False)
    for part in (slice(15), slice(15, None)):
        stream.partial_fit(X[part], y[part], classes=[-1, 1])
    assert stream.mistakes_ == whole.mistakes_
    assert_array_equal(stream.coef_, whole.coef_)


# ------------------------------------------------------------------------------------------ Pegasos
def pegasos_by_hand(X, y, epochs, alpha, *, offset=True):
    theta, theta_0, t = np.zeros(X.shape[1]), 0.0 if offset else None, 0
    for _ in range(epochs):
        for x, label in zip(X, y, strict=True):
            t += 1
            theta, theta_0 = pegasos_step(x, label, theta, theta_0, eta=t**-0.5, alpha=alpha)
    return theta, theta_0 or 0.0


@pytest.mark.parametrize("offset", [True, False])
def test_pegasos_is_the_loop_of_single_steps(offset):
    X, y = load_iris(return_X_y=True)
    y = np.where(y == 1, 1, -1)
    theta, theta_0 = pegasos_by_hand(X, y, 5, 0.2, offset=offset)
    for rows in (X, sparse.csr_array(X)):
        model = Pegasos(0.2, max_iter=5, tol=None, shuffle=False, fit_intercept=offset)
        model.fit(rows, y)
        assert_allclose(model.coef_[0], theta, rtol=1e-9)
        assert_allclose(model.intercept_, theta_0, rtol=1e-9)


def test_pegasos_and_the_perceptron_differ_in_three_things():
    """[003, A039]"""
    theta, x = np.array([0.3, 0.0]), np.array([1.0, 0.0])
    # inside the margin, on the right side: only Pegasos learns
    assert perceptron_step(x, 1, theta, 0.0)[0] is theta
    inside, free = pegasos_step(x, 1, theta, 0.0, eta=0.1, alpha=0.5)
    assert_allclose(inside, 0.95 * theta + 0.1 * x)
    assert free == 0.1
    # beyond the margin: the weights still shrink, the offset does not
    beyond, free = pegasos_step(x, 1, 10 * theta, 0.7, eta=0.1, alpha=0.5)
    assert_allclose(beyond, 9.5 * theta)
    assert free == 0.7
    # on the margin the row counts
    assert_allclose(pegasos_step(x, 1, x, 0.0, eta=0.1, alpha=0.5)[0], 1.05 * x)
    # the rate falls: a late mistake moves less than an early one
    early = Pegasos(0.1, max_iter=1, tol=None, shuffle=False).fit([[1.0], [1.0]], [1, 0])
    assert_allclose(early.coef_[0], (1 - 0.1 / 2**0.5) - 1 / 2**0.5)


@pytest.mark.parametrize("rate", ["invscaling", "optimal"])
def test_pegasos_reaches_the_support_vector_machine(rate):
    X, y = load_breast_cancer(return_X_y=True)
    X, signs, alpha = scale(X), 2 * y - 1, 0.05

    def objective(model):
        z = signs * model.decision_function(X)
        return np.maximum(0, 1 - z).mean() + alpha / 2 * (model.coef_**2).sum()

    settings = {"max_iter": 300, "tol": None, "average": len(X) * 150, "random_state": 0}
    ours = Pegasos(alpha, learning_rate=rate, **settings).fit(X, y)
    best = SVC(kernel="linear", C=1 / (alpha * len(X))).fit(X, y)
    assert objective(ours) <= 1.005 * objective(best)


def test_more_penalty_means_shorter_weights():
    """[003, A031]"""
    X, y = load_breast_cancer(return_X_y=True)
    settings = {"max_iter": 50, "tol": None, "average": True, "random_state": 0}
    fits = [Pegasos(alpha, **settings).fit(scale(X), y) for alpha in (0.001, 0.01, 0.1, 1.0)]
    lengths = [np.linalg.norm(model.coef_) for model in fits]
    assert (np.diff(lengths) < 0).all()


# ------------------------------------------------------------------------------------- separability
def test_separability_of_the_notes():
    """[003, unit 2: what features do for separability]"""
    x, y = LINE
    assert not is_linearly_separable(x[:, None], y)
    assert is_linearly_separable(*parabola())
    X, y = XOR
    assert not is_linearly_separable(X, y)
    product = is_linearly_separable(np.column_stack([X, X[:, 0] * X[:, 1]]), y)
    assert product.separable
    assert_allclose(product.coef[:2], 0, atol=1e-9)
    assert product.coef[2] > 0
    assert product.weights is None


grid = arrays(
    np.float64, st.tuples(st.integers(2, 12), st.integers(1, 3)), elements=st.integers(-3, 3)
)


@given(grid, st.integers(0, 2**12), st.booleans())
def test_every_answer_comes_with_its_proof(X, bits, offset):
    y = np.where((bits >> np.arange(len(X))) & 1, 1, -1)
    assume(len(np.unique(y)) == 2)
    found = is_linearly_separable(X, y, fit_intercept=offset)
    if found:
        assert (y * (X @ found.coef + found.intercept) > 0).all()
        assert np.isfinite(novikoff_bound(X, y, fit_intercept=offset))
        assert offset or found.intercept == 0
        return
    assert (found.weights >= 0).all()
    assert_allclose((found.weights * y) @ X, 0, atol=1e-7)
    assert_allclose(found.weights.sum(), 2 if offset else 1)
    if offset:
        assert_allclose(found.weights[y > 0].sum(), 1)
    assert novikoff_bound(X, y, fit_intercept=offset) == np.inf


def test_separability_of_sparse_and_shifted_rows():
    X, y = separable_cloud(11, offset=0.3)
    for rows in (sparse.csr_matrix(X), 1e-3 * X + 1e5):
        found = is_linearly_separable(rows, y)
        assert_array_equal(np.sign(rows @ found.coef + found.intercept), y)
    assert_allclose(novikoff_bound(sparse.csr_array(X), y), novikoff_bound(X, y))
    noise = np.random.default_rng(0).choice([-1, 1], len(y))
    assert not is_linearly_separable(sparse.csr_array(X), noise)


def test_separability_needs_two_classes():
    with pytest.raises(ValueError, match="two classes"):
        is_linearly_separable(np.zeros((3, 1)), [0, 1, 2])


def test_novikoff_bound_has_the_hard_margin():
    X, y = separable_cloud(13)
    rows = y[:, None] * X
    both, signs = np.vstack([rows, -rows]), np.repeat([1, -1], len(rows))
    w = SVC(kernel="linear", C=1e9, tol=1e-8).fit(both, signs).coef_  # symmetric: no offset
    longest = np.linalg.norm(X, axis=1).max()
    bound = novikoff_bound(X, y, fit_intercept=False)
    assert_allclose(bound, longest**2 * (w @ w.T).item(), rtol=1e-4)
    shortest = min_norm_separator(
        rows / longest
    )  # no w that separates is shorter: ours does, exactly
    assert_allclose((rows @ shortest / longest).min(), 1)
    assert_allclose(novikoff_bound(1e3 * X, y, fit_intercept=False), bound)  # of no unit


def test_pegasos_agrees_with_a_linear_svm_on_many_classes():
    X, y = load_iris(return_X_y=True)
    settings = {"max_iter": 200, "tol": None, "average": True, "random_state": 0}
    ours = Pegasos(0.01, **settings).fit(scale(X), y)
    theirs = LinearSVC(C=1 / (0.01 * len(X)), loss="hinge", max_iter=100_000).fit(scale(X), y)
    assert (ours.predict(scale(X)) == theirs.predict(scale(X))).mean() > 0.95
