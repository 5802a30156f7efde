"""Fair times: warm, interleaved, repeated, without the garbage collector in between."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

ROUNDS = 10  # turns of a small call
MOST_CALLS = 30  # of one contestant in a turn


class Times(NamedTuple):
    """Seconds of each call."""

    all: list[float]

    @property
    def median(self) -> float:
        return median(self.all)

    @property
    def spread(self) -> float:
        """Half the range, as a share of the median."""
        return (max(self.all) - min(self.all)) / 2 / self.median


@contextmanager
def undisturbed() -> Iterator[None]:
    """No garbage collection, and no warnings: both sides may stop at max_iter."""
    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        gc.enable()


def seconds(call: Callable[..., Any], *arguments: Any) -> float:
    start = perf_counter()
    call(*arguments)
    return perf_counter() - start


def interleaved(
    contestants: dict[str, Callable[[int], list[float]]], rounds: int
) -> dict[str, Times]:
    """Each contestant in turn, in each round; it gets the number of the round, returns seconds."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    with undisturbed():
        for turn in range(rounds):
            for name, contest in contestants.items():
                gc.collect()
                times[name] += contest(turn)
    return {name: Times(each) for name, each in times.items()}


def small_calls(contestants: dict[str, Callable[[int], Any]], budget: float) -> dict[str, Times]:
    """The same for calls of microseconds, which come in short blocks; each gets its number.

    Threads of one library spin for a while after a call; only the first call of the other one's
    block meets them, and the median does not see it.
    """
    with undisturbed():
        once = sum(min(seconds(call, i) for i in range(3)) for call in contestants.values())
    block = max(1, min(MOST_CALLS, int(budget / ROUNDS / once)))

    def in_block(call: Callable[[int], Any], turn: int) -> list[float]:
        return [seconds(call, i) for i in range(turn * block, (turn + 1) * block)]

    return interleaved(
        {name: partial(in_block, call) for name, call in contestants.items()}, ROUNDS
    )
