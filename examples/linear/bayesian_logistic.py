"""
Sure, or sure of being unsure: Bayesian logistic regression
===========================================================

Logistic regression says 99.9 % far away from everything that it has seen, because far from its
boundary there is nothing but one side. Averaged over all boundaries that the data allow, the
prediction is sure where there are data, and less so elsewhere.
"""

# %%
# Ten points, as in the notebook of the note: four clusters, the label is the side.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import BayesianLogisticRegression, LogisticRegression
from tenfold.plot.style import TEXT_COLOR, palette_color, palette_marker, style_axes

rng = np.random.default_rng(8)
centres = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])


def draw_points(n):
    which = np.arange(n) % 4
    return centres[which] + 0.5 * rng.standard_normal((n, 2)), (which > 1).astype(int)


X, y = draw_points(10)
X_new, y_new = draw_points(400)

# %%
# The same prior for all three: N(0, 10) for each coefficient. The first takes the one best line;
# the second a Gaussian about it (Laplace); the third draws lines by Hamiltonian Monte Carlo.
PRECISION = 0.1
models = {
    "one best line": LogisticRegression(C=1 / PRECISION),
    "Bayes, Laplace": BayesianLogisticRegression(
        prior_precision=PRECISION, intercept_precision=PRECISION
    ),
    "Bayes, Monte Carlo": BayesianLogisticRegression(
        prior_precision=PRECISION,
        intercept_precision=PRECISION,
        posterior="mcmc",
        n_draws=1000,
        random_state=0,
    ),
}
probes = np.array([[3.0, 0.0], [9.0, 0.0], [0.6, 9.0]])
print(f"{'probability of class 1 at':<26}" + "".join(f"{tuple(p)!s:>13}" for p in probes.tolist()))
for name, model in models.items():
    chances = model.fit(X, y).predict_proba(probes)[:, 1]
    print(f"{name:<26}" + "".join(f"{p:>13.3f}" for p in chances))
sampled = models["Bayes, Monte Carlo"]
print(f"the chains mixed: r-hat at most {sampled.r_hat_.max():.3f} (1 is perfect)")

# %%
# Probabilities as heat maps: white is "don't know". The Bayesian lines of equal probability spread
# apart with the distance from the data, as the note says; the plain ones stay parallel.
side = np.linspace(-6, 6, 241)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, row = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained", sharey=True)
for ax, (name, model) in zip(row, models.items(), strict=True):
    p = model.predict_proba(points)[:, 1].reshape(241, 241)
    image = ax.imshow(p, extent=(-6, 6, -6, 6), origin="lower", cmap="RdBu_r", vmin=0, vmax=1)
    lines = ax.contour(
        side, side, p, levels=[0.1, 0.25, 0.5, 0.75, 0.9], colors=TEXT_COLOR, linewidths=1
    )
    ax.clabel(lines, fontsize=8)
    for label in (0, 1):
        look = {
            "color": palette_color(label),
            "marker": palette_marker(label),
            "edgecolor": "white",
        }
        ax.scatter(*X[y == label].T, s=45, zorder=3, label=f"class {label}", **look)
    ax.set(title=name, xlabel="$x_1$")
    style_axes(ax, grid=False)
row[0].set_ylabel("$x_2$")
row[0].legend(loc="lower left", framealpha=0.9)
figure.colorbar(image, ax=list(row), label="probability of class 1", shrink=0.85)
plt.show()

# %%
# The note's two claims, measured. Less confidence near the boundary: the mean confidence
# ``|p - 1/2|`` of grid points, by their distance to the line. And wider far from the data: the
# breadth of the zone in which p lies between 0.1 and 0.9, near the data and at the edge.
for name, model in models.items():
    p = model.predict_proba(points)[:, 1].reshape(241, 241)
    w, b = model.coef_[0], model.intercept_[0]
    distance = abs(points @ w + b) / np.linalg.norm(w)
    sure = abs(p.ravel() - 0.5)
    near, far = sure[distance < 0.5].mean(), sure[(distance > 2) & (distance < 3)].mean()
    breadth = ((p > 0.1) & (p < 0.9)).sum(axis=1) * (side[1] - side[0])
    print(
        f"{name:<20} confidence near the line {near:.2f}, 2 to 3 away {far:.2f};"
        f" unsure zone {breadth[120]:.1f} wide at x2 = 0, {breadth[-1]:.1f} at x2 = 6"
    )

# %%
# Caution has its price: on new points from the very clusters of the training data the bold line has
# the lower log loss here, though no fewer errors. Laplace is the most cautious: its Gaussian gives
# flat lines more weight than the posterior does.
for name, model in models.items():
    p = model.predict_proba(X_new)[np.arange(len(y_new)), y_new]
    print(f"{name:<20} errors {np.mean(p < 0.5):.1%}, mean log loss {-np.log(p).mean():.3f}")
