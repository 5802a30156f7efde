r"""Tokens of documents, and documents as rows of token counts.

A word is a run of at least two letters, digits or underscores, as in scikit-learn's vectorizers
(`(?u)\b\w\w+\b`). Plain ASCII needs no regular expression: a table of 256 entries maps letters to
lower case and other characters to blanks, and `split` does the rest. Words are UTF-8 bytes, whose
order is that of their code points.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

WORD_PATTERN = r"(?u)\b\w\w+\b"  # scikit-learn's default
_TOKEN_PATTERN = re.compile(r"\w+")  # single letters are dropped when columns are chosen
BATCH_DOCUMENTS = 4096  # documents per batch
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
    if not isinstance(document, str):
        raise TypeError(
            f"a document is text, not {type(document).__name__}: give a list of strings, or one "
            "column of a table"
        )
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
    """Number of each word of each document (-1: none), and the start of each document."""
    return encode_tokens(
        [tokenize(document, lowercase=lowercase) for document in documents], number
    )


def encode_tokens(
    words: list[list[bytes]], number: Callable[[bytes], int]
) -> tuple[np.ndarray, np.ndarray]:
    """`encode_documents` for documents that are lists of words."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    numbers = np.fromiter(map(number, chain.from_iterable(words)), np.int32, int(starts[-1]))
    return numbers, starts


def bag_of_words(numbers: np.ndarray, starts: np.ndarray, width: int, dtype: Any) -> Any:
    """Counts of the numbers of each document as a CSR array; -1 is ignored."""
    from scipy.sparse import csr_array

    in_vocabulary = numbers >= 0
    if not in_vocabulary.all():
        starts = np.concatenate([[0], np.cumsum(in_vocabulary, dtype=np.int64)])[starts]
        numbers = numbers[in_vocabulary]
    starts = starts.astype(np.int32) if starts[-1] < 2**31 else starts
    X = csr_array((np.ones(len(numbers), dtype), numbers, starts), shape=(len(starts) - 1, width))
    X.sum_duplicates()
    return X
