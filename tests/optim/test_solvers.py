"""The toolbox of optimisation: syllabus rows O01-O07, O09 and O10."""

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog, nnls, rosen, rosen_der, rosen_hess

import tenfold
from tenfold.engine import Chunk
from tenfold.math.losses import HingeLoss, LogisticLoss, PoissonLoss, ProbitLoss
from tenfold.math.penalties import ElasticNetPenalty, L1Penalty, L2Penalty, NoPenalty
from tenfold.optim import (
    CostIncreasedError,
    DivergenceError,
    InfeasibleError,
    UnboundedError,
    alternating_minimization,
    gradient_descent,
    inexact_block_step,
    irls,
    irls_step,
    kkt,
    largest_curvature,
    lbfgs,
    majorize_minimize,
    minimize,
    newton,
    objective_over_rows,
    online_sgd,
    optimizers,
    projected_gradient,
    proximal_gradient,
    quadratic_program,
    schedules,
    sgd,
    subgradient_descent,
    until_converged,
    weighted_least_squares,
)
from tenfold.optim.projections import affine, ball, box, half_space, non_negative, simplex
from tenfold.teaching import (
    gradient_noise,
    lagrange_stationary_point,
    robbins_monro,
    simplex_weights,
)

CALM = settings(max_examples=30, deadline=None)


def bowl(curvatures, best):
    """Half the squares of the distance from `best`, weighted by curvatures."""
    c, best = np.asarray(curvatures, float), np.asarray(best, float)
    return lambda x: (0.5 * float(c @ (x - best) ** 2), c * (x - best))


