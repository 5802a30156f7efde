"""Sequences of different lengths in any stack of layers, and a target for each of their steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import (
    RecurrentClassifier,
    RecurrentRegressor,
    SequentialClassifier,
    SequentialRegressor,
)
from tenfold.engine import threads
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.io import Ragged
from tenfold.io.sequences import from_sequences, offsets_from_lengths
from tenfold.neural import (
    AveragePool,
    BatchNorm,
    Bidirectional,
    Conv1d,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Gru,
    LayerNorm,
    Lstm,
    Rnn,
    losses,
)
from tenfold.neural._minibatch import part_gradient
from tenfold.neural._sequences import StepwiseLoss, hold_out_sequences, make_sequence_batch
from tenfold.neural._training_config import NetworkObjective
from tenfold.neural.layers.base import PassContext
from tenfold.neural.network import build_network
from tenfold.optim.schedules import CosineDecay

# Words after <beg>, ML, course, is, UNK: ML, course, is, UNK, <end> [003, lecture 11]
TABLE = np.array(
    [
        [0.7, 0.1, 0.1, 0.1, 0.0],
        [0.1, 0.5, 0.2, 0.1, 0.1],
        [0.0, 0.0, 0.7, 0.1, 0.2],
        [0.1, 0.3, 0.0, 0.6, 0.0],
        [0.1, 0.2, 0.2, 0.3, 0.2],
    ]
)


def same_params(a, b):
    return all(p.tobytes() == q.tobytes() for p, q in zip(a.params_, b.params_, strict=True))


def noise(n=200, d=2, seed=0):
    """Sequences of zero to nine steps, and the running sum of their first numbers."""
    rng = np.random.default_rng(seed)
    X = [rng.uniform(-0.5, 0.5, size=(length, d)) for length in rng.integers(0, 10, n)]
    return X, [x[:, 0].cumsum() for x in X]


def echoes(n=300, seed=0):
    """Symbols 0 to 3, each labelled by the name of the one before."""
    rng = np.random.default_rng(seed)
    X = [rng.integers(0, 4, length) for length in rng.integers(1, 12, n)]
    names = np.array(["ann", "bob", "cid", "dan"])
    return X, [names[np.concatenate([[0], x[:-1]])] for x in X]


def ragged(parts):
    return Ragged(np.concatenate(parts), offsets_from_lengths([len(part) for part in parts]))


def test_a_stack_with_a_state_is_the_model_of_that_state():
    X, y = noise()
    sign = [int(t.sum() > 0) for t in y]
    settings = {"epochs": 2, "clip_norm": 5.0, "random_state": 0}
    stack = SequentialClassifier([Gru(5), Dense()], **settings).fit(X, sign)
    model = RecurrentClassifier("gru", 5, epochs=2, random_state=0).fit(X, sign)
    assert stack.ragged_
    assert same_params(stack, model)
    assert_array_equal(stack.predict_proba(X), model.predict_proba(X))


def test_a_stack_takes_symbols_of_different_lengths():
    X, _ = echoes()
    y = np.array([x[0] for x in X])
    layers = [Embedding(4, 6), Dropout(0.1), Bidirectional(Lstm(12)), LayerNorm(), Dense()]
    model = SequentialClassifier(layers, epochs=30, learning_rate=0.01, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    alone = np.vstack([model.predict_proba([x]) for x in X[:20]])
    assert_allclose(alone, model.predict_proba(X)[:20], rtol=1e-9)
    assert [part.shape[1:] for part in model.outputs(X)][:2] == [(11, 6), (11, 6)]


@pytest.mark.parametrize("layer", [Flatten(), BatchNorm(), Conv1d(3, 2), AveragePool(2)])
def test_layers_that_mix_steps_refuse_sequences_of_different_lengths(layer):
    X, y = noise(60)
    X, y = [np.vstack([x, np.ones((4, 2))]) for x in X], [int(len(t) > 4) for t in y]
    with pytest.raises(ValueError, match=rf"layer 1, {type(layer).__name__}, mixes the steps"):
        SequentialClassifier([Dense(3), layer, Gru(2), Dense()], epochs=1).fit(X, y)
    SequentialClassifier([Gru(2), BatchNorm(), Dense()], epochs=1).fit(X, y)


@pytest.mark.parametrize(
    "loss", [losses.CrossEntropy(), losses.HalfSquaredError(), losses.MulticlassHinge()]
)
@pytest.mark.parametrize("weighed", [False, True])
def test_the_loss_of_steps_is_the_sum_over_each_sequence(loss, weighed):
    rng = np.random.default_rng(0)
    lengths, z = np.array([3, 0, 1, 4]), rng.normal(size=(4, 4, 3))
    w = rng.uniform(size=4) if weighed else None
    y = [rng.integers(3, size=n) for n in lengths]
    if loss.labels == "numbers":
        y = [rng.normal(size=(n, 3)) for n in lengths]
    value, gradient = StepwiseLoss(loss).value_and_gradient(z, ragged(y), w)
    total = 0.0
    for i in np.flatnonzero(lengths):
        share, n = 1 if w is None else w[i], lengths[i]
        one, own = loss.value_and_gradient(z[i, :n], y[i], None)
        total += share * one
        assert_allclose(gradient[i, :n], share * own)
    assert_allclose(value, total)
    assert not gradient[np.arange(4) >= lengths[:, None]].any()


def test_sequences_without_steps_cost_nothing():
    y = Ragged(np.zeros(0), np.zeros(3, int))
    value, gradient = StepwiseLoss(losses.HalfSquaredError()).value_and_gradient(
        np.ones((2, 1, 1)), y, None
    )
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("cell", [Rnn(3, all_states=True), Bidirectional(Gru(2, all_states=True))])
def test_slopes_of_networks_that_judge_steps_are_finite_differences(cell):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 2)) for n in (3, 1, 0, 4)]
    y = ragged([rng.integers(3, size=len(part)) for part in parts])
    block = ShuffledBlock(ragged(parts), y, None, np.arange(4), np.arange(4))
    network, params = build_network([cell, Dense(3)], (4, 2), rng, np.float64)
    objective = NetworkObjective(network, StepwiseLoss(losses.CrossEntropy()), make_sequence_batch)
    sizes = np.cumsum([p.size for p in params])[:-1]

    def judged(flat):
        own = [part.reshape(p.shape) for part, p in zip(np.split(flat, sizes), params, strict=True)]
        return part_gradient(objective, own, block, np.arange(4), PassContext(training=True))

    flat = np.concatenate([p.ravel() for p in params])
    gradients = np.concatenate([s.ravel() for s in judged(flat).arrays])
    moves = 1e-6 * np.eye(len(flat))
    found = [(judged(flat + m).loss - judged(flat - m).loss) / 2e-6 for m in moves]
    assert_allclose(gradients, found, rtol=1e-6, atol=1e-8)


def test_sequences_of_one_step_are_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(4, size=300)
    settings = {"epochs": 3, "part_rows": 32, "learning_rate": 0.01, "random_state": 0}
    layers = [Dense(8, "tanh"), Dense()]
    rows = SequentialClassifier(layers, **settings).fit(X, y)
    steps = SequentialClassifier(layers, **settings).fit(list(X[:, None]), list(y[:, None]))
    assert steps.per_step_
    assert not rows.per_step_
    assert same_params(rows, steps)
    assert_array_equal(np.vstack(steps.predict_proba(list(X[:, None]))), rows.predict_proba(X))


def test_lists_of_rows_and_of_columns_are_what_they_were():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    make = lambda: SequentialRegressor([Dense(3), Dense()], epochs=2, random_state=0)  # noqa: E731
    arrays = make().fit(X, y)
    for rows, targets in ((list(X), y), (X, y.tolist()), (X, list(y)), (X.tolist(), y.tolist())):
        model = make().fit(rows, targets)
        assert same_params(model, arrays)
        assert not model.ragged_
    assert_array_equal(arrays.predict(list(X)), arrays.predict(X))
    stack = SequentialRegressor([Gru(3), Dense()], epochs=2, random_state=0)
    cubes, two = X[:, :, None], y.tolist()
    assert same_params(
        stack.fit(cubes, y), SequentialRegressor(**stack.get_params()).fit(cubes, two)
    )
    assert stack.predict(cubes).shape == (60, 2)


def test_labels_of_steps_are_learned_and_keep_their_names():
    X, y = echoes()
    model = RecurrentClassifier("gru", 16, embedding=8, epochs=40, learning_rate=0.02)
    model.set_params(random_state=0).fit(X[:200], y[:200])
    assert model.classes_.tolist() == ["ann", "bob", "cid", "dan"]
    said = model.predict(X[200:])
    assert [len(part) for part in said] == [len(part) for part in y[200:]]
    right = np.concatenate([a == b for a, b in zip(said, y[200:], strict=True)])
    assert right.mean() > 0.98
    assert model.score(X[200:], y[200:]) == right.mean()
    weight = np.arange(100.0)
    assert_allclose(
        model.score(X[200:], y[200:], weight),
        np.average(right, weights=np.repeat(weight, [len(part) for part in said])),
    )
    chances, logs = model.predict_proba(X[:3]), model.predict_log_proba(X[:3])
    for p, log in zip(chances, logs, strict=True):
        assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
        assert_allclose(np.exp(log), p, rtol=1e-5)


def test_numbers_of_steps_are_learned():
    X, y = noise(600)
    model = RecurrentRegressor("lstm", 16, epochs=30, learning_rate=0.02, random_state=0)
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.97
    two = [np.column_stack([t, -t]) for t in y]
    model = SequentialRegressor([Gru(16, all_states=True), Dense()], epochs=30, learning_rate=0.02)
    model.set_params(random_state=0).fit(X[:400], two[:400])
    assert model.score(X[400:], two[400:]) > 0.97
    assert model.predict(X[:4])[0].shape == two[0].shape


def test_a_network_that_says_the_next_word_learns_the_table_of_the_notes():
    rng = np.random.default_rng(0)
    spoken = []
    for _ in range(2000):
        words = [0]
        while words[-1] != 5:
            words.append(1 + rng.choice(5, p=TABLE[words[-1]]))
        spoken.append(np.array(words))
    X, y = [words[:-1] for words in spoken], [words[1:] for words in spoken]
    model = RecurrentClassifier("rnn", 16, embedding=8, epochs=15, batch_size=64, random_state=0)
    model.set_params(learning_rate=CosineDecay(0.02, 15 * 32)).fit(X, y)
    said, before, after = np.vstack(model.predict_proba(X)), np.concatenate(X), np.concatenate(y)
    for word in range(5):
        counted = np.bincount(after[before == word] - 1, minlength=5) / (before == word).sum()
        assert_allclose(said[before == word].mean(axis=0), counted, atol=0.03)
        assert_allclose(counted, TABLE[word], atol=0.03)
    assert np.abs(said - TABLE[before]).mean() < 0.02  # what came earlier says little


def test_every_form_of_equal_sequences_gives_the_same_steps():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4, 2)), rng.integers(2, size=(90, 4))
    make = lambda: RecurrentClassifier("gru", 4, epochs=2, random_state=0)  # noqa: E731
    array, listed = make().fit(X, list(y)), make().fit(list(X), list(y))
    opened = make().fit(from_sequences(list(X), list(y)))
    assert same_params(array, listed)
    assert same_params(array, opened)
    assert_array_equal(array.predict(X), listed.predict(list(X)))


def test_threads_and_files_do_not_matter_for_targets_of_steps(tmp_path):
    X, y = noise()
    found = []
    for n in (1, 2):
        with threads(n):
            found.append(RecurrentRegressor("gru", 4, epochs=2, random_state=0).fit(X, y))
    assert same_params(*found)
    found[0].save(tmp_path / "model.tenfold")
    again = tenfold.load(tmp_path / "model.tenfold")
    for mine, want in zip(again.predict(X), found[0].predict(X), strict=True):
        assert_array_equal(mine, want)


def test_partial_fits_take_labels_of_steps():
    X, y = echoes()
    model = RecurrentClassifier("gru", 16, embedding=8, symbols=4, learning_rate=0.02)
    model.set_params(random_state=0)
    names = ["ann", "bob", "cid", "dan", "eve"]
    for _ in range(20):
        model.partial_fit(X[:150], y[:150], classes=names)
        model.partial_fit(X[150:], y[150:])
    assert model.classes_.tolist() == names
    assert model.score(X, y) > 0.95
    with pytest.raises(ValueError, match=r"label .*'zoe'.* not among the classes"):
        model.partial_fit(X[:1], [np.full(len(X[0]), "zoe")])


def test_early_stopping_keeps_what_was_best_for_sequences_held_back():
    X, y = noise(120)
    y = [t + np.random.default_rng(0).normal(size=len(t)) for t in y]
    settings = {"learning_rate": 0.05, "batch_size": 16, "random_state": 0}
    settings |= {"early_stopping": True, "validation_fraction": 0.4, "patience": 3}
    model = RecurrentRegressor("gru", 16, epochs=60, **settings).fit(X, y)
    assert len(model.validation_losses_) < 60
    best = int(np.argmin(model.validation_losses_)) + 1
    short = RecurrentRegressor("gru", 16, epochs=best, **settings).fit(X, y)
    assert same_params(model, short)
    rows, rng = from_sequences(X, y), np.random.default_rng(0)
    held_out = hold_out_sequences(rows, 0.4, rng)
    errors = [((p - t) ** 2).sum() / 2 for p, t in zip(model.predict(X), y, strict=True)]
    objective = NetworkObjective(
        model.network_, StepwiseLoss(losses.HalfSquaredError()), make_sequence_batch
    )
    params = [p.astype(float) for p in model.params_]
    assert_allclose(
        held_out.error(rows, objective, params), np.mean(np.array(errors)[held_out.rows])
    )


def test_what_does_not_fit_steps_is_said():
    X, y = noise(50)
    with pytest.raises(ValueError, match="all_states=True"):
        SequentialRegressor([Gru(3), Dense()], epochs=1).fit(X, y)
    with pytest.raises(ValueError, match=r"the last layer gives \(9, 1\)"):
        SequentialRegressor([Gru(3, all_states=True), Dense()], epochs=1).fit(
            X, [len(t) for t in y]
        )
    with pytest.raises(ValueError, match=r"sequence 0 has \d+ steps, but its target has"):
        RecurrentRegressor("rnn", 3, epochs=1).fit(X, [np.append(t, 0) for t in y])
