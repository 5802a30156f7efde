"""Calibration: bins, their parts, and merging."""

from functools import partial

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.calibration import calibration_curve

from tenfold.metrics import Calibration
from tenfold.metrics.calibration import bin_probabilities
from tests.metrics.metric_cases import SEEDS


@given(SEEDS, st.integers(2, 60), st.integers(1, 12), st.booleans())
def test_calibration_and_its_parts(seed, n, bins, weighted):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 2)
    y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    w = rng.uniform(0.1, 2, n) if weighted else None
    c = Calibration.from_predictions(y, p, bins=bins, sample_weight=w)
    assert_allclose(c.brier, sk.brier_score_loss(y, p, sample_weight=w))
    assert_allclose(c.reliability - c.resolution + c.uncertainty + c.within, c.brier)
    if not weighted:
        observed, predicted = calibration_curve(y, p, n_bins=bins)
        there = c.weight > 0
        assert_allclose(c.observed[there], observed)
        assert_allclose(c.predicted[there], predicted)
        gaps = np.abs(observed - predicted)
        assert_allclose(c.expected_error, c.weight[there] / n @ gaps)
        assert_allclose(c.largest_error, gaps.max())


@given(SEEDS, st.integers(0, 50))
def test_calibrations_add_up(seed, cut):
    rng = np.random.default_rng(seed)
    y, p = np.r_[0, 1, rng.integers(0, 2, 48)], rng.random(50)
    made = partial(Calibration.from_predictions, positive=1)
    halves = [
        Calibration(bin_probabilities(p[part], y[part], None, 10))
        for part in (slice(cut), slice(cut, None))
    ]
    joint, whole = halves[0] + halves[1], made(y, p)
    for name in ("expected_error", "brier", "resolution"):
        assert_allclose(getattr(joint, name), getattr(whole, name), atol=1e-12)
    with pytest.raises(ValueError, match="do not add up"):
        whole + made(y, p, bins=3)


def test_within_is_nothing_where_all_of_a_bin_is_equal():
    rng = np.random.default_rng(0)
    p = rng.choice([0.05, 0.35, 0.85], 200)
    c = Calibration.from_predictions(rng.random(200) < p, p, positive=True)
    assert abs(c.within) < 1e-12
    assert "expected_error" in repr(c)
    with pytest.raises(ValueError, match="from 0 to 1"):
        Calibration.from_predictions([0, 1], [0.2, 1.2])
