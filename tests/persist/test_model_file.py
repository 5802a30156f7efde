"""Saving and loading: the same model comes back, or the refusal says why."""

import re
import struct
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from sklearn import (
    calibration,
    compose,
    feature_extraction,
    feature_selection,
    impute,
    isotonic,
    multiclass,
    pipeline,
    preprocessing,
)
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction import text
from sklearn.utils import Bunch

import tenfold
from tenfold import load
from tenfold.persist import registry
from tenfold.persist.model_file import save
from tests.persist.stand_ins import DOCS, Box, Moments, Scores, X, Y, stand_ins_may_be_saved


@pytest.fixture(scope="module", autouse=True)
def _stand_ins():
    with stand_ins_may_be_saved():
        yield


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.safetensors"


def again(model, file):
    save(model, file)
    return load(file)


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.strides == b.strides or a.size == 0
        assert_same(list(a.flat), list(b.flat)) if a.dtype == object else None
        assert a.dtype == object or a.tobytes() == b.tobytes()
    elif isinstance(a, np.generic):
        assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes())
    elif isinstance(a, float):
        assert struct.pack("d", a) == struct.pack("d", b)
    elif isinstance(a, complex):
        assert struct.pack("dd", a.real, a.imag) == struct.pack("dd", b.real, b.imag)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        [assert_same(x, y) for x, y in zip(a, b, strict=True)]
    elif isinstance(a, dict):
        assert_same([*a, *a.values()], [*b, *b.values()])
    elif isinstance(a, BaseEstimator):
        assert_same(vars(a), vars(b))
    else:
        assert a == b


# ------------------------------------------------------------------- what is saved comes back
DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="="),
    hnp.unsigned_integer_dtypes(endianness="="),
    hnp.floating_dtypes(endianness="=", sizes=(16, 32, 64)),
    hnp.complex_number_dtypes(endianness="="),
    hnp.unicode_string_dtypes(endianness="=", min_len=1, max_len=4),
    hnp.byte_string_dtypes(min_len=1, max_len=4),
    hnp.datetime64_dtypes(endianness="="),
    hnp.timedelta64_dtypes(endianness="="),
)


@st.composite
def arrays(draw):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    array = draw(hnp.arrays(draw(DTYPES), shape))
    axes = draw(st.permutations(range(array.ndim)))
    return np.array(array.transpose(axes), order="C").transpose(np.argsort(axes))


KEYS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=5),
    st.binary(max_size=5),
    DTYPES.flatmap(lambda d: hnp.arrays(d, 1)).map(lambda a: a[0]),
    st.tuples(st.integers(), st.text(max_size=2)),
    st.frozensets(st.text(max_size=2)),
)


LEAVES = st.one_of(
    KEYS,
    arrays(),
    DTYPES,
    st.just(np.dtype(object)),
    st.sampled_from([float, object, np.float32, np.int64, np.str_]),
    st.slices(20),
    st.sets(st.integers() | st.text(max_size=2)),
    hnp.arrays(object, hnp.array_shapes(min_dims=0), elements=st.none() | st.text() | st.floats()),
    arrays().map(lambda a: Moments(a.size, a)),
)


TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        inner.map(lambda v: Bunch(value=v)),
        inner.map(Box),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(TREES, TREES)
def test_anything_that_a_model_may_hold_comes_back(file, param, learned):
    box = Box(param)
    box.learned_ = learned
    assert_same(again(box, file), box)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1, 3), (3, 1, 2)])
def test_even_the_strides_of_axes_of_length_one_come_back(file, shape, order):
    array = np.arange(np.prod(shape), dtype=float).reshape(shape, order=order)
    assert_same(again(Box(array), file).value, array)


def test_other_layouts_become_contiguous_and_native(file):
    base = np.arange(24.0).reshape(4, 6)
    for array in (base[:, ::2], base[::-1], np.broadcast_to(1.5, (3, 2)), base.astype(">f4")):
        loaded = again(Box(array), file).value
        assert np.array_equal(loaded, array)
        assert loaded.dtype.isnative
        assert loaded.flags.writeable
        assert loaded.flags.c_contiguous


def test_an_array_used_twice_is_stored_once(file):
    array = np.ones(1000)
    box = Box([array, {"b": array}])
    box.copy_ = array
    loaded = again(box, file)
    assert loaded.value[0] is loaded.value[1]["b"] is loaded.copy_
    assert file.stat().st_size < 2 * array.nbytes


@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
@pytest.mark.parametrize("suffix", ["array", "matrix"])
def test_sparse_matrices_come_back(file, name, suffix):
    dense = np.array([[0, 1.5, 0], [2, 0, -0.0], [0, 0, 0]])
    matrix = getattr(scipy.sparse, f"{name}_{suffix}")(dense)
    loaded = again(Box(matrix), file).value
    assert type(loaded) is type(matrix)
    assert_same(loaded.data, matrix.data)
    assert_same(loaded.toarray(), matrix.toarray())


