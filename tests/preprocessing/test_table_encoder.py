"""A table as numbers: the same as pandas and scikit-learn make, the same from every place."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold.io import TableError, open_table, row_store
from tenfold.io.columnar import NumericColumn, TextColumn
from tenfold.preprocessing.column_kinds import infer_column_kinds
from tenfold.preprocessing.column_profile import MAX_COUNTED_VALUES, TableProfile, profile_column

ROWS = 6000


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    words = ["very", "good", "bad", "car", "house", "tree", "green", "blue"]
    start = pd.Timestamp("2023-05-01 06:00")
    table = pd.DataFrame(
        {
            "row": np.arange(ROWS),
            "age": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(40, 12, ROWS).round(2)),
            "town": rng.choice(["Bonn", "Köln", "Aachen"], ROWS, p=[0.6, 0.3, 0.1]),
            "street": [f"street {i}" for i in rng.integers(0, 900, ROWS)],
            "since": start + pd.to_timedelta(rng.integers(0, 20_000, ROWS), unit="h"),
            "note": [" ".join(rng.choice(words, 6)) + f" {i}" for i in range(ROWS)],
            "member": rng.random(ROWS) < 0.5,
            "same": 1,
        }
    )
    table.loc[::7, "town"] = None
    table["label"] = np.where(table.age.fillna(30) + 9 * rng.normal(size=ROWS) > 40, "old", "young")
    return table


@pytest.fixture(scope="module")
def encoder(frame):
    return tenfold.TableEncoder().fit(frame, "label")


def column(encoder, X, name):
    return X[:, encoder.get_feature_names_out().tolist().index(name)]


def test_kinds_of_a_table(encoder):
    found = {name: kind.kind for name, kind in encoder.kinds_.items()}
    assert found == {
        "row": "identifier",
        "age": "number",
        "town": "category",
        "street": "category",
        "since": "date",
        "note": "text",
        "member": "number",
        "same": "constant",
    }


def test_numbers_are_those_of_scikit_learn(encoder, frame):
    X = encoder.set_params(sparse=False).transform(frame)
    filled = SimpleImputer().fit_transform(frame[["age"]])
    assert_allclose(
        matrix(X)[:, 0], StandardScaler().fit_transform(filled)[:, 0] * ratio(frame), 1e-5
    )
    assert_allclose(column(encoder, matrix(X), "age missing"), frame.age.isna())


def matrix(X):
    return X.toarray() if issparse(X) else X


def ratio(frame) -> float:
    """scikit-learn's deviation counts the filled values, ours those that are there."""
    return frame.age.fillna(frame.age.mean()).std(ddof=0) / frame.age.std(ddof=0)


def test_categories_are_those_of_pandas(encoder, frame):
    X = matrix(encoder.transform(frame))
    want = pd.get_dummies(frame.town, prefix="town", prefix_sep="=")
    for name in want:
        assert_allclose(column(encoder, X, name), want[name])
    assert_allclose(column(encoder, X, "town missing"), frame.town.isna())
    hashed = X[:, encoder.origin_ == "street"]
    assert hashed.shape[1] == 256
    assert_allclose(hashed.sum(axis=1), 1)


def test_text_is_that_of_scikit_learn(frame):
    found = tenfold.TableEncoder(sparse=True, dtype=np.float64).fit(frame[["note"]])
    want = TfidfVectorizer(min_df=2)
    expected = want.fit_transform(frame.note).toarray()
    names = [f"note: {word}" for word in want.get_feature_names_out()]
    assert found.get_feature_names_out().tolist() == names
    assert_allclose(found.transform(frame[["note"]]).toarray(), expected)


def test_dates_are_those_of_pandas(encoder, frame):
    X, when = matrix(encoder.transform(frame)), pd.DatetimeIndex(frame.since)
    days = (frame.since - frame.since.min()) / pd.Timedelta("1D")
    assert_allclose(
        column(encoder, X, "since: days"), (days - days.mean()) / days.std(ddof=0), atol=1e-5
    )
    assert_allclose(column(encoder, X, "since: Sunday"), when.day_of_week == 6)
    season = 2 * np.pi * (when.day_of_year - 1) / 365.25
    assert_allclose(column(encoder, X, "since: season sine"), np.sin(season), atol=1e-5)
    assert_allclose(
        column(encoder, X, "since: time cosine"), np.cos(when.hour * np.pi / 12), atol=1e-5
    )


