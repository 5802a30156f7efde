"""`tenfold.learn`: honest, reproducible, and clear about what it found."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import accuracy_score, r2_score

import tenfold
from tenfold.automl import preparation
from tenfold.automl.candidates import CANDIDATES, select_candidates
from tenfold.automl.schema import ExpectedColumn, missing_columns
from tenfold.automl.target import TargetScale

QUICK = ["logistic", "lda", "naive_bayes"]


def mixed(n=300, seed=0):
    """A table of all kinds of columns, whose label depends on some of them."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    sure = 2.5 * size + 3.0 * (colour == "red") - 1.0 + 0.5 * rng.logistic(size=n)
    return {
        "id": [f"k{i:05d}" for i in range(n)],
        "size": [None if i % 17 == 0 else float(x) for i, x in enumerate(size)],
        "colour": colour.tolist(),
        "day": [f"2024-0{1 + i % 9}-11" for i in range(n)],
        "same": [1] * n,
        "label": np.where(sure > 0, "yes", "no").tolist(),
        "price": (10 * size + 5 * (colour == "red") + 100).tolist(),
    }


@pytest.fixture(scope="module")
def two_class():
    table = mixed()
    table.pop("price")
    return tenfold.learn(table, "label", models=QUICK)


@pytest.fixture(scope="module")
def regression():
    table = mixed()
    table.pop("label")
    return tenfold.learn(table, "price", models=["ridge", "lasso", "linear_splines"])


def test_mixed_columns_are_learned_from(two_class):
    assert two_class.task == "two-class"
    assert two_class.classes == ["no", "yes"]
    assert two_class.test.scores["accuracy"] > 0.8
    assert two_class.chosen.mean > two_class.attempt("baseline").mean + 0.2
    assert {n: k.kind for n, k in two_class.kinds.items()} == {
        "id": "identifier", "size": "number", "colour": "category", "day": "date",
        "same": "constant", "label": "category",
    }  # fmt: skip


def test_test_rows_are_sealed(two_class):
    ids = [set(cells["id"].plain()) for cells in (two_class.train_rows, two_class.test_rows)]
    assert not ids[0] & ids[1]
    assert two_class.n_train + two_class.n_test == 300
    assert len(ids[0]) == two_class.n_train == 240


def test_scores_are_those_of_the_predictions(two_class):
    for attempt in two_class.attempts:
        hits = attempt.predictions.argmax(axis=1) == two_class.choosing_y
        per_fold = [hits[two_class.choosing_fold == i].mean() for i in range(5)]
        np.testing.assert_allclose(attempt.others["accuracy"], per_fold)
    test = two_class.test
    assert test.scores["accuracy"] == accuracy_score(test.y, test.predicted)
    again = two_class.model.predict_cells(two_class.test_rows)
    np.testing.assert_allclose(again, test.probabilities)


def test_a_study_prints_its_leaderboard_and_not_its_rows(two_class):
    chosen, score = two_class.chosen.title, two_class.test.scores["accuracy"]
    printed = str(two_class)
    assert printed.startswith(two_class.leaderboard())
    assert f"{chosen} on {two_class.n_test} test rows: accuracy {score:.4f}" in printed
    assert repr(two_class).count("\n") == 0
    assert chosen in repr(two_class)
    for part in (two_class, two_class.chosen, two_class.test, two_class.model):
        assert len(repr(part)) < 1500
        assert "array([0, 1" not in repr(part)
    n_columns = len(two_class.model.columns_)
    assert f"'label' (two-class), from {n_columns} columns" in repr(two_class.model)


def test_chosen_is_the_simplest_within_one_standard_error(two_class):
    able = [a for a in two_class.attempts if a.eligible]
    best = max(able, key=lambda a: a.mean)
    near = [a for a in able if a.mean >= best.mean - best.error]
    assert two_class.best.mean == best.mean
    assert two_class.chosen.simplicity == min(a.simplicity for a in near)


def test_regression_and_its_intervals(regression):
    assert regression.task == "regression"
    test = regression.test
    assert test.scores["r2"] == pytest.approx(r2_score(test.y, test.predicted))
    assert test.scores["r2"] > 0.8
    ends = regression.model.predict_interval(regression.test_rows.to_columns(), level=0.9)
    inside = (ends[:, 0] <= test.y) & (test.y <= ends[:, 1])
    assert 0.8 <= inside.mean() <= 1.0
    wider = regression.model.predict_interval(regression.test_rows.to_columns(), level=0.99)
    assert (wider[:, 1] >= ends[:, 1]).all()


