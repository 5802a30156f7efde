"""Coherence: brute force over windows, gensim's numbers; the choice of a number of topics."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold import (
    NMF,
    LatentDirichletAllocation,
    TopicMixture,
    WordCounts,
    choose_topics,
    seed_topics,
    top_words,
    topic_coherence,
    topic_diversity,
)
from tenfold.topics.coherence import count_texts
from tests.topics.test_lda import make_corpus, topic_distances

REFERENCE = Path(__file__).parents[1] / "reference"
NUMBERS = json.loads((REFERENCE / "gensim_coherence.json").read_text())


def reference_texts():
    """Texts and topics of the script that made gensim's numbers, without gensim."""
    modules = ["gensim", "gensim.corpora", "gensim.models", "gensim.models.coherencemodel"]
    absent = {name: ModuleType(name) for name in modules}
    absent["gensim.corpora"].Dictionary = absent["gensim.models.coherencemodel"].CoherenceModel = 0
    path = REFERENCE / "make_gensim_coherence.py"
    spec = importlib.util.spec_from_file_location("make_gensim_coherence", path)
    script = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, absent):
        spec.loader.exec_module(script)
    return script.make_texts(), script.TOPICS


@pytest.mark.parametrize("measure", ["u_mass", "uci", "npmi", "c_v"])
def test_coherence_is_that_of_gensim(measure):
    texts, topics = reference_texts()
    theirs = NUMBERS[measure if measure in NUMBERS else f"c_{measure}"]
    epsilon = 1e-12 * len(texts) if measure == "u_mass" else None
    assert_allclose(topic_coherence(topics, texts, measure=measure, epsilon=epsilon), theirs)


@pytest.mark.parametrize("window", [0, 1, 4, 50])
def test_words_of_windows_are_those_of_every_window(window):
    rng = np.random.default_rng(0)
    texts = [[f"w{i}" for i in rng.integers(0, 7, n)] for n in rng.integers(0, 30, 50)]
    vocabulary = {f"w{i}": i for i in range(5)}
    expected, n = np.zeros((5, 5), int), 0
    for text in filter(None, texts):
        width = window or len(text)
        for start in range(max(len(text) - width + 1, 1)):
            words = {vocabulary[w] for w in text[start : start + width] if w in vocabulary}
            expected[np.ix_(sorted(words), sorted(words))] += 1
            n += 1
    counts = count_texts(vocabulary, texts, window)
    assert_array_equal(counts.pairs, expected)
    assert counts.n == n


def test_counts_of_words_give_the_coherence_of_whole_documents():
    documents = ["a cat and a dog", "the dog", "bond and stock", "stock", "cat or dog"]
    topics = [["cat", "dog"], ["bond", "stock", "dog"]]
    counts = WordCounts()
    X = counts.fit_transform(documents)
    for measure in ("u_mass", "npmi", "uci", "c_v"):
        expected = topic_coherence(topics, documents, measure=measure, window=0)
        assert_allclose(topic_coherence(topics, X, measure=measure, names=counts), expected)
        rows = WordCounts().fit_rows(documents)
        assert_allclose(topic_coherence(topics, rows, measure=measure, names=counts), expected)
    with pytest.raises(ValueError, match="no column counts"):
        topic_coherence([["cat", "fish"]], X, names=counts)


def test_words_that_never_occur_do_not_matter():
    value = topic_coherence([["cat", "dog", "unicorn"]], ["cat dog", "dog"], measure="npmi")
    assert np.isfinite(value).all()
    assert np.isnan(topic_coherence([["x", "y"]], ["cat dog"], measure="u_mass")).all()


def test_errors_of_coherence():
    with pytest.raises(ValueError, match="measure='c_w' is not one of"):
        topic_coherence([["a", "b"]], ["a b"], measure="c_w")
    with pytest.raises(ValueError, match="two different words"):
        topic_coherence([["a"]], ["a b"])
    with pytest.raises(TypeError, match="one text"):
        topic_coherence([["aa", "bb"]], "aa bb")
    with pytest.raises(ValueError, match="no documents"):
        topic_coherence([["aa", "bb"]], [])


def test_topics_of_documents_are_more_coherent_than_words_drawn_at_random():
    X, topics = make_corpus(500)
    names = [f"w{i}" for i in range(40)]
    good = topic_coherence(top_words(topics, names, 5), X, names=names, measure="npmi").mean()
    drawn = np.random.default_rng(0).random((4, 40))
    bad = topic_coherence(top_words(drawn, names, 5), X, names=names, measure="npmi").mean()
    assert good > bad + 0.2


