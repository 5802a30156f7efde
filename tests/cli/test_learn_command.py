"""`tenfold learn` and what follows from it: files, predictions, scores, going on after a stop."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

import tenfold
from tenfold.cli import main
from tenfold.datasets.catalog import DEFAULT_DATASET

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def tenfold_(*words, **how):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "tenfold", *map(str, words)]
    how = dict(capture_output=True, text=True, timeout=120) | how
    return subprocess.run(command, check=False, **how)


LEARN = ["learn", "flats.csv", "-t", "rent"]
QUICK = ["--models", "ridge,lasso", "--folds", "3"]


@pytest.fixture(scope="module")
def flats(tmp_path_factory):
    """A folder with a table, a model of it, and what was said on the way."""
    folder = tmp_path_factory.mktemp("flats")
    rng = np.random.default_rng(0)
    n = 200
    size, town = rng.uniform(20, 120, n).round(1), rng.choice(["Ames", "Bonn", "Cork"], n)
    rent = 5 * size + 100 * (town == "Bonn") + rng.normal(0, 20, n)
    rows = (f"{s},{t},{r:.2f}\n" for s, t, r in zip(size, town, rent, strict=True))
    (folder / "flats.csv").write_text("size,town,rent\n" + "".join(rows))
    done = tenfold_(*LEARN, *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(folder=folder, out=folder / "tenfold-flats", done=done)


@pytest.fixture
def inside(flats, monkeypatch):
    monkeypatch.chdir(flats.folder)
    return flats


def test_learning_ends_with_three_files_and_nothing_else(flats):
    names = sorted(path.name for path in flats.out.iterdir())
    assert names == ["metrics.json", "model.tenfold", "report.html"]
    assert (flats.out / "report.html").read_text().startswith("<!doctype html>")


def test_results_are_on_stdout_and_talk_on_stderr(flats):
    out, err = flats.done.stdout, flats.done.stderr
    assert re.search(r"^\* .*(Ridge|Lasso).* 0\.9\d\d .*├─*●─*┤", out, re.MULTILINE)
    assert "40 test rows" in out
    assert "tenfold-flats/report.html" in out
    assert "regression" in err
    assert "- Baseline: " in err
    assert not CONTROL.search(out + err)


@pytest.mark.usefixtures("inside")
def test_a_machine_gets_one_document(capsys):
    words = [*LEARN, *QUICK, "--no-report", "--json", "-o", "for-machines"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(Path("for-machines/metrics.json").read_text()) | {
        "files": {
            "model": str(Path("for-machines/model.tenfold")),
            "metrics": str(Path("for-machines/metrics.json")),
        }
    }
    assert found["test"]["scores"]["r2"] > 0.9


@pytest.mark.usefixtures("inside")
def test_quiet_is_quiet_and_the_same_seed_the_same_model(capsys):
    assert main([*LEARN, *QUICK, "--no-report", "--quiet", "-o", "again"]) == 0
    assert capsys.readouterr() == ("", "")
    rows = {"size": [50.0, 80.0], "town": ["Bonn", "Cork"]}
    first, second = (tenfold.load(f"{name}/model.tenfold") for name in ("tenfold-flats", "again"))
    assert np.array_equal(first.predict(rows), second.predict(rows))


@pytest.mark.usefixtures("inside")
def test_without_a_report_an_old_one_does_not_stay():
    Path("other").mkdir()
    Path("other/report.html").write_text("of another model")
    assert main([*LEARN, "--models", "ridge", "--no-report", "-q", "-o", "other"]) == 0
    assert not Path("other/report.html").exists()


@pytest.mark.usefixtures("inside")
def test_options_reach_the_study(capsys):
    words = ["--kind", "size=category", "--drop", "town", "--metric", "neg_mean_absolute_error"]
    words += ["--seed", "3", "--test-share", "0.5", "--models", "ridge", "--no-report", "--json"]
    assert main([*LEARN, *words, "-o", "options"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["columns"]) == {"size", "rent"}
    assert found["columns"]["size"]["kind"] == "category"
    assert (found["metric"], found["seed"]) == ("neg_mean_absolute_error", 3)
    assert found["rows_test"] == 100


@pytest.mark.usefixtures("inside")
def test_the_table_may_come_from_elsewhere(capsys, monkeypatch):
    text = Path("flats.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    words = ["learn", "-", "-t", "rent", "--models", "ridge", "--no-report", "--json"]
    assert main(words) == 0
    whole = json.loads(capsys.readouterr().out)
    lines = text.decode().splitlines(keepends=True)
    for name, part in (("part1.csv", lines[1:90]), ("part2.csv", lines[90:])):
        Path(name).write_text("".join([lines[0], *part]))
    words = ["learn", "part1.csv", "part2.csv", "-t", "rent", "--models", "ridge", "--no-report"]
    assert main([*words, "--json", "-o", "parts"]) == 0
    parts = json.loads(capsys.readouterr().out)
    assert parts["test"] == whole["test"]
    assert Path("tenfold-stdin/model.tenfold").exists()


def test_no_table_is_a_data_set_that_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "--models", "naive_bayes", "--no-report"]) == 0
    found = capsys.readouterr()
    assert f"No table was given; using the data set {DEFAULT_DATASET}" in found.err
    assert (tmp_path / f"tenfold-{DEFAULT_DATASET}" / "model.tenfold").exists()


@pytest.mark.usefixtures("inside")
def test_without_a_target_there_are_groups(capsys):
    assert main(["learn", "flats.csv", "--no-report", "-o", "groups"]) == 0
    assert "groups" in capsys.readouterr().out
    assert main(["predict", "groups", "flats.csv", "-o", "groups.parquet"]) == 0
    from pyarrow.parquet import read_table

    assert str(read_table("groups.parquet").schema.field("prediction").type) == "int64"


@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl", "parquet", "arrow"])
@pytest.mark.usefixtures("inside")
def test_predictions_are_those_of_the_model(end):
    out = f"predictions.{end}"
    assert main(["predict", "tenfold-flats", "flats.csv", "--all", "-o", out, "-q"]) == 0
    from tenfold.io import open_table

    written = open_table(out)
    cells = written.slice(0, written.n_rows).to_columns()
    expected = tenfold.load("tenfold-flats/model.tenfold").predict("flats.csv")
    assert list(cells) == ["size", "town", "rent", "prediction"]
    np.testing.assert_allclose(cells["prediction"], expected, rtol=1e-15)
    assert cells["town"] == pd.read_csv("flats.csv")["town"].tolist()


@pytest.mark.usefixtures("inside")
def test_predictions_to_standard_output(capsys):
    assert main(["predict", "tenfold-flats", "flats.csv", "--interval", "0.9"]) == 0
    out = pd.read_csv(io.StringIO(capsys.readouterr().out))
    truth = pd.read_csv("flats.csv")["rent"]
    assert list(out) == ["prediction", "low", "high"]
    assert 0.8 < ((out["low"] <= truth) & (truth <= out["high"])).mean() < 0.99
    assert main(["predict", "tenfold-flats", "flats.csv", "--keep", "town", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 200
    assert rows[0].keys() == {"town", "prediction"}


@pytest.mark.usefixtures("inside")
def test_whoever_reads_may_leave():
    command = f"{sys.executable} -m tenfold predict tenfold-flats flats.csv | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "prediction\n"
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("inside")
def test_evaluation_is_that_of_the_sealed_rows_and_others(capsys):
    assert main(["evaluate", "tenfold-flats", "flats.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    predicted = tenfold.load("tenfold-flats/model.tenfold").predict("flats.csv")
    truth = pd.read_csv("flats.csv")["rent"]
    assert found["scores"]["r2"] == pytest.approx(r2_score(truth, predicted))
    low, high = found["intervals"]["r2"]
    assert low < found["scores"]["r2"] < high
    assert main(["evaluate", "tenfold-flats", "flats.csv"]) == 0
    assert "R²" in capsys.readouterr().out


@pytest.mark.usefixtures("inside")
def test_what_matters_is_explained(capsys):
    assert main(["explain", "tenfold-flats", "flats.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["column"] for each in found["importances"]] == ["size", "town"]
    assert main(["explain", "tenfold-flats", "flats.csv", "--row", "7", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    added = sum(each["adds"] for each in row["contributions"])
    assert row["base"] + added == pytest.approx(row["predicted"])
    for words in (["flats.csv"], ["flats.csv", "--row", "7"], []):
        assert main(["explain", "tenfold-flats", *words]) == 0
        assert "size" in capsys.readouterr().out


@pytest.mark.usefixtures("inside")
def test_groups_are_not_explained_by_a_score(capsys):
    words = ["learn", "flats.csv", "--drop", "rent", "-o", "groups", "--no-report", "-q"]
    assert main(words) == 0
    assert main(["explain", "groups", "flats.csv"]) == 2
    assert "finds clusters" in capsys.readouterr().err


@pytest.mark.usefixtures("inside")
def test_weights_are_shown_with_and_without_a_table(capsys):
    assert main(["explain", "tenfold-flats", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)["weights"]
    assert alone["names"][0] == "size"
    assert alone["outputs"] == ["rent"]
    sizes = [abs(value) for [value] in alone["values"]]
    assert sizes == sorted(sizes, reverse=True)
    assert main(["explain", "tenfold-flats", "flats.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["weights"] == alone
    assert main(["explain", "tenfold-flats", "flats.csv"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"Weights, the largest first.*\n\ncolumn +rent", said)
    assert "town=Bonn" in said.partition("Weights")[2]


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    ("words", "sections"),
    [
        (["flats.csv"], {"importance", "errors", "model"}),
        ([], {"weights", "model"}),
        (["flats.csv", "--row", "7"], {"row", "model"}),
        (["unknown.csv"], {"importance", "model"}),
    ],
)
def test_an_explanation_as_a_page(words, sections, tmp_path, capsys):
    Path("unknown.csv").write_text("size,town\n50,Bonn\n70,Cork\n")
    page = tmp_path / "new" / "page.html"
    assert main(["explain", "tenfold-flats", *words, "--html", str(page)]) == 0
    assert str(page) in capsys.readouterr().err
    text = page.read_text()
    assert set(re.findall(r'<section id="(\w+)"', text)) == sections
    assert "town=Bonn" in text or "town = " in text
    assert "http" not in text.replace("http://www.w3.org", "")
    assert [path.name for path in page.parent.iterdir()] == ["page.html"]


def test_numbers_are_read_at_prediction_as_they_were_learned(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    size, people = rng.uniform(1, 200, 200).round(3), rng.integers(100, 90_000, 200)
    rent = 1000 * size + people / 7
    table = str.maketrans({",": ".", ".": ","})
    lines = [
        f"{s:.3f};{p:,};{r:,.2f}".translate(table)
        for s, p, r in zip(size, people, rent, strict=True)
    ]
    Path("a.csv").write_text("\n".join(["size;people;rent", *lines]))
    assert main(["learn", "a.csv", "-t", "rent", *QUICK, "--no-report"]) == 0
    assert "decimal commas in 'size', 'people', 'rent'" in capsys.readouterr().err
    metrics = json.loads(Path("tenfold-a/metrics.json").read_text())
    assert metrics["columns"]["size"]["high"] == size.max()
    assert "decimal commas" in metrics["columns"]["size"]["why"]
    Path("new.csv").write_text("size|people\n101,234|1.234\n")  # by itself 101234 and 1.234
    assert main(["predict", "tenfold-a", "new.csv"]) == 0
    said = float(capsys.readouterr().out.split()[1])
    assert said == pytest.approx(1000 * 101.234 + 1234 / 7, rel=0.02)
    model = tenfold.load("tenfold-a/model.tenfold")
    assert model.predict("new.csv")[0] == said
    assert model.predict({"size": ["101,234"], "people": ["1.234"]})[0] == said
    assert main(["evaluate", "tenfold-a", "a.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["r2"] > 0.99
    Path("bad.csv").write_text("size;people\n1,5;70\n12.5;70\n")
    assert main(["predict", "tenfold-a", "bad.csv"]) == 2
    error = capsys.readouterr().err
    assert "tenfold: bad.csv, line 3: 'size' is '12.5'" in error
    assert "such as 1.234,5" in error


def test_a_first_line_may_be_a_row(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = ["red,round,yes", "blue,square,no", "red,square,yes", "green,round,no"] * 10
    Path("a.csv").write_text("\n".join(rows))
    words = ["learn", "a.csv", "-t", "x2", "--models", "naive_bayes", "--folds", "2", "--no-report"]
    assert main([*words, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["rows"] == 40
    assert "the first line looks like a row" in told.err
    Path("new.csv").write_text("red,round")
    assert main(["predict", "tenfold-a", "new.csv"]) == 2
    assert "--no-header" in capsys.readouterr().err
    Path("two.csv").write_text("pink,oval\nred,round\n")
    assert main(["predict", "tenfold-a", "two.csv"]) == 2
    assert "if the first line of the file is a row, use --no-header" in capsys.readouterr().err
    assert main(["predict", "tenfold-a", "new.csv", "--no-header"]) == 0
    assert capsys.readouterr().out.split() == ["prediction", "yes"]
    assert main([*words[:2], "-t", "yes", *words[4:], "--header", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 39


@pytest.mark.usefixtures("inside")
def test_show_says_what_the_model_needs(capsys):
    assert main(["show", "tenfold-flats/model.tenfold", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert list(about["columns"]) == ["size", "town"]
    assert main(["show", "tenfold-flats"]) == 0
    out = capsys.readouterr().out
    for word in ("'rent'", "size", "town", "R²", "tenfold predict tenfold-flats"):
        assert word in out


def test_serve_answers_what_the_model_predicts(flats):
    command = [sys.executable, "-m", "tenfold", "serve", flats.out, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            lines = iter(process.stdout.readline, b"}\n")
            address = json.loads(b"".join(lines) + b"}")["address"]
            body = json.dumps({"rows": [{"size": 50, "town": "Bonn"}]}).encode()
            asked = Request(f"{address}/predict", body, {"Content-Type": "application/json"})
            with urlopen(asked, timeout=30) as reply:
                [found] = json.load(reply)["predictions"]
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    model = tenfold.load(flats.out / "model.tenfold")
    row = {"size": 50.0, "town": "Bonn"}
    assert found["prediction"] == model.predict(row)[0]
    assert found["interval"] == model.predict_interval(row)[0].tolist()


# -------------------------------------------------------------------------------------- stopping


def begun(folder, *words, until):
    """A study that has finished some folds of some models."""
    command = [sys.executable, "-m", "tenfold", *LEARN, "--no-report", *words]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith(until):
            return process
    raise AssertionError(f"the study ended before {until!r}")


def without_times(folder):
    found = json.loads((folder / "metrics.json").read_text())
    for model in found["models"]:
        del model["seconds"]
    del found["seconds"], found["settings"]["minutes"]
    return found


def test_after_kill_9_a_study_goes_on_and_ends_the_same(flats):
    words = ["--models", "ridge,lasso,linear_splines"]
    process = begun(flats.folder, *words, "-o", "killed", until="- Ridge")
    process.kill()
    process.communicate()
    killed = flats.folder / "killed"
    assert not (killed / "model.tenfold").exists()
    finished = {path.name for path in (killed / "journal").iterdir()}
    assert {"ridge-0.npz", "ridge-4.npz"} <= finished
    for name, more in (("killed", ["--resume"]), ("whole", [])):
        done = tenfold_(*LEARN, "--no-report", *words, "-o", name, *more, cwd=flats.folder)
        assert done.returncode == 0, done.stderr
    assert without_times(killed) == without_times(flats.folder / "whole")
    assert not (killed / "journal").exists()


def test_ctrl_c_goes_on_with_what_is_done(flats):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may ignore it
    try:
        process = begun(flats.folder, "-o", "stopped", until="- Ridge")
    finally:
        signal.signal(signal.SIGINT, before)
    time.sleep(0.5)  # while another model is being judged
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err
    found = json.loads((flats.folder / "stopped" / "metrics.json").read_text())
    notes = {model["key"]: model["note"] for model in found["models"]}
    assert notes["ridge"] is None
    assert "stopped by hand" in notes.values()
    assert (flats.folder / "stopped" / "model.tenfold").exists()
