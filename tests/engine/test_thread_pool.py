"""Functions on all threads."""

import pytest

import tenfold
from tenfold.engine.thread_pool import map_threads


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_come_in_order(threads):
    with tenfold.threads(threads):
        assert map_threads(lambda i: i * i, 20) == [i * i for i in range(20)]
        assert map_threads(str, 0) == []


def test_an_error_in_a_thread_reaches_the_caller():
    def fail(number):
        raise ZeroDivisionError(number)

    with tenfold.threads(2), pytest.raises(ZeroDivisionError):
        map_threads(fail, 3)
