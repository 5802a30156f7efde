"""N-gram models: counts, smoothing rules, scores, samples."""

from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import Documents, NGramModel
from tenfold.sequence._key_sums_numba import sum_by_key
from tenfold.sequence._ngram_counts import NgramCounts, lexicographic_keys, merge_counts
from tenfold.sequence._ngram_smoothing import SMOOTHING
from tenfold.sequence._text_generation import adjust_probabilities

PROBABILITIES = sorted(set(SMOOTHING) - {"stupid_backoff"})
TABLE = [
    [0.7, 0.1, 0.1, 0.1, 0.0],
    [0.1, 0.5, 0.2, 0.1, 0.1],
    [0.0, 0.0, 0.7, 0.1, 0.2],
    [0.1, 0.3, 0.0, 0.6, 0.0],
    [0.1, 0.2, 0.2, 0.3, 0.2],
]
ROWS = ["<beg>", "ML", "course", "is", "<unk>"]
COLUMNS = ["ML", "course", "is", "<unk>", "<end>"]


def letters(n=60, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, n)
    return ["".join(rng.choice(list("abcd"), p=[0.5, 0.3, 0.15, 0.05], size=k)) for k in lengths]


def test_the_table_of_the_notes_gives_their_sentence_its_probability():
    model = NGramModel.from_table(ROWS, COLUMNS, TABLE)
    assert exp(model.log_prob(["course is great"])[0]) == pytest.approx(0.1 * 0.7 * 0.6 * 0.2)
    assert exp(model.log_prob(["course is great"])[0]) == pytest.approx(0.0084)
    for context, row in zip(ROWS, TABLE, strict=True):
        text = "" if context == "<beg>" else context
        p = model.predict_proba(text if context != "<unk>" else "great")
        assert_allclose([p[model.vocabulary_[symbol]] for symbol in COLUMNS], row)


def test_a_wrong_table_is_refused_by_its_row():
    bad = np.array(TABLE)
    bad[2, 0] = 0.5
    with pytest.raises(ValueError, match="after 'course'"):
        NGramModel.from_table(ROWS, COLUMNS, bad)
    with pytest.raises(ValueError, match="no symbol that others follow"):
        NGramModel.from_table(["<beg>", "x"], ["a"], [[1.0], [1.0]])


def brute_force_counts(documents, order):
    """Contexts of order - 1 symbols, shorter ones at the beginning of a document."""
    counts = {}
    for document in documents:
        text = ["<beg>", *document, "<end>"]
        for t in range(1, len(text)):
            context = tuple(text[max(t - order + 1, 0) : t])
            counts[context, text[t]] = counts.get((context, text[t]), 0) + 1
    return counts


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_unsmoothed_probabilities_are_shares_of_counts(order):
    documents = letters()
    model = NGramModel(order, unit="character", smoothing="none").fit(documents)
    counts = brute_force_counts(documents, order)
    for document in documents[:20]:
        text, expected = ["<beg>", *document, "<end>"], Fraction(1)
        for t in range(1, len(text)):
            context = tuple(text[max(t - order + 1, 0) : t])
            total = sum(c for (h, _), c in counts.items() if h == context)
            expected *= Fraction(counts[context, text[t]], total)
        assert model.log_prob([document])[0] == pytest.approx(log(expected))


def test_counting_maximizes_the_likelihood():
    documents = letters()
    model = NGramModel(2, unit="character", smoothing="none").fit(documents)
    best = model.log_prob(documents).sum()
    rng = np.random.default_rng(1)
    contexts = model.tree_.contexts
    for _ in range(20):
        moved = model.direct_ * np.exp(rng.normal(scale=0.05, size=len(contexts)))
        model_direct = moved / np.bincount(contexts, moved)[contexts]
        other = NGramModel(2, unit="character", smoothing="none").fit(documents)
        other.direct_ = model_direct
        assert other.log_prob(documents).sum() < best


