"""Worlds, tables and moves that break their own rules: an error that names them, never nonsense."""

import signal
import threading

import numpy as np
import pytest
from sklearn.base import clone

import tenfold
from tenfold import (
    MDP,
    SARSA,
    Bandit,
    DeepQ,
    FiniteHorizon,
    LinearQ,
    PolicyGradient,
    PolicyIteration,
    QLearning,
    ValueIteration,
)
from tenfold.rl import (
    Arms,
    MDPWorld,
    TextGame,
    TransitionModel,
    compare,
    evaluate_policy,
    grid_world,
    maze,
    sample_moves,
    td_update,
)


class Lost(MDPWorld):
    """A world that shows a state which does not exist."""

    shown = 99

    def step(self, action):
        super().step(action)
        return self.shown, 1.0, False, False, {}


AGENTS = [
    QLearning(n_episodes=3),
    SARSA(n_episodes=3),
    LinearQ(n_episodes=3),
    DeepQ(n_episodes=3),
    PolicyGradient(n_episodes=3),
]


@pytest.mark.parametrize("shown", [99, -1, 0.5, "a", float("nan")])
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
def test_states_that_do_not_exist_are_refused(agent, shown):
    world = Lost(grid_world(slip=0.2))
    world.shown = shown
    with pytest.raises(ValueError, match=r"states are whole numbers from 0 to"):
        clone(agent).fit(world)


@pytest.mark.parametrize(
    "move", [(5, 0, 1.0, 1), (0, 0, 1.0, 9), (-1, 0, 1.0, 1), (0, 2, 1.0, 1), (0, 0, np.nan, 1)]
)
def test_moves_outside_of_the_table_are_refused(move):
    with pytest.raises(ValueError, match="of the move"):
        td_update([[0, 0], [2, 1]], move, rate=0.5, discount=0.9)


@pytest.mark.parametrize("rows", [np.ones((2, 3)), np.ones((1, 40)), np.full((1, 4), np.nan)])
@pytest.mark.parametrize("Agent", [LinearQ, DeepQ, PolicyGradient])
def test_observations_of_another_width_are_refused(Agent, rows):
    from tenfold.rl import CartPole

    agent = Agent(n_episodes=2, random_state=0).fit(CartPole())
    with pytest.raises(ValueError, match="expected 4 finite numbers"):
        agent.predict(rows)


def waiting_room(exit_reward):
    """States 0 and 1 lead to each other for nothing; 1 has an exit."""
    P = np.zeros((3, 2, 3))
    P[0, 0, 0] = P[0, 1, 1] = P[1, 0, 0] = P[1, 1, 2] = 1
    P[2, :, 2] = 1
    return MDP(P, [[0, 0], [0, exit_reward], [0, 0]], terminal=[2])


@pytest.mark.parametrize("exit_reward", [-5.0, 0.0, 5.0])
@pytest.mark.parametrize("first", [None, [1, 1, 0], [0, 0, 0], [1, 0, 0]])
def test_going_on_for_nothing_is_an_option_without_discount(exit_reward, first):
    mdp, worth = waiting_room(exit_reward), max(exit_reward, 0.0)
    plan = PolicyIteration(1.0, initial_policy=first).fit(mdp)
    assert plan.values_.tolist() == [worth, worth, 0.0]
    assert plan.converged_
    np.testing.assert_array_equal(plan.values_, FiniteHorizon(60).fit(mdp).values_[-1])


@pytest.mark.parametrize("planner", [ValueIteration(1.0), PolicyIteration(1.0)])
def test_a_policy_without_discount_collects_what_it_promises(planner):
    mdp = waiting_room(5.0)
    plan = planner.fit(mdp)
    assert plan.evaluate(mdp, 5, max_steps=50).mean == 5.0
    np.testing.assert_allclose(evaluate_policy(mdp, plan.policy_, 1.0), plan.values_)
    free = grid_world(cost=0.0)
    plan = planner.fit(free)
    np.testing.assert_allclose(plan.values_, ValueIteration(1.0).fit(free).values_, atol=1e-6)


def test_a_plan_of_an_estimated_model_acts_in_its_world():
    world = grid_world(slip=0.2)
    moves = sample_moves(world, 20_000)
    best = ValueIteration(0.9).fit(world).evaluate(world, max_steps=200)
    planned = ValueIteration(0.9).fit(TransitionModel().fit(moves).to_mdp())
    assert planned.evaluate(world, max_steps=200).mean > best.mean - 0.1
    again = MDP.from_table(world.to_table())
    same = ValueIteration(0.9).fit(again)
    np.testing.assert_array_equal(same.evaluate(world, max_steps=200).returns, best.returns)
    learned = QLearning(0.9, n_episodes=30, random_state=0).fit(moves)
    assert learned.evaluate(world, max_steps=200).mean > best.mean - 0.3
    assert learned.predict([(0, 0)]).tolist() == learned.predict(["(0, 0)"]).tolist()
    with pytest.raises(ValueError, match="does not know state"):
        learned.evaluate(
            MDP(np.ones((1, 4, 1)), np.ones(1), states=["x"], actions=world.actions), 2
        )


def test_transition_models_merge_and_are_cloned():
    world = grid_world()
    parts = [TransitionModel().fit(sample_moves(world, 200, random_state=s)) for s in (0, 1)]
    both = tenfold.merge(*parts)
    assert both.n_moves_ == 400
    assert clone(TransitionModel(state="s")).get_params()["state"] == "s"


