r"""
Features of houses, and too many of them
========================================

How a number enters a model decides what the model can say. Then the other end: more columns than
rows, columns that say the same thing twice, and what the data can no longer decide.
"""

# %%
# Sales of houses with area, bedrooms, type and zip code. The value of one more bedroom falls; in
# one sale of a hundred there are 10 to 27 of them.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from tenfold import (
    IndicatorFeatures,
    LinearRegression,
    Ridge,
    datasets,
    equivalent_coefficients,
    find_redundant_columns,
)
from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, palette_color, style_axes

AREA, BEDROOMS, KIND, ZIP = range(4)
TYPES = ("condo", "town house", "single-family")
X, y = datasets.make_house_sales(1500, random_state=0)
X_new, y_new = datasets.make_house_sales(4000, random_state=1)
print("area, bedrooms, type, zip and price of three sales:")
for row, price in zip(X[:3], y[:3], strict=True):
    print(f"  {row[0]:6.1f} m2  {row[1]:2.0f}  {TYPES[int(row[2])]:<14}"
          f"{row[3]:.0f}  {price:>10,.0f}")  # fmt: skip

# %%
# Three ways to write bedrooms: the number as it is, one indicator for each number, and one for each
# up to 9 with all larger ones pooled ("10+"). The type is an indicator for each of its three
# values, the area a number.
WAYS = {
    "raw count": "passthrough",
    "indicators": IndicatorFeatures(max_categories=None),
    "pooled from 10": IndicatorFeatures(tail=10),
}


def model_of(bedrooms):
    columns = [
        ("area", "passthrough", [AREA]),
        ("bedrooms", bedrooms, [BEDROOMS]),
        ("type", IndicatorFeatures(), [KIND]),
    ]
    return make_pipeline(ColumnTransformer(columns), LinearRegression())


def error(model, X=X_new, y=y_new):
    return np.sqrt(((model.predict(X) - y) ** 2).mean())


models = {name: model_of(way).fit(X, y) for name, way in WAYS.items()}
few, many = X_new[:, BEDROOMS] < 10, X_new[:, BEDROOMS] >= 10
print(f"typical error on fresh sales{'below 10':>16}{'10 and more':>14}")
for name, model in models.items():
    parts = [error(model, X_new[part], y_new[part]) for part in (few, many)]
    print(f"  {name:<24}{parts[0]:>18,.0f}{parts[1]:>14,.0f}")

# %%
# The raw count must give each bedroom the same worth. Indicators follow any shape, but the tail has
# a sale or two for each number, and for some none: those are left to the constant. Pooling gives up
# the detail where there is none to be had.
counts = np.arange(1, 28)
houses = np.zeros((len(counts), 4))
houses[:, AREA], houses[:, BEDROOMS], houses[:, KIND] = 130, counts, 2
truth = 50_000 + 1_000 * 130 + 100_000 * np.log2(1 + counts) + 80_000
sold = [(X[:, BEDROOMS] == c).sum() for c in counts]
figure, (prices, number_of) = plt.subplots(
    2, 1, figsize=(8, 5.6), layout="constrained", sharex=True, height_ratios=[3, 1]
)
prices.plot(counts, truth / 1000, "o", color=TEXT_COLOR, ms=4, label="truth")
for number, (name, model) in enumerate(models.items()):
    look = {
        "color": palette_color(number),
        "lw": 2,
        "ls": "-" if number != 1 else "--",
        "label": name,
    }
    prices.plot(counts, model.predict(houses) / 1000, **look)
prices.set(ylabel="price (thousands)", title="a single-family house of 130 square metres")
prices.legend(frameon=False)
number_of.bar(counts, sold, color=MUTED_COLOR)
number_of.set(xlabel="bedrooms", ylabel="sales to learn from", yscale="log")
for ax in (prices, number_of):
    style_axes(ax)
plt.show()

# %%
# A table that bends is reproduced exactly by indicators, and by no straight line.
worth = np.array([100.0, 250.0, 310.0, 330.0])
beds = np.array([[1.0], [2.0], [3.0], [4.0]])
straight = LinearRegression().fit(beds, worth).predict(beds)
each = make_pipeline(IndicatorFeatures(), LinearRegression()).fit(beds, worth).predict(beds)
print("bedrooms    ", beds[:, 0].astype(int))
print("prices      ", worth)
print("raw count   ", straight.round(1))
print("indicators  ", each.round(1))

# %%
# Zip codes: 2,000 of them here, 100,000 in the country. One indicator each has seen a sale or none.
# Their first three digits group neighbours, and a code never seen before has the effect of its
# region. Which is better depends on how much there is to learn from.
GROUPS = {
    "no zip code": "drop",
    "one indicator per code": IndicatorFeatures(max_categories=None),
    "by three digits": IndicatorFeatures(step=100, max_categories=None),
}


def with_zip(codes):
    columns = [
        ("area", "passthrough", [AREA]),
        ("bedrooms", IndicatorFeatures(tail=10), [BEDROOMS]),
        ("type", IndicatorFeatures(), [KIND]),
        ("zip", codes, [ZIP]),
    ]
    return make_pipeline(ColumnTransformer(columns), Ridge(alpha=0.1))


