"""A study goes on where it was: after Ctrl-C, after `kill -9`, with more time."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import tenfold
from tenfold.automl import candidate_runner as runner
from tenfold.automl.candidate_runner import CandidateRunner
from tenfold.automl.fold_store import FoldResult, FoldStore

MODELS = ["lda", "logistic", "naive_bayes"]


def table():
    return load_breast_cancer(as_frame=True).frame.iloc[:, -8:]


def learn(**options):
    return tenfold.learn(table(), "target", models=MODELS, folds=3, **options)


@pytest.fixture(scope="module")
def uninterrupted():
    return learn()


def assert_same(one, two):
    assert [a.key for a in one.attempts] == [a.key for a in two.attempts]
    for a, b in zip(one.attempts, two.attempts, strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)
        np.testing.assert_array_equal(a.train, b.train)
        np.testing.assert_array_equal(a.predictions, b.predictions)
        assert (a.params, a.note) == (b.params, b.note)
    assert one.chosen.key == two.chosen.key
    assert one.test.scores == two.test.scores
    assert one.test.intervals == two.test.intervals


class Interrupting:
    """Presses Ctrl-C after so many folds."""

    def __init__(self, folds):
        self.left = folds

    def fold_finished(self, candidate, fold, score):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_ctrl_c_keeps_what_is_done_and_resume_finishes_it(tmp_path, uninterrupted):
    stopped = learn(output=tmp_path, watch=Interrupting(8))
    assert [a.is_finished for a in stopped.attempts] == [True, True, False, False]
    assert stopped.chosen.key in {"baseline", "naive_bayes"}
    assert {a.note for a in stopped.skipped} == {"stopped by hand"}
    assert (tmp_path / "model.tenfold").exists()
    assert_same(learn(output=tmp_path, resume=True), uninterrupted)


def test_resume_keeps_finished_models_when_the_time_is_up(tmp_path):
    stopped = learn(output=tmp_path, watch=Interrupting(11))
    resumed = learn(output=tmp_path, resume=True, minutes=1e-6)
    assert [a.is_finished for a in resumed.attempts] == [True, True, True, False]
    for a, b in zip(stopped.attempts, resumed.attempts, strict=True):
        np.testing.assert_array_equal(a.scores[:3], b.scores[: len(a.scores)])


def test_ctrl_c_before_anything_is_done_ends_the_study(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        learn(output=tmp_path, watch=Interrupting(1))
    assert not (tmp_path / "model.tenfold").exists()


def test_ctrl_c_in_compiled_code_keeps_what_is_done_too(monkeypatch):
    evaluate, left = CandidateRunner._evaluate_fold, [8]

    def interrupted(runner_, candidate, fold):
        left[0] -= 1
        if left[0] == 0:
            raise SystemError("a result with an exception set") from KeyboardInterrupt()
        return evaluate(runner_, candidate, fold)

    monkeypatch.setattr(CandidateRunner, "_evaluate_fold", interrupted)
    assert {a.note for a in learn().skipped} == {"stopped by hand"}


def test_finished_folds_are_not_computed_again(tmp_path, monkeypatch, uninterrupted):
    learn(output=tmp_path, watch=Interrupting(8))
    evaluate, computed = CandidateRunner._evaluate_fold, []

    def counting(runner_, candidate, fold):
        computed.append(candidate.key)
        return evaluate(runner_, candidate, fold)

    monkeypatch.setattr(CandidateRunner, "_evaluate_fold", counting)
    assert_same(learn(output=tmp_path, resume=True), uninterrupted)
    assert computed == ["lda"] + ["logistic"] * 3


def test_nothing_is_left_of_a_journal_when_all_is_done(tmp_path):
    learn(output=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.json", "model.tenfold"]


PROGRAM = """
import sys, tenfold
from sklearn.datasets import load_breast_cancer
table = load_breast_cancer(as_frame=True).frame.iloc[:, -8:]
tenfold.learn(table, "target", models={models}, folds=3, output=sys.argv[1])
"""


def test_kill_minus_nine_at_any_moment(tmp_path, uninterrupted):
    program = [sys.executable, "-c", PROGRAM.format(models=MODELS), str(tmp_path)]
    with subprocess.Popen(program) as running:
        while running.poll() is None and len(list(tmp_path.glob("journal/*.npz"))) < 5:
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
    assert not (tmp_path / "model.tenfold").exists()
    assert_same(learn(output=tmp_path, resume=True), uninterrupted)


@pytest.mark.parametrize(
    ("other", "word"),
    [({"seed": 1}, "seed"), ({"test_share": 0.3}, "test_share"), ({"metric": "f1"}, "metric")],
)
def test_another_study_is_not_resumed(tmp_path, other, word):
    learn(output=tmp_path, watch=Interrupting(8))
    with pytest.raises(ValueError, match=f"another {word}"):
        learn(output=tmp_path, resume=True, **other)


def test_another_table_is_not_resumed(tmp_path):
    learn(output=tmp_path, watch=Interrupting(8))
    other = table()
    other.iloc[0, 0] += 1
    with pytest.raises(ValueError, match="another data"):
        tenfold.learn(other, "target", models=MODELS, folds=3, output=tmp_path, resume=True)


@pytest.mark.parametrize("row", [25, 300])
@pytest.mark.parametrize("column", ["target", 2])
def test_a_table_that_changed_in_the_middle_is_not_resumed(tmp_path, row, column):
    path = tmp_path / "cells.csv"
    other = table()
    other.to_csv(path, index=False)
    study = {"target": "target", "models": MODELS, "folds": 3, "output": tmp_path / "out"}
    tenfold.learn(path, **study, watch=Interrupting(8))
    same = path.read_bytes()
    at = column if isinstance(column, int) else other.columns.get_loc(column)
    other.iloc[row, at] = 1 - other.iloc[row, at]
    other.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"another data \(.*cells\.csv has changed\)"):
        tenfold.learn(path, **study, resume=True)
    path.write_bytes(same)  # the same bytes, younger
    assert all(a.is_finished for a in tenfold.learn(path, **study, resume=True).attempts)


def test_without_resume_a_journal_is_begun_anew(tmp_path, uninterrupted):
    learn(output=tmp_path, watch=Interrupting(8))
    assert_same(learn(output=tmp_path), uninterrupted)


def test_a_journal_gives_back_what_it_was_given(tmp_path):
    journal = FoldStore(tmp_path / "journal", {"seed": 1}, resume=False)
    assert journal.find("ridge", 0) is None
    result = FoldResult({"r2": 0.1 + 0.2}, 0.9, {"alpha": np.float64(0.1)}, 1.5, np.arange(3.0))
    journal.save("ridge", 0, result)
    again = FoldStore(tmp_path / "journal", {"seed": 1}, resume=True).find("ridge", 0)
    assert again[:4] == result[:4]
    np.testing.assert_array_equal(again.predictions, result.predictions)
    assert journal.spent == 1.5


def test_no_time_leaves_one_model_that_has_learned_and_says_so(monkeypatch):
    monkeypatch.setattr(runner, "_MAX_OVERRUN", 0.0)
    study = learn(minutes=1e-6)
    assert study.chosen.key != "baseline"
    assert {a.note for a in study.skipped} == {"skipped: the time is up"}
    assert not any(a.eligible for a in study.skipped)
    assert sum(a.eligible for a in study.attempts) == 2  # the baseline, and one


def test_a_candidate_that_runs_out_of_time_is_not_chosen(monkeypatch):
    whole = CandidateRunner._out_of_time

    def out_of_time(runner_, candidate, done):
        return (
            "stopped after 1 of 3 folds"
            if candidate.key == "lda"
            else whole(runner_, candidate, done)
        )

    monkeypatch.setattr(CandidateRunner, "_out_of_time", out_of_time)
    study = learn()
    lda = study.attempt("lda")
    assert (len(lda.scores), lda.eligible, lda.predictions) == (1, False, None)
    assert study.chosen.key != "lda"