@pytest.mark.parametrize("Agent", [QLearning, SARSA])
def test_an_interrupt_leaves_whole_episodes(Agent):
    """What is left to learn gives the table of a fit that was never interrupted."""
    world, episodes = maze(8, 8), 3000
    whole = Agent(n_episodes=episodes, max_steps=200, random_state=0).fit(world)
    agent = clone(whole)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    timer = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT))
    try:
        timer.start()
        agent.fit(world)
        timer.join()
        signal.sigtimedwait([], 0.2)
    except KeyboardInterrupt:
        pass
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    if agent.n_episodes_ < episodes:
        agent.partial_fit(world, episodes - agent.n_episodes_)
    np.testing.assert_array_equal(agent.q_, whole.q_)
    np.testing.assert_array_equal(agent.visits_, whole.visits_)


class Interrupted(MDPWorld):
    """Ctrl-C comes in a step of all episodes."""

    steps, last = 0, None

    def __deepcopy__(self, memo):  # copies of the world share the count
        del memo
        return type(self)(self.mdp)

    def step(self, action):
        type(self).steps += 1
        if type(self).steps == type(self).last:
            raise KeyboardInterrupt
        return super().step(action)


def learned(agent):
    parts = [*getattr(agent, "params_", []), *getattr(agent, "value_params_", [])]
    return [getattr(agent, "theta_", np.zeros(0)), agent.history_["return"], *parts]


FEW = {"n_episodes": 24, "max_steps": 20, "random_state": 0}
REPLAY = {"replay_size": 60, "warmup": 20, "train_every": 4, "gradient_steps": 2}


@pytest.mark.parametrize(
    "agent",
    [
        LinearQ(**FEW),
        DeepQ(layers=(), target_every=3, **REPLAY, **FEW),
        PolicyGradient(layers=(), batch_episodes=4, **FEW),
    ],
    ids=["linear", "deep", "gradient"],
)
def test_an_interrupt_in_any_step_leaves_whole_episodes(agent, monkeypatch):
    monkeypatch.setattr(Interrupted, "last", None)
    monkeypatch.setattr(Interrupted, "steps", 0)
    world = Interrupted(grid_world(slip=0.2))
    whole = clone(agent).fit(world)
    for last in range(1, Interrupted.steps, 23):
        monkeypatch.setattr(Interrupted, "last", last)
        monkeypatch.setattr(Interrupted, "steps", 0)
        parts = clone(agent)
        with pytest.raises(KeyboardInterrupt):
            parts.fit(world)
        parts.partial_fit(world, 24 - parts.n_episodes_)
        for one, other in zip(learned(whole), learned(parts), strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_interrupt_amid_the_steps_on_a_batch_undoes_the_batch(monkeypatch):
    settings = {"layers": (), "batch_episodes": 4, **FEW}
    whole = PolicyGradient(**settings).fit(grid_world(slip=0.2))
    parts, real = PolicyGradient(**settings), PolicyGradient._regress

    def regress(self, batch, target):
        real(self, batch, target)
        if self.n_updates_ == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(PolicyGradient, "_regress", regress)
    with pytest.raises(KeyboardInterrupt):
        parts.fit(grid_world(slip=0.2))
    monkeypatch.undo()
    assert parts.n_episodes_ == 8
    parts.partial_fit(grid_world(slip=0.2), 16)
    for one, other in zip(learned(whole), learned(parts), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_plan_for_some_steps_is_evaluated_for_these():
    mdp = MDP(np.ones((1, 1, 1)), [[1.0]])
    assert FiniteHorizon(3).fit(mdp).evaluate(mdp, 2).mean == 3.0


@pytest.mark.parametrize("name", ["initial_q", "optimal_q"])
@pytest.mark.parametrize("value", [np.nan, np.ones((2, 2))])
def test_action_values_that_cannot_be_are_refused(name, value):
    agent, arguments = QLearning(n_episodes=1), {}
    if name == "initial_q":
        agent.set_params(initial_q=value)
    else:
        arguments["optimal_q"] = value
    with pytest.raises(ValueError, match=name):
        agent.fit(grid_world(), **arguments)


def test_probabilities_in_float32():
    mdp = MDP(np.full((3, 1, 3), 1 / 3, "f4"), np.ones(3))
    np.testing.assert_allclose(mdp.transitions.probability.reshape(3, 3).sum(axis=1), 1, rtol=1e-12)
    with pytest.raises(ValueError, match="sum to"):
        MDP(np.full((3, 1, 3), 0.3, "f4"), np.ones(3))


@pytest.mark.parametrize("method", ["ucb", "thompson", "epsilon-greedy", "boltzmann"])
def test_bandits_prefer_the_best_arm_by_default(method):
    agent = Bandit(method, n_pulls=500, random_state=0).fit(Arms([0.2, 0.7]))
    assert agent.pulls_[1] > 300
    found = agent.evaluate(Arms([0.2, 0.7]), 400)
    assert found.interval.low - 0.05 < 0.7 < found.interval.high + 0.05


@pytest.mark.parametrize(
    "arms", [Arms([]), Arms([np.nan]), Arms([0.5, 1.5]), Arms([0.5], -1.0), grid_world(), [1, 2]]
)
def test_arms_that_cannot_be_are_refused(arms):
    with pytest.raises((TypeError, ValueError), match=r"means|arms"):
        Bandit(n_pulls=2).fit(arms)


def test_worlds_refuse_what_they_do_not_know():
    game = TextGame()
    game.reset(seed=0)
    for command in (-1, 99):
        with pytest.raises(ValueError, match="command"):
            game.step(command)
    with pytest.raises(ValueError, match="at least two"):
        maze(0, 5)
    with pytest.raises(ValueError, match="does not learn from episodes"):
        compare({"V": ValueIteration()}, grid_world())
