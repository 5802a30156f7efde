r"""
Planes, distances, multipliers
==============================

The boundary of a linear classifier is a plane. How far a point lies from it, and on which side, is
what the classifier knows. The nearest point of the plane is a small problem of minimisation under a
constraint, and such problems have a tool of their own: Lagrange's multipliers.
"""

# %%
# The line through (3, 1) with normal (2, 2), in three forms. Any multiple of the coefficients is
# the same line; with a normal of length one the constant is, up to its sign, the distance of the
# origin.
import matplotlib.pyplot as plt
import numpy as np

from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, palette_color, style_axes
from tenfold.teaching import lagrange_stationary_point
from tenfold.teaching.geometry import Hyperplane, norm, vector_projection

plane = Hyperplane.from_point([3, 1], normal=[2, 2])
print("point and normal       (3, 1) and (2, 2)")
print("coefficients          ", plane.coefficients)
print("normal of length one  ", plane.normalize().coefficients.round(4))
print("the same line?        ", plane.same_as(Hyperplane.from_coefficients([1, 1, -4])))

# %%
# The worked numbers: two points to test, the distance of a third, and its projection.
a, b, x = np.array([1.0, 3.0]), np.array([1.0, 4.0]), np.array([6.0, 2.0])
foot = plane.project(x)
print(f"{'':<32}in the notes | here")
print(f"{'a = (1, 3) on the line?':<32}yes, 0       | {plane.contains(a)}, {plane.value(a):g}")
print(f"{'b = (1, 4) on the line?':<32}no, 2        | {plane.contains(b)}, {plane.value(b):g}")
print(f"{'distance of x = (6, 2)':<32}2 sqrt 2     | {plane.signed_distance(x):.6f}")
print(f"{'projection of x':<32}(4, 0)       | ({foot[0]:.6f}, {foot[1]:.6f})")
print(f"\nthe projection lies on the line: {plane.contains(foot)}")
print(f"projected again, it stays: {plane.project(foot).round(6)}")
print(f"its distance from x is |d|: {norm(x - foot):.6f}")

# %%
# Left: the line, its normal, and the way from x straight back along it. Colours are the signed
# distance, positive on the side to which the normal points. Right: what the projection does, seen
# from the normal: x minus a point of the line has a part along the normal, and that is taken away.
figure, (map_of, parts) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
grid = np.stack(np.meshgrid(np.linspace(-1, 8, 200), np.linspace(-2, 6, 200)), axis=-1)
image = map_of.imshow(
    plane.signed_distance(grid),
    extent=(-1, 8, -2, 6),
    origin="lower",
    cmap="RdBu_r",
    vmin=-6,
    vmax=6,
)
figure.colorbar(image, ax=map_of, shrink=0.8, label="signed distance")
ends = np.array([-1.0, 6.0])


def arrow(ax, start, end, hue):
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": hue, "lw": 2})


for ax in (map_of, parts):
    ax.plot(ends, 4 - ends, color=TEXT_COLOR, lw=2)
    ax.set(xlim=(-1, 8), ylim=(-2, 6), xlabel="$x_1$", aspect="equal")
    ax.set_ylabel("$x_2$", rotation=0)
    style_axes(ax, grid=False)
arrow(map_of, plane.point, plane.point + plane.normal / norm(plane.normal), TEXT_COLOR)
map_of.annotate("normal", plane.point, (8, 24), textcoords="offset points")
for name, point, on in (("a", a, True), ("b", b, False), ("x", x, False)):
    map_of.plot(*point, "o", color=TEXT_COLOR, mfc=TEXT_COLOR if on else "white", ms=7)
    map_of.annotate(
        f"{name} ({point[0]:g}, {point[1]:g})", point, (7, 6), textcoords="offset points"
    )
map_of.plot(*foot, "s", color=palette_color(1), ms=7)
map_of.plot(*np.array([x, foot]).T, color=palette_color(1), lw=2)
map_of.annotate("projection (4, 0)", foot, (-6, -14), textcoords="offset points", ha="right")
map_of.annotate(
    "$2\\sqrt{2}$", (x + foot) / 2, (8, -8), textcoords="offset points", color=palette_color(1)
)

origin = np.array([3.0, 1.0])
along = vector_projection(x - origin, plane.normal)
arrow(parts, origin, x, palette_color(0))
arrow(parts, origin, origin + along, palette_color(1))
arrow(parts, origin + along, x, MUTED_COLOR)
parts.plot(*np.array([x, foot]).T, color=palette_color(1), ls=":", lw=1.6)
parts.plot(*foot, "s", color=palette_color(1), ms=7)
parts.annotate("(3, 1) on the line", origin, (-8, -4), textcoords="offset points", ha="right")
parts.annotate("x", x, (6, 2), textcoords="offset points")
parts.annotate("along the normal", origin + along, (0, 8), textcoords="offset points", ha="center")
parts.annotate("projection", foot, (-8, -6), textcoords="offset points", ha="right")
plt.show()

