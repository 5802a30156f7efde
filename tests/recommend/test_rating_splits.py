"""Splits: every user is trained on, and nothing comes from the future."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import cross_val_score

from tenfold import ALS, ImplicitALS
from tenfold.recommend import LastRatings, TimeSplit, UserHoldout
from tests.recommend.conftest import make_ratings

X, Y = make_ratings(0)
TIME = np.random.default_rng(1).permutation(len(X))


@pytest.mark.parametrize("n_held", [2, 0.3])
def test_some_ratings_of_each_user_are_held_out(n_held):
    counts = np.bincount(X[:, 0])
    for train, test in UserHoldout(3, n_held=n_held).split(X):
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(X)))
        held = np.bincount(X[test, 0], minlength=40)
        wanted = np.floor(counts * n_held) if isinstance(n_held, float) else n_held
        assert_array_equal(held, np.minimum(wanted, counts - 1))


def test_the_last_ratings_of_each_user_are_held_out():
    train, test = next(LastRatings(TIME, n_held=2).split(X))
    for user in range(40):
        before, after = (TIME[part][X[part, 0] == user] for part in (train, test))
        assert before.max() < after.min()
        assert len(after) == 2


def test_periods_are_tested_on_what_came_before():
    last = -1
    for train, test in TimeSplit(TIME, n_splits=3, test_share=0.2).split(X):
        assert TIME[train].max() < TIME[test].min()
        assert TIME[test].min() > last
        last = TIME[test].max()
    assert last == TIME.max()


def test_a_table_has_as_many_ratings_as_rows(tmp_path):
    table = {"user": X[:, 0], "item": X[:, 1], "rating": Y}
    pd.DataFrame(table).to_parquet(tmp_path / "ratings.parquet")
    for split in (TimeSplit(TIME), LastRatings(TIME), UserHoldout(1)):
        for data in (table, tmp_path / "ratings.parquet"):
            pairs = zip(next(split.split(data)), next(split.split(X)), strict=True)
            for found, wanted in pairs:
                assert_array_equal(found, wanted)


def test_cross_validation_takes_them_with_arrays_and_tables():
    table = pd.DataFrame(X, columns=["user", "item"])
    model = ALS(2, regularization=0.05, random_state=0)
    for data in (X, table):
        assert len(cross_val_score(model, data, Y, cv=UserHoldout(2))) == 2
    scores = cross_val_score(
        ImplicitALS(2, random_state=0), X, np.ones(len(X)), cv=LastRatings(TIME)
    )
    assert 0 <= scores[0] <= 1


def test_splits_that_leave_nothing_are_refused():
    with pytest.raises(ValueError, match="must leave a first part"):
        TimeSplit(TIME, n_splits=5, test_share=0.2)
    with pytest.raises(ValueError, match="a share below 1"):
        UserHoldout(n_held=1.0)
    for n_held in (0, -1, 1.5, 2.0, np.nan):
        with pytest.raises(ValueError, match="neither a whole number of ratings"):
            LastRatings(TIME, n_held=n_held)
    missing = np.where(TIME == 7, np.nan, TIME)
    for split in (LastRatings(missing), TimeSplit(missing)):
        with pytest.raises(
            ValueError, match=f"row {int(np.argmax(TIME == 7))}: the time is missing"
        ):
            next(split.split(X))
    with pytest.raises(ValueError, match="time has shape"):
        next(LastRatings(TIME[:5]).split(X))
    with pytest.raises(ValueError, match="the same time"):
        next(TimeSplit(np.zeros(len(X))).split(X))