@pytest.mark.parametrize("values", [np.arange(3.0), np.array([1, "a", None], object)])
def test_masked_arrays_come_back(file, values):
    loaded = again(Box(np.ma.MaskedArray(values, [True, False, False])), file).value
    assert loaded.mask.tolist() == [True, False, False]
    assert_same(loaded.data, values)


def test_a_long_list_is_no_burden_for_the_header(file):
    words = {f"word {i}": np.int64(i) for i in range(12_000)}
    mixed = [*words.values(), np.float32(1), "x", None, {1, 2}]
    assert_same(again(Box([words, mixed]), file).value, [words, mixed])
    with safe_open(file, "np") as stored:
        assert len(stored.metadata()["tenfold"]) < 1000


def test_the_same_model_makes_the_same_file(file):
    contents = set()
    for order in ([0, 8], [8, 0]):  # a set of these is walked through in the order of insertion
        save(Box([set(order), np.arange(3), np.eye(2)]), file)
        contents.add(file.read_bytes())
    assert len(contents) == 1


def test_named_tuples_with_a_tag_come_back(file, monkeypatch):
    value = Moments(1, np.ones(1))
    assert_same(again(Box(value), file).value, value)
    monkeypatch.delitem(registry.tags_by_class_name(), "Moments")
    with pytest.raises(TypeError, match="Moments"):
        save(Box(value), file)


def test_every_tag_stands_for_one_class_of_fixed_parts():
    tags = {tag: path for tag, path in registry.CLASS_TAGS.items() if tag != "test_moments"}
    assert len(set(tags.values())) == len(tags)
    for tag in tags:
        assert registry.tag_of(registry.find_tagged_class(tag)) == tag
        assert isinstance(registry.saved_fields(tag), tuple)


def test_files_name_no_modules(tmp_path):
    layers = [tenfold.neural.Dense(3), tenfold.neural.Activation("tanh")]
    model = tenfold.SequentialClassifier(layers, epochs=1).fit(X, Y)
    model.save(tmp_path / "m.tenfold")
    with safe_open(tmp_path / "m.tenfold", framework="np") as stored:
        document = stored.metadata()["tenfold"]
    assert '"class": "dense"' in document
    assert not re.search(r"tenfold\.[a-z_]+\.", document)


GAPS = np.where(X > 0.9, np.nan, X)


WORDS = np.array([["red", "x"], ["blue", "y"], ["red", np.nan]] * 20, dtype=object)


TABLE = pd.DataFrame(dict(a=X[:, 0], b=X[:, 1], c=list("xyz") * 20))


TRANSFORMERS = [
    (preprocessing.StandardScaler(), X),
    (preprocessing.MinMaxScaler((-1, 1)), X),
    (preprocessing.MaxAbsScaler(), scipy.sparse.csr_array(X)),
    (preprocessing.RobustScaler(), X),
    (preprocessing.Normalizer("l1"), X),
    (preprocessing.OneHotEncoder(), WORDS),
    (preprocessing.OneHotEncoder(min_frequency=25, handle_unknown="infrequent_if_exist"), WORDS),
    (preprocessing.OneHotEncoder(dtype=np.float32, drop="first"), np.floor(3 * X)),
    (preprocessing.OrdinalEncoder(), WORDS),
    (preprocessing.OrdinalEncoder(dtype=int), TABLE[["c"]]),
    (preprocessing.LabelEncoder(), Y),
    (preprocessing.PolynomialFeatures(3), X),
    (preprocessing.KBinsDiscretizer(quantile_method="averaged_inverted_cdf"), X),
    (preprocessing.QuantileTransformer(n_quantiles=10, random_state=0), X),
    (preprocessing.PowerTransformer(), X),
    (preprocessing.SplineTransformer(extrapolation="linear"), X),
    (preprocessing.FunctionTransformer(), X),
    (impute.SimpleImputer(add_indicator=True), GAPS),
    (impute.SimpleImputer(strategy="most_frequent"), WORDS),
    (feature_selection.VarianceThreshold(0.01), X),
    (feature_selection.SelectKBest(feature_selection.f_classif, k=2), X),
    (feature_extraction.FeatureHasher(8, input_type="string"), [d.split() for d in DOCS]),
    (text.CountVectorizer(ngram_range=(1, 2), max_features=4), DOCS),
    (text.TfidfVectorizer(stop_words=["nut"], dtype=np.float32), DOCS),
    (text.TfidfTransformer(), X),
    (text.HashingVectorizer(n_features=16), DOCS),
    (
        pipeline.FeatureUnion(
            [("scale", preprocessing.StandardScaler()), ("same", "passthrough")],
            transformer_weights={"scale": 2.0},
        ),
        X,
    ),
    (
        compose.ColumnTransformer(
            [
                ("scale", preprocessing.StandardScaler(), ["a"]),
                ("encode", preprocessing.OneHotEncoder(sparse_output=False), ["c"]),
            ],
            remainder="passthrough",
        ).set_output(transform="pandas"),
        TABLE,
    ),
    (
        compose.ColumnTransformer(
            [("scale", preprocessing.StandardScaler(), slice(0, 2)), ("drop", "drop", [2])],
            remainder=preprocessing.MinMaxScaler(),
        ),
        X,
    ),
]


