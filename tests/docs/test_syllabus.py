"""The syllabus page tells the truth: every topic once, every name, test and example is there."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import tenfold

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "syllabus.md").read_text()
HOW_MANY = dict(P=13, O=10, L=22, S=9, K=10, G=13, C=8, F=13, N=10, R=9, X=11, D=44)
IDS = [f"{letter}{number:02}" for letter, n in HOW_MANY.items() for number in range(1, n + 1)]
COLUMNS = ["id", "what", "state", "names", "test", "example"]
STATES = {"**done**", "**partly**", "**policy**", "not there yet"}
SECTIONS = dict(zip(("000", "001", "002", "003", "004"), (32, 30, 30, 30, 41), strict=True))


def tables(page):
    """Every table of a page as a list of rows, each a list of cells."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE)
    lines = [[line for line in block.splitlines() if set(line) - set("|- ")] for block in blocks]
    return [[[cell.strip() for cell in line[1:-1].split("|")] for line in table] for table in lines]


ROWS = {
    row[0]: dict(zip(COLUMNS, row, strict=True))
    for table in tables(PAGE)
    if table[0] == COLUMNS
    for row in table[1:]
}
CLAIMED = [row for row in ROWS.values() if row["state"] != "not there yet"]


def quoted(cell):
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def test_every_topic_is_there_once_and_in_order():
    assert re.findall(r"^\| ([A-Z]\d\d) \|", PAGE, re.MULTILINE) == IDS


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_claims_no_more_than_it_shows(row):
    assert row["what"]
    assert row["state"] in STATES
    shown = {name: bool(quoted(row[name])) for name in ("names", "test", "example")}
    if row["state"] == "not there yet":
        assert not any(shown.values())
    if row["state"] in {"**done**", "**policy**"}:
        assert shown["test"]
        assert shown["example"]
    if row["state"] in {"**done**", "**partly**"}:
        assert shown["names"]
        assert shown["test"]


@pytest.mark.parametrize("name", sorted({n for row in CLAIMED for n in quoted(row["names"])}))
def test_claimed_names_are_there(name):
    module, _, last = f"tenfold.{name}".rpartition(".")
    home = tenfold if module == "tenfold" else import_module(module)
    assert hasattr(home, last) or import_module(f"{module}.{last}")


@pytest.mark.parametrize("test", sorted({t for row in CLAIMED for t in quoted(row["test"])}))
def test_claimed_tests_are_there(test):
    file, _, name = test.partition("::")
    tree = ast.parse((ROOT / file).read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert name in names if name else any(found.startswith("test_") for found in names)


@pytest.mark.parametrize("example", sorted({e for row in CLAIMED for e in quoted(row["example"])}))
def test_claimed_examples_are_there(example):
    assert (ROOT / example).is_file()
    assert example.startswith(("examples/", "docs/"))


@pytest.mark.parametrize("note", SECTIONS)
def test_every_section_of_a_note_leads_to_topics(note):
    part = PAGE.split(f"\n### {note}. ")[1].split("\n### ")[0]
    (table,) = tables(part)
    assert table[0] == ["section", "about", "ids"]
    sections, _, ids = zip(*table[1:], strict=True)
    assert len(set(sections)) == len(sections) == SECTIONS[note]
    assert all(cell and set(cell.split()) <= set(IDS) for cell in ids)


def test_every_topic_is_reached_from_a_note():
    rows = [row for table in tables(PAGE) if table[0][0] == "section" for row in table]
    reached = {topic for row in rows for topic in row[2].split()}
    everywhere, ours = {"X07", "X08", "X09"}, {"K10", "O09"}
    assert set(IDS) - reached == everywhere | ours


def test_the_choices_page_names_tests_that_are_there():
    page = (ROOT / "docs" / "guide" / "choices.md").read_text()
    named = [test for test in quoted(page) if test.startswith("test_")]
    tree = ast.parse((ROOT / "tests" / "docs/test_choices.py").read_text())
    there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {test for test in there if test.startswith("test_")} == set(named)
