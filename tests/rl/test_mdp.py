"""Markov decision processes: every way to give them means the same, and mistakes are named."""

import csv

import numpy as np
import pytest
from scipy import sparse

from tenfold import MDP, ValueIteration
from tenfold.rl import GridWorld, MDPWorld, evaluate_policy, grid_world


def random_arrays(seed=0, n=5, k=3):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n, 0.5), size=(n, k))
    return P, rng.normal(size=(n, k, n))


def test_sparse_and_dense_arrays_are_one_process():
    P, R = random_arrays()
    dense = MDP(P, R)
    matrices = [sparse.csr_matrix(P[:, a]) for a in range(3)]
    listed = MDP(matrices, [sparse.csr_array(R[:, a]) for a in range(3)])
    np.testing.assert_allclose(listed.expected_rewards, (P * R).sum(axis=2), atol=1e-12)
    for a, b in zip(dense.transitions, listed.transitions, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-15)


def test_rewards_of_states_actions_and_transitions():
    P, _ = random_arrays()
    r, cost = np.arange(5.0), np.array([0.0, 1.0, 2.0])
    leaving = MDP(P, r, action_cost=cost)
    arriving = MDP(P, r, action_cost=cost, reward_on="arriving")
    np.testing.assert_allclose(leaving.expected_rewards, r[:, None] - cost)
    np.testing.assert_allclose(arriving.expected_rewards, P @ r - cost)
    both = MDP(P, np.broadcast_to(r, (5, 3, 5)), action_cost=cost)
    np.testing.assert_allclose(both.expected_rewards, arriving.expected_rewards)
    np.testing.assert_allclose(MDP(P, r[:, None] - cost).expected_rewards, leaving.expected_rewards)


def test_moves_in_a_file_a_table_and_gymnasiums_dictionary(tmp_path):
    world = grid_world(slip=0.2)
    table = world.to_table()
    table = {name: [str(v) for v in column] for name, column in table.items()}
    with (tmp_path / "moves.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    read = MDP.from_table(tmp_path / "moves.csv", terminal=["(0, 2)"])
    plans = [ValueIteration(0.9, tol=1e-12).fit(mdp) for mdp in (world, read)]
    assert read.states == [str(s) for s in world.states]
    by_name = [plans[1].q_[:, read.actions.index(a)] for a in world.actions]
    np.testing.assert_allclose(np.transpose(by_name), plans[0].q_, atol=1e-12)
    P = {s: {a: [] for a in range(4)} for s in range(world.n_states)}
    t = world.transitions
    for pair in range(4 * world.n_states):
        for e in range(t.indptr[pair], t.indptr[pair + 1]):
            move = (t.probability[e], int(t.next_state[e]), t.reward[e])
            P[pair // 4][pair % 4].append((*move, bool(world.terminal[t.next_state[e]])))
    q = ValueIteration(0.9, tol=1e-12).fit(MDP.from_gymnasium(P)).q_
    np.testing.assert_allclose(q[~world.terminal], plans[0].q_[~world.terminal], atol=1e-12)


def test_states_reached_by_an_end_are_terminal():
    moves = {
        "state": [3, 3],
        "action": ["a", "b"],
        "next_state": [7, 3],
        "probability": [1, 1],
        "reward": [5, 1],
        "terminated": [True, False],
    }
    mdp = MDP.from_table(moves)
    assert mdp.states == [3, 7]
    assert mdp.terminal.tolist() == [False, True]
    np.testing.assert_allclose(ValueIteration(0.5).fit(mdp).values_, [5, 0])


def test_functions_find_the_states():
    """A gambler with three coins who wants eight: bold play wins with probability 3/8."""
    mdp = MDP.from_functions(
        lambda s, a: {s + a: 0.5, s - a: 0.5},
        actions=lambda s: range(1, min(s, 8 - s) + 1),
        start=3,
        reward=lambda _s, _a, after: float(after == 8),
        terminal=lambda s: s in (0, 8),
    )
    plan = ValueIteration(discount=1.0, tol=1e-12).fit(mdp)
    worth = dict(zip(mdp.states, plan.values_, strict=True))
    assert worth == pytest.approx({s: s / 8 if 0 < s < 8 else 0 for s in range(9)}, abs=1e-9)
    assert mdp.start[mdp.states.index(3)] == 1
    with pytest.raises(ValueError, match="max_states=5"):
        MDP.from_functions(lambda s, _: s + 1, actions=[0], start=0, max_states=5)
    with pytest.raises(ValueError, match="state 1, action 'on' leads to 2"):
        MDP.from_functions(lambda s, _: s + 1, actions=["on"], states=[0, 1])


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((2, 1), 0.18, "state 'c', action 'q': .* sum to 0.9"),
        ((2, 1, 0), -0.1, "state 'c', action 'q': .* is -0.1"),
        ((2, 1, 0), np.nan, "state 'c', action 'q': .* is nan"),
        (3, 0.0, "state 'd' has no action"),
    ],
)
def test_mistakes_name_state_and_action(place, value, message):
    P, R = random_arrays()
    P[place] = value
    with pytest.raises(ValueError, match=message):
        MDP(P, R, states="abcde", actions="pqr")


