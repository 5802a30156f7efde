r"""
Planning in a grid world
========================

A robot on a table of 3 x 3 cells wants to reach the upper right corner, which pays 1. The cell
below it costs 1, the center is forbidden, and every step has a price. Everything is known, so
nothing needs to be learned: the best way is computed.
"""

# %%
# Steps that cost 0.01 make it worth while to go all the way round; at a cost of 10 a step the robot
# runs straight through the bad cell. In the upper pictures every step goes where it should, in the
# lower ones it slips to a side in two of ten cases, and the future is discounted by 0.9.
from itertools import islice

import matplotlib.pyplot as plt
import numpy as np

from tenfold import FiniteHorizon, PolicyIteration, ValueIteration
from tenfold.plot import grid_policy
from tenfold.plot.style import palette_color, style_axes
from tenfold.rl import evaluate_policy, grid_world, maze, value_iteration_steps

figure, axes = plt.subplots(2, 2, figsize=(7, 6.4), layout="constrained")
for (slip, discount), row in zip(((0.0, 1.0), (0.2, 0.9)), axes, strict=True):
    for cost, ax in zip((0.01, 10), row, strict=True):
        world = grid_world(cost, slip)
        plan = ValueIteration(discount).fit(world)
        grid_policy(world, plan.optimal_actions_, values=plan.values_, ax=ax)
        ax.set_title(f"cost {cost:g}, slip {slip:g}, discount {discount:g}", size=10)
plt.show()

# %%
# Value iteration starts from zero; sweep k gives the best utility of k steps. The reward spreads
# from the corner, one cell in each sweep.
world = grid_world(cost=0.0)
figure, axes = plt.subplots(1, 5, figsize=(12, 2.8), layout="constrained")
for k, (V, ax) in enumerate(
    zip(islice(value_iteration_steps(world, 0.5), 5), axes, strict=True), 1
):
    grid_policy(world, values=V, decimals=3, ax=ax)
    ax.set_title(f"sweep {k}", size=10)
plt.show()

# %%
# Every sweep brings the values nearer to the best ones by the factor of the discount, at least.
# With the newest values used at once, part after part, far fewer sweeps are needed; rounds of
# policy iteration are few as well, and each of them solves a linear system.
world = maze(25, 25, slip=0.2, walls=0.2, goal=1.0, cost=0.01)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for color, discount in enumerate((0.8, 0.9, 0.95)):
    best = ValueIteration(discount, tol=1e-12).fit(world).values_
    steps = islice(value_iteration_steps(world, discount), 120)
    errors = np.array([np.abs(V - best).max() for V in steps])
    left.semilogy(errors, color=palette_color(color), label=f"discount {discount:g}")
    left.semilogy(errors[0] * discount ** np.arange(120), ":", color=palette_color(color))
left.set(xlabel="sweep", ylabel="largest error", title="errors, and the discount's powers (dotted)")
left.legend(frameon=False)
planners = {
    "value iteration,\ngiven order": ValueIteration(0.95, order="given"),
    "value iteration,\nordered": ValueIteration(0.95),
    "modified policy\niteration (5)": PolicyIteration(0.95, sweeps=5),
    "policy\niteration": PolicyIteration(0.95),
}
rounds = {name: planner.fit(world).n_iter_ for name, planner in planners.items()}
bars = right.bar(list(rounds), list(rounds.values()), color=palette_color(0))
right.bar_label(bars)
right.set_title("rounds until the values are certain to 1e-6")
for ax in (left, right):
    style_axes(ax)
plt.show()

# %%
# With a given number of steps left the best action depends on it. One step before the end nothing
# can be reached; the more time there is, the longer the way that pays.
world = grid_world(cost=0.1)
plan = FiniteHorizon(7).fit(world)
figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for left_steps, ax in zip((1, 2, 4, 7), axes, strict=True):
    grid_policy(world, plan.policy_[left_steps], values=plan.values_[left_steps], ax=ax)
    ax.set_title(f"{left_steps} steps left", size=10)
plt.show()

# %%
# What a policy is worth is a linear system, or the limit of sweeps.
lazy = np.zeros(world.n_states, dtype=int)  # always up
exact = evaluate_policy(world, lazy, 0.9)
slow = evaluate_policy(world, lazy, 0.9, method="iterative")
print(np.abs(exact - slow).max() < 1e-8)
