"""
Convolution, and digits that may lie anywhere
=============================================

The numbers of the notes by hand, then their experiment: digits 0 to 4 are put somewhere in a wider
field of zeros. Models of single pixels lose sight of them; a convolutional network, which has the
same filters at every place, loses less. Its filters and maps, and what it looks at.
"""

# %%
# A filter moves over an image; layers of networks compute the cross-correlation. A convolution has
# the filter turned round, which makes no difference where the filter is learned.
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import (
    BernoulliNB,
    LogisticRegression,
    MLPClassifier,
    SequentialClassifier,
    datasets,
    neural,
    plot,
)
from tenfold.neural import Conv2d, Dense, Flatten, MaxPool, RandomPadding
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching import convolve, cross_correlate, pool

warnings.simplefilter("ignore", ConvergenceWarning)  # networks have a number of epochs here
image = [[1, 1, 2, 1, 1], [3, 1, 4, 1, 1], [1, 3, 1, 2, 2], [1, 2, 1, 1, 1], [1, 1, 2, 1, 1]]
kernel = [[1, -2, 0], [1, 0, 1], [-1, 1, 0]]
z = cross_correlate(image, kernel)
print("cross-correlation", z.tolist(), "\nconvolution", convolve(image, kernel).tolist())
print("ReLU and 2 x 2 pool", pool(np.maximum(z, 0), stride=1).tolist())
print("on a line", cross_correlate([1, 2, 3], [1, 2], padding="full").tolist())

# %%
# Sizes and parameters of the network of the notes, for images of 48 x 48. All of its filters
# together have fewer weights than one dense layer needs for a few units.


def cnn(filters=8):
    return [
        Conv2d(filters, KERNEL, "relu", padding=AROUND),
        MaxPool(2),
        Conv2d(filters, KERNEL, "relu", padding=AROUND),
        MaxPool(2),
        Flatten(),
        Dense(64, "relu"),
        Dense(5),
    ]


KERNEL, AROUND = 5, 0
for size in neural.layer_sizes(cnn(), (48, 48, 1)):
    print(f"{size.layer:8s} {size.output!s:14s} {size.parameters:7,d} parameters")

# %%
# MNIST if its folder is named by TENFOLD_DATA, else scikit-learn's small digits.
rng = np.random.default_rng(0)
if os.environ.get("TENFOLD_DATA"):
    bunch = datasets.fetch_mnist()
    images, y, SIDE = bunch.images / np.float32(255), bunch.target, 28
    THICK, SEEN = (0, 10, 20), 2_000
else:
    bunch = datasets.load_digits()
    images, y, SIDE = bunch.data.reshape(-1, 8, 8).astype(np.float32) / 16, bunch.target, 8
    THICK, SEEN, KERNEL, AROUND = (0, 2, 4), 8_000, 3, "same"
    print("No MNIST here (TENFOLD_DATA is not set): scikit-learn's digits of 8 x 8 instead")
chosen = rng.permutation(np.flatnonzero(y < 5))
images, y = images[chosen[:1400]], y[chosen[:1400]]
test = slice(min(1000, len(y) - 300), None)

# %%
# Random padding of thickness r: the image lies anywhere in a field that is r pixels wider.
padded = {r: neural.augment(images, [RandomPadding(r)], seed=r) for r in THICK}
fig, axes = plt.subplots(1, 9, figsize=(11, 1.5), layout="constrained")
for i, ax in enumerate(axes):
    ax.imshow(padded[THICK[i // 3]][i], cmap="gray_r")
    ax.set_title(f"r = {THICK[i // 3]}", size=8)
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# Five models, more and more padding, more and more examples.
steps = {"learning_rate": 0.003, "batch_size": 32, "random_state": 0}


def models(n):
    dense = {"learning_rate_init": 0.005, "batch_size": 20, "tol": 0, "random_state": 0}
    epochs = {"max_iter": max(10, min(100, 4000 // n)), "n_iter_no_change": 200}
    return {
        "softmax regression": LogisticRegression(C=0.1),
        "naive Bayes": BernoulliNB(binarize=0.5),
        "2 layers, 10 units": MLPClassifier((10,), **dense, **epochs),
        "3 layers, 10 units": MLPClassifier((10, 10), **dense, **epochs),
        "convolutional": SequentialClassifier(cnn(), epochs=max(8, SEEN // n), **steps),
    }


def score(name, model, n, r):
    x = padded[r][..., None] if name == "convolutional" else padded[r].reshape(len(y), -1)
    return model.fit(x[:n], y[:n]).score(x[test], y[test])


sizes = (50, 300, 500, test.start)
fig, axes = plt.subplots(1, 4, figsize=(13, 3.3), sharey=True, layout="constrained")
for ax, n in zip(axes, sizes, strict=True):
    for i, (name, model) in enumerate(models(n).items()):
        found = [score(name, model, n, r) for r in THICK]
        ax.plot(THICK, found, marker="o", ms=4, lw=2, color=palette_color(i), label=name)
        print(f"{n:5d} examples, {name:20s}" + "".join(f"{share:8.1%}" for share in found))
    ax.set(title=f"{n} examples", xlabel="padding r", xticks=THICK)
    style_axes(ax)
axes[0].set(ylabel="unseen digits right")
axes[-1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.02, 0.5))
plt.show()

# %%
# How many filters? With 200 examples and some padding, two are too few; many do no harm.
r, n = THICK[1], 200
x = padded[r][..., None]
for filters in (2, 5, 10, 20):
    model = SequentialClassifier(cnn(filters), epochs=SEEN // 133, **steps).fit(x[:n], y[:n])
    known, unseen = model.score(x[:n], y[:n]), model.score(x[test], y[test])
    print(f"{filters:3d} filters: {known:.1%} of what was learned, {unseen:.1%} of unseen digits")

# %%
# Inside one that was trained on all: filters of the first layer, what both layers make of two
# images of each of two digits, and the pixels that change the score of the class that wins.
n = sizes[-1]
model = SequentialClassifier(cnn(), epochs=max(8, SEEN // n), **steps).fit(x[:n], y[:n])
plot.filters(model)
plt.show()
for digit in (0, 1):
    for at in test.start + np.flatnonzero(y[test] == digit)[:2]:
        plot.feature_maps(model, x[at], layer=0)
        plot.feature_maps(model, x[at], layer=2)
plt.show()
plot.saliency(model, x[test][:7])
plt.show()

# %%
# Why it works: a shift of the image is a shift of the map, so what was learned at one place is
# known at all of them.
still = np.zeros((1, *x.shape[1:]), np.float32)
still[0, 2 : 2 + SIDE - 4, 2 : 2 + SIDE - 4] = images[0][2:-2, 2:-2, None]
moved = np.roll(still, (2, 1), axis=(1, 2))
here, there = (model.outputs(each)[0][0] for each in (still, moved))
print("largest difference", np.abs(np.roll(here, (2, 1), axis=(0, 1)) - there)[4:-4, 4:-4].max())
