"""Arguments that make no sense are refused by a sentence that names them; empty lists are none."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tenfold import (
    MDP,
    BehavioralCloning,
    DecisionTreeClassifier,
    DeepQ,
    LinearQ,
    PolicyGradient,
    QLearning,
    ValueIteration,
    WordCounts,
)
from tenfold.rl import (
    CartPole,
    GridWorld,
    MDPWorld,
    MountainCar,
    PointMass,
    TextGame,
    TransitionModel,
    UpperConfidence,
    cliff,
    compare,
    delayed_reward,
    demonstrate,
    discounted_returns,
    evaluate_policy,
    exponential_average,
    greedy_policy,
    grid_world,
    maze,
    model_based_mean,
    model_free_mean,
    sample_moves,
    td_update,
)

GO = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
TWO = MDP(GO, [[0.1, 0], [1, 0.5]])
GAP = MDP(GO, [[0.1, -np.inf], [1, 0.5]], states=["in", "out"], actions=["stay", "go"])
SHORT = {"n_episodes": 2, "max_steps": 5, "random_state": 0}


def stay(state, action):
    del action
    return state


def vanish(state, action):
    del state, action


def wrap(state, action):
    del action
    return [state]


LEARNERS = [QLearning, LinearQ, DeepQ, PolicyGradient]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("episodes", 0),
        ("episodes", 2.5),
        ("episodes", "2"),
        ("max_steps", 0),
        ("max_steps", -3),
        ("discount", -1),
        ("discount", np.nan),
        ("level", 2),
        ("random_state", None),
        ("random_state", 2**70),
    ],
)
def test_evaluations_refuse_what_makes_no_sense(name, value):
    settings = {"episodes": 2, "max_steps": 3, name: value}
    with pytest.raises(ValueError, match=name):
        ValueIteration(0.9).fit(TWO).evaluate(TWO, **settings)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MDP(GO, np.zeros(2), terminal=1), "terminal=1"),
        (lambda: MDP(GO, np.zeros(2), states=["in", "out"], terminal="out"), "terminal='out'"),
        (lambda: MDP(GO, np.zeros(2), terminal=[[1]]), "no state"),
        (lambda: MDP(GO, np.zeros(2), start=[np.nan, 1]), "start"),
        (lambda: MDP(GO, np.zeros(2), states=[[1], [2]]), "states"),
        (lambda: MDP(GO, np.zeros(2), action_cost="much"), "action_cost='much'"),
        (lambda: MDP(GO, np.zeros(2), action_cost=[1, 2, 3]), "action_cost"),
        (lambda: MDP("abc", [1]), "transitions"),
        (lambda: MDP.from_functions(stay, actions=[], start=0), "at least one of each"),
        (lambda: MDP.from_gymnasium({}), "at least one of each"),
        (lambda: MDP.from_gymnasium({0: {0: [(1.0, 0, 0.0)]}}), "probability, next state"),
        (lambda: MDP.from_functions(vanish, actions=[0], start=0), "gives None"),
        (lambda: MDP.from_functions(wrap, actions=[0], start=0), "no state"),
        (lambda: TWO.action_values([1, np.nan], 0.9), "NaN"),
        (lambda: TWO.action_values([1, 2], -0.9), "discount"),
        (lambda: evaluate_policy(TWO, [0, 0], 0.9, horizon=-1), "horizon=-1"),
        (lambda: evaluate_policy(TWO, [0, 0], 0.9, horizon=1.5), "horizon=1.5"),
        (lambda: greedy_policy([[np.nan, 1.0]]), "NaN"),
        (lambda: greedy_policy([1.0, 2.0]), "each state and action"),
        (lambda: td_update(np.zeros((2, 2)), (0, 0, 1.0, 1), rate=np.nan, discount=0.9), "rate"),
        (lambda: td_update(np.zeros((2, 2)), (0, 0, 1.0, 1), rate=0.5, discount=-1), "discount"),
        (lambda: td_update(np.zeros((2, 2)), (0, 0, 1.0), rate=0.5, discount=0.9), "next state"),
        (lambda: exponential_average([1, np.nan], 0.5), "finite"),
        (lambda: model_based_mean([], abs), "at least one"),
        (lambda: model_free_mean([], abs), "at least one"),
        (lambda: discounted_returns([1, np.nan], 0.5), "finite"),
        (lambda: discounted_returns([1, 2], -0.5), "discount"),
        (lambda: sample_moves(TWO, 0), "n=0"),
        (lambda: sample_moves(MDP(np.ones((1, 1, 1)), [1.0], terminal=[0]), 3), "terminal"),
        (lambda: demonstrate(ValueIteration(0.9).fit(TWO), TWO, 0), "episodes=0"),
        (lambda: BehavioralCloning(DecisionTreeClassifier()).fit([[1, 2]], TWO), "demonstrate"),
        (lambda: GridWorld("S.G", {"G": 1.0}), "list of texts"),
        (lambda: GridWorld(["##"], {}), "at least one of each"),
        (lambda: maze(1.5, 2), "height=1.5"),
        (lambda: cliff(0, 0), "height=0"),
        (lambda: delayed_reward(0), "length=0"),
        (lambda: TextGame(texts="abcdefgh"), "give a list"),
        (lambda: CartPole(0), "max_steps=0"),
        (lambda: MDPWorld(5), "no MDP"),
        (lambda: compare([QLearning()], grid_world()), "expected a dict"),
        (lambda: compare({"a": QLearning()}, {"b": grid_world()}), "none for agent 'a'"),
        (lambda: compare({"a": QLearning()}, grid_world(), runs=0), "runs=0"),
    ],
)
def test_functions_name_what_is_wrong(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize("prior", [-1, np.nan, "x"])
def test_models_refuse_priors_that_are_no_counts(prior):
    with pytest.raises(NotFittedError):
        TransitionModel().to_mdp()
    model = TransitionModel().fit(sample_moves(grid_world(), 50))
    with pytest.raises(ValueError, match="prior"):
        model.to_mdp(prior=prior)


def test_moves_of_a_policy_are_its_moves():
    policy = ValueIteration(0.9).fit(TWO).policy_
    moves = sample_moves(TWO, 20, policy)
    assert moves["action"] == policy[moves["state"]].tolist()


@pytest.mark.parametrize("Agent", LEARNERS)
@pytest.mark.parametrize("episodes", [-1, 1.5, np.nan, "x", None])
def test_episodes_are_whole_numbers(Agent, episodes):
    with pytest.raises(ValueError, match="episodes="):
        Agent(**SHORT).partial_fit(TWO, episodes)


@pytest.mark.parametrize("Agent", LEARNERS)
def test_nothing_is_predicted_from_nothing_and_one_state_is_no_list(Agent):
    agent = Agent(**SHORT).fit(TWO)
    assert agent.predict([]).shape == (0,)
    with pytest.raises(ValueError, match="expected a list"):
        agent.predict(1)
    with pytest.raises(NotFittedError):
        Agent().predict([0])


def test_one_text_is_no_list_of_letters():
    game = TextGame()
    agent = LinearQ(features=WordCounts(), **SHORT).fit(game)
    with pytest.raises(ValueError, match="expected a list"):
        agent.predict(game.texts[0])


@pytest.mark.parametrize("Agent", [LinearQ, DeepQ, PolicyGradient])
def test_missing_actions_are_told_before_learning(Agent):
    for world in (GAP, MDPWorld(GAP)):
        with pytest.raises(ValueError, match="action 'go' does not exist in state 'in'"):
            Agent(**SHORT).fit(world)
    assert QLearning(0.9, n_episodes=50, max_steps=50, random_state=0).fit(GAP).policy_[0] == 0


@pytest.mark.parametrize("Agent", [LinearQ, DeepQ])
def test_bounds_of_confidence_need_counts(Agent):
    with pytest.raises(ValueError, match="exploration"):
        Agent(exploration=UpperConfidence(), **SHORT).fit(TWO)
    with pytest.raises(ValueError, match="EpsilonGreedy"):
        QLearning(exploration=(0.5, 0.1), **SHORT).fit(TWO)


@pytest.mark.parametrize("paid", ["much", None, np.array([1.0, 2.0]), float("inf")])
@pytest.mark.parametrize("Agent", LEARNERS)
def test_rewards_that_are_no_numbers_are_named_with_their_step(Agent, paid):
    class Strange(MDPWorld):
        def step(self, action):
            seen, reward, *rest = super().step(action)
            return seen, paid if self._step == 3 else reward, *rest

    with pytest.raises(ValueError, match="in step 3 of the episode with seed"):
        Agent(**SHORT).fit(Strange(TWO))


@pytest.mark.parametrize("world", [MDPWorld(TWO), CartPole(), MountainCar(), TextGame()])
@pytest.mark.parametrize("action", [-1, 99, 1.5, "a", None, np.nan, np.array([0, 1])])
def test_worlds_name_actions_that_do_not_exist(world, action):
    world.reset(seed=0)
    with pytest.raises(ValueError, match=r"(action|command) .*(does not exist in|there are 0 to)"):
        world.step(action)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", 2**70])
def test_seeds_are_whole_numbers(seed):
    for world in (MDPWorld(TWO), CartPole(), TextGame(), PointMass()):
        with pytest.raises(ValueError, match="seed="):
            world.reset(seed=seed)


def test_a_point_moves_only_between_beginning_and_end():
    world = PointMass(1)
    with pytest.raises(RuntimeError, match="reset"):
        world.step(0.5)
    world.reset(seed=0)
    with pytest.raises(ValueError, match="from -1 to 1"):
        world.step([0.1, 0.2])
    world.step(0.5)
    with pytest.raises(RuntimeError, match="reset"):
        world.step(0.5)


def run_away(t):
    return 1e300 if t > 3 else 1.0


@pytest.mark.parametrize(
    "agent",
    [
        LinearQ(0.9, learning_rate=run_away, n_episodes=5, random_state=0),
        DeepQ(0.9, layers=(), learning_rate=run_away, warmup=8, train_every=8, n_episodes=20,
              random_state=0),
        PolicyGradient(0.9, layers=(), learning_rate=1e200, n_episodes=96, random_state=0),
    ],
    ids=["linear", "deep", "gradient"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_that_run_away_are_told(agent):
    with pytest.raises(ValueError, match="not finite after"):
        agent.fit(grid_world(slip=0.2))
