"""
Coins, densities and beliefs
============================

Probability to look at: densities with their means and peaks, a rating that nobody gave, what flips
say about a coin, averages that become normal, Gaussians as ellipses, and one belief found in four
ways.
"""

# %%
# **Density, distribution function, mean and mode.** The normal density is symmetric: mean and mode
# are one. That of Gamma leans to the right, and its third central moment is not zero.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import BayesianLearner
from tenfold.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Exponential,
    FiniteDistribution,
    Gamma,
    Gaussian,
    Uniform,
)
from tenfold.math.links import log_sigmoid, normal_cdf, sigmoid
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching.probability import (
    ContinuousDistribution,
    JointTable,
    condition_gaussian,
    density_ellipse,
    evidence_decomposition,
    sample_moments,
    summarize_moments,
    total_moments,
)

figure, panels = plt.subplots(2, 2, figsize=(9, 5.6), layout="constrained", sharex="col")
cases = [("normal", Gaussian(0.0, 1.0), -4, 4), ("Gamma(3, 1)", Gamma(3.0, 1.0), 0, 10)]
for (name, density, low, high), (top, bottom) in zip(cases, panels.T, strict=True):
    measure, x = ContinuousDistribution.of(density), np.linspace(low, high, 201)
    mean, mode, deviation = measure.mean, measure.modes()[0], measure.standard_deviation
    f = np.exp(density.log_density(x))
    top.plot(x, f, color=palette_color(0))
    near = np.abs(x - mean) <= deviation
    top.fill_between(x[near], f[near], color=palette_color(0), alpha=0.2, label="one deviation")
    bottom.plot(x[::4], [measure.cdf(t) for t in x[::4]], color=palette_color(0))
    for ax in (top, bottom):
        ax.axvline(mean, color=palette_color(1), label="mean")
        ax.axvline(mode, color=palette_color(2), ls="--", label="mode")
        style_axes(ax)
    top.set(title=name, ylabel="density", ylim=(0, None))
    bottom.set(xlabel="x", ylabel="probability up to x")
    print(
        f"{name}: mean {mean:.3f}, mode {mode:.3f}, third moment {measure.skewness(raw=True):.3f}"
    )
panels[0, 0].legend(frameon=False)
plt.show()

# %%
# **A rating that nobody gave.** The mean of these stars is 2.95; the nearest rating has
# the lowest probability of all, and there are two modes.
stars = FiniteDistribution([1, 2, 3, 4, 5], [0.3, 0.2, 0.05, 0.15, 0.3])
print("                  in the notes | here")
print(f"mean              2.95         | {stars.mean:.2f}")
print(f"P(nearest rating) 0.05         | {stars.pmf(round(stars.mean)):.2f}")
print(f"modes             -            | {', '.join(map(str, stars.modes()))}")

figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.bar(
    stars.outcomes,
    stars.p,
    color=[palette_color(2 if s in stars.modes() else 0) for s in stars.outcomes],
)
ax.axvline(stars.mean, color=palette_color(1), label=f"mean {stars.mean:.2f}")
ax.set(xlabel="stars (modes in green)", ylabel="probability")
ax.legend(frameon=False, loc="upper center")
style_axes(ax)
plt.show()

# %%
# **A joint density and its slices.** A slice of the joint density at a value of y does not have the
# area 1; divided by its area it is the density of x given y. It moves with y: they depend on each
# other.
joint = Gaussian([0.0, 0.0], [[1.0, 0.7], [0.7, 1.0]])
grid = np.linspace(-3, 3, 121)
points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
height = np.exp(joint.log_density(points)).reshape(121, 121)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
left.contour(grid, grid, height, levels=6, colors="0.5", linewidths=1)
left.set(xlabel="x", ylabel="y", title="joint density", aspect="equal")
for number, y in enumerate((-1.5, 0.0, 1.5)):
    slice_ = np.exp(joint.log_density(np.stack([grid, np.full(121, y)], axis=1)))
    given = condition_gaussian(joint, [1], [y])
    left.axhline(y, color=palette_color(number))
    middle.plot(grid, slice_, color=palette_color(number), label=f"y = {y:g}")
    right.plot(grid, np.exp(given.log_density(grid)), color=palette_color(number))
    area, centre = slice_.sum() * 0.05, given.mean[0]
    print(f"y = {y:4.1f}: area of the slice {area:.3f}, mean of x given y {centre:.2f}")
middle.set(xlabel="x", ylabel="joint density", title="slices")
right.set(xlabel="x", ylabel="density", title="x given y: slices of area 1")
middle.legend(frameon=False)
for ax in (left, middle, right):
    style_axes(ax)
plt.show()

