"""Metrics equal scikit-learn's, parts make the whole, and the place of the rows does not matter."""

import itertools
import subprocess
import sys
import warnings
from functools import partial, reduce

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_blobs
from sklearn.linear_model import LinearRegression as SkLinear
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import tenfold
from tenfold import metrics
from tenfold.engine import merge
from tenfold.metrics import (
    METRICS,
    Calibration,
    ConfusionMatrix,
    ContingencyTable,
    Metric,
    PrecisionRecallCurve,
    RocCurve,
)
from tenfold.metrics._predictions import class_indices
from tenfold.metrics._score_histogram import (
    average_precision,
    roc_area,
    roc_area_error,
    score_histogram,
)
from tenfold.metrics._score_histogram import average_precision_error as ap_error
from tenfold.metrics.base import safe_divide
from tenfold.metrics.calibration import bin_probabilities

SEEDS = st.integers(0, 10**6)
LABELS = [name for name, metric in METRICS.items() if metric.wants == "labels"]
VALUES = [name for name, metric in METRICS.items() if metric.wants == "values"]
OTHERS = [name for name in METRICS if name not in [*LABELS, *VALUES]]
SCORED = "informedness", "neg_perplexity"  # scikit-learn has no scorer of these names


def value(name, *rows):
    metric = METRICS[name]
    return metric.value(metric.part(*rows))


def quietly(f, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args, **options)


def labels_case(seed, k, n, weighted, used):
    """True and said class numbers of which only the first `used` classes may occur."""
    rng = np.random.default_rng(seed)
    y, said = rng.integers(0, used, (2, n))
    said = np.where(rng.random(n) < 0.5, y, said)
    return y, said, rng.uniform(0.1, 3, n) if weighted else None, k


CASES = st.tuples(SEEDS, st.integers(2, 5), st.integers(1, 40), st.booleans()).flatmap(
    lambda case: st.tuples(*map(st.just, case), st.integers(1, case[1]))
)


# ----------------------------------------------------------------------------- against scikit-learn
ORACLES = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "matthews_corrcoef": sk.matthews_corrcoef,
    **{
        f"{kind}_{average}": partial(f, average=average, zero_division=0)
        for kind, f in (
            ("f1", sk.f1_score),
            ("precision", sk.precision_score),
            ("recall", sk.recall_score),
        )
        for average in ("macro", "micro", "weighted")
    },
}


@settings(max_examples=50)
@given(CASES)
def test_metrics_of_labels(case):
    y, said, w, k = labels_case(*case)
    for name, oracle in ORACLES.items():
        expected = quietly(oracle, y, said, sample_weight=w)
        assert_allclose(value(name, y, said, w, k), expected, atol=1e-12, err_msg=name)


@given(SEEDS, st.integers(1, 30), st.booleans(), st.integers(1, 2))
def test_metrics_of_two_classes(seed, n, weighted, used):
    y, said, w, k = labels_case(seed, 2, n, weighted, used)
    for name in ("f1", "precision", "recall"):
        expected = getattr(sk, f"{name}_score")(y, said, sample_weight=w, zero_division=0)
        assert_allclose(value(name, y, said, w, k), expected, atol=1e-12)
    informed = value("informedness", y, said, w, k)
    if len(np.unique(y)) == 2:
        adjusted = sk.balanced_accuracy_score(y, said, sample_weight=w, adjusted=True)
        assert_allclose(informed, adjusted, atol=1e-12)
    else:
        assert informed == 0


def probabilities(rng, n, k, ties):
    return rng.multinomial(10, np.full(k, 1 / k), n) / 10 if ties else rng.dirichlet(np.ones(k), n)


@given(SEEDS, st.integers(2, 5), st.integers(1, 40), st.booleans(), st.booleans())
def test_metrics_of_probabilities(seed, k, n, weighted, ties):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, k, n), probabilities(rng, n, k, ties)
    w = rng.uniform(0.1, 3, n) if weighted else None
    loss = sk.log_loss(y, p, labels=range(k), sample_weight=w)
    assert_allclose(-value("neg_log_loss", y, p, w, k), loss, rtol=1e-12)
    assert_allclose(-value("neg_perplexity", y, p, w, k), np.exp(loss), rtol=1e-12)
    brier = sk.brier_score_loss(y, p, labels=range(k), sample_weight=w)
    assert_allclose(-value("neg_brier_score", y, p, w, k), brier, rtol=1e-12)


