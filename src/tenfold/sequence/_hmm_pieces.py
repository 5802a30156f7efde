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
from tenfold.sequence._hmm_log_numba import filter_logs, join_messages
from tenfold.sequence._hmm_numba import scale_columns
from tenfold.sequence._hmm_products_numba import join_best, maximize_lanes, multiply_lanes
from tenfold.sequence._hmm_smoother import FLOOR, SAFE_SCALE, has_safe_transitions

_LOST_SHARE = 1e-9  # of the probability of all sequences that products may lose
_ROUNDING = 1e-14  # of a sum of many logarithms


class PieceProducts(NamedTuple):
    """Products of pieces that follow each other, in logarithms; parts join in order.

    Attributes
    ----------
    factors : (n_pieces, K) factors of the rows of a product
    constants : (n_pieces,) a further factor of all of them
    n_rows : (n_pieces,) 1 where all rows are multiples of one, else K
    rows : (sum of n_rows, K)
    least : (n_chunks,) the least scale of a first step of a sequence
    """

    factors: np.ndarray
    constants: np.ndarray
    n_rows: np.ndarray
    rows: np.ndarray
    least: np.ndarray

    def merge(self, other: PieceProducts) -> PieceProducts:
        """The pieces of both."""
        return PieceProducts(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    @classmethod
    def of_lanes(
        cls,
        lanes: int,
        factors: np.ndarray,
        constants: np.ndarray,
        rows: np.ndarray,
        agree: np.ndarray,
        least: float = 1.0,
    ) -> PieceProducts:
        """The products of the first lanes of a chunk."""
        K = factors.shape[1]
        n_rows = np.where(agree[:lanes], 1, K)
        kept = [rows[lane, : n_rows[lane]] for lane in range(lanes)]
        first = factors[:lanes].copy(), constants[:lanes].copy()
        return cls(*first, n_rows, np.concatenate(kept), np.array([least]))


def multiply_pieces(
    chunk: Chunk, model: HiddenChain, grid: StepGrid, floor: float
) -> PieceProducts:
    """Products of transitions and densities along each piece of a chunk.

    With a `floor`, they are upper bounds that no underflow lowers.
    """
    steps = lay_out(chunk, model, grid)
    B, K = steps.log_B, len(model.start)
    scale_columns(B, np.empty(B.shape[1]))
    factors, constants, rows = np.empty((LANES, K)), np.empty(LANES), np.empty((LANES, K, K))
    flat = B.reshape(-1), steps.layout.codes, model.start, model.transition.ravel()
    agree = multiply_lanes(*flat, factors, constants, rows, floor)
    with np.errstate(divide="ignore"):
        logs = np.log(rows)
    logs[np.isnan(logs)] = 0.0  # rows of states that are impossible; their factor says so
    least = float((model.start @ B[:, steps.layout.begins]).min(initial=1.0))
    return PieceProducts.of_lanes(steps.layout.n_lanes, factors, constants, logs, agree, least)


def multiply_pieces_in_logs(chunk: Chunk, model: HiddenChain, grid: StepGrid) -> PieceProducts:
    """The same where scaled products would lose paths."""
    steps, K = lay_out(chunk, model, grid), len(model.start)
    (log_start, log_A), layout = log_chain(model), steps.layout
    log_B, begins = np.ascontiguousarray(layout.collect(steps.log_B)), layout.codes[layout.places]
    factors, rows = np.zeros((LANES, K)), np.zeros((LANES, K, K))
    with np.errstate(divide="ignore"):
        states = np.log(np.eye(K))
    for lane in range(layout.n_lanes):
        part = slice(layout.edges[lane], layout.edges[lane + 1])
        own, scales = log_B[part], np.empty(part.stop - part.start)
        for i in range(K):
            logs = np.empty_like(own)
            filter_logs(own, begins[part] == 1, log_start, log_A, states[i], logs, scales)
            factors[lane, i], rows[lane, i] = scales.sum(), logs[-1]
    never = np.zeros(LANES, bool)
    return PieceProducts.of_lanes(layout.n_lanes, factors, np.zeros(LANES), rows, never)


def maximize_pieces(chunk: Chunk, model: HiddenChain, grid: StepGrid) -> PieceProducts:
    """The same for best paths, with maxima of sums of logarithms."""
    steps, (log_start, log_A) = lay_out(chunk, model, grid), log_chain(model)
    K = len(log_start)
    factors, rows = np.empty((LANES, K)), np.empty((LANES, K, K))
    flat = steps.log_B.reshape(-1), steps.layout.codes, log_start, log_A.ravel()
    agree = maximize_lanes(*flat, factors, rows)
    return PieceProducts.of_lanes(steps.layout.n_lanes, factors, np.zeros(LANES), rows, agree)


def send_messages(rows: Rows, model: HiddenChain, grid: StepGrid) -> StepGrid:
    """The grid with the messages at the edges of all pieces, after one pass.

    Where transitions are not safe, a second pass gives an upper bound. If it is larger, paths are
    lost, and a third pass finds them in logarithms.
    """
    products = rows.total(multiply_pieces, model, grid, 0.0)
    joined, value = _join(products, grid)
    lost = not products.least.min() > SAFE_SCALE
    if not lost and not has_safe_transitions(model.transition):
        bound = _join(rows.total(multiply_pieces, model, grid, FLOOR), grid)[1]
        lost = not bound - value <= _LOST_SHARE + _ROUNDING * abs(bound)
    if lost:
        joined, _ = _join(rows.total(multiply_pieces_in_logs, model, grid), grid)
    return joined


def _join(products: PieceProducts, grid: StepGrid) -> tuple[StepGrid, float]:
    """The grid with messages at the edges of pieces, and the logarithm of the whole product."""
    before, after = np.empty_like(products.factors), np.empty_like(products.factors)
    where = np.concatenate([[0], np.cumsum(products.n_rows)])
    value = join_messages(products.factors, products.rows, where, before, after)
    return grid._replace(before=before, after=after), float(value + products.constants.sum())


def find_edge_states(rows: Rows, model: HiddenChain, grid: StepGrid) -> tuple[StepGrid, float]:
    """The grid with the states of the best path at the edges of pieces, and its log-probability."""
    products = rows.total(maximize_pieces, model, grid)
    before, after = (np.empty(len(products.factors), np.int64) for _ in range(2))
    where = np.concatenate([[0], np.cumsum(products.n_rows)])
    value = join_best(products.factors, products.rows, where, before, after)
    return grid._replace(before=before, after=after), float(value)