def least_squares(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.1 * rng.normal(size=n)


def squares(chunk, theta):
    error = chunk.X @ theta - chunk.y
    return float(error @ error) / 2, chunk.X.T @ error


def curved_squares(chunk, theta):
    return (*squares(chunk, theta), chunk.X.T @ chunk.X)


def logistic_data(n=80, d=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.logistic(size=n) > 0, 1.0, -1.0)


def log_loss(X, y):
    def f(w):
        z = X @ w
        return float(LogisticLoss().value(z, y).sum()), X.T @ LogisticLoss().gradient(z, y)

    return f


# ------------------------------------------------------------------------------- O01 rates


def test_the_rates_of_the_notes():
    t = 3
    assert schedules.ConstantRate(0.2)(t) == 0.2
    assert schedules.PowerDecay()(t) == 1 / 3
    assert schedules.PowerDecay(shift=1)(t) == 1 / 4
    assert_allclose(schedules.PowerDecay(2.0, 0.7)(t), 2 * 3**-0.7)
    assert_allclose(schedules.LogOverSqrt(10.0)(t), 10 * np.log(3) / np.sqrt(3))
    assert schedules.LogOverSqrt()(1) == 0


def test_log_over_root_rises_to_e_squared():  # 001 ERR-7
    values = [schedules.LogOverSqrt()(t) for t in range(1, 30)]
    assert np.argmax(values) + 1 == 7
    assert_allclose(schedules.LogOverSqrt()(np.e**2), 2 / np.e)


def test_warm_up_meets_what_follows():
    rate = schedules.LinearWarmup(schedules.CosineDecay(0.5, steps=10), steps=4)
    values = [rate(t) for t in range(1, 20)]
    assert (np.diff(values[:5]) > 0).all()
    assert values[4] == 0.5
    assert (np.diff(values[4:]) <= 0).all()
    assert values[-1] == 0


def test_optimal_is_the_rate_of_scikit_learn():
    alpha = 0.001
    rate = schedules.optimal_decay(alpha)
    typical = np.sqrt(1 / np.sqrt(alpha))
    t0 = 1 / (typical * alpha)
    assert_allclose([rate(t) for t in (1, 50)], [1 / (alpha * (t0 + t - 1)) for t in (1, 50)])


# -------------------------------------------------------------------------- O02 Robbins, Monro

JUDGED = [
    (schedules.ConstantRate(0.1), False),
    (schedules.PowerDecay(), True),
    (schedules.PowerDecay(shift=1), True),
    (schedules.PowerDecay(3.0, 0.51), True),
    (schedules.PowerDecay(1.0, 0.5), False),
    (schedules.PowerDecay(1.0, 1.1), False),
    (schedules.LogOverSqrt(), False),  # 001 claims that it does: ERR-7
    (schedules.ExponentialDecay(1.0, 0.9), False),
    (schedules.StepDecay(1.0), False),
    (schedules.CosineDecay(1.0, 10), False),
    (schedules.CosineDecay(1.0, 10, end=0.1), False),
    (schedules.LinearWarmup(schedules.PowerDecay(), 5), True),
    (schedules.optimal_decay(0.01), True),
]


@pytest.mark.parametrize(("rate", "holds"), JUDGED, ids=str)
def test_families_are_judged_and_numbers_agree(rate, holds):
    exact, guessed = robbins_monro(rate), robbins_monro(rate.__call__)
    assert exact.holds is holds
    assert exact.exact
    assert not guessed.exact
    assert guessed[:4] == exact[:4]


@pytest.mark.parametrize(
    ("rate", "far", "quiet"),
    [
        (lambda t: 1 / (t * np.log(t + 1)), True, True),
        (lambda t: 1 / (t * np.log(t + 1) ** 2), False, True),
        (lambda t: 1 / (np.sqrt(t) * np.log(t + 1)), True, True),
        (lambda t: 1 / np.sqrt(t * np.log(t + 1)), True, False),
        (lambda t: 1 / np.log(t + 2), True, False),
        (lambda t: (1 + np.sin(t)) / t, True, True),
        (lambda t: 0.1 * (1 + np.cos(t)), True, False),
        (lambda t: t**-1.1, False, True),
        (lambda t: 1 / (1e6 + t), True, True),
    ],
)
def test_any_rate_is_judged_by_its_growth(rate, far, quiet):
    verdict = robbins_monro(rate)
    assert (verdict.sum_diverges, verdict.squares_converge) == (far, quiet)
    assert "fitted" in verdict.evidence


def test_a_negative_rate_is_none():
    with pytest.raises(ValueError, match="finite number >= 0"):
        robbins_monro(lambda t: -1 / t)


# ------------------------------------------------------------------------------ O01 descent


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


# ------------------------------------------------------------------------------ O09 steppers

# theta = (1, -2), gradients (0.5, -1) then (-0.25, 2), rate 0.1: by hand, as torch.optim does it
BY_HAND = [
    (optimizers.SGD(), [0.975, -2.1]),
    (optimizers.Momentum(0.9), [0.95 - 0.1 * 0.2, -1.9 - 0.1 * 1.1]),
    (
        optimizers.Nesterov(0.9),
        [1 - 0.1 * 0.95 - 0.1 * (-0.25 + 0.9 * 0.2), -2 + 0.1 * 1.9 - 0.1 * (2 + 0.9 * 1.1)],
    ),
    (
        optimizers.AdaGrad(),
        [1 - 0.1 + 0.1 * 0.25 / np.sqrt(0.3125), -2 + 0.1 - 0.1 * 2 / np.sqrt(5.0)],
    ),
    (
        optimizers.RMSProp(0.9),
        [
            1 - 0.05 / np.sqrt(0.025) + 0.025 / np.sqrt(0.9 * 0.025 + 0.1 * 0.0625),
            -2 + 0.1 / np.sqrt(0.1) - 0.2 / np.sqrt(0.9 * 0.1 + 0.1 * 4),
        ],
    ),
    (
        optimizers.Adam(),
        [
            0.9
            - 0.1 * (0.9 * 0.05 - 0.025) / 0.19 / np.sqrt((0.999 * 2.5e-4 + 6.25e-5) / 0.001999),
            -1.9 - 0.1 * (-0.9 * 0.1 + 0.2) / 0.19 / np.sqrt((0.999 * 1e-3 + 4e-3) / 0.001999),
        ],
    ),
]


@pytest.mark.parametrize(("rule", "wanted"), BY_HAND, ids=lambda p: type(p).__name__)
def test_steps_as_computed_by_hand(rule, wanted):
    theta = np.array([1.0, -2.0])
    memory = optimizers.init_state(rule, theta)
    for gradient in (np.array([0.5, -1.0]), np.array([-0.25, 2.0])):
        theta, memory = optimizers.apply_update(rule, theta, gradient, memory, 0.1)
    assert_allclose(theta, wanted, rtol=1e-6)


def test_adamw_shrinks_apart_from_the_gradient():
    theta, zero = np.array([2.0]), np.zeros(1)
    rule = optimizers.AdamW(decay=0.1)
    assert_allclose(
        optimizers.apply_update(rule, theta, zero, rule.init(theta), 0.5)[0], 2 * (1 - 0.05)
    )


RULES = [rule for rule, _ in BY_HAND] + [optimizers.AdamW(0.01)]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
def test_a_list_of_arrays_steps_like_its_arrays_and_nothing_is_overwritten(rule):
    rng = np.random.default_rng(0)
    parts, slopes = [rng.normal(size=s) for s in [(2, 3), (3,)]], [np.ones((2, 3)), np.ones(3)]
    kept = [part.copy() for part in parts]
    together, _ = optimizers.apply_update(
        rule, parts, slopes, optimizers.init_state(rule, parts), 0.1
    )
    for part, slope, moved in zip(parts, slopes, together, strict=True):
        assert_array_equal(
            moved, optimizers.apply_update(rule, part, slope, rule.init(part), 0.1)[0]
        )
    for part, copy in zip(parts, kept, strict=True):
        assert_array_equal(part, copy)


@pytest.mark.parametrize("rule", RULES[:-1], ids=lambda r: type(r).__name__)
def test_every_rule_finds_the_bottom(rule):
    f = bowl([1.0, 10.0], [0.5, -0.3])
    heavy = isinstance(rule, optimizers.Momentum | optimizers.Nesterov)
    rate = schedules.ExponentialDecay(0.02 if heavy else 0.1, 0.997)
    found = gradient_descent(
        f, np.zeros(2), learning_rate=rate, optimizer=rule, max_iter=1500, tol=1e-4
    )
    assert found.report["converged_"]


def test_momentum_beats_plain_steps_in_a_narrow_valley():
    f, start = bowl([1.0, 100.0], [0, 0]), np.ones(2)
    plain = gradient_descent(f, start, learning_rate=0.01, tol=1e-6, max_iter=3000)
    heavy = gradient_descent(
        f, start, learning_rate=0.01, tol=1e-6, optimizer=optimizers.Momentum(0.8)
    )
    ahead = gradient_descent(
        f, start, learning_rate=0.01, tol=1e-6, optimizer=optimizers.Nesterov(0.8)
    )
    assert heavy.report["n_iter_"] < plain.report["n_iter_"] / 3
    assert ahead.report["n_iter_"] < plain.report["n_iter_"] / 3


def test_clipping_tames_a_cliff():  # 003: exploding gradients
    def cliff(x):
        return float(np.exp(x[0] ** 2)), 2 * x * np.exp(x[0] ** 2)

    with pytest.raises(DivergenceError):
        gradient_descent(cliff, np.array([4.0]), learning_rate=0.1)
    tamed = gradient_descent(
        cliff, np.array([4.0]), learning_rate=0.1, clip=lambda g: optimizers.clip_norm(g, 1.0)
    )
    assert_allclose(tamed.x, 0, atol=1e-6)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5), st.floats(0.01, 10))
