r"""
Going downhill
==============

Gradient descent repeats one line, :math:`\theta \leftarrow \theta - \eta \nabla F(\theta)`. All the
rest is how long the steps are, over how many rows the slope is taken, and when to stop.
"""

# %%
# Three points and a line through them: small enough to check by hand.
import os
import warnings
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

import tenfold
from tenfold import LinearRegression, datasets
from tenfold.engine import Chunk
from tenfold.math.losses import LogisticLoss, ProbitLoss
from tenfold.optim import (
    DivergenceError,
    gradient_descent,
    irls_step,
    largest_curvature,
    newton,
    online_sgd,
    schedules,
    sgd,
)
from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, legend_outside, palette_color, style_axes
from tenfold.teaching import gradient_noise, robbins_monro

A = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])  # the second column is the constant
b = np.array([1.0, 2.0, 4.0])


def mean_square(w):
    error = A @ w - b
    return error @ error / len(b), 2 / len(b) * A.T @ error


def told(w):
    return f"({w[0]:.5f}, {w[1]:.5f})"


first = gradient_descent(mean_square, np.zeros(2), learning_rate=0.1, max_iter=1)
last = gradient_descent(mean_square, np.zeros(2), learning_rate=0.1, tol=1e-8)
line = LinearRegression().fit(A[:, :1], b)
exact = np.append(line.coef_, line.intercept_)
print("slope and constant     by hand            | here")
print(f"one step of 0.1        (.66667, .46667)   | {told(first.x)}")
print(f"normal equations       (1.5, .83333)      | {told(exact)}")
print(f"{last.report['n_iter_']} steps of 0.1                          | {told(last.x)}")

# %%
# The rate decides. Below 2 / (largest curvature) every step leads nearer; above, each overshoots by
# more than the last. Too small is safe, and slow.
curvature = largest_curvature(mean_square, np.zeros(2))
print(f"largest curvature {curvature:.3f}, so rates below {2 / curvature:.4f} converge")
RATES = {"too small": 0.01, "good": 1.2 / curvature, "too large": 2.06 / curvature}
start, ways = np.array([-1.6, 1.0]), {}
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for name, rate in RATES.items():
        found = gradient_descent(
            mean_square, start, learning_rate=rate, max_iter=30, keep_points=True
        )
        ways[name] = found.report["history_"]
print("the library warns:", said[0].message)
try:
    gradient_descent(mean_square, start, learning_rate=1.0, max_iter=1000)
except DivergenceError as error:
    print("at rate 1.0:", error)

figure, (plane, curves) = plt.subplots(1, 2, figsize=(10.4, 4.4), layout="constrained")
slopes, constants = np.meshgrid(np.linspace(-2.2, 5, 200), np.linspace(-2.2, 3.4, 200))
height = ((A[:, :1, None] * slopes + constants - b[:, None, None]) ** 2).mean(axis=0)
plane.contour(slopes, constants, height, levels=np.geomspace(0.1, 40, 9), colors=MUTED_COLOR)
for number, (name, way) in enumerate(ways.items()):
    look = {"color": palette_color(number), "lw": 1.6, "label": f"{name}, {RATES[name]:.2f}"}
    plane.plot(*way["points"][:9].T, marker="o", ms=3.5, **look)
    curves.plot([mean_square(p)[0] for p in way["points"]], **look)
plane.plot(*exact, "*", color=TEXT_COLOR, ms=15, label="normal equations")
plane.set(
    xlabel="slope",
    ylabel="constant",
    xlim=(-2.2, 5),
    ylim=(-2.2, 3.4),
    title="the first eight steps",
)
curves.axhline(mean_square(exact)[0], color=TEXT_COLOR, lw=1, ls=":", label="least loss")
curves.set(xlabel="step", ylabel="mean squared error", yscale="log")
for ax in (plane, curves):
    ax.legend(frameon=False)
    style_axes(ax, grid=ax is curves)
plt.show()

# %%
# Why against the slope? Take a short step in every direction: the loss changes like the cosine of
# the angle between the step and the gradient, and falls most at 180 degrees.
value, slope = mean_square(start)
angles = np.linspace(0, 2 * np.pi, 181)
turned = np.arctan2(slope[1], slope[0]) + angles
directions = np.stack([np.cos(turned), np.sin(turned)], axis=1)
figure, ax = plt.subplots(figsize=(6.8, 3.8), layout="constrained")
for number, length in enumerate((1.0, 0.3, 0.01)):
    gain = np.array([mean_square(start + length * d)[0] - value for d in directions])
    ax.plot(
        np.degrees(angles), gain / length, color=palette_color(number), label=f"step {length:g}"
    )
