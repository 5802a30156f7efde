"""A finer grid is the same in memory, in files, on workers and in parts."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from pyarrow import csv
from scipy import sparse

import tenfold
from tenfold.base import Regressor
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.subset import RowSelection, SubsetSource

N, FINE = 30_001, 700
X = np.random.default_rng(0).normal(size=(N, 5))


def products(chunk):
    """Other bits on another grid."""
    return chunk.X.T @ chunk.X, chunk.X.sum(axis=0) * 1e-3


WANT = Rows(ArraySource(X).with_chunk_rows(FINE)).total(products)


def same_bits(total):
    return all(a.tobytes() == b.tobytes() for a, b in zip(total, WANT, strict=True))


def opened(place, folder):
    if place == "array":
        return tenfold.open(X)
    if place == "fortran":
        return tenfold.open(np.asfortranarray(X))
    if place == "npy":
        np.save(folder / "X.npy", X)
        return tenfold.open(folder / "X.npy")
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
    if place == "table":
        return tenfold.open(table)
    if place == "csv":
        csv.write_csv(table, folder / "X.csv")
        return tenfold.open(folder / "X.csv")
    pq.write_table(table, folder / "X.parquet", row_group_size=4321)
    return tenfold.open(folder / "X.parquet")


PLACES = ["array", "fortran", "npy", "table", "csv", "parquet"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("threads", [1, 3])
def test_places(tmp_path, place, threads):
    rows = opened(place, tmp_path)
    with tenfold.threads(threads):
        fine = rows.with_chunk_rows(FINE)
        assert same_bits(fine.total(products))
        assert not same_bits(rows.total(products)), "the grid of the rows themselves is as it was"
        for _ in range(5):  # a stream is spooled after some passes
            assert same_bits(fine.total(products))


@pytest.mark.parametrize("place", ["array", "npy", "parquet", "csv"])
def test_workers(tmp_path, two_workers, place):
    with tenfold.on(two_workers):
        assert same_bits(opened(place, tmp_path).with_chunk_rows(FINE).total(products))


@pytest.mark.parametrize("remote", [True, False])
def test_dask_blocks(two_workers, remote):
    import dask.array as da

    array = da.from_array(X, chunks=(7_001, -1))
    if remote:
        with tenfold.on(two_workers):
            rows = tenfold.open(array).with_chunk_rows(FINE)
            total = rows.total(products)
            taken = rows.take(np.array([5, 699, 700, 29_999])).X
    else:
        rows = tenfold.open(array).with_chunk_rows(FINE)
        total, taken = rows.total(products), rows.take(np.array([5, 699, 700, 29_999])).X
    assert same_bits(total)
    assert_array_equal(taken, X[[5, 699, 700, 29_999]])


def test_every_row_is_in_one_chunk_of_the_finer_grid():
    starts, _ = Rows(ArraySource(X).with_chunk_rows(FINE)).total(collected)
    assert starts == [(first, min(FINE, N - first)) for first in range(0, N, FINE)]


class Starts(list):
    def merge(self, other):
        return Starts([*self, *other])


def collected(chunk):
    return Starts([(chunk.first, chunk.rows)]), 0


def test_sparse_rows():
    S = sparse.random_array((9_000, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    fine = Rows(SparseSource(S).with_chunk_rows(500))
    assert fine.source.grid == 500
    assert_array_equal(fine.each(lambda chunk: chunk.X.sum(axis=1)), S.sum(axis=1))


def test_parts_of_rows():
    cell = np.arange(N) % 4
    chosen = RowSelection.of(cell, np.array([True, True, False, True]), ArraySource(X).grid)
    part = SubsetSource(ArraySource(X), chosen).with_chunk_rows(FINE)
    alone = ArraySource(X[cell != 2]).with_chunk_rows(FINE)
    for a, b in zip(Rows(part).total(products), Rows(alone).total(products), strict=True):
        assert a.tobytes() == b.tobytes()


class ProductsModel(Regressor):
    _chunk_rows = FINE

    def _fit(self, rows, rng):
        return {"products_": rows.total(products)}


def test_a_model_sets_its_grid(tmp_path):
    y = np.zeros(N)
    assert same_bits(ProductsModel().fit(X, y).products_)
    np.save(tmp_path / "X.npy", X)
    rows = tenfold.open(tmp_path / "X.npy", target=y)
    assert same_bits(ProductsModel().fit(rows).products_)
    assert rows.source.max_chunk_rows is None


def test_a_chunk_has_rows():
    with pytest.raises(ValueError, match="at least one row"):
        tenfold.open(X).with_chunk_rows(0)
