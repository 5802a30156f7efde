"""Gradient boosting: the trees of scikit-learn, and the same trees everywhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import tenfold
from tenfold import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tenfold.math.losses import AbsoluteLoss, Loss, PinballLoss, SquaredLoss
from tenfold.teaching.autodiff import FunctionLoss
from tenfold.testing.bitwise import assert_bitwise_equal
from tenfold.tree import _fixed_point, _memory_trainer, _trainers


@pytest.fixture(autouse=True)
def one_thread_of_scikit_learn():
    """Its threads wait for each other longer than they work where cores are few."""
    with threadpool_limits(1, user_api="openmp"):
        yield


SHORT = dict(max_iter=8, early_stopping=False, random_state=0)


def table(n=3000, seed=0):
    """Rows with missing values and a column of categories; no two splits have the same gain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 4] = rng.integers(0, 12, n)
    z = X.copy()
    X[rng.random(X.shape) < 0.05] = np.nan
    noise = rng.normal(size=n)
    return X, 2 * z[:, 0] + z[:, 1] * z[:, 2] + np.sin(7 * z[:, 4]) + 0.3 * noise


X, Y = table()
LABELS = np.digitize(Y, [-1, 1])


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "absolute_error"},
        {"l2_regularization": 3.0, "max_depth": 4},
        {"max_leaf_nodes": None, "min_samples_leaf": 60},
        {"max_bins": 16},
        {"monotonic_cst": [1, 0, 0, -1, 0]},
        {"interaction_cst": "no_interactions"},
        {"interaction_cst": [[0, 1], [1, 2]]},
        {"categorical_features": [4]},
    ],
    ids=str,
)
def test_predictions_are_scikit_learns(params):
    ours = HistGradientBoostingRegressor(**SHORT, **params).fit(X, Y)
    theirs = ensemble.HistGradientBoostingRegressor(**SHORT, **params).fit(X, Y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
    assert len(ours.trees_.words) == sum(len(p.nodes) for (p,) in theirs._predictors)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_predictions_of_positive_numbers_are_scikit_learns(loss):
    y = np.exp(Y / 3)
    ours = HistGradientBoostingRegressor(loss, **SHORT).fit(X, y)
    theirs = ensemble.HistGradientBoostingRegressor(loss=loss, **SHORT).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)


@pytest.mark.parametrize("y", [LABELS, LABELS > 0], ids=["three", "two"])
def test_probabilities_are_scikit_learns(y):
    w = np.random.default_rng(1).random(len(X))
    ours = HistGradientBoostingClassifier(**SHORT).fit(X, y, w)
    theirs = ensemble.HistGradientBoostingClassifier(**SHORT).fit(X, y, w)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


class LogCosh(Loss):
    """A loss whose curvature vanishes far from its minimum."""

    def value(self, z, y):
        return np.logaddexp(z - y, y - z)

    def gradient(self, z, y):
        return np.tanh(z - y)

    def curvature(self, z, y):
        return 1 - np.tanh(z - y) ** 2


def saturated(z, y):
    """A loss that is not convex: outliers hardly pull."""
    return (z - y) ** 2 / (1 + (z - y) ** 2)


MODELS = {
    "squared": (HistGradientBoostingRegressor(**SHORT, categorical_features=[4]), Y, None),
    "poisson": (
        HistGradientBoostingRegressor("poisson", max_iter=4, early_stopping=True, random_state=0),
        np.floor(np.abs(Y)),
        np.linspace(0, 1, len(Y)),
    ),
    "absolute": (
        HistGradientBoostingRegressor("absolute_error", max_iter=3, random_state=0),
        Y,
        np.arange(len(Y)) % 3 * 1.0,
    ),
    "quantiles": (
        HistGradientBoostingRegressor(
            "quantile", quantile=[0.2, 0.8], subsample=0.5, max_iter=3, random_state=0
        ),
        Y,
        None,
    ),
    "softmax": (
        HistGradientBoostingClassifier(
            max_features=0.6, growth="depthwise", max_leaf_nodes=9, max_iter=4, random_state=0
        ),
        LABELS,
        None,
    ),
    "log loss": (
        HistGradientBoostingClassifier(class_weight="balanced", max_iter=4, random_state=0),
        LABELS > 0,
        np.arange(len(Y)) % 3 * 1.0,
    ),
    "own": (
        HistGradientBoostingRegressor(LogCosh(), max_iter=4, subsample=0.7, random_state=0),
        40 * Y + 300,
        np.arange(len(Y)) % 3 * 1.0,
    ),
    "own, two targets": (
        HistGradientBoostingRegressor(FunctionLoss(saturated), max_iter=3, learning_rate=1.0),
        np.column_stack([40 * Y + 300, -Y]),
        None,
    ),
    "unlimited": (
        HistGradientBoostingClassifier(
            max_leaf_nodes=None, max_depth=6, interaction_cst="pairwise", max_iter=4, random_state=0
        ),
        LABELS > 0,
        None,
    ),
}


