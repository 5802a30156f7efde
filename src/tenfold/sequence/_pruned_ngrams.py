"""From counted n-grams to smoothed ones, part by part; rare ones may be forgotten on the way.

A part holds all n-grams that have certain symbols before the last one, so it holds whole contexts;
only the single symbols, and the parameters of a rule, concern all parts at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from tenfold.sequence._context_tree import ContextTree, build_context_tree
from tenfold.sequence._ngram_counts import NgramCounts
from tenfold.sequence._ngram_smoothing import (
    INTERPOLATE,
    KNESER_NEY,
    LevelSums,
    Smoothed,
    resolve_parameters,
    rule_counts,
    smooth,
    sum_levels,
)


class Blocks(Protocol):
    """N-grams in parts, which can be read several times."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Any: ...


class SmoothingSettings(NamedTuple):
    """How counts become probabilities.

    Attributes
    ----------
    size : symbols of the vocabulary
    boundaries : whether the beginning of a document is a context
    name : of the smoothing rule
    parameters : as given to the model
    least_counts : (order,) n-grams of each order that occur less often are forgotten; None for none
    """

    size: int
    boundaries: bool
    name: str
    parameters: dict[str, Any]
    least_counts: Sequence[int] | None = None


def smooth_blocks(
    blocks: Blocks, settings: SmoothingSettings, root_counts: np.ndarray | None = None
) -> tuple[ContextTree, Smoothed]:
    """The tree of all n-grams, and their probabilities.

    Parameters
    ----------
    blocks : list of NgramCounts, or NgramBlocks
        Tables in the form that `build_context_tree` takes.
    settings : SmoothingSettings
        The rule.
    root_counts : (size,) array, optional
        How often each symbol occurs; needed for several parts.
    """
    size, boundaries, name, parameters, _ = settings

    def build(block: NgramCounts) -> ContextTree:
        return build_context_tree(block, size, boundaries=boundaries, root_counts=root_counts)

    def finish(tree: ContextTree, counts: np.ndarray) -> tuple[ContextTree, Smoothed]:
        return prune(tree, smooth(tree, counts, name, resolved), settings.least_counts)

    if len(blocks) == 1 or root_counts is None:
        tree = build(next(iter(blocks)))
        counts = rule_counts(tree, name)
        sums = sum_levels(tree, counts, name, parameters)
        resolved = resolve_parameters(sums, name, parameters)
        return finish(tree, counts)

    def sum_block(block: NgramCounts) -> LevelSums:
        tree = build(block)
        return sum_levels(tree, rule_counts(tree, name), name, parameters)

    sums = reduce(LevelSums.merge, map(sum_block, blocks))
    if name not in KNESER_NEY:
        sums = sums._replace(root_counts=root_counts[root_counts > 0])
    resolved = resolve_parameters(sums, name, parameters)
    trees = map(build, blocks)
    return join_trees(finish(tree, rule_counts(tree, name, sums.root_counts)) for tree in trees)


