"""
Missing values from neighbors
=============================

A value that is missing can be guessed from the rows that are most like the one that lacks it. How
many of them to ask is a matter of bias and variance, as everywhere with neighbors. [K07]
"""

# %%
# Measurements of wines, a tenth to a half of which we hide. The distance of two rows is taken over
# the columns that both have.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from tenfold import KNNImputer
from tenfold.plot.style import palette_color, style_axes

X = load_wine().data
X = (X - X.mean(axis=0)) / X.std(axis=0)


def error(share, k, weights="uniform"):
    """Root of the mean squared error of the values that were hidden."""
    hidden = np.random.default_rng(1).random(X.shape) < share
    filled = KNNImputer(n_neighbors=k, weights=weights).fit_transform(np.where(hidden, np.nan, X))
    return np.sqrt(np.mean((filled - X)[hidden] ** 2))


# %%
# Few neighbors are noisy, all of them are the mean of the column, whose error is one standard
# deviation.
ks = np.unique(np.geomspace(1, len(X), 16).astype(int))
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i, share in enumerate((0.1, 0.3, 0.5)):
    ax.plot(ks, [error(share, int(k)) for k in ks], color=palette_color(i), label=f"{share:.0%}")
ax.axhline(1.0, color="gray", ls=":", lw=1.2)
ax.set(xscale="log", xlabel="neighbors", ylabel="error of hidden values")
ax.legend(title="missing")
style_axes(ax)
plt.show()

# %%
# Two columns that go together: what was hidden in one of them, and what neighbors make of it.
hidden = np.zeros(X.shape, bool)
hidden[np.random.default_rng(0).random(len(X)) < 0.3, 6] = True
filled = KNNImputer(n_neighbors=8, weights="distance").fit_transform(np.where(hidden, np.nan, X))
lost = hidden[:, 6]
fig, ax = plt.subplots(figsize=(5, 3.8), layout="constrained")
ax.scatter(X[~lost, 5], X[~lost, 6], s=14, color="gray", alpha=0.5, label="known")
ax.scatter(X[lost, 5], X[lost, 6], s=18, color=palette_color(0), label="hidden")
ax.scatter(X[lost, 5], filled[lost, 6], s=18, color=palette_color(1), marker="x", label="filled in")
ax.set(xlabel="phenols", ylabel="flavonoids")
ax.legend()
style_axes(ax)
plt.show()