def fitted(name, place=X):
    model, y, w = MODELS[name]
    return clone(model).fit(place, y, w)


@pytest.fixture
def by_passes(monkeypatch):
    monkeypatch.setattr(_trainers, "_fits_memory", lambda *_: False)


@pytest.mark.parametrize("coarse", [False, True], ids=["fine", "coarse"])
@pytest.mark.parametrize("name", MODELS)
def test_passes_give_the_trees_of_a_fit_in_memory(name, coarse, monkeypatch):
    if coarse:
        monkeypatch.setattr(_fixed_point, "_MIN_COARSE_ROWS", 1000)
    expected = fitted(name)
    monkeypatch.setattr(_trainers, "_fits_memory", lambda *_: False)
    monkeypatch.setattr(_trainers, "_PASS_ROWS", 1000)
    assert_bitwise_equal(expected, fitted(name), "by passes")


@pytest.mark.usefixtures("by_passes")
@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_passes_over_files_give_the_same_trees(kind, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    if kind == "npy":
        np.save(tmp_path / "X.npy", X)
        rows = tmp_path / "X.npy"
    else:
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        pq.write_table(pa.table(columns), tmp_path / "X.parquet", row_group_size=777)
        rows = tmp_path / "X.parquet"
    model = HistGradientBoostingRegressor(**SHORT)
    assert_bitwise_equal(model.fit(X, Y), clone(model).fit(rows, Y), kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squared", "poisson", "absolute", "softmax", "own"])
def test_a_cluster_gives_the_same_trees(name, two_workers):
    import dask.array as da

    expected = fitted(name)
    model, y, w = MODELS[name]
    with tenfold.on(two_workers):
        remote = [None if a is None else da.from_array(np.asarray(a), 701) for a in (y, w)]
        assert_bitwise_equal(expected, fitted(name), "scattered")
        rows = da.from_array(X, (701, -1))
        assert_bitwise_equal(expected, clone(model).fit(rows, *remote), "Dask")


@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_threads_changes_no_tree(name, monkeypatch):
    from tenfold.tree import _memory_trainer

    with tenfold.threads(1):
        expected = fitted(name)
    monkeypatch.setattr(_memory_trainer, "_MIN_SHARED_ROWS", 50)
    monkeypatch.setattr(_memory_trainer, "_BLOCK_ROWS", 64)
    for n in (2, 8):
        with tenfold.threads(n):
            assert_bitwise_equal(expected, fitted(name), f"{n} threads")


@pytest.mark.parametrize("coarse", [False, True], ids=["fine", "coarse"])
def test_the_order_of_the_rows_changes_no_tree(coarse, monkeypatch):
    if coarse:
        monkeypatch.setattr(_fixed_point, "_MIN_COARSE_ROWS", 1000)
    order = np.random.default_rng(3).permutation(len(X))
    for model, y in (
        (HistGradientBoostingRegressor(**SHORT), Y),
        (HistGradientBoostingClassifier(**SHORT, categorical_features=[4]), LABELS),
    ):
        other = clone(model).fit(X[order], y[order])
        assert_bitwise_equal(clone(model).fit(X, y), other, "permuted")


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_whole_weights_are_repeated_rows(loss):
    w = np.random.default_rng(1).integers(0, 4, len(X))
    y = np.floor(np.abs(Y))
    model = HistGradientBoostingRegressor(loss, **SHORT, min_samples_leaf=1)
    weighted = clone(model).fit(X, y, w.astype(float))
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_array_equal(weighted.trees_.words, repeated.trees_.words)
    assert_array_equal(weighted.trees_.values, repeated.trees_.values)


@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("name", ["squared_error", "huber", "absolute_error", "quantile"])
def test_the_training_loss_never_rises(name, rate):
    model = HistGradientBoostingRegressor(
        name, quantile=0.7, learning_rate=rate, max_iter=20, early_stopping=True,
        validation_fraction=None, n_iter_no_change=100,
    ).fit(X, Y)  # fmt: skip
    assert len(model.train_score_) == 21
    assert (np.diff(model.train_score_) >= -1e-12).all()


RARE = np.isin(np.arange(len(Y)), np.argsort(np.nan_to_num(X[:, 0]))[-300::30])


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("name", ["log_loss", "poisson", "gamma"])
def test_steps_under_tiny_curvatures_do_not_raise_the_training_loss(name, rate):
    settings = dict(
        learning_rate=rate, max_iter=20, early_stopping=True, validation_fraction=None,
        n_iter_no_change=100,
    )  # fmt: skip
    if name == "log_loss":
        model = HistGradientBoostingClassifier(**settings).fit(X, RARE)
    else:
        y = np.where(RARE, 300.0, 0.01)
        model = HistGradientBoostingRegressor(name, **settings).fit(X, y)
    assert (np.diff(model.train_score_) >= -1e-12).all()


def test_rare_classes_do_not_drive_scores_away():
    y = np.where(RARE, 2, np.arange(len(Y)) % 400 == 0)
    model = HistGradientBoostingClassifier(max_iter=20, learning_rate=1.0, random_state=0)
    p = model.fit(X, y).predict_proba(X)[np.arange(len(y)), y.astype(int)]
    assert -np.log(p).mean() < 0.05


def test_quantiles_of_several_levels_do_not_cross_and_cover_their_share():
    levels = [0.05, 0.3, 0.5, 0.7, 0.95]
    model = HistGradientBoostingRegressor("quantile", quantile=levels, max_iter=40).fit(X, Y)
    bands = model.predict(X)
    assert bands.shape == (len(X), 5)
    assert (np.diff(bands, axis=1) >= 0).all()
    assert_allclose((Y[:, None] <= bands).mean(axis=0), levels, atol=0.06)


def test_several_targets_are_several_models():
    both = HistGradientBoostingRegressor(**SHORT).fit(X, np.column_stack([Y, -(Y**2)]))
    for k, y in enumerate((Y, -(Y**2))):
        alone = HistGradientBoostingRegressor(**SHORT).fit(X, y)
        assert_allclose(both.predict(X)[:, k], alone.predict(X), rtol=1e-9)
    assert both.n_trees_per_iteration_ == 2


def test_a_loss_of_ones_own():
    class Doubled(SquaredLoss):
        def curvature(self, z, y):
            return np.full_like(z, 2.0)

    own = HistGradientBoostingRegressor(Doubled(), learning_rate=0.2, **SHORT).fit(X, Y)
    half = HistGradientBoostingRegressor(learning_rate=0.1, **SHORT).fit(X, Y)
    assert_allclose(own.predict(X), half.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "name"), [(AbsoluteLoss(), "absolute_error"), (PinballLoss(0.9), "quantile")]
)
def test_losses_without_curvature_are_those_of_their_names(loss, name):
    given = HistGradientBoostingRegressor(loss, **SHORT).fit(X, Y)
    named = HistGradientBoostingRegressor(name, quantile=0.9, **SHORT).fit(X, Y)
    assert_array_equal(given.predict(X), named.predict(X))


@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 9.0])
def test_an_own_loss_that_is_not_convex_never_rises(scale, rate):
    def relative(z, y):
        return saturated(z / scale, y / scale)

    settings = {"early_stopping": True, "validation_fraction": None, "n_iter_no_change": 99}
    model = HistGradientBoostingRegressor(
        FunctionLoss(relative), max_iter=20, learning_rate=rate, **settings
    ).fit(X, scale * (Y + 30))
    assert (np.diff(model.train_score_) >= 0).all()
    assert model.train_score_[-1] > model.train_score_[0] / 2


