"""How many different values there are: exact while they are few, then an estimate."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np


class Different(NamedTuple):
    """The smallest hashes of the values, each once: how many different values there are."""

    hashes: np.ndarray  # ascending
    limit: int

    @classmethod
    def of(cls, hashes: np.ndarray, limit: int) -> Different:
        """From the hashes of all values, or of each value once."""
        return cls(once(np.sort(hashes))[:limit], limit)

    def merge(self, other: Different) -> Different:
        both = np.sort(np.concatenate([self.hashes, other.hashes]), kind="stable")
        return Different(once(both)[: self.limit], self.limit)

    @property
    def more(self) -> bool:
        """Whether there are at least `limit` values, so that `number` is an estimate."""
        return len(self.hashes) >= self.limit

    @property
    def number(self) -> float:
        """How many; beyond the limit judged by how closely the smallest hashes lie."""
        if not self.more:
            return len(self.hashes)
        return (self.limit - 1) * 2.0**64 / max(float(self.hashes[-1]), 1.0)


def once(ascending: np.ndarray) -> np.ndarray:
    """Sorted numbers, each once."""
    return ascending[np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]]


def hash_of(value: str) -> int:
    """64 bits of a text, the same in every process."""
    letters = value.encode("utf-8", "surrogatepass")
    return zlib.crc32(letters) << 32 | zlib.adler32(letters)


def mixed_bits(bits: np.ndarray) -> np.ndarray:
    """Spread 64 bits evenly (the finaliser of splitmix64); different stay different."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
