"""Linear and deep Q-learning: equal to a table on indicators, to each other, to definitions."""

import numpy as np
import pytest
from sklearn.base import clone

import tenfold
from tenfold import MDP, DeepQ, LinearQ, QLearning, ValueIteration, WordCounts
from tenfold.neural import Conv1d, Dense
from tenfold.neural.network import backward, flatten_params, forward, unflatten_params
from tenfold.rl import (
    Boltzmann,
    CartPole,
    EpsilonGreedy,
    MDPWorld,
    TextGame,
    delayed_reward,
    grid_world,
)
from tenfold.rl import _deep_q_numba as deep
from tenfold.rl._deep_q_run import DeepNetwork

SHORT = {"n_episodes": 12, "max_steps": 20, "random_state": 1}
OFTEN = {"train_every": 4, "gradient_steps": 4, "batch_size": 8, "warmup": 20}
AGENTS = [
    LinearQ(0.9, **SHORT),
    LinearQ(0.9, exploration=Boltzmann(), **SHORT),
    DeepQ(0.9, layers=(Dense(8, "tanh"),), target_every=10, **OFTEN, **SHORT),
    DeepQ(0.9, layers=(), double=False, replay_size=64, target_every=250, **OFTEN, **SHORT),
]
every_agent = pytest.mark.parametrize("agent", AGENTS, ids=lambda a: type(a).__name__)


def weights(agent):
    return (
        agent.theta_
        if isinstance(agent, LinearQ)
        else np.concatenate([p.ravel() for p in agent.params_])
    )


def test_indicators_make_a_table_to_the_bit():
    world = MDPWorld(grid_world(slip=0.2), max_steps=50)
    options = {"learning_rate": 0.2, "n_episodes": 100, "max_steps": 50, "random_state": 3}
    table, linear = QLearning(0.9, **options).fit(world), LinearQ(0.9, **options).fit(world)
    np.testing.assert_array_equal(linear.theta_.T, table.q_)
    np.testing.assert_array_equal(linear.history_["return"], table.history_["return"])
    k = world.mdp.n_states

    def pair(state, action):
        x = np.zeros(4 * k)
        x[4 * state + action] = 1.0
        return x

    joint = LinearQ(0.9, joint_features=pair, **options).fit(world)
    np.testing.assert_array_equal(joint.theta_.reshape(k, 4), table.q_)
    np.testing.assert_array_equal(joint.predict(range(k)), table.q_.argmax(axis=1))


def test_one_linear_step_is_the_notes():
    """theta_a += alpha (y - Q) x, for the action that was taken alone."""
    mdp = MDP(np.array([[[0, 1.0]], [[0, 1.0]]]), [[2.0], [0.0]], terminal=[1], start=0)
    agent = LinearQ(
        0.9, features=lambda s: [1.0 + s, 3.0], learning_rate=0.1, n_episodes=2, random_state=0
    )
    agent.fit(mdp)
    first = 0.1 * 2.0 * np.array([1.0, 3.0])
    second = first + 0.1 * (2.0 - first @ [1.0, 3.0]) * np.array([1.0, 3.0])
    np.testing.assert_allclose(agent.theta_[0], second)


def test_words_of_the_text_game():
    game = TextGame()
    best = ValueIteration(0.5).fit(game.to_mdp()).values_[:16].mean()
    agent = LinearQ(
        0.5, features=WordCounts("presence"), learning_rate=0.05, n_episodes=2500,
        exploration=EpsilonGreedy(0.5, 0.1), random_state=0,
    )  # fmt: skip
    assert agent.fit(game).evaluate(game, 200, discount=0.5).mean > 0.8 * best
    with pytest.raises(ValueError, match="give `features`"):
        LinearQ().fit(game)
    with pytest.raises(ValueError, match="not fitted, and the world has no `texts`"):
        LinearQ(features=WordCounts()).fit(CartPole())


def loss_gradient(agent, target, rows):
    """Gradient of Huber's loss by the layers of tenfold.neural."""
    network, params, replay, own = (
        agent.network_,
        agent.params_,
        agent.replay_,
        np.arange(len(rows)),
    )
    q, caches = forward(network, params, replay.seen[rows])
    ahead = forward(network, target, replay.after[rows])[0]
    chosen = forward(network, params, replay.after[rows])[0].argmax(axis=1)
    best = ahead[own, chosen] if agent.double else ahead.max(axis=1)
    y = replay.reward[rows] + agent.discount * np.where(replay.ended[rows], 0, best)
    slope = np.zeros_like(q)
    error = q[own, replay.action[rows]] - y
    slope[own, replay.action[rows]] = np.clip(error, -1, 1) / len(rows)
    return backward(network, params, caches, slope)[1]


