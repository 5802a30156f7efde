"""Q-learning and SARSA against worked updates, closed forms and plans; laws of every agent."""

import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import tenfold
from tenfold import MDP, SARSA, PolicyGradient, PolicyIteration, QLearning, ValueIteration
from tenfold.optim.schedules import ConstantRate, PowerDecay
from tenfold.report.policy_pictures import draw_policy
from tenfold.rl import (
    Boltzmann,
    EpsilonGreedy,
    MDPWorld,
    TransitionModel,
    UpperConfidence,
    cliff,
    evaluate_policy,
    grid_world,
    sample_moves,
    td_update,
)
from tenfold.teaching import robbins_monro

GO = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
RANDOM = EpsilonGreedy(1.0, 1.0)
SHORT = {"n_episodes": 40, "max_steps": 30, "random_state": 3}
AGENTS = [
    QLearning(0.9, **SHORT),
    QLearning(0.9, double=True, exploration=Boltzmann(), **SHORT),
    QLearning(0.9, n_steps=3, exploration=UpperConfidence(), **SHORT),
    QLearning(0.9, trace_decay=0.7, **SHORT),
    SARSA(0.9, **SHORT),
    SARSA(0.9, expected=True, exploration=Boltzmann(), **SHORT),
    SARSA(0.9, double=True, learning_rate=0.2, **SHORT),
    SARSA(0.9, n_steps=4, **SHORT),
    SARSA(0.9, trace_decay=0.8, **SHORT),
]
every_agent = pytest.mark.parametrize("agent", AGENTS, ids=str)


