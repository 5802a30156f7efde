"""Planning against closed forms, brute force over all policies, and linear programs."""

import warnings
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import MDP, FiniteHorizon, PolicyIteration, ValueIteration
from tenfold.rl import (
    GridWorld,
    evaluate_policy,
    greedy_policy,
    grid_world,
    maze,
    optimal_actions,
    value_iteration,
    value_iteration_steps,
)
from tenfold.rl._planning_numba import LANES
from tenfold.rl._state_orders_numba import strong_parts

GO = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
PLANNERS = [
    ValueIteration(0.9, tol=1e-9),
    ValueIteration(0.9, tol=1e-9, order="given"),
    ValueIteration(0.9, tol=1e-9, order="given", iterate="q"),
    PolicyIteration(0.9),
    PolicyIteration(0.9, sweeps=4, tol=1e-9),
]


def two_states():
    return MDP(GO, [[0.1, 0], [1, 0.5]])


def random_mdp(seed, n=3, k=2, *, ends=False):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n, 0.6), size=(n, k))
    terminal = [n - 1] if ends else None
    return MDP(P, rng.normal(size=(n, k, n)), terminal=terminal)


def best_by_brute_force(mdp, discount):
    policies = product(range(mdp.n_actions), repeat=mdp.n_states)
    return np.max([evaluate_policy(mdp, np.array(p), discount) for p in policies], axis=0)


@pytest.mark.parametrize("planner", PLANNERS, ids=str)
def test_worked_numbers_of_two_states(planner):
    plan = planner.fit(two_states())
    np.testing.assert_allclose(plan.values_, [9, 10], atol=1e-8)
    assert plan.policy_.tolist() == [1, 0] == plan.predict([0, 1]).tolist()
    assert plan.converged_


@pytest.mark.parametrize("planner", PLANNERS, ids=str)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), ends=st.booleans())
def test_planners_find_the_best_of_all_policies(planner, seed, ends):
    mdp = random_mdp(seed, ends=ends)
    plan, best = planner.fit(mdp), best_by_brute_force(mdp, 0.9)
    np.testing.assert_allclose(plan.values_, best, atol=1e-8)
    np.testing.assert_allclose(plan.q_.max(axis=1), plan.values_, atol=1e-9)
    assert mdp.bellman_residual(plan.values_, 0.9) < 1e-8
    loss = (best - evaluate_policy(mdp, plan.policy_, 0.9)).max()
    assert loss <= plan.bounds_.policy_loss + 1e-12
    assert (plan.bounds_.lower <= best + 1e-12).all()
    assert (best <= plan.bounds_.upper + 1e-12).all()


def test_bounds_hold_long_before_convergence():
    mdp = random_mdp(1, n=8, k=3)
    best = ValueIteration(0.95, tol=1e-12).fit(mdp).values_
    for sweeps in (1, 3, 10):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            plan = ValueIteration(0.95, order="given", max_iter=sweeps).fit(mdp)
        assert (plan.bounds_.lower <= best).all()
        assert (best <= plan.bounds_.upper).all()
        loss = (best - evaluate_policy(mdp, plan.policy_, 0.95)).max()
        assert loss <= plan.bounds_.policy_loss


def test_the_linear_program_has_the_same_values():
    """min sum V  subject to  V(s) >= R(s, a) + discount sum_s' T(s, a, s') V(s')."""
    mdp, g = random_mdp(2, n=12, k=4), 0.9
    A = g * mdp._matrix.toarray() - np.repeat(np.eye(12), 4, axis=0)
    found = linprog(np.ones(12), A, -mdp.expected_rewards.ravel(), bounds=(None, None))
    np.testing.assert_allclose(ValueIteration(g, tol=1e-9).fit(mdp).values_, found.x, atol=1e-7)


