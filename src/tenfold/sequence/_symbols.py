"""Documents as sequences of numbered symbols: words, characters, or symbols of any other kind."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

BEGIN, END, UNKNOWN = "<beg>", "<end>", "<unk>"
_WORD_OR_MARK = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_BATCH_DOCUMENTS, _BATCH_CHARACTERS = 1024, 2**19  # that are encoded at a time
_PIECE_CHARACTERS = 2**20  # of a file that is one stream
_WITHOUT_ORDER = (set, frozenset, Mapping)
_MAX_PATH_CHARACTERS = 1024  # a longer text is no path


def iterate_documents(documents: Any, *, lines: bool = True) -> Iterable[Any]:
    """Documents of an iterable, of one text, or of a text file if a path is given.

    The documents of a file are its lines; without `lines` it is one stream, of which large pieces
    are given, each up to the end of a word unless that is far away.
    """
    if isinstance(documents, os.PathLike):
        path = Path(documents)
        return _iterate_lines(path) if lines else _iterate_pieces(path)
    if isinstance(documents, bytes):
        documents = _decode(documents)
    if isinstance(documents, str):
        if len(documents) < _MAX_PATH_CHARACTERS and "\n" not in documents:
            _refuse_path(documents)
        return [documents]
    is_table = has_columns(documents)
    if is_table or not isinstance(documents, Iterable):
        raise TypeError(
            f"documents are a list of texts, one text or a path, not {type(documents).__name__}"
            + ": give one column of it" * is_table
        )
    return documents


def has_columns(data: Any) -> bool:
    """Whether data are a table; a Dask series, whose `columns` are its name, is none."""
    is_frame = hasattr(data, "columns") and getattr(data, "ndim", 2) != 1
    return is_frame or isinstance(data, Mapping)


def refuse_sets(documents: Any) -> None:
    """Raise an error for a set, where what is learned depends on the order of the documents."""
    if isinstance(documents, set | frozenset):
        raise TypeError(
            f"documents are a {type(documents).__name__}, whose order differs from run to run: "
            "give sorted(documents)"
        )


def check_text(text: Any, name: str) -> str:
    """Raise an error for what is no text."""
    if not isinstance(text, str):
        raise TypeError(f"{name} is a text (str), not {type(text).__name__}")
    return text


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"bytes that are not UTF-8 ({problem.reason} at byte {problem.start}): give text, "
            "such as document.decode('latin-1')"
        ) from None


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
    with path.open(encoding="utf-8-sig") as file, _name_encoding(path):
        for line in file:
            yield line.rstrip("\n")


def _iterate_pieces(path: Path) -> Iterator[str]:
    """Pieces of a file that end before the blanks after a word: no tokenizer joins these."""
    with path.open(encoding="utf-8-sig", newline="") as file, _name_encoding(path):
        rest = ""
        while read := file.read(_PIECE_CHARACTERS):
            rest += read
            words = rest.rsplit(None, 1)
            end = len(words[0]) if len(words) == 2 else 0
            if not end and len(rest) > _PIECE_CHARACTERS:
                end = len(rest)
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest:
            yield rest


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
        self.are_characters = self.cut is list

    def split(self, document: Any) -> list[Any]:
        """Symbols of a document; a document that is not text is a sequence of symbols already."""
        if isinstance(document, bytes):
            document = _decode(document)
        if isinstance(document, str):
            return list(self.cut(document.lower() if self.lowercase else document))
        if isinstance(document, np.ndarray):
            return document.ravel().tolist()
        if not isinstance(document, Iterable) or isinstance(document, _WITHOUT_ORDER):
            raise TypeError(
                f"a document is text or a sequence of symbols, not {type(document).__name__}"
            )
        return list(document)

    def encode(
        self, documents: Any, number: Callable[[Any], int]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers of the symbols of batches of documents, and where documents begin.

        A file that is one stream is one document, whose parts are given.
        """
        encode_characters = CharacterNumbers(number) if self.are_characters else None
        done, one_stream = 0, not self.lines and isinstance(documents, os.PathLike)
        for batch in _iterate_batches(iterate_documents(documents, lines=self.lines)):
            if encode_characters is not None and all(type(each) is str for each in batch):
                texts = [each.lower() for each in batch] if self.lowercase else batch
                numbers = encode_characters("".join(texts))
                lengths = list(map(len, texts))
            else:
                split = self.split_batch(batch, done)
                lengths = list(map(len, split))
                symbols = chain.from_iterable(split)
                numbers = np.fromiter(map(number, symbols), np.int64, sum(lengths))
            done += len(batch)
            lengths = [len(numbers)] if one_stream else lengths
            yield numbers, np.cumsum([0, *lengths], dtype=np.int64)

    def split_batch(self, batch: list[Any], first: int) -> list[list[Any]]:
        """Symbols of documents, of which the first has this number among all."""
        if set(map(type, batch)) == {list}:  # cut texts: nothing to do, and no call for each
            return batch
        return [self.split_at(each, first + i) for i, each in enumerate(batch)]

    def split_at(self, document: Any, place: int) -> list[Any]:
        """As `split`; an error names the place of the document among all."""
        try:
            return self.split(document)
        except (TypeError, ValueError) as problem:
            if isinstance(document, Iterable) and not isinstance(
                document, bytes | set | frozenset | Mapping
            ):
                raise  # from the user's tokenizer, or of a symbol
            cure = "; leave missing texts out, or fill them" if is_missing(document) else ""
            kind = TypeError if isinstance(problem, TypeError) else ValueError
            raise kind(f"document {place}: {problem}{cure}") from None


