"""Areas under curves from histograms of scores: exact below the limit, bounded beyond it."""

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.metrics import RocCurve
from tenfold.metrics._score_histogram import (
    average_precision,
    roc_area,
    roc_area_error,
    score_histogram,
)
from tenfold.metrics._score_histogram import average_precision_error as ap_error
from tests.metrics.metric_cases import SEEDS


@given(
    SEEDS,
    st.integers(4, 40),
    st.booleans(),
    st.sampled_from(["normal", "uniform", "sharp", "heavy"]),
)
def test_beyond_the_limit_the_error_is_within_its_bound(seed, limit, weighted, kind):
    rng = np.random.default_rng(seed)
    n = 500
    y = rng.random(n) < rng.uniform(0.05, 0.95)
    s = {
        "normal": rng.normal(size=n) + y,
        "uniform": rng.random(n),
        "sharp": 1 / (1 + np.exp(-20 * (rng.normal(size=n) + y))),
        "heavy": rng.standard_cauchy(n) * 10.0 ** rng.integers(-3, 3, n),
    }[kind]
    w = rng.uniform(0.1, 3, n) if weighted else None
    exact, rough = (score_histogram(s, y, w, 2, m).compact() for m in (n, limit))
    assert not exact.is_merged.any()
    assert roc_area_error(exact) == ap_error(exact) == 0
    assert len(rough.scores) <= limit
    assert rough.dropped > 0
    if 0 < y.sum() < n:
        assert abs(roc_area(rough) - roc_area(exact)) <= roc_area_error(rough) + 1e-12
    assert abs(average_precision(rough) - average_precision(exact)) <= ap_error(rough) + 1e-12


def test_points_of_a_sketched_curve_are_exact():
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 2, 3000), rng.normal(size=3000)
    roc = RocCurve.from_predictions(y, s, limit=50)
    assert 0 < roc.error < 0.05
    for threshold, fpr, tpr in zip(roc.thresholds, roc.fpr, roc.tpr, strict=True):
        assert fpr == (s[y == 0] >= threshold).mean()
        assert tpr == (s[y == 1] >= threshold).mean()


@given(SEEDS, st.integers(4, 100))
def test_the_order_in_which_tables_merge_does_not_matter(seed, limit):
    rng = np.random.default_rng(seed)
    y, s = rng.integers(0, 2, 200), np.round(rng.normal(size=200), 2)
    parts = [
        score_histogram(s[i : i + 10], y[i : i + 10], None, 2, limit) for i in range(0, 200, 10)
    ]
    while len(parts) > 1:
        a, b = rng.choice(len(parts), 2, replace=False)
        joint = parts[a].merge(parts[b])
        parts = [part for i, part in enumerate(parts) if i not in {a, b}] + [joint]
    parts, whole = [parts[0].compact()], score_histogram(s, y, None, 2, limit).compact()
    assert parts[0].dropped == whole.dropped
    assert_array_equal(parts[0].scores, whole.scores)
    assert_array_equal(parts[0].weights, whole.weights)


def test_more_rows_than_the_limit_stay_exact_while_their_scores_are_few():
    rng = np.random.default_rng(2)
    y, s = rng.integers(0, 2, 5000), rng.integers(0, 100, 5000) / 100
    roc = RocCurve.from_predictions(y, s, limit=100)
    assert roc.error == 0
    assert_allclose(roc.auc, sk.roc_auc_score(y, s), rtol=1e-12)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=30))
def test_every_score_has_its_own_cell(scores):
    table = score_histogram(scores, np.zeros(len(scores)), None, 1).compact()
    assert_array_equal(table.scores, np.unique(np.array(scores) + 0.0))


def test_scores_must_be_numbers():
    with pytest.raises(ValueError, match="scores hold NaN"):
        score_histogram([0.0, np.nan], [0, 1], None, 2)
    with pytest.raises(ValueError, match="at least 4 bins"):
        score_histogram([0.0], [0], None, 2, limit=1)
