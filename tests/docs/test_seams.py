"""The page of faults: every line names a test that exists, or says why nothing was changed."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "seams.md").read_text()
LINES = [
    [cell.strip() for cell in line[1:-1].split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| what was")
]


@cache
def names_of_tests(path):
    """Names of the test functions of a file, those of classes too."""
    tree = ast.parse((ROOT / "tests" / path).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {node.name for node in functions if node.name.startswith("test_")}


@pytest.mark.parametrize("line", LINES, ids=[line[0][:40] for line in LINES])
def test_every_fault_names_what_shows_that_it_is_mended(line):
    assert len(line) == 3, line
    places = re.findall(r"`([^`]+)`", line[2])
    assert places, f"no test and no example in {line[2]!r}"
    for place in places:
        if place.startswith("examples/"):
            assert (ROOT / place).is_file(), place
        else:
            path, _, name = place.partition("::")
            assert (ROOT / "tests" / path).is_file(), path
            assert name in names_of_tests(path), place


def test_no_fault_stands_twice():
    seen = [line[0] for line in LINES]
    assert len(seen) == len(set(seen))
