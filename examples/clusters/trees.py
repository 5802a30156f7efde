"""
Trees of clusters, and where to cut them
========================================

Hierarchical clustering joins the two nearest clusters until one is left. The tree holds all numbers
of clusters at once, and is cut afterwards. What is nearest is the linkage's word.
"""

# %%
# Four points, 0, 1, 3 and 7, with the heights at which they join, by hand and here.
from html import escape

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, make_moons

from tenfold import AgglomerativeClustering, KMeans
from tenfold.cluster import compare_clusterings, linkage_matrix
from tenfold.plot import cluster_scatter, dendrogram
from tenfold.plot.style import style_axes
from tenfold.report import render_dendrogram

points = np.array([[0.0], [1.0], [3.0], [7.0]])
by_hand = {
    "single": [1, 2, 4],
    "complete": [1, 3, 7],
    "average": [1, 2.5, 5.6667],
    "centroid": [1, 2.5, 5.6667],
}
print(f"{'linkage':10s} {'by hand':22s} here")
for linkage, heights in by_hand.items():
    print(
        f"{linkage:10s} {heights!s:22s} {linkage_matrix(points, linkage)[:, 2].round(4).tolist()}"
    )

# %%
# The same tree cut at two heights. Cuts are nested: a lower one only splits clusters.
iris = load_iris()
sample = np.random.default_rng(0).choice(150, 30, replace=False)
model = AgglomerativeClustering(linkage="average").fit(iris.data[sample])
names = [iris.target_names[y] for y in iris.target[sample]]
fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
for ax, height in zip(axes, (2.5, 1.2), strict=True):
    dendrogram(model, height=height, names=names, ax=ax)
    ax.set_title(f"cut at {height}: {model.cut(height=height).max() + 1} clusters")
axes[1].set_ylabel("")
plt.show()


# %%
# Where to cut? Move the line yourself. `tenfold.report.write_dendrogram(model, "tree.html")` writes
# this page: one file, which needs no network.
class Page:
    """A page within this page."""

    def __init__(self, text):
        self.text = text

    def _repr_html_(self):
        look = 'title="A tree to cut" style="width:100%;height:860px;border:1px solid #ddd"'
        return f'<iframe {look} srcdoc="{escape(self.text)}"></iframe>'


Page(render_dendrogram(model, names=names, n_clusters=3, title="Thirty irises"))

# %%
# Single linkage follows strings, complete linkage makes compact clusters; k-means, too, wants round
# ones.
X, y = make_moons(300, noise=0.05, random_state=0)
found = {
    "single linkage": AgglomerativeClustering(2, linkage="single").fit(X).labels_,
    "complete linkage": AgglomerativeClustering(2, linkage="complete").fit(X).labels_,
    "k-means": KMeans(2, n_init=5, random_state=0).fit(X).labels_,
}
fig, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
for ax, (name, labels) in zip(axes, found.items(), strict=True):
    cluster_scatter(X, labels, ax=ax).get_legend().remove()
    ax.set_title(f"{name}: agreement {compare_clusterings(y, labels).adjusted_rand:.2f}")
plt.show()

# %%
# Heights of centroids may fall: the middle of two corners of this triangle lies closer to the third
# than they lay to each other, so the second bar is drawn below the first.
corners = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.75]])
Z = linkage_matrix(corners, "centroid")
print("heights:", Z[:, 2].tolist())
fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for i, (a, b) in enumerate(corners):
    axes[0].plot(a, b, "o", color="#0072B2", ms=9)
    axes[0].annotate(str(i), (a, b), (8, 4), textcoords="offset points")
axes[0].plot(1, 0, "x", color="#D55E00", ms=9)
axes[0].annotate("middle of 0 and 1", (1, 0), (-40, 10), textcoords="offset points")
axes[0].set(xlim=(-0.4, 2.6), ylim=(-0.4, 2.2), aspect="equal")
style_axes(axes[0])
dendrogram(Z, ax=axes[1])
plt.show()

# %%
# There are no draws in a tree: the same rows give the same clusters. k-means from one random start
# does not.
X = np.random.default_rng(3).normal(size=(200, 2))
trees = [AgglomerativeClustering(5).fit(X).labels_ for _ in range(5)]
starts = [KMeans(5, init="random", n_init=1, random_state=s).fit(X).labels_ for s in range(5)]
for name, runs in (("tree", trees), ("k-means", starts)):
    print(name, [round(compare_clusterings(runs[0], other).adjusted_rand, 2) for other in runs[1:]])
