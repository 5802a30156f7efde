"""Names of columns: all there, and all different."""

from __future__ import annotations

from tenfold.rows.files.records.errors import TableError


def named(fields: list[str], shown: str) -> tuple[list[str], list[str]]:
    """Names that are all there and all different, and what was done for it."""
    names: dict[str, None] = {}
    notes = []
    for j, field in enumerate(fields):
        name = field.strip() or f"column {j + 1}"
        number, unique = 1, name
        while unique in names:
            number += 1
            unique = f"{name} ({number})"
        if unique != field.strip():
            why = "has no name" if not field.strip() else "has the name of another"
            notes.append(f"{shown}: column {j + 1} {why}; it is called {unique!r} here.")
        names[unique] = None
    return list(names), notes


def assert_same(shown: str, names: list[str], others: list[str], first: str) -> None:
    """Raise an error if a further file lacks a column of the first."""
    missing = [name for name in names if name not in others]
    if missing:
        raise TableError(
            f"{shown} has no column {missing[0]!r}, which {first} has. Files that are read "
            "together need the same columns."
        )
