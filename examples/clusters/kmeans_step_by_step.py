"""
k-means step by step
====================

Two half-steps in turn: rows go to their nearest centre, centres to the mean of their rows. Neither
can raise the cost, so they come to rest; where, depends on the start. How they move, where they get
stuck, what good starts are worth, and which groups they cannot find.
"""

# %%
# **Half-step by half-step.** Three groups, and three representatives that begin close to each
# other. `lloyd_steps` gives the centres, the labels and the cost after every half-step.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.preprocessing import StandardScaler

from tenfold import GaussianMixture, KernelKMeans, KMeans, choose_k, lloyd_steps
from tenfold.plot import elbow
from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, palette_color, palette_marker, style_axes


def draw(ax, X, labels, centres, title, size=14):
    """Rows in the colours of their clusters, and the centres."""
    for j in range(len(centres)):
        ax.scatter(
            *X[labels == j].T,
            s=size,
            color=palette_color(j),
            marker=palette_marker(j),
            lw=0,
            alpha=0.8,
        )
    ax.scatter(
        *centres.T,
        s=120,
        c=[palette_color(j) for j in range(len(centres))],
        marker="X",
        ec=TEXT_COLOR,
    )
    ax.set_title(title, size=10)
    ax.set(xticks=[], yticks=[])
    style_axes(ax, grid=False)


