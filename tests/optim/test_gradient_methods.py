"""Gradient descent: closed forms, stops, rates that are too long, backtracking, checkpoints."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import rosen, rosen_der

import tenfold
from tenfold.math.losses import LogisticLoss
from tenfold.optim import (
    DivergenceError,
    gradient_descent,
    largest_curvature,
    newton,
    objective_over_rows,
    optimizers,
    schedules,
)
from tests.optim.descent_problems import bowl, least_squares, log_loss, logistic_data, squares


@pytest.mark.parametrize(
    "rate",
    [
        0.2,
        schedules.PowerDecay(0.9, 0.3),
        schedules.LogOverSqrt(0.3),
        "backtracking",
        schedules.LinearWarmup(schedules.ConstantRate(0.2), 3),
    ],
)
def test_descent_reaches_the_closed_form(rate):
    X, y = least_squares()
    f = objective_over_rows(tenfold.open(X, y), squares, mean=True)
    found = gradient_descent(f, np.zeros(4), learning_rate=rate, tol=1e-9, max_iter=2000)
    assert found.report["stopped_"] == "gradient"
    assert_allclose(found.x, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-7)
    assert found.value == found.report["history_"]["objective"][-1]


def test_backtracking_at_the_limit_of_rounding_ends_and_says_why():
    """A value of 1e16 hides every gain, and a gradient that is off by rounding never falls."""

    def f(x):
        return 1e16 + float(x @ x), np.full_like(x, 1e-3)

    result = gradient_descent(f, np.ones(2), learning_rate="backtracking", tol=1e-9, max_iter=500)
    assert (result.report["stopped_"], result.report["converged_"]) == ("rounding", False)
    assert result.report["n_iter_"] == 1


def test_a_step_is_rate_times_slope_and_zero_at_rest():  # 002 E8
    f = bowl([1, 4], [1, 1])
    start = np.array([3.0, -1.0])
    one = gradient_descent(f, start, learning_rate=0.1, max_iter=1)
    assert_array_equal(one.x, start - 0.1 * f(start)[1])
    still = gradient_descent(f, np.ones(2))
    assert (still.report["n_iter_"], still.report["converged_"]) == (0, True)
    assert still.report["stopped_"] == "gradient"


def test_small_rates_never_raise_the_loss_and_starts_do_not_matter():  # 002 E8
    X, y = logistic_data()
    f = log_loss(X, y)
    rate = 1 / largest_curvature(f, np.zeros(3))
    ends = []
    for seed in range(4):
        start = np.random.default_rng(seed).normal(size=3)
        found = gradient_descent(f, start, learning_rate=rate, max_iter=2000, tol=1e-6)
        assert (np.diff(found.report["history_"]["objective"]) <= 1e-12).all()
        ends.append(found.value)
    assert_allclose(ends, ends[0], rtol=1e-10)


def test_descent_and_newton_meet():  # 001 2-05
    X, y = logistic_data()
    f = log_loss(X, y)

    def curved(w):
        return (*f(w), (X.T * LogisticLoss().curvature(X @ w, y)) @ X)

    by_newton = newton(curved, np.zeros(3), tol=1e-10)
    by_descent = gradient_descent(
        f, np.zeros(3), learning_rate=schedules.LogOverSqrt(0.1), tol=1e-6
    )
    assert_allclose(by_descent.x, by_newton.x, atol=1e-6)
    assert by_newton.report["n_iter_"] < by_descent.report["n_iter_"]


@pytest.mark.parametrize(
    ("stop", "name"), [("tol", "gradient"), ("tol_step", "step"), ("tol_value", "value")]
)
def test_each_stop_stops(stop, name):
    f, start = bowl([1, 2], [0, 0]), np.ones(2)
    others = {"tol": None} | {stop: 1e-3}
    found = gradient_descent(f, start, learning_rate=0.3, keep_points=True, **others)
    assert found.report["stopped_"] == name
    points = found.report["history_"]["points"]
    sizes = {
        "tol": [np.linalg.norm(f(p)[1]) for p in points[1:]],
        "tol_step": np.linalg.norm(np.diff(points, axis=0), axis=1),
        "tol_value": np.abs(np.diff([f(p)[0] for p in points])),
    }[stop]
    assert sizes[-1] <= 1e-3 < min(sizes[:-1])


def test_no_stop_means_all_steps():
    found = gradient_descent(bowl([1], [0]), np.ones(1), learning_rate=0.5, tol=None, max_iter=7)
    assert (found.report["n_iter_"], found.report["stopped_"]) == (7, "max_iter")
    assert not found.report["converged_"]


def test_a_step_of_no_length_is_no_standstill():
    f = bowl([1], [0])
    found = gradient_descent(
        f, np.ones(1), learning_rate=schedules.LogOverSqrt(), tol=None, tol_step=1e-6
    )
    assert found.report["n_iter_"] > 5
    assert_allclose(found.x, 0, atol=1e-5)


def test_ascent_is_descent_upside_down():
    f = bowl([1, 3], [2, -1])
    up = gradient_descent(
        lambda x: tuple(-p for p in f(x)), np.zeros(2), learning_rate=0.2, ascent=True
    )
    down = gradient_descent(f, np.zeros(2), learning_rate=0.2)
    assert_array_equal(up.x, down.x)
    assert up.value == -down.value
    assert_array_equal(up.report["history_"]["objective"], -down.report["history_"]["objective"])


@pytest.mark.parametrize("share", [0.1, 1.0, 1.95])
def test_rates_below_two_over_curvature_converge(share):  # 004 3-08
    f = bowl([1.0, 5.0, 9.0], [1, 2, 3])
    found = gradient_descent(f, np.zeros(3), learning_rate=share / 9, max_iter=3000, tol=1e-7)
    assert found.report["converged_"]


@pytest.mark.parametrize("share", [2.1, 5, 1e6])
def test_divergence_names_a_rate_that_works(share):
    X, y = least_squares()
    f = objective_over_rows(tenfold.open(X, y), squares)
    top = np.linalg.eigvalsh(X.T @ X)[-1]
    with pytest.raises(DivergenceError, match="try the learning rate ") as caught:
        gradient_descent(f, np.zeros(4), learning_rate=share / top, max_iter=2000)
    assert_allclose(caught.value.rate, 1 / top, rtol=1e-2)
    found = gradient_descent(f, np.zeros(4), learning_rate=caught.value.rate, max_iter=2000)
    assert found.report["converged_"]


def test_a_quartic_runs_away_and_is_caught():
    def f(x):
        return float((x**4).sum()), 4 * x**3

    with pytest.raises(DivergenceError) as caught:
        gradient_descent(f, np.array([3.0]), learning_rate=1.0)
    found = gradient_descent(f, np.array([3.0]), learning_rate=caught.value.rate, max_iter=1000)
    assert found.value < 1e-3


def test_a_rise_that_is_no_explosion_warns():
    with pytest.warns(RuntimeWarning, match="worse than the first"):
        gradient_descent(bowl([1.0], [0.0]), np.ones(1), learning_rate=2.1, max_iter=5)


def test_backtracking_takes_plain_steps():
    with pytest.raises(ValueError, match="omit `optimizer`"):
        gradient_descent(
            bowl([1], [0]), np.ones(1), learning_rate="backtracking", optimizer=optimizers.Adam()
        )
    with pytest.raises(ValueError, match="'backtracking'"):
        gradient_descent(bowl([1], [0]), np.ones(1), learning_rate="forwards")


def test_backtracking_falls_all_the_way_on_a_banana():
    found = gradient_descent(
        lambda x: (rosen(x), rosen_der(x)),
        np.array([-1.2, 1]),
        learning_rate="backtracking",
        max_iter=1500,
    )
    assert (np.diff(found.report["history_"]["objective"]) <= 0).all()
    assert found.value < 0.05


def test_descent_can_be_checkpointed(tmp_path):
    f = bowl([1.0, 30.0], [1, 2])

    def run(stop):
        calls = itertools.count()

        def g(x):
            if next(calls) == stop:
                raise KeyboardInterrupt
            return f(x)

        with tenfold.checkpoint(tmp_path / "kept", every=0):
            return gradient_descent(
                g, np.zeros(2), learning_rate=0.05, optimizer=optimizers.Adam(), max_iter=60
            )

    with pytest.raises(KeyboardInterrupt):
        run(stop=30)
    resumed = run(stop=None)
    whole = gradient_descent(
        f, np.zeros(2), learning_rate=0.05, optimizer=optimizers.Adam(), max_iter=60
    )
    assert_array_equal(resumed.x, whole.x)
    assert_array_equal(
        resumed.report["history_"]["objective"], whole.report["history_"]["objective"]
    )
