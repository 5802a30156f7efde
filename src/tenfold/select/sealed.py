"""A test set that knows how often it was looked at."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from sklearn.metrics import check_scoring
from sklearn.utils.validation import _num_samples

from tenfold.select.honesty import expected_best


class SeenTestWarning(UserWarning):
    """A test set was looked at again, so that its figures are too good."""


class Opening(NamedTuple):
    """One look at the test set: whose score, and which; both None if the rows were handed out."""

    model: str | None
    score: float | None


class SealedTest:
    """A test set that counts its openings: the first is free, every later one warns.

    Whoever looks at the test set, changes the model and looks again chooses by the test set, and
    the best score is then too good. "Never ever touch your test data." [000, 1.4; 002, 3.2]

    Parameters
    ----------
    X : array, sparse matrix or table
        The rows.
    y : array
        Their target.

    Attributes
    ----------
    openings : int
        How often it was opened; a copy or pickle remembers it.
    log : list of Opening
        Who was scored, and with what result.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearRegression
    >>> X = np.arange(20.0)[:, None]
    >>> sealed = SealedTest(X[10:], 2 * X[10:, 0])
    >>> sealed
    SealedTest(10 rows, never opened)
    >>> round(sealed.score(LinearRegression().fit(X[:10], 2 * X[:10, 0])), 6)
    1.0
    >>> sealed.openings, sealed.scores
    (1, [1.0])
    """

    def __init__(self, X: Any, y: Any) -> None:
        if _num_samples(X) != _num_samples(y):
            raise ValueError(f"X has {_num_samples(X)} rows, but y has {_num_samples(y)}")
        self._X, self._y = X, y
        self.log: list[Opening] = []

    @property
    def openings(self) -> int:
        """How often the set was opened."""
        return len(self.log)

    @property
    def scores(self) -> list[float]:
        """All scores so far, rounded for nobody: the best of them is too good."""
        return [opening.score for opening in self.log if opening.score is not None]

    def score(self, model: Any, scoring: Any = None) -> float:
        """Score of a fitted model, which counts as an opening.

        Parameters
        ----------
        model : fitted model
            It is asked, not changed.
        scoring : str or callable, optional
            As in scikit-learn; the model's own `score` by default.

        Returns
        -------
        float

        Warns
        -----
        SeenTestWarning
            From the second opening on.
        """
        scorer: Any = check_scoring(model, scoring)
        score = float(scorer(model, self._X, self._y))
        self._count(Opening(type(model).__name__, score))
        return score

    def open(self) -> tuple[Any, Any]:
        """Hand out the rows and their target, which counts as an opening.

        Returns
        -------
        X, y

        Warns
        -----
        SeenTestWarning
            From the second opening on.
        """
        self._count(Opening(None, None))
        return self._X, self._y

    def _count(self, opening: Opening) -> None:
        self.log.append(opening)
        if self.openings > 1:
            warnings.warn(
                f"this test set has now been opened {self.openings} times: its figures are no "
                f"longer honest. Of {self.openings} equally good models the best looks "
                f"{expected_best(self.openings):.2f} standard errors too good. Choose by a "
                "validation part or cross-validation, and hold out fresh rows for the verdict",
                SeenTestWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        seen = {0: "never opened", 1: "opened once"}
        often = seen.get(self.openings, f"opened {self.openings} times")
        return f"SealedTest({_num_samples(self._X)} rows, {often})"