@CALM
def test_clipping_bounds_and_keeps_the_direction(entries, limit):
    g = np.array(entries)
    short = optimizers.clip_norm(g, limit)
    assert np.linalg.norm(short) <= limit * (1 + 1e-12)
    assert_allclose(short * np.linalg.norm(g), g * np.linalg.norm(short), atol=1e-9)
    assert np.abs(optimizers.clip_value(g, limit)).max() <= limit
    inside = np.abs(g) <= limit
    assert_array_equal(optimizers.clip_value(g, limit)[inside], g[inside])


# ----------------------------------------------------------------------------- O02 stochastic


@pytest.mark.parametrize("size", [60, 1000])
def test_a_batch_of_all_rows_is_gradient_descent_to_the_bit(size):  # 001 3-09, 004 3-10
    X, y = least_squares()
    rows = tenfold.open(X, y)
    by_batch = sgd(squares, np.zeros(4), rows, batch_size=size, learning_rate=0.1, max_iter=20)
    by_descent = gradient_descent(
        objective_over_rows(rows, squares, mean=True),
        np.zeros(4),
        learning_rate=0.1,
        max_iter=20,
        tol=None,
    )
    assert_array_equal(by_batch.x, by_descent.x)


@pytest.mark.parametrize("size", [1, 7, 30])
def test_an_epoch_sees_every_row_once(size):
    X = np.arange(60.0)[:, None]
    seen = []

    def spy(chunk, _):
        seen.append(chunk.X[:, 0].copy())
        return 0.0, np.zeros(1)

    sgd(spy, np.zeros(1), tenfold.open(X), batch_size=size, max_iter=1)
    seen = seen[1:-1]  # without the passes over all rows that judge the start and the result
    assert [len(batch) for batch in seen[:-1]] == [size] * (len(seen) - 1)
    assert_array_equal(np.sort(np.concatenate(seen)), X[:, 0])
    assert not np.array_equal(np.concatenate(seen), X[:, 0])


@pytest.mark.parametrize("rate", [0.9, 10.0])
def test_stochastic_divergence_raises_and_names_a_rate_that_works(rate):
    X, y = least_squares(300)
    rows = tenfold.open(10 * X, y)
    with pytest.raises(
        DivergenceError, match=r"diverged: the mean loss .* try the learning rate "
    ) as caught:
        sgd(squares, np.zeros(4), rows, learning_rate=rate, max_iter=5)
    found = sgd(squares, np.zeros(4), rows, learning_rate=caught.value.rate / 4, max_iter=50)
    start, end = (float(((10 * X @ at - y) ** 2).mean()) for at in (np.zeros(4), found.x))
    assert end < start


