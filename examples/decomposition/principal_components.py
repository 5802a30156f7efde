"""
Principal components: a line through a cloud, digits, faces and news
=====================================================================

The direction of most variance is the line with the least squared distance from the points. How many
directions are worth keeping, what they look like, and how EM finds them without a covariance.
"""

# %%
# A cloud and a line
# ------------------
# Each point is projected on the line; grey segments are what the projection leaves out. Variance
# along the line and mean squared length of the segments add up to the same sum for every direction,
# so that the largest one is where the other is least.
import os

import matplotlib.pyplot as plt
import numpy as np

from tenfold import PCA, ProbabilisticPCA, TfIdf, cross_validate_components, datasets
from tenfold.plot.style import palette_color, palette_marker, style_axes

rng = np.random.default_rng(0)
cloud = rng.normal(size=(80, 2)) @ np.array([[2.0, 1.1], [0.0, 0.7]])
line = PCA(1).fit(cloud)
projected = line.inverse_transform(line.transform(cloud))
angles = np.linspace(0, np.pi, 181)
directions = np.column_stack([np.cos(angles), np.sin(angles)])
centered = cloud - cloud.mean(axis=0)
variance = ((centered @ directions.T) ** 2).mean(axis=0)
error = (centered**2).sum(axis=1).mean() - variance

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].plot(*np.stack([cloud, projected], axis=1).transpose(2, 1, 0), color="0.75", lw=0.8)
axes[0].scatter(*cloud.T, s=14, color=palette_color(0), zorder=2)
axes[0].axline(cloud.mean(axis=0), slope=line.components_[0, 1] / line.components_[0, 0], color="k")
axes[0].set(title="points, line and what is left out", aspect="equal")
degrees = np.degrees(angles)
axes[1].plot(degrees, variance, color=palette_color(0), label="variance along the line")
axes[1].plot(degrees, error, color=palette_color(1), label="mean squared distance")
best = np.degrees(np.arctan2(*line.components_[0][::-1])) % 180
axes[1].axvline(best, color="k", lw=0.8)
axes[1].set(xlabel="angle of the line, degrees", title="most variance is least error")
axes[1].legend(frameon=False, loc="upper center")
axes[1].set(ylim=(0, 1.25 * variance.max()))
for ax in axes:
    style_axes(ax)
plt.show()
print(f"variance + error: {(variance + error).min():.6f} .. {(variance + error).max():.6f}")

# %%
# How many components
# -------------------
# MNIST if TENFOLD_DATA names its folder, else scikit-learn's digits. Four answers: a share of the
# variance; the elbow of what is left out; the largest likelihood of held-out digits; two, to look
# at them.
with_data = bool(os.environ.get("TENFOLD_DATA"))
if with_data:
    mnist = datasets.fetch_mnist()
    images = mnist.images[:3000] / 255.0
    labels = np.asarray(mnist.target[:3000])
else:
    print("Without TENFOLD_DATA: scikit-learn's digits of 8 x 8 pixels.")
    small = datasets.load_digits()
    images, labels = small.images / 16.0, small.target
shape = images.shape[1:]
pictures = images.reshape(len(images), -1)
X = (images[:, ::2, ::2] if with_data else images).reshape(len(images), -1)  # every second pixel
full = PCA().fit(X)
retained = np.cumsum(full.explained_variance_ratio_)
numbers = np.unique(np.geomspace(1, 0.95 * X.shape[1], 14).astype(int))
curve = cross_validate_components(X, numbers)
for share in (0.5, 0.8, 0.9, 0.95, 0.99):
    print(f"{share:.0%} of the variance: {PCA(share).fit(X).n_components_} components")
elbow = PCA("elbow").fit(X).n_components_
print(f"elbow: {elbow}; held-out likelihood, of those tried: {curve.n_components}")

fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].plot(np.arange(1, len(retained) + 1), retained, color=palette_color(0))
axes[0].scatter([elbow], [retained[elbow - 1]], color="k", zorder=3)
axes[0].annotate("elbow", (elbow, retained[elbow - 1]), (12, -14), textcoords="offset points")
axes[0].set(xlabel="components", ylabel="share of the variance", title="retained variance")
# Beyond the pixels that vary no noise is left, and rows beside the subspace have no likelihood.
likely = curve.log_likelihood > -1e6
axes[1].plot(curve.candidates[likely], curve.log_likelihood[likely], "o-", color=palette_color(1))
axes[1].set(xlabel="components", title="log-likelihood of a held-out digit")
for ax in axes:
    style_axes(ax)
plt.show()

# %%
# The error is the sum of the eigenvalues that were left out, for every number of components.
for k in (2, 10, 24):
    kept = PCA(k).fit(X)
    away = X - kept.inverse_transform(kept.transform(X))
    squares = (away**2).sum() / (len(X) - 1)
    left_out = full.explained_variance_[k:].sum()
    print(f"{k:3d} components: error {squares:.6f}, eigenvalues left out {left_out:.6f}")