ax.plot(
    np.degrees(angles),
    np.linalg.norm(slope) * np.cos(angles),
    color=TEXT_COLOR,
    ls=":",
    label="cosine",
)
ax.set(xlabel="angle from the gradient (degrees)", ylabel="change of the loss / length of step")
ax.set_xticks(range(0, 361, 90))
legend_outside(ax)
style_axes(ax)
plt.show()

# %%
# Descent is short-sighted. Where there are two valleys, the start decides which one it finds.


def two_valleys(x):
    return (0.25 * x**4 - 0.9 * x**2 + 0.25 * x + 1.2).item(), x**3 - 1.8 * x + 0.25


x = np.linspace(-2.1, 2.1, 300)
figure, ax = plt.subplots(figsize=(6.8, 3.8), layout="constrained")
ax.plot(x, [two_valleys(v)[0] for v in x], color=TEXT_COLOR, lw=2)
for number, begin in enumerate((-2.0, 0.3, 2.0)):
    found = gradient_descent(two_valleys, np.array([begin]), learning_rate=0.08, keep_points=True)
    way = found.report["history_"]["points"]
    label = f"from {begin:g}: height {found.value:.3f}"
    heights = [two_valleys(p)[0] for p in way]
    ax.plot(way[:, 0], heights, "o-", ms=5, lw=1, color=palette_color(number), label=label)
ax.set(xlabel="x", ylabel="F(x)", ylim=(-0.1, 2.2))
ax.legend(frameon=False, loc="upper center")
style_axes(ax, grid=False)
plt.show()

# %%
# The slope need not be that of all rows. Ten thousand rows: all at once, in batches of 100, one by
# one, and as a stream whose rows are seen once and forgotten. Counted in rows visited, few rows at
# a time are far ahead; then their noise stops them, unless the rate falls.
rng = np.random.default_rng(0)
truth = np.array([1.5, -1.0])
X = rng.normal(size=(10_000, 2)) * [1.0, 0.5]
y = X @ truth + rng.normal(scale=0.5, size=len(X))
rows = tenfold.open(X, y)


def squares(chunk, w):  # loss and slope, summed over the rows of a chunk
    error = chunk.X @ w - chunk.y
    return error @ error / 2, chunk.X.T @ error


def arrivals(n):
    fresh = np.random.default_rng(1)
    for _ in range(n):
        x = fresh.normal(size=(1, 2)) * [1.0, 0.5]
        yield Chunk(x, x @ truth + fresh.normal(scale=0.5, size=1))


def watched(leaf, way):
    def seen(chunk, w):
        way.append(w)
        return leaf(chunk, w)

    return seen


def of_all_rows(w):
    return tuple(part / len(X) for part in rows.total(squares, w))


zero, falling = np.zeros(2), schedules.PowerDecay(gamma=0.3, delta=0.6)
began = perf_counter()
found = gradient_descent(of_all_rows, zero, learning_rate=0.8, max_iter=40, keep_points=True)
spent = {"all rows": perf_counter() - began}
WAYS, visits = {"all rows": found.report["history_"]["points"]}, {"all rows": len(X)}
for name, size, rate in (("batches of 100", 100, 0.2), ("single rows", 1, falling)):
    way, began = [], perf_counter()
    end = sgd(watched(squares, way), zero, rows, batch_size=size, learning_rate=rate, max_iter=2)
    WAYS[name], visits[name] = np.array([*way, end.x]), size
    spent[name] = perf_counter() - began
way, began = [], perf_counter()
end = online_sgd(watched(squares, way), zero, arrivals(20_000), learning_rate=falling)
WAYS["stream"], visits["stream"] = np.array([*way, end.x]), 1
spent["stream"] = perf_counter() - began

best = LinearRegression(fit_intercept=False).fit(X, y).coef_
print(f"{'':<16}{'steps':>7}{'rows visited':>14}{'seconds':>9}   distance to the solution")
for name, way in WAYS.items():
    away = np.linalg.norm(way[-1] - best)
    steps = len(way) - 1
    print(f"{name:<16}{steps:>7}{steps * visits[name]:>14,}{spent[name]:>9.2f}   {away:.4f}")

figure, (plane, curves) = plt.subplots(1, 2, figsize=(10.4, 4.4), layout="constrained")
for number, (name, way) in enumerate(WAYS.items()):
    look = {"color": palette_color(number), "label": name}
    plane.plot(*way[:400].T, marker="o" if len(way) < 50 else None, lw=1.4, **look)
    picked = np.unique(np.geomspace(1, len(way) - 1, 200).astype(int))
    away = np.linalg.norm(way[picked] - best, axis=1)
    curves.plot(picked * visits[name], away, marker="o" if len(way) < 50 else None, **look)
plane.plot(*best, "*", color=TEXT_COLOR, ms=15, label="normal equations")
plane.set(xlabel="first weight", ylabel="second weight", title="the way, to step 400")
curves.set(xscale="log", yscale="log", xlabel="rows visited", ylabel="distance to the solution")
for ax in (plane, curves):
    ax.legend(frameon=False)
    style_axes(ax)
