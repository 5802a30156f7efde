"""Learning rates against their formulas, and the conditions of Robbins and Monro."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold.optim import schedules
from tenfold.teaching import robbins_monro


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
