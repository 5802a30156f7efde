"""Word embeddings: counts that merge, closed forms, gradients, same bits, questions, files."""

import struct
from collections import Counter

import numpy as np
import pytest
from scipy.sparse.linalg import svds

from tenfold import (
    Documents,
    GloVe,
    PPMIEmbedding,
    RecurrentLanguageModel,
    SequentialClassifier,
    SoftmaxLanguageModel,
    TransformerLanguageModel,
    Word2Vec,
    WordVectors,
)
from tenfold.embeddings import (
    count_cooccurrences,
    embed_related_words,
    evaluate_analogies,
    evaluate_similarity,
    layer_vectors,
    read_word_vectors,
    write_word_vectors,
)
from tenfold.embeddings._glove_numba import train_entries
from tenfold.embeddings._skip_gram_numba import train_cbow
from tenfold.embeddings.glove import _initial_state
from tenfold.embeddings.ppmi import positive_pmi
from tenfold.embeddings.word2vec import alias_table
from tenfold.engine.thread_pool import threads
from tenfold.neural import Dense, Embedding, Flatten
from tenfold.persist.model_file import load


def make_texts(n=300, seed=0):
    """Sentences of two worlds: animals that sleep and cars that drive."""
    rng = np.random.default_rng(seed)
    animals, cars = ["cat", "dog", "horse", "mouse"], ["car", "bus", "truck", "taxi"]
    texts = []
    for _ in range(n):
        if rng.random() < 0.5:
            texts.append(
                f"the {rng.choice(animals)} sleeps in its warm {rng.choice(['bed', 'hay'])}"
            )
        else:
            texts.append(
                f"a {rng.choice(cars)} drives on that wide {rng.choice(['road', 'street'])}"
            )
    return texts


TEXTS = make_texts()
MODELS = {
    "ppmi": PPMIEmbedding(5, min_count=1, random_state=0),
    "adagrad": GloVe(5, min_count=1, epochs=10, random_state=0),
    "als": GloVe(5, min_count=1, epochs=4, solver="als", random_state=0),
    "skip_gram": Word2Vec(10, min_count=1, subsample=0, epochs=15, random_state=0),
    "cbow": Word2Vec(
        10, algorithm="cbow", min_count=1, subsample=0, epochs=30, learning_rate=0.1, random_state=0
    ),
}


@pytest.mark.parametrize("weighting", ["uniform", "harmonic", "linear"])
def test_counts_are_those_of_a_loop(weighting):
    documents, window = [text.split() for text in TEXTS[:30]], 4
    expected = Counter()
    for words in documents:
        for i, word in enumerate(words):
            for j in range(i + 1, min(i + window + 1, len(words))):
                d = j - i
                weight = {"uniform": 1, "harmonic": 1 / d, "linear": (window + 1 - d) / window}
                expected[word, words[j]] += weight[weighting]
    table = count_cooccurrences(documents, window=window, weighting=weighting)
    found = table.following.tocoo()
    assert found.nnz == len(expected)
    for i, j, value in zip(*found.coords, found.data, strict=True):
        pair = table.words[i], table.words[j]
        assert value / table.unit == pytest.approx(expected[pair], rel=1e-12)
    assert table.counts.sum() == sum(map(len, documents))


def test_tables_of_parts_merge_to_the_table_of_all():
    whole = count_cooccurrences(TEXTS, window=7, weighting="harmonic")
    parts = [count_cooccurrences(TEXTS[a::3], window=7, weighting="harmonic") for a in range(3)]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    order = [merged.words.index(word) for word in whole.words]
    assert np.array_equal(merged.following[order][:, order].toarray(), whole.following.toarray())
    assert np.array_equal(merged.counts[order], whole.counts)
    with pytest.raises(ValueError, match="different windows"):
        whole.merge(count_cooccurrences(TEXTS, window=2, weighting="harmonic"))


def test_a_given_vocabulary_keeps_the_places_of_other_words():
    words = ["cat", "sleeps", "bed"]
    part = count_cooccurrences(["the cat never sleeps"], vocabulary=words, window=1)
    assert part.following.nnz == 0
    part = count_cooccurrences(["the cat never sleeps"], vocabulary=words, window=2)
    assert part.following.nnz == 1


