"""Whatever is wrong: one sentence with the cure, exit code 2, nothing half-written."""

import gzip
import json
import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest

import tenfold
from tenfold.cli import main

RNG = np.random.default_rng(0)
HEAD = "size,town,price\n"


def lines(n=60):
    """A good table of n rows, as lines of CSV."""
    towns = ("Ames", "Bonn", "Cork")
    size = RNG.normal(size=n).round(3)
    return [f"{s},{towns[i % 3]},{2 * s + i % 3:.3f}\n" for i, s in enumerate(size)]


def inside(folder):
    """Names of all that lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def refused(capsys, *words):
    """Run a command that must be refused, and return its sentence."""
    code = main([str(word) for word in words])
    found = capsys.readouterr()
    errors = [line for line in found.err.splitlines() if line.startswith("tenfold: ")]
    assert code == 2, found.err
    assert len(errors) == 1
    assert found.err.rstrip().splitlines()[-1] == errors[0]
    assert found.out == ""
    assert "Traceback" not in found.err
    return errors[0]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def good(here):
    (here / "good.csv").write_text(HEAD + "".join(lines()))
    return here


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A folder with a model, and the table that it learned from."""
    folder = tmp_path_factory.mktemp("learned")
    table = folder / "good.csv"
    table.write_text(HEAD + "".join(lines()))
    words = ["learn", table, "-t", "price", "--models", "ridge", "--no-report", "-q"]
    assert main([str(word) for word in [*words, "-o", folder / "out"]]) == 0
    return folder


# ----------------------------------------------------------------------------- tables to learn from

TEXTS = {
    "empty file": (b"", "price", "empty"),
    "only a header": (HEAD.encode(), "price", "row"),
    "one column": (b"price\n" + b"1\n2\n3\n4\n" * 10, "price", "no column to learn from"),
    "one row": ((HEAD + lines()[0]).encode(), "price", "row"),
    "target absent": ((HEAD + "".join(lines())).encode(), "prize", "'price'"),
    "target constant": ((HEAD + "1,a,5\n2,b,5\n" * 20).encode(), "price", "in all rows"),
    "target all missing": ((HEAD + "1,a,\n2,b,\n" * 20).encode(), "price", "missing in all rows"),
    "target of unique text": (
        (HEAD + "".join(f"{i},a,name {i}\n" for i in range(60))).encode(),
        "price",
        "too many classes",
    ),
    "ragged lines": ((HEAD + "".join(lines()) + "1,2\n").encode(), "price", "line 62"),
    "binary junk": (bytes(range(256)) * 40, "price", "junk.csv"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_table_that_cannot_be_learned_from(case, here, capsys):
    content, target, said = TEXTS[case]
    (here / "junk.csv").write_bytes(content)
    sentence = refused(capsys, "learn", "junk.csv", "-t", target)
    assert said in sentence
    assert inside(here) == ["junk.csv"]


def test_no_such_file(good, capsys):
    assert "god.csv" in refused(capsys, "learn", "god.csv", "-t", "price")
    assert "good.csv" in refused(capsys, "learn", "god.csv", "-t", "price")
    assert inside(good) == ["good.csv"]


def test_nearly_the_name_of_a_data_set(here, capsys):
    assert "did you mean 'iris'" in refused(capsys, "learn", "irsi")
    assert inside(here) == []


def test_a_folder_without_tables(here, capsys):
    (here / "empty").mkdir()
    assert "empty" in refused(capsys, "learn", "empty", "-t", "price")


@pytest.mark.parametrize("end", [".csv.gz", ".parquet", ".arrow", ".xlsx", ".jsonl"])
def test_a_file_that_is_cut_short_or_something_else(end, here, capsys):
    content = gzip.compress(("\n".join(lines()) * 50).encode())[:200]
    (here / f"cut{end}").write_bytes(content)
    assert f"cut{end}" in refused(capsys, "learn", f"cut{end}", "-t", "price")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--task", "regresion"], "regression"),
        (["--kind", "town"], "COLUMN=KIND"),
        (["--kind", "town=colour"], "category"),
        (["--kind", "twon=category"], "town"),
        (["--drop", "sise"], "'size'"),
        (["--drop", "price"], "cannot be dropped"),
        (["--metric", "acuracy"], "r2"),
        (["--metric", "roc_auc"], "r2"),
        (["--models", "rigde"], "ridge"),
        (["--minutes", "0"], "positive"),
        (["--encoding", "utf-9"], "utf-9"),
        (["--output", "good.csv"], "is a file"),
        (["--output", "good.csv/inside"], "good.csv"),
    ],
)
def test_a_wish_that_cannot_be_met(words, said, good, capsys):
    assert said in refused(capsys, "learn", "good.csv", "-t", "price", *words)
    assert inside(good) == ["good.csv"]


