r"""The words of documents, and documents as lists of numbers.

A word is a run of at least two letters, digits or underscores, as scikit-learn's vectorisers have
it (`(?u)\b\w\w+\b`). Plain ASCII needs no regular expression: one table of 256 entries makes
letters small and blanks of all else, and `split` does the rest. Words are UTF-8 bytes inside, whose
order is that of their letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

RUN = re.compile(r"\w+")  # single letters are dropped when columns are chosen
CHUNK = 4096  # documents that are counted at once
_BYTES = [chr(code) for code in range(256)]
_KEPT = [c if code < 128 and RUN.match(c) else " " for code, c in enumerate(_BYTES)]
AS_IS = "".join(_KEPT).encode("latin-1")
SMALL = AS_IS.lower()


def words_of(document: str | bytes, *, lowercase: bool = True) -> list[bytes]:
    """Runs of letters, digits and underscores, single ones too.

    Examples
    --------
    >>> words_of("It's 2 o'clock: UN_resolution")
    [b'it', b's', b'2', b'o', b'clock', b'un_resolution']
    """
    if isinstance(document, bytes):
        document = document.decode()
    if document.isascii():
        return document.encode().translate(SMALL if lowercase else AS_IS).split()
    return [word.encode() for word in RUN.findall(document.lower() if lowercase else document)]


def chunks_of(documents: Iterable[Any], size: int = CHUNK) -> Iterator[list[Any]]:
    """Documents in lists of `size`."""
    if isinstance(documents, str | bytes):
        raise ValueError("Iterable over raw text documents expected, string object received.")  # noqa: TRY004 - as scikit-learn
    stream = iter(documents)
    while chunk := list(islice(stream, size)):
        yield chunk


def numbered(
    documents: list[Any], number: Callable[[bytes], int], *, lowercase: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The number of each word of each document, and where documents begin; -1: no number."""
    return numbered_words([words_of(each, lowercase=lowercase) for each in documents], number)


def numbered_words(
    words: list[list[bytes]], number: Callable[[bytes], int]
) -> tuple[np.ndarray, np.ndarray]:
    """The same of documents that are lists of words."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    begins = np.concatenate([[0], np.cumsum(lengths)])
    numbers = np.fromiter(map(number, chain.from_iterable(words)), np.int32, int(begins[-1]))
    return numbers, begins


def bag(numbers: np.ndarray, begins: np.ndarray, width: int, dtype: Any) -> Any:
    """Counts of the numbers of each document as a CSR array; -1 is left out."""
    from scipy.sparse import csr_array

    known = numbers >= 0
    if not known.all():
        begins = np.concatenate([[0], np.cumsum(known, dtype=np.int64)])[begins]
        numbers = numbers[known]
    begins = begins.astype(np.int32) if begins[-1] < 2**31 else begins
    X = csr_array((np.ones(len(numbers), dtype), numbers, begins), shape=(len(begins) - 1, width))
    X.sum_duplicates()
    return X
