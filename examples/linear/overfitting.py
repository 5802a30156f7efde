r"""
Over-fitting with polynomials
=============================

A polynomial of degree 9 can pass through any eight points, and that is what is wrong with it.
Three cures: a lower degree, more data, a penalty.
"""

# %%
# Noisy points of a sine and of a cosine. Each fit minimises
# :math:`\lVert y - Xw \rVert^2 + \lambda \lVert w \rVert^2` over the powers 1, x, ..., x\ :sup:`M`,
# the constant penalised like the rest, as in the notes. One fit serves both targets and all
# lambdas: `Ridge` takes many targets, each with its own penalty.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold

from tenfold import LinearRegression, PolynomialFeatures, Ridge, datasets
from tenfold.plot.style import TEXT_COLOR, palette_color, style_axes

LAMBDAS = np.array([0.0, 0.001, 0.01])
CURVES = {"sine": np.sin, "cosine": np.cos}
NOISE = {"sine": 0.35, "cosine": 0.4}


def sample(n, seed):
    """The same x, and both targets as columns."""
    X, sine = datasets.make_sine(n, noise=NOISE["sine"], random_state=seed)
    return X, np.column_stack(
        [sine, datasets.make_cosine(n, noise=NOISE["cosine"], random_state=seed)[1]]
    )


def fitted(X, Y, degree, lambdas=LAMBDAS):
    """A model whose outputs are (lambda, target), all lambdas of the first target first."""
    powers = PolynomialFeatures(degree)
    model = Ridge(alpha=np.tile(lambdas, Y.shape[1]), fit_intercept=False)
    model.fit(powers.fit_transform(X), np.repeat(Y, len(lambdas), axis=1))
    return lambda x: model.predict(powers.transform(x)).reshape(len(x), Y.shape[1], len(lambdas))


# %%
# Eight points. A line is too stiff, degree 4 follows the curve, degree 9 goes through every point
# and runs wild in between. A hundred points tame degree 9, and so does a little penalty. Of thirty
# draws this is the one whose eight points leave the smallest gap; all thirty are judged below.


def largest_gap(seed):
    return np.diff(np.sort(np.concatenate([[0, 1], sample(8, seed)[0][:, 0]]))).max()


EVEN = min(range(30), key=largest_gap)
grid = np.linspace(0, 1, 300)[:, None]
PANELS = [(8, 0, "8 points"), (100, 0, "100 points"), (8, 1, "8 points, $\\lambda$ = 0.001")]


