"""Least squares for classification, and classifiers made of two-class ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

import tenfold
from tenfold.inspection.multiclass_ambiguity import count_claims, count_votes, is_ambiguous
from tenfold.linear.least_squares_classifier import LeastSquaresClassifier
from tenfold.linear.svm.linear_svc import LinearSVC

IRIS = load_iris(return_X_y=True)


def one_hot_solution(X, y, w=None, alpha=0.0):
    """W = (X'X + alpha I)^-1 X'Y with a column of ones, for one-hot Y. [004, 3-16]"""
    A = np.column_stack([X, np.ones(len(X))])
    Y = (y[:, None] == np.unique(y)).astype(float)
    w = np.ones(len(y)) if w is None else w
    ridge = alpha * np.diag(np.append(np.ones(X.shape[1]), 0))
    return np.linalg.solve(A.T @ (w[:, None] * A) + ridge, A.T @ (w[:, None] * Y)).T


@pytest.mark.parametrize("alpha", [0.0, 2.5])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_closed_form(alpha, make):
    X, y = IRIS
    w = np.random.default_rng(0).uniform(0, 2, len(y))
    model = LeastSquaresClassifier(alpha=alpha).fit(make(X), y, w)
    W = one_hot_solution(X, y, w, alpha)
    assert_allclose(np.column_stack([model.coef_, model.intercept_]), W, atol=1e-10)
    assert (model.predict(X) == (X @ W[:, :-1].T + W[:, -1]).argmax(axis=1)).all()


def test_scikit_learns_ridge_classifier_regresses_on_signs():
    X, y = IRIS
    theirs = RidgeClassifier(alpha=1.0).fit(X, y)
    ours = LeastSquaresClassifier(alpha=1.0).fit(X, y)
    assert_allclose(2 * ours.decision_function(X) - 1, theirs.decision_function(X), atol=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()


@given(seed=st.integers(0, 1000), k=st.integers(2, 5), shift=st.sampled_from([0.0, 1e6]))
def test_outputs_sum_to_one(seed, k, shift):  # 004, 3-16
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, 30)])
    X = rng.normal(size=(len(y), 3)) + shift
    model = LeastSquaresClassifier().fit(X, y)
    Z = X @ model.coef_.T + model.intercept_
    assert_allclose(Z.sum(axis=1), 1, atol=1e-6)
    assert model.coef_.shape == (k, 3)


def test_two_classes_agree_with_their_difference():
    X, y = IRIS[0][:100], IRIS[1][:100]
    model = LeastSquaresClassifier().fit(X, y)
    assert ((model.decision_function(X) > 0) == (model.predict(X) == 1)).all()
    tie = LeastSquaresClassifier().fit([[-1.0], [1.0]], ["a", "b"])
    assert tie.predict([[0.0]]) == ["a"]  # the first of equal ones


def test_parts_merge_also_when_one_lacks_a_class():
    X, y = IRIS
    a = LeastSquaresClassifier().fit(X[:100], y[:100])
    b = LeastSquaresClassifier().fit(X[100:], y[100:])
    whole = LeastSquaresClassifier().fit(X, y)
    assert_allclose(tenfold.merge(a, b).coef_, whole.coef_, atol=1e-10)
    assert_allclose(tenfold.merge(b, a).intercept_, whole.intercept_, atol=1e-9)


def test_dependent_shifted_and_wide_columns():
    X, y = IRIS
    far = X + 1e7
    assert (
        LeastSquaresClassifier().fit(far, y).predict(far)
        == LeastSquaresClassifier().fit(X, y).predict(X)
    ).all()
    twice = LeastSquaresClassifier().fit(np.hstack([X, X]), y)
    once = LeastSquaresClassifier().fit(X, y)
    assert_allclose(twice.coef_, np.hstack([once.coef_, once.coef_]) / 2, atol=1e-8)
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(20, 50))
    model = LeastSquaresClassifier().fit(wide, np.arange(20) % 3)
    assert model.score(wide, np.arange(20) % 3) == 1
    none = LeastSquaresClassifier(fit_intercept=False).fit(wide, np.arange(20) % 3)
    assert (none.intercept_ == 0).all()
    with pytest.raises(ValueError, match="LinearSVC"):
        LeastSquaresClassifier().fit(sp.csr_array((5, 5000)), [0, 1, 0, 1, 0])


def test_points_that_are_too_good_move_the_boundary():  # 004, 3-16: not robust
    X, y = make_blobs(100, centers=[[0, 0], [3, 0]], random_state=0)
    far = np.vstack([X, np.full((15, 2), [60.0, 25.0])])
    labels = np.append(y, np.ones(15, int))

    def turn(model):
        before, after = (model.fit(*d).coef_ for d in ((X, y), (far, labels)))
        before, after = before[-1], after[-1]
        return np.degrees(
            np.arccos(min(1, before @ after / np.linalg.norm(before) / np.linalg.norm(after)))
        )

    assert turn(LeastSquaresClassifier()) > 15
    assert turn(LinearSVC(loss="hinge")) < 3


@pytest.mark.parametrize("inner", [LeastSquaresClassifier(), LinearSVC()], ids=["squares", "svm"])
def test_wrappers_of_scikit_learn_and_their_ambiguous_regions(inner):  # 004, 3-05 to 3-07
    X, y = make_blobs(150, centers=[[0, 2], [-2, -1], [2, -1]], cluster_std=0.6, random_state=0)
    rest = OneVsRestClassifier(inner).fit(X, y)
    pairs = OneVsOneClassifier(inner).fit(X, y)
    assert len(rest.estimators_) == 3
    assert len(pairs.estimators_) == 3
    assert rest.score(X, y) > 0.97
    assert pairs.score(X, y) > 0.97
    grid = np.stack(np.meshgrid(np.linspace(-8, 8, 161), np.linspace(-8, 8, 161)), -1).reshape(
        -1, 2
    )
    claimed = count_claims(rest, grid)
    assert {0, 1, 2} <= set(claimed.tolist()) | {0}
    assert 0.001 < is_ambiguous(rest, grid).mean() < 0.5
    assert (is_ambiguous(rest, grid) == (claimed != 1)).all()
    assert (count_votes(pairs, grid).sum(axis=1) == 3).all()
    cycles = (count_votes(pairs, grid) == 1).all(axis=1)
    assert (is_ambiguous(pairs, grid) == cycles).all()


def test_one_vs_one_can_go_round_in_a_circle():
    rng = np.random.default_rng(0)
    found = False
    for _ in range(20):
        X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
        model = OneVsOneClassifier(LeastSquaresClassifier()).fit(X, y)
        grid = rng.uniform(-3, 3, size=(2000, 2))
        tied = is_ambiguous(model, grid)
        found |= bool(tied.any())
        assert (count_votes(model, grid)[tied] == 1).all()
    assert found
