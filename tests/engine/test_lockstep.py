"""Fits that walk in step give what they give alone."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tenfold
from tenfold import KMeans, LogisticRegression, Ridge, SGDClassifier
from tenfold.base.mixins import encode_row_labels
from tenfold.engine.lockstep import LaneJob, run_in_lockstep
from tenfold.model_selection._fold_models import fit_path
from tenfold.model_selection.cv_data import open_cv_data
from tenfold.model_selection.splits import make_splits, random_folds

N, P = 20_000, 5


def data(seed=0, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P))
    y = (X[:, 0] + rng.normal(size=N) > 0).astype(int) + (X[:, 1] > 1) * (classes - 2)
    return X, y


def fitted_in_step(model, X, y, split):
    d = open_cv_data(model, X, y, None)
    jobs = [LaneJob(train, tenfold_fit(model)) for train in split.train]
    return run_in_lockstep(d.rows, split.cell, jobs, d.class_counts(split)), d


def tenfold_fit(model):
    from sklearn.base import clone

    return lambda rows: clone(model).fit(rows)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(tol=1e-8), SGDClassifier(random_state=0), KMeans(3, random_state=0)],
    ids=lambda m: type(m).__name__,
)
def test_each_fit_is_that_of_its_own_rows(model):
    X, y = data()
    split = random_folds(N, 4, 1)
    models, _ = fitted_in_step(model, X, y, split)
    for got, train in zip(models, split.train, strict=True):
        rows = train[split.cell]
        alone = type(model)(**model.get_params()).fit(X[rows], y[rows])
        ours, theirs = (
            getattr(m, "coef_", getattr(m, "cluster_centers_", None)) for m in (got, alone)
        )
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_walks_are_shared():
    X, y = data()
    split = random_folds(N, 5, 0)
    _, d = fitted_in_step(Ridge(), X, y.astype(float), split)
    assert d.rows.passes == 1
    alone = tenfold.open(X, target=y)
    LogisticRegression(tol=1e-6).fit(alone)
    _, d = fitted_in_step(LogisticRegression(tol=1e-6), X, y, split)
    # one more pass than a lone fit counts the labels; parts may differ by a round
    assert d.rows.passes <= encode_row_labels(alone)[1].passes + 3


@pytest.mark.parametrize("labels", [np.array([10, 20, 30]), np.array(["a", "b", "c"])])
@pytest.mark.parametrize("kind", ["array", "parquet"])
def test_a_part_without_a_class_does_not_know_it(labels, kind, tmp_path):
    X, y = data()
    order = np.argsort(y == 2, kind="stable")  # the rare class comes last
    X, y = X[order], labels[y[order]]
    split = tenfold.model_selection.time_series_split(N, 4)
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {f"x{j}": X[:, j] for j in range(P)} | {"y": y}
        pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=3000)
        models, _ = fitted_in_step(LogisticRegression(), tmp_path / "a.parquet", "y", split)
    else:
        models, _ = fitted_in_step(LogisticRegression(), X, y, split)
    for model, train in zip(models, split.train, strict=True):
        rows = train[split.cell]
        assert_array_equal(model.classes_, np.unique(y[rows]))
        alone = LogisticRegression().fit(X[rows], y[rows])
        assert_allclose(model.coef_, alone.coef_, rtol=1e-3, atol=1e-3)
    assert len(models[0].classes_) == 2
    assert models[0].classes_.dtype.kind == labels.dtype.kind or kind == "parquet"


def test_an_error_in_one_lane_is_raised_and_leaves_nobody_waiting():
    X, y = data()
    split = random_folds(N, 3, 0)

    def fails(rows):
        rows.total(lambda chunk: chunk.X.sum())
        raise RuntimeError("lane two")

    d = open_cv_data(Ridge(), X, y.astype(float), None)
    jobs = [LaneJob(train, tenfold_fit(Ridge())) for train in split.train]
    with pytest.raises(RuntimeError, match="lane two"):
        run_in_lockstep(d.rows, split.cell, [*jobs, LaneJob(split.train[0], fails)], None)
    broken = LaneJob(split.train[0], lambda rows: rows.total(_wrong))
    with pytest.raises(ZeroDivisionError):
        run_in_lockstep(d.rows, split.cell, [*jobs, broken], None)


def test_a_lane_that_asks_again_after_an_error_does_not_wait():
    X, y = data()
    split = random_folds(N, 3, 0)

    def asks_again(rows):
        try:
            rows.total(_wrong)
        except ZeroDivisionError:
            return rows.total(lambda chunk: chunk.X.sum())

    d = open_cv_data(Ridge(), X, y.astype(float), None)
    jobs = [LaneJob(train, asks_again) for train in split.train]
    with pytest.raises(ZeroDivisionError):
        run_in_lockstep(d.rows, split.cell, jobs, None)


def _wrong(_):
    raise ZeroDivisionError("in a leaf")


def test_steps_within_steps():
    X, y = data()
    outer, y = random_folds(N, 3, 0), y.astype(float)
    d = open_cv_data(Ridge(), X, y, None)

    def inner(rows):
        [split] = make_splits(2, rows.n_rows)
        jobs = [LaneJob(train, tenfold_fit(Ridge())) for train in split.train]
        return run_in_lockstep(rows, split.cell, jobs, None)

    found = run_in_lockstep(
        d.rows, outer.cell, [LaneJob(train, inner) for train in outer.train], None
    )
    assert d.rows.passes == 1  # six fits, one walk
    rows = np.flatnonzero(outer.train[1][outer.cell])
    half = rows[: -(-len(rows) // 2)]  # the first half is the test part of the first inner fold
    alone = Ridge().fit(X[half], y[half])
    assert_allclose(found[1][1].coef_, alone.coef_, rtol=1e-9)


def test_many_lanes_go_in_groups(monkeypatch):
    monkeypatch.setattr(tenfold.engine.lockstep, "_MAX_LANES", 4)
    X, y = data()
    split = random_folds(N, 10, 0)
    models, d = fitted_in_step(Ridge(), X, y.astype(float), split)
    assert len(models) == 10
    assert d.rows.passes == 3


def test_no_rows_is_said():
    X, y = data()
    d = open_cv_data(Ridge(), X, y.astype(float), None)
    nobody = LaneJob(np.zeros(3, bool), tenfold_fit(Ridge()))
    with pytest.raises(ValueError, match="fewer folds"):
        run_in_lockstep(d.rows, random_folds(N, 3, 0).cell, [nobody], None)


def sums(chunk, shift):
    return (chunk.X + shift).sum(axis=0)


def test_what_was_asked_before_needs_no_walk():
    X, y = data()
    d = open_cv_data(Ridge(), X, y.astype(float), None)
    shift = np.ones(P)

    def ask(rows):
        first = rows.total(sums, shift)
        kept = first.copy()
        first[:] = 0  # what a fit does with an answer is its own business
        same = rows.total(sums, np.ones(P))
        other = rows.total(sums, np.zeros(P))
        return kept, same, other

    split = random_folds(N, 3, 0)
    for kept, same, other in run_in_lockstep(
        d.rows, split.cell, [LaneJob(t, ask) for t in split.train], None
    ):
        assert_array_equal(kept, same)
        assert not np.allclose(kept, other)
    assert d.rows.passes == 2


def test_no_fit_along_a_flat_path_stays_where_the_last_one_ended():
    X, y = data(classes=2)
    split, path = random_folds(N, 2, 0), [{"C": c} for c in np.logspace(0, 3, 7)]
    model = LogisticRegression(solver="lbfgs")
    d = open_cv_data(model, X, y, None)
    jobs = [LaneJob(train, partial(fit_path, model, path)) for train in split.train]
    for models, train in zip(
        run_in_lockstep(d.rows, split.cell, jobs, d.class_counts(split)), split.train, strict=True
    ):
        assert all(np.abs(a.coef_ - b.coef_).max() > 0 for a, b in pairwise(models))
        own = train[split.cell]
        exact = LogisticRegression(C=1000.0, tol=1e-12).fit(X[own], y[own])
        assert_allclose(models[-1].coef_, exact.coef_, atol=1e-4)
