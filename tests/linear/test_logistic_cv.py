"""Logistic regression by cross-validation: scikit-learn's numbers, a plain loop, warnings."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.preprocessing import scale

from tenfold import LogisticRegression, LogisticRegressionCV, feature_contributions
from tenfold.testing.storage import STORAGES

X, Y = (np.asarray(part) for part in load_iris(return_X_y=True))
X = np.asarray(scale(X))
W = np.random.default_rng(0).uniform(0.5, 2.0, len(Y))
TIGHT = {"tol": 1e-8, "max_iter": 500}
NEW = {"l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
LEGACY = {"l1_ratios": None, "scoring": None, "use_legacy_attributes": True}
CASES = {
    "new attributes": {**NEW, "cv": 3},
    "legacy attributes": {**LEGACY, "cv": 3},
    "legacy shares": {**LEGACY, "l1_ratios": (0.0,)},
    "mean of folds": {**NEW, "refit": False, "fit_intercept": False},
    "legacy mean of folds": {**LEGACY, "refit": False},
    "balanced": {**NEW, "class_weight": "balanced"},
    "weights of classes": {**NEW, "class_weight": {1: 2.0}},
    "both shares": {**NEW, "l1_ratios": [0.2, 0.9], "solver": "saga", "cv": 2},
    "legacy both shares": {**LEGACY, "l1_ratios": [0.2, 0.9], "solver": "saga", "cv": 2},
    "deprecated penalty": {**NEW, "l1_ratios": None, "penalty": "l1", "solver": "saga", "cv": 2},
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("case", CASES)
def test_every_attribute_is_that_of_scikit_learn(case, classes):
    rows = np.isin(Y, [2, 1, 0][:classes])
    params = {"Cs": [0.1, 1.0], **CASES[case]}
    A, y, w = X[rows], Y[rows], W[rows]
    ours = LogisticRegressionCV(**params, **TIGHT).fit(A, y, sample_weight=w)
    other = {"solver": "newton-cholesky", **params, "tol": 1e-7, "max_iter": 5000}
    theirs = linear_model.LogisticRegressionCV(**other).fit(A, y, sample_weight=w)
    for name in ("coef_", "intercept_", "scores_", "coefs_paths_", "C_", "Cs_"):
        mine, want = getattr(ours, name), getattr(theirs, name)
        if isinstance(want, dict):
            assert list(mine) == list(want)
            mine, want = np.stack(list(mine.values())), np.stack(list(want.values()))
        assert np.shape(mine) == np.shape(want), name
        assert_allclose(mine, want, atol=1e-3, err_msg=name)
    for name in ("l1_ratio_", "l1_ratios_"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
    assert_allclose(ours.score(A, y), theirs.score(A, y), atol=1e-4)


def test_scores_are_those_of_a_plain_loop():
    model = LogisticRegressionCV(Cs=[0.1, 10.0], cv=3, **NEW, **TIGHT).fit(X, Y, W)
    for k, (train, test) in enumerate(StratifiedKFold(3).split(X, Y)):
        for c, C in enumerate([0.1, 10.0]):
            part = LogisticRegression(C=C, **TIGHT).fit(X[train], Y[train], W[train])
            loss = log_loss(Y[test], part.predict_proba(X[test]), sample_weight=W[test])
            assert_allclose(model.scores_[k, 0, c], -loss, rtol=1e-5)
            assert_allclose(model.coefs_paths_[k, 0, c, :, :-1], part.coef_, atol=1e-5)
    last = LogisticRegression(C=model.C_, **TIGHT).fit(X, Y, W)
    assert_array_equal(model.coef_, last.coef_)


def test_labels_are_words_and_scorers_see_them():
    names = np.array(["x", "y", "z"])[Y]

    def score(fitted, A, y):
        assert set(y) <= {"x", "y", "z"}
        return accuracy_score(y, fitted.predict(A))

    params = {**NEW, "Cs": [0.01, 1.0], "cv": 3}
    own = LogisticRegressionCV(**{**params, "scoring": score}).fit(X, names)
    named = LogisticRegressionCV(**{**params, "scoring": "accuracy"}).fit(X, names)
    assert_allclose(own.scores_, named.scores_)
    assert own.score(X, names) == named.score(X, names)
    assert_allclose(feature_contributions(own, X[0]).scores, own.decision_function(X[:1])[0])


def test_a_fold_without_a_class_has_no_coefficients_for_it():
    groups = np.where(Y == 2, 0, 1 + np.arange(len(Y)) % 3)
    params = {**NEW, "Cs": [1.0], "scoring": "accuracy", "cv": GroupKFold(2)}
    model = LogisticRegressionCV(**params).fit(X, Y, groups=groups)
    assert model.coefs_paths_.shape == (2, 1, 1, 3, 5)
    absent = [not set(Y[train]) >= {0, 1, 2} for train, _ in GroupKFold(2).split(X, Y, groups)]
    assert any(absent)
    assert not model.coefs_paths_[int(np.argmax(absent)), 0, 0, 2].any()


@pytest.mark.parametrize("storage", ["in_npy", "in_parquet", "in_csv"])
def test_a_file_gives_the_bits_of_the_array(storage, tmp_path):
    params = {**NEW, "Cs": [0.1, 1.0], "cv": 3}
    stored = STORAGES[storage](X, Y, tmp_path)
    a, b = (LogisticRegressionCV(**params).fit(*rows) for rows in ((X, Y), stored))
    assert_array_equal(a.coefs_paths_, b.coefs_paths_)
    assert_array_equal(a.coef_, b.coef_)


def test_defaults_that_change_are_announced():
    with pytest.warns(FutureWarning) as caught:
        LogisticRegressionCV(Cs=2, cv=2).fit(X, Y)
    said = " ".join(str(each.message) for each in caught)
    assert all(name in said for name in ("l1_ratios", "scoring", "use_legacy_attributes"))
    with pytest.warns(FutureWarning, match="'l1_ratios=None' was deprecated"):
        LogisticRegressionCV(**{**NEW, "l1_ratios": None}, Cs=2, cv=2).fit(X, Y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        LogisticRegressionCV(**{**NEW, "l1_ratios": [0.5, 1.5]}).fit(X, Y)


def test_the_flag_speaks_of_every_fit():
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegressionCV(Cs=[1e4], cv=2, max_iter=2, **NEW).fit(X, Y)
    assert model.converged_ is False