# %%
# **Tables turn round.** A test is right in 95 % of all cases and the disease has 5 %. Bayes' rule:
# after a positive result both are equally likely.
test = JointTable.from_conditional(
    FiniteDistribution(["ill", "well"], [0.05, 0.95]),
    [[0.95, 0.05], [0.05, 0.95]],
    ("patient", "result"),
    ["positive", "negative"],
)
print("given a positive result:", test.given(result="positive").distribution("patient"))
print("given a negative result:", test.given(result="negative").distribution("patient"))

# %%
# **What flips say about a coin.** Seven heads in ten: the likelihood is highest at 0.7. Three coins
# in a drawer: which one was it? And without a drawer, a uniform belief becomes Beta(8, 4).
flips = np.repeat([1, 0], [7, 3])
coins = FiniteDistribution([0.2, 0.5, 0.8])
found = coins.update([Binomial(10, p).log_density([7])[0] for p in coins.outcomes])
again = found.posterior.update([Binomial(10, p).log_density([3])[0] for p in coins.outcomes])
print("              in the notes             | here")
print(f"P(7 of 10)    0.1064                   | {np.exp(found.log_evidence):.4f}")
print(f"posterior     0.0025 0.3670 0.6305     | {' '.join(f'{p:.4f}' for p in found.posterior.p)}")
print(f"then 3 of 10  more weight to 0.2       | {' '.join(f'{p:.4f}' for p in again.posterior.p)}")

p = np.linspace(0.001, 0.999, 300)
likelihood = np.exp([Bernoulli(q).log_density(flips).sum() for q in p])
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
left.plot(p, likelihood, color=palette_color(0))
left.axvline(Bernoulli().fit(flips).p, color=palette_color(1), label="most likely: 0.7")
left.set(xlabel="probability of heads", ylabel="likelihood of 7 heads in 10", ylim=(0, None))
left.legend(frameon=False)
width = 0.06
for shift, (label, belief) in enumerate(
    [("before", coins), ("7 of 10", found.posterior), ("then 3 of 10", again.posterior)]
):
    middle.bar(
        coins.values + (shift - 1) * width, belief.p, width, color=palette_color(shift), label=label
    )
middle.set(xlabel="probability of heads", ylabel="belief", xticks=coins.values)
middle.legend(frameon=False)
coin = Bernoulli(prior=Beta(1, 1))
for number, n in enumerate((0, 3, 10)):
    belief = coin.update(flips[::-1][:n]).prior if n else coin.prior
    label = f"after {n}: Beta({belief.a:g}, {belief.b:g})"
    right.plot(p, np.exp(belief.log_density(p)), color=palette_color(number), label=label)
right.set(xlabel="probability of heads", ylabel="density of the belief", ylim=(0, None))
right.legend(frameon=False)
for ax in (left, middle, right):
    style_axes(ax)
plt.show()

# %%
# **Averages settle, and become normal.** The mean of n ratings is off by 1.66 / sqrt(n). Whatever
# the distribution of one, the standardised mean of many is normal.
rng = np.random.default_rng(0)
ratings = rng.choice(stars.values, (20000, 64), p=stars.p)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
long = rng.choice(stars.values, (5, 3000), p=stars.p).cumsum(axis=1) / np.arange(1, 3001)
left.plot(np.arange(1, 3001), long.T, color=palette_color(0), lw=0.8, alpha=0.6)
band = 2 * stars.standard_deviation / np.sqrt(np.arange(1, 3001))
left.fill_between(
    np.arange(1, 3001), stars.mean - band, stars.mean + band, color="0.9", label="two deviations"
)
left.axhline(stars.mean, color=palette_color(1), label="mean")
left.set(xscale="log", ylim=(1, 5), xlabel="ratings", ylabel="average of the first n")
left.legend(frameon=False)
z = np.linspace(-3.5, 3.5, 200)
for number, n in enumerate((1, 4, 64)):
    Z = (ratings[:, :n].mean(axis=1) - stars.mean) / (stars.standard_deviation / np.sqrt(n))
    levels, counts = np.unique(Z.round(9), return_counts=True)
    right.step(
        levels,
        counts.cumsum() / len(Z),
        where="post",
        color=palette_color(number),
        label=f"mean of {n}",
    )
right.plot(z, normal_cdf(z), color="k", ls="--", label="normal")
right.set(xlabel="standardised mean", ylabel="probability up to it", xlim=(-3.5, 3.5))
right.legend(frameon=False)
style_axes(left)
style_axes(right)
plt.show()

# %%
# Two steps of chance: a coin whose bias is uniform, flipped 10 times. The variance of the heads has
# a part within the coins and a part between them.
law = total_moments(
    ContinuousDistribution.of(Uniform(0.0, 1.0)), lambda q: 10 * q, lambda q: 10 * q * (1 - q)
)
print("               in the notes            | here, for n = 10")
print(f"mean           n / 2                   | {law.mean:.4f}")
parts = f"{law.within:.4f} + {law.between:.4f}"
print(f"variance       n^2 / 12 + n / 6        | {law.variance:.4f} = {parts}")
wait = ContinuousDistribution.of(Exponential(2.0))
first = wait.expectation(lambda t: np.exp(-3.0 * t))
print(f"P(X1 < X2) for rates 2 and 3: 2/5 = {2 / 5} | {first:.4f}")

