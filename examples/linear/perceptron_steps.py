"""
The perceptron, mistake by mistake
==================================

The perceptron looks at one row after the other and changes its mind only when it is wrong: then it
adds the row to its weights. If a line can separate the classes, a theorem counts how often it can
be wrong.
"""

# %%
# One step by hand, with the note's numbers: x = (2, 4) is negative, and the weights are zero. Zero
# is no answer, so it counts as a mistake.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import Perceptron, novikoff_bound, perceptron_step
from tenfold.plot.style import TEXT_COLOR, palette_color, palette_marker, style_axes
from tenfold.teaching.learning_theory import MemorizingClassifier

theta, _ = perceptron_step([2, 4], -1, [0, 0])
print(f"in the notes: (-2, -4), here: {tuple(theta.astype(int).tolist())}")
x = np.array([-3.0, 2, 5])
parabola = np.column_stack([x, x**2])
model = Perceptron(shuffle=False, tol=None).fit(parabola, [1, -1, 1])
print("-3, 2, 5 with signs +, -, + in the columns x and x^2:")
print(
    f"  weights {model.coef_[0].astype(int).tolist()}, offset {int(model.intercept_[0])},", end=" "
)
print(f"{model.mistakes_} mistakes in {model.n_iter_} epochs (the last without one)")

# %%
# On the line no threshold has -3 and 5 on one side and 2 on the other. With the square as a second
# column, a line has.
figure, (line, plane) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for sign, number in ((1, 0), (-1, 1)):
    look = {"marker": palette_marker(number), "color": palette_color(number), "s": 70}
    of_sign = np.array([1, -1, 1]) == sign
    line.scatter(x[of_sign], np.zeros(of_sign.sum()), label=f"{sign:+d}", **look)
    plane.scatter(*parabola[of_sign].T, label=f"{sign:+d}", **look)
grid = np.linspace(-4, 6, 50)
plane.plot(grid, grid**2, color=palette_color(2), lw=1, zorder=0)
(w1, w2), offset = model.coef_[0], model.intercept_[0]
plane.plot(grid, -(offset + w1 * grid) / w2, color=TEXT_COLOR, label="boundary")
line.set(xlabel="x", yticks=[], title="as given")
plane.set(xlabel="x", ylabel="$x^2$", ylim=(-3, 30), title="with the square")
plane.legend(frameon=False)
for ax in (line, plane):
    style_axes(ax)
plt.show()

# %%
# Now a plane. Each panel shows the row that was wrong (ringed), the line before (dotted) and after.
rng = np.random.default_rng(14)
X = np.vstack([rng.normal((-1.1, -0.7), 0.7, (9, 2)), rng.normal((1.2, 1.0), 0.7, (9, 2))])
y = np.repeat([-1, 1], 9)
order = rng.permutation(18)
X, y = X[order], y[order]
print(f"18 points; at most {novikoff_bound(X, y):.0f} mistakes, says the bound")


def mistakes(X, y, epochs=200):
    """Number of the row, and line after it, of each mistake."""
    theta, offset, found = np.zeros(2), 0.0, []
    for _ in range(epochs):
        before = len(found)
        for i in range(len(X)):
            if y[i] * (theta @ X[i] + offset) <= 0:
                theta, offset = perceptron_step(X[i], y[i], theta, offset)
                found.append((i, theta, offset))
        if len(found) == before:
            break
    return found


def draw_line(ax, theta, offset, **look):
    if np.any(theta):
        direction = np.array([-theta[1], theta[0]]) / np.linalg.norm(theta)
        foot = -offset * theta / (theta @ theta)
        ends = foot + np.outer([-9, 9], direction)
        ax.plot(*ends.T, **look)


path = mistakes(X, y)
library = Perceptron(shuffle=False, tol=None).fit(X, y)
same = np.allclose(np.append(library.coef_[0], library.intercept_), np.append(*path[-1][1:]))
print(f"{len(path)} mistakes by hand, {library.mistakes_} by the library; same line: {same}")

