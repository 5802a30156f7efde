"""Ragged rows give what a plain loop over the sequences gives, wherever they lie."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenfold
from tenfold.io import Ragged
from tenfold.io.sequences import from_sequences, offsets_from_lengths

LENGTHS = st.lists(st.integers(0, 6), min_size=1, max_size=30)


class Moves(NamedTuple):
    """What a leaf may count in sequences: starts, and products of neighbours."""

    n: int
    start: np.ndarray
    lagged: np.ndarray


def moves(chunk):
    starts = [x[0] for x in chunk.X if len(x)]
    lagged = [x[:-1].T @ x[1:] for x in chunk.X if len(x)]
    zero = np.zeros(chunk.X.shape[1])
    return Moves(len(chunk.X), sum(starts, zero), sum(lagged, np.outer(zero, zero)))


def sums(chunk, scale):
    return np.array([scale * x.sum() for x in chunk.X])


def made(lengths, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, d)) for n in lengths]


def long_sequences(seed=0):
    """About 30 chunks, among them empty sequences."""
    lengths = np.random.default_rng(seed).integers(0, 4000, 700)
    lengths[::50] = 0
    return made(lengths, 3, seed)


def same(a, b):
    return all(
        np.array_equal(x, y) and np.asarray(x).dtype == np.asarray(y).dtype
        for x, y in zip(a, b, strict=True)
    )


@settings(deadline=None)
@given(LENGTHS, st.data())
def test_ragged_indexing_is_that_of_a_list(lengths, data):
    parts = made(lengths)
    ragged = Ragged(np.concatenate(parts), offsets_from_lengths(lengths))
    n = len(parts)
    assert len(ragged) == n
    assert ragged.shape == (n, 2)
    assert ragged.lengths.tolist() == lengths
    assert same(ragged, parts)
    at = data.draw(st.integers(-n, n - 1))
    assert np.array_equal(ragged[at], parts[at])
    cut = data.draw(st.slices(n))
    assert same(ragged[cut], parts[cut])
    rows = data.draw(st.lists(st.integers(-n, n - 1), max_size=10))
    assert same(ragged[np.array(rows, int)], [parts[i] for i in rows])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    assert same(ragged[mask], [part for part, kept in zip(parts, mask, strict=True) if kept])


@settings(deadline=None)
@given(st.lists(LENGTHS, min_size=1, max_size=4))
def test_joined_puts_parts_one_after_the_other(several):
    lists = [made(lengths) for lengths in several]
    parts = [
        Ragged(np.concatenate(part), offsets_from_lengths([len(x) for x in part])) for part in lists
    ]
    assert same(Ragged.concatenate(parts), [x for part in lists for x in part])


def test_slices_share_memory():
    ragged = Ragged(np.arange(10.0)[:, None], np.array([0, 4, 4, 10]))
    assert np.shares_memory(ragged[1:].values, ragged.values)


def test_indexing_past_the_end_is_an_error():
    ragged = Ragged(np.arange(10.0)[:, None], np.array([0, 4, 4, 10]))
    for bad in (3, -4, [0, 3]):
        with pytest.raises(IndexError):
            ragged[bad]


@settings(deadline=None)
@given(LENGTHS, st.booleans())
def test_total_and_each_are_a_plain_loop(lengths, in_list):
    parts = made(lengths)
    rows = from_sequences(parts if in_list else (np.concatenate(parts), lengths))
    total = rows.total(moves)
    assert total.n == len(parts)
    np.testing.assert_allclose(total.start, sum((p[0] for p in parts if len(p)), np.zeros(2)))
    pairs = sum((p[:-1].T @ p[1:] for p in parts if len(p)), np.zeros((2, 2)))
    np.testing.assert_allclose(total.lagged, pairs, atol=1e-12)
    np.testing.assert_array_equal(rows.each(sums, 2.0), [2 * p.sum() for p in parts])


def places(parts, folder):
    """The same sequences: a list, flat, a memory map, a file with lengths here or in a file."""
    values, lengths = np.concatenate(parts), np.array([len(p) for p in parts])
    np.save(folder / "steps.npy", values)
    np.save(folder / "lengths.npy", lengths)
    path = str(folder / "steps.npy")
    return {
        "list": parts,
        "ragged": Ragged(values, offsets_from_lengths(lengths)),
        "flat": (values, lengths),
        "memmap": (np.load(path, mmap_mode="r"), lengths),
        "file": (path, lengths),
        "two files": (folder / "steps.npy", folder / "lengths.npy"),
        "columns together": (np.asfortranarray(values), lengths),
    }


def test_place_and_threads_do_not_matter(tmp_path):
    parts = long_sequences()
    results = []
    for where in places(parts, tmp_path).values():
        for n in (1, 2):
            with tenfold.threads(n):
                rows = from_sequences(where)
                results.append([*rows.total(moves), rows.each(sums, 1.0)])
    assert len(list(rows.source.runs())) > 20
    assert all(same(result, results[0]) for result in results[1:])


def test_grid_holds_about_a_mebibyte_and_follows_the_mean_length():
    assert from_sequences(made([1000] * 300, 4)).source.grid == 2**20 // (1000 * 4 * 8)
    assert from_sequences(made([1] * 10)).source.grid == 8192
    assert from_sequences([np.zeros((300_000, 1)), np.zeros((0, 1))]).source.grid == 1
    assert from_sequences([[], []]).source.grid == 8192


def test_take_sample_gather_and_batches(tmp_path):
    parts = long_sequences(1)
    y, w = np.arange(len(parts)), np.linspace(1, 2, len(parts))
    for where in (parts, places(parts, tmp_path)["file"]):
        rows = from_sequences(where, y, w)
        chosen = np.array([0, 3, 50, 51, 699])
        taken = rows.take(chosen)
        assert same(taken.X, [parts[i] for i in chosen])
        assert taken.y.tolist() == chosen.tolist()
        sample = rows.sample(20, seed=3)
        assert same(sample.X, [parts[i] for i in sample.y])
        assert np.array_equal(sample.w, w[sample.y])
        assert same(rows.gather().X, parts)
        batches = list(rows.batches(64, seed=1))
        assert [len(batch.X) for batch in batches] == [64] * 10 + [60]
        order = np.concatenate([batch.y for batch in batches])
        assert sorted(order) == list(y)
        assert list(order) != list(y)
        assert same(Ragged.concatenate([batch.X for batch in batches]), [parts[i] for i in order])


def test_take_of_no_rows_is_empty():
    assert len(from_sequences(made([3, 4])).take(np.array([], int)).X) == 0


def test_batches_hold_few_chunks_of_long_sequences():
    source = from_sequences(made([5000] * 40)).source
    assert source.row_bytes == 5000 * 2 * 8


def first_numbers(chunk):
    return np.array([(chunk.first + i, len(x)) for i, x in enumerate(chunk.X)])


def test_first_is_the_number_of_the_sequence():
    parts = long_sequences(2)
    expected = [(i, len(part)) for i, part in enumerate(parts)]
    assert from_sequences(parts).each(first_numbers).tolist() == [list(pair) for pair in expected]


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        ([np.array([1, 2], np.int32), np.array([3], np.int32)], np.int32),
        ([[1, 2], [], [3]], np.int64),  # an empty list does not make symbols floats
        ([np.array([1, 2], np.uint8)], np.int64),
        ([np.zeros((2, 2), np.int64)], np.float64),
        ([np.zeros((2, 2), np.float32)], np.float32),
        ([np.zeros(2, np.float32), []], np.float32),
        ([np.zeros((2, 2), np.float32), np.zeros((2, 2))], np.float64),
        ([[1, 2], [0.5]], np.float64),
    ],
)
def test_symbols_stay_whole_and_steps_become_floats(sequences, expected):
    rows = from_sequences(sequences)
    chunk = rows.gather()
    assert chunk.X.dtype == rows.dtype == expected
    assert chunk.X.values.ndim == 2
    assert chunk.X.values.flags.c_contiguous


def test_one_sequence_and_one_empty_sequence():
    assert from_sequences(made([5])).total(moves).n == 1
    empty = from_sequences([np.zeros((0, 2))])
    assert empty.n_features == 2
    assert empty.total(moves).n == 1
    assert empty.each(sums, 1.0).tolist() == [0.0]


def labels_seen(chunk):
    return {int(label): 1 for labels in chunk.y for label in labels}


def test_target_per_step_goes_with_its_sequence():
    parts = long_sequences(3)
    labels = [np.full(len(part), i) for i, part in enumerate(parts)]
    rows = from_sequences(parts, labels)
    taken = rows.take(np.array([7, 120]))
    assert same(taken.y, [labels[7], labels[120]])
    assert sorted(rows.total(labels_seen)) == [i for i, part in enumerate(parts) if len(part)]
    assert repr(taken.y).startswith("Ragged(2 sequences, ")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["list", "file"])
def test_nan_is_an_error_that_names_sequence_and_column(tmp_path, value, place):
    parts = long_sequences(4)
    victim = next(i for i in range(400, 700) if len(parts[i]) > 10)
    parts[victim][4, 2] = value
    rows = from_sequences(places(parts, tmp_path)[place])
    with pytest.raises(ValueError, match=rf"sequence {victim}, column 2\b"):
        rows.total(moves)


@pytest.mark.parametrize(
    ("where", "target", "message"),
    [
        ([], None, "no sequences"),
        ([np.zeros((2, 3)), np.zeros((2, 2))], None, r"sequence 1 has the shape \(2, 2\)"),
        ([np.zeros((2, 3)), np.zeros(2)], None, "sequence 1 has the shape"),
        ((np.zeros((5, 2)), [2, 2]), None, "add up to 4 steps and the values have 5"),
        ((np.zeros((5, 2)), [6, -1]), None, "length of each sequence"),
        ([["a", "b"], ["c"]], None, "Number symbols first"),
        ([np.zeros((2, 2, 2))], None, "3 dimensions"),
        ([[1.0], [2.0]], [0, 1, 1], "3 entries of the target, but 2 sequences"),
        ([[1.0], [2.0]], [[0], [1, 1]], "sequence 1 has 1 steps, but its target has 2"),
        ([[1.0], [2.0]], [[0]], "the target has 1 sequences, but X has 2"),
    ],
)
def test_what_does_not_fit_is_an_error(where, target, message):
    with pytest.raises(ValueError, match=message):
        from_sequences(where, target)


def test_file_cut_short_is_an_error(tmp_path):
    where = places(long_sequences(), tmp_path)["file"]
    rows = from_sequences(where)
    path = tmp_path / "steps.npy"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(ValueError, match=r"steps\.npy"):
        rows.total(moves)


def test_cluster_gives_the_same_bits(tmp_path):
    from distributed import Client

    parts = long_sequences(5)
    here = from_sequences(parts).total(moves)
    small = {"processes": False, "n_workers": 2, "threads_per_worker": 1}
    with Client(**small, dashboard_address=":0") as client, tenfold.on(client):
        for where in (parts, places(parts, tmp_path)["file"]):
            assert same(from_sequences(where).total(moves), here)
