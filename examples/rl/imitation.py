r"""
Imitating an expert
===================

A clone learns from what an expert saw and did. Where it errs it comes to states that the expert
never showed, and does not know what to do there.
"""

# %%
# A path that must not be left: who leaves it once pays in every step to the end. A clone that errs
# in one of a hundred steps pays 0.01 T^2 / 2 for T steps, not 0.01 T. Who is told how to find back,
# as DAgger is by asking the expert in the states that the learner comes to, pays in proportion to
# T.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import BehavioralCloning, DAgger, DecisionTreeClassifier, ValueIteration
from tenfold.plot.style import palette_color, style_axes
from tenfold.rl import demonstrate, maze


def cost_of_errors(length, returns_to_path, error=0.01, episodes=4000):
    rng = np.random.default_rng(0)
    lost, cost = np.zeros(episodes, bool), np.zeros(episodes)
    for _ in range(length):
        lost = (lost & ~returns_to_path) | (rng.random(episodes) < error)
        cost += lost
    return cost.mean()


lengths = np.array([5, 10, 20, 40, 80])
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for color, (name, returns) in enumerate({"clone": False, "finds back": True}.items()):
    costs = [cost_of_errors(n, returns) for n in lengths]
    left.loglog(lengths, costs, "o-", color=palette_color(color), label=name)
left.loglog(lengths, 0.01 * lengths**2 / 2, ":", color="black", label="0.01 T² / 2")
left.set(
    xlabel="length T of an episode", ylabel="expected cost", title="one error in a hundred steps"
)

# %%
# The same in a slippery maze: demonstrations of a calm world show one way only. In each round
# DAgger lets the learner act, and asks the expert about every state.
calm, rough = maze(6, 6, walls=0.1), maze(6, 6, walls=0.1, slip=0.4)
states = range(rough.n_states)
expert = ValueIteration(0.9).fit(rough)
tree = DecisionTreeClassifier(random_state=0)
clone = BehavioralCloning(tree).fit(demonstrate(expert, calm, 5), calm)
rounds = range(1, 7)
shares = []
for n in rounds:
    agent = DAgger(tree, expert=expert, n_rounds=n, n_episodes=2, random_state=0).fit(rough)
    shares.append(np.mean(agent.predict(states) == expert.policy_))
share = np.mean(clone.predict(states) == expert.policy_)
right.axhline(share, color=palette_color(0), label="clone")
right.plot(rounds, shares, "o-", color=palette_color(1), label="DAgger")
right.set(xlabel="rounds", title="states in which the expert's action is taken", ylim=(0, 1.05))
for ax in (left, right):
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()
