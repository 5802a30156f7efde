"""Learning from tables of moves that somebody made."""

import numpy as np
import pandas as pd
import pytest

import tenfold
from tenfold import (
    MDP,
    SARSA,
    BehavioralCloning,
    DecisionTreeClassifier,
    DeepQ,
    LinearQ,
    LinearRegression,
    QLearning,
    ValueIteration,
    WordCounts,
)
from tenfold.neural import Dense
from tenfold.rl import TextGame, demonstrate, grid_world, sample_moves


def numbered_moves(world, n=5000):
    """Moves of a world with numbers of states and of actions."""
    moves = sample_moves(world, n, random_state=1)
    states = {str(s): i for i, s in enumerate(world.states)}
    for column in ("state", "next_state"):
        moves[column] = [states[str(s)] for s in moves[column]]
    moves["action"] = [world.actions.index(a) for a in moves["action"]]
    return moves


def corridor_moves(n=400):
    """Moves on a line of five cells with a reward at its right end, in order of episodes."""
    rng, rows, s = np.random.default_rng(0), [], 0
    for _ in range(n):
        a = int(rng.integers(2))
        after = min(max(s + 2 * a - 1, 0), 4)
        ended = after == 4
        rows.append((s, a, float(ended), after, ended))
        s = 0 if ended else after
    return pd.DataFrame(rows, columns=["state", "action", "reward", "next_state", "terminated"])


def test_linear_q_of_indicators_is_the_table_to_the_bit():
    moves = numbered_moves(grid_world(slip=0.2))
    settings = {"n_episodes": 3, "learning_rate": 0.1, "random_state": 0}
    table = QLearning(0.8, **settings).fit(moves)
    linear = LinearQ(0.8, **settings).fit(moves)
    np.testing.assert_array_equal(linear.action_values(table.states_), table.q_)
    assert linear.actions_ == table.actions_
    assert len(linear.history_["pass_error"]) == 3


def test_joint_features_of_a_table():
    moves = corridor_moves()

    def both(s, a):
        return np.eye(10)[2 * int(s) + a]

    settings = {"n_episodes": 3, "learning_rate": 0.1}
    joint = LinearQ(0.9, joint_features=both, **settings).fit(moves)
    plain = LinearQ(0.9, **settings).fit(moves)
    np.testing.assert_array_equal(joint.theta_.reshape(5, 2), plain.theta_.T)


@pytest.mark.parametrize(
    "agent",
    [
        LinearQ(0.9, n_episodes=50, learning_rate=0.1),
        DeepQ(0.9, layers=(Dense(16, "tanh"),), n_episodes=60, learning_rate=0.01, random_state=0),
        QLearning(0.9, n_episodes=50, random_state=0),
    ],
)
def test_agents_learn_the_best_actions_from_random_moves(agent, tmp_path):
    moves = corridor_moves()
    assert agent.fit(moves).predict([0, 1, 2, 3]).tolist() == [1, 1, 1, 1]
    moves.to_parquet(tmp_path / "moves.parquet")
    first = agent.predict(range(5))
    again = agent.fit(tmp_path / "moves.parquet")
    np.testing.assert_array_equal(again.predict(range(5)), first)
    again.save(tmp_path / "agent.tenfold")
    loaded = tenfold.load(tmp_path / "agent.tenfold")
    np.testing.assert_array_equal(loaded.predict(range(5)), first)
    words = moves.assign(action=moves["action"].map({0: "left", 1: "right"}))
    assert agent.fit(words).predict([0, 3]).tolist() == ["right", "right"]


def test_values_of_a_deep_network_approach_those_of_the_table():
    moves = corridor_moves(1000)
    table = QLearning(0.9, n_episodes=200, learning_rate=0.1).fit(moves)
    deep = DeepQ(
        0.9, layers=(), n_episodes=300, learning_rate=0.02, target_every=20, random_state=0
    )
    found = deep.fit(moves).action_values(range(4))
    np.testing.assert_allclose(found, table.q_[:4], atol=0.03)
    assert deep.history_["pass_loss"][-1] < deep.history_["pass_loss"][0]


