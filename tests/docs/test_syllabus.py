"""The pages tell the truth: every variant, choice and erratum has its name, test and example."""

import ast
import importlib.util
import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import tenfold

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "syllabus.md").read_text()
HOW_MANY = dict(P=13, O=10, L=22, S=9, K=10, G=13, C=8, F=13, N=10, R=9, X=11, D=44)
IDS = [f"{letter}{number:02}" for letter, n in HOW_MANY.items() for number in range(1, n + 1)]
COLUMNS = ["row", "variant", "name", "test", "example"]
SECTIONS = dict(zip(("000", "001", "002", "003", "004"), (32, 30, 30, 30, 41), strict=True))


# --------------------------------------------------------------------------------- reading pages


def tables(page):
    """Every table of a page as a list of rows, each a list of cells."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE)
    lines = [[line for line in block.splitlines() if set(line) - set("|- ")] for block in blocks]
    return [[[cell.strip() for cell in line[1:-1].split("|")] for line in table] for table in lines]


def quoted(cell):
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def read_rows(page):
    """State and variants of every row: {id: (state, [variant, ...])}."""
    rows = {}
    for table in tables(page):
        if table[0] != COLUMNS:
            continue
        for line in table[1:]:
            if line[0]:
                found = re.fullmatch(r"\*\*([A-Z]\d\d)\*\* (done|partly|to come)", line[0])
                assert found, f"{line[0]!r} is no id with a state"
                assert found[1] not in rows, f"{found[1]} stands twice"
                rows[found[1]] = (found[2], [])
                last = found[1]
            rows[last][1].append(dict(zip(COLUMNS, line, strict=True)))
    return rows


ROWS = read_rows(PAGE)
VARIANTS = [
    (id_, variant)
    for id_, (state, variants) in ROWS.items()
    for variant in variants
    if state != "to come" and variant["name"] != "missing"
]
LABELS = [f"{id_}: {variant['variant'][:40]}" for id_, variant in VARIANTS]


# ----------------------------------------------------------------------- names, tests and examples


def find_name(name):
    """The public object of a dotted name in the package."""
    found, path = tenfold, "tenfold"
    for part in name.split("."):
        path += f".{part}"
        found = getattr(found, part) if hasattr(found, part) else import_module(path)
    return found


def ours(tree):
    """What a file imports from the package: {local name: words that it stands for}."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tenfold"):
            for alias in node.names:
                words = {alias.name, *node.module.split(".")}
                found.setdefault(alias.asname or alias.name, set()).update(words)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("tenfold"):
                    found[alias.asname or "tenfold"] = set(alias.name.split("."))
    return found


def words_of(node, imported):
    """Names of the package within a node: what was imported, and attributes of that."""
    words = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            words |= imported.get(part.id, set())
        elif isinstance(part, ast.Attribute):
            root = part.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in imported:
                words.add(part.attr)
    return words


@cache
def read_module(path):
    """Definitions of a test file and its helpers by name, and what they import of the package."""
    tree = ast.parse((ROOT / "tests" / path).read_text())
    defined, imported = {}, ours(tree)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            helpers = read_module(node.module.removeprefix("tests.").replace(".", "/") + ".py")
            defined |= helpers[0]
            imported = helpers[1] | imported
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part for target in targets for part in ast.walk(target)]
            defined |= {part.id: node for part in names if isinstance(part, ast.Name)}
    return defined, imported


@cache
def words_of_test(test):
    """Names of the package that a test reaches: its own, and those of the helpers that it uses."""
    path, _, name = test.partition("::")
    defined, imported = read_module(path)
    assert name in defined, f"there is no {test}"
    words, waiting, seen = set(), [name], set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in defined:
            continue
        seen.add(name)
        words |= words_of(defined[name], imported)
        nodes = list(ast.walk(defined[name]))
        waiting += [node.id for node in nodes if isinstance(node, ast.Name)]
        waiting += [node.arg for node in nodes if isinstance(node, ast.arg)]  # fixtures
    return frozenset(words)


def mentions(words, name):
    """Whether a name is among words: itself, or for a module something of it."""
    return name.rpartition(".")[2] in words


@cache
def words_of_file(path):
    """Names of the package that an example uses, or all words of a page."""
    text = (ROOT / path).read_text()
    if path.endswith(".md"):
        return frozenset(re.findall(r"\w+", text))
    tree = ast.parse(text)
    return frozenset(words_of(tree, ours(tree)))


