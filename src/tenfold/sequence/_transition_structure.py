"""Structures of transitions between hidden states: free, left-right, banded, tied, sticky."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.sequence._hmm_emissions import dirichlet_log_prior


class TransitionStructure(NamedTuple):
    """Which transitions are allowed, and the prior of their probabilities.

    Attributes
    ----------
    allowed : (K, K) truth values
    tied : whether all rows are one distribution
    prior : (K, K) parameters of Dirichlet distributions of the rows
    start : (K,) distribution of the first state, if the structure fixes it
    """

    allowed: np.ndarray
    tied: bool
    prior: np.ndarray
    start: np.ndarray | None

    @classmethod
    def of(cls, transitions: Any, K: int, sticky: float, prior: Any) -> TransitionStructure:
        """The structure of this name, or of an array that is zero where nothing may go."""
        ones = np.ones((K, K), bool)
        if not isinstance(transitions, str):
            allowed = np.asarray(transitions) > 0
            if allowed.shape != (K, K) or not allowed.any(axis=1).all():
                raise ValueError(
                    f"transitions of shape {allowed.shape} for {K} states: give a {K} x {K} table "
                    "in which each row allows at least one transition"
                )
        else:
            reach = {"left-right": (0, K), "banded": (-1, 1)}.get(transitions)
            allowed = ones if reach is None else np.tril(np.triu(ones, reach[0]), reach[1])
        full = np.broadcast_to(np.asarray(prior, float), (K, K)) + sticky * np.eye(K)
        name = transitions if isinstance(transitions, str) else ""
        return cls(allowed, name == "tied", full, np.eye(K)[0] if name == "left-right" else None)

    def initialize(
        self, labels: np.ndarray, offsets: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Transitions of labelled sequences, one more of each kind, with a little noise."""
        K = len(self.allowed)
        before = np.ones(len(labels), bool)
        before[offsets[1:][np.diff(offsets) > 0] - 1] = False
        at = np.flatnonzero(before)
        counts = np.bincount(labels[at] * K + labels[at + 1], minlength=K * K).reshape(K, K) + 1.0
        counts = np.where(self.allowed, counts * rng.uniform(0.9, 1.1, (K, K)), 0.0)
        return self._normalize(counts)

    def update(self, transition: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The most probable transitions given expected counts; zeros stay, empty rows too."""
        total = np.where(transition > 0, np.maximum(counts + self.prior - 1, 0), 0.0)
        if self.tied:
            total = np.broadcast_to(total.sum(axis=0), total.shape)
        sums = total.sum(axis=1, keepdims=True)
        return np.where(sums > 0, total / np.where(sums > 0, sums, 1.0), transition)

    def log_prior(self, transition: np.ndarray) -> float:
        """Log-density of the transitions, up to a constant."""
        return dirichlet_log_prior(self.prior, transition)

    def _normalize(self, counts: np.ndarray) -> np.ndarray:
        if self.tied:
            counts = np.broadcast_to(counts.sum(axis=0), counts.shape)
        return counts / counts.sum(axis=1, keepdims=True)
