"""Hostile and damaged files are refused, and execute nothing."""

import json
import pickle
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn import calibration, preprocessing
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction import text

import tenfold
from tenfold import load
from tenfold.persist.model_file import save
from tests.persist.stand_ins import DOCS, Box, Moments, Scores, X, Y, box, stand_ins_may_be_saved


@pytest.fixture(scope="module", autouse=True)
def _stand_ins():
    with stand_ins_may_be_saved():
        yield


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.safetensors"


def forge(file, model=None, tensors=None, **changes):
    document = dict(format="tenfold model", version=1, model=model)
    document |= dict(versions=dict(tenfold="9", numpy="9", sklearn=sklearn.__version__)) | changes
    save_file(tensors or {}, file, metadata={"tenfold": json.dumps(document)})


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
