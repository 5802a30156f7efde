"""Course 004: formulas that are printed wrong, the right ones that run here, and where they part.

`docs/guide/errata.md` lists them.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold import (
    PCA,
    AgglomerativeClustering,
    BayesianLearner,
    KMeans,
    KMedoids,
    LinearRegression,
    LinearSVC,
    MarkovChain,
    QuantileRegressor,
    equivalent_coefficients,
    find_redundant_columns,
    hard_margin,
)
from tenfold.datasets import load_iris
from tenfold.distributions import Bernoulli, Beta
from tenfold.linear.svm.margins import dual_certificate, geometric_margins, margins, support_vectors
from tenfold.math.distances import minkowski_distances
from tenfold.math.losses import HingeLoss, PerceptronLoss, SquaredLoss

RNG = np.random.default_rng(0)
LINE = np.array([[-2.0], [-1.0], [0.2], [1.0], [3.0]])
SIDES = np.array([-1, -1, 1, 1, 1])


def test_2_5_a_loss_measures_how_bad_a_model_is():
    """Least at the truth; the text says goodness."""
    z = np.linspace(-2, 2, 41)
    assert z[SquaredLoss().value(z, np.full(41, 0.5)).argmin()] == 0.5


def test_2_5_squared_loss_has_one_solution_for_independent_columns_only():
    X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    y = X @ [1.0, 1.0]
    model = LinearRegression(fit_intercept=False).fit(X, y)
    null_space = find_redundant_columns(X, intercept=False).null_space
    other = equivalent_coefficients(model.coef_, null_space, 2.0)
    assert_allclose(X @ other, y)
    assert np.abs(other - model.coef_).max() > 0.5
    flat = [np.abs(np.array([0.0, 10.0]) - m).sum() for m in (2.0, 7.0)]
    assert flat == [10, 10]  # and the absolute loss has many even for one column
    assert QuantileRegressor(alpha=0).fit([[0.0], [0.0]], [0.0, 10.0]).intercept_ in (0.0, 10.0)


def test_2_7_posterior_is_likelihood_times_prior():
    """Printed: posterior likelihood times the prior, which would count the data twice."""
    flips = np.array([1.0, 1, 0])
    found = BayesianLearner(Beta(2, 2), Bernoulli()).posterior(flips)
    assert_allclose(np.ravel(found.mean), 4 / 7)
    assert abs(6 / 10 - 4 / 7) > 0.02  # with the likelihood twice


def test_3_5_perceptron_criterion_is_no_hinge():
    """max(0, -hy) is called hinge; the hinge is max(0, 1 - hy) and bounds the errors."""
    h, y = np.array([-1.0, 0.0, 0.5, 2.0]), np.ones(4)
    assert PerceptronLoss().value(h, y).tolist() == [1, 0, 0, 0]
    assert HingeLoss().value(h, y).tolist() == [2, 1, 0.5, 0]


@pytest.mark.parametrize(("loss", "corner"), [(PerceptronLoss(), 0.0), (HingeLoss(), 1.0)])
def test_3_5_hinge_has_a_corner(loss, corner):
    """Called differentiable: the slopes to the left and to the right differ there."""
    step, one = 1e-6, np.ones(1)
    f = [loss.value(np.array([corner + t]), one)[0] for t in (-step, 0.0, step)]
    assert_allclose([(f[1] - f[0]) / step, (f[2] - f[1]) / step], [-1, 0], atol=1e-6)


def test_5_1_planes_are_scaled_by_positive_numbers():
    """A negative one turns the sides round."""
    model = LinearSVC(C=10, loss="hinge").fit(LINE, SIDES)
    w, b = model.coef_.copy(), model.intercept_.copy()
    for factor, expected in ((3.0, SIDES), (-3.0, -SIDES)):
        model.coef_, model.intercept_ = factor * w, factor * b
        assert (model.predict(LINE) == expected).all()


def test_5_3_slack_is_zero_beyond_the_margin_only():
    """A row within the margin has slack although it is on the right side."""
    model = LinearSVC(loss="hinge", C=0.1).fit(LINE, SIDES)
    m = margins(model, LINE, SIDES)
    slack = HingeLoss().value(model.decision_function(LINE), SIDES.astype(float))
    inside = (m > 0) & (m < 1)
    assert inside.any()
    assert (slack[inside] > 0).all()
    assert_allclose(slack, np.maximum(0, 1 - m))


def test_5_4_multipliers_of_tight_constraints_need_not_vanish():
    """g <= 0 and alpha g = 0; alpha = 0 for all rows would leave no support vector."""
    found = hard_margin(LINE, SIDES)
    g = 1 - SIDES * (LINE @ found.w + found.b)
    assert (g <= 1e-9).all()
    assert_allclose(found.alpha * g, 0, atol=1e-9)
    assert (found.alpha > 0.1).sum() == 2
    assert_allclose((found.alpha * SIDES) @ LINE, found.w)


def test_5_4_support_vectors_of_a_soft_margin_lie_within_it_too():
    """Only those on the margin boundary are 1 / |w| away."""
    model = LinearSVC(loss="hinge", C=0.1).fit(LINE, SIDES)
    rows = support_vectors(model, LINE, SIDES)
    distance = geometric_margins(model, LINE, SIDES)[rows]
    width = 1 / np.linalg.norm(model.coef_)
    assert (distance < 0.9 * width).any()
    hard = hard_margin(LINE, SIDES)
    tight = LINE[hard.alpha > 1e-9]
    assert_allclose(np.abs(tight @ hard.w + hard.b) / np.linalg.norm(hard.w), 1 / abs(hard.w[0]))
    assert dual_certificate(model, LINE, SIDES).gap < 1e-3


def test_6_1_distance_compares_the_same_column_of_two_rows():
    """x_d - x'_d; printed x_d - x_d', two columns of one row."""
    x, z = np.array([[1.0, 5.0]]), np.array([[4.0, 1.0]])
    assert_allclose(minkowski_distances(x, z), [[5.0]])
    assert abs(x[0, 0] - x[0, 1]) != 5


def test_6_2_lloyd_repeats_assigning_and_moving():
    """Printed: steps 1 and 2, the start and the assignment, which is one round."""
    rows = np.array([[0.0], [1.0], [2.0], [9.0], [10.0]])
    model = KMeans(2, init=np.array([[0.0], [1.0]])).fit(rows)
    assert model.n_iter_ > 1
    assert_allclose(model.cluster_centers_.ravel(), [1, 9.5])


def test_6_2_loss_stops_falling_at_the_number_of_different_rows():
    """It falls strictly for the best clusterings, and only until each different row has its own."""
    rows = np.array([[0.0], [0.0], [1.0], [5.0], [5.0]])
    costs = [KMeans(k, n_init=10, random_state=0).fit(rows).inertia_ for k in (1, 2, 3)]
    assert costs[0] > costs[1] > costs[2] == 0
    with pytest.warns(UserWarning, match="smaller than n_clusters"):
        assert KMeans(4, random_state=0).fit(rows).inertia_ == 0


def test_6_2_means_are_centres_and_medoids_are_rows():
    """Centres are computed by averaging (printed: the loss), medoids are taken from the rows."""
    rows = np.array([[0.0], [1.0], [8.0]])
    assert_allclose(KMeans(1).fit(rows).cluster_centers_, [[3.0]])
    assert_allclose(KMedoids(1).fit(rows).cluster_centers_, [[1.0]])


def test_6_3_every_row_begins_as_one_cluster():
    """One each (printed: N for each), and both steps are repeated until one cluster is left."""
    rows = RNG.normal(size=(7, 2))
    model = AgglomerativeClustering(linkage="single").fit(rows)
    assert model.children_.shape == (6, 2)
    assert len(set(model.cut(n_clusters=7))) == 7
    assert len(set(model.cut(n_clusters=1))) == 1


def test_7_reconstruction_loss_sums_both_terms():
    """(1/N) sum [|x|^2 - (x w)^2]; without brackets the second term is that of one row."""
    data = load_iris().data
    X = data - data.mean(axis=0)
    model = PCA(1).fit(data)
    w = model.components_[0]
    loss = ((data - model.inverse_transform(model.transform(data))) ** 2).sum(axis=1).mean()
    assert_allclose(loss, ((X**2).sum(axis=1) - (X @ w) ** 2).mean())
    assert abs(loss - ((X**2).sum(axis=1).mean() - (X[-1] @ w) ** 2)) > 0.1


def test_7_the_variance_of_projections_is_maximised():
    """Printed: minimise this."""
    data = load_iris().data
    best = PCA(1).fit_transform(data).var()
    for _ in range(10):
        w = RNG.normal(size=4)
        assert ((data - data.mean(axis=0)) @ (w / np.linalg.norm(w))).var() < best


def test_7_directions_of_pca_are_right_singular_vectors():
    """With a row for each example they are the columns of V; printed U."""
    data = load_iris().data
    U, _, Vt = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)
    W = PCA().fit(data).components_
    assert_allclose(np.abs(W), np.abs(Vt), atol=1e-9)
    assert W.shape != U.T.shape


def test_7_an_eigenvalue_is_a_variance_and_no_proportion():
    model = PCA().fit(100 * load_iris().data)
    assert model.explained_variance_[0] > 1
    shares = model.explained_variance_ / model.explained_variance_.sum()
    assert_allclose(model.explained_variance_ratio_, shares)
    assert_allclose(shares.sum(), 1)


def test_10_3_rows_of_the_transition_matrix_sum_to_one():
    """T_ij = p(i -> j), so its rows do; printed is the sum over i."""
    T = MarkovChain().fit([list(word) for word in ("aab", "abb", "aaa")]).transition_matrix_
    assert_allclose(T.sum(axis=1), 1)
    assert np.abs(T.sum(axis=0) - 1).max() > 0.1
