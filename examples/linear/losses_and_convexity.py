r"""
Losses and convexity
====================

A classifier is judged by its errors, but errors cannot be followed downhill: the 0-1 loss is flat
wherever it is not broken. So we minimise a loss that lies above it and has a slope. If that loss is
also convex, whatever minimum is found is the best there is.
"""

# %%
# Seven losses against the margin :math:`s = y f(x)`, positive where the prediction is right.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import plot
from tenfold.math import losses
from tenfold.optim import gradient_descent
from tenfold.plot.style import TEXT_COLOR, palette_color, style_axes
from tenfold.teaching import convex_calculus, convexity_violation

plot.margin_losses()
plt.show()

# %%
# Which of them bound the errors from above? Each is asked on a fine grid. In nats the log loss does
# not: just left of zero it is log 2 = 0.69, and an error counts 1. In bits it does. Squares do, but
# not half of them. One of the notes calls the perceptron's loss max(0, -s) "hinge"; the hinge is
# max(0, 1 - s).
LOSSES = {
    "0-1": losses.ZeroOneLoss(),
    "perceptron": losses.PerceptronLoss(),
    "hinge": losses.HingeLoss(),
    "log (nats)": losses.LogisticLoss(),
    "log (bits)": losses.LogisticLoss(base=2),
    "squared hinge": losses.SquaredHingeLoss(),
    "half squared": losses.SquaredLoss(),
}
margins = np.linspace(-4, 4, 801)
ones = np.ones_like(margins)
errors = LOSSES["0-1"].value(margins, ones)
box = (np.array([-4.0]), np.array([4.0]))

print(f"{'loss':<15}{'at s = 0':>10}{'at s = 3':>10}{'bounds errors':>16}{'convex':>9}")
for name, loss in LOSSES.items():
    at = loss.value(np.array([0.0, 3.0]), np.ones(2))
    bounds = bool((loss.value(margins, ones) >= errors - 1e-12).all())
    chord = convexity_violation(lambda s, f=loss: f.value(s, np.ones(1)).item(), box)
    print(
        f"{name:<15}{at[0]:>10.3f}{at[1]:>10.3f}{'yes' if bounds else 'no':>16}"
        f"{'yes' if chord is None else 'no':>9}"
    )

# %%
# Hinge and log loss side by side, with their slopes. Far on the wrong side both pull with the same
# force, -1. The hinge lets go at s = 1; the log loss never quite does.
figure, (values, slopes) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
for number, name in enumerate(("hinge", "log (nats)")):
    values.plot(
        margins, LOSSES[name].value(margins, ones), color=palette_color(number), lw=2, label=name
    )
    slopes.plot(
        margins, LOSSES[name].gradient(margins, ones), color=palette_color(number), lw=2, label=name
    )
values.set(xlabel="margin", ylabel="loss", title="loss")
slopes.set(xlabel="margin", ylabel="slope of the loss", title="slope", ylim=(-1.1, 0.1))
for ax in (values, slopes):
    style_axes(ax)
    ax.legend(frameon=False)
plt.show()

# %%
# A convex function holds water, a concave one spills it. A chord of a convex function lies above
# the graph.
x = np.linspace(-2, 2, 401)
figure, (holds, spills, chord_of) = plt.subplots(1, 3, figsize=(10.8, 3.4), layout="constrained")
holds.fill_between(x, x**2, 2.5, where=x**2 <= 2.5, color=palette_color(5), alpha=0.5, lw=0)
holds.set(title="convex: holds water")
spills.plot(x, x**2, color=TEXT_COLOR, lw=2.2, alpha=0)  # the same scale as its neighbour
falls = np.abs(x) > 0.25
spills.fill_between(x, 4 - x**2, 4.2 - x**2, where=falls, color=palette_color(5), alpha=0.5, lw=0)
spills.set(title="concave: spills it")
for ax, f in ((holds, x**2), (spills, 4 - x**2), (chord_of, x**2)):
    ax.plot(x, f, color=TEXT_COLOR, lw=2.2)
    ax.set(xlabel="x", ylim=(-0.2, 4.5))
    style_axes(ax, grid=False)
holds.set_ylabel("f(x)")
left, right, t = -1.2, 1.8, 0.3
middle = (1 - t) * left + t * right
above = (1 - t) * left**2 + t * right**2
chord_of.plot([left, right], [left**2, right**2], color=palette_color(1), lw=2, marker="o")
chord_of.plot([middle, middle], [middle**2, above], color=palette_color(1), ls=":", lw=1.6)
chord_of.annotate("chord", (middle, above), (0, 6), textcoords="offset points", ha="right")
chord_of.annotate("graph", (middle, middle**2), (6, 4), textcoords="offset points")
chord_of.set(title="the chord lies above")
plt.show()

