"""
Mixtures and EM: soft groups, and a likelihood that only climbs
===============================================================

A mixture tells a story: draw a hidden component, then a row from its density. EM finds the
components without ever seeing who belongs where.
"""

# %%
# **A sample and its posteriors.** Two components, one with more weight and more spread. In the
# corners a row clearly belongs to one of them; between them it is shared. The crosses are means,
# the ellipses hold 39 % and 86 % of a component.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import GaussianMixture, KMeans, MixtureModel, MultinomialMixture, choose_components
from tenfold.inference import LikelihoodDecreasedError, expectation_maximization
from tenfold.mixture import GaussianParameters
from tenfold.plot import em_steps, mixture
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching.em_steps import e_step, elbo_terms, m_step

rng = np.random.default_rng(2)
y = (rng.random(400) < 0.3).astype(int)
spread = np.array([1.5, 0.7])[y][:, None]
X = np.array([[0.0, 0.0], [3.0, 2.2]])[y] + spread * rng.normal(size=(400, 2))
model = GaussianMixture(2, covariance_type="spherical", random_state=0).fit(X)
shares = model.predict_proba(X)
torn, right = (shares.max(axis=1) < 0.9).mean(), (model.predict(X) == y).mean()
print(f"weights {model.weights_.round(2)}, deviations {np.sqrt(model.covariances_).round(2)}")
print(f"rows that belong to nobody by 90 % or more: {torn:.0%}")
print(f"right by hard choice: {max(right, 1 - right):.0%}")
mixture(model, X)
plt.show()

# %%
# **EM step by step.** Three groups, three rows as first means and the spread of all rows as first
# covariance. After a few rounds the ellipses have found the groups, and the likelihood has never
# fallen.
turns = np.array([[[1.6, 1.2], [0.0, 0.4]], [[0.5, 0.0], [-0.9, 1.0]], [[0.5, 0.0], [0.0, 0.5]]])
y = rng.choice(3, 500, p=[0.5, 0.35, 0.15])
X = np.array([[-1.2, 1.9], [2.2, 0.2], [0.5, -2.5]])[y]
X = X + np.einsum("nij,ni->nj", turns[y], rng.normal(size=(500, 2)))
start = GaussianParameters(np.full(3, 1 / 3), X[[3, 14, 16]], np.stack([np.cov(X.T)] * 3))
em_steps(X, start, iterations=(0, 1, 3, 8, 40))
plt.show()

# %%
# **Why it climbs.** For any guess q of who belongs where, the log-likelihood is exactly the
# expected log p(x, z), plus the entropy of q, plus a divergence that is never negative. The E-step
# makes the last term zero, the M-step raises the first.
guess = rng.dirichlet(np.ones(3), len(X))
R, heights = e_step(X, start)
print(f"{'':22}{'expected':>12}{'entropy':>10}{'divergence':>12}{'sum':>12}")
for name, q in (("a random guess", guess), ("after the E-step", R)):
    terms = elbo_terms(X, q, start)
    print(f"{name:22}{terms[0]:12.3f}{terms[1]:10.3f}{terms[2]:12.3f}{sum(terms):12.3f}")
print(f"log-likelihood {heights.sum():.3f}")

# %%
# **EM of one's own.** `tenfold.inference.em` takes any two steps and checks them: an M-step that is
# wrong, here one that gives the components each other's covariances, is found out.


def expectation(g):
    shares, heights = e_step(X, g)
    return shares, heights.sum()


found = expectation_maximization(expectation, lambda R: m_step(X, R), start, tol=1e-8)
print(f"{found.report['n_iter_']} rounds to {found.log_likelihood:.3f}")


def mixed_up(R):
    g = m_step(X, R)
    return g._replace(covariances=g.covariances[[1, 2, 0]])


try:
    expectation_maximization(expectation, mixed_up, start)
except LikelihoodDecreasedError as error:
    print(str(error)[:78], "...")

# %%
# **Soft and hard.** Hard EM gives each row to one component alone. Where components overlap it cuts
# off the tails of both: the means move apart, the deviations become too small, and the likelihood
# that is left is lower. Soft EM shares the rows between them, and finds what they were drawn from.
z = np.repeat([-1.0, 1.0], 2000) + np.random.default_rng(0).normal(size=4000)
fits, both = {}, {"random_state": 0, "max_iter": 3000, "tol": 1e-8}
print("            means          deviations    log-likelihood of a row")
print("truth       -1.00   1.00   1.00  1.00")
for name, hard in (("soft EM", False), ("hard EM", True)):
    fit = fits[name] = GaussianMixture(2, hard=hard, **both).fit(z[:, None])
    order = fit.means_[:, 0].argsort()
    means, deviations = fit.means_[order, 0], np.sqrt(fit.covariances_[order, 0, 0])
    said = f"{means[0]:7.2f} {means[1]:6.2f}   {deviations[0]:.2f}  {deviations[1]:.2f}"
    print(f"{name:9} {said}   {fit.score(z[:, None]):.4f}")
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.hist(z, 60, density=True, color="#DDDDDD")
line = np.linspace(-5, 5, 400)
for number, (name, fit) in enumerate(fits.items()):
    left.plot(
        line,
        np.exp(fit.score_samples(line[:, None])),
        color=palette_color(number),
        lw=2,
        label=name,
    )
    share = fit.predict_proba(line[:, None])[:, fit.means_[:, 0].argmax()]
    share = np.round(share) if name == "hard EM" else share
    right.plot(line, share, color=palette_color(number), lw=2, label=name)
