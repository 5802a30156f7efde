"""Saving and loading: the same model comes back, and no file can do harm."""

import json
import pickle
import random
import re
import struct
import subprocess
import sys
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import save_file
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
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction import text
from sklearn.utils import Bunch

import tenfold
from tenfold import load
from tenfold.persist import registry
from tenfold.persist.model_file import save


class Box(BaseEstimator):
    """Holds anything, as a parameter and as something learned."""

    def __init__(self, value=None):
        self.value = value


class Scores(ClassifierMixin, BaseEstimator):
    """Learns the mean of each class, in Fortran order."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.coef_ = np.asfortranarray([X[y == c].mean(axis=0) for c in self.classes_])
        return self

    def decision_function(self, X):
        scores = X @ self.coef_.T
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        return self.classes_[np.argmax(X @ self.coef_.T, axis=1)]


class Moments(NamedTuple):
    n: int
    mean: np.ndarray


@pytest.fixture(autouse=True, scope="module")
def _stand_ins():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tenfold._WHERE, "Box", __name__)
        patch.setitem(tenfold._WHERE, "Scores", __name__)
        patch.setitem(registry.CLASS_TAGS, "test_moments", f"{__name__}.Moments")
        registry.tags_by_class_name.cache_clear()
        yield
    registry.tags_by_class_name.cache_clear()


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


# ------------------------------------------------------------------- scikit-learn's parts
RNG = np.random.default_rng(0)
X, Y = RNG.random((60, 4)), np.array(list("abc") * 20)
GAPS = np.where(X > 0.9, np.nan, X)
WORDS = np.array([["red", "x"], ["blue", "y"], ["red", np.nan]] * 20, dtype=object)
DOCS = ["apple pear nut", "pear nut fig", "fig egg apple"] * 20
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


# ------------------------------------------------------------------- hostile and damaged files
def forge(file, model=None, tensors=None, **changes):
    document = dict(format="tenfold model", version=1, model=model)
    document |= dict(versions=dict(tenfold="9", numpy="9", sklearn=sklearn.__version__)) | changes
    save_file(tensors or {}, file, metadata={"tenfold": json.dumps(document)})


def box(value, /, **learned):
    return {"model": {"class": "tenfold.Box", "params": {"value": value}, "learned": learned}}


def nested(depth):
    return box(json.loads('{"tuple":[' * depth + "]}" * depth))


HOSTILE = {
    "a function of os": ({"model": {"class": "os.system", "params": {}, "learned": {}}}, "os.sys"),
    "a function of os as a value": (box({"function": "os.system"}), "os.system"),
    "a type from elsewhere": (box({"type": "subprocess.Popen"}), "Popen"),
    "another class of sklearn": (
        {"model": {"class": "sklearn.svm.SVC", "params": {}, "learned": {}}},
        "not among the names",
    ),
    "a function of ours": (
        {"model": {"class": "tenfold.load", "params": {}, "learned": {}}},
        "not a",
    ),
    "a record from elsewhere": (box({"object": {"class": "os.stat_result", "fields": {}}}), "os."),
    "a tuple from elsewhere": (box({"object": {"class": "os.x", "fields": {}}}), "os.x"),
    "a class as a tuple": (
        box({"object": {"class": f"{__name__}.Box", "fields": {}}}),
        "not among the names",
    ),
    "other fields": (
        box({"object": {"class": "test_moments", "fields": {"n": 1}}}),
        "expected the keys",
    ),
    "an unknown kind": (box({"pickle": "gASVCg=="}), "unknown kind"),
    "two kinds": (box({"tuple": [], "set": []}), "unknown kind"),
    "no model": ({"tuple": []}, "holds no model"),
    "a strange parameter": (
        {"model": {"class": "tenfold.Box", "params": {"other": 1}, "learned": {}}},
        "unexpected keyword",
    ),
    "a method": (box(1, get_params=1), "'get_params' is not a name"),
    "a magic name": (box(1, __class__=1), "'__class__' is not a name"),
    "a hidden method": (box(1, _get_tags_=1, _repr_html_=1), "'_repr_html_' is not a name"),
    "a parameter twice": (box(1, value=1), "'value' is not a name"),
    "a missing array": (box({"array": {"at": "x", "dtype": "<f8", "axes": []}}), "missing"),
    "an unknown key": (box({"array": {"at": "x", "dtype": "<f8", "axes": [], "z": 1}}), "keys"),
    "a cache of pickles": (
        {
            "model": {
                "class": "sklearn.pipeline.Pipeline",
                "params": {"steps": [], "memory": "cache"},
                "learned": {},
            }
        },
        "memory",
    ),
    "deep": (nested(200), "nested more than 100"),
    "a huge array of nothing": (
        box({"objects": {"shape": [10**12], "axes": [0], "items": []}}),
        "do not make an array",
    ),
    "an unhashable key": (box({"dict": [[[]], [1]]}), "unhashable"),
    "a dtype of objects": (box({"scalar": ["|O", "0000000000000000"]}), "does not hold"),
    "a dtype with fields": (box({"dtype": "i4,f8"}), "unknown dtype"),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_document_is_refused(attack, file):
    model, cause = HOSTILE[attack]
    forge(file, model)
    with pytest.raises(ValueError, match=cause) as caught:
        load(file)
    assert str(file) in str(caught.value)


def pointer(name, dtype="<f8", axes=(0,)):
    return {"array": {"at": name, "dtype": dtype, "axes": list(axes)}}


def csr(indices, indptr):
    tensors = dict(data=np.ones(2), i=np.array(indices), p=np.array(indptr))
    parts = {"data": pointer("data"), "index": [pointer("i", "<i8"), pointer("p", "<i8")]}
    return box({"sparse": {"class": "csr_array", "shape": [2, 3], **parts}}), tensors


def as_bytes(value):
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


TWICE = as_bytes([{"list": "b"}, {"list": "b"}])
HOSTILE_TENSORS = {
    "indices too large": (*csr([0, 7], [0, 1, 2]), "indices must be < 3"),
    "indices below zero": (*csr([0, -1], [0, 1, 2]), "indices must be >= 0"),
    "pointers that fall": (*csr([0, 1], [0, 9, 2]), "non-decreasing"),
    "an array of nobody": (box(1), {"x": np.ones(1)}, "belong to nothing"),
    "a list of itself": (box({"list": "a"}), {"a": as_bytes([{"list": "a"}])}, "used twice"),
    "scalars that unfold": (
        box([{"scalars": pointer("a")["array"]}, {"scalars": pointer("a", axes=[0.0])["array"]}]),
        {"a": np.ones(3)},
        "used twice",
    ),
    "a list that unfolds": (box({"list": "a"}), {"a": TWICE, "b": as_bytes([])}, "used twice"),
    "truth beyond 1": (box(pointer("a", "|b1")), {"a": np.full((3, 1), 2, np.uint8)}, "0 and 1"),
    "no such character": (box(pointer("a", "<U1")), {"a": np.full((3, 4), 255, np.uint8)}, "exist"),
    "another dtype": (box(pointer("a", "<c16")), {"a": np.ones(3)}, "does not hold"),
    "another size": (box(pointer("a", "<c16")), {"a": np.ones((3, 9), np.uint8)}, "does not hold"),
    "objects": (box(pointer("a", "|O")), {"a": np.ones((3, 8), np.uint8)}, "does not hold"),
    "other axes": (box(pointer("a", axes=(1, 1))), {"a": np.ones((3, 2))}, "not an order"),
}


@pytest.mark.parametrize("attack", HOSTILE_TENSORS)
def test_hostile_tensors_are_refused(attack, file):
    model, tensors, cause = HOSTILE_TENSORS[attack]
    forge(file, model, tensors)
    with pytest.raises(ValueError, match=cause):
        load(file)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (dict(version=3), r"newer tenfold \(9, format 3.*upgrade tenfold"),
        (dict(version=2), "lost its checksum"),
        (dict(version=0), "unknown format version 0"),
        (dict(version="1"), "not in the format"),
        (dict(format="other"), "not in the format"),
        (dict(extra=1), "expected the keys"),
        (dict(versions=None), "NoneType"),
    ],
)
def test_other_formats_are_refused(change, cause, file):
    forge(file, box(1), **change)
    with pytest.raises(ValueError, match=cause):
        load(file)


@pytest.mark.parametrize(
    ("metadata", "cause"),
    [
        (None, "not written by tenfold"),
        ({"tenfold": "{}", "more": ""}, "not written by tenfold"),
        ({"tenfold": "[" * 100_000}, "recursion"),
        ({"tenfold": '{"format": NaN}'}, "NaN is not JSON"),
        ({"tenfold": "7" * 5000}, "digits"),
        ({"tenfold": "[1]"}, "indices"),
    ],
)
def test_other_metadata_are_refused(metadata, cause, file):
    save_file({"x": np.ones(1)}, file, metadata=metadata)
    with pytest.raises(ValueError, match=cause):
        load(file)


def test_files_of_another_kind_are_refused(tmp_path, file):
    claims = json.dumps({"x": dict(dtype="F64", shape=[10**12], data_offsets=[0, 8 * 10**12])})
    for content in (
        b"",
        b"hello",
        pickle.dumps(Box(np.ones(1000))),
        b"\xff" * 100,
        len(claims).to_bytes(8, "little") + claims.encode(),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"model\.safetensors: not a saved model, or cut"):
            load(file)
    with pytest.raises(ValueError, match="not a saved model"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent"):
        load(tmp_path / "absent")


@pytest.fixture(scope="module")
def rich():
    inner = preprocessing.SplineTransformer().fit(X)
    value = [inner, scipy.sparse.csc_array(X), {1: {2.5}}, (b"x", 1j, slice(3)), np.array(list(Y))]
    result = Box([*value, Moments(1, X), text.TfidfVectorizer().fit(DOCS), float("nan"), np.int8])
    result.calibrated_ = calibration.CalibratedClassifierCV(Scores(), cv=2).fit(X, Y)
    return result


def test_a_file_cut_short_is_refused(rich, file):
    save(rich, file)
    content = file.read_bytes()
    for length in [*range(0, len(content), len(content) // 100), len(content) - 1]:
        file.write_bytes(content[:length])
        with pytest.raises(
            ValueError, match=r"model\.safetensors: not a saved model, or cut short"
        ):
            load(file)


def loads_or_refuses(file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a changed number may be another version or be odd
        try:
            return isinstance(load(file), BaseEstimator)
        except ValueError as error:
            return str(file) in str(error)


def test_flipped_bytes_load_or_are_refused(rich, file):
    save(rich, file)
    content, dice = file.read_bytes(), random.Random(0)
    header = int.from_bytes(content[:8], "little")
    for _ in range(300):
        changed = bytearray(content)
        changed[dice.randrange(8 + header)] = dice.randrange(256)
        file.write_bytes(changed)
        assert loads_or_refuses(file)


def places(node):
    """Each place of a JSON tree, as the container and the key in it."""
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        yield node, key
        if isinstance(child, dict | list):
            yield from places(child)


def test_any_junk_at_any_place_loads_or_is_refused(rich, file):
    save(rich, file)
    with safe_open(file, "np") as stored:
        document, tensors = stored.metadata()["tenfold"], stored.get_tensors()
    junk = [None, True, -1, 1e300, 10**30, "x", [], [[]], {}, {"tuple": [1]}, {"array": {}}]
    dice = random.Random(0)
    for _ in range(800):
        changed = json.loads(document) | {"version": 1}  # whose files have no checksum
        node, key = dice.choice(list(places(changed)))
        node[key] = dice.choice(junk)
        save_file(tensors, file, metadata={"tenfold": json.dumps(changed)})
        assert loads_or_refuses(file)


def test_another_version_of_sklearn_is_a_warning(file):
    save(preprocessing.StandardScaler().fit(X), file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sklearn, "__version__", "99.0")
        with pytest.warns(
            InconsistentVersionWarning, match=r"StandardScaler from version .* 99\.0"
        ):
            load(file)


WATCHED = """
import sys
from tenfold import load
load(sys.argv[1])  # imports what the model needs