def test_regression_has_no_probabilities(regression):
    with pytest.raises(ValueError, match="probabilities are for classes"):
        regression.model.predict_proba({"size": 1.0, "colour": "red", "day": "2024-01-01"})


def test_classes_have_no_intervals(two_class):
    with pytest.raises(ValueError, match="intervals are for regression"):
        two_class.model.predict_interval(two_class.test_rows.to_columns())


def test_same_seed_same_result():
    table = mixed(150)
    one, two = (tenfold.learn(table, "label", models=["lda"], drop=["price"]) for _ in range(2))
    other = tenfold.learn(table, "label", models=["lda"], drop=["price"], seed=1)
    np.testing.assert_array_equal(one.chosen.scores, two.chosen.scores)
    np.testing.assert_array_equal(one.test.probabilities, two.test.probabilities)
    assert not np.array_equal(one.test_rows["id"].plain(), other.test_rows["id"].plain())


def test_model_survives_saving(two_class, tmp_path):
    paths = two_class.save(tmp_path / "out")
    loaded = tenfold.load(paths["model"])
    table = two_class.test_rows.to_columns()
    np.testing.assert_array_equal(loaded.predict_proba(table), two_class.model.predict_proba(table))
    assert loaded.describe() == two_class.model.describe()
    assert set(loaded.predict(table)) <= {"yes", "no"}


def test_metrics_are_json(two_class, tmp_path):
    paths = two_class.save(tmp_path)
    found = json.loads(paths["metrics"].read_text())
    assert found["chosen"] == two_class.chosen.key
    assert found["test"]["scores"]["accuracy"] == two_class.test.scores["accuracy"]
    assert {each["key"] for each in found["models"]} == {"baseline", *QUICK}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.json", "model.tenfold"]


@pytest.mark.parametrize("key", [c.key for c in CANDIDATES if not c.is_reference])
def test_every_candidate_can_be_saved(key, tmp_path):
    candidate = next(candidate for candidate in CANDIDATES if candidate.key == key)
    if candidate not in select_candidates(candidate.tasks[0]):
        pytest.skip("not a public model yet")
    data = load_diabetes(as_frame=True).frame if "regression" in candidate.tasks else iris()
    study = tenfold.learn(data[::2], "target", models=[key], folds=2, minutes=5)
    attempt = study.attempt(key)
    assert attempt.is_finished, attempt.note
    assert key == "baseline" or attempt.mean > study.attempt("baseline").mean
    study.save(tmp_path)
    loaded = tenfold.load(tmp_path / "model.tenfold")
    np.testing.assert_array_equal(loaded.predict(data[:5]), study.model.predict(data[:5]))


def iris():
    return load_iris(as_frame=True).frame


def test_unseen_words_missing_cells_and_other_columns_are_safe(two_class):
    rows = [{"size": None, "colour": "purple", "day": "2030-01-01", "more": 3}]
    p = two_class.model.predict_proba(rows)
    assert p.shape == (1, 2)
    assert p.sum() == pytest.approx(1)
    assert two_class.model.predict({"size": 4.0, "colour": "red", "day": "2024-05-11"}) == ["yes"]


def test_a_missing_column_is_named(two_class):
    with pytest.raises(ValueError, match=r"no column 'colour'; rename 'color'\?"):
        two_class.model.predict([{"size": 1.0, "color": "red", "day": "2024-01-01"}])
    with pytest.raises(ValueError, match=r"there are no columns 'size', 'colour', 'day'$"):
        two_class.model.predict([{"1": 1.0}])
    both = r"there are no columns 'size', 'colour' \(rename 'color'\?\)$"
    with pytest.raises(ValueError, match=both):
        two_class.model.predict([{"color": "red", "day": "2024-01-01"}])


def test_many_missing_columns_are_told_in_one_sentence():
    expected = {f"age {i}": ExpectedColumn("number", "number", []) for i in range(1, 31)}
    [problem] = missing_columns(expected, ["age1", "z"])
    assert problem.count("there are no columns") == 1
    assert problem.count("rename 'age1'?") == 1  # a column is one of them, at most
    assert problem.endswith("'age 10' and 20 more")


