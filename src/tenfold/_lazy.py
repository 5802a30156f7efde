"""Names that are imported when they are first asked for; this module imports next to nothing."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def attach(
    package: str, where: dict[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
        Its name.
    where : dict
        The module of each name. A name must not be that of a module of the package: importing the
        module would put it in the name's place.
    modules : tuple of str
        Modules of the package that are names themselves.
    """

    def find(name: str) -> object:
        from importlib import import_module

        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(where[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *where, *modules})

    return find, names


def modules_of_names(package: str, offers: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The module of each name, from the names that each module offers."""
    return {name: f"{package}.{module}" for module, names in offers.items() for name in names}
