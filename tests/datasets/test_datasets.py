"""Loaders against published figures and spoiled files; downloads."""

import ast
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import _twenty_newsgroups as peer
from sklearn.feature_extraction.text import TfidfVectorizer

from tenfold import datasets
from tenfold.datasets import cache, images, text
from tenfold.datasets.cache import DataFileError, FileCopy

DATA = Path(os.environ["TENFOLD_DATA"]) if "TENFOLD_DATA" in os.environ else None


STRIP = {
    "headers": "strip_newsgroup_header",
    "footers": "strip_newsgroup_footer",
    "quotes": "strip_newsgroup_quoting",
}


@pytest.fixture
def data(monkeypatch, tmp_path):
    if DATA is None or not DATA.is_dir():
        pytest.skip("no data files: set TENFOLD_DATA to the folder that holds them")
    monkeypatch.setenv("TENFOLD_DATA", str(DATA))
    monkeypatch.setenv("TENFOLD_CACHE", str(tmp_path / "cache"))
    return DATA


@pytest.fixture
def empty(monkeypatch, tmp_path):
    """An empty data folder, and no way to the network."""

    def refuse(url, **_):
        raise OSError(f"no network for {url}")

    monkeypatch.setenv("TENFOLD_DATA", str(tmp_path))
    monkeypatch.setenv("TENFOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("urllib.request.urlopen", refuse)
    return tmp_path


def put(folder, path, content):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    return folder / path


def tar(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def accept(monkeypatch, name, path):
    """Take any content for this packing: its published sum is that of the real archive."""
    monkeypatch.setattr(cache, "registry", lambda: {name: [FileCopy(path, None, None, None)]})


# ------------------------------------------------------------------------------------- names


def test_names_are_lazy_and_where_the_list_and_the_stub_say():
    for name, where in datasets._WHERE.items():
        assert getattr(datasets, name) is getattr(import_module(where), name)
    stub = ast.parse(Path(datasets.__file__).with_suffix(".pyi").read_text())
    told = {n.names[0].name: n.module for n in stub.body if isinstance(n, ast.ImportFrom)}
    assert told == datasets._WHERE
    with pytest.raises(AttributeError, match="no attribute 'make_sin'"):
        _ = datasets.make_sin
    code = "import sys, tenfold.datasets; print({'numpy', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# ----------------------------------------------------------------------------------- figures


def test_mnist(data):
    train, test = datasets.fetch_mnist(), datasets.fetch_mnist(subset="test")
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(train.target).tolist() == counts
    assert (np.bincount(train.target) + np.bincount(test.target))[:3].tolist() == [6903, 7877, 6990]
    assert train.images.shape == (60_000, 28, 28)
    assert train.data.dtype == np.uint8
    assert train.data.max() == 255
    md5 = hashlib.md5((data / "mnist/train-images-idx3-ubyte.gz").read_bytes()).hexdigest()
    assert md5 == "f68b3c2dcbeaaa9fbdd348bbdeb94873"  # the official one


@pytest.mark.usefixtures("data")
def test_20newsgroups():
    everything = datasets.fetch_20newsgroups(subset="all")
    assert len(everything.data) == 18_846
    train, groups = everything.data[:11_314], np.bincount(everything.target[:11_314])
    assert len(TfidfVectorizer().fit(train).vocabulary_) == 130_107
    ten = [everything.target_names.index(name) for name in datasets.TEN_GROUPS]
    assert groups[ten].sum() == 5616  # as note 001 has it
    X, y = datasets.fetch_20newsgroups(categories=datasets.FOUR_GROUPS, return_X_y=True)
    assert (len(X), np.bincount(y).tolist()) == (2369, [578, 598, 594, 599])  # note 000
    some = train[::7]
    for part in text._REMOVABLE_PARTS:
        strip = getattr(peer, STRIP[part])
        assert [text._strip_parts(t, [part]) for t in some] == [strip(t) for t in some]


@pytest.mark.usefixtures("data")
def test_faces():
    bunch = datasets.fetch_olivetti_faces()
    assert bunch.data[0, :2] == pytest.approx([0.30991736, 0.3677686])
    assert np.bincount(bunch.target).tolist() == [10] * 40
    squares = (bunch.data**2).sum(axis=1)
    apart = squares[:, None] + squares - 2 * bunch.data @ bunch.data.T
    np.fill_diagonal(apart, np.inf)
    assert (bunch.target[apart.argmin(axis=1)] == bunch.target).mean() == pytest.approx(0.945)


@pytest.mark.usefixtures("data")
def test_movielens():
    bunch = datasets.fetch_movielens_100k()
    assert bunch.target.mean() == pytest.approx(3.52986)
    assert bunch.data.min(axis=0).tolist() == [0, 0]
    assert bunch.data.max(axis=0).tolist() == [942, 1681]
    assert bunch.films["title"][0] == "Toy Story (1995)"
    assert [bunch.genre_names[i] for i in np.flatnonzero(bunch.genres[0])] == [
        "Animation",
        "Children's",
        "Comedy",
    ]
    assert (bunch.users["age"][0], bunch.users["occupation"][0]) == (24, "technician")
    whole = np.column_stack([bunch.data, bunch.target])
    for split in ("u1", "ub"):
        sides = [datasets.fetch_movielens_100k(part=f"{split}.{side}") for side in ("base", "test")]
        rows = np.vstack([np.column_stack([side.data, side.target]) for side in sides])
        assert np.array_equal(np.unique(rows, axis=0), np.unique(whole, axis=0))


@pytest.mark.usefixtures("data")
def test_netflix():
    X, gold = datasets.fetch_netflix_ratings(return_X_y=True)
    seen = ~np.isnan(X)
    assert np.array_equal(X[seen], gold[seen])
    assert np.isnan(gold).sum() == 2429
    assert set(np.unique(gold[~np.isnan(gold)])) == {1, 2, 3, 4, 5}
    # masked EM with K = 1 is one spherical Gaussian on the ratings that are there
    variance = np.mean((X - np.nanmean(X, axis=0))[seen] ** 2)
    likelihood = -seen.sum() / 2 * (np.log(2 * np.pi * variance) + 1)
    assert likelihood == pytest.approx(-1521060.95398, abs=1e-4)
    small = datasets.fetch_netflix_ratings("small")
    assert np.array_equal(small.data[0], [2, 5, 3, np.nan, np.nan], equal_nan=True)
    assert datasets.fetch_netflix_toy().data[0].tolist() == [-1.636, 2.413]


@pytest.mark.usefixtures("data")
def test_reviews_and_text_game():
    sizes = {subset: len(datasets.fetch_reviews(subset=subset).data) for subset in ("val", "test")}
    assert sizes == {"val": 500, "test": 500}
    train = datasets.fetch_reviews()
    assert [int((train.target == sign).sum()) for sign in (-1, 1)] == [2030, 1970]
    assert train.data[0].startswith("The chips are okay")
    assert sorted(train.order) == list(range(4000))
    assert (len(train.stop_words), train.columns["summary"][0]) == (127, "blue chips")
    assert datasets.fetch_reviews(subset="submit").target is None
    assert set(datasets.fetch_reviews_toy().target) == {-1, 1}
    game = datasets.fetch_text_game()
    assert all(len(texts) == 4 for texts in game.rooms.values())
    assert "living room" in game.rooms["living room"][1]
    assert "kitchen" in game.rooms["kitchen"][1]


def test_tables_agree_with_bundled_ones(data):
    ours, theirs = datasets.fetch_breast_cancer("diagnostic"), datasets.load_breast_cancer()
    assert np.array_equal(ours.data, theirs.data)
    assert np.array_equal(ours.target, theirs.target)
    assert ours.feature_names == theirs.feature_names.tolist()
    table = np.loadtxt(data / "uci/wine.data", delimiter=",")
    assert np.array_equal(table[:, :-1], datasets.load_wine().data)
    lines = (data / "uci/iris.data").read_text().split()
    flowers = np.array([[float(cell) for cell in line.split(",")[:4]] for line in lines])
    differ = np.any(flowers != datasets.load_iris().data, axis=1)
    assert np.flatnonzero(differ).tolist() == [34, 37]  # UCI's two known errors, corrected
    assert datasets.load_digits().data.shape == (1797, 64)


@pytest.mark.usefixtures("data")
def test_tables():
    cells = datasets.fetch_breast_cancer()
    assert np.isnan(cells.data).sum(axis=0).tolist() == [0, 0, 0, 0, 0, 16, 0, 0, 0]
    assert cells.data[0].tolist() == [5, 1, 1, 1, 2, 1, 3, 1, 1]
    spam = datasets.fetch_spambase()
    assert (len(spam.feature_names), spam.data[0, -1], spam.target.sum()) == (57, 278, 1813)
    assert datasets.fetch_wine_quality("white").data.shape == (4898, 11)
    assert datasets.fetch_wine_quality("red").target[3] == 6
    raw, derived = (datasets.fetch_california_housing(original=flag) for flag in (True, False))
    assert raw.target.mean() == pytest.approx(206_855.82, abs=0.005)
    assert derived.data[0] == pytest.approx(
        [8.3252, 41, 6.98412698, 1.02380952, 322, 2.55555556, 37.88, -122.23]
    )
    ames = datasets.fetch_ames_housing()
    assert ames.target.mean() == pytest.approx(180_796.06, abs=0.005)
    assert ames.data.shape[1] + ames.categories.shape[1] == 79
    assert np.isnan(ames.data[:, ames.feature_names.index("Lot Frontage")]).sum() == 490
    assert (ames.categories[:, ames.category_names.index("Alley")] == "NA").sum() == 2732


@pytest.mark.usefixtures("data")
def test_words_and_flights():
    assert datasets.fetch_sms_spam().data[1] == "Ok lar... Joking wif u oni..."
    assert len(set(datasets.fetch_tiny_shakespeare().data)) == 65
    assert datasets.fetch_names().data[-1] == "zzyzx"
    assert datasets.fetch_word_analogies().target_names[0] == "capital-common-countries"
    pairs = datasets.fetch_word_similarity("simlex999")
    assert (pairs.data[0].tolist(), pairs.target[0]) == (["old", "new"], 1.58)
    assert len(datasets.fetch_word_similarity().target) == 353
    flights, more = datasets.fetch_openflights(), datasets.fetch_openflights(extended=True)
    assert (len(flights.data), len(more.data)) == (7184, 10_668)
    assert len(flights.routes["stops"]) == 67_663
    assert np.isnan(flights.airports["timezone"]).any()
    assert np.all(np.abs(flights.data) <= [90, 180])
    known = np.isin(flights.routes["source_id"], more.airports["id"])
    assert known.mean() > 0.98


# -------------------------------------------------------------------------------- other packings


def test_publishers_packings_give_the_same(data, empty, monkeypatch):
    lines = (data / "ames/AmesHousing.csv").read_text("utf-8-sig").replace(",", "\t")
    put(empty, "ames/AmesHousing.txt", lines.encode())
    spam = (data / "uci/spambase.data").read_bytes().replace(b"\n", b"\r\n")
    put(empty, "uci/spambase/spambase.data", spam)
    wine = (data / "uci/winequality-red.csv").read_bytes().replace(b",", b";")
    put(empty, "uci/wine-quality/winequality-red.csv", b'"fixed acidity";"more"\n' + wine)
    sms = (data / "uci/SMSSpamCollection").read_bytes()
    packed = zipped({"SMSSpamCollection": sms, "readme": b""})
    put(empty, "uci/00228/smsspamcollection.zip", packed)
    for fetch in (
        datasets.fetch_ames_housing,
        datasets.fetch_spambase,
        datasets.fetch_wine_quality,
        datasets.fetch_sms_spam,
    ):
        monkeypatch.setenv("TENFOLD_DATA", str(empty))
        theirs = fetch()
        monkeypatch.setenv("TENFOLD_DATA", str(data))
        ours = fetch()
        assert np.array_equal(theirs.data, ours.data, equal_nan=not isinstance(ours.data, list))
        assert np.array_equal(theirs.target, ours.target)


def test_publishers_archives_give_the_same(data, empty, monkeypatch):
    rows = gzip.decompress((data / "california/cal_housing.data.gz").read_bytes())
    put(empty, "california/cal_housing.tgz", tar({"CaliforniaHousing/cal_housing.data": rows}))
    accept(monkeypatch, "california", "california/cal_housing.tgz")
    assert datasets.fetch_california_housing().target.mean() == pytest.approx(2.0685582)
    with tarfile.open(data / "ml-100k/ml-100k.tar.xz") as archive:
        files = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}
    put(empty, "ml-100k/ml-100k.zip", zipped({"ml-100k/": b"", **files}))
    accept(monkeypatch, "movielens-100k", "ml-100k/ml-100k.zip")
    assert datasets.fetch_movielens_100k(part="ua.test").target.size == 9430


def test_cbcl_faces(empty):
    def picture(i):
        return b"P5\n# made\n19 19\n255\n" + bytes([i % 256]) * 361

    files = {f"train/face/face{i:05}.pgm": picture(i) for i in range(2429)}
    files |= {f"train/non-face/cmu_{i:05}.pgm": picture(i) for i in range(4548)}
    put(empty, "cbcl/faces.tar.gz", tar({"face.train.tar.gz": tar(files)}))
    X, y = datasets.fetch_cbcl_faces(return_X_y=True)
    assert X.shape == (6977, 361)
    assert np.array_equal(X[y == 1, 7], np.arange(2429) % 256)
    with pytest.raises(DataFileError, match=r"no face\.test\.tar\.gz"):
        datasets.fetch_cbcl_faces(subset="test")
    files.popitem()
    put(empty, "cbcl/faces.tar.gz", tar({"face.train.tar.gz": tar(files)}))
    with pytest.raises(DataFileError, match=r"found \[4547, 2429\] other images and faces"):
        datasets.fetch_cbcl_faces()


def test_pgm():
    assert images._read_pgm(b"P5 2 1 255\n\x0a\x20", Path("a.pgm")).tolist() == [[10, 32]]
    for raw in (b"P5 2 1 255\n\x0a", b"P2 2 1 255\n1 2", b"P5 1 1 65535\nab"):
        with pytest.raises(DataFileError, match=r"a\.pgm"):
            images._read_pgm(raw, Path("a.pgm"))


def test_cifar10(empty, monkeypatch):
    rows = np.zeros((10_000, 3073), np.uint8)
    rows[:, 0], rows[:, 1 + 1024] = np.arange(10_000) % 10, 7
    put(empty, "cifar10.tgz", tar({"cifar-10-batches-bin/test_batch.bin": rows.tobytes()}))
    accept(monkeypatch, "cifar10", "cifar10.tgz")
    bunch = datasets.fetch_cifar10(subset="test")
    assert np.all(bunch.images[:, 1, 0, 0] == 7)
    assert bunch.images.sum() == 70_000
    assert bunch.target[:3].tolist() == [0, 1, 2]
    with pytest.raises(DataFileError, match="found 0 bytes of images, expected 153650000"):
        datasets.fetch_cifar10()


def test_folders_that_the_user_provides(empty):
    with pytest.raises(DataFileError, match=r"imagenet/val.*image-net\.org.*TENFOLD_DATA"):
        datasets.fetch_imagenet(subset="val")
    put(empty, "imagenet/val/n01440764/a.JPEG", b"")
    with pytest.raises(DataFileError, match="found 1 folders"):
        datasets.fetch_imagenet(subset="val")
    with pytest.raises(DataFileError, match=r"penn-treebank.*ldc\.upenn\.edu"):
        datasets.fetch_penn_treebank()
    text = b"( (S (NP-SBJ (NNP Ann) ) (VP (VBD ran) (NP (-NONE- *T*-1))) (. .)) )\n( (X (UH oh)) )"
    file = put(empty, "penn-treebank/00/wsj_0001.mrg", text)
    trees = datasets.fetch_penn_treebank().data
    assert list(datasets.tagged_words(trees[0])) == [("Ann", "NNP"), ("ran", "VBD"), (".", ".")]
    assert trees[1] == ("X", ("UH", "oh"))
    for spoiled in (text[:-3], text + b")", b"words only", b""):
        file.write_bytes(spoiled)
        with pytest.raises(DataFileError, match=r"wsj_0001\.mrg"):
            datasets.fetch_penn_treebank()


# --------------------------------------------------------------------------------- spoiled files


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("fetch_names", "text/names.txt"),
        ("fetch_olivetti_faces", "olivetti/olivettifaces.mat"),
        ("fetch_netflix_toy", "mit686x/netflix/toy_data.txt"),
        ("fetch_mnist", "mnist/train-images-idx3-ubyte.gz"),
    ],
)
def test_truncated_file_is_refused_and_kept(name, path, data, empty):
    whole = (data / path).read_bytes()
    cut = put(empty, path, whole[:-10])
    with pytest.raises(DataFileError) as caught:
        getattr(datasets, name)()
    for told in (str(cut), str(len(whole)), hashlib.sha256(whole).hexdigest()):
        assert told in str(caught.value)
    assert hashlib.sha256(whole[:-10]).hexdigest() in str(caught.value)
    assert cut.read_bytes() == whole[:-10]


