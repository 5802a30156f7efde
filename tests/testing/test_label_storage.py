"""Labels of every kind from every place: the same classes, in the same type."""

import numpy as np
import pytest

import tenfold
from tenfold.base.mixins import unique_labels
from tenfold.engine.validation import encode_labels
from tenfold.testing import STORAGES, make_dataset
from tenfold.testing.label_law import label_kinds

X, CODES = make_dataset(tenfold.ProbitRegression(), rows=400)
KINDS = dict(label_kinds(2))
NOT_IN_TEXT = {"floats", "objects", "beyond 2^63", "bytes"}  # types that text does not tell


@pytest.mark.parametrize("place", [name for name in STORAGES if name != "in_dask"])
@pytest.mark.parametrize("kind", KINDS)
def test_classes_keep_value_and_type(kind, place, tmp_path):
    if kind == "objects" or (place == "in_csv" and kind in NOT_IN_TEXT):
        pytest.skip("the place has no such type")
    labels = KINDS[kind]
    model = tenfold.LogisticRegression().fit(*STORAGES[place](X, labels[CODES], tmp_path))
    assert np.array_equal(model.classes_, labels)
    assert model.classes_.dtype.kind == labels.dtype.kind
    rows = STORAGES[place](X, None, tmp_path)[0]
    assert (model.predict(rows) == labels[CODES]).mean() > 0.8


def test_a_table_of_booleans_gives_booleans():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X).rename(columns=str).assign(yes=CODES.astype(bool))
    assert tenfold.GaussianNB().fit(table, "yes").predict(table.drop(columns="yes")).dtype == bool


def test_large_whole_numbers_in_text(tmp_path):
    """[id64] 10^18 and 10^18 + 1 are two classes; so are they if others are written with e."""
    path = tmp_path / "rows.csv"
    lines = [f"{x:.3f},{10**18 + c}" for x, c in zip(X[:, 0], CODES, strict=True)]
    path.write_text("\n".join(["x,id", *lines]))
    model = tenfold.LogisticRegression().fit(path, "id")
    assert model.classes_.tolist() == [10**18, 10**18 + 1]
    path.write_text("x,id\n1,10000000000000000\n2,1e17\n3,1e17\n")
    assert tenfold.GaussianNB().fit(path, "id").classes_.tolist() == [10**16, 10**17]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_labels_at_both_ends_of_their_type(dtype):
    info = np.iinfo(dtype)
    for y in ([info.max, info.max - 3, info.max], [info.min, info.min + 5, info.min]):
        labels, codes = unique_labels(np.array(y, dtype))
        assert labels.dtype == dtype
        assert labels.tolist() == sorted(set(y))
        assert labels[codes].tolist() == y


def test_classes_in_an_order_of_their_own():
    classes = np.array(["low", "medium", "high"])
    source = tenfold.open(X).source
    codes = encode_labels(source, np.array(["high", "low"]), classes, np.arange(2))
    assert codes.tolist() == [2, 0]
    with pytest.raises(ValueError, match="'none' is not among"):
        encode_labels(source, np.array(["high", "none"]), classes, np.arange(2))


def test_one_class_is_named_in_words():
    with pytest.raises(ValueError, match=r"LogisticRegression: .* one class: 'only'"):
        tenfold.LogisticRegression().fit(X, np.full(len(X), "only"))


def test_a_class_without_rows_yet_or_without_weight():
    y = np.where(CODES == 1, 2, 0)
    for model in (tenfold.LinearDiscriminantAnalysis(), tenfold.GaussianNB()):
        later = model.partial_fit(X, y, classes=[0, 1, 2])
        assert (later.predict_proba(X)[:, 1] == 0).all()
    with pytest.raises(ValueError, match="class 1 have weight 0"):
        tenfold.BayesianLogisticRegression().fit(X, CODES, sample_weight=1.0 - CODES)
