"""Metrics of top lists by hand, by brute force, and merged from parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import ndcg_score

from tenfold.metrics.recommendation import ranking_totals


def lists(seed=0, users=30, items=12):
    rng = np.random.default_rng(seed)
    order = [rng.permutation(items).tolist() for _ in range(users)]
    return order, [set(rng.permutation(items)[: rng.integers(1, 6)].tolist()) for _ in range(users)]


def test_one_user_by_hand():
    found = ranking_totals([["a", "b", "c", "d"]], [{"b", "d", "x"}], k=4).values()
    ideal = 1 + 1 / np.log2(3) + 0.5
    assert_allclose(found["precision"], 2 / 4)
    assert_allclose(found["recall"], 2 / 3)
    assert_allclose(found["ndcg"], (1 / np.log2(3) + 1 / np.log2(5)) / ideal)
    assert_allclose(found["map"], (1 / 2 + 2 / 4) / 3)
    assert (found["hit_rate"], found["mrr"]) == (1.0, 0.5)


@pytest.mark.parametrize("k", [1, 3, 12])
def test_ndcg_is_scikit_learns(k):
    order, relevant = lists()
    truth = np.array([[item in r for item in range(12)] for r in relevant], float)
    scores = np.array([[-row.index(item) for item in range(12)] for row in order], float)
    assert_allclose(
        ranking_totals(order, relevant, k).values()["ndcg"], ndcg_score(truth, scores, k=k)
    )


def test_parts_merge_to_the_whole():
    order, relevant = lists()
    whole = ranking_totals(order, relevant, 5)
    parts = ranking_totals(order[:11], relevant[:11], 5).merge(
        ranking_totals(order[11:], relevant[11:], 5)
    )
    assert whole.n_users == parts.n_users == 30
    assert_allclose(whole, parts, rtol=1e-12)


def test_users_without_relevant_items_are_left_out_and_short_lists_miss():
    assert ranking_totals([["a"], ["b"]], [{"a"}, set()], k=2).n_users == 1
    assert ranking_totals([["a"]], [{"a"}], k=2).values()["precision"] == 0.5
    assert np.isnan(ranking_totals([], [], 3).values()["ndcg"])


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match="at least one item"):
        ranking_totals([], [], 0)
    with pytest.raises(ValueError, match="2 top lists"):
        ranking_totals([["a"], ["b"]], [{"a"}], 1)


def test_an_item_counts_once_in_a_list():
    for items in (["a", "a"], np.array(["b", "b"])):
        with pytest.raises(ValueError, match=f"top list 1 has the item '{items[0]}' twice"):
            ranking_totals([["a", "b"], items], [{"a"}, {"a"}], k=2)
    beyond = ranking_totals([["a", "b", "a"]], [{"a"}], k=2)  # only the first two count
    assert beyond.values()["recall"] == 1
    short = ranking_totals([np.array(["a", None, None], object)], [{"a"}], k=3)
    assert short.values()["ndcg"] == 1
