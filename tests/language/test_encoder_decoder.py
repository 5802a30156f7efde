"""Encoder and decoder: slopes, exact small translations, searches against brute force, captions."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import EncoderDecoder
from tenfold.language._encoder_decoder_network import build_encoder_decoder, pair_gradient
from tenfold.language.sequence_search import beam_search, decode_rows
from tenfold.neural import (
    Bidirectional,
    Conv2d,
    Dense,
    Embedding,
    Flatten,
    Gru,
    Lstm,
    MaxPool,
    PassContext,
)

RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("abcd"), RNG.integers(1, 6))) for _ in range(300)]
SMALL = {"units": 12, "embedding": 6, "epochs": 3, "random_state": 0}
ENCODERS = {
    "recurrent": lambda cell: ([Embedding(5, 3), cell], (6,)),
    "both directions": lambda cell: ([Embedding(5, 3), Bidirectional(cell)], (6,)),
    "image": lambda _: ([Conv2d(3, 2, activation="tanh")], (4, 4, 1)),
    "vector": lambda _: ([Flatten(), Dense(3, "tanh")], (4, 4, 1)),
}


def roman(n):
    """A number in Roman numerals."""
    found = ""
    for value, text in [(100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"),
                        (5, "V"), (4, "IV"), (1, "I")]:  # fmt: skip
        found += text * (n // value)
        n %= value
    return found


@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("cell", [Gru(4, all_states=True), Lstm(4, all_states=True)])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_slopes_are_finite_differences(encoder, cell, attention):
    rng = np.random.default_rng(0)
    layers, shape = ENCODERS[encoder](cell)
    network, params = build_encoder_decoder(layers, shape, cell, 5, 3, rng, attention=attention)
    params = [p + 0.2 * rng.normal(size=p.shape) for p in params]
    network.check(params)
    mask, x = None, rng.normal(size=(3, *shape))
    if shape == (6,):
        x = rng.integers(0, 5, (3, 6)).astype(float)
        mask = np.arange(6) < np.array([6, 3, 1])[:, None]
    y = np.array([[1, 2, 0, 5], [0, 5, 5, 5], [3, 3, 3, 0]])  # 5 is padding

    def run():
        return pair_gradient(network, params, x, y, PassContext(True, mask=mask))

    found = run()
    assert found.weight == 8
    for array, gradient in zip(params, found.arrays, strict=True):
        for place in [tuple(rng.integers(0, n) for n in array.shape) for _ in range(3)]:
            here = array[place]
            array[place] = here + 1e-6
            up = run().loss
            array[place] = here - 1e-6
            down = run().loss
            array[place] = here
            assert_allclose(gradient[place], (up - down) / 2e-6, rtol=1e-5, atol=1e-7)


def test_reversed_words_are_learned_exactly_and_better_with_attention():
    backwards = [word[::-1] for word in WORDS]
    scores = {}
    for attention in (False, True):
        model = EncoderDecoder("gru", 32, embedding=16, attention=attention, epochs=30,
                               random_state=0).fit(WORDS[:220], backwards[:220])  # fmt: skip
        scores[attention] = model.score(WORDS[220:], backwards[220:])
    assert scores[True] >= 0.9
    assert scores[True] >= scores[False]


def test_roman_numerals_of_numbers_that_were_not_seen():
    numbers = np.random.default_rng(1).permutation(np.arange(1, 200))
    sources, targets = [str(n) for n in numbers], [roman(n) for n in numbers]
    model = EncoderDecoder("lstm", 48, embedding=24, epochs=60, batch_size=16, random_state=0)
    model.fit(sources[:170], targets[:170])
    assert model.score(sources[:170], targets[:170]) >= 0.98
    assert model.score(sources[170:], targets[170:]) >= 0.6


def test_dates_are_translated_word_by_word_and_attention_finds_the_month():
    months = ["January", "February", "March", "April", "May", "June", "July", "August",
              "September", "October", "November", "December"]  # fmt: skip
    rng = np.random.default_rng(0)
    dates = [(rng.integers(1, 29), rng.integers(0, 12), rng.integers(10, 30)) for _ in range(400)]
    sources = [f"{day} {months[month]} 20{year}" for day, month, year in dates]
    targets = [f"20{year}-{month + 1:02}-{day:02}" for day, month, year in dates]
    model = EncoderDecoder("gru", 48, embedding=16, epochs=20, bidirectional=True, random_state=0)
    model.fit(sources[:320], targets[:320])
    assert model.score(sources[320:], targets[320:]) >= 0.9
    symbols, weights = model.attention_weights("7 March 2025")
    assert symbols[-1] == "<end>"
    assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    assert weights.shape == (len(symbols), len("7 March 2025"))


def drawn(kind, size=8, rng=RNG):
    """A picture of a bar and what it shows."""
    picture = rng.normal(scale=0.1, size=(size, size, 1)).astype(np.float32)
    place = rng.integers(0, size)
    wide = rng.integers(0, 2)
    if kind == "vertical":
        picture[:, place] += 1 + wide
    else:
        picture[place] += 1 + wide
    return picture, f"a {['thin', 'thick'][wide]} {kind} bar"


@pytest.mark.parametrize("attention", [False, True])
def test_captions_of_pictures(attention):
    rng = np.random.default_rng(0)
    pairs = [drawn(["vertical", "horizontal"][i % 2], rng=rng) for i in range(300)]
    X, y = np.stack([picture for picture, _ in pairs]), [caption for _, caption in pairs]
    layers = [Conv2d(8, 3, padding="same", activation="relu"), MaxPool(2)]
    layers += [Conv2d(16, 3, activation="relu")]
    if not attention:
        layers += [Flatten(), Dense(32, "relu")]
    model = EncoderDecoder("gru", 24, encoder=layers, attention=attention, unit="word", epochs=12,
                           random_state=0).fit(X[:250], y[:250])  # fmt: skip
    assert model.score(X[250:], y[250:]) >= 0.9
    assert model.predict(X[:1])[0].split()[0] == "a"
    if attention:
        assert model.attention_weights(X[0])[1].shape == (5, 4)


def brute_force(step, state, begin, end, max_length, symbols):
    """All sequences that end within the length, or reach it, with their log-probabilities."""
    found = []
    others = [symbol for symbol in range(symbols) if symbol != end]
    for length in range(max_length + 1):
        for sequence in product(others, repeat=length):
            total, now, last = 0.0, state, begin
            for symbol in sequence:
                logs, now = step(now, np.array([last]))
                total, last = total + logs[0, symbol], symbol
            if length < max_length:
                total += step(now, np.array([last]))[0][0, end]
            found.append((total, list(sequence)))
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_of_full_width_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    tables = rng.normal(size=(3, 5, 4)) * 2  # depends on the number of symbols so far

    def step(state, symbols):
        scores = tables[np.minimum(state[0][:, 0], 2), symbols]
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), (state[0] + 1,)

    start = (np.zeros((1, 1), int),)
    wanted = brute_force(step, start, 4, 0, 3, 4)
    found = beam_search(step, start, 4, 0, width=4**3 + 10, max_length=3)
    assert [each.symbols for each in found] == [symbols for _, symbols in wanted]
    assert_allclose([each.log_prob for each in found], [total for total, _ in wanted])
    assert_allclose(np.exp([each.log_prob for each in found]).sum(), 1)
    narrow = beam_search(step, start, 4, 0, width=2, max_length=3)[0]
    assert narrow.log_prob <= found[0].log_prob + 1e-12
    greedy = decode_rows(step, start, 4, 0, 3, lambda logs, _: logs.argmax(axis=1))[0]
    assert beam_search(step, start, 4, 0, width=1, max_length=3)[0].symbols == greedy
    long = beam_search(step, start, 4, 0, width=99, max_length=3, length_penalty=5.0)[0]
    assert len(long.symbols) == 3


def test_decoding_agrees_with_log_probabilities():
    model = EncoderDecoder(max_length=4, **SMALL).fit(WORDS, [word[::-1] for word in WORDS])
    for source in ("ab", "dcba"):
        found = model.decode([source], beam_width=600)[0]
        ended = [(target, log_prob) for target, log_prob in found if len(target) < 4]
        logs = model.log_prob([source] * len(ended), [target for target, _ in ended])
        assert_allclose([log_prob for _, log_prob in ended], logs, rtol=1e-4)
        assert model.predict([source], method="beam", beam_width=600)[0] == found[0][0]
        assert model.predict([source]) == [model.decode([source], beam_width=1)[0][0][0]]
    together = model.log_prob(["ab", "abcd"], ["ba", "a"])
    assert_allclose(together, [model.log_prob(["ab"], ["ba"])[0],
                               model.log_prob(["abcd"], ["a"])[0]], rtol=1e-4)  # fmt: skip


def test_samples_follow_the_probabilities_and_the_seed():
    model = EncoderDecoder(max_length=2, **SMALL).fit(["x"] * 90, ["a"] * 60 + ["b"] * 30)
    drawn = model.predict(["x"] * 2000, method="sample", random_state=0)
    share = np.exp(model.log_prob(["x"], ["a"])[0])
    assert abs(np.mean([each == "a" for each in drawn]) - share) < 0.05
    assert model.predict(["x"] * 5, method="sample", random_state=0) == drawn[:5]
    cold = model.predict(["x"] * 5, method="sample", temperature=0, random_state=0)
    assert cold == model.predict(["x"] * 5)


def test_threads_resume_and_files_keep_every_bit(tmp_path):
    targets = [word.upper() for word in WORDS]
    models = []
    for number in (1, 2, 8):
        with tenfold.threads(number):
            models.append(EncoderDecoder(batch_size=100, **SMALL).fit(WORDS, targets))
    for model in models[1:]:
        for one, other in zip(models[0].params_, model.params_, strict=True):
            assert_array_equal(one, other)
    models[0].save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    assert loaded.predict(WORDS[:20]) == models[0].predict(WORDS[:20])
    models[0].params_[-1] = models[0].params_[-1][:-1]
    with pytest.raises(ValueError, match="shapes"):
        models[0].save(tmp_path / "model.tenfold")


def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    targets = [word.upper() for word in WORDS]
    whole = EncoderDecoder(**SMALL).fit(WORDS, targets)
    path, loops = tmp_path / "fit.ckpt", tenfold.optim.convergence.until_converged
    update = loops.update

    def stopping(self, *args, **more):
        update(self, *args, **more)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loops, "update", stopping)
        with pytest.raises(KeyboardInterrupt), tenfold.checkpoint(path, every=0):
            EncoderDecoder(**SMALL).fit(WORDS, targets)
    content = path.read_bytes()
    with pytest.raises(ValueError, match="other pairs"), tenfold.checkpoint(path, every=0):
        EncoderDecoder(**SMALL).fit(WORDS, targets[::-1])
    path.write_bytes(content)
    with tenfold.checkpoint(path, every=0):
        resumed = EncoderDecoder(**SMALL).fit(WORDS, targets)
    for one, other in zip(whole.params_, resumed.params_, strict=True):
        assert_array_equal(one, other)


def test_symbols_of_any_kind_and_odd_pairs():
    model = EncoderDecoder(**SMALL).fit([[1, 2], [3]], [[7, 8], [9]])
    assert isinstance(model.predict([[1, 2]])[0], list)
    assert np.isfinite(model.log_prob([[99], []], [[7], []])).all()  # unknown and empty
    with pytest.raises(ValueError, match="did not occur"):
        model.log_prob([[1]], [[1]])
    assert model.score([[1]], [[1]]) == 0
    with pytest.raises(ValueError, match="2 sources and 1 targets"):
        EncoderDecoder().fit(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="2 sources and 1 targets"):
        model.log_prob([[1], [2]], [[7]])
    with pytest.raises(TypeError, match=r"document 1: .*missing"):
        EncoderDecoder().fit(["a", None], ["c", "d"])
    with pytest.raises(ValueError, match="beam of width 0"):
        model.predict([[1]], method="beam", beam_width=0)
    with pytest.raises(ValueError, match="top_k"):
        model.predict([[1]], method="sample", top_k=0)
    draws = [
        model.predict([[1]] * 9, method="sample", random_state=np.random.RandomState(0))
        for _ in range(2)
    ]
    assert draws[0] == draws[1]
    with pytest.raises(TypeError, match="order differs"):
        EncoderDecoder().fit({"a", "b"}, ["c", "d"])
    with pytest.raises(ValueError, match="give layers that read them"):
        EncoderDecoder().fit(np.zeros((2, 4, 4, 1)), ["c", "d"])
    with pytest.raises(ValueError, match="no pairs"):
        EncoderDecoder().fit([], [])
    with pytest.raises(ValueError, match="no pairs to score"):
        model.score([], [])
    for targets in ("", ["", ""], [[], []]):
        with pytest.raises(ValueError, match="all targets are empty"):
            EncoderDecoder().fit(["a"] * max(len(targets), 1), targets)
    with pytest.raises(ValueError, match="method"):
        model.predict([[1]], method="best")
    with pytest.raises(ValueError, match="attention=False"):
        EncoderDecoder(attention=False, **SMALL).fit(["a"], ["b"]).attention_weights("a")
    images = EncoderDecoder(encoder=[Flatten(), Dense(3)], **SMALL).fit(
        np.ones((4, 2, 2)), list("abca")
    )
    with pytest.raises(ValueError, match="in the fit"):
        images.predict(np.ones((1, 3, 2)))
    with pytest.raises(ValueError, match="finite"):
        images.predict(np.full((1, 2, 2), np.nan))
