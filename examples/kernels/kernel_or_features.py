"""
Kernel or explicit features: what each of them costs
====================================================

A polynomial kernel of degree q equals a dot product of some d^q features. The kernel needs time in
n², the features in n d^q; the series of RBF has no end, and its first terms are enough. [K09, D25]
"""

# %%
# (1 + x·z)^q as a kernel matrix, and as a product of explicit features. Both give the same numbers.
from math import comb
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

from tenfold.kernel import RBF, PolynomialKernel, explicit_features, gram_matrix, rbf_series
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(0)
X = rng.normal(size=(5, 3))
K = gram_matrix(X, PolynomialKernel(3))
features = explicit_features(PolynomialKernel(3), 3)(X)
gap = np.abs(features @ features.T - K).max()
print(f"{features.shape[1]} features; largest difference {gap:.1e}")


# %%
# Times over the number of rows n, of columns d, and the degree q: ridge regression on the kernel
# matrix (n x n) and on the features (comb(d + q, q) columns). Each number is the best of five, on
# one thread.
def seconds(work):
    times = []
    with threadpool_limits(1):
        for _ in range(5):
            start = process_time()
            work()
            times.append(process_time() - start)
    return min(times)


def by_kernel(X, y, q):
    K = gram_matrix(X, PolynomialKernel(q))
    K.flat[:: len(K) + 1] += 1.0
    return np.linalg.solve(K, y)


def by_features(X, y, q):
    phi = explicit_features(PolynomialKernel(q), X.shape[1])(X)
    gram = phi.T @ phi
    gram.flat[:: len(gram) + 1] += 1.0
    return np.linalg.solve(gram, phi.T @ y)


sweeps = {
    "rows n  (d = 8, q = 2)": [(n, 8, 2) for n in (100, 200, 400, 800, 1600)],
    "columns d  (n = 400, q = 2)": [(400, d, 2) for d in (4, 8, 16, 32, 48)],
    "degree q  (n = 400, d = 6)": [(400, 6, q) for q in (1, 2, 3, 4, 5)],
}
fig, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained", sharey=True)
for place, (ax, (name, sizes)) in enumerate(zip(axes, sweeps.items(), strict=True)):
    kernel_times, feature_times = [], []
    for n, d, q in sizes:
        X, y = rng.normal(size=(n, d)), rng.normal(size=n)
        kernel_times.append(seconds(lambda X=X, y=y, q=q: by_kernel(X, y, q)))
        feature_times.append(seconds(lambda X=X, y=y, q=q: by_features(X, y, q)))
    shown = [size[place] for size in sizes]
    ax.plot(shown, kernel_times, "o-", color=palette_color(0), label="kernel")
    ax.plot(shown, feature_times, "s-", color=palette_color(1), label="explicit features")
    ax.set(xlabel=name, yscale="log", xscale="log" if place < 2 else "linear")
    ax.set_xticks(shown, [f"{size:,}" for size in shown])
    ax.minorticks_off()
    style_axes(ax)
axes[0].set_ylabel("seconds of the processor")
axes[0].legend()
plt.show()
for d, q in ((2, 2), (100, 2), (100, 5), (784, 3)):
    print(f"d = {d:3d}, q = {q}: {comb(d + q, q):,} features, or one product and a power")

# %%
# The RBF kernel has infinitely many features: ``exp(-gamma |x - z|²)`` is a series in x·z. Cut off
# after degree m, the error falls faster than any power; more terms are needed where rows lie far.
kernel = RBF(1.0)
grid = np.linspace(-3, 3, 200)[:, None]
point = np.array([[1.0]])
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
left.plot(grid, kernel(grid, point), color="black", label="RBF")
for i, degree in enumerate((1, 2, 4, 8)):
    phi = rbf_series(kernel, 1, degree)
    left.plot(grid, phi(grid) @ phi(point).T, color=palette_color(i), label=f"degree {degree}")
left.set(xlabel="x", ylabel="k(x, 1)")
left.legend(fontsize=8)
degrees = np.arange(1, 31)
for i, reach in enumerate((0.5, 1.0, 2.0, 3.0)):
    Z = rng.uniform(-reach, reach, (60, 2))
    exact = kernel(Z, Z)
    phis = (rbf_series(kernel, 2, int(m))(Z) for m in degrees)
    errors = [np.abs(phi @ phi.T - exact).max() for phi in phis]
    right.semilogy(degrees, errors, color=palette_color(i), label=f"rows within ±{reach:g}")
right.set(xlabel="degree at which the series is cut", ylabel="largest error", ylim=(1e-17, 2))
right.legend(fontsize=8)
for ax in (left, right):
    style_axes(ax)
plt.show()
