"""
Bands around a curve: maximum likelihood and Bayes
==================================================

A fitted curve should say how far it trusts itself. Maximum likelihood knows one width of noise and
lays a band of that width along the whole curve. Bayes also knows that the curve itself is a guess:
where there are few data its band is wider.
"""

# %%
# **Gaussian noise makes least squares.** The likelihood of a line through noisy points is largest
# where the squared errors are smallest, whatever the noise is; the noise is then the root of their
# mean. The note's cubic, seen 100 times, with a polynomial of degree 9:
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from tenfold import (
    BayesianLinearRegression,
    GaussianRegression,
    LinearRegression,
    PolynomialFeatures,
    Ridge,
)
from tenfold.datasets import make_cosine, make_cubic
from tenfold.plot.style import palette_color, style_axes

DEGREE, TAU = 9, 10.0


def polynomial(model, bias=False):
    return make_pipeline(PolynomialFeatures(DEGREE, include_bias=bias), model)


X, y = make_cubic(100, noise=0.3, random_state=1)
likely = polynomial(GaussianRegression()).fit(X, y)
squares = polynomial(LinearRegression()).fit(X, y)
residuals = y - squares.predict(X)
print(
    f"largest difference of the two curves: {abs(likely.predict(X) - squares.predict(X)).max():.1e}"
)
print(f"noise by maximum likelihood {likely[-1].noise_variance_ ** 0.5:.4f},", end=" ")
print(f"root of the mean squared residual {np.sqrt((residuals**2).mean()):.4f}; the truth is 0.3")

# %%
# The data themselves: the cubic with its true band, one standard deviation wide, for three noises.
figure, row = plt.subplots(1, 3, figsize=(11, 3), sharey=True, layout="constrained")
truth = make_cubic(200, noise=0.0, random_state=0)
curve = polynomial(LinearRegression()).fit(*truth).predict
for ax, noise in zip(row, (0.0, 0.1, 1.0), strict=True):
    points, seen = make_cubic(100, noise=noise, random_state=0)
    grid = np.linspace(points.min(), points.max(), 200)[:, None]
    middle = curve(grid)
    ax.fill_between(
        grid[:, 0], middle - noise, middle + noise, color=palette_color(1), alpha=0.25, lw=0
    )
    ax.plot(grid[:, 0], middle, color=palette_color(1))
    ax.plot(points[:, 0], seen, ".", ms=4, color=palette_color(0))
    ax.set(title=f"noise {noise:g}", xlabel="x")
    style_axes(ax)
plt.show()

# %%
# **The mean of the posterior is ridge.** With noise sigma known and a prior N(0, tau^2) for each
# coefficient, the most probable curve is the one of ridge regression with penalty (sigma/tau)^2.
sigma = 0.3
bayes = BayesianLinearRegression(noise=sigma, prior_precision=TAU**-2, fit_intercept=False)
bayes = polynomial(bayes, bias=True).fit(X, y)
ridge = polynomial(Ridge(alpha=(sigma / TAU) ** 2, fit_intercept=False), bias=True).fit(X, y)
print(f"posterior mean against ridge: {abs(bayes.predict(X) - ridge.predict(X)).max():.1e} apart")


# %%
# **Two bands.** Left maximum likelihood, right Bayes, both one standard deviation wide, for the
# noises of the note, and for its cosine. The models see 25 points instead of the note's 100, so
# that the difference can be seen: ten free coefficients follow the noise, with a band of one width;
# the prior keeps the curve calm, and the band opens where there are no points.
def draw(ax, data, truth, noise, bayesian):
    X, y = data
    grid = np.linspace(X.min() - 0.06, X.max() + 0.06, 300)[:, None]
    if bayesian:
        model = BayesianLinearRegression(noise=noise, prior_precision=TAU**-2, fit_intercept=False)
        model = polynomial(model, bias=True).fit(X, y)
    else:
        model = polynomial(GaussianRegression()).fit(X, y)
    mean, std = model.predict(grid, return_std=True)
    hue = palette_color(int(bayesian))
    ax.fill_between(grid[:, 0], mean - std, mean + std, color=hue, alpha=0.25, linewidth=0)
    ax.plot(grid, mean, color=hue, lw=2, label="prediction, band of one std")
    ax.plot(grid, truth(grid), "--", color="black", lw=1, label="truth")
    ax.plot(X, y, "o", color="black", ms=4, label="data")
    middle = truth(np.linspace(X.min(), X.max(), 100))
    ax.set_ylim(middle.min() - 3.2 * noise, middle.max() + 3.2 * noise)
    style_axes(ax)
    return std


def cubic(x):
    return -6 + 11.5 * x - 6 * x**2 + x**3


def cosine(x):
    return np.cos(2 * np.pi * x)