@pytest.mark.parametrize(
    "case",
    [
        ("fetch_20newsgroups", "20newsgroups", "20newsgroups/20news-bydate.tar.xz"),
        ("fetch_movielens_100k", "movielens-100k", "ml-100k/ml-100k.tar.xz"),
        ("fetch_openflights", "openflights-airports", "openflights/airports.dat.gz"),
        ("fetch_california_housing", "california", "california/cal_housing.data.gz"),
        ("fetch_breast_cancer", "breast-cancer-original", "uci/breast-cancer-wisconsin.data"),
        ("fetch_spambase", "spambase", "uci/spambase.data"),
        ("fetch_sms_spam", "sms", "uci/SMSSpamCollection"),
        ("fetch_ames_housing", "ames", "ames/AmesHousing.csv"),
        ("fetch_wine_quality", "wine-quality-red", "uci/winequality-red.csv"),
        ("fetch_word_similarity", "wordsim353", "text/embedding-eval/wordsim353.tsv"),
    ],
    ids=lambda case: case[1],
)
@pytest.mark.parametrize("left", [0, 0.5, 0.999])
def test_truncated_file_without_a_sum_is_refused(case, left, data, empty, monkeypatch):
    fetch, name, path = case
    whole = (data / path).read_bytes()
    put(empty, path, whole[: int(left * len(whole))])
    accept(monkeypatch, name, path)
    with pytest.raises(DataFileError, match=Path(path).name):
        getattr(datasets, fetch)()