plt.show()

# %%
# A batch of all rows is gradient descent, to the last bit.
whole = sgd(squares, zero, rows, batch_size=len(X), learning_rate=0.3, max_iter=20, patience=20)
plain = gradient_descent(of_all_rows, zero, learning_rate=0.3, max_iter=20, tol=None)
print("batch of all rows = gradient descent:", np.array_equal(whole.x, plain.x))

# %%
# **Noise as a regulariser.** The slope of a few rows is that of all rows and noise, the less of it
# the larger the batch. Two valleys are equally deep here, a narrow one on the left and a wide one.
# Begun in the narrow one, descent stays; steps on single rows are thrown out of it, and a wide
# valley holds them.
pulls = np.where(np.arange(100) % 2, 4.5, -4.5)[:, None]  # their mean is zero


def valleys(chunk, theta):
    x, n = theta[0], len(chunk.X)
    narrow, wide = 40 * (x + 1) ** 2, 0.5 * (x - 1) ** 2
    slope = 80 * (x + 1) if narrow < wide else x - 1
    return n * min(narrow, wide) + chunk.X.sum() * x, np.array([n * slope + chunk.X.sum()])


pulled, start = tenfold.open(pulls), np.array([-0.95])
noise = gradient_noise(valleys, start, pulled)
ends = {}
for size in (1, 10, 100):
    ends[size] = [
        sgd(
            valleys,
            start,
            pulled,
            batch_size=size,
            learning_rate=0.02,
            max_iter=10 * size,
            seed=seed,
            patience=10_000,
        ).x[0]
        for seed in range(20)
    ]
    deviation = np.sqrt(noise.of_batch(size)[0, 0])
    share = np.mean(np.array(ends[size]) > 0)
    print(
        f"batches of {size:3d}: noise {deviation:.2f}, {share:.0%} of 20 runs end in the wide one"
    )
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
x = np.linspace(-1.6, 3, 400)
ax.plot(x, np.minimum(40 * (x + 1) ** 2, 0.5 * (x - 1) ** 2), color=TEXT_COLOR)
for number, (size, found) in enumerate(ends.items()):
    ax.plot(found, np.full(20, -0.25 * (number + 1)), "|", ms=10, color=palette_color(number))
    ax.text(3.05, -0.25 * (number + 1), f"batches of {size}", va="center", color=TEXT_COLOR)
ax.set(xlabel="weight", ylabel="mean loss", ylim=(-1, 2.5))
style_axes(ax)
plt.show()

# %%
# Now logistic and probit regression of zeros and ones, under every schedule of the notes. Do losses
# fall at every step? And does the schedule meet the conditions of Robbins and Monro, under which
# steps on single rows converge?
folder = os.environ.get("TENFOLD_DATA")
if folder and (Path(folder) / "mnist").is_dir():
    images, digits = datasets.fetch_mnist(return_X_y=True)
    images, digits = images[:4000].reshape(-1, 14, 2, 14, 2) / 255.0, digits[:4000]
    images = images.mean(axis=(2, 4)).reshape(-1, 196)
    print("MNIST, 28 x 28 pixels, four averaged to one")
else:
    images, digits = datasets.load_digits(return_X_y=True)
    images = images / 16.0
    print("MNIST is not here (TENFOLD_DATA does not name it): digits of 8 x 8 pixels instead")


def pair(one, other, most=400):
    chosen = np.flatnonzero((digits == one) | (digits == other))[:most]
    Z = np.column_stack([images[chosen], np.ones(len(chosen))])
    return Z.astype(float), np.where(digits[chosen] == other, 1.0, -1.0)


def mean_loss(loss, Z, s, ridge=0.0):
    def f(w):
        value, slope = loss.value_and_gradient(Z @ w, s)
        return value.mean() + ridge / 2 * w @ w, Z.T @ slope / len(s) + ridge * w

    return f