def test_information_of_ten_words_by_hand():
    table = count_cooccurrences(["a b a b c", "c d", "d e e", "a c"], window=2).select(np.arange(5))
    C = table.toarray()
    for alpha, k in ((1.0, 1.0), (0.75, 2.0)):
        contexts = C.sum(axis=0) ** alpha
        with np.errstate(divide="ignore"):
            pmi = np.log(C / C.sum(axis=1)[:, None] * contexts.sum() / contexts) - np.log(k)
        expected = np.maximum(pmi, 0)
        found = positive_pmi(table, shift=k, smoothing=alpha).toarray()
        assert np.allclose(found, expected)


def test_vectors_are_singular_vectors_of_the_information():
    model = PPMIEmbedding(4, min_count=1, singular_power=1.0, n_iter=30, random_state=0).fit(TEXTS)
    kept = [model.statistic_.words.index(word) for word in model.words_]
    M = positive_pmi(model.statistic_.select(np.array(kept)))
    U, s, _ = svds(M, k=4)
    assert np.allclose(np.sort(model.singular_values_), np.sort(s), rtol=1e-4)
    G, H = model.vectors_ @ model.vectors_.T, (U * s) @ (U * s).T
    assert np.allclose(G, H, atol=1e-3)


@pytest.mark.parametrize("name", list(MODELS))
def test_words_of_one_kind_are_close(name):
    model = MODELS[name].fit(make_texts(2000))
    assert model.similarity("cat", "dog") > model.similarity("cat", "truck") + 0.2
    near = {word for word, _ in model.most_similar("car", n=3)}
    assert near <= {"bus", "truck", "taxi", "drives", "on", "that", "wide", "a", "road", "street"}


@pytest.mark.parametrize("name", list(MODELS))
def test_threads_do_not_change_the_bits(name):
    found = []
    for n in (1, 2, 8):
        with threads(n):
            found.append(MODELS[name].fit(TEXTS).vectors_)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("name", list(MODELS))
def test_lists_generators_and_files_give_the_same_vectors(name, tmp_path):
    expected = MODELS[name].fit(TEXTS).vectors_
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    (tmp_path / "t.csv").write_text("text\n" + "\n".join(TEXTS), encoding="utf-8")
    for documents in (
        (text for text in TEXTS),
        tmp_path / "lines.txt",
        Documents(tmp_path / "t.csv", "text"),
        [text.split() for text in TEXTS],
    ):
        assert np.array_equal(MODELS[name].fit(documents).vectors_, expected)


@pytest.mark.parametrize("name", ["ppmi", "adagrad", "als"])
def test_parts_make_the_whole(name):
    model = MODELS[name]
    vectors = model.fit(TEXTS).vectors_
    step = type(model)(**model.get_params()).fit(TEXTS[:100]).partial_fit(TEXTS[100:])
    assert np.array_equal(step.vectors_, vectors)
    a, b = (type(model)(**model.get_params()).fit(part) for part in (TEXTS[150:], TEXTS[:150]))
    assert np.array_equal(a.merge(b).vectors_, vectors)
    table = count_cooccurrences(TEXTS, window=model.window, weighting=model.weighting)
    assert np.array_equal(type(model)(**model.get_params()).fit_table(table).vectors_, vectors)


@pytest.mark.parametrize("name", list(MODELS))
def test_saved_models_answer_as_before(name, tmp_path):
    model = MODELS[name].fit(TEXTS)
    model.save(tmp_path / "m.tenfold")
    again = load(tmp_path / "m.tenfold")
    assert np.array_equal(again.vectors_, model.vectors_)
    assert again.most_similar("cat") == model.most_similar("cat")


def test_least_squares_never_raise_the_objective_and_solve_the_normal_equations():
    model = GloVe(3, min_count=1, epochs=6, solver="als", ridge=0.1, random_state=0).fit(TEXTS)
    costs = model.history_["objective"]
    assert (np.diff(costs) <= 1e-9 * costs[0]).all()
    kept = np.array([model.statistic_.words.index(word) for word in model.words_])
    X = model.statistic_.select(kept).toarray()
    W, C = model.vectors_ - model.context_vectors_, model.context_vectors_
    seen, f = X > 0, np.minimum((X / 100) ** 0.75, 1)
    error = W @ C.T + model.bias_[:, None] + model.context_bias_ - np.log(np.where(seen, X, 1))
    gradient = (f * seen * error).T @ W + 0.1 * C  # the contexts were solved last
    assert np.abs(gradient).max() < 1e-3


