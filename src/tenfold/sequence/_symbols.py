"""Documents as sequences of numbered symbols: words, characters, or symbols of any other kind."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.preprocessing.text.tokens import iterate_batches

BEGIN, END, UNKNOWN = "<beg>", "<end>", "<unk>"
_WORD_OR_MARK = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_BATCH_DOCUMENTS = 1024
_PIECE_CHARACTERS = 2**20  # of a file that is one stream
_MAX_PATH_CHARACTERS = 1024  # a longer text is no path


def iterate_documents(documents: Any, *, lines: bool = True) -> Iterable[Any]:
    """Documents of an iterable, of one text, or of a text file if a path is given.

    The documents of a file are its lines; without `lines` it is one stream, of which large pieces
    are given, each up to the end of a line unless that is far away.
    """
    if isinstance(documents, os.PathLike):
        path = Path(documents)
        return _iterate_lines(path) if lines else _iterate_pieces(path)
    if isinstance(documents, bytes):
        documents = documents.decode()
    if isinstance(documents, str):
        if len(documents) < _MAX_PATH_CHARACTERS and "\n" not in documents:
            _refuse_path(documents)
        return [documents]
    if not isinstance(documents, Iterable):
        raise TypeError(
            f"documents are a list of texts, one text or a path, not {type(documents).__name__}"
        )
    return documents


def _refuse_path(text: str) -> None:
    """Raise an error if a text names a file: it would be learned by heart, name and all."""
    try:
        exists = Path(text).is_file()
    except (OSError, ValueError):
        return
    if exists:
        raise TypeError(f"{text!r} is a file: give pathlib.Path({text!r}) to read it")


@contextmanager
def _name_encoding(path: Path) -> Iterator[None]:
    """Say which file is not in UTF-8, and what to do."""
    try:
        yield
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"{path} is not in UTF-8 ({problem.reason} at byte {problem.start}): convert it, or "
            "give its texts, such as path.read_text('latin-1').splitlines()"
        ) from None


def _iterate_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file, _name_encoding(path):
        for line in file:
            yield line.rstrip("\n")


def _iterate_pieces(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as file, _name_encoding(path):
        while piece := file.read(_PIECE_CHARACTERS):
            yield piece + file.readline(_PIECE_CHARACTERS)


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
    lines : bool
        Whether the documents of a text file are its lines.
    """

    def __init__(
        self,
        unit: str,
        *,
        lowercase: bool,
        tokenizer: Callable[[str], Iterable[Any]] | None,
        lines: bool = True,
    ) -> None:
        self.lowercase, self.lines = lowercase, lines
        cut = list if unit == "character" else _WORD_OR_MARK.findall
        self.cut = tokenizer if tokenizer is not None else cut

    def split(self, document: Any) -> list[Any]:
        """Symbols of a document; a document that is not text is a sequence of symbols already."""
        if type(document) is list:  # the usual case of cut texts; no other check is as fast
            return document
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
        given = iterate_documents(documents, lines=self.lines)
        for batch in iterate_batches(given, _BATCH_DOCUMENTS):
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
    moved = starts + np.arange(len(starts))
    longer = np.full(moved[-1], end, numbers.dtype)
    kept = np.ones(len(longer), bool)
    kept[moved[1:] - 1] = False
    longer[kept] = numbers
    return longer, moved


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