@given(
    SEEDS, st.integers(2, 60), st.booleans(), st.sampled_from(["ties", "constant", "perfect", ""])
)
def test_order_of_two_classes(seed, n, weighted, kind):
    rng = np.random.default_rng(seed)
    y, s = rng.integers(0, 2, n), rng.normal(size=n)
    s = {"ties": np.round(s), "constant": np.zeros(n), "perfect": y + 0.1 * s.clip(-3, 3)}.get(
        kind, s
    )
    w = rng.uniform(0.1, 3, n) * rng.integers(0, 2, n) if weighted else None
    there = np.ones(n, bool) if w is None else w > 0
    auc, precision = value("roc_auc", y, s, w, 2), value("average_precision", y, s, w, 2)
    if len(np.unique(y[there])) == 2:
        assert_allclose(auc, sk.roc_auc_score(y, s, sample_weight=w), atol=1e-12)
    else:
        assert np.isnan(auc)
    if y[there].any():
        expected = sk.average_precision_score(y, s, sample_weight=w)
        assert_allclose(precision, expected, atol=1e-12)
    else:
        assert precision == 0


@settings(max_examples=30)
@given(SEEDS, st.integers(3, 5), st.booleans())
def test_order_of_several_classes(seed, k, ties):
    rng = np.random.default_rng(seed)
    y, p = np.r_[np.arange(k), rng.integers(0, k, 40)], probabilities(rng, 40 + k, k, ties)
    w = rng.uniform(0.1, 3, len(y))
    expected = sk.roc_auc_score(y, p, multi_class="ovr", sample_weight=w)
    assert_allclose(value("roc_auc_ovr", y, p, w, k), expected, rtol=1e-12)
    expected = sk.roc_auc_score(y, p, multi_class="ovo")
    assert_allclose(value("roc_auc_ovo", y, p, None, k), expected, rtol=1e-12)
    expected = sk.average_precision_score(y, p, sample_weight=w)
    assert_allclose(value("average_precision", y, p, w, k), expected, rtol=1e-12)


def test_a_class_that_does_not_occur_is_left_out_of_the_mean():
    y, p = np.array([0, 0, 1, 1]), np.array([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2]] * 2)
    two = p[:, :2] / p[:, :2].sum(axis=1, keepdims=True)
    assert value("roc_auc_ovr", y, p, None, 3) == value("roc_auc_ovo", y, p, None, 3) == 0.5
    assert value("roc_auc_ovr", y, two, None, 2) == 0.5
    assert np.isnan(value("roc_auc_ovo", y * 0, p, None, 3))


REGRESSION = {
    "r2": sk.r2_score,
    "explained_variance": sk.explained_variance_score,
    "neg_mean_squared_error": lambda *a, **o: -sk.mean_squared_error(*a, **o),
    "neg_root_mean_squared_error": lambda *a, **o: -sk.root_mean_squared_error(*a, **o),
    "neg_mean_absolute_error": lambda *a, **o: -sk.mean_absolute_error(*a, **o),
}


@given(SEEDS, st.integers(2, 40), st.integers(0, 3), st.booleans())
def test_metrics_of_numbers(seed, n, q, weighted):
    rng = np.random.default_rng(seed)
    shape = (n, q) if q else (n,)
    y = rng.normal(size=shape)
    said = y + rng.normal(size=shape)
    w = rng.uniform(0.1, 3, n) if weighted else None
    for name, oracle in REGRESSION.items():
        expected = oracle(y, said, sample_weight=w)
        assert_allclose(value(name, y, said, w, None), expected, rtol=1e-10, err_msg=name)
    if q == 0:
        assert value("neg_max_error", y, said, w, None) == -sk.max_error(y, said)
        counts, mean = rng.poisson(2, n), rng.uniform(0.1, 4, n)
        expected = sk.mean_poisson_deviance(counts, mean, sample_weight=w)
        assert_allclose(-value("neg_mean_poisson_deviance", counts, mean, w, None), expected)


def test_every_scorer_of_scikit_learn_keeps_its_name():
    names = sk.get_scorer_names()
    assert [name for name in METRICS if name not in names] == sorted(SCORED)


