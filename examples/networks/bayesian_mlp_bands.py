"""
Networks with error bars
========================

A network that knows what it does not know: bands of a Bayesian multi-layer perceptron by five
methods, with the noise and the missing knowledge apart; and probabilities of classes that go to
one half away from the data; and whether bands and probabilities keep their promise.
"""

# %%
# A sine with a gap in its middle. Dark: two standard deviations of the noise; light: with what is
# not known about the network. Hamiltonian Monte Carlo draws from the posterior itself and is the
# reference. A Kronecker product for each layer costs far less than the whole curvature and forgets
# how layers depend on each other; independent parameters (mean-field) and modes from several
# starts, the ensemble, are too sure of themselves outside of the data.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import BayesianMLPClassifier, BayesianMLPRegressor
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-2.5, -0.8, 25), rng.uniform(0.8, 2.5, 25)])[:, None]
y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=50)
grid = np.linspace(-4, 4, 200)[:, None]
models = {
    "laplace": BayesianMLPRegressor((8,), noise_variance=0.01, random_state=0),
    "laplace, kron": BayesianMLPRegressor(
        (8,), hessian_structure="kron", noise_variance=0.01, random_state=0
    ),
    "variational": BayesianMLPRegressor(
        (8,), method="variational", noise_variance=0.01, tol=1e-3, random_state=0
    ),
    "hmc": BayesianMLPRegressor(
        (8,), method="hmc", noise_variance=0.01, n_samples=200, warmup=200, random_state=0
    ),
    "ensemble": BayesianMLPRegressor(
        (8,), method="ensemble", noise_variance=0.01, n_samples=8, max_iter=5000, random_state=0
    ),
}
figure, axes = plt.subplots(1, 5, figsize=(16, 3.6), sharey=True)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    parts = model.fit(x, y).predict_parts(grid)
    total = np.hypot(parts.noise_std, parts.knowledge_std)
    for width, alpha in ((total, 0.25), (parts.noise_std, 0.35)):
        low, high = parts.mean - 2 * width, parts.mean + 2 * width
        axis.fill_between(grid[:, 0], low, high, color=palette_color(0), alpha=alpha, lw=0)
    axis.plot(grid[:, 0], parts.mean, color=palette_color(0))
    axis.plot(x[:, 0], y, ".", color=palette_color(1))
    axis.set_ylim(-2.5, 2.5)
    axis.set_title(name)
    style_axes(axis)
    inside = model.predict_parts([[1.6]]).knowledge_std[0]
    outside = model.predict_parts([[4.0]]).knowledge_std[0]
    print(f"{name:14s} knowledge: {inside:.3f} among the points, {outside:.3f} far away")

# %%
# Two classes on two half circles: near the data the network is sure, far away it is not.
angle = rng.uniform(0, np.pi, 60)
rows = np.vstack(
    [
        np.column_stack([np.cos(angle), np.sin(angle)]),
        np.column_stack([1 - np.cos(angle), 0.4 - np.sin(angle)]),
    ]
)
rows += 0.1 * rng.normal(size=rows.shape)
labels = np.repeat([0, 1], 60)
classifier = BayesianMLPClassifier((8,), prior_precision=0.1, random_state=0).fit(rows, labels)
a, b = np.meshgrid(np.linspace(-6, 7, 120), np.linspace(-6, 6, 120))
p = classifier.predict_proba(np.column_stack([a.ravel(), b.ravel()]))[:, 1].reshape(a.shape)
figure, axis = plt.subplots(figsize=(6.5, 5))
shown = axis.contourf(a, b, p, levels=np.linspace(0, 1, 11), cmap="RdBu_r")
figure.colorbar(shown, label="probability of class 1")
axis.scatter(*rows.T, c=labels, cmap="RdBu_r", edgecolor="white", s=18, lw=0.5)
axis.set_title("Probabilities by Laplace's approximation")

# %%
# Are the promises kept? Left: the share of new targets inside intervals of each level, which
# should be the level. Right: the share of class 1 among new rows of a given probability
# (reliability), with the expected calibration error; the classes overlap. A network without a
# posterior has learned its few rows by heart and is too sure.
from tenfold import MLPClassifier
from tenfold.metrics import Calibration, interval_coverage
from tenfold.plot import coverage_curve

new_x = np.concatenate([rng.uniform(-2.5, -0.8, 300), rng.uniform(0.8, 2.5, 300)])[:, None]
new_y = np.sin(2 * new_x[:, 0]) + 0.1 * rng.normal(size=600)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6))
for name, model in models.items():
    prediction = model.predict(new_x, return_std=True)
    coverage_curve(new_y, *prediction, label=name, ax=left)
    share = interval_coverage(new_y, *prediction, levels=[0.9]).coverage[0]
    print(f"{name:14s} {share:.0%} of new targets are inside the interval of 90 %")


def overlapping_classes(n):
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 5)) + 0.6 * (2 * y[:, None] - 1) * [1, 1, 0, 0, 0], y


few, many = overlapping_classes(60), overlapping_classes(4000)
right.plot([0, 1], [0, 1], ":", color="gray")
for number, (name, model) in enumerate(
    {
        "one network": MLPClassifier((20,), alpha=0, solver="lbfgs", max_iter=500, random_state=0),
        "laplace": BayesianMLPClassifier((20,), random_state=0),
        "variational": BayesianMLPClassifier((20,), method="variational", random_state=0),
    }.items()
):
    calibration = Calibration.from_estimator(model.fit(*few), *many, bins=10)
    seen = calibration.weight > 40
    label = f"{name}, error {calibration.expected_error:.2f}"
    style = {"color": palette_color(number), "label": label}
    right.plot(calibration.predicted[seen], calibration.observed[seen], "o-", **style)
right.set(xlabel="predicted probability of class 1", ylabel="share of class 1")
right.legend(frameon=False)
style_axes(right)
plt.show()
