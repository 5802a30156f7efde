"""Selection bias: the optimism of the best of many scores; a test set that counts its uses."""

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
    """Models are compared on rows that they were trained on."""


def expected_maximum(tries: int) -> float:
    r"""Expected maximum of independent standard normal variables.

    .. math:: E \max_i z_i = \int z \, k \varphi(z) \Phi(z)^{k-1} \, dz

    The best score of k equally good models is too good by so many standard errors.

    Parameters
    ----------
    tries : int
        Number of variables, k.

    Examples
    --------
    >>> [round(expected_maximum(k), 4) for k in (1, 2, 10, 100)]
    [0.0, 0.5642, 1.5388, 2.5076]
    """
    if tries < 1:
        raise ValueError(f"tries={tries} must be at least 1")
    if tries == 1:
        return 0.0
    return float(
        quad(_maximum_density, -10, 10, args=(tries,), points=[0.0, norm.isf(1 / tries)])[0]
    )


def _maximum_density(z: float, tries: int) -> float:
    return z * tries * norm.pdf(z) * ndtr(z) ** (tries - 1)


class BestOf(NamedTuple):
    """Simulated scores of the best of many equally good models.

    Attributes
    ----------
    accuracy : true accuracy of every model
    best : (n_repeats,) score of the chosen model on the rows that it was chosen by
    fresh : (n_repeats,) its score on new rows
    expected : optimism by the normal approximation
    """

    accuracy: float
    best: np.ndarray
    fresh: np.ndarray
    expected: float

    @property
    def optimism(self) -> float:
        """Mean of the best score minus the true accuracy."""
        return float(self.best.mean() - self.accuracy)


def simulate_best_of(
    tries: int = 100,
    *,
    rows: int = 1000,
    accuracy: float = 0.8,
    repeats: int = 2000,
    seed: int = 0,
) -> BestOf:
    r"""Simulate the optimism of choosing the best of many equally good models.

    Models of equal accuracy a are scored on n rows each; the best score is kept. It exceeds the
    true accuracy by about :math:`E \max_i z_i \sqrt{a (1 - a) / n}`. On new rows the chosen model
    is as good as any.

    Parameters
    ----------
    tries : int
        Number of models or parameter settings.
    rows : int
        Rows that they are compared on, n.
    accuracy : float
        True accuracy of each of them, a.
    repeats : int
        Number of simulations.
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
        raise ValueError(f"accuracy={accuracy} must lie in [0, 1]")
    rng = np.random.default_rng(seed)
    best = rng.binomial(rows, accuracy, (repeats, tries)).max(axis=1)
    fresh = rng.binomial(rows, accuracy, repeats)
    error = float(np.sqrt(accuracy * (1 - accuracy) / rows))
    return BestOf(accuracy, best / rows, fresh / rows, expected_maximum(tries) * error)


class TrainingChoice(NamedTuple):
    """The choice by the training score, and the choice by the validation score.

    Attributes
    ----------
    on_training, on_held_out : the two values
    loss : difference of their validation scores
    """

    on_training: Any
    on_held_out: Any
    loss: float

    def __str__(self) -> str:
        if self.on_training == self.on_held_out:
            return f"training and validation scores agree on {self.on_training}"
        return (
            f"the training score chooses {self.on_training}, the validation score "
            f"{self.on_held_out}: choosing on the training set costs {self.loss:.3g}"
        )


def training_choice(values: Any, train_scores: Any, held_out_scores: Any) -> TrainingChoice:
    """Compare the choice by the training score with the choice by the validation score.

    The training score chooses whatever fits best: the largest degree, or no penalty at all.

    Parameters
    ----------
    values : sequence
        Degrees, penalties or other parameters.
    train_scores, held_out_scores : (n_values,) or (n_values, n_folds) arrays
        Scores of each value, greater is better.

    Examples
    --------
    >>> print(training_choice([1, 3, 9], [-0.3, -0.1, 0.0], [-0.35, -0.15, -2.0]))
    the training score chooses 9, the validation score 3: choosing on the training set costs 1.85
    """
    train, held = (
        np.asarray(a, float).reshape(len(values), -1).mean(axis=1)
        for a in (train_scores, held_out_scores)
    )
    first, second = int(train.argmax()), int(held.argmax())
    return TrainingChoice(values[first], values[second], float(held[second] - held[first]))


def warn_if_chosen_on_training(train: Any, validation: Any) -> int:
    """Warn if models are compared on rows that they were trained on.

    Parameters
    ----------
    train, validation : (n_train, n_features) and (n_rows, n_features) arrays or tables
        Training rows, and rows that models are compared on; add the target as a column if equal
        rows may be different examples.

    Returns
    -------
    int
        How many of the rows were trained on.

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
    train_rows = set(_rows_as_bytes(train))
    n_seen = sum(row in train_rows for row in _rows_as_bytes(validation))
    if n_seen:
        warnings.warn(
            f"{n_seen} of the {len(validation)} rows of the comparison are training rows: this "
            "favors the most flexible model. Hold rows out with "
            "split_train_validation_test, or cross-validate",
            ChosenOnTrainingWarning,
            stacklevel=2,
        )
    return n_seen


