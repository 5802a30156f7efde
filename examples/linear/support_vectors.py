"""
Wide margins and the few points that hold them
==============================================

Of all lines between two classes the support vector machine takes the one with the most room on both
sides. How much a point within that room costs is for us to say: C, or 1/(n lambda). What comes out
depends on the points at the margin alone.
"""

# %%
# **From a hard margin to a soft one.** The notes minimise mean hinge loss + ``lambda/2 |w|^2``;
# `c_from_strength` gives the C of that lambda. A tiny lambda pushes the margin to the first points
# it meets, a large one lets it swallow them and follow the bulk.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import LinearSVC, LogisticRegression, hard_margin, plot
from tenfold.linear.svm.margins import (
    c_from_strength,
    margin_path,
    margin_width,
    margins,
    support_vectors,
)
from tenfold.plot.style import palette_color, palette_marker, style_axes

rng = np.random.default_rng(3)
X = np.vstack([rng.normal((-1.5, -1), 0.75, (30, 2)), rng.normal((1.5, 1), 0.75, (30, 2))])
y = np.repeat([0, 1], 30)
n = len(X)


def machine(C):
    return LinearSVC(loss="hinge", C=C, intercept_scaling=np.inf, tol=1e-6)


hard = hard_margin(X, np.where(y == 1, 1, -1))
print(f"hard margin: {1 / np.linalg.norm(hard.w):.3f} on each side,", end=" ")
print(f"{(hard.alpha > 0).sum()} points hold it")
print(f"{'lambda':>8}{'C':>9}{'margin':>9}{'mean hinge':>12}{'support vectors':>17}{'errors':>8}")
figure, row = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
for ax, strength in zip(row, (1e-4, 0.1, 2.0), strict=True):
    C = c_from_strength(strength, n)
    model = machine(C).fit(X, y)
    z = margins(model, X, y)
    within = len(support_vectors(model, X, y))
    hinge = np.maximum(0, 1 - z).mean()
    print(f"{strength:>8g}{C:>9.3g}{margin_width(model):>9.3f}", end="")
    print(f"{hinge:>12.3f}{within:>17}{(z <= 0).sum():>8}")
    plot.decision_boundary(model, X, y, ax=ax)
    if ax is not row[-1]:
        ax.get_legend().remove()
    ax.set_title(f"$\\lambda$ = {strength:g}, C = {C:.3g}")
plt.show()

# %%
# The whole way: as C grows the margin narrows, the loss falls, and fewer points count.
path = margin_path(machine(1.0), X, y, np.geomspace(1e-3, 1e3, 25))
figure, row = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for ax, values, name in zip(
    row,
    (path.width, path.hinge, path.support),
    ("margin $1/\\|w\\|$", "mean hinge loss", "support vectors"),
    strict=True,
):
    ax.semilogx(path.C, values, color=palette_color(0), lw=2)
    ax.set(xlabel="C (price of a loss)", ylabel=name, ylim=(0, None))
    style_axes(ax)
row[0].axhline(1 / np.linalg.norm(hard.w), color=palette_color(1), ls="--", label="hard margin")
row[0].legend(frameon=False)
plt.show()

# %%
# **The others do not matter.** Points outside the margin may move about out there, or go away
# altogether: the line stays. Logistic regression listens to every point, so its line moves.
C = 1.0
svm, logistic = machine(C).fit(X, y), LogisticRegression(C=C, tol=1e-10).fit(X, y)
inside = support_vectors(svm, X, y)
others = np.setdiff1d(np.arange(n), inside)
outwards = np.where(y == 1, 1, -1)[:, None] * svm.coef_[0] / np.linalg.norm(svm.coef_[0])
moved = X.copy()
moved[others] += rng.uniform(0, 2.5, (len(others), 1)) * outwards[others]
moved[others] += rng.normal(0, 0.5, (len(others), 1)) * outwards[others][:, ::-1] * [1, -1]


def angle(model, other):
    a, b = model.coef_[0], other.coef_[0]
    return np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)))


refits = {
    f"{len(others)} other points moved": (moved, y),
    f"{len(others)} other points removed": (X[inside], y[inside]),
}
kept = {"as it was": (svm, logistic)}
print(f"{'':<26}{'change of w, SVM':>18}{'logistic':>11}{'turn, SVM':>12}{'logistic':>10}")
for name, (A, b) in refits.items():
    again = machine(C).fit(A, b), LogisticRegression(C=C, tol=1e-10).fit(A, b)
    kept[name] = again
    changes = [
        np.linalg.norm(m.coef_ - o.coef_) for m, o in zip(again, (svm, logistic), strict=True)
    ]
    turns = [angle(m, o) for m, o in zip(again, (svm, logistic), strict=True)]
    print(f"{name:<26}{changes[0]:>18.1e}{changes[1]:>11.1e}{turns[0]:>11.2f}°{turns[1]:>9.2f}°")

figure, row = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharex=True, sharey=True)
sets = {"as it was": (X, y), **refits}
x_line = np.array([-7.0, 7.0])
for ax, (name, (A, b)) in zip(row, sets.items(), strict=True):
    for label in (0, 1):
        look = {
            "color": palette_color(label),
            "marker": palette_marker(label),
            "edgecolor": "white",
        }
        ax.scatter(*A[b == label].T, s=36, zorder=3, **look)
    ax.scatter(*X[inside].T, s=120, facecolor="none", edgecolor="black", label="support vectors")
    for model, hue, who in zip(
        kept[name], ("black", palette_color(2)), ("SVM", "logistic"), strict=True
    ):
        (w1, w2), offset = model.coef_[0], model.intercept_[0]
        ax.plot(x_line, -(offset + w1 * x_line) / w2, color=hue, lw=2, label=who)
    ax.set(title=name, xlabel="$x_1$", xlim=(-6, 6), ylim=(-5, 5))
    style_axes(ax, grid=False)
row[0].set_ylabel("$x_2$")
row[0].legend(loc="lower right", fontsize=8)
plt.show()

# %%
# **How many count?** In both models w is a sum of rows times a slope of the loss. The hinge has
# slope zero outside the margin; the logistic loss nowhere.
print(f"{'rows':>6}{'SVM: rows that count':>22}{'logistic':>10}")
for rows in (50, 200, 1000):
    A = np.vstack([rng.normal((-1.5, -1), 0.75, (rows // 2, 2)),
                   rng.normal((1.5, 1), 0.75, (rows // 2, 2))])  # fmt: skip
    b = np.repeat([0, 1], rows // 2)
    counts = len(support_vectors(machine(C).fit(A, b), A, b))
    chance = LogisticRegression(C=C).fit(A, b).predict_proba(A)[np.arange(rows), b]
    print(f"{rows:>6}{counts:>22}{(chance < 1).sum():>10}")