def test_r2_keeps_its_digits_far_from_zero():
    rng = np.random.default_rng(0)
    y = 1e8 + rng.normal(size=4000)
    said = y + rng.normal(size=4000) / 10
    parts = [
        METRICS["r2"].part(y[i : i + 100], said[i : i + 100], None, None)
        for i in range(0, 4000, 100)
    ]
    # numbers near 1e8 are known to 1e-8, and so are their residuals: the rest is rounding
    exact = sk.r2_score(y - 1e8, said - 1e8)
    assert_allclose(METRICS["r2"].value(reduce(merge, parts)), exact, rtol=1e-9)


def test_r2_of_constant_targets_and_of_one_row():
    y = np.array([2.0, 2.0, 2.0])
    assert value("r2", y, y, None, None) == 1 == sk.r2_score(y, y)
    assert value("r2", y, y + 1, None, None) == 0 == sk.r2_score(y, y + 1)
    assert value("explained_variance", y, y + 1, None, None) == 1
    assert np.isnan(value("r2", y[:1], y[:1], None, None))


def test_a_row_without_weight_is_no_row():
    y, said, w = np.array([0.0, 1.0, 2.0]), np.array([0.0, 9.0, 2.5]), np.array([1.0, 0.0, 1.0])
    for name in VALUES:
        if name != "neg_mean_poisson_deviance":
            expected = value(name, y[[0, 2]], said[[0, 2]], None, None)
            assert value(name, y, said, w, None) == expected


# ------------------------------------------------------------------------------ parts and the whole
def everything(seed, n=60, k=3):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, k, n), probabilities(rng, n, k, ties=True)
    return {
        "labels": (y, rng.integers(0, k, n)),
        "probabilities": (y, p),
        "scores": (y, p),
        "values": (rng.poisson(3.0, (n, 2)) + 1.0, rng.uniform(1, 5, (n, 2))),
    }, rng.uniform(0.1, 2, n)


def binary(name):
    return name in {"f1", "precision", "recall", "roc_auc"}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("weighted", [False, True])
@settings(max_examples=25)
@given(seed=SEEDS, cuts=st.lists(st.integers(0, 60), max_size=4))
def test_parts_make_the_whole(name, weighted, seed, cuts):
    metric, k = METRICS[name], 2 if binary(name) else 3
    rows, w = everything(seed, k=k)
    y, said = rows[metric.wants]
    said = said[:, 1] if name == "roc_auc" else said
    edges = sorted({0, 60, *cuts})
    parts = [
        metric.part(y[a:b], said[a:b], w[a:b] if weighted else None, k)
        for a, b in itertools.pairwise(edges)
    ]
    whole = metric.value(metric.part(y, said, w if weighted else None, k))
    assert_allclose(metric.value(reduce(merge, parts)), whole, rtol=1e-10)


# ------------------------------------------------------------------------------------- the sketch
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


# ------------------------------------------------------------------------------------- confusion
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


# ---------------------------------------------------------------------------------------- curves
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


# ----------------------------------------------------------------------------------- calibration
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


# -------------------------------------------------------------------------------------- evaluate
@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    rng = np.random.default_rng(0)
    order = rng.permutation(np.repeat(np.arange(150), 200))  # several chunks
    X = X[order] + rng.normal(0, 0.3, (len(order), 4))
    return X, names[y[order]], rng.uniform(0.5, 2, len(order))


@pytest.fixture(scope="module")
def places(flowers, tmp_path_factory):
    import pandas as pd

    X, y, w = flowers
    folder = tmp_path_factory.mktemp("rows")
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=y, weight=w)
    table.to_parquet(folder / "rows.parquet", row_group_size=7000)
    np.save(folder / "X.npy", X)
    return {
        "array": (X, y, w),
        "memory": (tenfold.open(X, target=y, weight=w), None, None),
        "npy": (folder / "X.npy", y, w),
        "parquet": (folder / "rows.parquet", "kind", "weight"),
        "table": (table, "kind", "weight"),
    }


PLACES = ["array", "memory", "npy", "parquet", "table"]
FLOWER_METRICS = [name for name in [*LABELS, *OTHERS] if not binary(name)]


@pytest.fixture(scope="module")
def in_memory(flowers):
    X, y, w = flowers
    model = tenfold.GaussianNB().fit(X, y)
    return model, metrics.evaluate(model, X, y, metrics=FLOWER_METRICS, sample_weight=w)


