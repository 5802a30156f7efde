"""
Gaussian processes: samples, bands, evidence
============================================

A kernel is a prior over functions. Rows narrow it to a posterior, whose band is wide where there
are none, and the probability of the rows under the prior, the evidence, says which kernel they ask
for. [K06]
"""

import matplotlib.pyplot as plt
import numpy as np

from tenfold import GaussianProcessRegressor, StateSpaceGaussianProcessRegressor
from tenfold.kernel import RBF, ConstantKernel, ExpSineSquared, Matern, WhiteKernel
from tenfold.plot import evidence_surface, prediction_band

# %%
# The prior
# ---------
# Three kernels, and functions drawn from each before any row was seen. The smoothness of the
# functions is that of the kernel at distance zero.

grid = np.linspace(0, 6, 2)[:, None]
fig, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
kernels = {
    "RBF": RBF(1.0),
    "Matern, ν = 1/2": Matern(1.0, nu=0.5),
    "periodic": ExpSineSquared(1.0, periodicity=2.0),
}
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    prediction_band(GaussianProcessRegressor(kernel), grid, n_samples=4, ax=ax)
    ax.set_title(name)
fig.tight_layout()

# %%
# The posterior
# -------------
# Twenty-five noisy rows with a gap. Hyperparameters maximize the evidence.

rng = np.random.default_rng(3)
X = np.sort(np.r_[rng.uniform(0, 3.5, 16), rng.uniform(5.5, 8, 9)])[:, None]
y = np.sin(2 * X[:, 0]) + 0.15 * rng.normal(size=len(X))
kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
model = GaussianProcessRegressor(kernel).fit(X, y)
fig, ax = plt.subplots(figsize=(7, 3.5))
prediction_band(model, X, y=y, ax=ax)
ax.set_title(str(model.kernel_))
fig.tight_layout()

# %%
# Each row predicted from all the others costs no refit:

mean, std = model.predict_leave_one_out()
print("share of rows within two standard deviations:", np.mean(np.abs(y - mean) < 2 * std))

# %%
# The evidence
# ------------
# Lines are as many nats below the maximum as they say. With half of the rows the surface is flat:
# long length scales, with all variation as noise, are hardly less probable.

few = GaussianProcessRegressor(kernel).fit(X[::2], y[::2])
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
evidence_surface(few, parameters=(1, 2), span=3.0, ax=axes[0])
axes[0].set_title(f"{len(X[::2])} rows")
evidence_surface(model, parameters=(1, 2), span=3.0, ax=axes[1])
axes[1].set_title(f"{len(X)} rows")
fig.tight_layout()

# %%
# A hundred thousand rows
# -----------------------
# Over one column a Matern process takes linear time: a fold of Kalman filters.

t = np.sort(rng.uniform(0, 60, 100_000))
signal = np.sin(t) * np.exp(-((t - 30) ** 2) / 200) + 0.3 * rng.normal(size=len(t))
line = StateSpaceGaussianProcessRegressor(
    ConstantKernel(1.0) * Matern(3.0, nu=2.5) + WhiteKernel(0.1), optimizer=None
).fit(t[:, None], signal)
fig, ax = plt.subplots(figsize=(7, 3))
ax.plot(t[::50], signal[::50], ".", ms=1, color="0.7")
ax.plot(t[::50], line.predict(t[::50, None]), lw=1.5)
ax.set(xlabel="t", title=f"evidence {line.log_marginal_likelihood_value_:,.0f}")
fig.tight_layout()