def test_a_loss_that_rises_again_is_not_convergence():
    X, y = least_squares(300)
    y = y + 3 * np.random.default_rng(1).normal(size=300)
    rows = tenfold.open(X, y)
    rate = lambda t: 0.02 if t <= 300 else 0.42  # noqa: E731
    with pytest.warns(RuntimeWarning, match="the mean loss at the result is"):
        found = sgd(squares, np.zeros(4), rows, learning_rate=rate, max_iter=30, patience=3)
    assert found.report["n_iter_"] < 30
    assert not found.report["converged_"]


def test_batches_of_weight_zero_are_no_steps():
    X, y = least_squares(60)
    w = np.tile([1.0, 0.0], 30)
    leaf = lambda chunk, theta: squares(chunk, theta) if chunk.weight else (0.0, np.zeros(4))  # noqa: E731
    rate = schedules.PowerDecay(1.0, 0.8, shift=10)
    some = sgd(leaf, np.zeros(4), tenfold.open(X, y, w), learning_rate=rate, max_iter=15)
    best = np.linalg.lstsq(X[::2], y[::2], rcond=None)[0]
    assert_allclose(some.x, best, atol=0.1)


@pytest.mark.parametrize("size", [1, 10])
def test_sgd_finds_least_squares(size):
    X, y = least_squares(300)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    rows = tenfold.open(X, y)
    rate = schedules.PowerDecay(1.0, 0.8, shift=10)
    found = sgd(squares, np.zeros(4), rows, batch_size=size, learning_rate=rate, max_iter=15)
    assert_allclose(found.x, best, atol=0.02)


def test_the_seed_decides():
    X, y = least_squares()
    runs = [
        sgd(squares, np.zeros(4), tenfold.open(X, y), learning_rate=0.05, seed=seed, max_iter=3).x
        for seed in (0, 0, 1)
    ]
    assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("size", [7, 10_000])
def test_rows_in_a_file_give_the_same_bits(size, tmp_path):
    X, y = least_squares(9000, 3)  # more than one chunk
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    here = tenfold.open(X, y)
    there = tenfold.open(tmp_path / "X.npy", tmp_path / "y.npy")
    runs = [
        sgd(squares, np.zeros(3), rows, batch_size=size, learning_rate=0.01, max_iter=2)
        for rows in (here, there)
    ]
    assert_array_equal(runs[0].x, runs[1].x)
    found = [minimize(squares, np.zeros(3), rows=rows, method="BFGS").x for rows in (here, there)]
    assert_array_equal(*found)


def test_sgd_can_be_checkpointed(tmp_path):
    X, y = least_squares()

    def run(stop):
        calls = itertools.count()

        def leaf(chunk, theta):
            if next(calls) == stop:
                raise KeyboardInterrupt
            return squares(chunk, theta)

        with tenfold.checkpoint(tmp_path / "kept", every=0):
            return sgd(
                leaf,
                np.zeros(4),
                tenfold.open(X, y),
                batch_size=10,
                optimizer=optimizers.Adam(),
                max_iter=8,
            )

    with pytest.raises(KeyboardInterrupt):
        run(stop=30)
    resumed, whole = (
        run(None),
        sgd(
            squares,
            np.zeros(4),
            tenfold.open(X, y),
            batch_size=10,
            optimizer=optimizers.Adam(),
            max_iter=8,
        ),
    )
    assert_array_equal(resumed.x, whole.x)


def test_the_mean_of_the_points_is_quieter_than_the_last():
    X, y = least_squares(400, seed=3)
    y = y + np.random.default_rng(5).normal(size=400)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    how = dict(learning_rate=0.05, max_iter=4)
    far = {
        since: np.linalg.norm(
            sgd(squares, np.zeros(4), tenfold.open(X, y), average_from=since, **how).x - best
        )
        for since in (None, 200)
    }
    assert far[200] < far[None] / 3


def test_averaging_is_the_mean_of_the_points():
    points = []

    def spy(chunk, theta):
        points.append(theta.copy())
        return squares(chunk, theta)

    X, y = least_squares(10)
    stream = [Chunk(X[i : i + 1], y[i : i + 1]) for i in range(10)]
    found = online_sgd(spy, np.zeros(4), stream, learning_rate=0.1, average_from=4)
    last = online_sgd(squares, np.zeros(4), stream, learning_rate=0.1).x
    assert_allclose(found.x, np.mean([*points[4:], last], axis=0))


