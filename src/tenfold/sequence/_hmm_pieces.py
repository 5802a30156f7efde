"""Sequences longer than a chunk: a pass that learns what each piece does to a message.

The pieces of a chunk are its lanes. Their products go to this process, which multiplies them from
the first piece to the last and back; the passes proper then begin each piece with the message that
the others have left. Products of pieces do not depend on who computes them, so neither do results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold._compiled.lanes import LANES
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.sequence._hmm_lanes import HiddenChain, StepGrid, lay_out, log_chain
from tenfold.sequence._hmm_numba import scale_columns
from tenfold.sequence._hmm_products_numba import (
    join_best,
    join_messages,
    maximize_lanes,
    multiply_lanes,
)


class PieceProducts(NamedTuple):
    """Products of pieces that follow each other; parts join in order.

    Attributes
    ----------
    factors : (n_pieces, K) logarithms of the factors of the rows of a product
    n_rows : (n_pieces,) 1 where all rows are multiples of one, else K
    rows : (sum of n_rows, K)
    """

    factors: np.ndarray
    n_rows: np.ndarray
    rows: np.ndarray

    def merge(self, other: PieceProducts) -> PieceProducts:
        """The pieces of both."""
        return PieceProducts(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    @classmethod
    def of_lanes(
        cls, lanes: int, factors: np.ndarray, rows: np.ndarray, agree: np.ndarray
    ) -> PieceProducts:
        """The products of the first lanes of a chunk."""
        K = factors.shape[1]
        n_rows = np.where(agree[:lanes], 1, K)
        kept = [rows[lane, : n_rows[lane]] for lane in range(lanes)]
        return cls(factors[:lanes].copy(), n_rows, np.concatenate(kept))


def multiply_pieces(chunk: Chunk, model: HiddenChain, grid: StepGrid) -> PieceProducts:
    """Products of transitions and densities along each piece of a chunk."""
    steps = lay_out(chunk, model, grid)
    B, K = steps.log_B, len(model.start)
    scale_columns(B, np.empty(B.shape[1]))
    factors, rows = np.empty((LANES, K)), np.empty((LANES, K, K))
    flat = B.reshape(-1), steps.layout.codes, model.start, model.transition.ravel()
    agree = multiply_lanes(*flat, factors, rows)
    return PieceProducts.of_lanes(steps.layout.n_lanes, factors, rows, agree)


def maximize_pieces(chunk: Chunk, model: HiddenChain, grid: StepGrid) -> PieceProducts:
    """The same for best paths, with maxima of sums of logarithms."""
    steps, (log_start, log_A) = lay_out(chunk, model, grid), log_chain(model)
    K = len(log_start)
    factors, rows = np.empty((LANES, K)), np.empty((LANES, K, K))
    flat = steps.log_B.reshape(-1), steps.layout.codes, log_start, log_A.ravel()
    agree = maximize_lanes(*flat, factors, rows)
    return PieceProducts.of_lanes(steps.layout.n_lanes, factors, rows, agree)


def send_messages(rows: Rows, model: HiddenChain, grid: StepGrid) -> StepGrid:
    """The grid with the messages at the edges of all pieces, after one pass."""
    products = rows.total(multiply_pieces, model, grid)
    before, after = np.empty_like(products.factors), np.empty_like(products.factors)
    where = np.concatenate([[0], np.cumsum(products.n_rows)])
    join_messages(products.factors, products.rows, where, before, after)
    return grid._replace(before=before, after=after)


def find_edge_states(rows: Rows, model: HiddenChain, grid: StepGrid) -> tuple[StepGrid, float]:
    """The grid with the states of the best path at the edges of pieces, and its log-probability."""
    products = rows.total(maximize_pieces, model, grid)
    before, after = (np.empty(len(products.factors), np.int64) for _ in range(2))
    where = np.concatenate([[0], np.cumsum(products.n_rows)])
    value = join_best(products.factors, products.rows, where, before, after)
    return grid._replace(before=before, after=after), float(value)