# %%
# **Gaussians as ellipses.** Covariances of +0.5 and -0.5 tilt the cloud; on the sides the marginals
# stay standard normal. An ellipse of two deviations holds 86 % of the mass.
figure = plt.figure(figsize=(10, 5), layout="constrained")
for place, c in enumerate((0.5, -0.5)):
    g = Gaussian([0.0, 0.0], [[1.0, c], [c, 1.0]])
    X = g.sample(400, rng)
    side = figure.add_gridspec(2, 4, width_ratios=[3, 1, 3, 1], height_ratios=[1, 3])
    cloud = figure.add_subplot(side[1, 2 * place])
    top = figure.add_subplot(side[0, 2 * place], sharex=cloud)
    beside = figure.add_subplot(side[1, 2 * place + 1], sharey=cloud)
    cloud.plot(*X.T, "o", ms=3, color=palette_color(0), alpha=0.5)
    cloud.plot(*density_ellipse(g, 2.0).points().T, color=palette_color(2))
    normal = np.exp(Gaussian().log_density(z))
    top.hist(X[:, 0], 25, density=True, color=palette_color(0), alpha=0.4)
    top.plot(z, normal, color=palette_color(1))
    beside.hist(
        X[:, 1], 25, density=True, color=palette_color(0), alpha=0.4, orientation="horizontal"
    )
    beside.plot(normal, z, color=palette_color(1))
    cloud.set(xlabel="first column", xlim=(-3.6, 3.6), ylim=(-3.6, 3.6))
    cloud.set_ylabel("" if place else "second column")
    top.set_title(f"covariance {c:+.1f}")
    for ax in (top, beside):
        ax.axis("off")
    style_axes(cloud)
    seen = summarize_moments(sample_moments(X))
    inside = np.mean(np.einsum("ij,jk,ik->i", X, np.linalg.inv(g.covariance_matrix), X) <= 4)
    print(f"correlation {c:+.1f}: {seen.correlation[0, 1]:+.2f} in the sample; {inside:.0%} inside")
plt.show()

# %%
# **One belief, four ways.** A uniform belief about a coin, in terms of its log-odds. The exact
# posterior is known; Laplace's Gaussian sits at the mode, the variational one where the bound is
# best, and Markov chains draw from the posterior itself.
exact = BayesianLearner(Beta(1, 1), Bernoulli()).posterior(flips)
free = BayesianLearner(
    lambda t: log_sigmoid(t[:, 0]) + log_sigmoid(-t[:, 0]),
    lambda t, x: log_sigmoid(t * (2 * x - 1)),
    start=np.zeros(1),
)
t = np.linspace(-2, 4, 300)
truth = np.exp(free.log_joint(flips)(t[:, None]) - exact.log_evidence)
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ahead = np.exp(exact.log_predictive([1])[0])
print("method        mean of p  P(next is heads)  log-evidence")
print(f"exact         {exact.mean[0]:.4f}     {ahead:.4f}            {exact.log_evidence:.4f}")
for number, method in enumerate(("laplace", "variational", "mcmc")):
    about = free.posterior(flips, method=method)
    mean, ahead = about.expectation(sigmoid)[0], np.exp(about.log_predictive([1])[0])
    evidence = "-" if method == "mcmc" else f"{about.log_evidence:.4f}"  # chains have none
    print(f"{method:12s}  {mean:.4f}     {ahead:.4f}            {evidence}")
    if method == "mcmc":
        ax.hist(
            about.points[:, 0],
            60,
            density=True,
            color=palette_color(number),
            alpha=0.3,
            label=method,
        )
    else:
        ax.plot(
            t, np.exp(about.distribution.log_density(t)), color=palette_color(number), label=method
        )
ax.plot(t, truth, color="k", ls="--", label="exact")
ax.set(xlabel="log-odds of heads", ylabel="density of the belief", xlim=(-2, 4))
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# **The bound of EM.** Which of the three coins was it? For any guess Q about it, the evidence is
# the bound plus a divergence; only the posterior makes the bound tight.
log_joint = np.log(coins.p) + [Binomial(10, q).log_density([7])[0] for q in coins.outcomes]
print("guess Q                   bound    + divergence = log p(x)")
for Q in ([1 / 3, 1 / 3, 1 / 3], [0.0, 0.5, 0.5], found.posterior.p):
    terms = evidence_decomposition(log_joint, Q)
    shares = " ".join(f"{share:.4f}" for share in Q)
    print(f"{shares}    {terms.elbo:7.4f}  + {terms.divergence:.4f}     = {terms.log_evidence:.4f}")
