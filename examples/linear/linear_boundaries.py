"""
Lines between classes: two, three, and lines gone astray
========================================================

What a linear classifier of two columns looks like: a line, the direction w across it, and a
probability that grows with the distance. With more classes there are several ways to use such
lines, and not all of them answer everywhere.
"""

# %%
# **Two classes.** The boundary is where the probability is one half; w stands upright on it and
# points to class 1. All lines of equal probability are parallel.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from tenfold import LeastSquaresClassifier, LogisticRegression, plot
from tenfold.inspection import is_ambiguous
from tenfold.plot.style import TEXT_COLOR, palette_color, palette_marker, style_axes

rng = np.random.default_rng(2)
X = np.vstack([rng.normal((-1.2, -0.4), 0.8, (60, 2)), rng.normal((1.0, 0.9), 0.8, (60, 2))])
y = np.repeat([0, 1], 60)
model = LogisticRegression(C=10).fit(X, y)
w, b = model.coef_[0], model.intercept_[0]
foot = -b * w / (w @ w)
along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
print(f"w = ({w[0]:.2f}, {w[1]:.2f}); w times the direction of the boundary: {w @ along:.1e}")
for step in (0.0, 0.25, 0.5, 1.0):
    there = foot + step * w / np.linalg.norm(w)
    print(f"  {step:4.2f} beyond the boundary: p = {model.predict_proba([there])[0, 1]:.3f}")

figure, ax = plt.subplots(figsize=(6.6, 5.0), layout="constrained")
plot.decision_boundary(model, X, y, ax=ax)
side = np.linspace(-4, 4, 200)
p = model.predict_proba(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))[:, 1]
look = {"colors": TEXT_COLOR, "linewidths": 0.9, "linestyles": "--"}
lines = ax.contour(side, side, p.reshape(200, 200), levels=[0.05, 0.25, 0.75, 0.95], **look)
ax.clabel(lines, fontsize=9)
tip = foot + w / np.linalg.norm(w)
ax.annotate("", tip, foot, arrowprops={"arrowstyle": "-|>", "lw": 2.4, "color": "black"}, zorder=5)
ax.text(*(tip + 0.06), "w", fontsize=15, weight="bold", zorder=5)
ax.set(title="probability of class 1", aspect="equal", xlim=(-3.4, 3.2), ylim=(-2.6, 3.2))
plt.show()

# %%
# **Three classes.** Softmax has a score for each class; the largest wins, so the regions meet in a
# point and leave no gap. Far from the boundaries it is sure, in the middle it is not.
rng = np.random.default_rng(7)
centres = np.array([[0.0, 1.6], [-1.6, -1.0], [1.6, -1.0]])
spreads = np.array([[1.2, 0.38], [0.38, 1.1], [0.75, 0.75]])  # clouds of different shapes
labels = np.repeat([0, 1, 2], [60, 60, 20])
X3 = centres[labels] + spreads[labels] * rng.standard_normal((140, 2))
softmax = LogisticRegression(C=10).fit(X3, labels)
plot.decision_boundary(softmax, X3, labels).set_title(
    "softmax: regions, and confidence as strength of colour"
)
plt.show()

# %%
# **Made of two-class lines, naively.** One against the rest: each class says yes or no, and where
# two say yes, or nobody does, there is no answer. One against one: each pair has a vote, and in the
# middle each class may win once. The largest score knows no such places. (The clouds above have
# shapes, sizes and a seed for which that middle is large enough to see; with three equal round
# clouds it was below a thousandth of the square.)
axes = plot.ambiguous_regions(X3, labels)
axes[0].figure.suptitle("three ways to decide among three classes")
plt.show()
square = np.stack(np.meshgrid(*2 * [np.linspace(-3.5, 3.5, 300)]), axis=-1).reshape(-1, 2)
for name, wrap in (
    ("one against the rest", OneVsRestClassifier),
    ("one against one", OneVsOneClassifier),
):
    parts = wrap(LogisticRegression(C=10)).fit(X3, labels)
    share = is_ambiguous(parts, square).mean()
    print(f"{name:<21} {len(parts.estimators_)} classifiers, {share:.1%} of the square in dispute")

# %%
# **Least squares, dragged by points that are too good.** Least squares on labels wants each score
# to be 0 or 1, so a point far on the right side is as bad as one on the wrong side. A few of them
# turn the line; logistic regression is not impressed.
far = np.array([6.0, -3.0]) + 0.4 * rng.standard_normal((8, 2))
X_far, y_far = np.vstack([X, far]), np.append(y, np.ones(8, int))
figure, row = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharex=True, sharey=True)
x_line = np.array([-4.0, 8.0])
print(f"{'errors on the 120 points':<26}{'least squares':>15}{'logistic':>10}")
for ax, (A, t), name in zip(row, ((X, y), (X_far, y_far)), ("without", "with"), strict=True):
    squares, logistic = LeastSquaresClassifier().fit(A, t), LogisticRegression(C=10).fit(A, t)
    wrong = [(m.predict(X) != y).sum() for m in (squares, logistic)]
    print(f"{name + ' eight far points':<26}{wrong[0]:>15}{wrong[1]:>10}")
    for label in (0, 1):
        look = {
            "color": palette_color(label),
            "marker": palette_marker(label),
            "edgecolor": "white",
        }
        ax.scatter(*A[t == label].T, s=32, zorder=2, label=f"class {label}", **look)
    difference = squares.coef_[1] - squares.coef_[0], squares.intercept_[1] - squares.intercept_[0]
    for (w, b), style, who in (
        (difference, "--", "least squares"),
        ((logistic.coef_[0], logistic.intercept_[0]), "-", "logistic"),
    ):
        ax.plot(x_line, -(b + w[0] * x_line) / w[1], style, color="black", lw=2, label=who)
    ax.set(title=f"{name} far points of class 1", xlabel="$x_1$", xlim=(-4, 7.5), ylim=(-4.5, 4))
    style_axes(ax, grid=False)
row[0].set_ylabel("$x_2$")
row[0].legend(loc="upper right")
plt.show()
