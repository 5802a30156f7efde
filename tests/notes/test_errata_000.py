"""Course 000: formulas that are printed wrong, the right ones that run here, and where they part.

`docs/guide/errata.md` lists them.
"""

from itertools import product

import numpy as np
from numpy.testing import assert_allclose

from tenfold import (
    PCA,
    CategoricalHMM,
    GaussianMixture,
    KMeans,
    LogisticRegression,
    RbfNetwork,
    SequentialClassifier,
)
from tenfold.datasets import load_iris, make_noisy_xor
from tenfold.math.losses import LogisticLoss, ZeroOneLoss
from tenfold.mixture import GaussianParameters
from tenfold.model_selection import make_splits
from tenfold.neural import Dense
from tenfold.optim import gradient_descent
from tenfold.rl import delayed_reward, evaluate_policy
from tenfold.teaching import autodiff, e_step, log_joint, m_step, simplex_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X @ [1.0, -2.0, 0.5] + RNG.normal(size=40) > 0, 1.0, -1.0)


def test_1_2_gradient_of_the_cost_has_no_second_minus():
    """The average of the examples' gradients; the printed minus climbs instead of descending."""
    loss = LogisticLoss()

    def cost(w):
        z = X @ w
        return loss.value(z, Y).mean(), X.T @ loss.gradient(z, Y) / 40

    want = autodiff.grad(lambda w: np.mean(np.log1p(np.exp(-Y * (X @ w)))))(np.ones(3))
    assert_allclose(cost(np.ones(3))[1], want, rtol=1e-10)
    start = cost(np.zeros(3))[0]
    assert (
        gradient_descent(cost, np.zeros(3), learning_rate=0.5, max_iter=20, tol=None).value < start
    )
    step = np.zeros(3) + 0.5 * cost(np.zeros(3))[1]  # with -1/N, a step against "the gradient"
    assert cost(step)[0] > start


def test_1_3_zero_one_loss_is_no_sign():
    """sign(-s) is -1 for what is right: its mean is no share of errors."""
    scores, y = np.array([2.0, -1, 3, 0.5]), np.array([1.0, 1, 1, -1])
    assert ZeroOneLoss().value(scores, y).tolist() == [0, 1, 0, 1]
    assert np.sign(-scores * y).tolist() == [-1, 1, -1, 1]


def test_1_4_each_row_is_validated_once_and_trained_with_otherwise():
    (split,) = make_splits(5, 20)
    trained = np.bincount(np.concatenate([split.rows(cells) for cells in split.train]))
    tested = np.bincount(np.concatenate([split.rows(cells) for cells in split.test]))
    assert (trained == 4).all()
    assert (tested == 1).all()  # printed: K - 1 = 4 times
    for train, test in zip(split.train, split.test, strict=True):  # one symbol is printed for both
        assert not set(split.rows(train)) & set(split.rows(test))


def test_1_7_weights_of_radial_networks_have_a_row_for_each_class():
    """Classes x bases, as in section 1.5; 1.7.3 prints bases x classes."""
    data, y = load_iris(return_X_y=True)
    model = RbfNetwork(6, random_state=0).fit(data, y)
    assert model.coef_.shape == (3, 6)
    assert model.intercept_.shape == (3,)


def test_1_7_features_are_composed_from_the_first_on():
    """phi^L after ... after phi^1; printed from the last to the first."""
    layers = [Dense(5, "tanh"), Dense(2, "tanh"), Dense(1)]
    data, y = make_noisy_xor(60, random_state=0)
    model = SequentialClassifier(layers, epochs=1, random_state=0, tol=0).fit(data, y)
    outputs = model.outputs(data[:4])
    assert [out.shape[1] for out in outputs] == [5, 2, 1]
    first, second = model.params_[:2], model.params_[2:4]
    inner = np.tanh(data[:4] @ first[0] + first[1])
    assert_allclose(outputs[1], np.tanh(inner @ second[0] + second[1]), rtol=1e-5)
    assert first[0].shape[1] == second[0].shape[0] != second[0].shape[1]  # the other order fits not


def test_3_2_reconstruction_error_sums_over_all_rows():
    data = load_iris().data
    model, full = PCA(2).fit(data), PCA().fit(data)
    errors = ((data - model.inverse_transform(model.transform(data))) ** 2).sum(axis=1)
    left = (len(data) - 1) * full.explained_variance_[2:].sum()
    assert_allclose(errors.sum(), left, rtol=1e-9)
    assert np.abs(errors - full.explained_variance_[2:].sum()).max() > 0.1  # printed for one row


def test_4_2_k_means_needs_equal_weights_and_as_many_constants_as_columns():
    """pi_k = 1/q, not 0 or 1; and d log sqrt(2 pi), not q of them."""
    centers = np.array([[0.0, 0, 0], [3, 0, 0]])
    equal = GaussianParameters(np.full(2, 0.5), centers, np.ones(2))
    joint = log_joint(X, equal, "spherical")
    squares = ((X[:, None] - centers) ** 2).sum(axis=2)
    assert_allclose(joint, -squares / 2 - 3 * np.log(np.sqrt(2 * np.pi)) + np.log(0.5))
    assert_allclose(
        joint.argmax(axis=1), KMeans(2, init=centers, max_iter=1).fit(centers).predict(X)
    )
    assert np.abs(joint + squares / 2 + 2 * np.log(np.sqrt(2 * np.pi))).max() > 0.2
    only = GaussianParameters(np.array([1.0, 0.0]), centers, np.ones(2))  # pi in {0, 1}
    assert (e_step(X, only, "spherical")[0][:, 1] < 1e-99).all()  # nobody is in the second