def test_a_stream_is_learned_as_it_comes():
    X, y = least_squares(200)

    def endless():
        while True:
            for i in range(200):
                yield Chunk(X[i : i + 1], y[i : i + 1])

    found = online_sgd(
        squares, np.zeros(4), endless(), learning_rate=schedules.PowerDecay(0.5, 0.7), max_iter=1000
    )
    assert found.report["n_iter_"] == 1000
    losses = found.report["history_"]["objective"]
    assert losses[-200:].mean() < 0.1 * losses[:50].mean()
    assert_allclose(found.x, np.linalg.lstsq(X, y, rcond=None)[0], atol=0.05)


def test_one_over_t_on_a_stream_is_the_running_mean():
    data = np.random.default_rng(0).normal(size=(50, 2))

    def distance(chunk, theta):
        return float(((theta - chunk.X) ** 2).sum()) / 2, (theta - chunk.X).sum(axis=0)

    found = online_sgd(
        distance,
        np.full(2, 9.0),
        (Chunk(x[None]) for x in data),
        learning_rate=schedules.PowerDecay(),
    )
    assert_allclose(found.x, data.mean(axis=0))


def test_early_stopping_returns_the_best_point_on_other_data():
    X, y = least_squares(20, 15, seed=2)
    other_X, other_y = least_squares(200, 15, seed=2)
    other_X, other_y = other_X[20:], other_y[20:] + np.random.default_rng(1).normal(size=180)
    losses = []

    def validate(theta):
        losses.append(float(((other_X @ theta - other_y) ** 2).mean()))
        return losses[-1]

    found = sgd(
        squares,
        np.zeros(15),
        tenfold.open(X, y),
        learning_rate=0.03,
        validate=validate,
        patience=3,
        tol=1e-4,
    )
    assert found.report["converged_"]
    assert found.value == min(losses)
    assert validate(found.x) == found.value
    assert len(losses) - 3 == found.report["n_iter_"] < 100  # start, result, and the line above


def test_rules_and_clipping_work_with_batches():
    X, y = least_squares(200)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    found = sgd(
        squares,
        np.zeros(4),
        tenfold.open(X, y),
        batch_size=20,
        learning_rate=schedules.ExponentialDecay(0.05, 0.99),
        optimizer=optimizers.Adam(),
        clip=lambda g: optimizers.clip_value(g, 5.0),
        max_iter=50,
    )
    assert_allclose(found.x, best, atol=0.02)


def test_the_noise_of_batches_is_that_of_all_subsets():  # 001 3-09: exact, by brute force
    X, y = least_squares(7, 2)
    theta = np.array([0.3, -1.0])
    noise = gradient_noise(squares, theta, tenfold.open(X, y))
    assert_allclose(noise.gradient, squares(Chunk(X, y), theta)[1] / 7)
    for size in (1, 3, 7):
        slopes = np.array(
            [
                squares(Chunk(X[list(rows)], y[list(rows)]), theta)[1] / size
                for rows in itertools.combinations(range(7), size)
            ]
        )
        assert_allclose(slopes.mean(axis=0), noise.gradient)
        assert_allclose(np.cov(slopes.T, bias=True), noise.of_batch(size), atol=1e-12)


def test_noise_leaves_a_sharp_minimum_for_a_flat_one():  # 003 A041, shown
    """Two minima of equal depth: descent stays in the sharp one, single rows find the flat one."""
    pulls = np.where(np.arange(100) % 2, 4.5, -4.5)[:, None]  # mean zero

    def wells(chunk, theta):
        x = theta[0]
        sharp, flat = 40 * (x + 1) ** 2, 0.5 * (x - 1) ** 2
        slope = 80 * (x + 1) if sharp < flat else x - 1
        n = chunk.rows
        return n * min(sharp, flat) + chunk.X.sum() * x, np.array([n * slope + chunk.X.sum()])

    rows, start = tenfold.open(pulls), np.array([-0.95])
    exact = sgd(wells, start, rows, batch_size=100, learning_rate=0.02, max_iter=50, patience=99)
    noisy = [
        sgd(wells, start, rows, learning_rate=0.02, max_iter=10, seed=s, patience=99)
        for s in range(5)
    ]
    assert_allclose(exact.x, -1, atol=1e-6)
    assert all(run.x[0] > 0 for run in noisy)


# --------------------------------------------------------------------------- O03 Newton, IRLS


def test_weighted_least_squares_is_the_normal_equations():
    X, y = least_squares()
    w = np.random.default_rng(0).random(60)
    assert_allclose(weighted_least_squares(X, y, w), np.linalg.solve((X.T * w) @ X, (X.T * w) @ y))
    two = weighted_least_squares(X, np.column_stack([y, 2 * y]), w)
    assert_allclose(two[:, 1], 2 * two[:, 0])


