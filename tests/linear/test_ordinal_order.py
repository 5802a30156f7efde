"""The order of the classes of an ordinal regression: given, or that of the target."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

from tenfold import OrdinalRegression, cross_validate, load, search

GRADES = ["low", "medium", "high"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
CODES = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=150), [-0.5, 0.5])
WORDS = np.array(GRADES)[CODES]
PLAIN = OrdinalRegression().fit(X, CODES)


def check(model):
    assert model.classes_.tolist() == GRADES
    assert_allclose(model.coef_, PLAIN.coef_)
    assert_allclose(model.thresholds_, PLAIN.thresholds_)
    assert (model.predict(X) == np.array(GRADES)[PLAIN.predict(X)]).all()


def ordered():
    return pd.Categorical(WORDS, GRADES, ordered=True)


@pytest.mark.parametrize(
    "y",
    [
        ordered(),
        pd.Series(ordered(), index=np.arange(150) + 7),
        pl.Series(WORDS.tolist(), dtype=pl.Enum(GRADES)),
        pa.DictionaryArray.from_arrays(CODES.astype(np.int8), GRADES, ordered=True),
    ],
    ids=["categorical", "series", "polars", "arrow"],
)
def test_an_ordered_target_keeps_its_order(y):
    check(OrdinalRegression().fit(X, y))


def test_an_ordered_column_of_a_table():
    table = pd.DataFrame(X, columns=["a", "b"]).assign(grade=ordered())
    for frame in (table, pa.Table.from_pandas(table), pl.from_pandas(table[["a", "b"]])):
        if isinstance(frame, pl.DataFrame):
            frame = frame.with_columns(pl.Series("grade", WORDS.tolist(), dtype=pl.Enum(GRADES)))
        model = OrdinalRegression().fit(frame, "grade")
        assert model.classes_.tolist() == GRADES
        assert_allclose(model.coef_, PLAIN.coef_)


def test_the_order_can_be_given(tmp_path):
    check(OrdinalRegression(classes=GRADES).fit(X, WORDS))
    check(OrdinalRegression(classes=GRADES).fit(X, WORDS.tolist()))
    table = pd.DataFrame(X, columns=["a", "b"]).assign(grade=WORDS)
    table.to_parquet(tmp_path / "rows.parquet")
    table.to_csv(tmp_path / "rows.csv", index=False)
    for path in (tmp_path / "rows.parquet", tmp_path / "rows.csv"):
        model = OrdinalRegression(classes=GRADES).fit(path, "grade")
        assert model.classes_.tolist() == GRADES
        assert_allclose(model.coef_, PLAIN.coef_, rtol=1e-6)
    model.save(tmp_path / "model.tenfold")
    assert load(tmp_path / "model.tenfold").classes_.tolist() == GRADES
    reversed_ = OrdinalRegression(classes=[2, 1, 0]).fit(X, CODES)
    assert_allclose(reversed_.coef_, -PLAIN.coef_, atol=1e-3)
    fewer = OrdinalRegression(classes=["none", *GRADES]).fit(X, WORDS)  # a grade nobody has
    check(fewer)
    for wrong in (GRADES[:2], [*GRADES, "low"]):
        with pytest.raises(ValueError, match="every label once"):
            OrdinalRegression(classes=wrong).fit(X, WORDS)


def test_an_unordered_categorical_is_sorted():
    assert OrdinalRegression().fit(X, pd.Categorical(WORDS, GRADES)).classes_.tolist() == [
        "high",
        "low",
        "medium",
    ]


def test_folds_keep_the_order():
    by_number = cross_validate(OrdinalRegression(), X, CODES)["test_score"]
    assert by_number.mean() > 0.7
    for model, y in (
        (OrdinalRegression(), pd.Series(ordered())),
        (OrdinalRegression(classes=GRADES), WORDS),
    ):
        assert_allclose(cross_validate(model, X, y)["test_score"], by_number)
        best = search(model, {"alpha": [0.1, 1.0]}, X, y).best_estimator_
        assert best.classes_.tolist() == GRADES
        grid = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=3).fit(X, y)
        assert grid.best_score_ > 0.7


def test_an_outer_class_needs_weight():
    with pytest.raises(ValueError, match="class 2 have weight 0"):
        OrdinalRegression().fit(X, CODES, sample_weight=(CODES < 2).astype(float))
