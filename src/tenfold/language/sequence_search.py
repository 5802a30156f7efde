"""The search for sequences of symbols with a large probability: greedy, beam, sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.sequence._text_generation import adjust_probabilities

State = tuple[np.ndarray, ...]
Step = Callable[[State, np.ndarray], tuple[np.ndarray, State]]


class Hypothesis(NamedTuple):
    """A sequence of symbols without its end, the log-probability, and whether it has ended."""

    symbols: list[int]
    log_prob: float
    ended: bool


def beam_search(
    step: Step,
    state: State,
    begin: int,
    end: int,
    *,
    width: int,
    max_length: int,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    r"""The best sequences that a beam finds, the best first.

    Of all continuations of the sequences in the beam by one symbol, the `width` most probable stay;
    those that end leave the beam.
    A beam that is wide enough for all of them finds the most probable sequence; one of width 1
    takes the most probable symbol each time (greedy).

    Parameters
    ----------
    step : callable
        `step(state, symbols)` gives log-probabilities (n, n_symbols) of what follows n sequences
        that were read up to `symbols`, and their new state, arrays whose first axis are sequences.
    state : tuple of arrays
        Of one sequence, before `begin`.
    begin, end : int
        Numbers of the symbol before a sequence and of the one that ends it.
    width : int
        Sequences that are kept.
    max_length : int
        Most symbols, the end included; longer sequences are cut.
    length_penalty : float
        Sequences are ranked by log-probability / length^penalty; 0 for probabilities alone.

    Returns
    -------
    list of Hypothesis

    Examples
    --------
    Greedily "b" comes first, but "a c" is more probable:

    >>> p = {0: [0, 0.45, 0.55, 0], 1: [0.0, 0, 0, 1], 2: [0.5, 0, 0, 0.5], 3: [1, 0, 0, 0]}
    >>> def step(state, symbols):
    ...     rows = np.array([p[int(s)] for s in symbols], float)
    ...     return np.log(np.maximum(rows, 1e-30)), state
    >>> start = (np.zeros((1, 1)),)
    >>> [beam_search(step, start, 0, 0, width=w, max_length=4)[0].symbols for w in (1, 3)]
    [[2], [1, 3]]
    """
    if width < 1:
        raise ValueError(f"a beam of width {width}: give the number of sequences to keep")
    beams, last = [Hypothesis([], 0.0, ended=False)], np.array([begin])
    ended: list[Hypothesis] = []
    for length in range(1, max_length + 1):
        logs, state = step(state, last)
        totals = logs + np.array([beam.log_prob for beam in beams])[:, None]
        flat = totals.reshape(-1)
        best = np.argsort(-flat, kind="stable")[:width]
        parents, symbols = np.divmod(best, totals.shape[1])
        ended += [
            Hypothesis(beams[parents[at]].symbols, float(flat[best[at]]), ended=True)
            for at in np.flatnonzero(symbols == end)
        ]
        kept = np.flatnonzero(symbols != end)
        beams = [
            Hypothesis(
                [*beams[parents[at]].symbols, int(symbols[at])], float(flat[best[at]]), ended=False
            )
            for at in kept
        ]
        state = tuple(array[parents[kept]] for array in state)
        last = symbols[kept]
        if not beams or (not length_penalty and _is_settled(ended, beams, width)):
            break
        if length == max_length:
            ended += beams
    return _rank(ended, length_penalty)[:width]


def _is_settled(ended: list[Hypothesis], beams: list[Hypothesis], width: int) -> bool:
    """Whether no sequence of the beam can still come among the best: they only lose probability."""
    if len(ended) < width:
        return False
    worst = sorted((each.log_prob for each in ended), reverse=True)[width - 1]
    return max(beam.log_prob for beam in beams) <= worst


def _rank(found: list[Hypothesis], length_penalty: float) -> list[Hypothesis]:
    def value(each: Hypothesis) -> float:
        return each.log_prob / (len(each.symbols) + each.ended) ** length_penalty

    return sorted(found, key=lambda each: (-value(each), each.symbols))


def decode_rows(
    step: Step,
    state: State,
    begin: int,
    end: int,
    max_length: int,
    choose: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> list[list[int]]:
    """One sequence for each row of a state, symbol by symbol.

    Parameters
    ----------
    step, state, begin, end, max_length : see `beam_search`
        The model; the state has several rows.
    choose : callable
        `choose(log_probabilities, rows)` gives a symbol for each of the rows that have not ended.
    """
    rows = np.arange(len(state[0]))
    found: list[list[int]] = [[] for _ in rows]
    last, running = np.full(len(rows), begin), np.ones(len(rows), bool)
    for _ in range(max_length):
        logs, state = step(state, last)
        last = np.full(len(rows), end)
        last[running] = choose(logs[running], rows[running])
        running &= last != end
        for row in rows[running]:
            found[row].append(int(last[row]))
        if not running.any():
            break
    return found


def draw_symbols(
    probabilities: np.ndarray,
    rngs: list[np.random.Generator],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> np.ndarray:
    """A symbol for each row of probabilities, drawn with the generator of the row.

    Parameters
    ----------
    probabilities : (n, n_symbols) array
        Rows sum to one.
    rngs : list of n generators
        Their randomness.
    temperature, top_k, top_p
        See `NGramModel.sample`.
    """
    drawn = []
    for row, rng in zip(probabilities, rngs, strict=True):
        totals = np.cumsum(adjust_probabilities(row, temperature, top_k, top_p))
        drawn.append(np.searchsorted(totals, rng.random() * totals[-1], side="right"))
    return np.array(drawn)
