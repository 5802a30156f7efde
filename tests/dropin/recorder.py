"""Plugin of pytest: which tests used a model or function of tenfold, and how they ended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from tenfold.base.estimator import Estimator

_used = False  # whether the test that runs has used tenfold


def record_calls(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose calls count as a use of tenfold."""

    @wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        global _used  # noqa: PLW0603 - one test runs at a time
        _used = True
        return function(*args, **kwargs)

    return recorded


def _new(cls: type, *_args: Any, **_kwargs: Any) -> Any:
    global _used  # noqa: PLW0603
    _used = True
    return object.__new__(cls)


def pytest_configure() -> None:
    """Count constructions, fits and predictions of all models."""
    Estimator.__new__ = _new  # pyright: ignore[reportAttributeAccessIssue]
    for name in ("_validate_params", "_rows"):
        setattr(Estimator, name, record_calls(getattr(Estimator, name)))


def pytest_runtest_setup() -> None:
    """Begin anew with each test; what its fixtures construct is its own."""
    global _used  # noqa: PLW0603
    _used = False


def pytest_runtest_logreport(report: Any) -> None:
    """Write a line about each test: name, outcome, whether it used tenfold, and the error."""
    if report.when != "call" and report.outcome == "passed":
        return
    expected = hasattr(report, "wasxfail") and report.outcome == "skipped"
    outcome = "expected failure" if expected else report.outcome
    crash = getattr(report.longrepr, "reprcrash", None)
    file, _, name = report.nodeid.partition("::")
    line = {
        "file": file,
        "name": name,
        "outcome": outcome,
        "used": _used,
        "message": crash.message[:2000] if crash else str(report.longrepr or "")[-2000:],
        "seconds": round(report.duration, 2),
    }
    with open(os.environ["DROPIN_RESULTS"], "a") as file:  # noqa: PTH123
        file.write(json.dumps(line) + "\n")