def test_a_step_of_adagrad_is_that_of_the_formula():
    state = _initial_state(4, 3, np.random.default_rng(0))
    w, c = state.vectors[1].copy().astype(float), state.contexts[2].copy().astype(float)
    one = np.array([1]), np.array([2])
    target, weight = np.array([1.5], np.float32), np.array([0.7], np.float32)
    loss = train_entries(*one, target, weight, 0, 1, *state, np.float32(0.05))
    error = w[:3] @ c[:3] + w[3] + c[4] - 1.5
    assert loss == pytest.approx(0.7 * error**2, rel=1e-5)
    assert np.allclose(state.vectors[1][:3], w[:3] - 0.05 * 0.7 * error * c[:3], atol=1e-6)
    assert state.vectors[1][3] == pytest.approx(w[3] - 0.05 * 0.7 * error, rel=1e-5)
    assert state.vectors[1][4] == state.contexts[2][3] == 1


def test_a_step_of_cbow_is_that_of_the_formula():
    """The mean of a window predicts its middle; every word of the window gets the whole error."""
    rng, rate = np.random.default_rng(0), 0.1
    x, y = (rng.normal(size=(5, 16)).astype(np.float32) for _ in range(2))
    kept, owners, reach = np.array([0, 1, 2, 0]), np.zeros(4, np.int32), np.array([1, 2, 1, 1])
    only_four = np.zeros(5, np.uint64), np.full(5, 4, np.int32)  # the negatives
    inputs, outputs = x.copy(), y.copy()
    train_cbow(
        kept, np.arange(4), owners, reach, 7, 2, *only_four, inputs, outputs, np.float32(rate)
    )
    x, y = x.astype(float), y.astype(float)
    for i, word in enumerate(kept):
        near = [kept[j] for j in range(4) if 0 < abs(i - j) <= reach[i]]
        mean, error = x[near].mean(axis=0), np.zeros(16)
        for output, label in ((word, 1), (4, 0), (4, 0)):
            step = rate * (label - 1 / (1 + np.exp(-mean @ y[output])))
            error += step * y[output]
            y[output] += step * mean
        for other in near:
            x[other] += error
    assert np.allclose(inputs, x, rtol=1e-5, atol=1e-6)
    assert np.allclose(outputs, y, rtol=1e-5, atol=1e-6)


def test_the_optimum_of_skip_gram_is_the_shifted_information():
    rng = np.random.default_rng(0)
    words = np.array(list("abcdef"))
    texts = []
    for _ in range(6000):
        p = np.array([3, 3, 2, 2, 1, 1] if rng.random() < 0.5 else [1, 1, 2, 2, 3, 3]) / 12
        texts.append(rng.choice(words, 2, p=p).tolist())
    model = Word2Vec(
        8,
        window=1,
        negatives=2,
        negative_power=1.0,
        subsample=0,
        min_count=1,
        epochs=100,
        learning_rate=0.02,
        random_state=0,
    ).fit(texts)
    kept = [model.words_.index(word) for word in words]
    scores = (model.vectors_ @ model.context_vectors_.T)[np.ix_(kept, kept)]
    table = count_cooccurrences(texts, window=1)
    C = table.select(np.array([table.words.index(word) for word in words])).toarray()
    size, share = C.sum(axis=1)[:, None], C.sum(axis=0) / C.sum()
    # log(c(w, v) / (k c(w) P(v))), without negatives that are the positive word itself
    optimum = np.log(C / (2 * share * (size - C)))
    assert np.corrcoef(scores.ravel(), optimum.ravel())[0, 1] > 0.995
    assert np.abs(scores - optimum).mean() < 0.02


def test_an_alias_table_draws_by_the_weights():
    weights = np.array([5.0, 1.0, 0.5, 3.5])
    thresholds, aliases = alias_table(weights)
    share = np.zeros(4)
    for i in range(4):
        keep = min(thresholds[i] / 2**32, 1)
        share[i] += keep / 4
        share[aliases[i]] += (1 - keep) / 4
    assert np.allclose(share, weights / weights.sum(), atol=1e-6)


