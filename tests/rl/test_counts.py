"""Models from counts, averages and bandits."""

import csv

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tenfold
from tenfold import MDP, Bandit, ValueIteration, load
from tenfold.rl import (
    Arms,
    TransitionModel,
    exponential_average,
    grid_world,
    model_based_mean,
    model_free_mean,
    sample_moves,
)

WORLD = grid_world(slip=0.2)
MOVES = sample_moves(WORLD, 30_000, random_state=0)
MOVES = {name: [str(v) if "state" in name else v for v in c] for name, c in MOVES.items()}


def part(table, low, high):
    return {name: column[low:high] for name, column in table.items()}


def same_counts(a, b):
    for x, y in zip(a.counts_, b.counts_, strict=True):
        np.testing.assert_array_equal(x, y)


def test_counts_find_the_process():
    counts = TransitionModel().fit(MOVES)
    mdp = counts.to_mdp()
    assert counts.n_moves_ == 30_000
    assert mdp.terminal.tolist() == [s == "(0, 2)" for s in mdp.states]
    found, best = (ValueIteration(0.9).fit(m).values_ for m in (mdp, WORLD))
    np.testing.assert_allclose(found, best, atol=0.02)


def test_probabilities_are_ratios_and_rewards_are_means():
    table = {
        "state": [0] * 4,
        "action": [1] * 4,
        "reward": [1, 3, 5, 0],
        "next_state": [0, 0, 2, 2],
    }
    mdp = TransitionModel().fit(table).to_mdp(unvisited="missing", terminal=[2])
    t = mdp.transitions
    assert t.probability.tolist() == [0.5, 0.5]
    assert t.reward.tolist() == [2.0, 2.5]
    smooth = TransitionModel().fit(part(table, 0, 3)).to_mdp(prior=1.0, terminal=[2])
    np.testing.assert_allclose(smooth.transitions.probability[:2], [3 / 5, 2 / 5])


