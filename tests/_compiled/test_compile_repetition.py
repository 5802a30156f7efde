"""What numba keeps while it compiles changes no function."""

import operator

import numpy as np
import pytest
from numba import jit, njit, objmode
from numba.core import ir
from numba.core.compiler import run_frontend
from numba.core.runtime import _nrt_python, rtsys
from numba.core.types.functions import BaseFunction
from numba.extending import overload

from tenfold._compiled import compile_repetition

pytestmark = pytest.mark.skipif(
    BaseFunction.get_call_type is not compile_repetition.get_call_type,
    reason="another version of numba",
)


@pytest.fixture
def asked(monkeypatch):
    """Keys of the functions whose calls numba looks for among its rules."""
    keys, find = [], compile_repetition._get_call_type

    def count(self, context, args, kws):
        keys.append(self.typing_key)
        return find(self, context, args, kws)

    monkeypatch.setattr(compile_repetition, "_get_call_type", count)
    return keys


def test_the_type_of_a_call_is_found_once(asked):
    @njit
    def multiply(x, y):
        return x * y

    @njit
    def multiply_and_add(x, y):
        return x * y + x

    assert multiply(3, 4) == 12
    asked.clear()
    assert multiply_and_add(3, 4) == 15
    assert operator.mul not in asked
    assert multiply_and_add(np.float32(3), np.int8(4)) == 15.0
    assert operator.mul in asked  # of other types


def test_a_call_that_is_no_call_fails_each_time():
    @njit
    def add(x, y):
        return x + y

    for _ in range(2):
        with pytest.raises(Exception, match="No implementation of function"):
            add(1, "a")
    assert add(1, 2) == 3


def halve(x):
    """x / 0 under the options of whoever calls."""


@overload(halve)
def _overload_halve(x):  # noqa: ARG001 - typed, not called
    return lambda x: x / (x - x)


def test_options_of_a_caller_hold_for_what_it_calls():
    functions = {}
    for name, model in (("first", "numpy"), ("second", "python"), ("third", "numpy")):

        @njit(error_model=model)
        def call(x):
            return halve(x) + 1.0

        functions[name] = call
    assert functions["first"](2.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        functions["second"](2.0)
    assert functions["third"](2.0) == np.inf


def test_lifetimes_that_are_asked_for_are_found():
    @njit
    def squares(n):
        for i in range(n):
            yield i * i

    @jit(forceobj=True, looplift=True)
    def as_objects(n):
        text, total = str(n), 0
        for i in range(n):
            total += i
        return text, total

    @njit
    def as_text(n):
        total = 0
        for i in range(n):
            total += i
        with objmode(length="int64"):
            length = len(str(total))
        return total + length

    assert list(squares(4)) == [0, 1, 4, 9]
    assert as_objects(4) == ("4", 6)
    assert as_text(5) == 12


def test_memory_is_released():
    @njit
    def sum_copies(x, n):
        total = 0.0
        for _ in range(n):
            y = x + 1.0
            if y[0] > 1.5:
                y = y * 2.0
            total += y.sum()
        return total

    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        assert sum_copies(np.array([1.0, 2.0]), 3) == 30.0
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


PLAIN_LISTS = (ir.Stmt.list_vars, ir.Expr.list_vars)


def example(x, n):
    pair = (x[0], n)
    for i in range(n):
        x[i] = pair[0] + max(i, n)
    return [v * 2 for v in x]


def test_instructions_list_the_same_variables():
    found = 0

    def walk(value):
        if isinstance(value, ir.Var):
            return [value]
        if isinstance(value, ir.Inst):
            inner = value._kws if isinstance(value, ir.Expr) else vars(value)
            return walk(inner) if type(value).list_vars in PLAIN_LISTS else value.list_vars()
        if isinstance(value, dict):
            return walk(list(value.values()))
        if isinstance(value, list | tuple):
            return [variable for item in value for variable in walk(item)]
        return []

    for block in run_frontend(example).blocks.values():
        for statement in block.body:
            listed = statement.list_vars()
            assert [v.name for v in listed] == [v.name for v in walk(statement)]
            found += len(listed)
    assert found > 20