def test_page_instead_of_a_file_is_refused(empty):
    put(empty, "uci/spambase/spambase.data", "<html>café</html>".encode())
    with pytest.raises(DataFileError, match=r"spambase\.data is not the text it should be"):
        datasets.fetch_spambase()
    put(empty, "uci/spambase/spambase.data", b"<html>not found</html>")
    with pytest.raises(DataFileError, match=r"spambase\.data is not a table of numbers"):
        datasets.fetch_spambase()


def test_idx(tmp_path):
    head = bytes([0, 0, 11, 1, 0, 0, 0, 2])
    assert datasets.load_idx(put(tmp_path, "a.idx", head + b"\0\1\1\0")).tolist() == [1, 256]
    for spoiled in (head + b"\0\1\1", head[:6], b"", b"\1\0\10\1"):
        with pytest.raises(DataFileError, match=r"a\.idx"):
            datasets.load_idx(put(tmp_path, "a.idx", spoiled))
    with pytest.raises(DataFileError, match="cannot be unpacked"):
        datasets.load_idx(put(tmp_path, "a.idx.gz", gzip.compress(head)[:-9]))


# -------------------------------------------------------------------------------------- download


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A file that is published at an address, with its right sum; an empty cache."""
    source, names = tmp_path / "published.txt", b"ann\n" * 32_033
    source.write_bytes(names)
    copy = FileCopy(
        "text/x.txt", len(names), f"md5:{hashlib.md5(names).hexdigest()}", source.as_uri()
    )
    monkeypatch.setattr(cache, "registry", lambda: {"names": [copy]})
    monkeypatch.delenv("TENFOLD_DATA", raising=False)
    monkeypatch.setenv("TENFOLD_CACHE", str(tmp_path / "cache"))
    return source


def test_download_once_then_from_the_cache(published, tmp_path):
    assert datasets.fetch_names().data[0] == "ann"
    published.unlink()
    assert len(datasets.fetch_names().data) == 32_033
    assert [path.name for path in (tmp_path / "cache/text").iterdir()] == ["x.txt"]


def test_changed_download_is_refused_and_leaves_nothing(published, tmp_path):
    published.write_bytes(b"bob\n" * 32_033)
    with pytest.raises(DataFileError, match=r"published\.txt is not .* found 128132 bytes, md5:"):
        datasets.fetch_names()
    assert not list(tmp_path.glob("cache/**/*.txt"))


def test_interrupted_save_leaves_no_file(tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(KeyboardInterrupt):
        cache.save_file(b"half", tmp_path / "x.txt")
    assert not list(tmp_path.iterdir())


def test_offline_says_what_to_do(empty):
    with pytest.raises(
        DataFileError, match=r"could not download https://.*names.txt.*TENFOLD_DATA"
    ):
        datasets.fetch_names()
    with pytest.raises(DataFileError, match=r"mit686x/reviews/.*6\.86x .* TENFOLD_DATA"):
        datasets.fetch_reviews()
    with pytest.raises(DataFileError, match=str(empty)):
        datasets.fetch_mnist()


def test_folders(monkeypatch, tmp_path):
    monkeypatch.delenv("TENFOLD_DATA", raising=False)
    monkeypatch.delenv("TENFOLD_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.data_folders() == [tmp_path / "tenfold"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.data_folders() == [Path.home() / ".cache/tenfold"]
    monkeypatch.setenv("TENFOLD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataFileError, match=r"nowhere, which is no folder"):
        cache.find_file("names")


def test_wrong_choice_names_the_offered_ones():
    for call in (
        lambda: datasets.fetch_mnist(subset="val"),
        lambda: datasets.fetch_movielens_100k(part="u6.base"),
        lambda: datasets.fetch_20newsgroups(remove=["header"]),
        lambda: datasets.fetch_wine_quality("rose"),
    ):
        with pytest.raises(ValueError, match=r"must be one of \["):
            call()
