"""One table of ratings in many forms."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_matrix

from tenfold.recommend import Ratings, _entries, open_ratings

USERS = ["bob", "ann", "bob", "eve"]
ITEMS = ["Ran", "Ran", "Alien", "Brazil"]
STARS = [4.0, 5.0, 2.5, 1.0]
MATRIX = np.array([[np.nan, np.nan, 5.0], [2.5, np.nan, 4.0], [np.nan, 1.0, np.nan]])


def forms(folder):
    table = pd.DataFrame({"who": USERS, "film": ITEMS, "stars": STARS})
    table.to_csv(folder / "r.csv", index=False)
    table.to_parquet(folder / "r.parquet")
    pairs = np.column_stack([USERS, ITEMS])
    yield table, None
    yield table[["film", "who", "stars"]], None  # in any order, by their names
    yield table[["who", "film"]], STARS
    yield table, "stars"
    yield table.to_dict("list"), None
    yield folder / "r.csv", None
    yield str(folder / "r.parquet"), "stars"
    yield pairs, STARS
    yield pairs.tolist(), STARS
    yield pairs.astype(object), pd.Series(STARS)
    yield table.rename(columns={"who": "a", "film": "b", "stars": "c"}), None  # by their places


def test_all_forms_of_a_table_give_the_same_ratings(tmp_path):
    for X, y in forms(tmp_path):
        ratings = open_ratings(X, y)
        assert ratings.users.tolist() == ["ann", "bob", "eve"]
        assert ratings.items.tolist() == ["Alien", "Brazil", "Ran"]
        assert_array_equal(ratings.to_matrix(), MATRIX)


def test_numbers_as_ids_come_from_arrays_files_and_matrices(tmp_path):
    triples = np.array([[7, 30, 4.0], [2, 30, 1.0], [7, 5, 3.0]])
    np.save(tmp_path / "r.npy", triples)
    for X, y in [
        (triples, None),
        (triples[:, :2].astype(int), triples[:, 2]),
        (tmp_path / "r.npy", None),
    ]:
        ratings = open_ratings(X, y)
        assert ratings.users.tolist() == [2, 7]
        assert ratings.items.tolist() == [5, 30]
        assert_array_equal(ratings.to_matrix(), [[np.nan, 1], [3, 4]])


def test_a_matrix_is_sparse_or_has_gaps():
    sparse = csr_matrix(np.nan_to_num(MATRIX))
    for ratings in (Ratings.from_matrix(MATRIX), open_ratings(sparse)):
        assert_array_equal(ratings.to_matrix(), MATRIX)
    wide = np.tile(MATRIX, 3)
    assert_array_equal(open_ratings(wide).to_matrix(), wide)


def test_entries_by_item_are_the_transpose():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(9, 7))
    Y[rng.random(Y.shape) < 0.5] = np.nan
    ratings, turned = Ratings.from_matrix(Y), Ratings.from_matrix(Y.T)
    for name in ("indptr", "indices", "values"):
        assert_array_equal(getattr(ratings.by_item, name), getattr(turned.by_user, name))


def test_equal_pairs_become_their_mean_or_their_sum():
    X, y = [["a", "x"], ["a", "x"], ["b", "x"]], [1.0, 4.0, 2.0]
    mean = open_ratings(X, y)
    assert_array_equal(mean.to_matrix(), [[2.5], [2.0]])
    assert_array_equal(mean.by_user.weights, [2.0, 1.0])  # it counts as often as it occurs
    assert_array_equal(open_ratings(X, y, duplicates="sum").to_matrix(), [[5.0], [2.0]])
    assert_array_equal(
        open_ratings(coo_array(([1, 2], ([0, 0], [1, 1])), (1, 2))).to_matrix(), [[np.nan, 1.5]]
    )


def test_a_matrix_without_entries_has_no_ratings():
    for empty in (np.full((2, 5), np.nan), coo_array((3, 4))):
        with pytest.raises(ValueError, match="no ratings"):
            Ratings.from_matrix(empty)


def test_numbers_beyond_float32_are_kept_without_a_warning(recwarn):
    ratings = open_ratings([["a", "x"], ["b", "x"]], [1e90, 2e90])
    assert_array_equal(ratings.to_matrix(), [[1e90], [2e90]])
    assert not recwarn.list


def test_weights_count_as_repetitions_and_zero_is_no_rating():
    X, y = [["a", "x"], ["a", "y"], ["b", "x"], ["c", "x"]], [1.0, 2.0, 3.0, 4.0]
    ratings = open_ratings(X, y, [1, 3, 2, 0])
    assert ratings.users.tolist() == ["a", "b"]
    assert_array_equal(ratings.by_user.weights, [1, 3, 2])
    assert_array_equal(ratings.by_item.weights, [1, 2, 3])


def test_large_tables_lie_in_files_that_are_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr(_entries.tempfile, "tempdir", str(tmp_path))
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 50, (5000, 2)), rng.normal(size=5000)
    before = open_ratings(X, y)
    monkeypatch.setattr(_entries, "MAX_BYTES_IN_MEMORY", 1000)
    monkeypatch.setattr(_entries, "_FIRST_CAPACITY", 100)
    after = open_ratings(X, y)
    assert isinstance(_entries.empty_column(2000, np.int32), np.memmap)
    assert_array_equal(before.to_matrix(), after.to_matrix())
    assert_array_equal(before.by_item.indices, after.by_item.indices)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["a", "x"], ["b", "x"]], [1.0, np.nan], "row 1: the rating is nan"),
        ([[0, 1], [0.5, 1]], [1, 1], "row 1: the user is 0.5; ids are whole numbers or words"),
        ([["a", "x"]], [1.0, 2.0], "y has shape"),
        (np.array([["a", "x"], [3, "x"]], object), [1, 2], "numbers and some are words"),
        (np.array([["a", "x"], [None, "x"]], object), [1, 2], "row 1: the user is missing"),
        (np.zeros(3), None, "give pairs"),
        (np.zeros((0, 2)), np.zeros(0), "no ratings"),
        ([["a", "x"]], ["good"], "ratings must be numbers"),
        ({"user": ["a"], "item": ["x"], "rating": ["good"]}, None, "are not numbers"),
    ],
)
def test_what_is_no_rating_is_refused_with_its_place(X, y, message):
    with pytest.raises(ValueError, match=message):
        open_ratings(X, y)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match=r"row 0: the weight -1\.0"):
        open_ratings([["a", "x"]], [1.0], [-1.0])


def test_values_keep_their_precision():
    y = np.array([0.1, 1 / 3])
    assert_allclose(open_ratings([[0, 0], [0, 1]], y).to_matrix()[0], y, rtol=0)
    assert open_ratings([[0, 0], [0, 1]], [3.5, 4.0]).by_user.values.dtype == np.float32
