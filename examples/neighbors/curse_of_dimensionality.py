"""
What many dimensions do to neighbors
====================================

In many dimensions a neighborhood that holds a few rows is almost as large as the data, and all rows
are about equally far. Models that look at neighbors also keep all rows. [K09, D24]
"""

# %%
# The edge of a cube that holds a share of uniform rows: in ten dimensions, one row in a hundred
# needs 63 % of the range of every column.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import KNeighborsClassifier, LogisticRegression
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching import (
    ball_volume,
    cube_edge,
    distance_moments,
    median_nearest_distance,
    relative_contrast,
    stored_numbers,
)

share = np.linspace(0, 0.6, 200)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for i, d in enumerate((1, 2, 3, 10, 100)):
    left.plot(share, cube_edge(share, d), color=palette_color(i), label=f"d = {d}")
left.set(xlabel="share of the rows", ylabel="edge of the cube")
left.legend(fontsize=8)
d = np.arange(1, 16)
right.plot(d, ball_volume(d) / 2.0**d, "o-", color=palette_color(0), label="ball in its cube")
right.plot(d, median_nearest_distance(500, d), "s-", color=palette_color(1), label="nearest of 500")
right.set(xlabel="dimensions", ylabel="share of the volume; distance")
right.legend(fontsize=8)
for ax in (left, right):
    style_axes(ax)
plt.show()
print(f"1 % of the rows in ten dimensions: an edge of {cube_edge(0.01, 10):.2f}")

# %%
# Distances between uniform rows grow, and relative to their mean they become equal. The line is the
# closed form, sqrt(7 d / 180) over d / 6.
rng = np.random.default_rng(0)
dims = [1, 2, 5, 10, 30, 100, 300, 1000]
spread, contrast = [], []
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for d in dims:
    A, B = rng.random((1000, d)), rng.random((200, d))
    squares = (np.square(B).sum(1)[:, None] + np.square(A).sum(1) - 2 * B @ A.T).ravel()
    spread.append(squares.std() / squares.mean())
    contrast.append(relative_contrast(A, B).mean())
    if d in {2, 10, 100, 1000}:
        left.hist(np.sqrt(squares / d), 80, density=True, alpha=0.5, label=f"d = {d}")
left.set(xlabel="distance over root of d", ylabel="density")
left.legend(fontsize=8)
mean, deviation = distance_moments(dims)
right.loglog(dims, deviation / mean, color="gray", label="closed form")
right.loglog(dims, spread, "o", color=palette_color(0), label="deviation over mean, squared")
right.loglog(dims, contrast, "s-", color=palette_color(1), label="(farthest - nearest) / nearest")
right.set(xlabel="dimensions d")
right.legend(fontsize=8)
for ax in (left, right):
    style_axes(ax)
plt.show()

# %%
# Two moons, and columns of noise beside them: neighbors lose their sense, a linear model with fewer
# possibilities loses less.
from sklearn.datasets import make_moons

extra, scores = [0, 2, 5, 10, 30, 100], {"5 neighbors": [], "logistic regression": []}
for m in extra:
    parts = [make_moons(600, noise=0.25, random_state=seed) for seed in (0, 1)]
    (X, y), (X_new, y_new) = ((np.c_[A, rng.normal(size=(600, m))], b) for A, b in parts)
    scores["5 neighbors"].append(KNeighborsClassifier(5).fit(X, y).score(X_new, y_new))
    line = LogisticRegression().fit(X, y)
    scores["logistic regression"].append(line.score(X_new, y_new))

sizes = [100, 200, 400, 800, 1600]
X, y = make_moons(1600, noise=0.25, random_state=0)
stored = {
    "5 neighbors": [stored_numbers(KNeighborsClassifier(5).fit(X[:n], y[:n])) for n in sizes],
    "logistic regression": [stored_numbers(LogisticRegression().fit(X[:n], y[:n])) for n in sizes],
}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for i, name in enumerate(scores):
    left.plot(extra, scores[name], "o-", color=palette_color(i), label=name)
    right.loglog(sizes, stored[name], "o-", color=palette_color(i), label=name)
left.set(xlabel="columns of noise", ylabel="accuracy on new rows")
left.set_xscale("symlog", linthresh=2)
right.set(xlabel="training rows", ylabel="numbers that the model keeps")
left.legend()
for ax in (left, right):
    style_axes(ax)
plt.show()
for name in stored:
    print(f"{name:20s} keeps {stored[name][0]} numbers of 100 rows, {stored[name][-1]} of 1,600")