CASES = [
    ("cubic, noise 0.3", make_cubic(25, noise=0.3, random_state=3), cubic, 0.3),
    ("cubic, noise 1", make_cubic(25, noise=1.0, random_state=3), cubic, 1.0),
    ("cosine, noise 0.4", make_cosine(25, noise=0.4, random_state=3), cosine, 0.4),
]
figure, grid = plt.subplots(
    3, 2, figsize=(9, 9.6), layout="constrained", sharex="row", sharey="row"
)
print(f"{'width of the band':<24}{'narrowest':>12}{'widest':>9}")
for row, (name, data, truth, noise) in zip(grid, CASES, strict=True):
    for ax, bayesian in zip(row, (False, True), strict=True):
        std = draw(ax, data, truth, noise, bayesian)
        who = "Bayes" if bayesian else "likelihood"
        print(f"{name.replace(', noise', '') + ', ' + who:<24}{std.min():>12.2f}{std.max():>9.2f}")
        ax.set(xlabel="x", title=f"{name}: {'Bayes' if bayesian else 'maximum likelihood'}")
    row[0].set_ylabel("y")
handles = grid[0, 0].get_legend_handles_labels()
figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# Maximum likelihood thinks itself better than it is: ten coefficients have used up much of the
# noise of 15 points. How often does a new point fall into the band? It should be 68 % of the time.
print(
    f"{'':<22}{'likelihood':>11}{'Bayes':>8}   share of new points within one std (68 % is honest)"
)
for n in (15, 30, 100):
    hits = []
    for seed in range(40):
        X, y = make_cubic(n, noise=0.3, random_state=seed)
        X_new, y_new = make_cubic(200, noise=0.3, random_state=1000 + seed)
        bayes = BayesianLinearRegression(noise=0.3, prior_precision=TAU**-2, fit_intercept=False)
        pair = (polynomial(GaussianRegression()), polynomial(bayes, bias=True))
        bands = [model.fit(X, y).predict(X_new, return_std=True) for model in pair]
        hits.append([(abs(y_new - mean) <= std).mean() for mean, std in bands])
    told = np.mean(hits, axis=0)
    print(f"{n:>4} points to learn from{told[0]:>10.0%}{told[1]:>8.0%}")

# %%
# **From prior to posterior over lines.** Before any data, all lines that the prior allows; each
# point rules some out. Above: how probable intercept and slope are; below: twelve lines drawn from
# that. The rows come in parts (`partial_fit`), and the order does not matter.
rng = np.random.default_rng(4)
x = rng.uniform(-1, 1, 20)
y = -0.3 + 0.5 * x + 0.2 * rng.standard_normal(20)
A = np.column_stack([np.ones(20), x])  # a column of ones: the intercept has a prior, too
PRIOR = 2.0  # precision

steps = [(0, np.zeros(2), np.eye(2) / PRIOR)]
line = BayesianLinearRegression(noise=0.2, prior_precision=PRIOR, fit_intercept=False)
for first, last in ((0, 1), (1, 2), (2, 20)):
    line.partial_fit(A[first:last], y[first:last])
    steps.append((last, line.coef_.copy(), line.sigma_.copy()))
at_once = BayesianLinearRegression(noise=0.2, prior_precision=PRIOR, fit_intercept=False)
at_once.fit(A, y)
print(f"posterior in parts against all at once: {abs(line.coef_ - at_once.coef_).max():.1e} apart")
print(
    f"after 20 points: intercept {line.coef_[0]:.2f} (truth -0.3), slope {line.coef_[1]:.2f} (0.5)"
)

figure, (above, below) = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
b, w = np.meshgrid(np.linspace(-2, 2, 160), np.linspace(-2, 2, 160))
ends = np.array([-1.0, 1.0])
for top, bottom, (n, mean, S) in zip(above, below, steps, strict=True):
    off = np.stack([b - mean[0], w - mean[1]], axis=-1)
    density = np.exp(-0.5 * np.einsum("...i,ij,...j", off, np.linalg.inv(S), off))
    top.contourf(b, w, density, levels=np.linspace(0.02, 1, 12), cmap="Blues")
    top.plot(-0.3, 0.5, "+", color=palette_color(1), ms=12, mew=2)
    draws = rng.multivariate_normal(mean, S, size=12)
    for intercept, slope in draws:
        bottom.plot(ends, intercept + slope * ends, color=palette_color(0), lw=1, alpha=0.7)
    bottom.plot(x[:n], y[:n], "o", color="black", ms=5)
    bottom.plot(ends, -0.3 + 0.5 * ends, "--", color=palette_color(1), lw=2)
    top.set(title="the prior" if n == 0 else f"after {n} point{'s' * (n > 1)}", xlabel="intercept")
    bottom.set(xlim=(-1, 1), ylim=(-2, 2), xlabel="x")
    style_axes(top, grid=False)
    style_axes(bottom)
above[0].set_ylabel("slope")
below[0].set_ylabel("y; dashed: the true line")
plt.show()