# %%
# Three dimensions are no different: a plane through three points, a point above it, its shadow.
space = Hyperplane.from_points([[3.0, 0, 0], [0, 3.0, 0], [0, 0, 2.0]])
point = np.array([2.0, 2.0, 2.5])
shadow = space.project(point)
u, v = np.meshgrid([-0.5, 3.2], [-0.5, 3.2])
normal, offset = space.normal, space.offset
ax = plt.figure(figsize=(5.6, 4.6), layout="constrained").add_subplot(projection="3d")
surface = -(normal[0] * u + normal[1] * v + offset) / normal[2]
ax.plot_surface(u, v, surface, color=palette_color(5), alpha=0.35, lw=0)
ax.plot(*np.array([point, shadow]).T, color=palette_color(1), lw=2)
ax.scatter(*point, color=TEXT_COLOR, s=40)
ax.scatter(*shadow, color=palette_color(1), marker="s", s=40)
ax.text(*point, f"  distance {abs(space.signed_distance(point)):.2f}")
ax.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$", zlim=(-2, 3))
ax.set_box_aspect((3.7, 3.7, 5), zoom=0.85)
ax.locator_params(nbins=4)
ax.view_init(elev=24, azim=-14)
plt.show()

# %%
# Lagrange's way. The largest z = x y with x + y = c: at the best point the slope of z is a multiple
# of that of the constraint, or one could still gain by moving along it.


def product(v):
    return v[0] * v[1], v[::-1].copy()


def on_line(c):
    return lambda v: (np.array([v.sum() - c]), np.ones((1, 2)))


best = lagrange_stationary_point(product, on_line(6), np.array([1.0, 2.0]))
print(f"{'':<14}in the notes | here")
for name, value in zip("xy", best.x, strict=True):
    print(f"{name:<14}3            | {value:.6f}")
print(f"{'multiplier':<14}3            | {best.multipliers[0]:.6f}")
print(f"{'z':<14}9            | {best.value:.6f}  (a {best.kind})")

figure, plan = plt.subplots(figsize=(5.2, 5), layout="constrained")
side = np.linspace(0, 6.5, 200)
levels = plan.contour(side, side, np.outer(side, side), levels=[3, 9, 16, 25], colors=MUTED_COLOR)
plan.clabel(levels, fmt="z = %g", manual=[(2.2, 1.4), (6.1, 1.5), (5, 3.2), (5.6, 4.5)])
plan.plot([0, 6], [6, 0], color=palette_color(0), lw=2, label="x + y = 6")
for spot, hue in ((best.x, palette_color(1)), (np.array([5.0, 1.0]), TEXT_COLOR)):
    plan.plot(*spot, "o", color=hue, ms=7)
    arrow(plan, spot, spot + product(spot)[1] / 3, hue)
    arrow(plan, spot, spot + np.ones(2) * 0.7, palette_color(0))
plan.annotate("best: both slopes agree", best.x, (-10, -14), textcoords="offset points", ha="right")
plan.annotate("here they do not", (5, 1), (-8, -12), textcoords="offset points", ha="right")
plan.set(xlabel="x", xlim=(0, 6.5), ylim=(0, 6.5), aspect="equal")
plan.set_ylabel("y", rotation=0)
plan.legend(frameon=False, loc="upper right")
style_axes(plan, grid=False)
plt.show()

# %%
# The multiplier is a price: what the best value gains per unit of the constraint. The line with
# slope 3 touches the curve of best values at c = 6.
budgets = np.linspace(4, 8, 41)
values = [
    lagrange_stationary_point(product, on_line(c), np.array([1.0, 2.0])).value for c in budgets
]
figure, prices = plt.subplots(figsize=(6, 4), layout="constrained")
prices.plot(budgets, values, color=palette_color(1), lw=2, label="best z for each c")
tangent = best.value + best.multipliers[0] * (budgets - 6)
prices.plot(budgets, tangent, color=TEXT_COLOR, ls="--", lw=1.4, label="slope = the multiplier")
prices.plot(6, best.value, "o", color=palette_color(1), ms=7)
prices.set(xlabel="c, the sum of x and y", ylabel="best z")
prices.legend(frameon=False)
style_axes(prices)
plt.show()

# %%
# The projection above is such a problem, too: the nearest point of the line to x. The multiplier of
# half the squared distance is minus the value of the form, over the squared length of the normal.
nearest = lagrange_stationary_point(
    lambda v: ((v - x) @ (v - x) / 2, v - x),
    lambda v: (np.array([plane.value(v)]), plane.normal[None]),
    np.zeros(2),
)
print(
    f"nearest point {nearest.x.round(6)}, a {nearest.kind}; multiplier {nearest.multipliers[0]:.4f}"
)
print(f"minus the form over |normal|^2: {-plane.value(x) / norm(plane.normal) ** 2:.4f}")
