"""Convex functions that carry a proof of their convexity, composed by four rules.

Rule 1: a function of one variable with f'' >= 0 is convex. Rule 2: a convex function of A x + b is.
Rule 3: a sum of convex functions is. Rule 4: c times a convex function is, for c >= 0. The hinge
also needs the maximum of convex functions, and log-sum-exp its Hessian.

>>> import numpy as np
>>> x1, x2 = np.array([1.0, 2.0]), np.array([3.0, 1.0])
>>> loss = 0.5 * (square.of(x1, -1.0) + square.of(x2, 2.0))  # two rows of least squares
>>> loss(np.array([1.0, 0.0]))
12.5
>>> print(loss.proof)
rule 4: 0.5 times
  rule 3: a sum of
    rule 2: of an affine map,
      rule 1: u^2 has f'' = 2
    rule 2: of an affine map,
      rule 1: u^2 has f'' = 2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_POSITIVE_TEST_POINTS = np.union1d(np.geomspace(1e-6, 1e3, 400), np.arange(0.0, 1000.0, 0.25))
_TEST_POINTS = np.union1d(-_POSITIVE_TEST_POINTS, _POSITIVE_TEST_POINTS)
_FAR_TEST_POINTS = np.geomspace(1e3, 1e9, 200)  # where the sign of f'' alone is tested
_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(8)
_FINE_NODES, _FINE_WEIGHTS = np.polynomial.legendre.leggauss(200)
_UNDERFLOW = 1e-290  # smaller changes have lost digits
_DERIVATIVE_TOLERANCE = 1e-6  # of slope changes of f, relative to the integral of f''


class NotConvexError(ValueError):
    """A step of a proof that violates the rules."""


@dataclass(frozen=True)
class Convex:
    """A convex function with a proof. Add them, multiply by numbers >= 0, compose with `of`.

    Attributes
    ----------
    f : the function, of a number or of a flat point
    reason : the rule applied last
    parts : the convex functions to which it was applied
    """

    f: Callable[[np.ndarray], Any]
    reason: str
    parts: tuple[Convex, ...] = ()

    def __call__(self, x: np.ndarray | float) -> float:
        return float(np.squeeze(self.f(np.asarray(x, dtype=np.float64))))

    @property
    def proof(self) -> str:
        """The rules, from the last to the first, indented."""
        below = ["  " + line for part in self.parts for line in part.proof.splitlines()]
        return "\n".join([self.reason, *below])

    def of(self, A: np.ndarray | float, b: np.ndarray | float = 0.0) -> Convex:
        """Rule 2: x -> f(A x + b); a vector A maps a point to a number."""
        return Convex(lambda x: self(np.dot(A, x) + b), "rule 2: of an affine map,", (self,))

    def __add__(self, other: Convex) -> Convex:
        if not isinstance(other, Convex):
            raise NotConvexError(f"{other!r} has no proof: only convex functions can be added")
        return Convex(lambda x: self(x) + other(x), "rule 3: a sum of", (self, other))

    def __radd__(self, nothing: int) -> Convex:  # `sum` starts with 0
        return self if nothing == 0 else constant(nothing) + self

    def __mul__(self, c: float) -> Convex:
        if not c >= 0:
            raise NotConvexError(
                f"{c} times a convex function is concave: rule 4 needs a number >= 0"
            )
        return Convex(lambda x: c * self(x), f"rule 4: {c:g} times", (self,))

    __rmul__ = __mul__


def univariate(
    f: Callable[[np.ndarray], Any], second: Callable[[np.ndarray], np.ndarray], name: str
) -> Convex:
    """Rule 1: a function of one variable with a non-negative second derivative.

    The sign of the second derivative is tested at about 70,000 points from -1000 to 1000, and at
    some up to 1e9; that it belongs to f, by comparing its integrals with changes of the slope of f.
    What differs between those points alone, or beyond 1000, is not seen.

    Parameters
    ----------
    f : callable
    second : callable
        Its second derivative, of an array.
    name : str
        Its line in the proof, such as "u^2 has f'' = 2".

    Returns
    -------
    Convex

    Examples
    --------
    >>> import numpy as np
    >>> univariate(np.cosh, np.cosh, "cosh has f'' = cosh > 0").proof
    "rule 1: cosh has f'' = cosh > 0"
    >>> univariate(lambda u: u**3, lambda u: 6 * u, "u^3 has f'' = 6 u")
    Traceback (most recent call last):
        ...
    tenfold.teaching.convex_calculus.NotConvexError: f'' = -6e+09 at -1e+09: rule 1 needs f'' >= 0
    """
    inner = _interval_nodes(_TEST_POINTS[:-1], _TEST_POINTS[1:], _GAUSS_NODES)
    points = np.concatenate(
        [-_FAR_TEST_POINTS[::-1], _TEST_POINTS, inner.ravel(), _FAR_TEST_POINTS]
    )
    curvatures = _evaluate(second, points)
    if not (curvatures >= 0).all():
        worst = int(np.argmin(curvatures))
        text = f"f'' = {curvatures[worst]:.3g} at {points[worst]:.3g}"
        raise NotConvexError(f"{text}: rule 1 needs f'' >= 0")
    _check_second_derivative(f, second)
    return Convex(f, f"rule 1: {name}")


def _evaluate(f: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    """Values of a function of one variable, also if it takes single numbers only."""
    with np.errstate(all="ignore"):
        try:
            values = np.asarray(f(x), np.float64)
        except (TypeError, ValueError):
            values = np.array([float(np.squeeze(f(np.asarray(u)))) for u in x.ravel()])
            values = values.reshape(x.shape)
        return np.broadcast_to(values, x.shape)


def _interval_nodes(a: np.ndarray, b: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Quadrature nodes in intervals from a to b, (n_intervals, n_nodes)."""
    return (a + b)[:, None] / 2 + (b - a)[:, None] / 2 * nodes


