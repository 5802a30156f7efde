"""Evaluation in one pass, wherever the rows are; silhouettes, perplexity, coverage."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn.metrics as sk
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_blobs
from sklearn.linear_model import LinearRegression as SkLinear
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import tenfold
from tenfold import metrics
from tenfold.metrics import METRICS, Calibration, Metric, RocCurve
from tenfold.metrics._predictions import class_indices
from tests.metrics.metric_cases import REGRESSION, VALUES, binary, value

LABELS = [name for name, metric in METRICS.items() if metric.wants == "labels"]


OTHERS = [name for name in METRICS if name not in [*LABELS, *VALUES]]


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
