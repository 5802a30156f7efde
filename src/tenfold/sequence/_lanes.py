"""Steps of sequences laid out in lanes, so that eight of them go through a recursion at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold._compiled.lanes import LANES

CONTINUES, BEGINS, PAD = 0, 1, 2  # what a column of a table is


@njit(**ENTRY_OPTIONS)
def fill_lanes(edges, begins, order, codes, places) -> None:  # noqa: ANN001
    """Fill the tables of a `LaneLayout`."""
    for column in range(len(codes)):
        order[column], codes[column] = 0, PAD
    for lane in range(len(edges) - 1):
        first = edges[lane]
        for step in range(first, edges[lane + 1]):
            column = (step - first) * LANES + lane
            order[column], codes[column], places[step] = step, CONTINUES, column
    for step in begins:
        codes[places[step]] = BEGINS


@njit(**ENTRY_OPTIONS)
def divide_evenly(offsets, edges) -> None:  # noqa: ANN001
    """First steps of lanes that hold whole sequences, each where most of it belongs."""
    n_sequences, n = len(offsets) - 1, offsets[-1]
    i = 0
    for lane in range(LANES):
        wanted = lane * (n / LANES)
        while lane and i < n_sequences and (offsets[i] + offsets[i + 1]) / 2 < wanted:
            i += 1
        edges[lane] = offsets[i]
    edges[LANES] = n


class LaneLayout(NamedTuple):
    """Where the steps of a chunk stand in tables whose column `8 t + l` is step t of lane l.

    A lane is a stretch of consecutive steps; it may hold several sequences, or a part of one.

    Attributes
    ----------
    edges : (9,) first step of each lane, and the end of the last
    order : (n_columns,) step of each column; 0 in columns that pad shorter lanes
    codes : (n_columns,) whether a column continues a sequence, begins one, or is none
    places : (n_steps,) column of each step
    begins : columns in which sequences begin
    """

    edges: np.ndarray
    order: np.ndarray
    codes: np.ndarray
    places: np.ndarray
    begins: np.ndarray

    @classmethod
    def of_sequences(cls, offsets: np.ndarray) -> LaneLayout:
        """Whole sequences in each lane, so that the lanes are about equally long.

        Examples
        --------
        >>> LaneLayout.of_sequences(np.array([0, 5, 9, 20])).edges.tolist()
        [0, 0, 5, 9, 9, 9, 20, 20, 20]
        """
        edges = np.empty(LANES + 1, np.int64)
        divide_evenly(offsets, edges)
        begins = offsets[:-1]
        return cls.between(edges, begins[offsets[1:] > begins])

    @classmethod
    def of_pieces(cls, n: int, begins: np.ndarray) -> LaneLayout:
        """Equally many steps in each lane, wherever sequences begin."""
        length = -(-n // LANES)
        edges = np.minimum(np.arange(LANES + 1) * length, n)
        return cls.between(edges, begins)

    @classmethod
    def between(cls, edges: np.ndarray, begins: np.ndarray) -> LaneLayout:
        """Lanes with these edges; `begins` are the first steps of sequences."""
        columns = int((edges[1:] - edges[:-1]).max()) * LANES
        order, codes = np.empty(columns, np.int64), np.empty(columns, np.uint8)
        places = np.empty(edges[-1], np.int64)
        begins = np.asarray(begins, np.int64)
        fill_lanes(edges, begins, order, codes, places)
        return cls(edges, order, codes, places, places[begins])

    @property
    def n_lanes(self) -> int:
        """Lanes up to the last one that holds a step."""
        return int(np.flatnonzero(np.diff(self.edges))[-1]) + 1

    def collect(self, table: np.ndarray) -> np.ndarray:
        """The columns of a table (K, n_columns) in the order of the steps, as rows."""
        return np.take(table, self.places, axis=1).T
