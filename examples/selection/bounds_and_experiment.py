r"""
What theory promises, and what is measured
==========================================

A machine is judged by few examples and meant for all. How far can the two be apart? Learning theory
gives bounds that hold whatever the data; an experiment shows how much they leave over.
"""

# %%
# The frame first. A reference machine, dear to ask, says which of twelve kinds of noises in the
# night is a thief; the user says what mistakes cost: a false alarm 10, a missed thief 100. Machines
# ring from some loudness on. Which one is best depends on the cost, and on how often each noise
# occurs, p(x).
import matplotlib.pyplot as plt
import numpy as np

from tenfold import LogisticRegression
from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, palette_color, style_axes
from tenfold.teaching.learning_theory import (
    MemoizedOracle,
    MemorizingClassifier,
    empirical_risk,
    empirical_risk_experiment,
    expected_risk,
    hoeffding_bound,
    hoeffding_sample_size,
    linear_growth,
    measure_generalization_gap,
    minimize_empirical_risk,
    vc_bound,
    vc_sample_size,
)

NOISES = np.array([[loud, place] for loud in range(6) for place in range(2)], float)
P = np.outer([0.40, 0.25, 0.15, 0.10, 0.07, 0.03], [0.7, 0.3]).ravel()  # door, window
ALARM = [[0, 10], [100, 0]]


def is_thief(X):
    """Who is at the window (place 1) from loudness 2 on; at the door, from 5 on."""
    return (X[:, 0] >= np.where(X[:, 1] == 1, 2, 5)).astype(int)


def rings_from(loudness):
    def machine(X):
        return (X[:, 0] >= loudness).astype(int)

    machine.loudness = loudness
    return machine


reference = MemoizedOracle(is_thief)
machines = [rings_from(loudness) for loudness in range(7)]
print("rings from loudness   wrong answers   cost of a night")
for machine in machines:
    errors = expected_risk(machine, reference, (NOISES, P))
    cost = expected_risk(machine, reference, (NOISES, P), cost=ALARM)
    print(f"{machine.loudness:>12}{errors:>22.3f}{cost:>18.2f}")
y = reference(NOISES)
by_errors = minimize_empirical_risk(machines, NOISES, y, weights=P)
by_cost = minimize_empirical_risk(machines, NOISES, y, weights=P, cost=ALARM)
print(f"fewest errors: from {by_errors.loudness}; least cost: from {by_cost.loudness}")
print(f"the reference machine was asked about {reference.asked} noises, once each")

# %%
# Nobody knows p(x); one has N nights. The empirical cost is right on average, and its error falls
# as :math:`1/\sqrt N`: four times the nights for half the error.
sizes = np.array([10, 40, 160, 640, 2560])
R = expected_risk(by_cost, reference, (NOISES, P), cost=ALARM)
costs = empirical_risk_experiment(by_cost, reference, (NOISES, P), sizes, repeats=300, cost=ALARM)
figure, (left, right) = plt.subplots(1, 2, figsize=(10.2, 3.8), layout="constrained")
rng = np.random.default_rng(0)
for n, each in zip(sizes, costs, strict=True):
    left.plot(
        n * np.exp(rng.normal(0, 0.09, 300)), each, ".", color=palette_color(5), ms=3, alpha=0.5
    )
left.axhline(R, color=TEXT_COLOR, lw=1.6, label="expected cost")
left.set(xscale="log", xlabel="nights N", ylabel="empirical cost")
left.legend(frameon=False)
spread = costs.std(axis=1)
right.plot(sizes, spread, "o", color=palette_color(1), label="measured", ms=7, zorder=3)
squares = expected_risk(by_cost, reference, (NOISES, P), cost=np.square(ALARM))
right.plot(
    sizes, np.sqrt((squares - R**2) / sizes), color=TEXT_COLOR, label="$\\sigma / \\sqrt{N}$"
)
right.set(xscale="log", yscale="log", xlabel="nights N", ylabel="standard deviation")
right.legend(frameon=False)
style_axes(left)
style_axes(right)
plt.show()

# %%
# The operational cost of a machine enters as :math:`\lambda C(M)`. A machine that also looks where
# the noise comes from makes no mistake; whether it is worth its price depends on the price.
both = is_thief
price = {by_cost: 1.0, both: 5.0}
for strength in (0.0, 0.5, 2.0):
    options = {"weights": P, "cost": ALARM, "complexity": price.get, "strength": strength}
    chosen = minimize_empirical_risk(price, NOISES, y, **options)
    name = "looks and listens" if chosen is both else "listens"
    total = empirical_risk(chosen, NOISES, y, **options)
    print(f"lambda {strength:<4} takes the machine that {name:<18} at {total:.2f} a night")

