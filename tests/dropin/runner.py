"""Run test files of scikit-learn with tenfold's models, and count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tests.dropin.swap import PACKAGE, imported_names, swap_imports

ROOT = Path(__file__).parents[2]
KINDS = ("private", "accepted here", "random numbers")  # how reasons begin
ABOUT_SCIKIT_LEARN = {  # its whole list of models, its docstrings, its own checks of estimators
    "tests/test_common.py",
    "tests/test_docstring_parameters.py",
    "tests/test_docstring_parameters_consistency.py",
    "tests/test_docstrings.py",
    "utils/tests/test_estimator_checks.py",
}
EXCEPTIONS = Path(__file__).with_name("expected_failures.txt")


class FileResults(NamedTuple):
    """How the tests of a file ended: each with name, outcome, whether it used tenfold, message."""

    file: str
    tests: list[dict[str, Any]]
    error: str  # what pytest said where the file could not be collected, or ran out of time

    @property
    def passed(self) -> list[str]:
        return [t["name"] for t in self.tests if t["used"] and t["outcome"] == "passed"]

    @property
    def failed(self) -> dict[str, str]:
        """Name of each test that used tenfold and failed, with the message."""
        failed = [t for t in self.tests if t["used"] and t["outcome"] == "failed"]
        return {t["name"]: t["message"] for t in failed}

    @property
    def left_out(self) -> int:
        return len({t["name"] for t in self.tests}) - len(self.passed) - len(self.failed)


def run_files(files: list[str], minutes: float = 20, select: str = "") -> list[FileResults]:
    """Run the tests of files such as "linear_model/tests/test_ridge.py" in one process.

    Parameters
    ----------
    files : paths below scikit-learn's package
    minutes : time limit of all of them
    select : pytest's selection of tests (`-k`)
    """
    with tempfile.TemporaryDirectory() as folder:
        copies = {f"{file.replace('/', '-')}": file for file in files}
        for copy, file in copies.items():
            package = ".".join(["sklearn", *Path(file).parent.parts])
            text = swap_imports((PACKAGE / file).read_text(), package)
            (Path(folder) / copy).write_text(text)
        lines, error = _run_pytest(Path(folder), list(copies), minutes, select)
    return [
        FileResults(file, [line for line in lines if line["file"] == copy], error)
        for copy, file in copies.items()
    ]


def _run_pytest(
    folder: Path, copies: list[str], minutes: float, select: str
) -> tuple[list[dict[str, Any]], str]:
    """How each test of the copies ended, and what went wrong with all of them."""
    results = folder / "results.jsonl"
    results.touch()
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-c", os.devnull]
    command += ["--rootdir", str(folder), "-p", "sklearn.conftest", "-p", "tests.dropin.recorder"]
    command += ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["--import-mode=importlib", *copies, *(["-k", select] if select else [])]
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    settings = {"DROPIN_RESULTS": str(results), "PYTHONPATH": path, "MPLBACKEND": "Agg"}
    error = ""
    try:
        done = subprocess.run(
            command,
            env=os.environ | settings,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60 * minutes,
            check=False,
        )
        if done.returncode not in {0, 1}:
            error = done.stdout[-3000:] + done.stderr[-3000:]
    except subprocess.TimeoutExpired:
        error = f"more than {minutes} minutes"
    return [json.loads(line) for line in results.read_text().splitlines()], error


def shared_files() -> list[str]:
    """Test files of scikit-learn that import one of our names, or a module with some of them."""
    found = []
    for path in sorted(PACKAGE.rglob("tests/test_*.py")):
        file = path.relative_to(PACKAGE)
        package = ".".join(["sklearn", *file.parent.parts])
        if str(file) not in ABOUT_SCIKIT_LEARN and imported_names(path.read_text(), package):
            found.append(str(file))
    return found


def read_exceptions() -> dict[str, dict[str, str]]:
    """File -> names of test functions that are expected to fail, with the reason of each."""
    found: dict[str, dict[str, str]] = {}
    for line in EXCEPTIONS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition("  # ")
            file, _, test = name.strip().partition("::")
            found.setdefault(file, {})[test] = reason.strip()
    return found


def count_kinds(results: FileResults) -> dict[str, int]:
    """Number of tests that passed, that failed by the kind of reason, and that were left out."""
    known = read_exceptions().get(results.file, {})
    counts = {"passed": len(results.passed), **dict.fromkeys(KINDS, 0), "other": 0}
    for test in results.failed:
        reason = known.get(test) or known.get(test.partition("[")[0], "")
        counts[next((kind for kind in KINDS if reason.startswith(kind)), "other")] += 1
    return counts | {"left out": results.left_out}


def public_share(counts: dict[str, int]) -> float:
    """Share of the tests of public behavior that pass, or fail as scikit-learn refuses more."""
    tried = {kind: n for kind, n in counts.items() if kind not in {"private", "left out"}}
    return tried["passed"] / max(sum(tried.values()), 1)


def unexpected_failures(results: FileResults) -> dict[str, str]:
    """Failures without an exception, with their messages.

    An exception is a test function, or one of its cases: a name with its brackets.
    """
    known = read_exceptions().get(results.file, {})
    failed = results.failed.items()
    return {t: text for t, text in failed if not {t, t.partition("[")[0]} & known.keys()}
