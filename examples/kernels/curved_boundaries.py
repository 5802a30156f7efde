"""
RBF kernels, and boundaries that no line can draw
=================================================

A kernel says how alike two rows are. With it the perceptron and logistic regression separate rings
and diagonal corners; gamma decides how far a row is heard. [K03, K04, D25]
"""

# %%
# Contours of the RBF kernel around a point: at gamma 0.2 rows two units away still count, at 5 only
# the nearest do. A dot product has lines as contours.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import KernelLogisticRegression, KernelPerceptron, LogisticRegression, Perceptron
from tenfold.datasets import make_noisy_xor, make_rings
from tenfold.kernel import RBF, PolynomialKernel, QuadraticKernel
from tenfold.plot import decision_boundary, kernel_contours
from tenfold.plot.style import palette_color, style_axes

kernels = {f"RBF, gamma = {g:g}": RBF(np.sqrt(0.5 / g)) for g in (0.2, 1.0, 5.0)}
kernels["(1 + x·z)²"] = PolynomialKernel(2)
fig, axes = plt.subplots(1, 4, figsize=(12.5, 3.2), layout="constrained")
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    kernel_contours(kernel, (1.0, 0.5), reach=2.5, ax=ax, levels=6)
    ax.set_title(name)
plt.show()

# %%
# Four corners, opposite ones alike (XOR). The perceptron on the columns never ends; the kernel
# perceptron with x·z + (x·z)² makes one mistake on each of two rows, and knows the answer.
corners = np.array([[2.0, 2], [-2, 2], [-2, -2], [2, -2]])
signs = np.array([1, -1, 1, -1])
quadratic = KernelPerceptron(kernel=QuadraticKernel(), shuffle=False).fit(corners, signs)
print("quadratic kernel: mistakes on each row", quadratic.mistake_counts_[0].tolist(),
      "clean in pass", quadratic.n_iter_)  # fmt: skip
radial = KernelPerceptron(kernel="rbf", gamma=1.0, shuffle=False).fit(corners, signs)
print("RBF kernel:       mistakes on each row", radial.mistake_counts_[0].tolist(),
      "clean in pass", radial.n_iter_)  # fmt: skip

# %%
# Rings and XOR by a line, by the kernel perceptron, and by kernel logistic regression, whose color
# is its confidence.
rings = make_rings(240, random_state=0)
xor = make_noisy_xor(240, random_state=0)
fig, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
for row, (X, y) in zip(axes, (rings, xor), strict=True):
    X, y = np.asarray(X), np.asarray(y)
    models = {
        "perceptron": Perceptron(average=True, random_state=0),
        "kernel perceptron": KernelPerceptron(gamma=1.0, max_iter=300),
        "kernel logistic regression": KernelLogisticRegression(C=10.0, gamma=1.0),
    }
    for ax, (name, model) in zip(row, models.items(), strict=True):
        decision_boundary(model.fit(X, y), X, y, ax=ax)
        ax.set_title(f"{name}, {model.score(X, y):.0%}", fontsize=10)
        if ax.get_legend():
            ax.get_legend().remove()
plt.show()

# %%
# Gamma and the boundary: a small one makes it smooth and unsure, a large one draws an island around
# every row. The kernel perceptron needs fewer epochs the larger gamma is: any labels separate.
X, y = make_rings(160, noise=0.25, random_state=1)
X_new, y_new = make_rings(2000, noise=0.25, random_state=2)
fig, axes = plt.subplots(1, 4, figsize=(12.5, 3.1), layout="constrained")
for ax, gamma in zip(axes, (0.01, 0.5, 5.0, 200.0), strict=True):
    model = KernelLogisticRegression(C=10.0, gamma=gamma).fit(X, y)
    decision_boundary(model, X, y, ax=ax)
    ax.set_title(f"gamma = {gamma:g}, {model.score(X_new, y_new):.0%} of new rows", fontsize=9)
    if ax.get_legend():
        ax.get_legend().remove()
plt.show()

gammas = np.geomspace(0.01, 500, 25)
errors = [
    1 - KernelLogisticRegression(C=10.0, gamma=g).fit(X, y).score(X_new, y_new) for g in gammas
]
epochs = [KernelPerceptron(gamma=g, max_iter=400).fit(X, y) for g in gammas]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(gammas, errors, color=palette_color(0), label="kernel logistic regression")
line = 1 - LogisticRegression().fit(X, y).score(X_new, y_new)
left.axhline(line, color="gray", ls=":", label="logistic regression")
left.set(xscale="log", xlabel="gamma", ylabel="error on new rows")
left.legend()
right.plot(gammas, [m.n_iter_ for m in epochs], "o-", ms=3, color=palette_color(1))
right.set(xscale="log", yscale="log", xlabel="gamma", ylabel="epochs of the kernel perceptron")
for ax in (left, right):
    style_axes(ax)
plt.show()
