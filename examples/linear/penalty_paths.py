r"""
Penalties, paths and priors
===========================

A penalty pulls weights towards zero. How it pulls decides what becomes of them: L2 makes all of
them smaller, L1 makes some of them zero, and the elastic net does a little of both. Behind each
penalty stands a belief about the weights, a prior.
"""

# %%
# Diabetes progression from ten standardised measurements. From left to right the penalty weakens,
# and the weights grow to their least-squares values. Lines that lie on zero are weights that are
# exactly zero.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from tenfold import (
    BayesianLinearRegression,
    LinearRegression,
    PenalizedClassifier,
    PenalizedRegressor,
    PolynomialFeatures,
    Ridge,
    plot,
    ridge_penalty,
)
from tenfold.math.links import log_sigmoid, sigmoid
from tenfold.math.penalties import L1Penalty, L2Penalty
from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, palette_color, style_axes

data = load_diabetes()
X, y, names = scale(data.data), scale(data.target), data.feature_names
PENALTIES = {
    "L2 (ridge)": ("l2", np.geomspace(1e-3, 100, 30)),
    "L1 (lasso)": ("l1", np.geomspace(1e-3, 0.6, 30)),
    "half of each (elastic net)": ("elasticnet", np.geomspace(1e-3, 1.2, 30)),
}
paths = {
    title: (
        alphas,
        np.array([PenalizedRegressor(penalty=kind, alpha=a).fit(X, y).coef_ for a in alphas]),
    )
    for title, (kind, alphas) in PENALTIES.items()
}
strongest = sorted(range(10), key=lambda j: -np.abs(paths["L2 (ridge)"][1][:, j]).max())
hues = {
    names[j]: palette_color(place) if place < 7 else MUTED_COLOR
    for place, j in enumerate(strongest)
}
figure, row = plt.subplots(1, 3, figsize=(12.6, 4.2), layout="constrained", sharey=True)
for ax, (title, (alphas, weights)) in zip(row, paths.items(), strict=True):
    plot.coefficient_path(alphas, weights.T, names, ax=ax)
    ax.set_title(title)
    for part in [line for line in ax.get_lines() if line.get_label() in hues] + list(ax.texts):
        name = part.get_text() if part in ax.texts else part.get_label()
        part.set_color(hues[name])  # the same in all panels
for ax in row[1:]:
    ax.set_ylabel("")
plt.show()

# %%
# Counted: L2 never gives a zero. All the way to the strong end, L1 gives nothing but zeros.
print(
    f"{'zeros among the ten weights':<30}"
    + "".join(f"{s:>12}" for s in ("weak", "middle", "strong"))
)
for title, (_, weights) in paths.items():
    zeros = (weights == 0).sum(axis=1)
    print(f"{title:<30}" + "".join(f"{zeros[at]:>12}" for at in (0, 15, -1)))
least = LinearRegression().fit(X, y).coef_
for title, (_, weights) in paths.items():
    print(f"{title:<30}at the weak end {np.abs(weights[0] - least).max():.4f} from least squares")

# %%
# Why L1 gives zeros: its ball has corners, and the ellipses of the loss tend to touch it there.
plot.norm_balls((1, 2))
plt.show()

# %%
# Or in steps. Under the penalty alone, L2 takes a share of each weight and never arrives; L1 takes
# the same amount from all, so that small weights are soon gone and large ones hardly touched.
steps, rate, strength = 60, 0.1, 0.5
figure, row = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained", sharey=True)
for ax, (name, penalty) in zip(
    row, {"L2": L2Penalty(strength), "L1": L1Penalty(strength)}.items(), strict=True
):
    way = [np.array([2.0, 1.0, 0.4])]
    for _ in range(steps):
        way.append(penalty.prox(way[-1], rate))
    for number, line in enumerate(np.transpose(way)):
        ax.plot(line, color=palette_color(number), lw=2)
    ax.set(title=name, xlabel="step")
    style_axes(ax)
row[0].set_ylabel("weight")
plt.show()

# %%
# A prior says how large weights probably are. A normal prior of deviation tau is L2, and a Laplace
# prior is L1: minus the log of each density is its penalty.
w = np.linspace(-4, 4, 401)
figure, (density, penalty_of) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
for number, (name, log_p) in enumerate(
    {
        "normal, so L2": -(w**2) / 2 - np.log(2 * np.pi) / 2,
        "Laplace, so L1": -np.sqrt(2) * np.abs(w) - np.log(2) / 2,
    }.items()
):
    density.plot(w, np.exp(log_p), color=palette_color(number), lw=2, label=name)
    penalty_of.plot(w, log_p.max() - log_p, color=palette_color(number), lw=2, label=name)
density.set(xlabel="weight", ylabel="density", title="prior, deviation 1")
penalty_of.set(xlabel="weight", ylabel="minus log density, above its least", title="penalty")
for ax in (density, penalty_of):
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()