def test_parts_files_and_merges_count_the_same(tmp_path):
    whole = TransitionModel().fit(MOVES)
    first = TransitionModel().fit(part(MOVES, 0, 11_111))
    second = TransitionModel().fit(part(MOVES, 11_111, None))
    merged, later = first.merge(second), TransitionModel().fit(part(MOVES, 0, 11_111))
    later.partial_fit(part(MOVES, 11_111, None))
    for other in (merged, later):
        np.testing.assert_array_equal(other.counts_.n_times, whole.counts_.n_times)
        np.testing.assert_allclose(other.counts_.reward, whole.counts_.reward)
        assert other.states_ == whole.states_
    with (tmp_path / "moves.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(MOVES)
        writer.writerows(zip(*MOVES.values(), strict=True))
    same_counts(TransitionModel().fit(tmp_path / "moves.csv"), whole)


def test_a_file_counts_to_the_same_bits_on_threads_and_on_dask(tmp_path, two_workers):
    noise = np.random.default_rng(0).normal(size=len(MOVES["reward"]))  # sums that round
    table = MOVES | {"reward": (np.array(MOVES["reward"]) + noise).tolist()}
    path = tmp_path / "moves.parquet"
    parquet.write_table(pa.table(table), path)
    with tenfold.threads(1):
        alone = TransitionModel().fit(path)
    for n in (2, 8):
        with tenfold.threads(n):
            same_counts(TransitionModel().fit(path), alone)
    with tenfold.on(two_workers):
        same_counts(TransitionModel().fit(path), alone)
    same_counts(TransitionModel().fit(table), alone)


def test_unvisited_actions():
    table = {"state": [0, 1, 1], "action": [0, 0, 1], "reward": [1, 0, 0], "next_state": [1, 0, 1]}
    counts = TransitionModel().fit(table)
    stay, bold = counts.to_mdp(), counts.to_mdp(unvisited="optimistic", optimistic_value=7.0)
    assert stay.expected_rewards[0, 1] == 0
    assert bold.expected_rewards[0, 1] == 7
    assert ValueIteration(0.5).fit(bold).policy_[0] == 1
    assert np.isneginf(counts.to_mdp(unvisited="missing").expected_rewards[0, 1])
    with pytest.raises(ValueError, match="unvisited='no'"):
        counts.to_mdp(unvisited="no")
    table["reward"][1] = None
    with pytest.raises(ValueError, match="row 1: column 'reward' has no value"):
        TransitionModel().fit(table)


def test_planning_with_the_model_is_replaying_its_samples():
    """Model-based = model-free on the same samples: the fixed point of averaged backups."""
    samples = np.random.default_rng(0).integers(0, 4, 50)
    assert model_based_mean(samples, np.sqrt) == pytest.approx(model_free_mean(samples, np.sqrt))
    moves = sample_moves(WORLD, 3000, random_state=2)
    moves = {name: [str(v) if "state" in name else v for v in c] for name, c in moves.items()}
    counts = TransitionModel().fit(moves)
    V = dict(
        zip(
            counts.states_, ValueIteration(0.9, tol=1e-12).fit(counts.to_mdp()).values_, strict=True
        )
    )
    rows = zip(*(moves[c] for c in ("state", "action", "reward", "next_state")), strict=True)
    backups = {}
    for s, a, r, t in rows:
        backups.setdefault((s, a), []).append(r + 0.9 * V[t])
    for s in counts.states_[:2]:
        best = max(np.mean(backups[s, a]) for a in WORLD.actions)
        assert V[s] == pytest.approx(best, abs=1e-9)


def test_exponential_averages_of_the_notes():
    x = [1, 2, 3, 4]
    assert exponential_average(x, 0.5) == pytest.approx(49 / 15)
    assert exponential_average(x, 0.5, how="recursive") == 3.125
    assert exponential_average(x, 0.5, how="recursive", start=0.0) == 3.0625
    assert exponential_average(x, 0.5, how="corrected") == pytest.approx(49 / 15)
    long = np.random.default_rng(0).normal(size=2000)
    assert exponential_average(long, 0.1) == pytest.approx(
        exponential_average(long, 0.1, how="recursive"), abs=1e-12
    )
    for bad in ({"rate": 0.0}, {"rate": 0.5, "how": "no"}, {"x": [], "rate": 0.5}):
        with pytest.raises(ValueError, match=r"rate=0|how='no'|x has shape"):
            exponential_average(**({"x": x} | bad))


@pytest.mark.parametrize("method", ["ucb", "thompson", "epsilon-greedy", "boltzmann"])
@pytest.mark.parametrize("scale", [0.0, 0.3])
def test_bandits_find_the_best_arm(method, scale, tmp_path):
    arms = Arms([0.2, 0.5, 0.8], scale)
    level = {"ucb": 0.7, "boltzmann": 0.1, "epsilon-greedy": 0.1}.get(method, 1.0)
    agent = Bandit(method, level=level, n_pulls=600, random_state=0).fit(arms)
    assert agent.best_arm_ == 2 == agent.predict([0])[0]
    assert agent.pulls_[2] > 400
    assert agent.history_["regret"][-1] < 600 * 0.3 * 0.4
    parts = Bandit(method, level=level, random_state=0).partial_fit(arms, 250)
    parts.save(tmp_path / "bandit")
    parts = load(tmp_path / "bandit").partial_fit(arms, 350)
    np.testing.assert_array_equal(parts.history_["reward"], agent.history_["reward"])


def test_regret_grows_slower_than_that_of_chance():
    arms = Arms([0.4, 0.6])
    ucb = Bandit("ucb", level=0.7, n_pulls=2000, random_state=1).fit(arms).history_["regret"]
    chance = Bandit("epsilon-greedy", level=1.0, n_pulls=2000, random_state=1).fit(arms)
    assert ucb[-1] < 0.5 * chance.history_["regret"][-1] == pytest.approx(100, abs=10)
    falling = Bandit("epsilon-greedy", level=5.0, decay=True, n_pulls=2000, random_state=1).fit(
        arms
    )
    assert falling.history_["regret"][-1] < 60


def test_bandits_take_functions_and_refuse_missing_rewards():
    agent = Bandit("ucb", n_pulls=200, random_state=0)
    agent.fit([lambda rng: rng.normal(), lambda rng: 2 + rng.normal()])
    assert agent.best_arm_ == 1
    assert "regret" not in agent.history_
    with pytest.raises(ValueError, match=r"paid nan in step \d"):
        agent.fit([lambda _: np.nan, lambda _: 0.0])


def test_a_model_of_one_file_is_a_process():
    assert isinstance(TransitionModel().fit(MOVES).to_mdp(), MDP)
