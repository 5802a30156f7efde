"""Ensembles, preferences, the yardstick, and the race of candidates in `tenfold.learn`."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1

import tenfold
from tenfold.automl import candidate_runner as runner
from tenfold.automl.candidates import select_candidates
from tenfold.automl.ensemble_selection import evaluate_ensemble, select_weights
from tenfold.automl.result import Attempt
from tenfold.automl.task_scores import make_scoring
from tenfold.report.leaderboard import explain_leaderboard


def friedman(n=240, seed=0):
    X, y = make_friedman1(n, n_features=6, noise=0.5, random_state=seed)
    return {**{f"x{j}": X[:, j].tolist() for j in range(6)}, "y": y.tolist()}


@pytest.fixture(scope="module")
def study():
    models = ["ridge", "linear_splines", "interactions", "ensemble"]
    return tenfold.learn(friedman(), "y", models=models, prefer="best")


def test_an_ensemble_of_models_that_err_apart_is_the_best(study):
    found = study.attempt("ensemble")
    assert found.mean > max(a.mean for a in study.attempts if a is not found)
    assert study.chosen is found is study.best
    assert set(found.params) <= {"ridge", "linear_splines", "interactions"}
    assert sum(found.params.values()) == pytest.approx(1, abs=0.01)


def test_its_predictions_are_the_weighted_mean_of_its_members(study):
    cells, weights = study.test_rows, study.chosen.params
    rows = study.model.encoder_.transform(cells.to_columns())
    inner = study.model.model_
    wanted = sum(
        w * model.predict(rows) for w, model in zip(inner.weights, inner.estimators_, strict=True)
    ) / sum(inner.weights)
    wanted = study.model.scale_.backward(wanted)
    np.testing.assert_allclose(study.test.predicted, wanted, rtol=1e-6)
    assert len(weights) == len(inner.estimators_)


def test_it_survives_saving(study, tmp_path):
    loaded = tenfold.load(study.save(tmp_path)["model"])
    table = study.test_rows.to_columns()
    np.testing.assert_array_equal(loaded.predict(table), study.model.predict(table))


def attempt(key, predictions, y, fold, scoring):
    others = {
        name: np.array([scoring.score(y[fold == i], predictions[fold == i], name) for i in (0, 1)])
        for name in scoring.names
    }
    scores = others[scoring.deciding]
    return Attempt(key, key, {}, scores, others, scores, 0.1, True, 1, predictions=predictions)


def test_weights_of_a_fold_are_chosen_on_the_others():
    """A member that is perfect in one fold alone gets no weight there."""
    rng = np.random.default_rng(0)
    y, fold = rng.normal(size=400), np.repeat([0, 1], 200)
    scoring = make_scoring("regression", y, None, None)
    lucky = np.where(fold == 0, y, y + 5)  # perfect in fold 0
    plain = y + rng.normal(size=400)
    found = evaluate_ensemble(
        [attempt("lucky", lucky, y, fold, scoring), attempt("plain", plain, y, fold, scoring)],
        scoring, y, fold, 0,
    )  # fmt: skip
    np.testing.assert_allclose(found.predictions[fold == 0], plain[fold == 0])
    np.testing.assert_allclose(found.predictions[fold == 1], lucky[fold == 1])


def test_one_model_makes_no_ensemble():
    y, fold = np.arange(10.0), np.repeat([0, 1], 5)
    scoring = make_scoring("regression", y, None, None)
    assert evaluate_ensemble([attempt("a", y, y, fold, scoring)], scoring, y, fold, 0) is None


def test_probabilities_are_weighed_by_their_log_loss():
    y = np.array([0, 1] * 50)
    scoring = make_scoring("two-class", y, 2, None)
    good = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    bad = np.full((100, 2), 0.5)
    assert select_weights(np.stack([bad, good]), y, scoring).tolist() == [0.0, 1.0]


def test_a_preference_is_one_of_two():
    with pytest.raises(ValueError, match="prefer='fast' must be 'simple' or 'best'"):
        tenfold.learn(friedman(60), "y", prefer="fast")


def test_the_best_is_chosen_only_where_it_is_preferred():
    table = friedman(90, seed=1)
    models = ["ridge", "lasso", "linear_splines"]
    simple = tenfold.learn(table, "y", models=models)
    best = tenfold.learn(table, "y", models=models, prefer="best")
    assert best.chosen.key == best.best.key == simple.best.key
    assert simple.chosen.simplicity <= best.chosen.simplicity


def test_the_yardstick_is_there_on_request_and_never_chosen():
    assert "yardstick" not in {c.key for c in select_candidates("regression")}
    study = tenfold.learn(friedman(90), "y", models=["ridge"], yardstick=True, prefer="best")
    assert study.attempt("yardstick").is_reference
    assert study.chosen.key == "ridge"


def test_trees_of_our_own_are_candidates():
    assert "boosting" in {c.key for c in select_candidates("two-class")}


class Watch:
    def __init__(self):
        self.order = []

    def candidate_started(self, candidate, number, of):
        self.order.append(candidate.key)


def test_the_best_on_one_fold_comes_first_where_the_best_is_preferred(monkeypatch):
    watch, models = Watch(), ["ridge", "linear_splines"]
    folds, evaluate = [], runner.CandidateRunner._evaluate_fold

    def count(self, candidate, fold):
        folds.append(candidate.key)
        return evaluate(self, candidate, fold)

    monkeypatch.setattr(runner.CandidateRunner, "_evaluate_fold", count)
    study = tenfold.learn(friedman(), "y", models=models, prefer="best", watch=watch)
    assert watch.order == ["baseline", "linear_splines", "ridge"]
    assert [a.key for a in study.attempts] == ["baseline", *models]
    assert folds[5:7] == models  # a fold of each, and none of them twice
    assert len(folds) == 15


def test_candidates_that_do_best_on_few_rows_come_first(monkeypatch):
    monkeypatch.setattr(runner, "_PILOT_ROWS", (30, 60))
    watch = Watch()
    order = watch.order
    models = ["ridge", "linear_splines", "interactions"]
    study = tenfold.learn(friedman(400), "y", models=models, watch=watch)
    assert order[0] == "baseline"
    assert set(order) == {"baseline", *models}
    assert order.index("linear_splines") < order.index("ridge")  # it explains more on 60 rows
    assert [a.key for a in study.attempts] == ["baseline", *models]  # as ever


def test_a_candidate_that_is_far_behind_is_dropped(monkeypatch):
    monkeypatch.setattr(runner, "_MIN_RACED_SHARE", 0.0)
    monkeypatch.setattr(runner, "_PILOT_ROWS", (30, 60))
    table = friedman(400)
    table["y"] = [10 * a * a for a in table["x2"]]  # splines know it all, lines do not
    study = tenfold.learn(table, "y", models=["linear_splines", "ridge"])
    assert "far behind Linear with splines" in study.attempt("ridge").note
    assert not study.attempt("ridge").resumable


def test_the_page_claims_no_more_than_was_looked_at(study):
    assert explain_leaderboard(study).endswith("Ensemble has the highest mean.")


def test_compiling_counts_neither_as_time_of_a_model_nor_as_time_of_the_budget(monkeypatch):
    @contextmanager
    def compile_all_the_time():
        yield SimpleNamespace(seconds=1e9)

    budget = runner.TimeBudget(seconds=1e6)
    monkeypatch.setattr(runner, "time_compilation", compile_all_the_time)
    with budget.clock() as clock:
        start = budget.start
    assert clock.seconds == 0.0
    assert budget.start > start
    monkeypatch.undo()
    with pytest.raises(KeyError), budget.clock() as clock:
        raise KeyError
    assert clock.seconds > 0.0


def test_a_tree_is_not_tuned_to_two_leaves_by_one_sure_error():
    data = load_iris()
    table = {f"x{j}": data.data[:, j].tolist() for j in range(4)}
    table["kind"] = [str(data.target_names[k]) for k in data.target]
    study = tenfold.learn(table, "kind", models=["tree"], folds=3)
    assert study.attempt("tree").mean > 0.85
