"""What tests and examples in docstrings share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    """Pictures do not outlive the test that drew them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
