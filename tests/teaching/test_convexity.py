"""Convexity: syllabus row O08, with the properties that [001] and [002] claim."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_expit, logsumexp

from tenfold.optim import gradient_descent
from tenfold.teaching import (
    NotConvexError,
    convexity_violation,
    finite_difference_hessian,
    hessian_violation,
)
from tenfold.teaching.autodiff import value_and_grad
from tenfold.teaching.convex_calculus import (
    absolute,
    constant,
    hinge,
    identity,
    log_sum_exp,
    logistic,
    maximum,
    square,
    univariate,
)

CALM = settings(max_examples=40, deadline=None)
CUBE = (-3 * np.ones(3), 3 * np.ones(3))
LINE = (np.array([-4.0]), np.array([4.0]))


def rows(n=6, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def k_means_cost(flat):
    data = np.array([0.0, 1.0, 4.0, 5.0])
    return float(np.minimum((data - flat[0]) ** 2, (data - flat[1]) ** 2).sum())


def mixture_nll(flat):
    data = np.array([0.0, 1.0, 4.0, 5.0])
    return -float(np.logaddexp(-((data - flat[0]) ** 2) / 2, -((data - flat[1]) ** 2) / 2).sum())


CONVEX = {
    "square": lambda x: x @ x,
    "constant": lambda _: 0.0,
    "-log sigmoid": lambda x: -log_expit(x).sum(),
    "hinge": lambda x: np.maximum(0, 1 - x).sum(),
    "log-sum-exp": logsumexp,
    "L1": lambda x: np.abs(x).sum(),
    "maximum": np.max,
}
NOT_CONVEX = {
    "-square": lambda x: -(x @ x),
    "sine": lambda x: np.sin(x).sum(),
    "cube": lambda x: (x**3).sum(),
    "L1/2": lambda x: np.sqrt(np.abs(x)).sum(),
    "product": lambda x: x[0] * x[1],
}


# --------------------------------------------------------------------------------------- chords


@pytest.mark.parametrize("name", CONVEX)
def test_convex_functions_have_no_bad_chord(name):  # 002 E16
    assert convexity_violation(CONVEX[name], CUBE) is None


@pytest.mark.parametrize("name", NOT_CONVEX)
def test_others_are_found_out_by_a_chord_that_holds(name):  # 002 E16
    f = NOT_CONVEX[name]
    chord = convexity_violation(f, CUBE)
    assert chord is not None
    assert 0 <= chord.t <= 1
    below = (1 - chord.t) * f(chord.x) + chord.t * f(chord.y)
    assert_allclose(f(chord.middle) - below, chord.excess)
    assert chord.excess > 0


@pytest.mark.parametrize("cost", [k_means_cost, mixture_nll])
def test_costs_of_clusters_are_not_convex(cost):  # 002 E16: local optima exist
    chord = convexity_violation(cost, (np.zeros(2), 5 * np.ones(2)))
    assert chord is not None
    assert chord.excess > 0.1


def test_points_can_be_drawn_boxed_or_given():
    f = NOT_CONVEX["cube"]
    given_points = np.linspace(-2, 2, 9)[:, None]
    for points in (LINE, given_points, lambda rng: rng.normal(size=1)):
        assert convexity_violation(f, points) is not None
    assert convexity_violation(f, (np.zeros(1), np.ones(1))) is None  # convex where x >= 0


def test_the_same_seed_finds_the_same_chord():
    one, two = (convexity_violation(NOT_CONVEX["sine"], CUBE, seed=3) for _ in range(2))
    assert (one.x == two.x).all()
    assert one.excess == two.excess


def test_large_numbers_are_no_violation():
    assert convexity_violation(lambda x: 1e8 + 1e8 * x[0], LINE) is None


# ------------------------------------------------------------------------------------- Hessians


def test_differences_give_the_hessian():
    X, y = rows()

    def f(w):
        return -log_expit(y * (X @ w)).sum(), -X.T @ (y * np.exp(log_expit(-y * (X @ w))))

    w = np.array([0.3, -0.5, 1.0])
    p = np.exp(log_expit(y * (X @ w)))
    assert_allclose(finite_difference_hessian(f, w), (X.T * (y**2 * p * (1 - p))) @ X, atol=1e-8)


def test_hessians_tell_bowls_from_saddles():
    X, y = rows()
    assert hessian_violation(lambda w: (0.0, 2 / 6 * X.T @ (X @ w - y)), CUBE) is None  # 002 E19
    bend = hessian_violation(lambda v: (0.0, np.array([v[1], v[0], 2 * v[2]])), CUBE)
    assert_allclose(bend.curvature, -1, atol=1e-6)
    assert_allclose(abs(bend.direction), [0.5**0.5, 0.5**0.5, 0], atol=1e-6)


def test_a_given_hessian_is_used():
    second = lambda x: np.diag(6 * x)  # noqa: E731  of the cube
    bend = hessian_violation(None, LINE, second=second)
    assert bend.curvature < -20
    assert hessian_violation(None, (np.zeros(1), np.ones(1)), second=second) is None


@given(st.integers(0, 10_000))
@CALM
def test_bad_hessian_means_bad_chord_along_it(seed):
    """Where the curvature is negative, a short chord along it disproves convexity, too."""

    def f(v):
        return v[0] ** 2 * v[1] + v[1] ** 2

    def slope(v):
        return f(v), np.array([2 * v[0] * v[1], v[0] ** 2 + 2 * v[1]])

    bend = hessian_violation(slope, (-2 * np.ones(2), 2 * np.ones(2)), n=5, seed=seed)
    if bend is not None and bend.curvature < -0.1:
        e = 1e-3 * bend.direction
        assert f(bend.x) > (f(bend.x - e) + f(bend.x + e)) / 2


# --------------------------------------------------------------------- one factor at a time [001 4]


def test_a_factorisation_is_convex_in_each_factor_but_not_jointly():  # 001 4-31, Ex. 4.2.1
    rng = np.random.default_rng(0)
    X, W0, H0 = rng.random((4, 5)), rng.random((4, 2)), rng.random((2, 5))

    def cost(W, H):
        return float(((X - W @ H) ** 2).sum())

    def ends(n):
        return lambda rng: rng.normal(size=n)

    assert convexity_violation(lambda w: cost(w.reshape(4, 2), H0), ends(8)) is None
    assert convexity_violation(lambda h: cost(W0, h.reshape(2, 5)), ends(10)) is None
    joint = convexity_violation(lambda v: cost(v[:8].reshape(4, 2), v[8:].reshape(2, 5)), ends(18))
    assert joint is not None


def test_the_scalar_factorisation_has_a_chord_by_hand():
    """(1, 1) and (-1, -1) both give 1 exactly; halfway between them the error is 1."""
    cost = lambda v: (1 - v[0] * v[1]) ** 2  # noqa: E731
    x, y = np.ones(2), -np.ones(2)
    assert cost(x) == cost(y) == 0
    assert cost((x + y) / 2) == 1
    assert convexity_violation(cost, np.array([x, y])).excess > 0.9


# ------------------------------------------------------------------------------- rules [002 1.4]


def random_certified(rng):
    """Some function put together by the rules, of three variables."""
    atoms = [square, logistic, hinge, absolute, identity]
    parts = [
        float(rng.random()) * atoms[rng.integers(5)].of(rng.normal(size=3), rng.normal())
        for _ in range(4)
    ]
    return maximum(sum(parts[:2]), sum(parts[2:])) + log_sum_exp.of(rng.normal(size=(4, 3)))


@pytest.mark.parametrize("seed", range(5))
def test_what_the_rules_certify_has_no_bad_chord(seed):
    f = random_certified(np.random.default_rng(seed))
    assert convexity_violation(f, CUBE, n=500) is None
    assert f.proof.count("rule 2") == 5 + f.proof.count("the largest of") - 1


def test_least_squares_is_certified_by_all_four_rules():  # 002 E19
    X, y = rows()
    loss = 1 / 6 * sum(square.of(x, -t) for x, t in zip(X, y, strict=True))
    w = np.array([1.0, -1.0, 0.5])
    assert_allclose(loss(w), ((X @ w - y) ** 2).mean())
    for rule in ("rule 1", "rule 2", "rule 3", "rule 4"):
        assert rule in loss.proof


def test_losses_of_the_notes_are_certified():  # 002 E18
    X, y = rows()
    signs = np.sign(y)
    w = np.array([0.4, -1.0, 0.5])
    ridge = 0.5 * sum(square.of(e) for e in np.eye(3))
    lasso = sum(absolute.of(e) for e in np.eye(3))
    log_loss = sum(logistic.of(s * x) for s, x in zip(signs, X, strict=True)) + ridge
    margin = sum(hinge.of(s * x) for s, x in zip(signs, X, strict=True)) + lasso
    assert_allclose(log_loss(w), -log_expit(signs * (X @ w)).sum() + w @ w / 2)
    assert_allclose(margin(w), np.maximum(0, 1 - signs * (X @ w)).sum() + np.abs(w).sum())
    softmax = log_sum_exp.of(np.kron(np.eye(3), X[0])) + identity.of(-np.kron(np.eye(3)[1], X[0]))
    W = np.arange(9.0) / 9
    scores = W.reshape(3, 3) @ X[0]
    assert_allclose(softmax(W), logsumexp(scores) - scores[1])


def test_what_no_rule_allows_is_refused():
    with pytest.raises(NotConvexError, match="-1 times"):
        -1 * square
    with pytest.raises(NotConvexError, match="rule 1"):
        univariate(np.sin, lambda u: -np.sin(u), "sine")
    with pytest.raises(NotConvexError, match="no proof"):
        square + np.sin
    assert (0 * square)(3.0) == 0
    assert (1 + square)(2.0) == 5


def test_a_constant_has_many_minima():  # 002 fn 5
    f = constant(2.0)
    assert f(np.zeros(3)) == f(np.ones(3)) == 2
    assert convexity_violation(f, CUBE) is None


# ----------------------------------------------------------------- local = global, steepest descent


def test_a_local_minimum_of_a_convex_function_is_global():  # 002 E17
    def f(x):
        return float(np.logaddexp(x, -2 * x).sum()), (1 - 3 / (1 + np.exp(3 * x)))

    ends = [
        gradient_descent(f, start, learning_rate=0.3, max_iter=500)
        for start in np.random.default_rng(0).normal(scale=5, size=(6, 2))
    ]
    assert_allclose([end.value for end in ends], ends[0].value, rtol=1e-9)
    grid = np.linspace(-6, 6, 2001)
    assert ends[0].value <= 2 * np.logaddexp(grid, -2 * grid).min() + 1e-9


def test_a_double_well_traps_descent():  # 002 E17: myopic
    def well(x):
        return float((x[0] ** 2 - 1) ** 2 + 0.3 * x[0]), 4 * x * (x**2 - 1) + 0.3

    left, right = (gradient_descent(well, np.array([x]), learning_rate=0.05) for x in (-2.0, 2.0))
    assert left.report["converged_"]
    assert right.report["converged_"]
    assert left.value < right.value - 0.3
    chord = convexity_violation(lambda x: well(x)[0], np.array([left.x, right.x]))
    assert chord is not None


def test_the_step_of_the_proof_leads_into_the_ball():  # 002 E17: t = eps / (2 |y - x|)
    """A better point far away makes a better point in any ball: no local minimum is a worse one."""
    f = square.of(np.array([1.0, 1.0]), -2.0) + absolute.of(np.array([1.0, -1.0]))
    x, y = np.array([1.0, 2.0]), np.array([1.5, 0.8])
    assert f(y) < f(x)
    for eps in (0.1, 1e-3, 1e-6):
        t = eps / (2 * np.linalg.norm(y - x))
        z = (1 - t) * x + t * y
        assert_allclose(np.linalg.norm(z - x), eps / 2, rtol=1e-6)
        assert f(z) <= (1 - t) * f(x) + t * f(y) < f(x)


def wavy(x):
    return value_and_grad(lambda x: np.sin(x[0]) * np.exp(x[1]) + x[0] ** 2)(x)


def test_no_direction_descends_more_steeply_than_the_slope():  # 002 E9
    x, step = np.array([0.7, 0.2]), 1e-4
    value, slope = wavy(x)
    angles = np.linspace(0, 2 * np.pi, 361)
    unit = slope / np.linalg.norm(slope)
    across = np.array([-unit[1], unit[0]])
    changes = np.array(
        [wavy(x + step * (np.cos(a) * unit + np.sin(a) * across))[0] - value for a in angles]
    )
    assert np.argmin(changes) == 180  # straight against the slope
    assert_allclose(changes / step, np.linalg.norm(slope) * np.cos(angles), atol=1e-3)


@given(st.floats(-2, 2), st.floats(-1, 1), st.floats(0, 6.28))
@CALM
def test_the_taylor_error_falls_with_the_square_of_the_step(a, b, angle):  # 002 E9
    x, d = np.array([a, b]), np.array([np.cos(angle), np.sin(angle)])
    value, slope = wavy(x)
    bend = abs(d @ finite_difference_hessian(wavy, x) @ d)
    for step in (1e-2, 1e-3):
        error = abs(wavy(x + step * d)[0] - value - step * slope @ d)
        assert error <= step**2 * (bend / 2 + 20 * step)
