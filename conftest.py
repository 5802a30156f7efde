"""What tests and examples in docstrings share."""

import gc
import sys

import pytest


def pytest_collection_finish():
    """Collections of garbage pass over what importing all tests has made: millions of objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _close_figures():
    """Pictures do not outlive the test that drew them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