@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("smoothing", sorted(SMOOTHING))
def test_scores_agree_with_the_table_of_next_symbols(smoothing, boundaries):
    documents = letters()
    for order in (1, 2, 4):
        model = NGramModel(order, unit="character", smoothing=smoothing, boundaries=boundaries).fit(
            documents
        )
        for text in [*documents[:4], "zab", "dddd"]:
            symbols = [*text, "<end>"] if boundaries else list(text)
            places = [model.vocabulary_.get(symbol, 0) for symbol in symbols]
            with np.errstate(divide="ignore"):
                steps = [
                    np.log(model.predict_proba(text[:t])[place]) for t, place in enumerate(places)
                ]
            assert_allclose(model.log_prob([text])[0], sum(steps), rtol=1e-12)


@pytest.mark.parametrize("smoothing", PROBABILITIES)
def test_probabilities_sum_to_one_after_every_context(smoothing):
    model = NGramModel(3, unit="character", smoothing=smoothing).fit(letters())
    for context in product(["", *"abcdz"], repeat=2):
        p = model.predict_proba("".join(context))
        assert (p >= 0).all()
        if smoothing != "none" or p.any():  # no share is known after a context never seen
            assert p.sum() == pytest.approx(1, abs=1e-12)


def kneser_ney_by_definition(documents, order, discount):
    """p(w | h) by the recursion of Chen and Goodman, with dictionaries."""
    vocabulary = [*sorted({symbol for text in documents for symbol in text}), "<end>", "<unk>"]
    grams = [brute_force_counts(documents, n) for n in range(1, order + 1)]

    def adjusted(context, word, level):
        if level == order - 1 or context[:1] == ("<beg>",):
            return grams[level].get((context, word), 0)
        longer = {h for h, w in grams[level + 1] if w == word and h[len(h) - level :] == context}
        return len({h for h in longer if len(h) == level + 1})

    def probability(word, context, level):
        if level < 0:
            return 1 / len(vocabulary)
        counts = {w: adjusted(context, w, level) for w in vocabulary}
        total, kinds = sum(counts.values()), sum(c > 0 for c in counts.values())
        lower = probability(word, context[1:], level - 1 if context else -1)
        if total == 0:
            return lower
        share = max(counts[word] - discount, 0) / total
        return share + discount * kinds / total * lower

    return probability, vocabulary


def test_kneser_ney_is_its_definition():
    documents = letters(25)
    model = NGramModel(3, unit="character", smoothing="kneser_ney", discount=0.6).fit(documents)
    probability, vocabulary = kneser_ney_by_definition(documents, 3, 0.6)
    for text in ("", "a", "ab", "ba", "dd", "cab"):
        context = ("<beg>", *text)[-2:]
        p = model.predict_proba(text)
        for word in vocabulary:
            expected = probability(word, context, len(context))
            assert p[model.vocabulary_[word]] == pytest.approx(expected, abs=1e-12)


def test_add_k_witten_bell_and_jelinek_by_hand():
    documents = ["ab", "aa"]  # after <beg>: a 2; after a: a 1, b 1, <end> 1; after b: <end> 1
    fit = {"order": 2, "unit": "character", "unknown": False}
    laplace = NGramModel(smoothing="add_k", k=1, **fit).fit(documents)
    table = dict(laplace.next_symbol_table("a"))
    assert table == {
        "<end>": pytest.approx(1 / 3),
        "a": pytest.approx(1 / 3),
        "b": pytest.approx(1 / 3),
    }
    assert dict(laplace.next_symbol_table("b"))["<end>"] == pytest.approx(2 / 4)
    assert laplace.predict_proba("")[laplace.vocabulary_["a"]] == pytest.approx(3 / 5)
    witten = NGramModel(smoothing="witten_bell", **fit).fit(documents)
    unigram = (3 + 3 / 3) / (6 + 3)  # a: 3 of 6, 3 kinds, then equal probabilities of 3 symbols
    assert witten.predict_proba("b")[witten.vocabulary_["a"]] == pytest.approx(unigram / 2)
    mixed = NGramModel(smoothing="jelinek_mercer", weights=[0.1, 0.3, 0.6], **fit).fit(documents)
    expected = 0.1 / 3 + 0.3 * 3 / 6 + 0.6 * 1 / 3
    assert mixed.predict_proba("a")[mixed.vocabulary_["a"]] == pytest.approx(expected)


