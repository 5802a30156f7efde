"""How an agent explores while it learns: epsilon-greedy, Boltzmann, upper confidence bounds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

EPSILON_GREEDY, BOLTZMANN, UCB = range(3)


class EpsilonGreedy(NamedTuple):
    """With probability epsilon any action, otherwise the best one; ties are drawn.

    Epsilon goes from `start` to `end` in the first `share` of the episodes and stays there. With
    `start=end=1` the behavior is random.

    Attributes
    ----------
    start, end : float
        Probabilities.
    share : float
        Of the episodes, in which epsilon falls.
    decay : {"linear", "exponential"}

    Examples
    --------
    >>> EpsilonGreedy(1.0, 0.2, share=0.5).levels(0, 6, 10).round(2).tolist()
    [1.0, 0.84, 0.68, 0.52, 0.36, 0.2]
    """

    start: float = 1.0
    end: float = 0.05
    share: float = 0.5
    decay: str = "linear"

    code = EPSILON_GREEDY

    def check(self) -> None:
        """Raise an error if the settings are impossible."""
        if not (0 <= self.end <= 1 and 0 <= self.start <= 1 and 0 < self.share <= 1):
            raise ValueError(f"{self}: start and end are probabilities, share lies in (0, 1]")
        _check_decay(self)

    def levels(self, first: int, last: int, n_episodes: int) -> np.ndarray:
        """Epsilon of the episodes first, ..., last - 1 of all."""
        return _decaying_levels(self, first, last, n_episodes)


class Boltzmann(NamedTuple):
    """Actions with probabilities proportional to exp(Q / temperature).

    Attributes
    ----------
    start, end : float
        Temperatures; at high ones all actions are alike, at low ones the best is taken.
    share : float
        Of the episodes, in which the temperature falls.
    decay : {"linear", "exponential"}
    """

    start: float = 1.0
    end: float = 0.05
    share: float = 0.5
    decay: str = "exponential"

    code = BOLTZMANN

    def check(self) -> None:
        """Raise an error if the settings are impossible."""
        if not (self.end > 0 and self.start > 0 and 0 < self.share <= 1):
            raise ValueError(f"{self}: temperatures are positive, share lies in (0, 1]")
        _check_decay(self)

    def levels(self, first: int, last: int, n_episodes: int) -> np.ndarray:
        """Temperature of the episodes first, ..., last - 1 of all."""
        return _decaying_levels(self, first, last, n_episodes)


class UpperConfidence(NamedTuple):
    """The action with the largest Q + scale sqrt(log N(s) / N(s, a)): optimism about the unknown.

    Attributes
    ----------
    scale : float
        Of the bonus; actions that were never taken come first.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer (2002), "Finite-time analysis of the multiarmed bandit
    problem".
    """

    scale: float = 1.0

    code = UCB

    def check(self) -> None:
        """Raise an error if the settings are impossible."""
        if not self.scale > 0:
            raise ValueError(f"{self}: the scale is positive")

    def levels(self, first: int, last: int, n_episodes: int) -> np.ndarray:
        """The scale for each of the episodes."""
        del n_episodes
        return np.full(last - first, float(self.scale))


def _check_decay(exploration: Any) -> None:
    if exploration.decay not in {"linear", "exponential"}:
        raise ValueError(f"{exploration}: decay is 'linear' or 'exponential'")
    if exploration.decay == "exponential" and exploration.end <= 0:
        raise ValueError(f"{exploration}: an exponential decay never reaches 0; raise end")


def _decaying_levels(how: Any, first: int, last: int, n_episodes: int) -> np.ndarray:
    done = np.minimum(np.arange(first, last) / max(how.share * n_episodes, 1e-300), 1.0)
    if how.decay == "linear":
        return how.start + (how.end - how.start) * done
    return how.start * (how.end / how.start) ** done
