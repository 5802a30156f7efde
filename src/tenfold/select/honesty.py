"""Figures that are too good: the best of many tries, and choices made on rows that were learned."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm


class ChosenOnTrainingWarning(UserWarning):
    """Models are compared on rows that they have learned."""


def expected_best(tries: int) -> float:
    r"""Expected largest of so many standard normal numbers.

    .. math:: E \max_i z_i = \int z \, k \varphi(z) \Phi(z)^{k-1} \, dz

    Of k equally good models the best score is so many standard errors too good.

    Parameters
    ----------
    tries : int
        How many, k.

    Examples
    --------
    >>> [round(expected_best(k), 4) for k in (1, 2, 10, 100)]
    [0.0, 0.5642, 1.5388, 2.5076]
    """
    if tries < 1:
        raise ValueError(f"tries={tries}: at least one is needed")
    if tries == 1:
        return 0.0
    return float(quad(_largest, -10, 10, args=(tries,), points=[0.0, norm.isf(1 / tries)])[0])


def _largest(z: float, tries: int) -> float:
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


def best_of(
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
    >>> found = best_of(100, rows=1000, accuracy=0.8)
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
    return BestOf(accuracy, right / rows, fresh / rows, expected_best(tries) * spread)


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