def test_going_on_with_another_study(good, capsys):
    words = ["learn", "good.csv", "-t", "price", "--models", "ridge", "-o", "out", "--resume"]
    journal = good / "out" / "journal"
    from tenfold.automl.fold_store import FoldStore

    FoldStore(journal, {"target": "size"}, resume=False)
    assert "another" in refused(capsys, *words)


# ------------------------------------------------------------- tables that are odd, yet can be read


def learn_quickly(here, capsys, *words, models="ridge"):
    words = ["learn", *words, "--models", models, "--no-report", "--json", "-o", here / "out"]
    assert main([str(word) for word in words]) == 0
    found = capsys.readouterr()
    return json.loads(found.out), found.err


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "utf-16"])
def test_letters_of_another_age(encoding, here, capsys):
    text = "größe,town,price\n" + "".join(lines()).replace("Cork", "Köln")
    (here / "old.csv").write_bytes(text.encode(encoding))
    found, said = learn_quickly(here, capsys, "old.csv", "-t", "price")
    assert ("Latin-1" in said) == (encoding == "latin-1")
    assert set(found["columns"]) == {"größe", "town", "price"}


def test_columns_of_the_same_name(here, capsys):
    (here / "twice.csv").write_text("size,size,price\n" + "".join(lines()))
    found, said = learn_quickly(here, capsys, "twice.csv", "-t", "price")
    assert set(found["columns"]) == {"size", "size (2)", "price"}
    assert "size (2)" in said


def test_a_number_among_words_is_told(here, capsys):
    rows = [f"{i % 17}.5,a,{i % 17 * 2 + RNG.random():.3f}\n" for i in range(300)]
    rows[100] = "unknown,a,1\n"
    (here / "mixed.csv").write_text(HEAD + "".join(rows))
    found, _ = learn_quickly(here, capsys, "mixed.csv", "-t", "price")
    told = [each["text"] for each in found["warnings"] if "unknown" in each["text"]]
    assert len(told) == 1
    assert "'size'" in told[0]


@pytest.mark.slow
def test_ten_thousand_columns(here, capsys):
    X = RNG.normal(size=(60, 10_000)).round(2)
    X[30:, :50] += 2
    names = ",".join(f"c{i}" for i in range(10_000))
    rows = [",".join(map(str, row)) + f",{'yn'[i < 30]}\n" for i, row in enumerate(X.tolist())]
    (here / "wide.csv").write_text(f"{names},dear\n" + "".join(rows))
    words = ["wide.csv", "-t", "dear", "--folds", "2"]
    found, _ = learn_quickly(here, capsys, *words, models="naive_bayes")
    assert len(found["columns"]) == 10_001
    assert found["test"]["rows"] == 12


def test_names_and_cells_cannot_steer_a_terminal(here, capsys):
    bad = "si\x1b[31mze"
    (here / "bad.csv").write_text(f"{bad},town,price\n" + "".join(lines()))
    words = ["learn", "bad.csv", "-t", "price", "--models", "ridge", "--no-report"]
    assert main(words) == 0
    assert main(["show", "tenfold-bad"]) == 0
    found = capsys.readouterr()
    assert "\x1b" not in found.out + found.err


# ----------------------------------------------------------------------------------------- the disk


