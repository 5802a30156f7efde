"""Docstrings of classes whose parameters and attributes a base class describes."""

from __future__ import annotations

import re
from inspect import signature
from typing import Any

_ENTRY = re.compile(r"^    (\S[^\n]*(?:\n(?:        [^\n]*|(?=\n)))*)", re.MULTILINE)


def inherit_descriptions(cls: Any) -> Any:
    """Complete the docstring of a class, as a decorator of it.

    Parameters of its constructor that the docstring does not describe, and attributes, are
    described in the words of the nearest base class that has some. Parameters stand in the order of
    the constructor.

    Parameters
    ----------
    cls : class
        Its docstring has a section "Parameters".

    Examples
    --------
    >>> from tenfold import RadiusNeighborsRegressor
    >>> "Power of the Minkowski metric." in RadiusNeighborsRegressor.__doc__
    True
    """
    if not cls.__doc__:  # stripped by python -OO
        return cls
    known = {title: _entries_of_all(cls, title) for title in ("Parameters", "Attributes")}
    order = [name for name in signature(cls.__init__).parameters if name in known["Parameters"]]
    known["Parameters"] = {name: known["Parameters"][name] for name in order}
    for title, entries in known.items():
        text = "".join(f"    {entry}\n" for entry in dict.fromkeys(entries.values()))
        start, end = _section(cls.__doc__, title)
        if entries and title == "Attributes" and start == len(cls.__doc__):
            start = end = _section(cls.__doc__, "Parameters")[1]
            text = f"\n    {title}\n    {'-' * len(title)}\n{text}"
        cls.__doc__ = cls.__doc__[:start] + text + cls.__doc__[end:]
    return cls


def _entries_of_all(cls: Any, title: str) -> dict[str, str]:
    """Name -> entry in a section, of the class itself first and then of its bases."""
    found: dict[str, str] = {}
    for each in cls.__mro__:
        for name, entry in _entries(each.__doc__ or "", title).items():
            found.setdefault(name, entry)
    return found


def _entries(text: str, title: str) -> dict[str, str]:
    """Name -> entry in a section; "a, b : int" is the entry of both."""
    start, end = _section(text, title)
    entries = [match.group(1) for match in _ENTRY.finditer(text[start:end])]
    return {
        name: entry for entry in entries for name in entry.partition(" :")[0].strip().split(", ")
    }


def _section(text: str, title: str) -> tuple[int, int]:
    """Where the entries of a section begin and end; an empty range where there is none."""
    head = re.search(rf"^    {title}\n    -+\n", text, re.MULTILINE)
    if head is None:
        return len(text), len(text)
    end = re.compile(r"\n(?=\n    \S|    $)").search(text, head.end() - 1)
    return head.end(), len(text) if end is None else end.start() + 1
