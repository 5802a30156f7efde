"""What a shell offers at the tab key: names of data sets, files, models."""

from __future__ import annotations

import os
from pathlib import Path


def complete_tables(incomplete: str) -> list[str]:
    """Data sets and files that begin with what was typed."""
    from tenfold.cli.bundled import DATA_SETS

    names = [name for name in DATA_SETS if name.startswith(incomplete)]
    return names + _files(incomplete)


def complete_models(incomplete: str) -> list[str]:
    """Files and folders that begin with what was typed: a folder may hold a model."""
    found = _files(incomplete)
    return [place for place in found if place.endswith((".tenfold", os.sep))]


def _files(incomplete: str) -> list[str]:
    folder, begun = os.path.split(incomplete)
    there = sorted(Path(folder or ".").iterdir()) if Path(folder or ".").is_dir() else []
    found = [path for path in there if path.name.startswith(begun)]
    found = [path for path in found if begun or not path.name.startswith(".")]
    return [f"{Path(folder, path.name)}{os.sep if path.is_dir() else ''}" for path in found]
