"""Metrics equal scikit-learn's, and parts make the whole."""

import itertools
from functools import partial, reduce

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tenfold.engine import merge
from tenfold.metrics import METRICS
from tests.metrics.metric_cases import (
    CASES,
    REGRESSION,
    SEEDS,
    VALUES,
    binary,
    labels_case,
    quietly,
    value,
)

SCORED = "informedness", "neg_perplexity"  # scikit-learn has no scorer of these names


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
