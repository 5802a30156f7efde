r"""Tokens of documents, and documents as rows of token counts.

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

_TOKEN_PATTERN = re.compile(r"\w+")  # single letters are dropped when columns are chosen
BATCH_DOCUMENTS = 4096  # documents that are counted at once
_CHARACTERS = [chr(code) for code in range(256)]
_TOKEN_CHARACTERS = [
    c if code < 128 and _TOKEN_PATTERN.match(c) else " " for code, c in enumerate(_CHARACTERS)
]
_ASCII_TABLE = "".join(_TOKEN_CHARACTERS).encode("latin-1")
_ASCII_LOWER_TABLE = _ASCII_TABLE.lower()


def tokenize(document: str | bytes, *, lowercase: bool = True) -> list[bytes]:
    """Runs of letters, digits and underscores, single ones too.

    Examples
    --------
    >>> tokenize("It's 2 o'clock: UN_resolution")
    [b'it', b's', b'2', b'o', b'clock', b'un_resolution']
    """
    if isinstance(document, bytes):
        document = document.decode()
    if document.isascii():
        return (
            document.encode().translate(_ASCII_LOWER_TABLE if lowercase else _ASCII_TABLE).split()
        )
    return [
        word.encode()
        for word in _TOKEN_PATTERN.findall(document.lower() if lowercase else document)
    ]


def iterate_batches(documents: Iterable[Any], size: int = BATCH_DOCUMENTS) -> Iterator[list[Any]]:
    """Documents in lists of `size`."""
    if isinstance(documents, str | bytes):
        raise ValueError("Iterable over raw text documents expected, string object received.")  # noqa: TRY004 - as scikit-learn
    stream = iter(documents)
    while chunk := list(islice(stream, size)):
        yield chunk


def encode_documents(
    documents: list[Any], number: Callable[[bytes], int], *, lowercase: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The number of each word of each document, and where documents begin; -1: no number."""
    return encode_tokens([tokenize(each, lowercase=lowercase) for each in documents], number)


def encode_tokens(
    words: list[list[bytes]], number: Callable[[bytes], int]
) -> tuple[np.ndarray, np.ndarray]:
    """The same of documents that are lists of words."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    begins = np.concatenate([[0], np.cumsum(lengths)])
    numbers = np.fromiter(map(number, chain.from_iterable(words)), np.int32, int(begins[-1]))
    return numbers, begins


def bag_of_words(numbers: np.ndarray, begins: np.ndarray, width: int, dtype: Any) -> Any:
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