@pytest.mark.parametrize(
    ("cost", "discount", "slip", "value", "first"),
    [
        (0.01, 0.9, 0.2, 0.3581, "left"),
        (10, 0.9, 0.2, -24.2501, "up"),
        (0.01, 1.0, 0.0, 0.94, "left"),
        (10, 1.0, 0.0, -20, "up"),
    ],
)
def test_grid_world_of_the_notes(cost, discount, slip, value, first):
    world = grid_world(cost, slip)
    at = int(world.start.argmax())
    for planner in (ValueIteration(discount), PolicyIteration(discount)):
        plan = planner.fit(world)
        assert plan.values_[at] == pytest.approx(value, abs=5e-5)
        assert world.actions[plan.policy_[at]] == first


def test_the_way_round_is_left_at_a_cost_of_a_quarter():
    for cost, first in ((0.2499, ["left"]), (0.25, ["up", "left"]), (0.2501, ["up"])):
        world = grid_world(cost)
        best = ValueIteration(1.0).fit(world).optimal_actions_[int(world.start.argmax())]
        assert [a for a, is_best in zip(world.actions, best, strict=True) if is_best] == first


def test_values_of_the_grid_at_half_discount():
    world = grid_world(cost=0)
    values = world.to_grid(ValueIteration(0.5).fit(world).values_)
    expected = [[0.5, 1, 0], [0.25, np.nan, 1], [0.125, 0.0625, 0.03125]]
    np.testing.assert_allclose(values, expected, atol=1e-6)


def test_error_shrinks_by_the_discount():
    mdp, g = random_mdp(3, n=20, k=3), 0.8
    best = ValueIteration(g, tol=1e-13).fit(mdp).values_
    errors = [np.abs(V - best).max() for V in islice(value_iteration_steps(mdp, g), 30)]
    assert (np.divide(errors[1:], errors[:-1]) <= g + 1e-9).all()
    history = ValueIteration(g, order="given").fit(mdp).history_
    assert (history["contraction"][1:] <= g + 1e-9).all()
    single = MDP(np.ones((1, 1, 1)), [1.0])
    gaps = [10 - V[0] for V in islice(value_iteration_steps(single, 0.9), 20)]
    np.testing.assert_allclose(np.divide(gaps[1:], gaps[:-1]), 0.9)


def test_sweeps_of_value_iteration_are_finite_horizons():
    mdp = random_mdp(4)
    plan = FiniteHorizon(6, discount=0.9).fit(mdp)
    np.testing.assert_allclose(plan.values_[1:], [*islice(value_iteration_steps(mdp, 0.9), 6)])


def test_policy_iteration_takes_fewer_rounds():
    plan = PolicyIteration(0.9, initial_policy=[0, 0]).fit(two_states())
    assert plan.n_iter_ == 2
    assert plan.history_["changed"].tolist() == [1, 0]
    sweeps = ValueIteration(0.9, order="given", tol=0.9 / 0.1 * 1e-10).fit(two_states())
    assert sweeps.n_iter_ == 220  # until no value changes by 1e-10


def test_modified_policy_iteration_without_sweeps_is_value_iteration():
    mdp = random_mdp(5)
    low = min(mdp.expected_rewards.max(axis=1).min(), 0) / 0.1
    steps = [*islice(value_iteration_steps(mdp, 0.9, np.full(3, low)), 7)]
    with pytest.warns(ConvergenceWarning):
        plan = PolicyIteration(0.9, sweeps=0, max_iter=6).fit(mdp)
    np.testing.assert_allclose(plan.values_, steps[-1])


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_finite_horizon_is_the_best_of_all_policies_over_time(seed):
    mdp, T = random_mdp(seed, n=2, k=2), 3
    plan = FiniteHorizon(T).fit(mdp)
    rows = [np.array(p) for p in product(range(2), repeat=2)]
    every = product(rows, repeat=T)
    values = [evaluate_policy(mdp, np.array([rows[0], *p]), 1.0, horizon=T)[T] for p in every]
    np.testing.assert_allclose(plan.values_[T], np.max(values, axis=0), atol=1e-12)
    np.testing.assert_allclose(evaluate_policy(mdp, plan.policy_, 1.0, horizon=T), plan.values_)


