"""Labels that are words, kept as small numbers."""

from __future__ import annotations

import threading

import numpy as np

from tenfold.rows.files.stored import Stored


class Labels:
    """A column of words: each word is kept once, a file holds its number for every row."""

    def __init__(self, codes: Stored) -> None:
        self.codes = codes
        self.known: dict[str, int] = {}
        self.lock = threading.Lock()
        self.words = np.array([], str)

    def write(self, first: int, words: np.ndarray) -> None:
        """Put the words of the rows from `first` on in their place."""
        distinct, inverse = np.unique(words, return_inverse=True)
        with self.lock:
            numbers = [self.known.setdefault(word, len(self.known)) for word in distinct.tolist()]
        self.codes.write(first, np.array(numbers, np.int32)[inverse])

    def ended(self, n_rows: int) -> Labels:
        """The same column, now that it is known how many rows were written."""
        self.codes = self.codes.ended(n_rows)
        self.words = np.array(list(self.known))
        return self

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.take(self.words, self.codes[rows])
