"""Splits of ratings: some of each user's, the last of each user, or all after a point in time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tenfold.recommend._base import open_pairs

Split = tuple[np.ndarray, np.ndarray]


class UserHoldout:
    """Hold out some ratings of each user, at random, several times.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits. With `n_held` as a share the splits are drawn anew each time.
    n_held : int or float, default=0.2
        How many ratings of each user, or which share of them (rounded down), are held out; a user
        with too few keeps at least one.
    random_state : int, RandomState or None, default=0
        Seed.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    >>> train, test = next(UserHoldout(1, n_held=1).split(X))
    >>> sorted(X[i][0] for i in test)
    [0, 1]
    """

    def __init__(self, n_splits: int = 5, *, n_held: float = 0.2, random_state: Any = 0) -> None:
        if n_splits < 1:
            raise ValueError(f"UserHoldout: n_splits={n_splits}, and there is at least one split")
        _check_held("UserHoldout", n_held)
        self.n_splits, self.n_held, self.random_state = n_splits, n_held, random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits.

        Parameters
        ----------
        X, y, groups : ignored
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Rows of the training and of the test part of each split.

        Parameters
        ----------
        X : pairs (user, item)
            Array or table.
        y, groups : ignored
        """
        users = _user_numbers(X)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            yield _hold_out(users, rng.permutation(len(users)), self.n_held)


class LastRatings:
    """Hold out the last ratings of each user: what a recommender meets in use.

    Parameters
    ----------
    time : array of shape (n_ratings,)
        When each rating was made.
    n_held : int or float, default=1
        How many ratings of each user, or which share of them; a user keeps at least one.

    Examples
    --------
    >>> X, time = [["ann", "a"], ["ann", "b"], ["bob", "a"], ["bob", "b"]], [2, 1, 1, 2]
    >>> [part.tolist() for part in next(LastRatings(time).split(X))]
    [[1, 2], [0, 3]]
    """

    def __init__(self, time: Any, *, n_held: float = 1) -> None:
        _check_held("LastRatings", n_held)
        self.time, self.n_held = np.asarray(time), n_held

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """One split.

        Parameters
        ----------
        X, y, groups : ignored
        """
        return 1

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Rows of the training and of the test part.

        Parameters
        ----------
        X : pairs (user, item)
            Array or table.
        y, groups : ignored
        """
        users = _user_numbers(X)
        _check_times(self.time, len(users))
        yield _hold_out(users, np.argsort(self.time, kind="stable"), self.n_held)


class TimeSplit:
    """Train on what came before a point in time, test on what came in the period after it.

    Parameters
    ----------
    time : array of shape (n_ratings,)
        When each rating was made.
    n_splits : int, default=5
        Number of periods that are tested, one after the other.
    test_share : float, default=0.1
        Share of all ratings in a period.

    Examples
    --------
    >>> split = TimeSplit([3, 1, 2, 0], n_splits=2, test_share=0.25)
    >>> [(train.tolist(), test.tolist()) for train, test in split.split([[0, 0]] * 4)]
    [([1, 3], [2]), ([1, 2, 3], [0])]
    """

    def __init__(self, time: Any, *, n_splits: int = 5, test_share: float = 0.1) -> None:
        if n_splits < 1 or not 0 < test_share * n_splits < 1:
            raise ValueError("TimeSplit: n_splits periods of test_share must leave a first part")
        self.time, self.n_splits, self.test_share = np.asarray(time), n_splits, test_share

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits.

        Parameters
        ----------
        X, y, groups : ignored
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Rows of the training and of the test part of each period; equal times stay together.

        Parameters
        ----------
        X : pairs (user, item)
            Array or table.
        y, groups : ignored
        """
        _check_times(self.time, len(open_pairs(X)))
        ordered, n = np.sort(self.time), len(self.time)
        for number in range(self.n_splits):
            first = round(n * (1 - self.test_share * (self.n_splits - number)))
            last = round(n * (1 - self.test_share * (self.n_splits - number - 1)))
            test = self.time >= ordered[first]
            if last < n:
                test &= self.time < ordered[last]
            train = self.time < ordered[first]
            if not train.any() or not test.any():
                raise ValueError("TimeSplit: too many ratings have the same time for such periods")
            yield np.flatnonzero(train), np.flatnonzero(test)


def _user_numbers(X: Any) -> np.ndarray:
    return np.unique(open_pairs(X)[:, 0].astype(str), return_inverse=True)[1]


def _check_held(name: str, n_held: Any) -> None:
    """Refuse what holds out nothing, and shares that leave nothing."""
    whole = isinstance(n_held, int | np.integer)
    if not ((whole and n_held >= 1) or (not whole and 0 < n_held < 1)):
        raise ValueError(
            f"{name}: n_held={n_held!r} is neither a whole number of ratings nor a share below 1"
        )


def _check_times(time: np.ndarray, n: int) -> None:
    if time.shape != (n,):
        raise ValueError(f"time has shape {time.shape}, but there are {n} ratings")
    missing = time != time  # noqa: PLR0124 - NaN, and dates that are none
    if missing.any():
        raise ValueError(f"row {int(np.argmax(missing))}: the time is missing; leave out such rows")


def _hold_out(users: np.ndarray, order: np.ndarray, n_held: float) -> Split:
    """The last ratings of each user, in the order given."""
    order = order[np.argsort(users[order], kind="stable")]
    counts = np.bincount(users)
    share = counts * n_held if n_held < 1 else np.full(len(counts), n_held)
    held = np.minimum(np.floor(share).astype(int), counts - 1)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    last = rank >= np.repeat(counts - held, counts)
    return np.sort(order[~last]), np.sort(order[last])
