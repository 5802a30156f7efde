"""Behavioral cloning and DAgger: errors that grow with the square of the length, and with it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogistic

import tenfold
from tenfold import (
    BehavioralCloning,
    DAgger,
    DecisionTreeClassifier,
    LogisticRegression,
    ValueIteration,
    WordCounts,
)
from tenfold.rl import DiscreteSpace, TextGame, demonstrate, grid_world, maze


class Corridor:
    """Keep to the path: who leaves it once is lost, and pays in every step to the end."""

    observation_space, action_space = DiscreteSpace(2), DiscreteSpace(2)

    def __init__(self, length, slip=0.0):
        self.length, self.slip = length, slip

    def reset(self, *, seed=None, options=None):
        self.rng, self.t, self.lost = np.random.default_rng(seed), 0, False
        return 0, {}

    def step(self, action):
        self.lost = self.lost or bool(action == 1) or self.rng.random() < self.slip
        self.t += 1
        return int(self.lost), -float(self.lost), False, self.t >= self.length, {}


class Careless:
    """Errs with a small probability, and never finds back."""

    def act(self, observation, memory=None, rng=None):
        return int(rng.random() < 0.01) if observation == 0 else 1, memory


def test_errors_of_a_clone_grow_with_the_square_of_the_length():
    """Expected cost: sum_t 1 - 0.99^t, about 0.01 T^2 / 2 while T is short."""
    from tenfold.rl.episodes import evaluate

    costs = []
    for length in (10, 20, 40):
        options = {"discount": 1.0, "max_steps": 10**6, "random_state": 0, "level": 0.95}
        found = -evaluate(Careless(), Corridor(length), 3000, **options).mean
        exact = sum(1 - 0.99 ** (t + 1) for t in range(length))
        assert found == pytest.approx(exact, rel=0.15)
        costs.append(exact)
    assert costs[1] / costs[0] > 3.4
    assert costs[2] / costs[1] > 3.3


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(random_state=0), LogisticRegression(), SklearnLogistic()]
)
def test_any_classifier_imitates(model):
    world = grid_world()
    expert = ValueIteration(0.9).fit(world)
    clone = BehavioralCloning(model).fit(demonstrate(expert, world, 3), world)
    assert clone.error_ == 0
    assert clone.n_moves_ == 18
    assert clone.evaluate(world, 1).mean == pytest.approx(0.94)


def test_dagger_learns_where_the_learner_comes_to(tmp_path):
    """Demonstrations of a maze that does not slip show one way only; DAgger sees the others."""
    calm, rough = maze(6, 6, walls=0.1), maze(6, 6, walls=0.1, slip=0.4)
    expert, tree = ValueIteration(0.9).fit(rough), DecisionTreeClassifier(random_state=0)
    cloned = BehavioralCloning(tree).fit(demonstrate(expert, calm, 5), calm)
    agents = [
        DAgger(tree, expert=expert, n_rounds=6, n_episodes=10, random_state=0).fit(rough)
        for _ in range(2)
    ]
    states = range(rough.n_states)
    right = [np.mean(m.predict(states) == expert.policy_) for m in (cloned, agents[0])]
    assert right[0] + 0.2 < 0.9 < right[1]
    assert (np.diff(agents[0].history_["moves"]) > 0).all()
    np.testing.assert_array_equal(*(agent.history_["return"] for agent in agents))
    cloned.save(tmp_path / "clone")
    assert (tenfold.load(tmp_path / "clone").predict(states) == cloned.predict(states)).all()


class Blink:
    """Nothing is seen; right is to alternate."""

    observation_space, action_space = DiscreteSpace(1), DiscreteSpace(2)

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return 0, {}

    def step(self, action):
        reward = float(action == self.t % 2)
        self.t += 1
        return 0, reward, False, self.t >= 10, {}


class Alternating:
    def act(self, observation, memory=None, rng=None):
        action = 0 if memory is None else 1 - memory
        return action, action


def test_a_machine_needs_its_last_action_to_alternate():
    """y_t = M([x_t; y_{t-1}]): without memory at most half is right."""
    moves = demonstrate(Alternating(), Blink(), 3)
    blind = BehavioralCloning(DecisionTreeClassifier(random_state=0)).fit(moves, Blink())
    machine = BehavioralCloning(DecisionTreeClassifier(random_state=0), previous_action=True).fit(
        moves, Blink()
    )
    assert blind.evaluate(Blink(), 1).mean == 5
    assert machine.evaluate(Blink(), 1).mean == 10
    assert machine.error_ == 0


class Echo:
    """The right action is what was seen one step ago."""

    observation_space, action_space = DiscreteSpace(2), DiscreteSpace(2)

    def reset(self, *, seed=None, options=None):
        self.rng, self.t = np.random.default_rng(seed), 0
        self.before, self.now = 0, int(self.rng.integers(2))
        return self.now, {}

    def step(self, action):
        reward = float(action == self.before)
        self.before, self.now, self.t = self.now, int(self.rng.integers(2)), self.t + 1
        return self.now, reward, False, self.t >= 20, {}


class Remembering:
    def act(self, observation, memory=None, rng=None):
        return 0 if memory is None else memory, observation


def test_a_window_remembers_what_was_seen():
    moves = demonstrate(Remembering(), Echo(), 10)
    short = BehavioralCloning(DecisionTreeClassifier(random_state=0)).fit(moves, Echo())
    long = BehavioralCloning(DecisionTreeClassifier(random_state=0), window=2).fit(moves, Echo())
    assert short.evaluate(Echo(), 20).mean < 15
    assert long.evaluate(Echo(), 20).mean == 20


def test_texts_are_imitated():
    game = TextGame()
    plan = ValueIteration(0.5).fit(game.to_mdp())

    def expert(text):
        room = next(i for i, d in enumerate(game.descriptions) if text.startswith(d)) // 4
        quest = next(i for i, q in enumerate(game.quests) if text.endswith(q))
        return plan.policy_[room * 4 + quest]

    agent = DAgger(
        DecisionTreeClassifier(random_state=0), expert=expert, features=WordCounts("presence"),
        n_rounds=3, n_episodes=60, max_steps=20, random_state=0,
    ).fit(game)  # fmt: skip
    assert agent.evaluate(game, 50, discount=0.5).mean > 0.5


def test_wrong_experts():
    with pytest.raises(TypeError, match="cannot act"):
        demonstrate(3, grid_world(), 1)
    with pytest.raises(ValueError, match="no moves to imitate"):
        BehavioralCloning(DecisionTreeClassifier(random_state=0)).fit([], grid_world())
