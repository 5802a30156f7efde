"""Training: batches in parts, steps in place, penalties, clipping, stopping, resuming, files."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

import tenfold
from tenfold import ConvClassifier, Sequential, SequentialClassifier, SequentialRegressor, testing
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.math import losses as score_losses
from tenfold.neural import (
    Activation,
    BatchNorm,
    Conv2d,
    Dense,
    Dropout,
    Flatten,
    Lstm,
    MaxPool,
    losses,
)
from tenfold.neural import _fused_mlp_numba as compiled
from tenfold.neural._fused_mlp import FusedTrainer
from tenfold.neural._fused_optimizers import FUSED_OPTIMIZERS, step_constants, update_in_place
from tenfold.neural._minibatch import GradientWorkers, default_part_rows, part_gradient, split_batch
from tenfold.neural._training import MinibatchTrainer, apply_step, initial_state, run_epoch, train
from tenfold.neural._training_config import NetworkObjective, StoppingRule, TrainingConfig
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import backward, build_network, forward
from tenfold.optim import optimizers
from tenfold.optim.schedules import ConstantRate, CosineDecay

TORCH = np.load(Path(__file__).parents[1] / "reference" / "torch_numbers.npz")
DIGITS, NAMES = load_digits(return_X_y=True)
DIGITS = (DIGITS / 16).astype(np.float32)
ONE = np.ones((1, 1))
IMAGES = DIGITS.reshape(-1, 8, 8, 1)
RULES = [
    optimizers.SGD(),
    optimizers.Momentum(),
    optimizers.Nesterov(0.8),
    optimizers.Adam(),
    optimizers.AdamW(0.1),
    optimizers.RMSProp(),
    optimizers.AdaGrad(),
]
KERNELS = [Conv2d(8, 3, "relu"), MaxPool(2), Flatten(), Dropout(0.2), Dense(16, "relu"), Dense()]


def block(X, y, w=None):
    return ShuffledBlock(X, y, w, np.arange(len(X)), np.arange(len(X)))


def small_task():
    rng = np.random.default_rng(0)
    network, params = build_network([Dense(7, "tanh"), Dense(3)], (5,), rng, np.float64)
    X, y = rng.normal(size=(150, 5)), rng.integers(3, size=150)
    return NetworkObjective(network, losses.CrossEntropy()), params, X, y


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_steps_in_place_are_those_of_the_steppers(rule, dtype):
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(4, 3)).astype(dtype)
    want, memory = theta.copy(), rule.init(theta)
    wanted = rule.init(theta)
    for t in range(1, 6):
        g = rng.normal(size=(4, 3)).astype(dtype)
        pulled = 0.5 * g + 0.1 * want + 0.01 * np.sign(want)
        want, wanted = rule.update(want, pulled, wanted, 0.05)
        step, pull = (0.05, step_constants(rule, t, 0.05, dtype)), np.array([0.5, 0.1, 0.01], dtype)
        memory = update_in_place(rule, theta, g, memory, step, pull)
    assert_allclose(theta, want, rtol=1e-12 if dtype == np.float64 else 1e-5)


def test_every_compiled_optimizer_is_compared_with_its_definition():
    assert set(FUSED_OPTIMIZERS) <= {type(rule) for rule in RULES}


def test_ten_steps_of_adam_are_those_of_torch():
    network, params = build_network(
        [Dense(4, "tanh"), Dense(2)], (3,), np.random.default_rng(0), float
    )
    params = [TORCH[f"adam_{i}"].copy() for i in range(len(params))]
    objective, config = (
        NetworkObjective(network, losses.HalfSquaredError()),
        TrainingConfig(schedule=ConstantRate(0.01), l2=0.05),
    )
    state = initial_state(params, config.optimizer)
    for step in range(10):
        gradient = GradientWorkers(objective).gradient(
            state.params, block(TORCH["adam_x"], TORCH["adam_y"]), np.arange(8), step
        )
        state = apply_step(state, gradient, network, config)
    for i, param in enumerate(state.params):
        assert_allclose(param, TORCH[f"adam_{i}_end"], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 100, 128])
def test_parts_cover_a_batch_and_are_of_nearly_one_size(rows):
    parts = split_batch(rows, 32)
    assert [i for a, b in parts for i in range(a, b)] == list(range(rows))
    sizes = {b - a for a, b in parts}
    assert max(sizes) <= 32
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("part_rows", [7, 32, 64, 1000])
def test_parts_make_the_gradient_of_the_batch(part_rows):
    objective, params, X, y = small_task()
    whole = part_gradient(
        objective, params, block(X, y), np.arange(150), PassContext(training=True)
    )
    parts = GradientWorkers(objective, part_rows).gradient(params, block(X, y), np.arange(150), 0)
    assert_allclose(parts.loss, whole.loss)
    assert parts.weight == 150
    for mine, want in zip(parts.arrays, whole.arrays, strict=True):
        assert_allclose(mine, want, rtol=1e-9, atol=1e-12)


def test_weights_are_repetitions_within_a_batch():
    objective, params, X, y = small_task()
    w = np.random.default_rng(3).integers(0, 3, 150)
    workers = GradientWorkers(objective)
    weighed = workers.gradient(params, block(X, y, w.astype(float)), np.arange(150), 0)
    repeated = workers.gradient(params, block(X, y), np.repeat(np.arange(150), w), 0)
    assert weighed.weight == repeated.weight
    assert_allclose(weighed.loss, repeated.loss)
    for mine, want in zip(weighed.arrays, repeated.arrays, strict=True):
        assert_allclose(mine, want, rtol=1e-9, atol=1e-12)


def test_clipping_shortens_the_mean_gradient():
    objective, params, X, y = small_task()
    gradient = GradientWorkers(objective).gradient(params, block(X, y), np.arange(150), 0)
    for config, limit in (
        (TrainingConfig(optimizers.SGD(), ConstantRate(1.0), clip_norm=1e-3), 1e-3),
        (TrainingConfig(optimizers.SGD(), ConstantRate(1.0), clip_value=1e-4), None),
    ):
        state = initial_state([p.copy() for p in params], config.optimizer)
        after = apply_step(state, gradient, objective.network, config)
        steps = [b - a for a, b in zip(after.params, params, strict=True)]
        if limit is not None:
            assert_allclose(np.sqrt(sum((s**2).sum() for s in steps)), limit)
        else:
            assert_allclose(max(np.abs(s).max() for s in steps), 1e-4)


def test_penalties_shrink_weights_but_not_constants():
    loose, tight, sparse = (
        SequentialClassifier(
            [Dense(16, "relu"), Dense()], random_state=0, learning_rate=0.01, epochs=20, **penalty
        )
        .fit(DIGITS, NAMES)
        .params_
        for penalty in ({}, {"l2": 0.1}, {"l1": 0.003})
    )
    assert (tight[0] ** 2).sum() < 0.2 * (loose[0] ** 2).sum()
    assert np.median(np.abs(sparse[0])) < 0.2 * np.median(np.abs(loose[0]))


def test_running_statistics_are_means_of_batches():
    rng = np.random.default_rng(0)
    X = (3 + 2 * rng.normal(size=(4000, 4))).astype(np.float32)
    model = SequentialRegressor([BatchNorm(), Dense()], random_state=0, epochs=5).fit(X, X[:, 0])
    _, _, mean, variance, *_ = model.params_
    assert_allclose(mean, X.mean(axis=0), rtol=0.1)
    assert_allclose(variance, X.var(axis=0), rtol=0.15)


@pytest.mark.parametrize(
    "layers", [[Dense(16, "relu"), Dense()], KERNELS], ids=["dense", "kernels"]
)
def test_any_number_of_threads_gives_the_same_bits(layers):
    X = IMAGES if len(layers) > 2 else DIGITS
    models = []
    for n in (1, 2, 3):
        with tenfold.threads(n):
            models.append(SequentialClassifier(layers, random_state=0, epochs=2).fit(X, NAMES))
    testing.assert_bitwise_equal(models[0], models[1], "two threads")
    testing.assert_bitwise_equal(models[0], models[2], "three threads")


@pytest.mark.parametrize("more", [{}, {"early_stopping": True}], ids=["", "early stopping"])
def test_a_stopped_training_resumes_to_the_same_bits(tmp_path, more, monkeypatch):
    model = SequentialClassifier(KERNELS, random_state=0, epochs=5, **more)
    whole = testing.clone_model(model).fit(IMAGES, NAMES)
    calls, real = [0], tenfold.neural._training.apply_step

    def killed(*args):
        calls[0] += 1
        if calls[0] == 40:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(tenfold.neural._training, "apply_step", killed)
    with pytest.raises(KeyboardInterrupt), tenfold.checkpoint(tmp_path / "fit.ckpt", every=0):
        testing.clone_model(model).fit(IMAGES, NAMES)
    with tenfold.checkpoint(tmp_path / "fit.ckpt", every=0):
        again = testing.clone_model(model).fit(IMAGES, NAMES)
    assert calls[0] < 40 + whole.t_ - 10  # some epochs were not done again
    testing.assert_bitwise_equal(whole, again, "after a stop")


def test_a_file_gives_the_same_network(tmp_path):
    np.save(tmp_path / "X.npy", DIGITS)
    model = SequentialClassifier(KERNELS, random_state=0, epochs=2, input_shape=(8, 8, 1))
    here = testing.clone_model(model).fit(DIGITS, NAMES)
    testing.assert_bitwise_equal(
        here, testing.clone_model(model).fit(tmp_path / "X.npy", NAMES), "a file"
    )
    testing.assert_bitwise_equal(
        here, testing.clone_model(model).fit(DIGITS.astype(float), NAMES), "float64"
    )
    assert np.array_equal(here.predict(DIGITS), here.predict(tmp_path / "X.npy"))


def test_early_stopping_keeps_the_best_parameters():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 10)), rng.integers(2, size=300)  # nothing to learn
    settings = {"learning_rate": 0.02, "epochs": 60, "patience": 3, "random_state": 0}
    model = SequentialClassifier([Dense(64, "relu"), Dense()], early_stopping=True, **settings)
    model.fit(X, y)
    best = int(np.argmin(model.validation_losses_))
    assert model.n_iter_ == len(model.validation_losses_) == best + 5
    assert model.n_iter_ < 60


def test_tolerance_stops_and_epochs_without_it_do_not():
    X, y = DIGITS[:200], NAMES[:200]
    layers = [Dense(8, "relu"), Dense()]
    whole = SequentialClassifier(layers, epochs=30, random_state=0).fit(X, y)
    short = SequentialClassifier(layers, epochs=30, tol=10.0, patience=2, random_state=0).fit(X, y)
    assert (whole.n_iter_, short.n_iter_) == (30, 4)
    assert whole.loss_curve_[:4] == short.loss_curve_


def test_rates_and_rules_may_be_objects():
    rule, rate = optimizers.Nesterov(0.9), CosineDecay(0.1, 150)
    model = SequentialClassifier(
        [Dense(16, "relu"), Dense()], optimizer=rule, learning_rate=rate, random_state=0
    )
    assert model.fit(DIGITS, NAMES).score(DIGITS, NAMES) > 0.9


@pytest.mark.parametrize(
    ("loss", "end"),
    [
        ("hinge", [Dense()]),
        ("likelihood", [Dense(10), tenfold.neural.Softmax()]),
        (losses.CrossEntropy(0.1), [Dense()]),
        (score_losses.SoftmaxLoss(), [Dense()]),
    ],
    ids=str,
)
def test_classes_are_learned_with_any_loss(loss, end):
    settings = {"epochs": 15, "learning_rate": 0.01, "random_state": 0}
    model = Sequential([Dense(32, "relu"), *end], loss, **settings)
    assert model.fit(DIGITS, NAMES).score(DIGITS, NAMES) > 0.94
    if loss != "hinge":
        assert_allclose(model.predict_proba(DIGITS).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", losses.MulticlassHinge(), score_losses.HingeLoss()])
def test_margins_are_no_probabilities(loss):
    """A hinge ranks classes: there are scores, and no probabilities."""
    y = (NAMES > 4).astype(int)
    model = Sequential([Dense()], loss, epochs=2, random_state=0)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model.fit(DIGITS, y), "predict_log_proba")
    with pytest.raises(AttributeError) as caught:
        _ = model.predict_proba
    assert "decision_function" in str(caught.value.__cause__)
    scores = model.decision_function(DIGITS)
    assert scores.shape == (len(DIGITS),)
    assert_array_equal(model.predict(DIGITS), scores > 0)
    if not isinstance(loss, score_losses.HingeLoss):
        scores = model.fit(DIGITS, NAMES).decision_function(DIGITS)
        assert_array_equal(model.predict(DIGITS), model.classes_[scores.argmax(axis=1)])
    logistic = Sequential([Dense()], score_losses.LogisticLoss(), epochs=1).fit(DIGITS, y)
    assert hasattr(logistic, "predict_proba")
    assert not hasattr(logistic, "decision_function")


@pytest.mark.parametrize("loss", ["binary_cross_entropy", "hinge", score_losses.LogisticLoss()])
def test_two_classes_need_one_score(loss):
    y = np.where(NAMES > 4, "large", "small")
    settings = {"epochs": 20, "learning_rate": 0.01, "random_state": 0}
    model = Sequential([Dense(32, "relu"), Dense()], loss, **settings)
    assert model.fit(DIGITS, y).score(DIGITS, y) > 0.95
    assert model.network_.shapes[-1] == (1,)


def test_two_columns_and_gaussian_likelihood():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(3000, 1))
    y = np.hstack([np.sin(x), x**2]) + 0.1 * np.abs(x) * rng.normal(size=(3000, 2))
    settings = {"epochs": 60, "learning_rate": 0.01, "random_state": 0}
    squared = SequentialRegressor([Dense(32, "tanh"), Dense()], **settings).fit(x, y)
    assert squared.predict(x).shape == (3000, 2)
    assert squared.score(x, y) > 0.97
    model = SequentialRegressor([Dense(32, "tanh"), Dense()], "gaussian", **settings).fit(x, y)
    assert model.score(x, y) > 0.97
    spread = np.exp(model.outputs(x)[-1][:, 2] / 2)
    wide, narrow = spread[np.abs(x[:, 0]) > 1.8].mean(), spread[np.abs(x[:, 0]) < 0.3].mean()
    assert wide > 3 * narrow


def test_slopes_of_a_chain_are_those_of_the_notes():
    """Three tanh units in a row; the notes print the product without the error [003, lect. 9]."""
    network, _ = build_network(
        [Dense(1, "tanh", bias=False)] * 3, (1,), np.random.default_rng(0), float
    )
    weights = [np.array([[w]]) for w in (0.5, -1.2, 0.8)]
    product = backward(network, weights, forward(network, weights, np.array([[0.7]]))[1], ONE)[1]
    assert_allclose(product[0].item(), -0.463593, atol=5e-7)
    z, cache = forward(network, weights, np.array([[0.7]]))
    _, gradient = losses.HalfSquaredError().value_and_gradient(z, np.array([0.3]), None)
    assert_allclose(backward(network, weights, cache, gradient)[1][0].item(), 0.276862, atol=5e-7)


def test_steps_by_hand_are_those_of_the_layers():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(30, 2))
    y = np.abs(X[:, 0] - X[:, 1])
    settings = {"optimizer": "sgd", "batch_size": 1, "shuffle": False, "random_state": 5}
    layers = [Dense(3, "relu"), Dense()]
    start = SequentialRegressor(layers, epochs=1, learning_rate=1e-30, **settings).fit(X, y)
    V, b, u, c = (p.astype(np.float64) for p in start.params_)
    for _ in range(10):
        for x, wanted in zip(X, y, strict=True):
            z = x @ V + b
            error = np.maximum(z, 0) @ u + c - wanted
            at_units = (u @ error) * (z > 0)
            u, c = u - 0.05 * np.outer(np.maximum(z, 0), error), c - 0.05 * error
            V, b = V - 0.05 * np.outer(x, at_units), b - 0.05 * at_units
    model = SequentialRegressor(layers, epochs=10, learning_rate=0.05, **settings).fit(X, y)
    for mine, want in zip(model.params_, (V, b, u, c), strict=True):
        assert_allclose(mine, want, atol=1e-5)


class TwoHeads(NamedTuple):
    """Ten scores for each of two labels."""

    labels = "numbers"

    def units(self, targets):
        return 10 * targets

    def value_and_gradient(self, z, y, w):
        heads = [
            losses.CrossEntropy().value_and_gradient(
                np.ascontiguousarray(part), own.astype(np.int64), w
            )
            for part, own in zip(np.split(z, 2, axis=1), y.T, strict=True)
        ]
        return sum(loss for loss, _ in heads), np.hstack([gradient for _, gradient in heads])

    def inverse_link(self, z):
        return z.reshape(len(z), 2, 10).argmax(axis=2)


def test_a_loss_of_ones_own_gives_a_network_two_heads():
    """The head of one label is the network of that label, where nothing is shared."""
    X, y = DIGITS[:600], NAMES[:600]
    both = np.column_stack([y, 9 - y])
    settings = {"epochs": 3, "learning_rate": 0.05, "optimizer": "sgd", "shuffle": False}
    heads = SequentialRegressor([Dense(init=0.0)], TwoHeads(), **settings).fit(X, both)
    alone = SequentialClassifier([Dense(init=0.0)], **settings).fit(X, y)
    assert_allclose(heads.params_[0][:, :10], alone.params_[0], atol=1e-6)
    assert_allclose(heads.params_[0][:, :9:-1], alone.params_[0], atol=1e-6)
    shared = SequentialRegressor([Dense(32, "relu"), Dense()], TwoHeads(), **settings)
    shared.set_params(epochs=30, optimizer="adam", learning_rate=0.005, random_state=0)
    shared.fit(X, both)
    assert (shared.predict(X) == both).mean() > 0.97


def test_outputs_of_every_layer_end_with_the_scores():
    model = SequentialClassifier(KERNELS, random_state=0, epochs=1).fit(IMAGES, NAMES)
    given = model.outputs(IMAGES[:50])
    assert [a.shape for a in given] == [(50, *shape) for shape in model.network_.shapes]
    shares = losses.CrossEntropy().inverse_link(given[-1])
    assert_allclose(shares, model.predict_proba(IMAGES[:50]), rtol=1e-5)


def test_partial_fit_goes_on_and_needs_all_classes_first():
    layers = [Dense(16, "relu"), Dense()]
    model = SequentialClassifier(layers, random_state=0, learning_rate=0.02)
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(DIGITS, NAMES)
    for _ in range(8):
        model.partial_fit(DIGITS[:900], NAMES[:900], classes=np.arange(10))
        model.partial_fit(DIGITS[900:], NAMES[900:])
    assert model.n_iter_ == 16
    assert model.score(DIGITS, NAMES) > 0.9
    frozen = [p.copy() for p in model.params_]
    other = SequentialClassifier(layers, random_state=0, warm_start=True, epochs=1)
    other.fit(DIGITS, NAMES).fit(DIGITS, NAMES)
    assert all(map(np.array_equal, frozen, model.params_))


def test_saved_networks_go_on_as_if_never_saved(tmp_path):
    layers = [Conv2d(4, 3, "relu", padding="same"), BatchNorm(), *KERNELS[1:]]
    layers[-2] = Dense(8, Activation("leaky_relu", 0.1))
    settings = {"optimizer": optimizers.Nesterov(0.8), "learning_rate": CosineDecay(0.1, 100)}
    model = SequentialClassifier(layers, losses.CrossEntropy(0.1), random_state=0, **settings)
    model.partial_fit(IMAGES, NAMES, classes=np.arange(10))
    model.save(tmp_path / "model.tenfold")
    again = tenfold.load(tmp_path / "model.tenfold")
    testing.assert_bitwise_equal(model, again, "after loading")
    model.partial_fit(IMAGES, NAMES)
    again.partial_fit(IMAGES, NAMES)
    assert all(map(np.array_equal, model.params_, again.params_))


@pytest.mark.parametrize(
    ("layers", "error", "words"),
    [
        ([], ValueError, "no layers"),
        ([3, Dense()], TypeError, "layer 0 is 3"),
        ([Dense(2), Dense], TypeError, "layer 1 is <class"),
    ],
)
def test_what_is_no_layer_is_named(layers, error, words):
    with pytest.raises(error, match=words):
        SequentialClassifier(layers, epochs=1).fit(np.zeros((4, 3)), [0, 1, 0, 1])


def test_no_sequences_are_no_array_of_one_axis():
    with pytest.raises(ValueError, match="no rows or sequences"):
        tenfold.RecurrentClassifier(epochs=1).fit([], [])


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match=r"gives \(16,\) for each row, but CrossEntropy needs"):
        SequentialClassifier([Dense(16)]).fit(DIGITS, NAMES)
    with pytest.raises(ValueError, match="do not have the shape"):
        SequentialClassifier(KERNELS, input_shape=(7, 7, 1)).fit(DIGITS, NAMES)
    with pytest.raises(ValueError, match="loss is not finite"):
        SequentialRegressor(optimizer="sgd", learning_rate=1e6).fit(100 * DIGITS, NAMES)
    with pytest.raises(ValueError, match="binary cross-entropy with 10 classes"):
        SequentialClassifier(loss="binary_cross_entropy").fit(DIGITS, NAMES)
    with pytest.raises(ValueError, match="can only be the last"):
        build_network([Dense()], (3,), np.random.default_rng(0))


def test_an_epoch_sees_every_row_once_but_those_held_back():
    objective, params, X, y = small_task()
    config = TrainingConfig(optimizers.SGD(), ConstantRate(0.0), batch_size=20)
    rows, held_out = tenfold.open(X, y), np.arange(150) % 3 == 0
    want = part_gradient(
        objective, params, block(X, y), np.flatnonzero(~held_out), PassContext(training=True)
    )
    trainers = (
        MinibatchTrainer(objective, params, config),
        FusedTrainer(objective, [compiled.TANH, compiled.LINEAR], config, np.dtype(np.float32)),
    )
    for trainer in trainers:
        start = initial_state([p.astype(np.float32) for p in params], config.optimizer)
        _, loss = run_epoch(trainer, objective, rows, start, config, [0, 0], held_out)
        assert_allclose(loss, want.loss / (~held_out).sum(), rtol=1e-5)
    loop = train(
        objective, rows, initial_state(params, config.optimizer), config, StoppingRule(2), 0
    )
    assert_allclose(loop.objectives[0], loop.objectives[1])


def test_a_cosine_without_an_end_ends_with_the_fit():
    settings = {"epochs": 3, "batch_size": 64, "random_state": 0}
    steps = 3 * -(-len(DIGITS) // 64)
    open_end, closed = (
        SequentialClassifier(learning_rate=rate, **settings).fit(DIGITS, NAMES)
        for rate in (CosineDecay(0.01), CosineDecay(0.01, steps))
    )
    assert all(map(np.array_equal, open_end.params_, closed.params_))
    with pytest.raises(ValueError, match="give the number of steps"):
        CosineDecay(0.01)(1)


def test_rows_of_another_shape_than_in_the_fit_are_refused():
    X, y = IMAGES[:40].reshape(40, 4, 16), NAMES[:40]
    for layers in ([Lstm(3), Dense()], [Conv2d(2, 1), Flatten(), Dense()]):
        shaped = X if isinstance(layers[0], Lstm) else X[..., None]
        model = SequentialClassifier(layers, epochs=1, random_state=0).fit(shaped, y)
        with pytest.raises(ValueError, match=r"have the shape \(16, 4.*in the fit \(4, 16"):
            model.predict(shaped.swapaxes(1, 2))
        with pytest.raises(ValueError, match="0 sample"):
            model.predict(shaped[:0])
        flat = model.predict(shaped.reshape(40, -1))
        assert_array_equal(flat, model.predict(shaped))


def test_a_list_of_images_is_their_array():
    model = ConvClassifier(epochs=1, random_state=0).fit(IMAGES[:60], NAMES[:60])
    for images in (list(IMAGES[:5]), IMAGES[:5].tolist(), list(IMAGES[:5, :, :, 0])):
        assert_array_equal(model.predict(images), model.predict(IMAGES[:5]))


@pytest.mark.parametrize(
    ("layers", "shape", "rows"),
    [
        ([Dense(128, "relu"), Dense(10)], (784,), 128),
        ([Dense(512, "relu"), Dropout(0.5), Dense(10)], (784,), 64),
        ([Conv2d(4, 3), Flatten(), Dense(10)], (8, 8, 1), 64),
        ([Lstm(64), Dense(10)], (28, 28), 32),
    ],
)
def test_parts_are_as_large_as_rows_are_little_work(layers, shape, rows):
    assert default_part_rows(build_network(layers, shape, np.random.default_rng(0))[0]) == rows
