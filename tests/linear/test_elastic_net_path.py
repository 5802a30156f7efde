"""Paths of penalties, and coordinate descent itself."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model

from tenfold import ElasticNet, Lasso, enet_path, lasso_path
from tenfold.optim import coordinate_descent_numba
from tenfold.optim.coordinate_descent import (
    active_set_step,
    coordinate_descent,
    step_to_sign_change,
)
from tests.linear.lasso_tables import TIGHT, table


def objective(X, y, w, alpha, l1_ratio=1.0):
    return (
        0.5 * ((y - X @ w) ** 2).mean()
        + alpha * l1_ratio * np.abs(w).sum()
        + 0.5 * alpha * (1 - l1_ratio) * (w**2).sum()
    )


# ------------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize("settings", [{}, {"positive": True}, {"fit_intercept": True}])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_a_path_is_many_fits(l1_ratio, settings):
    X, y = table(150, 10)
    alphas, coefs, gaps, sweeps = enet_path(
        X, y, l1_ratio=l1_ratio, alphas=12, return_n_iter=True, **settings, **TIGHT
    )
    assert coefs.shape == (10, 12)
    assert (np.diff(alphas) < 0).all()
    assert not coefs[:, 0].any()
    assert coefs[:, 1].any()
    assert len(sweeps) == len(gaps) == 12
    for alpha, w in zip(alphas, coefs.T, strict=True):
        one = ElasticNet(
            alpha, l1_ratio=l1_ratio, **{"fit_intercept": False, **settings}, **TIGHT
        ).fit(X, y)
        assert_allclose(w, one.coef_, atol=1e-8)


def test_a_path_is_scikit_learns():
    X, y = table(100, 15, shift=0.0)
    for ratio in (1.0, 0.3):
        ours = enet_path(X, y, l1_ratio=ratio, alphas=20, eps=1e-2, **TIGHT)
        theirs = linear_model.enet_path(X, y, l1_ratio=ratio, alphas=20, eps=1e-2, **TIGHT)
        assert_allclose(ours[0], theirs[0], rtol=1e-12)
        assert_allclose(ours[1], theirs[1], atol=1e-8)
    given = lasso_path(X, y, alphas=[0.1, 1.0, 0.5], coef_init=np.ones(15), **TIGHT)
    assert given[0].tolist() == [1.0, 0.5, 0.1]
    assert_allclose(given[1], linear_model.lasso_path(X, y, alphas=given[0], **TIGHT)[1], atol=1e-8)
    assert_array_equal(Lasso.path(X, y, alphas=5)[1], lasso_path(X, y, alphas=5)[1])
    assert_array_equal(
        ElasticNet.path(X, y, l1_ratio=0.2, alphas=5)[1], enet_path(X, y, l1_ratio=0.2, alphas=5)[1]
    )


def test_gaps_bound_what_is_left_to_gain():
    X, y = table(100, 20, shift=0.0)
    alphas, coefs, gaps = lasso_path(X, y, alphas=10, tol=1e-2)
    best = lasso_path(X, y, alphas=10, **TIGHT)[1]
    assert (gaps <= 1e-2 * (y**2).mean()).all()
    for a, w, v, gap in zip(alphas, coefs.T, best.T, gaps, strict=True):
        assert -1e-12 <= objective(X, y, w, a) - objective(X, y, v, a) <= gap + 1e-12


def test_a_target_without_any_signal_has_a_path_of_zeros():
    alphas, coefs, _ = lasso_path(np.eye(4), np.zeros(4), alphas=3)
    assert alphas.shape == (3,)
    assert not coefs.any()


# ----------------------------------------------------------------------------- coordinate descent


@settings(max_examples=40, deadline=None)
@given(
    p=st.integers(1, 12),
    rank=st.integers(1, 12),
    seed=st.integers(0, 999),
    positive=st.booleans(),
    ridge=st.booleans(),
)
def test_coordinate_descent_minimises_a_quadratic(p, rank, seed, positive, ridge):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rank, p))
    l1, l2 = rng.random(p), (rng.random(p) if ridge else np.zeros(p))
    l1[0] = 0.0  # unpenalised, like a constant
    Q, c = A.T @ A, A.T @ rng.normal(size=rank)
    start = np.abs(rng.normal(size=p))
    kept = start.copy()
    found = coordinate_descent(Q, c, l1, l2, start, positive, tol=1e-9, max_iter=20_000)
    assert_array_equal(start, kept)
    assert_allclose(found.negative_gradient, c - Q @ found.w, atol=1e-9)
    assert found.violation <= 1e-9

    def value(w):
        return 0.5 * w @ Q @ w - c @ w + l1 @ np.abs(w) + 0.5 * l2 @ w**2

    for _ in range(20):
        other = found.w + rng.normal(size=p) * 10.0 ** rng.uniform(-4, 0)
        other = np.abs(other) if positive else other
        assert value(found.w) <= value(other) + 1e-9


def test_the_compiled_loops_are_what_they_say():
    """The same functions as plain Python."""
    Q, c = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([4.0, -5.0])
    l1, l2 = np.array([1.0, 0.5]), np.array([0.5, 0.0])
    w, g = np.array([0.3, 0.2]), c - Q @ [0.3, 0.2]
    coordinate_descent_numba.coordinate_step.py_func(Q, l1, l2, False, 0, w, g)
    at = np.linspace(-3, 3, 60_001)
    line = 0.5 * 2 * at**2 + at * 0.2 - 4 * at + np.abs(at) + 0.25 * at**2
    assert abs(w[0] - at[line.argmin()]) < 1e-3
    assert_allclose(g, c - Q @ w)
    assert coordinate_descent_numba.soft_threshold.py_func(-3.0, 1.0, False) == -2.0
    assert coordinate_descent_numba.soft_threshold.py_func(-3.0, 1.0, True) == 0.0


def test_a_leap_never_raises_the_objective_and_stops_at_zero():
    way, there = step_to_sign_change(
        np.array([1.0, -1.0]), np.array([-1.0, -3.0]), np.array([True, True])
    )
    assert way.tolist() == [0.0, -2.0]
    assert not there
    way, there = step_to_sign_change(np.array([1.0]), np.array([-1.0]), np.array([False]))
    assert (way.tolist(), there) == ([-1.0], True)
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.normal(size=(4, 6))
        problem = coordinate_problem(A.T @ A, A.T @ rng.normal(size=4))
        w = rng.normal(size=6)
        g = problem.c - problem.Q @ w
        new, slope = active_set_step(problem, w, g)
        assert problem.value(new, slope) <= problem.value(w, g)
        assert_allclose(slope, problem.c - problem.Q @ new, atol=1e-9)


def coordinate_problem(Q, c):
    from tenfold.optim.coordinate_descent import PenalizedQuadratic

    return PenalizedQuadratic(Q, c, np.full(len(c), 0.1), np.zeros(len(c)), False)


# --------------------------------------------------------------------------------------- flag


def hard_problem(p=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, p))
    X[:, 1] += X[:, 0]
    return X, X[:, :3] @ [1.0, 2.0, -1.0] + rng.normal(size=50)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("p", [3, 5])
def test_random_order_ends_at_the_minimum(p, seed):
    """A sweep that happens to draw columns without a step is no end."""
    X, y = hard_problem(p)
    cyclic = Lasso(0.1, **TIGHT).fit(X, y)
    drawn = Lasso(0.1, selection="random", random_state=seed, **TIGHT).fit(X, y)
    assert_allclose(drawn.coef_, cyclic.coef_, atol=1e-7)


@pytest.mark.parametrize("sweeps", [1, 2, 3, 1000])
@pytest.mark.parametrize("cls", [Lasso, ElasticNet])
def test_a_warning_comes_exactly_if_the_gap_is_too_large(cls, sweeps):
    X, y = hard_problem()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cls(1e-3, tol=1e-8, max_iter=sweeps).fit(X, y)
    assert bool(caught) == (model.dual_gap_ > 1e-8 * np.var(y)) == (sweeps < 1000)
    objective = model.dual_gap_ + np.finfo(float).eps  # never below the true excess
    exact = cls(1e-3, **TIGHT).fit(X, y)

    def value(m):
        size = np.abs(m.coef_).sum() * m.l1_ratio + (1 - m.l1_ratio) / 2 * (m.coef_ @ m.coef_)
        return np.mean((y - m.predict(X)) ** 2) / 2 + 1e-3 * size

    assert value(model) - value(exact) <= objective + 1e-12