# %%
# Now machines that learn. One that was fixed beforehand differs from its expected error by no more
# than Hoeffding's gap; the best of M by no more than the gap with M in the logarithm; a linear
# classifier of the plane, one of infinitely many, by the gap of Vapnik and Chervonenkis with the
# labellings that lines can give, counted exactly. Each holds in 95 of 100 cases.


def cloud(n, rng):
    """Two columns, one of which matters; a quarter of the labels cannot be known."""
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


class OneOf:
    """The best of M random lines: a finite hypothesis set."""

    def __init__(self, M):
        angles = np.linspace(0, 2 * np.pi, M, endpoint=False)
        self.lines = np.stack([np.cos(angles), np.sin(angles)])

    def fit(self, X, y):
        errors = ((X @ self.lines > 0) != y[:, None].astype(bool)).mean(axis=0)
        self.line = self.lines[:, errors.argmin()]
        return self

    def predict(self, X):
        return (X @ self.line > 0).astype(int)

    def __sklearn_clone__(self):
        return OneOf(self.lines.shape[1])


SIZES = [20, 50, 150, 500, 1500, 5000]
learners = {
    "fixed beforehand": (OneOf(1), hoeffding_bound),
    "best of 100 lines": (OneOf(100), lambda n: hoeffding_bound(n, 100)),
    "logistic regression": (
        LogisticRegression(C=100.0),
        lambda n: vc_bound(n, 3, growth=linear_growth),
    ),
}
figure, row = plt.subplots(1, 3, figsize=(11.4, 3.8), layout="constrained", sharey=True)
found = {}
for ax, (name, (model, bound)) in zip(row, learners.items(), strict=True):
    gaps = found[name] = measure_generalization_gap(model, cloud, SIZES, repeats=50, fresh=10_000)
    promised = np.array([bound(n) for n in SIZES])
    ax.plot(np.repeat(SIZES, 50), gaps.gaps.ravel(), ".", color=MUTED_COLOR, ms=3, zorder=1)
    ax.plot(SIZES, promised, color=palette_color(1), lw=2, label="bound, 95 %")
    ax.plot(
        SIZES, gaps.quantile(), "o-", color=palette_color(0), ms=4, lw=2, label="measured, 95 %"
    )
    ax.plot(SIZES, gaps.gaps.mean(axis=1), "--", color=TEXT_COLOR, lw=1.4, label="measured, mean")
    ax.set(xscale="log", yscale="log", ylim=(5e-4, 5), title=name, xlabel="training rows")
    style_axes(ax)
row[0].set_ylabel("|expected − empirical error|")
figure.legend(*row[0].get_legend_handles_labels(), loc="outside upper center", ncols=3,
              frameon=False)  # fmt: skip
plt.show()
print(f"{'':<22}{'slope':>7}   bound over measured, at 500 rows")
for name, (_, bound) in learners.items():
    gaps, at = found[name], SIZES.index(500)
    loose = bound(500) / gaps.quantile()[at]
    print(f"{name:<22}{gaps.power:>7.2f}   {loose:>6.1f}")

# %%
# How many rows make the promise 0.05? In the notes: the bounds are "often too loose".
print("fixed machine          ", hoeffding_sample_size(0.05))
print("best of 100            ", hoeffding_sample_size(0.05, 100))
print("lines in the plane     ", vc_sample_size(0.05, 3, growth=linear_growth))
print("planes in 100 columns  ", vc_sample_size(0.05, 101, growth=linear_growth))

# %%
# No bound holds for a class that can fit everything. The memorising classifier is never wrong on
# its own rows and knows nothing of others: its gap does not fall, however many rows it learns by
# heart. Memory that reaches a little further is worth something.
figure, ax = plt.subplots(figsize=(7.6, 4.0), layout="constrained")
for number, radius in enumerate((0.0, 0.1, np.inf)):
    gaps = measure_generalization_gap(
        MemorizingClassifier(radius), cloud, SIZES[:-1], repeats=8, fresh=4000
    )
    label = "nearest neighbour" if radius == np.inf else f"memory, radius {radius:g}"
    ax.plot(
        gaps.sizes, gaps.expected.mean(axis=1), "o-", color=palette_color(number), ms=4, label=label
    )
logistic = found["logistic regression"]
ax.plot(SIZES[:-1], logistic.expected.mean(axis=1)[:-1], "o-", color=palette_color(3), ms=4,
        label="logistic regression")  # fmt: skip
ax.plot(SIZES[:-1], logistic.empirical.mean(axis=1)[:-1], "o:", color=palette_color(3), ms=4,
        label="the same, own rows")  # fmt: skip
ax.axhline(0, color=TEXT_COLOR, lw=1.4, label="all three memories, own rows")
ax.axhline(0.25, color=MUTED_COLOR, ls="--", lw=1.2, label="least possible")
ax.set(xscale="log", xlabel="training rows", ylabel="error", ylim=(-0.02, 0.56))
style_axes(ax)
ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
plt.show()
