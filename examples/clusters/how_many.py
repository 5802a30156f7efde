"""
How many clusters?
==================

The cost falls with every cluster, on rows kept aside as well, so it cannot choose. Three rules can:
the knee of the cost, the silhouette, and the gap to rows without clusters. Where clusters serve a
task, the task's own error chooses best.
"""

# %%
# Four groups in the corners of a square, and what the rules say of them. The gap's curve has its
# top at four, but its rule takes the first K that the next one does not clearly exceed. Two
# clusters are hardly better than one here, so it stops at once: look at the whole curve.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_blobs
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from tenfold import ClusterFeatures, KMeans, LogisticRegression, choose_k
from tenfold.cluster import compare_clusterings, profile_clusters
from tenfold.plot import cluster_scatter, elbow, silhouettes

X, y = make_blobs(300, centers=[[0, 0], [5, 0], [0, 5], [5, 5]], random_state=0)
model = KMeans(n_init=3, random_state=0)
choices = [choose_k(model, X, range(1, 9), by=by) for by in ("knee", "silhouette", "gap")]
fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, choice in zip(axes, choices, strict=True):
    elbow(choice, ax=ax).set_title(f"by {choice.by}")
plt.show()

# %%
# The cost of rows that were kept aside goes on falling beyond four.
train, aside = X[:200], X[200:]
for k in (2, 3, 4, 8, 16):
    cost = -KMeans(k, n_init=5, random_state=0).fit(train).score(aside)
    print(f"{k:3d} clusters: cost of rows kept aside {cost:8.1f}")

# %%
# The silhouette row by row: with four clusters all are well inside, with six some are thin.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharex=True, layout="constrained")
for ax, k in zip(axes, (4, 6), strict=True):
    silhouettes(X, KMeans(k, n_init=5, random_state=0).fit(X).labels_, ax=ax)
    ax.set_title(f"{k} clusters")
plt.show()

# %%
# Rows without clusters. The silhouette cannot say "one"; the gap can.
flat = np.random.default_rng(0).uniform(size=(300, 2))
for by in ("silhouette", "gap"):
    print(f"uniform rows, by {by}: {choose_k(model, flat, range(1, 7), by=by).best} clusters")

# %%
# Units decide what is near. Wines by thirteen measurements: raw, proline in the hundreds rules
# alone; standardised, the clusters are the three cultivars. The columns that set them apart:
wine = load_wine()
scaled = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
for name, rows in (("raw", wine.data), ("standardised", scaled)):
    labels = KMeans(3, n_init=10, random_state=0).fit(rows).labels_
    best = [
        f"{c} {share:.2f}"
        for c, share in profile_clusters(rows, labels, wine.feature_names).rank_features()[:3]
    ]
    agreement = compare_clusterings(wine.target, labels).adjusted_rand
    print(f"{name:13s} agreement with the cultivars {agreement:.2f}; apart by {', '.join(best)}")

columns = [wine.feature_names.index(c) for c in ("flavanoids", "color_intensity")]
ax = cluster_scatter(scaled[:, columns], labels)
ax.set(xlabel="flavanoids (standardised)", ylabel="colour intensity (standardised)")
plt.show()

# %%
# A task chooses: opposite corners belong to the same class, which no line parts. Distances to
# enough centres make it linear.
corner = np.isin(y, [0, 3])
print(f"the columns themselves: {cross_val_score(LogisticRegression(), X, corner).mean():.2f}")
for k in (1, 2, 4, 8):
    features = ClusterFeatures(KMeans(k, n_init=3, random_state=0))
    accuracy = cross_val_score(make_pipeline(features, LogisticRegression()), X, corner).mean()
    print(f"distances to {k} centres: {accuracy:.2f}")