def test_observations_of_several_columns():
    moves = corridor_moves()
    wide = moves.drop(columns=["state", "next_state"])
    for name in ("state", "next_state"):
        code = np.eye(5)[moves[name]]
        for j in range(5):
            wide[f"{name}_{j}"] = code[:, j]
    plain = LinearQ(0.9, n_episodes=5).fit(moves)
    rows = LinearQ(0.9, n_episodes=5).fit(wide)
    np.testing.assert_array_equal(rows.theta_, plain.theta_)
    assert rows.predict(np.eye(5)[:2]).tolist() == [1, 1]
    with pytest.raises(ValueError, match="one column 'state'; LinearQ"):
        QLearning().fit(wide)
    with pytest.raises(
        ValueError, match=r"no column 'next_state'.*found next_state_0, next_state_2"
    ):
        LinearQ().fit(wide.drop(columns=["next_state_1", "next_state_3", "next_state_4"]))


def test_texts_of_a_table_get_features():
    moves = corridor_moves()
    names = {i: f"cell {word}" for i, word in enumerate(["one", "two", "three", "four", "five"])}
    texts = moves.assign(state=moves["state"].map(names), next_state=moves["next_state"].map(names))
    agent = LinearQ(0.9, features=WordCounts("presence"), n_episodes=30, learning_rate=0.05)
    assert agent.fit(texts).predict(["cell one", "cell four"]).tolist() == [1, 1]
    with pytest.raises(ValueError, match="column 'state' holds 'cell one', no number of a state"):
        LinearQ().fit(texts)


def test_an_agent_goes_on_in_a_world_after_a_table():
    world = grid_world()
    agent = LinearQ(0.9, n_episodes=5, random_state=0).fit(numbered_moves(world))
    agent.partial_fit(world, 3)
    assert agent.n_episodes_ == 3
    assert len(agent.history_["pass_error"]) == 5
    moves = numbered_moves(world)
    moves["action"] = ["go" for _ in moves["action"]]
    with pytest.raises(ValueError, match="learned the actions 'go' from a table"):
        DeepQ(layers=(), n_episodes=1).fit(moves).partial_fit(world, 1)


def test_actions_of_a_table_are_matched_by_name_in_a_process():
    world = grid_world()
    best = ValueIteration(0.9).fit(world)
    moves = sample_moves(world, 3000, random_state=1)
    states = {str(s): i for i, s in enumerate(world.states)}
    for column in ("state", "next_state"):
        moves[column] = [states[str(s)] for s in moves[column]]
    agent = LinearQ(0.9, n_episodes=50).fit(moves)
    assert agent.evaluate(world, 5).mean == pytest.approx(best.evaluate(world, 5).mean)


def test_sarsa_takes_the_action_of_the_next_row():
    moves = pd.DataFrame(
        {
            "state": ["a", "b", "a", "b"],
            "action": ["x", "y", "y", "x"],
            "reward": [1.0, 2.0, 3.0, 5.0],
            "next_state": ["b", "end", "b", "a"],
            "terminated": [False, True, False, False],
        }
    )
    agent = SARSA(0.5, learning_rate=1.0, n_episodes=2).fit(moves)
    q = {(s, a): agent.q_[i, j] for i, s in enumerate(agent.states_) for j, a in enumerate("xy")}
    # the last move has no next action: it is left out
    assert q == {
        ("a", "x"): 1 + 0.5 * 2, ("a", "y"): 3.0, ("b", "x"): 0.0, ("b", "y"): 2.0,
        ("end", "x"): 0.0, ("end", "y"): 0.0,
    }  # fmt: skip
    cut = moves.assign(truncated=[True, False, True, False])
    assert SARSA(0.5, learning_rate=1.0, n_episodes=2).fit(cut).visits_.sum() == 2
    with pytest.raises(ValueError, match="expected=False, or take QLearning"):
        SARSA(expected=True).fit(moves)
    with pytest.raises(ValueError, match="no row begins in the state"):
        SARSA().fit(moves.iloc[[0, 3]].assign(next_state="b", terminated=False, state="a"))


