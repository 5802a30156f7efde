"""Finished folds on disk, so that an interrupted study can be resumed.

Every fold of every model is a file of its own, written atomically, so that a killed process leaves
no incomplete file.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.result import to_json_types
from tenfold.callbacks import serialization

_FINGERPRINT_ROWS = 20  # first and last rows that identify a table


class FoldResult(NamedTuple):
    """Evaluation of a model on one fold.

    Attributes
    ----------
    scores : all scores by name
    train : deciding score on the training rows
    params : chosen hyperparameters
    seconds : time
    predictions : for the rows held out
    """

    scores: dict[str, float]
    train: float
    params: dict[str, Any]
    seconds: float
    predictions: np.ndarray


class FoldStore:
    """Finished folds in a folder; with None as the folder, nothing is stored.

    Parameters
    ----------
    folder : path or None
        Created if it does not exist.
    about : dict
        Data fingerprint and settings that the folds depend on.
    resume : bool
        Whether to keep existing folds, which must have the same `about`.
    """

    def __init__(self, folder: Path | None, about: dict[str, Any], *, resume: bool) -> None:
        self.folder = folder
        if folder is None:
            return
        if not resume:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        head = folder / "about.npz"
        if head.exists():
            _require_same(serialization.read_arrays(head)[0], to_json_types(about), folder)
        else:
            serialization.write_arrays(head, to_json_types(about), [])

    def find(self, key: str, fold: int) -> FoldResult | None:
        """A finished fold, or None."""
        path = self._path(key, fold)
        if path is None or not path.exists():
            return None
        header, [predictions] = serialization.read_arrays(path)
        return FoldResult(**header, predictions=predictions)

    def save(self, key: str, fold: int, result: FoldResult) -> None:
        """Store a finished fold."""
        path = self._path(key, fold)
        if path is not None:
            header = result._asdict() | {"params": to_json_types(result.params)}
            serialization.write_arrays(path, header, [header.pop("predictions")])

    @property
    def spent(self) -> float:
        """Total time of the stored folds in seconds."""
        if self.folder is None:
            return 0.0
        paths = [path for path in self.folder.glob("*.npz") if path.name != "about.npz"]
        return sum(serialization.read_arrays(path)[0]["seconds"] for path in paths)

    def remove(self) -> None:
        """Delete the folder: the study is complete."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: str, fold: int) -> Path | None:
        return None if self.folder is None else self.folder / f"{key}-{fold}.npz"


def fingerprint_table(records: Any) -> str:
    """Hash of size, columns, and first and last rows of a table."""
    n = records.n_rows
    ends = [
        records.slice(0, min(_FINGERPRINT_ROWS, n)),
        records.slice(max(n - _FINGERPRINT_ROWS, 0), n),
    ]
    summary = [n, records.types, [cells.to_columns() for cells in ends]]
    return hashlib.sha256(json.dumps(summary, default=str).encode()).hexdigest()[:16]


def _require_same(stored: dict[str, Any], about: dict[str, Any], folder: Path) -> None:
    other = [name for name in about if stored.get(name) != about[name]]
    if other:
        raise ValueError(
            f"{folder} holds a study with another {', '.join(other)}: give the same data and "
            "settings, or start again without resume"
        )
