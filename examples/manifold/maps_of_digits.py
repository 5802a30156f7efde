"""
Maps of digits
==============

The same pictures of digits by six methods: some keep distances, some neighbors. Labels color the
points; none of the methods sees them. [F07, F08]
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tenfold import (
    MDS,
    PCA,
    TSNE,
    Isomap,
    LocallyLinearEmbedding,
    NearestNeighbors,
    SpectralEmbedding,
    trustworthiness,
)
from tenfold.plot import embedding_scatter
from tenfold.plot.style import palette_color, style_axes

X, y = load_digits(return_X_y=True)
X, y = X[::3], y[::3]

models = [
    PCA(2),
    MDS(max_iter=100, eps=1e-5),
    Isomap(n_neighbors=10),
    LocallyLinearEmbedding(n_neighbors=12, method="modified"),
    SpectralEmbedding(n_neighbors=12),
    TSNE(perplexity=30),
]
fig, axes = plt.subplots(2, 3, figsize=(12, 8), layout="constrained")
for ax, model in zip(axes.ravel(), models, strict=True):
    Z = np.asarray(model.fit_transform(X))
    for digit in range(10):
        ax.scatter(*Z[y == digit].T, s=6, color=plt.cm.tab10(digit), linewidths=0)
        middle = np.median(Z[y == digit], axis=0)
        ax.text(*middle, str(digit), fontsize=13, weight="bold", ha="center", va="center")
    ax.set_title(f"{type(model).__name__}\ntrustworthiness {trustworthiness(X, Z):.3f}")
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# **Perplexity** is the number of neighbors that count. Small ones show small groups, also where
# there are none; the sizes of clusters and the gaps between them mean little in all of them.
fig, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, perplexity in zip(axes, (3, 30, 150), strict=True):
    model = TSNE(perplexity=perplexity).fit(X)
    ax.scatter(*model.embedding_.T, s=5, c=plt.cm.tab10(y), linewidths=0)
    ax.set(xticks=[], yticks=[], title=f"perplexity {perplexity}: KL {model.kl_divergence_:.2f}")
plt.show()

# %%
# **New rows** are placed one by one among the points, which stay: how many fall nearest to a point
# of their own digit?
train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
model = TSNE().fit(X[train])
placed = model.transform(X[test])
nearest = NearestNeighbors(n_neighbors=1).fit(model.embedding_).kneighbors(placed)[1][:, 0]
print(f"{(y[train][nearest] == y[test]).mean():.1%} beside a point of their own digit")
ax = embedding_scatter(model.embedding_)
ax.scatter(*placed.T, s=9, c=plt.cm.tab10(y[test]), linewidths=0)
ax.set_title("rows of the fit in blue, new rows in colors")
plt.show()

# %%
# The divergence over iterations: exaggeration holds it up for 250 of them.
fig, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
for k, method in enumerate(("auto", "barnes_hut", "interpolation")):
    run = TSNE(method=method).fit(X)
    steps = 50 * np.arange(1, len(run.history_["objective"]) + 1)
    ax.plot(steps, run.history_["objective"], color=palette_color(k), label=method)
ax.set(xlabel="iteration", ylabel="Kullback-Leibler divergence")
ax.legend(frameon=False)
style_axes(ax)
plt.show()
