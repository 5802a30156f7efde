"""Cross-validation in shared walks gives what refitting gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import decomposition
from sklearn import linear_model as sk
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.model_selection import (
    cross_validate as sk_cross_validate,
)
from sklearn.naive_bayes import GaussianNB as SkGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import PCA, GaussianNB, LinearRegression, LogisticRegression, Ridge, cross_validate
from tenfold.metrics import Metric
from tenfold.model_selection._evaluation import make_evaluator

X, Y = load_diabetes(return_X_y=True)
IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "folds",
    [
        5,
        KFold(4, shuffle=True, random_state=0),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=1),
        TimeSeriesSplit(4),
        TimeSeriesSplit(3, gap=5),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "model", [Ridge(alpha=0.3), LinearRegression(), Ridge(solver="svd")], ids=str
)
def test_scores_are_those_of_refits(model, folds):
    got = cross_validate(model, X, Y, folds=folds, return_train_score=True, return_estimator=True)
    peer = sk.Ridge(alpha=model.alpha) if isinstance(model, Ridge) else sk.LinearRegression()
    wanted = sk_cross_validate(peer, X, Y, cv=folds, return_train_score=True, return_estimator=True)
    for key in ("test_score", "train_score"):
        assert_allclose(got[key], wanted[key], rtol=1e-8)
    for ours, theirs in zip(got["estimator"], wanted["estimator"], strict=True):
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)


@pytest.mark.parametrize(
    ("model", "peer"),
    [
        (GaussianNB(), SkGaussianNB()),
        (LogisticRegression(tol=1e-9), sk.LogisticRegression(tol=1e-9, max_iter=2000)),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("labels", ["numbers", "words"])
def test_classes_are_stratified_and_judged_by_several_scores(model, peer, labels):
    y = SPECIES if labels == "numbers" else np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    scoring = ["accuracy", "neg_log_loss", "f1_macro"]
    got = cross_validate(model, IRIS, y, folds=5, scoring=scoring)
    wanted = sk_cross_validate(peer, IRIS, y, cv=5, scoring=scoring)
    for name in scoring:
        assert_allclose(got[f"test_{name}"], wanted[f"test_{name}"], rtol=1e-5)
    assert got.mean("accuracy") == np.mean(got["test_accuracy"])
    assert "accuracy: 0.9" in str(got)


def test_groups_stay_together_and_weights_count():
    groups = np.arange(len(Y)) % 13
    w = np.random.default_rng(0).uniform(0.2, 3, len(Y))
    got = cross_validate(Ridge(), X, Y, folds=4, groups=groups, sample_weight=w)
    for i, (train, test) in enumerate(GroupKFold(4).split(X, Y, groups)):
        alone = sk.Ridge().fit(X[train], Y[train], sample_weight=w[train])
        wanted = alone.score(X[test], Y[test], sample_weight=w[test])
        assert got["test_score"][i] == pytest.approx(wanted, rel=1e-9)


def searched(model, grid, X, y, **options):
    rows = tenfold.open(X, target=y)
    return tenfold.search(model, grid, rows, refit=False, **options), rows.passes


def test_one_pass_models_cost_one_walk():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30_000, 6))
    y = Z @ rng.normal(size=6) + rng.normal(size=30_000)
    grid = {"alpha": np.logspace(-2, 4, 30)}
    found, passes = searched(Ridge(), grid, Z, y)
    assert passes == 1  # ten folds, thirty penalties, fitted and judged
    for i in (0, 17, 29):
        scores = sk_cross_validate(sk.Ridge(alpha=grid["alpha"][i]), Z, y, cv=10)["test_score"]
        got = [found.cv_results_[f"split{p}_test_score"][i] for p in range(10)]
        assert_allclose(got, scores, rtol=1e-8)
    trial = make_evaluator(
        GaussianNB(), Z, y > 0, folds=10, scoring=None, groups=None, sample_weight=None
    )
    trial.run([{"var_smoothing": 1e-9}, {"var_smoothing": 1e-3}])
    assert trial.data.rows.passes == 3  # labels as numbers, one walk to learn, one to judge


def test_scaling_components_and_ridge_cost_one_walk():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(20_000, 5)) @ rng.normal(size=(5, 5)) + [3, 0, -2, 10, 1]
    y = Z @ rng.normal(size=5) + rng.normal(size=20_000)
    pipe = make_pipeline(StandardScaler(), PCA(3), Ridge())
    grid = {"pca__n_components": [1, 3, 5], "ridge__alpha": [0.1, 10.0, 1e4]}
    found, passes = searched(pipe, grid, Z, y)
    assert passes == 1
    peer = make_pipeline(StandardScaler(), decomposition.PCA(), sk.Ridge())
    for i, params in enumerate(found.cv_results_["params"]):
        scores = sk_cross_validate(peer.set_params(**params), Z, y, cv=10)["test_score"]
        got = [found.cv_results_[f"split{p}_test_score"][i] for p in range(10)]
        assert_allclose(got, scores, rtol=1e-8)


def test_a_pipeline_that_moments_do_not_decide_is_fitted_on_its_rows():
    few = slice(0, 12)  # fewer rows than columns in each part: no moments
    pipe = make_pipeline(StandardScaler(), Ridge(alpha=1.0))
    got = cross_validate(pipe, X[few], Y[few], folds=3)
    peer = make_pipeline(StandardScaler(), sk.Ridge(alpha=1.0))
    assert_allclose(
        got["test_score"], sk_cross_validate(peer, X[few], Y[few], cv=3)["test_score"], rtol=1e-7
    )


def test_weights_reach_pipelines_that_are_fitted_on_their_rows():
    few = slice(0, 12)
    w = np.random.default_rng(0).uniform(0.1, 5, 12)
    pipe = make_pipeline(StandardScaler(), Ridge(alpha=1.0))
    got = cross_validate(pipe, X[few], Y[few], folds=3, sample_weight=w, return_estimator=True)[
        "estimator"
    ]
    for model, (train, _) in zip(got, KFold(3).split(X[few]), strict=True):
        Z = StandardScaler().fit_transform(X[few][train])
        alone = sk.Ridge(alpha=1.0).fit(Z, Y[few][train], sample_weight=w[train])
        assert_allclose(model[-1].coef_, alone.coef_, rtol=1e-7)


def test_leaving_one_out_of_a_pipeline_scales_every_part():
    pipe = make_pipeline(StandardScaler(), Ridge(alpha=50.0))
    peer = make_pipeline(StandardScaler(), sk.Ridge(alpha=50.0))
    scoring = "neg_mean_squared_error"
    got = cross_validate(pipe, X[:40], Y[:40], folds="loo", scoring=scoring)["test_score"]
    wanted = sk_cross_validate(peer, X[:40], Y[:40], cv=LeaveOneOut(), scoring=scoring)
    assert_allclose(got, wanted["test_score"], rtol=1e-6)
    models = cross_validate(
        Ridge(), X[:40], Y[:40], folds="loo", scoring=scoring, return_estimator=True
    )["estimator"]
    assert len(models) == 40


def test_scores_that_do_not_merge_are_scikit_learns():
    name = "neg_median_absolute_error"
    got = cross_validate(Ridge(), X, Y, folds=4, scoring=name)["test_score"]
    assert_allclose(got, sk_cross_validate(sk.Ridge(), X, Y, cv=4, scoring=name)["test_score"])
    from sklearn.cluster import KMeans

    clusters = KMeans(3, random_state=0, n_init=1)
    got = cross_validate(clusters, IRIS, folds=KFold(3))["test_score"]
    assert_allclose(got, sk_cross_validate(clusters, IRIS, cv=KFold(3))["test_score"])


def test_collinear_columns_fall_back_to_full_fits():
    Z = np.column_stack([X, X[:, 0] + 1e-9 * X[:, 1]])
    got = cross_validate(LinearRegression(), Z, Y, folds=5)["test_score"]
    wanted = [
        LinearRegression().fit(Z[train], Y[train]).score(Z[test], Y[test])
        for train, test in KFold(5).split(Z)
    ]
    assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "model", [Ridge(alpha=0.05), Ridge(fit_intercept=False), LinearRegression()], ids=str
)
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_one_out_has_a_closed_form(model, weighted):
    Z, y = X[:60], Y[:60]
    w = np.random.default_rng(0).uniform(0.5, 2, 60) if weighted else None
    rows = tenfold.open(Z, target=y, weight=w)
    scoring = "neg_mean_squared_error"
    got = cross_validate(model, rows, folds="loo", scoring=scoring)["test_score"]
    assert rows.passes <= 3
    for i in (0, 11, 59):
        rest = np.arange(60) != i
        alone = type(model)(**model.get_params())
        alone.fit(Z[rest], y[rest], sample_weight=None if w is None else w[rest])
        assert got[i] == pytest.approx(-((y[i] - alone.predict(Z[[i]])[0]) ** 2), rel=1e-7)


def test_leaving_one_out_without_a_closed_form_refits():
    y = (Y[:30] > 140).astype(int)
    got = cross_validate(GaussianNB(), X[:30], y, folds="loo")["test_score"]
    wanted = sk_cross_validate(SkGaussianNB(), X[:30], y, cv=LeaveOneOut())["test_score"]
    assert_array_equal(got, wanted)
    with pytest.raises(ValueError, match="neg_mean_squared_error"):
        cross_validate(Ridge(), X[:30], Y[:30], folds="loo")


@pytest.mark.parametrize("place", ["npy", "parquet", "threads", "cluster"])
@pytest.mark.parametrize(
    "model", [Ridge(), GaussianNB(), LogisticRegression()], ids=lambda m: type(m).__name__
)
def test_the_same_bits_everywhere(model, place, tmp_path, request):
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(25_000, 4))
    y = (Z[:, 0] + rng.normal(size=25_000) > 0).astype(float)
    want = cross_validate(model, Z, y, folds=KFold(4, shuffle=True, random_state=0))
    with _elsewhere(place, request):
        got = cross_validate(
            model, *_put(place, Z, y, tmp_path), folds=KFold(4, shuffle=True, random_state=0)
        )
    assert_array_equal(got["test_score"], want["test_score"])


def _elsewhere(place, request):
    from contextlib import nullcontext

    if place == "threads":
        return tenfold.threads(1)
    return (
        tenfold.on(request.getfixturevalue("two_workers")) if place == "cluster" else nullcontext()
    )


def _put(place, Z, y, folder):
    if place == "npy":
        np.save(folder / "z.npy", np.column_stack([Z, y]))
        return (tenfold.open(folder / "z.npy", target=4),)
    if place == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {f"x{j}": Z[:, j] for j in range(4)} | {"y": y}
        pq.write_table(pa.table(columns), folder / "z.parquet", row_group_size=6000)
        return folder / "z.parquet", "y"
    return Z, y


def test_models_of_others_and_scores_of_ones_own():
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(random_state=0)
    got = cross_validate(tree, IRIS, SPECIES, folds=5, scoring=["accuracy", "neg_log_loss"])
    wanted = sk_cross_validate(tree, IRIS, SPECIES, cv=5, scoring=["accuracy", "neg_log_loss"])
    assert_array_equal(got["test_accuracy"], wanted["test_accuracy"])

    def two_right(model, X, y):
        return float(model.score(X, y) > 0.9)

    ours = cross_validate(GaussianNB(), IRIS, SPECIES, folds=5, scoring=two_right)
    assert set(ours["test_score"]) <= {0.0, 1.0}

    class Near(Metric):
        name, wants = "near", "values"

        def part(self, y, predicted, w, k):
            return np.array([(abs(y - predicted) < 50).sum(), len(y)])

        def value(self, statistic):
            return statistic[0] / statistic[1]

    for model in (Ridge(), sk.Ridge()):
        near = cross_validate(model, X, Y, folds=3, scoring=Near())["test_score"]
        assert ((near > 0.4) & (near < 0.8)).all()


def test_a_model_sees_nothing_of_its_test_rows():
    y = Y.copy()
    base = cross_validate(Ridge(), X, y, folds=5, return_estimator=True)["estimator"][2]
    [split] = tenfold.model_selection.make_splits(5, len(y))
    y[split.rows(split.test[2])] += 1e6
    again = cross_validate(Ridge(), X, y, folds=5, return_estimator=True)["estimator"][2]
    assert_array_equal(base.coef_, again.coef_)


def test_errors_name_the_cure():
    with pytest.raises(ValueError, match="there is no metric"):
        cross_validate(Ridge(), X, Y, scoring="r3")
    with pytest.raises(ValueError, match="more folds than rows"):
        cross_validate(Ridge(), X[:5], Y[:5])
    with pytest.raises(ValueError, match="contains NaN"):
        cross_validate(Ridge(), np.where(X > 0.1, np.nan, X), Y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        cross_validate(LogisticRegression(), IRIS[:100], SPECIES[:100], folds=KFold(2))


def test_interrupted_and_resumed(tmp_path):
    Z, y = load_breast_cancer(return_X_y=True)
    Z = np.tile((Z - Z.mean(0)) / Z.std(0), (20, 1)) + np.random.default_rng(0).normal(
        size=(len(y) * 20, 30)
    )
    y = np.tile(y, 20)
    want = cross_validate(LogisticRegression(), Z, y, folds=4)["test_score"]
    with tenfold.checkpoint(tmp_path / "cv.ckpt"):
        first = cross_validate(LogisticRegression(), Z, y, folds=4)["test_score"]
    with tenfold.checkpoint(tmp_path / "cv.ckpt"):
        again = cross_validate(LogisticRegression(), Z, y, folds=4)["test_score"]
    assert_array_equal(first, want)
    assert_array_equal(again, want)


def test_curves_of_rows_and_of_settings():
    curve = tenfold.learning_curve(Ridge(alpha=0.01), X, Y, shares=[0.1, 0.5, 1.0], folds=5)
    assert curve.values.tolist()[-1] == pytest.approx(len(Y) * 0.8, abs=1)
    assert curve.gap[0] > curve.gap[-1] > 0  # 002, ch. 3: the gap closes with rows
    full = cross_validate(Ridge(alpha=0.01), X, Y, folds=5)["test_score"]
    assert_allclose(curve.test[-1], full, rtol=1e-9)
    by_alpha = tenfold.validation_curve(Ridge(), "alpha", [1e-3, 0.1, 1e3], X, Y, folds=5)
    assert (np.diff(by_alpha.train.mean(axis=1)) < 0).all()  # a penalty only costs training score
    assert by_alpha.best in (0.1, 1e-3)
    with pytest.raises(ValueError, match="shares"):
        tenfold.learning_curve(Ridge(), X, Y, shares=[0.0, 1.0])


def test_stratified_folds_need_no_numbers():
    y = np.array(["yes", "no"])[(SPECIES > 0).astype(int)]
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    got = cross_validate(LogisticRegression(), IRIS, y, folds=folds)["test_score"]
    wanted = sk_cross_validate(sk.LogisticRegression(), IRIS, y, cv=folds)["test_score"]
    assert_array_equal(got, wanted)
