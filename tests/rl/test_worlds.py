"""Worlds, the harness, and Gymnasium as an oracle where it is installed."""

import os
from pathlib import Path

import numpy as np
import pytest

from tenfold import MDP, SARSA, QLearning, ValueIteration
from tenfold.rl import (
    CartPole,
    MDPWorld,
    MountainCar,
    PointMass,
    TextGame,
    cliff,
    compare,
    delayed_reward,
    grid_world,
    maze,
    to_gymnasium,
)

DATA = Path(os.environ.get("TENFOLD_DATA", "")) / "mit686x" / "textgame" / "game.tsv"
WORLDS = [MDPWorld(grid_world(slip=0.2)), CartPole(), MountainCar(), TextGame(), TextGame("number")]


def play(world, seed, steps=40):
    rng = np.random.default_rng(0)
    trace = [world.reset(seed=seed)[0]]
    for _ in range(steps):
        seen, reward, terminated, truncated, info = world.step(
            int(rng.integers(world.action_space.n))
        )
        assert info == {}
        trace += [seen, reward, terminated, truncated]
        if terminated or truncated:
            break
    return [np.asarray(part).tolist() for part in trace]


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: type(w).__name__)
def test_seeds_decide_episodes(world):
    assert play(world, 5) == play(world, 5)
    assert any(play(world, 5) != play(world, seed) for seed in (6, 7, 8))
    world.reset(seed=0)
    while not any(world.step(0)[2:4]):
        pass
    with pytest.raises(RuntimeError, match="call reset"):
        world.step(0)


@pytest.mark.filterwarnings("ignore:.*Box observation space")
@pytest.mark.parametrize("world", [*WORLDS, PointMass()], ids=lambda w: type(w).__name__)
def test_gymnasiums_checker_passes(world):
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    checker.check_env(to_gymnasium(world), skip_render_check=True)


@pytest.mark.parametrize(
    ("name", "world"), [("CartPole-v1", CartPole()), ("MountainCar-v0", MountainCar())]
)
def test_trajectories_are_gymnasiums(name, world):
    gymnasium = pytest.importorskip("gymnasium")
    env, rng = gymnasium.make(name), np.random.default_rng(0)
    for seed in range(5):
        a, b = env.reset(seed=seed)[0], world.reset(seed=seed)[0]
        done = False
        while not done:
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
            action = int(rng.integers(world.action_space.n))
            a, *left = env.step(action)
            b, *right = world.step(action)
            assert left[:3] == right[:3]
            done = left[1] or left[2]


def test_tables_of_gymnasium_are_read_and_learned():
    gymnasium = pytest.importorskip("gymnasium")
    lake = MDP.from_gymnasium("FrozenLake-v1")
    plan = ValueIteration(0.99).fit(lake)
    assert plan.values_[0] == pytest.approx(0.542, abs=1e-3)
    assert ValueIteration(1.0).fit(MDP.from_gymnasium("CliffWalking-v1")).values_[36] == -13
    env = gymnasium.make("CliffWalking-v1", max_episode_steps=200)
    agent = QLearning(1.0, learning_rate=0.5, n_episodes=150, random_state=0).fit(env)
    assert agent.evaluate(env, 1).mean == -13


def test_the_text_game_follows_its_rules():
    game = TextGame()
    mdp = game.to_mdp()
    plan = ValueIteration(0.5, tol=1e-12).fit(mdp)
    hidden = plan.values_[:16].mean()
    assert hidden == pytest.approx((1 + 2 * 0.49 + 0.235) / 4)  # 0, 1, 1 or 2 moves to the wish
    counts = np.zeros(4)
    for seed in range(40):
        text = game.reset(seed=seed)[0]
        quest = next(i for i, q in enumerate(game.quests) if text.endswith(q))
        counts[quest] += 1
        room = next(i for i, d in enumerate(game.descriptions) if text.startswith(d)) // 4
        bad = game.commands.index("eat north")
        assert game.step(bad)[1:3] == (-0.1, False)
        while room != quest:
            action = plan.policy_[room * 4 + quest]
            seen, reward, terminated, *_ = game.step(action)
            assert (reward, terminated) == (-0.01, False)
            room = next(i for i, d in enumerate(game.descriptions) if seen.startswith(d)) // 4
        assert game.step(plan.policy_[room * 4 + quest])[1:3] == (1.0, True)
    assert (counts > 0).all()
    assert game.reset(seed=0)
    for step in range(20):
        cut = game.step(game.commands.index("eat north"))[3]
        assert cut == (step == 19)
    with pytest.raises(ValueError, match="expected the same number"):
        TextGame(texts=["a", "b"])


@pytest.mark.skipif(not DATA.exists(), reason="needs TENFOLD_DATA")
def test_the_table_learns_the_course_game():
    """Project 5: a table over pairs of description and quest comes near the best, 0.55375."""
    game = TextGame.from_file(DATA, "number")
    agent = QLearning(0.5, learning_rate=0.3, n_episodes=4000, random_state=0)
    assert agent.fit(game).evaluate(game, 400, discount=0.5).mean > 0.5


def test_mazes_reward_the_shortest_way():
    world = maze(6, 6, walls=0.3, random_state=2)
    plan = ValueIteration(1.0).fit(world)
    length = 100 - plan.values_[0] + 0
    assert length == plan.evaluate(world, 1).lengths[0]
    assert world.rows[0][0] == "S"
    with pytest.raises(ValueError, match="take fewer walls"):
        maze(20, 20, walls=0.95)


def test_delayed_rewards_need_foresight():
    world = delayed_reward(length=4, now=1.0, later=5.0)
    agent = QLearning(0.9, n_episodes=500, random_state=0).fit(world)
    blind = QLearning(0.0, n_episodes=500, random_state=0).fit(world)
    assert agent.evaluate(world, 1).mean == 5
    assert blind.evaluate(world, 1).mean == 1


def test_the_harness_runs_epochs_and_shares_luck():
    world = cliff()
    agents = {"Q": QLearning(1.0, learning_rate=0.5), "SARSA": SARSA(1.0, learning_rate=0.5)}
    result = compare(
        agents, world, runs=3, epochs=4, train_episodes=50, test_episodes=2, max_steps=100
    )
    assert result.returns["Q"].shape == (3, 4)
    assert result.episodes.tolist() == [50, 100, 150, 200]
    assert result.mean("Q")[-1] == -13
    gap = result.difference("Q", "SARSA")
    assert gap.low <= gap.value <= gap.high
    again = compare(
        agents, world, runs=3, epochs=4, train_episodes=50, test_episodes=2, max_steps=100
    )
    np.testing.assert_array_equal(result.returns["SARSA"], again.returns["SARSA"])
    assert result.interval("SARSA").level == 0.95
    with pytest.raises(ValueError, match="at least 1"):
        compare(agents, world, runs=0)


def test_worlds_refuse_what_does_not_exist():
    world = MDPWorld(grid_world())
    world.reset(seed=0)
    with pytest.raises(ValueError, match=r"action 4 does not exist in state \(2, 2\)"):
        world.step(4)
    pole = CartPole()
    pole.reset(seed=0)
    with pytest.raises(ValueError, match="action 2: there are 0 to 1"):
        pole.step(2)
    with pytest.raises(ValueError, match="a table needs numbers"):
        QLearning().fit(CartPole())
