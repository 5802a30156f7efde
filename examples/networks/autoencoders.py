"""
Autoencoders: faces and digits through a narrow code
====================================================

A network that is trained to give back its input must say in its code what matters. Faces restored
from as many numbers by principal components and by an autoencoder; noise removed; digits drawn
from a variational autoencoder; digits found by a code of 32 bits.
"""

# %%
# Olivetti's faces and MNIST if TENFOLD_DATA names their folder, else scikit-learn's small digits.
import os

import matplotlib.pyplot as plt
import numpy as np

from tenfold import PCA, Autoencoder, SemanticHashing, VariationalAutoencoder, datasets
from tenfold.optim.schedules import CosineDecay
from tenfold.plot.style import palette_color, palette_marker, style_axes

if os.environ.get("TENFOLD_DATA"):
    bunch = datasets.fetch_olivetti_faces()
    faces = bunch.images[:, ::2, ::2].astype(np.float32)
    faces = faces / faces.max()
    digits = datasets.fetch_mnist()
    images, labels = digits.images[:4000] / np.float32(255), digits.target[:4000]
else:
    print("No faces here (TENFOLD_DATA is not set): scikit-learn's digits of 8 x 8 instead")
    digits = datasets.load_digits()
    images, labels = digits.images.astype(np.float32) / 16, digits.target
    faces = images[:400]
rows = images.reshape(len(images), -1)

# %%
# Faces from 16 numbers. A linear autoencoder finds the space of the principal components; one with
# hidden layers may bend it. Every twentieth face was not seen in
# training.
people = faces.reshape(len(faces), -1)
held_out = np.arange(len(people)) % 20 == 7
mean = people[~held_out].mean(axis=0)  # without it the columns are nearly collinear
known, new = people[~held_out] - mean, people[held_out] - mean
pca = PCA(16).fit(known)
rate = CosineDecay(0.001, None)
settings = {"epochs": 100, "batch_size": 32, "learning_rate": rate, "random_state": 0}
linear = Autoencoder(16, optimizer="lbfgs", epochs=300, tol=1e-3, random_state=0).fit(known)
deep = Autoencoder(16, (200,), activation="elu", **settings).fit(known)
restored = {
    "faces": new,
    "PCA": pca.inverse_transform(pca.transform(new)),
    "linear": linear.reconstruct(new),
    "deep": deep.reconstruct(new),
}
for name, values in restored.items():
    print(f"{name:8s} mean squared error of new faces {np.square(values - new).mean():.5f}")


def show_rows(pictures, shape, title):
    """Rows of pictures, one for each name."""
    n = len(next(iter(pictures.values())))
    figure, axes = plt.subplots(len(pictures), n, figsize=(1.05 * n, 1.15 * len(pictures)))
    for line, (name, images_of_row) in zip(axes, pictures.items(), strict=True):
        for axis, image in zip(line, images_of_row, strict=True):
            axis.imshow(np.asarray(image).reshape(shape), cmap="gray", vmin=0, vmax=1)
            axis.set_xticks([])
            axis.set_yticks([])
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    figure.suptitle(title)
    figure.tight_layout()


show_rows(
    {name: values[::2] + mean for name, values in restored.items()},
    faces.shape[1:],
    "New faces from 16 numbers",
)

# %%
# A denoising autoencoder sees disturbed rows and is asked for the clean ones.
rng = np.random.default_rng(0)
train, test = rows[:-200], rows[-200:]
noisy = np.where(rng.random(test.shape) < 0.25, rng.integers(0, 2, test.shape), test)
denoising = Autoencoder(
    32,
    (128,),
    noise="salt_and_pepper",
    noise_level=0.25,
    loss="bernoulli",
    epochs=8,
    learning_rate=0.003,
    random_state=0,
).fit(train)
cleaned = denoising.reconstruct(noisy)
print(f"squared error of noisy digits   {np.square(noisy - test).mean():.4f}")
print(f"squared error of cleaned digits {np.square(cleaned - test).mean():.4f}")
show_rows(
    {"clean": test[:10], "noisy": noisy[:10], "restored": cleaned[:10]},
    images.shape[1:],
    "Salt and pepper removed",
)

# %%
# Tied weights, and a sparse code: few of its values are away from zero.
sparse = Autoencoder(
    64,
    code_activation="sigmoid",
    sparsity="kl",
    sparsity_weight=0.5,
    tied=True,
    loss="bernoulli",
    epochs=8 if len(images) > 2000 else 40,  # as many steps with few digits
    learning_rate=0.003,
    random_state=0,
).fit(train)
code = sparse.transform(test)
print(f"active code units of a digit: {(code > 0.5).sum(axis=1).mean():.1f} of 64")

# %%
# A variational autoencoder with two numbers to a code is a map of the digits, and draws new ones.
vae = VariationalAutoencoder(
    2, (128,), loss="bernoulli", epochs=15, learning_rate=0.003, random_state=0
).fit(train)
grid = np.linspace(-2, 2, 12)
codes = np.array([[x, y] for y in grid[::-1] for x in grid])
tiles = vae.inverse_transform(codes).reshape(12, 12, *images.shape[1:])
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
means = vae.transform(test)
for digit in range(10):
    chosen = means[labels[-200:] == digit]
    look = {"color": palette_color(digit), "marker": palette_marker(digit)}
    left.scatter(*chosen.T, s=22, label=str(digit), **look)
left.legend(title="digit", ncols=2, fontsize=8)
style_axes(left)
left.set_title("Codes of digits that were not seen")
right.imshow(np.concatenate(np.concatenate(tiles, axis=1), axis=1), cmap="gray")
right.set_axis_off()
right.set_title("What the decoder makes of a grid of codes")

# %%
# Semantic hashing: 32 bits a digit, found again by counting different bits.
hashing = SemanticHashing(32, (128,), epochs=10, learning_rate=0.003, random_state=0).fit(train)
_, neighbors = hashing.kneighbors(test, n_neighbors=10)
hits = (labels[:-200][neighbors] == labels[-200:, None]).mean()
print(f"of the ten nearest codes, {hits:.0%} are of the same digit (by chance 10%)")
places = {"nearest": 0, "second": 1, "third": 2}
show_rows(
    {"query": test[:10]} | {name: train[neighbors[:10, k]] for name, k in places.items()},
    images.shape[1:],
    "Digits, and below each those with the nearest codes",
)
plt.show()
