"""Pictures of acting."""

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot as plt

from tenfold import SARSA, QLearning, ValueIteration
from tenfold.plot import grid_policy, learning_curves
from tenfold.rl import compare, grid_world


def test_values_and_arrows_of_a_grid():
    world = grid_world()
    plan = ValueIteration(0.9).fit(world)
    ax = grid_policy(world, plan)
    labels = [text.get_text() for text in ax.texts if text.get_text()]
    assert labels.count("end") == 1
    assert f"{plan.values_[0]:.2f}" in labels
    assert len(ax.texts) == 8 + 7  # numbers, and arrows where it goes on
    ties = grid_policy(world, plan.optimal_actions_)
    assert len(ties.texts) == plan.optimal_actions_[~world.terminal].sum()
    plt.close("all")


def test_bands_of_learning_curves():
    agents = {"Q": QLearning(0.9), "SARSA": SARSA(0.9)}
    options = {"epochs": 3, "test_episodes": 1, "max_steps": 50}
    result = compare(agents, grid_world(), runs=2, **options)
    ax = learning_curves(result)
    assert [line.get_label() for line in ax.get_lines()] == ["Q", "SARSA"]
    assert len(ax.collections) == 2
    single = learning_curves(compare(agents, grid_world(), runs=1, **options))
    assert len(single.collections) == 0
    plt.close("all")