def test_frequent_words_are_dropped_more_often():
    model = Word2Vec(4, subsample=1e-2, min_count=1)
    keep = model._word_tables(np.array([9000, 900, 100]))[0] / 2**32
    assert keep[0] < keep[1] < keep[2] == 1
    assert keep[0] == pytest.approx(np.sqrt(0.01 / 0.9) + 0.01 / 0.9, rel=1e-6)


def test_questions_on_planted_vectors():
    words = ["man", "woman", "king", "queen", "apple"]
    model = WordVectors(words, [[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [0, -1, -1]])
    assert model.analogy("man", "king", "woman")[0][0] == "queen"
    assert model.analogy("man", "king", "woman", method="multiply")[0][0] == "queen"
    assert model.most_similar(["king", "woman"], "man", n=1)[0][0] == "queen"
    assert model.similarity("woman", "apple") == pytest.approx(-0.5)
    score = evaluate_analogies(model, [("Man", "King", "Woman", "Queen"), ("man", "x", "y", "z")])
    assert score.accuracy == 1
    assert score.coverage == 0.5
    score = evaluate_similarity(
        model, [("man", "woman"), ("king", "queen"), ("man", "apple")], [5, 8, 0]
    )
    assert score.correlation == pytest.approx(1)
    assert model.map_words().shape == (5, 2)
    means = model.embed_documents(["man woman stone", "stone"])
    assert np.allclose(means, [[1, 0.5, 0], [0, 0, 0]])
    with pytest.raises(KeyError, match="no vector for"):
        model.similarity("man", "stone")
    with pytest.raises(ValueError, match="twice"):
        WordVectors(["a", "a"], [[1.0], [2.0]])


def test_related_words_are_closer_than_others_as_the_notes_ask():
    pairs = [
        ("bulldog", "beagle"),
        ("beagle", "poodle"),
        ("lipstick", "powder"),
        ("powder", "rouge"),
    ]
    model = embed_related_words(pairs)
    assert model.similarity("bulldog", "beagle") > model.similarity("bulldog", "lipstick")
    a, b, c = (model[word] for word in ("bulldog", "beagle", "lipstick"))
    assert np.square(a - b).sum() == pytest.approx(2 * (1 - model.similarity("bulldog", "beagle")))
    assert np.square(a - b).sum() < np.square(a - c).sum()


def test_vectors_of_a_language_model_are_the_rows_of_its_first_layer():
    X, y = np.array([[0.0], [1.0], [2.0]] * 10), np.array([0, 0, 1] * 10)
    layers = [Embedding(3, 2), Flatten(), Dense()]
    model = SequentialClassifier(layers, epochs=60, learning_rate=0.05, random_state=0).fit(X, y)
    vectors = layer_vectors(model, ["a", "b", "c"])
    assert np.array_equal(vectors.vectors_, model.params_[0])
    hidden = SequentialClassifier([Dense(2, "tanh"), Dense()], epochs=2, random_state=0)
    hidden.fit(np.eye(3)[X[:, 0].astype(int)], y)
    assert np.array_equal(layer_vectors(hidden).vectors_, hidden.params_[0])

    texts = ["to be or not to be"] * 3
    for model in (
        RecurrentLanguageModel(epochs=1, random_state=0),
        TransformerLanguageModel(epochs=1, random_state=0),
    ):
        found = layer_vectors(model.fit(texts))
        assert found.words_ == model.symbols_
        assert np.array_equal(found.vectors_, model.embedding_)
    for order, hidden in ((2, None), (3, 4)):
        model = SoftmaxLanguageModel(order, hidden=hidden, random_state=0).fit(texts)
        table = model.params_[0][0]  # of the last symbol; the last row is that of the beginning
        assert np.array_equal(layer_vectors(model).vectors_, table[:-1])
    with pytest.raises(ValueError, match="take order=2"):
        layer_vectors(SoftmaxLanguageModel(1).fit(texts))

    class Elsewhere:
        def word_vectors(self):
            return ["a"], [[1.0]]

    assert layer_vectors(Elsewhere()).words_ == ["a"]
    with pytest.raises(TypeError, match="no fitted network"):
        layer_vectors(object())


@pytest.mark.parametrize("binary", [False, True])
def test_files_of_word2vec_come_back(binary, tmp_path):
    words, path = ["the", "naïve", "42"], tmp_path / "v"
    vectors = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    write_word_vectors(path, words, vectors, binary=binary)
    again = read_word_vectors(path)
    assert again.words_ == words
    assert np.array_equal(again.vectors_, vectors)
    assert read_word_vectors(path, limit=2).words_ == words[:2]
    if binary:  # as the program of word2vec writes it
        head, row = path.read_bytes().split(b"\n", 1)
        assert head == b"3 5"
        assert row[:4] == b"the "
        assert struct.unpack("<5f", row[4:24]) == tuple(vectors[0].tolist())


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"2 3\na 1 2 3\nb 1 2\n", "line 3: 2 numbers"),
        (b"5 2\na 1 2\n", "first line says 5"),
        (b"999999999 300\nab \x00\x01\x02\xff", "do not fit"),
        (b"a x y\n", "no numbers"),
        (b"", "no words"),
    ],
)
def test_damaged_files_are_refused_in_words(content, what, tmp_path):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(ValueError, match=what):
        read_word_vectors(tmp_path / "v")


