"""Models of sequences: the same sequences in any form, what they can learn, what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score

import tenfold
from tenfold import RecurrentClassifier, RecurrentRegressor
from tenfold.datasets import make_windows
from tenfold.engine import threads
from tenfold.io import Ragged
from tenfold.io.sequences import offsets_from_lengths


def same_params(a, b):
    return all(p.tobytes() == q.tobytes() for p, q in zip(a.params_, b.params_, strict=True))


def noise(n=300, seed=0):
    """Sequences of zero to nine steps of two numbers, and the sign of the sum of the first."""
    rng = np.random.default_rng(seed)
    sequences = [rng.normal(size=(length, 2)) for length in rng.integers(0, 10, n)]
    return sequences, np.array([s[:, 0].sum() > 0 for s in sequences]).astype(int)


def words(n=400, longest=12, seed=0):
    """Sequences of symbols 0 to 4, labelled by the first one."""
    rng = np.random.default_rng(seed)
    found = [rng.integers(0, 5, length) for length in rng.integers(1, longest, n)]
    return found, np.array([word[0] for word in found])


def test_equal_sequences_are_the_same_in_every_form():
    X = np.random.default_rng(0).normal(size=(200, 4, 3))
    y = (X[:, 0, 0] > 0).astype(int)
    make = lambda **more: RecurrentClassifier("gru", 5, epochs=2, random_state=0, **more)  # noqa: E731
    array = make().fit(X, y)
    flat = make(input_shape=(4, 3)).fit(X.reshape(200, 12), y)
    listed = make().fit(list(X), y)
    ragged = make().fit(Ragged(X.reshape(800, 3), offsets_from_lengths(np.full(200, 4))), y)
    for other in (flat, listed, ragged):
        assert same_params(array, other)
    assert_array_equal(array.predict_proba(X), listed.predict_proba(list(X)))
    assert_array_equal(listed.predict_proba(X), listed.predict_proba(list(X)))
    assert listed.ragged_
    assert not array.ragged_


def test_a_row_of_a_table_has_one_number_a_step():
    X, y = make_windows(np.sin(np.arange(200) / 7), window=6)
    make = lambda: RecurrentRegressor("rnn", 5, epochs=2, random_state=0)  # noqa: E731
    assert same_params(make().fit(X, y), make().fit(X[:, :, None], y))


def test_threads_do_not_matter_for_sequences_of_different_lengths():
    X, y = noise()
    found = []
    for n in (1, 2, 3):
        with threads(n):
            found.append(RecurrentClassifier("lstm", 6, epochs=2, random_state=0).fit(X, y))
    assert same_params(found[0], found[1])
    assert same_params(found[0], found[2])


def test_the_length_of_other_sequences_says_nothing():
    X, y = noise()
    model = RecurrentClassifier("lstm", 6, bidirectional=True, epochs=1, random_state=0).fit(X, y)
    together = model.predict_proba(X)
    alone = np.vstack([model.predict_proba([x]) for x in X[:20]])
    assert_allclose(alone, together[:20], rtol=1e-10)


@pytest.mark.parametrize("cell", ["lstm", "gru", "gated", "rnn"])
def test_every_cell_remembers_the_first_symbol(cell):
    X, y = words()
    model = RecurrentClassifier(cell, 24, embedding=8, epochs=60, learning_rate=0.01)
    model.set_params(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    assert model.loss_curve_[-1] < model.loss_curve_[0] / 4


def test_layers_on_layers_in_both_directions_remember_it_too():
    X, y = words()
    model = RecurrentClassifier("gru", [16, 8], bidirectional=True, embedding=8, epochs=30)
    model.set_params(learning_rate=0.01, random_state=0).fit(X, y)
    assert model.network_.shapes == [(11, 8), (11, 32), (16,), (5,)]
    assert model.score(X, y) > 0.97


def test_sums_of_sequences_are_learned():
    rng = np.random.default_rng(0)
    X = [rng.uniform(-0.5, 0.5, length) for length in rng.integers(2, 9, 600)]
    y = np.array([x.sum() for x in X])
    model = RecurrentRegressor("lstm", 16, epochs=40, learning_rate=0.01, random_state=0)
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.98


def test_early_stopping_and_weights_take_sequences():
    X, y = words(200)
    model = RecurrentClassifier("gru", 8, embedding=4, epochs=3, early_stopping=True)
    model.set_params(random_state=0).fit(X, y, np.ones(200))
    assert len(model.validation_losses_) == model.n_iter_


def test_partial_fits_take_sequences():
    X, y = words()
    model = RecurrentClassifier("gru", 24, embedding=8, learning_rate=0.01, random_state=0)
    for _ in range(40):
        model.partial_fit(X[:200], y[:200], classes=range(5))
        model.partial_fit(X[200:], y[200:])
    assert model.score(X, y) > 0.95


def test_scikit_learn_validates_lists_of_sequences():
    X, y = noise(150)
    model = RecurrentClassifier("gru", 8, epochs=15, learning_rate=0.02, random_state=0)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.8


def test_saved_models_say_the_same(tmp_path):
    X, y = words(100)
    model = RecurrentClassifier("lstm", (6, 4), bidirectional=True, embedding=3, epochs=1)
    model.set_params(truncate=3, random_state=0).fit(X, y).save(tmp_path / "model.tenfold")
    again = tenfold.load(tmp_path / "model.tenfold")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.network_ == model.network_


def test_a_step_is_no_longer_than_the_clipped_gradient():
    X, y = noise(100)
    settings = {"optimizer": "sgd", "epochs": 1, "batch_size": 100, "random_state": 0}
    start = RecurrentClassifier("rnn", 6, learning_rate=1e-30, **settings).fit(X, y)
    moved = RecurrentClassifier("rnn", 6, learning_rate=1.0, clip_norm=0.01, **settings).fit(X, y)
    steps = [p - q for p, q in zip(start.params_, moved.params_, strict=True)]
    assert_allclose(np.sqrt(sum((s * s).sum() for s in steps)), 0.01, rtol=1e-3)


def test_truncated_training_learns_what_lies_within_reach():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 30))
    settings = {"epochs": 15, "learning_rate": 0.02, "truncate": 4, "random_state": 0}
    model = RecurrentClassifier("gru", 16, embedding=4, **settings)
    assert model.fit(X, X[:, -2]).score(X, X[:, -2]) > 0.97


def test_empty_sequences_and_longer_ones_are_judged():
    X, y = words(100)
    model = RecurrentClassifier("gru", 6, embedding=3, epochs=1, random_state=0).fit(X, y)
    found = model.predict_proba([np.array([], int), np.arange(40) % 5])
    assert_allclose(found.sum(axis=1), 1, rtol=1e-5)


def test_a_symbol_that_was_never_seen_is_named_unless_it_is_expected():
    X, y = words(100)
    model = RecurrentClassifier("gru", 6, embedding=3, epochs=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"is 7\.0, which is no symbol"):
        model.predict([np.array([1, 7])])
    model.set_params(symbols=9).fit(X, y)
    assert model.n_symbols_ == 9
    assert len(model.predict([np.array([1, 7])])) == 1


def test_sequences_must_have_steps_of_the_width_of_the_fit():
    X, y = noise(50)
    model = RecurrentClassifier("rnn", 4, epochs=1, random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match="X has 3 features, but RecurrentClassifier is expecting 2"
    ):
        model.predict([np.zeros((4, 3))])


def test_outputs_of_layers_of_sequences_of_different_lengths():
    X, y = noise()
    X = sorted(X, key=len)  # so that neighbours have about one length
    model = RecurrentClassifier("rnn", (4, 3), epochs=1, random_state=0).fit(X, y)
    first, second, last = model.outputs(X)
    assert [first.shape, second.shape] == [(300, 9, 4), (300, 3)]
    assert_array_equal(first[0, len(X[0]) :], 0)
    assert_array_equal(last.argmax(axis=1), model.predict(X))
    with pytest.raises(ValueError, match=r"has 12 steps, .* longest sequence of the fit, 9"):
        model.outputs([np.zeros((12, 2))])
