"""Finished folds on disk, so that an interrupted study can be resumed.

Every fold of every model is a file of its own, written atomically, so that a killed process leaves
no incomplete file.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.result import to_json_types
from tenfold.callbacks import serialization
from tenfold.callbacks.fingerprint import digest
from tenfold.callbacks.row_digest import RowDigests


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
        Settings that the folds depend on.
    records : TableSource, optional
        The table; the folds depend on all its cells.
    resume : bool
        Whether to keep existing folds, which must be of the same settings and table.
    """

    def __init__(
        self, folder: Path | None, about: dict[str, Any], records: Any = None, *, resume: bool
    ) -> None:
        self.folder = folder
        if folder is None:
            return
        if not resume:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        head = folder / "about.npz"
        if records is not None:
            about = about | {"data": fingerprint_table(records)}
        if head.exists():
            stored, table = serialization.read_arrays(head)[0], getattr(records, "shown", None)
            _require_same(stored, to_json_types(about), folder, table)
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
    """Digest of the names, types and cells of all rows of a table."""
    return digest((records.types, RowDigests().of(records)))


def _require_same(
    stored: dict[str, Any], about: dict[str, Any], folder: Path, table: str | None
) -> None:
    other = [name for name in about if stored.get(name) != about[name]]
    if other:
        changed = f" ({table} has changed)" if table and other == ["data"] else ""
        raise ValueError(
            f"{folder} holds a study with another {', '.join(other)}{changed}: give the same data "
            "and settings, or start again without resume"
        )