def test_an_own_loss_respects_weights_and_monotone_constraints():
    w = np.random.default_rng(1).integers(0, 3, len(X))
    model = HistGradientBoostingRegressor(LogCosh(), **SHORT, min_samples_leaf=1)
    weighted = clone(model).fit(X, Y, w.astype(float))
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    assert_array_equal(weighted.trees_.values, repeated.trees_.values)
    falling = clone(model).set_params(monotonic_cst=[-1, 0, 0, 0, 0]).fit(X, 20 * Y)
    grid = np.repeat(X[:1], 50, axis=0)
    grid[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(falling.predict(grid)) <= 0).all()


def test_steps_of_an_own_loss_lower_it_where_its_curvature_vanishes():
    y = 40 * Y + 300
    settings = {"early_stopping": True, "validation_fraction": None, "n_iter_no_change": 99}
    model = HistGradientBoostingRegressor(LogCosh(), max_iter=60, **settings).fit(X, y)
    assert (np.diff(model.train_score_) >= 0).all()
    median = HistGradientBoostingRegressor("absolute_error", max_iter=60).fit(X, y)
    assert abs(model._start[0] - np.median(y)) < 1
    far = np.abs(y - np.median(y)).mean()
    assert np.abs(y - model.predict(X)).mean() < np.abs(y - median.predict(X)).mean() + 0.1 * far


