r"""
When one mistake costs more than the other
==========================================

A classifier says how probable each class is. What to do about it depends on what mistakes cost. The
rule is always the same: of all decisions take the one with the least expected cost.
"""

# %%
# An intrusion alarm: a false alarm costs 10, a missed thief 100. An x-ray: a false alarm costs 1,
# an overlooked cancer 1000. Rows are the truth, columns the decision. Where the two straight lines
# of expected cost cross lies the threshold.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import CostSensitiveClassifier, LogisticRegression, datasets, search
from tenfold.math.decision_costs import (
    cost_class_weights,
    cost_report,
    decision_threshold,
    expected_cost,
    least_cost_decision,
)
from tenfold.plot.style import TEXT_COLOR, legend_outside, palette_color, style_axes
from tenfold.teaching.bayes_estimators import FiniteBelief, bayes_estimate, expected_loss

ALARM = np.array([[0.0, 10.0], [100.0, 0.0]])
XRAY = np.array([[0.0, 1.0], [1000.0, 0.0]])
print(f"{'act from':<14}{'by hand':<14}| here")
print(f"{'alarm':<14}{'1/11 = .0909':<14}| {decision_threshold(ALARM):.6f}")
print(f"{'x-ray':<14}{'1/1001':<14}| {decision_threshold(XRAY):.6f}   (1/1001 = {1 / 1001:.6f})")

figure, row = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, (title, costs, names, right) in zip(
    row,
    [
        ("alarm", ALARM, ("stay quiet", "raise the alarm"), 0.3),
        ("x-ray", XRAY, ("send home", "treat"), 0.0033),
    ],
    strict=True,
):
    p = np.linspace(0, right, 200)
    lines = expected_cost(np.column_stack([1 - p, p]), costs)
    for number, name in enumerate(names):
        ax.plot(p, lines[:, number], color=palette_color(number), lw=1.6, label=name)
    ax.plot(p, lines.min(axis=1), color=TEXT_COLOR, lw=3.5, alpha=0.3, label="the better one")
    ax.axvline(decision_threshold(costs), color=TEXT_COLOR, lw=1, ls=":")
    ax.set(title=title, xlabel="probability of the bad case", ylabel="expected cost")
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()

# %%
# Two signals of an alarm system, and thieves in one night of twenty. The model is the same logistic
# regression each time; only the decision changes.
rng = np.random.default_rng(0)


def nights(n):
    thief = (rng.random(n) < 0.05).astype(int)
    return rng.normal(size=(n, 2)) + 1.5 * thief[:, None], thief


(X, y), (X_new, y_new) = nights(2000), nights(20_000)
plain = LogisticRegression().fit(X, y)
careful = CostSensitiveClassifier(LogisticRegression(), ALARM).fit(X, y)
weighted = LogisticRegression().fit(X, y, sample_weight=cost_class_weights(ALARM)[y])
DECISIONS = {
    "never": np.zeros_like(y_new),
    "always": np.ones_like(y_new),
    "most probable": plain.predict(X_new),
    "least expected cost": careful.predict(X_new),
    "trained with weights": weighted.predict(X_new),
}
print(f"{'alarm if':<22}{'missed':>8}{'false alarms':>14}{'errors':>9}{'cost per night':>16}")
for name, said in DECISIONS.items():
    report = cost_report(y_new, said, ALARM, classes=[0, 1])
    (_, false), (missed, _) = report.counts
    share = (missed + false) / len(said)
    print(f"{name:<22}{missed:>8.0f}{false:>14.0f}{share:>9.1%}{report.mean:>16.3f}")

# %%
# The cost of every threshold on fresh nights. Its lowest point should be at 1/11, since the
# probabilities are good ones; there are more errors there than at 1/2, and they are the cheap ones.
p = plain.predict_proba(X_new)[:, 1]
cuts = np.geomspace(0.003, 0.95, 120)
reports = [cost_report(y_new, (p > cut).astype(int), ALARM, classes=[0, 1]) for cut in cuts]
cost = np.array([report.mean for report in reports])
wrong = np.array([(r.counts[0, 1] + r.counts[1, 0]) / len(y_new) for r in reports])
figure, (by_cut, plane) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
by_cut.plot(cuts, cost, color=palette_color(1), lw=2, label="cost per night")
by_cut.plot(cuts, 10 * wrong, color=palette_color(0), lw=2, label="errors in ten nights")
for cut, name in ((decision_threshold(ALARM), "1/11"), (0.5, "1/2")):
    by_cut.axvline(cut, color=TEXT_COLOR, lw=1, ls=":")
    by_cut.annotate(name, (cut, 4.6), (4, 0), textcoords="offset points")
