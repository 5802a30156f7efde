"""The law of long fits: one that is stopped anywhere goes on from its checkpoint."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tenfold.laws.bits import assert_same_bits
from tenfold.laws.trials import fresh, table
from tenfold.rows import Chunk, Rows, checkpoint
from tenfold.rows.fold import Task


class Killed(BaseException):
    """What stops a fit in the middle of a pass."""


def fitted_unless_stopped(model: Any, path: Path, chunks: int) -> Any:
    """Fit under a checkpoint, but stop after so many chunks or blocks: then None."""
    left, result, blocks = [chunks], Task.result, Rows.blocks

    def count() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    def counted_result(task: Task, chunk: Chunk) -> Any:
        count()
        return result(task, chunk)

    def counted_blocks(rows: Rows, seed: int | None = None) -> Iterator[Any]:
        for block in blocks(rows, seed):
            count()
            yield block

    try:
        with (
            mock.patch.object(Task, "result", counted_result),
            mock.patch.object(Rows, "blocks", counted_blocks),
            checkpoint(path, every=0),
        ):
            return fresh(model).fit(*table(model))
    except Killed:
        return None


def stopped_fits_resume(model: Any) -> None:
    """A fit that is stopped anywhere and run again under its checkpoint ends with the same bits."""
    whole = fresh(model).fit(*table(model))
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.ckpt"
        again = fitted_unless_stopped(model, path, 2)
        assert again is None, "the fit was never stopped"
        while again is None:
            again = fitted_unless_stopped(model, path, int(rng.integers(2, 12)))
    assert_same_bits(whole, again, "after stops")
