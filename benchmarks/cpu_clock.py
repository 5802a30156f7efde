"""Run a module with clocks that count the processor time of its process.

On a busy machine a budget of seconds buys now more, now less. With these clocks a budget that a
program watches by itself is the same work whatever else runs, on one thread:

    taskset -c 0 python -m benchmarks.cpu_clock benchmarks.learn run --minutes 1
"""

from __future__ import annotations

import runpy
import sys
import time


def count_processor_time() -> None:
    """Replace the clocks of `time`; modules that are imported later take these."""
    epoch, used = time.time(), time.process_time
    time.perf_counter = used
    time.monotonic = used
    time.time = lambda: epoch + used()


if __name__ == "__main__":
    count_processor_time()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
