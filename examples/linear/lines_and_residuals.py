r"""
Lines, residuals, projections
=============================

Least squares draws the line with the smallest sum of squared residuals. Seen in another space, it
drops a perpendicular on a plane. What changes if the residuals are not squared?
"""

# %%
# Six points, a line, and what it misses.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from tenfold import (
    FunctionFeatures,
    LinearRegression,
    PolynomialFeatures,
    QuantileRegressor,
    hat_matrix,
    plot,
)
from tenfold.inspection import regression_diagnostics
from tenfold.math.losses import AbsoluteLoss
from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, palette_color, style_axes

X = np.array([[0.5], [1.2], [2.1], [3.0], [3.8], [4.9]])
y = np.array([1.6, 1.4, 3.1, 2.9, 4.6, 4.4])
line = LinearRegression().fit(X, y)
seen = regression_diagnostics(line, X, y)
ends = np.array([[0.0], [5.5]])
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(ends, line.predict(ends), color=palette_color(0), lw=2, label="least squares")
ax.vlines(X[:, 0], seen.fitted, y, color=MUTED_COLOR, lw=2, zorder=1, label="residuals")
ax.plot(X, y, "o", color=palette_color(1), ms=7, label="six points")
ax.set(xlabel="x", ylabel="y")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# Four points that can be worked by hand. The residuals sum to zero and are orthogonal to x: nothing
# in them could still be explained by the line.
X4, y4 = np.arange(4.0)[:, None], np.array([1.0, 3.0, 4.0, 8.0])
by_hand = LinearRegression().fit(X4, y4)
four = regression_diagnostics(by_hand, X4, y4)
print(f"{'':<24}{'by hand':<20}| here")
print(f"{'constant, slope':<24}{'.7, 2.2':<20}| {by_hand.intercept_:.4f}, {by_hand.coef_[0]:.4f}")
print(f"{'residuals':<24}{'.3, .1, -1.1, .7':<20}| {four.residuals.round(4)}")
print(f"{'half their squares':<24}{'.9':<20}| {(four.residuals**2).sum() / 2:.4f}")
print(f"sum of the residuals {four.residuals.sum():.0e}, cosine with x {four.orthogonality:.0e}")

# %%
# The other picture. Three rows make every column an arrow in space. All that two columns can
# predict is a plane; the prediction is the point of it nearest to y, and the residual stands
# upright on the plane. The matrix that does this, the hat matrix, is symmetric and changes nothing
# when applied twice.
A, b = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([2.4, 0.4, 3.4])
plot.least_squares_projection(A, b)
plt.show()

H = hat_matrix(X)
print(f"H = H': {np.allclose(H, H.T)},  H H = H: {np.allclose(H @ H, H)},  trace {np.trace(H):.6f}")
print(f"H y is the fit: {np.allclose(H @ y, line.predict(X))}")

# %%
# Some data no line can fit. With x squared as one more column the model is still linear, in its
# weights, and it bends.
rng = np.random.default_rng(0)
x = rng.uniform(-2, 3, 60)[:, None]
bent = 1 - 0.5 * x[:, 0] + 0.8 * x[:, 0] ** 2 + rng.normal(scale=0.5, size=60)
grid = np.linspace(-2.1, 3.1, 200)[:, None]
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(x, bent, "o", color=TEXT_COLOR, ms=4)
for number, degree in enumerate((1, 2)):
    model = make_pipeline(PolynomialFeatures(degree, include_bias=False), LinearRegression())
    model.fit(x, bent)
    error = ((model.predict(x) - bent) ** 2).mean()
    label = f"degree {degree}: mean square {error:.2f}"
    ax.plot(grid, model.predict(grid), color=palette_color(number), lw=2, label=label)
ax.set(xlabel="x", ylabel="y")
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# Any functions can be columns. Here is the basis of the notes,
# :math:`\phi(x) = (x_1, x_1^2, x_2, \sin x_2)`, on data that follow it.
basis = FunctionFeatures(
    {
        "x1": lambda X: X[:, 0],
        "x1^2": lambda X: X[:, 0] ** 2,
        "x2": lambda X: X[:, 1],
        "sin x2": lambda X: np.sin(X[:, 1]),
    },
    keep_original=False,
)
print("(2, pi/2) becomes", basis.fit_transform([[2.0, np.pi / 2]]).round(4)[0])
truth = np.array([1.0, -0.7, 0.3, 2.0])
X2 = np.column_stack([rng.uniform(-2, 2, 200), rng.uniform(-5, 5, 200)])
y2 = basis.transform(X2) @ truth + rng.normal(scale=0.3, size=200)
plane = LinearRegression().fit(X2, y2)
curved = make_pipeline(basis, LinearRegression()).fit(X2, y2)
print(f"{'weight of':<10}{'truth':>8}{'learned':>9}")
for name, true, learned in zip(basis.get_feature_names_out(), truth, curved[-1].coef_, strict=True):
    print(f"{name:<10}{true:>8.2f}{learned:>9.3f}")
