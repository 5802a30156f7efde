"""Ways through the candidates: all of them, finer and finer, or fewer and fewer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.select.candidates import refined
from tenfold.select.fitting import Candidates
from tenfold.select.halving import shares, survivors, thinned
from tenfold.select.rules import best
from tenfold.select.trial import Found, Trial, joined

Worth = Callable[[Candidates, np.ndarray], np.ndarray]  # scores (parts, candidates) less costs


class Tried(NamedTuple):
    """Candidates that were judged, what was found, and the numbers of those that may win."""

    candidates: Candidates
    found: Found
    may_win: list[int]

    def and_then(self, candidates: Candidates, found: Found) -> Tried:
        """With more candidates, all of which may win too."""
        known = len(self.candidates)
        more = list(range(known, known + len(candidates)))
        both = side_by_side(self.found, found)
        return Tried(self.candidates + candidates, both, self.may_win + more)


def all_of_them(trial: Trial, candidates: Candidates, *, train: bool) -> Tried:
    """Judge every candidate."""
    return Tried(candidates, trial.run(candidates, train=train), list(range(len(candidates))))


def finer_and_finer(
    trial: Trial, candidates: Candidates, worth: Worth, rounds: int, *, train: bool
) -> Tried:
    """Judge a grid, then finer ones around the best, so many times."""
    tried = all_of_them(trial, candidates, train=train)
    for _ in range(rounds):
        top = best(worth(tried.candidates, tried.found.test[:, :, 0]))
        new = refined(tried.candidates, tried.candidates[top])
        if not new:
            break
        tried = tried.and_then(new, trial.run(new, train=train))
    return tried


def by_halving(
    trial: Trial, candidates: Candidates, worth: Worth, factor: float, seed: int, *, train: bool
) -> Tried:
    """Judge all on few rows, one in `factor` of them on `factor` times as many, and so on."""
    parts = sum(split.parts for split in trial.splits)
    rows = len(trial.splits[0].cell)
    tried: Tried | None = None
    for share in shares(rows, parts, len(candidates), factor):
        thin = [thinned(split, share, seed) for split in trial.splits]
        here = joined([trial.on_split(split, candidates, train=train) for split in thin])
        now = Tried(candidates, here, list(range(len(candidates))))
        tried = now if tried is None else tried._replace(may_win=[]).and_then(candidates, here)
        keep = survivors(worth(candidates, here.test[:, :, 0]), factor)
        candidates = [candidates[i] for i in keep]
    if tried is None:
        raise ValueError("there are no candidates")
    return tried


def side_by_side(a: Found, b: Found) -> Found:
    """The candidates of two runs one after the other."""
    train = None
    if a.train is not None and b.train is not None:
        train = np.concatenate([a.train, b.train], axis=1)
    models = [x + y for x, y in zip(a.models, b.models, strict=True)]
    seconds = a.fit_seconds + b.fit_seconds, a.score_seconds + b.score_seconds
    return Found(np.concatenate([a.test, b.test], axis=1), train, models, *seconds)
