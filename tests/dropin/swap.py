"""A test file of scikit-learn with the imports of our names pointed at tenfold."""

from __future__ import annotations

import ast
import pkgutil
from functools import cache
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from types import ModuleType
from typing import Any

import sklearn

import tenfold

PACKAGE = Path(sklearn.__file__).parent
MODULES = [
    module.name
    for module in pkgutil.iter_modules(sklearn.__path__)
    if module.name[0] != "_"
    and module.name not in {"conftest", "experimental", "externals", "tests"}
]


@cache
def shared_names() -> dict[str, Any]:
    """Public names of both libraries, with scikit-learn's class or function."""
    found: dict[str, Any] = {}
    for module in (import_module(f"sklearn.{name}") for name in MODULES):
        home = module.__name__
        own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == home]
        for name in set(tenfold._WHERE) & set(getattr(module, "__all__", own)):
            value = getattr(module, name)
            if isclass(value) or isfunction(value):
                found[name] = value
    return found


class SwappedModule(ModuleType):
    """A module of scikit-learn in which the names that tenfold has too are tenfold's."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__["__wrapped__"] = module

    def __getattr__(self, name: str) -> Any:
        return swapped(name, getattr(self.__dict__["__wrapped__"], name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["__wrapped__"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["__wrapped__"], name)


def swapped(name: str, value: Any) -> Any:
    """What a name of scikit-learn stands for after the swap; calls of functions are recorded."""
    from tests.dropin.recorder import record_calls

    if isinstance(value, ModuleType) and value.__name__.split(".")[0] == "sklearn":
        return SwappedModule(value)
    if value is None or shared_names().get(name) is not value:
        return value
    ours = getattr(tenfold, name)
    return record_calls(ours) if isfunction(ours) else ours


def swap_imports(text: str, package: str) -> str:
    """Text of a test file in `package`, with a line after each import that binds one of our names.

    All other lines are scikit-learn's.
    """
    lines = text.splitlines()
    added: dict[int, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = _bound_names(node, package)
            indent = " " * node.col_offset
            if bound:
                swap = "__import__('tests.dropin.swap').dropin.swap.swapped"
                statements = [f"{name} = {swap}({theirs!r}, {name})" for name, theirs in bound]
                added[node.end_lineno or node.lineno] = indent + "; ".join(statements)
    for number in sorted(added, reverse=True):
        lines.insert(number, added[number])
    return "\n".join(lines) + "\n"


def imported_names(text: str, package: str) -> set[str]:
    """Names that both libraries have, and modules that hold some, imported by a test file."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    theirs = {name for node in nodes for _, name in _bound_names(node, package)}
    return theirs & (shared_names().keys() | _modules_of_shared_names())


@cache
def _modules_of_shared_names() -> set[str]:
    """The packages of scikit-learn in which our names stand, such as "linear_model"."""
    return {value.__module__.split(".")[1] for value in shared_names().values()}


def _bound_names(node: ast.Import | ast.ImportFrom, package: str) -> list[tuple[str, str]]:
    """Names that an import binds to a module of scikit-learn or to a name that both have."""
    if isinstance(node, ast.Import):
        names = {alias.asname or "sklearn" for alias in node.names if _is_theirs(alias.name)}
        return [(name, name) for name in sorted(names)]
    module = node.module or ""
    if node.level:
        above = package.split(".")[: len(package.split(".")) + 1 - node.level]
        module = ".".join([*above, *filter(None, [module])])
    if not _is_theirs(module):
        return []
    found = []
    shared = shared_names()  # imports the packages, which are then values of "sklearn"
    for alias in node.names:
        value = vars(import_module(module)).get(alias.name)
        if isinstance(value, ModuleType) or alias.name in shared:
            found.append((alias.asname or alias.name, alias.name))
    return found


def _is_theirs(module: str) -> bool:
    return module.partition(".")[0] == "sklearn"
