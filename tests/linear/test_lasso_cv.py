"""Lasso and elastic net by cross-validation: scikit-learn's numbers, a plain loop, all storages."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

import tenfold
from tenfold import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    MultiTaskElasticNetCV,
    MultiTaskLassoCV,
    cross_validate,
)

X, Y1 = (np.asarray(part)[:200] for part in load_diabetes(return_X_y=True))
Y2 = np.column_stack([Y1, Y1**2 / 100])
W = np.random.default_rng(0).uniform(0.5, 2.0, len(Y1))
TIGHT = {"tol": 1e-9, "max_iter": 50_000}
CASES = {
    "default": (LassoCV, {"alphas": 20}),
    "given penalties": (LassoCV, {"alphas": [0.01, 1.0, 0.1], "cv": 3}),
    "no intercept": (LassoCV, {"alphas": 10, "fit_intercept": False}),
    "positive": (LassoCV, {"alphas": 10, "positive": True, "precompute": True}),
    "shuffled": (LassoCV, {"alphas": 10, "cv": KFold(4, shuffle=True, random_state=1)}),
    "overlapping": (LassoCV, {"alphas": 10, "cv": ShuffleSplit(3, random_state=0)}),
    "ratio": (ElasticNetCV, {"alphas": 10}),
    "ratios": (ElasticNetCV, {"alphas": 10, "l1_ratio": [0.1, 0.5, 0.9]}),
    "ratios and penalties": (ElasticNetCV, {"alphas": [1.0, 0.01], "l1_ratio": [0.1, 1.0]}),
    "one penalty": (ElasticNetCV, {"alphas": [0.1]}),
    "tasks": (MultiTaskLassoCV, {"alphas": 6}),
    "tasks and ratios": (MultiTaskElasticNetCV, {"alphas": 6, "l1_ratio": [0.5, 0.9]}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_paths_and_choice_are_those_of_scikit_learn(case, weighted):
    cls, params = CASES[case]
    y = Y2 if cls.__name__.startswith("Multi") else Y1
    if weighted and y is Y2:
        pytest.skip("scikit-learn's multi-task models have no weights here")
    w = {"sample_weight": W} if weighted else {}
    ours = cls(**params, **TIGHT).fit(X, y, **w)
    theirs = getattr(linear_model, cls.__name__)(**params, **TIGHT).fit(X, y, **w)
    assert_allclose(ours.alphas_, theirs.alphas_)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    assert_allclose(ours.alpha_, theirs.alpha_)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert hasattr(ours, "l1_ratio_") == hasattr(theirs, "l1_ratio_")
    if hasattr(ours, "l1_ratio_"):
        assert ours.l1_ratio_ == theirs.l1_ratio_


def test_errors_are_those_of_a_plain_loop():
    model = ElasticNetCV(alphas=4, l1_ratio=[0.5, 1.0], cv=3, **TIGHT).fit(X, Y1, W)
    for (r, a, k), error in np.ndenumerate(model.mse_path_):
        train, test = list(KFold(3).split(X))[k]
        ratio, alpha = [0.5, 1.0][r], model.alphas_[r, a]
        part = ElasticNet(alpha, l1_ratio=ratio, **TIGHT).fit(X[train], Y1[train], W[train])
        residual = Y1[test] - part.predict(X[test])
        assert_allclose(error, np.average(residual**2, weights=W[test]), rtol=1e-6)


def test_the_last_fit_is_the_model_of_the_chosen_penalty():
    model = LassoCV(alphas=10).fit(X, Y1)
    last = Lasso(model.alpha_).fit(X, Y1)
    assert_array_equal(model.coef_, last.coef_)
    assert model.n_iter_ == last.n_iter_
    assert model.dual_gap_ == last.dual_gap_


def test_many_columns_share_passes_and_give_the_same(tmp_path):
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(90, 600))
    y = wide[:, :4] @ [1.0, -1, 2, 0.5] + rng.normal(size=90)
    params = {"alphas": 8, "cv": 3, "eps": 0.05, **TIGHT}
    ours, theirs = LassoCV(**params).fit(wide, y), linear_model.LassoCV(**params).fit(wide, y)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    rows = LassoCV(**params).fit(sparse.csr_array(wide), y)
    assert_allclose(rows.mse_path_, ours.mse_path_, rtol=1e-6)
    np.save(tmp_path / "X.npy", wide)
    assert_array_equal(LassoCV(**params).fit(tmp_path / "X.npy", y).mse_path_, ours.mse_path_)


def test_groups_stay_together():
    groups = np.arange(len(X)) // 7
    ours = LassoCV(alphas=5, cv=GroupKFold(3), **TIGHT).fit(X, Y1, groups=groups)
    pairs = list(GroupKFold(3).split(X, Y1, groups))
    theirs = linear_model.LassoCV(alphas=5, cv=pairs, **TIGHT).fit(X, Y1)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    with pytest.raises(ValueError, match="extra_param"):
        LassoCV().fit(X, Y1, extra_param=1)


def test_a_file_gives_the_bits_of_the_array(tmp_path):
    np.save(tmp_path / "X.npy", X)
    a, b = (LassoCV(alphas=5).fit(where, Y1) for where in (X, tmp_path / "X.npy"))
    assert_array_equal(a.mse_path_, b.mse_path_)
    assert_array_equal(a.coef_, b.coef_)


def test_nested_cross_validation_is_a_plain_loop():
    scores = cross_validate(LassoCV(alphas=5, cv=3), X, Y1, folds=4)["test_score"]
    loop = [
        LassoCV(alphas=5, cv=3).fit(X[train], Y1[train]).score(X[test], Y1[test])
        for train, test in KFold(4).split(X)
    ]
    assert_allclose(scores, loop, rtol=1e-9)


def test_folds_that_did_not_converge_are_named():
    with pytest.warns(ConvergenceWarning) as caught:
        LassoCV(alphas=5, cv=3, max_iter=1, tol=1e-12).fit(X, Y1)
    assert any("of 15 fits have a duality gap" in str(each.message) for each in caught)


def test_targets_of_the_wrong_kind_are_refused():
    with pytest.raises(ValueError, match="use MultiTaskLassoCV"):
        LassoCV().fit(X, Y2)
    with pytest.raises(ValueError, match="use ElasticNetCV"):
        MultiTaskElasticNetCV().fit(X, Y1)
    with pytest.raises(ValueError, match=r"alphas\[1\]"):
        LassoCV(alphas=[1.0, -1.0]).fit(X, Y1)


def test_contributions_explain_the_model():
    model = tenfold.LassoCV(alphas=5).fit(X, Y1)
    why = tenfold.feature_contributions(model, X[0])
    assert_allclose(why.scores, model.predict(X[:1]))
