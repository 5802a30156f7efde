"""Discriminants and Gaussian classes against scikit-learn, scipy and each other."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn import discriminant_analysis as theirs
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from sklearn.covariance import ledoit_wolf as their_ledoit_wolf
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import testing
from tenfold.discriminant._covariance import ledoit_wolf
from tenfold.discriminant.gaussian_classifier import COVARIANCE_STRUCTURES, GaussianClassifier
from tenfold.discriminant.generative_classifier import GenerativeClassifier
from tenfold.discriminant.lda import LinearDiscriminantAnalysis
from tenfold.discriminant.qda import QuadraticDiscriminantAnalysis
from tenfold.distributions import Gaussian, Independent
from tenfold.engine import Chunk, merge
from tenfold.stats.class_moments import class_fourth_moments, class_scatters

PRIORS = [0.2, 0.5, 0.3]


def table(n=240, p=4, k=3, seed=0):
    """Correlated rows of k classes."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * rng.uniform(0.5, 2, k)[y][:, None]
    return X + rng.normal(size=(k, p))[y], y


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


# --------------------------------------------------------------------------------- Gaussian classes


@pytest.mark.parametrize("covariance", COVARIANCE_STRUCTURES)
def test_scores_are_priors_times_densities(covariance):
    X, y = table()
    model = GaussianClassifier(covariance, reg_covar=0.0).fit(X, y)
    shapes = {
        "full": lambda c: np.cov(X[y == c].T, ddof=0),
        "tied": lambda _: sum(np.cov(X[y == d].T, ddof=0) * (y == d).mean() for d in range(3)),
        "diagonal": lambda c: np.diag(X[y == c].var(axis=0)),
        "spherical": lambda c: np.eye(4) * X[y == c].var(axis=0).mean(),
    }
    for c in range(3):
        density = multivariate_normal(X[y == c].mean(axis=0), shapes[covariance](c))
        expected = density.logpdf(X) + np.log((y == c).mean())
        assert_allclose(model.predict_joint_log_proba(X)[:, c], expected, rtol=1e-9, atol=1e-9)


def test_the_names_of_old_are_special_cases():
    X, y = table()
    pairs = [
        (GaussianClassifier("tied", reg_covar=0.0), LinearDiscriminantAnalysis()),
        (GaussianClassifier("full", reg_covar=0.0), QuadraticDiscriminantAnalysis()),
        (GenerativeClassifier(Gaussian()), GaussianClassifier("full", reg_covar=0.0)),
        (
            GenerativeClassifier(Independent((Gaussian(),) * 4)),
            GaussianClassifier("diagonal", reg_covar=0.0),
        ),
    ]
    for a, b in pairs:
        assert_allclose(a.fit(X, y).predict_proba(X), b.fit(X, y).predict_proba(X), atol=1e-9)


MODELS = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis("eigen", "auto"),
    LinearDiscriminantAnalysis("eigen", None, PRIORS),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    *(GaussianClassifier(covariance) for covariance in COVARIANCE_STRUCTURES),
    GenerativeClassifier(),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize(
    "law",
    [
        testing.check_statistics_merge,
        testing.check_models_merge,
        testing.check_thread_invariance,
        testing.check_weights_as_repetitions,
        testing.check_float32,
    ],
)
def test_laws_hold_for_all_variants(model, law):
    law(model)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_model_learns_itself_from_its_sample(model):  # [004, 3.6]
    X, y = table(600)
    fitted = model.__class__(**model.get_params()).fit(X, y)
    new_X, new_y = fitted.sample(40_000, random_state=1)
    assert_array_equal(new_X, fitted.sample(40_000, random_state=1)[0])
    again = model.__class__(**model.get_params()).fit(new_X, new_y)
    assert_allclose(again.predict_proba(X), fitted.predict_proba(X), atol=0.06)
    assert_allclose(np.bincount(new_y) / 40_000, fitted._class_probabilities(), atol=0.01)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_classes_may_be_added(model):
    if getattr(model, "priors", None) is not None:
        model = model.__class__(**(model.get_params() | {"priors": None}))
    X, y = table(600)
    names = np.array(["b", "a", "c"])[y]
    grown = model.fit(X[y < 2], names[y < 2]).add_classes(X[y == 2], names[y == 2])
    whole = model.__class__(**model.get_params()).fit(X, names)
    assert grown.classes_.tolist() == ["a", "b", "c"]
    assert_allclose(grown.predict_proba(X), whole.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_an_announced_class_without_rows_is_never_predicted(model):
    if getattr(model, "priors", None) is not None:
        model = model.__class__(**(model.get_params() | {"priors": None}))
    X, y = table(600)
    model = model.__class__(**model.get_params())
    for classes, rows in (([0, 1, 2], y < 2), ([0, 2], y == 0), ([0, 2], y == 2)):
        learner = model.__class__(**model.get_params()).partial_fit(X[rows], y[rows], classes)
        assert set(learner.predict(X)) <= set(y[rows])
        assert np.isfinite(learner.predict_proba(X)).all()
        absent = ~np.isin(learner.classes_, y[rows])
        assert_array_equal(learner.predict_proba(X)[:, absent], 0)
        assert not learner._statistic_suffices(learner.statistic_, 1, learner.dtype_, [{}])


def test_priors_are_counted_again_when_classes_are_added_to_given_ones():
    X, y = table()
    model = GaussianClassifier(priors=[0.5, 0.5]).fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="number of classes: 3"):
        model.add_classes(X[y == 2], y[y == 2])
    assert model.classes_.tolist() == [0, 1]  # as it was
    model.set_params(priors=PRIORS).add_classes(X[y == 2], y[y == 2])
    assert_allclose(model.priors_, PRIORS)


