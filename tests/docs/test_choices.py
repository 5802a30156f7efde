"""Each open choice of the notes has one default; each formula that is printed wrong is run right.

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
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NearestCentroid,
    Ridge,
)
from tenfold.datasets import load_iris

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


# ------------------------------------------------------- printed wrong in a note, run right here


def test_erratum_hessian_of_softmax_has_blocks_beside_the_diagonal(iris):
    X, y = iris
    model = LogisticRegression(solver="newton-cholesky", fit_intercept=False, tol=1e-8).fit(X, y)
    rounds = int(model.n_iter_[0])
    W = np.zeros((3, 4))
    for _ in range(rounds):  # 001 (104) prints a Hessian with the blocks of the classes alone
        P = np.exp(X @ W.T)
        P /= P.sum(axis=1, keepdims=True)
        slope = (P - np.eye(3)[y]).T @ X + W
        blocks = [(X * (p * (1 - p))[:, None]).T @ X + np.eye(4) for p in P.T]
        W -= [np.linalg.solve(H, g) for H, g in zip(blocks, slope, strict=True)]
    assert rounds <= 12
    assert np.abs(W - model.coef_).max() > 1e-3


def test_erratum_log_prior_counts_once(iris):
    X, y = iris
    keep = np.r_[0:50, 50:60]
    model = GaussianNB().fit(X[keep], y[keep])
    density = [
        norm.logpdf(X, m, np.sqrt(v)).sum(axis=1)
        for m, v in zip(model.theta_, model.var_, strict=True)
    ]
    joint = np.log(model.class_prior_) + np.transpose(density)  # 001 (130): p times the log prior
    assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-6)


def test_erratum_directions_of_pca_are_right_singular_vectors(iris):
    X = iris[0] - iris[0].mean(axis=0)
    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    W = PCA().fit(iris[0]).components_
    assert_allclose(np.abs(W), np.abs(Vt), atol=1e-9)
    assert W.shape != U.T.shape  # 004 names U, which has a column per row of X


def test_erratum_reconstruction_error_sums_over_all_rows(iris):
    X = iris[0]
    model, full = PCA(2).fit(X), PCA().fit(X)
    error = ((X - model.inverse_transform(model.transform(X))) ** 2).sum()
    assert_allclose(error, (len(X) - 1) * full.explained_variance_[2:].sum(), rtol=1e-9)


def test_erratum_penalty_of_a_mean_is_n_times_that_of_a_sum(iris):
    X, y = iris[0][:, :3], iris[0][:, 3]
    n, penalty = len(X), 0.1
    A, b = X - X.mean(axis=0), y - y.mean()
    mean_form = np.linalg.solve(A.T @ A / n + penalty * np.eye(3), A.T @ b / n)
    assert_allclose(Ridge(alpha=n * penalty).fit(X, y).coef_, mean_form)
    assert not np.allclose(Ridge(alpha=penalty).fit(X, y).coef_, mean_form, rtol=0.01)


def test_erratum_a_centre_is_the_mean_of_its_own_rows():
    X = np.array([[0.0], [2.0], [10.0], [14.0]])
    model = KMeans(2, init=np.array([[0.0], [10.0]])).fit(X)
    assert model.cluster_centers_.ravel().tolist() == [1, 12]  # 002: each by the count of the first


def test_erratum_lloyd_repeats_assigning_and_moving():
    X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0]])
    model = KMeans(2, init=np.array([[0.0], [1.0]])).fit(X)
    assert model.n_iter_ > 1  # 004 repeats the start and the assignment: one round
    assert_allclose(model.cluster_centers_.ravel(), [1, 9.5])
