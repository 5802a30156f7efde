"""
A project: digits by networks, from one unit to two digits at once
===================================================================

The notes name this project and print neither its text nor its numbers, so the parts below follow
what its unit teaches: a small network by hand, dense networks with one setting changed at a time,
mini-batches, filters, and images of two digits that overlap, with one network that names both.
"""

# %%
# By hand first. A chain of three tanh units, one after the other, and the slope of its squared
# error in the first weight: a product of factors, one for each unit. The notes print the product
# without the last factor, the error itself; with it, it is what layers and differentiator find.
import os
import warnings
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import (
    ConvClassifier,
    LogisticRegression,
    MLPClassifier,
    SequentialClassifier,
    SequentialRegressor,
    datasets,
)
from tenfold.neural import Conv2d, Dense, Dropout, Flatten, MaxPool, losses
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching import autodiff

warnings.simplefilter("ignore", ConvergenceWarning)  # networks have a number of epochs here
x, y, w = 0.7, 0.3, np.array([0.5, -1.2, 0.8])


def chain(w):
    f = x
    for weight in w:
        f = np.tanh(f * weight)
    return f


f1, f2, f3 = (chain(w[:depth]) for depth in (1, 2, 3))
product = (1 - f1**2) * x * (1 - f2**2) * w[1] * (1 - f3**2) * w[2]
slope = autodiff.grad(lambda w: (y - chain(w)) ** 2 / 2)(w)[0]
print(
    f"product {product:.6f}, times the error {product * (f3 - y):.6f}, differentiator {slope:.6f}"
)

# %%
# A network of three ReLU units with a linear one behind them learns ``abs(a - b)`` row by row.
# Forward, errors from the end to the beginning, a step: ten lines. The same stack of layers, from
# the same start with the same order, takes the same steps in single precision.
points = np.random.default_rng(1).uniform(-1, 1, size=(40, 2))
target = np.abs(points[:, 0] - points[:, 1])
settings = {"optimizer": "sgd", "learning_rate": 0.05, "batch_size": 1, "shuffle": False}
stack = SequentialRegressor([Dense(3, "relu"), Dense()], random_state=5, **settings)
start = stack.set_params(epochs=1, learning_rate=1e-30).fit(points, target).params_
V, b, u, c = (p.astype(np.float64) for p in start)
for _ in range(60):
    for row, wanted in zip(points, target, strict=True):
        z = row @ V + b
        a = np.maximum(z, 0)
        error = a @ u + c - wanted  # slope of half the square in the output
        at_units = (u @ error) * (z > 0)  # handed back to the units that were on
        u, c = u - 0.05 * np.outer(a, error), c - 0.05 * error
        V, b = V - 0.05 * np.outer(row, at_units), b - 0.05 * at_units
stack.set_params(epochs=60, learning_rate=0.05).fit(points, target)
by_hand = np.maximum(points @ V + b, 0) @ u + c
print(
    f"mean squared error by hand {np.mean((by_hand[:, 0] - target) ** 2):.5f}, of the layers "
    f"{np.mean((stack.predict(points) - target) ** 2):.5f}"
)
print("largest difference of a weight", np.abs(stack.params_[0] - V).max().round(6))

# %%
# MNIST if its folder is named by TENFOLD_DATA, else scikit-learn's small digits.
rng = np.random.default_rng(0)
if os.environ.get("TENFOLD_DATA"):
    bunch = datasets.fetch_mnist()
    chosen = rng.permutation(len(bunch.target))[:6_000]
    X, digits, SIDE, cut = bunch.data[chosen] / np.float32(255), bunch.target[chosen], 28, 4_000
    EPOCHS = 8
else:
    X, digits = datasets.load_digits(return_X_y=True)
    order = rng.permutation(len(digits))
    X, digits, SIDE, cut = X[order].astype(np.float32) / 16, digits[order], 8, 1_200
    EPOCHS = 20
    print("No MNIST here (TENFOLD_DATA is not set): scikit-learn's 1,797 digits of 8 x 8 instead")
known, new = (X[:cut], digits[:cut]), (X[cut:], digits[cut:])

# %%
# Dense networks, one setting changed at a time: shares right of what was learned and of new digits,
# means over two starts with half their range. Ten units are no better than none (softmax
# regression); width is what helps. A tenth of the rate is too slow for fifteen epochs, and so are
# larger batches where there are few examples; momentum at this rate is too rough, and leaky units
# change nothing.
base = {"hidden_layer_sizes": (10,), "solver": "sgd", "momentum": 0.0, "batch_size": 32}
base |= {"learning_rate_init": 0.1, "activation": "relu", "max_iter": 15, "tol": 0}
changes = {
    "ten units, batches of 32, rate 0.1": {},
    "batches of 128": {"batch_size": 128},
    "rate 0.01": {"learning_rate_init": 0.01},
    "momentum 0.9": {"momentum": 0.9, "nesterovs_momentum": False},
    "leaky ReLU": {"activation": "leaky_relu"},
    "128 units": {"hidden_layer_sizes": (128,)},
    "128 units, Adam": {
        "hidden_layer_sizes": (128,),
        "solver": "adam",
        "learning_rate_init": 0.002,
    },
}
line = LogisticRegression(C=0.1).fit(*known)
print(f"{'no hidden layer':36s}{line.score(*known):8.1%}{line.score(*new):8.1%}")
for name, change in changes.items():
    models = [MLPClassifier(**(base | change), random_state=s).fit(*known) for s in range(2)]
    seen, unseen = ([model.score(*rows) for model in models] for rows in (known, new))
    print(f"{name:36s}{np.mean(seen):8.1%}{np.mean(unseen):8.1%} ± {np.ptp(unseen) / 2:.1%}")

