"""Functions that compiled code calls: no wrappers, the same results, the same cache."""

import gc
import os
import subprocess
import sys

import pytest
from numba import njit
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError

from tenfold._compiled import inner_functions

pytestmark = pytest.mark.skipif(
    Dispatcher.get_call_template is not inner_functions.get_call_template,
    reason="another version of numba",
)

MODULE = """
import sys
import numpy as np
import tenfold._compiled
from numba import njit
from tenfold._compiled import inner_functions

inner_functions._PACKAGE = "__main__"

@njit(cache=True)
def square(x):
    if x < 0:
        raise ValueError("negative")
    return x * x

@njit(cache=True)
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += square(x[i])
    return s

function = globals()[sys.argv[1]]
argument = np.arange(4.0) if function is total else 3.0
print(function(argument))
try:
    function(-argument)
except ValueError as error:
    print(error)
print(len(square.overloads), len(inner_functions.find_twin(square).overloads))
"""


@pytest.fixture
def this_module(monkeypatch):
    """Take the functions of this module for those of the package."""
    monkeypatch.setattr(inner_functions, "_PACKAGE", __name__)


@pytest.mark.usefixtures("this_module")
def test_a_function_that_compiled_code_calls_gets_no_machine_code_of_its_own():
    @njit
    def inner(x, y=2):
        return x + y

    @njit
    def outer(x):
        return inner(x) * inner(x, y=5)

    assert outer(3) == 40
    assert not inner.overloads
    twin = inner_functions.find_twin(inner)
    assert not any(code.library._finalized for code in twin.overloads.values())
    assert inner(3) == 5  # from Python, with a wrapper
    assert len(inner.overloads) == 1


@pytest.mark.usefixtures("this_module")
def test_code_that_python_has_called_is_shared():
    @njit
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return inner(x) * 2

    assert (inner(3), outer(3)) == (4, 8)
    assert not inner_functions.find_twin(inner).overloads


@pytest.mark.usefixtures("this_module")
def test_a_function_may_call_itself():
    @njit
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @njit
    def outer(n):
        return factorial(n) + 1

    assert (outer(5), factorial(5)) == (121, 120)


def test_functions_of_others_are_left_alone():
    @njit
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return inner(x) * 2

    assert outer(3) == 8
    assert inner_functions.find_twin(inner) is inner
    assert len(inner.overloads) == 1


@pytest.mark.parametrize("first", ["total", "square"])
def test_both_kinds_of_a_function_are_cached(tmp_path, first):
    (tmp_path / "module.py").write_text(MODULE)
    folders = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": folders}
    outputs = {"total": ["14.0", "negative"], "square": ["9.0", "negative"]}

    def run(name):
        command = [sys.executable, str(tmp_path / "module.py"), name]
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    assert run(first)[:2] == outputs[first]
    assert run("square") == [*outputs["square"], "1 0"]
    assert run("total")[:2] == outputs["total"]
    assert run("total") == [*outputs["total"], "0 0"]  # from the cache with all that it calls
    assert run("square") == [*outputs["square"], "1 0"]


def test_garbage_is_collected_again_after_a_compilation():
    def refuse(x):
        return x.nothing

    assert njit(lambda x: x + 1)(1) == 2
    with pytest.raises(TypingError):
        njit(refuse)(1)
    assert gc.isenabled()
