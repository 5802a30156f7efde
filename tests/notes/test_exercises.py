"""Exercises of the courses that ask for an experiment: what must come out, on data that are small.

Those that ask for a proof or a number stand with their models; the pictures are in `examples`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from tenfold import (
    NMF,
    PCA,
    BayesianLinearRegression,
    GaussianRegression,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MatrixFactorization,
    MLPClassifier,
    MLPRegressor,
    MultinomialNB,
    PenalizedClassifier,
    PolynomialFeatures,
    ProbitRegression,
    Ridge,
    SequentialClassifier,
    SGDClassifier,
    TfIdf,
    WordCounts,
    cross_validate,
)
from tenfold.datasets import (
    corrupt_coordinates,
    corrupt_pixels,
    load_digits,
    make_sine,
    pad_images,
)
from tenfold.math.losses import HingeLoss, LogisticLoss
from tenfold.mixture import GaussianParameters
from tenfold.model_selection import EarlyStopping
from tenfold.neural import Conv2d, Dense, Flatten, MaxPool
from tenfold.neural.losses import HalfSquaredError
from tenfold.optim import subgradient_descent
from tenfold.optim.schedules import ConstantRate, LogOverSqrt, PowerDecay
from tenfold.teaching import autodiff, e_step, m_step

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32), y


def two(digits, a, b):
    X, y = digits
    keep = (y == a) | (y == b)
    return X[keep], y[keep]


# ------------------------------------------------------------------------------------ course 000


def test_000_log_loss_of_both_codings_is_one():
    """Footnote 8: cross-entropy of y in {0, 1} is log(1 + exp(-s)) of y in {-1, +1}."""
    z = np.linspace(-6, 6, 25)
    for y in (0.0, 1.0):
        p = 1 / (1 + np.exp(-z))
        entropy = -(y * np.log(p) + (1 - y) * np.log(1 - p))
        assert_allclose(LogisticLoss().value(z, np.full(25, 2 * y - 1)), entropy)


def test_000_hinge_is_minimised_by_subgradients():
    """Footnote 9: at its corner any slope between those of the sides will do."""
    X = np.array([[-2.0], [-1], [1], [3]])
    y, hinge = np.array([-1.0, -1, 1, 1]), HingeLoss()

    def cost(w):
        z = X @ w
        return hinge.value(z, y).mean() + 0.05 * w @ w, X.T @ hinge.gradient(z, y) / 4 + 0.1 * w

    found = subgradient_descent(cost, np.zeros(1), max_iter=2000)
    grid = np.linspace(0, 3, 3001)
    assert_allclose(found.value, min(cost(np.array([w]))[0] for w in grid), atol=1e-4)
    corner = hinge.gradient(np.array([1.0]), np.ones(1))[0]
    assert -1 <= corner <= 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_000_folds_disagree_about_when_to_stop():
    """Footnote 16: every fold has its own best round, and none of them is of a fit to all rows."""
    X = RNG.normal(size=(60, 20))
    y = (X[:, 0] + 2 * RNG.normal(size=60) > 0).astype(int)
    steps = SGDClassifier("log_loss", alpha=0, learning_rate="constant", eta0=0.02, random_state=0)
    best = []
    for fold in range(4):
        rows = np.arange(60) % 4 != fold
        stop = EarlyStopping(steps, validation=0.3, max_rounds=15, patience=14, seed=fold)
        best.append(stop.fit(X[rows], y[rows]).best_round_)
    assert len(set(best)) > 1


def test_000_fewer_columns_are_less_work(digits):
    """Section 3.1: a model of q columns has q weights for each class, and reads q numbers a row."""
    X, y = digits
    Z = PCA(8).fit_transform(X)
    assert Z.nbytes * 8 == X.nbytes
    small, large = (LogisticRegression(tol=0.1).fit(rows, y).coef_.size for rows in (Z, X))
    assert small * 8 == large
    assert KMeans(10, n_init=1, random_state=0).fit(Z).cluster_centers_.shape == (10, 8)


def test_000_hard_em_with_equal_weights_and_variances_is_k_means():
    """Section 4.2: hard responsibilities, weights and variances held: one round is Lloyd's."""
    rows = np.r_[RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2)) + 4]
    centers = rows[[0, 45]]
    for _ in range(5):
        held = GaussianParameters(np.full(2, 0.5), centers, np.full(2, 1.0))
        R, _ = e_step(rows, held, "spherical")
        hard = np.eye(2)[R.argmax(axis=1)]
        centers = m_step(rows, hard, held, "spherical").means
    lloyd = KMeans(2, init=rows[[0, 45]], max_iter=300, tol=0).fit(rows)
    assert_allclose(centers, lloyd.cluster_centers_)


# ------------------------------------------------------------------------------------ course 001