CLASSIFIERS = [
    pipeline.Pipeline([("scale", preprocessing.StandardScaler()), ("off", None), ("s", Scores())]),
    multiclass.OneVsRestClassifier(Scores()),
    multiclass.OneVsOneClassifier(Scores()),
    *(calibration.CalibratedClassifierCV(Scores(), method=m) for m in ("sigmoid", "isotonic")),
    calibration.CalibratedClassifierCV(Scores(), method="temperature", ensemble=False),
]


@pytest.mark.parametrize(("model", "data"), TRANSFORMERS, ids=lambda m: type(m).__name__)
def test_transformers_transform_the_same_bits(model, data, file):
    model = clone(model)
    model.fit(data) if data is Y else model.fit(data, Y)
    loaded = again(model, file)
    before, after = model.transform(data), loaded.transform(data)
    if isinstance(before, pd.DataFrame):
        pd.testing.assert_frame_equal(before, after, check_exact=True)
    elif scipy.sparse.issparse(before):
        assert_same([before.data, before.toarray()], [after.data, after.toarray()])
    else:
        assert_same(before, after)
    assert repr(clone(loaded)) == repr(model)
    assert_same(clone(model).fit_transform(data, Y), clone(loaded).fit_transform(data, Y)) if (
        isinstance(before, np.ndarray) and data is not Y
    ) else None


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_predict_the_same_bits(model, classes, file):
    some = np.isin(Y, list("abc"[:classes]))
    model = clone(model).fit(X[some], Y[some])
    loaded = again(model, file)
    assert_same(model.predict(X), loaded.predict(X))
    if hasattr(model, "predict_proba"):
        assert_same(model.predict_proba(X), loaded.predict_proba(X))
    assert_same(list(vars(loaded)), list(vars(model)))


def test_isotonic_regression_of_one_point(file):
    model = isotonic.IsotonicRegression().fit([1.0, 1.0], [2.0, 4.0])
    assert_same(again(model, file).predict([1.0, 5.0]), model.predict([1.0, 5.0]))


def test_a_model_that_is_not_fitted_stays_so(file):
    model = again(pipeline.make_pipeline(preprocessing.StandardScaler(), Scores()), file)
    assert not hasattr(model[0], "mean_")
    assert_same(model.fit(X, Y).predict(X), again(model, file).predict(X))


# ------------------------------------------------------------------- what is refused, and how
class Mine(preprocessing.StandardScaler):
    pass


def steps(last):
    return pipeline.Pipeline([("scale", preprocessing.StandardScaler()), ("last", last)])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (steps(preprocessing.FunctionTransformer(np.log1p)), r"Pipeline\.steps\[1\]\[1\]\.func"),
        (
            steps(Mine()),
            r"Pipeline\.steps\[1\]\[1\]: it is a test_model_file\.Mine; only tenfold's",
        ),
        (pipeline.Pipeline([("s", Scores())], memory="cache"), r"Pipeline\.memory.*must be None"),
        (text.CountVectorizer(analyzer=str.split), r"CountVectorizer\.analyzer.*code is never"),
        (Box(lambda x: x), r"Box\.value: it is a function; code is never saved"),
        (Box(subprocess.Popen), r"Box\.value: it is a type; code is never saved"),
        (Box(np.random.RandomState(0)), r"Box\.value: .*give an int as the seed"),
        (Box([1, np.random.default_rng(0)]), r"Box\.value\[1\]: .*give an int as the seed"),
        (Box({"k": scipy.sparse.lil_array((2, 2))}), r"Box\.value\['k'\]: .*\.tocsr\(\)"),
        (Box(np.zeros(2, dtype="i4,f8")), r"Box\.value: .*convert its dtype"),
        (Box(TABLE), r"Box\.value: .*DataFrame"),
        (Box(object()), r"Box\.value: it is a object; use numbers"),
        (feature_selection.SelectKBest(np.dot), r"SelectKBest\.score_func"),
    ],
)
def test_what_cannot_be_saved_is_named_with_its_cure(model, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_other_refusals_to_save(file):
    box = Box()
    box.colour = "red"
    with pytest.raises(TypeError, match=r"Box\.colour: it is no parameter"):
        save(box, file)
    with pytest.raises(TypeError, match="a dict: it is not a model"):
        save({}, file)
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        save(Box(loop), file)


def test_a_failed_save_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "model"
    save(Box(1), path)

    def dies_halfway(unfinished, *_):
        unfinished.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("tenfold.persist.model_file.write_tensors", dies_halfway)
    with pytest.raises(KeyboardInterrupt):
        save(Box(2), path)
    assert load(path).value == 1
    assert list(tmp_path.iterdir()) == [path]