def test_deleted_interpolation_prefers_the_order_that_helps():
    rng = np.random.default_rng(0)
    independent = ["".join(rng.choice(list("abcdefgh"), size=300)) for _ in range(3)]
    alternating = ["ab" * 100] * 3
    noise = NGramModel(3, unit="character", smoothing="jelinek_mercer").fit(independent)
    order = NGramModel(3, unit="character", smoothing="jelinek_mercer").fit(alternating)
    assert 1 - noise.backoff_[-1] < 0.5 < 1 - order.backoff_[-1]


def test_modified_discounts_fall_back_where_they_are_undefined():
    for documents in (["abab"], ["aaaa"], ["abcd"], letters(4)):
        model = NGramModel(3, unit="character").fit(documents)
        assert model.predict_proba("ab").sum() == pytest.approx(1)
        assert np.isfinite(model.score(["abz"]))


@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("smoothing", ["modified_kneser_ney", "jelinek_mercer", "backoff"])
def test_merged_models_are_the_model_of_all_documents(smoothing, boundaries):
    documents = [" ".join(text) for text in letters()]
    model = NGramModel(3, smoothing=smoothing, boundaries=boundaries, vocabulary_size=3)
    whole, a, b = (
        NGramModel(**model.get_params()).fit(part)
        for part in (documents, documents[:20], documents[20:])
    )
    grown = NGramModel(**model.get_params()).fit(documents[:20]).partial_fit(documents[20:])
    for joint in (tenfold.merge(a, b), tenfold.merge(b, a), grown):
        assert joint.symbols_ == whole.symbols_
        assert joint.n_tokens_ == whole.n_tokens_
        assert_array_equal(joint.direct_, whole.direct_)
        assert_array_equal(joint.backoff_, whole.backoff_)
        assert_array_equal(joint.statistic_.ngrams, whole.statistic_.ngrams)


def test_the_most_frequent_words_are_kept_and_the_others_unknown():
    documents = ["the cat and the dog", "the bird and a cat"]
    model = NGramModel(2, vocabulary_size=3).fit(documents)
    assert model.symbols_ == [
        "<unk>",
        "<end>",
        "the",
        "and",
        "cat",
    ]  # ties in order of the alphabet
    rare = NGramModel(2, min_count=2).fit(documents)
    assert rare.symbols_[2:] == ["the", "and", "cat"]
    given = NGramModel(2, vocabulary=["the", "cat"], smoothing="none").fit(documents)
    assert dict(given.next_symbol_table("the")) == {
        "<unk>": pytest.approx(2 / 3),
        "cat": pytest.approx(1 / 3),
    }
    with pytest.raises(ValueError, match="outside the vocabulary"):
        NGramModel(2, vocabulary=["the"], unknown=False).fit(documents)
    closed = NGramModel(2, unknown=False).fit(documents)
    with pytest.raises(ValueError, match="'zebra' is not in the vocabulary"):
        closed.score(["the zebra"])


def test_long_n_grams_of_many_symbols_are_counted_too():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2**20, (50, 6))
    rows = np.concatenate([rows, rows[:10]])  # six symbols of 20 bits do not fit one key
    counts = NgramCounts.of(rows)
    assert_array_equal(counts.ngrams, np.unique(rows, axis=0))
    assert counts.counts.sum() == 60
    assert counts.counts.max() == 2
    assert_array_equal(np.argsort(lexicographic_keys(rows[:50])), np.lexsort(rows[:50].T[::-1]))
    parts = merge_counts([NgramCounts.of(part) for part in np.array_split(rows, 7)], 6)
    assert_array_equal(parts.ngrams, counts.ngrams)
    assert_array_equal(parts.counts, counts.counts)


