"""The page for users of scikit-learn lists every difference of parameters, and no other."""

import re
from importlib import import_module
from inspect import isclass, signature
from pathlib import Path

import tenfold

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "coming-from-scikit-learn.md"
THEIRS = [
    "cluster",
    "decomposition",
    "discriminant_analysis",
    "linear_model",
    "mixture",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "svm",
]


def listed():
    """Model -> parameters that are not here, added, or of another default, as the page says."""
    text = PAGE.read_text().partition("## Parameters that differ")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| `")]
    cells = [[set(re.findall(r"`(\w+)`", cell)) for cell in row] for row in rows]
    return {row[0].pop(): [*row[1:], *[set()] * (4 - len(row))] for row in cells}


def differences(ours, theirs):
    a, b = (signature(cls.__init__).parameters for cls in (ours, theirs))
    other = {name for name in a.keys() & b.keys() if a[name].default != b[name].default}
    return [set(b) - set(a), set(a) - set(b), other]


def test_the_page_lists_all_parameters_that_differ():
    found = {}
    for module in (import_module(f"sklearn.{name}") for name in THEIRS):
        for name in set(tenfold._WHERE) & set(dir(module)):
            if isclass(getattr(module, name)):
                parts = differences(getattr(tenfold, name), getattr(module, name))
                if any(parts):
                    found[name] = parts
    assert listed() == found
