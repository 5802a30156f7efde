"""Learning row by row: scikit-learn's steps, a plain loop, and the properties of the notes."""

import math
from functools import partial
from unittest import mock

import numpy as np
import pytest
import sklearn.linear_model as sk
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, log_ndtr, ndtr
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.preprocessing import scale

from tenfold import checkpoint, threads
from tenfold.engine import Rows
from tenfold.linear._losses_numba import LOSS_CODES, loss_and_derivative
from tenfold.linear.stochastic import _sgd_loop
from tenfold.linear.stochastic.perceptron import perceptron_step
from tenfold.linear.stochastic.sgd import CLASSIFICATION_LOSSES, SGDClassifier, SGDRegressor
from tenfold.math import losses

PENALTIES = ("l2", "l1", "elasticnet", None)
RATES = ("constant", "optimal", "invscaling", "adaptive")
FIXED = {"shuffle": False, "tol": None, "max_iter": 3, "alpha": 0.05, "eta0": 0.1}


def table(classes=2, n=60, p=7, seed=0):
    """Rows with zeros in them, and labels or numbers that hang on them."""
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.7)
    score = X @ rng.normal(size=p) + 0.2 * rng.normal(size=n)
    if not classes:
        return X, score
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def assert_same(ours, theirs, **tolerance):
    settings = {"rtol": 1e-9, "atol": 1e-11} | tolerance
    assert_allclose(ours.coef_, theirs.coef_, **settings)
    assert_allclose(ours.intercept_, theirs.intercept_, **settings)


def plain_loop(X, y, loss, *, penalty, rate, alpha=0.05, eta0=0.1, l1_ratio=0.15, steps=3):
    """Averaged SGD as it is defined, with nothing put off; y are signs or numbers."""
    w, b, owed, taken = np.zeros(X.shape[1]), 0.0, 0.0, np.zeros(X.shape[1])
    total, offsets, t = np.zeros_like(w), 0.0, 0
    share = {"l2": 0.0, "l1": 1.0, "elasticnet": l1_ratio}[penalty]
    for _ in range(steps):
        for x, label in zip(X, y, strict=True):
            eta = {"constant": eta0, "optimal": 1 / (alpha * (alpha**-0.75 + t))}[rate]
            step = -eta * loss_and_derivative(LOSS_CODES[loss], 0.1, w @ x + b, float(label))[1]
            w = w * (1 - eta * alpha * (1 - share)) + step * x
            b += step
            owed += eta * alpha * share
            if share:
                cut = np.where(w > 0, np.maximum(0, w - owed - taken), w)
                cut = np.where(w < 0, np.minimum(0, w + owed - taken), cut)
                w, taken = cut, taken + cut - w
            total, offsets, t = total + w, offsets + b, t + 1
    return total / t, offsets / t


# ------------------------------------------------------------------------ scikit-learn's steps
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", [loss for loss in CLASSIFICATION_LOSSES if loss != "probit"])
def test_classifier_takes_the_steps_of_scikit_learn(loss, penalty):
    X, y = table()
    for rate in RATES:
        for average in (False, True, 100) if penalty in ("l2", None) else (False,):
            for rows in (X, sparse.csr_matrix(X)):
                settings = {"loss": loss, "penalty": penalty, "learning_rate": rate, **FIXED}
                ours, theirs = (
                    model(average=average, **settings).fit(rows, y)
                    for model in (SGDClassifier, sk.SGDClassifier)
                )
                assert_same(ours, theirs)
                assert ours.t_ == theirs.t_


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(
    "loss", ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
)
def test_regressor_takes_the_steps_of_scikit_learn(loss, penalty):
    X, y = table(0)
    for rate in RATES:
        for average in (False, 50) if penalty in ("l2", None) else (False,):
            for rows in (X, sparse.csr_array(X)):
                settings = {"loss": loss, "penalty": penalty, "learning_rate": rate, **FIXED}
                settings |= {"average": average, "epsilon": 0.05}
                assert_same(
                    SGDRegressor(**settings).fit(rows, y), sk.SGDRegressor(**settings).fit(rows, y)
                )