def test_the_policy_depends_on_the_time_left():
    plan = FiniteHorizon(3).fit(two_states())
    np.testing.assert_allclose(plan.values_[1:], [[0.1, 1], [1, 2], [2, 3]])
    assert plan.predict([0], 1) == [0]
    assert plan.predict([0], 2) == [1] == plan.predict([0])
    action, left = plan.act(0)
    assert (action, left) == (1, 2)
    assert plan.act(0, 1) == (0, 0)
    with pytest.raises(ValueError, match="steps_left=4"):
        plan.predict([0], 4)


def test_evaluation_exact_iterative_and_by_krylov():
    world = maze(35, 35, slip=0.2, random_state=1)
    policy = ValueIteration(0.95).fit(world).policy_
    exact = evaluate_policy(world, policy, 0.95)
    P, r = world.chain(policy)
    dense = np.linalg.solve(np.eye(world.n_states) - 0.95 * P.toarray(), r)
    np.testing.assert_allclose(exact, dense, rtol=1e-9)
    slow = evaluate_policy(world, policy, 0.95, method="iterative", tol=1e-10)
    np.testing.assert_allclose(slow, dense, rtol=1e-7)
    np.testing.assert_allclose(
        evaluate_policy(two_states(), [[1, 0], [1, 0]], 0.9),
        evaluate_policy(two_states(), [0, 0], 0.9),
    )


def test_order_does_not_change_what_is_found():
    world = maze(30, 40, slip=0.2, walls=0.3, random_state=3)
    ordered, given_order = (
        ValueIteration(0.97, tol=1e-8, order=o).fit(world) for o in ("auto", "given")
    )
    np.testing.assert_allclose(ordered.values_, given_order.values_, atol=2e-8)
    assert ordered.n_iter_ < given_order.n_iter_ / 3


def test_ties_are_told_and_the_first_best_action_is_taken():
    q = [[1.0, 1.0 + 1e-12, 0], [0, 2, 1]]
    assert optimal_actions(q).tolist() == [[True, True, False], [False, True, False]]
    assert greedy_policy(q).tolist() == [0, 1]


@pytest.mark.parametrize("planner", [ValueIteration(1.0), PolicyIteration(1.0)], ids=str)
def test_no_discount_where_it_pays_to_go_on(planner):
    with pytest.raises(ValueError, match="one can go on forever and earn at least"):
        planner.fit(MDP(GO, [[-5, -5], [1, 0.5]]))
    with pytest.raises(ValueError, match="from state 0 the process can never end"):
        planner.fit(MDP(GO, [[-1, -1], [-1, -1]]))


@pytest.mark.parametrize("planner", [ValueIteration(1.0), PolicyIteration(1.0)], ids=str)
def test_no_discount_where_it_ends(planner):
    world = GridWorld(["S..G"], {"G": 1.0}, cost=0.1, slip=0.0)
    np.testing.assert_allclose(planner.fit(world).values_, [0.7, 0.8, 0.9, 0], atol=1e-9)
    rest = MDP(GO, [[0, -1], [-2, -3]])  # staying in state 0 costs nothing
    np.testing.assert_allclose(ValueIteration(1.0).fit(rest).values_, [0, -3])
    there_and_back = MDP(GO, [[-1, 3], [-1, -4]])  # a round costs 1
    with pytest.raises(ValueError, match="never end"):
        planner.fit(there_and_back)


def test_wrong_states_and_parameters():
    plan = ValueIteration().fit(two_states())
    with pytest.raises(ValueError, match="state 2 does not exist"):
        plan.predict([2])
    with pytest.raises(ValueError, match="list of state numbers"):
        plan.predict([0.5])
    with pytest.raises(ValueError, match="discount"):
        ValueIteration(1.5).fit(two_states())
    with pytest.raises(ValueError, match='set order="given"'):
        ValueIteration(iterate="q").fit(two_states())
    with pytest.raises(ValueError, match="never ends under this policy"):
        evaluate_policy(two_states(), [0, 0], 1.0)


