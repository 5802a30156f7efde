"""
Gaussian processes of many rows
===============================

The exact process takes time that grows with the cube of the rows. Two ways out: a few inducing
points that carry the function everywhere, or a few near rows on which each row is conditioned. The
first suits smooth functions, the second rough ones. [K06]
"""

# %%
# Prices of houses by their place: California if TENFOLD_DATA names its folder, else a made-up map.

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import (
    GaussianProcessRegressor,
    NearestNeighborGaussianProcessRegressor,
    SparseGaussianProcessClassifier,
    SparseGaussianProcessRegressor,
    datasets,
)
from tenfold.kernel import ConstantKernel, Matern, WhiteKernel

rng = np.random.default_rng(0)
if os.environ.get("TENFOLD_DATA"):
    houses = datasets.fetch_california_housing()
    places = [list(houses.feature_names).index(name) for name in ("Longitude", "Latitude")]
    X, y = np.ascontiguousarray(houses.data[:, places]), np.log(houses.target)
else:
    print("No houses here (TENFOLD_DATA is not set): a map of waves instead")
    X = np.column_stack([rng.uniform(-124, -114, 20_640), rng.uniform(32, 42, 20_640)])
    y = np.sin(3 * X[:, 0]) * np.cos(4 * X[:, 1]) + 0.3 * rng.normal(size=len(X))
held_out = rng.permutation(len(X)) < 2_000
train, test = (X[~held_out], y[~held_out]), (X[held_out], y[held_out])

# %%
# Three models
# ------------
# Exact on a sample of 800 rows, 100 inducing points, and 12 neighbors. Each learns noise and
# length scale from its rows.

kernel = ConstantKernel(1.0) * Matern(1.0, nu=1.5)
sample = rng.permutation(len(train[0]))[:800]
exact = GaussianProcessRegressor(kernel + WhiteKernel(0.2), normalize_y=True)
inducing = SparseGaussianProcessRegressor(
    kernel, n_inducing=100, noise_level=0.2, max_iter_optimizer=8, random_state=0
)
near = NearestNeighborGaussianProcessRegressor(
    kernel + WhiteKernel(0.2), n_neighbors=12, max_iter_optimizer=15, random_state=0
)
exact.fit(train[0][sample], train[1][sample])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # a few iterations are enough here
    inducing.fit(*train)
    near.fit(*train)
models = {"exact, 800 rows": exact, "100 inducing points": inducing, "12 neighbors": near}
for name, model in models.items():
    error = np.sqrt(np.mean((model.predict(test[0]) - test[1]) ** 2))
    print(f"{name:20s} root mean squared error {error:.3f}, {model.kernel_}")

# %%
# What each sees
# --------------
# Around Los Angeles prices change from street to street, of which inducing points see an average.

fig, axes = plt.subplots(1, 4, figsize=(12, 3.4), sharex=True, sharey=True)
colors = {"vmin": np.quantile(y, 0.02), "vmax": np.quantile(y, 0.98), "cmap": "viridis"}
values = {"held-out rows": test[1], **{n: m.predict(test[0]) for n, m in models.items()}}
for ax, (name, value) in zip(axes, values.items(), strict=True):
    ax.scatter(*test[0].T, c=value, s=9, **colors)
    ax.set(title=name, xlabel="longitude", xlim=(-118.7, -117.6), ylim=(33.6, 34.3))
    ax.set_xticks([-118.5, -118.0])
axes[0].set_ylabel("latitude")
fig.tight_layout()

# %%
# How many neighbors
# ------------------
# The likelihood of 600 rows at one kernel, against the exact one. The order matters less than the
# number of neighbors: some tens are enough.

few = train[0][sample[:600]], train[1][sample[:600]]
by_place = np.argsort(few[0][:, 0])
few = few[0][by_place], few[1][by_place]
fixed = {"normalize_y": True, "optimizer": None}
evidence = GaussianProcessRegressor(exact.kernel_, **fixed).fit(*few)
counts = [1, 2, 4, 8, 16, 32]
fig, ax = plt.subplots(figsize=(6, 3.4))
for ordering in ("given", "random", "maximin"):
    gaps = []
    for m in counts:
        model = NearestNeighborGaussianProcessRegressor(
            exact.kernel_, n_neighbors=m, ordering=ordering, random_state=0, **fixed
        ).fit(*few)
        difference = evidence.log_marginal_likelihood_value_ - model.log_marginal_likelihood_value_
        gaps.append(abs(difference))
    ax.loglog(counts, gaps, "o-", label="by longitude" if ordering == "given" else ordering)
ax.set(xlabel="neighbors", ylabel="error of the log-likelihood (nats)")
ax.legend()
fig.tight_layout()

# %%
# Labels
# ------
# Dear or cheap, from the same places: Laplace's approximation through inducing points.
# Probabilities are near one half where there are few rows, or neighbors disagree.

dear = train[1] > np.median(y)
classifier = SparseGaussianProcessClassifier(
    4.0 * Matern(1.0, nu=1.5), n_inducing=100, optimizer=None, random_state=0
).fit(train[0], dear)
print("accuracy:", round(classifier.score(test[0], test[1] > np.median(y)), 3))
longitude, latitude = np.meshgrid(np.linspace(-125, -114, 80), np.linspace(32, 42.5, 80))
grid = np.column_stack([longitude.ravel(), latitude.ravel()])
p = classifier.predict_proba(grid)[:, 1].reshape(longitude.shape)
fig, ax = plt.subplots(figsize=(5, 4))
picture = ax.pcolormesh(longitude, latitude, p, cmap="RdBu_r", vmin=0, vmax=1, shading="auto")
ax.plot(*classifier.inducing_points_.T, "k.", ms=3, label="inducing points")
ax.set(xlabel="longitude", ylabel="latitude")
ax.legend(loc="upper right")
fig.colorbar(picture, label="probability of a dear house")
fig.tight_layout()
