"""Intervals of rates, of metrics and of folds."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, norm
from sklearn.metrics import accuracy_score, roc_auc_score

from tenfold.model_selection.confidence_intervals import (
    bootstrap_interval,
    error_interval,
    fold_interval,
)


def test_wilson_and_exact_intervals_are_the_textbook_ones():
    z, n, p = norm.ppf(0.975), 100, 0.08
    centre, half = (p + z**2 / 2 / n), z * sqrt(p * (1 - p) / n + z**2 / 4 / n**2)
    found = error_interval(8, n)
    assert_allclose(found[1:3], np.array([centre - half, centre + half]) / (1 + z**2 / n))
    exact = error_interval(8, n, method="exact")
    assert_allclose(binom.sf(7, n, exact.low), 0.025, rtol=1e-6)
    assert_allclose(binom.cdf(8, n, exact.high), 0.025, rtol=1e-6)
    assert error_interval(0, 50, method="exact").high == pytest.approx(1 - 0.025 ** (1 / 50))


@given(st.integers(1, 400), st.data())
def test_intervals_of_an_error_rate_contain_it_and_hoeffdings_is_the_widest(n, data):
    wrong = data.draw(st.integers(0, n))
    found = {m: error_interval(wrong, n, method=m) for m in ("wilson", "exact", "hoeffding")}
    for interval in found.values():
        assert -1e-15 <= interval.low - 1e-15 <= wrong / n <= interval.high + 1e-15
        assert interval.high <= 1
    hoeffding, half = found["hoeffding"], sqrt(np.log(40) / 2 / n)
    assert hoeffding.high == pytest.approx(min(wrong / n + half, 1))
    mirrored = error_interval(n - wrong, n)
    assert_allclose([1 - mirrored.high, 1 - mirrored.low], found["wilson"][1:3], atol=1e-12)


def test_exact_intervals_cover_at_least_as_often_as_they_say():
    n = 30
    ends = [error_interval(k, n, level=0.9, method="exact") for k in range(n + 1)]
    for p in (0.02, 0.2, 0.5, 0.77):
        chance = binom.pmf(np.arange(n + 1), n, p)
        assert sum(c for c, i in zip(chance, ends, strict=True) if i.low <= p <= i.high) >= 0.9


def test_impossible_counts_levels_and_methods_are_refused():
    with pytest.raises(ValueError, match="5 of 3"):
        error_interval(5, 3)
    with pytest.raises(ValueError, match="there are"):
        error_interval(1, 3, method="wald")
    with pytest.raises(ValueError, match="level=95"):
        error_interval(1, 3, level=95)
    with pytest.raises(ValueError, match="there are"):
        bootstrap_interval(accuracy_score, [0, 1], [0, 0], method="basic")
    with pytest.raises(ValueError, match="error_interval"):
        bootstrap_interval(accuracy_score, [0, 1, 1], [0, 1, 1])


def test_the_bootstrap_of_a_mean_is_near_the_normal_interval():
    y = np.random.default_rng(0).normal(size=400)
    normal = 1.96 * y.std() / sqrt(400)
    for method in ("bca", "percentile"):
        found = bootstrap_interval(lambda y: y.mean(), y, method=method)
        assert_allclose([found.value - found.low, found.high - found.value], normal, rtol=0.12)


def test_the_bootstrap_covers_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(150):
        errors = rng.exponential(size=60) ** 0.5
        found = bootstrap_interval(lambda e: (e**2).mean(), errors, draws=200, level=0.9)
        inside += found.low <= 1 <= found.high
    assert 0.78 < inside / 150 < 0.97  # BCa falls a little short on 60 skewed rows


def test_the_bootstrap_takes_metrics_of_scores():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    scores = y + rng.normal(size=200)
    found = bootstrap_interval(roc_auc_score, y, scores, draws=300)
    assert found.value == roc_auc_score(y, scores)
    assert 0.5 < found.low < found.value < found.high < 1


def test_intervals_of_folds_are_wider_than_those_of_independent_draws():
    scores = np.random.default_rng(0).normal(0.9, 0.02, 10)
    plain = fold_interval(scores, ratio=0)
    half = 2.2621571628 * scores.std(ddof=1) / sqrt(10)
    assert_allclose(plain.high - plain.value, half)
    corrected = fold_interval(scores)
    assert_allclose((corrected.high - corrected.low) / (plain.high - plain.low), sqrt(1 + 10 / 9))
    twice = fold_interval(np.tile(scores, (2, 1)))
    assert_allclose(twice.value, scores.mean())
    assert (twice.high - twice.low) > 0.75 * (corrected.high - corrected.low)  # rho stays 1/9
    with pytest.raises(ValueError, match="no spread"):
        fold_interval([0.9])
