"""Bagging: each bag is a fit to its rows, and follows from row numbers alone."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import ensemble
from sklearn.linear_model import Ridge as ForeignRidge

import tenfold
from tenfold import (
    BaggingClassifier,
    BaggingRegressor,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Ridge,
)
from tenfold.ensemble._bootstrap import Draw


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(18_000, 6))
    score = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.2] + rng.normal(size=len(X))
    return X, np.array(["low", "mid", "top"])[np.digitize(score, [-1, 1])], score


def test_counts_are_poisson_and_do_not_depend_on_chunks():
    draw = Draw(seed=11, rate=1.0, replace=True)
    counts = draw.counts(0, 200_000)
    shares = np.bincount(counts.astype(int), minlength=4)[:4] / len(counts)
    wanted = np.exp(-1) / np.array([1, 1, 2, 6])
    assert np.abs(shares - wanted).max() < 4 * np.sqrt(0.25 / len(counts))
    assert abs(counts.var() - 1) < 0.02
    assert np.array_equal(counts[1234:5678], draw.counts(1234, 5678 - 1234))
    other = Draw(seed=12, rate=1.0, replace=True).counts(0, 200_000)
    assert abs(np.corrcoef(counts, other)[0, 1]) < 0.01
    assert set(Draw(seed=1, rate=0.3, replace=False).counts(0, 50_000)) == {0.0, 1.0}
    assert abs(Draw(seed=1, rate=0.3, replace=False).counts(0, 50_000).mean() - 0.3) < 0.01
    assert Draw(seed=1, rate=1.0, replace=False).counts(0, 5_000).all()


@pytest.mark.parametrize("member", [Ridge(), GaussianNB(), LinearDiscriminantAnalysis()])
def test_each_bag_is_the_fit_to_its_rows(rows, member):
    X, y, score = rows
    X, target = X[:2_000], (score if isinstance(member, Ridge) else y)[:2_000]
    bagged = BaggingRegressor if isinstance(member, Ridge) else BaggingClassifier
    model = bagged(member, 4, max_features=0.7, random_state=3).fit(X, target)
    for each, drawn, columns in zip(
        model.estimators_, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        part = X[drawn][:, columns]
        alone = tenfold.testing.clone_model(member).fit(part, target[drawn])
        if isinstance(member, Ridge):
            assert np.allclose(each.coef_, alone.coef_, rtol=1e-9)
        else:
            ours = each.predict_proba(X[:, columns])
            assert np.allclose(ours, alone.predict_proba(X[:, columns]), rtol=0, atol=1e-9)


def test_predictions_are_means_and_out_of_bag_leaves_rows_out(rows):
    X, y, score = rows
    X, y, score = X[:800], y[:800], score[:800]
    model = BaggingRegressor(Ridge(), 30, oob_score=True, random_state=0).fit(X, score)
    wanted = np.mean([each.predict(X) for each in model.estimators_], axis=0)
    assert np.allclose(model.predict(X), wanted)
    out = np.array([~np.isin(np.arange(800), drawn) for drawn in model.estimators_samples_])
    each = np.array([m.predict(X) for m in model.estimators_])
    assert np.allclose(model.oob_prediction_, (each * out).sum(axis=0) / out.sum(axis=0))
    labels = BaggingClassifier(LogisticRegression(), 30, oob_score=True, random_state=0).fit(X, y)
    theirs = ensemble.BaggingClassifier(LogisticRegression(), 30, oob_score=True, random_state=0)
    assert abs(labels.oob_score_ - theirs.fit(X, y).oob_score_) < 0.02
    assert np.allclose(labels.oob_decision_function_.sum(axis=1), 1)


def test_files_and_threads_give_the_same_bits(rows, tmp_path):
    X, y, _ = rows
    path = tmp_path / "rows.parquet"
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "label": y}), path, row_group_size=2_500)
    model = BaggingClassifier(LogisticRegression(), 5, max_features=4, random_state=1)
    wanted = tenfold.testing.clone_model(model).fit(X, y).predict_proba(X)
    from_file = tenfold.testing.clone_model(model).fit(path, "label")
    assert np.array_equal(from_file.predict_proba(path), wanted)
    for n in (1, 3):
        with tenfold.threads(n):
            again = tenfold.testing.clone_model(model).fit(X, y).predict_proba(X)
        assert np.array_equal(again, wanted)


def test_a_warm_start_adds_bags(rows):
    X, _, score = rows
    model = BaggingRegressor(Ridge(), 3, warm_start=True, random_state=2).fit(X[:500], score[:500])
    before = [each.coef_ for each in model.estimators_]
    model.set_params(n_estimators=6).fit(X[:500], score[:500])
    assert all(np.array_equal(a, b.coef_) for a, b in zip(before, model.estimators_, strict=False))
    whole = BaggingRegressor(Ridge(), 6, random_state=2).fit(X[:500], score[:500])
    assert np.array_equal(whole.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="larger or equal"):
        model.set_params(n_estimators=2).fit(X[:500], score[:500])


def test_a_saved_ensemble_predicts_the_same(rows, tmp_path):
    X, y, _ = rows
    model = BaggingClassifier(GaussianNB(), 3, max_features=3, random_state=0).fit(X[:400], y[:400])
    model.save(tmp_path / "model.tenfold")
    assert np.array_equal(tenfold.load(tmp_path / "model.tenfold").predict(X), model.predict(X))


def test_a_foreign_member_is_left_to_scikit_learn(rows, tmp_path):
    X, _, score = rows
    ours = BaggingRegressor(ForeignRidge(), 4, random_state=0).fit(X[:300], score[:300])
    theirs = ensemble.BaggingRegressor(ForeignRidge(), 4, random_state=0).fit(X[:300], score[:300])
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    with pytest.raises(TypeError, match="Ridge learns from arrays alone"):
        ours.fit(str(tmp_path / "rows.parquet"), "label")


def test_wrong_settings_are_refused(rows):
    X, _, score = rows
    with pytest.raises(ValueError, match="max_samples"):
        BaggingRegressor(Ridge(), max_samples=10**6, bootstrap=False).fit(X, score)
    with pytest.raises(ValueError, match="max_features"):
        BaggingRegressor(Ridge(), max_features=7).fit(X, score)
    with pytest.raises(ValueError, match="Out of bag"):
        BaggingRegressor(Ridge(), bootstrap=False, oob_score=True).fit(X, score)
    with pytest.warns(UserWarning, match="OOB"):
        BaggingRegressor(Ridge(), 2, oob_score=True, random_state=0).fit(X, score)


def test_bags_of_a_few_rows_are_never_empty():
    X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])
    for seed in range(20):
        model = BaggingClassifier(GaussianNB(), 10, max_features=0.3, random_state=seed).fit(X, y)
        assert all(len(rows) for rows in model.estimators_samples_)


def test_a_warm_start_without_more_bags_is_warned_of_and_forgets_its_score(rows):
    X, y, _ = rows
    model = BaggingClassifier(GaussianNB(), 20, oob_score=True, random_state=0)
    model.fit(X[:300], y[:300])
    assert model.oob_score_ > 0.3
    model.set_params(warm_start=True, oob_score=False)
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        model.fit(X[:300], y[:300])
    assert not hasattr(model, "oob_score_")


def test_errors_name_the_ensemble(rows):
    X, labels, score = (part[:500] for part in rows)
    for family, y in ((BaggingClassifier, labels), (BaggingRegressor, score)):
        model = family(n_estimators=2, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match=f"but {family.__name__} is expecting 6 features"):
            model.predict(X[:, :1])