@pytest.mark.parametrize("planner", [ValueIteration(0.9), PolicyIteration(0.9), FiniteHorizon(3)])
def test_plans_are_saved(planner, tmp_path):
    plan = planner.fit(two_states())
    plan.save(tmp_path / "plan.tenfold")
    loaded = tenfold.load(tmp_path / "plan.tenfold")
    np.testing.assert_array_equal(loaded.q_, plan.q_)
    assert (loaded.predict([0, 1]) == plan.predict([0, 1])).all()


@pytest.mark.parametrize("planner", PLANNERS, ids=str)
def test_ctrl_c_keeps_what_is_found(planner, monkeypatch):
    """The values so far, with bounds that hold."""
    mdp, calls = random_mdp(7, n=6, k=3), []
    best = best_by_brute_force(mdp, 0.9)
    original = MDP.action_values

    def interrupt(*_):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    def action_values(self, values, discount):
        interrupt()
        return original(self, values, discount)

    monkeypatch.setattr(MDP, "action_values", action_values)
    monkeypatch.setattr(value_iteration, "report_objective", interrupt)
    planner = clone(planner).set_params(tol=1e-300)
    with pytest.raises(KeyboardInterrupt):
        planner.fit(mdp)
    assert not planner.converged_
    assert (planner.bounds_.lower <= best + 1e-12).all()
    assert (best <= planner.bounds_.upper + 1e-12).all()


def connected_mdp(seed):
    """Up to 150 states in parts of all sizes, some closed, with up to ten actions."""
    rng = np.random.default_rng(seed)
    n, k, b = rng.integers(1, 150), rng.integers(1, 11), rng.integers(1, 4)
    P = np.zeros((n, k, n))
    for s, a in product(range(n), range(k)):
        near = np.clip(s + rng.integers(-2, 3, b), 0, n - 1)
        after = rng.integers(0, n, b) if rng.random() < 0.2 else near
        np.add.at(P[s, a], after, rng.dirichlet(np.ones(b)))
    missing = rng.random((n, k)) < 0.2
    missing[:, 0] = False
    rewards = np.where(missing, -np.inf, rng.normal(size=(n, k)))
    return MDP(P, rewards, terminal=(rng.random(n) < 0.1) & (np.arange(n) > 0))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("discount", [0.0, 0.9, 0.999])
def test_parts_of_all_sizes(seed, discount):
    """Exact policy iteration lies within the bounds; the plan is that of its values."""
    mdp = connected_mdp(seed)
    plan = ValueIteration(discount, tol=1e-7).fit(mdp)
    exact = PolicyIteration(discount).fit(mdp).values_
    assert plan.converged_
    np.testing.assert_allclose(plan.values_, exact, rtol=0, atol=1.1e-7)
    assert (plan.bounds_.lower <= exact + 1e-9).all()
    assert (exact <= plan.bounds_.upper + 1e-9).all()
    np.testing.assert_array_equal(plan.optimal_actions_, optimal_actions(plan.q_))
    np.testing.assert_array_equal(plan.policy_, greedy_policy(plan.q_))


def test_strongly_connected_parts_are_those_of_scipy():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60))
        edges = sparse.random_array((n, n), density=1.5 / n, rng=rng, format="csr")
        starts, after = edges.indptr.astype(np.int64), edges.indices.astype(np.int32)
        labels, parts = strong_parts(starts, after, n)
        number, expected = connected_components(edges, directed=True, connection="strong")
        assert parts == number == len(set(zip(labels, expected, strict=True)))
        assert (labels[after] <= labels[np.repeat(np.arange(n), np.diff(starts))]).all()