shown = [*range(min(5, len(path) - 1)), len(path) - 1]
figure, grid = plt.subplots(
    2, 3, figsize=(10.5, 6.6), layout="constrained", sharex=True, sharey=True
)
for ax, step in zip(grid.flat, shown, strict=False):
    i, theta, offset = path[step]
    for label, name in ((-1, "minus"), (1, "plus")):
        kind = int(label > 0)
        look = {"color": palette_color(kind), "marker": palette_marker(kind), "edgecolor": "white"}
        ax.scatter(*X[y == label].T, s=45, label=name, zorder=2, **look)
    ax.scatter(*X[i], s=170, facecolor="none", edgecolor=TEXT_COLOR, linewidth=2, label="mistake")
    if step:
        draw_line(ax, *path[step - 1][1:], color=TEXT_COLOR, ls=":", lw=1.4, label="line before")
    draw_line(ax, theta, offset, color=TEXT_COLOR, lw=2, label="line after")
    wrong = int((y * (X @ theta + offset) <= 0).sum())
    ax.set(xlim=(-3.4, 3.6), ylim=(-3.2, 3.4))
    ax.set_title(f"mistake {step + 1} of {len(path)}; now {wrong} wrong")
    style_axes(ax, grid=False)
for ax in grid[-1]:
    ax.set_xlabel("$x_1$")
for ax in grid[:, 0]:
    ax.set_ylabel("$x_2$")
handles = grid[0, 1].get_legend_handles_labels()
figure.legend(*handles, loc="outside lower center", ncols=5, frameon=False)
plt.show()

# %%
# **Mistakes and the bound.** With R the longest row and gamma the widest margin, there are at most
# (R/gamma)^2 mistakes, in whatever order the rows come. Eighty sets of points with gaps of all
# sizes, four orders each:
bounds, counts = [], []
for _ in range(80):
    gap = 10 ** rng.uniform(-1.8, 0.2)
    normal = rng.standard_normal(2)
    normal /= np.linalg.norm(normal)
    points = rng.uniform(-1, 1, (60, 2))
    side = np.where(points @ normal > 0, 1, -1)
    points += gap * side[:, None] * normal
    bound = novikoff_bound(points, side)
    for seed in range(4):
        model = Perceptron(random_state=seed, tol=None, max_iter=5000).fit(points, side)
        bounds.append(bound)
        counts.append(model.mistakes_)
bounds, counts = np.array(bounds), np.array(counts)
print(f"runs above the bound: {(counts > bounds).sum()} of {len(counts)};", end=" ")
used = counts / bounds
print(f"the median run uses {np.median(used):.0%} of it, the worst {used.max():.0%}")

figure, ax = plt.subplots(figsize=(6.2, 4.4), layout="constrained")
ax.loglog(bounds, counts, "o", color=palette_color(0), ms=4, alpha=0.6, label="one run")
ends = np.array([bounds.min(), bounds.max()])
ax.loglog(ends, ends, color=palette_color(1), lw=2, label="as many as the bound allows")
ax.set(xlabel="bound $(R/\\gamma)^2$", ylabel="mistakes made")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# **Knowing by heart.** The note's other extreme: a classifier that keeps every row, answers with
# its label if it meets that very row again, and says minus otherwise. It makes no error on what it
# has seen; on what it has not seen it knows nothing. A straight line errs on both, and a little.


def two_clouds(n):
    label = rng.choice([-1, 1], n)
    return label[:, None] * np.array([1.0, 0.8]) + rng.standard_normal((n, 2)), label


X_new, y_new = two_clouds(4000)
print(f"{'rows':>6}{'by heart: seen':>17}{'new':>8}{'averaged perceptron: seen':>29}{'new':>8}")
for n in (20, 100, 500, 2500):
    X, y = two_clouds(n)
    line = Perceptron(average=True, max_iter=50, random_state=0).fit(X, y)
    heart = MemorizingClassifier().fit(X, y)
    errors = [
        np.mean(m.predict(A) != b) for m in (heart, line) for A, b in ((X, y), (X_new, y_new))
    ]
    print(f"{n:>6}{errors[0]:>17.1%}{errors[1]:>8.1%}{errors[2]:>29.1%}{errors[3]:>8.1%}")
