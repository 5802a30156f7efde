"""Cells, parts, and sources of some rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn import model_selection as sk

from tenfold import Ridge
from tenfold import open as open_rows
from tenfold.engine import Rows
from tenfold.engine.subset import RowSelection, SubsetSource
from tenfold.model_selection import make_splits, time_series_split
from tenfold.model_selection.search_strategies import halving_shares, subsample_split, survivors
from tenfold.model_selection.splits import learning_curve_split

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 60)
GROUPS = RNG.integers(0, 12, 60)
SPLITTERS = [
    sk.KFold(4),
    sk.KFold(4, shuffle=True, random_state=3),
    sk.StratifiedKFold(4),
    sk.StratifiedKFold(3, shuffle=True, random_state=1),
    sk.GroupKFold(4),
    sk.StratifiedGroupKFold(3),
    sk.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    sk.RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    sk.ShuffleSplit(3, test_size=0.2, random_state=0),
    sk.TimeSeriesSplit(4),
    sk.TimeSeriesSplit(4, gap=2, max_train_size=20),
    sk.LeaveOneOut(),
    sk.LeaveOneGroupOut(),
    sk.LeavePGroupsOut(2),
    sk.PredefinedSplit(np.repeat([-1, 0, 1], 20)),
]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda s: type(s).__name__)
def test_every_splitter_of_scikit_learn_gives_its_parts(splitter):
    groups = GROUPS if "Group" in type(splitter).__name__ else None
    splits = make_splits(splitter, 60, Y, groups)
    got = [(s.rows(s.train[i]), s.rows(s.test[i])) for s in splits for i in range(s.parts)]
    wanted = list(splitter.split(np.zeros((60, 1)), Y, groups))
    for (train, test), (train_there, test_there) in zip(got, wanted, strict=True):
        assert_array_equal(train, np.sort(train_there))
        assert_array_equal(test, np.sort(test_there))


def test_whole_folds_cost_a_byte_per_row():
    for folds in (10, sk.KFold(10, shuffle=True, random_state=0), sk.GroupKFold(4)):
        [split] = make_splits(folds, 60, Y, GROUPS if isinstance(folds, sk.GroupKFold) else None)
        assert split.cell.dtype == np.uint8


def test_a_number_of_folds_is_stratified_for_classes_and_keeps_groups():
    [plain] = make_splits(4, 60)
    assert_array_equal(plain.cell, np.repeat(range(4), 15))
    [even] = make_splits(3, 60, Y, stratify=True)
    shares_ = [np.bincount(Y[even.cell == i], minlength=3) for i in range(3)]
    assert np.ptp(shares_, axis=0).max() <= 1
    [whole] = make_splits(4, 60, Y, GROUPS, stratify=True)
    assert all(len(set(whole.cell[g == GROUPS])) == 1 for g in set(GROUPS))


def test_time_never_runs_backwards():
    split = time_series_split(23, 4)
    for i in range(4):
        assert split.rows(split.train[i]).max() < split.rows(split.test[i]).min()
    assert split.rows(split.test[3]).max() == 22


@pytest.mark.parametrize(
    ("folds", "n", "says"),
    [
        (1, 10, "at least 2"),
        (11, 10, "more folds than rows"),
        ("ten", 10, "a number, 'loo'"),
        (3.5, 10, "a number, 'loo'"),
        ([([0, 1], [10])], 10, "from 0 to 9"),
        ([], 10, "no folds"),
        (sk.StratifiedKFold(3), 10, "needs classes"),
    ],
)
def test_splits_that_make_no_sense_are_refused(folds, n, says):
    with pytest.raises((ValueError, TypeError), match=says):
        make_splits(folds, n)


def chunks_of(source):
    return [c for run in source.runs() for c in source.chunks(run)]


@given(hnp.arrays(np.uint8, st.integers(1, 70), elements=st.integers(0, 3)), st.integers(1, 15))
def test_a_subset_is_a_copy_of_its_rows(cell, grid):
    wanted = np.array([True, False, True, False])
    n = len(cell)
    X, y = np.arange(2.0 * n).reshape(n, 2), np.arange(n)
    source = _Gridded(X, y, grid)
    subset = SubsetSource(source, RowSelection.of(cell, wanted, source.grid))
    rows = np.flatnonzero(wanted[cell])
    assert subset.n_rows == len(rows)
    if not len(rows):
        return
    parts = chunks_of(subset)
    assert_array_equal(np.concatenate([c.X for c in parts]), X[rows])
    assert_array_equal(np.concatenate([c.y for c in parts]), rows)
    assert [c.first for c in parts] == list(range(0, len(rows), subset.grid))
    some = np.arange(0, len(rows), 3)
    assert_array_equal(subset.take(some).y, rows[some])
    assert subset.where(len(rows) - 1) == f"row {rows[-1]}"


def _Gridded(X, y, grid):  # noqa: N802
    from tenfold.engine.arrays import ArraySource

    class Gridded(ArraySource):
        @property
        def grid(self):
            return grid

    return Gridded(X, y)


@pytest.mark.parametrize("kind", ["array", "parquet", "sparse", "npy"])
def test_a_fit_on_a_subset_has_the_bits_of_a_fit_on_a_copy(kind, tmp_path):
    rng = np.random.default_rng(1)
    X, cell = rng.normal(size=(30_000, 3)), rng.integers(0, 5, 30_000).astype(np.uint8)
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=30_000)
    base = open_rows(*_placed(kind, X, y, tmp_path))
    wanted = np.arange(5) != 2
    some = Rows(SubsetSource(base.source, RowSelection.of(cell, wanted, base.source.grid)))
    keep = wanted[cell]
    copy = sparse.csr_array(X[keep]) if kind == "sparse" else X[keep]
    assert_array_equal(Ridge().fit(some).coef_, Ridge().fit(copy, y[keep]).coef_)


def _placed(kind, X, y, folder):
    if kind == "array":
        return X, y
    if kind == "sparse":
        return sparse.csr_array(X), y
    if kind == "npy":
        np.save(folder / "x.npy", np.column_stack([X, y]))
        return folder / "x.npy", 3
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    pq.write_table(table, folder / "x.parquet", row_group_size=7001)
    return folder / "x.parquet", "y"


def test_bands_grow_and_leave_the_test_rows_alone():
    [split] = make_splits(5, 200)
    bands = learning_curve_split(split, np.array([0.25, 0.5, 1.0]), 0)
    assert bands.parts == 15
    for i in range(5):
        sizes = [set(bands.rows(bands.train[3 * i + j])) for j in range(3)]
        assert sizes[0] < sizes[1] < sizes[2] == set(split.rows(split.train[i]))
        for j in range(3):
            assert_array_equal(bands.rows(bands.test[3 * i + j]), split.rows(split.test[i]))


def test_halving_takes_nested_shares_of_the_rows():
    [split] = make_splits(5, 1000)
    small, large = (subsample_split(split, share, 7) for share in (0.1, 0.4))
    for kind in ("train", "test"):
        a, b = (set(s.rows(getattr(s, kind)[2])) for s in (small, large))
        assert a < b < set(split.rows(getattr(split, kind)[2]))
    assert halving_shares(10**6, 10, 27, 3.0) == pytest.approx([1 / 9, 1 / 3, 1])
    assert halving_shares(100, 10, 27, 3.0) == [1.0]  # too few rows to thin
    assert survivors(np.array([[0.1, np.nan, 0.9, 0.5]]), 2) == [2, 3]