def test_history_of_ordered_sweeps():
    """A change for each sweep, and in the end the residual of the plan."""
    mdp = maze(12, 12, slip=0.2)
    history = ValueIteration(0.99).fit(mdp).history_
    assert len(history["residual"]) == len(history["seconds"]) == len(history["contraction"]) > 5
    assert history["residual"][-1] <= 1e-8 < history["residual"][0]
    assert (np.diff(history["seconds"]) >= 0).all()


def test_a_common_error_of_all_values_goes_at_once():
    """Sweeps shrink it by the discount alone: some 14,000 of them for 0.999."""
    rng = np.random.default_rng(0)
    mdp = MDP(rng.dirichlet(np.ones(60), size=(60, 3)), rng.normal(size=(60, 3)))
    plan = ValueIteration(0.999).fit(mdp)
    assert plan.n_iter_ < 200
    np.testing.assert_allclose(plan.values_, PolicyIteration(0.999).fit(mdp).values_, atol=1e-6)


def test_sweeps_go_on_alone_where_relaxation_leads_astray(monkeypatch):
    improve, trusted = value_iteration.parts.improve, []

    def go_astray(layout, values, policy, actions, rows, limits, is_trusted, is_discounted):
        found = improve(layout, values, policy, actions, rows, limits, is_trusted, is_discounted)
        trusted.append(is_trusted)
        if limits[-1] > 0 and found[0] > limits[0]:
            values += np.arange(len(values))
        return found

    monkeypatch.setattr(value_iteration.parts, "improve", go_astray)
    mdp = maze(8, 8, slip=0.2)
    plan = ValueIteration(0.9).fit(mdp)
    assert plan.converged_
    assert trusted[0]
    assert not trusted[-1]
    np.testing.assert_allclose(plan.values_, PolicyIteration(0.9).fit(mdp).values_, atol=1e-6)


@pytest.mark.parametrize("size", [2, 40])
def test_a_discount_that_is_nearly_one(size):
    """Whoever stays is paid for ever; a way out of a costly stay is not taken for a dead end."""
    P = np.zeros((size, 2, size))
    P[:, 0] = np.eye(size)
    P[:, 1] = np.roll(np.eye(size), 1, axis=1)
    rewards = np.full((size, 2), -1.0)
    rewards[0, 0] = 1e-12
    discount = 1 - 1e-13
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rounding is not certified
        plan = ValueIteration(discount).fit(MDP(P, rewards))
    np.testing.assert_allclose(plan.values_, 10 - np.arange(size, 0, -1) % size, atol=0.02)
    assert plan.policy_.tolist() == [0] + [1] * (size - 1)