def test_priors_that_do_not_sum_to_one_are_scaled_with_a_warning():
    X, y = table()
    with pytest.warns(UserWarning, match="sum to 1"):
        model = LinearDiscriminantAnalysis(priors=[1.0, 1.0, 2.0]).fit(X, y)
    assert_allclose(model.priors_, [0.25, 0.25, 0.5])


@pytest.mark.parametrize("model", [*MODELS, LinearDiscriminantAnalysis("lsqr", 0.2)], ids=repr)
def test_one_walk_serves_all_folds(model):
    X, y = table(600)
    assert model.fit(X, y)._statistic_suffices(model.statistic_, 600, model.dtype_, [{}])
    ours = tenfold.cross_validate(model, X, y, folds=5)["test_score"]
    assert_allclose(ours, cross_val_score(model, X, y, cv=5), atol=1e-12)


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (
            GaussianClassifier(),
            {"covariance": list(COVARIANCE_STRUCTURES), "reg_covar": [0.0, 1.0]},
        ),
        (LinearDiscriminantAnalysis("eigen"), {"shrinkage": [None, 0.1, 0.9]}),
        (
            LinearDiscriminantAnalysis("lsqr"),
            {"shrinkage": [0.1, "auto"], "priors": [None, PRIORS]},
        ),
        (QuadraticDiscriminantAnalysis(solver="eigen"), {"shrinkage": ["auto", 0.5, None]}),
        (QuadraticDiscriminantAnalysis(), {"reg_param": [0.0, 0.1, 0.9]}),
    ],
    ids=repr,
)
def test_settings_are_searched_from_the_same_moments(model, grid):
    X, y = table(600)
    ours = tenfold.search(model, grid, X, y, folds=5).cv_results_["mean_test_score"]
    its = GridSearchCV(model, grid, cv=5).fit(X, y).cv_results_["mean_test_score"]
    assert_allclose(ours, its, atol=1e-12)


def test_folds_without_a_class_and_densities_without_a_statistic():
    X, y = table(600)
    y[y == 2] = np.append([2] * 20, np.ones((y == 2).sum() - 20))
    rows = np.argsort(y == 2, kind="stable")  # the last fold has all rows of class 2
    for model in (GaussianClassifier(), GenerativeClassifier(Laplace())):
        ours = tenfold.cross_validate(model, X[rows], y[rows], folds=KFold(5))["test_score"]
        assert_allclose(ours, cross_val_score(model, X[rows], y[rows], cv=KFold(5)), atol=1e-12)


# ------------------------------------------------------------------------------------- any density


class Laplace:
    """A density that learns from all rows at once and changes itself."""

    def fit(self, X, w):
        self.middle = np.median(np.repeat(X, w.astype(int), axis=0), axis=0)
        self.scale = w @ np.abs(X - self.middle) / w.sum()
        return self

    def log_density(self, X):
        return (-np.abs(X - self.middle) / self.scale - np.log(2 * self.scale)).sum(axis=1)

    def sample(self, n, rng):
        return rng.laplace(self.middle, self.scale, (n, len(self.middle)))


def test_any_density_will_do():
    X, y = table()
    model = GenerativeClassifier(Laplace()).fit(X, y, np.arange(240) % 3)
    parts = [Laplace().fit(X[y == c], (np.arange(240) % 3)[y == c]) for c in range(3)]
    shares = [(np.arange(240) % 3)[y == c].sum() for c in range(3)] / (np.arange(240) % 3).sum()
    joint = np.stack([part.log_density(X) for part in parts], axis=1) + np.log(shares)
    assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-12)
    assert model.sample(5, random_state=0)[0].shape == (5, 4)
    with pytest.raises(TypeError, match="Laplace has no statistic"):
        GenerativeClassifier(Laplace()).partial_fit(X, y, [0, 1, 2])
    with pytest.raises(TypeError, match="cannot be merged"):
        tenfold.merge(model, model)


def test_wrong_densities_say_so():
    with pytest.raises(ValueError, match="density"):
        GenerativeClassifier("gaussian").fit(*table())
    with pytest.raises(ValueError, match="3 densities for 4 columns"):
        GenerativeClassifier(Independent((Gaussian(),) * 3)).fit(*table())


def test_no_warnings_where_data_are_degenerate():
    X = np.zeros((6, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (LinearDiscriminantAnalysis(), *MODELS[5:9]):
            p = model.__class__(**model.get_params()).fit(X, [0, 0, 0, 0, 1, 1]).predict_proba(X)
            assert_allclose(p, [[4 / 6, 2 / 6]] * 6)
