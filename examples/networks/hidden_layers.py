"""
What hidden layers see
======================

A hidden layer is a set of features that is learned. Six claims about two hidden units, rings that
are pulled apart epoch by epoch, and what too few units, many units and zero starts do.
"""

# %%
# One class lies between two clouds of the other. Two hidden units stand for two parallel planes,
# s = x1 + x2 = -2 and s = 2, and look inwards or outwards.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import SequentialClassifier, datasets, is_linearly_separable, neural, plot
from tenfold.neural import Dense
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching import count_symmetries, flip_units, permute_units

X, y = datasets.make_three_clouds(180, random_state=0)
s = X.sum(axis=1)
inwards = np.column_stack([2 + s, 2 - s])
outwards = -inwards
relu = lambda z: np.maximum(z, 0)  # noqa: E731
seen = {
    "as given": X,
    "linear": inwards,
    "tanh": np.tanh(inwards),
    "ReLU": relu(inwards),
    "tanh, outwards": np.tanh(outwards),
    "ReLU, outwards": relu(outwards),
}
fig, axes = plt.subplots(1, 6, figsize=(13, 2.5), layout="constrained")
for ax, (name, values) in zip(axes, seen.items(), strict=True):
    for label in (0, 1):
        ax.scatter(*values[y == label].T, s=8, color=palette_color(label), alpha=0.7, lw=0)
    word = "separable" if is_linearly_separable(values, y) else "not separable"
    ax.set_title(f"{name}:\n{word}", size=9)
    ax.set(xticks=[], yticks=[])
    style_axes(ax, grid=False)
plt.show()

# %%
# Linear units keep what could not be parted before. The notes find that inward ReLUs fail; here
# they part the classes, if by a thin margin: it depends on how near the rows come to the planes.
# Outward ReLUs send the whole middle class to the origin:
print(np.unique(seen["ReLU, outwards"][y == 1], axis=0))

# %%
# Nobody must choose the planes with care: two random units are seldom enough, ten usually are.
rng = np.random.default_rng(0)
for units in (2, 3, 5, 10, 20):
    parted = [
        bool(
            is_linearly_separable(
                np.tanh(X @ rng.normal(size=(2, units)) + rng.normal(size=units)), y
            )
        )
        for _ in range(20)
    ]
    print(f"{units:3d} random tanh units: separable in {sum(parted)} of 20 draws")

# %%
# Rings. Six units, then two, then a line: what the two units see after some epochs. At the start
# the rings lie within each other; in the end a line is enough, and that is all the last layer is.
rings, ring = datasets.make_rings(300, noise=0.1, random_state=0)
layers = [Dense(6, "tanh"), Dense(2, "tanh"), Dense()]
steps = {"learning_rate": 0.03, "batch_size": 32, "random_state": 0}
taken = neural.training_snapshots(
    SequentialClassifier(layers, **steps), rings, ring, (0, 3, 10, 30, 100)
)
plot.hidden_units(taken, rings, ring)
plt.show()

# %%
# The same epochs in the plane of the data.
fig, axes = plt.subplots(1, 5, figsize=(13, 2.8), layout="constrained")
for ax, model in zip(axes, taken, strict=True):
    plot.decision_boundary(model, rings, ring, ax=ax)
    if ax.get_legend():
        ax.get_legend().remove()
    ax.set_title(f"{model.n_iter_} epochs: {model.score(rings, ring):.0%}", size=9)
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
plt.show()

# %%
# Just enough units may fail to find what is there; more units make it easy. Hinge loss, eight
# starts each, with tanh and with ReLU. Three units suffice to enclose a ring, in principle.
for units in (2, 3, 10, 100):
    for bend in ("tanh", "relu"):
        right = [
            SequentialClassifier(
                [Dense(units, bend), Dense()],
                "hinge",
                epochs=40,
                learning_rate=0.03,
                batch_size=32,
                random_state=seed,
            )
            .fit(rings, ring)
            .score(rings, ring)
            for seed in range(8)
        ]
        print(f"{units:4d} {bend:4s} units: {min(right):.0%} to {max(right):.0%} right")

# %%
# The hinge loss epoch by epoch, three starts each. With just enough units it stops falling early;
# with many of them every start goes down.
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for number, units in enumerate((2, 10, 100)):
    for seed in range(3):
        model = SequentialClassifier(
            [Dense(units, "tanh"), Dense()],
            "hinge",
            epochs=40,
            learning_rate=0.03,
            random_state=seed,
        )
        losses = model.set_params(batch_size=32).fit(rings, ring).history_["objective"]
        name = f"{units} units" if seed == 0 else None
        ax.plot(np.arange(1, len(losses) + 1), losses, color=palette_color(number), label=name)
ax.set(xlabel="epoch", ylabel="mean hinge loss", ylim=(0, None))
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# Weights that all start at zero stay alike: every unit gets the same slope, here none at all.
still = [Dense(10, "tanh", init="zeros"), Dense(init="zeros")]
zeros = SequentialClassifier(still, epochs=40, **steps)
drawn = SequentialClassifier([Dense(10, "tanh"), Dense()], epochs=40, **steps)
for name, model in (("zero", zeros), ("random", drawn)):
    model.fit(rings, ring)
    different = len(np.unique(model.params_[0].round(6), axis=1).T)
    print(f"{name} start: {model.score(rings, ring):.0%} right, {different} different units")

# %%
# A network is one of many that are the same. Units in another order, tanh units with all signs
# turned round: the weights differ, the predictions do not. For ten tanh units that is
order = np.random.default_rng(0).permutation(10)
same = flip_units(permute_units(drawn, 0, order), 0, [1, 4, 5])
gap = np.abs(same.predict_proba(rings) - drawn.predict_proba(rings)).max()
print(f"{count_symmetries(drawn):,} equal networks; largest difference {gap:.1e}")
