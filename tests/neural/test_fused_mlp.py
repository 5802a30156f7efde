"""Compiled walks of dense networks take the steps that the layers and rules would take."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numba import njit

import tenfold
from tenfold._compiled.gemm import matmul
from tenfold._compiled.work_counter import claim_item, finish_item, make_counters, wait_for_items
from tenfold.io import open as open_rows
from tenfold.neural import Dense, Dropout
from tenfold.neural._fused_mlp import make_fused_trainer
from tenfold.neural._training import initial_state, train
from tenfold.neural._training_config import NetworkObjective, StoppingRule, TrainingConfig
from tenfold.neural.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    HalfSquaredError,
    MultilabelCrossEntropy,
)
from tenfold.neural.network import build_network
from tenfold.optim.optimizers import SGD, Adam, AdamW, Momentum, Nesterov
from tenfold.optim.schedules import ConstantRate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(301, 5)).astype(np.float32)
LABELS = RNG.integers(0, 3, size=301)
NUMBERS = RNG.normal(size=(301, 3))


def learned(loss, y, config, *, bend="relu", units=3, w=None, X=X, dtype=np.float32, layers=None):
    """Where a training stands after three epochs."""
    layers = layers or [Dense(7, bend), Dense(4, "tanh"), Dense(units)]
    network, params = build_network(layers, (X.shape[1],), np.random.default_rng(1), dtype)
    start = initial_state(params, config.optimizer)
    return train(
        NetworkObjective(network, loss), open_rows(X, y, w), start, config, StoppingRule(3), seed=4
    ).state


def assert_same_way(loss, y, config, **settings):
    """Compiled or layer by layer, training goes the same way."""
    slow = config._replace(
        clip_norm=1e30
    )  # no gradient is as long, but such plans are not compiled
    objective = NetworkObjective(*[build_network([Dense(3)], (5,), RNG)[0], loss])
    params = [np.zeros(1, np.float32)]
    assert make_fused_trainer(objective, params, config) is not None
    assert make_fused_trainer(objective, params, slow) is None
    ours, theirs = (learned(loss, y, each, **settings) for each in (config, slow))
    assert_close(ours.params, theirs.params)
    assert_close(ours.losses, theirs.losses)
    for cache, other in zip(ours.optimizer_state, theirs.optimizer_state, strict=True):
        assert_close(cache, other)
    assert ours.step == theirs.step


def assert_close(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("rule", [Adam(), Nesterov(0.8), SGD()])
@pytest.mark.parametrize("loss", [CrossEntropy(), HalfSquaredError(), MultilabelCrossEntropy()])
def test_float64_goes_the_same_way_to_the_last_digits(loss, rule):
    y = {CrossEntropy: LABELS, HalfSquaredError: NUMBERS}.get(type(loss), (NUMBERS > 0).astype(int))
    config = TrainingConfig(rule, ConstantRate(0.02), batch_size=70)
    each = config, config._replace(clip_norm=1e30)
    states = [learned(loss, y, one, X=X.astype(float), dtype=np.float64) for one in each]
    for ours, theirs in zip(*(state.params for state in states), strict=True):
        assert ours.dtype == np.float64
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("bend", [None, "relu", "tanh", "sigmoid", "identity", "logistic"])
def test_every_bend(bend):
    assert_same_way(CrossEntropy(), LABELS, TrainingConfig(batch_size=100), bend=bend)


@pytest.mark.parametrize("rule", [Adam(), AdamW(0.1), Momentum(), Nesterov(0.8), SGD()])
def test_every_rule(rule):
    assert_same_way(CrossEntropy(), LABELS, TrainingConfig(rule, ConstantRate(0.02), batch_size=70))


@pytest.mark.parametrize(
    ("loss", "y", "units"),
    [
        (CrossEntropy(0.2), LABELS, 3),
        (BinaryCrossEntropy(), (LABELS > 0).astype(int), 1),
        (BinaryCrossEntropy(), (NUMBERS > 0).astype(float), 3),
        (HalfSquaredError(), NUMBERS, 3),
        (HalfSquaredError(), NUMBERS[:, 0], 1),
    ],
)
def test_every_loss_with_weights_and_penalties(loss, y, units):
    config = TrainingConfig(schedule=ConstantRate(0.01), batch_size=130, l2=0.05, l1=0.01)
    weights = np.random.default_rng(3).integers(0, 3, size=301).astype(float)
    assert_same_way(loss, y, config, units=units, w=weights)


def test_a_batch_without_weight_changes_nothing():
    weights = np.zeros(301)
    weights[:5] = 1.0
    config = TrainingConfig(SGD(), ConstantRate(0.1), batch_size=10)
    assert_same_way(CrossEntropy(), LABELS, config, w=weights)
    assert all(
        np.isfinite(p).all() for p in learned(CrossEntropy(), LABELS, config, w=weights).params
    )


@pytest.mark.parametrize("batch", [1, 64, 65, 129, 301, 2000])
def test_every_size_of_batch(batch):
    assert_same_way(CrossEntropy(), LABELS, TrainingConfig(batch_size=batch))


@pytest.mark.parametrize(
    "layers",
    [
        [Dense(7, "relu"), Dropout(0.3), Dense(3)],
        [Dropout(0.2), Dense(7, "sigmoid"), Dropout(0.5), Dense(4), Dropout(0.4), Dense(3)],
        [Dense(6, "tanh"), Dropout(0.0), Dense(3)],
    ],
)
def test_dropout_drops_what_its_layer_drops(layers):
    config = TrainingConfig(schedule=ConstantRate(0.01), batch_size=150)
    network, params = build_network(layers, (5,), RNG)
    assert make_fused_trainer(NetworkObjective(network, CrossEntropy()), params, config) is not None
    doubles = {"X": X.astype(float), "dtype": np.float64, "layers": layers}
    each = config, config._replace(clip_norm=1e30)
    states = [learned(CrossEntropy(), LABELS, one, **doubles) for one in each]
    for ours, theirs in zip(*(state.params for state in states), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


def test_large_batches_are_cut_into_a_few_parts():
    long = np.random.default_rng(5).normal(size=(3000, 5)).astype(np.float32)
    assert_same_way(HalfSquaredError(), long[:, :3], TrainingConfig(batch_size=2500), X=long)


def test_threads_and_kinds_of_rows_make_the_same_bits(monkeypatch):
    monkeypatch.setattr("tenfold.neural._fused_mlp.MIN_PARALLEL_WORK", -1.0)  # helpers always come
    many = np.tile(X, (9, 1))
    labels, config = np.tile(LABELS, 9), TrainingConfig(batch_size=200)
    layers = [Dense(7, "relu"), Dropout(0.3), Dense(3)]
    with tenfold.threads(1):
        alone = learned(CrossEntropy(), labels, config, X=many, layers=layers)
    frozen = many.copy()
    frozen.flags.writeable = False
    for rows in (many, np.asfortranarray(many), many.astype(np.float64), frozen):
        for threads in (2, 3, 5):
            with tenfold.threads(threads):
                shared = learned(CrossEntropy(), labels, config, X=rows, layers=layers)
            assert all(map(np.array_equal, alone.params, shared.params))
            assert alone.losses == shared.losses


def test_wide_rows_are_gathered_in_stretches(monkeypatch):
    doubles = X.astype(np.float64)
    whole = learned(CrossEntropy(), LABELS, TrainingConfig(batch_size=32), X=doubles)
    monkeypatch.setattr("tenfold.neural._fused_mlp.MAX_GATHERED_VALUES", 400)
    parts = learned(CrossEntropy(), LABELS, TrainingConfig(batch_size=32), X=doubles)
    assert all(map(np.array_equal, whole.params, parts.params))


def test_other_networks_are_not_walked():
    params = [np.zeros(1, np.float32)]
    for layers in (
        [Dense(3, "gelu")],
        [Dense(3, bias=False)],
        [Dense(3), Dropout(0.5)],
        [Dropout(0.5), Dropout(0.5), Dense(3)],
    ):
        network = build_network(layers, (5,), RNG)[0]
        assert (
            make_fused_trainer(
                NetworkObjective(network, HalfSquaredError()), params, TrainingConfig()
            )
            is None
        )
    mixed = [np.zeros(1), np.zeros(1, np.float32)]
    assert (
        make_fused_trainer(
            NetworkObjective(build_network([Dense(3)], (5,), RNG)[0], HalfSquaredError()),
            mixed,
            TrainingConfig(),
        )
        is None
    )


def test_tickets_are_drawn_once_and_wait_for_those_before():
    counts, pieces, seen = make_counters(), 300, []

    def work():
        while (ticket := claim_item(counts)) < pieces:
            wait_for_items(counts, ticket // 3 * 3)  # rounds of three
            seen.append(ticket)
            finish_item(counts)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(seen) == list(range(pieces))
    assert [ticket // 3 for ticket in seen] == sorted(ticket // 3 for ticket in seen)


@pytest.mark.parametrize("bend", ["relu", "tanh", None])
def test_a_weight_that_is_no_number_is_told(bend):
    network, params = build_network([Dense(7, bend), Dense(3)], (5,), np.random.default_rng(1))
    params[0][:] = np.nan
    start, config = initial_state(params, SGD()), TrainingConfig(SGD(), ConstantRate(0.1))
    with pytest.raises(ValueError, match="loss is not finite"):
        train(
            NetworkObjective(network, CrossEntropy()),
            open_rows(X, LABELS),
            start,
            config,
            StoppingRule(1),
            seed=0,
        )


@njit
def multiplied(a, a_turned, b, b_turned, c, m, k, n):
    matmul(a, 2, a_turned, b, 3, b_turned, c, 1, m, k, n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_begin_at_any_place_and_turn_either_matrix(dtype):
    m, k, n = 4, 3, 5
    a, b = RNG.normal(size=(m, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
    for a_turned in (False, True):
        for b_turned in (False, True):
            left, right = (a.T if a_turned else a), (b.T if b_turned else b)
            left = np.append(np.full(2, 9), left).astype(dtype)
            right = np.append(np.full(3, 9), right).astype(dtype)
            c = np.full(m * n + 2, 7, dtype)
            multiplied(left, a_turned, right, b_turned, c, m, k, n)
            np.testing.assert_allclose(c[1:-1].reshape(m, n), a @ b, rtol=1e-5)
            assert c[0] == c[-1] == 7


def test_products_of_two_precisions_are_refused():
    a, b = np.zeros(9, np.float32), np.zeros(9)
    with pytest.raises(TypeError, match="of one dtype"):
        multiplied(a, False, b, False, b, 2, 2, 2)
