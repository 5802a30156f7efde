"""Markov chains: counts, stationary distributions, hitting times, simulation."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import MarkovChain, measure_ngram_coverage
from tenfold.io.sequences import Ragged, from_sequences

LADDER = np.array(  # ruin: 0 and 4 absorb
    [
        [1, 0, 0, 0, 0],
        [0.4, 0, 0.6, 0, 0],
        [0, 0.4, 0, 0.6, 0],
        [0, 0, 0.4, 0, 0.6],
        [0, 0, 0, 0, 1],
    ]
)


def random_chain(size=5, seed=0):
    rng = np.random.default_rng(seed)
    return MarkovChain.from_matrix(rng.dirichlet(np.ones(size), size), rng.dirichlet(np.ones(size)))


def test_probabilities_are_shares_of_counts():
    sequences = [["sun", "sun", "rain"], ["rain", "sun", "sun", "sun"], [], ["fog"]]
    chain = MarkovChain().fit(sequences)
    assert chain.states_ == ["fog", "rain", "sun"]
    assert_allclose(chain.start_prob_, [1 / 3, 1 / 3, 1 / 3])
    assert_allclose(chain.transition_matrix_, [[1, 0, 0], [0, 0, 1], [0, 0.25, 0.75]])
    smooth = MarkovChain(pseudo_count=1).fit(sequences)
    assert_allclose(smooth.transition_matrix_[0], [1 / 3, 1 / 3, 1 / 3])
    assert_allclose(smooth.transition_matrix_[2], [1 / 7, 2 / 7, 4 / 7])


def test_probability_of_a_sequence_is_a_product():
    chain = random_chain()
    path = chain.sample(6, random_state=1)[0]
    expected = chain.start_prob_[path[0]]
    for a, b in pairwise(path):
        expected *= chain.transition_matrix_[a, b]
    assert np.exp(chain.log_prob([path, path[:1], []])) == pytest.approx(
        [expected, chain.start_prob_[path[0]], 1]
    )
    assert chain.score([path, path]) == pytest.approx(2 * np.log(expected))


def test_files_pieces_and_lists_are_counted_alike(tmp_path):
    rng = np.random.default_rng(0)
    lengths = np.array([150_000, 0, 1, 70_001, 3])
    values = rng.integers(0, 4, lengths.sum())
    values[-2:] = 3
    np.save(tmp_path / "values.npy", values)
    np.save(tmp_path / "lengths.npy", lengths)
    ends = np.cumsum(lengths)
    parts = [values[end - n : end] for n, end in zip(lengths, ends, strict=True)]
    counts = np.zeros((4, 4), int)
    for part in parts:
        np.add.at(counts, (part[:-1], part[1:]), 1)
    for X, given in (
        (parts, None),
        ((str(tmp_path / "values.npy"), str(tmp_path / "lengths.npy")), None),
        (Ragged(values, np.concatenate([[0], ends])), None),
        (from_sequences((values, lengths)), None),
        (values[:, None], lengths),
    ):
        chain = MarkovChain().fit(X, lengths=given)
        assert_array_equal(chain.statistic_.transitions, counts)
        assert chain.statistic_.starts.sum() == 4


def test_merged_chains_are_the_chain_of_all_sequences():
    sequences = [["a", "b", "a"], ["b", "c"], ["c", "c", "a"]]
    whole = MarkovChain().fit(sequences)
    parts = [MarkovChain().fit(sequences[:1]), MarkovChain().fit(sequences[1:])]
    grown = MarkovChain().partial_fit(sequences[:1]).partial_fit(sequences[1:])
    for joint in (tenfold.merge(*parts), tenfold.merge(*parts[::-1]), grown):
        assert joint.states_ == whole.states_
        assert_array_equal(joint.transition_matrix_, whole.transition_matrix_)
        assert_array_equal(joint.start_prob_, whole.start_prob_)


def test_a_step_does_not_change_the_stationary_distribution():
    chain = random_chain(7)
    stationary = chain.stationary_distribution()
    assert_allclose(stationary @ chain.transition_matrix_, stationary, rtol=1e-14)
    assert_allclose(chain.predict_proba(0, steps=200), stationary, rtol=1e-10)
    transient = MarkovChain.from_matrix([[0.5, 0.5, 0], [0, 0.2, 0.8], [0, 0.6, 0.4]])
    assert_allclose(transient.stationary_distribution(), [0, 3 / 7, 4 / 7])
    rare = MarkovChain.from_matrix([[1 - 1e-300, 1e-300], [1.0, 0.0]])
    assert rare.stationary_distribution()[1] == pytest.approx(1e-300, rel=1e-12, abs=0)


def test_several_stationary_distributions_are_refused():
    with pytest.raises(ValueError, match="2 classes"):
        MarkovChain.from_matrix(LADDER).stationary_distribution()


def test_ruin_in_closed_form():
    chain, ratio = MarkovChain.from_matrix(LADDER), 0.4 / 0.6
    win = (1 - ratio ** np.arange(5)) / (1 - ratio**4)
    assert_allclose(chain.hitting_probabilities([4]), win)
    times = (np.arange(5) - 4 * win) / (0.4 - 0.6)
    assert_allclose(chain.hitting_times([0, 4]), times, atol=1e-12)
    assert chain.hitting_times([4])[:4].tolist() == [np.inf] * 4


def test_hitting_times_agree_with_simulation():
    chain = random_chain(4, seed=3)
    expected = chain.hitting_times([2])
    paths = np.array(chain.sample(60, 800, start=0, random_state=0))
    first = np.argmax(paths == 2, axis=1)
    assert first.mean() == pytest.approx(expected[0], rel=0.15)


def test_classes_and_periods():
    ring = MarkovChain.from_matrix(np.roll(np.eye(6), 1, axis=1))
    assert ring.period() == 6
    assert len(ring.communicating_classes()) == 1
    lazy = MarkovChain.from_matrix(0.5 * np.eye(6) + 0.5 * np.roll(np.eye(6), 1, axis=1))
    assert lazy.period(3) == 1
    ladder = MarkovChain.from_matrix(LADDER, states=list("abcde"))
    assert ladder.recurrent_classes() == [["a"], ["e"]]
    assert ladder.period("b") == 2


def test_simulated_chains_have_the_frequencies_of_the_chain():
    chain = random_chain(3, seed=2)
    paths = chain.sample(500, 40, random_state=0)
    assert paths[:3] == chain.sample(500, 3, random_state=0)
    assert_allclose(
        MarkovChain().fit(paths).transition_matrix_, chain.transition_matrix_, atol=0.02
    )


def test_bad_input_is_refused_in_words():
    with pytest.raises(ValueError, match="not among the known states"):
        MarkovChain(states=["a"]).fit([["a", "b"]])
    with pytest.raises(ValueError, match="sum to one"):
        MarkovChain.from_matrix([[0.5, 0.4], [0, 1]])
    with pytest.raises(ValueError, match="number them from 0"):
        MarkovChain().fit(Ragged(np.array([0, -1]), np.array([0, 2])))
    with pytest.raises(ValueError, match="empty"):
        MarkovChain(states=["a"]).fit([[]])
    with pytest.raises(ValueError, match="'z' is not among"):
        MarkovChain().fit([["a", "b"]]).predict_proba("z")


def test_a_saved_chain_is_the_same(tmp_path):
    chain = MarkovChain().fit([["a", "b", "b"], ["b"]])
    chain.save(tmp_path / "chain.tenfold")
    loaded = tenfold.load(tmp_path / "chain.tenfold")
    assert loaded.sample(9, 2, random_state=1) == chain.sample(9, 2, random_state=1)


def test_new_text_has_fewer_unseen_words_than_pairs():
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, 301)
    texts = [rng.choice(300, p=weights / weights.sum(), size=2000).tolist() for _ in range(2)]
    coverage = measure_ngram_coverage(texts[:1], texts[1:], max_order=3, n_sizes=5)
    assert coverage.tokens[-1] == 2000
    assert (np.diff(coverage.unseen, axis=0) > 0).all()  # longer n-grams are rarer
    assert (np.diff(coverage.unseen, axis=1) <= 0).all()  # more text, fewer surprises
    seen = set(pairwise(texts[0]))
    pairs = list(pairwise(texts[1]))
    assert coverage.unseen[1, -1] == pytest.approx(np.mean([pair not in seen for pair in pairs]))
    assert coverage.kinds[1, -1] == len(seen)


def test_one_sequence_may_come_without_a_list():
    for one in ("abba", np.array(["a", "b", "b", "a"])[None]):
        chain = MarkovChain().fit(one)
        assert_allclose(chain.transition_matrix_, [[0, 1], [0.5, 0.5]])
    for numbers in (np.array([0, 1, 1, 0]), [0, 1, 1, 0]):
        assert_allclose(MarkovChain().fit(numbers).transition_matrix_, [[0, 1], [0.5, 0.5]])
    with pytest.raises(TypeError, match="not int"):
        MarkovChain().fit(5)
    with pytest.raises(ValueError, match="NaN"):
        MarkovChain().fit([[1.0, float("nan")]])


def test_a_flat_list_of_words_is_one_sequence_of_words():
    words = ["sun", "rain", "sun", "sun"]
    expected = MarkovChain().fit([words])
    assert expected.states_ == ["rain", "sun"]
    for flat in (words, tuple(words), np.array(words), pd.Series(words)):
        chain = MarkovChain().fit(flat)
        assert chain.states_ == ["rain", "sun"]
        assert chain.statistic_.starts.tolist() == [0, 1]
    assert_array_equal(MarkovChain().fit(words).transition_matrix_, expected.transition_matrix_)
    assert_array_equal(MarkovChain().fit(words).log_prob(words), expected.log_prob([words]))
    letters = MarkovChain().fit([list(word) for word in words])
    assert letters.states_ == sorted(set("sunrain"))
    with pytest.raises(ValueError, match="entry 1 is the state 'b', others are sequences"):
        MarkovChain().fit([["a", "b"], "b"])


def test_a_table_is_refused_with_the_cure():
    frame = pd.DataFrame({"s": [0, 1, 0]})
    chain = MarkovChain().fit(frame["s"])
    assert chain.states_ == [0, 1]
    for table in (frame, {"s": [0, 1, 0]}):
        for ask in (MarkovChain().fit, chain.log_prob, chain.score):
            with pytest.raises(TypeError, match="give one column of it"):
                ask(table)


def test_lengths_are_checked_as_those_of_hidden_markov_models():
    steps = [0, 1, 0, 1, 1, 0]
    for lengths, words in (
        ([7, -1], "sequence 1 has -1 steps"),
        ([2.5, 3.5], "whole number for each"),
        ([np.inf], "whole number for each"),
        ([2, 3], "doesn't sum to 6"),
    ):
        with pytest.raises(ValueError, match=words):
            MarkovChain().fit(steps, lengths=lengths)
    cut = MarkovChain().fit([steps[:2], steps[2:]])
    for X in (steps, np.array(steps)[:, None], [[s] for s in steps], pd.Series(steps)):
        chain = MarkovChain().fit(X, lengths=[2, 4])
        assert_array_equal(chain.statistic_.transitions, cut.statistic_.transitions)
        assert list(map(type, chain.states_)) == [int, int]
    assert MarkovChain().fit("abab", lengths=[2, 2]).statistic_.starts.tolist() == [2, 0]
    for X in ([[0, 1], [1, 1]], [[0, 1, 0], [1]]):
        with pytest.raises(ValueError, match="a list of sequences needs no lengths"):
            MarkovChain().fit(X, lengths=[2, 2])


def test_states_are_named_once():
    with pytest.raises(ValueError, match="0 is given 2 times"):
        MarkovChain(states=[0, 0, 1]).fit([0, 1])
    with pytest.raises(ValueError, match="'a' is given 2 times"):
        MarkovChain.from_matrix(np.eye(2), states=["a", "a"])


def test_states_of_a_given_matrix_keep_their_order():
    chain = MarkovChain.from_matrix([[0.9, 0.1], [0.5, 0.5]], [1, 0], states=["sun", "rain"])
    expected = np.log([0.9 * 0.1, 0.9 * 0.9])
    assert_allclose(chain.log_prob([["sun", "sun", "rain"], ["sun", "sun", "sun"]]), expected)


def test_one_target_needs_no_list():
    chain = MarkovChain().fit([["rain", "sun", "sun", "rain", "rain"]])
    assert_array_equal(chain.hitting_times("rain"), chain.hitting_times(["rain"]))
    assert_array_equal(chain.hitting_probabilities("sun"), chain.hitting_probabilities(["sun"]))
    ladder = MarkovChain.from_matrix(LADDER)
    assert_array_equal(ladder.hitting_probabilities(4), ladder.hitting_probabilities([4]))
    with pytest.raises(ValueError, match="'fog' is not among the states"):
        chain.hitting_times("fog")


@pytest.mark.parametrize("sizes", [(-1,), (2.5,), (3, -1)])
def test_sizes_of_simulations_are_whole_numbers(sizes):
    with pytest.raises(ValueError, match="give a whole number, 0 or more"):
        MarkovChain.from_matrix([[0.5, 0.5], [0.1, 0.9]]).sample(*sizes)
