"""Explanations of table models, against brute force on the table itself."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.pipeline import Pipeline

import tenfold
from tenfold.automl import candidates, explain, explain_row, linear_weights
from tenfold.automl.column_effects import N_SHUFFLES, partial_dependence, permutation_importances
from tenfold.automl.explainer import table_learning_curve
from tenfold.automl.explanation import encode_rows, target_values
from tenfold.automl.feature_maps import EncodedTable
from tenfold.automl.final_model import stamp_metadata
from tenfold.automl.schema import ExpectedColumn, cells_to_records
from tenfold.automl.table_model import TableModel
from tenfold.automl.target import TargetScale
from tenfold.automl.task_scores import make_scoring
from tenfold.io import open_table
from tenfold.io.columnar import NumericColumn, TextColumn
from tenfold.preprocessing.column_kinds import infer_column_kinds
from tenfold.preprocessing.table_encoder import TableEncoder

COLOURS = np.array(["blue", "green", "red"])


def a_table(n=240, seed=0, kind="number"):
    rng = np.random.default_rng(seed)
    size, age = rng.normal(size=n), rng.uniform(0, 9, n)
    colour = rng.integers(0, 3, n)
    score = 2 * size + 0.3 * age + np.array([0.0, 1.0, 3.0])[colour] + 0.1 * rng.normal(size=n)
    table = {"size": size, "age": age, "colour": COLOURS[colour].tolist()}
    table["idle"] = rng.normal(size=n)
    if kind == "number":
        table["price"] = score
    else:
        cuts = [3.0] if kind == "two" else [1.5, 4.5]
        table["price"] = np.array(["cheap", "dear", "dearer"])[np.digitize(score, cuts)].tolist()
    return table


def a_model(table, inner, target="price"):
    """What `tenfold.learn` would give, without its search."""
    records = open_table(table)
    cells = records.slice(0, records.n_rows)
    kinds = infer_column_kinds(records, target)
    names = [name for name in records.names if name != target]
    model = TableModel()
    model.target_ = target
    model.columns_ = {
        name: ExpectedColumn(records.types[name], kinds[name].kind, kinds[name].examples)
        for name in names
    }
    model.encoder_ = TableEncoder().fit(cells_to_records(cells.select(names)))
    y = table[target]
    if isinstance(y, list):
        labels, y = np.unique(y, return_inverse=True)
        model.classes_, model.scale_ = labels.tolist(), None
        model.task_ = "two-class" if len(labels) == 2 else "multi-class"
    else:
        model.task_, model.classes_, model.scale_ = "regression", None, TargetScale.of(y)
        y = model.scale_.forward(y)
    model.model_ = inner.fit(model.encode(cells), y)
    model.interval_, model.residuals_ = None, 0
    stamp_metadata(model, "A model")
    return model, cells


def scoring(model, y):
    return make_scoring(model.task_, y, model.classes_ and len(model.classes_), None)


def test_shuffled_encoded_columns_are_the_shuffled_column_of_the_table():
    table = a_table()
    model, cells = a_model(table, tenfold.Ridge(alpha=1e-3))
    y = table["price"]
    _, told = permutation_importances(encode_rows(model, cells), y, scoring(model, y), seed=3)
    found = {each.column: each.drop for each in told}
    rng = np.random.default_rng(3)
    orders = [rng.permutation(len(y)) for _ in range(N_SHUFFLES[1])]
    judge = scoring(model, y)
    for name in ("size", "colour"):
        scores = []
        for order in orders:
            changed = {**table, name: np.asarray(table[name])[order].tolist()}
            scores.append(judge.score(y, model.predict(changed)))
        base = judge.score(y, model.predict(table))
        assert_allclose(found[name], base - np.mean(scores), rtol=1e-4)


def test_importance_agrees_with_scikit_learn():
    table = a_table()
    model, cells = a_model(table, tenfold.Ridge(alpha=1e-3))
    rows, y = encode_rows(model, cells), table["price"]
    _, found = permutation_importances(rows, y, scoring(model, y), seed=0)
    theirs = permutation_importance(
        model.model_, rows.X, model.scale_.forward(y), n_repeats=20, random_state=0
    )
    for each in found:
        places = rows.positions[each.column]
        if len(places) == 1:
            mean = theirs.importances_mean[places[0]]
            error = theirs.importances_std[places[0]]
            assert abs(each.drop - mean) < 3 * error + 1e-3
    assert found[0].column == "size"
    assert found[-1].column == "idle"
    assert abs(found[-1].drop) < 1e-3


@pytest.mark.parametrize("column", ["size", "colour"])
@pytest.mark.parametrize("kind", ["number", "two", "three"])
def test_dependence_is_the_mean_over_rows_that_are_all_given_one_value(column, kind):
    table = a_table(n=120, kind=kind)
    inner = tenfold.Ridge() if kind == "number" else tenfold.LogisticRegression()
    model, cells = a_model(table, inner)
    found = partial_dependence(encode_rows(model, cells), column)
    for i, value in enumerate(found.grid):
        given = {**table, column: [value] * 120}
        said = model.predict(given) if kind == "number" else model.predict_proba(given)
        if kind == "number":
            assert_allclose(found.mean[i, 0], said.mean(), rtol=1e-4)
        else:
            places = [model.classes_.index(name) for name in found.outputs]
            assert_allclose(found.mean[i], said.mean(axis=0)[places], rtol=1e-4)
    assert (found.low <= found.mean + 1e-9).all()
    assert (found.mean <= found.high + 1e-9).all()
    if column == "colour":
        shares = [table["colour"].count(level) / 120 for level in found.grid]
        assert_allclose(found.share, shares)


def test_contributions_of_a_linear_model_add_up_to_its_score():
    table = a_table()
    model, _ = a_model(table, tenfold.Ridge())
    row = {name: values[5] for name, values in table.items() if name != "price"}
    found = explain_row(model, row)
    total = found.base + sum(each.adds for each in found.contributions)
    assert found.exact
    assert_allclose(total, found.score, rtol=1e-6)
    assert_allclose(found.score, model.predict([row])[0], rtol=1e-5)
    typical = explain_row(model, row, background=table)
    assert_allclose(typical.score, found.score, rtol=1e-5)
    assert_allclose(typical.base, np.mean(table["price"]), atol=0.5)


@pytest.mark.parametrize("kind", ["two", "three"])
def test_contributions_of_a_logistic_model_are_its_log_odds(kind):
    table = a_table(kind=kind)
    model, cells = a_model(table, tenfold.LogisticRegression())
    for i in range(6):
        found = explain_row(model, cells.take(np.array([i])))
        scores = np.atleast_2d(model.model_.decision_function(model.encode(cells[i : i + 1])))
        which = model.classes_.index(found.predicted)
        score = scores[0, which] if kind == "three" else scores.ravel()[0] * (2 * which - 1)
        total = found.base + sum(each.adds for each in found.contributions)
        assert_allclose([total, found.score], [score, score], rtol=1e-4, atol=1e-5)
        assert found.score > 0 or kind == "three"


def test_other_models_are_told_by_hiding_columns():
    table = a_table(kind="two")
    forest = RandomForestClassifier(50, random_state=0)
    model, _ = a_model(table, forest)
    row = {name: values[0] for name, values in table.items() if name != "price"}
    found = explain_row(model, row, background=table)
    assert not found.exact
    assert found.unit == "probability"
    by_name = {each.column: each.adds for each in found.contributions}
    assert abs(by_name["size"]) > abs(by_name["idle"])
    said = model.predict_proba([row])[0].max()
    assert_allclose(found.score, said)


def test_mistakes_are_wrong_rows_and_the_surest_come_first():
    table = a_table(kind="three")
    model, cells = a_model(table, tenfold.LogisticRegression(C=1e-3))
    found = explain(model, cells).mistakes
    said = model.predict(table)
    given = model.predict_proba(table)
    assert found
    losses = [each.loss for each in found]
    assert losses == sorted(losses, reverse=True)
    for each in found:
        assert each.truth == table["price"][each.row] != each.predicted == said[each.row]
        assert_allclose(each.certainty, given[each.row].max())
        assert "price" not in each.cells
        assert each.cells["colour"] == table["colour"][each.row]


def test_largest_errors_of_a_regression():
    table = a_table()
    table["price"][7] += 50
    model, cells = a_model(table, tenfold.Ridge())
    found = explain(model, cells).mistakes
    assert found[0].row == 7
    assert_allclose(found[0].loss, abs(found[0].truth - found[0].predicted))


def test_the_band_of_a_probability_stays_between_0_and_1():
    model, cells = a_model(a_table(kind="two"), tenfold.LogisticRegression(C=100.0))
    for name in ("size", "colour"):
        found = partial_dependence(encode_rows(model, cells), name)
        assert found.low.min() >= 0
        assert found.high.max() <= 1
        assert (found.low <= found.mean + 1e-12).all()


def test_weights_rank_by_what_a_standard_deviation_moves():
    model, cells = a_model(a_table(), tenfold.Ridge(alpha=1e-6))
    weights = explain(model, cells).weights
    by_name = dict(zip(weights.names, weights.values[:, 0], strict=True))
    assert_allclose(by_name["size"], 2 * np.std(a_table()["size"]), rtol=0.02)
    assert weights.outputs == ["price"]
    assert weights.names[0] == "size"
    assert (np.diff(np.abs(weights.values[:, 0])) <= 0).all()
    forest, cells = a_model(a_table(kind="two"), RandomForestClassifier(5, random_state=0))
    assert explain(forest, cells).weights is None


def test_weights_are_those_of_the_model_by_name():
    model, _ = a_model(a_table(), tenfold.Ridge(alpha=1e-6))
    found = linear_weights(model)
    by_name = dict(zip(found.names, found.values[:, 0], strict=True))
    names = model.encoder_.get_feature_names_out()
    wanted = dict(zip(names, model.model_.coef_ * model.scale_.scale, strict=True))
    assert by_name.keys() == wanted.keys()
    for name, weight in wanted.items():
        assert_allclose(by_name[name], weight)


@pytest.mark.parametrize("kind", ["number", "three"])
@pytest.mark.parametrize("make", [candidates.spline_configs, candidates.product_configs])
def test_weights_of_features_add_up_to_the_score(make, kind, tmp_path):
    table = a_table(kind=kind)
    dummy = DummyRegressor() if kind == "number" else DummyClassifier()
    model, cells = a_model(table, dummy)
    X = model.encode(cells)
    k = None if kind == "number" else 3
    recipe = make(EncodedTable(X, model.task_, k, 0))[0]
    y = table["price"] if k is None else np.unique(table["price"], return_inverse=True)[1]
    model.model_ = Pipeline([("features", recipe.features), ("model", recipe.model)])
    model.model_.fit(X, y if k else model.scale_.forward(y))
    tenfold.save(model, tmp_path / "model.tenfold")
    found = linear_weights(tenfold.load(tmp_path / "model.tenfold"))
    assert len(found.names) == len(set(found.names))
    made = model.model_[0].transform(X)[:, found.positions]
    scale = 1.0 if k else model.scale_.scale
    score = model.model_.decision_function(X) if k else model.model_.predict(X)[:, None]
    assert_allclose(made @ found.values, scale * (score - model.model_[1].intercept_), atol=1e-5)
    assert not any("_sp_" in name or "curves of" in name for name in found.names)
    if make is candidates.product_configs:
        assert {"size", "size²", "size × age", "age × colour=red"} <= set(found.names)
    else:
        assert "size (spline 1 of 6)" in found.names


def test_a_calibrated_machine_shows_its_weights_and_bumps_have_none():
    table = a_table(kind="two")
    model, cells = a_model(table, DummyClassifier())
    X, y = model.encode(cells), np.unique(table["price"], return_inverse=True)[1]
    svm = candidates.linear_svm_configs(None)[0]
    model.model_ = svm.wrapper.set_params(estimator=svm.model).fit(X, y)
    inner = model.model_.calibrated_classifiers_[0].estimator
    found = linear_weights(model)
    assert_allclose(found.values[:, 0], inner.coef_[0][found.positions])
    assert found.names[0] == "size"
    bumps = candidates.kernel_configs(EncodedTable(X, "two-class", 2, 0))[0]
    model.model_ = Pipeline([("features", bumps.features), ("model", bumps.model)]).fit(X, y)
    assert linear_weights(model) is None
    assert explain(model, cells).weights is None


def test_learning_curve_rises_and_leaves_the_model_alone():
    table = a_table(n=300, kind="three")
    model, cells = a_model(table, tenfold.LogisticRegression())
    before = model.predict_proba(table)
    y = target_values(model, cells["price"])
    curve = table_learning_curve(model, cells, scoring(model, y), seed=0)
    assert (np.diff(curve.sizes) > 0).all()
    assert curve.sizes[-1] == 200
    assert curve.test.shape == curve.train.shape == (len(curve.sizes), 3)
    assert curve.test[-1].mean() > curve.test[0].mean()
    assert_allclose(model.predict_proba(table), before)


def test_no_learning_curve_of_few_rows_or_no_time():
    model, cells = a_model(a_table(n=60), tenfold.Ridge())
    y = target_values(model, cells["price"])
    assert table_learning_curve(model, cells, scoring(model, y), seed=0) is None
    model, cells = a_model(a_table(), tenfold.Ridge())
    y = target_values(model, cells["price"])
    assert table_learning_curve(model, cells, scoring(model, y), seed=0, seconds=0.0) is None


def test_truth_in_any_type():
    words = SimpleNamespace(classes_=["no", "yes"])
    column = TextColumn(np.array([1, -1, 0, 2], np.int32), ["yes", "no", "perhaps"])
    assert target_values(words, column).tolist() == [0, -1, 1, -1]
    numbers = SimpleNamespace(classes_=[1, 3])
    assert target_values(numbers, NumericColumn(np.array([3.0, np.nan, 1.0]))).tolist() == [
        1,
        -1,
        0,
    ]


def test_rows_without_a_truth_are_left_out():
    table = a_table(kind="two")
    model, _ = a_model(table, tenfold.LogisticRegression())
    holes = {**table, "price": [None, "unknown", *table["price"][2:]]}
    assert explain(model, holes).n_rows == 238
    inputs = {name: values for name, values in table.items() if name != "price"}
    blind = explain(model, inputs)
    assert blind.importances == blind.mistakes == []
    assert [each.column for each in blind.dependences] == ["size", "age", "colour", "idle"]


def test_same_seed_same_explanation():
    model, cells = a_model(a_table(), tenfold.Ridge())
    first, second = (explain(model, cells, seed=4).importances for _ in range(2))
    assert first == second