def test_words_among_numbers_are_shown_with_their_place(two_class):
    rows = [{"size": s, "colour": "red", "day": "2024-01-01"} for s in ("1.5", "large")]
    with pytest.raises(ValueError, match=r"row 1: 'size' is 'large'.*numbers"):
        two_class.model.predict(rows)
    assert len(two_class.model.check_columns(rows)) == 1
    assert two_class.model.check_columns(rows[:1]) == []
    assert two_class.model.predict(rows[:1]).shape == (1,)


def test_chunks_give_what_the_whole_gives(two_class):
    table = two_class.test_rows.to_columns()
    parts = list(two_class.model.predict_chunks(table, probabilities=True, keep=["id"]))
    whole = {name: [x for part in parts for x in part[name]] for name in parts[0]}
    assert whole["id"] == table["id"]
    assert whole["prediction"] == two_class.model.predict(table).tolist()
    p = two_class.model.predict_proba(table)
    np.testing.assert_array_equal(whole["probability of yes"], p[:, 1])


def test_a_leak_is_found():
    table = mixed()
    table["code"] = ["A" if label == "yes" else "B" for label in table["label"]]
    study = tenfold.learn(table, "label", models=["lda"], drop=["price"])
    [leak] = [finding for finding in study.warnings if finding.kind == "leak"]
    assert leak.columns == ("code",)
    assert leak.severity == "alarm"


def test_no_leak_is_invented(two_class, regression):
    kinds = {finding.kind for study in (two_class, regression) for finding in study.warnings}
    assert "leak" not in kinds
    assert {"identifier", "constant"} <= kinds


def test_duplicates_and_missing_targets_are_told():
    table = {name: values * 2 for name, values in mixed(120).items() if name not in ("id", "price")}
    table["label"] = [None] * 7 + table["label"][7:]
    found = {f.kind: f for f in tenfold.learn(table, "label", models=["lda"]).warnings}
    assert found["duplicates"].severity == "warning"
    assert found["missing target"].text.startswith("7 rows")


def test_noise_leaves_the_baseline():
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=200), "y": rng.normal(size=200)}
    study = tenfold.learn(table, "y", models=["ridge"])
    assert study.chosen.key == "baseline"
    assert "no signal" in {finding.kind for finding in study.warnings}
    assert "over-fitting" not in {finding.kind for finding in study.warnings}


def test_rare_classes_are_left_out_with_words():
    table = mixed(200)
    table["label"] = ["odd", "odd", *table["label"][2:]]
    study = tenfold.learn(table, "label", models=["lda"], drop=["price"])
    assert study.classes == ["no", "yes"]
    [rare] = [finding for finding in study.warnings if finding.kind == "rare classes"]
    assert "odd (2)" in rare.text


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        ([0, 1] * 20, "two-class", [0, 1]),
        ([True, False] * 20, "two-class", [False, True]),
        (["a", "b", "c", "b"] * 10, "multi-class", ["a", "b", "c"]),
        ([1, 2, 3, 4] * 10, "multi-class", [1, 2, 3, 4]),
        ([0.5 * i for i in range(40)], "regression", None),
        (list(range(40)), "regression", None),
    ],
)
def test_tasks_are_inferred(values, task, classes):
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=40), "y": values}
    study = tenfold.learn(table, "y", models=[], folds=2)
    assert (study.task, study.classes) == (task, classes)
    if classes is not None:
        assert type(study.model.predict(table).tolist()[0]) is type(classes[0])


