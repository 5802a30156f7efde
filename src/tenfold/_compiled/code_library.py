"""Functions that only compiled code calls are optimized once, together with their callers.

numba optimizes every function with all that it calls and makes machine code of it, also if Python
can never call it: the innermost of ten functions is optimized ten times, and nine times in vain.
Here a function without a wrapper for Python (`inner_functions`, `no_cpython_wrapper`, and whatever
`overload` gives) waits as it is until a function that Python calls is linked with it. The result
is the same function; a first fit takes about half of the time to compile. These are inner parts of
numba: with another version than the tested one, numba compiles in its own way.
"""

# ruff: noqa: SLF001 - numba's own libraries of code, whose steps come in another order here
from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba import version_info
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.environment import lookup_environment

from tenfold._compiled import compile_garbage  # noqa: F401 - before anything is compiled
from tenfold._compiled.inner_functions import use_twins

_WRAPPER = "_ZN7cpython"  # how the names of wrappers for Python begin
_ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of environments of functions begin
_DYNAMIC = "numba.dynamic.globals"  # how the names of addresses of this process begin
_OURS = "_ZN7tenfold"  # how the names of this package's functions begin
_UNLINKED = "unlinked"  # kind of a library in the cache that has no machine code
_TESTED = (0, 68)  # version of numba

_set_env: Any = JITCPUCodegen.set_env


class WaitingCodeLibrary(JITCodeLibrary):
    """Code that is linked, optimized and made executable when Python asks for a function of it."""

    _is_linked = False

    def get_pointer_to_function(self, name: str) -> int:
        """Address of a function, 0 if there is none; a wrapper that is missing needs no code."""
        if not self._finalized and name.startswith(_WRAPPER) and not self._defines(name):
            return 0
        return super().get_pointer_to_function(name)

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether there are addresses of this process in the code."""
        if self._finalized:
            return super().has_dynamic_globals
        self._link()
        names = (variable.name for variable in self._final_module.global_variables)
        return any(name.startswith(_DYNAMIC) for name in names)

    def add_linking_library(self, library: Any) -> None:
        """Remember code that this one calls."""
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        """Link, optimize, make executable."""
        self._link()
        self._linking_libraries.clear()
        super().finalize()

    def serialize_using_object_code(self) -> Any:
        """What the cache keeps: machine code if there is some, and for functions of others."""
        if not self._finalized and not self._is_ours():
            self.finalize()  # others read their cache without this class
        if self._finalized:
            return super().serialize_using_object_code()
        return self.name, _UNLINKED, self._get_module_for_linking().as_bitcode()

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != _UNLINKED:
            return super()._unserialize(codegen, state)
        self = codegen.create_library(name)
        self.enable_object_caching()
        self._final_module = binding.parse_bitcode(data)
        self._shared_module, self._is_linked = self._final_module, True
        return self

    def _defines(self, name: str) -> bool:
        try:
            return not self._final_module.get_function(name).is_declaration
        except NameError:
            return False

    def _is_ours(self) -> bool:
        functions = (f for f in self._final_module.functions if not f.is_declaration)
        return any(function.name.startswith(_OURS) for function in functions)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Simplify each function by itself, but not those that are only declared."""
        ll_module.data_layout = self._codegen._data_layout
        manager, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                manager.run(function, builder)

    def _link(self) -> None:
        """Copy what this code calls into its module."""
        if self._is_linked:
            return
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._reload_init.update(library._reload_init)
        self._is_linked = True

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is not None:
            return self._shared_module
        if self._finalized:
            return super()._get_module_for_linking()
        self._link()
        self._finalized = True  # as far as the next call asks
        try:
            return super()._get_module_for_linking()
        finally:
            self._finalized = False

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    _set_env(self._codegen, variable.name, environment)


def set_env(self: Any, env_name: str, env: Any) -> None:
    """Tell compiled code its environment, if there is machine code yet."""
    if self._engine.is_symbol_defined(env_name):
        _set_env(self, env_name, env)


if version_info[:2] == _TESTED:
    JITCPUCodegen._library_class = WaitingCodeLibrary
    JITCPUCodegen.set_env = set_env
    use_twins()
