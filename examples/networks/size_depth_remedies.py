"""
How large, how deep, and what helps against overfitting
========================================================

Hidden units against the number of examples, a sine by 1, 3 and 10 units, penalties, slopes that
vanish with depth, and four remedies for a network that knows its few examples by heart.
"""

# %%
# MNIST if its folder is named by TENFOLD_DATA, else scikit-learn's small digits.
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import (
    MLPClassifier,
    MLPRegressor,
    Search,
    SequentialClassifier,
    datasets,
    neural,
    plot,
)
from tenfold.neural import Dense
from tenfold.plot.style import palette_color, style_axes

warnings.simplefilter("ignore", ConvergenceWarning)  # these networks are stopped, not finished
rng = np.random.default_rng(0)
if os.environ.get("TENFOLD_DATA"):
    bunch = datasets.fetch_mnist()
    chosen = rng.permutation(len(bunch.target))[:4_000]
    X, y, SIDE = bunch.data[chosen].astype(np.float32) / 255, bunch.target[chosen], 28
else:
    X, y = datasets.load_digits(return_X_y=True)
    order = rng.permutation(len(y))
    X, y, SIDE = X[order].astype(np.float32) / 16, y[order], 8
    print("No MNIST here (TENFOLD_DATA is not set): scikit-learn's 1,797 digits of 8 x 8 instead")
half = len(y) // 2
X_test, y_test = X[half:], y[half:]

# %%
# Digits 0 to 4, 10, 50 and 100 of them to learn from. Two hidden units are too few for five
# classes; more than ten add little, and do not hurt either. All the difference is in the examples.
# The dots are what the notebook behind Fig. 34 of 001 prints for unseen digits of MNIST; the notes
# themselves have the figure without its numbers.
NOTEBOOK = {
    10: (0.232, 0.549, 0.645, 0.646, 0.668),
    50: (0.454, 0.819, 0.849, 0.871, 0.867),
    100: (0.386, 0.885, 0.925, 0.919, 0.926),
}
few, few_test = np.flatnonzero(y[:half] < 5), y_test < 5
units = (2, 5, 10, 15, 20)
fig, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for ax, n in zip(axes, (10, 50, 100), strict=True):
    models = [
        MLPClassifier(m, activation="tanh", alpha=0.0, learning_rate_init=0.02, random_state=0)
        .set_params(max_iter=100, batch_size=min(n, 20))
        .fit(X[few[:n]], y[few[:n]])
        for m in units
    ]
    for name, rows, labels, ls in (
        ("learned", X[few[:n]], y[few[:n]], "--"),
        ("unseen", X_test[few_test], y_test[few_test], "-"),
    ):
        scores = [model.score(rows, labels) for model in models]
        ax.plot(
            units,
            scores,
            ls=ls,
            marker="o",
            ms=4,
            color=palette_color(name == "unseen"),
            label=name,
        )
    ax.plot(units, NOTEBOOK[n], "o", color="#999999", ms=3, label="notebook of 001")
    ax.set(title=f"{n} examples", xlabel="hidden units", xticks=units)
    style_axes(ax)
axes[0].set(ylabel="share right")
axes[2].legend(frameon=False)
plt.show()

# %%
# The same for digits 5 to 9, which are harder to tell apart, and for all ten: ten hidden units.
for name, kinds in (("0 to 4", range(5)), ("5 to 9", range(5, 10)), ("all ten", range(10))):
    seen, held = (np.flatnonzero(np.isin(part, kinds)) for part in (y[:half], y_test))
    shares = []
    for n in (10, 50, 100):
        model = MLPClassifier(10, activation="tanh", alpha=0.0, learning_rate_init=0.02)
        model.set_params(max_iter=100, batch_size=min(n, 20), random_state=0)
        model.fit(X[seen[:n]], y[seen[:n]])
        shares.append(model.score(X_test[held], y_test[held]))
    row = "  ".join(f"{share:.1%}" for share in shares)
    print(f"digits {name:8s} unseen ones right after 10, 50 and 100 examples: {row}")

