"""Reasons of a prediction: contributions, log-odds, sensitivities, ranked weights (L20)."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model, naive_bayes
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import GaussianNB, LinearRegression, LogisticRegression, Ridge
from tenfold.inspection.contributions import feature_contributions, sensitivity, top_weights

IRIS, SPECIES = load_iris(return_X_y=True)
TWO = IRIS[:100], SPECIES[:100]


def test_contributions_and_baseline_make_the_prediction():
    """[002, E2] Each bedroom adds 100k: w_j x_j, and b is there without any."""
    X = np.array([[1.0, 50.0], [2.0, 60.0], [3.0, 110.0], [4.0, 90.0]])
    model = LinearRegression().fit(X, 100 * X[:, 0] + X[:, 1] + 30)
    why = feature_contributions(model, [3.0, 80.0], ["bedrooms", "area"])
    assert_allclose(why.contributions, [[300, 80]])
    assert_allclose(why.baselines, 30)
    assert_allclose(why.scores, model.predict([[3.0, 80.0]]))
    assert [name for name, _ in why.rank_features()] == ["bedrooms", "area"]
    assert str(why).splitlines()[1].split() == ["bedrooms", "+300"]
    assert "area" in why._repr_html_()


def test_contributions_against_the_mean_row():
    X, y = IRIS[:, :3], IRIS[:, 3]
    model = Ridge().fit(X, y)
    why = feature_contributions(model, X[7], origin=X.mean(axis=0))
    assert_allclose(why.baselines, y.mean())
    assert_allclose(why.contributions[0], model.coef_ * (X[7] - X.mean(axis=0)))
    assert_allclose(why.scores, model.predict(X[[7]]))


@pytest.mark.parametrize(
    "family", [LogisticRegression, partial(linear_model.LogisticRegression, max_iter=500)]
)
def test_two_classes_have_one_score_and_three_have_three(family):
    one = feature_contributions(family().fit(*TWO), TWO[0][3])
    assert one.outputs == [1]
    model = family().fit(IRIS, SPECIES)
    why = feature_contributions(model, IRIS[120])
    assert_allclose(why.scores, model.decision_function(IRIS[[120]])[0])
    assert why.outputs == [0, 1, 2]
    assert why.output_index() == model.predict(IRIS[[120]])[0]
    odds = why.compare(2, 1)
    log_p = model.predict_log_proba(IRIS[[120]])[0]
    assert_allclose(odds.scores, log_p[2] - log_p[1])
    assert odds.outputs == ["2 against 1"]


@pytest.mark.parametrize("family", [GaussianNB, naive_bayes.GaussianNB])
def test_gaussian_naive_bayes_gives_log_odds(family):
    model = family().fit(*TWO)
    x = TWO[0][30]
    why = feature_contributions(model, x)
    log_p = model.predict_log_proba(x[None])[0]
    assert_allclose(why.scores, log_p[1] - log_p[0])
    for j in range(4):  # one column alone, with equal priors, is its own term
        alone = family(priors=[0.5, 0.5], var_smoothing=0).fit(TWO[0][:, [j]], TWO[1])
        one = alone.predict_log_proba(x[None, [j]])[0]
        assert why.contributions[0, j] == pytest.approx(one[1] - one[0], rel=1e-6)
    three = feature_contributions(family().fit(IRIS, SPECIES), IRIS[70])
    assert_allclose(three.contributions.sum(axis=0), 0, atol=1e-9)
    p = np.exp(three.scores - three.scores.max())
    assert_allclose(p / p.sum(), family().fit(IRIS, SPECIES).predict_proba(IRIS[[70]])[0])


def test_words_of_the_spam_example():
    """[001, 2-26] Posterior 0.0301 / 0.9698; the third word speaks most for spam."""
    counts = np.array([[70, 20, 15, 40, 90], [73, 65, 98, 20, 120]], float)
    model = naive_bayes.MultinomialNB(alpha=1e-10, class_prior=[0.7, 0.3])
    model.fit(counts, ["normal", "spam"])
    why = feature_contributions(model, [1, 1, 3, 0, 1])
    assert 1 / (1 + np.exp(why.scores[0])) == pytest.approx(0.030127, abs=1e-6)
    share = counts / counts.sum(axis=1, keepdims=True)
    assert_allclose(why.contributions[0], [1, 1, 3, 0, 1] * np.log(share[1] / share[0]), rtol=1e-6)
    assert_allclose(why.baselines, np.log(3 / 7))
    assert why.rank_features(top=1)[0][0] == "x2"


def test_bits_and_categories_of_naive_bayes():
    """[001, 2-27] Which factor mattered most in a decision."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 4))
    y = (X[:, 0] + rng.integers(0, 2, 60) > 1).astype(int)
    for model in (naive_bayes.BernoulliNB(), naive_bayes.CategoricalNB()):
        log_p = model.fit(X, y).predict_log_proba(X[[5]])[0]
        assert_allclose(feature_contributions(model, X[5]).scores, log_p[1] - log_p[0])
    assert (
        feature_contributions(naive_bayes.CategoricalNB().fit(X, y), X[5]).rank_features(top=1)[0][
            0
        ]
        == "x0"
    )


