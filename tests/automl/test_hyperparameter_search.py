"""Search for settings in the time that is left, where the best model is preferred."""

from shutil import copytree
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import tenfold
from tenfold.automl import candidate_runner as runner
from tenfold.automl import hyperparameter_search
from tenfold.automl.candidates import select_candidates
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.hyperparameter_tuner import (
    TuningProblem,
    fit_tuned,
    fit_tuned_on_all,
    tune_models,
)
from tenfold.automl.model_config import HyperparameterRange

K = 3


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(hyperparameter_search, "_PATIENCE", 4)


def friedman(n=240):
    X, y = make_friedman1(n, n_features=6, noise=0.5, random_state=0)
    return {**{f"x{j}": X[:, j].tolist() for j in range(6)}, "y": y.tolist()}


def learn(**options):
    options = {"models": ["boosting"], "prefer": "best", "minutes": 20, "folds": K} | options
    return tenfold.learn(friedman(), "y", **options)


@pytest.fixture(scope="module")
def plain():
    return learn(prefer="simple")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A study that was searched, and the folder where its folds are."""
    folder = tmp_path_factory.mktemp("search")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hyperparameter_search, "_PATIENCE", 4)
        patch.setattr(runner.FoldStore, "remove", lambda _: None)
        return learn(output=folder), folder


@pytest.fixture
def found(kept):
    return kept[0]


@pytest.fixture
def folder(kept, tmp_path):
    """A copy of its folder, to go on from."""
    return copytree(kept[1], tmp_path / "search")


def candidate(key):
    return next(c for c in select_candidates("regression") if c.key == key)


def test_values_of_a_range_are_spread_by_their_logarithms():
    rng = np.random.default_rng(0)
    share = HyperparameterRange(0.01, 100.0)
    drawn = np.array([share.draw(rng) for _ in range(400)])
    assert drawn.min() >= 0.01
    assert drawn.max() <= 100
    assert 0.4 < np.mean(drawn < 1) < 0.6
    leaves = HyperparameterRange(4, 64, whole=True)
    assert {type(leaves.draw(rng)) for _ in range(5)} == {int}
    near = np.array([leaves.draw_near(64, rng, 0.1) for _ in range(100)])
    assert near.max() == 64
    assert np.median(near) > 40


def test_settings_that_are_found_are_better_on_the_folds_and_those_of_the_model(plain, found):
    before, after = plain.attempt("boosting"), found.attempt("boosting")
    assert after.mean > before.mean
    assert set(after.params) == set(candidate("boosting").find_ranges(_encoded()))
    fitted = found.model.model_.get_params()
    assert {name: fitted[name] for name in after.params} == after.params
    assert any("settings more were tried on the same folds" in text for text in found.said)
    assert after.fold_params == [after.params] * K


def test_its_scores_are_those_of_the_settings_on_the_folds(found):
    after, y, fold = found.attempt("boosting"), found.choosing_y, found.choosing_fold
    for i in range(K):
        rest = y[fold == i] - after.predictions[fold == i]
        wanted = 1 - np.mean(rest**2) / y[fold == i].var()
        assert after.scores[i] == pytest.approx(wanted)


def test_the_simplest_model_needs_no_search(plain):
    assert not any("settings" in text for text in plain.said)
    assert "learning_rate" not in plain.attempt("boosting").params


def _encoded():
    return EncodedTable(np.zeros((100, 6)), "regression", None, 0)


class Counting:
    """Counts folds by candidates, and may interrupt one."""

    def __init__(self, monkeypatch, interrupted=None):
        self.folds, evaluate = {}, runner.CandidateRunner._evaluate_fold

        def count(run, candidate, fold):
            key = "-".join(candidate.key.split("-")[:2])  # without the hash of its settings
            if key == interrupted:
                raise KeyboardInterrupt
            self.folds[key] = self.folds.get(key, 0) + 1
            return evaluate(run, candidate, fold)

        monkeypatch.setattr(runner.CandidateRunner, "_evaluate_fold", count)


def test_settings_that_are_behind_cost_a_fold_and_the_search_ends_without_progress(monkeypatch):
    monkeypatch.setattr(hyperparameter_search, "is_far_behind", lambda *_: True)
    counted = Counting(monkeypatch)
    study = learn()
    assert counted.folds == {"baseline": K, "boosting": K} | {f"boosting-{i}": 1 for i in range(4)}
    assert study.said[-2].endswith("4 settings more were tried on the same folds in the time that "
                                   "was left; none is better.")  # fmt: skip
    assert "learning_rate" not in study.attempt("boosting").params


def test_ctrl_c_in_the_search_keeps_what_was_found(monkeypatch):
    Counting(monkeypatch, interrupted="boosting-2")
    study = learn(models=["boosting", "ridge"])
    assert "learning_rate" in study.attempt("boosting").params
    assert study.chosen.is_finished
    assert "Interrupted: continuing with the finished models." in study.said


def test_resumed_folds_are_not_run_again(monkeypatch, folder, found):
    counted = Counting(monkeypatch)
    again = learn(output=folder, resume=True)
    assert counted.folds == {}
    assert again.attempt("boosting").params == found.attempt("boosting").params
    np.testing.assert_array_equal(
        again.attempt("boosting").scores, found.attempt("boosting").scores
    )


def test_a_resumed_search_that_draws_other_settings_runs_their_folds(monkeypatch, folder):
    monkeypatch.setattr(hyperparameter_search, "_PATIENCE", 1)
    draw = hyperparameter_search.HyperparameterSearch.draw

    def draw_others(search, seed):
        return draw(search, seed) | {"learning_rate": 0.123}

    monkeypatch.setattr(hyperparameter_search.HyperparameterSearch, "draw", draw_others)
    counted = Counting(monkeypatch)
    again = learn(output=folder, resume=True)
    assert counted.folds["boosting-0"] >= 1
    assert "boosting" not in counted.folds
    assert again.attempt("boosting").params.get("learning_rate", 0.123) == 0.123


def test_an_ensemble_has_members_with_several_settings():
    study = learn(models=["boosting", "ensemble"])
    members = study.attempt("ensemble").params
    assert {key.partition("-")[0] for key in members} == {"boosting"}
    assert len(members) > 1
    assert study.chosen.key == "ensemble"
    settings = {repr(model.get_params()) for model in study.model.model_.estimators_}
    assert len(settings) == len(members)


def test_settings_are_far_behind_by_the_folds_that_are_done():
    best = SimpleNamespace(others={"r2": np.array([0.5, 0.6, 0.7])})  # deviation 0.1

    def fold(score):
        return SimpleNamespace(scores={"r2": score})

    assert not hyperparameter_search.is_far_behind([fold(0.48)], best, "r2")
    assert hyperparameter_search.is_far_behind([fold(0.47)], best, "r2")
    assert not hyperparameter_search.is_far_behind([fold(0.45), fold(0.65)], best, "r2")


def queue(left, searched, ranges=None, reference=None):
    """The next of candidates that need 50, 10, 0 and unknown seconds; so many of 100 are left."""
    run: Any = runner.CandidateRunner.__new__(runner.CandidateRunner)
    run.budget, run.folds = SimpleNamespace(left=left, seconds=100.0), SimpleNamespace(k=K)
    needed = {"a": 50.0, "b": 10.0, "c": 0.0}
    run.pilots = {key: runner.Pilot(seconds / K, 1.0) for key, seconds in needed.items()}
    run.search = searched.append
    waiting = [
        SimpleNamespace(key=key, find_ranges=None, is_reference=key == reference) for key in "dabc"
    ]
    waiting[1].find_ranges = ranges
    return run._next_candidate(waiting, {"ridge": SimpleNamespace(eligible=True)}).key


def test_candidates_leave_time_for_the_search():
    searched = []
    assert queue(101.0, searched) == "a"
    assert queue(80.0, searched) == "b"
    assert queue(55.0, searched) == "c"
    assert searched == []
    assert queue(49.0, searched) == "d"  # after the search they come as they are
    assert len(searched) == 1


def test_a_model_for_comparison_comes_before_the_search():
    searched = []
    assert queue(49.0, searched, reference="d") == "d"
    assert searched == []


def test_a_candidate_that_will_be_searched_may_take_time_of_the_search():
    assert queue(80.0, [], ranges=dict) == "a"
    assert queue(49.0, [], ranges=dict) == "d"


def test_a_table_that_is_not_small_needs_no_grid_before_the_search():
    start = hyperparameter_search.start_with_defaults
    few, many = np.zeros((900, 6)), np.zeros((1100, 6))
    for key in ("boosting", "forest", "kernel_svm"):
        plain = start(candidate(key))
        assert plain.make_configs(EncodedTable(few, "regression", None, 0))[0].grid
        assert not plain.make_configs(EncodedTable(many, "regression", None, 0))[0].grid
    assert start(candidate("ridge")) is candidate("ridge")


def test_the_final_model_has_no_rows_held_out():
    X, y = make_friedman1(2500, noise=1.0, random_state=0)
    encoded = EncodedTable(X, "regression", None, 0)
    [config] = candidate("boosting").make_configs(encoded)
    config.model.set_params(max_iter=40, n_iter_no_change=2)
    config.grid.clear()
    tuned = tune_models([config], TuningProblem(X, y, "r2", 0))
    stopped, final = fit_tuned(tuned, X, y), fit_tuned_on_all(tuned, X, y)
    assert stopped.do_early_stopping_
    assert not final.do_early_stopping_
    assert final.n_iter_ == stopped.n_iter_


def test_a_forest_has_all_its_trees_after_it_was_tuned_with_fewer():
    X, y = make_friedman1(60, random_state=0)
    encoded = EncodedTable(X, "regression", None, 0)
    [config] = candidate("forest").make_configs(encoded)
    tuned = tune_models([config], TuningProblem(X, y, "r2", 0))
    assert tuned.model().n_estimators == 300