print(f"mean square: plane {((plane.predict(X2) - y2) ** 2).mean():.3f}, "
      f"basis {((curved.predict(X2) - y2) ** 2).mean():.3f}, noise {0.3**2:.3f}")  # fmt: skip

first, second = np.meshgrid(np.linspace(-2, 2, 40), np.linspace(-5, 5, 40))
both = np.column_stack([first.ravel(), second.ravel()])
figure, row = plt.subplots(
    1, 2, figsize=(9.6, 4.4), layout="constrained", subplot_kw={"projection": "3d"}
)
for ax, (name, model) in zip(row, {"x1, x2": plane, "the basis": curved}.items(), strict=True):
    ax.plot_surface(
        first, second, model.predict(both).reshape(first.shape), color=palette_color(5), alpha=0.5
    )
    ax.scatter(*X2.T, y2, color=TEXT_COLOR, s=5)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="y", title=f"columns: {name}")
    ax.view_init(elev=22, azim=-50)
    ax.locator_params(nbins=5)
plt.show()

# %%
# Now an outlier. Squares pay dearly for one far point and bend the whole line to it; absolute
# values count it like any other.
X_out, y_out = np.vstack([X, [[5.2]]]), np.append(y, -4.0)


def absolute():
    return QuantileRegressor(alpha=0)  # the median: least absolute deviations


figure, row = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained", sharey=True)
for ax, (title, a, b) in zip(row, [("six points", X, y), ("and an outlier", X_out, y_out)],
                             strict=True):  # fmt: skip
    for number, (name, model) in enumerate(
        {"squares": LinearRegression(), "absolute": absolute()}.items()
    ):
        model.fit(a, b)
        label = f"{name}: slope {model.coef_[0]:.2f}"
        ax.plot(ends, model.predict(ends), color=palette_color(number), lw=2, label=label)
    ax.plot(a, b, "o", color=TEXT_COLOR, ms=6)
    ax.set(title=title, xlabel="x")
    ax.legend(frameon=False, loc="lower left")
    style_axes(ax)
row[0].set_ylabel("y")
plt.show()

values = np.array([0.0, 0.0, 0.0, 0.0, 100.0])
print("a constant for 0, 0, 0, 0, 100:   by hand | here")
print(f"squares (the mean)                     20 | {values.mean():g}")
constant = QuantileRegressor(alpha=0, fit_intercept=False).fit(np.ones((5, 1)), values)
print(f"absolute (the median)                   0 | {constant.coef_[0] + 0.0:g}")

# %%
# The price: absolute loss may have many minima, and may jump. Left: for the values 0 and 1 every
# constant between them costs the same. Right: a line through the origin and two points; as the
# second crosses x = 1, the best slope leaps from 0 to 10, while that of squares hardly moves.
figure, (many, jump) = plt.subplots(1, 2, figsize=(10.4, 4), layout="constrained")
guesses = np.linspace(-0.6, 1.6, 221)
total = np.array([AbsoluteLoss().total(np.full(2, g), np.array([0.0, 1.0])) for g in guesses])
square = np.array([((g - np.array([0.0, 1.0])) ** 2).sum() for g in guesses])
many.plot(guesses, square, color=palette_color(0), lw=2, label="squares")
many.plot(guesses, total, color=palette_color(1), lw=2, label="absolute")
many.set(xlabel="constant", ylabel="loss", ylim=(0, 2.6))
places = np.linspace(0.9, 1.1, 42)
slopes = {"squares": [], "absolute": []}
for place in places:
    pair, targets = np.array([[1.0], [place]]), np.array([0.0, 10 * place])
    slopes["squares"].append(LinearRegression(fit_intercept=False).fit(pair, targets).coef_[0])
    exact = QuantileRegressor(alpha=0, fit_intercept=False).fit(pair, targets)
    slopes["absolute"].append(exact.coef_[0])
for number, (name, found) in enumerate(slopes.items()):
    jump.plot(places, found, ".-", color=palette_color(number), label=name)
jump.set(xlabel="x of the second point", ylabel="best slope", title="points (1, 0) and (x, 10 x)")
many.set_title("values 0 and 1")
for ax in (many, jump):
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()

print(f"{'second point':<16}{'by hand':>22} | here")
for place, target, hand in ((0.99, 9.9, "0 and 4.9498"), (1.01, 10.1, "10 and 5.0498")):
    pair, targets = np.array([[1.0], [place]]), np.array([0.0, target])
    w1 = QuantileRegressor(alpha=0, fit_intercept=False).fit(pair, targets).coef_[0] + 0.0
    w2 = LinearRegression(fit_intercept=False).fit(pair, targets).coef_[0]
    print(f"({place}, {target:<5}){'':<4}{hand:>22} | {w1:.4f} and {w2:.4f}")
