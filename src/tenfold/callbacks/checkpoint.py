"""Checkpoints: a fit that was killed goes on where it was, to the same bits.

A fit is a plain computation on the totals of its passes. So the checkpoint is a journal of totals:
the fit runs again from its start, every pass that the journal holds returns its total at once, and
the pass that was under way goes on with the pending nodes of its tree. The state of a loop
(`watch.mark_loop`) takes the place of the loop's passes, so that the journal stays short.
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
    log = CheckpointReplay(CheckpointFile(Path(path).absolute(), every))
    with attach_recorder(log):
        try:
            yield
        except BaseException as problem:
            log.keep(problem)
            raise
    log.remove()
