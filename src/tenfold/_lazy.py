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

    The flat names of the root, such as ``tenfold.TSNE``, are also found in the package that holds
    them: ``from tenfold.manifold import TSNE``.

    Parameters
    ----------
    package : str
        Its name.
    where : dict
        The module of each further name. A name must not be that of a module of the package:
        importing the module would put it in the name's place.
    modules : tuple of str
        Modules of the package that are names themselves.
    """

    def find(name: str) -> object:
        from importlib import import_module

        if name in modules:
            return import_module(f"{package}.{name}")
        home = where.get(name) or public_names(package).get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *where, *public_names(package), *modules})

    return find, names


def public_names(package: str) -> dict[str, str]:
    """The modules of the flat names of the root that live in a package."""
    flat = vars(sys.modules[package.partition(".")[0]])["_WHERE"]
    return {name: home for name, home in flat.items() if home.startswith(f"{package}.")}


def modules_of_names(package: str, offers: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The module of each name, from the names that each module offers."""
    return {name: f"{package}.{module}" for module, names in offers.items() for name in names}