left.set(xlabel="x", ylabel="density")
right.set(xlabel="x", ylabel="share of the component on the right")
left.legend(frameon=False)
for ax in (left, right):
    style_axes(ax)
plt.show()

# %%
# **Beside k-means.** k-means takes all groups for round and of one size. Its boundary lies halfway
# between the centres, wherever the groups end. Here it is a bad start for EM too; several starts
# from drawn rows, of which the best is kept, do not depend on it.
kmeans = KMeans(3, random_state=0, tol=0.0).fit(X)
starts = {"init_params": "random_from_data", "n_init": 10, "max_iter": 1000, "random_state": 0}
full = GaussianMixture(3, **starts).fit(X)


def agreement(labels):
    """Share of rows in the right group, groups named as suits best."""
    return sum(np.bincount(y[labels == k], minlength=3).max() for k in range(3)) / len(y)


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.scatter(*X.T, c=[palette_color(k) for k in kmeans.labels_], s=14, alpha=0.75, linewidths=0)
left.scatter(*kmeans.cluster_centers_.T, c="white", edgecolors="black", s=90, marker="X")
left.set_aspect("equal", adjustable="datalim")
left.set(title=f"k-means: {agreement(kmeans.labels_):.0%} right", xlabel="$x_1$", ylabel="$x_2$")
style_axes(left)
mixture(full, X, ax=right)
right.set_title(f"mixture: {agreement(full.predict(X)):.0%} right")
plt.show()

# %%
# It is also where hard EM with equal weights and one small variance ends: with the variance, the
# shares become a choice, and the means those of k-means.
print("variance   rows shared   largest distance from k-means' centres")
for variance in (3.0, 1.0, 0.3, 0.1, 0.01, 0.001):
    g = GaussianParameters(np.full(3, 1 / 3), kmeans.cluster_centers_, np.full(3, variance))
    for _ in range(60):
        R, _ = e_step(X, g, "spherical")
        g = g._replace(means=m_step(X, R, g, "spherical").means)
    apart = np.abs(g.means - kmeans.cluster_centers_).max()
    print(f"{variance:8g} {(R.max(axis=1) < 0.99).mean():12.0%} {apart:14.4f}")

# %%
# **How many components.** More components always fit the rows better that they learned from. The
# criteria charge for them, or ask rows that were held out.
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for number, criterion in enumerate(("bic", "aic", "held-out")):
    choice = choose_components(GaussianMixture(**starts), X, range(1, 8), criterion=criterion)
    print(f"{criterion}: {choice.n_components} components")
    above = choice.costs - choice.costs.min()
    ax.plot(
        choice.candidates, above / above.max(), "o-", color=palette_color(number), label=criterion
    )
ax.set(xlabel="components", ylabel="cost above the best, as a share of the worst")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# **Other densities.** Loaded dice: each row counts ten throws of one of two dice. And
# waiting times, with a density written in a few lines.
dice = np.array([[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], [1, 1, 1, 1, 1, 1]])
dice = dice / dice.sum(axis=1, keepdims=True)
throws = np.array([rng.multinomial(10, dice[k]) for k in (rng.random(2000) < 0.4).astype(int)])
thrown = MultinomialMixture(2, random_state=0, n_init=5, tol=1e-7, max_iter=2000).fit(throws)
for k in np.argsort(-thrown.probabilities_[:, 0]):
    print(f"die of weight {thrown.weights_[k]:.2f}: {thrown.probabilities_[k].round(2)}")


class Waiting:
    """Exponential waiting times."""

    def __init__(self, mean=1.0):
        self.mean = mean

    def log_density(self, X):
        return -np.log(self.mean) - X[:, 0] / self.mean

    def sample(self, n, rng):
        return rng.exponential(self.mean, (n, 1))

    def statistic(self, X, w):
        return np.array([w.sum(), w @ X[:, 0]])

    def fit_statistic(self, statistic):
        return Waiting(statistic[1] / statistic[0])


times = np.append(rng.exponential(2.0, 3000), rng.exponential(30.0, 1000))[:, None]
waits = MixtureModel(Waiting(), 2, random_state=0, tol=1e-7, max_iter=2000).fit(times)
for weight, density in zip(waits.weights_, waits.densities_, strict=True):
    print(f"{weight:.0%} wait {density.mean:.1f} minutes on average")
