"""
Kernel machines: margins, tubes and outliers
============================================

A support vector machine with a kernel is a sum over the few rows that decide. C says what an error
costs, gamma how far a row is heard, and every fit says how near it is to the optimum. [K04]
"""

# %%
# Two moons. A small C leaves many rows within the margin, a large gamma draws islands around
# single rows. Circles are support vectors, dashed lines scores of -1 and 1.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from tenfold import SVC, SVR, OneClassSVM
from tenfold.plot import decision_boundary
from tenfold.plot.style import palette_color, style_axes

X, y = make_moons(200, noise=0.25, random_state=0)
X_new, y_new = make_moons(2000, noise=0.25, random_state=1)

fig, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
for row, C in zip(axes, (0.1, 100.0), strict=True):
    for ax, gamma in zip(row, (0.1, 1.0, 30.0), strict=True):
        model = SVC(C=C, gamma=gamma).fit(X, y)
        decision_boundary(model, X, y, ax=ax)
        ax.get_legend().remove()
        ax.set_title(f"C = {C:g}, gamma = {gamma:g}: {len(model.support_)} vectors,\n"
                     f"{model.score(X_new, y_new):.0%} of new rows", fontsize=9)  # fmt: skip
plt.show()

# %%
# The certificate: the violation falls from round to round, and the duality gap bounds how far the
# objective is from its minimum. Along a path of C each fit begins at the last one.
path = SVC(gamma=1.0, warm_start=True)
for C in (0.1, 1.0, 10.0, 100.0):
    path.set_params(C=C).fit(X, y)
    print(
        f"C = {C:5g}: objective {path.objective_[0]:9.2f}, gap {path.duality_gap_[0]:.4f}, "
        f"{path.n_iter_[0]} steps, {len(path.support_)} support vectors"
    )

# %%
# Regression pays nothing within a tube of half-width epsilon: rows inside are no support vectors.
# The outliers of a distribution are what lies outside of its support.
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 80))
target = np.sin(x) + 0.15 * rng.normal(size=80)
line = np.linspace(0, 6, 300)

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
tube = SVR(C=10.0, gamma=1.0, epsilon=0.2).fit(x[:, None], target)
curve = tube.predict(line[:, None])
left.plot(line, curve, color=palette_color(0))
left.fill_between(line, curve - 0.2, curve + 0.2, color=palette_color(0), alpha=0.2, lw=0)
left.plot(x, target, "o", ms=4, color="0.6")
left.plot(x[tube.support_], target[tube.support_], "o", ms=5, color=palette_color(1))
left.set_title(f"{len(tube.support_)} of 80 rows lie on the tube or outside")
style_axes(left)

cloud = rng.normal(size=(300, 2)) * [1.0, 0.5] + np.where(
    rng.random((300, 1)) < 0.5, [2, 1], [-2, 0]
)
inside = OneClassSVM(nu=0.05, gamma=0.3).fit(cloud)
a, b = np.meshgrid(np.linspace(-6, 6, 120), np.linspace(-3, 4, 120))
score = inside.decision_function(np.c_[a.ravel(), b.ravel()]).reshape(a.shape)
right.contour(a, b, score, [0.0], colors=[palette_color(1)])
outlier = inside.predict(cloud) < 0
right.plot(*cloud[~outlier].T, "o", ms=3, color="0.6")
right.plot(*cloud[outlier].T, "x", color=palette_color(1))
right.set_title(f"nu = 0.05: {outlier.sum()} of 300 rows are outside")
style_axes(right)
plt.show()