def test_files_give_what_lists_give(tmp_path):
    documents = ["a rose is a rose", "is it", "", "a, b"]
    text = Path(tmp_path, "text.txt")
    text.write_text("\n".join(documents) + "\n")
    table = Path(tmp_path, "text.csv")
    table.write_text("n,text\n" + "".join(f'{n},"{t}"\n' for n, t in enumerate(documents)))
    expected = NGramModel(2).fit(documents)
    for source in (text, Documents(table, "text"), (each for each in documents)):
        model = NGramModel(2).fit(source)
        assert model.symbols_ == expected.symbols_
        assert_array_equal(model.direct_, expected.direct_)
    assert expected.perplexity(text) == expected.perplexity(documents)


def test_symbols_may_be_numbers():
    model = NGramModel(2, smoothing="none").fit([[1, 2, 1, 3], np.array([1, 2])])
    assert model.next_symbol_table([1]) == [(2, pytest.approx(2 / 3)), (3, pytest.approx(1 / 3))]
    assert model.sample(2, random_state=0)[0][0] == 1
    with pytest.raises(TypeError, match="several kinds"):
        NGramModel(2).fit([[1, "a"]])


def test_samples_follow_the_model():
    model = NGramModel.from_table(["<beg>", "a", "b"], ["a", "b", "<end>"],
                                  [[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0.6, 0.0, 0.4]])  # fmt: skip
    texts = model.sample(1500, random_state=0)
    assert texts[:10] == model.sample(10, random_state=0)
    first = np.mean([text.startswith("a") for text in texts])
    assert first == pytest.approx(0.5, abs=0.05)
    assert np.mean([text == "b" for text in texts]) == pytest.approx(0.5 * 0.4, abs=0.04)
    assert not any("b b" in text for text in texts)
    assert len(set(model.sample(5, temperature=0, random_state=1))) == 1
    assert all(len(text.split()) <= 3 for text in model.sample(20, max_length=3, random_state=2))
    assert all(text.startswith("b") for text in model.sample(20, prompt="b", random_state=2))