# %%
# Mini-batches. A step on few examples is cheap and rough, a step on many dear and smooth; in the
# same number of epochs small batches take more steps, and get further. One batch of everything is
# plain gradient descent, which fifteen steps do not bring far.
fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for i, size in enumerate((4, 32, 256, cut)):
    model = MLPClassifier(**(base | {"hidden_layer_sizes": (32,), "batch_size": size}))
    model.set_params(random_state=0).fit(*known)
    steps = model.n_iter_ * -(-cut // size)
    print(f"batches of {size:4d}: {steps:5d} steps, {model.score(*new):.1%} of new digits right")
    epochs = range(1, len(model.loss_curve_) + 1)
    ax.plot(epochs, model.loss_curve_, lw=2, color=palette_color(i), label=f"batches of {size}")
ax.set(xlabel="epoch", ylabel="mean loss", yscale="log")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# Filters, which need neither the width nor a tuned rate to do better than all of the above.
conv = ConvClassifier((16, 32), hidden=(64,), dropout=0.3, epochs=EPOCHS, random_state=0)
conv.set_params(batch_size=32).fit(*known)
print(f"convolutional: {conv.score(*known):.1%} of what it learned, {conv.score(*new):.1%} of new")

# %%
# Two digits in one image: the second lies half a digit lower and hides what is fainter.


def overlapping(images, labels, n, seed):
    """Images of two digits, and both labels: the upper, the lower."""
    rng = np.random.default_rng(seed)
    upper, lower = rng.integers(len(images), size=(2, n))
    field = np.zeros((n, SIDE + SIDE // 2, SIDE), np.float32)
    field[:, :SIDE] = images[upper].reshape(-1, SIDE, SIDE)
    below = field[:, SIDE // 2 :]
    np.maximum(below, images[lower].reshape(-1, SIDE, SIDE), out=below)
    return field[..., None], np.column_stack([labels[upper], labels[lower]])


pairs, both = overlapping(*known, 4_000, 0)
pairs_new, both_new = overlapping(*new, 1_000, 1)
fig, axes = plt.subplots(1, 8, figsize=(10, 2), layout="constrained")
for ax, image, (upper, lower) in zip(axes, pairs_new, both_new, strict=False):
    ax.imshow(image[..., 0], cmap="gray_r")
    ax.set_title(f"{upper} over {lower}", size=9)
    ax.set_axis_off()
plt.show()

# %%
# One network for both: layers that are shared, then ten scores for each digit, two heads. What is
# minimised is the sum of two cross-entropies. A loss of one's own says so: how many scores the
# last layer gives, their loss and its slope, and what is predicted of them.


class TwoDigits(NamedTuple):
    """The cross-entropies of the upper and the lower digit, added."""

    labels = "numbers"

    def units(self, targets):
        return 10 * targets

    def value_and_gradient(self, z, y, w):
        heads = [
            losses.CrossEntropy().value_and_gradient(
                np.ascontiguousarray(part), own.astype(np.int64), w
            )
            for part, own in zip(np.split(z, 2, axis=1), y.T, strict=True)
        ]
        return sum(loss for loss, _ in heads), np.hstack([gradient for _, gradient in heads])

    def inverse_link(self, z):
        return z.reshape(len(z), 2, 10).argmax(axis=2).astype(z.dtype)


dense = [Flatten(), Dense(64, "relu")]
kernels = {"activation": "relu", "padding": "same"}
filters = [Conv2d(16, 3, **kernels), MaxPool(2), Conv2d(32, 3, **kernels), MaxPool(2)]
filters += [Flatten(), Dropout(0.2), Dense(64, "relu")]
steps = {"epochs": EPOCHS // 2 + 2, "learning_rate": 0.003, "batch_size": 32, "random_state": 0}
for name, trunk in {"dense": dense, "convolutional": filters}.items():
    model = SequentialRegressor([*trunk, Dense()], TwoDigits(), **steps).fit(pairs, both)
    right = model.predict(pairs_new) == both_new
    upper, lower = right.mean(axis=0)
    print(
        f"{name:14s} two heads: upper {upper:.1%}, lower {lower:.1%}, "
        f"both {right.all(axis=1).mean():.1%}"
    )

# %%
# Is sharing worth it? Two networks, one for each digit, have twice the weights and take twice the
# time, and are no better than the one with two heads.
right = np.column_stack(
    [
        SequentialClassifier([*filters, Dense()], **steps)
        .fit(pairs, both[:, head])
        .predict(pairs_new)
        == both_new[:, head]
        for head in (0, 1)
    ]
)
upper, lower = right.mean(axis=0)
print(
    f"two convolutional networks: upper {upper:.1%}, lower {lower:.1%}, "
    f"both {right.all(axis=1).mean():.1%}"
)