def test_an_own_loss_without_curvature_or_with_nan_is_refused():
    class Flat(LogCosh):
        def curvature(self, z, y):
            return np.zeros_like(z)

    class Broken(LogCosh):
        def gradient(self, z, y):
            return np.full_like(z, np.nan)

    with pytest.raises(ValueError, match="curvature of the loss is 0 in all rows"):
        HistGradientBoostingRegressor(Flat()).fit(X, Y)
    with pytest.raises(ValueError, match="must return finite gradients"):
        HistGradientBoostingRegressor(Broken()).fit(X, Y)


def test_tweedie_lies_between_poisson_and_gamma():
    y = np.exp(Y / 3)
    fits = {
        p: HistGradientBoostingRegressor("tweedie", tweedie_power=p, **SHORT).fit(X, y)
        for p in (1.0, 2.0)
    }
    for power, loss in ((1.0, "poisson"), (2.0, "gamma")):
        same = HistGradientBoostingRegressor(loss, **SHORT).fit(X, y)
        assert_array_equal(fits[power].predict(X), same.predict(X))


def test_a_warm_start_continues_the_fit():
    whole = HistGradientBoostingRegressor(max_iter=9, random_state=0).fit(X, Y)
    parts = HistGradientBoostingRegressor(max_iter=4, random_state=0, warm_start=True).fit(X, Y)
    parts.set_params(max_iter=9).fit(X, Y)
    assert parts.n_iter_ == 9
    assert_bitwise_equal(whole, parts, "warm start")
    with pytest.raises(ValueError, match="max_iter=3 must be larger"):
        parts.set_params(max_iter=3).fit(X, Y)


def test_staged_predictions_end_with_the_prediction():
    model = HistGradientBoostingClassifier(**SHORT).fit(X, LABELS)
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert_allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_iter_
    assert_array_equal(stages[-1], model.decision_function(X))


def test_early_stopping_on_held_out_and_on_given_rows():
    noise = np.random.default_rng(0).normal(size=len(X))
    model = HistGradientBoostingRegressor(early_stopping=True, random_state=0).fit(X, noise)
    assert model.n_iter_ < 100
    assert len(model.validation_score_) == model.n_iter_ + 1
    given = HistGradientBoostingRegressor(early_stopping=True, random_state=0)
    given.fit(X[:2000], noise[:2000], X_val=X[2000:], y_val=noise[2000:])
    assert given.n_iter_ < 100
    scored = clone(model).set_params(scoring="neg_mean_absolute_error").fit(X, noise)
    assert scored.validation_score_.shape == (scored.n_iter_ + 1,)
    with pytest.raises(ValueError, match="y_val was not provided"):
        given.fit(X, Y, X_val=X)


def test_sparse_rows_are_dense_rows():
    from scipy import sparse

    dense = np.where(np.random.default_rng(0).random((2000, 6)) < 0.8, 0.0, 1.0) * np.arange(1, 7)
    y = dense @ np.arange(6.0)
    model = HistGradientBoostingRegressor(**SHORT)
    thin = clone(model).fit(sparse.csr_array(dense), y)
    assert_bitwise_equal(model.fit(dense, y), thin, "sparse")
    assert_array_equal(thin.predict(sparse.csr_array(dense)), model.predict(dense))


def test_categories_of_a_table_and_more_of_them_than_bins():
    import pandas as pd

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 400, 8000)
    effect = rng.normal(size=400)
    words = np.array([f"town {c:03}" for c in range(400)])
    frame = pd.DataFrame({"town": pd.Categorical(words[codes]), "x": rng.normal(size=8000)})
    y = effect[codes] + frame["x"]
    model = HistGradientBoostingRegressor(max_iter=30, early_stopping=False, learning_rate=0.3)
    model.fit(frame, y)
    assert model.is_categorical_.tolist() == [True, False]
    assert model.score(frame, y) > 0.7
    known = frame["town"].astype(object).where(frame.index == 0)
    unknown = frame.assign(town=known.fillna("nowhere").astype("category"))
    missing = frame.assign(town=known.astype("category"))
    assert_array_equal(model.predict(unknown), model.predict(missing))


def test_importances_name_the_columns_that_matter():
    model = HistGradientBoostingRegressor(**SHORT).fit(X, Y)
    assert model.feature_importances_.argmax() == 0
    assert_allclose(model.feature_importances_.sum(), 1)
    assert model.split_counts_.sum() == (~np.isin(model.trees_.gain, 0)).sum()


