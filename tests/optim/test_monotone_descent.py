"""Alternating minimization and majorization: the cost never rises."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.math.losses import LogisticLoss
from tenfold.optim import (
    CostIncreasedError,
    alternating_minimization,
    inexact_block_step,
    irls,
    majorize_minimize,
    schedules,
)
from tenfold.optim.projections import box, non_negative
from tests.optim.descent_problems import log_loss, logistic_data


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
