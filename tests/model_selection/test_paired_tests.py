"""Tests of the difference of two models."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import ttest_rel
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score

from tenfold import GaussianNB
from tenfold.model_selection.paired_tests import (
    bootstrap_difference,
    corrected_t_test,
    five_by_two_from_differences,
    five_by_two_test,
    mcnemar_test,
    wilcoxon_test,
)
from tenfold.teaching.learning_theory.lookup_classifier import MemorizingClassifier


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=8))
def test_swapping_models_swaps_the_sign_and_nothing_else(pairs):
    a, b = np.array(pairs).T
    for test in (corrected_t_test, wilcoxon_test):
        there, back = test(a, b), test(b, a)
        assert there.difference == -back.difference
        assert_allclose(there.p_value, back.p_value)
        assert 0 <= there.p_value <= 1


def test_without_correction_it_is_the_paired_t_test():
    a, b = np.random.default_rng(0).normal(size=(2, 12))
    found = corrected_t_test(a, b, ratio=0)
    known = ttest_rel(a, b)
    assert_allclose([found.statistic, found.p_value], [known.statistic, known.pvalue])
    ends = known.confidence_interval()
    assert_allclose(found.interval[1:3], [ends.low, ends.high])


def test_correction_keeps_the_level_where_the_plain_test_does_not():
    """Two equally good features; 15 random splits of 60 rows with a third held out."""
    rng = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(200):
        X = rng.normal(size=(60, 2))
        y = X.sum(axis=1) + rng.normal(size=60)
        errors = np.empty((15, 2))
        for split in range(15):
            order = rng.permutation(60)
            learn, held = order[:40], order[40:]
            slopes = (X[learn] * y[learn, None]).mean(axis=0) / (X[learn] ** 2).mean(axis=0)
            errors[split] = ((y[held, None] - X[held] * slopes) ** 2).mean(axis=0)
        plain += corrected_t_test(*errors.T, ratio=0).p_value < 0.05
        corrected += corrected_t_test(*errors.T, ratio=0.5).p_value < 0.05
    assert plain / 200 > 0.2
    assert corrected / 200 < 0.1


def test_mcnemar_is_a_fair_coin_over_the_rows_that_differ():
    y = np.ones(30)
    first, second = np.ones(30), np.ones(30)
    first[0], second[1:8] = 0, 0
    found = mcnemar_test(y, first, second)
    assert found.p_value == pytest.approx(2 * (1 + 8) / 2**8)
    assert found.difference == pytest.approx(6 / 30)
    assert found.interval.low < 0 < found.interval.high
    accuracies = [accuracy_score(y, said) for said in (first, second)]
    assert found.difference == pytest.approx(accuracies[0] - accuracies[1])
    second[8:12] = 0
    found = mcnemar_test(y, first, second)
    assert found.p_value < 0.05
    assert found.interval.low > 0
    assert mcnemar_test(y, first, first).p_value == 1


def test_bootstrap_of_the_difference_agrees_with_mcnemar():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    first, second = (np.where(rng.random(400) < p, y, 1 - y) for p in (0.9, 0.8))
    found = bootstrap_difference(accuracy_score, y, first, second, draws=500)
    exact = mcnemar_test(y, first, second)
    assert found.difference == pytest.approx(exact.difference)
    assert_allclose(found.interval[1:3], exact.interval[1:3], atol=0.02)
    assert found.p_value < 0.05
    assert exact.p_value < 0.05
    same = bootstrap_difference(accuracy_score, y, first, second[::-1] * 0 + first, draws=50)
    assert same.p_value == 1


def test_five_by_two_follows_dietterichs_formula():
    d = np.array([[0.02, 0.04], [0.01, 0.01], [0.03, -0.01], [0.0, 0.02], [0.02, 0.02]])
    variances = [0.0002, 0, 0.0008, 0.0002, 0]
    found = five_by_two_from_differences(d)
    assert_allclose(found.statistic, 0.02 / sqrt(sum(variances) / 5))
    assert_allclose(found.difference, d.mean())
    assert five_by_two_from_differences(np.zeros((5, 2))).p_value == 1
    with pytest.raises(ValueError, match=r"\(5, 2\)"):
        five_by_two_from_differences(np.zeros(10))


def test_five_by_two_tells_a_good_model_from_a_guess():
    X, y = make_classification(300, random_state=0)
    found = five_by_two_test(GaussianNB(), MemorizingClassifier(), X, y)
    assert found.p_value < 0.01
    assert found.difference > 0.2


def test_sentences_name_the_better_model_and_its_interval():
    a, b = np.array([0.92, 0.95, 0.93, 0.96]), np.array([0.90, 0.92, 0.92, 0.92])
    there, back = corrected_t_test(a, b), corrected_t_test(b, a)
    assert there.sentence("ridge", "lasso") == back.sentence("lasso", "ridge")
    assert there.sentence("ridge", "lasso").startswith("ridge is better than lasso by 0.025 (95 %")
    same = corrected_t_test(a, a)
    assert (same.p_value, same.statistic) == (1, 0)
    assert "score the same" in str(same)
    assert corrected_t_test(a - 1.5, a).p_value == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="in pairs"):
        corrected_t_test(a, b[:3])