SCHEDULES = {
    "log t / sqrt t": schedules.LogOverSqrt(),
    "10 log t / sqrt t": schedules.LogOverSqrt(10),
    "1": schedules.ConstantRate(1.0),
    "1 / t": schedules.PowerDecay(),
    "1 / (1 + t)": schedules.PowerDecay(shift=1),
    "t^-.25": schedules.PowerDecay(delta=0.25),
    "t^-.5": schedules.PowerDecay(delta=0.5),
    "t^-.75": schedules.PowerDecay(delta=0.75),
}
Z, s = pair(0, 1)
rng = np.random.default_rng(0)
TRIED = {  # the loss, and where the notes begin
    "logistic": (LogisticLoss(), rng.uniform(0, 1, Z.shape[1])),
    "probit": (ProbitLoss(), rng.uniform(-1, 1, Z.shape[1])),
}
traces = {}
print(f"{len(s)} images of 0 and 1; mean loss after 100 steps, and how often it rose")
print(f"{'rate':<19}{'logistic':>18}{'probit':>18}   Robbins-Monro")
for name, rate in SCHEDULES.items():
    cells = []
    for link, (loss, origin) in TRIED.items():
        f = mean_loss(loss, Z, s)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # what rises is told below
                found = gradient_descent(f, origin, learning_rate=rate, max_iter=100, tol=0.0)
        except DivergenceError:
            cells.append("runs away")
            continue
        trace = traces[link, name] = [f(origin)[0], *found.report["history_"]["objective"]]
        cells.append(f"{trace[-1]:.2e}, {int((np.diff(trace) > 0).sum()):>2} x")
    print(f"{name:<19}{cells[0]:>18}{cells[1]:>18}   {robbins_monro(rate).holds}")

figure, row = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharey=True)
for ax, link in zip(row, TRIED, strict=True):
    for number, name in enumerate(SCHEDULES):
        if (link, name) in traces:
            hue = palette_color(number) if number < 7 else MUTED_COLOR
            ax.plot(range(101), traces[link, name], color=hue, lw=1.6, label=name)
    ax.set(title=link, xlabel="step", yscale="log")
    style_axes(ax)
row[0].set_ylabel("mean loss")
handles = row[0].get_legend_handles_labels()
row[1].legend(*handles, loc="center left", bbox_to_anchor=(1.01, 0.5), title="rate", frameon=False)
plt.show()

# %%
# One of the notes wants log t / sqrt t to be square-summable. It is not, and it rises until step 7
# before it falls.
print(robbins_monro(schedules.LogOverSqrt()).evidence)
print("largest at step", max(range(1, 100), key=schedules.LogOverSqrt()))

# %%
# Newton's method also asks for the curvature. Its steps cost more, and few are needed. A little L2
# keeps the minimum finite where a line separates the digits.
RIDGE = 1e-3


def curved(Z, s):
    slope_only = mean_loss(LogisticLoss(), Z, s, RIDGE)

    def f(w):
        bend = LogisticLoss().curvature(Z @ w, s) / len(s)
        return *slope_only(w), (Z.T * bend) @ Z + RIDGE * np.eye(len(w))

    return f


def race(Z, s):
    """Losses of the steps of both methods, and seconds."""
    f, origin = mean_loss(LogisticLoss(), Z, s, RIDGE), np.zeros(Z.shape[1])
    rate, runs = 1 / largest_curvature(f, origin), {}
    began = perf_counter()
    found = gradient_descent(f, origin, learning_rate=rate, max_iter=1000)
    runs["descent"] = found.report["history_"]["objective"], perf_counter() - began
    began = perf_counter()
    found = newton(curved(Z, s), origin, tol=1e-12, max_iter=30)
    runs["Newton"] = found.report["history_"]["objective"], perf_counter() - began
    return runs


figure, row = plt.subplots(1, 2, figsize=(10.4, 4.2), layout="constrained", sharey=True)
print(f"{'digits':<10}{'method':<10}{'steps':>7}{'seconds':>9}   above the minimum")
for ax, (one, other) in zip(row, [(0, 1), (3, 8)], strict=True):
    with threadpool_limits(1):  # so that seconds compare
        runs = race(*pair(one, other))
    least = min(trace.min() for trace, _ in runs.values())
    for number, (name, (trace, seconds)) in enumerate(runs.items()):
        left = trace[-1] - least
        print(f"{one} and {other}   {name:<10}{len(trace):>7}{seconds:>9.2f}   {left:.1e}")
        steps = np.arange(1, len(trace) + 1)
        look = {"color": palette_color(number), "marker": "o" if number else None, "ms": 4}
        ax.plot(steps, np.maximum(trace - least, 1e-17), label=name, **look)
    ax.set(xscale="log", yscale="log", xlabel="step", title=f"{one} against {other}")
    ax.legend(frameon=False)
    style_axes(ax)
row[0].set_ylabel("loss above the minimum")
plt.show()

# %%
# A Newton step is one weighted least-squares solve: the two are the same point.
Z, s = pair(3, 8)
Z = Z[:, Z.std(axis=0) > 0.25]  # few enough columns that the Hessian is no riddle
w = np.zeros(Z.shape[1])
value, slope = LogisticLoss().value_and_gradient(Z @ w, s)
H = (Z.T * LogisticLoss().curvature(Z @ w, s)) @ Z
by_newton = w - np.linalg.solve(H, Z.T @ slope)
by_weights = irls_step(Z, s, w, LogisticLoss())
print(f"{Z.shape[1]} columns, the points differ by {np.abs(by_newton - by_weights).max():.1e}")
