"""Neighbors, kernel machines and Gaussian processes among the candidates of `tenfold.learn`."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import tenfold
from tenfold.automl import candidate_runner as runner
from tenfold.automl.candidates import CANDIDATES, select_candidates
from tenfold.automl.contributions import _BACKGROUND_ROWS, explain_row
from tenfold.automl.explainer import explain_study
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.kernel_candidates import (
    find_gaussian_process_obstacle,
    find_neighbor_obstacle,
    find_svm_obstacle,
    gaussian_process_configs,
    kernel_svm_configs,
    neighbor_configs,
)

KEYS = ["neighbors", "kernel_svm", "gaussian_process"]


def table(n, p=3, k=None, n_training=None):
    X = np.random.default_rng(0).normal(size=(n, p))
    return EncodedTable(X, "regression" if k is None else "multi-class", k, 0, n_training)


def friedman(n=150):
    X, y = make_friedman1(n, n_features=5, noise=0.3, random_state=0)
    return {**{f"x{j}": X[:, j].tolist() for j in range(5)}, "y": y.tolist()}


def rings(n=120):
    rng = np.random.default_rng(0)
    radius, angle = np.repeat([1.0, 2.0], n // 2), rng.uniform(0, 2 * np.pi, n)
    radius = radius + 0.15 * rng.normal(size=n)
    names = np.repeat(["inner", "outer"], n // 2)
    columns = {
        "a": radius * np.cos(angle),
        "b": radius * np.sin(angle),
        "noise": rng.normal(size=n),
    }
    return {**{name: x.tolist() for name, x in columns.items()}, "ring": names.tolist()}


@pytest.mark.parametrize("task", ["regression", "two-class", "multi-class"])
def test_they_are_found_for_every_task(task):
    assert set(KEYS) <= {candidate.key for candidate in select_candidates(task)}


def test_tables_that_cost_too_much_are_refused_with_the_number_that_is_too_large():
    assert find_neighbor_obstacle(table(100)) is None
    assert find_svm_obstacle(table(100)) is None
    assert find_gaussian_process_obstacle(table(100)) is None
    assert "601 encoded columns" in find_neighbor_obstacle(table(10, 601))
    assert "601 encoded columns" in find_svm_obstacle(table(10, 601))
    assert "61 encoded columns" in find_gaussian_process_obstacle(table(10, 61))
    assert "9 classes" in find_gaussian_process_obstacle(table(10, k=9))
    assert "1,300 training rows" in find_gaussian_process_obstacle(table(1300))
    assert "700 training rows" in find_gaussian_process_obstacle(table(700, k=2))


def test_rows_of_the_final_fit_count_not_those_of_the_sample():
    assert "30,000 training rows" in find_svm_obstacle(table(100, n_training=30_000))
    assert "300,000 training rows" in find_neighbor_obstacle(table(100, n_training=300_000))
    assert find_neighbor_obstacle(table(100, n_training=100_000)) is None


def test_no_more_neighbors_are_tried_than_an_inner_fold_has_rows():
    grid = neighbor_configs(table(20))[0].grid
    assert max(grid["n_neighbors"]) <= 20 * 2 // 3
    assert neighbor_configs(table(3))[0].grid["n_neighbors"] == [1]


def test_gamma_is_tried_around_that_of_unit_distances():
    for scale in (1.0, 100.0):
        X = scale * np.random.default_rng(0).normal(size=(500, 4))
        (config,) = kernel_svm_configs(EncodedTable(X, "regression", None, 0))
        gammas = np.array(config.grid["gamma"]) * 4 * X.var()
        np.testing.assert_allclose(gammas, [0.2, 1.0, 5.0], rtol=0.01)
    assert len(kernel_svm_configs(table(3000))[0].grid["C"]) == 2


def test_few_columns_have_length_scales_of_their_own():
    few, many = (gaussian_process_configs(table(50, p))[0].model.kernel for p in (3, 20))
    assert len(few.theta) == 5
    assert len(many.theta) == 3


@pytest.fixture(scope="module")
def study():
    return tenfold.learn(friedman(), "y", models=["ridge", *KEYS], prefer="best", folds=3)


def test_the_gaussian_process_is_the_best_of_smooth_curves(study):
    assert study.best.key == "gaussian_process"
    assert study.attempt("kernel_svm").mean > study.attempt("ridge").mean + 0.05
    assert study.test.scores[study.metric] > 0.9


@pytest.mark.parametrize("key", KEYS)
def test_rings_are_learned_saved_and_explained(key, tmp_path):
    study = tenfold.learn(rings(), "ring", models=["logistic", key], prefer="best", folds=3)
    assert study.chosen.key == key
    assert study.chosen.mean > study.attempt("logistic").mean + 0.2
    loaded = tenfold.load(study.save(tmp_path)["model"])
    cells = study.test_rows.to_columns()
    np.testing.assert_array_equal(loaded.predict(cells), study.model.predict(cells))
    explanation = explain_study(study)
    importance = {column.column: column.drop for column in explanation.importances}
    assert explanation.weights is None
    assert min(importance["a"], importance["b"]) > importance["noise"]


def test_contributions_of_a_row_are_changes_of_the_prediction_and_not_called_exact(study):
    cells = study.test_rows
    row = {name: cells.row(0)[name] for name in ("x0", "x1", "x2", "x3", "x4")}
    found = explain_row(study.model, row, background=study.train_rows)
    assert not found.exact
    assert found.score == pytest.approx(float(study.model.predict([row])[0]))
    background = study.train_rows.to_columns()
    replaced = [{**row, "x3": value} for value in np.asarray(background["x3"])[:_BACKGROUND_ROWS]]
    change = found.score - np.mean(study.model.predict(replaced))
    adds = {c.column: c.adds for c in found.contributions}
    assert adds["x3"] == pytest.approx(change, rel=1e-4, abs=1e-5)


def test_one_that_is_far_behind_is_dropped(monkeypatch):
    monkeypatch.setattr(runner, "_MIN_RACED_SHARE", 0.0)
    study = tenfold.learn(rings(), "ring", models=["naive_bayes", "neighbors", "tree"], folds=4)
    others = {attempt.key: attempt for attempt in study.attempts}
    assert others["neighbors"].note is None
    monkeypatch.setattr(runner, "_DROPPED_DEVIATIONS", -1e9)
    study = tenfold.learn(rings(), "ring", models=["naive_bayes", "neighbors"], folds=4)
    note = study.attempt("neighbors").note
    assert note.startswith("dropped after 2 of 4 folds: far behind")


def test_costs_grow_faster_than_the_rows():
    growth = {candidate.key: candidate.growth for candidate in CANDIDATES}
    assert [growth[key] for key in KEYS] == [2.0, 2.0, 3.0]
