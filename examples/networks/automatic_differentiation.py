"""
Derivatives of what you write
=============================

A cost written in NumPy is all that a gradient needs: `value_and_grad` runs it once and goes back
through what was done. So any model can be fitted that can be written down, and every formula for a
gradient can be checked.
"""

# %%
# The first lessons of the notes, and a second derivative.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import datasets, optim
from tenfold.plot.style import palette_color, style_axes
from tenfold.teaching import autodiff, compare_derivatives, differentiate, symbols

print("d x^2 at 2:", autodiff.grad(lambda x: x**2)(2.0))
print("d x (x + y) at (2, 1):", autodiff.grad(lambda x, y: x * (x + y), (0, 1))(2.0, 1.0))
sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
thrice = lambda x: sigmoid(sigmoid(sigmoid(x)))  # noqa: E731
print("a sigmoid of a sigmoid of a sigmoid at 1.5:", autodiff.grad(thrice)(1.5))

# %%
# **As a formula.** The derivative of the sigmoid model of the notes, which a program
# for symbolic computation prints there: the same function is run on symbols, differentiated by the
# rules of calculus, and compared with automatic differentiation and with finite differences.
model = lambda p1, p2: 1 / (1 + np.exp(-(2.0 * p1 + p2)))  # noqa: E731 - one row, x = 2
x_, p1_, p2_ = symbols("x p1 p2")
print("d y / d p1 =", differentiate(1 / (1 + np.exp(-(p1_ * x_ + p2_))), p1_))
three = compare_derivatives(model, 0.3, -0.1)
print(f"at x = 2: formula {three.symbolic[0]:.12f}, automatic {three.automatic[0]:.12f},")
print(f"differences {three.numerical[0]:.12f}")

# %%
# A function and its derivatives, each the gradient of the one before.
bell = lambda x: np.exp(-(x**2))  # noqa: E731
x = np.linspace(-3, 3, 121)
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
f, name = bell, "f"
for order in range(4):
    ax.plot(x, [f(at) for at in x], color=palette_color(order), lw=2, label=name)
    f, name = autodiff.grad(f), name + "'"
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# A model of one's own: a sine with unknown frequency, phase, height and noise, by maximum
# likelihood. Nobody has to derive anything.
rng = np.random.default_rng(0)
t = np.sort(rng.uniform(0, 10, 80))
seen = 1.5 * np.sin(1.3 * t + 0.7) + rng.normal(0, 0.4, 80)


def cost(theta):
    height, frequency, phase, log_noise = theta
    errors = (seen - height * np.sin(frequency * t + phase)) / np.exp(log_noise)
    return np.mean(errors**2) / 2 + log_noise


found = optim.minimize(autodiff.value_and_grad(cost), np.array([1.0, 1.2, 0.5, 0.0]))
spread = np.sqrt(np.diag(np.linalg.inv(len(t) * autodiff.hessian(cost)(found.x))))
for name, value, width in zip(
    ("height", "frequency", "phase", "log noise"), found.x, spread, strict=True
):
    print(f"{name:10s} {value:6.3f} +- {width:.3f}")
fine = np.linspace(0, 10, 300)
fig, ax = plt.subplots(figsize=(7.4, 3.2), layout="constrained")
ax.plot(t, seen, "o", ms=4, color=palette_color(0))
ax.plot(fine, found.x[0] * np.sin(found.x[1] * fine + found.x[2]), color=palette_color(1), lw=2)
style_axes(ax)
plt.show()

# %%
# Checks. The gradient of the logistic cost as the notes print it is right; with a sign lost in
# printing it is not, and the check says where.
X, y = datasets.make_noisy_xor(60, random_state=0)
logistic = lambda w: -np.mean(y * np.log(sigmoid(X @ w)) + (1 - y) * np.log(1 - sigmoid(X @ w)))  # noqa: E731
w = np.array([0.3, -0.2])
printed = lambda w: -X.T @ (y - sigmoid(X @ w)) / len(y)  # noqa: E731
for name, slope in (("as derived", printed), ("sign lost", lambda w: -printed(w))):
    check = autodiff.check_gradient(logistic, w, slope)
    print(f"{name}: agrees {check.agrees}, largest error {check.error:.1e} at {check.where}")

# %%
# Traces, the exercise of 001: d tr(X' B X) = B X + B' X.
B, Z = rng.normal(size=(3, 3)), rng.normal(size=(3, 4))
print(autodiff.check_gradient(lambda X: np.trace(X.T @ B @ X), Z, lambda X: B @ X + B.T @ X).agrees)

# %%
# The channel map: output Q depends on time directly (technology) and through capital and labour.
# The total effect is the sum of the three.


def output(t, K, L):
    return (1 + 0.02 * t) * K**0.3 * L**0.7


growth = {"K": lambda t: 10 * np.exp(0.05 * t), "L": lambda t: 5 + 0.3 * t}
effects = autodiff.total_derivative(output, growth, 4.0)
print(f"directly {effects.direct:.4f}, through capital {effects.through['K']:.4f}, ", end="")
print(f"through labour {effects.through['L']:.4f}, in total {effects.total:.4f}")
print(
    "as one function of time",
    autodiff.grad(lambda t: output(t, growth["K"](t), growth["L"](t)))(4.0),
)

# %%
# How precise are finite differences? Short steps lose digits to rounding, long ones to curvature;
# the rule of the fourth order is best at longer steps. The differentiator has no step to choose.
steps = np.logspace(-14, 0, 60)
truth = np.cos(1.0)
two_sided = [abs((np.sin(1 + h) - np.sin(1 - h)) / (2 * h) - truth) for h in steps]
one_sided = [abs((np.sin(1 + h) - np.sin(1)) / h - truth) for h in steps]
fourth = [abs(autodiff.numerical_gradient(np.sin, 1.0, step=h) - truth) for h in steps]
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i, (name, errors) in enumerate(
    {"one-sided": one_sided, "two-sided": two_sided, "fourth order": fourth}.items()
):
    ax.loglog(steps, np.maximum(errors, 1e-17), color=palette_color(i), lw=1.8, label=name)
ax.set(xlabel="step", ylabel="error of the slope of sin at 1")
ax.legend(frameon=False)
style_axes(ax)
plt.show()