def test_zero_weights_are_absent_rows_and_dependent_columns_give_the_shortest():
    X, y = least_squares()
    w = np.repeat([1.0, 0.0], 30)
    assert_allclose(weighted_least_squares(X, y, w), np.linalg.lstsq(X[:30], y[:30], rcond=None)[0])
    twice = weighted_least_squares(np.hstack([X, X]), y, np.ones(60))
    assert_allclose(twice[:4], twice[4:])
    with pytest.raises(ValueError, match="row 1"):
        weighted_least_squares(X[:2], y[:2], np.array([1.0, -1.0]))


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), ProbitLoss(), PoissonLoss()], ids=lambda x: type(x).__name__
)
def test_a_newton_step_is_a_weighted_least_squares_solve(loss):  # 001 2-06
    X, y = logistic_data()
    y = np.abs(y + 1) if loss.labels == "counts" else y
    w = np.array([0.1, -0.2, 0.3])
    z = X @ w
    H = (X.T * loss.curvature(z, y)) @ X
    assert_allclose(irls_step(X, y, w, loss), w - np.linalg.solve(H, X.T @ loss.gradient(z, y)))


def test_irls_finds_what_descent_finds_and_doubles_its_digits():
    X, y = logistic_data()
    found = irls(X, y, LogisticLoss())
    assert_allclose(found.x, lbfgs(log_loss(X, y), np.zeros(3), tol=1e-9).x, atol=1e-7)
    points = [np.zeros(3)]
    for _ in range(5):
        points.append(irls_step(X, y, points[-1], LogisticLoss()))
    errors = [np.linalg.norm(p - points[-1]) for p in points]
    assert errors[2] < 1e-2
    assert errors[3] < 10 * errors[2] ** 2 + 1e-12
    assert found.report["n_iter_"] <= 8


def test_irls_with_a_dependent_column_and_no_curvature():
    X, y = logistic_data()
    both = irls(np.hstack([X, X[:, :1]]), y, LogisticLoss())
    assert_allclose(both.value, irls(X, y, LogisticLoss()).value)
    with pytest.raises(ValueError, match="no curvature"):
        irls_step(X, y, np.zeros(3), HingeLoss())


# ------------------------------------------------------------------- O04 any minimiser, over a fold