def test_actions_beside_those_of_a_full_lane():
    """Any number of actions, some of which are missing or lead to the same states."""
    rng = np.random.default_rng(0)
    for k in range(1, 14):
        P = rng.dirichlet(np.full(7, 0.3), size=(7, k))
        P[P < 0.05] = 0
        P /= P.sum(axis=2, keepdims=True)
        rewards = np.where(rng.random((7, k)) < 0.3, -np.inf, rng.normal(size=(7, k)))
        rewards[:, k // 2] = 0.0
        mdp = MDP(P, rewards, terminal=[6])
        plan = ValueIteration(0.9, tol=1e-10).fit(mdp)
        exact = PolicyIteration(0.9).fit(mdp)
        np.testing.assert_allclose(plan.values_, exact.values_, atol=1e-9)
        np.testing.assert_array_equal(plan.policy_, exact.policy_)


def test_small_parts_that_are_hardly_ever_left():
    """Sweeps to and fro would need some 200,000."""
    rng, size, n = np.random.default_rng(0), 20, 100
    P, base = np.zeros((n, 2, n)), np.arange(n) // size * size
    for s, a in product(range(n), range(2)):
        P[s, a, base[s] : base[s] + size] = rng.dirichlet(np.ones(size))
    P[:, 1, 0] += 1e-6
    mdp = MDP(P / P.sum(axis=2, keepdims=True), rng.normal(size=(n, 2)))
    plan = ValueIteration(0.9999).fit(mdp)
    assert plan.converged_
    assert plan.n_iter_ < 500
    np.testing.assert_allclose(plan.values_, PolicyIteration(0.9999).fit(mdp).values_, atol=1e-6)


def test_over_relaxed_sweeps_and_shifts_do_not_lead_astray():
    """Two groups of states, which are left for each other at times; both means diverge here."""
    rng, n, k = np.random.default_rng(48), 90, 4
    P, s = np.zeros((n, k, n)), np.arange(n)
    for a in range(k):
        leave = 10 ** -rng.uniform(0.5, 5)
        leave = np.where(s < n // 2, leave, min(1, leave * rng.uniform(0.01, 100)))
        here, there = rng.integers(0, n // 2, (2, n))
        P[s, a, np.where(s < n // 2, here, n - 1 - here)] += 1 - leave
        P[s, a, np.where(s < n // 2, n - 1 - there, there)] += leave
    mdp = MDP(P, rng.normal(size=(n, k)) * 10.0 ** rng.integers(-2, 3, (n, 1)))
    plan = ValueIteration(0.999, max_iter=1000).fit(mdp)
    assert plan.converged_
    np.testing.assert_allclose(plan.values_, PolicyIteration(0.999).fit(mdp).values_, atol=2e-6)


@pytest.mark.parametrize("planner", [ValueIteration(0.999), PolicyIteration(0.999)], ids=str)
def test_bounds_count_what_a_near_tie_may_cost(planner):
    """The first action counts as equally good, and loses 5e-4 in each step."""
    mdp = MDP(np.ones((1, 2, 1)), [[999.9995, 1000.0]])
    plan = planner.fit(mdp)
    assert plan.policy_.tolist() == [0]
    assert plan.bounds_.policy_loss >= 0.5 - 1e-6
    assert plan.bounds_.lower[0] <= evaluate_policy(mdp, plan.policy_, 0.999)[0] + 1e-6
    assert plan.bounds_.upper[0] >= 1e6 - 1e-6


def lay_out_largest(mdp, discount):
    """The largest part of a process as the solver lays it out, with its states in order."""
    solver = value_iteration.PartSolver(mdp, discount, np.inf)
    ends = [0, *solver.ends.tolist()]
    span = (ends[solver.largest], ends[solver.largest + 1])
    here = solver._lay_out(np.zeros(mdp.n_states), span, is_new=True)
    return here, here.states


def dense_part(layout, k):
    """(n, k, n) discounted probabilities of leaving, and (n, k) rewards, of a part's layout."""
    head, head_weight, tail, after, weight, own = layout
    n = len(own) // (groups := -(-k // LANES))
    P = np.zeros((n, groups * LANES, n))
    for g in range(len(own)):
        lanes = P[g // groups, g % groups * LANES :][:LANES]
        for t, w in zip(head[g], head_weight[g], strict=True):
            lanes[:, t] += w
        for e in range(tail[g], tail[g + 1]):
            lanes[:, after[e]] += weight[e]
    return P[:, :k], own.reshape(n, -1)[:, :k]


@pytest.mark.parametrize("seed", range(6))
def test_a_part_that_is_laid_out_has_the_same_values(seed):
    """Few and many actions, short and long tails: the optimum of the layout is that of the plan."""
    rng = np.random.default_rng(seed)
    n, k = 40, [1, 2, 4, 5, 8, 11][seed]
    P = rng.dirichlet(np.full(n, [0.05, 1][seed % 2]), size=(n, k))
    P[P < 1e-3] = 0
    P[np.arange(n), :, (np.arange(n) + 1) % n] += 0.01  # one part
    mdp = MDP(P / P.sum(axis=2, keepdims=True), rng.normal(size=(n, k)), terminal=[0])
    here, states = lay_out_largest(mdp, 0.9)
    weights, rewards = dense_part(here.layout, k)
    V = np.zeros(len(states))
    for _ in range(400):
        V = (rewards + weights @ V).max(axis=1)
    exact = PolicyIteration(0.9).fit(mdp).values_
    np.testing.assert_allclose(V, exact[states], atol=1e-9)


def test_states_come_in_the_order_of_their_distance_from_the_goal():
    """Whatever their numbers are, first values are near the best ones after one pass."""
    world = maze(20, 20, walls=0.2, slip=0.1, random_state=2)
    here, states = lay_out_largest(world, 0.99)
    goal = world.cells[np.flatnonzero(world.terminal)[0]]
    steps = np.abs(world.cells[states] - goal).sum(axis=1)
    assert steps[0] == 1  # beside the goal
    assert np.corrcoef(steps, np.arange(len(steps)))[0, 1] > 0.8
    best = PolicyIteration(0.99).fit(world).values_
    assert np.abs(here.values - best[states]).max() < 0.2 * np.ptp(best)


def test_relaxation_solves_the_system_of_a_policy():
    """Over-relaxed sweeps end at the values of the policy, and never trust steps that grow."""
    world = maze(12, 12, slip=0.2, random_state=1)
    here, states = lay_out_largest(world, 0.95)
    parts = value_iteration.parts
    parts.update_rows(here.layout, here.policy, here.actions, here.rows)
    _, trusted = parts.relax(here.rows, here.values, 1e-12, 500, True, False)
    policy = np.zeros(world.n_states, np.int64)
    policy[states] = here.policy
    exact = evaluate_policy(world, policy, 0.95)
    np.testing.assert_allclose(here.values, exact[states], atol=1e-9)
    assert (here.rows[1] >= 1).all()
    here.rows[1][:] = 3.0  # factors of steps that diverge
    here.values[:] = 0.0
    _, trusted = parts.relax(here.rows, here.values, 1e-12, 500, True, False)
    assert not trusted
    np.testing.assert_allclose(here.values, exact[states], atol=1e-9)


@pytest.mark.parametrize("discount", [0.5, 0.99, 0.9999, 1.0])
@pytest.mark.parametrize("slip", [0.0, 0.3, 0.9])
def test_mazes_with_numbers_in_any_order(discount, slip):
    """States have no order that helps, there are pits and two goals, and parts cannot be left."""
    rng = np.random.default_rng(5)
    rows = ["".join(row) for row in rng.choice(list("....#x"), (14, 14))]
    rows[0], rows[-1] = "S" + rows[0][1:], rows[-1][:-1] + "G"
    rows[7] = rows[7][:7] + "H" + rows[7][8:]
    cost = 0.0 if discount == 1 else 0.01
    prizes = {"G": 1.0, "H": 0.5, "x": -0.2 if cost else 0.0}
    world = GridWorld(rows, prizes, cost=cost, slip=slip, ending="GH")
    shuffled = rng.permutation(world.n_states)
    number = np.argsort(shuffled)
    table = world.to_table()
    column = {name: i for i, name in enumerate(map(str, world.states))}
    for name in ("state", "next_state"):
        table[name] = [int(number[column[s]]) for s in table[name]]
    ends = number[np.flatnonzero(world.terminal)].tolist()
    mdp = MDP.from_table(table, terminal=ends)
    plan = ValueIteration(discount, tol=1e-8).fit(mdp)
    assert plan.converged_
    expected = PolicyIteration(discount).fit(world).values_
    np.testing.assert_allclose(
        plan.values_, expected[shuffled], atol=1e-6 if discount == 1 else 3e-8
    )
    if discount < 1:
        assert (plan.bounds_.lower <= expected[shuffled] + 1e-9).all()
        assert (expected[shuffled] <= plan.bounds_.upper + 1e-9).all()
