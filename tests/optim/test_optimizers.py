"""Momentum, Adam and their relatives: steps by hand, minima, clipping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.optim import DivergenceError, gradient_descent, optimizers, schedules
from tests.optim.descent_problems import CALM, bowl

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
