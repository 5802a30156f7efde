"""The documentation holds: links lead somewhere, code runs, nothing names a machine."""

import ast
import doctest
import re
from pathlib import Path
from urllib.parse import urlparse

import pytest

import tenfold

ROOT = Path(__file__).parents[2]
MADE = ("docs/_build", "docs/gallery", "docs/api/generated")  # by `make docs`
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    if not path.relative_to(ROOT).as_posix().startswith(MADE)
)
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MACHINE = re.compile(r"(?<![\w.:/])/(?:work|home|root|Users|tmp)/|[A-Z]:\\Users")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

all_pages = pytest.mark.parametrize(
    "page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors(text):
    """The names that headings can be reached by."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def is_made_by_the_build(target):
    """Whether a target appears when the manual is built (and Sphinx then checks the link)."""
    return target.relative_to(ROOT).as_posix().startswith(MADE)


@all_pages
def test_links_lead_somewhere(page):
    for link in LINK.findall(without_code(page.read_text())):
        address = urlparse(link)
        if address.scheme:
            assert address.scheme in {"https", "mailto"}, link
            continue
        target = (page.parent / address.path).resolve() if address.path else page
        assert target.is_relative_to(ROOT), link
        assert target.exists() or is_made_by_the_build(target), f"{page.name}: {link}"
        if address.fragment and target.suffix == ".md":
            assert address.fragment in anchors(target.read_text()), link


def code_alone(text):
    """Python blocks in their own lines, everything else blank: line numbers stay right."""
    kept = []
    for match in FENCE.finditer(text):
        if match[2] == "python" and ">>>" in match[3]:
            before = text.count("\n", 0, match.start(3))
            kept += [""] * (before - len(kept)) + match[3].splitlines()
    return "\n".join(kept) + "\n"


@all_pages
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = page.relative_to(ROOT).as_posix()
    test = doctest.DocTestParser().get_doctest(code_alone(page.read_text()), {}, name, name, 0)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert result.failed == 0, f"{result.failed} examples of {name} fail: see the output above"


@all_pages
def test_other_code_is_python(page):
    for match in FENCE.finditer(page.read_text()):
        if match[2] == "python" and ">>>" not in match[3]:
            indent = match[1]
            ast.parse("\n".join(line.removeprefix(indent) for line in match[3].splitlines()))


@all_pages
def test_no_machine_is_named(page):
    assert not MACHINE.findall(page.read_text())


def test_every_page_of_the_guide_is_listed():
    index = (ROOT / "docs" / "guide" / "index.md").read_text()
    pages = {path.name for path in (ROOT / "docs" / "guide").glob("*.md")} - {"index.md"}
    assert pages <= set(re.findall(r"\(([\w-]+\.md)\)", index))


def test_examples_use_what_the_package_has():
    for path in sorted((ROOT / "examples").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                both = {alias.name for alias in node.names} & set(tenfold.__all__)
                assert not both, f"{path.name} imports {both} from scikit-learn"


def test_examples_and_docstrings_have_no_codes_of_courses():
    """Which section of a course leads to which example stands in docs/syllabus.md alone."""
    for folder in (ROOT / "examples", Path(tenfold.__file__).parent):
        for path in folder.rglob("*.py"):
            assert not re.search(r"\[00[0-4][,;]", path.read_text(encoding="utf-8")), path
