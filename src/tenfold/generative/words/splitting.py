"""Documents as words, or as runs of neighbouring words."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tenfold.maths.tokens import words_of


class Splitter(NamedTuple):
    """How a document becomes terms: single words, pairs, or any run from `low` to `high` words.

    Attributes
    ----------
    lowercase : whether capital letters are made small
    low, high : shortest and longest run
    stops : words to leave out before neighbours are joined
    """

    lowercase: bool = True
    low: int = 1
    high: int = 1
    stops: frozenset[bytes] = frozenset()

    def terms(self, document: Any) -> list[bytes]:
        """The terms of a document; single words as they come, sorted out when columns are chosen.

        Examples
        --------
        >>> Splitter(high=2, stops=frozenset([b"the"])).terms("The quick brown fox")
        [b'quick', b'brown', b'fox', b'quick brown', b'brown fox']
        """
        words = words_of(document, lowercase=self.lowercase)
        if self.high == 1:
            return words
        words = [word for word in words if is_word(word) and word not in self.stops]
        return [run for n in range(self.low, self.high + 1) for run in runs(words, n)]


def splitter(lowercase: bool, ngram_range: Any, stop_words: Any) -> Splitter:
    """The splitter that parameters ask for."""
    low, high = ngram_range
    if not 1 <= low <= high:
        raise ValueError(
            f"ngram_range={ngram_range!r} is no range of lengths: give (1, 2) for words and pairs"
        )
    stops = frozenset(word.encode() for word in stop_list(stop_words))
    return Splitter(lowercase, int(low), int(high), stops)


def is_word(run: bytes) -> bool:
    """Whether a run has at least two characters."""
    return len(run) > 1 and (run.isascii() or len(run.decode()) > 1)


def runs(words: list[bytes], n: int) -> list[bytes]:
    """Every run of n words, with blanks between them."""
    if n == 1:
        return words
    return [b" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def stop_list(stop_words: Any) -> Any:
    """The words to leave out."""
    if stop_words is None:
        return ()
    return ENGLISH_STOP_WORDS if isinstance(stop_words, str) else stop_words