def test_unbalanced_classes_are_judged_by_their_order():
    table = mixed(300)
    table["label"] = ["yes" if i % 9 == 0 else "no" for i in range(300)]
    assert tenfold.learn(table, "label", models=[]).metric == "roc_auc"


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"y": [None] * 30}, {}, "missing in all rows"),
        ({"y": [3.0] * 30}, {}, "in all rows: there is nothing to predict"),
        ({"y": [f"name {i}" for i in range(30)]}, {}, "too many classes"),
        ({"y": [f"2024-01-{1 + i % 28:02d}" for i in range(30)]}, {}, "is a date"),
        ({}, {"metric": "acuracy"}, "there is no metric 'acuracy'"),
        ({}, {"metric": "r2"}, "does not suit two-class"),
        ({}, {"models": ["oracle"]}, "there is no model oracle"),
        ({}, {"task": "sorting"}, "task='sorting'"),
        ({}, {"task": "regression"}, "regression needs numbers"),
        ({}, {"task": "clusters"}, "has no target"),
        ({}, {"folds": 1}, "folds=1"),
        ({}, {"test_share": 1.0}, "test_share=1.0"),
        ({}, {"resume": True}, "resume needs the output folder"),
        ({}, {"drop": ["x"]}, "no column to learn from"),
        ({}, {"drop": ["z"]}, "no column 'z'"),
        ({}, {"kinds": {"x": "colour"}}, "cannot be a 'colour'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(change, options, words):
    table = {"x": np.arange(30.0) % 7, "y": ["a", "b"] * 15} | change
    with pytest.raises(ValueError, match=words):
        tenfold.learn(table, "y", **options)


def test_too_few_rows():
    with pytest.raises(ValueError, match="too few"):
        tenfold.learn({"x": [1.0, 2.0], "y": ["a", "b"]}, "y")


def test_groups_are_found_without_a_target(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(10 * i, 1, size=(60, 2)) for i in range(3)])
    study = tenfold.learn({"a": X[:, 0], "b": X[:, 1]}, output=tmp_path)
    assert (study.task, study.chosen.params) == ("clusters", {"n_clusters": 3})
    assert sorted(study.clusters.sizes) == [60, 60, 60]
    labels = tenfold.load(tmp_path / "model.tenfold").predict({"a": X[:, 0], "b": X[:, 1]})
    assert [len(set(labels[i : i + 60])) for i in (0, 60, 120)] == [1, 1, 1]
    assert all(profile[0][0] in ("a", "b") for profile in study.clusters.profiles)


def test_a_study_without_a_target_has_a_map_and_names_the_columns_of_components():
    from tenfold.report.dataset import cluster_figures

    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(8 * i, 1, size=(40, 4)) for i in range(3)])
    study = tenfold.learn({name: X[:, j] for j, name in enumerate("abcd")})
    found = study.clusters.map
    assert found.points.shape == (120, 2)
    assert found.trust > 0.9
    assert {name for weights in study.clusters.loadings for name, _ in weights} <= set("abcd")
    titles = [figure.title for figure in cluster_figures(study)]
    assert set(titles) == {
        "Principal components",
        "Map of neighbors",
        "Number of clusters",
        "Retained variance",
    }


def test_breast_cancer_is_done_well():
    study = tenfold.learn(load_breast_cancer(as_frame=True).frame, "target", models=QUICK)
    assert study.test.scores["accuracy"] > 0.93
    low, high = study.test.intervals["accuracy"]
    assert low < study.test.scores["accuracy"] <= high


@settings(max_examples=30)
@given(
    y=st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=20),
    log=st.booleans(),
)
def test_target_scale_goes_there_and_back(y, log):
    y = np.array(y)
    scale = TargetScale.of(y, log=log)
    np.testing.assert_allclose(scale.backward(scale.forward(y)), y, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("key", ["ridge", "linear_splines"])
def test_many_rows_are_chosen_by_some_and_learned_from_all(monkeypatch, key):
    monkeypatch.setattr(preparation, "_MIN_SELECTION_ROWS", 100)
    monkeypatch.setattr(preparation, "_SELECTION_ROWS", 200)
    table = mixed(1000)
    table.pop("label")
    study = tenfold.learn(table, "price", models=[key])
    assert (study.n_choosing, study.n_train, study.n_test) == (200, 800, 200)
    assert study.chosen.key == key
    model = study.model
    X, y = model.encode(study.train_rows), model.scale_.forward(study.train_rows["price"].values)
    if key == "linear_splines":
        X = model.model_[0].transform(X)
    alone = tenfold.Ridge(alpha=study.chosen.params["alpha"]).fit(X, y)
    ours = model.model_[-1] if key == "linear_splines" else model.model_
    np.testing.assert_allclose(ours.coef_, alone.coef_, rtol=1e-6, atol=1e-9)


def test_a_long_test_part_is_cut(monkeypatch):
    monkeypatch.setattr(preparation, "_MAX_TEST_ROWS", 30)
    study = tenfold.learn(mixed(), "label", models=[], drop=["price"])
    assert (study.n_train, study.n_test) == (270, 30)