def test_relevance_prefers_words_that_other_topics_do_not_have():
    weights = [[6.0, 1.0, 5.0, 0.0], [1.0, 1.0, 0.0, 9.0]]
    assert top_words(weights, list("abcd"), 2) == [["a", "c"], ["d", "a"]]
    assert top_words(weights, list("abcd"), 2, relevance=0.0)[0] == ["c", "a"]
    assert top_words(weights, list("abcd"), 1, topic=1) == ["d"]
    with pytest.raises(ValueError, match="between 0 and 1"):
        top_words(weights, list("abcd"), relevance=2)
    with pytest.raises(ValueError, match="3 names for topics of 4 words"):
        top_words(weights, list("abc"))
    assert topic_diversity(weights, 1) == 1.0


def test_components_of_nmf_are_topics():
    X, topics = make_corpus(600)
    model = NMF(4, init="nndsvda", max_iter=500).fit(X.astype(float))
    assert topic_distances(model, topics).max() < 0.15
    names = [f"w{i}" for i in range(40)]
    coherence = topic_coherence(top_words(model, names, 5), X, names=names, measure="npmi")
    assert coherence.mean() > 0.1


def test_a_table_of_named_columns_names_the_words():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[3, 0, 1], [0, 2, 1]], columns=["cat", "stock", "the"])
    model = LatentDirichletAllocation(1, max_iter=1).fit(table)
    assert top_words(model, n=1) == [["cat"]]
    with pytest.raises(ValueError, match="give the fitted WordCounts"):
        top_words(model.components_)


def test_seeds_must_be_words_of_the_documents():
    with pytest.raises(ValueError, match=r"seeds of topic 0 .*'e'"):
        seed_topics([["e"]], list("abcd"), 2)
    with pytest.raises(ValueError, match="seeds for 2 topics"):
        seed_topics([["a"], ["b"]], list("abcd"), 1)


def test_the_number_of_topics_of_a_corpus_is_chosen():
    X, _ = make_corpus(600, length=80, seed=3)
    model = LatentDirichletAllocation(max_iter=25, random_state=0, doc_topic_prior=0.2)
    choice = choose_topics(model, X, [1, 2, 4, 12])
    assert choice.n_components == 4
    assert choice.model.n_components == 4
    assert choice.perplexities.argmin() == 2
    mixture = TopicMixture(doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0)
    assert choose_topics(mixture, X[:400], [1, 4], test=X[400:]).n_components == 4
    with pytest.raises(ValueError, match="numbers is empty"):
        choose_topics(model, X, [])


def test_a_word_is_no_topic():
    for words in (["dog", "cat"], "dog", [["dog", "cat"], "fish"]):
        with pytest.raises(TypeError, match="a topic is a list of words, not the word"):
            topic_coherence(words, ["dog cat"])
        with pytest.raises(TypeError, match="a topic is a list of words"):
            topic_diversity(words)
        with pytest.raises(TypeError, match="a topic is a list of words"):
            seed_topics(words, ["dog", "cat", "fish"], 3)


def test_a_table_is_no_list_of_texts():
    frame = pd.DataFrame({"text": ["dog cat", "cat"]})
    with pytest.raises(TypeError, match="give one column of it"):
        topic_coherence([["dog", "cat"]], frame)
    assert len(topic_coherence([["dog", "cat"]], frame["text"])) == 1


def test_diversity_of_lists_of_words_is_that_of_their_weights():
    weights, names = np.random.default_rng(0).random((4, 12)), list("abcdefghijkl")
    for n in (1, 5, 12):
        assert topic_diversity(top_words(weights, names, 12), n) == topic_diversity(weights, n)


def test_words_may_be_named_by_a_vocabulary():
    columns = {"stock": 1, "cat": 0, "the": 2}
    assert top_words([[5.0, 1.0, 4.0]], columns, n=2) == [["cat", "the"]]
    assert seed_topics([["the"]], columns, 1, prior=0, weight=3).tolist() == [[0, 0, 3]]
    with pytest.raises(ValueError, match=r"no words of the documents: \['dog'\]"):
        seed_topics([["dog"]], columns, 1)
