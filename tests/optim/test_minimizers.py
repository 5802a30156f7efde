"""Loops that stop when they should, and minima that are minima."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, rosen, rosen_der, rosen_hess
from scipy.special import expit

from tenfold.math.linalg import min_norm_solution, solve_psd
from tenfold.optim import lbfgs, newton, until_converged

CALM = settings(max_examples=40, deadline=None)


class Counted:
    """A function that counts its calls."""

    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, x):
        self.calls += 1
        return self.f(x)


def quadratic(condition, d=30, seed=0):
    """A function with curvatures from 1 to `condition` in random directions, and its minimum."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    A = (Q * np.geomspace(1, condition, d)) @ Q.T
    best = rng.normal(size=d)
    return (lambda x: (0.5 * (x - best) @ A @ (x - best), A @ (x - best))), A, best


def logistic(n=400, d=6, alpha=1.0, seed=0):
    """Penalised logistic regression: value, slope and Hessian."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.1, 10, d)
    y = (rng.random(n) < expit(X @ rng.normal(size=d))).astype(float)

    def f(x):
        z = X @ x
        p = expit(z)
        value = (np.logaddexp(0, z) - y * z).sum() + 0.5 * alpha * x @ x
        return value, X.T @ (p - y) + alpha * x, (X.T * (p * (1 - p))) @ X + alpha * np.eye(d)

    return f, np.zeros(d)


def slope_of(f):
    return lambda x: f(x)[:2]


# ------------------------------------------------------------------------------------ until_still


def halve(loop):
    seen = []
    for x in loop:
        seen.append(x)
        loop.update(x / 2, objective=x * x, change=x / 2)
    return seen


def test_a_loop_ends_at_the_first_small_change():
    loop = until_converged(8.0, tol=0.5, max_iter=100)
    assert halve(loop) == [8, 4, 2, 1]
    assert (loop.state, loop.n_iter, loop.converged) == (0.5, 4, True)


@pytest.mark.parametrize("max_iter", [0, 1, 5])
def test_a_loop_ends_after_max_iter(max_iter):
    loop = until_converged(8.0, tol=0.0, max_iter=max_iter)
    assert len(halve(loop)) == max_iter
    assert (loop.n_iter, loop.converged, loop.state) == (max_iter, False, 8.0 / 2**max_iter)


def test_convergence_in_the_last_round_counts():
    loop = until_converged(8.0, tol=0.5, max_iter=4)
    halve(loop)
    assert loop.converged


def test_history_has_an_entry_for_each_round():
    loop = until_converged(8.0, tol=0.5, max_iter=100)
    halve(loop)
    report = loop.report
    assert report["n_iter_"] == 4
    assert report["converged_"] is True
    assert report["history_"]["objective"].tolist() == [64, 16, 4, 1]
    assert len(report["history_"]["seconds"]) == 4
    assert (np.diff([0, *report["history_"]["seconds"]]) >= 0).all()


def test_a_body_that_forgets_to_tell_is_told():
    with pytest.raises(RuntimeError, match=r"update\(\)"):
        for _ in until_converged(1.0, tol=0, max_iter=3):
            pass


def test_a_change_that_is_no_number_is_no_convergence():
    loop = until_converged(1.0, tol=np.inf, max_iter=3)
    for x in loop:
        loop.update(x, objective=np.nan, change=np.nan)
    assert (loop.n_iter, loop.converged) == (3, False)


# ----------------------------------------------------------------------------------------- L-BFGS


@pytest.mark.parametrize(("condition", "d"), [(1, 30), (1e3, 30), (1e6, 6)])
def test_lbfgs_finds_the_minimum_of_a_quadratic(condition, d):
    f, _, best = quadratic(condition, d)
    found = lbfgs(f, np.zeros(d), tol=1e-7, max_iter=500)
    assert found.report["converged_"]
    assert np.abs(found.gradient).max() <= 1e-7
    assert_allclose(found.x, best, atol=1e-6)
    assert_allclose(found.gradient, f(found.x)[1])
    assert found.value == f(found.x)[0]
    falls = np.diff(found.report["history_"]["objective"])
    assert (falls <= 0).all()


def test_a_preconditioner_replaces_the_condition():
    f, A, best = quadratic(1e6)
    plain, helped = Counted(f), Counted(f)
    lbfgs(plain, np.zeros(30), tol=1e-7, max_iter=200)
    found = lbfgs(
        helped, np.zeros(30), tol=1e-7, precondition=lambda v: np.linalg.solve(A, v) * 1.1
    )
    assert found.report["converged_"]
    assert_allclose(found.x, best, atol=1e-6)
    assert helped.calls <= 10
    assert plain.calls > 5 * helped.calls


def test_a_diagonal_preconditioner_is_a_change_of_units():
    """On a badly scaled problem it makes exactly the steps of the well scaled one."""
    f, A, _ = quadratic(10, d=5)
    units = np.geomspace(1e-3, 1e3, 5)
    scaled = lbfgs(f, np.zeros(5), tol=1e-6, precondition=lambda v: v * 0.1)
    there = lbfgs(
        lambda x: (f(x / units)[0], f(x / units)[1] / units),
        np.zeros(5),
        tol=1e-9,
        precondition=lambda v: v * 0.1 * units**2,
    )
    n = min(len(r.report["history_"]["objective"]) for r in (scaled, there))
    a, b = (r.report["history_"]["objective"][:n] for r in (scaled, there))
    assert_allclose(a, b, rtol=1e-6, atol=1e-12)
    assert n > 3
    assert np.linalg.cond(A) == pytest.approx(10)


@pytest.mark.parametrize("d", [2, 10])
def test_lbfgs_walks_the_valley_of_rosenbrock(d):
    f = Counted(lambda x: (rosen(x), rosen_der(x)))
    found = lbfgs(f, np.full(d, -1.2), tol=1e-6, max_iter=500)
    assert found.report["converged_"]
    assert rosen(found.x) < 1e-12
    assert f.calls < 400


def barrier(x):
    """sum(x - log x): NaN or infinite outside of x > 0, least at 1."""
    if (x < 0).any():
        return np.nan, np.full_like(x, np.nan)
    if (x == 0).any():
        return np.inf, np.full_like(x, -np.inf)
    return (x - np.log(x)).sum(), 1 - 1 / x


@pytest.mark.parametrize("start", [1e-6, 0.1, 3.0, 1e3])
def test_lbfgs_comes_back_from_where_there_are_no_numbers(start):
    found = lbfgs(barrier, np.array([start, 2.0]), tol=1e-7, max_iter=500)
    assert found.report["converged_"]
    assert_allclose(found.x, [1, 1], atol=1e-6)


def test_lbfgs_steps_over_overflow():
    def f(x):
        with np.errstate(over="ignore"):
            return np.cosh(x).sum(), np.sinh(x)

    found = lbfgs(f, np.array([300.0, -5.0]), tol=1e-8, max_iter=500)
    assert_allclose(found.x, [0, 0], atol=1e-7)


def test_lbfgs_at_the_optimum_asks_once_and_stays():
    f, _, best = quadratic(100)
    counted = Counted(f)
    found = lbfgs(counted, best, tol=1e-6)
    assert counted.calls == 1
    assert_array_equal(found.x, best)
    assert found.report["converged_"]
    assert found.report["n_iter_"] == 0
    assert len(found.report["history_"]["objective"]) == 1


def test_lbfgs_ends_after_max_iter():
    f, _, _ = quadratic(1e6)
    found = lbfgs(f, np.zeros(30), tol=1e-12, max_iter=7)
    assert (found.report["n_iter_"], found.report["converged_"]) == (7, False)
    assert len(found.report["history_"]["objective"]) == 7


def test_lbfgs_does_not_change_its_start():
    f, _, _ = quadratic(10)
    start = np.ones(30)
    lbfgs(f, start)
    assert_array_equal(start, np.ones(30))


@pytest.mark.parametrize("seed", range(5))
def test_lbfgs_ends_soon_on_a_function_with_the_noise_of_float32(seed):
    smooth, start = logistic(n=5000, alpha=0.01, seed=seed)
    rng = np.random.default_rng(seed)
    eps = np.finfo(np.float32).eps

    def noisy(x):
        value, slope, _ = smooth(x)
        noise = rng.uniform(-1, 1, len(x)) * np.abs(slope).max()
        return float(np.float32(value)), (slope + eps * noise).astype(np.float32).astype(float)

    counted = Counted(noisy)
    found = lbfgs(counted, start, tol=0.0, max_iter=1000, precision=eps)
    assert found.report["converged_"]
    assert counted.calls < 100
    best = newton(smooth, start, tol=1e-9)
    assert found.value <= best.value * (1 + 1e-3)


def only_at_the_start(x):
    return (np.nan, np.full(2, np.nan)) if x.any() else (1.0, np.ones(2))


def test_lbfgs_that_cannot_move_has_not_converged():
    found = lbfgs(only_at_the_start, np.zeros(2))
    assert_array_equal(found.x, [0, 0])
    assert not found.report["converged_"]


def test_lbfgs_with_a_wrong_slope_has_not_converged():
    # fails, for the same reason
    found = lbfgs(lambda x: (x @ x, -2 * x), np.ones(2))
    assert not found.report["converged_"]


@pytest.mark.parametrize("seed", range(3))
def test_lbfgs_and_newton_agree_with_scipy(seed):
    f, start = logistic(seed=seed)
    reference = minimize(
        lambda x: f(x)[0],
        start,
        jac=lambda x: f(x)[1],
        hess=lambda x: f(x)[2],
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    for found, digits in (  # L-BFGS stops when the value no longer moves: half of the digits of x
        (lbfgs(slope_of(f), start, tol=1e-8, max_iter=1000), 1e-5),
        (newton(f, start, tol=1e-8), 1e-8),
    ):
        assert found.report["converged_"]
        assert_allclose(found.x, reference.x, rtol=digits)
        assert found.value <= reference.fun * (1 + 1e-13)


# ----------------------------------------------------------------------------------------- Newton


def test_newton_solves_a_quadratic_in_one_step():
    f, A, best = quadratic(1e6)
    found = newton(lambda x: (*f(x), A), np.zeros(30), tol=1e-5)
    assert_allclose(found.x, best, atol=1e-8)
    assert found.report["n_iter_"] <= 2
    assert found.report["converged_"]


def test_newton_takes_the_shortest_step_where_the_hessian_is_singular():
    def f(x):
        return (x[0] + x[1] - 2) ** 2, np.full(3, 2.0) * (x[0] + x[1] - 2) * [1, 1, 0], H

    H = 2.0 * np.outer([1, 1, 0], [1, 1, 0])
    found = newton(f, np.array([0.0, 0.0, 5.0]), tol=1e-9)
    assert_allclose(found.x, [1, 1, 5], atol=1e-9)
    assert found.report["converged_"]


def test_newton_at_the_optimum_stays():
    f, start = logistic()
    best = newton(f, start, tol=1e-10)
    again = newton(f, best.x, tol=1e-6)
    assert_allclose(again.x, best.x, rtol=1e-9)
    assert again.report["n_iter_"] <= 1
    assert again.report["converged_"]


def test_newton_ends_after_max_iter():
    found = newton(lambda x: (rosen(x), rosen_der(x), np.eye(4)), np.zeros(4), max_iter=3)
    assert (found.report["n_iter_"], found.report["converged_"]) == (3, False)
    assert len(found.report["history_"]["seconds"]) == 3


def test_newton_near_the_minimum_of_rosenbrock():
    def f(x):
        return rosen(x), rosen_der(x), rosen_hess(x)

    found = newton(f, np.array([1.2, 1.3, 1.6]), tol=1e-9)
    assert_allclose(found.x, [1, 1, 1], atol=1e-8)


def hypotenuse(x):
    """sqrt(1 + x'x): pure Newton steps run away from |x| > 1 on."""
    h = np.sqrt(1 + x @ x)
    return h, x / h, np.eye(len(x)) / h - np.outer(x, x) / h**3


@pytest.mark.parametrize("start", [2.0, 100.0])
def test_newton_is_damped_where_its_steps_are_too_long(start):
    found = newton(hypotenuse, np.array([start]), tol=1e-8)
    assert found.report["converged_"]
    assert_allclose(found.x, [0], atol=1e-7)
    assert (np.diff(found.report["history_"]["objective"]) <= 0).all()


def test_newton_never_goes_up_even_from_far_away():
    found = newton(hypotenuse, np.array([1e4]), tol=1e-8, max_iter=200)
    assert found.value <= hypotenuse(np.array([1e4]))[0]
    assert not found.report["converged_"] or np.abs(found.gradient).max() <= 1e-8


def saturated(x):
    """log(1 + e^x) + log(1 + e^-x), whose curvature is rounded to 0 far from 0."""
    p = expit(x)
    return (np.logaddexp(0, x) + np.logaddexp(0, -x)).sum(), 2 * p - 1, np.diag(2 * p * (1 - p))


def test_newton_is_damped_on_log_sum_exp():
    found = newton(saturated, np.array([5.0, -4.0]), tol=1e-9)
    assert_allclose(found.x, [0, 0], atol=1e-8)


@pytest.mark.parametrize("start", [30.0, 1000.0])
def test_newton_does_not_take_a_flat_curve_for_a_minimum(start):
    found = newton(saturated, np.array([start, -start]), tol=1e-9, max_iter=200)
    assert found.value <= saturated(np.array([start, -start]))[0]
    assert not found.report["converged_"] or np.abs(found.gradient).max() <= 1e-9


def test_newton_that_cannot_move_stays_where_there_are_numbers():
    found = newton(lambda x: (*only_at_the_start(x), np.eye(2)), np.zeros(2), max_iter=3)
    assert_array_equal(found.x, [0, 0])
    assert not found.report["converged_"]


def test_newton_comes_back_from_where_there_are_no_numbers():
    def f(x):
        return *barrier(x), np.diag(1 / np.where(x == 0, 1, x) ** 2)

    found = newton(f, np.array([1.9, 0.01]), tol=1e-9)
    assert_allclose(found.x, [1, 1], atol=1e-8)


# ------------------------------------------------------------------------------- linear equations


@CALM
@given(st.integers(1, 12), st.integers(0, 4), st.integers(0, 12), st.integers(0, 2**31))
def test_solve_psd_is_least_squares(p, q, rank, seed):
    """Full rank or not, one right-hand side or many (q = 0: a vector)."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(20, min(rank, p))) @ rng.normal(size=(min(rank, p), p))
    y = rng.normal(size=(20, q) if q else 20)
    expected = np.linalg.lstsq(M, y, rcond=1e-10)[0]
    size = max(np.abs(expected).max(), 1e-300)
    b = M.T @ y
    A = M.T @ M
    if np.linalg.cond(M) < 1e4 or rank < p - 1:
        assert_allclose(solve_psd(A, b) / size, expected / size, atol=1e-5)
        assert_allclose(min_norm_solution(A, b) / size, expected / size, atol=1e-5)
    assert solve_psd(A, b).shape == expected.shape


def test_solve_psd_is_exact_for_columns_of_very_different_size():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(50, 8))
    size = np.geomspace(1e-10, 1e10, 8)
    x = rng.normal(size=8) / size
    A = (M * size).T @ (M * size)
    assert_allclose(solve_psd(A, A @ x), x, rtol=1e-8)


def test_solve_psd_keeps_the_digits_that_the_condition_leaves():
    _, A, x = quadratic(1e8)
    assert_allclose(solve_psd(A, A @ x), x, atol=1e-6)


@pytest.mark.parametrize("solve", [solve_psd, min_norm_solution])
def test_solutions_of_singular_equations_are_the_shortest(solve):
    rng = np.random.default_rng(0)
    B = rng.normal(size=(9, 4))
    A = B @ B.T
    b = rng.normal(size=(9, 3))  # not in the range of A
    assert_allclose(solve(A, b), np.linalg.pinv(A, rcond=1e-10) @ b, atol=1e-9)
    assert_array_equal(solve(np.zeros((3, 3)), np.ones(3)), np.zeros(3))


def test_a_column_of_zeros_gets_a_zero():
    A = np.diag([4.0, 0.0, 9.0])
    assert_allclose(solve_psd(A, np.array([4.0, 0.0, 18.0])), [1, 0, 2], rtol=1e-14)