@pytest.mark.parametrize("place", PLACES)
def test_the_place_of_rows_does_not_matter(place, places, in_memory):
    model, expected = in_memory
    X, y, w = places[place]
    found = metrics.evaluate(model, X, y, metrics=FLOWER_METRICS, sample_weight=w)
    assert found == expected  # the same bits


def test_on_a_cluster_too(two_workers, places, in_memory):
    model, expected = in_memory
    X, y, w = places["parquet"]
    with tenfold.on(two_workers):
        found = metrics.evaluate(model, X, y, metrics=FLOWER_METRICS, sample_weight=w)
        matrix = metrics.confusion_matrix(model, X, y, sample_weight=w)
    assert found == expected
    assert_allclose(matrix.accuracy, expected["accuracy"], rtol=1e-12)


def test_values_are_those_of_scikit_learn_on_the_whole(flowers, in_memory):
    X, y, w = flowers
    model, found = in_memory
    p = model.predict_proba(X)
    assert_allclose(found["neg_log_loss"], -sk.log_loss(y, p, sample_weight=w))
    expected = sk.roc_auc_score(y, p, multi_class="ovr", sample_weight=w)
    assert_allclose(found["roc_auc_ovr"], expected)
    said = model.predict(X)
    assert_allclose(found["f1_macro"], sk.f1_score(y, said, average="macro", sample_weight=w))


def test_evaluate_takes_one_pass(flowers):
    X, y, _ = flowers
    model = tenfold.GaussianNB().fit(X, y)
    rows = tenfold.open(X, target=y)
    metrics.evaluate(model, rows, metrics=FLOWER_METRICS)
    assert rows.passes == 1


def test_labels_that_the_model_never_saw_are_mistakes(flowers):
    X, y, _ = flowers
    model = tenfold.GaussianNB().fit(X[y != "virginica"], y[y != "virginica"])
    found = metrics.evaluate(model, X, y, metrics=["accuracy", "neg_log_loss", "roc_auc_ovr"])
    assert_allclose(found["accuracy"], (model.predict(X) == y).mean())
    assert np.isfinite(found["neg_log_loss"])
    matrix = metrics.confusion_matrix(model, X, y)
    assert matrix.classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert_array_equal(matrix.counts, sk.confusion_matrix(y, model.predict(X)))


def test_decisions_that_are_no_class_have_a_column(flowers):
    X, y, _ = flowers
    model = tenfold.CostSensitiveClassifier(tenfold.GaussianNB(), reject=0.05).fit(X, y)
    matrix = metrics.confusion_matrix(model, X, y)
    assert matrix.classes[-1] == "rejected"
    assert matrix.counts[:, -1].sum() == (model.predict(X) == "rejected").sum() > 0
    found = metrics.evaluate(model, X, y)
    assert_allclose(found["accuracy"], (model.predict(X) == y).mean())


def test_models_of_scikit_learn_with_and_without_names():
    import pandas as pd

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), SkLogistic()).fit(X, y)
    asked = ["accuracy", "roc_auc", "f1", "average_precision", "neg_brier_score"]
    found = metrics.evaluate(model, X, y, metrics=asked)
    for name in asked:
        assert_allclose(found[name], sk.get_scorer(name)(model, X, y))
    shuffled = pd.concat([y, X[X.columns[::-1]]], axis=1)  # columns are found by their names
    assert metrics.evaluate(model, shuffled, "target", metrics=asked) == found
    ours = tenfold.GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="are not those of the fit"):
        metrics.evaluate(ours, tenfold.open(shuffled, target="target"))
    assert_allclose(metrics.evaluate(ours, X.to_numpy(), y)["accuracy"], ours.score(X, y))


def test_tables_with_words_for_a_model_that_knows_what_to_do_with_them():
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=90), "colour": rng.choice(["red", "blue"], 90)})
    y = np.where((table["size"] > 0) ^ (table["colour"] == "red"), "yes", "no")
    table = table.assign(answer=y, weight=rng.uniform(1, 2, 90))
    X = table[["size", "colour"]]
    columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(columns, SkLogistic()).fit(X, y)
    found = metrics.evaluate(model, table, "answer", sample_weight="weight")
    assert_allclose(found["accuracy"], model.score(X, y, table["weight"]))
    assert metrics.confusion_matrix(model, X, y).accuracy == model.score(X, y)
    with pytest.raises(ValueError, match="no truth"):
        metrics.evaluate(model, X)


