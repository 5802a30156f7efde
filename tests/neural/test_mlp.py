"""MLPClassifier, MLPRegressor and ConvClassifier: scikit-learn's numbers and what they promise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier as TheirClassifier
from sklearn.neural_network import MLPRegressor as TheirRegressor
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import ConvClassifier, MLPClassifier, MLPRegressor, testing

X, Y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
SICK, WORSE = load_diabetes(return_X_y=True)
SICK, WORSE = StandardScaler().fit_transform(SICK), (WORSE - 150) / 80
DIGITS, NAMES = load_digits(return_X_y=True)
DIGITS = DIGITS / 16


def started_alike(ours, theirs, X, y):
    """Fits from the same weights: scikit-learn starts where our fit of one step did."""
    with pytest.warns(ConvergenceWarning):
        theirs.set_params(max_iter=1, warm_start=True).fit(X, y)
    ours.set_params(max_iter=1, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        ours.fit(X, y)
    ours.params_ = [
        p.copy() for pair in zip(theirs.coefs_, theirs.intercepts_, strict=True) for p in pair
    ]
    return ours, theirs


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_full_batches_follow_scikit_learn_step_by_step(activation):
    settings = {
        "hidden_layer_sizes": (7, 5),
        "activation": activation,
        "solver": "sgd",
        "batch_size": 150,
        "learning_rate_init": 0.1,
        "alpha": 0.3,
        "random_state": 0,
    }
    ours, theirs = MLPClassifier(**settings), TheirClassifier(**settings)
    ours, theirs = started_alike(ours, theirs, X, Y)
    with pytest.warns(ConvergenceWarning):
        ours.set_params(max_iter=20).fit(X, Y)
    theirs._optimizer.velocities = [np.zeros_like(v) for v in theirs._optimizer.velocities]
    for _ in range(20):  # each call of partial_fit is an epoch
        theirs.partial_fit(X, Y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)
    assert_allclose(ours.coefs_[0], theirs.coefs_[0], atol=2e-4)


def test_lbfgs_finds_as_low_a_loss_as_scikit_learn():
    settings = {"hidden_layer_sizes": (8,), "activation": "tanh", "solver": "lbfgs"}
    settings |= {"alpha": 1.0, "max_iter": 2000}
    for y, ours, theirs, data in (
        (Y, MLPClassifier, TheirClassifier, X),
        (WORSE, MLPRegressor, TheirRegressor, SICK),
    ):
        ours, theirs = (
            [model(random_state=seed, **settings).fit(data, y).loss_ for seed in range(3)]
            for model in (ours, theirs)
        )
        assert min(ours) < min(theirs) * 1.02


def test_no_hidden_layer_is_softmax_regression():
    model = MLPClassifier((), solver="lbfgs", alpha=1.0, tol=1e-7, max_iter=5000, random_state=0)
    model.fit(X, Y)
    linear = tenfold.LogisticRegression(C=1.0, tol=1e-9).fit(X, Y)
    assert_allclose(model.predict_proba(X), linear.predict_proba(X), atol=1e-3)
    assert model.n_layers_ == 2


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_digits_are_learned_and_unseen_ones_known(solver):
    train, test, y, yt = train_test_split(DIGITS, NAMES, random_state=0)
    rate = 0.1 if solver == "sgd" else 0.003
    model = MLPClassifier((64,), solver=solver, learning_rate_init=rate, random_state=0)
    model.fit(train, y)
    assert model.score(test, yt) > 0.95
    assert_allclose(model.predict_proba(test).sum(axis=1), 1)
    assert (model.n_layers_, model.n_outputs_, model.out_activation_) == (3, 10, "softmax")
    assert [W.shape for W in model.coefs_] == [(64, 64), (64, 10)]
    assert [b.shape for b in model.intercepts_] == [(64,), (10,)]


def test_two_classes_have_one_score():
    model = MLPClassifier((5,), solver="lbfgs", random_state=0).fit(X[:100], Y[:100])
    assert (model.n_outputs_, model.out_activation_) == (1, "logistic")
    assert model.predict_proba(X[:100]).shape == (100, 2)
    assert model.score(X[:100], Y[:100]) == 1


def test_numbers_of_one_and_of_two_columns():
    both = np.stack([WORSE, -WORSE], axis=1)
    settings = {"hidden_layer_sizes": (20,), "learning_rate_init": 0.01, "random_state": 0}
    one, two = (MLPRegressor(**settings).fit(SICK, y) for y in (WORSE, both))
    assert one.predict(SICK).shape == (442,)
    assert two.predict(SICK).shape == (442, 2)
    assert min(one.score(SICK, WORSE), two.score(SICK, both)) > 0.5
    assert one.out_activation_ == "identity"


def test_a_target_in_one_column_is_flattened_with_scikit_learns_warning():
    settings = {"hidden_layer_sizes": (3,), "solver": "lbfgs", "max_iter": 500, "tol": 0.1}
    flat = MLPRegressor(**settings, random_state=0).fit(SICK, WORSE)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        column = MLPRegressor(**settings, random_state=0).fit(SICK, WORSE[:, None])
    assert_array_equal(column.predict(SICK), flat.predict(SICK))


def test_counts_are_predicted_through_their_logarithm():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    y = rng.poisson(np.exp(x @ [0.5, -0.3] + 1)).astype(float)
    settings = {"hidden_layer_sizes": (), "solver": "lbfgs", "alpha": 0.0, "tol": 1e-7}
    model = MLPRegressor("poisson", random_state=0, max_iter=2000, **settings).fit(x, y)
    linear = tenfold.PoissonRegressor(alpha=0.0, tol=1e-9).fit(x, y)
    assert_allclose(model.predict(x), linear.predict(x), rtol=1e-3)
    assert model.out_activation_ == "exp"


def test_early_stopping_tells_scores_and_keeps_the_best():
    model = MLPClassifier(
        (32,), early_stopping=True, learning_rate_init=0.01, random_state=0, n_iter_no_change=3
    )
    model.fit(DIGITS, NAMES)
    scores = model.validation_scores_
    assert len(scores) == model.n_iter_ < 200
    assert model.best_validation_score_ == max(scores) > 0.93
    regressor = MLPRegressor(early_stopping=True, learning_rate_init=0.01, random_state=0)
    assert regressor.fit(SICK, WORSE).best_validation_score_ > 0.3


def test_adaptive_and_falling_rates():
    settings = {"solver": "sgd", "learning_rate_init": 0.2, "random_state": 0, "tol": 1e-3}
    adaptive = MLPClassifier((8,), learning_rate="adaptive", **settings).fit(X, Y)
    constant = MLPClassifier((8,), **settings).fit(X, Y)
    assert adaptive.n_iter_ > constant.n_iter_
    assert adaptive.loss_ <= constant.loss_ + 1e-3
    falling = MLPClassifier((8,), learning_rate="invscaling", power_t=0.2, **settings).fit(X, Y)
    assert falling.score(X, Y) > 0.8


def test_a_fit_that_does_not_end_warns_and_goes_on_when_warm():
    settings = {"learning_rate_init": 0.01, "warm_start": True, "random_state": 0}
    model = MLPClassifier((8,), max_iter=3, **settings)
    losses = []
    for _ in range(4):
        with pytest.warns(ConvergenceWarning, match="max_iter=3"):
            losses += model.fit(X, Y).loss_curve_
    assert losses[-1] < 0.9 * losses[0]
    with pytest.raises(ValueError, match="same classes"):
        model.fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="have changed"):
        model.set_params(hidden_layer_sizes=(9,)).fit(X, Y)


def test_partial_fit_is_an_epoch():
    model = MLPClassifier((16,), learning_rate_init=0.01, random_state=0)
    for _ in range(60):
        model.partial_fit(X, Y, classes=[0, 1, 2])
    assert model.n_iter_ == 60
    assert model.score(X, Y) > 0.93
    with pytest.raises(AttributeError, match="lbfgs"):
        MLPClassifier(solver="lbfgs").partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="early_stopping"):
        MLPRegressor(early_stopping=True).partial_fit(SICK, WORSE)


def test_sparse_rows_give_the_network_of_dense_ones():
    model = MLPClassifier((8,), random_state=0, **MLPClassifier._law_params)
    dense, thin = (
        testing.clone_model(model).fit(rows, NAMES) for rows in (DIGITS, sparse.csr_array(DIGITS))
    )
    testing.assert_bitwise_equal(dense, thin, "sparse")
    assert np.array_equal(dense.predict(DIGITS), thin.predict(sparse.csr_array(DIGITS)))


def test_images_flat_and_square_are_the_same_images():
    model = ConvClassifier((8,), hidden=(16,), epochs=8, learning_rate=0.01, random_state=0)
    flat = testing.clone_model(model).fit(DIGITS, NAMES)
    square = testing.clone_model(model).fit(DIGITS.reshape(-1, 8, 8), NAMES)
    assert all(map(np.array_equal, flat.params_, square.params_))
    assert np.array_equal(flat.predict(DIGITS), square.predict(DIGITS.reshape(-1, 8, 8)))
    assert flat.score(DIGITS, NAMES) > 0.9
    kinds = [type(layer).__name__ for layer in flat.network_.layers]
    assert kinds == ["Reshape", "Conv2d", "MaxPool", "Flatten", "Dense", "Dense"]


def test_convolutions_know_moved_images_better():
    """The claim for them: of digits moved by a pixel, a convolutional network knows more."""
    train, test, y, yt = train_test_split(DIGITS, NAMES, random_state=0)
    moved = np.roll(test.reshape(-1, 8, 8), 1, axis=1).reshape(-1, 64)
    dense = MLPClassifier((64,), learning_rate_init=0.01, random_state=0).fit(train, y)
    kernels = ConvClassifier(epochs=8, learning_rate=0.005, random_state=0).fit(train, y)
    assert kernels.score(test, yt) > 0.97
    assert kernels.score(moved, yt) > dense.score(moved, yt) + 0.1
