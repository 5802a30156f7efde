"""The page for users of scikit-learn lists every difference of parameters and attributes."""

import re
from importlib import import_module
from inspect import isclass, signature
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_iris
from sklearn.linear_model import RANSACRegressor

import tenfold

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "coming-from-scikit-learn.md"
THEIRS = [
    "cluster",
    "decomposition",
    "discriminant_analysis",
    "linear_model",
    "manifold",
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
    for module in (import_module(f"sklearn.{name}") for name in [*THEIRS, "ensemble", "tree"]):
        for name in set(tenfold._WHERE) & set(dir(module)):
            if isclass(getattr(module, name)):
                parts = differences(getattr(tenfold, name), getattr(module, name))
                if any(parts):
                    found[name] = parts
    assert listed() == found


def pairs():
    """scikit-learn's class and ours, of every name that both have."""
    for module in (import_module(f"sklearn.{name}") for name in THEIRS):
        for name in sorted(set(tenfold._WHERE) & set(dir(module))):
            if isclass(getattr(module, name)):
                yield name, getattr(module, name), getattr(tenfold, name)


def section(title):
    return PAGE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]


def documented(cls):
    """Parameter -> its description, of a docstring."""
    text = re.split(r"\n    Attributes\n", cls.__doc__ or "")[0]
    entries = re.findall(r"^    (\w[\w, ]*) : .*\n((?:        .*\n)+)", text, re.MULTILINE)
    return {name: body for names, body in entries for name in names.split(", ")}


def test_the_page_lists_solvers_that_scikit_learn_has():
    lines = section("Solvers").splitlines()
    rows = [line.strip("| ").split("|") for line in lines if line.startswith("| `")]
    listed = {(row[0].strip(" `"), name) for row in rows for name in re.findall(r'"(.+?)"', row[1])}
    missing = set()
    for name, theirs, ours in pairs():
        for parameter in ("solver", "svd_solver"):
            options = getattr(theirs, "_parameter_constraints", {}).get(parameter, [])
            wanted = {value for each in options for value in getattr(each, "options", ())}
            text = (documented(ours).get(parameter, "") + (ours.__doc__ or "")) if wanted else ""
            assert all(f'"{value}"' in text for value in wanted), (name, wanted)
            missing |= {(name, value) for value in wanted}
    assert listed <= missing


def test_the_page_lists_parameters_without_an_effect():
    names = set(re.findall(r"`(\w+)`", section("Parameters without an effect")))
    for name, theirs, ours in pairs():
        for parameter, text in documented(ours).items():
            if re.match(r"\s*(Ignored|X is never overwritten)", text):
                assert parameter in names, (name, parameter)
                assert parameter in signature(theirs.__init__).parameters


@pytest.mark.filterwarnings("ignore")
def test_the_page_lists_attributes_and_methods_that_differ():
    text = section("Attributes and methods that differ")
    X, y = load_iris(return_X_y=True)
    for name, theirs, ours in pairs():
        if name == "SparseCoder":  # learns nothing: its dictionary is a parameter
            continue
        X1, y1 = (X, y) if is_classifier(theirs()) else (X[:, :3], X[:, 3])
        y1 = X[:, 2:] if name.startswith("MultiTask") else y1
        a, b = (cls().fit(X1.copy(), y1.copy()) for cls in (theirs, ours))
        learned = [k for k in dir(a) if k.endswith("_") and k[0] != "_" and hasattr(a, k)]
        for attribute in learned:
            assert hasattr(b, attribute), (name, attribute)
            if (getattr(a, attribute) is None) != (getattr(b, attribute) is None):
                assert f"`{name}.{attribute}`" in text
        for method in dir(theirs):
            if method[0] != "_" and callable(getattr(theirs, method)) and not hasattr(ours, method):
                assert f"`{name}.{method}`" in text


def test_ransac_needs_the_number_of_rows():
    x = np.arange(30.0)[:, None]
    y = np.where(np.arange(30) % 6, 2 * x[:, 0], 100)
    with pytest.raises(ValueError, match="min_samples"):
        RANSACRegressor(tenfold.LinearRegression()).fit(x, y)
    model = RANSACRegressor(tenfold.LinearRegression(), min_samples=2, random_state=0).fit(x, y)
    np.testing.assert_allclose(model.predict(x), 2 * x[:, 0], atol=1e-9)
    assert "min_samples" in PAGE.read_text()
