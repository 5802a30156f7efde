"""Draw symbols one after the other from a model that gives the probabilities of the next one."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np


def rank_symbols(probabilities: np.ndarray) -> np.ndarray:
    """Numbers of the symbols that are possible, the most probable first; ties by number."""
    order = np.argsort(-probabilities, kind="stable")
    return order[probabilities[order] > 0]


def adjust_probabilities(
    probabilities: np.ndarray,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> np.ndarray:
    """Probabilities raised to 1 / temperature, cut to the most probable symbols, scaled to sum one.

    Examples
    --------
    >>> adjust_probabilities(np.array([0.5, 0.3, 0.2]), top_k=2).round(3).tolist()
    [0.625, 0.375, 0.0]
    >>> adjust_probabilities(np.array([0.5, 0.3, 0.2]), temperature=0).tolist()
    [1.0, 0.0, 0.0]
    """
    order = rank_symbols(probabilities)
    if not len(order):
        raise ValueError("no symbol can follow: choose a smoothing that leaves nothing impossible")
    if temperature == 0:
        order = order[:1]
    if top_k is not None:
        order = order[:top_k]
    if top_p is not None:
        reached = np.searchsorted(np.cumsum(probabilities[order]), top_p) + 1
        order = order[:reached]
    adjusted = np.zeros_like(probabilities)
    logs = np.log(probabilities[order]) / (temperature or 1.0)
    adjusted[order] = np.exp(logs - logs.max())
    return adjusted / adjusted.sum()


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Raise an error if probabilities cannot be adjusted so."""
    is_count = top_k is None or (isinstance(top_k, Integral) and top_k >= 1)
    if not temperature >= 0 or not is_count:
        raise ValueError(
            f"temperature={temperature}, top_k={top_k}: the first must not be negative, the second "
            "a whole number of at least 1"
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p}: give a number above 0 and at most 1")


def make_seeds(random_state: Any) -> np.random.SeedSequence:
    """The root of the seeds of single sequences, from a number, None or a generator."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    elif isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31 - 1))
    return np.random.SeedSequence(random_state)


def generate_symbols(
    follow: Callable[[list[int]], np.ndarray],
    start: list[int],
    end: int,
    max_length: int,
    *,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    rng: np.random.Generator,
    mask: Callable[[np.ndarray], np.ndarray] | None = None,
) -> list[int]:
    """Numbers of symbols, from `start` on until `end` is drawn (not included) or it is long enough.

    `follow(numbers)` gives the probabilities of the next symbol, and `mask` sets those to zero that
    must not be drawn; where nothing is left, the document ends.
    """
    check_sampling(temperature, top_k, top_p)
    if not isinstance(max_length, Integral) or max_length < 0:
        raise ValueError(f"max_length={max_length!r}: give the largest number of symbols")
    numbers = list(start)
    for _ in range(max_length):
        possible = follow(numbers)
        if mask is not None and possible.any() and not (possible := mask(possible)).any():
            break
        probabilities = adjust_probabilities(possible, temperature, top_k, top_p)
        cumulated = np.cumsum(probabilities)
        drawn = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        if drawn == end:
            break
        numbers.append(drawn)
    return numbers
