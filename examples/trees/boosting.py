r"""
Boosting: error over rounds, quantile bands, categories
=======================================================

Boosting adds small trees, each fitted to what the sum of the trees before it gets wrong. A few
rounds know too little, too many learn the noise; held-out rows say when to stop.
"""

# %%
# A wave with noise that grows to the right. Each round adds a tree with few leaves; after ten
# rounds the sum is still coarse, after a hundred it follows the wave, and with a rate of one it
# follows the noise as well.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import HistGradientBoostingRegressor
from tenfold.plot.style import MUTED_COLOR, palette_color, style_axes

rng = np.random.default_rng(0)


def draw(n):
    x = rng.uniform(0, 10, n)
    return x[:, None], np.sin(x) + 0.06 * x * rng.normal(size=n)


X, y = draw(600)
X_new, y_new = draw(2000)
grid = np.linspace(0, 10, 500)[:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
model = HistGradientBoostingRegressor(max_iter=300, max_leaf_nodes=6, random_state=0).fit(X, y)
left.plot(X[:, 0], y, ".", color=MUTED_COLOR, markersize=3)
for color, (number, curve) in enumerate(
    (i, c) for i, c in enumerate(model.staged_predict(grid), 1) if i in {1, 10, 100}
):
    left.plot(grid, curve, color=palette_color(color), label=f"{number} trees")
left.legend(frameon=False)
left.set_title("the sum of the trees so far")
for color, rate in enumerate((0.03, 0.1, 1.0)):
    model = HistGradientBoostingRegressor(
        max_iter=300, max_leaf_nodes=6, learning_rate=rate, random_state=0
    ).fit(X, y)
    error = [((p - y_new) ** 2).mean() for p in model.staged_predict(X_new)]
    right.plot(error, color=palette_color(color), label=f"learning rate {rate:g}")
right.set(xlabel="rounds", title="squared error of new rows", ylim=(0.1, 0.4))
right.legend(frameon=False)
for ax in (left, right):
    style_axes(ax)
plt.show()

# %%
# The quantile loss asks for the level below which a share of the targets lies. Several levels are
# one model, and their curves never cross. The band widens with the noise.
bands = HistGradientBoostingRegressor(
    "quantile", quantile=[0.05, 0.5, 0.95], max_iter=60, max_leaf_nodes=6, random_state=0
).fit(X, y)
low, middle, high = bands.predict(grid).T
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(X[:, 0], y, ".", color=MUTED_COLOR, markersize=3)
ax.fill_between(grid[:, 0], low, high, color=palette_color(0), alpha=0.2, label="5 % to 95 %")
ax.plot(grid, middle, color=palette_color(0), label="median")
inside = np.mean((bands.predict(X_new)[:, 0] <= y_new) & (y_new <= bands.predict(X_new)[:, 2]))
ax.set_title(f"{inside:.0%} of new rows lie in the band")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# A column of 40 towns whose numbers mean nothing. As numbers, a tree must cut the line of towns
# many times; as categories it parts them into two sets at once, and needs far fewer leaves.
town = rng.integers(0, 40, 3000)
rent = rng.normal(size=40)[town] + 0.3 * rng.normal(size=3000)
rows, new = town[:2000, None].astype(float), town[2000:, None].astype(float)
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for color, (name, columns) in enumerate({"as numbers": None, "as categories": [0]}.items()):
    model = HistGradientBoostingRegressor(
        max_iter=60, max_leaf_nodes=4, categorical_features=columns, random_state=0
    ).fit(rows, rent[:2000])
    error = [((p - rent[2000:]) ** 2).mean() for p in model.staged_predict(new)]
    ax.plot(error, color=palette_color(color), label=name)
ax.axhline(0.09, color=MUTED_COLOR, linewidth=1)
ax.text(60, 0.09, "noise", va="bottom", ha="right", color=MUTED_COLOR)
ax.set(xlabel="rounds", title="squared error of new rows, trees of four leaves", ylim=(0, 1.1))
ax.legend(frameon=False)
style_axes(ax)
plt.show()
