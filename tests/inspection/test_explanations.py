"""Explanations of models with a link, of every naive Bayes, and refusals by name."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model, naive_bayes
from sklearn.cross_decomposition import PLSRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tenfold as tf
from tenfold.inspection import feature_contributions, sensitivity, top_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0] + 0.3))
XOR = (X[:, 0] * X[:, 1] > 0).astype(int)
WORDS = np.random.default_rng(0).poisson(3, (60, 4)).astype(float)
RARE = np.r_[np.zeros(50, int), np.ones(10, int)]


def log_odds(model, x):
    return np.diff(model.predict_joint_log_proba(np.atleast_2d(x)))[0, 0]


@pytest.mark.parametrize(
    "model",
    [
        tf.PoissonRegressor(alpha=0),
        tf.PenalizedRegressor("poisson"),
        linear_model.PoissonRegressor(alpha=0),
        linear_model.GammaRegressor(),
        linear_model.TweedieRegressor(power=1.5, link="log"),
    ],
    ids=lambda model: f"{type(model).__module__.split('.')[0]}-{type(model).__name__}",
)
def test_a_log_link_is_said_and_differentiated(model):
    model.fit(X, COUNTS + (1.0 if "Gamma" in type(model).__name__ else 0.0))
    why, mean = feature_contributions(model, X[0]), model.predict(X[:1])[0]
    assert why.outputs == ["log of prediction"]
    assert_allclose(why.scores, np.log(mean))
    assert str(why).splitlines()[0] == (
        f"log of prediction: {np.log(mean):.4g} (prediction: {mean:.4g})"
    )
    assert_allclose(sensitivity(model, X[0]), mean * model.coef_)
    assert_allclose(sensitivity(model, X[0], "predict"), mean * model.coef_, rtol=1e-6)
    assert_allclose(np.abs(top_weights(model).weights[0]).max(), np.abs(model.coef_).max())


def test_an_identity_link_by_another_name():
    model = linear_model.TweedieRegressor(power=0).fit(X, COUNTS)
    assert feature_contributions(model, X[0]).outputs == ["prediction"]


@pytest.mark.parametrize("k", [2, 3])
def test_ordinal_regression_explains_its_latent_score(k):
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], np.linspace(-0.5, 0.5, k - 1))
    model = tf.OrdinalRegression().fit(X, y)
    why = feature_contributions(model, X[5])
    own = model.latent(X[[5]]) if k > 2 else model.decision_function(X[[5]])
    assert_allclose(why.scores, own)
    assert why.outputs == (["latent score"] if k > 2 else [1])
    assert str(why).startswith("latent score: " if k > 2 else "score of 1: ")
    assert sensitivity(model, X[5]).shape == ((3, 4) if k > 2 else (4,))
    assert top_weights(model).names[-1][0] == "x0"


def test_least_squares_of_two_classes_explains_the_difference():
    model = tf.LeastSquaresClassifier().fit(X, XOR)
    assert_allclose(feature_contributions(model, X[0]).scores, model.decision_function(X[:1]))
    assert_allclose(sensitivity(model, X[0]), model.coef_[1] - model.coef_[0])


@pytest.mark.parametrize("n_centers", [4, 10])
def test_coefficients_of_something_else_are_no_contributions(n_centers):
    model = tf.RbfNetwork(n_centers, random_state=0).fit(X, XOR)
    for explain in (feature_contributions, lambda m, _: top_weights(m)):
        with pytest.raises(TypeError, match="RbfNetwork is not linear"):
            explain(model, X[0])
    step = 1e-6 * np.eye(4)
    f = model.decision_function
    assert_allclose(sensitivity(model, X[0]), (f(X[0] + step) - f(X[0] - step)) / 2e-6, rtol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        tf.BayesianLogisticRegression(),
        tf.QuadraticDiscriminantAnalysis(),
        SVC(kernel="linear"),
        PLSRegression(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_are_no_sums_are_refused_by_name(model):
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model.fit(X + 5, y)
    with pytest.raises(TypeError, match=type(model).__name__):
        feature_contributions(model, X[0] + 5)


def test_naive_bayes_of_counts():
    complement = tf.ComplementNB().fit(WORDS, RARE)
    assert_allclose(
        feature_contributions(complement, WORDS[0]).scores, [log_odds(complement, WORDS[0])]
    )
    assert log_odds(complement, WORDS[0]) > 0
    theirs = naive_bayes.ComplementNB().fit(WORDS, RARE)
    assert_allclose(feature_contributions(theirs, WORDS[0]).scores, [log_odds(theirs, WORDS[0])])
    poisson = tf.PoissonNB().fit(WORDS, RARE)
    why = feature_contributions(poisson, WORDS[0])
    assert_allclose(why.scores, [log_odds(poisson, WORDS[0])])
    assert_allclose(why.contributions[0], WORDS[0] * np.diff(np.log(poisson.rate_), axis=0)[0])
    assert_allclose(sensitivity(poisson, np.zeros(4)).sum(axis=0), 0, atol=1e-9)  # at the border


def test_naive_bayes_of_mixed_columns():
    rows = [[1.7, 1, 0], [1.6, 1, 1], [1.9, 0, 2], [1.8, 0, 2]]
    model = tf.MixedNB(["gaussian", "bernoulli", "categorical"]).fit(rows, [0, 0, 1, 1])
    for x in ([1.75, 1, 0], [np.nan, 1, 0], [1.75, 0, np.nan], [1.75, np.nan, 7]):
        why = feature_contributions(model, x)
        assert_allclose(why.scores, [log_odds(model, x)])
        assert (why.contributions[0][np.isnan(x)] == 0).all()
    slope = sensitivity(model, [1.75, 0, 0])
    assert np.isnan(slope[:, 1:]).all()  # bits and categories: the output jumps
    assert np.isfinite(slope[:, 0]).all()


def test_missing_values_and_unseen_categories_contribute_nothing():
    model = tf.GaussianNB().fit(X, XOR)
    x = np.array([X[0, 0], np.nan, X[0, 2], X[0, 3]])
    why = feature_contributions(model, x)
    assert why.contributions[0, 1] == 0
    assert_allclose(why.scores, [log_odds(model, x)])
    assert np.isnan(sensitivity(model, x)[:, 1]).all()
    categories = tf.CategoricalNB().fit([[0, 0], [1, 1], [1, 0]], [0, 1, 1])
    why = feature_contributions(categories, [7.0, 0])
    assert why.contributions[0, 0] == 0
    assert_allclose(why.scores, [log_odds(categories, [7.0, 0])])
    with pytest.raises(TypeError, match="CategoricalNB takes categories"):
        sensitivity(categories, [0.0, 0])


@pytest.mark.parametrize("family", [tf.BernoulliNB, naive_bayes.BernoulliNB])
def test_probabilities_of_zero_and_one(family):
    bits = np.array([[1.0, 0], [1, 1], [1, 0], [0, 1]])
    model = family(alpha=0).fit(bits, [0, 0, 1, 1])
    if family is tf.BernoulliNB:
        assert_allclose(feature_contributions(model, [1.0, 0]).scores, [log_odds(model, [1.0, 0])])
        assert feature_contributions(model, [0.0, 1]).scores == [np.inf]  # class 0 needs the first
    words = tf.MultinomialNB(alpha=0).fit([[1.0, 0, 1], [0, 1, 1]], [0, 1])
    assert feature_contributions(words, [1.0, 0, 2]).scores == [-np.inf]
    with pytest.raises(ValueError, match="probability 0 in every class"):
        feature_contributions(words, [1.0, 1, 0])
    assert top_weights(words).names == [["x0"], ["x1"]]


def test_a_row_impossible_in_some_of_three_classes():
    model = tf.MultinomialNB(alpha=0).fit([[1.0, 0, 1], [1, 1, 1], [0, 1, 1.0]], [0, 1, 2])
    why = feature_contributions(model, [2.0, 0, 1])
    log_p = model.predict_log_proba([[2.0, 0, 1]])[0]
    assert why.scores[2] == log_p[2] == -np.inf
    assert_allclose(why.scores[1] - why.scores[0], log_p[1] - log_p[0])


def test_single_precision_adds_up_too():
    small = X.astype(np.float32)
    for model in (tf.LogisticRegression(), tf.GaussianNB(), tf.MixedNB(), tf.BernoulliNB()):
        fitted = model.fit(small, XOR)
        log_p = fitted.predict_log_proba(small[:1])[0]
        assert_allclose(feature_contributions(fitted, X[0]).scores, np.diff(log_p), rtol=1e-3)


def test_named_columns_and_searches():
    table = pd.DataFrame(X, columns=list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tf.Ridge().fit(table, X[:, 0])
        why = feature_contributions(model, table.iloc[[0]])
        assert list(why.names) == list("abcd")
        theirs = linear_model.Ridge().fit(table, X[:, 0])
        assert_allclose(sensitivity(theirs, X[0]), theirs.coef_)
    searched = tf.search(tf.Ridge(), {"alpha": [1.0, 2.0]}, X, COUNTS.astype(float))
    assert_allclose(feature_contributions(searched, X[0]).scores, searched.predict(X[:1]))
    piped = make_pipeline(StandardScaler(), tf.PoissonRegressor()).fit(X, COUNTS)
    assert feature_contributions(piped, X[0]).outputs == ["log of prediction"]
    assert_allclose(np.exp(feature_contributions(piped, X[0]).scores), piped.predict(X[:1]))


def test_labels_have_no_derivatives():
    with pytest.raises(TypeError, match=r"KMeans predicts labels.*transform"):
        sensitivity(tf.KMeans(2, random_state=0).fit(X), X[0])
    with pytest.raises(TypeError, match="LinearSVC predicts labels"):
        sensitivity(tf.LinearSVC().fit(X, XOR), X[0], "predict")
    with pytest.raises(TypeError, match=r"PCA has no method predict.*transform"):
        sensitivity(tf.PCA(2).fit(X), X[0])
    assert sensitivity(tf.PCA(2).fit(X), X[0], "transform").shape == (2, 4)
    with pytest.raises(ValueError, match="NaN"):
        feature_contributions(tf.Ridge().fit(X, X[:, 0]), [0.0, np.nan, 0, 0])
