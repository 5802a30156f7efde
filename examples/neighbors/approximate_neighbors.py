"""
Neighbors without reading all rows
==================================

Inverted lists read the rows around the nearest centers, a graph is walked along its edges. Both
find most neighbors in a fraction of the time; lists can prove which answers are exact. [K07]
"""

# %%
# Rows are kept in lists, each around a center of k-means. A query reads the lists of the nearest
# centers; the recall over the number of lists is estimated from rows of the fit.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import GraphNearestNeighbors, IVFNearestNeighbors
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(0)
centers = 4 * rng.normal(size=(100, 8))
X = (centers[rng.integers(100, size=20_500)] + rng.normal(size=(20_500, 8))).astype(np.float32)
X, queries = X[:20_000], X[20_000:]

lists = IVFNearestNeighbors(10, random_state=0).fit(X)
print(f"{len(lists.radii_)} lists, of which a query reads {lists.n_probe_}")
print(f"recall {lists.recall_:.1%}, proven exact {lists.certified_:.1%}")

# %%
# An answer is proven if every list that was not read is farther than the last neighbor. With
# n_probe="exact" a query reads until that is so, and the answer has the bits of a search of all.
exact = IVFNearestNeighbors(10, n_probe="exact", random_state=0).fit(X)
truth = exact.kneighbors(queries, return_distance=False)


def recall(found):
    return np.mean((found[:, :, None] == truth[:, None]).any(axis=1))


probes = [1, 2, 4, 8, 16, 32, 64, 128, len(lists.radii_)]
found, proven = [], []
for lists.n_probe_ in probes:
    found.append(recall(lists.kneighbors(queries, return_distance=False)))
    proven.append(lists.certify(queries).mean())

# %%
# A graph needs no lists: a walk keeps the nearest rows that it met, its beam.
graph = GraphNearestNeighbors(10, random_state=0).fit(X)
print(f"graph: {graph.degrees_.mean():.0f} edges a row, recall {graph.recall_:.1%}")
beams = [11, 16, 24, 32, 64, 128]
walked = []
for graph.beam in beams:
    walked.append(recall(graph.kneighbors(queries, return_distance=False)))

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
left.plot(probes, found, "o-", color=palette_color(0), label="neighbors found")
left.plot(probes, proven, "s-", color=palette_color(1), label="answers proven exact")
left.plot(np.arange(len(lists.recall_curve_)) + 1, lists.recall_curve_, color="gray", lw=1,
          ls=":", label="estimate of the fit")  # fmt: skip
left.set(xscale="log", xlabel="lists read", ylabel="share")
right.plot(beams, walked, "o-", color=palette_color(2), label="neighbors found")
right.set(xscale="log", xlabel="beam of the walk")
for ax in (left, right):
    ax.legend(fontsize=8, loc="lower right")
    style_axes(ax)
plt.show()
