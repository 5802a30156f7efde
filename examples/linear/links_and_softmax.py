r"""
From scores to probabilities
============================

A linear model gives a score, any real number. A link turns it into a probability: the sigmoid, or
the probit, the distribution function of a normal variable. Softmax does the same for many classes.
"""

# %%
# Both links rise from 0 to 1 through 1/2. The probit reaches the ends sooner.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import LogisticRegression, relative_coefficients
from tenfold.math import links
from tenfold.plot.style import TEXT_COLOR, palette_color, style_axes

z = np.linspace(-6, 6, 601)
figure, (curve, slope) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
for number, (name, f, df) in enumerate(
    [
        ("sigmoid", links.sigmoid, links.sigmoid_derivative),
        ("probit", links.normal_cdf, links.normal_pdf),
    ]
):
    curve.plot(z, f(z), color=palette_color(number), lw=2, label=name)
    slope.plot(z, df(z), color=palette_color(number), lw=2, label=name)
curve.set(xlabel="score", ylabel="probability", title="link")
slope.set(xlabel="score", ylabel="slope", title="how fast it rises")
for ax in (curve, slope):
    style_axes(ax)
    ax.legend(frameon=False)
plt.show()

print("at a score of 2     in tables | here")
print(f"sigmoid                 .8808 | {links.sigmoid(2.0):.5f}")
print(f"probit                  .9772 | {links.normal_cdf(2.0):.5f}")

# %%
# Minus the logarithm of a link is the loss of a point. On the wrong side it grows like a straight
# line for the sigmoid, and like a parabola for the probit, which is therefore the less patient with
# outliers. Both are computed on the log scale: at -1000 a naive log(sigmoid) is minus infinity.
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(z, -links.log_sigmoid(z), color=palette_color(0), lw=2, label="-log sigmoid")
ax.plot(z, -links.log_normal_cdf(z), color=palette_color(1), lw=2, label="-log probit")
ax.plot(z, np.maximum(0, -z), color=palette_color(0), lw=1.2, ls=":", label="$-z$")
half = z < 0
ax.plot(z[half], z[half] ** 2 / 2, color=palette_color(1), lw=1.2, ls=":", label="$z^2/2$")
ax.set(xlabel="score, positive where right", ylabel="loss", ylim=(-0.3, 12))
ax.legend(frameon=False)
style_axes(ax)
plt.show()

for score in (-1000.0, 0.0, 1000.0):
    both = links.log_sigmoid(score) + 0.0, links.log_normal_cdf(score) + 0.0
    print(f"score {score:>6.0f}: log sigmoid {both[0]:>8.4g}, log probit {both[1]:>10.7g}")

# %%
# The activations of a network's units. All are functions of one number, and all but the identity
# bend it. The logit is the inverse of the sigmoid: it takes a probability back to its score.
ACTIVATIONS = {
    "identity": z,
    "ReLU": np.maximum(0, z),
    "sign": np.sign(z),
    "tanh": np.tanh(z),
    "sigmoid": links.sigmoid(z),
}
p = np.linspace(0.002, 0.998, 400)
figure, row = plt.subplots(2, 3, figsize=(9.6, 5.6), layout="constrained")
for number, (ax, (name, value)) in enumerate(zip(row.flat, ACTIVATIONS.items(), strict=False)):
    ax.plot(z, value, color=palette_color(number), lw=2.2)
    ax.set(title=name, xlim=(-4, 4), ylim=(-2, 2), xlabel="score")
row[1, 2].plot(p, links.logit(p), color=palette_color(6), lw=2.2)
row[1, 2].set(title="logit", xlabel="probability", ylabel="score")
for ax in row.flat:
    style_axes(ax)
    ax.axhline(0, color=TEXT_COLOR, lw=0.8, zorder=1)
row[0, 0].set_ylabel("output")
row[1, 0].set_ylabel("output")
plt.show()

stretched = 2 * links.sigmoid(2 * z) - 1
print(f"tanh is a sigmoid, stretched: they differ by {np.abs(stretched - np.tanh(z)).max():.1e}")

# %%
# Softmax makes probabilities of any number of scores: exponentials, divided by their sum. The order
# of the scores is kept, and a constant added to all of them changes nothing.


def told(p):
    return "(" + ", ".join(f"{x:.3f}" for x in np.ravel(p)) + ")"


print("scores       in the notes     | here")
print(f"(2, 1, -3)   (.72, .27, .01)  | {told(links.softmax([2.0, 1.0, -3.0]))}")
print(f"\n(1, 2, 3)                       {told(links.softmax([1.0, 2.0, 3.0]))}")
shifted = np.array([1001.0, 1002.0, 1003.0])
print(f"1000 added to all               {told(links.softmax(shifted))}")

# %%
# A temperature divides the scores first. Hot, all classes are equally likely; cold, the largest
# score takes everything.
scores = np.array([1.0, 2.0, 3.0])
BY_HAND = {
    0.1: "(2e-9, 4.5e-5, .99995)",
    1.0: "(.0900, .2447, .6652)",
    10.0: "(.3006, .3322, .3672)",
}
print(f"{'temperature':<13}{'by hand':<24}| here")
for heat, hand in BY_HAND.items():
    here = ", ".join(f"{x:.5g}" for x in links.softmax(scores, temperature=heat))
    print(f"{heat:<13g}{hand:<24}| ({here})")

heats = np.geomspace(0.05, 50, 300)
chances = np.array([links.softmax(scores, temperature=heat) for heat in heats])
figure, ax = plt.subplots(figsize=(6.8, 4), layout="constrained")
for number, score in enumerate(scores):
    ax.plot(
        heats, chances[:, number], color=palette_color(number), lw=2.2, label=f"score {score:g}"
    )
ax.axhline(1 / 3, color=TEXT_COLOR, lw=0.8, ls=":")
ax.text(heats[0], 1 / 3, " one third", va="bottom", color=TEXT_COLOR)
ax.set(xscale="log", xlabel="temperature (cold to hot)", ylabel="probability", ylim=(-0.02, 1.02))
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# With two classes softmax is the sigmoid of the difference of the scores: logistic regression is
# softmax regression with K = 2.
rng = np.random.default_rng(0)
pairs = rng.normal(scale=10, size=(1000, 2))
difference = links.softmax(pairs)[:, 0] - links.sigmoid(pairs[:, 0] - pairs[:, 1])
print(f"1000 pairs of scores, largest difference {np.abs(difference).max():.1e}")

# %%
# The slopes of softmax are p_i (1 - p_i) on the diagonal and -p_i p_j off it: what one class gains,
# the others lose, so that every row sums to zero.
print(links.softmax_jacobian(scores).round(4))
print("sums of the rows:", links.softmax_jacobian(scores).sum(axis=1).round(12) + 0.0)

# %%
# Softmax does not change when all classes are shifted alike. Differences from a reference class are
# what the data determine: log-odds against that class, whose own coefficients are zero.
X = rng.normal(size=(300, 1))
kinds = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + rng.normal(size=300), [-1, 1])]
model = LogisticRegression(C=np.inf).fit(X, kinds)
relative = relative_coefficients(model, "middle")
for name, slope, constant in zip(
    relative.classes, relative.coef[:, 0], relative.intercept, strict=True
):
    print(f"log odds of {name} against middle: {slope:+.2f} x {constant:+.2f}")
