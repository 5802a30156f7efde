"""Forgotten n-grams, and counting in parts that lie in files."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import NGramModel
from tenfold.sequence import _ngram_runs as runs
from tenfold.sequence._ngram_counts import NgramCounts
from tenfold.sequence._ngram_smoothing import PRUNABLE, SMOOTHING


def words(n=400, seed=0):
    """Documents of a Markov chain of words."""
    rng = np.random.default_rng(seed)
    names = np.array([f"w{i}" for i in range(30)])
    chain = rng.dirichlet(np.full(30, 0.15), 30)
    documents = []
    for _ in range(n):
        state, document = int(rng.integers(30)), []
        for _ in range(int(rng.integers(0, 15))):
            state = int(rng.choice(30, p=chain[state]))
            document.append(names[state])
        documents.append(" ".join(document))
    return documents


DOCUMENTS = words()


def same_model(a, b):
    for name in ("context_keys", "first_context", "ngram_keys", "counts"):
        assert_array_equal(getattr(a.tree_, name), getattr(b.tree_, name))
    assert_array_equal(a.direct_, b.direct_)
    assert_array_equal(a.backoff_, b.backoff_)
    assert a.symbols_ == b.symbols_
    assert (a.n_tokens_, a.n_documents_) == (b.n_tokens_, b.n_documents_)


def shrink_runs(patch):
    """Runs of a few symbols, in files at once, and brought together in small blocks."""
    patch.setattr(runs, "RUN_SYMBOLS", 300)
    patch.setattr(runs, "MAX_BYTES_IN_MEMORY", 4000)
    patch.setattr(runs, "BLOCK_ROWS", 100)


@pytest.fixture
def tiny_runs(monkeypatch):
    shrink_runs(monkeypatch)


@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("smoothing", PRUNABLE)
def test_files_and_blocks_give_the_bits_of_one_table(smoothing, boundaries, monkeypatch):
    for order, least in [(1, [2]), (2, [2, 2]), (3, [2, 1, 2]), (4, [1, 2, 2, 3])]:
        model = NGramModel(order, smoothing=smoothing, min_count=least, boundaries=boundaries)
        whole = model.fit(DOCUMENTS)
        with monkeypatch.context() as patch:
            shrink_runs(patch)
            parts = NGramModel(**model.get_params()).fit(DOCUMENTS)
        same_model(parts, whole)


@pytest.mark.usefixtures("tiny_runs")
def test_runs_in_files_are_the_counts_of_all_windows():
    rng = np.random.default_rng(0)
    counter, documents = runs.NgramCounter(3, begin=0), []
    for _ in range(30):
        symbols = rng.integers(1, 9, 50)
        documents.append(symbols)
        counter.add(symbols, np.array([0, 20, 50]))
    assert len(counter.runs.stored) > 2
    assert_array_equal(counter.frequency(9), np.bincount(np.concatenate(documents), minlength=9))
    windows = np.concatenate(
        [runs.count_windows(symbols, np.array([0, 20, 50]), 3, 0) for symbols in documents]
    )
    expected = NgramCounts.of(windows)
    table = counter.table()
    assert_array_equal(table.ngrams, expected.ngrams)
    assert_array_equal(table.counts, expected.counts)
    blocks = counter.renumber(np.arange(9), [1, 0, 2]).blocks(9)
    assert len(blocks) > 2
    parts = list(blocks)
    assert_array_equal(np.concatenate([part.counts for part in parts]).sum(), len(windows))
    for a, b in pairwise(parts):
        assert a.ngrams[-1, 0] < b.ngrams[0, 0]


@pytest.mark.usefixtures("tiny_runs")
@pytest.mark.parametrize("smoothing", sorted(SMOOTHING))
def test_nothing_is_forgotten_that_occurs_often_enough(smoothing):
    model = NGramModel(3, smoothing=smoothing).fit(DOCUMENTS)
    same = NGramModel(3, smoothing=smoothing, min_count=[1, 1, 1]).fit(DOCUMENTS)
    same_model(same, model)
    assert hasattr(same, "statistic_")


@pytest.mark.parametrize("smoothing", [name for name in PRUNABLE if name != "stupid_backoff"])
def test_probabilities_sum_to_one_and_kept_ngrams_keep_theirs(smoothing):
    full = NGramModel(3, smoothing=smoothing).fit(DOCUMENTS)
    model = NGramModel(3, smoothing=smoothing, min_count=[1, 2, 3]).fit(DOCUMENTS)
    levels = model.tree_.levels[model.tree_.contexts]
    for level, least in enumerate([1, 2, 3]):
        assert model.tree_.counts[levels == level].min() >= least
        of_level = full.tree_.levels[full.tree_.contexts] == level
        kept = of_level & (full.tree_.counts >= least)
        assert (levels == level).sum() == kept.sum() < of_level.sum() + (level == 0)
        assert_array_equal(model.direct_[levels == level], full.direct_[kept])
    for context in ["", "w1", "w1 w2", "w3 w4", "w29 w3", "none w5", "w7 none"]:
        assert model.predict_proba(context).sum() == pytest.approx(1, abs=1e-12)
    document = DOCUMENTS[5]
    steps = [
        np.log(model.predict_proba(document.split()[:t])[model.vocabulary_[word]])
        for t, word in enumerate([*document.split(), "<end>"])
    ]
    assert_allclose(model.log_prob([document]), [sum(steps)], rtol=1e-12)
    assert model.n_parameters_ < full.n_parameters_
    held_out = words(100, seed=1)
    assert model.perplexity(held_out) < 1.3 * full.perplexity(held_out)


def test_a_forgotten_ngram_has_the_probability_of_its_shorter_context():
    documents = ["a b c", "a b c", "a b d", "x b d", "x b d"]
    full = NGramModel(3, smoothing="witten_bell").fit(documents)
    model = NGramModel(3, smoothing="witten_bell", min_count=[1, 1, 2]).fit(documents)
    # after "a b": 3 occurrences of 2 kinds, of which "d" occurs once and is forgotten
    shorter = full.predict_proba("z b")
    c, d = model.vocabulary_["c"], model.vocabulary_["d"]
    p = model.predict_proba("a b")
    assert p[d] == pytest.approx((2 + 1) / 5 * shorter[d])
    assert p[c] == pytest.approx(2 / 5 + (2 + 1) / 5 * shorter[c])


def test_forgotten_counts_are_not_gone_on_from(tmp_path):
    model = NGramModel(2, min_count=[1, 2]).partial_fit(DOCUMENTS)
    with pytest.raises(TypeError, match="has forgotten rare"):
        model.partial_fit(DOCUMENTS)
    with pytest.raises(TypeError, match="has forgotten rare"):
        model.merge(model)
    model.save(tmp_path / "model")
    assert_array_equal(
        tenfold.load(tmp_path / "model").log_prob(DOCUMENTS), model.log_prob(DOCUMENTS)
    )
    same_model(model.set_params(min_count=1).fit(DOCUMENTS), NGramModel(2).fit(DOCUMENTS))
    again = model.set_params(min_count=(1, 2)).fit(DOCUMENTS)
    assert not hasattr(again, "statistic_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_count": [1, 2]}, "one for each order from 1 to 3"),
        ({"min_count": [1, 0, 2]}, "at least 1"),
        ({"min_count": [1.5, 2, 2]}, "whole number"),
        ({"min_count": [1, 2, 2], "smoothing": "none"}, "choose among absolute"),
    ],
)
def test_bad_least_counts_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        NGramModel(3, **parameters).fit(DOCUMENTS)
    with pytest.raises(ValueError, match="the documents are empty"):
        NGramModel(2, min_count=[1, 2]).fit([])