@cache
def documented_names():
    """The names that the manual has pages for."""
    spec = importlib.util.spec_from_file_location("api_pages", ROOT / "docs" / "api_pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    names = {*pages.PUBLIC, "metrics.METRICS"}
    for module in ("tenfold.datasets", *pages.FOR_AUTHORS, *pages.LISTED):
        short = module.removeprefix("tenfold.")
        names |= {short} | {f"{short}.{name}" for name in import_module(module).__all__}
    for module in pages.WHOLE:
        short = module.removeprefix("tenfold.")
        names |= {short} | {f"{short}.{name}" for name in vars(import_module(module))}
    return names


# ------------------------------------------------------------------------------------ the syllabus


def test_every_row_is_there_once_and_in_order():
    assert list(ROWS) == IDS


@pytest.mark.parametrize("id_", IDS)
def test_the_state_of_a_row_is_that_of_its_variants(id_):
    state, variants = ROWS[id_]
    missing = [variant for variant in variants if variant["name"] == "missing"]
    empty = [variant for variant in variants if not variant["name"]]
    assert all(variant["variant"] for variant in variants)
    if state == "to come":
        assert variants == empty
    else:
        assert not empty
        assert (state == "partly") == bool(missing)
        assert len(missing) < len(variants)
    for variant in missing:
        assert not variant["test"]
        assert not variant["example"]


@pytest.mark.parametrize(("id_", "variant"), VARIANTS, ids=LABELS)
def test_names_of_a_variant_are_public_and_in_the_manual(id_, variant):
    names = quoted(variant["name"])
    assert names, id_
    for name in names:
        find_name(name)
        assert not any(part.startswith("_") for part in name.split("."))
        assert name in documented_names(), f"{name} has no page"


@pytest.mark.parametrize(("id_", "variant"), VARIANTS, ids=LABELS)
def test_tests_of_a_variant_use_its_names(id_, variant):
    names, tests = quoted(variant["name"]), quoted(variant["test"])
    assert tests, id_
    words = {test: words_of_test(test) for test in tests}
    for test in tests:
        assert any(mentions(words[test], name) for name in names), f"{test} uses none of {names}"
    for name in names:
        assert any(mentions(found, name) for found in words.values()), f"{name} is in no test"


@pytest.mark.parametrize(("id_", "variant"), VARIANTS, ids=LABELS)
def test_examples_of_a_variant_use_its_names(id_, variant):
    """A file under `examples` or `docs`, or the docstring of a name; or a dash with a reason."""
    names, cell = quoted(variant["name"]), variant["example"]
    if cell == "docstring":
        assert any(">>>" in (inspect.getdoc(find_name(name)) or "") for name in names), names
        return
    if not quoted(cell):
        assert re.fullmatch(r"- \(.+\)", cell), f"{id_} has no example and no reason"
    for path in quoted(cell):
        folder = "" if path.startswith("docs/") else "examples/"
        assert any(mentions(words_of_file(folder + path), name) for name in names), (path, names)


def test_examples_import_what_the_manual_has():
    for path in sorted((ROOT / "examples").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tenfold"):
                home = f"{node.module}.".removeprefix("tenfold.")
                for alias in node.names:
                    name = home + alias.name
                    documented = name in documented_names() or inspect.ismodule(find_name(name))
                    assert documented, f"{path.name} imports {name}, which has no page"


@pytest.mark.parametrize("note", SECTIONS)
def test_every_section_of_a_note_leads_to_rows(note):
    part = PAGE.split(f"\n### {note}. ")[1].split("\n### ")[0]
    (table,) = tables(part)
    assert table[0] == ["section", "about", "ids"]
    sections, _, ids = zip(*table[1:], strict=True)
    assert len(set(sections)) == len(sections) == SECTIONS[note]
    assert all(cell and set(cell.split()) <= set(IDS) for cell in ids)


def test_every_row_is_reached_from_a_note():
    rows = [row for table in tables(PAGE) if table[0][0] == "section" for row in table]
    reached = {topic for row in rows for topic in row[2].split()}
    everywhere, ours = {"X07", "X08", "X09"}, {"K10", "O09"}
    assert set(IDS) - reached == everywhere | ours


# ---------------------------------------------------------------------------- choices and errata


def named_tests(page, home):
    """Tests that a page names; those without a file are in the file that `home` gives."""
    return [
        test if "::" in test else f"{home}::{test}"
        for test in re.findall(r"`((?:tests/)?(?:[\w/]+\.py::)?test_\w+)`", page)
    ]


def own_tests(path):
    return {f"{path}::{name}" for name in read_module(path)[0] if name.startswith("test_")}


CHOICES = (ROOT / "docs" / "guide" / "choices.md").read_text()
DEFAULTS = re.findall(r"`([\w.]+)\((\w+)=([^`]+)\)`", CHOICES)


def test_every_choice_names_its_test():
    home = "docs/test_choices.py"
    named = named_tests(CHOICES, home)
    for test in named:
        words_of_test(test)
    assert own_tests(home) <= set(named)
    (table,) = tables(CHOICES)
    assert all(quoted(line[3]) for line in table[1:] if not line[0].startswith("**"))


@pytest.mark.parametrize(("name", "parameter", "value"), DEFAULTS)
def test_defaults_are_those_of_the_signature(name, parameter, value):
    default = inspect.signature(find_name(name)).parameters[parameter].default
    assert default == ast.literal_eval(value)
    assert type(default) is type(ast.literal_eval(value))


def test_tests_of_the_courses_use_the_package():
    """A test that reaches nothing of the package cannot fail for its sake."""
    files = [
        *(ROOT / "tests/notes").glob("test_*.py"),
        *(ROOT / "tests/teaching").glob("test_*.py"),
    ]
    files += (ROOT / "tests").rglob("*worked*.py")
    for file in files:
        for test in own_tests(file.relative_to(ROOT / "tests").as_posix()):
            assert words_of_test(test) - {"tenfold"}, test


def test_every_erratum_names_its_test():
    page = (ROOT / "docs" / "guide" / "errata.md").read_text()
    for course, part in zip(
        SECTIONS, re.split(r"^## 00\d$", page, flags=re.MULTILINE)[1:], strict=True
    ):
        home = f"notes/test_errata_{course}.py"
        named = [test.removeprefix("tests/") for test in named_tests(part, home)]
        for test in named:
            words_of_test(test)
        assert own_tests(home) <= set(named)
        (table,) = tables(part)
        assert all(len(quoted(line[3])) == 1 for line in table[1:])
