"""Functions that only compiled code calls: one optimization, the same results, the same cache."""

import os
import subprocess
import sys

import pytest
from numba import njit
from numba.core.codegen import JITCPUCodegen

from tenfold._compiled.code_library import WaitingCodeLibrary

pytestmark = pytest.mark.skipif(
    JITCPUCodegen._library_class is not WaitingCodeLibrary, reason="another version of numba"
)

MODULE = """
import sys
import numpy as np
import tenfold._compiled
from numba import njit

inner = dict(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)

@njit(**inner)
def square(x):
    if x < 0:
        raise ValueError("negative")
    return x * x

@njit(**inner)
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += square(x[i])
    return s

@njit(cache=True)
def first(x):
    return total(x)

@njit(cache=True)
def second(x):
    return total(x) + 1.0

function = globals()[sys.argv[1]]
print(function(np.arange(4.0)))
try:
    function(-np.ones(2))
except ValueError as error:
    print(error)
print(sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""


def test_a_function_that_python_never_calls_gets_no_machine_code_of_its_own():
    @njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return inner(x) * 2

    assert outer(3) == 8
    (inner_code,), (outer_code,) = inner.overloads.values(), outer.overloads.values()
    assert not inner_code.library._finalized
    assert outer_code.library._finalized


def test_cached_inner_functions_serve_callers_of_other_processes(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    folders = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": folders}

    def run(name):
        command = [sys.executable, str(tmp_path / "module.py"), name]
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    assert run("first") == ["14.0", "negative", "0 1"]
    assert run("second") == ["15.0", "negative", "1 0"]  # `total` from the cache, linked anew
    assert run("second") == ["15.0", "negative", "0 0"]  # all from the cache


FOREIGN = """
import sys
if sys.argv[1] == "with":
    import tenfold._compiled
import numpy as np
from numba import guvectorize, njit

@njit(cache=True, no_cpython_wrapper=True)
def one_more(x):
    return x + 1.0

@guvectorize(["void(f8[:], f8[:])"], "(n)->(n)", cache=True)
def double(x, y):
    for i in range(len(x)):
        y[i] = 2.0 * one_more(x[i])

assert double(np.arange(3.0)).tolist() == [2.0, 4.0, 6.0]
print(sum(one_more.stats.cache_hits.values()))
"""


def test_caches_of_other_packages_are_read_without_this_one(tmp_path):
    module = tmp_path / "foreign.py"
    module.write_text(FOREIGN)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    hits = []
    for how in ("with", "without", "with"):
        command = [sys.executable, str(module), how]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        hits.append(int(done.stdout))
    assert list((tmp_path / "cache").rglob("guf-*.nbc"))
