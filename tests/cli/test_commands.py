"""The command `tenfold`: what a person and a machine get from it."""

import json
import os
import re
import resource
import subprocess
import sys

import pytest

import tenfold
from tenfold.cli import main
from tenfold.cli.console import WIDE_BAR, draw_interval, sanitize
from tenfold.cli.errors import describe_error
from tenfold.cli.options import complete_models, complete_tables
from tenfold.datasets.catalog import DATASETS, DEFAULT_DATASET, is_local

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def tenfold_(*words, **how):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "tenfold", *map(str, words)]
    how = dict(capture_output=True, text=True, timeout=120) | how
    return subprocess.run(command, check=False, **how)


# ------------------------------------------------------------------------------- what it is like


def test_help_answers_at_once_and_names_every_command():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = tenfold_("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    for command in ("learn", "predict", "evaluate", "explain", "show", "serve", "models"):
        assert re.search(rf"^  {command} ", done.stdout, re.MULTILINE)
    assert after.ru_utime - before.ru_utime < 0.5  # 0.1 s where nobody else is at work


def test_help_imports_nothing_heavy():
    code = "import sys; from tenfold.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "sklearn", "pyarrow", "rich"} & set(done.stdout.split())


def test_no_word_at_all_is_help(capsys):
    assert main([]) == 0
    assert "tenfold learn" in capsys.readouterr().out


def test_a_script_is_installed():
    from importlib.metadata import entry_points

    [script] = entry_points(group="console_scripts", name="tenfold")
    assert script.load() is main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mdels"], "Did you mean 'models'?"),
        (["learn", "--fold", "3"], "--fold"),
        (["learn", "--folds", "1"], "--folds"),
        (["predict"], "issing argument"),
        (["serve", "x", "--port", "99999"], "--port"),
    ],
)
def test_a_wrong_word_is_one_sentence_with_the_way_to_help(words, said, capsys):
    assert main(words) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert said in found.err
    assert found.err.startswith("tenfold: ")
    assert found.err.rstrip().endswith("--help")


# -------------------------------------------------------------------------------------- listings


def test_models_are_found_by_discovery(capsys):
    assert main(["models", "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)["models"]}
    assert {type(model).__name__ for model in tenfold.testing.all_models()} <= set(found)
    assert found["Ridge"]["task"] == "Regression"
    assert found["KMeans"]["task"] == "Clustering"
    assert all(each["about"] and ":math:" not in each["about"] for each in found.values())


def test_data_sets_are_as_large_as_the_list_says(capsys):
    assert main(["datasets", "--json"]) == 0
    for known in json.loads(capsys.readouterr().out)["datasets"]:
        if known["where"] == "local":
            from tenfold.io import open_table

            records = open_table(DATASETS[known["name"]].load())
            assert (records.n_rows, len(records.names)) == (known["rows"], known["columns"])
            assert known["target"] in records.names


def test_what_is_learned_by_default_needs_no_download(monkeypatch):
    monkeypatch.delenv("TENFOLD_DATA", raising=False)
    assert DATASETS[DEFAULT_DATASET].files == ()
    assert is_local(DEFAULT_DATASET)


def test_a_list_in_a_file_has_no_control_codes():
    done = tenfold_("datasets")
    assert done.returncode == 0
    assert not CONTROL.search(done.stdout)
    assert "iris" in done.stdout


# ----------------------------------------------------------------------------------- completion


def test_the_tab_key_offers_data_sets_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iron.csv").touch()
    (tmp_path / "irons").mkdir()
    (tmp_path / ".irhidden").touch()
    assert complete_tables("ir") == ["iris", "iron.csv", "irons" + os.sep]
    assert complete_tables("nowhere/x") == []


def test_the_tab_key_offers_models_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for name in ("a.tenfold", "a.csv"):
        (tmp_path / "out" / name).touch()
    assert complete_models("o") == ["out" + os.sep]
    assert complete_models("out/") == [f"out{os.sep}a.tenfold"]


def test_a_shell_can_ask_for_completion():
    asked = dict(_TENFOLD_COMPLETE="complete_bash", COMP_WORDS="tenfold lea", COMP_CWORD="1")
    assert tenfold_(env=os.environ | asked).stdout.split() == ["learn"]


# --------------------------------------------------------------------------------------- speaking


def test_nothing_from_a_file_can_steer_a_terminal():
    assert not CONTROL.search(sanitize("a\x1b]0;title\x07\n\rb\u202e"))
    assert sanitize("plain Ä ü") == "plain Ä ü"


def test_what_nobody_foresaw_is_called_a_bug():
    text, code = describe_error(RuntimeError("odd"))
    assert code == 1
    assert "bug" in text
    assert "--debug" in text


@pytest.mark.parametrize("error", [ValueError("no"), TypeError("no"), MemoryError(), OSError("no")])
def test_what_was_foreseen_is_refused(error):
    assert describe_error(error)[1] == 2


def test_an_interval_is_drawn_where_it_lies():
    drawn = draw_interval((0.5, 1.0), 0.75, (0.0, 1.0))
    assert len(drawn) == WIDE_BAR
    assert drawn.index("├") == (WIDE_BAR - 1) // 2
    assert drawn.endswith("┤")
    assert draw_interval((0.2, 0.2), 0.2, (0.2, 0.2)).strip() == "●"