SCIPY = ["Nelder-Mead", "Powell", "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "COBYLA", "COBYQA"]
SCIPY += ["trust-constr", "Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"]


@pytest.mark.parametrize("method", ["lbfgs", "newton", "gd", *SCIPY])
def test_any_minimiser_over_a_fold(method):
    X, y = least_squares(40, 2)
    curved = method == "newton" or method in SCIPY[9:]
    settings = {"learning_rate": 0.01} if method == "gd" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # trust-constr on a quadratic function
        found = minimize(
            curved_squares if curved else squares,
            np.zeros(2),
            rows=tenfold.open(X, y),
            method=method,
            **settings,
        )
    assert_allclose(found.x, np.linalg.lstsq(X, y, rcond=None)[0], atol=2e-4)
    assert found.report["converged_"]
    assert len(found.report["history_"]["objective"]) >= 1
    if method in SCIPY:
        assert_allclose(found.report["history_"]["objective"].min(), found.value, rtol=1e-6)


def test_the_fold_makes_no_difference():
    X, y = least_squares(40, 2)
    whole = minimize(lambda w: squares(Chunk(X, y), w), np.zeros(2))
    assert_allclose(minimize(squares, np.zeros(2), rows=tenfold.open(X, y)).x, whole.x, rtol=1e-12)


def test_a_plain_value_is_enough_for_some():
    found = minimize(rosen, np.zeros(2), method="Nelder-Mead", tol=1e-9)
    assert_allclose(found.x, 1, atol=1e-6)
    assert np.isnan(found.gradient).all()
    with pytest.raises(ValueError, match="use method='Nelder-Mead'"):
        minimize(rosen, np.zeros(2), method="lbfgs")
    with pytest.raises(
        ValueError, match=r"needs a function that returns \(value, gradient, Hessian\)"
    ):
        minimize(lambda x: (rosen(x), rosen_der(x)), np.zeros(2), method="newton")


def test_hessians_bounds_and_one_evaluation_for_all_parts():
    calls = itertools.count()

    def f(x):
        next(calls)
        return rosen(x), rosen_der(x), rosen_hess(x)

    found = minimize(f, np.array([-1.0, 1.0]), method="trust-exact", tol=1e-10)
    assert_allclose(found.x, 1, atol=1e-7)
    assert next(calls) <= found.report["n_iter_"] + 5
    inside = minimize(f, np.zeros(2), method="L-BFGS-B", bounds=[(None, 0.5), (None, None)])
    assert_allclose(inside.x, [0.5, 0.25], atol=1e-5)


def test_the_mean_over_rows_is_by_weight():
    X, y = least_squares(10, 2)
    w = np.arange(1.0, 11.0)
    rows = tenfold.open(X, y, w)
    f = objective_over_rows(
        rows, lambda chunk, theta: float(chunk.weights() @ (chunk.y - theta) ** 2), mean=True
    )
    assert_allclose(f(0.5), np.average((y - 0.5) ** 2, weights=w))


# ------------------------------------------------- O05 sub-gradient, projections, proximal gradient


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


# ---------------------------------------------------------- O06 quadratic programs and multipliers


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


# --------------------------------------------------------------------------------- O07 alternating


def factor_cost(X):
    return lambda b: float(((X - b["W"] @ b["H"]) ** 2).sum())


def ratings():
    Y, known = np.array([[5.0, 0, 7], [1, 2, 0]]), np.array([[1.0, 0, 1], [1, 1, 0]])

    def cost(b):
        errors = known * (Y - np.outer(b["u"], b["v"]))
        return float((errors**2).sum() + b["u"] @ b["u"] + b["v"] @ b["v"]) / 2

    steps = {
        "u": lambda b: known * Y @ b["v"] / (1 + known @ b["v"] ** 2),
        "v": lambda b: (known * Y).T @ b["u"] / (1 + known.T @ b["u"] ** 2),
    }
    return steps, {"u": np.zeros(2), "v": np.array([2.0, 7, 8])}, cost


def test_the_ratings_of_two_users():  # 003 A074: the oracle
    steps, start, cost = ratings()
    one = alternating_minimization(steps, start, cost, max_iter=1)
    assert_allclose(one.blocks["u"], [22 / 23, 8 / 27])
    assert_allclose(one.blocks["v"], [1958634 / 772333, 432 / 793, 3542 / 1013])
    assert_allclose(one.report["history_"]["steps"], [64.064412, 21.694083], atol=1e-6)
    found = alternating_minimization(steps, start, cost, tol=1e-13)
    assert found.report["converged_"]
    assert_allclose(found.cost, 9.677700, atol=1e-6)
    assert_allclose(found.blocks["u"], [2.782081, 0.797642], atol=1e-5)
    assert (np.diff(found.report["history_"]["steps"]) <= 1e-12).all()
    assert_array_equal(start["u"], 0)  # the start is left alone


def non_negative_factors(seed=0, rank=3):
    rng = np.random.default_rng(seed)
    X = rng.random((10, rank)) @ rng.random((rank, 20))
    return X, {"H": rng.random((rank, 20)), "W": rng.random((10, rank))}


def test_non_negative_factors_by_inexact_steps():  # 001 4-03, 4-04: at most five steps each
    X, start = non_negative_factors()
    cost = factor_cost(X)
    steps = {
        "H": inexact_block_step(
            "H", lambda b: (cost(b), 2 * b["W"].T @ (b["W"] @ b["H"] - X)), project=non_negative
        ),
        "W": inexact_block_step(
            "W", lambda b: (cost(b), 2 * (b["W"] @ b["H"] - X) @ b["H"].T), project=non_negative
        ),
    }
    found = alternating_minimization(steps, start, cost, tol=1e-4, max_iter=300)
    assert min(found.blocks["W"].min(), found.blocks["H"].min()) >= 0
    assert found.cost < 1e-3 * (X**2).sum()
    assert (np.diff(found.report["history_"]["steps"]) <= 1e-10 * cost(start)).all()


def test_sets_are_kept_by_projection():
    found = alternating_minimization(
        {"x": lambda b: np.array([3.0, b["y"][0]]), "y": lambda b: np.array([b["x"][0] / 2])},
        {"x": np.zeros(2), "y": np.zeros(1)},
        lambda b: float((b["x"][0] - 3) ** 2 + (b["x"][1] - b["y"][0]) ** 2
                        + (b["y"][0] - b["x"][0] / 2) ** 2),
        sets={"x": box(0.0, 1.0)},
        on_increase="warn",
    )  # fmt: skip
    assert_allclose(found.blocks["x"], [1, 0.5])
    assert_allclose(found.blocks["y"], 0.5)


def test_a_radius_bounds_every_move_and_the_end_is_the_same():
    steps, start, cost = ratings()
    seen = [dict(start)]
    spied = {
        name: (lambda b, step=step: (seen.append(dict(b)), step(b))[1])
        for name, step in steps.items()
    }
    found = alternating_minimization(
        spied, start, cost, radius=schedules.PowerDecay(2.0, 0.6), tol=1e-12, max_iter=1000
    )
    assert_allclose(found.cost, 9.677700, atol=1e-5)
    assert (np.diff(found.report["history_"]["steps"]) <= 1e-9).all()
    for number, (before, after) in enumerate(itertools.pairwise(seen[1:])):
        moved = max(np.linalg.norm(after[k] - before[k]) for k in "uv")
        assert moved <= 2.0 * (number // 2 + 1) ** -0.6 + 1e-9


def test_a_step_that_raises_the_cost_is_named():
    steps, start, cost = ratings()
    steps["v"] = lambda b: b["v"] + 10
    with pytest.raises(CostIncreasedError, match="block 'v' increased the cost from"):
        alternating_minimization(steps, start, cost)
    with pytest.warns(RuntimeWarning, match="block 'v'"):
        alternating_minimization(steps, start, cost, on_increase="warn", max_iter=1)


def test_blocks_must_be_there_and_keep_their_shape():
    steps, start, cost = ratings()
    with pytest.raises(ValueError, match=r"no initial value for \['u'\]"):
        alternating_minimization(steps, {"v": start["v"]}, cost)
    with pytest.raises(ValueError, match="block 'u' gives shape"):
        alternating_minimization({"u": lambda _: np.zeros(5)}, start, cost)
    with pytest.raises(ValueError, match="'raise' or 'warn'"):
        alternating_minimization(steps, start, cost, on_increase="shrug")


# ---------------------------------------------------------------------- O10 majorise and minimise


def median_parts(data):
    def cost(m):
        return float(np.abs(data - m).sum())

    def minimiser(m):
        w = 1 / np.maximum(np.abs(data - m), 1e-12)
        return np.atleast_1d(float(w @ data / w.sum()))

    def majoriser(m, at):
        size = np.maximum(np.abs(data - at), 1e-12)
        return float(((data - m) ** 2 / (2 * size) + size / 2).sum())

    return minimiser, cost, majoriser


def test_the_median_by_squares():
    data = np.array([0.0, 1.0, 2.0, 5.0, 100.0])
    minimiser, cost, majoriser = median_parts(data)
    found = majorize_minimize(minimiser, cost, np.array([30.0]), majorizer=majoriser, max_iter=200)
    assert_allclose(found.x, 2, atol=1e-3)
    assert (np.diff(found.report["history_"]["objective"]) <= 1e-9).all()


def test_a_bound_on_the_curvature_majorises_the_logistic_loss():
    """Boehning's bound: the Hessian is at most X'X/4, so one matrix serves all steps."""
    X, y = logistic_data()
    f, H = log_loss(X, y), X.T @ X / 4

    def majoriser(w, at):
        value, slope = f(at)
        return value + slope @ (w - at) + (w - at) @ H @ (w - at) / 2

    found = majorize_minimize(
        lambda at: at - np.linalg.solve(H, f(at)[1]),
        lambda w: f(w)[0],
        np.zeros(3),
        majorizer=majoriser,
        tol=1e-10,
    )
    assert_allclose(found.x, irls(X, y, LogisticLoss()).x, atol=1e-8)


def test_a_majoriser_that_is_none_is_found_out():
    data = np.array([0.0, 1.0, 2.0, 5.0, 100.0])
    minimiser, cost, majoriser = median_parts(data)
    start = np.array([30.0])
    with pytest.raises(CostIncreasedError, match="must touch it there"):
        majorize_minimize(minimiser, cost, start, majorizer=lambda m, at: majoriser(m, at) + 1)
    with pytest.raises(CostIncreasedError, match="below the cost"):
        majorize_minimize(
            minimiser, cost, start, majorizer=lambda m, at: cost(at) - 99 * abs(m - at)[0]
        )
    with pytest.raises(CostIncreasedError, match="does not minimize"):
        majorize_minimize(lambda m: m + 50, cost, start, majorizer=majoriser)
    with pytest.raises(CostIncreasedError, match="iteration 1 increased"):
        majorize_minimize(lambda m: m + 50, cost, start)


# ------------------------------------------------------------------------------------- the package


def test_names_are_lazy_and_complete():
    import tenfold.optim

    for name in tenfold.optim.__all__:
        assert getattr(tenfold.optim, name) is not None
    assert set(tenfold.optim.__all__) <= set(dir(tenfold.optim))
    modules = {path.stem for path in Path(tenfold.optim.__file__).parent.glob("*.py")}
    assert not modules & set(tenfold.optim._WHERE)  # importing one would hide the name
    assert callable(until_converged)
    with pytest.raises(AttributeError, match="no attribute 'descend'"):
        _ = tenfold.optim.descend