by_cut.set(xscale="log", xlabel="alarm if p(thief) is above", ylabel="cost, or errors", ylim=(0, 5))
shown = np.arange(600)
for kind, name in enumerate(("quiet night", "thief")):
    own = shown[y[shown] == kind]
    look = {
        "color": palette_color(kind),
        "marker": "os"[kind],
        "s": 14,
        "alpha": 0.7,
        "label": name,
    }
    plane.scatter(*X[own].T, **look)
grid = np.stack(np.meshgrid(np.linspace(-3, 5, 200), np.linspace(-3, 5, 200)), axis=-1)
chance = plain.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(200, 200)
for cut, style, name in ((0.5, "--", "p = 1/2"), (decision_threshold(ALARM), "-", "p = 1/11")):
    plane.contour(
        *np.moveaxis(grid, -1, 0), chance, levels=[cut], colors=TEXT_COLOR, linestyles=style
    )
    plane.plot([], [], color=TEXT_COLOR, ls=style, label=name)
plane.set(xlabel="first signal", ylabel="second signal")
by_cut.legend(frameon=False, loc="lower left")
legend_outside(plane)
for ax in (by_cut, plane):
    style_axes(ax)
plt.show()

print(f"cheapest threshold on these nights {cuts[cost.argmin()]:.3f}, by theory {1 / 11:.3f}")

# %%
# Real tumours, thirty measurements of each. To overlook one costs 1000, a needless treatment 1; or
# the doctor looks herself, which costs 0.5. Costs also choose the model: the search below asks
# which penalty makes the decisions cheapest.
data = datasets.load_breast_cancer()
malignant = np.where(data.target == 0, "malignant", "benign")
A, A_new, t, t_new = train_test_split(
    data.data, malignant, test_size=0.4, random_state=0, stratify=malignant
)
model = make_pipeline(StandardScaler(), LogisticRegression())
penalties = {"estimator__logisticregression__C": np.geomspace(1e-3, 100, 6)}
print(f"{'decide by':<26}{'overlooked':>11}{'needless':>10}{'looked at':>11}{'cost each':>11}")
for name, costs, reject in (
    ("most probable", None, None),
    ("cost 1 and 1000", XRAY, None),
    ("the same, or look", XRAY, 0.5),
):
    careful = CostSensitiveClassifier(model, costs, reject=reject)
    chosen = search(careful, penalties, A, t, folds=4)  # judged by cost
    said = chosen.predict(A_new)
    overlooked = ((said == "benign") & (t_new == "malignant")).sum()
    needless = ((said == "malignant") & (t_new == "benign")).sum()
    looked = (said == "rejected").sum()
    each = (1000 * overlooked + needless + 0.5 * looked) / len(said)
    print(f"{name:<26}{overlooked:>11}{needless:>10}{looked:>11}{each:>11.3f}")

# %%
# Is the rule the best one? On a small table every rule can be tried: three signals, two classes,
# two decisions, eight rules. The one that decides signal by signal is the cheapest of all.
joint = np.array([[0.50, 0.02], [0.25, 0.05], [0.08, 0.10]])  # p(signal, class)
given = joint / joint.sum(axis=1, keepdims=True)
by_signal = least_cost_decision(given, ALARM)
rules = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
totals = [sum(joint[s] @ ALARM[:, rule[s]] for s in range(3)) for rule in rules]
for rule, total in sorted(zip(rules.tolist(), totals, strict=True), key=lambda r: r[1])[:3]:
    print(f"rule {rule}: expected cost {total:.2f}")
print(f"signal by signal: {by_signal.tolist()}")

# %%
# Other losses ask for other answers. With a cost of 1 for every mistake: the most probable value.
# With squares: the mean. With absolute values: the median. If too low costs three times as much as
# too high: the 75 % quantile.
belief = FiniteBelief([1, 2, 3, 4, 10], [0.3, 0.25, 0.15, 0.15, 0.15])
guesses = np.linspace(0, 10, 401)
figure, ax = plt.subplots(figsize=(7.4, 4.2), layout="constrained")
for number, (name, loss, q) in enumerate(
    [("squares: mean", "squared", 0.5), ("absolute: median", "absolute", 0.5),
     ("3 to 1: 75 % quantile", "quantile", 0.75)]
):  # fmt: skip
    best = float(bayes_estimate(belief, loss, q))
    curve = expected_loss(belief, guesses, loss, q)
    low = expected_loss(belief, best, loss, q)
    ax.plot(guesses, curve, color=palette_color(number), lw=2, label=f"{name} {best:g}")
    ax.plot(best, low, "o", color=palette_color(number), ms=8)
ax.set(xlabel="guess", ylabel="expected loss", ylim=(0, 14))
ax.legend(frameon=False)
style_axes(ax)
plt.show()

print(f"0-1 loss: {bayes_estimate(belief, 'zero-one'):g}, the most probable value")
mean, least = bayes_estimate(belief), expected_loss(belief, bayes_estimate(belief))
values, chances = belief.sorted_distribution()
print(f"squares: least loss {least:.4f}, the variance {chances @ (values - mean) ** 2:.4f}")