def test_4_2_variance_of_a_column_is_its_own():
    """(4.8) divides by sigma_k^2; components with a variance for each column have sigma_{k,i}^2."""
    data = X * [1.0, 10.0, 0.1]
    model = GaussianMixture(2, covariance_type="diag", random_state=0, reg_covar=0).fit(data)
    assert model.covariances_.shape == (2, 3)
    assert (np.ptp(np.log(model.covariances_), axis=1) > 5).all()
    one = GaussianMixture(2, covariance_type="spherical", random_state=0, reg_covar=0).fit(data)
    assert model.score(data) > one.score(data) + 1


def test_4_2_multiplier_of_the_weights_is_added():
    """With -lambda (1 - sum pi) the stationary pi are negative; the right sign gives shares."""
    totals = np.array([3.0, 1.0])
    found, multiplier = simplex_weights(totals)
    assert_allclose(found, totals / 4)
    assert_allclose(totals / found, multiplier)  # d/dpi of sum v log pi + lambda (1 - sum pi)
    assert multiplier > 0
    R = np.repeat([[1.0, 0], [0.5, 0.5]], [10, 30], axis=0)
    assert_allclose(m_step(X, R).weights, R.mean(axis=0))


def test_4_2_the_e_step_leaves_the_likelihood_alone():
    """It tightens the bound; log p(x) is the same before and after."""
    before = GaussianParameters(np.full(2, 0.5), X[:2], np.ones(2))
    R, likelihood = e_step(X, before, "spherical")
    again = e_step(X, before, "spherical")[1]
    assert_allclose(again, likelihood)
    after = m_step(X, R, before, "spherical")
    assert e_step(X, after, "spherical")[1].sum() > likelihood.sum()


def test_4_2_em_is_no_gradient_step():
    """EM sets the expected gradient to zero: its step is no multiple of the gradient."""
    x = np.array([-1.0, 0.0, 2.0, 3.0])
    start = GaussianParameters(np.full(2, 0.5), np.array([[-0.5], [1.0]]), np.ones(2))
    R, _ = e_step(x[:, None], start, "spherical")
    step = m_step(x[:, None], R, start, "spherical").means[:, 0] - start.means[:, 0]

    def likelihood(means):
        parts = np.exp(-((x[:, None] - means) ** 2) / 2)
        return np.sum(np.log(np.sum(parts, axis=1)))

    gradient = autodiff.grad(likelihood)(start.means[:, 0])
    assert np.ptp(step / gradient) > 0.1
    assert (np.sign(step) == np.sign(gradient)).all()  # and it is ascent


def test_1_7_rotation_is_irrelevant_after_the_absolute_value():
    """45 degrees to the left or to the right: the corners of XOR fall on the same two axes."""
    corners = np.array([[1.0, 1], [-1, -1], [-1, 1], [1, -1]])
    for angle in (np.pi / 4, -np.pi / 4):
        c, s = np.cos(angle), np.sin(angle)
        folded = np.abs(corners @ np.array([[c, -s], [s, c]]).T)
        assert_allclose(folded.min(axis=1), 0, atol=1e-12)
        line = LogisticRegression(C=100).fit(folded, [0, 0, 1, 1])
        assert line.score(folded, [0, 0, 1, 1]) == 1


def test_4_2_log_probability_of_a_sequence_is_joint_less_posterior_of_any_path():
    """The equation breaks off after three logarithms, and without the posterior varies with z."""
    model = CategoricalHMM(2)
    model.startprob_, model.transmat_ = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]])
    model.emissionprob_ = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    x = np.array([[0], [1], [2]])
    paths = list(product(range(2), repeat=3))
    joint = np.array([model.joint_log_prob(x, path)[0] for path in paths])
    posterior = joint - np.logaddexp.reduce(joint)
    assert_allclose(joint - posterior, model.score(x))
    draws = [tuple(path) for path in model.sample_paths(x, 4000, random_state=0)]
    shares = [draws.count(path) / 4000 for path in paths]
    assert_allclose(shares, np.exp(posterior), atol=0.03)
    assert np.ptp(joint) > 1


def test_5_1_value_is_the_mean_of_returns_and_not_a_mean_of_an_equation():
    """V = E[Q] = sum p Q, with the bracket closed before the equality; advantages average to 0."""
    world, discount = delayed_reward(length=3, now=1.0, later=3.0), 0.9
    chances = np.full((world.n_states, 2), [0.25, 0.75])
    value = evaluate_policy(world, chances, discount)
    returns = world.action_values(value, discount)
    assert_allclose((chances * returns).sum(axis=1), value)
    advantage = returns - value[:, None]
    assert_allclose((chances * advantage).sum(axis=1), 0, atol=1e-12)
    assert np.abs(returns.mean(axis=1) - value).max() > 0.1  # an average without probabilities