@pytest.mark.parametrize("rate", ["pa1", "pa2"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_passive_aggressive_steps(rate, penalty):
    X, y = table()
    X[7] = 0  # a row without length is passed over by "pa1"
    settings = {**FIXED, "learning_rate": rate, "penalty": penalty}
    assert_same(SGDClassifier(**settings).fit(X, y), sk.SGDClassifier(**settings).fit(X, y))
    settings["loss"] = "epsilon_insensitive"
    assert_same(SGDRegressor(**settings).fit(X, y), sk.SGDRegressor(**settings).fit(X, y))


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_many_classes_weights_and_constants(loss):
    X, y = table(4)
    w = np.random.default_rng(1).random(len(X))
    settings = {**FIXED, "loss": loss, "class_weight": {0: 2.0, 3: 0.5}}
    for more in ({}, {"fit_intercept": False}, {"average": True, "power_t": 0.3}):
        ours, theirs = (
            model(**settings, **more).fit(X, y, sample_weight=w)
            for model in (SGDClassifier, sk.SGDClassifier)
        )
        assert_same(ours, theirs)
        assert_array_equal(ours.predict(X), theirs.predict(X))
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-10)


def test_balanced_classes_are_those_of_scikit_learn():
    X, y = table()
    y[:40] = 0
    settings = {**FIXED, "class_weight": "balanced"}
    assert_same(SGDClassifier(**settings).fit(X, y), sk.SGDClassifier(**settings).fit(X, y))


def test_starts_and_warm_starts():
    X, y = table(3)
    W, b = np.ones((3, 7)), np.arange(3.0)
    ours, theirs = SGDClassifier(**FIXED), sk.SGDClassifier(**FIXED)
    for model in (ours, theirs):
        model.fit(X, y, coef_init=W, intercept_init=b)
    assert_same(ours, theirs)
    for model in (ours, theirs):
        model.set_params(warm_start=True).fit(X, y)
    assert_same(ours, theirs)


@pytest.mark.parametrize("penalty", ["l2", None])
def test_stops_when_scikit_learn_stops(penalty):
    """Up to an epoch with a penalty: scikit-learn takes its mean along the epoch, we at the end."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    for loss in ("hinge", "log_loss"):
        settings = {"loss": loss, "shuffle": False, "penalty": penalty, "alpha": 0.01}
        ours, theirs = SGDClassifier(**settings).fit(X, y), sk.SGDClassifier(**settings).fit(X, y)
        assert abs(ours.n_iter_ - theirs.n_iter_) <= (penalty is not None)
        assert ours.converged_
        assert len(ours.history_["objective"]) == ours.n_iter_


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_error"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("rate", ["constant", "optimal"])
def test_averages_are_those_of_a_plain_loop(loss, penalty, rate):
    """scikit-learn forgets in its averages what the L1 penalty cut off; a plain loop does not."""
    X, y = table()
    W, b = plain_loop(X, 2 * y - 1, loss, penalty=penalty, rate=rate)
    settings = {**FIXED, "loss": loss, "penalty": penalty, "learning_rate": rate}
    model = SGDClassifier(average=True, **settings).fit(X, y)
    assert_allclose(model.coef_[0], W, rtol=1e-9, atol=1e-12)
    assert_allclose(model.intercept_, b, rtol=1e-9)


def test_l1_sets_weights_to_zero():
    X, y = table(n=500, p=20)
    y = (X[:, 0] > 0).astype(int)
    model = SGDClassifier(penalty="l1", alpha=0.02, random_state=0).fit(X, y)
    assert (model.coef_[0, 1:] == 0).mean() > 0.8
    assert model.coef_[0, 0] > 0


# ------------------------------------------------------------------------------------- losses
PAIRS = {
    "hinge": losses.HingeLoss(),
    "perceptron": losses.PerceptronLoss(),
    "squared_hinge": losses.SquaredHingeLoss(),
    "log_loss": losses.LogisticLoss(),
    "probit": losses.ProbitLoss(),
    "squared_error": losses.SquaredLoss(),
    "huber": losses.HuberLoss(0.3),
    "absolute_error": losses.AbsoluteLoss(),
    "quantile": losses.PinballLoss(0.3),
}


@pytest.mark.parametrize("name", PAIRS)
@given(z=st.floats(-40, 40), y=st.sampled_from([-1.0, 1.0]))
def test_compiled_losses_are_those_of_maths(name, z, y):
    if name in ("hinge", "absolute_error", "quantile") and abs(z) == 1:
        return  # at the kink both sides have a right to the slope
    epsilon = 0.0 if name == "absolute_error" else 0.3
    value, slope = loss_and_derivative(LOSS_CODES[name], epsilon, z, y)
    loss = PAIRS[name]
    assert_allclose(value, loss.value(np.array([z]), np.array([y]))[0], rtol=1e-10, atol=1e-15)
    assert_allclose(slope, loss.gradient(np.array([z]), np.array([y]))[0], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", LOSS_CODES)
@given(z=st.floats(-5, 5), y=st.sampled_from([-1.0, 1.0]))
def test_slopes_are_derivatives(name, z, y):
    f = partial(loss_and_derivative, LOSS_CODES[name], 0.3)
    h = 1e-6
    left, right = f(z - h, y), f(z + h, y)
    low, high = sorted([left[1], right[1]])
    assert low - 1e-5 <= (right[0] - left[0]) / (2 * h) <= high + 1e-5


def test_probit_far_into_the_tail():
    for m in (-1e4, -100.0, -30.1, -29.9, -5.0, 5.0, 40.0):
        value, slope = loss_and_derivative(LOSS_CODES["probit"], 0.0, m, 1.0)
        assert_allclose(value, -log_ndtr(m), rtol=1e-9)
        tail = np.exp(-0.5 * m * m - 0.5 * np.log(2 * np.pi) - log_ndtr(m))
        assert_allclose(slope, -tail, rtol=1e-8)


def test_absolute_error_is_the_median_and_quantile_its_quantile():
    X, y = table(0, n=3000)
    y = y + np.random.default_rng(0).exponential(size=len(y))
    settings = {"shuffle": False, "tol": None, "max_iter": 2, "penalty": None}
    absolute = SGDRegressor("absolute_error", eta0=0.01, **settings).fit(X, y)
    insensitive = sk.SGDRegressor("epsilon_insensitive", epsilon=0, eta0=0.01, **settings)
    assert_same(absolute, insensitive.fit(X, y))
    half = SGDRegressor("quantile", quantile=0.5, eta0=0.02, **settings).fit(X, y)
    assert_same(absolute, half)
    settings = {"max_iter": 20, "tol": None, "average": True, "random_state": 0}
    upper = SGDRegressor("quantile", quantile=0.8, eta0=0.1, **settings).fit(X, y)
    assert abs((y < upper.predict(X)).mean() - 0.8) < 0.02


# ------------------------------------------------------------------------- what the notes claim
def test_logistic_step_is_the_perceptron_step_with_a_soft_error():
    """w += eta (y - M(x)) x [000, C7, C9]; M is a probability there, and 0 or 1 here."""
    X, y = table()
    soft, hard, eta = np.zeros(8), np.zeros(8), 0.1
    for x, label in zip(np.column_stack([X, np.ones(len(X))]), y, strict=True):
        soft = soft + eta * (label - expit(soft @ x)) * x
        right = (2 * label - 1) * (hard @ x) > 0
        guess = label if right else 1 - label
        after = perceptron_step(x, 2 * label - 1, hard)[0]
        assert_allclose(after, hard + (label - guess) * x)
        hard = after
    settings = {"penalty": None, "learning_rate": "constant", "eta0": eta, "max_iter": 1}
    model = SGDClassifier("log_loss", shuffle=False, tol=None, **settings).fit(X, y)
    assert_allclose(np.append(model.coef_, model.intercept_), soft, rtol=1e-12)


def test_least_squares_step_and_its_limit():
    """theta += eta (y - theta.x) x leads to least squares, or ridge [003, A053-A057]."""
    X, y = table(0, n=400, p=4)
    one = {"learning_rate": "constant", "eta0": 0.1, "penalty": None, "fit_intercept": False}
    model = SGDRegressor(**one).partial_fit(X[:1], y[:1])
    assert_allclose(model.coef_, 0.1 * y[0] * X[0])
    settings = {"eta0": 0.5, "power_t": 0.5, "max_iter": 300, "tol": None, "average": 400 * 100}
    for alpha in (0.0, 0.01):
        model = SGDRegressor(alpha=alpha, random_state=0, **settings).fit(X, y)
        best = sk.Ridge(alpha=alpha * len(X)).fit(X, y)
        assert_allclose(model.coef_, best.coef_, rtol=0.02, atol=0.005)


def test_probit_follows_its_own_likelihood():
    X, y = table(n=2000)
    settings = {"alpha": 1e-3, "max_iter": 100, "tol": None, "average": True, "random_state": 0}
    model = SGDClassifier("probit", learning_rate="invscaling", eta0=1.0, **settings).fit(X, y)
    z = model.decision_function(X)
    assert_allclose(model.predict_proba(X)[:, 1], ndtr(z), rtol=1e-9)
    slope = -(2 * y - 1) * np.exp(-0.5 * z * z - log_ndtr((2 * y - 1) * z)) / math.sqrt(2 * math.pi)
    gradient = slope @ X / len(X) + 1e-3 * model.coef_[0]
    assert np.abs(gradient).max() < 2e-3


# --------------------------------------------------------------------------------- streams, bits
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("penalty", ["l2", "elasticnet"])
def test_a_stream_in_parts_teaches_the_same_as_the_whole(penalty, average):
    """[004, 3-10: online training]; to the bit, L1 debts and averages included."""
    X, y = table(3)
    settings = {**FIXED, "max_iter": 1, "penalty": penalty, "average": average}
    whole = SGDClassifier(**settings).fit(X, y)
    stream = SGDClassifier(**settings)
    for part in (slice(10), slice(10, 11), slice(11, None)):
        stream.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert_array_equal(stream.coef_, whole.coef_)
    assert_array_equal(stream.intercept_, whole.intercept_)
    assert stream.t_ == whole.t_ == len(X) + 1


def test_partial_fit_is_that_of_scikit_learn():
    X, y = table(3)
    ours, theirs = SGDClassifier(**FIXED), sk.SGDClassifier(**FIXED)
    for model in (ours, theirs):
        model.fit(X, y)
        for _ in range(2):
            model.partial_fit(X[:20], y[:20])
    assert_same(ours, theirs)


def test_averaging_may_begin_after_the_fit():
    X, y = table()
    model = SGDClassifier(**FIXED).fit(X, y)
    last = model.coef_
    model.set_params(average=True).partial_fit(X, y)
    assert model.scores_.average_offset.shape == model.coef_.shape
    assert not np.array_equal(model.coef_, last)


def test_threads_over_classes_do_not_matter():
    X, y = table(5, n=900)
    for rows in (X, X.astype(np.float32), sparse.csr_array(X)):
        with mock.patch.object(_sgd_loop, "MIN_PARALLEL_PRODUCTS", 0):
            with threads(1):
                alone = SGDClassifier(random_state=0, max_iter=5, tol=None).fit(rows, y)
            with threads(3):
                together = SGDClassifier(random_state=0, max_iter=5, tol=None).fit(rows, y)
        assert_array_equal(alone.coef_, together.coef_)


@pytest.mark.parametrize("average", [False, True])
def test_float32_is_float64_but_for_rounding(average):
    X, y = table(n=2000)
    settings = {"random_state": 0, "max_iter": 10, "tol": None, "alpha": 0.01, "average": average}
    wide, narrow = (
        SGDClassifier("log_loss", **settings).fit(rows, y) for rows in (X, X.astype("f"))
    )
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    assert_allclose(narrow.coef_, wide.coef_, rtol=1e-3, atol=1e-4)


class Killed(BaseException):
    """What stops a fit between two blocks."""


@pytest.mark.parametrize("rate", ["optimal", "adaptive"])
def test_a_fit_that_is_stopped_goes_on_to_the_same_bits(tmp_path, rate):
    X, y = load_iris(return_X_y=True)
    model = SGDClassifier(random_state=0, average=True, penalty="l1", learning_rate=rate, eta0=0.1)
    whole = model.fit(scale(X), y)
    honest, left = Rows.blocks, [0]

    def blocks(rows, seed=None):
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return honest(rows, seed)

    again, stops = None, 0
    while again is None:
        left[0] = 6
        try:
            with mock.patch.object(Rows, "blocks", blocks), checkpoint(tmp_path / "c", every=0):
                again = SGDClassifier(**model.get_params()).fit(scale(X), y)
        except Killed:
            stops += 1
    assert stops > 2
    assert_array_equal(again.coef_, whole.coef_)
    assert again.n_iter_ == whole.n_iter_
    assert_array_equal(again.history_["objective"], whole.history_["objective"])


# ----------------------------------------------------------------------------------- when to stop
@pytest.mark.parametrize("model", [SGDClassifier, SGDRegressor])
def test_rows_held_for_validation_teach_nothing(model):
    X, y = load_iris(return_X_y=True)
    settings = {**FIXED, "max_iter": 10, "learning_rate": "constant", "eta0": 0.01}
    early = model(early_stopping=True, random_state=3, validation_fraction=0.4, **settings)
    split = StratifiedShuffleSplit if model is SGDClassifier else ShuffleSplit
    kept = np.sort(next(split(test_size=0.4, random_state=3).split(X, y))[0])
    rest = model(**settings).fit(X[kept], y[kept])
    assert_array_equal(early.fit(X, y).coef_, rest.coef_)


def test_early_stopping_watches_the_rows_held():
    X, y = table(n=1000)
    rng = np.random.default_rng(0)
    for model, target in ((SGDClassifier, y), (SGDRegressor, X @ rng.normal(size=7))):
        for patience in (2, 6):
            fitted = model(early_stopping=True, n_iter_no_change=patience, random_state=0)
            fitted.fit(X, target)
            assert patience < fitted.n_iter_ < 1000
        assert fitted.score(X, target) > 0.8


def test_adaptive_rates_fall_until_they_are_small():
    X, y = table(n=300)
    model = SGDClassifier(learning_rate="adaptive", eta0=0.1, random_state=0, max_iter=1000)
    constant = SGDClassifier(learning_rate="constant", eta0=0.1, random_state=0).fit(X, y)
    assert model.fit(X, y).n_iter_ > constant.n_iter_
    assert model.converged_
    assert model.scores_.scalars[0, _sgd_loop.STEP_SIZE] < 1e-6


def test_objective_counts_weights():
    """The epoch's objective is the one that is minimised, per unit of weight."""
    X, y = table()
    once, twice = (
        SGDClassifier(**{**FIXED, "alpha": alpha, "eta0": eta0}, learning_rate="constant").fit(
            X, y, sample_weight=np.full(len(y), w)
        )
        for alpha, eta0, w in ((0.05, 0.1, 1.0), (0.1, 0.05, 2.0))
    )
    assert_same(once, twice)
    assert_allclose(once.history_["objective"], twice.history_["objective"])


def test_too_few_epochs_are_reported():
    X, y = table(n=500)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = SGDClassifier(max_iter=2, random_state=0).fit(X, y)
    assert not model.converged_
    silent = SGDClassifier(max_iter=2, tol=None, random_state=0).fit(X, y)
    assert not silent.converged_  # all epochs were asked for: no rule to meet, and no warning


# ------------------------------------------------------------------------- the rest of the face
def test_probabilities():
    X, y = table(3, n=300)
    for loss in ("log_loss", "modified_huber"):
        settings = {**FIXED, "loss": loss}
        ours, theirs = SGDClassifier(**settings).fit(X, y), sk.SGDClassifier(**settings).fit(X, y)
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    far = SGDClassifier("modified_huber", **FIXED).fit(X, y)
    far.coef_, far.intercept_ = 0 * far.coef_, np.full(3, -5.0)
    assert_allclose(far.predict_proba(X), 1 / 3)
    assert not hasattr(SGDClassifier("hinge"), "predict_proba")
    assert not hasattr(SGDClassifier("hinge"), "predict_log_proba")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": 0}, "alpha must be > 0"),
        ({"learning_rate": "pa1", "loss": "log_loss"}, "'hinge'"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio"),
        ({"power_t": np.inf}, "power_t"),
        ({"loss": "quantile"}, "loss"),
        ({"class_weight": {7: 1.0}}, "7"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(ValueError, match=words):
        SGDClassifier(**settings).fit(*table())


def test_other_errors():
    X, y = table(3)
    with pytest.raises(ValueError, match=r"coef_init does not match.*\(3, 7\)"):
        SGDClassifier().fit(X, y, coef_init=np.zeros((2, 7)))
    with pytest.raises(ValueError, match="early_stopping"):
        SGDClassifier(early_stopping=True).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="balanced"):
        SGDClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="first call"):
        SGDClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="same as on last call"):
        SGDClassifier(random_state=0).fit(X, y).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"epoch #1.*StandardScaler"):
        SGDRegressor().fit(1e200 * X, y)
    w = np.zeros(len(y))
    w[0] = 1  # is not among the rows that seed 0 holds back
    with pytest.raises(ValueError, match="validation set are all zero"):
        SGDRegressor(early_stopping=True, random_state=0).fit(X, y, sample_weight=w)
