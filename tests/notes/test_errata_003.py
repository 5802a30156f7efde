"""Course 003: formulas that are printed wrong, the right ones that run here, and where they part.

`docs/guide/errata.md` lists them.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold import (
    GaussianClassifier,
    GaussianMixture,
    KMedoids,
    LinearRegression,
    MultinomialNB,
    Perceptron,
    Ridge,
    novikoff_bound,
    search,
)
from tenfold.cluster import image_bits
from tenfold.datasets import load_iris
from tenfold.distributions import Gaussian
from tenfold.kernel import PolynomialKernel, QuadraticKernel
from tenfold.linear.svm.margins import reference_margin_objective
from tenfold.math.distances import cosine_distances, cosine_similarities
from tenfold.math.losses import HingeLoss
from tenfold.math.partitions import is_partition, stirling_number
from tenfold.mixture import GaussianParameters
from tenfold.neural import Activation, Conv2d, Rnn, build_network, forward, layer_sizes
from tenfold.optim import DivergenceError, gradient_descent
from tenfold.recommend import naive_completion
from tenfold.teaching import autodiff, e_step, log_joint, m_step, simplex_weights
from tenfold.teaching.geometry import Hyperplane, norm
from tenfold.teaching.probability import transform_gaussian

RNG = np.random.default_rng(0)


def test_0_norms_take_absolute_values():
    """|x_i|^l, printed x_i^l: odd powers would cancel."""
    x = np.array([3.0, -4.0, 1.0])
    assert_allclose(norm(x, 1), 8)
    assert x.sum() == 0  # printed
    assert_allclose(norm(x, 3) ** 3, 27 + 64 + 1)


def test_0_offset_of_a_plane_is_its_distance_but_for_the_sign():
    """With a unit normal the distance from the origin is |theta_0|."""
    for offset in (2.0, -2.0):
        plane = Hyperplane.from_coefficients([0.6, 0.8, offset])
        assert_allclose(abs(plane.signed_distance(np.zeros(2))), 2)
        assert_allclose(norm(plane.project(np.zeros(2))), 2)


def test_1_hinge_falls_with_agreement():
    """1 - y s, so it grows with -y s, and it is 1 at a margin of 0."""
    hinge, s = HingeLoss(), np.linspace(-3, 3, 13)
    assert (np.diff(hinge.value(s, np.ones(13))) <= 0).all()
    assert hinge.value(np.zeros(1), np.ones(1)) == [1]


def test_1_novikoff_bound_may_be_reached():
    """k <= (R / gamma)^2; printed with <, which one point on its own breaks."""
    rows, y = np.array([[3.0, 4.0], [-3.0, -4.0]]), [1, -1]
    model = Perceptron(shuffle=False, fit_intercept=False).fit(rows, y)
    assert model.mistakes_ == 1
    assert_allclose(novikoff_bound(rows, y, fit_intercept=False), 1)


def test_1_rates_that_are_too_large_diverge():
    """The text says: too small."""

    def square(x):
        return float(x @ x), 2 * x

    slow = gradient_descent(square, np.ones(1), learning_rate=0.001, max_iter=50, tol=None)
    assert slow.value < 1
    with pytest.raises(DivergenceError):
        gradient_descent(square, np.ones(1), learning_rate=1.5, max_iter=500, tol=None)


def test_1_reference_margin_enters_by_its_square():
    """alpha / gamma_ref^2 with gamma_ref = 1 / |theta|; printed theta_ref."""
    margins, w = np.array([2.0, -1.0, 0.5]), np.array([3.0, 4.0])  # y (w x), and |w| = 5
    found = reference_margin_objective(margins / 5, 1 / 5, 0.25)
    hinge = HingeLoss().value(margins, np.ones(3)).mean()
    assert_allclose(found, hinge + 0.25 * (w @ w))
    assert abs(found - (hinge + 0.25 * 5)) > 1  # without the square


def test_1_folds_are_chosen_by_the_best_score():
    """The text takes the lowest mean accuracy."""
    data, y = load_iris(return_X_y=True)
    found = search(MultinomialNB(), {"alpha": [1e-3, 1.0, 1e6]}, data, y, folds=5)
    scores = found.cv_results_["mean_test_score"]
    assert found.best_index_ == np.argmax(scores)
    assert scores.max() > scores.min()


def test_2_normal_equations_need_independent_rows_not_many():
    """n = d independent rows suffice, and ten times as many equal ones do not."""
    few = np.array([[1.0, 1.0], [1.0, 2.0]])
    assert np.linalg.matrix_rank(few.T @ few) == 2
    assert_allclose(LinearRegression(fit_intercept=False).fit(few, [3.0, 5.0]).coef_, [1, 2])
    many = np.tile([[1.0, 2.0]], (20, 1))
    assert np.linalg.matrix_rank(many.T @ many) == 1
    model = LinearRegression(fit_intercept=False).fit(many, np.full(20, 5.0))
    assert model.rank_ == 1


def test_2_penalty_of_a_mean_is_n_times_that_of_a_sum():
    """The closed form drops the n."""
    data = load_iris().data
    X, y = data[:, :3], data[:, 3]
    n, penalty = len(X), 0.1
    A, b = X - X.mean(axis=0), y - y.mean()
    mean_form = np.linalg.solve(A.T @ A / n + penalty * np.eye(3), A.T @ b / n)
    assert_allclose(Ridge(alpha=n * penalty).fit(X, y).coef_, mean_form)
    assert not np.allclose(Ridge(alpha=penalty).fit(X, y).coef_, mean_form, rtol=0.01)


def test_2_kernels_may_be_negative():
    """The Gram matrix is positive semi-definite; its entries need not be positive."""
    X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]])
    gram = cosine_similarities(X, X)
    assert gram.min() < 0
    assert np.linalg.eigvalsh(gram).min() > -1e-12


def test_3_tanh_is_a_soft_sign_and_no_sine():
    z = np.array([[-20.0, -5.0, 5.0, 20.0]])
    network, params = build_network([Activation("tanh")], (4,), RNG, np.float64)
    out, _ = forward(network, params, z)
    assert_allclose(out, np.sign(z), atol=1e-4)
    assert np.abs(out - np.sin(z)).max() > 0.05


def test_3_slope_of_a_chain_begins_with_that_of_the_loss():
    """The factor f_L - y is missing in the printed product."""
    w, x, y = np.array([0.5, -1.5, 2.0]), 0.7, 1.0

    def loss(w):
        f = x
        for k in range(3):
            f = np.tanh(w[k] * f)
        return (f - y) ** 2 / 2

    z = [x]
    for k in range(3):
        z.append(np.tanh(w[k] * z[-1]))
    product = x * (1 - z[1] ** 2) * w[1] * (1 - z[2] ** 2) * w[2] * (1 - z[3] ** 2)
    assert_allclose(autodiff.grad(loss)(w)[0], product * (z[3] - y))
    assert abs(product - product * (z[3] - y)) > 0.1


def test_3_a_filter_of_ten_by_ten_has_a_hundred_weights():
    """Printed: 10."""
    (size,) = layer_sizes([Conv2d(1, 10)], (100, 100, 1))
    assert size.parameters == 100 + 1


def test_4_palette_and_colours():
    """32 colours of 24 bits, printed 5 x 24; 2^24 colours, printed 12777216."""
    size = image_bits(1024 * 1024, 32)
    assert size.reduced == 1024 * 1024 * 5 + 32 * 24
    assert size.reduced - 5_243_000 == (32 - 5) * 24
    assert image_bits(1, 16_777_216).reduced == 24 + 16_777_216 * 24  # 24 bits name them all


def test_4_parts_are_disjoint_in_pairs():
    """That all of them together have nothing in common is not enough."""
    assert not is_partition([[0, 1], [1, 2], [2, 0]], 3)  # the common intersection is empty
    assert is_partition([[0, 1], [2]], 3)


def test_4_cosine_distance_is_one_minus_the_similarity():
    """The similarity is printed as the distance: a row would be farthest from itself."""
    x = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert_allclose(cosine_distances(x, x), 1 - cosine_similarities(x, x), atol=1e-15)
    assert_allclose(np.diag(cosine_similarities(x, x)), 1)


def test_4_stirling_number_to_more_digits():
    """8.58e46 is cut off; 8.5896e46 rounds to 8.59e46."""
    assert f"{float(stirling_number(100, 3)):.3g}" == "8.59e+46"


def test_4_medoids_sum_distances_of_any_kind():
    """dist(x, z); printed dist(x - z) and a squared norm."""
    rows = np.array([[0.0], [1.0], [2.0], [10.0]])
    model = KMedoids(1, metric="manhattan").fit(rows)
    assert_allclose(model.inertia_, min(np.abs(rows - z).sum() for z in rows))
    assert np.square(rows - model.cluster_centers_).sum() > 5 * model.inertia_


def test_4_best_and_worst_case_of_k_medoids():
    """Equal clusters make the fewest pairs, one large cluster the most; the text swaps them."""
    n, k = 60, 4
    equal, lopsided = np.full(k, n // k), np.array([n - k + 1, 1, 1, 1])
    assert (equal**2).sum() == n * n / k
    assert (lopsided**2).sum() > 3 * (equal**2).sum()
    labels = KMedoids(k, random_state=0).fit(RNG.normal(size=(n, 1))).labels_
    parts = [np.flatnonzero(labels == j) for j in range(k)]
    assert is_partition(parts, n)
    assert n * n / k <= sum(len(part) ** 2 for part in parts) <= (lopsided**2).sum()


def test_4_cat_cat_dog():
    """0.3^2 0.7 = 0.063; printed 0.0189, which is 0.3^3 0.7."""
    model = MultinomialNB(alpha=0, class_prior=[0.5, 0.5]).fit([[0.3, 0.7], [0.9, 0.1]], [1, 2])
    assert_allclose(np.exp(model.predict_joint_log_proba([[2.0, 1]]))[0] * 2, [0.063, 0.081])


def test_4_sign_of_the_multiplier():
    """The Lagrangian adds lambda (sum - 1), its derivative subtracts it; shares come of either."""
    counts = np.array([5.0, 3.0, 2.0])
    found, multiplier = simplex_weights(counts)
    assert_allclose(found, counts / 10)
    assert_allclose(counts / found - multiplier, 0, atol=1e-9)  # the derivative with a minus
    assert np.abs(counts / found + multiplier).min() > 1  # with the printed plus it is not zero


def test_4_class_conditional_is_of_the_features_given_the_class():
    """Printed the other way round; one sums to 1 over features, the other over classes."""
    model = MultinomialNB().fit([[3.0, 1, 5], [1, 3, 2]], ["spanish", "portuguese"])
    given_class = np.exp(model.feature_log_prob_)
    assert_allclose(given_class.sum(axis=1), 1)
    given_word = model.predict_proba(np.eye(3)).T  # of each class, for a text of one word
    assert_allclose(given_word.sum(axis=0), 1)
    assert np.abs(given_class - given_word).max() > 0.1


def test_4_log_likelihood_of_a_gaussian_is_subtracted_and_summed():
    """- sum_t |x_t - mu|^2 / (2 sigma^2), printed with a plus and without the sum; maximised."""
    x = RNG.normal(size=(50, 2)) + 3
    mean = x.mean(axis=0)
    variance = ((x - mean) ** 2).sum() / (50 * 2)
    fitted = Gaussian(kind="spherical").fit(x)
    assert_allclose(fitted.covariance, variance)
    likelihood = -50 * np.log(2 * np.pi * variance) - ((x - mean) ** 2).sum() / (2 * variance)
    assert_allclose(fitted.log_density(x).sum(), likelihood)


def test_4_affine_maps_and_sums_of_gaussians():
    """The text says sums, the formula is aX + b: mean a mu + b, variance a^2 sigma^2."""
    found = transform_gaussian(Gaussian([1.0], [[4.0]]), [[3.0]], [2.0])
    assert_allclose(np.ravel(found.mean), [5])
    assert_allclose(np.ravel(found.covariance), [36])
    both = transform_gaussian(Gaussian([1.0, 2.0], [[4.0, 0], [0, 9.0]]), [[1.0, 1.0]], [0.0])
    assert_allclose([np.ravel(both.mean)[0], np.ravel(both.covariance)[0]], [3, 13])


def test_4_variance_of_a_class_divides_by_its_columns_too():
    """1 / n_j alone is printed for the observed case."""
    rows, y = RNG.normal(size=(60, 3)), np.repeat([0, 1], 30)
    model = GaussianClassifier("spherical", reg_covar=0.0).fit(rows, y)
    squares = [((rows[y == c] - rows[y == c].mean(axis=0)) ** 2).sum() for c in (0, 1)]
    assert_allclose(model.covariances_, np.array(squares) / 90)


def test_4_what_the_m_step_maximises():
    """sum p(j | i) log [p_j N(x_i)]; the printed product of p(j | i) N(x_i) is no likelihood."""
    x = RNG.normal(size=(40, 1)) * 2
    start = GaussianParameters(np.array([0.3, 0.7]), np.array([[-1.0], [1.0]]), np.ones(2))
    R, _ = e_step(x, start, "spherical")
    best = m_step(x, R, start, "spherical")
    height = (R * log_joint(x, best, "spherical")).sum()
    for seed in range(10):
        other = best._replace(means=best.means + np.random.default_rng(seed).normal(size=(2, 1)))
        assert (R * log_joint(x, other, "spherical")).sum() < height
    even = x.mean()  # what prod_i p(j | i) N(x_i; mu, sigma^2) leads to: every row counts the same
    assert np.abs(best.means - even).min() > 0.3


def test_4_posteriors_of_masked_rows_are_the_e_step():
    """Over the columns that are there; and E[x_d] takes the d-th entry of each mean."""
    x = np.array([[1.0, np.nan], [5.0, 4.0], [np.nan, 4.5], [1.5, 0.5]])
    mix = GaussianParameters(np.array([0.4, 0.6]), np.array([[1.0, 0.0], [5.0, 4.0]]), np.ones(2))
    R, _ = e_step(x, mix, "spherical")
    first = mix.weights * np.exp(-((1.0 - mix.means[:, 0]) ** 2) / 2)
    assert_allclose(R[0], first / first.sum())
    options = {"weights_init": mix.weights, "means_init": mix.means, "precisions_init": np.ones(2)}
    model = GaussianMixture(2, covariance_type="spherical", max_iter=50, **options).fit(x)
    filled = model.impute(x)
    assert_allclose(filled[0, 1], model.predict_proba(x)[0] @ model.means_[:, 1])


def test_3_shapes_of_a_recurrent_layer():
    """W^{s,x} is m x d for m states and d inputs; printed m x m."""
    network, params = build_network([Rnn(4)], (7, 3), np.random.default_rng(0))
    assert sorted(array.shape for array in params) == [(3, 4), (4,), (4, 4)]  # transposed: x W
    assert network.shapes == [(4,)]


def test_2_constant_and_power_make_other_features_than_the_sum_of_powers():
    """(1 + x.x')^p holds all monomials up to p; x.x' + (x.x')^2 lacks the constant and scales."""
    x, z = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    assert PolynomialKernel(2)(x, z).item() == 4
    assert QuadraticKernel()(x, z).item() == 2
    assert PolynomialKernel(2).feature_map(2).n_outputs == 6
    assert QuadraticKernel().feature_map(2).n_outputs == 5


def test_2_penalty_of_collaborative_filtering_is_added():
    """Printed: less a regularisation, which has no minimum; and the condition is dJ/dX = 0."""
    ratings, penalty = np.array([[5.0, np.nan], [1.0, 2.0]]), 1.5
    solution = naive_completion(ratings, penalty)
    known = ~np.isnan(ratings)

    def cost(x, sign):
        return 0.5 * np.sum((ratings[known] - x) ** 2) + sign * penalty / 2 * np.sum(x**2)

    assert_allclose(autodiff.grad(lambda x: cost(x, 1))(solution[known]), 0, atol=1e-12)
    assert_allclose(solution[known], ratings[known] / 2.5)
    printed = [cost(-solution[known] * scale, -1) for scale in (100.0, 1000.0)]
    assert printed[1] < printed[0] < 0  # no minimum