def degree(d, model=None):
    return make_pipeline(PolynomialFeatures(d, include_bias=False), model or LinearRegression())


def test_001_1_2_3_training_error_falls_and_test_error_turns():
    train, test = (make_sine(n, noise=0.3, random_state=s) for n, s in ((10, 0), (300, 1)))
    errors = np.array([
        [((degree(d).fit(*train).predict(X) - y) ** 2).mean() for X, y in (train, test)]
        for d in range(1, 10)
    ])  # fmt: skip
    assert (np.diff(errors[:, 0]) < 1e-9).all()
    assert 0 < errors[:, 1].argmin() < 8
    assert errors[8, 1] > 10 * errors[8, 0]
    tamed = degree(9, Ridge(1e-3)).fit(*train).predict(test[0])
    assert ((tamed - test[1]) ** 2).mean() < errors[8, 1]


def test_001_1_2_5_bayesian_bands_widen_away_from_the_rows():
    X, y = make_sine(25, noise=0.3, random_state=0)
    x = np.array([[X.mean()], [X.max() + 2 * np.ptp(X)]])
    plain = GaussianRegression().fit(X, y)
    bayes = BayesianLinearRegression(
        noise=np.sqrt(plain.noise_variance_), intercept_precision=0.0
    ).fit(X, y)
    _, deviation = bayes.predict(x, return_std=True)
    assert deviation[1] > 1.2 * deviation[0]
    assert deviation[0] > np.sqrt(plain.noise_variance_)


@pytest.mark.parametrize("model", [LogisticRegression, ProbitRegression])
def test_001_2_2_2_and_2_6_1_every_schedule_lowers_the_loss(model, digits):
    X, y = two(digits, 4, 7)
    X, y = X[:100], y[:100]
    loss = "logistic" if model is LogisticRegression else "probit"
    for rate in (ConstantRate(0.1), PowerDecay(1.0, 0.5), LogOverSqrt(0.1)):
        fit = PenalizedClassifier(
            loss, penalty=None, solver="gd", learning_rate=rate, max_iter=60, tol=0
        )
        with pytest.warns(ConvergenceWarning):  # sixty steps are not the minimum
            fit.fit(X, y)
        assert fit.history_["objective"][-1] < 0.5 * fit.history_["objective"][1]


def test_001_2_3_1_and_2_8_1_few_digits_suffice(digits):
    X, y = two(digits, 4, 7)
    for model in (LogisticRegression(tol=1e-2), ProbitRegression(tol=1e-2), MultinomialNB()):
        score = [model.fit(X[:n], y[:n]).score(X[100:], y[100:]) for n in (10, 100)]
        assert score[1] > 0.9
        assert score[1] >= score[0] - 0.02


def test_001_2_6_2_noise_in_pixels_costs_accuracy(digits):
    X, y = two(digits, 4, 7)
    noisy = corrupt_pixels(X.astype(float), ratio=0.9, random_state=0)
    for model in (LogisticRegression(tol=1e-2), ProbitRegression(tol=1e-2)):
        clean, dirty = (model.fit(T[:30], y[:30]).score(T[100:], y[100:]) for T in (X, noisy))
        assert dirty < clean
        assert dirty > 0.6


def test_001_2_8_2_noise_in_words_costs_accuracy():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    rates = rng.dirichlet(np.full(100, 0.1), 2)
    X = np.array([rng.multinomial(20, rates[k]) for k in y]) / 20
    noisy = corrupt_coordinates(sparse.csr_array(X), ratio=0.9, intensity=1.0, random_state=0)
    noisy = noisy.toarray()
    clean, dirty = (
        MultinomialNB().fit(T[:200], y[:200]).score(T[200:], y[200:]) for T in (X, noisy)
    )
    assert dirty < clean
    assert clean > 0.9


