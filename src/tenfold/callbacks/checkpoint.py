"""Checkpoints: a fit that was killed is resumed, with the same bits as a result.

A fit is a deterministic computation on the totals of its passes. So the checkpoint is a log of
totals: the fit runs again from its start, every recorded pass returns its total at once, and the
pass that was interrupted continues with the recorded nodes of its merge tree. The state of a loop
(`engine.hooks.record_loop_state`) replaces the loop's passes, so that the log stays short.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenfold.callbacks.checkpoint_file import CheckpointFile
from tenfold.callbacks.monitor import attach_recorder
from tenfold.callbacks.replay import CheckpointReplay


@contextmanager
def checkpoint(path: str | os.PathLike[str], every: float = 10.0) -> Iterator[None]:
    """Make the fits of this block resumable: run the same program again after a crash.

    What is done is written to `path` every `every` seconds, or less often where writing would
    take more than 1 % of the time, between passes over the rows and within them. When the block
    ends, the file is removed. When it is left by an error, by Ctrl-C or by kill -9, the file
    stays; the same program then computes only what is missing and ends with the same bits.

    Every fit of the block counts, in its order. Data and parameters must be the same again: a
    checkpoint that belongs to another fit is refused. Fits in other threads are an error, fits in
    other processes (`n_jobs=2`) are not covered. Outputs per row and random batches are computed
    again.

    Parameters
    ----------
    path : path
        File to keep. Its folder must exist.
    every : float
        Seconds between two saves.

    Examples
    --------
    >>> import tempfile, numpy as np, tenfold
    >>> from tenfold.engine import Rows
    >>> from tenfold.engine.arrays import ArraySource
    >>> def column_sums(chunk):
    ...     return chunk.X.sum(0)
    >>> rows = Rows(ArraySource(np.ones((20_000, 2))))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tenfold.checkpoint(f"{folder}/fit.ckpt"):
    ...         rows.total(column_sums)
    array([20000., 20000.])
    """
    replay = CheckpointReplay(CheckpointFile(Path(path).absolute(), every))
    with attach_recorder(replay):
        try:
            yield
        except BaseException as problem:
            replay.save_on_error(problem)
            raise
    replay.remove()