# %%
# Two pictures of what cannot happen. Left: with two minima of different height, the chord between
# them would run below the graph, so a convex function has none. Right: a point above its chord
# means a steep rise :math:`m_1` before it and a flatter one :math:`m_2` after it, so the slope has
# fallen in between, and f'' was negative somewhere. Where f'' is nowhere negative, f is convex.


def two_wells(x):
    return 0.25 * x**4 - 0.9 * x**2 + 0.25 * x + 1.2


figure, (wells, rise) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
ends = [
    gradient_descent(
        lambda x: (two_wells(x).item(), x**3 - 1.8 * x + 0.25), np.array([start]), learning_rate=0.1
    ).x.item()
    for start in (-2.0, 2.0)
]
wells.plot(x, two_wells(x), color=TEXT_COLOR, lw=2.2)
wells.plot(ends, [two_wells(e) for e in ends], color=palette_color(1), lw=2, marker="o")
wells.annotate("global", (ends[0], two_wells(ends[0])), (0, -15), textcoords="offset points")
wells.annotate("local", (ends[1], two_wells(ends[1])), (0, -15), textcoords="offset points")
wells.set(xlabel="x", ylabel="f(x)", title="two minima: not convex", ylim=(-0.4, 2))

u = np.linspace(0, 3.2, 200)
three = np.array([0.4, 1.3, 2.9])
rise.plot(u, np.sqrt(u), color=TEXT_COLOR, lw=2.2)
rise.plot(three, np.sqrt(three), "o", color=palette_color(1))
slopes_of = {}
for name, (a, b), style in (("$m_1$", three[:2], "-"), ("$m_2$", three[1:], "-"),
                            ("$m$", three[[0, 2]], "--")):  # fmt: skip
    rise.plot([a, b], np.sqrt([a, b]), color=palette_color(1), ls=style, lw=1.8)
    slopes_of[name] = (np.sqrt(b) - np.sqrt(a)) / (b - a)
    below = name == "$m$"
    place = ((a + b) / 2, (np.sqrt(a) + np.sqrt(b)) / 2)
    label = f"{name} = {slopes_of[name]:.2f}"
    rise.annotate(
        label, place, (8 if below else -8, -14 if below else 8), textcoords="offset points",
        ha="left" if below else "right"
    )  # fmt: skip
rise.set(xlabel="x", ylabel="f(x)", title="$m_1 > m > m_2$: the slope falls")
for ax in (wells, rise):
    style_axes(ax, grid=False)
plt.show()

# %%
# A numeric test looks for a chord below the graph. To find one disproves convexity; to find none
# proves nothing, but two thousand tries are a good sign.
FUNCTIONS = {
    "x^2": (1, lambda v: v @ v),
    "a constant": (1, lambda _: 0.0),
    "-log sigmoid(x)": (1, lambda v: np.logaddexp(0, -v).item()),
    "log-sum-exp of 3": (3, np.logaddexp.reduce),
    "|w|_2^2 + |w|_1 of 3": (3, lambda v: v @ v + np.abs(v).sum()),
    "-x^2": (1, lambda v: -v @ v),
    "x^3": (1, lambda v: v.item() ** 3),
    "sin x": (1, lambda v: np.sin(v).item()),
    "(1 - w h)^2": (2, lambda v: (1 - v[0] * v[1]) ** 2),
}
for name, (d, f) in FUNCTIONS.items():
    chord = convexity_violation(f, (np.full(d, -3.0), np.full(d, 3.0)))
    told = "no chord below the graph"
    if chord is not None:
        ends_of = [" ".join(f"{c:.1f}" for c in end) for end in (chord.x, chord.y)]
        told = f"not convex: ({ends_of[0]}) to ({ends_of[1]}) misses by {chord.excess:.2f}"
    print(f"{name:<22}{told}")

# %%
# Four rules prove what tests only suggest: f'' >= 0, affine maps inside, sums, positive factors.
# Losses that are built by the rules carry their proof. Ridge regression of two rows:
rows, targets = np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([1.0, -2.0])
fit = sum(
    convex_calculus.square.of(row, -target) for row, target in zip(rows, targets, strict=True)
)
size = sum(convex_calculus.square.of(axis) for axis in np.eye(2))
ridge = 0.5 * fit + 0.1 * size
print(ridge.proof)
try:
    -1.0 * ridge
except convex_calculus.NotConvexError as refused:
    print("\nrefused:", refused)

# %%
# What convexity buys: from anywhere, descent ends at the same loss.
X, y = np.random.default_rng(0).normal(size=(2, 60, 3))
y = np.sign(X[:, 0] + 0.8 * y[:, 0])
logistic = losses.LogisticLoss()


def mean_loss(w):
    value, slope = logistic.value_and_gradient(X @ w, y)
    return value.mean(), X.T @ slope / len(y)


found = [
    gradient_descent(mean_loss, start, learning_rate="backtracking", tol=1e-8).value
    for start in np.random.default_rng(1).normal(scale=5, size=(20, 3))
]
print(f"20 starts, losses from {min(found):.10f} to {max(found):.10f}")
