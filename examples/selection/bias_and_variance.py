r"""
Bias, variance and noise
========================

Predictions are wrong for three reasons: the data are noisy, the model is too stiff, or it follows
the noise of the few rows that it saw. On data of our own making all three can be measured.
"""

# %%
# The sine of the notes, 50 noisy points a time. `complexity_curve` learns from 250 such training
# sets, with polynomials of ten degrees (any model with `fit` and `predict` will do); here are some
# of the curves of three of them. A line is
# wrong in the same way every time (bias), degree 9 is wrong in a new way each time (variance).
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import make_pipeline

from tenfold import KNeighborsRegressor, PolynomialFeatures, Ridge
from tenfold.plot import BiasVarianceDisplay, fitted_curves
from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, palette_color, style_axes
from tenfold.teaching.learning_theory import (
    NoisyCurve,
    approximation_and_estimation_error,
    bias_variance,
    complexity_curve,
)

SINE = NoisyCurve(lambda x: np.sin(2 * np.pi * x), noise=0.35)
GRID = np.linspace(0, 1, 121)[:, None]


class Polynomial(RegressorMixin, BaseEstimator):
    """Least squares on powers of x."""

    def __init__(self, degree):
        self.degree = degree

    def fit(self, X, y):
        self.coef_ = np.linalg.lstsq(np.vander(X[:, 0], self.degree + 1), y)[0]
        return self

    def predict(self, X):
        return np.vander(X[:, 0], self.degree + 1) @ self.coef_


curve = complexity_curve({d: Polynomial(d) for d in range(10)}, SINE, n=50, repeats=250, x=GRID)
by_degree = dict(zip(curve.values, curve.results, strict=True))
figure, row = plt.subplots(1, 3, figsize=(10.6, 3.6), layout="constrained", sharey=True)
for ax, degree in zip(row, (1, 3, 9), strict=True):
    found = by_degree[degree]
    fitted_curves(found, ax=ax)
    inner = (GRID[:, 0] > 0.05) & (GRID[:, 0] < 0.95)
    bias2, variance = found.bias2[inner].mean(), found.variance[inner].mean()
    ax.set(title=f"degree {degree}", ylim=(-2.3, 2.3))
    ax.text(0.03, 0.04, f"bias² {bias2:.3f}\nvariance {variance:.3f}", transform=ax.transAxes)
row[1].set_ylabel("")
row[2].set_ylabel("")
figure.legend(*row[0].get_legend_handles_labels(), loc="outside upper center", ncols=3,
              frameon=False)  # fmt: skip
plt.show()

# %%
# The diagram that notes draw, from real fits. Functions are points, their distance is the root of
# the mean squared difference. The family lies on the ground; along it runs the direction in which
# the fits differ most. The truth hovers above: as high as the best of the family is wrong (bias).
# The learned ones scatter around that best one (variance). A larger family comes nearer to the
# truth; one that is too large for 50 points scatters more.


def placed(degree):
    """Height of the truth above the family, and where the fits lie along it."""
    found = by_degree[degree]
    best = Polynomial(degree).fit(found.x, found.truth).predict(found.x)
    height = np.sqrt(np.mean((found.truth - best) ** 2))
    moved = (found.fits - best) / np.sqrt(len(best))
    along = moved @ np.linalg.svd(moved - moved.mean(axis=0), full_matrices=False)[2][0]
    return height, along


figure, row = plt.subplots(1, 3, figsize=(10.6, 3.1), layout="constrained", sharey=True)
for ax, degree in zip(row, (1, 3, 8), strict=True):
    height, along = placed(degree)
    ax.axhline(0, color=MUTED_COLOR, lw=6, zorder=0)
    ax.plot([0, 0], [0, height], color=palette_color(0), lw=2)
    ax.plot(
        along,
        np.zeros_like(along),
        "|",
        color=palette_color(1),
        ms=13,
        mew=1.4,
        alpha=0.5,
        label="learned",
    )
    ax.plot(0, 0, "o", color=TEXT_COLOR, ms=8, label="best of the family", zorder=4)
    ax.plot(0, height, "*", color=palette_color(2), ms=16, label="truth", zorder=4)
    ax.annotate(f"{height:.2f}", (0, height / 2), (9, 9), textcoords="offset points",
                color=palette_color(0), va="center")  # fmt: skip
    ax.set(title=f"family: degree {degree}", xlabel="along the family", xlim=(-0.7, 0.7))
    ax.set_ylim(-0.12, 0.62)
    style_axes(ax)
row[0].set_ylabel("away from the family")
figure.legend(*row[0].get_legend_handles_labels(), loc="outside upper center", ncols=3,
              frameon=False)  # fmt: skip
plt.show()

# %%
# Noise, bias and variance add up to the expected squared error. Bias falls with the degree,
# variance rises, and their sum is a U with its bottom where neither rules. (The bias of degree 9 is
# not real: a mean of 250 fits that vary so much is itself not sure, by a 250th of the variance.)
BiasVarianceDisplay.from_curve(curve, name="degree of the polynomial")
plt.show()
print("degree   noise    bias²  variance    error  training")
for i, degree in enumerate(curve.values):
    cells = (curve.noise, curve.bias2, curve.variance, curve.error, curve.training)
    print(f"{degree:>6}" + "".join(f"{column[i]:>9.3f}" for column in cells))
