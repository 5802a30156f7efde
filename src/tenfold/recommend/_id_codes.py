"""Ids of users and items, whole numbers or words, as numbers from 0 on."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.io.columnar import DateColumn, NumericColumn, TextColumn


class IdCodes:
    """Codes of ids in the order in which they are met.

    Parameters
    ----------
    name : str
        "user" or "item", for errors.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.code_of: dict[Any, int] = {}
        self.kind = ""

    def encode(self, ids: Any, first: int, kept: Any = slice(None)) -> np.ndarray:
        """Codes of some rows' ids; `first` is the number of the first row."""
        if isinstance(ids, TextColumn):
            if ids.missing().any():
                raise self._missing(first + int(np.argmax(ids.missing())))
            self._set_kind("words")
            used, inverse = np.unique(ids.codes[kept], return_inverse=True)
            words = [ids.values[code] for code in used.tolist()]
        else:
            values = as_ids(ids, self.name, first)[kept]
            self._set_kind("words" if values.dtype.kind == "U" else "numbers")
            used, inverse = np.unique(values, return_inverse=True)
            words = used.tolist()
        codes = [self.code_of.setdefault(word, len(self.code_of)) for word in words]
        return np.array(codes, np.int32)[inverse]

    def sorted_ids(self) -> tuple[np.ndarray, np.ndarray]:
        """The ids in ascending order, and the rank of each code."""
        ids = np.array(list(self.code_of), np.int64 if self.kind == "numbers" else str)
        order = np.argsort(ids, kind="stable")
        rank = np.empty(len(ids), np.int32)
        rank[order] = np.arange(len(ids), dtype=np.int32)
        return ids[order], rank

    def _set_kind(self, kind: str) -> None:
        if self.kind not in {"", kind}:
            raise ValueError(
                f"some {self.name} ids are numbers and some are words: make them alike"
            )
        self.kind = kind

    def _missing(self, row: int) -> ValueError:
        return ValueError(f"row {row}: the {self.name} is missing; leave out such rows")


def as_ids(ids: Any, name: str, first: int = 0) -> np.ndarray:
    """Ids as int64 or text; a missing or broken one is an error that names its row."""
    if isinstance(ids, TextColumn):
        return np.array(ids.plain())
    values = np.asarray(ids.values if isinstance(ids, NumericColumn | DateColumn) else ids)
    if values.dtype.kind == "O":
        values = _plain_objects(values, name, first)
    if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} ids above 2**63 - 1: give them as words")
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    if values.dtype.kind in "US":
        return values.astype(str)
    if values.dtype.kind == "M":
        return values.astype(str)
    if values.dtype.kind == "f":
        bad = ~(np.isfinite(values) & (values == np.floor(values)))
        if not bad.any():
            return values.astype(np.int64)
        row = int(np.argmax(bad))
        raise ValueError(
            f"row {first + row}: the {name} is {values[row]}; ids are whole numbers or words"
        )
    raise ValueError(f"{name} ids of type {values.dtype}: ids are whole numbers or words")


def _plain_objects(values: np.ndarray, name: str, first: int) -> np.ndarray:
    """Objects as numbers or as text."""
    kinds = {type(value) for value in values.tolist()}
    if all(issubclass(kind, str) for kind in kinds):
        return values.astype(str)
    missing = [v is None or v != v for v in values.tolist()]  # noqa: PLR0124 - NaN
    if any(missing):
        row = first + int(np.argmax(missing))
        raise ValueError(f"row {row}: the {name} is missing; leave out such rows")
    if any(issubclass(kind, str) for kind in kinds):
        raise ValueError(f"some {name} ids are numbers and some are words: make them alike")
    return np.array(values.tolist())


def find_ids(known: np.ndarray, ids: Any, name: str) -> np.ndarray:
    """Place of each id among the known ones, which ascend; -1 where it is unknown.

    Words where the known ids are numbers, or the reverse, are an error: none could be known.

    Examples
    --------
    >>> import numpy as np
    >>> find_ids(np.array(["ann", "bob"]), ["bob", "eve"], "user").tolist()
    [1, -1]
    """
    values = as_ids(ids, name)
    if not len(known) or not len(values):
        return np.full(len(values), -1)
    is_word = values.dtype.kind == "U"
    if is_word != (known.dtype.kind == "U"):
        kinds = ("numbers", "a word") if is_word else ("words", "a number")
        raise ValueError(
            f"the {name} ids of the fit are {kinds[0]}, such as {known[0].item()!r}, and "
            f"{values[0].item()!r} is {kinds[1]}: give {name} ids of the kind that the fit had"
        )
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[place] == values, place, -1)
