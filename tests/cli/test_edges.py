"""Numbers, streams and arguments at the edge: exit 0 and all files, or 2 and one sentence."""

import io
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tenfold
from tenfold.cli import main

RNG = np.random.default_rng(0)
ROWS = 60
SIZE = RNG.normal(size=ROWS)
PRICE = 2 * SIZE + RNG.normal(scale=0.3, size=ROWS)


def write_table(path, **columns):
    cells = {"size": SIZE, "price": PRICE} | columns
    rows = zip(*cells.values(), strict=True)
    text = "\n".join(",".join(str(cell) for cell in row) for row in rows)
    path.write_text(",".join(cells) + "\n" + text + "\n")


def with_cell(values, cell, row=7):
    return [cell if i == row else value for i, value in enumerate(values)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def run(capsys, *words):
    """Exit code, standard output, and the lines of errors."""
    code = main([str(word) for word in words])
    found = capsys.readouterr()
    errors = [line for line in found.err.splitlines() if line.startswith("tenfold: ")]
    return code, found.out, errors


def learn(capsys, *words, models="ridge"):
    return run(capsys, "learn", "t.csv", "-t", "price", "--models", models, "-o", "out", *words)


# ------------------------------------------------------------------------------------ nasty numbers

REFUSED = {
    "infinity": ("size", with_cell(SIZE, "inf"), "line 9"),
    "beyond float64": ("size", with_cell(SIZE, "-1e309"), "line 9"),
    "infinite target": ("price", with_cell(PRICE, "inf"), "line 9"),
    "large cells": ("size", [1e308 * (-1) ** i for i in range(ROWS)], "line 2"),
    "large targets": ("price", PRICE * 3e307, "line 2"),
    "targets of all sizes": ("price", [10.0 ** (155 * (-1) ** i) for i in range(ROWS)], "line 2"),
    "tiny targets": ("price", [1e-309 * (1 + x) for x in np.abs(PRICE)], "multiply"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_numbers_that_cannot_be_computed_with_are_located(case, here, capsys):
    name, values, said = REFUSED[case]
    write_table(here / "t.csv", **{name: values})
    code, out, errors = learn(capsys)
    assert (code, out, len(errors)) == (2, "", 1)
    assert repr(name) in errors[0]
    assert said in errors[0]
    assert not (here / "out").exists()


READ = {
    "long numbers": [10**16 + i for i in range(ROWS)],
    "stamps in nanoseconds": [1_700_000_000_000_000_000 + 10**9 * i for i in range(ROWS)],
    "tiny numbers": [1e-309 * (1 + abs(x)) for x in SIZE],
    "small numbers": SIZE * 1e-140,
    "large numbers": SIZE * 1e140,
    "microseconds apart": [f"2024-01-01 00:00:00.{i:06d}" for i in range(ROWS)],
    "far dates": [f"{year}-01-01" for year in RNG.integers(1000, 9999, ROWS)],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("case", "name"),
    [*((case, "other") for case in READ), ("small numbers", "price"), ("large numbers", "price")],
)
def test_a_study_that_is_finished_has_its_report(case, name, here, capsys):
    write_table(here / "t.csv", **{name: READ[case]})
    code, out, errors = learn(capsys)
    assert (code, errors) == (0, [])
    assert names_in("out") == ["metrics.json", "model.tenfold", "report.html"]
    assert "left out" not in (here / "out" / "report.html").read_text()
    assert "ridge" in out.lower()


def test_tiny_numbers_are_told(here):
    write_table(here / "t.csv", other=READ["tiny numbers"])
    study = tenfold.learn("t.csv", "price", models=["ridge"])
    assert any(w.kind == "tiny numbers" and w.columns == ("other",) for w in study.warnings)


def test_rows_to_cluster_are_located_too(here, capsys):
    write_table(here / "t.csv", size=with_cell(SIZE, "inf"))
    code, _, errors = run(capsys, "learn", "t.csv")
    assert code == 2
    assert "t.csv, line 9, column 'size'" in errors[0]


def test_rows_to_predict_are_located_too(here, capsys):
    write_table(here / "t.csv")
    assert learn(capsys, "--no-report")[0] == 0
    for cell in ("inf", "1e300"):
        write_table(here / "new.csv", size=with_cell(SIZE, cell, row=40))
        for command in ("predict", "evaluate", "explain"):
            code, out, errors = run(capsys, command, "out", "new.csv")
            assert (code, out) == (2, "")
            assert "new.csv, line 42, column 'size'" in errors[0]


def test_a_study_in_which_every_model_fails_says_why(monkeypatch):
    def fail(*_):
        raise ValueError("it rains")

    monkeypatch.setattr("tenfold.automl.candidate_runner.tune_models", fail)
    with pytest.raises(ValueError, match=r"no model could be fitted .* failed: it rains"):
        tenfold.learn({"a": SIZE, "y": PRICE}, "y", models=["ridge"])


def test_whole_numbers_of_many_digits_are_classes(here, capsys):
    labels = [10**18 + int(price > 0) for price in PRICE]
    write_table(here / "t.csv", price=labels)
    assert learn(capsys, models="logistic")[0] == 0
    code, out, _ = run(capsys, "predict", "out", "t.csv")
    assert code == 0
    assert np.mean([said == str(label) for said, label in zip(out.split()[1:], labels)]) > 0.9  # noqa: B905
    first = (here / "t.csv").read_text().splitlines()[:2]
    (here / "one.csv").write_text("\n".join(first))
    assert run(capsys, "evaluate", "out", "one.csv", "--metric", "accuracy")[0] == 0


# ---------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", ""], "--target is empty"),
        (["-t", ""], "-t is empty"),
        (["--target="], "--target is empty"),
        (["--output", ""], "--output is empty"),
        ([""], "an argument is empty"),
        (["-t", "price", "--delimiter", "ab"], "--delimiter 'ab'"),
        (["-t", "price", "--seed", "12345678901234567890"], "--seed"),
    ],
)
def test_arguments_that_mean_nothing(words, said, here, capsys):
    write_table(here / "t.csv")
    code, out, errors = run(capsys, "learn", "t.csv", *words)
    assert (code, out, len(errors)) == (2, "", 1)
    assert said in errors[0]
    assert names_in(".") == ["t.csv"]


def test_a_tab_may_be_written_with_a_backslash(here, capsys):
    rows = "".join(f"{a}\t{b}\n" for a, b in zip(SIZE, PRICE, strict=True))
    (here / "t.csv").write_text("size\tprice\n" + rows)
    assert learn(capsys, "--delimiter", r"\t", "--no-report")[0] == 0


def test_a_report_that_cannot_be_written_does_not_undo_the_study(here, capsys, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("nothing to divide")

    write_table(here / "t.csv")
    monkeypatch.setattr("tenfold.report.pages.render_report", fail)
    code, out, errors = learn(capsys)
    assert (code, errors) == (0, [])
    assert names_in("out") == ["metrics.json", "model.tenfold"]
    assert "report" not in out


# ------------------------------------------------------------------------------------------ streams


def shell(command):
    """Run a line of a shell in which `tenfold` is this one; exit code and errors."""
    run_main = f"{sys.executable} -c 'import sys; from tenfold.cli import main; sys.exit(main())'"
    done = subprocess.run(
        ["/bin/bash", "-c", command.replace("tenfold ", f"{run_main} ")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    write_table(folder / "t.csv")
    words = ["-t", "price", "--models", "ridge", "--no-report", "-q", "-o", str(folder / "out")]
    assert main(["learn", str(folder / "t.csv"), *words]) == 0
    return folder


def test_a_reader_that_leaves_and_a_disk_that_is_full(learned):
    many = "$(printf 't.csv %.0s' {1..300})"
    code, errors = shell(
        f"cd {learned} && tenfold predict out {many} --all | head -1; "
        "echo ${PIPESTATUS[0]} > codes; tenfold predict out t.csv > /dev/full; echo $? >> codes"
    )
    assert code == 0
    assert (learned / "codes").read_text().split() == ["141", "2"]
    assert "disk is full" in errors
    assert not re.search(r"Traceback|Exception ignored|a bug", errors)


def test_a_closed_standard_output(learned, monkeypatch, capsys):
    monkeypatch.chdir(learned)
    for words, code in [
        ("predict out t.csv", 2),
        ("show out", 2),
        ("evaluate out t.csv --json", 2),
        ("predict out t.csv -o new.csv", 0),
        ("learn t.csv -t price --models ridge --no-report -o again", 0),
    ]:
        monkeypatch.setattr("sys.stdout", None)
        assert main(words.split()) == code
        sys.stdout.close()
        assert ("standard output is closed" in capsys.readouterr().err) == (code == 2)
    assert {"new.csv", "again"} <= set(names_in("."))


def test_the_standard_input_has_no_other_name(learned, monkeypatch, capsys):
    odd = SimpleNamespace(buffer=io.BytesIO(b"size,price\n1,2\n3,4\n5\n"))
    monkeypatch.setattr("sys.stdin", odd)
    code, _, errors = run(capsys, "predict", learned / "out", "-")
    assert code == 2
    assert errors[0].startswith("tenfold: the standard input, line 4")