# %%
# Ten noisy points of a sine. One tanh unit bends once, three follow, ten can pass through every
# point, and do.
x, t = datasets.make_sine(10, noise=0.25, random_state=1)
x = np.reshape(x, (-1, 1))
grid = np.linspace(0, 1, 200)[:, None]
fig, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True, layout="constrained")
for ax, m in zip(axes, (1, 3, 10), strict=True):
    fits = [
        MLPRegressor(hidden_layer_sizes=m, activation="tanh", solver="lbfgs", alpha=1e-6)
        .set_params(max_iter=3000, tol=1e-6, random_state=seed)
        .fit(x, t)
        for seed in range(4)
    ]
    best = min(fits, key=lambda model: model.loss_)
    ax.plot(grid, np.sin(2 * np.pi * grid), color="#BBBBBB", lw=2)
    ax.plot(grid, best.predict(grid), color=palette_color(1), lw=2)
    ax.plot(x, t, "o", color=palette_color(0), ms=5)
    ax.set(title=f"{m} hidden unit{'s' * (m > 1)}", ylim=(-1.8, 1.8))
    style_axes(ax)
plt.show()

# %%
# Slopes on their way back. A sigmoid's slope is at most 1/4, so through twelve of them next to
# nothing is left for the first layers. Tanh and ReLU keep their size if the weights start as wide
# as the layer asks for; much wider, and slopes explode.
deep = {
    "sigmoid": [Dense(20, "sigmoid")] * 12,
    "tanh": [Dense(20, "tanh")] * 12,
    "ReLU": [Dense(20, "relu")] * 12,
    "ReLU, start 4 times as wide": [Dense(20, "relu", init=4 * np.sqrt(2 / 20))] * 12,
    "tanh, start at a tenth": [Dense(20, "tanh", init=0.1 / np.sqrt(20))] * 12,
}
reports = {
    name: neural.gradient_report(SequentialClassifier([*stack, Dense()], random_state=0), X, y)
    for name, stack in deep.items()
}
plot.layer_gradients(reports)
plt.show()
for name, report in reports.items():
    print(f"{name:28s} {report.verdict:10s} {report.per_layer:6.2f} from layer to layer")

# %%
# A hundred examples of ten digits, and a network of two layers of 100 units that knows them all.
# Four remedies: a structure chosen by cross-validation, a penalty on the weights, copies that are
# shifted and turned, a smaller network. They are not equal. On MNIST the copies are worth five
# points, since they tell what may happen to an image; the penalty is worth one, and ten units are
# too few to gain anything. On images of 8 x 8 none helps much.
X_few, y_few = X[:100], y[:100]
settings = {"max_iter": 60, "learning_rate_init": 0.003, "batch_size": 25, "random_state": 0}
large = MLPClassifier((100, 100), alpha=0.0, **settings)
structures = {"hidden_layer_sizes": [(10,), (50,), (200,), (50, 50), (100, 100)]}
changes = [neural.Rotate(12), neural.Shift(SIDE // 14)]
copies = [
    neural.augment(X_few, changes, seed=seed, shape=(SIDE, SIDE)) if seed else X_few
    for seed in range(10)
]
models = {
    "large network": large.fit(X_few, y_few),
    "structure by cross-validation": Search(
        MLPClassifier(alpha=0.0, **settings), structures, folds=4
    ).fit(X_few, y_few),
    "penalty on the weights": MLPClassifier((100, 100), alpha=0.3, **settings).fit(X_few, y_few),
    "shifted and turned copies": MLPClassifier((100, 100), alpha=0.0, **settings)
    .set_params(max_iter=15)
    .fit(np.concatenate(copies), np.tile(y_few, 10)),
    "smaller network": MLPClassifier((10,), alpha=0.0, **settings).fit(X_few, y_few),
}
for name, model in models.items():
    known, unseen = model.score(X_few, y_few), model.score(X_test, y_test)
    print(f"{name:30s} {known:.1%} of what it learned, {unseen:.1%} of unseen digits")

# %%
# What the copies look like.
fig, axes = plt.subplots(2, 8, figsize=(9, 2.4), layout="constrained")
for i, (above, below) in enumerate(axes.T):
    above.imshow(copies[0][i].reshape(SIDE, SIDE), cmap="gray_r")
    below.imshow(copies[1][i].reshape(SIDE, SIDE), cmap="gray_r")
    above.set_axis_off()
    below.set_axis_off()
plt.show()

# %%
# How strong a penalty? Up to a point it hardly matters; beyond it nothing is learned.
strengths = (0.001, 0.1, 1.0, 3.0, 10.0)
for n in (50, 200):
    scores = [
        MLPClassifier((50,), alpha=a, **settings).fit(X[:n], y[:n]).score(X_test, y_test)
        for a in strengths
    ]
    row = " ".join(f"{score:.1%}" for score in scores)
    print(f"{n:4d} examples, penalties 0.001, 0.1, 1, 3, 10: {row}")
