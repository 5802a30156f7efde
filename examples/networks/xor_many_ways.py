"""
XOR in many ways
================

Four clouds that no line parts, and seven features in which a line does: turned and folded, a
product, bumps set by hand, at random, on clusters, bumps that move, and units that learn.
"""

# %%
# A line fails: at best it has three of the four clouds on the right side.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from tenfold import (
    FunctionFeatures,
    LogisticRegression,
    MLPClassifier,
    RbfNetwork,
    RotationAbs,
    datasets,
    is_linearly_separable,
    plot,
)
from tenfold.plot.style import palette_color, style_axes

X, y = datasets.make_noisy_xor(200, noise=0.3, random_state=0)
line = LogisticRegression().fit(X, y)
print(f"a line: {line.score(X, y):.0%} right; separable: {bool(is_linearly_separable(X, y))}")

# %%
# Turned by 45 degrees and folded, the clouds lie on two axes. Turned alone, they do not part.
folded = RotationAbs().fit_transform(X)
turned = X @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
for name, features in (("turned", turned), ("turned and folded", folded)):
    print(f"{name}: separable: {bool(is_linearly_separable(features, y))}")
fig, axes = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
for ax, (name, features) in zip(
    axes, {"as given": X, "turned": turned, "folded": folded}.items(), strict=True
):
    for label in (0, 1):
        ax.scatter(*features[y == label].T, s=9, color=palette_color(label))
    ax.set(title=name, aspect="equal")
    style_axes(ax)
plt.show()

# %%
# Four bumps with weights set by hand, w = (1, 1, -1, -1), know the sign of x1 x2 everywhere. The
# label of each bump is that of the rows around it.
corners = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
by_hand = RbfNetwork(centers=corners, width=1.0, weights="labels").fit(X, y)
print("weights", by_hand.coef_[0], "scores of the corners", by_hand.decision_function(corners))

# %%
# The same question to seven models. Bumps on rows drawn at random need more than four to be sure
# that each cloud has one; the centres of clusters are one for each.
models = {
    "product": make_pipeline(
        FunctionFeatures({"x1 x2": lambda X: X[:, 0] * X[:, 1]}), LogisticRegression()
    ),
    "turned and folded": make_pipeline(RotationAbs(), LogisticRegression()),
    "bumps by hand": by_hand,
    "10 bumps at random": RbfNetwork(10, random_state=0),
    "4 bumps on clusters": RbfNetwork(4, centers="kmeans", random_state=0),
    "4 bumps that move": RbfNetwork(4, adapt="all", random_state=1),
    "4 tanh units": MLPClassifier(
        4, activation="tanh", solver="lbfgs", alpha=1e-3, max_iter=1000, random_state=0
    ),
}
fig, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
for ax, (name, model) in zip(axes.flat, {"a line": line, **models}.items(), strict=True):
    model.fit(X, y)
    plot.decision_boundary(model, X, y, ax=ax)
    if ax.get_legend():
        ax.get_legend().remove()
    ax.set(title=f"{name}: {model.score(X, y):.0%}", xlabel="", ylabel="", xticks=[], yticks=[])
plt.show()

# %%
# How often do random bumps solve it? With four, some cloud is often without one.
for k in (2, 4, 6, 10, 20):
    tries = [RbfNetwork(k, width=1.0, random_state=seed).fit(X, y) for seed in range(20)]
    voted = [
        RbfNetwork(k, width=1.0, weights="labels", random_state=seed).fit(X, y)
        for seed in range(20)
    ]
    trained, votes = (np.mean([m.score(X, y) for m in each]) for each in (tries, voted))
    print(f"{k:3d} bumps: {trained:.0%} right with trained weights, {votes:.0%} by the labels")

# %%
# Bumps that move: a bad draw, and where the centres went. The cost never rises above that of the
# fixed bumps, since moving begins there.
fixed = RbfNetwork(4, width=1.0, random_state=10).fit(X, y)
moved = RbfNetwork(4, width=1.0, adapt="centers", random_state=10).fit(X, y)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
axes[0].scatter(*X.T, c=[palette_color(label) for label in y], s=8, alpha=0.5, lw=0)
for a, b in zip(fixed.centers_, moved.centers_, strict=True):
    axes[0].annotate("", b, a, arrowprops={"arrowstyle": "->", "lw": 1.5})
axes[0].plot(*fixed.centers_.T, "kx", ms=7)
axes[0].plot(*moved.centers_.T, "k.", ms=4)  # the axes reach the ends of the arrows, too
axes[0].set(title=f"{fixed.score(X, y):.0%} before, {moved.score(X, y):.0%} after")
style_axes(axes[0])
plot.HistoryDisplay.from_estimator(moved, ax=axes[1])
axes[1].set(yscale="log", xlabel="round", ylabel="cost")
style_axes(axes[1])
plt.show()

# %%
# On a line the same: -3 and 5 are one class, 2 is the other. With x squared beside x a plane parts
# them.
x, label = np.array([[-3.0], [2.0], [5.0]]), np.array([1, 0, 1])
with_squares = np.column_stack([x, x**2])
for name, features in (("x", x), ("x and x squared", with_squares)):
    print(f"-3, 2, 5 by {name}: separable: {bool(is_linearly_separable(features, label))}")
print(RbfNetwork(3, width=1.0, weights="labels").fit(x, label).predict(x))
lifted = LogisticRegression(C=1e4).fit(with_squares, label)
fig, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
plot.decision_boundary(lifted, with_squares, label, ax=ax)
ax.set(xlabel="x", ylabel="x squared", title="-3, 2 and 5 with their squares")
plt.show()
