"""
Factors, sources and holes: what lies behind the rows
======================================================

Probabilistic PCA fills holes and says how sure it is; factor analysis turns its factors until they
can be read; independent component analysis unmixes signals that PCA leaves mixed; a tensor has
factors that no rotation can change. One frame holds them all.
"""

# %%
# Holes in digits
# ---------------
# A third of the pixels is hidden. The fit is maximum likelihood of the pixels that are there; a
# hidden pixel gets its expected value given the others of its picture, and a standard deviation.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import PCA, CPDecomposition, FactorAnalysis, FastICA, KMeans, ProbabilisticPCA
from tenfold.datasets import load_digits
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching import factor_pair, factorization_methods, mix_factors

rng = np.random.default_rng(0)
X = load_digits().data
holes = np.where(rng.random(X.shape) < 1 / 3, np.nan, X)
model = ProbabilisticPCA(15, tol=1e-4).fit(holes)
filled = model.impute(holes)
_, covariances = model.impute(holes[:6], return_covariance=True)
deviations = np.sqrt(np.einsum("ijj->ij", covariances))
hidden = np.isnan(holes)
by_mean = np.where(hidden, np.nanmean(holes, axis=0), holes)
print(f"{model.n_iter_} iterations of EM; error of hidden pixels:")
for name, values in {"column means": by_mean, "probabilistic PCA": filled}.items():
    print(f"  {name:18s} {np.sqrt(np.mean((values - X)[hidden] ** 2)):.2f}")

panels = {"true": X[:6], "seen": holes[:6], "expected": filled[:6], "deviation": deviations}
fig, axes = plt.subplots(4, 6, figsize=(7, 5), layout="constrained")
for row, (name, pictures) in zip(axes, panels.items(), strict=True):
    for ax, picture in zip(row, pictures, strict=True):
        limit = 6 if name == "deviation" else 16
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=limit)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)
plt.show()

# %%
# Factors that can be read
# ------------------------
# Twelve questions, four about each of three abilities that go together. Loadings are defined up to
# a rotation: the first solution mixes all abilities, an oblique rotation finds them, and that they
# are correlated by a half.
correlation = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
abilities = rng.multivariate_normal(np.zeros(3), correlation, size=2000)
pattern = np.kron(np.eye(3), [1.0, 0.9, 0.8, 0.7])
answers = abilities @ pattern + rng.normal(size=(2000, 12)) * 0.6
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
for ax, rotation in zip(axes, (None, "varimax", "oblimin"), strict=True):
    fitted = FactorAnalysis(3, rotation=rotation, solver="lbfgs").fit(answers)
    ax.imshow(fitted.components_.T, cmap="RdBu_r", vmin=-1.2, vmax=1.2, aspect="auto")
    ax.set(title=f"rotation: {rotation}", xlabel="factor", xticks=[0, 1, 2])
axes[0].set_ylabel("question")
plt.show()
off_diagonal = fitted.factor_covariance_[[0, 0, 1], [1, 2, 2]]
print("correlations of the oblique factors:", np.abs(off_diagonal).round(2))

# %%
# Unmixing
# --------
# Three signals, three microphones. PCA decorrelates what the microphones record; the sources come
# back only when outputs are made independent. Inference is g(x) = U (x - mean) with a matrix of its
# own.
time = np.linspace(0, 8, 2000)
signals = np.column_stack(
    [np.sin(2 * time), np.sign(np.sin(3 * time)), rng.laplace(size=2000).cumsum() % 1 - 0.5]
)
signals = signals / signals.std(axis=0)
recorded = signals @ rng.normal(size=(3, 3)) + 0.02 * rng.normal(size=(2000, 3))
unmixed = {
    "sources": signals,
    "recorded": recorded,
    "PCA": PCA(whiten=True).fit_transform(recorded),
    "FastICA": FastICA(random_state=0).fit_transform(recorded),
    "Picard": FastICA(algorithm="picard", random_state=0).fit_transform(recorded),
}
fig, axes = plt.subplots(3, 5, figsize=(12, 4), layout="constrained", sharex=True)
for column, (name, values) in zip(axes.T, unmixed.items(), strict=True):
    column[0].set_title(name)
    for j, ax in enumerate(column):
        ax.plot(time, values[:, j], lw=0.6, color=palette_color(j))
        ax.set(yticks=[])
        style_axes(ax)
plt.show()
for name in ("PCA", "FastICA", "Picard"):
    match = np.abs(np.corrcoef(signals.T, unmixed[name].T)[:3, 3:]).max(axis=1)
    print(f"{name:8s} correlation with the sources {match.round(3)}")

# %%
# A tensor has one answer
# -----------------------
# Factors of a matrix may be mixed by any invertible matrix without a change of the product,
# (W C)(C^-1 Z) = W Z. Those of a tensor of order three may not: two runs from other starting
# points, with half of the entries missing, find the same curves, which are the planted ones.
grid = np.linspace(0, 1, 40)
curves = np.column_stack([np.exp(-((grid - c) ** 2) / 0.01) for c in (0.25, 0.5, 0.7)])
planted = [rng.uniform(0.2, 1, size=(20, 3)), curves, rng.uniform(0.2, 1, size=(12, 3))]
tensor = np.einsum("ir,jr,kr->ijk", *planted) + 0.01 * rng.normal(size=(20, 40, 12))
tensor[rng.random(tensor.shape) < 0.5] = np.nan
runs = [
    CPDecomposition(3, init="random", random_state=seed, tol=1e-9).fit(tensor) for seed in (1, 2)
]
pair = factor_pair(PCA(3).fit(X), X)
mixed = mix_factors(pair, rng.normal(size=(3, 3)))
print(f"matrix: other factors, same product to {np.abs(mixed.product - pair.product).max():.1e}")
for rank in (2, 3, 4):
    found = CPDecomposition(rank, tol=1e-7).fit(tensor)
    print(f"{rank} components: core consistency {max(found.core_consistency(tensor), 0):.0f} %")

fig, axes = plt.subplots(1, 3, figsize=(10, 2.8), layout="constrained", sharey=True)
axes[0].plot(grid, curves / np.linalg.norm(curves, axis=0))
for ax, run in zip(axes[1:], runs, strict=True):
    order = run.factors_[1].argmax(axis=0).argsort()
    ax.plot(grid, run.factors_[1][:, order])
for ax, title in zip(axes, ("planted", "first run", "second run"), strict=True):
    ax.set(title=title)
    style_axes(ax)
plt.show()

# %%
# One frame
# ---------
# Cost, set of dictionaries, set of codes, inference: other sets give other dictionaries of the same
# digits.
for name, method in factorization_methods().items():
    kind = "formula" if method.is_formula else "optimization"
    print(f"{name:14s} W: {method.dictionaries:44s} Z: {method.codes:40s} inference: {kind}")
fits = {
    "PCA": PCA(8),
    "k-means": KMeans(8, random_state=0),
    "ICA": FastICA(8, algorithm="picard", random_state=0),
}
fig, axes = plt.subplots(3, 8, figsize=(9, 3.6), layout="constrained")
for row, (name, each) in zip(axes, fits.items(), strict=True):
    pair = factor_pair(each.fit(X), X)
    error = np.mean((pair.product - X) ** 2)
    for ax, element in zip(row, pair.W.T, strict=True):
        limit = np.abs(element).max()
        ax.imshow(element.reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)
    print(f"{name:8s} mean squared error {error:.2f}")
plt.show()