def test_pipelines_know_the_names_of_words():
    texts = ["mac apple quadra", "ide controller ibm", "apple mac", "ibm ide ide"]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, list("mimi"))
    why = feature_contributions(model, ["mac and ide"])
    assert {name for name, c in why.rank_features() if c} == {"mac", "ide"}
    assert_allclose(why.scores, model.decision_function(["mac and ide"]))
    strongest = top_weights(model, top=2)
    assert strongest.outputs == ["i", "m"]
    assert strongest.names[1] == ["apple", "mac"]
    assert strongest.names[0][0] == "ide"
    assert (strongest.weights[0] < 0).all() and (strongest.weights[1] > 0).all()  # noqa: PT018
    assert str(strongest).startswith("i: ide -")


def test_pipelines_scale_before_they_explain():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(IRIS, SPECIES)
    why = feature_contributions(model, IRIS[3], names=["a", "b", "c", "d"])
    assert_allclose(why.values, model[0].transform(IRIS[[3]])[0])
    assert_allclose(why.scores, model.decision_function(IRIS[[3]])[0])
    with pytest.raises(ValueError, match="3 names for 4 columns"):
        feature_contributions(model, IRIS[3], names=["a", "b", "c"])
    with pytest.raises(ValueError, match="one row"):
        feature_contributions(model, IRIS[:2])


def test_ranked_weights_of_regression_classes_and_bayes():
    model = LinearRegression().fit(IRIS[:, :3], IRIS[:, 3])
    order = np.argsort(-np.abs(model.coef_))
    assert top_weights(model, list("abc")).names == [["abc"[j] for j in order]]
    three = top_weights(LogisticRegression().fit(IRIS, SPECIES), top=1)
    assert three.names[2] == ["x2"]  # the longest petals
    bayes = naive_bayes.MultinomialNB().fit([[9.0, 1.0, 5.0], [1.0, 9.0, 5.0]], [0, 1])
    assert top_weights(bayes, list("xyz")).names == [["x"], ["y"]]
    with pytest.raises(TypeError, match="not linear"):
        top_weights(KNeighborsRegressor().fit(IRIS, SPECIES))


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_sensitivity_of_a_probability_is_its_derivative(x):
    """[000, C31] The score moves with w; the probability with p (1 - p) w."""
    X, y = TWO[0][:, :3], TWO[1]
    model = LogisticRegression().fit(X, y)
    assert_array_equal(sensitivity(model, x), model.coef_[0])
    p = model.predict_proba([x])[0, 1]
    d = sensitivity(model, x, "predict_proba")
    assert_allclose(d[1], p * (1 - p) * model.coef_[0], atol=1e-8)
    assert_allclose(d.sum(axis=0), 0, atol=1e-9)


def test_sensitivity_of_anything():
    f = lambda X: np.column_stack([X[:, 0] * X[:, 1], np.sin(X[:, 1])])  # noqa: E731
    assert_allclose(sensitivity(f, [2.0, 1.0]), [[1, 2], [0, np.cos(1)]], atol=1e-9)
    scaled = make_pipeline(StandardScaler(), LinearRegression()).fit(IRIS[:, :3], IRIS[:, 3])
    plain = LinearRegression().fit(IRIS[:, :3], IRIS[:, 3])
    assert_allclose(sensitivity(scaled, IRIS[0, :3]), plain.coef_, rtol=1e-6)
    flat = KNeighborsRegressor(1).fit(IRIS[:, :3], IRIS[:, 3])
    assert_allclose(sensitivity(flat, IRIS[0, :3]), 0)  # steps
    with pytest.raises(TypeError, match="no method"):
        sensitivity(plain, IRIS[0, :3], "predict_proba")


def test_a_weight_of_zero_is_a_column_that_is_not_there():
    """[000, C31] w_k = 0: as if the input never had the k-th component."""
    model = linear_model.Lasso(alpha=0.5).fit(IRIS[:, :3], IRIS[:, 3])
    gone = np.flatnonzero(model.coef_ == 0)
    assert len(gone)
    x = IRIS[0, :3].copy()
    before = feature_contributions(model, x)
    x[gone] += 100
    assert_array_equal(feature_contributions(model, x).scores, before.scores)
    assert all(f"x{j}" not in str(before) for j in gone)
