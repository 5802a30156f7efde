"""Cross-validation and search equal a plain loop of clone, fit and score, whatever is inside."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection as sk
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import SGDClassifier as SkSGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import tenfold
from tenfold import (
    CostSensitiveClassifier,
    GaussianNB,
    Lasso,
    LinearRegression,
    LogisticRegression,
    NearestCentroid,
    PoissonRegressor,
    Ridge,
    Search,
    cross_validate,
    learning_curve,
    search,
    validation_curve,
)
from tenfold.model_selection import ChosenOnTrainingWarning, compare
from tenfold.testing.instances import all_models, make_dataset

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 4))
Y = X @ [1.0, 2.0, 0.0, -1.0] + RNG.normal(size=N)
LABELS = np.where(Y > 0, "yes", "no")
COUNTS = RNG.poisson(np.exp(X[:, 0] / 2))
PERSON = RNG.integers(0, 12, N)
DRAWN = RNG.integers(0, N, N)
LEFT_OUT = np.setdiff1d(np.arange(N), DRAWN)
FOLDS = {
    "bootstrap": [(DRAWN, LEFT_OUT), (DRAWN[:60], np.repeat(LEFT_OUT, 2))],
    "shuffled": list(sk.ShuffleSplit(3, test_size=0.3, random_state=0).split(X)),
    "k-fold": list(sk.KFold(3, shuffle=True, random_state=0).split(X)),
    "overlapping": [(np.arange(100), np.arange(80, N)), (np.arange(50), np.arange(40, 60))],
}


ALL = [model for model in all_models() if hasattr(model, "score")]


def name_of(model):
    return type(model).__name__


def plain_loop(model, X, y, folds):
    """Scores of each fold by clone, fit, score."""
    scores = []
    for train, test in folds:
        fitted = clone(model).fit(X[train], *([] if y is None else [y[train]]))
        scores.append(fitted.score(X[test], *([] if y is None else [y[test]])))
    return np.array(scores)


def kinds():
    cost = CostSensitiveClassifier(LogisticRegression(), [[0.0, 1.0], [5.0, 0.0]])
    inner = Search(LogisticRegression(), {"C": [0.01, 1.0]}, folds=3, scoring="neg_log_loss")
    return {
        "least squares": (LinearRegression(), Y),
        "ridge": (Ridge(), Y),
        "lasso": (Lasso(alpha=0.1), Y),
        "poisson": (PoissonRegressor(), COUNTS),
        "naive Bayes": (GaussianNB(), LABELS),
        "logistic": (LogisticRegression(), LABELS),
        "centroids": (NearestCentroid(metric="manhattan"), LABELS),
        "moments": (make_pipeline(StandardScaler(), Ridge()), Y),
        "pipeline": (make_pipeline(PolynomialFeatures(2), Lasso(alpha=0.1)), Y),
        "poisson pipeline": (make_pipeline(StandardScaler(), PoissonRegressor()), COUNTS),
        "cost": (cost, LABELS),
        "search": (inner, LABELS),
        "forest": (RandomForestClassifier(5, random_state=0), LABELS),
        "sgd": (SkSGDClassifier(random_state=0), LABELS),
    }


@pytest.mark.filterwarnings("ignore::tenfold.model_selection.ChosenOnTrainingWarning")
@pytest.mark.parametrize("folds", FOLDS)
@pytest.mark.parametrize("kind", kinds())
def test_scores_are_those_of_a_plain_loop(kind, folds):
    model, y = kinds()[kind]
    got = cross_validate(model, X, y, folds=FOLDS[folds])["test_score"]
    assert_allclose(got, plain_loop(model, X, y, FOLDS[folds]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", ALL, ids=name_of)
def test_every_model_keeps_the_folds_as_they_are_given(model):
    Z, y = make_dataset(model, rows=90)
    if "radius" in model.get_params():  # few rows lie far apart
        model = clone(model).set_params(radius=20.0)
    rng = np.random.default_rng(1)
    train = rng.integers(0, 90, 90)
    folds = [(train, np.setdiff1d(np.arange(90), train)), (np.arange(60), np.arange(60, 90))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = plain_loop(model, Z, y, folds)
        got = cross_validate(model, Z, y, folds=folds)["test_score"]
    assert_allclose(got, want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("pipeline", "grid", "y"),
    [
        (Pipeline([("m", Ridge())]), {"m": [Ridge(), Lasso(0.1), LinearRegression()]}, Y),
        (
            Pipeline([("s", StandardScaler()), ("m", LinearRegression())]),
            [
                {"m": [Ridge()], "m__alpha": [0.1, 10.0]},
                {"s": ["passthrough", PolynomialFeatures(2)], "m": [Lasso(0.1), Ridge()]},
            ],
            Y,
        ),
        (Pipeline([("m", Ridge())]), {"m": [GaussianNB(), LogisticRegression()]}, LABELS),
        (NearestCentroid(), {"metric": ["euclidean", "manhattan"]}, LABELS),
        (Search(Ridge(), {"alpha": [0.1, 1.0]}, folds=3), {"model": [Ridge()]}, Y),
        (LogisticRegression(), {"C": [0.1, 1.0], "fit_intercept": [True, False]}, LABELS),
        (LinearRegression(), {"positive": [True, False], "fit_intercept": [True, False]}, Y),
        (CostSensitiveClassifier(LogisticRegression(), [[0, 1], [5, 0]]),
         {"estimator": [LogisticRegression(C=0.01), GaussianNB()]}, LABELS),
    ],
)  # fmt: skip
def test_a_search_over_families_is_scikit_learns(pipeline, grid, y):
    folds = list(sk.KFold(4, shuffle=True, random_state=0).split(X))
    got = search(pipeline, grid, X, y, folds=folds)
    want = sk.GridSearchCV(pipeline, grid, cv=folds).fit(X, y)
    name = "mean_test_score"
    assert_allclose(got.cv_results_[name], want.cv_results_[name], rtol=1e-8, atol=1e-12)
    assert str(got.best_params_) == str(want.best_params_)
    assert_allclose(got.score(X, y), want.score(X, y))


def test_a_place_in_a_pipeline_may_be_empty():
    place = Pipeline([("model", "passthrough")])
    found = search(place, {"model": [GaussianNB(), LogisticRegression()]}, X, LABELS, folds=4)
    folds = list(sk.KFold(4).split(X))
    want = [plain_loop(m, X, LABELS, folds).mean() for m in (GaussianNB(), LogisticRegression())]
    assert_allclose(found.cv_results_["mean_test_score"], want)


@pytest.mark.parametrize("model", [m for m in ALL if hasattr(m, "warm_start")], ids=name_of)
def test_candidates_are_those_of_cold_starts(model):
    """A fit that starts from its neighbor ends where a fit of its own does."""
    Z, y = make_dataset(model, rows=90)
    names = [n for n in ("C", "alpha", "reg_covar", "tol", "fit_intercept") if n in vars(model)]
    values = {"reg_covar": [1e-3, 0.5], "tol": [1e-6, 1e-7], "fit_intercept": [True, False]}
    grid = {name: values.get(name, [0.1, 1.0]) for name in names[:1] + names[-1:]}
    folds = list(sk.KFold(2).split(Z))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = search(model, grid, Z, y, folds=folds, refit=False).cv_results_
        for params, score in zip(got["params"], got["mean_test_score"], strict=True):
            want = plain_loop(clone(model).set_params(**params), Z, y, folds).mean()
            assert_allclose(score, want, rtol=2e-3, atol=2e-3)


def test_long_arrays_among_the_parameters_are_told_apart():
    grid = {"alpha": [np.r_[1.0, 1.0], np.r_[1.0, 1e4]]}
    two = np.column_stack([Y, -Y])
    got = search(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": grid["alpha"]}, X, two)
    one, other = got.cv_results_["mean_test_score"]
    assert one > other


def test_costs_decide_a_search():
    model = CostSensitiveClassifier(LogisticRegression(), [[0.0, 1.0], [20.0, 0.0]])
    found = search(model, {"estimator__C": [1e-4, 1.0]}, X, LABELS, folds=5)
    assert found.best_score_ < 0  # minus a cost, not an accuracy
    assert found.score(X, LABELS) == found.best_estimator_.score(X, LABELS)


def test_models_that_are_judged_by_different_scores_are_not_compared():
    models = {"plain": GaussianNB(), "cost": CostSensitiveClassifier(GaussianNB())}
    with pytest.raises(ValueError, match="different default scores"):
        compare(models, X, LABELS, folds=3)
    assert compare(models, X, LABELS, folds=3, scoring="accuracy").score == "accuracy"


def test_testing_on_training_rows_is_warned_of():
    rows = np.arange(N)
    with pytest.warns(ChosenOnTrainingWarning, match="fold 0 is tested on 20 rows"):
        cross_validate(Ridge(), X, Y, folds=[(rows, rows[:20])])
    with pytest.warns(ChosenOnTrainingWarning, match="fold 0 is tested on 120 rows"):
        search(Ridge(), {"alpha": [1.0]}, X, Y, folds=[(rows, rows)])


@pytest.mark.parametrize(
    ("folds", "says"),
    [
        ([(np.arange(5), np.array([120]))], "test rows of fold 0 must be .* from 0 to 119"),
        ([(np.arange(5), np.array([1.5]))], "test rows of fold 0 must be row indices"),
        ([(np.ones(7, bool), np.arange(3))], "mask of the training rows of fold 0"),
        ([np.arange(5)], "fold 0 must be a pair"),
        ([(np.arange(5), np.array([], int))], "at least one"),
    ],
)  # fmt: skip
def test_folds_that_cannot_be_kept_are_refused(folds, says):
    with pytest.raises(ValueError, match=says):
        cross_validate(Ridge(), X, Y, folds=folds)


def test_a_splitter_of_ones_own_sees_the_rows():
    class ByFirstColumn:
        def split(self, X, y=None, groups=None):
            order = np.argsort(np.asarray(X)[:, 0])
            yield order[60:], order[:60]
            yield order[:60], order[60:]

    got = cross_validate(Ridge(), X, Y, folds=ByFirstColumn())["test_score"]
    assert_allclose(got, plain_loop(Ridge(), X, Y, ByFirstColumn().split(X)))


@pytest.fixture(scope="module")
def table():
    columns = {name: X[:, j] for j, name in enumerate("pqrs")}
    return pd.DataFrame({**columns, "person": [f"p{i}" for i in PERSON], "y": Y})


@pytest.mark.parametrize("place", ["parquet", "csv", "feather", "pandas", "polars", "arrow"])
def test_groups_may_be_a_column_of_the_data(table, place, tmp_path):
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    where = tmp_path / f"rows.{place}"
    if place in ("parquet", "feather"):
        getattr(table, f"to_{place}")(where)
    elif place == "csv":
        table.to_csv(where, index=False, float_format="%.17g")
    else:
        make = {"pandas": table.copy, "polars": lambda: polars.from_pandas(table)}
        where = make.get(place, lambda: arrow.Table.from_pandas(table))()
    folds = list(sk.GroupKFold(4).split(X, Y, table.person))
    for model in (Ridge(), make_pipeline(PolynomialFeatures(2), Ridge())):
        got = cross_validate(model, where, "y", folds=4, groups="person")["test_score"]
        assert_allclose(got, plain_loop(model, X, Y, folds), rtol=1e-8)
    found = Search(Ridge(), {"alpha": [0.1, 1.0]}, folds=4).fit(where, "y", groups="person")
    assert found.best_estimator_.n_features_in_ == 4
    board = compare({"a": Ridge(), "b": Lasso()}, where, "y", folds=4, groups="person")
    assert board.names == ["a", "b"]


def test_groups_without_such_a_column_are_refused(table):
    with pytest.raises(ValueError, match="no such column; there are"):
        cross_validate(Ridge(), table, "y", groups="people")
    with pytest.raises(TypeError, match="these rows are open"):
        cross_validate(Ridge(), tenfold.open(X, Y), groups="person")
    with pytest.raises(TypeError, match="no names of columns"):
        cross_validate(Ridge(), X, Y, groups="person")


def test_refinement_stays_finite_beside_infinity():
    found = search(LogisticRegression(), {"C": [0.01, 1.0, np.inf]}, X, LABELS, how="refined")
    tried = np.array([each["C"] for each in found.cv_results_["params"]], float)
    assert not np.isnan(tried).any()
    assert len(tried) > 3
    assert np.isinf(tried).sum() == 1
    separable = np.where(X[:, 0] > 0, "a", "b")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        alone = search(LogisticRegression(), {"C": [np.inf]}, X, separable, how="refined")
    assert alone.best_params_ == {"C": np.inf}


def test_one_standard_error_says_what_it_cannot_compare():
    grid = [{"C": [0.1]}, {"fit_intercept": [False]}]
    with pytest.raises(ValueError, match="not a number in every candidate"):
        search(LogisticRegression(), grid, X, LABELS, rule="one_standard_error")


MODELS = [
    Ridge(),
    LogisticRegression(),
    PoissonRegressor(),
    RandomForestClassifier(3, random_state=0),
]


def target(model):
    if isinstance(model, PoissonRegressor):
        return COUNTS
    return LABELS if is_classifier(model) else Y


@pytest.mark.parametrize(
    "options",
    [
        {"cv": 3},
        {"n_jobs": 1},
        {"cv": None, "verbose": 0, "pre_dispatch": 2},
        {"cv": sk.ShuffleSplit(2, random_state=0), "return_train_score": True},
        {"cv": 3, "return_estimator": True, "return_indices": True},
        {"cv": 3, "params": {"sample_weight": np.arange(1.0, N + 1)}, "error_score": "raise"},
        {"cv": sk.GroupKFold(3), "groups": PERSON},
        {"cv": 3, "scoring": lambda model, X, y: {"a": 1.0, "b": model.score(X, y)}},
    ],
)
@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_cross_validate_takes_scikit_learns_arguments(model, options):
    got = cross_validate(model, X, target(model), **options)
    want = sk.cross_validate(model, X, target(model), **options)
    assert isinstance(got, dict)
    assert set(got) == set(want)
    for key in want:
        if key.startswith(("test_", "train_")):
            assert_allclose(got[key], want[key], rtol=1e-8)
    assert [type(m) for m in got.get("estimator", [])] == [
        type(m) for m in want.get("estimator", [])
    ]
    by_name = cross_validate(estimator=model, X=X, y=target(model), **options)
    assert set(by_name) == set(want)


@pytest.mark.parametrize("scoring", ["accuracy", ["accuracy", "f1_macro"], {"a": "accuracy"}])
def test_scoring_of_scikit_learn_names_the_keys(scoring):
    got = cross_validate(GaussianNB(), X, LABELS, cv=4, scoring=scoring)
    want = sk.cross_validate(GaussianNB(), X, LABELS, cv=4, scoring=scoring)
    assert list(got) == list(want)
    for key in want:
        if key.startswith("test_"):
            assert_allclose(got[key], want[key])


def test_a_fold_that_fails_scores_nan():
    y = np.where(np.arange(N) < 60, "a", "b")  # the first fold trains on one class only
    folds = [(np.arange(60, N), np.arange(60)), (np.arange(30, 90), np.arange(30))]
    with pytest.warns(FitFailedWarning):
        got = cross_validate(LogisticRegression(), X, y, cv=folds)["test_score"]
    with pytest.warns(FitFailedWarning):
        want = sk.cross_validate(LogisticRegression(), X, y, cv=folds)["test_score"]
    assert_array_equal(np.isnan(got), [True, False])
    assert_allclose(got, want)
    with pytest.raises(ValueError, match="class"):
        cross_validate(LogisticRegression(), X, y, folds=folds)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")  # one class
@pytest.mark.parametrize(
    "options",
    [
        {"cv": 3},
        {"train_sizes": [0.3, 1.0]},
        {"train_sizes": [20, 50], "cv": 4, "shuffle": True, "random_state": 1},
        {"cv": 3, "return_times": True, "n_jobs": 1},
        {"cv": sk.GroupKFold(3), "groups": PERSON, "scoring": None},
    ],
)
@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_learning_curve_takes_scikit_learns_arguments(model, options):
    got = learning_curve(model, X, target(model), **options)
    want = sk.learning_curve(model, X, target(model), **options)
    assert len(got) == len(want)
    for a, b in zip(got[:3], want[:3], strict=True):
        assert_allclose(a, b, rtol=1e-8)


@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"cv": 3, "error_score": "raise", "n_jobs": 1}])
@pytest.mark.parametrize(
    ("model", "name", "values"),
    [
        (Ridge(), "alpha", [0.1, 10.0]),
        (LogisticRegression(), "C", [0.1, 10.0]),
        (make_pipeline(StandardScaler(), Ridge()), "ridge__alpha", [0.1, 10.0]),
        (RandomForestClassifier(3, random_state=0), "max_depth", [1, 4]),
    ],
    ids=["ridge", "logistic", "pipeline", "forest"],
)
def test_validation_curve_takes_scikit_learns_arguments(model, name, values, options):
    y = target(model)
    want = sk.validation_curve(model, X, y, param_name=name, param_range=values, **options)
    got = validation_curve(model, X, y, param_name=name, param_range=values, **options)
    named = validation_curve(
        estimator=model, X=X, y=y, param_name=name, param_range=values, **options
    )
    for answer in (got, named):
        assert isinstance(answer, tuple)
        for a, b in zip(answer, want, strict=True):
            assert_allclose(a, b, rtol=1e-8)


def test_curves_of_our_own_unpack_as_scikit_learns():
    sizes, train, test = learning_curve(Ridge(), X, Y, shares=[0.5, 1.0], folds=4)
    assert train.shape == test.shape == (len(sizes), 4)
    train, test = validation_curve(Ridge(), "alpha", [0.1, 1.0], X, Y, folds=4)
    assert train.shape == test.shape == (2, 4)


def test_arguments_of_neither_library_are_refused():
    with pytest.raises(TypeError, match="no argument 'fold'"):
        cross_validate(Ridge(), X, Y, fold=3)
    with pytest.raises(TypeError, match="folds and cv are the same"):
        learning_curve(Ridge(), X, Y, folds=3, cv=3)
    with pytest.raises(TypeError, match="given twice"):
        cross_validate(Ridge(), X, Y, estimator=Ridge())
    with pytest.raises(TypeError, match="needs a model"):
        cross_validate(X=X, y=Y)
    with pytest.raises(TypeError, match="needs a parameter's name"):
        validation_curve(Ridge(), X=X, y=Y)


def test_scikit_learns_arguments_take_files(table, tmp_path):
    where = tmp_path / "rows.parquet"
    table.to_parquet(where)
    folds = list(sk.GroupKFold(5).split(X, Y, table.person))
    want = plain_loop(Ridge(), X, Y, folds)
    got = cross_validate(Ridge(), where, "y", cv=sk.GroupKFold(5), groups="person")
    assert_allclose(got["test_score"], want)
    options = {"cv": sk.GroupKFold(5), "train_sizes": [0.5, 1.0]}
    got = learning_curve(Ridge(), where, "y", groups="person", **options)
    want = sk.learning_curve(Ridge(), X, Y, groups=table.person, **options)
    for a, b in zip(got, want, strict=True):
        assert_allclose(a, b)


@pytest.mark.parametrize("kind", ["SVC", "KernelRidge", "KNeighborsClassifier"])
def test_precomputed_matrices_are_cut_in_rows_and_columns(kind):
    Z, y = make_dataset(getattr(tenfold, kind)(), rows=60)
    if kind == "KNeighborsClassifier":
        model, K = tenfold.KNeighborsClassifier(3, metric="precomputed"), cdist(Z, Z)
    else:
        model, K = getattr(tenfold, kind)(kernel="precomputed"), Z @ Z.T
    y = y if y.ndim == 1 else y[:, 0]
    folds = list(sk.KFold(3).split(Z))
    want = []
    for train, test in folds:
        fitted = clone(model).fit(K[np.ix_(train, train)], y[train])
        want.append(fitted.score(K[np.ix_(test, train)], y[test]))
    assert_allclose(cross_validate(model, K, y, folds=folds)["test_score"], want)
    name = "n_neighbors" if kind == "KNeighborsClassifier" else "C" if kind == "SVC" else "alpha"
    search = tenfold.Search(model, {name: [1, 3]}, folds=folds).fit(K, y)
    assert np.isfinite(search.best_score_)
