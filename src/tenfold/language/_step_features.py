"""Sequences of tokens, of feature dictionaries or of numbers as one matrix with a row per step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp


def token_features(tokens: list[Any], place: int) -> dict[str, float]:
    """Features of a token: the word, its form, prefixes and suffixes, and its neighbors.

    Parameters
    ----------
    tokens : list of str
        A sequence.
    place : int
        The token.

    Examples
    --------
    >>> sorted(token_features(["In", "Rome"], 1))[:4]
    ['after=<end>', 'before=in', 'bias', 'form=Xxxx']
    """
    word = str(tokens[place])
    lower = word.lower()
    before = str(tokens[place - 1]).lower() if place else "<beg>"
    after = str(tokens[place + 1]).lower() if place + 1 < len(tokens) else "<end>"
    form = "".join(_form(letter) for letter in word)
    names = ["bias", f"word={lower}", f"form={form}", f"before={before}", f"after={after}"]
    names += [f"suffix={lower[-n:]}" for n in (1, 2, 3) if len(word) > n]
    names += [f"prefix={lower[:n]}" for n in (1, 2, 3) if len(word) > n]
    return dict.fromkeys(names, 1.0)


def _form(letter: str) -> str:
    if letter.isdigit():
        return "0"
    if letter.isalpha():
        return "X" if letter.isupper() else "x"
    return letter


def _is_table(sequence: Any) -> bool:
    """Whether the steps of a sequence are rows of numbers."""
    if isinstance(sequence, np.ndarray):
        return sequence.ndim == 2 and sequence.dtype.kind in "fiub"
    return all(
        isinstance(step, list | tuple | np.ndarray)
        and all(isinstance(value, Real) for value in step)
        for step in sequence
    )


def list_sequences(sequences: Any, name: str) -> list[Any]:
    """Sequences as a list; `name` is what an error calls them."""
    if not isinstance(sequences, Iterable):
        raise TypeError(f"{name} is a list of sequences, not {type(sequences).__name__}")
    found = list(sequences)
    for number, sequence in enumerate(found):
        if not hasattr(sequence, "__len__"):
            raise TypeError(
                f"{name}[{number}] is a sequence, one element for each step, not "
                f"{type(sequence).__name__}"
            )
    return found


class StepFeatures:
    """Reads sequences; columns are numbers of arrays, or named features.

    Parameters
    ----------
    extract : callable, optional
        `extract(sequence, place)` gives a dictionary, or an iterable of names; `token_features` by
        default, for tokens.
    names : list of str, optional
        Known features; None learns them.
    """

    def __init__(
        self, extract: Callable[[Any, int], Any] | None, names: list[str] | None = None
    ) -> None:
        self.extract, self.names = extract, names

    def read(self, X: Any) -> tuple[Any, np.ndarray]:
        """A matrix (n_steps, n_features), sparse for named features, and offsets of sequences."""
        if isinstance(X, str):
            raise TypeError("a text is no list of sequences: give lists of tokens, as in the fit")
        sequences = list_sequences(X, "X")
        if not sequences:
            raise ValueError("there are no sequences")
        lengths = [len(sequence) for sequence in sequences]
        if min(lengths) == 0:
            raise ValueError(f"sequence {lengths.index(0)} is empty")
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        if self.extract is None and _is_table(sequences[0]):
            return self._stack(sequences), offsets
        return self._vectorize(sequences), offsets

    def _stack(self, sequences: list[Any]) -> np.ndarray:
        widths = {np.shape(sequence)[1:] for sequence in sequences}
        if len(widths) > 1:
            raise ValueError(f"sequences have steps of different shapes: {sorted(widths)}")
        matrix = np.concatenate([np.asarray(each, float) for each in sequences])
        if not np.isfinite(matrix).all():
            raise ValueError("the sequences hold NaN or infinity: fill or leave such steps out")
        return matrix

    def _vectorize(self, sequences: list[Any]) -> sp.csr_matrix:
        learn = self.names is None
        columns = {} if self.names is None else {name: n for n, name in enumerate(self.names)}
        values: list[float] = []
        indices: list[int] = []
        ends = [0]
        for sequence in sequences:
            for place in range(len(sequence)):
                for name, value in self._features(sequence, place).items():
                    at = columns.setdefault(name, len(columns)) if learn else columns.get(name)
                    if at is not None:
                        indices.append(at)
                        values.append(float(value))
                ends.append(len(indices))
        if learn:
            self.names = list(columns)
        if not np.isfinite(values).all():
            raise ValueError("values of features hold NaN or infinity: leave such features out")
        shape = (len(ends) - 1, len(columns))
        return sp.csr_matrix((np.array(values), np.array(indices, np.int64), ends), shape)

    def _features(self, sequence: Any, place: int) -> dict[str, float]:
        step = sequence[place]
        found = step
        if self.extract is not None:
            found = self.extract(sequence, place)
        elif isinstance(step, str):
            found = token_features(sequence, place)
        if isinstance(found, Mapping):
            return {
                **{k: _feature_number(k, v) for k, v in found.items() if not isinstance(v, str)},
                **{f"{k}={v}": 1.0 for k, v in found.items() if isinstance(v, str)},
            }
        if isinstance(found, str) or not hasattr(found, "__iter__"):
            raise TypeError(
                "a step is a token, a dictionary of features, or names of features, not "
                f"{type(found).__name__}"
            )
        return dict.fromkeys(map(str, found), 1.0)


def _feature_number(name: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"feature {name!r} is a number, a truth value or a text, not {type(value).__name__}: "
            "leave it out where it is missing"
        ) from None
