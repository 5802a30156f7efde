"""Policy gradients against finite differences of exact returns; laws of the agent."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import tenfold
from tenfold import MDP, PolicyGradient
from tenfold.neural import Dense
from tenfold.neural.network import build_network, forward
from tenfold.rl import (
    BoxSpace,
    CartPole,
    MDPWorld,
    PointMass,
    delayed_reward,
    discounted_returns,
    evaluate_policy,
    grid_world,
)
from tenfold.rl._lanes import Trajectories
from tenfold.rl._policy_heads import CategoricalHead, GaussianHead
from tenfold.rl.policy_gradient import policy_gradient

SHORT = {"n_episodes": 24, "batch_episodes": 8, "max_steps": 20, "random_state": 1}
AGENTS = [
    PolicyGradient(0.9, layers=(Dense(6, "tanh"),), **SHORT),
    PolicyGradient(0.9, layers=(), returns="total", baseline=None, standardize=False, **SHORT),
    PolicyGradient(0.9, layers=(), baseline="mean", entropy=0.01, **SHORT),
    PolicyGradient(0.9, layers=(), gae_lambda=0.9, clip=0.2, epochs=3, **SHORT),
]
every_agent = pytest.mark.parametrize("agent", AGENTS, ids=["value", "plain", "mean", "clipped"])


def flat(agent):
    return np.concatenate([p.ravel() for p in agent.params_])


def test_returns_of_the_notes():
    assert discounted_returns([1, 0, 2], 0.5).tolist() == [1.5, 1, 2]
    assert discounted_returns([1, 0, 2], 1.0).tolist() == [3, 2, 2]
    assert discounted_returns([1.0], 0.5, last_value=4.0).tolist() == [3.0]


def small_policy(seed=0):
    layers = [Dense(3, "tanh"), Dense(2)]
    network, params = build_network(layers, (3,), np.random.default_rng(seed), np.float64)
    return network, [p + 0.3 for p in params]


def action_chances(network, params):
    z = np.exp(forward(network, params, np.eye(3))[0])
    return z / z.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("returns", ["to_go", "total"])
def test_the_score_function_gradient_is_that_of_the_exact_return(returns):
    """All three episodes of a corridor, weighted by their probability."""
    world, g = delayed_reward(length=2, now=1.0, later=3.0), 0.9
    network, params = small_policy()

    def exact(parameters):
        return evaluate_policy(world, action_chances(network, parameters), g)[0]

    total = [np.zeros_like(p) for p in params]
    chances = action_chances(network, params)
    for actions, rewards in (([0], [1.0]), ([1, 0], [0.0, 1.0]), ([1, 1], [0.0, 3.0])):
        n = len(actions)
        X, Q = np.eye(3)[:n], discounted_returns(rewards, g)
        weight = Q * g ** np.arange(n) if returns == "to_go" else np.full(n, Q[0])
        probability = np.prod(chances[range(n), actions])
        ends, last, terminated = np.array([0, n]), X[-1:], np.array([True])
        batch = Trajectories(X, np.array(actions), np.array(rewards), ends, last, terminated)
        head = CategoricalHead(2)
        parts = policy_gradient(
            network, params, [], head, batch, n * weight, np.zeros(n), None, 0.0
        )
        total = [t - probability * p for t, p in zip(total, parts, strict=True)]
    for i, p in enumerate(params):
        for at in np.ndindex(p.shape):
            up, down = ([q.copy() for q in params] for _ in range(2))
            up[i][at] += 1e-6
            down[i][at] -= 1e-6
            slope = (exact(up) - exact(down)) / 2e-6
            assert total[i][at] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize(
    "head", [CategoricalHead(3), GaussianHead(-np.ones(3), np.ones(3))], ids=["k", "real"]
)
def test_gradients_of_the_heads(head):
    rng = np.random.default_rng(0)
    z, weight = rng.normal(size=(5, 3)), rng.normal(size=5)
    action = rng.integers(0, 3, 5) if head.extra == [] else rng.normal(size=(5, 3))

    def loss(z, extra):
        log_p = head.log_probability(z, extra, action)
        entropy = np.mean(
            [-(np.exp(q) * q).sum() for q in z - np.log(np.exp(z).sum(axis=1, keepdims=True))]
        ) if not extra else extra[0].sum()  # fmt: skip
        return -(weight * log_p).sum() - 0.1 * entropy

    slope, of_extra = head.gradient(z, head.extra, action, weight, 0.1)
    for at in np.ndindex(z.shape):
        step = np.zeros_like(z)
        step[at] = 1e-6
        numeric = (loss(z + step, head.extra) - loss(z - step, head.extra)) / 2e-6
        assert slope[at] == pytest.approx(numeric, abs=1e-7)
    for j in range(len(of_extra) and 3):
        step = np.eye(3)[j] * 1e-6
        numeric = (loss(z, [head.extra[0] + step]) - loss(z, [head.extra[0] - step])) / 2e-6
        assert of_extra[0][j] == pytest.approx(numeric, abs=1e-7)


def test_positive_advantages_raise_a_probability():
    network, params = small_policy()
    X, action = np.eye(3)[:1], np.array([1])
    batch = Trajectories(X, action, np.ones(1), np.array([0, 1]), X, np.array([True]))
    before = action_chances(network, params)[0, 1]
    for advantage, sign in ((1.0, 1), (-1.0, -1)):
        g = policy_gradient(
            network,
            params,
            [],
            CategoricalHead(2),
            batch,
            np.array([advantage]),
            np.zeros(1),
            None,
            0.0,
        )
        moved = [p - 0.1 * d for p, d in zip(params, g, strict=True)]
        assert sign * (action_chances(network, moved)[0, 1] - before) > 0


def test_the_later_reward_is_found():
    """Immediate reward is not the criterion."""
    world = delayed_reward(length=3)
    agent = PolicyGradient(layers=(), learning_rate=0.1, n_episodes=640, random_state=0).fit(world)
    assert agent.evaluate(world, 1).mean == 10
    np.testing.assert_allclose(agent.predict_proba([0]).sum(), 1)
    assert agent.predict_proba([0])[0, 1] > 0.8


def test_real_actions_come_to_rest():
    """The best linear action for one step is a = -place / 1.1."""
    world = PointMass(max_steps=1)
    agent = PolicyGradient(
        1.0, layers=(), learning_rate=0.05, n_episodes=6000, batch_episodes=60, random_state=0
    )
    agent.fit(world)
    assert agent.params_[0][0, 0] == pytest.approx(-1 / 1.1, abs=0.12)
    assert agent.params_[2][0] < -1.0  # the spread has fallen
    with pytest.raises(ValueError, match="densities"):
        agent.predict_proba([[0.0]])


def test_a_baseline_and_clipping_balance_the_pole():
    options = {
        "layers": (Dense(16, "tanh"),),
        "learning_rate": 0.02,
        "batch_episodes": 16,
        "random_state": 0,
    }
    for more in ({}, {"clip": 0.2, "epochs": 4, "gae_lambda": 0.95}):
        agent = PolicyGradient(n_episodes=320, **options, **more).fit(CartPole(max_steps=200))
        assert agent.history_["return"][-3:].mean() > 50 + 50 * bool(more)


@every_agent
def test_a_cut_is_no_end(agent):
    """The value network learns R / (1 - discount) from episodes that are only cut."""
    agent = clone(agent).set_params(discount=0.5, n_episodes=400, max_steps=3, learning_rate=0.05)
    agent.fit(MDP(np.ones((1, 2, 1)), [[1.0, 1.0]]))
    if agent.value_network_ is not None:
        value = forward(agent.value_network_, agent.value_params_, np.ones((1, 1), np.float32))[0]
        assert value[0, 0] == pytest.approx(2.0, abs=0.1)


@every_agent
def test_going_on_threads_and_checkpoints(agent, tmp_path):
    class Interrupting(MDPWorld):
        left = [10**9]

        def step(self, action):
            self.left[0] -= 1
            if not self.left[0]:
                raise KeyboardInterrupt
            return super().step(action)

    world = Interrupting(grid_world(slip=0.2), max_steps=20)
    with tenfold.threads(1):
        whole = clone(agent).fit(world)
    parts = clone(agent).partial_fit(world, 8)
    parts.save(tmp_path / "agent.tenfold")
    with tenfold.threads(8):
        loaded = tenfold.load(tmp_path / "agent.tenfold").partial_fit(world, 16)
    np.testing.assert_array_equal(flat(loaded), flat(whole))
    Interrupting.left[0] = 250
    with pytest.raises(KeyboardInterrupt), tenfold.checkpoint(tmp_path / "fit", every=0.0):
        clone(agent).fit(world)
    Interrupting.left[0] = 10**9
    with tenfold.checkpoint(tmp_path / "fit", every=0.0):
        np.testing.assert_array_equal(flat(clone(agent).fit(world)), flat(whole))
    assert (flat(clone(agent).set_params(random_state=2).fit(world)) != flat(whole)).any()


def test_compiled_and_copied_worlds_agree():
    class Copied:
        def __init__(self):
            self.inner = CartPole(max_steps=30)
            self.observation_space, self.action_space = (
                CartPole.observation_space,
                CartPole.action_space,
            )

        def reset(self, **options):
            return self.inner.reset(**options)

        def step(self, action):
            return self.inner.step(action)

    a, b = (
        clone(AGENTS[0]).set_params(max_steps=100).fit(w)
        for w in (CartPole(max_steps=30), Copied())
    )
    np.testing.assert_array_equal(flat(a), flat(b))


def test_settings_that_run_away_are_refused():
    with pytest.raises(ValueError, match="unbounded below"):
        PolicyGradient(epochs=2).fit(grid_world())
    with pytest.raises(ValueError, match="needs the value network"):
        PolicyGradient(gae_lambda=0.9, baseline=None).fit(grid_world())

    class Broken(MDPWorld):
        def step(self, action):
            after, _, *rest = super().step(action)
            return after, np.nan if self._step == 3 else 0.0, *rest

    with pytest.raises(ValueError, match="paid nan in step 3 of the episode with seed"):
        clone(AGENTS[0]).fit(Broken(grid_world(cost=0), max_steps=30))


class Aim:
    """Come near to 0.3 with one real number; the spaces are those of another library."""

    def __init__(self, action_space):
        self.observation_space = SimpleNamespace(low=np.zeros(1), high=np.ones(1), shape=(1,))
        self.action_space = action_space

    def reset(self, *, seed=None, options=None):
        return np.ones(1), {}

    def step(self, action):
        return np.ones(1), -float(np.abs(np.ravel(action)[0] - 0.3)), True, False, {}


def test_an_agent_of_a_foreign_world_is_saved(tmp_path):
    for space in (
        SimpleNamespace(low=-np.ones(1), high=np.ones(1), shape=(1,)),
        SimpleNamespace(n=2, start=0, shape=()),
    ):
        world = Aim(space)
        agent = PolicyGradient(n_episodes=8, batch_episodes=4, random_state=0).fit(world)
        agent.save(tmp_path / "agent.tenfold")
        same = tenfold.load(tmp_path / "agent.tenfold")
        np.testing.assert_array_equal(same.predict([np.ones(1)]), agent.predict([np.ones(1)]))


def test_actions_that_do_not_start_at_zero_are_refused():
    with pytest.raises(ValueError, match="numbers from 0 on"):
        PolicyGradient(n_episodes=2).fit(Aim(SimpleNamespace(n=2, start=1, shape=())))


class Panel:
    """Four levers that move by a tenth at most; what lies beyond is an error."""

    observation_space = BoxSpace(np.zeros(1, np.float32), np.ones(1, np.float32))
    action_space = BoxSpace(
        np.full((2, 2), -0.1, np.float32), np.array([[0.1, 0.1], [0.1, 0.0]], np.float32)
    )

    def reset(self, *, seed=None, options=None):
        del seed, options
        return np.zeros(1, np.float32), {}

    def step(self, action):
        low, high = self.action_space
        assert action.shape == low.shape
        assert action.dtype == low.dtype
        assert ((action >= low) & (action <= high)).all()
        return np.zeros(1, np.float32), float(action.sum()), True, False, {}


def test_real_actions_keep_to_the_space_of_the_world():
    agent = PolicyGradient(layers=(), learning_rate=0.1, n_episodes=640, random_state=0)
    found = agent.fit(Panel()).evaluate(Panel(), 5)
    assert agent.predict(np.zeros((3, 1))).shape == (3, 2, 2)
    assert found.mean == pytest.approx(0.3, abs=0.02)
