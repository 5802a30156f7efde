"""Warnings and errors hold scikit-learn's words, for which filters and handlers look."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import (
    NMF,
    PCA,
    ElasticNet,
    LinearSVC,
    LogisticRegression,
    MLPClassifier,
    Ridge,
    RidgeCV,
    SGDClassifier,
)
from tenfold.testing.instances import all_models, make_model

X, y = load_iris(return_X_y=True)
TWO = y < 2


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LogisticRegression(tol=1e-15, max_iter=1), "lbfgs failed to converge"),
        (
            LogisticRegression(tol=1e-15, max_iter=1, solver="newton-cholesky"),
            "Newton solver did not converge after 1 iterations",
        ),
        (
            LogisticRegression(tol=1e-15, max_iter=1, solver="newton-cg"),
            "newton-cg failed to converge.* Increase the number of iterations",
        ),
        (
            LogisticRegression(tol=1e-15, max_iter=1, solver="liblinear"),
            "Liblinear failed to converge, increase the number of iterations.",
        ),
        (
            LogisticRegression(tol=1e-15, max_iter=1, solver="saga"),
            "The max_iter was reached which means the coef_ did not converge",
        ),
        (LinearSVC(max_iter=1, tol=1e-12), "Liblinear failed to converge, increase the number"),
        (
            MLPClassifier((3,), max_iter=2),
            r"Stochastic Optimizer: Maximum iterations \(2\) reached and the optimization",
        ),
        (
            SGDClassifier(max_iter=1),
            "Maximum number of iteration reached before convergence. Consider increasing max_iter",
        ),
        (
            ElasticNet(1e-3, max_iter=1, tol=1e-12),
            "Objective did not converge. You might want to increase the number of iterations",
        ),
    ],
)
def test_a_fit_that_does_not_converge_says_so_in_scikit_learns_words(model, words):
    with pytest.warns(ConvergenceWarning, match=words):
        model.fit(X[TWO], y[TWO])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            LogisticRegression(solver="lbfgs", l1_ratio=1),
            "Solver lbfgs supports only 'l2' or None penalties,",
        ),
        (
            LogisticRegression(solver="sag", l1_ratio=0.5),
            "Solver sag supports only 'l2' or None penalties,",
        ),
        (
            LogisticRegression(solver="liblinear", l1_ratio=0.5),
            "Only 'saga' solver supports elasticnet penalty, got solver=liblinear.",
        ),
        (
            Ridge(alpha=[1.0, 2.0, 3.0]),
            "Number of targets and number of penalties do not correspond: 3 != 1",
        ),
        (
            PCA(n_components=5),
            r"must be between 0 and min\(n_samples, n_features\)=4 with svd_solver='full'",
        ),
        (
            PCA(n_components="mle", svd_solver="arpack"),
            "n_components='mle' cannot be a string with svd_solver='arpack'",
        ),
        (
            ElasticNet(precompute=np.eye(4)),
            "Gram matrix passed in via 'precompute' parameter did not pass validation",
        ),
    ],
)
def test_what_scikit_learn_refuses_is_refused_in_its_words(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X[TWO], y[TWO])


def test_one_class_is_refused_in_scikit_learns_words():
    for model in (LogisticRegression(), LinearSVC()):
        with pytest.raises(ValueError, match="This solver needs samples of at least 2 classes"):
            model.fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="The number of classes has to be greater than one; got 1"):
        SGDClassifier().partial_fit(X, np.ones(len(X)), classes=[1])


def test_growing_steps_are_accepted_with_a_warning():
    steps = {"learning_rate": "invscaling", "eta0": 1e-3, "power_t": -0.1}
    model = SGDClassifier(**steps, tol=None, max_iter=20, random_state=0)
    with pytest.warns(FutureWarning, match="Negative values for `power_t` are deprecated"):
        model.fit(X[TWO], y[TWO])
    assert model.score(X[TWO], y[TWO]) > 0.9


def test_a_decomposition_that_sparse_rows_do_not_have_is_named():
    with pytest.warns(FutureWarning, match="The 'svd' mode is not supported for sparse X"):
        RidgeCV(gcv_mode="svd").fit(csr_array(X), y)


def test_a_share_without_a_use_is_named():
    model = LogisticRegression(penalty="l1", solver="saga", l1_ratio=0.5)
    words = r"l1_ratio parameter is only used when penalty is 'elasticnet'\. Got \(penalty=l1\)"
    with (
        pytest.warns(FutureWarning, match="'penalty' was deprecated"),
        pytest.warns(UserWarning, match=words),
    ):
        model.fit(X[TWO], y[TWO])


def test_words_among_numbers_are_named_with_their_place_and_the_cure():
    table = np.array([[1, "2.5"], [3, "dog"]], object)
    words = r"could not convert string to float: 'dog' in row 1, column 1 of X\..*WordCounts"
    for model in (NMF(1), Ridge()):
        with pytest.raises(ValueError, match=words):
            model.fit(table, np.zeros(2))
    with pytest.raises(ValueError, match="'dog' in row 1, column price of X"):
        Ridge().fit(pd.DataFrame({"size": [1, 2], "price": ["1", "dog"]}), [0, 1])
    with pytest.raises(FileNotFoundError, match="WordCounts or TfIdf makes a row of it"):
        NMF(1).fit(["a dog", "a cat"])


REGRESSORS = [type(model).__name__ for model in all_models() if is_regressor(model)]


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regression_to_words_names_the_first_one(name):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.array(["cat", "dog", "cow"] * 10)
    model = make_model(getattr(tenfold, name))
    for target in (y, y.astype(object), y.tolist()):
        with pytest.raises(ValueError, match="could not convert string to float: 'cat' in row 0"):
            model.fit(X, target)
