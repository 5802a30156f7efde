"""The picture of `datasets.md`: six generated data sets, and the truth under three of them."""

import matplotlib.pyplot as plt

from tenfold import datasets

CLOUDS = ("make_noisy_xor", "make_rings", "make_three_clouds")
CURVES = ("make_sine", "make_cubic", "make_wiggle")

figure, axes = plt.subplots(2, 3, figsize=(9, 5.6), layout="constrained")
for ax, name in zip(axes.flat, (*CLOUDS, *CURVES), strict=True):
    make = getattr(datasets, name)
    X, y = make(random_state=0)
    if name in CLOUDS:
        ax.scatter(*X.T, c=y, s=9, cmap="tab10", vmax=9)
        ax.set_aspect("equal", "datalim")
    else:
        x, truth = make(n_samples=500, noise=0, random_state=0)
        order = x[:, 0].argsort()
        ax.plot(x[order, 0], truth[order], color="C7", lw=1)
        ax.plot(X[:, 0], y, "o", ms=3.5)
    ax.set(title=name, xticks=[], yticks=[])