def draw(target, name, seed):
    figure, rows = plt.subplots(
        3, 3, figsize=(9.6, 7.6), layout="constrained", sharex=True, sharey=True
    )
    for row, (n, penalty, title) in zip(rows, PANELS, strict=True):
        X, Y = sample(n, seed)
        for ax, degree in zip(row, (1, 4, 9), strict=True):
            ax.plot(
                grid, CURVES[name](2 * np.pi * grid), color=palette_color(2), ls="--", label="truth"
            )
            curve = fitted(X, Y, degree)(grid)[:, target, penalty]
            ax.plot(X, Y[:, target], "o", color=TEXT_COLOR, ms=5 if n == 8 else 2.5, label="data")
            ax.plot(grid, curve, color=palette_color(1), lw=2, label="fit")
            ax.set(ylim=(-2.4, 2.4), title=f"{title}, M = {degree}")
            style_axes(ax)
        row[0].set_ylabel("y")
    for ax in rows[-1]:
        ax.set_xlabel("x")
    figure.legend(*rows[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3,
                  frameon=False)  # fmt: skip


draw(0, "sine", EVEN)
plt.show()

# %%
# The same for the cosine.
draw(1, "cosine", EVEN)
plt.show()

# %%
# Error by degree. One draw of eight points says little, so here is the median over thirty draws,
# each judged by a thousand fresh points. Noise alone costs :math:`\sigma^2`, the dotted line.
DEGREES, DRAWS = range(1, 10), 30
X_test, Y_test = sample(1000, 10_000)
errors = {n: np.empty((2, DRAWS, len(DEGREES), 2, len(LAMBDAS))) for n in (8, 100)}
for n, table in errors.items():
    for draw_number in range(DRAWS):
        X, Y = sample(n, draw_number)
        for column, degree in enumerate(DEGREES):
            model = fitted(X, Y, degree)
            for which, (x, y) in enumerate([(X, Y), (X_test, Y_test)]):
                error = ((model(x) - y[:, :, None]) ** 2).mean(axis=0)
                table[which, draw_number, column] = error
medians = {n: np.median(table, axis=1) for n, table in errors.items()}


def by_degree(target, name):
    figure, rows = plt.subplots(
        2, 3, figsize=(9.6, 5.6), layout="constrained", sharex=True, sharey="row"
    )
    for row, n in zip(rows, medians, strict=True):
        for column, (ax, penalty) in enumerate(zip(row, LAMBDAS, strict=True)):
            for which, part in enumerate(("training", "test")):
                line = medians[n][which, :, target, column]
                ax.plot(DEGREES, line, "o-", ms=4, color=palette_color(which), label=part)
            ax.axhline(NOISE[name] ** 2, color=TEXT_COLOR, lw=1, ls=":", label="noise")
            ax.set(title=f"{n} points, $\\lambda$ = {penalty:g}", ylim=(0, 1.6 if n == 8 else 0.7))
            style_axes(ax)
        row[0].set_ylabel("mean squared error")
    for ax in rows[-1]:
        ax.set(xlabel="degree M", xticks=DEGREES)
    figure.legend(*rows[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3,
                  frameon=False)  # fmt: skip


by_degree(0, "sine")
plt.show()

# %%
# The sine, odd about its middle, wants degree 3. The cosine is even: degree 2 does most of it, and
# degree 4 the rest.
by_degree(1, "cosine")
plt.show()

# %%
# What the notes say of the sine, and what the thirty draws say.
small, large = medians[8][:, :, 0], medians[100][:, :, 0]  # (training or test, degree, lambda)
best = [DEGREES[int(small[1, :, k].argmin())] for k in range(3)]
falls = bool((np.diff(small[0, :, 0]) <= 1e-9).all() and (np.diff(large[0, :, 0]) <= 1e-9).all())


def change(table, first, second):
    return f"{table[first]:.3g} to {table[second]:.3g}"


lowest = small[1].min(axis=0)  # over the degrees, for each lambda
rows = [
    ("training error falls with M", "mostly", "always" if falls else "not always"),
    ("8 points: test error rises from", "M = 6", f"M = {best[0] + 1} (median)"),
    ("8 points, M = 9: lambda 0 to .001", "much better", change(small[1, -1], 0, 1)),
    ("8 points, best M: lambda .001 to .01", "worse", change(lowest, 1, 2)),
    ("100 points, M = 9: lambda 0 to .01", "no matter", change(large[1, -1], 0, 2)),
    ("100 points: M = 4 to 9", "M = 9 nearer", change(large[1, :, 0], 3, 8)),
]
print(f"{'':<38}{'in the notes':<14}| here")
for what, note, here in rows:
    print(f"{what:<38}{note:<14}| {here}")

# %%
# Now the penalty and the number of points on a fine scale, degree 9 throughout (left) and three
# degrees (right). Both cure the same disease.
strengths = np.geomspace(1e-8, 10, 37)
swept = np.empty((2, 20, len(strengths)))
for number in range(20):
    X, Y = sample(8, number)
    model = fitted(X, Y[:, :1], 9, strengths)
    for which, (x, y) in enumerate([(X, Y), (X_test, Y_test)]):
        swept[which, number] = ((model(x)[:, 0] - y[:, :1]) ** 2).mean(axis=0)
sizes = np.unique(np.geomspace(8, 400, 9).astype(int))
learned = {degree: [] for degree in (1, 4, 9)}
for degree, line in learned.items():
    for n in sizes:
        each = []
        for number in range(10):
            X, Y = sample(n, number)
            guess = fitted(X, Y[:, :1], degree, LAMBDAS[:1])(X_test)[:, 0, 0]
            each.append(((guess - Y_test[:, 0]) ** 2).mean())
        line.append(np.median(each))

figure, (by_penalty, by_size) = plt.subplots(1, 2, figsize=(10.4, 4.2), layout="constrained")
for which, part in enumerate(("training", "test")):
    by_penalty.plot(
        strengths, np.median(swept[which], axis=0), color=palette_color(which), label=part
    )
by_penalty.set(xscale="log", yscale="log", xlabel="$\\lambda$", ylabel="mean squared error")
by_penalty.set_title("8 points, degree 9")
for number, (degree, line) in enumerate(learned.items()):
    by_size.plot(sizes, line, "o-", ms=4, color=palette_color(number), label=f"degree {degree}")
by_size.set(xscale="log", yscale="log", xlabel="number of points", ylabel="mean squared error")
by_size.set_title("no penalty, fresh points")
for ax in (by_penalty, by_size):
    ax.axhline(NOISE["sine"] ** 2, color=TEXT_COLOR, lw=1, ls=":", label="noise")
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()

# %%
# The penalty can be chosen without fresh points, by cross-validation. With very few points that,
# too, is a gamble; the median of ten draws is shown.


def squares(model, x, y):
    return (model(x)[:, 0] - y[:, :1]) ** 2


print("fresh error of degree 9    lambda 1e-8   5 folds choose   best in hindsight")
for n in (8, 15, 30, 100):
    errors_of = []
    for number in range(10):
        X, Y = sample(n, number)
        fresh = squares(fitted(X, Y[:, :1], 9, strengths), X_test, Y_test).mean(axis=0)
        held_out = sum(
            squares(fitted(X[a], Y[a, :1], 9, strengths), X[b], Y[b]).sum(axis=0)
            for a, b in KFold(5).split(X)
        )
        errors_of.append([fresh[0], fresh[held_out.argmin()], fresh.min()])
    none, folds, hindsight = np.median(errors_of, axis=0)
    print(f"{n:>10} points {none:>22.3f}{folds:>17.3f}{hindsight:>20.3f}")

# %%
# A second set, a parabola with noise. By the training loss alone one would take degree 7, which is
# zero on eight points. L2 takes out the wiggles and leaves the trend.
rng = np.random.default_rng(3)
x = np.linspace(-1, 1, 8)[:, None]
y = 1 + x[:, 0] - 2 * x[:, 0] ** 2 + rng.normal(scale=0.25, size=8)
x_new = rng.uniform(-1, 1, 1000)[:, None]
y_new = 1 + x_new[:, 0] - 2 * x_new[:, 0] ** 2 + rng.normal(scale=0.25, size=1000)
line = np.linspace(-1.02, 1.02, 300)[:, None]
figure, row = plt.subplots(1, 4, figsize=(11.6, 3.4), layout="constrained", sharey=True)
for ax, (degree, penalty) in zip(row, [(1, 0.0), (2, 0.0), (7, 0.0), (7, 0.1)], strict=True):
    powers = PolynomialFeatures(degree, include_bias=False)
    model = Ridge(alpha=penalty) if penalty else LinearRegression()
    model.fit(powers.fit_transform(x), y)
    losses = [
        ((model.predict(powers.transform(a)) - b) ** 2).mean() for a, b in ((x, y), (x_new, y_new))
    ]
    ax.plot(line, model.predict(powers.transform(line)), color=palette_color(1), lw=2)
    ax.plot(x, y, "o", color=TEXT_COLOR, ms=5)
    ax.set(title=f"degree {degree}" + f", $\\lambda$ = {penalty:g}" * bool(penalty), xlabel="x")
    ax.set_ylim(-4, 3)
    ax.text(0.03, 0.04, f"training {losses[0]:.3f}\nfresh {losses[1]:.3f}", transform=ax.transAxes)
    style_axes(ax)
row[0].set_ylabel("y")
plt.show()