def _check_second_derivative(
    f: Callable[[np.ndarray], Any], second: Callable[[np.ndarray], np.ndarray]
) -> None:
    r"""Raise an error unless `second` is the second derivative of f.

    Over neighboring points a < m < b, the slope of f changes by an integral of f'':

    .. math:: \frac{f(b) - f(m)}{b - m} - \frac{f(m) - f(a)}{m - a}
              = \int_a^m \frac{u - a}{m - a} f''(u)\,du + \int_m^b \frac{b - u}{b - m} f''(u)\,du
    """
    x = _TEST_POINTS
    f_x = _evaluate(f, x)
    with np.errstate(all="ignore"):
        slopes = np.diff(f_x) / np.diff(x)
        rounding = 16 * np.finfo(np.float64).eps * (np.abs(f_x[1:]) + np.abs(f_x[:-1])) / np.diff(x)
        change, noise = np.diff(slopes), rounding[1:] + rounding[:-1] + _UNDERFLOW
    triples = np.stack([x[:-2], x[1:-1], x[2:]])
    for nodes, weights in ((_GAUSS_NODES, _GAUSS_WEIGHTS), (_FINE_NODES, _FINE_WEIGHTS)):
        expected = _slope_change(second, triples, nodes, weights)
        with np.errstate(invalid="ignore"):
            error = np.abs(change - expected)
            wrong = error > _DERIVATIVE_TOLERANCE * np.abs(expected) + noise
        if not wrong.any():
            return
        change, noise, triples = change[wrong], noise[wrong], triples[:, wrong]
        expected = expected[wrong]
    worst = int(np.nanargmax(np.abs(change - _slope_change(second, triples, nodes, weights))))
    raise NotConvexError(
        f"f'' is not the second derivative of f near {triples[1, worst]:.3g}: the slope of f "
        f"changes by {change[worst]:.6g} there, not by {expected[worst]:.6g}"
    )


def _slope_change(
    second: Callable[[np.ndarray], np.ndarray],
    triples: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """The change of the slope over points a < m < b that a second derivative implies."""
    a, m, b = triples
    left, right = _interval_nodes(a, m, nodes), _interval_nodes(m, b, nodes)
    with np.errstate(all="ignore"):
        rising = _evaluate(second, left) * (1 + nodes) / 2
        falling = _evaluate(second, right) * (1 - nodes) / 2
        return (m - a) / 2 * (rising @ weights) + (b - m) / 2 * (falling @ weights)


def maximum(*parts: Convex) -> Convex:
    """The maximum of convex functions, which is convex.

    Examples
    --------
    >>> maximum(square, constant(1.0))(0.5)
    1.0
    """
    return Convex(lambda x: max(part(x) for part in parts), "the largest of", parts)


def constant(c: float) -> Convex:
    """A constant function, which is convex.

    Examples
    --------
    >>> constant(3.0)(np.zeros(2))
    3.0
    """
    return Convex(lambda _: c, f"rule 1: the constant {c:g} has f'' = 0")


def _log_sum_exp(z: np.ndarray) -> float:
    top = z.max()
    return float(top + np.log(np.exp(z - top).sum()))


square = univariate(np.square, lambda u: np.full_like(u, 2.0), "u^2 has f'' = 2")
identity = univariate(lambda u: u, np.zeros_like, "u has f'' = 0")
logistic = univariate(
    lambda u: np.logaddexp(0, -u),
    lambda u: np.exp(-np.abs(u)) / (1 + np.exp(-np.abs(u))) ** 2,
    "-log sigmoid(u) has f'' = sigmoid(u) sigmoid(-u) > 0",
)
hinge = maximum(constant(0.0), identity.of(-1.0, 1.0))
absolute = maximum(identity, identity.of(-1.0))
log_sum_exp = Convex(_log_sum_exp, "log-sum-exp has the Hessian diag(p) - p p', which is PSD")
