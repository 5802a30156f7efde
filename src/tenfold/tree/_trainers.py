"""Where trees are grown: on rows in memory, or by passes over files and clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.base._sklearn import check_sample_weight
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.tree._binning import BinMapper, bin_rows
from tenfold.tree._boosting_data import chunk_target, chunk_weight
from tenfold.tree._grower import MemoryTrainer, for_blocks
from tenfold.tree._growth import TreeShape
from tenfold.tree._losses import BoostingLoss, mean_loss
from tenfold.tree._row_lists_numba import BinnedTree, add_binned_tree


def column_table(mapper: BinMapper) -> tuple[np.ndarray, int]:
    """What growers know of the columns: bins and kinds, and the number of bins with "missing"."""
    columns = np.column_stack([mapper.n_bins, mapper.is_categorical]).astype(np.int64)
    return columns, mapper.max_bins + 1


def make_trainer(
    rows: Rows,
    mapper: BinMapper,
    loss: BoostingLoss,
    shape: TreeShape,
    held_out: np.ndarray | None,
    class_weights: np.ndarray | None,
) -> Any:
    """A trainer for these rows."""
    y = rows.each(chunk_target)
    w = rows.each(chunk_weight) if rows.source.has_weight else None
    if class_weights is not None:
        own = class_weights[y[:, 0].astype(np.int64)]
        w = own if w is None else w * own
    bins = rows.each(bin_rows, mapper)
    return MemoryTrainer(bins, y, w, held_out, loss, shape, column_table(mapper))


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
        score = np.zeros((len(bins), loss.n_outputs))
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
        return mean_loss(self.loss, self.y, self.score, self.w)

    def chunk(self) -> Chunk:
        """The rows, for a scorer."""
        whole = self.rows.gather()
        y = self.y[:, 0] if self.y.shape[1] == 1 else self.y
        return Chunk(whole.X, y, self.w)
