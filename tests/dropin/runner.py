"""Run test files of scikit-learn with tenfold's models, and count."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tests.dropin.swap import PACKAGE, swap_imports

ROOT = Path(__file__).parents[2]
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


def run_file(file: str, minutes: float = 20, select: str = "") -> FileResults:
    """Run the tests of a file, such as "linear_model/tests/test_ridge.py"."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(file).name
        package = ".".join(["sklearn", *Path(file).parent.parts])
        copy.write_text(swap_imports((PACKAGE / file).read_text(), package))
        results = Path(folder) / "results.jsonl"
        results.touch()
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-c", os.devnull]
        command += ["--rootdir", folder, "-p", "sklearn.conftest", "-p", "tests.dropin.recorder"]
        command += ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist", str(copy)]
        command += ["-k", select] if select else []
        settings = {"DROPIN_RESULTS": str(results), "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
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
        tests = [json.loads(line) for line in results.read_text().splitlines()]
        return FileResults(file, tests, error)


def read_exceptions() -> dict[str, list[tuple[re.Pattern[str], str]]]:
    """File -> patterns of the names of tests that are expected to fail, with reasons."""
    found: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for line in EXCEPTIONS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition("  # ")
            file, _, test = name.strip().partition("::")
            pattern = re.compile(re.escape(test).replace(r"\*", ".*") + r"(\[.*\])?")
            found.setdefault(file, []).append((pattern, reason.strip()))
    return found