# %%
# The most probable weights under a normal prior are those of ridge regression. Which lambda that is
# depends on how the loss is written: as a sum, as a mean, or as a likelihood. One of the notes has
# 1 / (2 tau^2), which belongs to the likelihood.
noise = np.sqrt(((LinearRegression().fit(X, y).predict(X) - y) ** 2).mean())
print(f"noise {noise:.3f}, {len(y)} rows")
print(f"{'tau':>6}{'lambda (sum)':>14}{'(mean)':>10}{'(likelihood)':>14}{'|w|':>8}   ridge - MAP")
taus, sizes = (0.01, 0.03, 0.1, 0.3, 1.0, 10.0), []
for tau in taus:
    lambdas = [
        ridge_penalty(tau**-2, noise, convention=how, n=len(y))
        for how in ("sum", "mean", "likelihood")
    ]
    ridge = Ridge(alpha=lambdas[0]).fit(X, y).coef_
    bayes = BayesianLinearRegression(prior_precision=tau**-2, noise=noise).fit(X, y).coef_
    sizes.append(np.linalg.norm(ridge))
    cells = f"{lambdas[0]:>14.4g}{lambdas[1]:>10.3g}{lambdas[2]:>14.4g}{sizes[-1]:>8.3f}"
    print(f"{tau:>6g}{cells}   {np.abs(ridge - bayes).max():.0e}")
print(f"  none{'0':>14}{'0':>10}{'0':>14}{np.linalg.norm(least):>8.3f}")

# %%
# The narrower the prior, the smaller the weights; as tau grows they become those of least squares.
# The bars are the deviation of the posterior.
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for number, tau in enumerate((0.01, 0.1, 10.0)):
    model = BayesianLinearRegression(prior_precision=tau**-2, noise=noise).fit(X, y)
    place = np.arange(10) + 0.22 * (number - 1)
    spread = np.sqrt(np.diag(model.sigma_))
    look = {"fmt": "o", "ms": 5, "color": palette_color(number), "label": f"tau = {tau:g}"}
    ax.errorbar(place, model.coef_, spread, **look)
ax.plot(np.arange(10), least, "_", color=TEXT_COLOR, ms=26, label="least squares")
ax.axhline(0, color=TEXT_COLOR, lw=0.8)
ax.set(xticks=range(10), xticklabels=names, xlabel="measurement", ylabel="weight")
ax.legend(frameon=False, loc="upper left")
style_axes(ax)
plt.show()

# %%
# The same holds for logistic regression: at the solution for lambda = 1 / (n tau^2), half squares
# beside the mean loss, the slope of the log-posterior is zero.
high = np.where(y > 0, 1.0, -1.0)
for tau in (0.1, 1.0):
    model = PenalizedClassifier(alpha=1 / (len(y) * tau**2), tol=1e-10).fit(X, high)
    v, b = model.coef_[0], model.intercept_[0]
    pull = X.T @ (high * sigmoid(-high * (X @ v + b))) - v / tau**2
    log_posterior = log_sigmoid(high * (X @ v + b)).sum() - v @ v / (2 * tau**2)
    print(f"tau {tau:<4g} log-posterior {log_posterior:.4f}, its slope {np.abs(pull).max():.0e}")

# %%
# How strong should it be? All squares and products of the measurements make 65 columns, and 150
# patients are few for them. The training error rises with lambda; that of fresh patients falls and
# rises again. A hundred others choose lambda, the rest judge the choice.
order = np.random.default_rng(0).permutation(len(y))
train, validation, test = np.split(order, [150, 250])
wide = scale(PolynomialFeatures(2, include_bias=False).fit_transform(X))
lambdas = np.geomspace(1e-2, 1e5, 43)
errors = {"training": [], "validation": [], "test": []}
for strength in lambdas:
    model = Ridge(alpha=strength).fit(wide[train], y[train])
    for (_, line), part in zip(errors.items(), (train, validation, test), strict=True):
        line.append(((model.predict(wide[part]) - y[part]) ** 2).mean())
chosen = int(np.argmin(errors["validation"]))
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for number, (name, line) in enumerate(errors.items()):
    ax.plot(lambdas, line, color=palette_color(number), lw=2, label=name)
ax.axvline(lambdas[chosen], color=TEXT_COLOR, lw=1, ls=":")
ax.annotate("chosen", (lambdas[chosen], 0.1), (4, 0), textcoords="offset points")
ax.set(xscale="log", xlabel="$\\lambda$", ylabel="mean squared error", ylim=(0, 1.3))
ax.legend(frameon=False)
style_axes(ax)
plt.show()

for what, at in (
    ("almost none", 0),
    ("chosen", chosen),
    ("in hindsight", int(np.argmin(errors["test"]))),
):
    print(f"{what:<13} lambda {lambdas[at]:>8.3g}: test error {errors['test'][at]:.3f}")
