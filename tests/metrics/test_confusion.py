"""Confusion matrices: identities, worked numbers, one rule for empty denominators."""

from functools import partial

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tenfold.metrics import ConfusionMatrix, ContingencyTable
from tenfold.metrics.base import safe_divide
from tests.metrics.metric_cases import CASES, labels_case, quietly

COUNT = st.integers(0, 50)


@given(COUNT, COUNT, COUNT, COUNT)
def test_identities_of_the_four_counts(tp, fp, fn, tn):
    o = ContingencyTable(tp, fp, fn, tn)
    same = partial(assert_allclose, rtol=1e-12, atol=1e-12)
    whole = [
        (o.ppv, o.fdr, tp + fp), (o.npv, o.false_omission, fn + tn),
        (o.sensitivity, o.fnr, tp + fn), (o.specificity, o.fpr, fp + tn),
        (o.accuracy, o.error, tp + fp + fn + tn),
    ]  # fmt: skip
    for a, b, rows in whole:
        same(a + b, 1 if rows else np.nan)
    same(o.odds_ratio, float(safe_divide(o.lr_positive, o.lr_negative)))
    same(o.lr_positive, float(safe_divide(o.sensitivity, o.fpr)))
    same(o.lr_negative, float(safe_divide(o.fnr, o.specificity)))
    same(o.informedness, o.sensitivity + o.specificity - 1)
    same(o.balanced_accuracy, (o.informedness + 1) / 2)
    if (tp + fn) and (fp + tn) and (tp + fp) and (fn + tn):
        same(o.mcc**2, o.informedness * o.markedness)
        same(np.sign(o.mcc), np.sign(o.informedness))
        same(o.f1, safe_divide(2 * o.ppv * o.sensitivity, o.ppv + o.sensitivity) if tp else 0)
        same(o.threat_score, o.f1 / (2 - o.f1))


def test_one_rule_for_zero_denominators():
    never = ContingencyTable(tp=0, fp=0, fn=3, tn=7)  # nothing was said to be positive
    assert np.isnan(never.ppv)
    assert np.isnan(never.fdr)
    assert np.isnan(never.lr_positive)
    assert never.sensitivity == 0
    assert never.lr_negative == 1
    assert np.isnan(never.mcc)
    perfect = ContingencyTable(tp=3, fp=0, fn=0, tn=7)
    assert perfect.lr_positive == perfect.odds_ratio == np.inf
    assert perfect.lr_negative == 0
    assert perfect.mcc == perfect.f1 == perfect.informedness == 1
    nobody = ContingencyTable(tp=0, fp=2, fn=0, tn=8)  # nobody is ill
    assert np.isnan(nobody.sensitivity)
    assert np.isnan(nobody.odds_ratio)
    assert nobody.ppv == 0


@settings(max_examples=50)
@given(CASES, st.floats(0.1, 4))
def test_confusion_against_scikit_learn(case, beta):
    y, said, w, k = labels_case(*case)
    matrix = ConfusionMatrix.from_predictions(y, said, classes=np.arange(k), sample_weight=w)
    expected = quietly(sk.confusion_matrix, y, said, labels=range(k), sample_weight=w)
    assert_allclose(matrix.counts, expected, rtol=1e-12)
    assert_allclose(matrix.accuracy, sk.accuracy_score(y, said, sample_weight=w))
    assert_allclose(matrix.error, 1 - matrix.accuracy, atol=1e-12)
    balanced = quietly(sk.balanced_accuracy_score, y, said, sample_weight=w)
    assert_allclose(matrix.balanced_accuracy, balanced)
    mcc = quietly(sk.matthews_corrcoef, y, said, sample_weight=w)
    assert_allclose(np.nan_to_num(matrix.mcc), mcc, atol=1e-12)
    f = quietly(
        sk.fbeta_score, y, said, beta=beta, labels=range(k), average=None, zero_division=np.nan,
        sample_weight=w,
    )  # fmt: skip
    assert_allclose(matrix.each.f_score(beta), f, atol=1e-12)
    four = quietly(sk.multilabel_confusion_matrix, y, said, labels=range(k), sample_weight=w)
    for c, ((tn, fp), (fn, tp)) in enumerate(four):
        assert_allclose(matrix.of(c), (tp, fp, fn, tn), atol=1e-12)


@given(CASES, st.integers(0, 40))
def test_confusion_adds_up(case, cut):
    y, said, _, k = labels_case(*case)
    count = partial(ConfusionMatrix.from_predictions, classes=np.arange(k))
    assert count(y[:cut], said[:cut]) + count(y[cut:], said[cut:]) == count(y, said)


def test_worked_numbers_of_the_notes():
    # convolutional network on 0 against 1, 2965 test images [001, Fig. 42]
    digits = ConfusionMatrix([[1386, 3], [17, 1559]], classes=["0", "1"])
    assert digits.total == 2965
    assert round(digits.accuracy, 3) == 0.993
    test = digits.of()
    assert test == (1559, 3, 17, 1386)
    assert_allclose(test.ppv, 1559 / 1562)
    assert_allclose(test.lr_negative, (17 / 1576) / (1386 / 1389))  # FNR / TNR, not its inverse
    assert_allclose(test.odds_ratio, 1559 * 1386 / (3 * 17))
    # a screening test of 2030 people for a disease that 30 of them have
    screening = ContingencyTable(tp=20, fp=180, fn=10, tn=1820)
    assert_allclose(screening.prevalence, 30 / 2030)
    assert_allclose([screening.ppv, screening.npv], [0.1, 1820 / 1830])
    assert_allclose([screening.lr_positive, screening.lr_negative], [7.4074, 0.3663], rtol=1e-4)
    # perfect predictions give the diagonal of the classes' counts, no multiple of the unit matrix
    y = np.repeat([0, 1, 2], [2, 3, 5])
    assert_array_equal(ConfusionMatrix.from_predictions(y, y).counts, np.diag([2, 3, 5]))


def test_table_of_two_classes_and_of_more():
    two = str(ConfusionMatrix([[1820, 180], [10, 20]], classes=["well", "ill"], positive="ill"))
    assert "true \\ predicted  well  ill  total" in two
    assert "well              1820  180   2000" in two
    assert "TP 20, FP 180, FN 10, TN 1820" in two
    assert "diagnostic odds ratio, DOR" in two
    assert "20.22" in two
    more = ConfusionMatrix(np.diag([2, 3, 0]), classes=["a", "b", "c"]).table()
    assert "specificity" in more
    assert "nan" in more
    assert "accuracy" in more


def test_confusion_says_what_is_wrong():
    with pytest.raises(ValueError, match="a row and a column for each class"):
        ConfusionMatrix([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(ValueError, match="which of the classes"):
        ConfusionMatrix(np.eye(3)).of()
    with pytest.raises(ValueError, match="do not add up"):
        ConfusionMatrix(np.eye(2)) + ConfusionMatrix(np.eye(2), ["a", "b"])
    with pytest.raises(ValueError, match="none of the classes"):
        ConfusionMatrix(np.eye(2), ["a", "b"], positive="c")
    with pytest.raises(ValueError, match="one each"):
        ConfusionMatrix.from_predictions([0, 1], [0])
