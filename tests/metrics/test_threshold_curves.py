"""Curves over thresholds, and the threshold that costs choose."""

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tenfold.metrics import PrecisionRecallCurve, RocCurve
from tests.metrics.metric_cases import SEEDS


@given(SEEDS, st.integers(4, 80), st.booleans(), st.booleans())
def test_curves_against_scikit_learn(seed, n, ties, weighted):
    rng = np.random.default_rng(seed)
    y, s = np.r_[0, 1, rng.integers(0, 2, n)], rng.random(n + 2)
    s = np.round(s, 1) if ties else s
    w = rng.uniform(0.1, 2, n + 2) if weighted else None
    roc = RocCurve.from_predictions(y, s, sample_weight=w)
    fpr, tpr, thresholds = sk.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    for ours, theirs in zip(
        (roc.fpr, roc.tpr, roc.thresholds), (fpr, tpr, thresholds), strict=True
    ):
        assert_allclose(ours, theirs, atol=1e-12)
    assert_allclose(roc.auc, sk.auc(fpr, tpr))
    curve = PrecisionRecallCurve.from_predictions(y, s, sample_weight=w)
    theirs = sk.precision_recall_curve(y, s, sample_weight=w)
    for ours, other in zip((curve.precision, curve.recall, curve.thresholds), theirs, strict=True):
        assert_allclose(ours, other, atol=1e-12)


@given(SEEDS, st.floats(0.01, 0.99), st.integers(1, 20), st.integers(1, 20))
def test_the_best_threshold_is_the_best_of_all(seed, share, alarm, miss):
    rng = np.random.default_rng(seed)
    y, s = np.r_[0, 1, rng.integers(0, 2, 30)], np.round(rng.random(32), 1)
    roc = RocCurve.from_predictions(y, s)

    def rates(t):
        return (s[y == 1] >= t).mean(), (s[y == 0] >= t).mean()

    everywhere = [np.inf, *np.unique(s)]
    best = rates(roc.best_threshold())
    assert_allclose(best[0] - best[1], max(np.subtract(*rates(t)) for t in everywhere))

    def cost(t):
        tpr, fpr = rates(t)
        return share * (1 - tpr) * miss + (1 - share) * fpr * alarm

    point = roc.operating_point([[0, alarm], [miss, 0]], share)
    assert_allclose(point.cost, cost(point.threshold))
    assert_allclose(point.cost, min(map(cost, everywhere)))


def test_true_probabilities_are_cut_where_costs_say():
    rng = np.random.default_rng(0)
    p = rng.random(20000)
    y = rng.random(20000) < p
    roc = RocCurve.from_predictions(y, p)
    assert abs(roc.best_threshold([[0, 10], [100, 0]]) - 1 / 11) < 0.03  # the alarm of 000, 1.1


def test_curves_say_what_is_wrong():
    with pytest.raises(ValueError, match="rows of both classes"):
        RocCurve.from_predictions([1, 1], [0.2, 0.3]).best_threshold()
    with pytest.raises(ValueError, match="which of the classes"):
        RocCurve.from_predictions([0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="none of the classes"):
        RocCurve.from_predictions([0, 1], [0.1, 0.2], positive=7)
    with pytest.raises(ValueError, match="2 x 2 matrix"):
        RocCurve.from_predictions([0, 1], [0.1, 0.2]).best_threshold(np.eye(3))
    with pytest.raises(ValueError, match="one each"):
        PrecisionRecallCurve.from_predictions([0, 1], [[0.1, 0.9], [0.2, 0.8]])