def test_regressors_with_several_targets():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, X[:, 0] - X[:, 1]])
    model = tenfold.Ridge().fit(X[:, 2:], Y)
    found = metrics.evaluate(model, X[:, 2:], Y, metrics=[*REGRESSION])
    for name, oracle in REGRESSION.items():
        assert_allclose(found[name], oracle(Y, model.predict(X[:, 2:])))
    alone = metrics.evaluate(SkLinear().fit(X, y), X, y)
    assert_allclose(alone["r2"], SkLinear().fit(X, y).score(X, y))


def test_sparse_rows():
    from scipy.sparse import csr_array

    X, y = make_blobs(300, centers=2, random_state=0)
    model = SkLogistic().fit(csr_array(X), y)
    assert metrics.evaluate(model, csr_array(X), y) == metrics.evaluate(model, X, y)


class Bold(Metric):
    name, wants = "bold", "probabilities"

    def part(self, y, predicted, w, k):
        return (predicted.max(axis=1) > 0.9).sum(), len(y)

    def value(self, statistic):
        return statistic[0] / statistic[1]


def test_a_metric_of_ones_own(flowers):
    X, y, _ = flowers
    model = tenfold.GaussianNB().fit(X, y)
    found = metrics.evaluate(model, X, y, metrics=[Bold(), "accuracy"])
    assert found["bold"] == (model.predict_proba(X).max(axis=1) > 0.9).mean()
    assert metrics.get_metric(Bold).name == "bold"


def test_curves_of_a_model_come_from_one_pass(flowers):
    X, y, w = flowers
    model = tenfold.GaussianNB().fit(X, y)
    rows = tenfold.open(X, target=y, weight=w)
    curves = RocCurve.of_classes(model, rows)
    assert rows.passes == 1
    assert list(curves) == list(model.classes_)
    p = model.predict_proba(X)
    for c, (label, curve) in enumerate(curves.items()):
        assert_allclose(curve.auc, sk.roc_auc_score(y == label, p[:, c], sample_weight=w))
    alone = RocCurve.from_estimator(model, rows, positive="virginica")
    assert alone.auc == curves["virginica"].auc
    assert alone.positive == "virginica"
    calibration = Calibration.from_estimator(model, rows)
    right = (model.predict(X) == y).astype(float)
    assert_allclose(calibration.bins.sums[:, 1].sum(), w @ right)


@pytest.mark.parametrize("positive", [0, 1])
def test_either_class_may_be_positive(positive):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for model in (tenfold.LinearSVC().fit(X, y), tenfold.LogisticRegression().fit(X, y)):
        assert RocCurve.from_estimator(model, X, y, positive=positive).auc > 0.99


def test_default_metrics():
    assert metrics.default_metric(True).name == "accuracy"
    assert metrics.default_metric(False).name == "r2"


# ---------------------------------------------------------------------------------- predictions
def test_predictions_among_more_classes_than_the_model_knows():
    X, y = make_blobs(60, centers=3, random_state=0)
    names = np.array(["b", "c", "d"])[y]
    classes = np.array(["a", "b", "c", "d"])
    for model in (SkLogistic().fit(X, names), tenfold.GaussianNB().fit(X, names)):
        p = metrics.predictions(model, X, "probabilities", classes)
        assert_array_equal(p[:, 0], 0)
        assert_allclose(p[:, 1:], model.predict_proba(X))
        said = metrics.predictions(model, X, "labels", classes)
        assert_array_equal(classes[said], model.predict(X))
        assert metrics.predictions(model, X, "scores", classes).shape == (60, 4)
    some = class_indices(model.predict(X), classes[:2])
    assert_array_equal(some, np.where(model.predict(X) == "b", 1, -1))


def test_two_classes_of_three_still_have_three_columns():
    X, y = make_blobs(40, centers=2, random_state=0)
    model = tenfold.LinearSVC().fit(X, y)
    scores = metrics.predictions(model, X, "scores", np.arange(3))
    assert_array_equal(scores[:, 1], model.decision_function(X))
    assert_array_equal(scores[:, 0], -scores[:, 1])
    assert np.isneginf(scores[:, 2]).all()
    assert_array_equal(metrics.predictions(model, X, "scores"), model.decision_function(X))


