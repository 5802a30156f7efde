"""Quadratic programs, their duals and certificates; multipliers of Lagrange."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from tenfold.optim import InfeasibleError, UnboundedError, kkt, quadratic_program
from tenfold.teaching import lagrange_stationary_point, simplex_weights
from tests.optim.descent_problems import CALM


def random_program(seed, n=8, m=12, p=2, rank=4):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(rank, n))
    inside = rng.normal(size=n)
    G, A = rng.normal(size=(m, n)), rng.normal(size=(p, n))
    G = np.vstack([G, np.eye(n), -np.eye(n)])  # bounded, though P is singular
    h = np.concatenate([G[:m] @ inside + rng.random(m), inside + 2, 2 - inside])
    return B.T @ B, rng.normal(size=n), G, h, A, A @ inside


@pytest.mark.parametrize("seed", range(6))
def test_a_program_with_singular_curvature_is_solved_and_certified(seed):
    P, q, G, h, A, b = random_program(seed)
    found = quadratic_program(P, q, G, h, A, b)
    assert found.report["converged_"]
    assert found.certificate.holds(1e-8)
    assert abs(found.gap) < 1e-7
    theirs = scipy.optimize.minimize(
        lambda x: x @ P @ x / 2 + q @ x,
        found.x * 0.5,
        jac=lambda x: P @ x + q,
        method="SLSQP",
        tol=1e-12,
        constraints=[
            {"type": "ineq", "fun": lambda x: h - G @ x},
            {"type": "eq", "fun": lambda x: A @ x - b},
        ],
    )
    assert_allclose(found.value, theirs.fun, atol=1e-6)


def test_weak_duality_bounds_every_feasible_point():
    P, q, G, h, A, b = random_program(0, p=0)
    found = quadratic_program(P, q, G, h)
    dual = found.value - found.gap
    rng = np.random.default_rng(1)
    for x in rng.uniform(-2, 2, size=(3000, 8)):
        if (G @ x <= h).all():
            assert x @ P @ x / 2 + q @ x >= dual - 1e-9
    assert A.shape == (0, 8) and b.shape == (0,)  # noqa: PT018


@pytest.mark.parametrize("seed", range(4))
def test_a_linear_program_is_a_quadratic_one(seed):
    P, q, G, h, A, b = random_program(seed)
    found = quadratic_program(0 * P, q, G, h, A, b)
    assert_allclose(found.value, linprog(q, G, h, A, b, bounds=(None, None)).fun, atol=1e-7)


def test_equations_alone_are_one_linear_system():
    P, q, _, _, A, b = random_program(2, rank=8)
    found = quadratic_program(P, q, A=A, b=b)
    K = np.block([[P, A.T], [A, np.zeros((2, 2))]])
    assert_allclose(np.concatenate([found.x, found.y]), np.linalg.solve(K, np.append(-q, b)))
    again = quadratic_program(P, q, A=np.vstack([A, A]), b=np.append(b, b))  # said twice
    assert_allclose(again.x, found.x, atol=1e-8)


def soft_margin_dual(X, y, C):
    n = len(y)
    P = np.outer(y, y) * (X @ X.T)
    G = np.vstack([-np.eye(n), np.eye(n)]) if np.isfinite(C) else -np.eye(n)
    h = np.append(np.zeros(n), np.full(n, C)) if np.isfinite(C) else np.zeros(n)
    return quadratic_program(P, -np.ones(n), G, h, y[None], np.zeros(1))


def test_the_hard_margin_of_two_points():  # 004 5-03: the oracle
    X, y = np.array([[1.0, 1], [-1, -1]]), np.array([1.0, -1])
    dual = soft_margin_dual(X, y, np.inf)
    assert_allclose(dual.x, 0.25, atol=1e-8)
    assert_allclose((dual.x * y) @ X, [0.5, 0.5], atol=1e-8)
    G = -y[:, None] * np.column_stack([X, np.ones(2)])
    primal = quadratic_program(np.diag([1.0, 1, 0]), np.zeros(3), G, -np.ones(2))
    assert_allclose(primal.x, [0.5, 0.5, 0], atol=1e-8)
    assert_allclose(primal.z, dual.x, atol=1e-7)  # the multipliers are the dual's variables
    assert_allclose([primal.value, -dual.value], 0.25, atol=1e-8)


SOFT = [
    (100.0, [0, 0, 8, 8, 0], 8.0, 4.0),
    (1.0, [0, 1 / 18, 1, 1, 1 / 18], 17 / 9, 2 / 3),
    (0.1, [0, 0.1, 0.1, 0.1, 0.1], 0.33875, 0.35),
]


@pytest.mark.parametrize(("C", "alpha", "value", "w"), SOFT)
def test_the_soft_margins_of_five_points(C, alpha, value, w):  # 004 5-04: the oracle
    x, y = np.array([[-2.0], [-1], [0.5], [1], [2]]), np.array([-1.0, -1, -1, 1, 1])
    dual = soft_margin_dual(x, y, C)
    assert_allclose(dual.x, alpha, atol=1e-6)
    assert_allclose(-dual.value, value, atol=1e-7)
    assert_allclose((dual.x * y) @ x, w, atol=1e-6)
    assert dual.certificate.slackness < 1e-7


def test_a_few_hundred_variables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=150) > 0, 1.0, -1.0)
    dual = soft_margin_dual(X, y, 10.0)
    assert dual.report["converged_"]
    assert dual.certificate.holds(1e-6)
    G = -y[:, None] * np.column_stack([X, np.ones(150)])
    primal = quadratic_program(
        np.diag(np.append([1.0, 1, 1, 0], np.zeros(150))),
        np.append(np.zeros(4), np.full(150, 10.0)),
        np.block([[G, -np.eye(150)], [np.zeros((150, 4)), -np.eye(150)]]),
        np.append(-np.ones(150), np.zeros(150)),
    )
    assert_allclose(primal.value, -dual.value, rtol=1e-6)  # strong duality [004 5-06]


def test_programs_without_a_minimum_say_why():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1, 1])  # not separable [004 5-03]
    G = -y[:, None] * np.column_stack([X, np.ones(3)])
    with pytest.raises(InfeasibleError, match="all 3 inequalities"):
        quadratic_program(np.diag([1.0, 0]), np.zeros(2), G, -np.ones(3))
    with pytest.raises(InfeasibleError, match="2 equations"):
        quadratic_program(np.eye(1), np.zeros(1), A=np.ones((2, 1)), b=np.array([0.0, 1.0]))
    with pytest.raises(UnboundedError, match="unbounded below") as caught:
        soft_margin_dual(X, y, np.inf)
    d = caught.value.direction
    assert d.min() >= -1e-9 and d.sum() > 0 and abs(d @ y) < 1e-9  # noqa: PT018


def test_programs_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"G has the shape \(1, 3\)"):
        quadratic_program(np.eye(2), np.zeros(2), np.ones((1, 3)), np.ones(1))
    with pytest.raises(ValueError, match="positive semi-definite"):
        quadratic_program(-np.eye(2), np.zeros(2))


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_matter(unit):
    P, q, G, h, A, b = random_program(3)
    plain = quadratic_program(P, q, G, h, A, b)
    cost = quadratic_program(P * unit, q * unit, G, h, A, b)
    rows = quadratic_program(P, q, G * unit, h * unit, A * unit, b * unit)
    for other in (cost, rows):
        assert_allclose(other.x, plain.x, atol=1e-5)
    assert_allclose(cost.z / unit, plain.z, atol=1e-5)
    assert_allclose(rows.z * unit, plain.z, atol=1e-5)


def test_a_certificate_notices_each_broken_condition():
    """min x^2 with x >= 1: x = 1, z = 2."""

    def at(x, z):
        return kkt(
            np.array([2.0 * x]), inequalities=(np.array([1.0 - x]), -np.ones((1, 1)), np.array([z]))
        )

    assert at(1, 2).holds(1e-12)
    assert at(1, 1).stationarity > 0
    assert at(0.5, 1).primal == 0.5
    assert at(-1, -2).dual == 1
    assert at(2, 4).slackness == 1
    assert not any(at(*pair).holds(0.01) for pair in [(1, 1), (0.5, 1), (-1, -2), (2, 4)])


def test_lagranges_worked_example():  # 003 A129
    found = lagrange_stationary_point(
        lambda v: (v[0] * v[1], v[::-1]),
        lambda v: (np.array([v.sum() - 6]), np.ones((1, 2))),
        np.array([5.0, -1.0]),
    )
    assert_allclose([*found.x, *found.multipliers, found.value], [3, 3, 3, 9])
    assert found.kind == "maximum"


def test_the_multiplier_is_the_price_of_the_constraint():
    def best(c):
        return lagrange_stationary_point(
            lambda v: (float(v @ v), 2 * v),
            lambda v: (np.array([v[0] * v[1] - c]), np.array([[v[1], v[0]]])),
            np.array([1.0, 2.0]),
        )

    found = best(2.0)
    assert found.kind == "minimum"
    price = (best(2 + 1e-4).value - best(2 - 1e-4).value) / 2e-4
    assert_allclose(found.multipliers[0], price, rtol=1e-6)


def test_principal_axes_are_stationary_on_the_circle():
    A = np.diag([1.0, 2.0, 5.0])
    kinds = {}
    for axis in range(3):
        start = np.eye(3)[axis] + 0.05
        found = lagrange_stationary_point(
            lambda v: (float(v @ A @ v), 2 * A @ v),
            lambda v: (np.array([v @ v - 1]), 2 * v[None]),
            start,
        )
        kinds[round(found.multipliers[0], 6)] = found.kind
    assert kinds == {1.0: "minimum", 2.0: "saddle", 5.0: "maximum"}


def test_no_stationary_point_is_an_error():
    with pytest.raises(ValueError, match="no stationary point"):
        lagrange_stationary_point(
            lambda v: (v[0], np.array([1.0, 0.0])),
            lambda v: (np.array([v[1]]), np.array([[0.0, 1.0]])),
            np.ones(2),
        )


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any))
@CALM
def test_weights_on_the_simplex_beat_all_others(counts):  # 001 2-25, 003 A130
    n = np.array(counts) / 7
    weights, multiplier = simplex_weights(n)
    assert_allclose(weights.sum(), 1)
    assert_allclose(weights * multiplier, n)
    some = n > 0
    best = n[some] @ np.log(weights[some])
    for other in np.random.default_rng(0).dirichlet(np.ones(len(n)), size=50):
        assert n[some] @ np.log(other[some]) <= best + 1e-9


def test_counts_that_are_none():
    for counts in ([0.0, 0.0], [1.0, -1.0]):
        with pytest.raises(ValueError, match="counts must"):
            simplex_weights(np.array(counts))
