"""
What was learned elsewhere: transfer and meta-learning
======================================================

A network that has learned six digits has features that serve the other four as well. Reptile looks
for initial parameters from which a few steps are enough for any task of a kind. Both begin with
features: of gradients of an image, or of a layer. [X03, X04]
"""

# %%
# Digits 0 to 5 train a network; digits 6 to 9 come with few examples each. Nearest class means are
# taken of the pixels, of histograms of gradients, of the hidden layer, and of two of them together:
# extractors have one interface, and stack. On images of 8 by 8 pixels, pixels are hard to beat: the
# hidden layer has forgotten what six digits did not need.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline, make_union

from tenfold import ImageFeatures, MLPClassifier, MLPRegressor, NearestCentroid
from tenfold.neural import NetworkFeatures
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching import reptile

X, y = load_digits(return_X_y=True)
X = X / 16
old = y < 6
network = MLPClassifier((64,), max_iter=300, tol=1e-3, random_state=0).fit(X[old], y[old])
hidden, gradients = NetworkFeatures(network), ImageFeatures(cell=4)
extractors = {
    "pixels": ImageFeatures("pixels"),
    "gradients": gradients,
    "hidden layer": hidden,
    "gradients and pixels": make_union(gradients, ImageFeatures("pixels")),
}
counts = [1, 2, 5, 10, 20]
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for k, (name, extractor) in enumerate(extractors.items()):
    curve = []
    for n in counts:
        scores = []
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(np.flatnonzero(~old))
            few = np.concatenate([order[y[order] == c][:n] for c in range(6, 10)])
            rest = np.setdiff1d(order, few)
            model = make_pipeline(extractor, NearestCentroid()).fit(X[few], y[few])
            scores.append(model.score(X[rest], y[rest]))
        curve.append(np.mean(scores))
    ax.plot(counts, curve, marker="o", color=palette_color(k), label=name)
ax.set(xlabel="examples of each new digit", ylabel="accuracy", xscale="log")
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# The same with the layers themselves: those of a network that has learned six digits go into a new
# one, frozen below new layers, or trained further. The frozen convolution serves almost as well as
# a new one, and costs no gradients. The frozen hidden layer again has forgotten what six digits did
# not need; trained further, it is as good as a fresh start. Transfer pays where the old task has
# more to teach than six digits of 8 by 8 pixels.
from tenfold import SequentialClassifier
from tenfold.neural import Conv2d, Dense, Flatten, pretrained_layers

images, body = X.reshape(-1, 8, 8, 1), [Conv2d(16, 3, "relu"), Flatten(), Dense(32, "relu")]
settings = {"learning_rate": 0.005, "epochs": 40, "batch_size": 32, "random_state": 0}
first = SequentialClassifier([*body, Dense()], **settings | {"epochs": 10})
first.fit(images[old], y[old])
bodies = {
    "from nothing": body,
    "frozen convolution": [*pretrained_layers(first, 2), Dense(32, "relu")],
    "all frozen": pretrained_layers(first),
    "all fine-tuned": pretrained_layers(first, trainable=True),
}
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for k, (name, layers) in enumerate(bodies.items()):
    curve = []
    for n in counts:
        scores = []
        for seed in range(2):
            order = np.random.default_rng(seed).permutation(np.flatnonzero(~old))
            few = np.concatenate([order[y[order] == c][:n] for c in range(6, 10)])
            rest = np.setdiff1d(order, few)
            model = SequentialClassifier([*layers, Dense()], **settings)
            scores.append(model.fit(images[few], y[few]).score(images[rest], y[rest]))
        curve.append(np.mean(scores))
    print(f"{name:18s}", *(f"{score:.3f}" for score in curve))
    ax.plot(counts, curve, marker="o", color=palette_color(k), label=name)
ax.set(xlabel="examples of each new digit", ylabel="accuracy", xscale="log")
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# Waves of random height and place. From the parameters that Reptile finds, ten steps on ten points
# come near a new wave; from those of any one wave they do not.


def draw_wave(rng, n=20):
    height, phase = rng.uniform(0.5, 2), rng.uniform(0, 0.8)
    x = rng.uniform(-3, 3, (n, 1))
    return x, height * np.sin(x[:, 0] + phase)


plain = MLPRegressor(
    hidden_layer_sizes=(32,),
    activation="tanh",
    solver="sgd",
    momentum=0.0,
    learning_rate_init=0.05,
    random_state=0,
)
starts = {
    "after one wave": reptile(plain, draw_wave, n_tasks=0),
    "after 400 waves, by Reptile": reptile(plain, draw_wave, n_tasks=400, n_epochs=10),
}
line = np.linspace(-3, 3, 200)[:, None]
x, target = draw_wave(np.random.default_rng(12), 10)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, starts.items(), strict=True):
    ax.plot(line, model.predict(line), "--", color="0.6", label="before")
    for _ in range(10):
        model.partial_fit(x, target)
    ax.plot(line, model.predict(line), color=palette_color(0), label="after ten steps")
    ax.scatter(x[:, 0], target, color=palette_color(1), label="ten points")
    ax.set_title(name)
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()