@pytest.fixture
def full_disk(monkeypatch):
    """From now on nothing can be written."""

    def no_space(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tenfold.persist.model_file.write_tensors", no_space)
    monkeypatch.setattr(Path, "write_text", no_space)


@pytest.mark.usefixtures("full_disk")
def test_a_disk_that_is_full_at_the_end_of_a_study(here, capsys):
    (here / "good.csv").write_bytes((HEAD + "".join(lines())).encode())
    words = ["learn", "good.csv", "-t", "price", "--models", "ridge", "-q"]
    assert "disk is full" in refused(capsys, *words)
    assert not list((here / "tenfold-good").glob("*.tenfold"))
    assert not list((here / "tenfold-good").glob(".*"))


@pytest.mark.parametrize("end", [".csv", ".jsonl", ".parquet", ".arrow"])
def test_a_disk_that_is_full_while_predicting(end, learned, capsys):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    from tenfold.io import writer

    made = writer._WRITERS[end]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(writer._WRITERS, end, lambda _, types: made(Path("/dev/full"), types))
        out = learned / f"out{end}"
        words = ["predict", learned / "out", learned / "good.csv", "-o", out]
        assert "disk is full" in refused(capsys, *words)
    assert not out.exists()
    assert not list(learned.glob(".tenfold-*"))


def test_a_folder_that_must_not_be_written(good, capsys):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    locked = good / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    words = ["learn", "good.csv", "-t", "price", "-o", locked / "out"]
    assert "permission" in refused(capsys, *words)


# ------------------------------------------------------------------------------------------- models


def test_no_such_model(learned, capsys):
    words = [learned / "out" / "model.tenfolt", learned / "good.csv"]
    assert "did you mean" in refused(capsys, "predict", *words)
    assert "tenfold learn" in refused(capsys, "show", learned / "nowhere")


def test_a_model_that_was_tampered_with(learned, tmp_path, capsys):
    whole = (learned / "out" / "model.tenfold").read_bytes()
    rng = np.random.default_rng(1)
    for number in range(30):
        broken = bytearray(whole)
        for at in rng.integers(8, 3000, size=20):  # in the head: what is what
            broken[at] ^= 1 << int(rng.integers(8))
        path = tmp_path / f"{number}.tenfold"
        path.write_bytes(broken)
        sentence = refused(capsys, "show", path)
        assert path.name in sentence
        assert "tenfold learn" in sentence


@pytest.mark.parametrize("content", [b"", b"no model", b"\xff" * 100])
def test_a_file_that_is_no_model(content, tmp_path, capsys):
    (tmp_path / "model.tenfold").write_bytes(content)
    assert "model.tenfold" in refused(capsys, "show", tmp_path)


def test_a_model_that_is_cut_short(learned, tmp_path, capsys):
    whole = (learned / "out" / "model.tenfold").read_bytes()
    (tmp_path / "model.tenfold").write_bytes(whole[: len(whole) // 2])
    assert "cut short" in refused(capsys, "predict", tmp_path, learned / "good.csv")


def test_a_model_of_another_kind(tmp_path, capsys):
    tenfold.save(tenfold.KMeans(), tmp_path / "model.tenfold")
    assert "holds a KMeans" in refused(capsys, "show", tmp_path)


# -------------------------------------------------------------------------------- tables to predict

NEW = {
    "a column is missing": ("town,price\nAmes,1\n", r"no column 'size'"),
    "a column is misspelt": ("Size,town\n1,Ames\n", r"'size'.*'Size'"),
    "words where numbers were": ("size,town\n1,Ames\nlarge,Bonn\n", r"line 3.*'size' is 'large'"),
    "nothing": ("", r"new\.csv"),
    "a header alone": ("size,town\n", r"new\.csv"),
}


@pytest.mark.parametrize("case", NEW)
@pytest.mark.parametrize("output", ["-", "out.csv", "out.parquet"])
def test_a_table_that_does_not_fit_the_model(case, output, learned, here, capsys):
    content, said = NEW[case]
    (here / "new.csv").write_text(content)
    sentence = refused(capsys, "predict", learned / "out", "new.csv", "-o", output)
    assert re.search(said, sentence)
    assert inside(here) == ["new.csv"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["predict", "{out}", "{good}", "-o", "out.doc"], ".csv"),
        (["predict", "{out}", "{good}", "-o", "nowhere/out.csv"], "nowhere"),
        (["predict", "{out}", "{good}", "--probabilities"], "probabilities are for classes"),
        (["predict", "{out}", "{good}", "--interval", "2"], "between 0 and 1"),
        (["predict", "{out}", "{good}", "--keep", "twon"], "'town'"),
        (["explain", "{out}", "--row", "3"], "needs a table"),
        (["explain", "{out}", "--html", "."], "is a folder"),
        (["explain", "{out}", "{good}", "--row", "600"], "there is no row 600"),
        (["evaluate", "{out}", "{good}", "--metric", "roc_auc"], "r2"),
    ],
)
def test_a_question_that_has_no_answer(words, said, learned, here, capsys):
    places = {"out": learned / "out", "good": learned / "good.csv"}
    assert said in refused(capsys, *(word.format(**places) for word in words))
    assert inside(here) == []


def test_a_truth_that_is_not_there(learned, here, capsys):
    (here / "new.csv").write_text("size,town\n1,Ames\n")
    assert "'price'" in refused(capsys, "evaluate", learned / "out", "new.csv")
    (here / "new.csv").write_text(HEAD + "1,Ames,dear\n")
    assert "'dear'" in refused(capsys, "evaluate", learned / "out", "new.csv")
    (here / "new.csv").write_text(HEAD + "1,Ames,\n")
    assert "nothing to score" in refused(capsys, "evaluate", learned / "out", "new.csv")


def test_a_port_that_is_taken(learned, capsys):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "--port" in refused(capsys, "serve", learned / "out", "--port", port)
