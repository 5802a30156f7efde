"""`import tenfold` is light, and every public name is where the list says.

Run as a script, this file writes the type stub from the list of names (`make stub`).
"""

import builtins
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path
from pkgutil import iter_modules, walk_packages

import pytest

import tenfold
from tenfold._lazy import public_names

STUB = Path(tenfold.__file__).with_suffix(".pyi")

LOADED = """
import sys
before = set(sys.modules)
import tenfold
dir(tenfold)
print(*sorted(set(sys.modules) - before))
"""


def stub() -> str:
    """What type checkers and editors should see: the same names, imported eagerly."""
    names = [f"from {where} import {name} as {name}" for name, where in tenfold._WHERE.items()]
    modules = [f"from tenfold import {name} as {name}" for name in tenfold._MODULES]
    head = ["# Written by `make stub` from the names in __init__.py."]
    tail = ["", "_WHERE: dict[str, str]", "__all__: list[str]", "__version__: str", ""]
    return "\n".join(head + sorted(modules + names) + tail)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_almost_nothing():
    loaded = run(LOADED).split()
    assert "tenfold" in loaded
    assert not {"numpy", "scipy", "sklearn", "numba"} & set(loaded)
    assert len(loaded) <= 3, f"import tenfold also imports {loaded}"


@pytest.mark.parametrize("name", sorted(tenfold._WHERE))
def test_name_is_what_its_module_holds(name):
    value = getattr(tenfold, name)
    assert value is getattr(import_module(tenfold._WHERE[name]), name)
    assert vars(tenfold)[name] is value


@pytest.mark.parametrize("name", tenfold._MODULES)
def test_module_is_reached_from_the_package_alone(name):
    assert run(f"import tenfold; print(tenfold.{name}.__name__)").strip() == f"tenfold.{name}"


def test_no_name_of_a_package_is_that_of_a_module_in_it():
    """Importing the module would put it in the place of the function."""
    packages = [tenfold] + [
        import_module(found.name)
        for found in walk_packages(tenfold.__path__, "tenfold.")
        if found.ispkg
    ]
    for package in packages:
        modules = {found.name for found in iter_modules(package.__path__)}
        names = {*getattr(package, "_WHERE", ()), *public_names(package.__name__)}
        assert not modules & names - {"checkpoint"}, package.__name__  # imported at once


def test_public_names_are_found_in_the_package_that_holds_them():
    for name, home in tenfold._WHERE.items():
        family = import_module(".".join(home.split(".")[:2]))
        if family.__name__ != home:
            assert getattr(family, name) is getattr(tenfold, name)
            assert name in dir(family)
    with pytest.raises(AttributeError, match=r"'tenfold\.tree' has no attribute 'KMeans'"):
        tenfold.tree.KMeans  # noqa: B018


def test_all_names_are_listed():
    assert tenfold.__all__ == sorted({*tenfold._WHERE, *tenfold._MODULES} - {"open"})
    assert set(tenfold.__all__) <= set(dir(tenfold))


def test_a_star_import_replaces_no_builtin():
    assert not set(tenfold.__all__) & set(dir(builtins))
    code = "import builtins; from tenfold import *; print(open is builtins.open, KMeans.__name__)"
    assert run(code) == "True KMeans\n"


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'tenfold' has no attribute 'Kmeans'") as caught:
        _ = tenfold.Kmeans
    assert caught.value.name == "Kmeans"  # Python's "Did you mean: 'KMeans'?" needs it


def test_version_is_the_installed_one():
    assert metadata.version("tenfold") == tenfold.__version__


def test_stub_tells_the_same_names():
    assert STUB.read_text() == stub(), "the names changed: run `make stub`"


if __name__ == "__main__":
    STUB.write_text(stub())