# %%
# Twenty-four components of the digits, with their singular values: the first ones are overall
# shapes, the later ones finer strokes. Below them, digits in two dimensions.
kept = PCA(24).fit(pictures)


def show_components(components, titles, shape):
    """Pictures of 24 components, red positive and blue negative."""
    _, axes = plt.subplots(3, 8, figsize=(10, 4.4), layout="constrained")
    for ax, picture, title in zip(axes.flat, components, titles, strict=True):
        limit = np.abs(picture).max()
        ax.imshow(picture.reshape(shape), cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.set_title(title, fontsize=8)
        ax.set_axis_off()
    plt.show()


show_components(kept.components_, [f"{s:.0f}" for s in kept.singular_values_], shape)
plane = kept.transform(pictures)[:, :2]
fig, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
for digit in range(10):
    own = labels == digit
    look = {"color": palette_color(digit), "marker": palette_marker(digit)}
    ax.scatter(*plane[own][:150].T, s=9, label=str(digit), **look)
ax.legend(frameon=False, markerscale=2, ncols=2, loc="upper left", bbox_to_anchor=(1, 1))
ax.set(title="digits on their first two components")
style_axes(ax)
plt.show()

# %%
# News
# ----
# Four groups of the news, tf-idf of their words, on two components. Sparse rows stay sparse.
if with_data:
    groups = ["comp.sys.mac.hardware", "rec.motorcycles", "sci.med", "soc.religion.christian"]
    news = datasets.fetch_20newsgroups(categories=groups, remove=("headers", "footers", "quotes"))
    texts, which = list(news.data), np.asarray(news.target)
else:
    words = [f"w{j}" for j in range(400)]
    groups = ["first", "second", "third", "fourth"]
    which = np.repeat(np.arange(4), 150)
    odds = rng.dirichlet(np.full(400, 0.05), size=4)
    texts = [" ".join(rng.choice(words, 60, p=odds[g])) for g in which]
tfidf = TfIdf(min_df=30 if with_data else 2, stop_words="english" if with_data else None)
counts = tfidf.fit_transform(texts)
plane = PCA(2, random_state=0).fit_transform(counts)
fig, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for g, name in enumerate(groups):
    ax.scatter(*plane[which == g].T, s=6, color=palette_color(g), label=name)
ax.legend(frameon=False, markerscale=2)
ax.set(title=f"{counts.shape[0]:,} texts, {counts.shape[1]:,} words, two components")
style_axes(ax)
plt.show()

# %%
# Faces, and EM
# -------------
# Eigenfaces: shapes that belong to no actual face. EM for PCA finds them from two least-squares
# problems in turn, without a covariance of 4,096 x 4,096 pixels.
faces = datasets.fetch_olivetti_faces().images if with_data else images[:400]
pixels = faces.reshape(len(faces), -1).astype(np.float64)
exact = PCA(24, svd_solver="full").fit(pixels)
show_components(exact.components_, [f"{s:.1f}" for s in exact.singular_values_], faces.shape[1:])
em = ProbabilisticPCA(24, algorithm="em", noise_variance=0, tol=1e-8, random_state=0)
em.fit(pixels)
first = em.explained_variance_[0] * len(pixels) / (len(pixels) - 1)
print(f"EM: {em.n_iter_} iterations, first eigenvalue {first:.3f}")

# %%
# An eigenvector w has C w / w equal to its eigenvalue in every entry. The notes plot this ratio for
# EM, and report a spread (standard deviation) of 7.06 where exact PCA has 8e-5: they stop at an
# orthonormal basis of the subspace. Turned to the axes of its own covariance, the basis of EM
# consists of eigenvectors.
centered = pixels - pixels.mean(axis=0)


def ratios(w):
    """C w / w in every entry that is not nearly zero."""
    product = centered.T @ (centered @ w) / len(centered)
    large = np.abs(w) > 1e-3 * np.abs(w).max()
    return product[large] / w[large]


mixed = em.components_.T @ np.linalg.qr(rng.normal(size=(24, 24)))[0]  # a basis, not turned
columns = {"a basis alone": mixed[:, 0], "EM, turned": em.components_[0]}
columns["exact PCA"] = exact.components_[0]
fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained", sharey=True)
for ax, (name, w) in zip(axes, columns.items(), strict=True):
    values = ratios(w)
    ax.plot(values, ".", ms=2, color=palette_color(0))
    ax.set(title=f"{name}: spread {values.std():.2g}", xlabel="entry")
    style_axes(ax)
axes[0].set(ylabel="C w / w", ylim=(-20, 40))
plt.show()
