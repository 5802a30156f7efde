"""
Networks with error bars
========================

A network that knows what it does not know: bands of a Bayesian multi-layer perceptron by three
methods, with the noise and the missing knowledge apart; and probabilities of classes that go to
one half away from the data. [000, 2.3.2; 004, 4.6]
"""

# %%
# A sine with a gap in its middle. Dark: two standard deviations of the noise; light: with what is
# not known about the network. Modes from several starts, the ensemble, are too sure of themselves.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import BayesianMLPClassifier, BayesianMLPRegressor
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-2.5, -0.8, 25), rng.uniform(0.8, 2.5, 25)])[:, None]
y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=50)
grid = np.linspace(-4, 4, 200)[:, None]
models = {
    "laplace": BayesianMLPRegressor((8,), noise_variance=0.01, random_state=0),
    "hmc": BayesianMLPRegressor(
        (8,), method="hmc", noise_variance=0.01, n_samples=40, warmup=100, random_state=0
    ),
    "ensemble": BayesianMLPRegressor(
        (8,), method="ensemble", noise_variance=0.01, n_samples=8, random_state=0
    ),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4), sharey=True)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    parts = model.fit(x, y).predict_parts(grid)
    total = np.hypot(parts.noise_std, parts.knowledge_std)
    for width, alpha in ((total, 0.25), (parts.noise_std, 0.35)):
        low, high = parts.mean - 2 * width, parts.mean + 2 * width
        axis.fill_between(grid[:, 0], low, high, color=palette_color(0), alpha=alpha, lw=0)
    axis.plot(grid[:, 0], parts.mean, color=palette_color(0))
    axis.plot(x[:, 0], y, ".", color=palette_color(1))
    axis.set_ylim(-4, 4)
    axis.set_title(name)
    style_axes(axis)
    inside = model.predict_parts([[1.6]]).knowledge_std[0]
    outside = model.predict_parts([[4.0]]).knowledge_std[0]
    print(f"{name:9s} knowledge: {inside:.3f} among the points, {outside:.3f} far away")

# %%
# Two classes on two half circles: near the data the network is sure, far away it is not.
angle = rng.uniform(0, np.pi, 60)
rows = np.vstack(
    [
        np.column_stack([np.cos(angle), np.sin(angle)]),
        np.column_stack([1 - np.cos(angle), 0.4 - np.sin(angle)]),
    ]
)
rows += 0.1 * rng.normal(size=rows.shape)
labels = np.repeat([0, 1], 60)
classifier = BayesianMLPClassifier((8,), prior_precision=0.1, random_state=0).fit(rows, labels)
a, b = np.meshgrid(np.linspace(-6, 7, 120), np.linspace(-6, 6, 120))
p = classifier.predict_proba(np.column_stack([a.ravel(), b.ravel()]))[:, 1].reshape(a.shape)
figure, axis = plt.subplots(figsize=(6.5, 5))
shown = axis.contourf(a, b, p, levels=np.linspace(0, 1, 11), cmap="RdBu_r")
figure.colorbar(shown, label="probability of class 1")
axis.scatter(*rows.T, c=labels, cmap="RdBu_r", edgecolor="white", s=18, lw=0.5)
axis.set_title("Probabilities by Laplace's approximation")
plt.show()
