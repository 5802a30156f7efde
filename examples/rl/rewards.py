r"""
Learning from rewards
=====================

Nobody tells the agent what its actions do. It tries, and learns from what it is paid: values of
actions in a table, a linear function or a network; or the policy itself.
"""

# %%
# Four rooms and a wish, told in words: "You are hungry". A table has an entry for each pair of
# description and wish; a linear function and a network see which words occur, so what they learn in
# one description serves in others. Each curve is the mean over runs of the returns of test
# episodes; the dotted line is the best that can be reached.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import SARSA, DeepQ, LinearQ, PolicyGradient, QLearning, ValueIteration, WordCounts
from tenfold.neural import Dense
from tenfold.plot import learning_curves
from tenfold.plot.style import palette_color, style_axes
from tenfold.rl import (
    CartPole,
    EpsilonGreedy,
    TextGame,
    cliff,
    compare,
    evaluate_policy,
    grid_world,
)

words, exploring = WordCounts("presence"), EpsilonGreedy(0.5, 0.1)
agents = {
    "table": QLearning(0.5, learning_rate=0.3, exploration=exploring),
    "linear": LinearQ(0.5, features=words, learning_rate=0.05, exploration=exploring),
    "network": DeepQ(
        0.5,
        features=words,
        layers=(Dense(32, "relu"),),
        learning_rate=0.003,
        warmup=200,
        target_every=50,
        train_every=2,
        gradient_steps=1,
        exploration=exploring,
    ),
}
games = {"table": TextGame("number"), "linear": TextGame(), "network": TextGame()}
settings = dict(runs=3, epochs=6, train_episodes=250, test_episodes=60, max_steps=20)
result = compare(agents, games, discount=0.5, **settings)
best = ValueIteration(0.5).fit(TextGame().to_mdp()).values_[:16].mean()
ax = learning_curves(result)
ax.axhline(best, linestyle=":", color="black")
ax.set(title="text game", ylim=(-0.3, 0.6))
plt.show()

# %%
# Q-learning learns about the best policy, whatever it does itself; SARSA about the one that it
# follows. With random behavior the first comes to the best values, the second to those of a random
# policy. Beside a cliff, who stumbles now and then earns more by keeping away from the edge.
world = grid_world(slip=0.2)
optimum = ValueIteration(0.8, tol=1e-9).fit(world).q_
uniform = np.full((world.n_states, 4), 0.25)
followed = world.action_values(evaluate_policy(world, uniform, 0.8), 0.8)
random = EpsilonGreedy(1.0, 1.0)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for color, (name, agent) in enumerate({"Q-learning": QLearning, "SARSA": SARSA}.items()):
    for target, style in ((optimum, "-"), (followed, "--")):
        fitted = agent(0.8, exploration=random, n_episodes=4000, max_steps=100, random_state=0)
        history = fitted.fit(world, optimal_q=target).history_
        whose = "best" if style == "-" else "random"
        label = f"{name}, to the {whose} policy's"
        left.loglog(
            history["q_error_episode"],
            history["q_error"],
            style,
            color=palette_color(color),
            label=label,
        )
    walker = agent(1.0, learning_rate=0.1, exploration=EpsilonGreedy(0.1, 0.1), n_episodes=500)
    returns = [walker.set_params(random_state=s).fit(cliff()).history_["return"] for s in range(20)]
    smooth = np.convolve(np.mean(returns, axis=0), np.ones(20) / 20, "valid")
    right.plot(smooth, color=palette_color(color), label=name)
left.set(xlabel="episodes", ylabel="largest distance", title="distance to the values of a policy")
right.set(
    xlabel="episodes", title="return beside the cliff, one step in ten at random", ylim=(-100, 0)
)
for ax in (left, right):
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()

# %%
# A policy can be learned directly: raise the probability of actions that turned out better than
# expected. Without a baseline all actions of a good episode are praised alike; the return from each
# step on, and its difference from what a second network expects, tell them apart. Clipped ratios
# allow several steps on one batch.
kinds = {
    "plain": dict(returns="total", baseline=None, standardize=False),
    "returns from there on": dict(baseline=None, standardize=False),
    "with a value network": {},
    "clipped": dict(clip=0.2, epochs=4, gae_lambda=0.95),
}
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
common = dict(layers=(Dense(16, "tanh"),), learning_rate=0.02, batch_episodes=16, n_episodes=480)
for color, (name, kind) in enumerate(kinds.items()):
    curves = [
        PolicyGradient(**common, **kind, random_state=s).fit(CartPole(200)).history_["return"]
        for s in range(2)
    ]
    mean = np.mean(curves, axis=0)
    ax.plot(16 * np.arange(1, len(mean) + 1), mean, color=palette_color(color), label=name)
ax.set(xlabel="episodes", ylabel="steps", title="balancing a pole, up to 200 steps")
ax.legend(frameon=False)
style_axes(ax)
plt.show()