@pytest.mark.parametrize(
    "agent",
    [
        QLearning(0.9, n_episodes=40, random_state=0),
        SARSA(0.9, n_episodes=40, random_state=0, double=True),
        LinearQ(0.9, n_episodes=40, random_state=0),
        DeepQ(0.9, layers=(Dense(8, "relu"),), n_episodes=40, random_state=0),
    ],
)
def test_a_resumed_fit_of_a_table_has_the_same_bits(agent, tmp_path, monkeypatch):
    from tenfold.rl import _deep_q_numba, _table_numba

    def learned(model):
        if isinstance(model, DeepQ):
            return model.params_
        return [model.q_ if hasattr(model, "q_") else model.theta_]

    moves = corridor_moves()
    whole = learned(agent.fit(moves))
    calls = 0

    def stop_at(function):
        def call(*arguments):
            nonlocal calls
            calls += 1
            if calls == 25:
                raise KeyboardInterrupt
            return function(*arguments)

        return call

    path = tmp_path / "fit.checkpoint"
    with monkeypatch.context() as patch:
        for module, name in (
            (_table_numba, "replay_moves"),
            (_table_numba, "replay_linear_moves"),
            (_deep_q_numba, "train_steps"),
        ):
            patch.setattr(module, name, stop_at(getattr(module, name)))
        with pytest.raises(KeyboardInterrupt), tenfold.checkpoint(path, every=0):
            agent.fit(moves)
    with tenfold.checkpoint(path, every=0):
        resumed = learned(agent.fit(moves))
    for a, b in zip(whole, resumed, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_clone_of_logged_demonstrations(tmp_path):
    world = grid_world()
    expert = ValueIteration(0.9).fit(world)
    episodes = demonstrate(expert, world, 3)
    rows = [
        {"episode": e, "state": move.observation, "action": move.action}
        for e, episode in enumerate(episodes)
        for move in episode
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "shown.csv", index=False)
    settings = {"previous_action": True, "window": 2}
    plain = BehavioralCloning(DecisionTreeClassifier(), **settings).fit(episodes, world)
    logged = BehavioralCloning(DecisionTreeClassifier(), **settings).fit(
        tmp_path / "shown.csv", world
    )
    assert logged.n_moves_ == plain.n_moves_
    assert logged.evaluate(world, 3).mean == plain.evaluate(world, 3).mean
    alone = BehavioralCloning(DecisionTreeClassifier()).fit(pd.DataFrame(rows))
    assert alone.error_ == 0
    with pytest.raises(TypeError, match="give the world too"):
        BehavioralCloning(DecisionTreeClassifier()).fit(episodes)


def test_real_actions_of_logged_demonstrations():
    X = np.random.default_rng(0).normal(size=(50, 2))
    table = {"state_0": X[:, 0], "state_1": X[:, 1], "action": X @ [1.0, -2.0]}
    agent = BehavioralCloning(LinearRegression()).fit(table)
    np.testing.assert_allclose(agent.predict([[1.0, 1.0]]), [-1.0], atol=1e-9)
    table |= {"action_0": X[:, 0], "action_1": X[:, 1]}
    del table["action"]
    agent = BehavioralCloning(LinearRegression()).fit(table)
    np.testing.assert_allclose(agent.predict([[1.0, 2.0]]), [[1.0, 2.0]], atol=1e-9)


def test_the_text_game_from_a_log():
    """Moves of one agent teach another, text by text."""
    game, rows = TextGame(), []
    rng = np.random.default_rng(0)
    for e in range(150):
        seen, _ = game.reset(seed=e)
        over = False
        while not over:
            a = int(rng.integers(game.action_space.n))
            after, reward, terminated, truncated, _ = game.step(a)
            rows.append((seen, a, reward, after, terminated))
            seen, over = after, terminated or truncated
    names = ["state", "action", "reward", "next_state", "terminated"]
    moves = pd.DataFrame(rows, columns=names)
    agent = LinearQ(0.5, features=WordCounts("presence"), learning_rate=0.02, n_episodes=5)
    agent.fit(moves)
    assert agent.evaluate(TextGame(), 30, discount=0.5).mean > 0.2


@pytest.mark.parametrize("make", [QLearning, SARSA, LinearQ, DeepQ])
def test_an_interrupt_keeps_the_passes_so_far_and_a_failed_fit_the_agent(make, monkeypatch):
    from tenfold.rl import _deep_q_numba, _table_numba

    settings = {"layers": (), "batch_size": 400} if make is DeepQ else {}
    agent = make(0.9, n_episodes=9, random_state=0, **settings)
    few = make(0.9, n_episodes=4, random_state=0, **settings).fit(corridor_moves())
    with pytest.raises(ValueError, match="no column"):
        few.fit({"state": [0]})
    calls = 0

    def stop(function):
        def call(*arguments):
            nonlocal calls
            calls += 1
            if calls == 5:
                raise KeyboardInterrupt
            return function(*arguments)

        return call

    for module, name in (
        (_table_numba, "replay_moves"),
        (_table_numba, "replay_linear_moves"),
        (_deep_q_numba, "train_steps"),
    ):
        monkeypatch.setattr(module, name, stop(getattr(module, name)))
    with pytest.raises(KeyboardInterrupt):
        agent.fit(corridor_moves())
    if make in (LinearQ, DeepQ):
        np.testing.assert_array_equal(agent.action_values(range(5)), few.action_values(range(5)))
        assert len(agent.history_["pass_error" if make is LinearQ else "pass_loss"]) == 4
    else:
        np.testing.assert_array_equal(agent.q_, few.q_)


def test_numbers_of_a_log_are_those_of_the_world_it_came_from():
    world = grid_world()
    moves = numbered_moves(world)
    best = ValueIteration(0.9).fit(world).evaluate(world, 5).mean
    for agent in (QLearning(0.9, n_episodes=50), LinearQ(0.9, n_episodes=50)):
        assert agent.fit(moves).evaluate(world, 5).mean == pytest.approx(best)
    words = {"state": ["p", "q"], "action": ["go", "stay"], "reward": [5, 5]}
    words["next_state"] = ["q", "p"]
    agent = QLearning(0.9, n_episodes=2).fit(words)
    stay = np.array([[[1.0, 0], [0, 1]], [[0, 1], [1, 0]]])
    with pytest.raises(ValueError, match="learned the actions 'go', 'stay' from a table"):
        agent.partial_fit(MDP(stay, [0.0, 1.0]), 1)


def test_cloned_actions_with_names_are_matched_in_a_process():
    world = grid_world()
    expert = ValueIteration(0.9).fit(world)
    rows = [
        {"state": move.observation, "action": str(world.actions[move.action])}
        for move in demonstrate(expert, world, 1)[0]
    ]
    agent = BehavioralCloning(DecisionTreeClassifier()).fit(pd.DataFrame(rows))
    assert agent.evaluate(world, 3).mean == pytest.approx(expert.evaluate(world, 3).mean)


def test_joint_features_get_the_names_of_actions():
    moves = corridor_moves()
    moves["action"] = moves["action"].map({0: "left", 1: "right"})
    seen = set()

    def both(s, a):
        seen.add(a)
        return np.eye(10)[2 * s + (a == "right")]

    agent = LinearQ(0.9, joint_features=both, n_episodes=30).fit(moves)
    assert seen == {"left", "right"}
    assert agent.predict([0, 3]).tolist() == ["right", "right"]


def test_what_cannot_be_learned_from_is_named():
    wild = corridor_moves().rename(columns={"state": "state_0", "next_state": "next_state_0"})
    wild[["state_0", "next_state_0"]] *= 1000.0
    with pytest.raises(ValueError, match=r"not finite after pass .*standardize"):
        LinearQ(0.9, n_episodes=50).fit(wild)
    far = corridor_moves()
    far.loc[0, "state"] = 10**9
    for agent in (LinearQ(), DeepQ()):
        with pytest.raises(ValueError, match="an indicator for each of 1,000,000,001 states"):
            agent.fit(far)
    with pytest.raises(ValueError, match="'state' and 'next_state' one holds words"):
        QLearning().fit(corridor_moves().assign(state="a"))
    with pytest.raises(ValueError, match="name the columns state_0"):
        LinearQ().fit(corridor_moves().assign(state=0.5))


def test_sarsa_knows_the_states_of_moves_that_it_leaves_out():
    moves = {"state": ["a", "z"], "action": ["x", "y"], "reward": [1, 2]}
    moves |= {"next_state": ["end", "q"], "terminated": [True, False]}
    assert SARSA(0.9, n_episodes=2).fit(moves).states_ == ["a", "end", "q", "z"]
