"""`converged_` says what is so: separable classes, mistakes that remain, steps that run away."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from tenfold import (
    LogisticRegression,
    PenalizedClassifier,
    PenalizedRegressor,
    Perceptron,
    PoissonRegressor,
    ProbitRegression,
    SGDClassifier,
    SGDRegressor,
)
from tenfold.optim import DivergenceError

LINE = np.array([[-2.0], [-1], [1], [2]]), np.array([0, 0, 1, 1])
XOR = np.array([[2.0, 2], [-2, 2], [-2, -2], [2, -2]]), np.array([1, -1, 1, -1])
# the second group has one class alone, the first has both: separable in part
GROUPS = np.repeat([[0.0], [1.0]], [6, 4], axis=0), np.array([0, 1, 0, 1, 0, 0, 1, 1, 1, 1])

UNPENALIZED = [
    LogisticRegression(C=np.inf),
    LogisticRegression(C=np.inf, solver="lbfgs"),
    LogisticRegression(C=np.inf, solver="newton-cg"),
    LogisticRegression(C=np.inf, tol=1e-12),
    PenalizedClassifier(penalty=None),
    PenalizedClassifier(alpha=0),
    PenalizedClassifier("probit", penalty=None),
    PenalizedClassifier(penalty=None, solver="sgd", random_state=0),
    ProbitRegression(C=np.inf),
    SGDClassifier("log_loss", penalty=None, random_state=0),
    SGDClassifier("probit", alpha=0, learning_rate="constant", eta0=1.0, random_state=0),
]


@pytest.mark.parametrize("model", UNPENALIZED, ids=str)
def test_separable_classes_without_penalty_are_reported_with_the_cure(model):
    with pytest.warns(ConvergenceWarning, match=r"linearly separable.*Set (C|`?penalty`?)"):
        model.fit(*LINE)
    assert not model.converged_
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("model", UNPENALIZED[:7], ids=str)
def test_classes_that_are_separable_in_part_are_reported(model):
    with pytest.warns(ConvergenceWarning, match="separable"):
        model.fit(*GROUPS)
    assert not model.converged_


@pytest.mark.parametrize("labels", [[0, 1, 2, 2], [0, 1, 2, 3]])
def test_separable_classes_of_softmax_are_reported(labels):
    model = LogisticRegression(C=np.inf)
    with pytest.warns(ConvergenceWarning, match="separable"):
        model.fit(LINE[0], labels)
    assert not model.converged_


@pytest.mark.parametrize("model", UNPENALIZED[:6], ids=str)
def test_classes_that_overlap_are_not_reported(model):
    X, y = GROUPS
    model.fit(X, np.append(y[:-1], 0))
    assert model.converged_
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 2
    assert model.fit(X, X[:, 0] + rng.logistic(size=500) > 2).converged_


def test_a_penalty_has_a_minimum_and_no_warning():
    assert LogisticRegression().fit(*LINE).converged_
    assert PenalizedClassifier().fit(*LINE).converged_
    assert SGDClassifier(random_state=0).fit(*LINE).converged_


def test_rows_of_weight_zero_do_not_undo_separation():
    X, y = np.vstack([LINE[0], [[5.0]]]), np.append(LINE[1], 0)
    with pytest.warns(ConvergenceWarning, match="separable"):
        LogisticRegression(C=np.inf).fit(X, y, sample_weight=[1, 1, 1, 1, 0])


def test_counts_of_zero_that_a_column_separates_are_reported():
    X, counts = GROUPS[0], np.array([1, 2, 3, 0, 1, 2, 0, 0, 0, 0])
    with pytest.warns(ConvergenceWarning, match="count zero.*Set alpha"):
        model = PoissonRegressor(alpha=0).fit(X, counts)
    assert not model.converged_
    counts[-1] = 1
    assert PoissonRegressor(alpha=0).fit(X, counts).converged_


def test_a_perceptron_that_makes_mistakes_has_not_converged():
    with pytest.warns(ConvergenceWarning, match=r"misclassified rows.*average=True"):
        model = Perceptron().fit(*XOR)
    assert not model.converged_
    assert not Perceptron(tol=None, max_iter=50).fit(*XOR).converged_  # as asked: no warning
    assert Perceptron(tol=None).fit(*LINE).converged_
    assert Perceptron(average=True).fit(*XOR).converged_  # the mean of the weights does


def test_a_perceptron_does_not_count_rows_of_weight_zero():
    X, y = np.vstack([LINE[0], [[5.0]]]), np.append(LINE[1], 0)
    model = Perceptron().fit(X, y, sample_weight=[1, 1, 1, 1, 0])
    assert model.converged_


@pytest.mark.parametrize("factor", [10.0, 100.0])
def test_stochastic_descent_that_runs_away_is_no_convergence(factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1, 2, 3.0]
    with pytest.raises(DivergenceError, match=r"diverged.*try the learning rate ") as caught:
        PenalizedRegressor(solver="sgd", random_state=0).fit(factor * X, y)
    calm = PenalizedRegressor(
        solver="sgd", learning_rate=caught.value.rate, random_state=0, max_iter=50
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert calm.fit(factor * X, y).score(factor * X, y) > 0.9


def test_stochastic_models_that_run_away_say_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1, 2, 3.0]
    for model, target in (
        (SGDRegressor(random_state=0), y),
        (SGDClassifier("squared_error"), y > 0),
    ):
        with pytest.warns(ConvergenceWarning, match=r"mean objective at the result.*Standardize"):
            model.fit(1000 * X, target)
        assert not model.converged_
        assert np.isfinite(model.coef_).all()


def test_weights_of_zero_are_absent_rows_in_stochastic_descent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1, 2, 3.0]
    w = np.repeat([1.0, 0.0], 100)
    y[100:] = 1e6
    model = PenalizedRegressor(solver="sgd", batch_size=1, learning_rate=0.01, random_state=0)
    assert_allclose(model.fit(X, y, sample_weight=w).coef_, [1, 2, 3], atol=0.05)