def test_missing_rewards_name_state_and_action():
    P, R = random_arrays()
    R[2, 1, 0] = np.nan
    with pytest.raises(ValueError, match=r"state 'c', action 'q': the reward .* nan"):
        MDP(P, R, states="abcde", actions="pqr")


def test_shapes_names_and_starts_are_checked():
    P, R = random_arrays()
    with pytest.raises(ValueError, match="transpose"):
        MDP(P.transpose(1, 0, 2), R)
    with pytest.raises(ValueError, match="rewards has shape"):
        MDP(P, np.ones(4))
    with pytest.raises(ValueError, match="there is no state 9"):
        MDP(P, R, terminal=[9])
    with pytest.raises(ValueError, match="5 different names"):
        MDP(P, R, states="aabcd")
    with pytest.raises(ValueError, match="start='z'"):
        MDP(P, R, start="z")
    with pytest.raises(ValueError, match="start in state 4, which is terminal"):
        MDP(P, R, start=4, terminal=[4])
    with pytest.raises(ValueError, match="nothing to do"):
        MDPWorld(MDP(P, R, terminal=range(5)))
    with pytest.raises(ValueError, match="takes action 3 in state 1"):
        MDP(P, R).chain([0, 3, 0, 0, 0])
    with pytest.raises(ValueError, match="policy in state 0 is"):
        MDP(P, R).chain(np.full((5, 3), 0.5))


def test_actions_that_do_not_exist_are_never_taken():
    P, R = random_arrays()
    r = (P * R).sum(axis=2)
    r[:, 1] = -np.inf
    without = MDP(P, r)
    plan = ValueIteration(0.9).fit(without)
    reference = ValueIteration(0.9).fit(MDP(P[:, [0, 2]], r[:, [0, 2]]))
    np.testing.assert_allclose(plan.values_, reference.values_, atol=2e-6)
    assert (plan.policy_ != 1).all()
    assert np.isneginf(plan.q_[:, 1]).all()


def test_utilities_are_bounded_by_the_largest_reward():
    P, R = random_arrays()
    mdp = MDP(P, R)
    bound = mdp.value_bound(0.9)
    assert bound == pytest.approx(np.abs((P * R).sum(axis=2)).max() / 0.1)
    for seed in range(20):
        policy = np.random.default_rng(seed).integers(0, 3, 5)
        assert np.abs(evaluate_policy(mdp, policy, 0.9)).max() <= bound
    with pytest.raises(ValueError, match="discount=1"):
        mdp.value_bound(1)


def test_one_action_and_equal_rewards_make_a_markov_chain():
    P, _ = random_arrays(k=1)
    values = evaluate_policy(MDP(P, np.full(5, 2.0)), np.zeros(5, int), 0.9)
    np.testing.assert_allclose(values, 20.0)


def test_grid_moves_as_the_notes_say():
    """Lower left corner, "up": 80 % up, 10 % to the right, 10 % against the border."""
    world = grid_world(slip=0.2)
    t = world.transitions
    pair = world.states.index((2, 0)) * 4  # up
    moves = slice(t.indptr[pair], t.indptr[pair + 1])
    got = {
        world.states[s]: p for s, p in zip(t.next_state[moves], t.probability[moves], strict=True)
    }
    assert got == pytest.approx({(1, 0): 0.8, (2, 1): 0.1, (2, 0): 0.1})
    assert np.isnan(world.to_grid(np.zeros(8))[1, 1])
    with pytest.raises(ValueError, match="same length"):
        GridWorld(["..", "."], {})
