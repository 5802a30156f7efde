"""
Votes of the nearest rows, from one to all of them
==================================================

One neighbor cuts the plane into Voronoi cells and believes every label. More neighbors vote, and
outvote labels that are wrong; all of them know only one answer. [K07, D24]
"""

# %%
# Every point of a cell has the same nearest row, and gets its label. The boundary of the classifier
# of one neighbor runs along the edges between cells of different labels.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import KNeighborsClassifier
from tenfold.plot import decision_boundary, neighbor_votes, voronoi_cells
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 2))
y = (X[:, 1] + 0.3 * rng.normal(size=40) > np.sin(2 * X[:, 0])).astype(int)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
voronoi_cells(X, y, ax=axes[0])
axes[0].set_title("cells of the rows")
one = KNeighborsClassifier(1).fit(X, y)
decision_boundary(one, X, y, ax=axes[1])
axes[1].set_title(f"one neighbor: {one.score(X, y):.0%} of the training rows")
plt.show()

# %%
# Five neighbors vote, and three of the five decide.
five = KNeighborsClassifier(5).fit(X, y)
grid = rng.normal(scale=0.8, size=(500, 2))
contested = np.abs(five.predict_proba(grid)[:, 1] - 0.6) < 1e-9
point = grid[contested][0]
fig, ax = plt.subplots(figsize=(5.2, 4), layout="constrained")
neighbor_votes(five, point, X, y, ax=ax)
plt.show()

# %%
# Six labels in a hundred are wrong. One neighbor gives each of them a region of its own; with more
# neighbors the regions vanish, and with all rows as neighbors only the larger class is left.
n = 300
X = np.concatenate([rng.normal((-1, 0), 0.8, (180, 2)), rng.normal((1.2, 0.6), 0.8, (120, 2))])
truth = np.repeat([0, 1], [180, 120])
wrong = rng.choice(n, 18, replace=False)
y = truth.copy()
y[wrong] = 1 - y[wrong]
X_new = np.concatenate([rng.normal((-1, 0), 0.8, (600, 2)), rng.normal((1.2, 0.6), 0.8, (400, 2))])
y_new = np.repeat([0, 1], [600, 400])

fig, axes = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
for ax, k in zip(axes, (1, 5, 50, n), strict=True):
    model = KNeighborsClassifier(k).fit(X, y)
    decision_boundary(model, X, y, ax=ax)
    ax.scatter(*X[wrong].T, s=60, facecolor="none", edgecolor="black", lw=0.8)
    ax.set_title(f"k = {k}, {model.score(X_new, y_new):.0%} of new rows")
    if ax.get_legend():
        ax.get_legend().remove()
plt.show()

# %%
# The error over k: too few neighbors follow the wrong labels, too many forget where they are.
ks = np.unique(np.geomspace(1, n, 40).astype(int))
models = [KNeighborsClassifier(int(k)).fit(X, y) for k in ks]
training = [1 - model.score(X, y) for model in models]
new = [1 - model.score(X_new, y_new) for model in models]
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(ks, training, color=palette_color(0), label="training rows")
ax.plot(ks, new, color=palette_color(1), label="new rows")
ax.axhline(np.mean(y_new), color="gray", ls=":", label="always the larger class")
ax.set(xscale="log", xlabel="neighbors k", ylabel="error")
ax.legend()
style_axes(ax)
plt.show()
best = ks[int(np.argmin(new))]
print(f"one neighbor: {new[0]:.1%} wrong; {best} neighbors: {min(new):.1%}; all: {new[-1]:.1%}")
