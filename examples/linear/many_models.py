"""
Many models at once, and ordered answers
========================================

One fit picks one model. Instead, all of them may vote: by how well they fit, ``exp(-J) / Z``, or by
their evidence. And where answers have an order, one score with several thresholds is enough.
"""

# %%
# Every slope on a grid is a model of seven points. The weights ``exp(-J)/Z`` say how much to
# believe each: the best is the maximum a posteriori, the mean predicts, the variance says how
# surely.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from tenfold import (
    BayesianLinearRegression,
    BayesianModelAverage,
    LinearRegression,
    OrdinalRegression,
    PolynomialFeatures,
    WeightedModels,
)
from tenfold.math.labels import one_hot
from tenfold.math.parameters import add_intercept_column
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching.linear_algebra import gram_schmidt, penrose_conditions, pseudo_inverse

rng = np.random.default_rng(3)
x = rng.uniform(-1, 1, 7)
y = 1.5 * x + 0.3 * rng.normal(size=7)
slopes = np.linspace(-1, 4, 501)
costs = ((y - slopes[:, None] * x) ** 2).sum(axis=1) / (2 * 0.3**2)
many = WeightedModels(slopes, costs, lambda slope, at: slope * at)
at = np.linspace(-2, 2, 81)
mean, spread = many.mean(at), np.sqrt(many.variance(at))

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(slopes, many.weights, color=palette_color(0))
left.axvline(many.best, color=palette_color(1), ls="--", label=f"best: {many.best:.2f}")
left.set(xlabel="slope", ylabel="weight", title="what each line is worth")
left.legend(frameon=False)
right.fill_between(at, mean - 2 * spread, mean + 2 * spread, color=palette_color(0), alpha=0.2)
right.plot(at, mean, color=palette_color(0), label="mean of all lines, two deviations")
right.plot(x, y, "o", color="k", ms=5, label="data")
right.set(xlabel="x", ylabel="y", title="all of them together")
right.legend(frameon=False)
style_axes(left)
style_axes(right)
plt.show()

# %%
# Polynomials of degree 1 to 6 on twenty points of a cubic: the evidence prefers the simplest one
# that is good enough, and the average leans on it.
x = np.sort(rng.uniform(-1, 1, 20))[:, None]
y = 2 * x[:, 0] ** 3 - x[:, 0] + 0.1 * rng.normal(size=20)
degrees = range(1, 7)
models = [
    make_pipeline(
        PolynomialFeatures(d, include_bias=False),
        BayesianLinearRegression(prior_precision=1.0, noise=0.1),
    )
    for d in degrees
]
average = BayesianModelAverage(models).fit(x, y)
for d, weight in zip(degrees, average.weights_, strict=True):
    print(f"degree {d}: {weight:6.1%} {'#' * round(40 * weight)}")

# %%
# Stars from 1 to 5: one latent score, four thresholds. The curves are the probabilities of each
# number of stars; their order is built in.
n = 600
quality = rng.normal(size=(n, 1))
stars = 1 + np.digitize(quality[:, 0] * 2 + rng.logistic(size=n), [-3, -1, 1, 3])
model = OrdinalRegression(alpha=1e-3).fit(quality, stars)
print(
    "slope", model.coef_.round(2), "thresholds", model.thresholds_.round(2), "(true: 2; -3 -1 1 3)"
)
grid = np.linspace(-3, 3, 121)[:, None]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for number, column in enumerate(model.predict_proba(grid).T):
    ax.plot(grid[:, 0], column, color=palette_color(number), label=f"{number + 1} stars")
ax.set(xlabel="quality", ylabel="probability", title="one score, four thresholds")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
style_axes(ax)
plt.show()

# %%
# The algebra beneath: the pseudo-inverse meets its four conditions even where columns repeat, and
# gives the shortest solution; Gram-Schmidt says how many columns are new.
A = add_intercept_column(np.hstack([one_hot(stars), quality]))
B = pseudo_inverse(A)
print(
    "Penrose:",
    penrose_conditions(A, B).are_satisfied(),
    "| new columns:",
    gram_schmidt(A).Q.shape[1],
    "of",
    A.shape[1],
)
w = B @ quality[:, 0]
shortest = LinearRegression(fit_intercept=False).fit(A, quality[:, 0]).coef_
print("the fit is the pseudo-inverse times y:", np.allclose(w, shortest))