class CharacterNumbers:
    """Numbers of all characters of a text at once.

    Parameters
    ----------
    number : callable
        Number of a character, not negative; asked once for each, in the order in which they come.

    Examples
    --------
    >>> CharacterNumbers("abc".index)("cab").tolist()
    [2, 0, 1]
    """

    def __init__(self, number: Callable[[str], int]) -> None:
        self.number = number
        self.table = np.full(128, -1, np.int64)  # by code point

    def __call__(self, text: str) -> np.ndarray:
        """Numbers of the characters of a text, int64."""
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        more = int(points.max(initial=0)) + 1 - len(self.table)
        if more > 0:
            self.table = np.append(self.table, np.full(more, -1, np.int64))
        numbers = self.table[points]
        new = points[numbers < 0]
        if len(new):
            distinct, first = np.unique(new, return_index=True)
            for point in distinct[np.argsort(first)]:
                self.table[point] = self.number(chr(point))
            numbers = self.table[points]
        return numbers


def _iterate_batches(documents: Iterable[Any]) -> Iterator[list[Any]]:
    """Documents in lists: not many, and not long ones together."""
    if isinstance(documents, list):  # of short ones, a batch is a slice
        for first in range(0, len(documents), _BATCH_DOCUMENTS):
            batch = documents[first : first + _BATCH_DOCUMENTS]
            yield from [batch] if _count_all(batch) < _BATCH_CHARACTERS else _limit_sizes(batch)
    else:
        yield from _limit_sizes(documents)


def _limit_sizes(documents: Iterable[Any]) -> Iterator[list[Any]]:
    """Documents in lists that end where there are enough symbols."""
    batch: list[Any] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += _length(document)
        if len(batch) == _BATCH_DOCUMENTS or size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _count_all(batch: list[Any]) -> int:
    """Symbols or characters of some documents."""
    try:  # without a call of Python for each
        return sum(map(len, batch))
    except TypeError:
        return sum(map(_length, batch))


def _length(document: Any) -> int:
    """Symbols or characters of a document; 1 if it does not say."""
    try:  # to ask for the type first takes longer
        return len(document)
    except TypeError:
        return 1


def add_boundaries(
    numbers: np.ndarray, starts: np.ndarray, begin: int | None, end: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The symbols `begin` before and `end` after each document; None for none.

    Examples
    --------
    >>> add_boundaries(np.array([5, 6, 7]), np.array([0, 2, 3]), 0, 1)[0].tolist()
    [0, 5, 6, 1, 0, 7, 1]
    """
    moved = starts + ((begin is not None) + (end is not None)) * np.arange(len(starts))
    longer = np.empty(moved[-1], numbers.dtype)
    kept = np.ones(len(longer), bool)
    for places, symbol in ((moved[:-1], begin), (moved[1:] - 1, end)):
        if symbol is not None:
            longer[places], kept[places] = symbol, False
    longer[kept] = numbers
    return longer, moved


def append_end(numbers: np.ndarray, starts: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
    """The symbol `end` after each document.

    Examples
    --------
    >>> append_end(np.array([5, 6, 7]), np.array([0, 2, 3]), 1)[0].tolist()
    [5, 6, 1, 7, 1]
    """
    return add_boundaries(numbers, starts, None, end)


def is_missing(value: Any) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, Real) and value != value)  # noqa: PLR0124


def sort_symbols(symbols: Iterable[Any]) -> list[Any]:
    """Symbols in ascending order; they must be of one kind."""
    symbols = list(symbols)
    if set(map(type, symbols)) != {str} and any(map(is_missing, symbols)):
        raise ValueError("a symbol or label is missing (None or NaN): leave it out, or name it")
    try:
        return sorted(symbols)
    except TypeError:
        kinds = sorted({type(symbol).__name__ for symbol in symbols})
        raise TypeError(
            f"the symbols are of several kinds ({', '.join(kinds)}): give texts, or symbols of "
            "one kind such as words or whole numbers"
        ) from None
