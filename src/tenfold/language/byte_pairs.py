"""Byte-pair encoding: frequent pairs of symbols are merged to longer symbols."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from numbers import Integral
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.sequence._symbols import check_text, iterate_documents

# Words with the blank before them, runs of marks, and other blanks. What has no end (a script
# without blanks, a long line of dashes) is cut, since the time to merge grows with the square.
_PIECES = re.compile(r" ?\w{1,64}| ?[^\w\s]{1,64}|\s{1,64}?(?=\s\w)|\s")
_MAX_CACHED_WORDS = 100_000


class BytePairTokenizer(BaseEstimator):
    """Byte-pair encoding: cut texts into symbols between characters and words.

    Learning begins with single characters; the pair of neighbors that is most frequent within
    words becomes a symbol, and so on until there are `n_symbols`. A word keeps the blank before it,
    so that `join` gives back every text. A character that was not seen is a symbol of its own.

    The statistic are counts of words, from one pass, which add up: `partial_fit` and `merge` give
    exactly the tokenizer of all documents.

    Parameters
    ----------
    n_symbols : int
        Characters and merged pairs, at most.
    min_count : int
        A pair that occurs less often is not merged.
    lowercase : bool
        Whether to convert texts to lower case first.

    Attributes
    ----------
    merges_ : list of (str, str)
        Merged pairs, in order.
    symbols_ : list of str
        Characters in their order, then merged pairs.
    word_counts_ : dict
        How often each word occurs.

    References
    ----------
    R. Sennrich, B. Haddow, A. Birch (2016), "Neural machine translation of rare words with subword
    units".

    Examples
    --------
    >>> from tenfold import BytePairTokenizer
    >>> tokenizer = BytePairTokenizer(12).fit(["low low low lower lowest"])
    >>> tokenizer("low slower")
    ['low', ' ', 's', 'low', 'e', 'r']
    >>> tokenizer.join(tokenizer("low slower"))
    'low slower'
    """

    _parameter_constraints: dict[str, Any] = {
        "n_symbols": [Interval(Integral, 1, None, closed="left")],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "lowercase": ["boolean"],
    }

    def __init__(
        self, n_symbols: int = 1000, *, min_count: int = 2, lowercase: bool = False
    ) -> None:
        self.n_symbols = n_symbols
        self.min_count = min_count
        self.lowercase = lowercase

    def fit(self, documents: Any, y: Any = None) -> Self:
        """Learn the symbols of documents.

        Parameters
        ----------
        documents : str, iterable of str, or path
            One text, several, or the lines of a text file.
        y : None
            Not used.

        Returns
        -------
        self
        """
        vars(self).pop("word_counts_", None)
        return self.partial_fit(documents)

    def partial_fit(self, documents: Any, y: Any = None) -> Self:
        """Learn from more documents, as if they had been part of those so far.

        Parameters
        ----------
        documents : as for `fit`
            More documents.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._validate_params()
        counts = Counter(getattr(self, "word_counts_", {}))
        for document in iterate_documents(documents, lines=False):
            if not isinstance(document, str):
                raise TypeError(f"a document is text, not {type(document).__name__}")
            counts.update(self._split(document))
        self._learn(counts)
        return self

    def merge(self, other: Self) -> Self:
        """Merge with a tokenizer of other documents; returns that of both parts.

        Parameters
        ----------
        other : fitted tokenizer with the same parameters
            It is left as it is.
        """
        check_is_fitted(self)
        if self.get_params() != other.get_params():
            raise ValueError("tokenizers that are merged must have the same parameters")
        merged = type(self)(**self.get_params())
        merged._learn(Counter(self.word_counts_) + Counter(other.word_counts_))  # noqa: SLF001
        return merged

    def _learn(self, counts: Counter[str]) -> None:
        if not counts:
            raise ValueError("there are no characters: the documents are empty")
        characters = sorted({character for word in counts for character in word})
        room = max(self.n_symbols - len(characters), 0)
        self.merges_ = learn_merges(counts, room, self.min_count)
        self.symbols_ = [*characters, *(a + b for a, b in self.merges_)]
        self.word_counts_ = dict(sorted(counts.items()))
        vars(self).pop("_cut_words", None)

    def _split(self, text: str) -> list[str]:
        return _PIECES.findall(text.lower() if self.lowercase else text)

    def __call__(self, text: str) -> list[str]:
        """The symbols of a text.

        Parameters
        ----------
        text : str
            The text.
        """
        check_is_fitted(self)
        known = self._word_cache()
        ranks = known["ranks"]
        found: list[str] = []
        for word in self._split(check_text(text, "what byte pairs cut")):
            cut = known["words"].get(word)
            if cut is None:
                cut = _merge_word(list(word), ranks)
                if len(known["words"]) < _MAX_CACHED_WORDS:
                    known["words"][word] = cut
            found += cut
        return found

    def join(self, symbols: list[str]) -> str:
        """The text of symbols.

        Parameters
        ----------
        symbols : list of str
            As of a call.
        """
        return "".join(symbols)

    def _word_cache(self) -> dict[str, Any]:
        """Ranks of the merges, and symbols of words that were cut before; never saved."""
        if "_cut_words" not in vars(self):
            ranks = {pair: rank for rank, pair in enumerate(map(tuple, self.merges_))}
            self._cut_words = {"ranks": ranks, "words": {}}
        return self._cut_words

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_cut_words"}


def learn_merges(counts: dict[str, int], n_merges: int, min_count: int) -> list[tuple[str, str]]:
    """The pairs to merge, the most frequent first; ties in the order of the pairs.

    Parameters
    ----------
    counts : dict
        How often each word occurs.
    n_merges : int
        Most pairs.
    min_count : int
        Least count of a pair.

    Examples
    --------
    >>> learn_merges({"aab": 3, "ab": 1}, 2, 1)
    [('a', 'b'), ('a', 'ab')]
    """
    words = [(list(word), counts[word]) for word in sorted(counts)]
    pairs: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, (symbols, count) in enumerate(words):
        for pair in pairwise(symbols):
            pairs[pair] += count
            places[pair].add(number)
    merges: list[tuple[str, str]] = []
    while len(merges) < n_merges and pairs:
        count = max(pairs.values())
        if count < min_count:
            break
        best = min(pair for pair, n in pairs.items() if n == count)
        merges.append(best)
        for number in sorted(places.pop(best)):
            symbols, n = words[number]
            for pair in pairwise(symbols):
                pairs[pair] -= n
                places[pair].discard(number)
            symbols = _merge_pair(symbols, best)
            words[number] = (symbols, n)
            for pair in pairwise(symbols):
                pairs[pair] += n
                places[pair].add(number)
        pairs = +pairs  # without pairs that no longer occur
    return merges


def _merge_pair(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """Symbols with each occurrence of a pair merged, from left to right."""
    merged, at = [], 0
    while at < len(symbols):
        if at + 1 < len(symbols) and symbols[at] == pair[0] and symbols[at + 1] == pair[1]:
            merged.append(symbols[at] + symbols[at + 1])
            at += 2
        else:
            merged.append(symbols[at])
            at += 1
    return merged


def _merge_word(symbols: list[str], ranks: dict[tuple[str, str], int]) -> list[str]:
    """Symbols of a word after all merges, the earliest first."""
    while len(symbols) > 1:
        found = [ranks.get(pair) for pair in pairwise(symbols)]
        known = [rank for rank in found if rank is not None]
        if not known:
            break
        at = found.index(min(known))
        symbols = _merge_pair(symbols, (symbols[at], symbols[at + 1]))
    return symbols
