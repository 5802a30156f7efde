"""
Your own objective
==================

The solvers behind the models are public. Here they minimise what no model does: a loss of our own
over a file, a cost over two blocks in turn, a cost through easier ones that lie above it, and a
long valley by five rules of stepping.
"""

# %%
# A loss that no model has, log-cosh, as a leaf: the sum over a chunk of rows, with its slope. Any
# minimiser then works on rows of any place; these lie in a file.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tenfold
from tenfold import optim
from tenfold.math.parameters import add_intercept_column
from tenfold.math.penalties import L1Penalty
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3))
y = X @ [1.0, -2.0, 0.0] + 0.5 + rng.standard_t(2, size=2000)


def log_cosh(chunk, theta):
    error = add_intercept_column(chunk.X) @ theta - chunk.y
    value = np.logaddexp(error, -error).sum()
    return value / 2000, add_intercept_column(chunk.X).T @ np.tanh(error) / 2000


with tempfile.TemporaryDirectory() as folder:
    np.save(Path(folder) / "x.npy", X)
    rows = tenfold.open(Path(folder) / "x.npy", target=y)
    for method in ("lbfgs", "BFGS", "CG", "TNC"):
        found = optim.minimize(log_cosh, np.zeros(4), rows=rows, method=method)
        print(f"{method:>6}: {found.x.round(4)}  value {found.value:.6f}")

# %%
# With a penalty that has a kink the same leaf goes by proximal steps, and a zero is a zero. Inside
# a set it goes by projection: here coefficients must be shares.
rows = tenfold.open(X, y)
total = optim.objective_over_rows(rows, log_cosh)
sparse = optim.proximal_gradient(total, L1Penalty(0.1), np.zeros(4))
shares = optim.projected_gradient(total, optim.projections.simplex(), np.full(4, 0.25))
print("L1:    ", sparse.x.round(3))
print("shares:", shares.x.round(3), "which sum to", shares.x.sum().round(12))

# %%
# Two users have rated three films, and some ratings are unknown. The best ``u`` for a given ``v``
# is a formula and the other way round: in turn they never raise the cost (003, unit 7.6).
Y, known = np.array([[5.0, 0, 7], [1, 2, 0]]), np.array([[1, 0, 1], [1, 1, 0]])


def cost(blocks):
    errors = known * (Y - np.outer(blocks["u"], blocks["v"]))
    return ((errors**2).sum() + blocks["u"] @ blocks["u"] + blocks["v"] @ blocks["v"]) / 2


steps = {
    "u": lambda b: known * Y @ b["v"] / (1 + known @ b["v"] ** 2),
    "v": lambda b: (known * Y).T @ b["u"] / (1 + known.T @ b["u"] ** 2),
}
start = {"u": np.zeros(2), "v": np.array([2.0, 7, 8])}
first = optim.alternating_minimization(steps, start, cost, max_iter=1)
last = optim.alternating_minimization(steps, start, cost, tol=1e-12)
print("u after one round:", first.blocks["u"].round(3), "(003: 66/69 and 16/54 =", end=" ")
print(np.array([66 / 69, 16 / 54]).round(3), ")")
print("at rest:", np.outer(last.blocks["u"], last.blocks["v"]).round(2).tolist())

# %%
# The median by squares: a parabola that touches ``|d|`` and lies above it is easy to minimise, and
# the next one touches where the last one led.
data = np.array([0.0, 1.0, 2.0, 5.0, 100.0])


def middle_of_near(m):
    w = 1 / np.maximum(np.abs(data - m), 1e-9)
    return np.atleast_1d((w * data).sum() / w.sum())


found = optim.majorize_minimize(middle_of_near, lambda m: np.abs(data - m).sum(), np.array([30.0]))
print(f"from 30 to {found.x[0]:.4f} in {found.report['n_iter_']} rounds; mean {data.mean()}")


# %%
# A valley that is a hundred times longer than wide. Plain steps must suit the steep side and creep
# along the flat one; momentum gathers speed, Adam makes both sides alike.
def valley(x):
    bend = np.array([1.0, 100.0])
    return 0.5 * float(bend @ x**2), bend * x


RULES = {
    "plain": (optim.optimizers.SGD(), 0.015),
    "momentum": (optim.optimizers.Momentum(0.9), 0.01),
    "Nesterov": (optim.optimizers.Nesterov(0.9), 0.01),
    "RMSProp": (optim.optimizers.RMSProp(), 0.05),
    "Adam": (optim.optimizers.Adam(), 0.2),
}
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for number, (name, (rule, rate)) in enumerate(RULES.items()):
    found = optim.gradient_descent(
        valley,
        np.array([4.0, 1.0]),
        learning_rate=rate,
        optimizer=rule,
        max_iter=80,
        tol=None,
        keep_points=True,
    )
    points = found.report["history_"]["points"]
    left.plot(*points.T, color=palette_color(number), label=name, lw=1.2)
    right.semilogy(found.report["history_"]["objective"], color=palette_color(number), lw=1.5)
left.plot(0, 0, "k*", ms=12)
left.set(xlabel="flat direction", ylabel="steep direction", title="80 steps")
right.set(xlabel="step", ylabel="objective", title="how fast it falls")
left.legend(frameon=False)
style_axes(left)
style_axes(right)
plt.show()
