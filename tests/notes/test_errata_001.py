"""Course 001: formulas that are printed wrong, the right ones that run here, and where they part.

`docs/guide/errata.md` lists them.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from tenfold import (
    BayesianLinearRegression,
    CategoricalNB,
    GaussianNB,
    GaussianRegression,
    LogisticRegression,
    Perceptron,
    gaussian_log_likelihood,
)
from tenfold.datasets import load_iris
from tenfold.distributions import Bernoulli, Beta
from tenfold.math.links import normal_cdf, normal_pdf
from tenfold.math.losses import LogisticLoss
from tenfold.metrics import ConfusionMatrix
from tenfold.mixture import GaussianParameters
from tenfold.neural import Conv2d, layer_sizes
from tenfold.optim import irls_step, weighted_least_squares
from tenfold.optim.schedules import LogOverSqrt
from tenfold.teaching import cross_correlate, e_step, geometry, log_joint, m_step, pool
from tenfold.teaching.linear_algebra import gram_schmidt
from tenfold.teaching.probability import JointDensity, JointTable, kl_divergence

RNG = np.random.default_rng(0)
X = np.column_stack([np.ones(40), RNG.normal(size=(40, 2))])
Y = np.where(X @ [0.3, 1.0, -2.0] + RNG.normal(size=40) > 0, 1.0, -1.0)


def test_1_2_frobenius_norm_has_a_root():
    """|A|_F = sqrt(tr A'A): the trace alone does not scale with A."""
    A = RNG.normal(size=(3, 4))
    assert_allclose(geometry.norm(A.ravel()), np.sqrt(np.trace(A.T @ A)))
    assert_allclose(geometry.norm(2 * A.ravel()), 2 * geometry.norm(A.ravel()))
    assert abs(geometry.norm(A.ravel()) - np.trace(A.T @ A)) > 1  # printed


def test_1_2_mean_square_is_the_variance():
    """(32) prints it as sigma."""
    y = 3 * RNG.normal(size=40)
    model = GaussianRegression(fit_intercept=False).fit(X, y)
    squares = ((y - model.predict(X)) ** 2).sum()
    assert_allclose(model.noise_variance_, squares / 40)
    best = gaussian_log_likelihood(squares, 40, np.sqrt(squares / 40))
    assert best > gaussian_log_likelihood(squares, 40, squares / 40) + 1


def test_1_2_likelihood_is_not_concave_in_sigma():
    """(31) prints -N / sigma^2; it is +N / sigma^2, so that the curvature changes its sign."""
    squares, n = 8.0, 4

    def curvature(sigma):
        step = 1e-4
        f = [gaussian_log_likelihood(squares, n, sigma + t) for t in (-step, 0, step)]
        return (f[0] - 2 * f[1] + f[2]) / step**2

    for sigma in (1.0, 5.0):
        assert_allclose(curvature(sigma), n / sigma**2 - 3 * squares / sigma**4, rtol=1e-5)
    assert curvature(1.0) < 0 < curvature(5.0)


def test_1_2_prior_variance_is_the_square_of_tau():
    """Covariance tau^2 I, printed tau I: lambda is (sigma / tau)^2, not sigma^2 / tau."""
    y, sigma, tau = X @ [1.0, 2.0, 3.0] + RNG.normal(size=40), 1.5, 0.5
    model = BayesianLinearRegression(
        prior_covariance=tau**2 * np.eye(3), noise=sigma, fit_intercept=False
    ).fit(X, y)
    for strength, same in ((sigma**2 / tau**2, True), (sigma**2 / tau, False)):
        ridge = np.linalg.solve(X.T @ X + strength * np.eye(3), X.T @ y)
        assert np.allclose(model.coef_, ridge, rtol=1e-6) == same


def test_1_3_below_the_threshold_is_minus_one():
    """(48) prints 1 in both cases."""
    model = Perceptron().fit([[-2.0], [-1], [1], [2]], [-1, -1, 1, 1])
    assert model.predict([[-5.0], [5.0]]).tolist() == [-1, 1]


def test_2_2_log_over_root_is_not_square_summable():
    """It rises to t = e^2, its first step is zero, and the sum of squares grows without end."""
    rate = LogOverSqrt(1.0)
    rates = np.array([float(rate(t)) for t in range(1, 2001)])
    assert rates[0] == 0
    assert rates.argmax() + 1 == 7
    sums = np.cumsum(rates**2)
    assert_allclose(sums[1999] - sums[199], (np.log(2000) ** 3 - np.log(200) ** 3) / 3, rtol=0.01)


def test_2_2_weights_multiply_the_residual_of_the_working_target_too():
    """(87): the root of D stands before the whole difference, not before the rows alone."""
    w = np.array([0.1, -0.2, 0.3])
    loss = LogisticLoss()
    D, slope = loss.curvature(X @ w, Y), loss.gradient(X @ w, Y)
    z = X @ w - slope / D
    step = irls_step(X, Y, w, loss)
    assert_allclose(weighted_least_squares(X, z, D), step)
    assert_allclose(np.linalg.lstsq(np.sqrt(D)[:, None] * X, np.sqrt(D) * z)[0], step)
    printed = np.linalg.lstsq(np.sqrt(D)[:, None] * X, z)[0]
    assert np.abs(printed - step).max() > 0.1


def test_2_3_false_positives_and_negatives():
    """A healthy patient called ill is a false positive: true F, predicted T; printed the other."""
    found = ConfusionMatrix.from_predictions([0, 0, 0, 1], [1, 1, 0, 1]).of(1)
    assert (found.fp, found.fn) == (2, 0)


def test_2_3_negative_likelihood_ratio():
    """FNR / TNR, printed upside down: then DOR = LR+ / LR- would not be TP TN / (FP FN)."""
    table = ConfusionMatrix([[80, 20], [5, 45]]).of(1)
    fnr, tnr = 5 / 50, 80 / 100
    assert_allclose(table.lr_negative, fnr / tnr)
    assert_allclose(table.odds_ratio, table.lr_positive / table.lr_negative)
    assert_allclose(table.odds_ratio, 45 * 80 / (20 * 5))
    assert abs(table.lr_positive / (tnr / fnr) - table.odds_ratio) > 30


def test_2_4_perfect_confusion_is_the_diagonal_of_the_counts():
    """Not N times the identity."""
    y = np.repeat([0, 1, 2], [2, 3, 5])
    counts = ConfusionMatrix.from_predictions(y, y).counts
    assert counts.tolist() == np.diag([2, 3, 5]).tolist()
    assert counts.sum() == 10 != (10 * np.eye(3)).sum()


def test_2_4_hessian_of_softmax_has_blocks_beside_the_diagonal():
    """(104) prints those of the classes alone: Newton's method then needs many more rounds."""
    data, y = load_iris(return_X_y=True)
    model = LogisticRegression(solver="newton-cholesky", fit_intercept=False, tol=1e-8).fit(data, y)
    rounds = int(model.n_iter_[0])
    W = np.zeros((3, 4))
    for _ in range(rounds):
        P = np.exp(data @ W.T)
        P /= P.sum(axis=1, keepdims=True)
        slope = (P - np.eye(3)[y]).T @ data + W
        blocks = [(data * (p * (1 - p))[:, None]).T @ data + np.eye(4) for p in P.T]
        W -= [np.linalg.solve(H, g) for H, g in zip(blocks, slope, strict=True)]
    assert rounds <= 12
    assert np.abs(W - model.coef_).max() > 1e-3


def test_2_5_hint_function_is_positive_with_a_plus():
    """z Psi(z) + psi(z); printed -z Psi(z) + psi(z), which is negative for z = 1."""
    z = np.linspace(-8, 8, 401)
    assert (z * normal_cdf(z) + normal_pdf(z) > 0).all()
    assert -1 * normal_cdf(1.0) + normal_pdf(1.0) < 0


def test_2_7_log_prior_counts_once():
    """(130) ff. multiply it by the number of features."""
    data, y = load_iris(return_X_y=True)
    keep = np.r_[50:100, 100:106]
    model = GaussianNB().fit(data[keep], y[keep])
    density = [
        norm.logpdf(data, m, np.sqrt(v)).sum(axis=1)
        for m, v in zip(model.theta_, model.var_, strict=True)
    ]
    joint = np.log(model.class_prior_) + np.transpose(density)
    assert_allclose(model.predict_joint_log_proba(data), joint, rtol=1e-6)
    printed = 4 * np.log(model.class_prior_) + np.transpose(density)
    assert (printed.argmax(axis=1) != model.predict_joint_log_proba(data).argmax(axis=1)).any()


def test_2_7_size_of_a_contingency_table():
    """p features of m values: m^p - 1 free numbers, and p (m - 1) if naive; printed (p - 1)^2."""
    p, m = 4, 3
    rows = np.array(np.meshgrid(*[range(m)] * p)).reshape(p, -1).T.astype(float)
    assert len(rows) - 1 == m**p - 1 == 80 != (p - 1) ** 2
    model = CategoricalNB().fit(rows, np.zeros(len(rows)))
    assert sum(table.shape[1] - 1 for table in model.feature_log_prob_) == p * (m - 1)


def test_3_4_filters_have_all_channels_and_sizes_are_rounded_down():
    """(224) prints 1 x r x r for c channels; L1766 prints 1 x 5 for 1 x 5 x 5."""
    image, window = RNG.normal(size=(7, 8, 3)), RNG.normal(size=(3, 3, 3))
    found = cross_correlate(image, window, stride=3)
    assert found.shape == (2, 2)  # (7 - 3) / 3 + 1 is no whole number
    assert_allclose(found[1, 1], (image[3:6, 3:6] * window).sum())
    with pytest.raises(ValueError, match="channels"):
        cross_correlate(image, window[:, :, :1])
    (size,) = layer_sizes([Conv2d(8, 5)], (28, 28, 1))
    assert size.parameters == 8 * (1 * 5 * 5 + 1)


def test_3_4_pools_step_along_both_axes():
    """(234) prints j : j + r beside is : is + r."""
    image = RNG.normal(size=(6, 6))
    found = pool(image, 2, stride=2)
    assert_allclose(found[1, 2], image[2:4, 4:6].max())
    printed = [[image[2 * i : 2 * i + 2, j : j + 2].max() for j in range(3)] for i in range(3)]
    assert np.abs(found - printed).max() > 0.1


def test_4_4_projection_needs_a_unit_vector():
    """(252) holds for |v| = 1; and the least a is a coefficient, not the projection."""
    x, v = np.array([2.0, 1.0, 0.0]), np.array([3.0, 4.0, 0.0])
    found = geometry.vector_projection(x, v)
    assert_allclose(found, (x @ v) / (v @ v) * v)
    assert np.abs((x @ v) * v - found).max() > 10
    unit = geometry.unit_vector(v)
    assert_allclose((x @ unit) * unit, found)
    assert_allclose(geometry.scalar_projection(x, v), x @ unit)


def test_4_4_gram_schmidt_gives_a_basis_and_no_eigenvectors():
    """Footnote 14: after it, S W must still be diagonalised within the span."""
    A = RNG.normal(size=(3, 3))
    S = A @ A.T
    U = gram_schmidt(S @ RNG.normal(size=(3, 2))).Q
    rotated = U.T @ S @ U
    assert np.abs(rotated[0, 1]) > 1e-3  # eigenvectors would make it diagonal
    values, turn = np.linalg.eigh(rotated)
    W = U @ turn
    assert_allclose(W.T @ S @ W, np.diag(values), atol=1e-10)


MIX = GaussianParameters(np.array([0.3, 0.7]), np.array([[0.0], [2.0]]), np.ones(2))
LINE = RNG.normal(1.0, 1.5, size=(60, 1))


def test_4_6_em_takes_the_joint_likelihood():
    """(294) and (296) print log P(X | H); without p(H) the weights would never be learned."""
    R, _ = e_step(LINE, MIX, "spherical")
    learned = m_step(LINE, R, MIX, "spherical")
    assert_allclose(learned.weights, R.mean(axis=0))
    joint = log_joint(LINE, MIX, "spherical")
    given = joint - np.log(MIX.weights)
    moved = MIX._replace(weights=learned.weights)
    assert (R * log_joint(LINE, moved, "spherical")).sum() > (R * joint).sum()
    same = log_joint(LINE, moved, "spherical") - np.log(learned.weights)
    assert_allclose((R * same).sum(), (R * given).sum())  # what is printed does not see the weights


def test_4_6_gain_of_the_likelihood_has_a_logarithm_and_its_divergence_an_order():
    """log p(X | new) - log p(X | old) = Q(new) - Q(old) + KL(old || new); (305) has it reversed."""
    R, before = e_step(LINE, MIX, "spherical")
    new = m_step(LINE, R, MIX, "spherical")
    S, after = e_step(LINE, new, "spherical")
    rise = [(R * log_joint(LINE, m, "spherical")).sum() for m in (new, MIX)]
    gain = after.sum() - before.sum()
    forward = sum(kl_divergence(r, s) for r, s in zip(R, S, strict=True))
    backward = sum(kl_divergence(s, r) for r, s in zip(R, S, strict=True))
    assert_allclose(gain, rise[0] - rise[1] + forward)
    assert abs(gain - (rise[0] - rise[1] + backward)) > 1e-3
    assert gain >= rise[0] - rise[1] >= 0


def test_a_5_marginal_is_exponential_with_its_rate():
    """(412) prints lambda e^-x, which has mass lambda."""
    rate = 3.0
    both = JointDensity(lambda x, y: rate**2 * np.exp(-rate * (x + y)), (0, np.inf), (0, np.inf))
    for x in (0.1, 0.5, 1.0):
        assert_allclose(both.marginal("x").pdf(x), rate * np.exp(-rate * x), rtol=1e-6)
    assert abs(both.marginal("x").pdf(1.0) - rate * np.exp(-1.0)) > 0.5


def test_a_7_posterior_of_a_coin_keeps_its_prior():
    """Beta(alpha + s, beta + n - s); printed s + 1 for the first, which is alpha = 1 alone."""
    flips = [1.0, 1, 1, 0, 1]
    posterior = Bernoulli(prior=Beta(2.5, 4.0)).update(flips).prior
    assert (posterior.a, posterior.b) == (2.5 + 4, 4.0 + 1)
    mean = (2.5 + 4) / (2.5 + 4 + 5)
    assert_allclose(posterior.mean, mean)
    guesses = np.linspace(0, 1, 1001)
    draws = posterior.sample(20_000, RNG)
    errors = ((np.ravel(draws)[:, None] - guesses) ** 2).mean(axis=0)
    assert abs(guesses[errors.argmin()] - mean) < 0.01  # the mean minimises the squared error


def test_a_5_product_densities_are_normalised_by_each_factor():
    """(402): f / sum f and g / sum g; printed without the division for g."""
    f, g = np.array([1.0, 3.0]), np.array([2.0, 6.0, 2.0])
    axes = {"x": [0, 1], "y": [0, 1, 2]}
    joint = JointTable(np.outer(f, g) / (f.sum() * g.sum()), axes)
    assert_allclose(joint.distribution("x").p, f / f.sum())
    assert_allclose(joint.distribution("y").p, g / g.sum())
    assert joint.independent("x", "y")
