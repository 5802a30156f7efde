"""Gaussian classes, and classes of any density."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import tenfold
from tenfold import testing
from tenfold.discriminant.gaussian_classifier import COVARIANCE_STRUCTURES, GaussianClassifier
from tenfold.discriminant.generative_classifier import GenerativeClassifier
from tenfold.discriminant.lda import LinearDiscriminantAnalysis
from tenfold.discriminant.qda import QuadraticDiscriminantAnalysis
from tenfold.distributions import Gaussian, Independent
from tests.discriminant.classes import PRIORS, table


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
