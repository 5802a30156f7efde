"""Ridge by cross-validation and ridge classifiers: scikit-learn's numbers, plain loops, files."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score, f1_score, make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, cross_val_predict

import tenfold
from tenfold import LeastSquaresClassifier, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV

X, Y1 = (np.asarray(part)[:150] for part in load_diabetes(return_X_y=True))
Y3 = np.column_stack([Y1, Y1**2 / 100, X[:, 0] - 2 * X[:, 1]])
RNG = np.random.default_rng(0)
W = RNG.uniform(0.5, 2.0, len(Y1))
IRIS, KINDS = (np.asarray(part) for part in load_iris(return_X_y=True))
LABELS = np.array(["a", "b", "c"])[KINDS]
ALPHAS = [0.01, 0.1, 1.0]
MEAN_ERROR = make_scorer(mean_absolute_error, greater_is_better=False)


def compare(name, params, X, y, w=None):
    """Every learned attribute of scikit-learn's model."""
    ours = getattr(tenfold, name)(**params).fit(X, y, sample_weight=w)
    theirs = getattr(linear_model, name)(**params).fit(X, y, sample_weight=w)
    attributes = [a for a in vars(theirs) if a.endswith("_") and a not in ("n_iter_", "solver_")]
    assert "coef_" in attributes
    for attribute in attributes:
        mine, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert np.shape(mine) == np.shape(other), attribute
        if np.asarray(other).dtype.kind == "f":
            assert_allclose(mine, other, rtol=1e-7, atol=1e-9, err_msg=attribute)
    assert_array_equal(ours.predict(X) > 0.5, theirs.predict(X) > 0.5) if y.dtype.kind == "i" else 0
    return ours


@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weights"])
@pytest.mark.parametrize("y", [Y1, Y1[:, None], Y3], ids=["one", "column", "three"])
@pytest.mark.parametrize(
    "params",
    [
        {"store_cv_results": True},
        {"store_cv_results": True, "fit_intercept": False, "gcv_mode": "svd"},
        {"store_cv_results": True, "scoring": "neg_mean_absolute_error"},
        {"scoring": MEAN_ERROR},
        {"cv": 4},
        {"cv": KFold(3, shuffle=True, random_state=1), "scoring": "neg_mean_squared_error"},
        {"cv": 3, "scoring": MEAN_ERROR},
    ],
    ids=str,
)
def test_regression_is_that_of_scikit_learn(params, y, weights):
    compare("RidgeCV", {"alphas": ALPHAS, **params}, X, y, weights)


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_each_target_may_have_its_own_penalty(scoring):
    params = {"alphas": [1e-3, 0.1, 10.0], "alpha_per_target": True, "scoring": scoring}
    model = compare("RidgeCV", params, X, Y3, W)
    assert len(set(model.alpha_)) > 1


def test_leave_one_out_errors_are_those_of_refits():
    model = RidgeCV(ALPHAS, store_cv_results=True).fit(X, Y1, W)
    for i in (0, 7, 149):
        rest = np.arange(len(X)) != i
        for a, alpha in enumerate(ALPHAS):
            part = Ridge(alpha).fit(X[rest], Y1[rest], W[rest])
            error = Y1[i] - part.predict(X[[i]])[0]
            assert_allclose(model.cv_results_[i, a], W[i] * error**2, rtol=1e-8)
    folds = RidgeCV(ALPHAS, cv=LeaveOneOut(), scoring="neg_mean_squared_error").fit(X, Y1)
    assert_allclose(folds.best_score_, RidgeCV(ALPHAS).fit(X, Y1).best_score_, rtol=1e-8)


@pytest.mark.parametrize("n_columns", [40, 300])
def test_few_rows_and_sparse_rows(n_columns):
    wide, y = RNG.normal(size=(30, n_columns)), RNG.normal(size=30)
    params = {"alphas": ALPHAS, "store_cv_results": True}
    compare("RidgeCV", params, wide, y)
    compare("RidgeCV", params, sparse.csr_array(wide), y)
    assert_allclose(RidgeCV(cv=3).fit(wide, y).coef_, linear_model.RidgeCV(cv=3).fit(wide, y).coef_)


def test_very_many_sparse_columns_are_centered_without_a_gram_matrix():
    X = sparse.random_array((40, 5000), density=0.02, rng=np.random.default_rng(0), format="csr")
    y = RNG.normal(size=40) + 3
    ours = RidgeCV(ALPHAS, store_cv_results=True).fit(X, y)
    theirs = RidgeCV(ALPHAS, store_cv_results=True).fit(X.toarray(), y)
    assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6)


def test_folds_of_one_row_have_no_r2():
    wide, y = RNG.normal(size=(5, 9)), RNG.normal(size=5)
    with pytest.warns(UserWarning, match="not defined on the folds"):
        model = RidgeCV(cv=5).fit(wide, y)
    assert np.isnan(model.best_score_)
    assert model.alpha_ == 0.1  # the first, as in scikit-learn


def test_collinear_columns_keep_their_digits():
    A = np.column_stack([X, X[:, 0] + 1e-7 * RNG.normal(size=len(X))])
    params = {"alphas": [1e-12, 1e-3]}
    ours, theirs = RidgeCV(**params).fit(A, Y1), linear_model.RidgeCV(**params, gcv_mode="svd")
    assert_allclose(ours.best_score_, theirs.fit(A, Y1).best_score_, rtol=1e-6)


def test_a_file_gives_the_bits_of_the_array(tmp_path):
    np.save(tmp_path / "X.npy", X)
    for model in (RidgeCV(), RidgeCV(cv=3)):
        a, b = (model.fit(where, Y1).coef_.copy() for where in (X, tmp_path / "X.npy"))
        assert_array_equal(a, b)