def watch(event, args):
    bad = event.startswith(("pickle", "os.", "subprocess")) and event != "os.listdir"
    assert not bad and event not in {"import", "exec", "compile"}, (event, args)

sys.addaudithook(watch)
before = set(sys.modules)
print(type(load(sys.argv[1])).__name__)
for path in sys.argv[2:]:
    try:
        load(path)
    except ValueError:
        print("refused")
assert set(sys.modules) == before
"""


def test_loading_imports_and_executes_nothing(tmp_path):
    good = tmp_path / "good"
    save(preprocessing.KBinsDiscretizer(quantile_method="linear").fit(X), good)
    for i, name in enumerate(["antigravity.fly", "os.system", "sklearn.svm.SVC", "tenfold.Evil"]):
        forge(tmp_path / f"bad{i}", {"model": {"class": name, "params": {}, "learned": {}}})
    bad = sorted(map(str, tmp_path.glob("bad*")))
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, good, *bad], capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["KBinsDiscretizer", *["refused"] * 4], "")


def test_losses_and_penalties_given_as_objects_are_saved(tmp_path):
    from tenfold.math.losses import HuberLoss, LogisticLoss

    for loss in (HuberLoss(1.5), LogisticLoss()):
        model = tenfold.PenalizedRegressor(loss=loss)
        model.save(tmp_path / "m.tenfold")
        assert tenfold.load(tmp_path / "m.tenfold").loss == loss
