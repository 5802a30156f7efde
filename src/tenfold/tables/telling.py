"""What an encoder does with each column, in plain words."""

from __future__ import annotations

from typing import Any

from tenfold.tables.parts import CategoryPart, DatePart, HashPart, NumberPart, TextPart


def told(kinds: dict[str, Any], parts: list[Any]) -> str:
    """One line for each column."""
    by_name = {part.name: part for part in parts}
    width = max((len(name) for name in kinds), default=0)
    lines = [f"{n:<{width}}  {k.kind:<10}  {_done(k, by_name.get(n))}" for n, k in kinds.items()]
    return "\n".join(lines)


def _done(kind: Any, part: Any) -> str:
    if part is None:
        return f"left out: {kind.why}"
    missing = f"; {kind.missing:,} missing" if kind.missing else ""
    return _words(part) + missing


def _words(part: Any) -> str:
    if isinstance(part, NumberPart):
        return "a number" + (", and whether it is missing" if part.flag else "")
    if isinstance(part, CategoryPart):
        pooled = ", rare ones pooled" if part.other else ""
        return f"an indicator for each of {len(part.levels)} levels{pooled}"
    if isinstance(part, HashPart):
        return f"too many levels: hashed into {part.buckets} buckets"
    if isinstance(part, TextPart):
        return f"{len(part.words):,} words, weighed by tf-idf"
    assert isinstance(part, DatePart)  # noqa: S101 - there is no other
    return "days, year, season, weekday" + (", time of day" if part.hours else "")
