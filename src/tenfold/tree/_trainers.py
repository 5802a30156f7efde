"""Where trees are grown: on rows in memory, or by passes over files and clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.base._sklearn import check_sample_weight
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.tree._binning import BinMapper, bin_rows, spool_bins
from tenfold.tree._boosting_data import HeldOut, chunk_target, chunk_weight
from tenfold.tree._fixed_point import RowWeights, choose_layout
from tenfold.tree._growing_tree import TreeShape
from tenfold.tree._large_arrays import is_in_memory
from tenfold.tree._losses import BoostingLoss, are_copies, mean_loss
from tenfold.tree._memory_trainer import MemoryTrainer, for_blocks
from tenfold.tree._nodes import TreeEnsemble
from tenfold.tree._pass_trainer import PassSetup, PassTrainer
from tenfold.tree._row_lists_numba import BinnedTree, add_binned_tree

_MAX_MEMORY_BYTES = 2**29  # of the bins and columns of rows that come from files
_PASS_ROWS = 2**16  # rows of a piece of a pass over bins in a file


def column_table(mapper: BinMapper) -> tuple[np.ndarray, int]:
    """What growers know of the columns: bins and kinds, and the number of bins with "missing"."""
    columns = np.column_stack([mapper.n_bins, mapper.is_categorical]).astype(np.int64)
    return columns, mapper.max_bins + 1


def make_trainer(
    rows: Rows,
    mapper: BinMapper,
    loss: BoostingLoss,
    shape: TreeShape,
    held_out: HeldOut | None,
    class_weights: np.ndarray | None,
    known: TreeEnsemble | None,
) -> Any:
    """A trainer for these rows: in memory if their bins fit there, else by passes.

    A warm start (`known` trees) is continued in memory.
    """
    y = rows.each(chunk_target)
    w = rows.each(chunk_weight) if rows.source.has_weight else None
    if class_weights is not None:
        own = class_weights[y[:, 0].astype(np.int64)]
        w = own if w is None else w * own
    apart = None if held_out is None else held_out.mask(rows.n_rows)
    if known is not None or _fits_memory(rows, loss):
        bins = rows.each(bin_rows, mapper)
        return MemoryTrainer(bins, y, w, apart, loss, shape, column_table(mapper))
    learns = np.ones(rows.n_rows, bool) if w is None else w > 0
    learns = learns if apart is None else learns & ~apart
    start = loss.start(y[learns], None if w is None else w[learns])
    weights = RowWeights.of(w, rows.n_rows)
    key = None if held_out is None else (held_out.key, held_out.threshold)
    layout = choose_layout(loss, rows.n_rows, weighted=w is not None)
    copies = len(weights.copies) > 0
    setup = PassSetup(mapper, loss, start, class_weights, copies, weights.most, layout, key)
    if rows.engine is None:
        rows = Rows(spool_bins(rows, mapper, _PASS_ROWS))
    count = int(np.count_nonzero(learns))
    return PassTrainer(rows, setup, shape, column_table(mapper), weights, count)


def _fits_memory(rows: Rows, loss: BoostingLoss) -> bool:
    """Whether rows are in memory anyhow, or their bins and columns are small enough for it."""
    if rows.engine is not None:
        return False
    row = rows.n_features + 40 + 24 * loss.n_outputs
    return is_in_memory(rows.source) or row * rows.n_rows <= _MAX_MEMORY_BYTES


@dataclass
class ValidationRows:
    """Rows that were given for early stopping, in memory."""

    rows: Rows
    bins: np.ndarray
    y: np.ndarray
    w: np.ndarray | None
    score: np.ndarray
    loss: BoostingLoss
    missing: int

    @classmethod
    def of(
        cls, rows: Rows, y: np.ndarray, w: Any, mapper: BinMapper, loss: BoostingLoss
    ) -> ValidationRows:
        """Bins of the rows, with these targets and weights."""
        if len(y) != rows.n_rows:
            raise ValueError(f"X_val has {rows.n_rows} rows, y_val {len(y)}")
        bins = rows.each(bin_rows, mapper)
        if w is not None:
            w = check_sample_weight(w, bins, dtype=np.float64)
        score = np.zeros((len(bins), loss.n_outputs), order="F")
        return cls(rows, bins, y.reshape(len(y), -1), w, score, loss, mapper.max_bins)

    def add_trees(self, trees: list[BinnedTree]) -> None:
        """Add the trees of a round to the scores."""
        bins, p = self.bins.reshape(-1), self.bins.shape[1]
        everyone = np.arange(len(self.bins), dtype=np.int32)
        for k, tree in enumerate(trees):

            def add(part: slice, k: int = k, tree: BinnedTree = tree) -> None:
                rows = everyone[part]
                add_binned_tree(*tree[:6], bins, p, self.missing, rows, self.score, k)

            for_blocks(len(everyone), add)

    def mean_loss(self) -> float:
        """Mean loss of the rows."""
        score = np.ascontiguousarray(self.score)
        return mean_loss(self.loss, self.y, score, self.w, copies=are_copies(self.w))

    def chunk(self) -> Chunk:
        """The rows, for a scorer."""
        whole = self.rows.gather()
        y = self.y[:, 0] if self.y.shape[1] == 1 else self.y
        return Chunk(whole.X, y, self.w)
