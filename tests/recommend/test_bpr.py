"""Personalized ranking: planted groups, gradients, and the same bits twice."""

import numpy as np
import pytest

from tenfold import BPR, ImplicitALS
from tenfold.recommend import evaluate_ranking
from tenfold.recommend._bpr_numba import drop_liked, run_epoch


def groups(n=60, m=30, seed=0):
    rng = np.random.default_rng(seed)
    pairs = np.array([(u, i) for u in range(n) for i in range(m) if u % 3 == i % 3])
    held = rng.random(len(pairs)) < 0.2
    return pairs[~held], pairs[held]


@pytest.mark.parametrize("negatives", ["uniform", "popular"])
def test_items_of_the_own_group_come_first(negatives):
    train, test = groups()
    model = BPR(8, negatives=negatives, random_state=0).fit(train)
    assert evaluate_ranking(model, test, k=2).values()["ndcg"] > 0.95
    assert model.ordered_share_ > 0.95


def test_a_step_follows_the_gradient_of_the_log_likelihood():
    rng = np.random.default_rng(0)
    x, y, bias = rng.normal(size=(1, 8)), rng.normal(size=(2, 8)), rng.normal(size=2)

    def loss(x, y, bias):
        z = x[0] @ (y[0] - y[1]) + bias[0] - bias[1]
        return np.log1p(np.exp(-z)) + 0.05 * ((x**2).sum() + (y**2).sum() + (bias**2).sum())

    before, moved = (x, y, bias), (x.copy(), y.copy(), bias.copy())
    one = np.zeros(1, np.int32)
    run_epoch(one, one + 1, one, one, *moved, 1e-6, 0.1)
    for part in range(3):
        step = (moved[part] - before[part]) / 1e-6
        for place in np.ndindex(step.shape):
            up, down = ([a.copy() for a in before] for _ in range(2))
            up[part][place] += 1e-5
            down[part][place] -= 1e-5
            assert -step[place] == pytest.approx((loss(*up) - loss(*down)) / 2e-5, abs=1e-4)


def test_items_that_the_user_has_are_no_negatives():
    rng, m = np.random.default_rng(0), 20
    liked = [np.sort(rng.choice(m, size, replace=False)) for size in (0, 5, 20, 1)]
    starts = np.cumsum([0, *map(len, liked)])
    items = np.concatenate(liked).astype(np.int32)
    negative = rng.integers(m, size=len(items), dtype=np.int32)
    owner = np.repeat(np.arange(4), np.diff(starts))
    expected = [-1 if j in liked[u] else j for u, j in zip(owner, negative, strict=True)]
    drop_liked(starts, items, negative, m)
    assert negative.tolist() == expected


def test_entries_without_a_negative_are_left_out():
    rng = np.random.default_rng(0)
    start = rng.normal(size=(3, 8)), rng.normal(size=(6, 8)), np.zeros(6)
    users, items = np.array([0, 1, 2, 2], np.int32), np.array([0, 1, 2, 3], np.int32)
    negative = np.array([4, -1, 5, -1], np.int32)
    some, kept = ([a.copy() for a in start] for _ in range(2))
    sums = run_epoch(np.arange(4), negative, users, items, *some, 0.1, 0.1)
    again = run_epoch(np.array([0, 2]), negative, users, items, *kept, 0.1, 0.1)
    assert sums == again
    assert sums[2] == 2
    assert all((a == b).all() for a, b in zip(some, kept, strict=True))


def test_new_users_are_placed_beside_those_with_the_same_items():
    train, _ = groups()
    model = BPR(8, random_state=0).fit(train)
    best = model.recommend(ratings=[0, 3, 6, 9], n=4).items
    assert all(i % 3 == 0 for i in best)


def test_reasons_and_their_rest_add_up():
    train, _ = groups()
    model = BPR(8, random_state=0).fit(train)
    best = model.recommend(4, 1)
    found = model.explain(4, best.items[0])
    total = found.base + found.rest + sum(r.contribution for r in found.reasons)
    assert total == pytest.approx(best.scores[0])
    assert found.rest < 0.5 * found.score


def test_a_user_who_has_everything_says_nothing():
    with pytest.raises(ValueError, match="every user has every item"):
        BPR(2).fit([[0, 0], [0, 1], [1, 0], [1, 1]])


def test_the_score_of_implicit_models_is_their_ndcg():
    train, test = groups()
    for model in (BPR(8, random_state=0), ImplicitALS(4, random_state=0)):
        model.fit(train)
        assert model.score(test) == evaluate_ranking(model, test).values()["ndcg"]


def test_counts_of_zero_and_below_are_refused():
    with pytest.raises(ValueError, match="zero or negative"):
        BPR(2).fit([["a", "x"], ["a", "y"], ["b", "x"]], [1, 0, 2])
