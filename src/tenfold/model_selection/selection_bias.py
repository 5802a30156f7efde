"""Selection bias: how optimistic the best of many scores is, and a test set that counts its uses."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.metrics import check_scoring

from tenfold.base._sklearn import num_samples


class ChosenOnTrainingWarning(UserWarning):
    """Models are compared on rows that they have learned."""


def expected_maximum(tries: int) -> float:
    r"""Expected largest of so many standard normal numbers.

    .. math:: E \max_i z_i = \int z \, k \varphi(z) \Phi(z)^{k-1} \, dz

    Of k equally good models the best score is so many standard errors too good.

    Parameters
    ----------
    tries : int
        How many, k.

    Examples
    --------
    >>> [round(expected_maximum(k), 4) for k in (1, 2, 10, 100)]
    [0.0, 0.5642, 1.5388, 2.5076]
    """
    if tries < 1:
        raise ValueError(f"tries={tries}: at least one is needed")
    if tries == 1:
        return 0.0
    return float(
        quad(_maximum_density, -10, 10, args=(tries,), points=[0.0, norm.isf(1 / tries)])[0]
    )


def _maximum_density(z: float, tries: int) -> float:
    return z * tries * norm.pdf(z) * ndtr(z) ** (tries - 1)


class BestOf(NamedTuple):
    """What taking the best of many tries does, over many repetitions.

    Attributes
    ----------
    accuracy : what every model truly achieves
    best : (repeats,) score of the one that looked best, on the rows that it was chosen by
    fresh : (repeats,) score of the same one on fresh rows
    expected : optimism that the normal approximation foretells
    """

    accuracy: float
    best: np.ndarray
    fresh: np.ndarray
    expected: float

    @property
    def optimism(self) -> float:
        """How much better the best score is than the truth, on average."""
        return float(self.best.mean() - self.accuracy)


def simulate_best_of(
    tries: int = 100,
    *,
    rows: int = 1000,
    accuracy: float = 0.8,
    repeats: int = 2000,
    seed: int = 0,
) -> BestOf:
    r"""How much too good the best mark is, if an exam is taken 100 times.

    Models that are all equally good are scored on the same number of rows; the best score is kept.
    It exceeds the truth by about :math:`E \max_i z_i \sqrt{a (1 - a) / n}`. On fresh rows the same
    model is as good as any. [002, 3.2]

    Parameters
    ----------
    tries : int
        Models, or settings, that are tried.
    rows : int
        Rows of the set by which they are compared, n.
    accuracy : float
        True share of right answers of every one of them, a.
    repeats : int
        How often all this is repeated.
    seed : int
        The same seed gives the same figures.

    Returns
    -------
    BestOf

    Examples
    --------
    >>> found = simulate_best_of(100, rows=1000, accuracy=0.8)
    >>> round(found.expected, 3), round(found.optimism, 3)
    (0.032, 0.031)
    >>> round(float(found.fresh.mean()), 2)
    0.8
    """
    if not 0 <= accuracy <= 1:
        raise ValueError(f"accuracy={accuracy} is no share of right answers: give one in [0, 1]")
    rng = np.random.default_rng(seed)
    right = rng.binomial(rows, accuracy, (repeats, tries)).max(axis=1)
    fresh = rng.binomial(rows, accuracy, repeats)
    spread = float(np.sqrt(accuracy * (1 - accuracy) / rows))
    return BestOf(accuracy, right / rows, fresh / rows, expected_maximum(tries) * spread)


class TrainingChoice(NamedTuple):
    """What the training score would choose, and what rows held out choose.

    Attributes
    ----------
    on_training, on_held_out : the two values
    loss : how much worse the first is on rows held out
    """

    on_training: Any
    on_held_out: Any
    loss: float

    def __str__(self) -> str:
        if self.on_training == self.on_held_out:
            return f"training score and rows held out agree on {self.on_training}"
        return (
            f"the training score takes {self.on_training}, rows held out take {self.on_held_out}: "
            f"choosing on the training set costs {self.loss:.3g}"
        )


def training_choice(values: Any, train_scores: Any, held_out_scores: Any) -> TrainingChoice:
    """Compare what the training score chooses with what rows held out choose.

    The training score takes the largest degree, or no penalty at all (C = 0): whatever fits best.
    [000, 1.4; 002, 3.2]

    Parameters
    ----------
    values : sequence
        Degrees, penalties, or whatever was tried.
    train_scores, held_out_scores : (m,) or (m, folds) arrays
        Scores of each value, greater is better.

    Examples
    --------
    >>> print(training_choice([1, 3, 9], [-0.3, -0.1, 0.0], [-0.35, -0.15, -2.0]))
    the training score takes 9, rows held out take 3: choosing on the training set costs 1.85
    """
    train, held = (
        np.asarray(a, float).reshape(len(values), -1).mean(axis=1)
        for a in (train_scores, held_out_scores)
    )
    first, second = int(train.argmax()), int(held.argmax())
    return TrainingChoice(values[first], values[second], float(held[second] - held[first]))


def warn_if_chosen_on_training(learned: Any, judged: Any) -> int:
    """Warn if rows by which models are compared are rows that they have learned.

    Parameters
    ----------
    learned, judged : (n, p) and (m, p) arrays or tables
        Rows of the training, and rows by which the choice is made; add the target as a column where
        equal rows may come from different examples.

    Returns
    -------
    int
        How many of the rows that judge were learned.

    Warns
    -----
    ChosenOnTrainingWarning
        If there are any.

    Examples
    --------
    >>> import numpy as np
    >>> warn_if_chosen_on_training(np.eye(3), np.eye(3) + 1)
    0
    """
    known = set(_rows_as_bytes(learned))
    seen = sum(row in known for row in _rows_as_bytes(judged))
    if seen:
        warnings.warn(
            f"{seen} of the {len(judged)} rows by which models are compared were learned: such a "
            "comparison takes the largest degree and no penalty at all, whatever is true. Hold "
            "rows out with three_way, or cross-validate",
            ChosenOnTrainingWarning,
            stacklevel=2,
        )
    return seen


def _rows_as_bytes(X: Any) -> list[bytes]:
    table = np.ascontiguousarray(X, dtype=np.float64) + 0.0  # -0.0 and 0.0 are the same row
    return [row.tobytes() for row in table]


class ReusedTestWarning(UserWarning):
    """A test set was looked at again, so that its figures are too good."""


class AccessRecord(NamedTuple):
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
        if num_samples(X) != num_samples(y):
            raise ValueError(f"X has {num_samples(X)} rows, but y has {num_samples(y)}")
        self._X, self._y = X, y
        self.log: list[AccessRecord] = []

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
        self._count(AccessRecord(type(model).__name__, score))
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
        self._count(AccessRecord(None, None))
        return self._X, self._y

    def _count(self, opening: AccessRecord) -> None:
        self.log.append(opening)
        if self.openings > 1:
            warnings.warn(
                f"this test set has now been opened {self.openings} times: its figures are no "
                f"longer honest. Of {self.openings} equally good models the best looks "
                f"{expected_maximum(self.openings):.2f} standard errors too good. Choose by a "
                "validation part or cross-validation, and hold out fresh rows for the verdict",
                ReusedTestWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        seen = {0: "never opened", 1: "opened once"}
        often = seen.get(self.openings, f"opened {self.openings} times")
        return f"SealedTest({num_samples(self._X)} rows, {often})"
