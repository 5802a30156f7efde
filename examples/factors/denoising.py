"""
Patches, denoising, networks
============================

An image is cut into patches; a dictionary of patches codes each by few atoms. What the atoms
cannot say is noise, and noise atoms can take it up. Networks have patches too.
"""

# %%
# **An image and its patches.**
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from tenfold import (
    NMF,
    DictionaryLearning,
    MiniBatchDictionaryLearning,
    NetworkDictionary,
    SparseCoder,
    datasets,
    denoise_image,
    extract_patches_2d,
    reconstruct_from_patches_2d,
)
from tenfold.plot.style import COLORS

warnings.filterwarnings("ignore", message=".*did not converge")
SIZE = (8, 8)
if "TENFOLD_DATA" in os.environ:
    image = datasets.fetch_olivetti_faces().data.reshape(-1, 64, 64)[20].astype(np.float64)
else:
    image = load_sample_image("china.jpg").mean(axis=2)[100:180:1, 200:280:1] / 255
patches = extract_patches_2d(image, SIZE).reshape(-1, 64)
centered = patches - patches.mean(axis=1, keepdims=True)
learned = {
    "DictionaryLearning": DictionaryLearning(
        81, alpha=0.05, max_iter=20, tol=1e-4, random_state=0
    ).fit(centered),
    "online": MiniBatchDictionaryLearning(
        81, alpha=0.05, batch_size=128, max_iter=5, random_state=0
    ).fit(centered),
    "NMF": NMF(36, max_iter=50).fit(patches),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for ax, (name, model) in zip(axes, learned.items(), strict=True):
    atoms = model.components_ / np.abs(model.components_).max(axis=1, keepdims=True)
    side = int(np.sqrt(len(atoms)))
    page = np.full((side * 9 - 1, side * 9 - 1), np.nan)
    for i, atom in enumerate(atoms):
        y, x = 9 * (i // side), 9 * (i % side)
        page[y : y + 8, x : x + 8] = atom.reshape(SIZE)
    ax.imshow(page, cmap="gray")
    ax.set_title(f"{name}: {len(atoms)} atoms")
    ax.set_axis_off()
plt.show()

# %%
# **Reconstruction** from patches of which each is coded by k atoms of an overcomplete dictionary.
D = learned["DictionaryLearning"].components_
figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
axes[0].imshow(image, cmap="gray")
axes[0].set_title("image")
mean = patches.mean(axis=1, keepdims=True)
for ax, k in zip(axes[1:], (1, 3, 8), strict=True):
    coder = SparseCoder(D, transform_algorithm="omp", transform_n_nonzero_coefs=k)
    again = coder.inverse_transform(coder.transform(centered)) + mean
    made = reconstruct_from_patches_2d(again.reshape(-1, *SIZE), image.shape)
    ax.imshow(made, cmap="gray", vmin=image.min(), vmax=image.max())
    ax.set_title(f"{k} atoms: error {np.linalg.norm(made - image) / np.linalg.norm(image):.1%}")
for ax in axes:
    ax.set_axis_off()
plt.show()

# %%
# **Denoising.** Gaussian noise is what few atoms cannot say. Lost pixels are no sum of atoms
# either, but single pixels as noise atoms say them well, and are left out of the picture.
rng = np.random.default_rng(0)
grainy = image + 0.1 * rng.normal(size=image.shape)
lost = np.where(rng.random(image.shape) < 0.1, 1.0, image)
cleaned = {
    "Gaussian noise": grainy,
    "denoised": denoise_image(grainy, D, patch_size=SIZE, alpha=0.25),
    "lost pixels": lost,
    "without noise atoms": denoise_image(lost, D, patch_size=SIZE, alpha=0.05),
    "with noise atoms": denoise_image(
        lost, D, patch_size=SIZE, alpha=0.05, noise_atoms="impulse", noise_alpha=0.08
    ),
}
figure, axes = plt.subplots(1, 5, figsize=(13, 3), layout="constrained")
for ax, (name, picture) in zip(axes, cleaned.items(), strict=True):
    ax.imshow(picture, cmap="gray", vmin=image.min(), vmax=image.max())
    ax.set_title(f"{name}\nerror {np.sqrt(((picture - image) ** 2).mean()):.3f}", size=10)
    ax.set_axis_off()
plt.show()

# %%
# **Patches of a network**: the links among the nodes of a sampled path. A network of groups and a
# ring with shortcuts are made of other patterns.
group = np.repeat(np.arange(4), 30)
chance = np.where(group[:, None] == group, 0.5, 0.01)
blocks = np.triu(rng.random((120, 120)) < chance, 1).astype(float)
ring = np.zeros((120, 120))
for step in (1, 2):
    ring[np.arange(120), (np.arange(120) + step) % 120] = 1
shortcuts = rng.integers(120, size=(12, 2))
ring[shortcuts[:, 0], shortcuts[:, 1]] = 1
np.fill_diagonal(ring, 0)
networks = {"four groups": blocks + blocks.T, "ring with shortcuts": np.maximum(ring, ring.T)}
figure, axes = plt.subplots(2, 7, figsize=(11.5, 3.6), layout="constrained")
for line, (name, A) in zip(axes, networks.items(), strict=True):
    model = NetworkDictionary(6, path_length=8, n_samples=1500, random_state=0).fit(A)
    line[0].spy(A, markersize=1, color=COLORS[0])
    line[0].set_title(name, size=10)
    for ax, j in zip(line[1:], np.argsort(-model.importance_), strict=True):
        ax.imshow(model.components_[j], cmap="Blues", vmin=0, vmax=1)
        ax.set_title(f"{model.importance_[j]:.0%}", size=10)
    for ax in line:
        ax.set_xticks([])
        ax.set_yticks([])
plt.show()