def prune(
    tree: ContextTree, smoothed: Smoothed, least_counts: Sequence[int] | None
) -> tuple[ContextTree, Smoothed]:
    """Forget rare n-grams; their probability goes to the shorter context.

    Contexts without n-grams and without longer contexts are forgotten, too: nothing but the shorter
    context is asked there.
    """
    if least_counts is None:
        return tree, smoothed
    first, contexts = tree.first_ngram, tree.contexts
    keep = np.ones(len(contexts), bool)
    for level in range(1, len(first) - 1):
        part = slice(first[level], first[level + 1])
        keep[part] = tree.counts[part] >= least_counts[level]
    n_contexts = len(smoothed.backoff)
    backoff = smoothed.backoff
    if smoothed.rule == INTERPOLATE:
        gone = ~keep
        backoff = backoff + np.bincount(contexts[gone], smoothed.direct[gone], n_contexts)
    alive = np.bincount(contexts[keep], minlength=n_contexts) > 0
    alive[0] = True
    parents = tree.parents
    for level in range(len(first) - 2, 0, -1):
        part = slice(tree.first_context[level], tree.first_context[level + 1])
        alive[parents[part][alive[part]]] = True
    numbers = np.cumsum(alive) - 1
    starts = np.concatenate([numbers, numbers[-1:] + 1])[tree.first_context]
    starts += ~np.append(alive, True)[tree.first_context]  # the next that is left
    keys = tree.context_keys[alive[1:]]
    pruned = ContextTree(
        tree.width,
        numbers[keys // tree.width] * tree.width + keys % tree.width,
        starts,
        numbers[contexts[keep]] * tree.width + tree.symbols[keep],
        tree.counts[keep],
    )
    return pruned, smoothed._replace(direct=smoothed.direct[keep], backoff=backoff[alive])


class ArraySpool:
    """An array that comes in pieces, in a temporary file until all of them are there."""

    def __init__(self, dtype: type) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `move`
        self.dtype, self.size = dtype, 0

    def append(self, piece: np.ndarray) -> None:
        """Put a piece behind the others."""
        np.ascontiguousarray(piece, self.dtype).tofile(self.file)
        self.size += len(piece)

    def move(self, target: np.ndarray) -> None:
        """Put the pieces into an array; the file is gone then."""
        self.file.seek(0)
        buffer: Any = target.view(np.uint8)
        self.file.readinto(buffer)
        self.file.close()


class LevelParts(NamedTuple):
    """Pieces of one level: keys relative to the level above and to the level itself, and values."""

    context_keys: ArraySpool
    backoff: ArraySpool
    ngram_keys: ArraySpool
    counts: ArraySpool
    direct: ArraySpool

    @classmethod
    def empty(cls) -> LevelParts:
        """No pieces yet."""
        return cls(*map(ArraySpool, (np.int64, np.float64, np.int64, np.int64, np.float64)))


def join_trees(parts: Iterable[tuple[ContextTree, Smoothed]]) -> tuple[ContextTree, Smoothed]:
    """One tree of the trees of parts; their single symbols are the same."""
    parts = iter(parts)
    tree, smoothed = next(parts)
    width = tree.width
    levels = [LevelParts.empty() for _ in tree.first_context[1:]]
    _append_levels(levels, tree, smoothed)
    for more in parts:
        _append_levels(levels, *more)
    first = np.cumsum([0, *(level.backoff.size for level in levels)])
    above = width * np.concatenate([[0], first[:-2]])  # keys count from the level above
    context_keys = _join([level.context_keys for level in levels], above)
    ngram_keys = _join([level.ngram_keys for level in levels], width * first)
    backoff, counts, direct = (
        _join([getattr(level, name) for level in levels])
        for name in ("backoff", "counts", "direct")
    )
    tree = ContextTree(width, context_keys, first.astype(np.int64), ngram_keys, counts)
    return tree, smoothed._replace(direct=direct, backoff=backoff)


def _join(spools: list[ArraySpool], shifts: np.ndarray | None = None) -> np.ndarray:
    """The pieces of all levels in one array, with a number added to those of each level."""
    joined = np.empty(sum(spool.size for spool in spools), spools[0].dtype)
    at = 0
    for number, spool in enumerate(spools):
        part = joined[at : at + spool.size]
        spool.move(part)
        if shifts is not None:
            part += shifts[number]
        at += spool.size
    return joined


def _append_levels(levels: list[LevelParts], tree: ContextTree, smoothed: Smoothed) -> None:
    """Put the levels of a tree behind those of the parts before."""
    first, first_ngram = tree.first_context, tree.first_ngram
    done = [level.backoff.size for level in levels]  # contexts of the parts before
    for number, level in enumerate(levels):
        if number == 0 and level.backoff.size:  # single symbols are in every part
            continue
        contexts = slice(first[number], first[number + 1])
        ngrams = slice(first_ngram[number], first_ngram[number + 1])
        if number:
            shift = done[number - 1] * (number > 1) - first[number - 1]
            keys = tree.context_keys[first[number] - 1 : first[number + 1] - 1]
            level.context_keys.append(keys + shift * tree.width)
        level.backoff.append(smoothed.backoff[contexts])
        shift = done[number] - first[number]
        level.ngram_keys.append(tree.ngram_keys[ngrams] + shift * tree.width)
        level.counts.append(tree.counts[ngrams])
        level.direct.append(smoothed.direct[ngrams])