parts = curve.noise + curve.bias2 + curve.variance
print(f"largest difference of the error from the sum: {np.abs(parts - curve.error).max():.1e}")

# %%
# Flexibility is not only the degree. A penalty makes degree 9 stiff, and many neighbours average
# the noise away and the curve with it.
strengths = np.geomspace(10, 1e-6, 8)
ridges = {
    f"$10^{{{np.log10(s):.0f}}}$": make_pipeline(
        PolynomialFeatures(9, include_bias=False), Ridge(alpha=s)
    )
    for s in strengths
}
neighbours = {k: KNeighborsRegressor(k, algorithm="kd_tree") for k in (50, 30, 20, 12, 7, 4, 2, 1)}
figure, axes = plt.subplots(1, 2, figsize=(12.4, 4.0), layout="constrained")
for ax, models, name in [
    (axes[0], ridges, "penalty $\\lambda$ of degree 9"),
    (axes[1], {str(k): model for k, model in neighbours.items()}, "neighbours"),
]:
    found = complexity_curve(models, SINE, n=50, repeats=40)
    BiasVarianceDisplay.from_curve(found, name=f"{name}  (stiff → flexible)", ax=ax)
    ax.set_ylim(0, 0.75)
    ax.get_legend().remove()
axes[1].set_ylabel("")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5,
              frameon=False)  # fmt: skip
plt.show()

# %%
# Where in x the error comes from: at the ends few points hold a polynomial, and its variance
# grows.
figure, row = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained", sharey=True)
for ax, degree in zip(row, (1, 8), strict=True):
    found = by_degree[degree]
    shares = (found.noise, found.bias2, found.variance)
    hues = (palette_color(2), palette_color(0), palette_color(1))
    names = ("noise", "bias²", "variance")
    ax.stackplot(GRID[:, 0], *shares, colors=hues, labels=names, alpha=0.75)
    ax.plot(GRID, found.error, color=TEXT_COLOR, lw=2, label="expected error")
    ax.set(title=f"degree {degree}", xlabel="x", ylim=(0, 1.0), xlim=(0, 1))
    style_axes(ax)
row[0].set_ylabel("squared error")
figure.legend(*row[0].get_legend_handles_labels(), loc="outside upper center", ncols=4,
              frameon=False)  # fmt: skip
plt.show()

# %%
# The same excess error, split the other way: structural mistakes (the best of the class is wrong)
# and estimation mistakes (too few rows to find it). More rows cure only the second.
sizes = (20, 40, 80, 160, 320)
figure, ax = plt.subplots(figsize=(7.4, 4.2), layout="constrained")
for number, degree in enumerate((1, 3, 6)):
    each = [
        approximation_and_estimation_error(Polynomial(degree), SINE, n=n, repeats=100, x=GRID)
        for n in sizes
    ]
    ax.plot(sizes, [m.estimation for m in each], "o-", ms=4, color=palette_color(number),
            label=f"degree {degree}: estimation")  # fmt: skip
    ax.axhline(each[0].structural, color=palette_color(number), ls="--", lw=1.4,
               label=f"degree {degree}: structural")  # fmt: skip
ax.set(xscale="log", yscale="log", xlabel="training rows", ylabel="mean squared error above noise")
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
style_axes(ax)
ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
plt.show()

# %%
# What the notes claim, and what was measured. They give no figures. Variance does not rise with
# every degree: a model that is wrong errs differently with each draw of the points, and degree 2,
# no better than a line for a sine, varies more than degree 3.
exact = np.abs(parts - curve.error).max() < 1e-9
more = {d: bias_variance(Polynomial(d), SINE, n=500, repeats=100, x=GRID).average for d in (1, 6)}
few = {d: by_degree[d].average for d in (1, 6)}
rising, dip = curve.variance[[0, 8]], curve.variance[[2, 3]]
varies = "{:.3f} to {:.3f} (0, 8), but {:.3f} to {:.3f} (2, 3)".format(*rising, *dip)
rows = [
    ("noise + bias² + variance = error", "identity", "to rounding" if exact else "no"),
    ("larger family: bias² falls", "yes", f"{curve.bias2[0]:.3f} to {curve.bias2[6]:.4f} (0, 6)"),
    ("larger family: variance rises", "yes", varies),
    ("test error falls, then rises", "U", f"lowest at degree {curve.best}"),
    ("training error keeps falling", "yes", "yes" if (np.diff(curve.training) < 0).all() else "no"),
    (
        "ten times the rows: variance",
        "falls",
        f"{few[6].variance:.3f} to {more[6].variance:.3f} (6)",
    ),
    ("ten times the rows: bias²", "stays", f"{few[1].bias2:.4f} to {more[1].bias2:.4f} (1)"),
]
print(f"{'':<36}{'in the notes':<14}| here")
for what, note, here in rows:
    print(f"{what:<36}{note:<14}| {here}")