@pytest.fixture(params=["CSV", "Parquet", "Parquet in a file", "polars"])
def elsewhere(request, frame, tmp_path, monkeypatch):
    import polars as pl

    if request.param == "polars":
        return pl.from_pandas(frame)
    path = tmp_path / ("a.csv" if request.param == "CSV" else "a.parquet")
    frame.to_csv(path, index=False) if request.param == "CSV" else frame.to_parquet(path)
    if request.param.endswith("a file"):
        monkeypatch.setattr(row_store, "MAX_MEMORY_BYTES", 0)
    return path


@pytest.mark.parametrize("sparse", [True, False])
def test_every_place_gives_the_same_bits(sparse, elsewhere, frame):
    model = tenfold.TableEncoder(sparse=sparse)
    here, there = clone(model).fit(frame, "label"), clone(model).fit(elsewhere, "label")
    X = here.transform(frame)
    if hasattr(elsewhere, "columns"):
        assert matrix(there.transform(elsewhere)).tobytes() == matrix(X).tobytes()
        return
    rows = there.transform(open_table(elsewhere, target="label"))
    assert matrix(rows.gather().X).tobytes() == matrix(X).tobytes()
    assert rows.gather().y.tolist() == frame.label.tolist()
    a = tenfold.LogisticRegression(C=0.1).fit(X, frame.label)
    b = tenfold.LogisticRegression(C=0.1).fit(rows)
    assert a.coef_.tobytes() == b.coef_.tobytes()
    assert b.classes_.tolist() == ["old", "young"]


def test_threads_do_not_matter(frame):
    made = []
    for n in (1, 3):
        with tenfold.threads(n):
            model = tenfold.TableEncoder().fit(frame, "label")
            made.append(
                (model.get_feature_names_out().tolist(), matrix(model.transform(frame)).tobytes())
            )
    assert made[0] == made[1]


def test_numbered_rows_for_classifiers(encoder, frame):
    rows = encoder.rows(frame, target="label", classes=np.array(["old", "young"]))
    assert rows.gather().y.tolist() == (frame.label == "young").astype(int).tolist()


def test_saved_and_loaded(encoder, frame, tmp_path):
    tenfold.save(encoder, tmp_path / "a.tenfold")
    again = tenfold.load(tmp_path / "a.tenfold")
    assert matrix(again.transform(frame)).tobytes() == matrix(encoder.transform(frame)).tobytes()
    assert again.summary() == encoder.summary()
    assert again.kinds_ == encoder.kinds_


def test_summary_tells_each_column(encoder):
    lines = dict(line.split("  ", 1) for line in encoder.summary().splitlines())
    assert lines["row"].split(None, 1)[1].startswith("left out: it counts the rows")
    assert "hashed into 256 buckets" in lines["street"]
    assert len(lines) == 8


SMALL = {
    "n": [1.0, 2.0, 3.0, None],
    "c": ["a", "a", "b", "b"],
    "d": ["2024-01-01"] * 3 + ["2024-02-01"],
}


def small(**params):
    return tenfold.TableEncoder(min_count=1, dtype=np.float64, **params).fit(SMALL)


def test_unseen_and_missing_values_are_safe():
    model = small()
    row = dict(
        zip(
            model.get_feature_names_out(),
            model.transform([{"n": None, "c": "z", "d": None}])[0],
            strict=True,
        )
    )
    assert row["n"] == 0
    assert row["n missing"] == 1
    assert row["c=a"] == row["c=b"] == 0
    assert all(value == 0 for name, value in row.items() if name.startswith("d: "))


def test_rare_levels_share_one_indicator():
    table = {"c": ["a"] * 5 + ["b"] * 4 + ["c", "d"]}
    model = tenfold.TableEncoder(min_count=2).fit(table)
    assert model.get_feature_names_out().tolist() == ["c=a", "c=b", "c=other"]
    assert model.transform({"c": ["c", "never seen", "a"]}).tolist() == [
        [0, 0, 1],
        [0, 0, 1],
        [1, 0, 0],
    ]
    most = tenfold.TableEncoder(min_count=1, max_categories=3).fit(table)
    assert most.get_feature_names_out().tolist() == ["c=a", "c=b", "c=other"]
    first = tenfold.TableEncoder(min_count=2, drop_first=True).fit(table)
    assert first.get_feature_names_out().tolist() == ["c=b", "c=other"]