def test_temperature_and_cuts():
    p = np.array([0.1, 0.4, 0.3, 0.2])
    assert_allclose(adjust_probabilities(p, 0.5), p**2 / (p**2).sum())
    assert_allclose(adjust_probabilities(p, top_p=0.65), [0, 4 / 7, 3 / 7, 0])
    assert_allclose(adjust_probabilities(p, 1e-3), [0, 1, 0, 0], atol=1e-12)
    for wrong in ({"temperature": -1}, {"top_k": 0}, {"top_p": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            NGramModel(2).fit(["a b"]).sample(**wrong)


def test_scores_that_are_no_probabilities_have_no_perplexity():
    model = NGramModel(2, smoothing="stupid_backoff").fit(["a b", "b a"])
    assert exp(model.log_prob(["b b"])[0]) > 0
    for call in (model.perplexity, model.bits_per_symbol):
        with pytest.raises(ValueError, match="do not sum to one"):
            call(["a b"])


@pytest.mark.parametrize("min_count", [1, [1, 2]])
@pytest.mark.parametrize("boundaries", [False, True])
@pytest.mark.parametrize("documents", ["", " \n\t", [], [""], [[]], ["", " "]])
def test_documents_without_symbols_are_refused(documents, boundaries, min_count):
    model = NGramModel(2, boundaries=boundaries, min_count=min_count)
    with pytest.raises(ValueError, match="no symbols"):
        model.fit(documents)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_files_without_symbols_are_refused(tmp_path, text):
    path = tmp_path / "text.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match="no symbols"):
        NGramModel(2).fit(path)


def test_an_empty_document_among_others_is_its_end():
    model = NGramModel(2, smoothing="none").fit(["a", ""])
    assert model.next_symbol_table("") == [("<end>", 0.5), ("a", 0.5)]
    parts = NGramModel(2, smoothing="none").fit(["a"]).partial_fit([""])
    assert parts.next_symbol_table("") == model.next_symbol_table("")


def test_one_text_is_one_document_and_a_file_without_boundaries_one_stream(tmp_path):
    text = "to be, or not\nto be\n"
    path = tmp_path / "play.txt"
    path.write_text(text)
    for boundaries in (False, True):
        model = NGramModel(2, unit="character", boundaries=boundaries)
        expected = model.fit([text]).bits_per_symbol([text])
        assert NGramModel(**model.get_params()).fit(text).bits_per_symbol(text) == expected
        if not boundaries:
            assert NGramModel(**model.get_params()).fit(path).bits_per_symbol(path) == expected
            assert model.bits_per_character(text) == pytest.approx(expected)
    with pytest.raises(TypeError, match="is a file: give pathlib"):
        model.fit(str(path))


def test_bad_documents_are_refused_in_words():
    with pytest.raises(TypeError, match="not int"):
        NGramModel().fit([1, 2])
    with pytest.raises(ValueError, match="reserved"):
        NGramModel(tokenizer=str.split).fit(["a <unk> b"])
    with pytest.raises(TypeError, match="list of texts, one text or a path, not NoneType"):
        NGramModel().fit(None)
    with pytest.raises(ValueError, match="n_samples=-1"):
        NGramModel().fit(["a b"]).sample(-1)


def test_a_file_of_another_encoding_is_named(tmp_path):
    path = tmp_path / "old.txt"
    path.write_bytes("naïve".encode("latin-1"))
    for boundaries in (True, False):
        with pytest.raises(ValueError, match=r"old.txt is not in UTF-8"):
            NGramModel(boundaries=boundaries).fit(path)


def test_saved_models_score_the_same_and_torn_ones_are_refused(tmp_path):
    model = NGramModel(3, unit="character").fit(letters())
    tenfold.save(model, tmp_path / "m.tenfold")
    loaded = tenfold.load(tmp_path / "m.tenfold")
    assert_array_equal(loaded.log_prob(letters(9, 5)), model.log_prob(letters(9, 5)))
    assert loaded.sample(2, random_state=3) == model.sample(2, random_state=3)
    model.backoff_ = model.backoff_[:-1]
    with pytest.raises(ValueError, match="do not fit"):
        tenfold.save(model, tmp_path / "torn.tenfold")


@pytest.mark.parametrize("bits", [1, 12, 13, 45, 62])
def test_sums_by_key_are_those_of_unique_keys(bits: int) -> None:
    rng = np.random.default_rng(bits)
    keys = rng.choice(rng.integers(0, 2**bits, 300), 2000)
    counts = rng.integers(1, 9, 2000)
    given = keys.copy(), counts.copy()
    counts.flags.writeable = False  # as of a model that was read from a file
    found, sums = sum_by_key(keys, counts)
    wanted, inverse = np.unique(keys, return_inverse=True)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(sums, np.bincount(inverse, counts))
    np.testing.assert_array_equal((keys, counts), given)


def test_ngrams_too_long_for_a_key_are_counted_alike() -> None:
    rows = np.random.default_rng(0).integers(0, 3, (500, 6)).astype(np.uint32)
    short, long = NgramCounts.of(rows), NgramCounts.of(rows * np.uint32(2**20))
    np.testing.assert_array_equal(long.ngrams, short.ngrams * np.uint32(2**20))
    np.testing.assert_array_equal(long.counts, short.counts)


def test_a_column_on_a_cluster_is_counted_partition_by_partition():
    frames = pytest.importorskip("dask.dataframe")
    texts = [f"the cat {i % 7} sat on {i % 5}" for i in range(60)]
    column = frames.from_pandas(pd.DataFrame({"text": texts}), npartitions=3)["text"]
    found, expected = NGramModel(2).fit(column), NGramModel(2).fit(texts)
    assert found.symbols_ == expected.symbols_
    assert_array_equal(found.log_prob(texts[:5]), expected.log_prob(texts[:5]))
    with pytest.raises(TypeError, match="give one column"):
        NGramModel(2).fit(column.to_frame())
