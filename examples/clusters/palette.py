"""
A picture in 32 colours
=======================

The colours of a picture are points with three coordinates. Their clusters make a palette: each
pixel then names one of a few colours, which takes fewer bits.
"""

# %%
# What a palette saves follows from counting. The notes count 5 x 24 bits for a palette of 32
# colours; a palette holds 32 colours of 24 bits each.
import warnings
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.exceptions import ConvergenceWarning

from tenfold import KMeans, KMedoids, choose_k, quantize
from tenfold.cluster import image_bits
from tenfold.plot import elbow
from tenfold.plot.style import palette_color, palette_marker, style_axes

size = image_bits(1024 * 1024, 32)
rows = [
    ("full colour, bits", "25,165,824", f"{size.full:,}"),
    ("with 32 colours, bits", "5,243,000", f"{size.reduced:,}"),
    ("with 32 colours, KB", "640.01", f"{size.reduced / 8 / 1024:.2f}"),
    ("colours of 24 bits", "12,777,216", f"{2**24:,}"),
]
print(f"{'1024 x 1024 pixels':24s} {'in the notes':>14s} {'here':>14s}")
for what, noted, ours in rows:
    print(f"{what:24s} {noted:>14s} {ours:>14s}")

# %%
# A photograph needs more colours than a drawing: with four, the shades of a petal fall together.
photograph = load_sample_image("flower.jpg")[::3, ::3]
palettes = {k: quantize(photograph, k) for k in (4, 8, 32)}

fig, axes = plt.subplots(1, 4, figsize=(12, 2.6), layout="constrained")
axes[0].imshow(photograph)
axes[0].set_title(f"{len(np.unique(photograph.reshape(-1, 3), axis=0)):,} colours")
for ax, (k, found) in zip(axes[1:], palettes.items(), strict=True):
    ax.imshow(found.image)
    ax.set_title(f"{k} colours, {found.size.ratio:.1f} times smaller")
for ax in axes:
    ax.set_axis_off()
plt.show()

# %%
# The palette of 32 colours itself, the most frequent first.
found = palettes[32]
counts = np.bincount(found.codes.ravel(), minlength=32)
fig, ax = plt.subplots(figsize=(9, 0.9), layout="constrained")
ax.imshow(found.colors[np.argsort(-counts)][None])
ax.set_axis_off()
plt.show()

# %%
# How many colours? That is a trade between error and bits which the use decides; the knee of the
# cost is only a suggestion. Every colour lowers the cost, and at one colour for each pixel it is 0.
pixels = photograph.reshape(-1, 3)[::20].astype(float)
choice = choose_k(KMeans(n_init=2, random_state=0), pixels, range(1, 17))
elbow(choice).set_title("squared error of the colours")
plt.show()

# %%
# Medoids are colours of the picture itself. They cost more time: a round of k-means looks at
# n x k distances, k-medoids at all n x n of them once, and at most of them again in each round.
# Here are whole fits from the same start on the same rows, the fastest of three.
SIZES = [1000, 2000, 4000, 8000]
drawn = np.random.default_rng(0).normal(size=(SIZES[-1], 3))
times = {"k-means": [], "k-medoids": []}
for n in SIZES:
    fits = {
        "k-means": KMeans(8, init=drawn[:8], n_init=1, max_iter=20, tol=0),
        "k-medoids": KMedoids(8, init=np.arange(8), max_iter=20, method="alternate"),
    }
    for name, model in fits.items():
        seconds = []
        for _ in range(3):
            start = process_time()
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                model.fit(drawn[:n])
            seconds.append(process_time() - start)
        times[name].append(min(seconds))

fig, ax = plt.subplots(layout="constrained")
for i, (name, seconds) in enumerate(times.items()):
    ax.loglog(SIZES, seconds, color=palette_color(i), marker=palette_marker(i), label=name)
    growth = seconds[-1] / seconds[-2]
    print(f"{name}: {seconds[-1]:.3f} s for {SIZES[-1]} rows, twice the rows cost {growth:.1f} x")
ax.set(xlabel="rows n", ylabel="seconds of CPU for a fit", xticks=SIZES, xticklabels=SIZES)
ax.minorticks_off()
style_axes(ax)
ax.legend(frameon=False)
plt.show()