def test_groups_stay_together():
    groups = np.arange(len(X)) // 7
    ours = RidgeCV(ALPHAS, cv=GroupKFold(3)).fit(X, Y1, groups=groups)
    pairs = list(GroupKFold(3).split(X, Y1, groups))
    assert_allclose(ours.best_score_, linear_model.RidgeCV(ALPHAS, cv=pairs).fit(X, Y1).best_score_)


@pytest.mark.parametrize("cv", [None, 3])
def test_what_scikit_learn_refuses_is_refused(cv):
    with pytest.raises(ValueError, match=r"alphas\[1\] == -1.0, must be"):
        RidgeCV([1.0, -1.0], cv=cv).fit(X, Y1)
    for name in ("store_cv_results", "alpha_per_target"):
        with pytest.raises(ValueError, match=f"cv!=None and {name}=True are incompatible"):
            RidgeCV(cv=3, **{name: True}).fit(X, Y1)
    with pytest.raises(ValueError, match="at least two rows"):
        RidgeCV().fit(X[:1], Y1[:1])


@pytest.mark.parametrize("rows", [KINDS < 2, KINDS < 3], ids=["two", "three"])
@pytest.mark.parametrize(
    "params",
    [{}, {"class_weight": {0: 2, 1: 1}}, {"fit_intercept": False}, {"class_weight": "balanced"}],
    ids=str,
)
def test_classifiers_are_those_of_scikit_learn(params, rows):
    A, y = IRIS[rows], KINDS[rows]
    compare("RidgeClassifier", params, A, y)
    compare("RidgeClassifierCV", {"store_cv_results": True, **params}, A, y)
    compare("RidgeClassifierCV", {"cv": 4, **params}, A, y)
    w = W[: len(y)] if params.get("class_weight") != "balanced" else None
    compare("RidgeClassifierCV", {"cv": 4, "scoring": "f1_macro", **params}, A, y, w)


def test_balanced_classes_have_equal_totals_with_weights():
    """Scikit-learn counts rows here; a weight of two is two rows in ours."""
    w = np.random.default_rng(2).integers(1, 4, len(KINDS))
    weighted = RidgeClassifier(class_weight="balanced").fit(IRIS, KINDS, sample_weight=w)
    repeated = linear_model.RidgeClassifier(class_weight="balanced")
    repeated.fit(np.repeat(IRIS, w, axis=0), np.repeat(KINDS, w))
    assert_allclose(weighted.coef_, repeated.coef_)


def test_labels_of_any_kind_and_scores_by_name():
    model = RidgeClassifierCV(scoring="accuracy").fit(IRIS, LABELS)
    assert model.best_score_ > 0.8
    assert set(model.predict(IRIS)) == {"a", "b", "c"}
    binary = RidgeClassifierCV(scoring="roc_auc").fit(IRIS[50:], LABELS[50:])
    assert 0.9 < binary.best_score_ <= 1
    assert_array_equal(binary.predict(IRIS[50:]) == "c", binary.decision_function(IRIS[50:]) > 0)


def test_many_labels():
    Z = np.column_stack([KINDS == 0, KINDS > 1, RNG.random(150) > 0.5]).astype(int)
    for name, params in (
        ("RidgeClassifier", {}),
        ("RidgeClassifierCV", {}),
        ("RidgeClassifierCV", {"cv": 3}),
    ):
        ours = compare(name, params, IRIS, Z)
        theirs = getattr(linear_model, name)(**params).fit(IRIS, Z)
        assert_array_equal(ours.predict(IRIS), theirs.predict(IRIS))


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro"])
def test_many_labels_are_scored_by_refits_without_each_row(scoring):
    rng = np.random.default_rng(1)
    Z = np.column_stack([KINDS == 0, KINDS > 1, rng.random(150) > 0.5])[::5].astype(int)
    A = IRIS[::5]
    model = RidgeClassifierCV(alphas=ALPHAS, scoring=scoring).fit(A, Z)
    measure = accuracy_score if scoring == "accuracy" else partial(f1_score, average="macro")
    scores = [
        measure(Z, cross_val_predict(RidgeClassifier(alpha=alpha), A, Z, cv=LeaveOneOut()))
        for alpha in ALPHAS
    ]
    assert model.alpha_ == ALPHAS[int(np.argmax(scores))]
    assert_allclose(model.best_score_, max(scores), rtol=1e-12)


def test_signs_are_affine_in_zeros_and_ones():
    signs = RidgeClassifier(0.5).fit(IRIS, KINDS)
    bits = LeastSquaresClassifier(alpha=0.5).fit(IRIS, KINDS)
    assert_allclose(signs.coef_, 2 * bits.coef_)
    assert_allclose(signs.intercept_, 2 * bits.intercept_ - 1)


def test_wide_sparse_text_is_classified_by_conjugate_gradients():
    rng = np.random.default_rng(1)
    A = sparse.random_array((60, 5000), density=0.01, rng=rng, format="csr")
    y = rng.integers(0, 3, 60)
    ours = RidgeClassifier(tol=1e-10).fit(A, y)
    theirs = linear_model.RidgeClassifier(tol=1e-10).fit(A, y)
    assert ours.solver_ == "sparse_cg"
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


def test_a_score_that_folds_do_not_define_is_named():
    X = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.warns(UserWarning, match="R.2 needs two rows"):
        model = RidgeCV(alphas=[1.0, 10.0], cv=6).fit(X, X[:, 0])
    assert model.alpha_ == 1.0
    assert np.isnan(model.best_score_)