def _rows_as_bytes(X: Any) -> list[bytes]:
    table = np.ascontiguousarray(X, dtype=np.float64) + 0.0  # -0.0 and 0.0 are the same row
    return [row.tobytes() for row in table]


class ReusedTestWarning(UserWarning):
    """A test set was used again, so that its scores are too optimistic."""


class AccessRecord(NamedTuple):
    """One use of the test set: model and score; both None if the rows were returned."""

    model: str | None
    score: float | None


class SealedTest:
    """A test set that counts its uses: every one after the first warns.

    Who evaluates on the test set, changes the model and evaluates again chooses by the test set,
    and the best score is then too optimistic.

    Parameters
    ----------
    X : array, sparse matrix or table
        The rows.
    y : array
        Their target.

    Attributes
    ----------
    openings : int
        Number of uses; kept by copies and pickles.
    log : list of AccessRecord
        Model and score of each use.

    See Also
    --------
    split_train_validation_test : Hold out a test part.
    expected_maximum : How optimistic the best of many scores is.

    References
    ----------
    C. Dwork et al. (2015), The reusable holdout: preserving validity in adaptive data analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearRegression
    >>> X = np.arange(20.0)[:, None]
    >>> sealed = SealedTest(X[10:], 2 * X[10:, 0])
    >>> sealed
    SealedTest(10 rows, never used)
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
        """Number of uses."""
        return len(self.log)

    @property
    def scores(self) -> list[float]:
        """All scores so far; the best of them is too optimistic."""
        return [opening.score for opening in self.log if opening.score is not None]

    def score(self, model: Any, scoring: Any = None) -> float:
        """Score of a fitted model; counts as a use.

        Parameters
        ----------
        model : fitted model
            Evaluated on the test set.
        scoring : str or callable, optional
            As in scikit-learn; the model's own `score` by default.

        Returns
        -------
        float

        Warns
        -----
        SeenTestWarning
            From the second use on.
        """
        scorer: Any = check_scoring(model, scoring)
        score = float(scorer(model, self._X, self._y))
        self._count(AccessRecord(type(model).__name__, score))
        return score

    def open(self) -> tuple[Any, Any]:
        """The rows and their target; counts as a use.

        Returns
        -------
        X, y

        Warns
        -----
        SeenTestWarning
            From the second use on.
        """
        self._count(AccessRecord(None, None))
        return self._X, self._y

    def _count(self, opening: AccessRecord) -> None:
        self.log.append(opening)
        if self.openings > 1:
            warnings.warn(
                f"this test set was used {self.openings} times: its scores are optimistic. The "
                f"best of {self.openings} equally good models scores "
                f"{expected_maximum(self.openings):.2f} standard errors too high. Choose by a "
                "validation part or cross-validation, and hold out new rows for the test",
                ReusedTestWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        uses = {0: "never used", 1: "used once"}.get(self.openings, f"used {self.openings} times")
        return f"SealedTest({num_samples(self._X)} rows, {uses})"