@pytest.mark.parametrize("double", [False, True])
def test_compiled_steps_are_those_of_the_layers(double):
    """With the constants 0 and 1 Adam's mean is the gradient, and the weights stay."""
    layers = (Dense(8, "relu"), Dense(6, "tanh"))
    agent = DeepQ(0.9, layers=layers, double=double, warmup=10**6, n_episodes=3, random_state=0)
    r = agent.fit(CartPole()).replay_
    theta = flatten_params(agent.params_)
    target, sizes, rows = theta + np.float32(0.05), DeepNetwork(agent), np.arange(8)
    expected = loss_gradient(agent, unflatten_params(target, agent.params_), rows)
    moments = np.zeros((2, len(theta)), np.float32)
    shapes = (sizes.per_row * 8, len(theta), 8 * 3, 3)
    deep.train_steps(
        (r.seen.ravel(), r.action, r.reward, r.after.ravel(), r.ended),
        rows,
        8,
        (theta, target),
        (moments[0], moments[1]),
        sizes.network,
        np.array([[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]], np.float32),
        np.array([0.9, double, 1.0, 1e9], np.float32),
        tuple(np.zeros(shape, np.float32) for shape in shapes),
        np.zeros(1),
    )
    np.testing.assert_allclose(moments[0], flatten_params(expected), rtol=2e-4, atol=1e-6)


def test_a_linear_network_without_replay_is_linear_q():
    """Batches of the newest move alone, no target network: the same fixed point."""
    world = delayed_reward(length=3)
    deep = DeepQ(
        0.8,
        layers=(),
        replay_size=200,
        batch_size=32,
        learning_rate=0.02,
        target_every=1,
        double=False,
        huber=100.0,
        n_episodes=400,
        warmup=32,
        train_every=4,
        gradient_steps=4,
        exploration=EpsilonGreedy(1, 0.5),
        random_state=0,
    ).fit(world)
    best = ValueIteration(0.8).fit(world).q_[:3]
    np.testing.assert_allclose(deep.action_values([0, 1, 2]), best, atol=0.15)


def test_deep_q_balances_the_pole():
    """Several seeds: the last bits of a step decide how long one agent balances in the end."""
    agents = [DeepQ(random_state=seed).partial_fit(CartPole(), 300) for seed in range(3)]
    assert np.mean([agent.evaluate(CartPole(), 10).mean for agent in agents]) > 250
    for agent in agents:
        history = agent.history_["return"]
        assert history[-75:].mean() > 100 > 4 * history[:50].mean()


@every_agent
def test_a_cut_is_no_end(agent):
    mdp = MDP(np.ones((1, 2, 1)), [[1.0, 1.0]])
    agent = clone(agent).set_params(discount=0.5, n_episodes=150, max_steps=5, learning_rate=0.05)
    if isinstance(agent, DeepQ):
        agent.set_params(learning_rate=0.02, target_every=5)
    np.testing.assert_allclose(agent.fit(mdp).action_values([0]), 2.0, atol=0.05)


@every_agent
def test_going_on_is_one_fit_to_the_bit(agent, tmp_path):
    world = CartPole() if isinstance(agent, DeepQ) else grid_world(slip=0.2)
    whole, parts = clone(agent).fit(world), clone(agent)
    parts.partial_fit(world, 5).save(tmp_path / "agent.tenfold")
    loaded = tenfold.load(tmp_path / "agent.tenfold").partial_fit(world, 7)
    np.testing.assert_array_equal(weights(loaded), weights(whole))
    np.testing.assert_array_equal(loaded.history_["return"], whole.history_["return"])
    other = clone(agent).set_params(random_state=2).fit(world)
    assert (weights(other) != weights(whole)).any()


@every_agent
def test_threads_checkpoints_and_interrupts(agent, tmp_path):
    class Interrupting(MDPWorld):
        left = 10**9

        def step(self, action):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return super().step(action)

    world = Interrupting(grid_world(slip=0.2), max_steps=20)
    results = []
    for n in (1, 2, 8):
        with tenfold.threads(n):
            results.append(weights(clone(agent).fit(world)))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    world.left = 100
    stopped = clone(agent)
    with pytest.raises(KeyboardInterrupt), tenfold.checkpoint(tmp_path / "fit", every=0.0):
        stopped.fit(world)
    assert 0 < stopped.n_episodes_ < 12
    world.left = 10**9
    with tenfold.checkpoint(tmp_path / "fit", every=0.0):
        resumed = clone(agent).fit(world)
    np.testing.assert_array_equal(weights(resumed), results[0])


@every_agent
def test_missing_rewards_are_refused_with_their_step(agent):
    class Broken(MDPWorld):
        def step(self, action):
            after, _, *rest = super().step(action)
            return after, np.nan if self._step == 3 else 0.0, *rest

    with pytest.raises(ValueError, match="paid nan in step 3 of the episode with seed"):
        clone(agent).fit(Broken(grid_world(cost=0), max_steps=30))


def test_layers_that_are_not_dense_are_refused():
    with pytest.raises(ValueError, match=r"layers\[0\] is Conv1d"):
        DeepQ(layers=(Conv1d(4, 2),)).fit(CartPole())


def test_arrays_that_do_not_fit_are_not_saved(tmp_path):
    agent = clone(AGENTS[2]).fit(CartPole())
    agent.replay_ = agent.replay_._replace(action=agent.replay_.action + 2)
    with pytest.raises(ValueError, match="do not fit the network"):
        agent.save(tmp_path / "agent")
    table = QLearning(n_episodes=2, random_state=0).fit(grid_world())
    table.visits_ = table.visits_ - 10**9
    with pytest.raises(ValueError, match="something else than counts"):
        table.save(tmp_path / "agent")
