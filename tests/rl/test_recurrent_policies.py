"""Policies that remember: gradients through episodes, and a world that needs a memory."""

import numpy as np
import pytest

import tenfold
from tenfold import PolicyGradient
from tenfold.neural import Bidirectional, Dense, Gru, Lstm, Rnn
from tenfold.rl._lanes import Trajectories
from tenfold.rl._policy_heads import CategoricalHead
from tenfold.rl._sequence_networks import EpisodeStates, build_policy, move_outputs
from tenfold.rl.environment import BoxSpace, DiscreteSpace
from tenfold.rl.policy_gradient import policy_gradient


class Recall:
    """A sign is shown once; some steps later the action must repeat it."""

    action_space = DiscreteSpace(2)
    observation_space = BoxSpace(np.full(2, -1.0), np.ones(2))

    def __init__(self, delay=3):
        self.delay = delay

    def reset(self, *, seed=None, options=None):
        self.sign, self.step_number = int(np.random.default_rng(seed).integers(2)), 0
        return np.array([2.0 * self.sign - 1, 0.0]), {}

    def step(self, action):
        self.step_number += 1
        asked = self.step_number == self.delay
        done = self.step_number > self.delay
        reward = float(action == self.sign) if done else 0.0
        return np.array([0.0, float(asked)]), reward, done, False, {}


@pytest.mark.parametrize("layer", [Rnn(3), Gru(3), Lstm(3)], ids=lambda layer: type(layer).__name__)
def test_gradients_through_episodes_are_finite_differences(layer):
    rng = np.random.default_rng(0)
    network, params = build_policy([layer, Dense(2)], 2, rng)
    params = [p.astype(np.float64) + 0.1 for p in params]
    X, ends = rng.normal(size=(7, 2)), np.array([0, 4, 7])
    action, advantage = rng.integers(2, size=7), rng.normal(size=7)
    batch = Trajectories(X, action, np.zeros(7), ends, X[:2], np.ones(2, bool))
    head = CategoricalHead(2)

    def loss(parameters):
        z = move_outputs(network, parameters, X, ends).z
        return -(advantage * head.log_probability(z, [], action)).mean()

    found = policy_gradient(network, params, [], head, batch, advantage, np.zeros(7), None, 0.0)
    for i, p in enumerate(params):
        for at in np.ndindex(p.shape):
            moved = [[q.copy() for q in params] for _ in range(2)]
            moved[0][i][at] += 1e-6
            moved[1][i][at] -= 1e-6
            slope = (loss(moved[0]) - loss(moved[1])) / 2e-6
            assert found[i][at] == pytest.approx(slope, abs=1e-7)


def test_acting_step_by_step_is_reading_the_whole_episode():
    rng = np.random.default_rng(1)
    network, params = build_policy([Gru(4), Dense(2)], 3, rng)
    X, ends = rng.normal(size=(9, 3)).astype(np.float32), np.array([0, 5, 9])
    whole = move_outputs(network, params, X, ends).z
    states, found = EpisodeStates(2), [[], []]
    for step in range(5):
        who = np.flatnonzero(np.diff(ends) > step)
        z = states.next_outputs(network, params, X[ends[who] + step], who)
        for e, row in zip(who, z, strict=True):
            found[e].append(row)
    np.testing.assert_allclose(np.concatenate([np.array(f) for f in found]), whole, atol=1e-6)


def test_a_sign_seen_before_is_remembered_and_only_by_a_policy_with_a_state():
    settings = dict(discount=1.0, learning_rate=0.02, n_episodes=1920, batch_episodes=64)
    recurrent = PolicyGradient(layers=(Gru(8),), random_state=0, **settings).fit(Recall())
    plain = PolicyGradient(layers=(Dense(8, "tanh"),), random_state=0, **settings).fit(Recall())
    assert recurrent.evaluate(Recall(), 200).mean > 0.95
    assert plain.evaluate(Recall(), 200).mean < 0.65


def test_parts_are_one_fit_and_files_keep_the_policy(tmp_path):
    settings = dict(layers=(Lstm(4), Dense(4, "tanh")), batch_episodes=8, random_state=3)
    whole = PolicyGradient(n_episodes=32, gae_lambda=0.9, **settings).fit(Recall())
    parts = PolicyGradient(n_episodes=16, gae_lambda=0.9, **settings).fit(Recall())
    parts.partial_fit(Recall(), 16)
    assert all(map(np.array_equal, whole.params_, parts.params_))
    whole.save(tmp_path / "agent.tenfold")
    again = tenfold.load(tmp_path / "agent.tenfold")
    (first, memory), (same, _) = whole.act([1.0, 0.0]), again.act([1.0, 0.0])
    assert first == same
    assert memory[0][0].shape == (1, 4)
    assert again.predict_proba([[1.0, 0.0]]).shape == (1, 2)


def test_a_layer_that_reads_backwards_is_refused():
    agent = PolicyGradient(layers=(Bidirectional(Gru(3)),), n_episodes=8)
    with pytest.raises(TypeError, match="reads an episode backwards"):
        agent.fit(Recall())
