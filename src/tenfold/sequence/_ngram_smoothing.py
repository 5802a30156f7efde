"""Smoothing of n-gram counts: which share of a context's mass goes to symbols not seen after it.

All rules have one form. With c = c(h, w) occurrences of w after the context h, and h' the context
without its earliest symbol,

    p(w | h) = direct(h, w) + backoff(h) p(w | h')

and below the empty context stand equal probabilities. A rule is a way to choose `direct` and
`backoff` so that they sum to one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.sequence._context_tree import ContextTree

INTERPOLATE, BACK_OFF, LONGEST_ONLY = 0, 1, 2
_DEFAULT_DISCOUNT = 0.75  # where counts of counts do not tell one: Church and Gale's figure
_STUPID_FACTOR = 0.4  # Brants et al., 2007


class Smoothed(NamedTuple):
    """The two parts of each probability.

    Attributes
    ----------
    direct : (m,) what the counts of an n-gram give
    backoff : (contexts,) share of the shorter context
    rule : how the two are joined (see `score_symbols`)
    normalized : whether the probabilities after each context sum to one
    """

    direct: np.ndarray
    backoff: np.ndarray
    rule: int
    normalized: bool = True


def smooth(tree: ContextTree, name: str, parameters: dict[str, Any]) -> Smoothed:
    """Probabilities of n-grams by the smoothing rule of this name."""
    return SMOOTHING[name](tree, parameters)


def _totals(tree: ContextTree, values: np.ndarray) -> np.ndarray:
    """Sum over the n-grams of each context."""
    return np.bincount(tree.contexts, values, minlength=len(tree.levels))


def _smooth_none(tree: ContextTree, _: dict[str, Any]) -> Smoothed:
    total = _totals(tree, tree.counts)
    return Smoothed(tree.counts / total[tree.contexts], np.zeros(len(total)), LONGEST_ONLY)


def _smooth_add_k(tree: ContextTree, parameters: dict[str, Any]) -> Smoothed:
    added = parameters["k"] * (tree.width - 1)
    total = _totals(tree, tree.counts) + added
    return Smoothed(tree.counts / total[tree.contexts], added / total, LONGEST_ONLY)


def _smooth_witten_bell(tree: ContextTree, _: dict[str, Any]) -> Smoothed:
    kinds = _totals(tree, np.ones(len(tree.counts)))
    total = _totals(tree, tree.counts) + kinds
    return Smoothed(tree.counts / total[tree.contexts], kinds / total, INTERPOLATE)


def _smooth_jelinek_mercer(tree: ContextTree, parameters: dict[str, Any]) -> Smoothed:
    n_levels = len(tree.first_context) - 1
    weights = parameters["weights"]
    if weights is None:
        weights = estimate_level_weights(tree)
    weights = np.asarray(weights, float)
    if weights.shape != (n_levels + 1,) or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError(
            f"weights={weights.tolist()}: give {n_levels + 1} numbers that are not negative, for "
            f"equal probabilities and for the orders 1 to {n_levels}"
        )
    cumulated = np.cumsum(weights)
    own = np.divide(weights, cumulated, out=np.zeros_like(weights), where=cumulated > 0)[1:]
    total = _totals(tree, tree.counts)
    share = own[tree.levels]
    direct = share[tree.contexts] * tree.counts / total[tree.contexts]
    return Smoothed(direct, 1 - share, INTERPOLATE)


def estimate_level_weights(tree: ContextTree) -> np.ndarray:
    """Weights of equal probabilities and of each order, by deleted interpolation.

    Each occurrence of an n-gram is left out of the counts in turn and votes for the order that then
    gives it the largest probability [1]_. Equal probabilities have at least one vote, so that
    nothing is impossible.

    References
    ----------
    .. [1] T. Brants, "TnT: a statistical part-of-speech tagger", ANLP 2000.
    """
    levels = tree.levels[tree.contexts]
    total = _totals(tree, tree.counts)
    n_levels = len(tree.first_context) - 1
    left_out = (tree.counts - 1) / np.maximum(total[tree.contexts] - 1, 1)
    best_level = np.full(len(levels), -1)
    best = np.full(len(levels), 1 / (tree.width - 1))
    shorter = find_shorter(tree)
    for level in range(n_levels):  # shorter contexts first: what they found is handed on
        at = np.flatnonzero(levels == level)
        if level:
            best[at], best_level[at] = best[shorter[at]], best_level[shorter[at]]
        better = at[left_out[at] >= best[at]]
        best[better], best_level[better] = left_out[better], level
    longest = (levels == n_levels - 1) | tree.begins[tree.contexts]
    votes = np.bincount(best_level[longest] + 1, tree.counts[longest], minlength=n_levels + 1)
    votes[0] = max(votes[0], 1)
    return votes / votes.sum()


def find_shorter(tree: ContextTree) -> np.ndarray:
    """(m,) place of each n-gram without its earliest symbol; -1 for single symbols."""
    keys = tree.parents[tree.contexts]
    roots = keys < 0
    keys *= tree.width
    keys += tree.symbols
    places = np.searchsorted(tree.ngram_keys, keys)
    np.minimum(places, len(keys) - 1, out=places)
    places[roots] = -1
    return places


def _smooth_absolute(tree: ContextTree, parameters: dict[str, Any]) -> Smoothed:
    discounts = _single_discounts(tree, tree.counts, parameters["discount"])
    return _discount_counts(tree, tree.counts, discounts)


def _smooth_kneser_ney(tree: ContextTree, parameters: dict[str, Any]) -> Smoothed:
    counts = count_continuations(tree)
    return _discount_counts(tree, counts, _single_discounts(tree, counts, parameters["discount"]))


def _smooth_modified_kneser_ney(tree: ContextTree, parameters: dict[str, Any]) -> Smoothed:
    counts = count_continuations(tree)
    given = parameters["discount"]
    if given is not None:
        return _discount_counts(tree, counts, _single_discounts(tree, counts, given))
    return _discount_counts(tree, counts, estimate_modified_discounts(tree, counts))


def count_continuations(tree: ContextTree) -> np.ndarray:
    """Kneser-Ney counts: before how many different symbols an n-gram was preceded.

    The longest n-grams, and those that begin a document, keep their numbers of occurrences.
    """
    shorter = find_shorter(tree)
    continuations = np.bincount(shorter[shorter >= 0], minlength=len(tree.counts))
    n_levels = len(tree.first_context) - 1
    keeps = (tree.levels == n_levels - 1) | tree.begins
    return np.where(keeps[tree.contexts], tree.counts, continuations)


def _counts_of_counts(tree: ContextTree, counts: np.ndarray, level: int) -> np.ndarray:
    """How many n-grams of a level were counted 1, 2, 3 and 4 times."""
    of_level = counts[tree.levels[tree.contexts] == level]
    return np.bincount(of_level[of_level <= 4], minlength=5)[1:]


def _single_discounts(tree: ContextTree, counts: np.ndarray, given: float | None) -> np.ndarray:
    """(levels, 3) the same discount for counts of 1, 2 and more: n1 / (n1 + 2 n2)."""
    n_levels = len(tree.first_context) - 1
    if given is not None:
        return np.full((n_levels, 3), float(given))
    discounts = np.empty((n_levels, 3))
    for level in range(n_levels):
        n1, n2, *_ = _counts_of_counts(tree, counts, level)
        discounts[level] = n1 / (n1 + 2 * n2) if n1 and n2 else _DEFAULT_DISCOUNT
    return discounts


def estimate_modified_discounts(tree: ContextTree, counts: np.ndarray) -> np.ndarray:
    """(levels, 3) discounts of counts of 1, 2 and at least 3, by Chen and Goodman's formula.

    A level whose counts of counts leave the formula undefined, as of small texts and of letters, or
    lead outside of 0 < D(c) <= c, takes the single discount n1 / (n1 + 2 n2), or 0.75 where that is
    undefined too.
    """
    discounts = _single_discounts(tree, counts, None)
    for level in range(len(discounts)):
        n = _counts_of_counts(tree, counts, level).astype(float)
        if not n.all():
            continue
        share = n[0] / (n[0] + 2 * n[1])
        three = np.arange(1, 4) - np.arange(2, 5) * share * n[1:] / n[:-1]
        if (three > 0).all():
            discounts[level] = three
    return discounts


def _discount_counts(tree: ContextTree, counts: np.ndarray, discounts: np.ndarray) -> Smoothed:
    """Interpolation with the mass that discounts leave."""
    contexts = tree.contexts
    discount = discounts[tree.levels[contexts], np.clip(counts, 1, 3) - 1]
    discount = np.minimum(discount, counts)
    total = _totals(tree, counts)
    left = _totals(tree, discount)
    safe = np.maximum(total, 1)
    return Smoothed(
        (counts - discount) / safe[contexts], np.where(total > 0, left / safe, 1.0), INTERPOLATE
    )


def _smooth_backoff(tree: ContextTree, parameters: dict[str, Any]) -> Smoothed:
    """Katz's form: shorter contexts are asked only for symbols not seen after longer ones."""
    discounts = _single_discounts(tree, tree.counts, parameters["discount"])
    direct, left, _, _ = _discount_counts(tree, tree.counts, discounts)
    levels, shorter = tree.levels[tree.contexts], find_shorter(tree)
    total = _totals(tree, tree.counts)
    seen = np.bincount(tree.contexts, minlength=len(left)) / (tree.width - 1)
    for level in range(len(tree.first_context) - 1):
        at = np.flatnonzero(levels == level)
        if level:  # what the shorter context gives to the symbols that were seen
            seen += np.bincount(
                tree.contexts[at], direct[shorter[at]], minlength=len(left)
            ) - np.where(tree.levels == level, seen, 0)
        # A context after which all symbols were seen has none to give its mass to.
        full = (tree.levels == level) & (seen > 1 - 1e-12)
        left[full] = 0
        whole = at[full[tree.contexts[at]]]
        direct[whole] = tree.counts[whole] / total[tree.contexts[whole]]
    backoff = left / np.where(seen > 1 - 1e-12, 1.0, 1 - seen)
    return Smoothed(direct, backoff, BACK_OFF)


def _smooth_stupid_backoff(tree: ContextTree, _: dict[str, Any]) -> Smoothed:
    total = _totals(tree, tree.counts)
    factor = np.full(len(total), _STUPID_FACTOR)
    return Smoothed(tree.counts / total[tree.contexts], factor, BACK_OFF, normalized=False)


SMOOTHING: dict[str, Callable[[ContextTree, dict[str, Any]], Smoothed]] = {
    "none": _smooth_none,
    "add_k": _smooth_add_k,
    "jelinek_mercer": _smooth_jelinek_mercer,
    "absolute": _smooth_absolute,
    "witten_bell": _smooth_witten_bell,
    "kneser_ney": _smooth_kneser_ney,
    "modified_kneser_ney": _smooth_modified_kneser_ney,
    "backoff": _smooth_backoff,
    "stupid_backoff": _smooth_stupid_backoff,
}