def test_parameters_change_what_they_say():
    assert "n missing" not in small(flag_missing=False).get_feature_names_out()
    assert small(standardize=False).transform(SMALL)[:, 0].tolist() == [1, 2, 3, 2]
    plain = small(standardize=False)
    assert column(plain, plain.transform(SMALL), "d: days").tolist() == [0, 0, 0, 31]
    assert small(kinds={"n": "category"}).get_feature_names_out()[:4].tolist() == [
        "n=1",
        "n=2",
        "n=3",
        "n missing",
    ]
    assert set(small(kinds={"d": "identifier"}).origin_) == {"n", "c"}
    with pytest.raises(ValueError, match="cannot be a 'colour': give one of number"):
        small(kinds={"n": "colour"})
    with pytest.raises(TableError, match="no column 'm'"):
        small(kinds={"m": "number"})
    with pytest.raises(ValueError, match="'c' cannot be a date"):
        small(kinds={"c": "date"})


def test_words_in_a_column_of_numbers_may_count_as_missing():
    table = {"n": ["1", "2", "x", "3"], "c": list("abab")}
    model = tenfold.TableEncoder({"n": "number"}, standardize=False, min_count=1).fit(table)
    assert model.transform(table)[:, :2].tolist() == [[1, 0], [2, 0], [2, 1], [3, 0]]


def test_other_columns_and_another_order_are_fine():
    model = small()
    turned = {"other": [1] * 4} | dict(reversed(SMALL.items()))
    assert model.transform(turned).tolist() == model.transform(SMALL).tolist()


def test_errors_name_the_place(tmp_path):
    model = small()
    with pytest.raises(TableError, match=r"no column 'c', which was present .* Did you mean 'C'"):
        model.transform({"n": [1], "C": ["a"], "d": ["2024-01-01"]})
    path = tmp_path / "new.csv"
    path.write_text("n,c,d\n1,a,2024-01-01\nmany,a,2024-01-01\n")
    with pytest.raises(TableError, match=r"new\.csv, line 3, column 'n': 'many' is not a number"):
        model.transform(path).gather()
    with pytest.raises(TableError, match="row 1, column 'd': 'soon' is not a date"):
        model.transform({"n": [1, 1], "c": ["a", "b"], "d": ["2024-01-01", "soon"]})
    with pytest.raises(TableError, match="row 0, column 'n': infinite values"):
        model.transform({"n": [np.inf], "c": ["a"], "d": ["2024-01-01"]})
    with pytest.raises(TableError, match="row 2, column 'n': infinite values"):
        tenfold.TableEncoder().fit({"n": [1.0, 2.0, -np.inf]})
    path.write_text("n,c,d,y\n1,a,2024-01-01,1\n1,a,2024-01-01,\n")
    with pytest.raises(TableError, match=r"new\.csv, line 3: the target 'y' is missing"):
        model.transform(open_table(path, target="y")).gather()


def test_numbers_where_text_was_learned():
    model = tenfold.TableEncoder({"c": "category"}, min_count=1).fit({"c": ["1", "2", "1"]})
    assert model.transform({"c": [2, 1.0]}).tolist() == [[0, 1], [1, 0]]


