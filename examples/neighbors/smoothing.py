"""
Averages of neighbors: from all details to none
===============================================

Regression by K neighbors and by a kernel both average targets nearby. K and the width of the kernel
say what is near: at one end of the scale stands the nearest row, at the other the mean of all.
[K07, D24]
"""

# %%
# A curve with noise. The average over K neighbors has steps, that of a kernel is smooth.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import KNeighborsRegressor, LinearRegression, NadarayaWatsonRegressor
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(0)
n = 80
x = np.sort(rng.uniform(0, 10, n))
curve = lambda t: np.sin(t) + 0.3 * t  # noqa: E731
y = curve(x) + 0.4 * rng.normal(size=n)
grid = np.linspace(-0.5, 10.5, 600)

fig, axes = plt.subplots(2, 4, figsize=(13, 5.4), layout="constrained", sharex=True, sharey=True)
for ax, K in zip(axes[0], (1, 7, 30, n), strict=True):
    model = KNeighborsRegressor(K).fit(x[:, None], y)
    ax.plot(grid, model.predict(grid[:, None]), color=palette_color(1))
    ax.set_title(f"K = {K}")
for ax, width in zip(axes[1], (0.01, 0.35, 1.5, 100.0), strict=True):
    model = NadarayaWatsonRegressor(bandwidth=width).fit(x[:, None], y)
    ax.plot(grid, model.predict(grid[:, None]), color=palette_color(1))
    ax.set_title(f"width = {width:g}")
for ax in axes.ravel():
    ax.scatter(x, y, s=10, color=palette_color(0), alpha=0.6)
    ax.plot(grid, curve(grid), color="gray", lw=1, ls=":")
    style_axes(ax)
plt.show()

# %%
# The limits are exact: a kernel without width predicts as the nearest row does, one without end
# the mean.
nearest = KNeighborsRegressor(1).fit(x[:, None], y).predict(grid[:, None])
narrow = NadarayaWatsonRegressor(bandwidth=1e-6).fit(x[:, None], y).predict(grid[:, None])
wide = NadarayaWatsonRegressor(bandwidth=1e6).fit(x[:, None], y).predict(grid[:, None])
print(f"narrow: {np.abs(narrow - nearest).max():.1e} from the nearest row")
print(f"wide:   {np.abs(wide - y.mean()).max():.1e} from the mean")

# %%
# Errors on new rows over K and over the width, each with one best place in the middle. Leaving one
# row out at a time finds the width without new rows.
x_new = rng.uniform(0, 10, 2000)
y_new = curve(x_new) + 0.4 * rng.normal(size=2000)


def error(model):
    return np.mean((model.fit(x[:, None], y).predict(x_new[:, None]) - y_new) ** 2)


Ks = np.unique(np.geomspace(1, n, 30).astype(int))
widths = np.geomspace(0.02, 20, 40)
chosen = NadarayaWatsonRegressor(bandwidth="loo").fit(x[:, None], y)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
left.plot(Ks, [error(KNeighborsRegressor(int(K))) for K in Ks], color=palette_color(0))
left.set(xscale="log", xlabel="neighbors K", ylabel="mean squared error, new rows")
right.plot(widths, [error(NadarayaWatsonRegressor(bandwidth=h)) for h in widths])
right.axvline(chosen.bandwidth_, color=palette_color(1), ls="--", label="leaving one out")
right.set(xscale="log", xlabel="width of the kernel")
right.legend()
for ax in (left, right):
    ax.axhline(error(LinearRegression()), color="gray", ls=":", lw=1.2)
    ax.text(ax.get_xlim()[0] * 1.1, error(LinearRegression()) * 1.02, "straight line", color="gray")
    style_axes(ax)
plt.show()
