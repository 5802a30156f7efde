"""Choosing and judging models: splits, cross-validation, search, and tools that keep it honest."""

from typing import Any

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "curves": ("Curve", "learning_curve", "validation_curve"),
    "rules": ("one_standard_error",),
    "search": ("Search",),
    "splits": ("Split", "make_splits", "time_ordered"),
    "validation": ("Validation", "cross_validate"),
}
_WHERE = {name: module for module, names in _OFFERS.items() for name in names}

__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'tenfold.select' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"tenfold.select.{_WHERE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
