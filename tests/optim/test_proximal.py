"""Subgradients, projections and proximal gradients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

import tenfold
from tenfold.math.penalties import ElasticNetPenalty, L1Penalty, L2Penalty, NoPenalty
from tenfold.optim import (
    DivergenceError,
    kkt,
    objective_over_rows,
    projected_gradient,
    proximal_gradient,
    schedules,
    subgradient_descent,
)
from tenfold.optim.projections import affine, ball, box, half_space, non_negative, simplex
from tests.optim.descent_problems import CALM, bowl, least_squares, squares


def test_subgradients_find_the_median():
    data = np.array([0.0, 1.0, 4.0, 6.0, 50.0])
    found = subgradient_descent(
        lambda x: (np.abs(data - x).sum(), np.sign(x - data).sum(keepdims=True)),
        np.array([30.0]),
        max_iter=3000,
    )
    assert abs(found.x[0] - 4) < 0.05
    assert (np.diff(found.report["history_"]["objective"]) <= 0).all()  # the best counts


def test_a_zero_subgradient_ends_it_and_sets_are_kept():
    flat = subgradient_descent(lambda _: (0.0, np.zeros(1)), np.ones(1))
    assert (flat.report["n_iter_"], flat.report["converged_"]) == (1, True)
    inside = subgradient_descent(
        lambda x: (-x[0], -np.ones(1)), np.zeros(1), project=box(-1.0, 0.5), normalize=True
    )
    assert inside.x[0] == 0.5


def test_the_hinge_by_subgradients_agrees_with_the_quadratic_program():  # 004 5-05
    x, y, C = np.array([-2, -1, 0.5, 1, 2]), np.array([-1, -1, -1, 1, 1.0]), 1.0
    X = np.column_stack([x, np.ones(5)])

    def f(w):
        z = y * (X @ w)
        slope = -C * (X * y[:, None])[z < 1].sum(axis=0) + w * [1, 0]
        return w[0] ** 2 / 2 + C * np.maximum(0, 1 - z).sum(), slope

    found = subgradient_descent(
        f, np.zeros(2), learning_rate=schedules.PowerDecay(0.5, 0.6), max_iter=3000
    )
    assert_allclose(found.value, 17 / 9, atol=2e-3)


PROJECTIONS = {
    "box": (box(-0.5, 1.0), lambda x: (x >= -0.5).all() and (x <= 1).all()),
    "ball": (ball(1.5, np.ones(3)), lambda x: np.linalg.norm(x - 1) <= 1.5 + 1e-9),
    "simplex": (simplex(2.0), lambda x: (x >= 0).all() and abs(x.sum() - 2) < 1e-9),
    "non-negative": (non_negative, lambda x: (x >= 0).all()),
    "half-space": (
        half_space(np.array([1.0, 2, -1]), 0.3),
        lambda x: x @ [1, 2, -1] <= 0.3 + 1e-9,
    ),
    "affine": (
        affine(np.array([[1.0, 1, 1], [2, 2, 2]]), np.array([1.0, 2.0])),
        lambda x: abs(x.sum() - 1) < 1e-9,
    ),
}


vectors = st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize("name", PROJECTIONS)
@given(vectors, vectors)
@CALM
def test_a_projection_is_the_nearest_point_of_its_set(name, v, other):
    project, inside = PROJECTIONS[name]
    p, q = project(v), project(other)
    assert inside(p)
    assert_allclose(project(p), p, atol=1e-9)
    assert (v - p) @ (q - p) <= 1e-8  # the obtuse angle that makes p the nearest
    assert np.linalg.norm(p - q) <= np.linalg.norm(v - other) + 1e-9


def test_sets_without_points_are_refused():
    with pytest.raises(ValueError, match="empty"):
        box(1.0, 0.0)
    with pytest.raises(ValueError, match="contradict"):
        affine(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.0, 1.0]))


@pytest.mark.parametrize("accelerated", [False, True])
def test_projected_gradient_is_non_negative_least_squares(accelerated):
    X, y = least_squares(30, 6, seed=4)
    f = objective_over_rows(tenfold.open(X, y), squares)
    found = projected_gradient(f, non_negative, np.ones(6), accelerated=accelerated, tol=1e-9)
    assert found.report["converged_"]
    assert_allclose(found.x, nnls(X, y)[0], atol=1e-8)


def test_non_negative_coding_meets_its_conditions():  # 001 4-05
    rng = np.random.default_rng(0)
    W, x = rng.random((8, 5)), rng.random(8)

    def f(h):
        return float(((x - W @ h) ** 2).sum() + 0.2 * h.sum() + 0.1 * h @ h), (
            2 * W.T @ (W @ h - x) + 0.2 + 0.2 * h
        )

    h = projected_gradient(f, non_negative, np.zeros(5), tol=1e-10, max_iter=3000).x
    pull = f(h)[1]
    assert kkt(pull, inequalities=(-h, -np.eye(5), np.maximum(pull, 0))).holds(1e-8)


@pytest.mark.parametrize("accelerated", [False, True])
@pytest.mark.parametrize(
    "penalty",
    [L1Penalty(3.0), ElasticNetPenalty(4.0, 0.5), L2Penalty(2.0), NoPenalty()],
    ids=lambda p: type(p).__name__,
)
def test_proximal_gradient_meets_the_conditions_of_the_minimum(penalty, accelerated):
    X, y = least_squares(50, 8, seed=5)
    f = objective_over_rows(tenfold.open(X, y), squares)
    found = proximal_gradient(f, penalty, np.zeros(8), accelerated=accelerated, tol=1e-9)
    assert found.report["converged_"]
    w = found.x
    assert_allclose(penalty.prox(w - f(w)[1], 1.0), w, atol=1e-8)  # a fixed point
    assert_allclose(found.value, f(w)[0] + penalty.value(w))
    if isinstance(penalty, L2Penalty):
        assert_allclose(w, np.linalg.solve(X.T @ X + 2 * np.eye(8), X.T @ y))


def test_the_lasso_has_exact_zeros_and_scikit_learns_coefficients():
    from sklearn.linear_model import Lasso

    X, y = least_squares(50, 8, seed=5)
    found = proximal_gradient(
        objective_over_rows(tenfold.open(X, y), squares),
        L1Penalty(0.4 * 50),
        np.zeros(8),
        tol=1e-10,
    )
    theirs = Lasso(0.4, fit_intercept=False, tol=1e-12).fit(X, y).coef_
    assert_allclose(found.x, theirs, atol=1e-6)
    assert_array_equal(found.x == 0, theirs == 0)
    assert (found.x == 0).any()


def test_acceleration_accelerates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 30)) * np.geomspace(1, 0.1, 30)
    f = objective_over_rows(tenfold.open(X, X @ rng.normal(size=30)), squares)
    n = {
        fast: proximal_gradient(f, L1Penalty(0.1), np.zeros(30), accelerated=fast, tol=1e-6).report[
            "n_iter_"
        ]
        for fast in (False, True)
    }
    assert n[True] < n[False] / 3


def test_a_constant_step_too_long_is_reported():
    f = bowl([1.0, 9.0], [1, 1])
    with pytest.raises(DivergenceError, match=r"try the learning rate 0\.1111"):
        proximal_gradient(f, L1Penalty(0.1), np.zeros(2), step_size=1.0)
    found = proximal_gradient(f, L1Penalty(0.1), np.zeros(2), step_size=1 / 9)
    assert_allclose(found.x, [0.9, 1 - 0.1 / 9], atol=1e-6)


def test_a_function_without_numbers_is_noticed():
    with pytest.raises(ValueError, match="not finite"):
        proximal_gradient(lambda x: (np.nan, x), NoPenalty(), np.ones(2))
