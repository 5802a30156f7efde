"""Sequences in pieces: every step is owned once, and products keep their order."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import tenfold
from tenfold.engine import Rows
from tenfold.engine.context import current_engine
from tenfold.io import Ragged
from tenfold.io.npy import open_npy
from tenfold.io.sequences import SequenceSource, offsets_from_lengths

LENGTHS = np.array([0, 70_001, 3, 250_000, 1, 0, 12_345])
OFFSETS = offsets_from_lengths(LENGTHS)
SYMBOLS = np.random.default_rng(0).integers(4, size=OFFSETS[-1])


def pairs(chunk):
    """How often each symbol follows each other one; a pair belongs to its first symbol."""
    counts = np.zeros((4, 4), np.int64)
    for piece, owned in zip(chunk.X, chunk.X.owned, strict=True):
        a, b = piece[:-1, 0], piece[1:, 0]
        np.add.at(counts, (a[:owned], b[:owned]), 1)
    return counts


def expected_pairs():
    counts = np.zeros((4, 4), np.int64)
    for low, high in pairwise(OFFSETS):
        sequence = SYMBOLS[low:high]
        np.add.at(counts, (sequence[:-1], sequence[1:]), 1)
    return counts


class Product(NamedTuple):
    """A product of matrices modulo a prime: exact, and it does not commute."""

    matrix: np.ndarray

    def merge(self, other):
        return Product(self.matrix @ other.matrix % 10_007)


STEPS = np.random.default_rng(1).integers(1, 100, size=(4, 2, 2))


def product(chunk):
    matrix = np.eye(2, dtype=np.int64)
    for piece, owned in zip(chunk.X, chunk.X.owned, strict=True):
        for symbol in piece[:owned, 0]:
            matrix = matrix @ STEPS[symbol] % 10_007
    return Product(matrix)


def everywhere(folder, client, length, overlap):
    np.save(folder / "steps.npy", SYMBOLS)
    in_memory = SequenceSource(SYMBOLS, OFFSETS)
    in_file = SequenceSource(open_npy(folder / "steps.npy"), OFFSETS)
    for threads in (1, 3):
        with tenfold.threads(threads):
            yield Rows(in_memory.pieces(length, overlap))
    yield Rows(in_file.pieces(length, overlap))
    with tenfold.on(client):
        yield Rows(in_file.pieces(length, overlap), engine=current_engine())
        yield Rows(in_memory.pieces(length, overlap), engine=current_engine())


@pytest.mark.parametrize("length", [1000, 65_536])
def test_counts_belong_to_the_piece_in_which_they_start(tmp_path, two_workers, length):
    want = expected_pairs()
    for rows in everywhere(tmp_path, two_workers, length, 1):
        assert_array_equal(rows.total(pairs), want)
        assert len(rows) > len(LENGTHS)


def test_products_merge_from_left_to_right(tmp_path, two_workers):
    want = product(Rows(SequenceSource(SYMBOLS, OFFSETS).pieces(10**9)).gather()).matrix
    for rows in everywhere(tmp_path, two_workers, 3000, 0):
        assert_array_equal(rows.total(product).matrix, want)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 5), st.integers(0, 4))
def test_pieces_cover_every_step_once(lengths, length, overlap):
    offsets = offsets_from_lengths(np.array(lengths))
    values = np.arange(offsets[-1])[:, None]
    y = Ragged(values[:, 0] * 10, offsets)
    rows = Rows(
        SequenceSource(values, offsets, y, np.arange(len(lengths)) + 1.0).pieces(length, overlap)
    )
    for pieces in (rows.gather(), rows.take(np.arange(len(rows)))):
        X = pieces.X
        owned = np.concatenate([piece[:n, 0] for piece, n in zip(X, X.owned, strict=True)])
        assert_array_equal(owned, values[:, 0])
        for i, piece in enumerate(X):
            begin = offsets[X.sequence[i]] + X.start[i]
            stop = min(begin + length + overlap, offsets[X.sequence[i] + 1])
            assert_array_equal(piece[:, 0], np.arange(begin, stop))
            assert_array_equal(pieces.y[i], 10 * np.arange(begin, stop))
        assert_array_equal(pieces.w, X.sequence + 1)
    in_memory = Ragged(values, offsets).pieces(length, overlap)
    assert_array_equal(in_memory.values, X.values)
    assert_array_equal(in_memory[::-1].start, in_memory.start[::-1])
    assert_array_equal(in_memory[1:].owned, in_memory.owned[1:])


def test_places_are_named():
    source = SequenceSource(np.arange(10), np.array([0, 3, 10])).pieces(2)
    assert source.where(3) == "sequence 1, step 2"
    with pytest.raises(ValueError, match="at least 1"):
        SequenceSource(np.arange(10), np.array([0, 3, 10])).pieces(0)