def same_tables(a, b):
    for name in ("q_", "visits_", "tables_", "values_", "policy_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_array_equal(a.history_["return"], b.history_["return"])


def test_worked_updates_of_the_notes():
    q = [[0.0, 0.0], [2.0, 1.0]]
    rate = {"rate": 0.5, "discount": 0.9}
    assert td_update(q, (0, 0, 1.0, 1), **rate)[0, 0] == pytest.approx(1.4)
    assert td_update(q, (0, 0, 1.0, 1), next_action=1, **rate)[0, 0] == pytest.approx(0.95)
    assert td_update(q, (0, 0, 1.0, 1), terminated=True, **rate)[0, 0] == pytest.approx(0.5)


def test_q_learning_finds_the_optimum_from_random_behavior():
    world = grid_world(slip=0.2)
    best = ValueIteration(0.8, tol=1e-10).fit(world)
    agent = QLearning(0.8, exploration=RANDOM, n_episodes=6000, max_steps=100, random_state=0)
    agent.fit(world, optimal_q=best.q_)
    np.testing.assert_allclose(agent.q_, best.q_, atol=0.03)
    error = agent.history_["q_error"]
    assert error[-1] < 0.03 < 0.5 * error[0]
    assert agent.history_["q_error_episode"][-1] == 6000


def test_double_and_traces_find_the_optimum_too():
    mdp = MDP(GO, [[0.1, 0], [1, 0.5]])
    for options in ({"double": True}, {"trace_decay": 0.5}, {"n_steps": 1}):
        agent = QLearning(0.5, n_episodes=200, max_steps=100, random_state=0, **options).fit(mdp)
        np.testing.assert_allclose(agent.q_, [[0.6, 1], [2, 1]], atol=0.05)


@pytest.mark.parametrize(
    "options", [{}, {"expected": True}, {"n_steps": 3}, {"trace_decay": 0.5}, {"double": True}]
)
def test_sarsa_learns_the_values_of_the_policy_that_it_follows(options):
    world = grid_world(slip=0.2)
    k = world.n_actions
    exploring = np.full((world.n_states, k), 1 / k)
    V = evaluate_policy(world, exploring, 0.8)
    agent = SARSA(
        0.8, exploration=RANDOM, n_episodes=30_000, max_steps=100, random_state=0, **options
    )
    agent.fit(world)
    np.testing.assert_allclose(agent.q_, world.action_values(V, 0.8), atol=0.06)


def test_constant_exploration_leads_to_the_best_exploring_policy_on_the_cliff():
    """Off and on policy: the edge is best for who never stumbles, the upper way for who does."""
    world, options = cliff(), {"learning_rate": 0.1, "exploration": EpsilonGreedy(0.1, 0.1)}
    off = QLearning(1.0, n_episodes=2000, random_state=0, **options).fit(world)
    on = SARSA(1.0, expected=True, n_episodes=2000, random_state=0, **options).fit(world)
    assert world.show_policy(off.policy_).splitlines()[2] == "→" * 11 + "↓"
    assert off.evaluate(world, 1).mean == -13 > on.evaluate(world, 1).mean >= -17
    assert on.history_["return"][-500:].mean() > off.history_["return"][-500:].mean()


def test_the_plain_average_of_samples():
    """One state and discount 0: with the rate 1/N, Q is the mean of the rewards."""
    P = np.zeros((3, 1, 3))
    P[0, 0, 1] = P[0, 0, 2] = 0.5
    mdp = MDP(P, np.array([0.0, 1.0, 5.0]), reward_on="arriving", terminal=[1, 2], start=0)
    agent = QLearning(0.0, learning_rate=PowerDecay(), n_episodes=500, random_state=0).fit(mdp)
    assert agent.q_[0, 0] == pytest.approx(agent.history_["return"].mean())


def test_double_q_learning_is_not_deceived_by_noise():
    """Ten fair bets: the maximum of noisy means is optimistic, the double estimate is not."""
    P, R = np.zeros((4, 10, 4)), np.zeros(4)
    P[0, :, 1] = 1.0
    P[1, :, 2] = P[1, :, 3] = 0.5
    R[2:] = 1.0, -1.0
    mdp = MDP(P, R, reward_on="arriving", terminal=[2, 3], start=0)
    options = {"learning_rate": 0.1, "exploration": RANDOM, "n_episodes": 300}
    means = [
        np.mean(
            [
                QLearning(1.0, double=d, random_state=s, **options).fit(mdp).q_[0].mean()
                for s in range(9)
            ]
        )
        for d in (False, True)
    ]
    assert means[0] > 0.2 > 2 * abs(means[1])


@every_agent
def test_compiled_and_python_worlds_agree_to_the_bit(agent):
    world = grid_world(slip=0.2)
    compiled = tenfold.testing.instances.clone_model(agent).fit(world)
    slow = tenfold.testing.instances.clone_model(agent).fit(MDPWorld(world, max_steps=30))
    same_tables(compiled, slow)


@every_agent
def test_a_cut_is_no_end(agent):
    """A world that only ever truncates: Q is R / (1 - discount), not smaller."""
    mdp = MDP(np.ones((1, 2, 1)), [[1.0, 1.0]])
    agent = tenfold.testing.instances.clone_model(agent)
    agent.set_params(discount=0.5, learning_rate=0.3, n_episodes=300, max_steps=5)
    np.testing.assert_allclose(agent.fit(mdp).q_, 2.0, atol=1e-6)


@every_agent
def test_going_on_is_one_fit_to_the_bit(agent, tmp_path):
    world = grid_world(slip=0.2)
    whole, parts = (tenfold.testing.instances.clone_model(agent) for _ in range(2))
    with tenfold.threads(1):
        whole.fit(world)
    with tenfold.threads(8):
        parts.partial_fit(world, 13)
    parts.save(tmp_path / "agent.tenfold")
    same_tables(whole, tenfold.load(tmp_path / "agent.tenfold").partial_fit(world, 27))
    other = tenfold.testing.instances.clone_model(agent).set_params(random_state=4).fit(world)
    assert (other.visits_ != whole.visits_).any()


KILLED = """
import os, sys, signal
import tenfold
from tenfold import QLearning
from tenfold.rl import MDPWorld, grid_world

class Deadly(MDPWorld):
    steps = 0
    def step(self, action):
        Deadly.steps += 1
        if Deadly.steps > int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)

with tenfold.checkpoint(sys.argv[1], every=0.0):
    agent = QLearning(0.9, n_episodes=200, max_steps=30, random_state=1)
    agent.fit(Deadly(grid_world(slip=0.2), max_steps=30))
print(agent.q_.tobytes().hex())
"""


def test_a_killed_fit_goes_on_with_the_same_bits(tmp_path):
    def run(steps):
        command = [sys.executable, "-c", KILLED, str(tmp_path / "fit.ckpt"), str(steps)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    killed = run(1500)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (tmp_path / "fit.ckpt").exists()
    resumed = run(10**9)
    world = MDPWorld(grid_world(slip=0.2), max_steps=30)
    whole = QLearning(0.9, n_episodes=200, max_steps=30, random_state=1).fit(world)
    assert resumed.stdout.strip() == whole.q_.tobytes().hex(), resumed.stderr


def test_ctrl_c_keeps_what_is_learned():
    class Interrupting(MDPWorld):
        left = 300

        def step(self, action):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return super().step(action)

    agent = QLearning(0.9, n_episodes=200, max_steps=30, random_state=1)
    with pytest.raises(KeyboardInterrupt):
        agent.fit(Interrupting(grid_world(), max_steps=30))
    assert 0 < agent.n_episodes_ < 200
    assert agent.visits_.sum() == agent.history_["length"].sum()  # whole episodes
    assert 299 - 30 < agent.visits_.sum() <= 299
    whole = QLearning(0.9, n_episodes=200, max_steps=30, random_state=1).fit(grid_world())
    agent.partial_fit(grid_world(), 200 - agent.n_episodes_)
    np.testing.assert_array_equal(agent.q_, whole.q_)


@every_agent
def test_missing_rewards_are_refused_with_their_step(agent):
    class Broken(MDPWorld):
        def step(self, action):
            after, _, *rest = super().step(action)
            return after, np.nan if self._step == 3 else 0.0, *rest

    agent = tenfold.testing.instances.clone_model(agent)
    with pytest.raises(ValueError, match="paid nan in step 3 of the episode with seed"):
        agent.fit(Broken(grid_world(cost=0), max_steps=30))


@pytest.mark.parametrize(
    ("exploration", "expected"),
    [
        (EpsilonGreedy(0.2, 0.2), [0.05, 0.85, 0.05, 0.05]),
        (Boltzmann(0.5, 0.5), np.exp([0, 4, 2, 0]) / np.exp([0, 4, 2, 0]).sum()),
    ],
)
def test_frequencies_of_actions(exploration, expected):
    """Greedy with 1 - eps + eps / |A|; exp(Q / temperature) normalized."""
    mdp = MDP(np.ones((1, 4, 1)), [[0.0, 2.0, 1.0, 0.0]])
    agent = QLearning(
        0.0, learning_rate=1e-12, initial_q=[[0.0, 2.0, 1.0, 0.0]], exploration=exploration,
        n_episodes=20, max_steps=1000, random_state=0,
    ).fit(mdp)  # fmt: skip
    np.testing.assert_allclose(agent.visits_[0] / 20_000, expected, atol=0.01)


def test_ties_are_drawn_and_optimism_tries_everything():
    mdp = MDP(np.ones((1, 4, 1)), [[0.0, 0.0, 0.0, 1.0]])
    greedy = EpsilonGreedy(0.0, 0.0)
    flat = QLearning(0.0, exploration=greedy, n_episodes=50, max_steps=1, random_state=0).fit(mdp)
    assert flat.visits_[0, :3].sum() > 0
    bold = QLearning(
        0.0,
        exploration=greedy,
        initial_q=5.0,
        n_episodes=100,
        max_steps=1,
        learning_rate=0.5,
        random_state=0,
    )
    assert (bold.fit(mdp).visits_ > 0).all()
    assert bold.policy_[0] == 3


def test_levels_fall_and_stay():
    levels = EpsilonGreedy(1.0, 0.1, share=0.5).levels(0, 100, 100)
    assert levels[0] == 1 and levels[50:] == pytest.approx(0.1) and (np.diff(levels) <= 0).all()  # noqa: PT018
    halves = EpsilonGreedy(1.0, 0.25, share=1.0, decay="exponential").levels(0, 3, 2)
    np.testing.assert_allclose(halves, [1, 0.5, 0.25])
    for bad in (
        EpsilonGreedy(2.0),
        Boltzmann(0.0),
        UpperConfidence(0.0),
        EpsilonGreedy(decay="no"),
    ):
        with pytest.raises(ValueError, match=type(bad).__name__):
            QLearning(exploration=bad).fit(grid_world())


def test_rates_are_checked_by_robbins_and_monro():
    assert QLearning().meets_robbins_monro
    assert robbins_monro(QLearning().learning_rate).holds
    assert not QLearning(learning_rate=0.1).meets_robbins_monro
    assert not SARSA(learning_rate=PowerDecay(delta=0.4)).meets_robbins_monro
    assert QLearning(learning_rate=lambda t: 1 / t).meets_robbins_monro is None
    fast, slow = (
        QLearning(0.5, learning_rate=rate, n_episodes=20, random_state=0).fit(grid_world())
        for rate in (ConstantRate(0.3), lambda _: 0.3)
    )
    same_tables(fast, slow)
    with pytest.raises(ValueError, match=r"learning_rate\(1\) is 2"):
        QLearning(learning_rate=lambda _: 2.0).fit(grid_world())


def test_learning_from_a_table_of_moves(tmp_path):
    world = grid_world(slip=0.2)
    best = ValueIteration(0.8, tol=1e-10).fit(world)
    moves = sample_moves(world, 20_000, random_state=1)
    moves["state"], moves["next_state"] = (
        [str(s) for s in moves[c]] for c in ("state", "next_state")
    )
    agent = QLearning(0.8, n_episodes=20, random_state=0).fit(moves)
    pd.DataFrame(moves).to_parquet(tmp_path / "moves.parquet")
    same = QLearning(0.8, n_episodes=20, random_state=0).fit(str(tmp_path / "moves.parquet"))
    np.testing.assert_array_equal(same.q_, agent.q_)
    assert agent.states_ == sorted(str(s) for s in world.states)
    order = [agent.actions_.index(a) for a in world.actions]
    np.testing.assert_allclose(agent.q_[:, order][:2], best.q_[:2], atol=0.1)
    with pytest.raises(ValueError, match="n_steps=1"):
        QLearning(n_steps=2).fit(moves)


def logged_moves(**columns):
    moves = {"state": ["a", "b", "a"], "action": ["l", "r", "r"], "reward": [0.0, 1.0, 2.0]}
    moves |= {"next_state": ["b", "a", "a"], "terminated": [False, False, True]}
    return moves | columns


def test_an_agent_of_logged_moves_speaks_in_their_names():
    agent = QLearning(0.5, n_episodes=200, learning_rate=0.1).fit(logged_moves())
    assert agent.predict(["b", "a"]).tolist() == ["r", "r"]
    words = QLearning(0.5, n_episodes=200, learning_rate=0.1).fit(
        logged_moves(terminated=["no", "no", "Yes"])
    )
    np.testing.assert_array_equal(words.q_, agent.q_)
    with pytest.raises(ValueError, match="state 'z' is not among those of the moves"):
        agent.predict(["z"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"reward": ["x", "y", "z"]}, "column 'reward' holds words such as 'x'"),
        ({"reward": [0.0, np.inf, 1.0]}, "row 1: column 'reward' is inf"),
        ({"terminated": ["no", "maybe", "no"]}, "row 1: column 'terminated' is maybe"),
    ],
)
def test_logged_moves_that_make_no_sense_are_named(columns, message):
    for learn in (QLearning().fit, TransitionModel().fit):
        with pytest.raises(ValueError, match=message):
            learn(logged_moves(**columns))


