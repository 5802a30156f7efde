"""How the study was made: settings, versions, honesty."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tenfold.report.html import Html, joined, tag
from tenfold.report.numbers import count, shown
from tenfold.study.result import Study

PACKAGES = ("tenfold", "numpy", "scipy", "scikit-learn")


def made_section(study: Study) -> Html:
    """What is needed to do it again."""
    settings = {name: _shown(value) for name, value in study.settings.items()}
    versions = {"Python": platform.python_version()}
    versions |= {name: _version(name) for name in PACKAGES}
    return joined(
        tag("p", _honesty(study), class_="say"),
        tag("div", pairs("Settings", settings), pairs("Versions", versions), class_="figures"),
    )


def _honesty(study: Study) -> str:
    if study.test is None:
        used = f"{count(study.n_choosing)} of {count(study.n_rows)} rows were used."
        return f"{used} The same seed gives the same groups."
    used = (
        f"{count(study.n_choosing)} of them chose"
        if study.n_choosing < study.n_train
        else "they chose"
    )
    return (
        f"{count(study.n_test)} rows were sealed before anything was learned and opened once, "
        f"after the choice. {count(study.n_train)} rows were for learning; {used} the model by "
        f"{study.folds} folds. What was learned from a table, such as means and levels, was "
        "learned inside each fold. The same data, settings and seed give the same result."
    )


def pairs(title: str, values: dict[str, str]) -> Html:
    """Names and values under a title."""
    rows = [joined(tag("dt", name), tag("dd", value)) for name, value in values.items()]
    return tag("figure", tag("h4", title), tag("dl", rows, class_="pairs"))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_shown(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_shown(v) for v in value) or "none"
    return "default" if value is None else shown(value)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