def test_a_monotone_constraint_holds_everywhere():
    model = HistGradientBoostingRegressor("absolute_error", monotonic_cst={"a": 1}, max_iter=20)
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcde"))
    model.fit(frame, Y)
    for row in X[:20]:
        line = np.repeat(row[None], 50, axis=0)
        line[:, 0] = np.linspace(-3, 3, 50)
        scores = model.predict(pd.DataFrame(line, columns=list("abcde")))
        assert (np.diff(scores) >= 0).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "gamma"}, "strictly positive"),
        ({"loss": "poisson"}, "non-negative"),
        ({"loss": "quantile"}, "quantile=0.9"),
        ({"interaction_cst": [[9]]}, "invalid indices"),
        ({"categorical_features": [0], "monotonic_cst": [1, 0, 0, 0, 0]}, "Categorical"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_in_words(params, message):
    with pytest.raises(ValueError, match=message):
        HistGradientBoostingRegressor(**params).fit(X, Y)


def test_few_rows_one_value_and_one_class():
    for y in ([1.0], [2.0, 2.0, 2.0]):
        rows = np.arange(len(y), dtype=float)[:, None]
        assert_array_equal(HistGradientBoostingRegressor().fit(rows, y).predict(rows), y)
    only = HistGradientBoostingClassifier().fit(X, np.full(len(X), "a"))
    assert set(only.predict(X)) == {"a"}
    assert_array_equal(only.predict_proba(X), 1.0)


@pytest.mark.parametrize(
    "name", ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]
)
def test_attributes_and_methods_are_scikit_learns(name):
    theirs, ours = (
        getattr(module, name)(max_iter=2).fit(X, LABELS) for module in (ensemble, tenfold)
    )
    public = {attribute for attribute in dir(theirs) if attribute[0] != "_"}
    assert all(hasattr(ours, attribute) for attribute in public)


def test_many_columns_and_many_categories():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60, 5000)).astype(np.float32)
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5).fit(wide, wide[:, 7])
    assert model.split_counts_[7] > 0
    codes = rng.integers(0, 10_000, 30_000)[:, None].astype(float)
    y = np.sin(codes[:, 0])
    model = HistGradientBoostingRegressor(
        max_iter=20, categorical_features=[0], early_stopping=False
    ).fit(codes, y)
    assert np.isfinite(model.predict(codes)).all()


def test_histograms_are_added_up_again_where_there_is_no_room_for_all(monkeypatch):
    from tenfold.tree import _memory_trainer

    expected = fitted("squared")
    monkeypatch.setattr(_memory_trainer, "_HISTOGRAM_BYTES", 1)
    assert_bitwise_equal(expected, fitted("squared"), "little room")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"growth": "depthwise", "max_leaf_nodes": 9},
        {"max_depth": 3, "min_samples_leaf": 1},
        {"subsample": 0.6, "max_leaf_nodes": 62, "min_samples_leaf": 2},
        {"monotonic_cst": [1, 0, -1]},
        {"max_leaf_nodes": 2},
        {"loss": "poisson"},
    ],
)
def test_trees_in_one_call_are_those_of_steps(params, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.exp(np.nan_to_num(X) @ [1.0, 0.5, -0.5] + 0.3 * rng.normal(size=300))
    w = rng.integers(0, 3, 300).astype(float)
    model = tenfold.HistGradientBoostingRegressor(max_iter=4, random_state=0, **params)
    at_once = [clone(model).fit(X, y), clone(model).fit(X, y, sample_weight=w + 0.3)]
    calls = []
    monkeypatch.setattr(
        _memory_trainer.MemoryTrainer, "_takes_one_call", lambda *_: bool(calls.append(1))
    )
    by_steps = [clone(model).fit(X, y), clone(model).fit(X, y, sample_weight=w + 0.3)]
    assert len(calls) == 8
    for one, other in zip(at_once, by_steps, strict=True):
        assert_bitwise_equal(one, other, str(params))


def test_a_row_gets_the_same_score_alone_among_many_and_beside_gaps():
    X = np.random.default_rng(3).normal(size=(3000, 4)).astype(np.float32)
    X[::7, 2] = np.inf
    X[3::7, 2] = -np.inf
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 3])
    model = HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y)
    together = model.predict(X)
    few = [model.predict(X[i : i + 5]) for i in range(0, 3000, 5)]  # too few to go side by side
    assert_array_equal(together, np.concatenate(few))
    holes = X.copy()
    holes[::511] = np.nan  # a missing value in every block
    there = np.arange(3000) % 511 > 0
    assert_array_equal(model.predict(holes)[there], together[there])