def test_words_and_numbers_in_one_corpus_are_named():
    with pytest.raises(TypeError, match="of one kind, not int and str"):
        PPMIEmbedding(2, min_count=1).fit([["a", 1], ["b", 2]])


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="lower min_count"):
        PPMIEmbedding(min_count=100).fit(["a b"])
    with pytest.raises(ValueError, match="occur near each other"):
        GloVe(min_count=1).fit(["a", "b"])
    with pytest.raises(ValueError, match="0 words are left of 2: lower min_count"):
        Word2Vec().fit("one text")
    a, b = (PPMIEmbedding(d, min_count=1).fit(TEXTS) for d in (2, 3))
    with pytest.raises(ValueError, match="same parameters"):
        a.merge(b)
    with pytest.raises(ValueError, match="without blanks"):
        write_word_vectors("unused", ["a b"], [[1.0]])


@pytest.mark.parametrize("algorithm", ["skip_gram", "cbow"])
def test_the_reported_loss_is_that_of_the_vectors_after_each_epoch(algorithm):
    options = {"algorithm": algorithm, "min_count": 1, "subsample": 0, "random_state": 0}
    still = Word2Vec(4, epochs=1, learning_rate=1e-9, min_learning_rate=1e-9, **options)
    losses = still.fit(make_texts()).history_["objective"]
    np.testing.assert_allclose(losses, [np.log(2)], rtol=1e-6)  # contexts begin at zero
    losses = Word2Vec(4, epochs=6, **options).fit(make_texts()).history_["objective"]
    assert (np.diff(losses) < 0).all()


def test_the_loss_of_words_at_random_is_the_mean_over_all_pairs():
    rng = np.random.default_rng(0)
    texts = [[f"w{n}" for n in rng.integers(0, 3, 50)] for _ in range(100)]
    model = Word2Vec(4, epochs=3, min_count=1, subsample=0, random_state=0).fit(texts)
    scores = model.vectors_ @ model.context_vectors_.T
    near, far = np.log1p(np.exp(-scores)).mean(), np.log1p(np.exp(scores)).mean()
    negatives = 5 * 2 / 3  # one in three is the word itself, and left out
    expected = (near + negatives * far) / (1 + negatives)
    np.testing.assert_allclose(model.history_["objective"][-1], expected, rtol=0.01)


def test_a_number_of_words_in_the_place_of_words_is_named():
    model = PPMIEmbedding(2, min_count=1).fit(["a b c", "a c d"] * 5)
    with pytest.raises(TypeError, match=r"most_similar\('a', n=1\)"):
        model.most_similar("a", 1)
    with pytest.raises(ValueError, match="n=-1"):
        model.most_similar("a", n=-1)
    with pytest.raises(ValueError, match="n=-1"):
        model.analogy("a", "b", "c", n=-1)
    numbers = PPMIEmbedding(2, min_count=1).fit([[1, 2, 3], [1, 3, 4]] * 5)
    assert numbers.most_similar(1, 2, n=1) == numbers.most_similar([1], [2], n=1)  # words