def test_001_3_2_1_squared_loss_is_a_gaussian_likelihood():
    """Up to a constant and a factor: differences of one are differences of the other."""
    y, z = RNG.normal(size=(2, 5, 3))
    sigma = 0.7

    def minus_log_likelihood(z):
        return -norm.logpdf(y, z, sigma).sum()

    loss = HalfSquaredError()
    values = [loss.value_and_gradient(v, y, None)[0] for v in (z, y)]
    rise = (minus_log_likelihood(z) - minus_log_likelihood(y)) * sigma**2
    ratio = (values[0] - values[1]) / rise
    other = y + 2 * z
    again = loss.value_and_gradient(other, y, None)[0] - values[1]
    assert_allclose(
        again / ((minus_log_likelihood(other) - minus_log_likelihood(y)) * sigma**2), ratio
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_001_3_3_2_more_examples_help_more_than_more_units(digits):
    X, y = digits
    X, y = X[y < 5], y[y < 5]
    options = {"activation": "tanh", "solver": "lbfgs", "max_iter": 60, "random_state": 0}
    score = {
        (units, n): MLPClassifier(units, **options).fit(X[:n], y[:n]).score(X[400:], y[400:])
        for units, n in ((2, 200), (10, 10), (10, 200), (20, 200))
    }
    assert score[10, 200] > score[10, 10]
    assert score[10, 200] > score[2, 200]
    assert abs(score[20, 200] - score[10, 200]) < 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_001_3_3_3_penalty_shrinks_the_weights(digits):
    X, y = two(digits, 3, 8)
    model = MLPClassifier(10, max_iter=30, random_state=0)
    fits = [model.set_params(alpha=alpha).fit(X, y).coefs_ for alpha in (0.0, 1.0, 30.0)]
    sizes = [sum((w**2).sum() for w in coefs) for coefs in fits]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_001_3_3_4_units_for_a_sine():
    """One unit cannot follow it, three can, thirty pass through the noise."""
    X, y = make_sine(10, noise=0.2, random_state=0)
    options = {"activation": "tanh", "solver": "lbfgs", "alpha": 0.0, "max_iter": 400, "tol": 1e-7}
    error = {
        m: min(
            (
                (
                    MLPRegressor(hidden_layer_sizes=m, random_state=s, **options)
                    .fit(X, y)
                    .predict(X)
                    - y
                )
                ** 2
            ).mean()
            for s in range(3)
        )
        for m in (1, 3, 30)
    }
    assert error[1] > error[3] > error[30]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_001_3_4_1_and_3_4_3_padding_hurts_pixels_more_than_filters(digits):
    X, y = two(digits, 0, 1)
    images = X.reshape(-1, 8, 8)
    moved = pad_images(images, thickness=6, random_state=0)
    flat = moved.reshape(len(y), -1)
    n = 150
    for model in (LogisticRegression(tol=1e-2), MultinomialNB()):
        in_place = model.fit(X[:n], y[:n]).score(X[n:], y[n:])
        assert model.fit(flat[:n], y[:n]).score(flat[n:], y[n:]) < in_place - 0.05
    softmax = LogisticRegression(tol=1e-2).fit(flat[:n], y[:n]).score(flat[n:], y[n:])
    layers = [
        Conv2d(6, 3, "relu"),
        MaxPool(2),
        Conv2d(6, 3, "relu"),
        MaxPool(2),
        Flatten(),
        Dense(),
    ]
    net = SequentialClassifier(layers, epochs=25, learning_rate=0.01, batch_size=16, random_state=0)
    net.fit(moved[:n, ..., None].astype(np.float32), y[:n])
    assert net.score(moved[n:, ..., None].astype(np.float32), y[n:]) > softmax


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_001_3_4_4_and_3_4_5_filters_and_their_maps(digits):
    X, y = two(digits, 0, 1)
    images = X.reshape(-1, 8, 8, 1)
    for filters in (4, 8):
        layers = [
            Conv2d(filters, 3, "relu"),
            MaxPool(2),
            Conv2d(filters, 3, "relu"),
            Flatten(),
            Dense(),
        ]
        net = SequentialClassifier(
            layers, epochs=12, learning_rate=0.01, batch_size=16, random_state=0
        )
        net.fit(images[:200], y[:200])
        assert net.score(images[200:], y[200:]) > 0.9
        maps = net.outputs(images[:4])  # two images of each digit, after each layer
        assert maps[0].shape == (4, 6, 6, filters)
        assert maps[2].shape == (4, 1, 1, filters)


def test_001_4_2_3_penalized_factors_alternate_to_a_point_without_descent():
    """||X - WH||^2 + a0 ||H||_1 + a1 ||W||_1 + a2 ||W||^2, every step downhill, then KKT."""
    X = RNG.random((30, 4)) @ RNG.random((4, 12))
    sets = {"code_set": "nonnegative", "dictionary_set": "nonnegative"}
    penalties = {"l1_codes": 0.3, "l1_dictionary": 0.2, "l2_dictionary": 0.1}
    model = MatrixFactorization(4, **sets, **penalties, max_iter=3000, tol=1e-13).fit(X)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    H, W = model.transform(X), model.components_
    gradient = H.T @ (H @ W - X) + 0.2 + 0.1 * W
    assert np.abs(gradient[W > 1e-6]).max() < 1e-3
    assert gradient[W <= 1e-6].min(initial=0) > -1e-3


def test_001_4_3_2_parts_are_found_with_as_many_atoms_and_not_with_fewer():
    """The largest r with images that are not random: the number of parts, here bars."""
    bars = np.zeros((4, 8, 8))
    bars[0, 1], bars[1, 5], bars[2, :, 2], bars[3, :, 6] = 1, 1, 1, 1
    X = RNG.random((150, 4)) * (RNG.random((150, 4)) < 0.5) @ bars.reshape(4, -1)
    few, right = (NMF(r, max_iter=2000, tol=1e-5).fit(X) for r in (3, 4))
    assert right.reconstruction_err_ < 1e-3 * few.reconstruction_err_
    likeness = []
    for model in (few, right):
        W = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
        likeness.append((W @ bars.reshape(4, -1).T / np.sqrt(8)).max(axis=1).min())
    assert likeness[0] < 0.9
    assert likeness[1] > 0.999


def test_001_4_3_3_topics_of_counts_and_of_tf_idf():
    """Documents of two subjects: each topic's words are of one subject in both forms."""
    subjects = ("mouse disk screen chip code", "goal ball team match score")
    documents = [
        " ".join(RNG.choice(subjects[i % 2].split(), 12)) + " the the of" for i in range(60)
    ]
    for words in (WordCounts(), TfIdf()):
        X = words.fit_transform(documents)
        model = NMF(3 if isinstance(words, WordCounts) else 2, max_iter=1000, tol=1e-6).fit(X)
        names = words.get_feature_names_out()
        top = [{names[j] for j in row.argsort()[-3:]} for row in model.components_]
        pure = [any(t <= set(s.split()) for t in top) for s in subjects]
        assert all(pure)


# ------------------------------------------------------------------------------------ course 002


def test_002_convince_yourself():
    x, w, y = np.array([1.0, -2, 3]), np.array([0.5, 1, -1]), np.array([1.0, -1])
    assert_allclose(autodiff.grad(lambda w: w @ x)(w), x)  # grad of w'x
    model = LogisticRegression().fit([[-1.0], [1.0], [2.0]], [-1, 1, 1])
    score = model.decision_function([[0.7]])[0]
    for column, label in enumerate((-1, 1)):  # p(y | x) = sigma(y w'x) for both labels
        assert_allclose(model.predict_proba([[0.7]])[0, column], 1 / (1 + np.exp(-label * score)))
    rows = RNG.normal(size=(5, 3))
    assert_allclose(sum(np.outer(r, r) for r in rows), rows.T @ rows)  # sum of x x' = X'X
    doubled = autodiff.grad(lambda z: 3 * np.sum(np.log1p(np.exp(-y * z))))(np.array([0.2, 0.4]))
    single = autodiff.grad(lambda z: np.sum(np.log1p(np.exp(-y * z))))(np.array([0.2, 0.4]))
    assert_allclose(doubled, 3 * single)  # rule 4: a positive multiple has the same shape


# ------------------------------------------------------------------------------ courses 001, 003


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_003_too_few_units_zero_starts_and_activations():
    """[003, lecture 9]: two units cannot, ten can; from zero all units stay equal."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (200, 2))
    y = (np.hypot(*X.T) < 0.6).astype(int)
    options = {"solver": "lbfgs", "max_iter": 300, "alpha": 1e-4}
    score = {
        (m, a): max(
            MLPClassifier(m, activation=a, random_state=s, **options).fit(X, y).score(X, y)
            for s in range(3)
        )
        for m, a in ((2, "tanh"), (10, "tanh"), (10, "relu"))
    }
    assert score[10, "tanh"] > score[2, "tanh"]
    assert min(score[10, "tanh"], score[10, "relu"]) > 0.97
    zero = Dense(5, "tanh", init=0.0)
    net = SequentialClassifier([zero, Dense(init=0.0)], epochs=20, random_state=0).fit(X, y)
    assert_allclose(np.ptp(net.params_[0], axis=1), 0)  # the units are still alike
    assert net.score(X, y) < 0.8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_004_one_hidden_layer_approximates_any_function():
    """[004, 4.5; 001, 3.1]: the error on a grid falls as units are added."""
    x = np.linspace(-1, 1, 120)[:, None]
    y = np.sin(5 * x[:, 0]) + np.abs(x[:, 0])
    options = {"activation": "tanh", "solver": "lbfgs", "alpha": 0.0, "max_iter": 600, "tol": 1e-9}
    errors = [
        min(
            np.abs(
                MLPRegressor(hidden_layer_sizes=m, random_state=s, **options).fit(x, y).predict(x)
                - y
            ).max()
            for s in range(2)
        )
        for m in (1, 4, 16)
    ]
    assert errors[0] > 3 * errors[1] > 3 * errors[2]
    assert errors[2] < 0.06


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_structure_is_chosen_by_folds():
    """[004, 4.5]: the number of units by cross-validation."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (120, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    options = {"activation": "tanh", "solver": "lbfgs", "max_iter": 100, "random_state": 0}
    scores = [
        cross_validate(MLPClassifier(m, **options), X, y, folds=3)["test_score"].mean()
        for m in (1, 8)
    ]
    assert scores[1] > scores[0] + 0.1
