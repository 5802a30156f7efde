"""
Dictionaries of digits and faces
================================

The same images, factored with different constraints. Only where codes and atoms are both
non-negative can nothing cancel, and the atoms are parts that one can name.
"""

# %%
# **Digits.** 300 images, 25 atoms: free factors (singular vectors), non-negative codes, and
# non-negative codes and atoms. Red is positive, blue negative.
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tenfold import NMF, MatrixFactorization, datasets
from tenfold.plot.style import COLORS, style_axes

warnings.filterwarnings("ignore", message=".*did not converge")
HAS_DATA = "TENFOLD_DATA" in os.environ
if HAS_DATA:
    digits = datasets.fetch_mnist().data[:300].reshape(-1, 28, 28) / 255
    faces = datasets.fetch_olivetti_faces().data.reshape(-1, 64, 64)[:, ::2, ::2]
else:
    print("Without TENFOLD_DATA: the bundled digits of 8 by 8 pixels take both places.")
    digits = load_digits().images[:300] / 16
    faces = digits


def constrained(X, k=25):
    """The three factorizations of the notes."""
    return {
        "free": MatrixFactorization(k, max_iter=30).fit(X),
        "codes ≥ 0": MatrixFactorization(k, code_set="nonnegative", max_iter=30).fit(X),
        "codes, atoms ≥ 0": NMF(k, max_iter=60).fit(X),
    }


def draw_atoms(ax, atoms, shape, columns=5, *, signed=True):
    """Atoms as images, side by side, each scaled by its largest entry."""
    atoms = atoms / np.maximum(np.abs(atoms).max(axis=1, keepdims=True), 1e-12)
    h, w = shape
    rows = -(-len(atoms) // columns)
    page = np.full((rows * (h + 1) - 1, columns * (w + 1) - 1), np.nan)
    for i, atom in enumerate(atoms):
        y, x = (i // columns) * (h + 1), (i % columns) * (w + 1)
        page[y : y + h, x : x + w] = atom.reshape(shape)
    ax.imshow(page, cmap="RdBu_r" if signed else "gray", vmin=-1 if signed else 0, vmax=1)
    ax.set_axis_off()


def compare(images, title):
    shape = images.shape[1:]
    X = np.ascontiguousarray(images.reshape(len(images), -1), np.float64)
    found = constrained(X)
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.1), layout="constrained")
    for ax, (name, model) in zip(axes, found.items(), strict=True):
        draw_atoms(ax, model.components_, shape)
        error = model.reconstruction_err_ / np.linalg.norm(X)
        ax.set_title(f"{name}: error {error:.1%}", size=11)
    figure.suptitle(title)
    plt.show()
    return X, found


X, found = compare(digits, "25 atoms of digits")

# %%
# With a wide margin (the images shifted within a frame of 20 pixels, 48 by 48 in all) the same
# atoms appear, and nothing in the empty frame.
margin = 20 // 2 if HAS_DATA else 4
padded = np.pad(digits, ((0, 0), (margin, margin), (margin, margin)))
compare(padded, "The same digits with a margin")

# %%
# **Faces.** Non-negative atoms are local: eyes, a nose, the light from one side.
F, of_faces = compare(faces[:200], "25 atoms of faces")

# %%
# **Penalties on the atoms.** Without one, atoms of faces are whole faces in part. An L1 penalty on
# the atoms empties most of them, and those that stay are not local; a squared L2 penalty keeps
# all. Hoyer's sparseness asks for local ones directly.
shape = faces.shape[1:]
settings = {
    "no penalty": {},
    "L1 on atoms": {"alpha_H": 2e-2, "l1_ratio": 1.0},
    "L2 on atoms": {"alpha_H": 2e-2, "l1_ratio": 0.0},
    "sparseness 0.5": {"sparseness_H": 0.5, "init": "nndsvd"},
}
figure, axes = plt.subplots(1, 4, figsize=(12.5, 3.6), layout="constrained")
for ax, (name, options) in zip(axes, settings.items(), strict=True):
    model = NMF(16, max_iter=60, **options).fit(F)
    empty = (model.components_.max(axis=1) < 1e-3).sum()
    draw_atoms(ax, model.components_, shape, 4, signed=False)
    ax.set_title(f"{name}: {empty} empty", size=11)
plt.show()

# %%
# **Total usage.** How much of all codes goes to each atom, each scaled to length one. Free factors
# lean on the first atom, the mean image, and correct it by all others; parts share the work.
figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for color, (name, model) in zip(COLORS, found.items(), strict=False):
    usage = model.usage_ * np.linalg.norm(model.components_, axis=1)
    share = np.sort(usage)[::-1] / usage.sum()
    ax.plot(range(1, 26), share, "o-", color=color, ms=4, label=name)
ax.set(xlabel="atom, by its usage", ylabel="share of all codes")
style_axes(ax)
ax.legend(frameon=False)
plt.show()

# %%
# **How many atoms?** Each atom more lowers the error, but from some number on new atoms are
# noise: the smallest share of neighbouring pixels that an atom has in common falls. The largest
# r at which every atom still looks like an image is the answer to Exercise 4.3.2 of 001.


def smoothness(atoms, shape):
    """Correlation of neighbouring pixels of each atom: near 0 for noise."""
    images = atoms.reshape(-1, *shape)
    images = images - images.mean(axis=(1, 2), keepdims=True)
    beside = (images[:, :, 1:] * images[:, :, :-1]).sum(axis=(1, 2))
    return beside / np.maximum((images**2).sum(axis=(1, 2)), 1e-12)


sizes = [5, 10, 25, 50, 100]
side = digits.shape[1:]
curves = {"free": [], "atoms ≥ 0": []}
for r in sizes:
    free = MatrixFactorization(min(r, X.shape[1]), max_iter=5).fit(X)
    curves["free"].append(smoothness(free.components_, side).min())
    atoms = NMF(r, init="nndsvda" if r <= X.shape[1] else "random", max_iter=25).fit(X).components_
    curves["atoms ≥ 0"].append(smoothness(atoms, side).min())
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for color, (name, values) in zip(COLORS, curves.items(), strict=False):
    ax.plot(sizes, values, "o-", color=color, label=name)
ax.axhline(0.3, color="#888888", lw=1, ls=":")
ax.set(xlabel="number of atoms r", ylabel="smoothness of the roughest atom", xscale="log")
ax.set_xticks(sizes, [str(r) for r in sizes])
style_axes(ax)
ax.legend(frameon=False)
plt.show()