class TwoDice:
    """Guess whether the second die shows more than the first; the observation is a pair."""

    def __init__(self):
        self.action_space = SimpleNamespace(n=2)
        self.observation_space = SimpleNamespace(
            spaces=(SimpleNamespace(n=6), SimpleNamespace(n=2))
        )

    def reset(self, *, seed=None, options=None):
        self.first, self.second = np.random.default_rng(seed).integers(0, 6, 2)
        return (int(self.first), True), {}

    def step(self, action):
        right = (self.second > self.first) == bool(action)
        return (int(self.first), 0), float(right), True, False, {}


def test_observations_of_several_whole_numbers_are_states(tmp_path):
    agent = QLearning(n_episodes=2000, learning_rate=0.05, random_state=0).fit(TwoDice())
    assert agent.q_.shape == (12, 2)
    assert agent.predict([(0, 1), (5, 1)]).tolist() == [1, 0]
    picture = draw_policy(agent, TwoDice(), [(0, 1)])
    assert len(picture.rows) == 12
    assert picture.rows[1].state == "0, 1"
    agent.save(tmp_path / "agent.tenfold")
    same = tenfold.load(tmp_path / "agent.tenfold")
    assert same.evaluate(TwoDice(), 50).mean == agent.evaluate(TwoDice(), 50).mean > 0.5
    with pytest.raises(ValueError, match=r"no tuple of whole numbers below \(6, 2\)"):
        agent.predict([(6, 0)])


def test_wrong_worlds_and_settings():
    with pytest.raises(TypeError, match="a ndarray is no process"):
        ValueIteration().fit(np.eye(2))
    with pytest.raises(ValueError, match="is a file, no environment"):
        PolicyGradient().fit("moves.csv")
    with pytest.raises(TypeError, match="is no world"):
        QLearning().fit(3.0)
    with pytest.raises(ValueError, match="trace_decay goes with"):
        QLearning(trace_decay=0.5, n_steps=2).fit(grid_world())
    agent = QLearning(n_episodes=2).fit(grid_world())
    with pytest.raises(ValueError, match="learned about 8 and 4"):
        agent.partial_fit(MDP(GO, [0.0, 0.0]), 1)


def test_evaluation_has_an_interval_and_common_random_numbers():
    world = grid_world(slip=0.2)
    plan = PolicyIteration(0.9).fit(world)
    first, second = (plan.evaluate(world, 200, discount=0.9) for _ in range(2))
    np.testing.assert_array_equal(first.returns, second.returns)
    at = int(world.start.argmax())
    assert first.interval.low < plan.values_[at] < first.interval.high
    assert first.mean == pytest.approx(first.returns.mean())
    assert "200 episodes" in str(first)
