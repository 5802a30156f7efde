"""
Points from which curves give the rows
======================================

A Gaussian process latent variable model turns regression around: the inputs are unknown, and are
found such that smooth functions of them give the rows. [F08]
"""

# %%
# Three digits in two dimensions: by PCA, by a model with a curved kernel, and by the same with a
# back constraint. The shade is the standard deviation of a row at each place: light where the
# model knows what rows look like.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tenfold import GPLVM, PCA
from tenfold.kernel import LinearKernel, WhiteKernel

X, y = load_digits(return_X_y=True)
keep = np.flatnonzero(np.isin(y, [0, 1, 6]))[:150]
X, y = X[keep], y[keep]
curved = GPLVM(2).fit(X)
back = GPLVM(2, back_constraint=True, tol=1e-5).fit(X)

fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
scores = PCA(2).fit_transform(X)
for ax, model, title in zip(
    axes, (None, curved, back), ("PCA", "GPLVM", "with a back constraint"), strict=True
):
    Z = scores if model is None else model.embedding_
    if model is not None:
        low, high = Z.min(axis=0) - 0.3, Z.max(axis=0) + 0.3
        u, v = np.meshgrid(np.linspace(low[0], high[0], 50), np.linspace(low[1], high[1], 50))
        shade = model.inverse_transform(np.c_[u.ravel(), v.ravel()], return_std=True)[1]
        ax.contourf(u, v, shade.reshape(u.shape), levels=12, cmap="Greys", alpha=0.6)
    for digit in (0, 1, 6):
        ax.scatter(*Z[y == digit].T, s=14, color=plt.cm.tab10(digit), label=str(digit))
    ax.set(title=title, xticks=[], yticks=[])
axes[0].legend(frameon=False)
plt.show()

# %%
# A walk through the map, and the rows that the model sees there.
a, b = curved.embedding_[y == 0].mean(axis=0), curved.embedding_[y == 6].mean(axis=0)
path = a + np.linspace(0, 1, 9)[:, None] * (b - a)
fig, axes = plt.subplots(1, 9, figsize=(11, 1.5), layout="constrained")
for ax, row in zip(axes, curved.inverse_transform(path), strict=True):
    ax.imshow(row.reshape(8, 8), cmap="Greys", vmin=0, vmax=16)
    ax.set_axis_off()
plt.show()

# %%
# With a linear kernel the model is probabilistic PCA: its points span the scores of PCA.
linear = GPLVM(2, kernel=LinearKernel() + WhiteKernel(0.5), prior_precision=0.0).fit(X)
Q = np.linalg.qr(linear.embedding_ - linear.embedding_.mean(axis=0))[0]
left = scores - Q @ (Q.T @ scores)
print(f"share of the scores that is left out: {(left**2).sum() / (scores**2).sum():.1e}")
print(f"log-likelihood: linear {linear.log_likelihood_:.0f}, curved {curved.log_likelihood_:.0f}")