rng = np.random.default_rng(4)
middles = np.array([[0.0, 0.0], [4.0, 0.5], [2.0, 3.5]])
X = np.repeat(middles, 60, axis=0) + 0.75 * rng.normal(size=(180, 2))
steps = list(lloyd_steps(X, X[[106, 117, 82]]))
shown = [*steps[:4], steps[len(steps) // 2], steps[-1]]
figure, panels = plt.subplots(2, 3, figsize=(10, 6.2), layout="constrained")
for ax, step in zip(panels.ravel(), shown, strict=True):
    what = "rows to centres" if step.kind == "assign" else "centres to means"
    draw(
        ax,
        X,
        step.labels,
        step.centers,
        f"iteration {step.iteration}, {what}: cost {step.cost:.0f}",
    )
plt.show()

# %%
# The cost of every half-step. It cannot rise, and there are finitely many ways to divide rows into
# groups: the rounds come to an end.
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
costs = np.array([step.cost for step in steps])
number = np.arange(1, len(costs) + 1)
ax.plot(number, costs, color=MUTED_COLOR, zorder=0)
for place, (half, name) in enumerate((("assign", "rows to centres"), ("move", "centres to means"))):
    these = np.array([step.kind == half for step in steps])
    ax.plot(number[these], costs[these], "os"[place], color=palette_color(place), label=name)
ax.set(xlabel="half-step", ylabel="cost", ylim=(0, None), xticks=number)
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# **By hand.** Six points of our own, the costs computed by hand. Begun at B and F the rounds find
# the best division; begun at E and C they stop at a worse one. Neither start can be told from the
# other while one is on the way.
six = np.array([[-3.0, -3], [-1, -3], [3, 0], [-2, -1], [0, 0], [-1, -2]])
names = "ABCDEF"
by_hand = {"BF": "31, 18.125, 10", "EC": "ends at 12"}
for start, note in by_hand.items():
    found = list(lloyd_steps(six, six[[names.index(letter) for letter in start]]))
    assigned = [f"{step.cost:g}" for step in found if step.kind == "assign"]
    groups = ["".join(np.array(list(names))[found[-1].labels == j]) for j in (0, 1)]
    after = f"{', '.join([*assigned, f'{found[-1].cost:g}'])}"
    print(f"from {start}: cost {after} (by hand: {note}); groups {groups[0]} and {groups[1]}")

# %%
# **From a division instead of centres.** The first half-step is then to move the centres. A random
# division puts all of them near the middle of the data, a poor place to begin.
labels = rng.integers(3, size=len(X))
begun = next(lloyd_steps(X, labels))
apart = np.abs(begun.centers - X.mean(axis=0)).max()
print(f"centres of a random division: at most {apart:.2f} from the mean of all rows")
from_labels = KMeans(3, init=labels).fit(X)
print(f"cost {from_labels.inertia_:.1f} after {from_labels.n_iter_} rounds")

# %%
# **The trap of four points.** The corners of a rectangle, two centres. Begun on the left and on the
# right, the cost is 4; begun below and above, both half-steps have nothing left to do at 16.
corners = np.array([[0.0, 0], [0, 2], [4, 0], [4, 2]])
figure, panels = plt.subplots(1, 2, figsize=(8, 2.9), layout="constrained")
for ax, start in zip(panels, ([0, 2], [0, 1]), strict=True):
    end = list(lloyd_steps(corners, corners[start]))[-1]
    draw(ax, corners, end.labels, end.centers, f"cost {end.cost:g}", size=60)
    ax.set(xlim=(-0.6, 4.6), ylim=(-0.6, 2.6), aspect="equal")
plt.show()

# %%
# **A bad start.** The three groups again, and all three representatives in one of them, as before,
# but at other rows. Two share it for ever, and the third has the other two groups. Several starts,
# of which the best is kept, are the simplest cure.
bad = list(lloyd_steps(X, X[[2, 31, 40]]))[-1]
good = KMeans(3, init="random", n_init=10, random_state=0).fit(X)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
draw(panels[0], X, bad.labels, bad.centers, f"two share one group: cost {bad.cost:.0f}")
draw(panels[1], X, good.labels_, good.cluster_centers_, f"best of ten: cost {good.inertia_:.0f}")
plt.show()

# %%
# **What a start is worth.** Nine groups, nine centres, two hundred starts of each kind: any points
# of the box, any rows, each row as far as possible from the others, and k-means++, whose rows are
# likely to lie apart. One blind start in three ends at the best cost; of the others, nearly all.
grid = np.indices((3, 3)).reshape(2, 9).T * 10.0
nine = np.repeat(grid, 40, axis=0) + 1.6 * rng.normal(size=(360, 2))
ends = {}
for init in ("uniform", "random", "farthest", "k-means++"):
    one = KMeans(9, init=init, n_init=1, tol=0.0)
    ends[init] = np.array([one.set_params(random_state=s).fit(nine).inertia_ for s in range(200)])
best = min(costs.min() for costs in ends.values())
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for row, (init, costs) in enumerate(ends.items()):
    ax.scatter(
        costs, row + 0.25 * (rng.random(200) - 0.5), s=9, color=palette_color(row), alpha=0.5, lw=0
    )
    share = np.mean(costs < 1.001 * best)
    print(f"{init:>10}: {share:4.0%} end at the best cost; the mean is {costs.mean() / best:.2f} x")
ax.set_yticks(range(4), ends)
ax.set(xlabel="cost of one start", xlim=(0, None))
style_axes(ax)
plt.show()

# %%
# **How many?** The cost falls with every centre, down to zero when each row has its own, so it
# cannot choose. Its bend can, where there is one; the page "How many clusters?" has more rules.
choice = choose_k(KMeans(n_init=5, random_state=0), X, range(1, 9), by="knee")
elbow(choice)
plt.show()
print(f"cost with as many centres as rows: {KMeans(180, random_state=0).fit(X).inertia_:.0f}")

# %%
# **Units.** Two groups that differ in the second column, whose numbers are small. Raw, the first
# column alone decides what is near; with mean 0 and deviation 1 in each column both do.
height = np.r_[rng.normal(1.0, 0.1, 150), rng.normal(2.0, 0.1, 150)]
income = rng.normal(40_000, 8_000, 300)
raw = np.column_stack([income, height])
truth = np.repeat([0, 1], 150)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, name, rows in zip(
    panels, ("raw", "standardised"), (raw, StandardScaler().fit_transform(raw)), strict=True
):
    model = KMeans(2, n_init=5, random_state=0).fit(rows)
    right = np.mean(model.labels_ == truth)
    draw(
        ax,
        rows,
        model.labels_,
        model.cluster_centers_,
        f"{name}: {max(right, 1 - right):.0%} right",
    )
    ax.set(xlabel="first column", ylabel="second column")
plt.show()

# %%
# **Shapes it fails on.** To k-means every group is round, and the border between two lies halfway.
# Long groups and groups of different width want a mixture of Gaussians; rings and moons want a
# kernel.
long = rng.normal(size=(300, 2)) @ np.diag([4.0, 0.5]) + [0, 2.5] * (np.arange(300)[:, None] % 2)
wide = np.vstack([rng.normal(size=(260, 2)) * 2.2, rng.normal(size=(60, 2)) * 0.4 + [5.2, 0]])
ring, which_ring = make_circles(300, factor=0.35, noise=0.06, random_state=0)
moon, which_moon = make_moons(300, noise=0.06, random_state=0)
mixed = GaussianMixture(2, n_init=5, init_params="random_from_data", random_state=1)
shapes = {
    "long": (long, np.arange(300) % 2, mixed, "mixture"),
    "of different width": (wide, np.repeat([0, 1], [260, 60]), mixed, "mixture"),
    "rings": (ring, which_ring, KernelKMeans(2, gamma=4.0, n_init=10, random_state=0), "kernel"),
    "moons": (moon, which_moon, KernelKMeans(2, gamma=8.0, n_init=10, random_state=0), "kernel"),
}
figure, panels = plt.subplots(2, 4, figsize=(12, 5.6), layout="constrained")
for (above, below), (name, (rows, truth, other, called)) in zip(
    panels.T, shapes.items(), strict=True
):
    for ax, model, who in (
        (above, KMeans(2, n_init=10, random_state=0), "k-means"),
        (below, other, called),
    ):
        found = model.fit(rows).predict(rows)
        right = max(np.mean(found == truth), np.mean(found != truth))
        means = np.array([rows[found == j].mean(axis=0) for j in range(2)])
        draw(ax, rows, found, means, f"{name}, {who}: {right:.0%} right")
        ax.set_aspect("equal", adjustable="datalim")
plt.show()

# %%
# **What is left of the rows.** Each row as its centre: with the labels as one-hot codes Z and the
# centres as C, k-means is the factorisation X ~ Z C, and its cost is the squared error.
model = KMeans(9, n_init=5, random_state=0, tol=0.0).fit(nine)
Z, C = np.eye(9)[model.labels_], model.cluster_centers_
error = ((nine - Z @ C) ** 2).sum()
print(f"cost {model.inertia_:.6f}, squared error of Z C {error:.6f}")
print("from labels alone:", np.array_equal(model.reconstruct(model.labels_), Z @ C))
spread = ((nine - nine.mean(axis=0)) ** 2).sum()
print(f"{1 - error / spread:.1%} of the spread is kept by a number from 0 to 8 for each row")
