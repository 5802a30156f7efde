"""What is wrong with a table, in one sentence with its cure."""

from __future__ import annotations


class TableError(ValueError):
    """A table that cannot be read as it is: where, why, and what to do."""


def unreadable(shown: str, problem: object) -> TableError:
    """The error about a file that is damaged."""
    return TableError(
        f"{shown} cannot be read; it is cut short, damaged or of another kind: write or fetch it "
        f"again ({problem})."
    )
