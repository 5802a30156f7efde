"""Each open choice of the courses has one default.

`docs/guide/choices.md` lists them, and names these tests.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import (
    PCA,
    BernoulliNB,
    CategoricalNB,
    GaussianClassifier,
    GaussianMixture,
    GaussianNB,
    KMeans,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NearestCentroid,
    Ridge,
    cross_validate,
)
from tenfold.datasets import load_iris
from tenfold.mixture import GaussianParameters
from tenfold.teaching import m_step

LINE = np.array([[0.0], [1.0], [2.0], [3.0]])


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# ---------------------------------------------------------------------------------------- ties


def test_score_zero_is_the_first_class():
    model = LogisticRegression(fit_intercept=False).fit([[-1.0], [1.0]], ["no", "yes"])
    assert model.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]
    assert model.predict([[0.0]]).tolist() == ["no"]


def test_equal_probabilities_are_the_first_class():
    assert GaussianNB().fit([[0.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1]).predict([[3.0]]) == [0]
    assert NearestCentroid().fit([[0.0], [2.0]], [0, 1]).predict([[1.0]]) == [0]


def test_equal_distances_are_the_first_centre():
    start = np.array([[0.0], [2.0]])
    assert KMeans(2, init=start).fit([[0.0], [1.0], [2.0]]).labels_.tolist() == [0, 0, 1]


# --------------------------------------------------------------------------------------- stops


def test_kmeans_stops_when_centres_stand_still(iris):
    X = iris[0]
    model = KMeans(3, random_state=0, tol=0).fit(X)
    assert model.converged_
    means = [X[model.labels_ == j].mean(axis=0) for j in range(3)]
    assert_allclose(model.cluster_centers_, means, rtol=1e-12)


def test_logistic_stops_when_the_gradient_is_small(iris):
    X, y = iris
    model = LogisticRegression(tol=1e-6).fit(X, y)
    P = model.predict_proba(X) - np.eye(3)[y]
    gradient = (P.T @ X + model.coef_) / len(X)
    assert model.converged_
    assert np.abs(gradient).max() <= 1e-6


@pytest.mark.parametrize(
    "model", [KMeans(8, max_iter=1, random_state=0), LogisticRegression(max_iter=1)]
)
def test_a_fit_that_stops_early_says_so(model, iris):
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model.fit(*iris)
    assert not model.converged_


def test_em_stops_when_the_likelihood_gains_little(iris):
    model = GaussianMixture(3, random_state=0, tol=1e-3).fit(iris[0])
    gains = np.diff(model.lower_bounds_)
    assert model.converged_
    assert abs(gains[-1]) < 1e-3
    assert (gains[:-1] >= 1e-3).all()


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_line_searches_never_raise_the_objective(solver, iris):
    model = LogisticRegression(solver=solver, tol=1e-8, max_iter=500).fit(*iris)
    objective = np.asarray(model.history_["objective"])
    assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1])).all()


def test_ten_consecutive_folds():
    X = np.arange(30.0)[:, None]
    seen = cross_validate(LinearRegression(), X, X[:, 0] % 7)["test_score"]
    by_hand = []
    for fold in range(10):
        rows = np.arange(30) // 3 == fold
        by_hand.append(
            LinearRegression().fit(X[~rows], X[~rows, 0] % 7).score(X[rows], X[rows, 0] % 7)
        )
    assert_allclose(seen, by_hand)


def test_the_best_of_several_starts_is_kept(iris):
    one = [
        KMeans(6, init="random", n_init=1, random_state=s).fit(iris[0]).inertia_ for s in range(4)
    ]
    many = KMeans(6, init="random", n_init=10, random_state=0).fit(iris[0]).inertia_
    assert many <= min(one) * (1 + 1e-3)


# -------------------------------------------------------------------- empty clusters and classes


def test_an_empty_cluster_gets_the_farthest_row():
    model = KMeans(2, init=np.array([[0.5], [100.0]])).fit([[0.0], [1.0], [10.0]])
    assert model.cluster_centers_.ravel().tolist() == [0.5, 10.0]
    assert model.labels_.tolist() == [0, 0, 1]


def test_a_component_without_rows_stays_where_it_is():
    before = GaussianParameters(np.full(2, 0.5), np.array([[0.0], [9.0]]), np.array([1.0, 4.0]))
    found = m_step(LINE, np.tile([1.0, 0.0], (4, 1)), before, "spherical")
    assert_allclose(found.weights, [1, 0], atol=1e-12)
    assert_allclose([found.means[1, 0], found.covariances[1]], [9, 4])


def test_fewer_different_rows_than_clusters():
    with pytest.warns(ConvergenceWarning, match=r"\(1\) found smaller than n_clusters \(3"):
        model = KMeans(3, random_state=0).fit(np.ones((5, 2)))
    assert np.array_equal(model.cluster_centers_, np.ones((3, 2)))
    assert model.labels_.tolist() == [0] * 5


def test_a_class_without_rows_has_no_probability():
    model = GaussianNB().partial_fit([[0.0], [1.0], [5.0]], [0, 0, 1], classes=[0, 1, 2])
    assert_allclose(model.class_prior_, [2 / 3, 1 / 3, 0])
    assert (model.predict_proba([[0.0], [1e6]])[:, 2] == 0).all()


def test_a_class_that_was_not_announced_is_an_error():
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"label .*5.* is not among the classes"):
        model.partial_fit([[2.0]], [5])


def test_one_class_is_too_few_to_tell_apart():
    with pytest.raises(ValueError, match="only one class"):
        LogisticRegression().fit([[0.0], [1.0]], [1, 1])


# ------------------------------------------------------------------- floors, priors, log domain


def test_variances_have_a_floor():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 9.0]])
    model = GaussianNB().fit(X, [0, 0, 1, 1])
    assert_allclose(model.epsilon_, 1e-9 * X.var(axis=0).max())
    assert_allclose(model.var_[:, 0], model.epsilon_)
    assert GaussianNB().fit([[5.0], [5.0]], [0, 1]).epsilon_ == 1e-9  # nothing varies at all


def test_covariances_of_mixtures_have_a_floor():
    flat = np.column_stack([np.repeat([0.0, 5.0], 10), np.ones(20)])
    model = GaussianMixture(2, random_state=0).fit(flat)
    assert model.covariances_.shape == (2, 2, 2)  # a full one for each
    assert_allclose(model.covariances_, np.tile(1e-6 * np.eye(2), (2, 1, 1)), atol=1e-15)
    classes = GaussianClassifier().fit(flat, np.repeat([0, 1], 10))
    assert_allclose(classes.covariances_, np.tile(1e-6 * np.eye(2), (2, 1, 1)), atol=1e-15)


def test_one_is_added_to_every_cell():
    counts, y = np.array([[2.0, 0, 1], [1, 0, 0]]), [0, 0]
    words = np.exp(MultinomialNB().fit(counts, y).feature_log_prob_)
    assert_allclose(words, [[4 / 7, 1 / 7, 2 / 7]])
    bits = np.exp(BernoulliNB().fit(counts, y).feature_log_prob_)  # above 0 is 1
    assert_allclose(bits, [[3 / 4, 1 / 4, 2 / 4]])
    categories = CategoricalNB(min_categories=3).fit(counts[:, :1], y).feature_log_prob_[0]
    assert_allclose(np.exp(categories), [[1 / 5, 2 / 5, 2 / 5]])


def test_class_priors_are_shares_and_not_smoothed():
    assert_allclose(GaussianNB().fit(LINE, [0, 1, 1, 1]).class_prior_, [0.25, 0.75])


def test_variances_divide_by_n():
    assert_allclose(GaussianNB(var_smoothing=0).fit(LINE[:2], [0, 0]).var_, [[0.25]])


def test_products_of_many_probabilities_do_not_underflow():
    X = np.repeat([[0.0], [1.0], [0.0], [1.0]], 2000, axis=1)
    model = GaussianNB().fit(X, [0, 0, 1, 1])
    assert norm.pdf(50, 0.5, 0.5) ** 2000 == 0
    assert_allclose(model.predict_proba(np.full((1, 2000), 50.0)), [[0.5, 0.5]])


def test_scores_of_a_thousand_are_safe():
    model = LogisticRegression().fit(LINE, [0, 0, 1, 1])
    model.coef_, model.intercept_ = np.array([[1000.0]]), np.zeros(1)
    assert model.predict_proba([[1.0], [-1.0]]).tolist() == [[0, 1], [1, 0]]
    assert model.predict_log_proba([[1.0], [-1.0]]).tolist() == [[-1000, 0], [0, -1000]]


# ------------------------------------------------------------------------- penalties, redundancy


def test_the_intercept_is_not_penalised():
    ridge = Ridge(alpha=1e12).fit(LINE, LINE[:, 0] + 10)
    assert_allclose([ridge.coef_[0], ridge.intercept_], [0, 11.5], atol=1e-9)
    logistic = LogisticRegression(C=1e-12, tol=1e-10).fit(LINE, [0, 1, 1, 1])
    assert_allclose([logistic.coef_[0, 0], logistic.intercept_[0]], [0, np.log(3)], atol=1e-9)
    shifted = LINE + 10
    free, liblinear = (
        LinearSVC(C=1e-3, intercept_scaling=s, tol=1e-6, max_iter=10_000).fit(shifted, [0, 0, 1, 1])
        for s in (np.inf, 1.0)
    )
    assert abs(free.intercept_[0]) > 10 * abs(liblinear.intercept_[0])  # which penalizes it


def test_coefficients_of_classes_sum_to_zero(iris):
    model = LogisticRegression(tol=1e-8, max_iter=500).fit(*iris)
    assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-5)


def test_redundant_columns_give_the_shortest_solution():
    twice = LinearRegression().fit(np.hstack([LINE, LINE]), 2 * LINE[:, 0])
    assert_allclose(twice.coef_, [1, 1])
    hot = LinearRegression().fit(np.eye(2)[[0, 1, 0, 1]], [1.0, 3.0, 1.0, 3.0])
    assert_allclose([*hot.coef_, hot.intercept_], [-1, 1, 2])  # one-hot beside a constant
    assert hot.rank_ == 1


def test_fewer_rows_than_columns_give_the_shortest_solution():
    X, y = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), np.array([5.0, 6.0])
    model = LinearRegression(fit_intercept=False).fit(X, y)
    assert_allclose(model.coef_, np.linalg.pinv(X) @ y)


# ----------------------------------------------------------------- missing, signs, scores, steps


@pytest.mark.parametrize("model", [Ridge(), LogisticRegression()])
def test_missing_values_are_an_error_that_says_where(model):
    with pytest.raises(ValueError, match="NaN: row 1, column 0"):
        model.fit([[0.0], [np.nan], [1.0]], [0, 1, 1])


def test_components_point_to_their_largest_entry():
    W = PCA().fit(np.array([[0.0, 0.0], [2.0, -2.1], [4.0, -4.0]])).components_
    assert (W[np.arange(2), np.abs(W).argmax(axis=1)] > 0).all()


def test_accuracy_is_the_share_of_the_weight():
    model = GaussianNB().fit(LINE, [0, 0, 1, 1])
    assert model.score(LINE, [0, 0, 1, 0]) == 0.75
    assert model.score(LINE, [0, 0, 1, 0], sample_weight=[1, 1, 1, 3]) == 0.5


def test_sequences_keep_their_lengths():
    rows = tenfold.open([np.ones((3, 2)), np.ones((0, 2)), np.ones((5, 2))])
    assert rows.gather().X.lengths.tolist() == [3, 0, 5]
