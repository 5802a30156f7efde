"""Fair times: warm, interleaved, repeated, without the garbage collector in between."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def seconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def interleaved(contestants: dict[str, Callable[[int], float]], rounds: int) -> dict[str, Times]:
    """Each contestant once a round; it gets the number of the round and returns its seconds."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    with undisturbed():
        for turn in range(rounds):
            for name, contest in contestants.items():
                gc.collect()
                times[name].append(contest(turn))
    return {name: Times(each) for name, each in times.items()}


def small_calls(
    contestants: dict[str, Callable[[int], Any]], budget: float
) -> dict[str, Times]:
    """The same for calls of microseconds, which come in short blocks.

    Threads of one library spin for a while after a call; only the first call of the other one's
    block meets them, and the median does not see it. Calls get a running number.
    """
    with undisturbed():
        once = sum(min(seconds(lambda f=f: f(turn)) for turn in range(3)) for f in contestants.values())
        block = max(1, min(MOST_CALLS, int(budget / ROUNDS / once)))
    return interleaved_blocks(contestants, block)


def interleaved_blocks(contestants: dict[str, Callable[[int], Any]], block: int) -> dict[str, Times]:
    times: dict[str, list[float]] = {name: [] for name in contestants}
    with undisturbed():
        for turn in range(ROUNDS):
            for name, call in contestants.items():
                gc.collect()
                numbers = range(turn * block, (turn + 1) * block)
                times[name] += [seconds(lambda i=i: call(i)) for i in numbers]
    return {name: Times(each) for name, each in times.items()}