sizes = (250, 500, 1000, 2000)
errors = {name: [] for name in GROUPS}
for n in sizes:
    X_n, y_n = datasets.make_house_sales(n, random_state=2)
    for name, codes in GROUPS.items():
        errors[name].append(error(with_zip(codes).fit(X_n, y_n)))
unseen = ~np.isin(X_new[:, ZIP], X[:, ZIP])
print(f"{unseen.mean():.0%} of the fresh sales have a code that is not among our 1,500")
figure, ax = plt.subplots(figsize=(6.6, 4), layout="constrained")
for number, (name, line) in enumerate(errors.items()):
    ax.plot(sizes, np.array(line) / 1000, "o-", color=palette_color(number), label=name)
ax.axhline(20, color=TEXT_COLOR, lw=1, ls=":", label="noise of a price")
ax.set(xlabel="sales to learn from", ylabel="typical error (thousands)", xscale="log", ylim=(0, 60))
ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
ax.minorticks_off()
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# All indicators of a column sum to one, and so does the constant: together they are redundant. The
# library says so, and least squares takes the shortest of the equally good answers.
small = IndicatorFeatures().fit(X[:, [KIND]])
print(
    find_redundant_columns(small.transform(X[:, [KIND]]), names=["condo", "town house", "family"])
)

# %%
# More columns than rows: 15 sales, 40 columns. Every training loss can be zero, in many ways. Any
# direction that no row can see may be added; the training loss stays, the test loss does not.
rng = np.random.default_rng(0)
true = rng.normal(size=40) * (rng.random(40) < 0.2)
A, A_new = rng.normal(size=(15, 40)), rng.normal(size=(2000, 40))
b, b_new = A @ true + rng.normal(scale=0.1, size=15), A_new @ true
shortest = LinearRegression(fit_intercept=False).fit(A, b).coef_
unseen_by_rows = np.linalg.svd(A)[2][15:]
walks = np.linspace(0, 6, 25)
direction = unseen_by_rows.T @ rng.normal(size=25)
direction /= np.linalg.norm(direction)
figure, ax = plt.subplots(figsize=(6.6, 4), layout="constrained")
for number, (part, M, t) in enumerate((("training", A, b), ("test", A_new, b_new))):
    loss = [((M @ (shortest + step * direction) - t) ** 2).mean() for step in walks]
    ax.plot(walks, loss, color=palette_color(number), lw=2, label=part)
ax.set(xlabel="distance from the shortest solution, along what no row sees", ylabel="mean square")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

print(f"rank of A, 15 x 40: {np.linalg.matrix_rank(A)}")
print(f"length of the shortest solution: {np.linalg.norm(shortest):.3f}")
print("equal to pinv(A) b:", np.allclose(shortest, np.linalg.pinv(A) @ b))
twice = LinearRegression(fit_intercept=False).fit(np.vstack([A[:1], A]), np.append(b[0] + 1, b))
left = (np.vstack([A[:1], A]) @ twice.coef_ - np.append(b[0] + 1, b)) ** 2
print(f"one row twice, with two prices: training loss {left.mean():.4f}, no longer zero")

# %%
# Two equal columns. Only their sum is decided; large weights of opposite sign fit as well as small
# ones. A penalty has an opinion where the data have none.
z = rng.normal(size=50)
t = 2 * z + rng.normal(scale=0.3, size=50)
double = np.column_stack([z, z])
found = find_redundant_columns(double, intercept=False, names=["metres", "metres again"])
print(found, "\n")
w = LinearRegression(fit_intercept=False).fit(double, t).coef_
for step in (0, 10, 1000):
    other = equivalent_coefficients(w, found.null_space, step)
    loss = ((double @ other - t) ** 2).mean()
    print(f"weights {other[0]:>9.2f} and {other[1]:>8.2f}: training loss {loss:.6f}")

# %%
# Two nearly equal columns, metres and feet with a typing error. Now least squares has one answer,
# but a single new row throws it about. With L2 nothing happens.
near = np.column_stack([z, z + rng.normal(scale=1e-3, size=50)])
print(find_redundant_columns(near, names=["metres", "feet"]), "\n")
tries = {"least squares": LinearRegression(), "ridge, alpha = 1": Ridge(alpha=1.0)}
figure, row = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
for number, (ax, (name, model)) in enumerate(zip(row, tries.items(), strict=True)):
    weights = []
    for _ in range(60):  # each time one row more
        extra = rng.normal()
        more = np.vstack([near, [[extra, extra + rng.normal(scale=1e-3)]]])
        target = np.append(t, 2 * extra + rng.normal(scale=0.3))
        weights.append(model.fit(more, target).coef_)
    weights = np.array(weights)
    ax.plot(*weights.T, "o", ms=4, color=palette_color(number))
    ax.set(title=name, xlabel="weight of metres", ylabel="weight of feet")
    style_axes(ax)
    print(f"{name:<18} weights vary by {weights.std(axis=0).round(4)}, their sum by "
          f"{weights.sum(axis=1).std():.4f}")  # fmt: skip
row[1].set(xlim=(0.9, 1.1), ylim=(0.9, 1.1))
plt.show()