def test_scikit_learns_checks():
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(tenfold.TableEncoder(), on_fail=None, on_skip=None)
    failed = [f"{r['check_name']}: {r['exception']}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)


def test_pandas_out(frame):
    model = tenfold.TableEncoder(sparse=False).set_output(transform="pandas")
    made = model.fit(frame[["age", "town"]]).transform(frame[["age", "town"]])
    assert list(made.columns) == model.get_feature_names_out().tolist()


KINDS = {
    "counted rows": ("a", range(100), "identifier"),
    "counted from one, mixed": ("a", np.random.default_rng(0).permutation(100) + 1, "identifier"),
    "years": ("a", range(1920, 2020), "number"),
    "numbers called id": ("PassengerId", np.arange(100) * 7 + 3, "identifier"),
    "an id that repeats": ("user_id", np.arange(100) % 40, "number"),
    "prices": ("price", np.random.default_rng(0).normal(size=100), "number"),
    "codes": ("a", [f"x{i:04d}" for i in range(100)], "identifier"),
    "sentences": ("a", [f"this is text number {i}" for i in range(100)], "text"),
    "sentences that repeat": ("a", [f"a choice of three {i % 3}" for i in range(100)], "category"),
    "few rows": ("a", ["p", "q", "r"], "category"),
    "all missing": ("a", [None] * 30, "constant"),
    "one value": ("a", ["x"] * 30, "constant"),
    "one value or missing": ("a", ["x", None] * 15, "category"),
    "dates": ("a", [dt.date(2024, 1, 1 + i % 28) for i in range(100)], "date"),
    "truths": ("a", [True, False] * 20, "number"),
}


@pytest.mark.parametrize("case", KINDS)
def test_kinds(case):
    name, values, kind = KINDS[case]
    records = open_table({name: list(values), "y": [0, 1] + [0] * (len(values) - 2)})
    found = infer_column_kinds(records, target="y")[name]
    assert found.kind == kind
    assert found.why
    assert found.missing == sum(value is None for value in values)
    assert found.distinct == len({value for value in values if value is not None})


def test_a_target_is_no_identifier():
    records = open_table({"id": list(range(50))}, target="id")
    assert infer_column_kinds(records)["id"].kind == "number"


def test_kinds_tell_ranges_and_examples():
    found = infer_column_kinds(open_table({"n": [3, 1, None, 2], "d": ["2024-01-31", None] * 2}))
    assert found["n"][6:9] == (1.0, 3.0, 2.0)
    assert found["n"].examples == [3, 1, 2]
    assert found["d"].low == found["d"].high == "2024-01-31"


@pytest.mark.parametrize(
    "values", [lambda n: np.arange(n) * 0.5, lambda n: [f"w{i}" for i in range(n)]]
)
def test_many_different_values_are_estimated(values):
    found = infer_column_kinds(open_table({"a": values(60_000)}))["a"]
    assert found.more
    assert abs(found.distinct / 60_000 - 1) < 0.05
    few = infer_column_kinds(open_table({"a": values(MAX_COUNTED_VALUES - 1)}))["a"]
    assert (few.distinct, few.more) == (MAX_COUNTED_VALUES - 1, False)


numbers = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)), max_size=30)
texts = st.lists(st.sampled_from([None, "a", "b b", "c c c"]), max_size=30)


@settings(deadline=None)
@given(numbers, texts, st.integers(0, 30))
def test_parts_make_the_whole(values, words, cut):
    known = ["a", "b b", "c c c"]
    codes = np.array([-1 if w is None else known.index(w) for w in words], np.int32)
    for whole in (NumericColumn(np.array(values, float)), TextColumn(codes, known)):
        one = TableProfile({"x": profile_column(whole, 100)}).columns["x"]
        two = profile_column(whole.at(slice(0, cut)), 100).merge(
            profile_column(whole.at(slice(cut, None)), 100)
        )
        assert (one.rows, one.missing) == (two.rows, two.missing)
        assert one.distinct.estimate == two.distinct.estimate
        if isinstance(whole, TextColumn):
            assert one.counts == two.counts
        else:
            assert_allclose(one.summary, two.summary, rtol=1e-9, atol=1e-3)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-1e9, 1e9)),
            st.one_of(st.none(), st.text(max_size=5)),
            st.one_of(st.none(), st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))),  # noqa: DTZ001
        ),
        min_size=1,
        max_size=25,
    )
)
def test_any_table_is_encoded_without_holes(rows):
    table = dict(zip("ncd", map(list, zip(*rows, strict=True)), strict=True))
    model = tenfold.TableEncoder().fit(table)
    X = matrix(model.transform(table))
    assert (
        X.shape
        == (len(rows), len(model.get_feature_names_out()))
        == (len(rows), len(model.origin_))
    )
    assert np.isfinite(X).all()
    dense = clone(model).set_params(sparse=True).fit(table)
    assert_allclose(matrix(dense.transform(table)), X)
