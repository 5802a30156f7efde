"""Groups of pairs that share no row and no column, trained by any number of threads.

Rows and columns are put into `STRATA` classes each. In round r, thread by thread, the groups
(class, class + r) are trained: they touch different rows and different columns. All bits depend on
the classes and on the order within groups, not on the threads.
"""

from __future__ import annotations

from collections.abc import Callable

from tenfold.embeddings._skip_gram_numba import STRATA
from tenfold.engine.thread_pool import n_threads, run_in_threads


def run_parts(run: Callable[[int], None], parts: int) -> None:
    """Call `run` with each number below `parts` once, on all threads; the first error is raised."""
    numbers, errors = iter(range(parts)), {}

    def work() -> None:
        for number in numbers:
            try:
                run(number)
            except BaseException as error:  # noqa: BLE001  the caller raises it
                errors[number] = error
                return

    run_in_threads(work, min(n_threads(), parts) - 1)
    if errors:
        raise errors[min(errors)]


def run_strata(train: Callable[[int], None]) -> None:
    """Call `train` with every group once, groups that share nothing at the same time."""
    for shift in range(STRATA):
        run_parts(lambda row, shift=shift: train(row * STRATA + (row + shift) % STRATA), STRATA)
