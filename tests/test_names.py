"""The house rules for names and sizes, which docs/design.md states."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import tenfold

HOME = Path(tenfold.__file__).parent
FILES = sorted(HOME.rglob("*.py"))

NOUNS_IN_ING = re.compile(
    "averaging|bagging|binning|boosting|embedding|encoding|padding|pooling|preprocessing|pruning|"
    "ranking|rounding|smoothing|stacking|stopping|teaching|testing|training|tuning|voting"
)
BRITISH = re.compile(
    r"(?<![a-z])centres?(?![a-z])|colour|neighbour|behaviour|(?:normal|regular|initial|penal|maxim|"
    r"minim|optim|quant|standard|general|major|vector|random|real|memor|summar)is(?:e|ed|er|es|ing|ation)"
)
COINED = re.compile(
    r"(?:^|_)(?:bends?|bent|kinked|judged?|judging|told|tells?|saying|turned|walks?|"
    r"unbend|climb\w*|rungs?|ladder|desk|voice|obey\w*|spreading)(?:_|$)"
)
VERBS_IN_ED = re.compile(
    r"^(?!is_|has_|_?(?:embed|seed|feed|speed|need))_?[a-z]+(?:ed|kept|made|said|told)$"
)


@cache
def trees():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def names_of(tree):
    """Every identifier that a module defines: (line, name, kind)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            property_like = any("property" in ast.unparse(d) for d in node.decorator_list)
            yield node.lineno, node.name, "property" if property_like else "function"
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    yield argument.lineno, argument.arg, "parameter"
        elif isinstance(node, ast.ClassDef):
            yield node.lineno, node.name, "class"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id, "variable"


@cache
def all_names():
    return [(path, *name) for path, tree in trees().items() for name in names_of(tree)]


def where(path, line):
    return f"{path.relative_to(HOME)}:{line}"


def test_a_class_name_means_one_class():
    homes = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(where(path, node.lineno))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def test_modules_are_nouns():
    words = {path: path.stem.strip("_").split("_")[-1] for path in FILES}
    bad = [
        p for p, word in words.items() if word.endswith("ing") and not NOUNS_IN_ING.fullmatch(word)
    ]
    bad += [p for p, word in words.items() if re.fullmatch(r"(?!penalized|mixed)\w+ed", word)]
    assert not [str(path.relative_to(HOME)) for path in bad]


@pytest.mark.parametrize(("words", "kinds"), [(BRITISH, None), (COINED, None), (VERBS_IN_ED, "f")])
def test_identifiers_are_in_the_words_of_the_field(words, kinds):
    found = [
        f"{where(path, line)} {name}"
        for path, line, name, kind in all_names()
        if words.search(name if words is VERBS_IN_ED else name.lower())
        and (kinds is None or kind == "function")
    ]
    assert not found, "\n".join([f"{len(found)} names", *found])


def test_files_and_functions_have_one_idea_each():
    long = [str(p.relative_to(HOME)) for p in FILES if len(p.read_text().splitlines()) > 500]
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                if body and body[-1].end_lineno - body[0].lineno >= 50:
                    long.append(f"{where(path, node.lineno)} {node.name}")
    assert not long


def test_private_parts_of_others_stand_in_one_place():
    private = re.compile(r"(?m)^\s*(?:from|import) sklearn\S*(?:\._\S+| import (?:.*\b)?_\w)")
    llvm = re.compile(r"llvmlite|numba\.core|intrinsic\b")
    texts = {str(path.relative_to(HOME)): path.read_text(encoding="utf-8") for path in FILES}
    assert [p for p, text in texts.items() if private.search(text)] == ["base/_sklearn.py"]
    assert {p.split("/")[0] for p, text in texts.items() if llvm.search(text)} <= {"_compiled"}