def test_errors_say_what_to_do(flowers):
    X, y, _ = flowers
    model = tenfold.GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="no metric 'acuracy'; there are accuracy"):
        metrics.evaluate(model, X, y, metrics="acuracy")
    with pytest.raises(TypeError, match="is not a metric"):
        metrics.get_metric(3)
    with pytest.raises(ValueError, match="no truth to compare with"):
        metrics.evaluate(model, X)
    with pytest.raises(ValueError, match="X has 3 features, but GaussianNB is expecting 4"):
        metrics.evaluate(model, X[:, :3], y)
    with pytest.raises(ValueError, match="numbers are not names"):
        metrics.evaluate(model, X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="use f1_macro"):
        metrics.evaluate(model, X, y, metrics="f1")
    with pytest.raises(ValueError, match="use roc_auc_ovr"):
        metrics.evaluate(model, X, y, metrics="roc_auc")
    machine = tenfold.LinearSVC().fit(X[:300], y[:300])
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        metrics.evaluate(machine, X, y, metrics="neg_log_loss")
    line = tenfold.LinearRegression().fit(X[:, 1:], X[:, 0])
    with pytest.raises(TypeError, match="not a fitted classifier"):
        metrics.evaluate(line, X[:, 1:], X[:, 0], metrics="accuracy")
    with pytest.raises(ValueError, match="wants='truth'"):
        metrics.predictions(model, X, "truth")
    with pytest.raises(ValueError, match="targets >= 0 and predictions > 0"):
        value("neg_mean_poisson_deviance", np.array([1.0]), np.array([0.0]), None, None)
    with pytest.raises(ValueError, match="targets have shape"):
        value("r2", np.zeros(3), np.zeros((3, 2)), None, None)


# ------------------------------------------------------------------------------------ the others
def test_silhouette_of_a_sample(tmp_path):
    X, y = make_blobs(500, centers=3, random_state=0)
    assert_allclose(metrics.silhouette_score(X, y), sk.silhouette_score(X, y))
    np.save(tmp_path / "X.npy", X)
    model = tenfold.KMeans(3, random_state=0).fit(X)
    drawn = metrics.silhouette_score(X, model, sample=100, seed=3)
    assert drawn == metrics.silhouette_score(tmp_path / "X.npy", model.labels_, sample=100, seed=3)
    rows = np.sort(np.random.default_rng(3).choice(500, 100, replace=False, shuffle=False))
    assert_allclose(drawn, sk.silhouette_score(X[rows], model.labels_[rows]))
    with pytest.raises(ValueError, match="needs at least two"):
        metrics.silhouette_score(X, np.zeros(500))


def test_perplexity_of_weighted_words():
    logs = np.log([0.5, 0.25])
    assert_allclose(metrics.perplexity(logs, [3, 1]), np.exp(-(3 * logs[0] + logs[1]) / 4))
    assert_allclose(metrics.perplexity([-np.inf, -1.0]), np.inf)
    with pytest.raises(ValueError, match="none above 0"):
        metrics.perplexity([0.5])


def test_names_that_are_also_modules_stay_functions():
    code = (
        "from tenfold.metrics.registry import Metric; import tenfold.metrics.evaluation\n"
        "import tenfold.metrics.confusion, tenfold.metrics as m\n"
        "assert all(hasattr(m, name) for name in m.__all__)\n"
        "assert m.get_metric('r2').name == 'r2'\n"
        "assert callable(m.evaluate) and callable(m.confusion_matrix)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'acc'"):
        metrics.acc  # noqa: B018


def test_coverage_of_true_gaussian_predictions_is_the_level():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=20_000), rng.uniform(0.5, 2, 20_000)
    y = mean + std * rng.normal(size=20_000)
    found = metrics.interval_coverage(y, mean, std)
    assert_allclose(found.coverage, found.levels, atol=0.012)
    narrow = metrics.interval_coverage(y, mean, std / 2)
    assert narrow.error > 0.15
    w = rng.integers(0, 3, 20_000)
    weighted = metrics.interval_coverage(y, mean, std, sample_weight=w)
    repeated = metrics.interval_coverage(*(np.repeat(a, w) for a in (y, mean, std)))
    assert_allclose(weighted.coverage, repeated.coverage)
    with pytest.raises(ValueError, match="one number for each row"):
        metrics.interval_coverage(y, mean, std[:5])
    with pytest.raises(ValueError, match="between 0 and 1"):
        metrics.interval_coverage(y, mean, std, levels=[90])
