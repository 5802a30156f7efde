"""
Rates, surfaces, and any function
=================================

Which learning rate to take, how optimisers differ, what the loss looks like around a minimum and
on the way to another one, and how close a hidden layer comes to any function of a line.
"""

# %%
# Let the rate grow from step to step: at first nothing happens, then the loss falls, then it
# explodes. A tenth of the rate where it was least is a good one.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import MLPRegressor, SequentialClassifier, datasets, neural, plot
from tenfold.neural import Dense
from tenfold.plot.style import legend_outside, palette_color, style_axes
from tenfold.teaching import loss_surface, permute_units

warnings.simplefilter("ignore", ConvergenceWarning)  # some descents are cut short
X, y = datasets.make_rings(600, radii=(0.7, 1.4, 2.1), noise=0.12, random_state=0)
layers = [Dense(16, "tanh"), Dense()]
model = SequentialClassifier(layers, batch_size=64, random_state=0)
found = neural.find_learning_rate(model, X, y)
plot.learning_rate_search(found)
plt.show()

# %%
# Too small, right, too large.
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i, rate in enumerate((found.best / 30, found.best, found.best * 30)):
    model = SequentialClassifier(
        layers, learning_rate=rate, batch_size=64, epochs=25, random_state=0
    ).fit(X, y)
    ax.plot(model.loss_curve_, color=palette_color(i), lw=2, label=f"rate {rate:.2g}")
    print(f"rate {rate:.2g}: {model.score(X, y):.1%} right after 25 epochs")
ax.set(xlabel="epoch", ylabel="mean loss")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# Optimisers, each at the rate that is found for it.
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i, name in enumerate(("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam")):
    each = SequentialClassifier(layers, optimizer=name, batch_size=64, epochs=25, random_state=0)
    rate = neural.find_learning_rate(each, X, y, high=100.0, steps=120).best
    each.set_params(learning_rate=rate).fit(X, y)
    ax.plot(each.loss_curve_, color=palette_color(i), lw=1.8, label=f"{name}, {rate:.2g}")
ax.set(xlabel="epoch", ylabel="mean loss", yscale="log")
style_axes(ax)
legend_outside(ax)
plt.show()

# %%
# The loss on a plane through the parameters of a trained network, along two random directions.
model = SequentialClassifier(
    layers, learning_rate=found.best, batch_size=64, epochs=60, random_state=0
).fit(X, y)
plot.loss_surface(loss_surface(model, X[:200], y[:200], steps=25))
plt.show()

# %%
# From one minimum to another: two trainings from different starts, and the same network with its
# units in another order. In between lies a ridge, at the other end a minimum that is as deep: the
# loss of a network is not convex.
other = SequentialClassifier(
    layers, learning_rate=found.best, batch_size=64, epochs=60, random_state=1
).fit(X, y)
turned = permute_units(model, 0, np.random.default_rng(0).permutation(16))
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i, (name, end) in enumerate({"another start": other, "another order": turned}.items()):
    way = [b - a.astype(float) for a, b in zip(model.params_, end.params_, strict=True)]
    nowhere = [np.zeros_like(part) for part in way]
    line = loss_surface(model, X[:200], y[:200], span=1.5, steps=31, directions=(way, nowhere))
    ax.plot(line.a, line.loss[:, 0], color=palette_color(i), lw=2, label=name)
for place in (0, 1):
    ax.axvline(place, color="#BBBBBB", lw=1, zorder=0)
ax.set(xlabel="share of the way to the other network", ylabel="mean loss", yscale="log")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# One hidden layer comes as close as one likes to any function of a line, if it has units enough.
x = np.linspace(-1, 1, 200)[:, None]
target = np.sin(9 * x[:, 0]) * np.exp(-x[:, 0]) + np.abs(x[:, 0])
fig, axes = plt.subplots(1, 4, figsize=(12, 2.6), sharey=True, layout="constrained")
for ax, units in zip(axes, (2, 5, 20, 100), strict=True):
    fit = MLPRegressor(hidden_layer_sizes=units, activation="tanh", solver="lbfgs", alpha=0)
    fit.set_params(max_iter=2000, tol=1e-6, random_state=0)
    said = fit.fit(4 * x, target).predict(4 * x)
    ax.plot(x, target, color="#BBBBBB", lw=3)
    ax.plot(x, said, color=palette_color(1), lw=1.5)
    ax.set_title(f"{units} units: error {np.sqrt(np.mean((said - target) ** 2)):.3f}", size=9)
    style_axes(ax)
plt.show()
