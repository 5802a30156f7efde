"""Documents as sequences of numbered symbols: words, characters, or symbols of any other kind."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.preprocessing.text.tokens import iterate_batches

BEGIN, END, UNKNOWN = "<beg>", "<end>", "<unk>"
_WORD_OR_MARK = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_BATCH_DOCUMENTS = 1024


def iterate_documents(documents: Any) -> Iterable[Any]:
    """Documents of an iterable; the lines of a text file, if a path is given."""
    if isinstance(documents, os.PathLike):
        return _iterate_lines(Path(documents))
    if isinstance(documents, str | bytes):
        raise TypeError(
            "documents are an iterable of texts, not one text: give a list, [text], or a "
            "pathlib.Path for the lines of a file"
        )
    return documents


def _iterate_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


class SymbolEncoder:
    """Documents as symbols.

    Parameters
    ----------
    unit : {"word", "character"}
        What a text is cut into.
    lowercase : bool
        Whether to convert texts to lower case first.
    tokenizer : callable, optional
        Function from a text to its symbols, instead of `unit`.
    """

    def __init__(
        self, unit: str, *, lowercase: bool, tokenizer: Callable[[str], Iterable[Any]] | None
    ) -> None:
        self.lowercase = lowercase
        cut = list if unit == "character" else _WORD_OR_MARK.findall
        self.cut = tokenizer if tokenizer is not None else cut

    def split(self, document: Any) -> list[Any]:
        """Symbols of a document; a document that is not text is a sequence of symbols already."""
        if isinstance(document, bytes):
            document = document.decode()
        if isinstance(document, str):
            return list(self.cut(document.lower() if self.lowercase else document))
        if isinstance(document, np.ndarray):
            return document.ravel().tolist()
        if not isinstance(document, Iterable):
            raise TypeError(
                f"a document is text or a sequence of symbols, not {type(document).__name__}"
            )
        return list(document)

    def encode(
        self, documents: Any, number: Callable[[Any], int]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers of the symbols of batches of documents, and where documents begin."""
        for batch in iterate_batches(iterate_documents(documents), _BATCH_DOCUMENTS):
            split = [self.split(document) for document in batch]
            lengths = np.fromiter(map(len, split), np.int64, len(split))
            starts = np.concatenate([[0], np.cumsum(lengths)])
            numbers = np.fromiter(map(number, chain.from_iterable(split)), np.int64, starts[-1])
            yield numbers, starts


def append_end(numbers: np.ndarray, starts: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
    """The symbol `end` after each document.

    Examples
    --------
    >>> append_end(np.array([5, 6, 7]), np.array([0, 2, 3]), 1)[0].tolist()
    [5, 6, 1, 7, 1]
    """
    return np.insert(numbers, starts[1:], end), starts + np.arange(len(starts))


def sort_symbols(symbols: Iterable[Any]) -> list[Any]:
    """Symbols in ascending order; they must be of one kind."""
    symbols = list(symbols)
    try:
        return sorted(symbols)
    except TypeError:
        kinds = sorted({type(symbol).__name__ for symbol in symbols})
        raise TypeError(
            f"the symbols are of several kinds ({', '.join(kinds)}): give texts, or symbols of "
            "one kind such as words or whole numbers"
        ) from None
