"""Language models of networks: one contract, exact cases, same bits, files, odd documents."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import tenfold
from tenfold import (
    BytePairTokenizer,
    NGramModel,
    RecurrentLanguageModel,
    SoftmaxLanguageModel,
    TransformerLanguageModel,
    compare_language_models,
)
from tenfold.language import _number_store, _stream_trainer
from tenfold.language.next_symbol_network import build_next_symbol_network, window_gradient
from tenfold.neural import LayerStates, Lstm, PassContext, PositionalEmbedding, TransformerBlock

TEXT = "to be, or not to be: that is the question.\n" * 12
SMALL = {"window": 8, "batch_size": 4, "epochs": 2, "random_state": 0}
NETWORKS = {
    "lstm": RecurrentLanguageModel("lstm", 8, embedding=4, **SMALL),
    "gru": RecurrentLanguageModel("gru", 8, layers=2, dropout=0.1, **SMALL),
    "rnn": RecurrentLanguageModel("rnn", 8, tied=True, **SMALL),
    "transformer": TransformerLanguageModel(8, layers=2, heads=2, dropout=0.1, **SMALL),
    "tied transformer": TransformerLanguageModel(8, layers=1, heads=1, tied=True, **SMALL),
}
MODELS = NETWORKS | {
    "ngram": NGramModel(3, unit="character", boundaries=False),
    "softmax": SoftmaxLanguageModel(3, boundaries=False, max_iter=20),
    "hidden": SoftmaxLanguageModel(3, hidden=5, boundaries=False, max_iter=20, random_state=0),
}


def fitted(name, documents=TEXT, **changes):
    return clone(MODELS[name]).set_params(**changes).fit(documents)


def same_numbers(a, b):
    for one, other in zip(a.params_, b.params_, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("boundaries", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_scores_agree_with_the_table_of_next_symbols(name, boundaries):
    model = fitted(name, [TEXT, "to be", "be"], boundaries=boundaries)
    document = "to be: that is a strange question"
    expected, known = 0.0, [*document, "<end>"] if boundaries else [*document]
    for place, symbol in enumerate(known):
        p = model.predict_proba(document[:place])
        assert_allclose(p.sum(), 1)
        expected += np.log(p[model.vocabulary_.get(symbol, 0)])
    assert_allclose(model.log_prob([document, "is"])[0], expected, rtol=1e-4)
    assert_allclose(model.score([document]), expected / len(known), rtol=1e-4)
    assert_allclose(model.perplexity(document), np.exp(-expected / len(known)), rtol=1e-4)
    bits = -expected / np.log(2)
    assert_allclose(model.bits_per_symbol(document), bits / len(known), rtol=1e-4)
    assert_allclose(model.bits_per_character(document), bits / len(document), rtol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_a_document_do_not_depend_on_the_others(name):
    model = fitted(name)
    documents = ["to be", "", "that is the question", "b"]
    together = model.log_prob(documents)
    alone = np.concatenate([model.log_prob([document]) for document in documents])
    assert_allclose(together, alone, rtol=1e-5)
    assert together[1] == 0


@pytest.mark.parametrize("order", [1, 2])
def test_the_softmax_of_single_symbols_and_of_bigrams_is_their_table(order):
    documents = ["abracadabra", "cabbage", "baobab", "dead"] * 3
    table = NGramModel(order, unit="character", smoothing="none").fit(documents)
    exact = SoftmaxLanguageModel(order, alpha=0).fit(documents)
    solved = SoftmaxLanguageModel(order, alpha=0, solver="lbfgs", tol=1e-9, max_iter=2000)
    solved.fit(documents)
    assert_allclose(exact.score(documents), table.score(documents), atol=1e-6)
    assert_allclose(solved.score(documents), table.score(documents), atol=1e-6)
    for context in ("", "a", "ca"):
        assert_allclose(exact.predict_proba(context), table.predict_proba(context), atol=1e-5)


def test_weights_that_are_logarithms_of_the_table_of_the_notes_give_its_probabilities():
    rows = ["<beg>", "ML", "course", "is", "great"]
    columns = ["ML", "course", "is", "great", "<end>"]
    table = np.array(
        [[0.7, 0.1, 0.1, 0.1, 0], [0.1, 0.5, 0.2, 0.1, 0.1], [0, 0, 0.7, 0.1, 0.2],
         [0.1, 0, 0, 0.6, 0.3], [0.1, 0.1, 0.2, 0, 0.6]]
    )  # fmt: skip
    counted = NGramModel.from_table(rows, columns, table)
    softmax = SoftmaxLanguageModel.from_table(rows, columns, table)
    for text in ("ML course is great", "course is great", "great"):
        assert_allclose(softmax.log_prob([text]), counted.log_prob([text]), rtol=1e-9)
    with pytest.raises(TypeError, match="no counts"):
        softmax.merge(softmax)


def test_a_trigram_softmax_has_two_tables_of_squares_and_no_cube():
    model = SoftmaxLanguageModel(3, max_iter=1, unknown=False, boundaries=False).fit("abcde" * 9)
    k = len(model.symbols_)
    assert (k, model.n_parameters_) == (5, 2 * (k + 1) * k)  # one more row: before a text
    hidden = SoftmaxLanguageModel(3, hidden=4, max_iter=1, unknown=False, boundaries=False)
    assert hidden.fit("abcde" * 9).n_parameters_ == 2 * (k + 1) * 4 + 4 + 4 * k + k


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_softmax_has_a_row_for_each_symbol_and_one_for_the_beginning_at_each_place(order):
    settings = {"max_iter": 1, "unknown": False, "boundaries": False}
    plain = SoftmaxLanguageModel(order, **settings).fit("abcab")
    assert plain.n_parameters_ == ((order - 1) * 3 * 4 if order > 1 else 3)
    hidden = SoftmaxLanguageModel(order, hidden=2, **settings).fit("abcab")
    assert hidden.n_parameters_ == (order - 1) * 4 * 2 + 2 + 2 * 3 + 3


@pytest.mark.parametrize("boundaries", [False, True])
def test_a_softmax_of_empty_documents_is_refused_and_an_empty_part_is_not(boundaries):
    settings = {"max_iter": 3, "boundaries": boundaries}
    for documents in ([], [""], "", ["", ""]):
        with pytest.raises(ValueError, match="there are no symbols: the documents are empty"):
            SoftmaxLanguageModel(**settings).fit(documents)
        with pytest.raises(ValueError, match="there are no symbols"):
            SoftmaxLanguageModel(**settings).partial_fit(documents)
    parts = SoftmaxLanguageModel(**settings).fit(["ab", "ba"]).partial_fit(["", ""])
    whole = SoftmaxLanguageModel(**settings).fit(["ab", "ba", "", ""])
    assert np.array_equal(parts.predict_proba("a"), whole.predict_proba("a"))


def test_slopes_of_the_context_softmax_are_finite_differences():
    from tenfold.language._context_softmax import ContextCounts, objective

    rng = np.random.default_rng(0)
    for hidden in (None, 3):
        model = SoftmaxLanguageModel(3, hidden=hidden, max_iter=1).fit(["abcab", "ba"])
        counts = ContextCounts.of(
            model._number_symbols(model.all_symbols_, model.statistic_), len(model.symbols_)
        )
        params = [rng.normal(size=p.shape) for p in model.params_]
        _, gradient = objective(params, counts, 0.5)
        for array, slopes in zip(params, gradient, strict=True):
            place = tuple(rng.integers(0, n) for n in array.shape)
            here = array[place]
            array[place] = here + 1e-6
            up = objective(params, counts, 0.5)[0]
            array[place] = here - 1e-6
            down = objective(params, counts, 0.5)[0]
            array[place] = here
            assert_allclose(slopes[place], (up - down) / 2e-6, rtol=1e-5, atol=1e-8)


def test_merged_softmax_models_are_the_model_of_all_documents():
    documents = ["to be", "or not", "to be", "that is", "the question"]
    model = SoftmaxLanguageModel(3, max_iter=15)
    whole = clone(model).fit(documents)
    merged = clone(model).fit(documents[:2]).merge(clone(model).fit(documents[2:]))
    grown = clone(model).partial_fit(documents[:1]).partial_fit(documents[1:])
    same_numbers(whole, merged)
    same_numbers(whole, grown)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_slopes_of_next_symbol_networks_are_finite_differences(kind, tied):
    rng = np.random.default_rng(0)
    layers = {"lstm": [Lstm(4, all_states=True)],
              "transformer": [PositionalEmbedding(5), TransformerBlock(2)]}[kind]  # fmt: skip
    network, params = build_next_symbol_network(layers, (5, 4), 6, rng, tied=tied, init=0.5)
    params = [p.astype(np.float64) for p in params]
    x, y = rng.integers(0, 7, (3, 5)), rng.integers(0, 7, (3, 5))  # 6 begins a document
    states = [(rng.normal(size=(3, 4)), rng.normal(size=(3, 4)))] if kind == "lstm" else []

    def run():
        context = PassContext(True, states=LayerStates(states) if states else None)
        return window_gradient(network, params, x, y, context)

    found = run()
    assert found.weight == np.count_nonzero(y < 6)
    for array, gradient in zip(params, found.arrays, strict=True):
        for place in [tuple(rng.integers(0, n) for n in array.shape) for _ in range(4)]:
            here = array[place]
            array[place] = here + 1e-6
            up = run().loss
            array[place] = here - 1e-6
            down = run().loss
            array[place] = here
            assert_allclose(gradient[place], (up - down) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["lstm", "transformer"])
def test_one_two_and_eight_threads_give_the_same_bits(name):
    found = []
    for number in (1, 2, 8):
        with tenfold.threads(number):
            found.append(fitted(name, batch_size=70, window=2, epochs=1))
    same_numbers(found[0], found[1])
    same_numbers(found[0], found[2])


@pytest.mark.parametrize("name", ["lstm", "transformer", "softmax"])
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(name, tmp_path, monkeypatch):
    monkeypatch.setattr(_stream_trainer, "_ROUND_STEPS", 5)
    whole = fitted(name)
    path, calls = tmp_path / "fit.ckpt", []
    update = tenfold.optim.convergence.until_converged.update

    def stopping(self, *args, **more):
        update(self, *args, **more)
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tenfold.optim.convergence.until_converged, "update", stopping)
        with pytest.raises(KeyboardInterrupt), tenfold.checkpoint(path, every=0):
            fitted(name)
    with tenfold.checkpoint(path, every=0):
        resumed = fitted(name)
    same_numbers(whole, resumed)
    assert resumed.n_iter_ == whole.n_iter_ > 3


def test_a_checkpoint_of_other_documents_is_refused(tmp_path):
    path = tmp_path / "fit.ckpt"

    def stopped():
        with tenfold.checkpoint(path, every=0):
            fitted("lstm")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    with pytest.raises(ValueError, match="other documents"), tenfold.checkpoint(path, every=0):
        fitted("lstm", TEXT.replace("not", "now"))


@pytest.mark.parametrize("name", ["lstm", "transformer"])
def test_a_file_gives_the_bits_of_its_text(name, tmp_path, monkeypatch):
    path = tmp_path / "play.txt"
    path.write_text(TEXT)
    expected = fitted(name)
    same_numbers(expected, fitted(name, path))
    assert fitted(name, path).bits_per_character(path) == expected.bits_per_character(TEXT)
    lines = fitted(name, TEXT.splitlines(), boundaries=True)
    same_numbers(lines, fitted(name, path, boundaries=True))
    monkeypatch.setattr(_number_store, "MAX_BYTES_IN_MEMORY", 100)  # everything through files
    same_numbers(expected, fitted(name, path))
    same_numbers(lines, fitted(name, iter(TEXT.splitlines()), boundaries=True))


def test_a_file_that_is_no_text_is_named(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"to be \xff\xfe or not")
    for boundaries in (False, True):
        with pytest.raises(ValueError, match="not in UTF-8"):
            fitted("lstm", path, boundaries=boundaries)


def test_carried_states_make_windows_one_long_sequence():
    rng = np.random.default_rng(0)
    layers = [Lstm(4, all_states=True), Lstm(4, all_states=True)]
    network, params = build_next_symbol_network(layers, (12, 4), 6, rng, tied=False, init=1.0)
    x = rng.integers(0, 6, (3, 12))
    whole = window_gradient(network, params, x, x, PassContext(states=LayerStates()))
    states, loss = LayerStates(), 0.0
    for at in (0, 5, 9):
        end = {0: 5, 5: 9, 9: 12}[at]
        states = LayerStates(states.last)
        context = PassContext(states=states)
        loss += window_gradient(network, params, x[:, at:end], x[:, at:end], context).loss
    assert_allclose(loss, whole.loss, rtol=1e-6)


def test_lanes_read_every_symbol_once_and_random_windows_lie_inside():
    stream = np.arange(103)
    lanes = _stream_trainer.Lanes.of(102, 4, 7, carried=True)
    seen = [lanes.windows(stream, step, [0, 0]) for step in range(lanes.steps)]
    symbols = np.sort(np.concatenate([x.ravel() for x, _ in seen]))
    assert_array_equal(np.diff(symbols), 1)
    assert len(symbols) == 100
    assert all((y == x + 1).all() for x, y in seen)
    drawn = _stream_trainer.Lanes.of(102, 4, 7, carried=False)
    for step in range(50):
        x, y = drawn.windows(stream, step, [0, 0])
        assert_array_equal(y, x + 1)
        assert x.shape == (4, 7)


@pytest.mark.parametrize("name", NETWORKS)
def test_training_lowers_the_bits(name):
    model = fitted(name, epochs=25, learning_rate=0.01)
    assert model.bits_per_character(TEXT) < 1.5 < fitted(name, epochs=1).bits_per_character(TEXT)
    assert len(model.loss_curve_) == model.n_epochs_ == 25
    assert model.history_["objective"][-1] < model.history_["objective"][0]


def test_a_long_memory_beats_short_contexts():
    rng = np.random.default_rng(0)
    lines = [f"{c}{'x' * rng.integers(4, 7)}{c}" for c in rng.choice(list("abcd"), 400)]
    settings = {"window": 16, "batch_size": 16, "epochs": 20, "boundaries": True,
                "learning_rate": 0.01, "random_state": 0}  # fmt: skip
    lstm = RecurrentLanguageModel("lstm", 24, **settings).fit(lines)
    ngram = NGramModel(4, unit="character").fit(lines)
    assert lstm.predict_proba("axxxxx")[lstm.vocabulary_["a"]] > 0.3
    assert lstm.score(lines) > ngram.score(lines) + 0.1


def test_early_stopping_keeps_the_parameters_that_predict_held_out_text_best():
    rng = np.random.default_rng(0)
    noise = "".join(rng.choice(list("abcdef"), 1500))
    model = fitted("lstm", noise, units=48, epochs=60, learning_rate=0.02, early_stopping=True)
    losses = model.validation_losses_
    assert len(losses) == model.n_epochs_ < 60
    assert losses[-1] > losses.min()
    held_out = noise[-150:]
    kept = -model.score(held_out)
    assert abs(kept - losses.min()) < 0.15


def test_a_warm_start_goes_on_with_the_same_symbols_and_fine_tunes_a_saved_model(tmp_path):
    model = fitted("lstm", epochs=20, learning_rate=0.01)
    model.save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    other = "be the question, or not the question! " * 12
    before, symbols = loaded.bits_per_character(other), list(loaded.symbols_)
    loaded.set_params(warm_start=True, epochs=5).fit(other)
    assert loaded.symbols_ == symbols
    assert loaded.bits_per_character(other) < before
    cold = fitted("lstm", other, epochs=5)
    assert loaded.bits_per_character(other) < cold.bits_per_character(other)


@pytest.mark.parametrize("name", MODELS)
def test_saved_models_score_the_same_and_torn_ones_are_refused(name, tmp_path):
    model = fitted(name)
    path = tmp_path / "model.tenfold"
    model.save(path)
    loaded = tenfold.load(path)
    assert loaded.score(TEXT) == model.score(TEXT)
    assert loaded.sample(random_state=3) == model.sample(random_state=3)
    assert pickle.loads(pickle.dumps(model)).score(TEXT) == model.score(TEXT)
    if name in NETWORKS:
        model.params_ = [p[:-1] for p in model.params_]
        with pytest.raises(ValueError, match="shape"):
            model.save(path)


@pytest.mark.parametrize("name", MODELS)
def test_samples_depend_on_the_seed_alone_and_obey_their_limits(name):
    model = fitted(name)
    one, two = model.sample(2, max_length=30, random_state=1)
    assert model.sample(1, max_length=30, random_state=1) == [one]
    assert one != two
    assert len(one) <= 30
    greedy = model.sample(prompt="to b", max_length=6, temperature=0)[0]
    assert greedy == model.sample(prompt="to b", max_length=6, top_k=1)[0]
    assert greedy == model.sample(prompt="to b", max_length=6, top_p=1e-9)[0]
    assert greedy.startswith("to b")
    table = model.next_symbol_table("to b", n=3)
    assert table[0][0] == greedy[4]
    with pytest.raises(ValueError, match="temperature"):
        model.sample(temperature=-1)


@pytest.mark.parametrize("name", MODELS)
def test_samples_hold_unknown_symbols_only_if_they_are_allowed(name):
    model = fitted(name, "abcdeabfghab" * 9, vocabulary_size=1)
    assert model.symbols_ == ["<unk>", "a"]
    assert model.sample(max_length=20, random_state=0) == ["a" * 20]
    open_sample = model.sample(max_length=20, allow_unknown=True, random_state=0)[0]
    assert "<unk>" in open_sample
    assert model.sample(prompt="xy", max_length=3, random_state=0) == ["xyaaa"]
    assert {symbol for symbol, _ in model.next_symbol_table("b")} == {"<unk>", "a"}
    row = model.next_symbol_table("b", allow_unknown=False)
    assert row == [("a", pytest.approx(float(model.predict_proba("b")[1])))]


def test_a_sample_ends_where_only_an_unknown_symbol_can_follow():
    model = NGramModel(2, smoothing="none", vocabulary=["a"], boundaries=False).fit(["a b b a"])
    assert model.sample(prompt="a", max_length=9) == ["a"]
    assert "<unk>" in model.sample(prompt="a", max_length=9, allow_unknown=True)[0]


@pytest.mark.parametrize("name", ["lstm", "transformer"])
def test_training_ends_after_the_most_steps(name):
    whole = fitted(name, epochs=1)
    assert fitted(name, epochs=1, max_steps=10**6).t_ == whole.t_ > 7
    part = fitted(name, epochs=3, max_steps=whole.t_ + 3)
    assert (part.t_, part.n_epochs_, len(part.loss_curve_)) == (whole.t_ + 3, 2, 2)
    early = fitted(name, epochs=3, max_steps=7, early_stopping=True)
    assert (early.t_, len(early.validation_losses_)) == (7, 1)


def test_samples_take_generators_as_seeds_and_refuse_odd_lengths():
    model = fitted("ngram")
    for make in (np.random.RandomState, np.random.default_rng):
        assert model.sample(2, random_state=make(3)) == model.sample(2, random_state=make(3))
    for wrong in ({"max_length": -1}, {"max_length": 2.5}, {"top_k": 1.5}, {"n_samples": 2.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            model.sample(**wrong)


def test_a_warm_start_with_other_layers_is_explained():
    model = fitted("gru", warm_start=True)
    with pytest.raises(ValueError, match="warm_start: the last fit had other layers"):
        model.set_params(units=9).fit(TEXT)


def test_a_long_sample_of_a_transformer_is_that_of_the_chain_rule():
    model = fitted("transformer")
    text = model.sample(max_length=40, temperature=0)[0]
    for place in (0, 3, 9, 25, 39):
        assert model.symbols_[int(model.predict_proba(text[:place]).argmax())] == text[place]


@pytest.mark.parametrize("name", MODELS)
def test_empty_and_tiny_documents(name):
    for documents in ([], [""], "", ["", ""]):
        for boundaries in (False, True):
            with pytest.raises(ValueError, match="no symbols"):
                fitted(name, documents, boundaries=boundaries)
    for text in ("a", "aaaa"):
        model = fitted(name, text, unknown=False)
        assert model.symbols_ == ["a"]
        assert_allclose(model.predict_proba("a"), [1])
        assert model.bits_per_symbol("aaa") == pytest.approx(0, abs=1e-6)
    assert fitted(name, ["", "a"], boundaries=True).sample(random_state=0)
    with pytest.raises(ValueError, match="no symbol to score"):
        model.score([""])


@pytest.mark.parametrize("name", MODELS)
def test_unknown_and_strange_symbols(name):
    model = fitted(name)
    assert np.isfinite(model.score(["to Zürich \U0001f600 \x00"]))
    closed = fitted(name, unknown=False)
    with pytest.raises(ValueError, match="not in the vocabulary"):
        closed.score(["Z"])
    with pytest.raises(TypeError, match=r"document 1: .* not int"):
        fitted(name, ["a", 2])
    with pytest.raises(TypeError, match="not dict: give one column"):
        fitted(name, {"text": ["a", "b"]})
    rare = fitted(name, "aaaabbbc", min_count=2)
    assert set(rare.symbols_) == {"<unk>", "a", "b"}
    few = fitted(name, "aaaabbbc", vocabulary_size=1)
    assert few.symbols_ == ["<unk>", "a"]
    given = fitted(name, "aaaabbbc", vocabulary=["b", "x"])
    assert given.symbols_ == ["<unk>", "b", "x"]
    assert fitted(name, "aaaabbbc", vocabulary=["b", "x", "b"]).symbols_ == given.symbols_
    with pytest.raises(ValueError, match="outside the vocabulary"):
        fitted(name, "aaaabbbc", vocabulary=["b", "x"], unknown=False)
    with pytest.raises(TypeError, match="leave missing texts out"):
        fitted(name, ["a", float("nan")])
    with pytest.raises(ValueError, match="missing"):
        fitted(name, [[1.0, float("nan")]])
    with pytest.raises(TypeError, match=r"document 0: .* not int64"):
        fitted(name, np.array([1, 2, 3]))
    with pytest.raises(TypeError, match=r"document 1: .* not set"):
        fitted(name, ["a", {"a", "b"}])
    with pytest.raises(ValueError, match="document 1: bytes that are not UTF-8"):
        fitted(name, ["a", b"\xff\xfe"])


def test_networks_refuse_sets_whose_order_changes_from_run_to_run():
    assert fitted("ngram", {"ab", "ba"}).score("ab") == fitted("ngram", ["ba", "ab"]).score("ab")
    for name in NETWORKS:
        with pytest.raises(TypeError, match=r"order differs .* give sorted"):
            fitted(name, {"ab", "ba"})


@pytest.mark.parametrize("name", MODELS)
def test_words_numbers_and_byte_pairs_are_symbols_too(name):
    words = fitted(name, unit="word")
    assert "question" in words.symbols_
    assert isinstance(words.sample(random_state=0)[0], str)
    numbers = fitted(name, [[3, 1, 3, 1, 2], np.array([1, 3])])
    assert set(numbers.symbols_) == {"<unk>", 1, 2, 3}
    pairs = fitted(name, tokenizer=BytePairTokenizer(30))
    assert max(map(len, pairs.symbols_[1:])) > 1
    assert pairs.sample(prompt="to be", max_length=1, random_state=0)[0].startswith("to be")
    assert pairs.tokenizer_.merges_
    with pytest.raises(TypeError, match="reads the documents twice"):
        fitted(name, iter([TEXT]), tokenizer=BytePairTokenizer(30))


def test_byte_pairs_of_a_word_list_by_hand():
    tokenizer = BytePairTokenizer(100).fit(["aab aab aab", "ab"])
    assert tokenizer.merges_[0] == ("a", "b")
    assert tokenizer.merges_[1] == ("a", "ab")
    assert tokenizer("aab") == ["aab"]
    assert tokenizer("aabb") == ["aab", "b"]
    assert tokenizer("zab") == ["z", "ab"]


def test_every_text_comes_back_from_its_byte_pairs():
    rng = np.random.default_rng(0)
    tokenizer = BytePairTokenizer(60).fit(TEXT)
    for _ in range(200):
        text = "".join(rng.choice(list("to be,\n\t  'né_1"), rng.integers(0, 30)))
        assert tokenizer.join(tokenizer(text)) == text


def test_byte_pairs_of_parts_merge_to_those_of_all_documents():
    documents = ["low lower", "lowest slow", "slower lows"]
    whole = BytePairTokenizer(20).fit(documents)
    parts = [BytePairTokenizer(20).fit(part) for part in (documents[:1], documents[1:])]
    grown = BytePairTokenizer(20).partial_fit(documents[:2]).partial_fit(documents[2:])
    assert whole.merges_ == parts[0].merge(parts[1]).merges_ == grown.merges_
    assert len(whole.symbols_) <= 20
    with pytest.raises(ValueError, match="no characters"):
        BytePairTokenizer().fit([""])


def test_attention_of_a_transformer_looks_back_only():
    model = fitted("transformer")
    symbols, weights = model.attention("to be")
    assert symbols == ["<beg>", *"to be"]
    assert weights.shape == (2, 2, 6, 6)
    assert_allclose(weights.sum(axis=-1), 1, rtol=1e-5)
    assert_array_equal(np.triu(weights, 1), 0)


def test_models_stand_in_one_table():
    table = compare_language_models(
        {"counts": MODELS["ngram"], "softmax": MODELS["softmax"], "lstm": fitted("lstm")},
        TEXT,
        TEXT[:100],
    )
    bits = [row.bits_per_character for row in table]
    assert bits == sorted(bits)
    assert {row.name for row in table} == {"counts", "softmax", "lstm"}
    assert all(row.parameters == row.model.n_parameters_ for row in table)
    assert "bits/character" in str(table)
    with pytest.raises(TypeError, match="no language model"):
        compare_language_models({"x": BytePairTokenizer()}, TEXT, TEXT)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="tied weights"):
        fitted("lstm", tied=True, embedding=3)
    with pytest.raises(ValueError, match="multiple of the number of heads"):
        fitted("transformer", heads=3)
    with pytest.raises(ValueError, match="window"):
        fitted("lstm", window=1)
    with pytest.raises(ValueError, match="hold out"):
        fitted("lstm", "ab", early_stopping=True)
    with pytest.raises(ValueError, match="not finite"):
        fitted("lstm", learning_rate=1e38, clip_norm=None, optimizer="sgd", schedule="constant")
