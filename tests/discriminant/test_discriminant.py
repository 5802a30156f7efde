"""Discriminants against scikit-learn and scipy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import discriminant_analysis as theirs
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from sklearn.covariance import ledoit_wolf as their_ledoit_wolf
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold.discriminant._covariance import ledoit_wolf
from tenfold.discriminant.lda import LinearDiscriminantAnalysis
from tenfold.discriminant.qda import QuadraticDiscriminantAnalysis
from tenfold.engine import Chunk, merge
from tenfold.stats.class_moments import class_fourth_moments, class_scatters
from tests.discriminant.classes import PRIORS, table


def same_linear(ours, its, X, rtol=1e-7, *, directions=True):
    """Equal learned numbers, up to the signs of directions, and equal predictions."""
    assert_allclose(ours.coef_, its.coef_, rtol=rtol, atol=rtol)
    assert_allclose(ours.intercept_, its.intercept_, rtol=rtol, atol=rtol * 10)
    assert_allclose(ours.means_, its.means_, rtol=1e-10, atol=1e-12)
    assert_allclose(ours.priors_, its.priors_)
    assert_allclose(ours.predict_proba(X), its.predict_proba(X), rtol=1e-6, atol=1e-7)
    assert_allclose(ours.decision_function(X), its.decision_function(X), rtol=1e-5, atol=1e-5)
    assert_array_equal(ours.predict(X), its.predict(X))
    if directions:
        ratios = its.explained_variance_ratio_
        assert_allclose(ours.explained_variance_ratio_, ratios, rtol=1e-6)
        signs = np.abs(its.transform(X))
        assert_allclose(np.abs(ours.transform(X)), signs, rtol=1e-5, atol=1e-6)


SOLVERS = [
    ("svd", None),
    ("lsqr", None),
    ("lsqr", 0.3),
    ("lsqr", "auto"),
    ("eigen", None),
    ("eigen", 0.3),
    ("eigen", "auto"),
]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("given_priors", [False, True])
@pytest.mark.parametrize(("solver", "shrinkage"), SOLVERS)
def test_linear_is_scikit_learns(solver, shrinkage, given_priors, k):
    X, y = table(k=k)
    priors = (PRIORS if k == 3 else [0.4, 0.6]) if given_priors else None
    options = dict(solver=solver, shrinkage=shrinkage, priors=priors, store_covariance=True)
    ours = LinearDiscriminantAnalysis(**options).fit(X, y)
    its = theirs.LinearDiscriminantAnalysis(**options).fit(X, y)
    same_linear(ours, its, X, directions=solver != "lsqr")
    assert_allclose(ours.covariance_, its.covariance_, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_place_of_the_data_does_not_matter(shift):
    X, y = table()
    ours = LinearDiscriminantAnalysis().fit(X + shift, y)
    here = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(ours.coef_, here.coef_, rtol=1e-6, atol=1e-7)
    assert_allclose(ours.predict_proba(X + shift), here.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("how", ["constant", "constant within classes", "copied", "one-hot"])
def test_columns_that_add_nothing_are_left_out(how):
    X, y = table(400)
    more = {
        "constant": np.full((400, 1), 0.1),
        "constant within classes": np.zeros((400, 1)),
        "copied": X[:, :1],
        "one-hot": np.eye(3)[np.arange(400) % 3],
    }[how]
    plain = LinearDiscriminantAnalysis().fit(X, y)
    if how == "one-hot":
        plain = LinearDiscriminantAnalysis().fit(np.hstack([X, more[:, :2]]), y)
    both = LinearDiscriminantAnalysis().fit(np.hstack([X, more]), y)
    kept = np.hstack([X, more[:, :2]]) if how == "one-hot" else X
    assert_allclose(both.predict_proba(np.hstack([X, more])), plain.predict_proba(kept), atol=1e-8)


@pytest.mark.parametrize("n", [20, 49])
def test_more_columns_than_rows(n):
    X, y = table(n, 50)
    ours = LinearDiscriminantAnalysis().fit(X, y)
    its = theirs.LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(ours.coef_, its.coef_, rtol=1e-6, atol=1e-8)
    assert_array_equal(ours.predict(X), its.predict(X))
    assert_allclose(np.abs(ours.transform(X)), np.abs(its.transform(X)), rtol=1e-6, atol=1e-6)
    grown = LinearDiscriminantAnalysis().partial_fit(X, y, [0, 1, 2])  # from moments: the same
    assert_allclose(grown.coef_, ours.coef_, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="use partial_fit"):
        ours.sample(3)
    assert grown.sample(3)[0].shape == (3, 50)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
@pytest.mark.parametrize("priors", [None, PRIORS])
def test_quadratic_is_scikit_learns(solver, shrinkage, priors):
    if solver == "svd" and shrinkage is not None:
        with pytest.raises(NotImplementedError):
            QuadraticDiscriminantAnalysis(shrinkage=shrinkage).fit(*table())
        return
    X, y = table()
    options = dict(solver=solver, shrinkage=shrinkage, priors=priors, store_covariance=True)
    ours = QuadraticDiscriminantAnalysis(**options).fit(X, y)
    its = theirs.QuadraticDiscriminantAnalysis(**options).fit(X, y)
    assert_allclose(ours.decision_function(X), its.decision_function(X), rtol=1e-8)
    assert_allclose(ours.predict_proba(X), its.predict_proba(X), atol=1e-9)
    assert_array_equal(ours.predict(X), its.predict(X))
    for name in ("covariance_", "scalings_"):
        for a, b in zip(getattr(ours, name), getattr(its, name), strict=True):
            assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("reg_param", [0.01, 0.5, 1.0])
def test_regularised_quadratic(reg_param):
    X, y = table()
    ours = QuadraticDiscriminantAnalysis(reg_param=reg_param).fit(X, y)
    its = theirs.QuadraticDiscriminantAnalysis(reg_param=reg_param).fit(X, y)
    assert_allclose(ours.decision_function(X), its.decision_function(X), rtol=1e-8)


def test_a_flat_class_says_what_to_do():
    X, y = table(30, 8)
    X[y == 1, 2] = 0.1
    with pytest.raises(np.linalg.LinAlgError, match=r"class 1 is not full rank.*reg_param"):
        QuadraticDiscriminantAnalysis().fit(X, y)
    assert QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, y).score(X, y) > 0.5
    y[:] = np.append([7], np.zeros(29))
    with pytest.raises(ValueError, match="only 1 sample in class 7"):
        QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, y)


def test_a_singular_covariance_says_what_to_do():
    X, y = table()
    X[:, 1] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="shrinkage"):
        LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    with pytest.raises(NotImplementedError, match="lsqr"):
        LinearDiscriminantAnalysis(shrinkage=0.1).fit(X, y)


# ------------------------------------------------------------------------- covariances of others

ESTIMATORS = [EmpiricalCovariance(), ShrunkCovariance(shrinkage=0.3), LedoitWolf(), OAS()]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
@pytest.mark.parametrize("priors", [None, PRIORS])
def test_linear_with_a_covariance_estimator_is_scikit_learns(solver, priors, estimator):
    X, y = table()
    options = dict(solver=solver, priors=priors, covariance_estimator=estimator)
    ours = LinearDiscriminantAnalysis(**options).fit(X, y)
    its = theirs.LinearDiscriminantAnalysis(**options).fit(X, y)
    same_linear(ours, its, X, directions=solver != "lsqr")
    assert_allclose(ours.covariance_, its.covariance_, rtol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("priors", [None, PRIORS])
def test_quadratic_with_a_covariance_estimator_is_scikit_learns(priors, estimator):
    X, y = table()
    options = dict(solver="eigen", priors=priors, covariance_estimator=estimator)
    ours = QuadraticDiscriminantAnalysis(**options, store_covariance=True).fit(X, y)
    its = theirs.QuadraticDiscriminantAnalysis(**options, store_covariance=True).fit(X, y)
    assert_allclose(ours.decision_function(X), its.decision_function(X), rtol=1e-8)
    assert_allclose(ours.covariance_, its.covariance_, rtol=1e-8, atol=1e-12)


BOTH = [
    LinearDiscriminantAnalysis("eigen", covariance_estimator=ShrunkCovariance(shrinkage=0.2)),
    QuadraticDiscriminantAnalysis(
        solver="eigen", covariance_estimator=ShrunkCovariance(shrinkage=0.2)
    ),
]


@pytest.mark.parametrize("model", BOTH, ids=repr)
def test_a_covariance_estimator_that_shrinks_does_as_shrinkage_does(model):
    X, y = table(600)
    here = clone(model).fit(X, y)
    plain = clone(model).set_params(covariance_estimator=None, shrinkage=0.2).fit(X, y)
    assert_allclose(here.predict_proba(X), plain.predict_proba(X), rtol=1e-8)
    assert not hasattr(model.covariance_estimator, "covariance_")  # what was given stays unfitted
    assert_allclose(here.sample(9, 0)[0], plain.sample(9, 0)[0], rtol=1e-8)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    table_fit = clone(model).fit(frame, "y")
    assert_allclose(table_fit.predict_proba(frame[list("abcd")]), plain.predict_proba(X))


@pytest.mark.parametrize("model", BOTH, ids=repr)
def test_folds_and_grids_fit_covariance_estimators_again(model):
    X, y = table(600)
    ours = tenfold.cross_validate(model, X, y, folds=5)["test_score"]
    assert_allclose(ours, cross_val_score(model, X, y, cv=5))
    grid = {"covariance_estimator": [None, OAS(), ShrunkCovariance(shrinkage=0.9)]}
    ours = tenfold.search(model, grid, X, y, folds=5).cv_results_["mean_test_score"]
    its = GridSearchCV(model, grid, cv=5).fit(X, y).cv_results_["mean_test_score"]
    assert_allclose(ours, its)


@pytest.mark.parametrize("model", BOTH, ids=repr)
def test_a_covariance_estimator_needs_all_rows_without_weights(model, tmp_path):
    X, y = table()
    pd.DataFrame(X).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"all rows in memory.*read them into an array, or leave"):
        clone(model).fit(tmp_path / "rows.csv", "y")
    with pytest.raises(TypeError, match=r"all rows at once: use fit, or set shrinkage='auto'"):
        clone(model).partial_fit(X, y, [0, 1, 2])
    with pytest.raises(TypeError, match="cannot be merged"):
        tenfold.merge(clone(model).fit(X, y), clone(model).fit(X, y))
    if isinstance(model, LinearDiscriminantAnalysis):
        with pytest.raises(ValueError, match="takes no weights: repeat rows"):
            clone(model).fit(X, y, np.ones(len(y)))


@pytest.mark.parametrize("model", BOTH, ids=repr)
@pytest.mark.parametrize(
    ("params", "problem", "message"),
    [
        ({"solver": "svd"}, ValueError, "not supported with (svd solver|solver='svd')"),
        ({"shrinkage": 0.1}, ValueError, "Only one of the two"),
        ({"covariance_estimator": StandardScaler()}, ValueError, "StandardScaler does not have"),
        ({"covariance_estimator": "oas"}, ValueError, "covariance_estimator"),
    ],
)
def test_impossible_covariance_estimators_are_refused(model, params, problem, message):
    with pytest.raises(problem, match=message):
        clone(model).set_params(**params).fit(*table())


def test_a_covariance_estimator_does_not_meet_a_class_of_one_row():
    X, y = table(30)
    with pytest.raises(ValueError, match="only 1 sample in class 7"):
        clone(BOTH[1]).fit(X, np.append([7], y[1:]))


# ------------------------------------------------------------------------------------------ moments


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_scatters_are_those_of_each_class(own, weighted):
    X, y = table(60)
    w = np.random.default_rng(1).integers(0, 3, 60).astype(float) if weighted else None
    s = class_scatters(Chunk(X, y, w), 3, own)
    w = np.ones(60) if w is None else w
    each = [np.cov(X[y == c].T, aweights=w[y == c], ddof=0) * w[y == c].sum() for c in range(3)]
    assert_allclose(s.scatter, each if own else [np.sum(each, axis=0)], rtol=1e-10)
    assert_allclose(s.total(), np.cov(X.T, aweights=w, ddof=0) * w.sum(), rtol=1e-10)
    assert_array_equal(s.rows, [(w[y == c] > 0).sum() for c in range(3)])


@settings(max_examples=20)
@given(st.integers(1, 59), st.floats(-1e3, 1e3))
def test_moments_of_parts_make_those_of_the_whole(cut, shift):
    X, y = table(60)
    X += shift
    w = np.random.default_rng(2).random(60)
    for leaf in (
        lambda c: class_scatters(c, 4, True),  # class 3 has no rows
        lambda c: class_scatters(c, 4, False),
        lambda c: class_fourth_moments(c, 4),
    ):
        parts = merge(
            leaf(Chunk(X[:cut], y[:cut], w[:cut])), leaf(Chunk(X[cut:], y[cut:], w[cut:]))
        )
        for got, want in zip(parts, leaf(Chunk(X, y, w)), strict=True):
            assert_allclose(got, want, rtol=1e-8, atol=1e-8 * max(np.abs(want).max(), 1))


def test_all_classes_as_one():
    X, y = table(60)
    together = class_fourth_moments(Chunk(X, y), 3).together()
    whole = class_fourth_moments(Chunk(X, np.zeros(60, int)), 1)
    for got, want in zip(together, whole, strict=True):
        assert_allclose(got, want, rtol=1e-9, atol=1e-9 * np.abs(want).max())


@pytest.mark.parametrize("p", [1, 2, 7, 30])
def test_shrinkage_of_ledoit_and_wolf_comes_from_sums(p):
    X = np.random.default_rng(p).exponential(size=(40, p)) * np.arange(1, p + 1) + 5
    s = class_fourth_moments(Chunk(X, np.zeros(40, int)), 1)
    deviation = X.std(axis=0)
    expected, _ = their_ledoit_wolf((X - X.mean(axis=0)) / deviation)
    scale = np.multiply.outer(deviation, deviation)
    assert_allclose(ledoit_wolf(s.n[0], s.scatter[0], s.fourth[0]), expected * scale, rtol=1e-9)
