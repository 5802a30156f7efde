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
KNESER_NEY = frozenset({"kneser_ney", "modified_kneser_ney"})
PRUNABLE = ("absolute", "jelinek_mercer", "kneser_ney", "modified_kneser_ney")
PRUNABLE += ("stupid_backoff", "witten_bell")


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


class RuleParameters(NamedTuple):
    """Parameters of a rule, as given or as estimated from all n-grams.

    Attributes
    ----------
    k : pseudo-count of each symbol
    discounts : (levels, 3) of counts of 1, 2 and more
    weights : (levels + 1,) of equal probabilities and of each order
    """

    k: float
    discounts: np.ndarray
    weights: np.ndarray


class LevelSums(NamedTuple):
    """What a rule has to know about all n-grams; of parts of them, it adds up.

    Attributes
    ----------
    counts_of_counts : (levels, 4) longer n-grams that were counted 1, 2, 3 and 4 times
    root_counts : counts of the single symbols, as the rule counts
    votes : (levels + 1,) of occurrences for equal probabilities and for each order
    """

    counts_of_counts: np.ndarray
    root_counts: np.ndarray
    votes: np.ndarray

    def merge(self, other: LevelSums) -> LevelSums:
        """Of both parts."""
        return LevelSums(*(a + b for a, b in zip(self, other, strict=True)))


def sum_levels(
    tree: ContextTree, counts: np.ndarray, name: str, parameters: dict[str, Any]
) -> LevelSums:
    """Sums over the n-grams of a tree, which may be a part of all; `counts` as the rule counts."""
    first = tree.first_ngram
    n_levels = len(first) - 1
    found = np.zeros((n_levels, 4), np.int64)
    for level in range(1, n_levels):
        found[level] = _counts_of_counts(counts[first[level] : first[level + 1]])
    votes = np.zeros(n_levels + 1)
    if name == "jelinek_mercer" and parameters["weights"] is None:
        votes = count_level_votes(tree)
    return LevelSums(found, counts[: first[1]], votes)


def rule_counts(tree: ContextTree, name: str, root_counts: np.ndarray | None = None) -> np.ndarray:
    """Counts of n-grams as a rule takes them; those of single symbols may be given."""
    if name not in KNESER_NEY:
        return tree.counts
    counts = count_continuations(tree)
    if root_counts is not None:
        counts[: len(root_counts)] = root_counts
    return counts


def resolve_parameters(sums: LevelSums, name: str, parameters: dict[str, Any]) -> RuleParameters:
    """Parameters of a rule: those that were given, others from the sums over all n-grams."""
    n_levels = len(sums.counts_of_counts)
    sums.counts_of_counts[0] = _counts_of_counts(sums.root_counts)
    discounts = single_discounts(sums.counts_of_counts, parameters["discount"])
    if name == "modified_kneser_ney" and parameters["discount"] is None:
        discounts = modified_discounts(sums.counts_of_counts)
    weights = parameters["weights"]
    if weights is None:
        votes = sums.votes
        votes[0] = max(votes[0], 1)
        weights = votes / votes.sum()
    weights = np.asarray(weights, float)
    if name == "jelinek_mercer" and (
        weights.shape != (n_levels + 1,) or (weights < 0).any() or not weights.sum() > 0
    ):
        raise ValueError(
            f"weights={weights.tolist()}: give {n_levels + 1} numbers that are not negative, for "
            f"equal probabilities and for the orders 1 to {n_levels}"
        )
    return RuleParameters(parameters["k"], discounts, weights)


def smooth(
    tree: ContextTree, counts: np.ndarray, name: str, parameters: RuleParameters
) -> Smoothed:
    """Probabilities of n-grams by the smoothing rule of this name."""
    return SMOOTHING[name](tree, counts, parameters)


def _totals(
    tree: ContextTree, values: np.ndarray, contexts: np.ndarray | None = None
) -> np.ndarray:
    """Sum over the n-grams of each context; `contexts` are those of the tree, if at hand."""
    contexts = tree.contexts if contexts is None else contexts
    return np.bincount(contexts, values, minlength=int(tree.first_context[-1]))


def _smooth_none(tree: ContextTree, counts: np.ndarray, _: RuleParameters) -> Smoothed:
    total = _totals(tree, counts)
    return Smoothed(counts / total[tree.contexts], np.zeros(len(total)), LONGEST_ONLY)


def _smooth_add_k(tree: ContextTree, counts: np.ndarray, parameters: RuleParameters) -> Smoothed:
    added = parameters.k * (tree.width - 1)
    total = _totals(tree, counts) + added
    return Smoothed(counts / total[tree.contexts], added / total, LONGEST_ONLY)


def _smooth_witten_bell(tree: ContextTree, counts: np.ndarray, _: RuleParameters) -> Smoothed:
    kinds = _totals(tree, np.ones(len(counts)))
    total = _totals(tree, counts) + kinds
    return Smoothed(counts / total[tree.contexts], kinds / total, INTERPOLATE)


def _smooth_jelinek_mercer(
    tree: ContextTree, counts: np.ndarray, parameters: RuleParameters
) -> Smoothed:
    weights = parameters.weights
    cumulated = np.cumsum(weights)
    own = np.divide(weights, cumulated, out=np.zeros_like(weights), where=cumulated > 0)[1:]
    total = _totals(tree, counts)
    share = own[tree.levels]
    direct = share[tree.contexts] * counts / total[tree.contexts]
    return Smoothed(direct, 1 - share, INTERPOLATE)


def count_level_votes(tree: ContextTree) -> np.ndarray:
    """Votes for equal probabilities and for each order, by deleted interpolation.

    Each occurrence of an n-gram is left out of the counts in turn and votes for the order that then
    gives it the largest probability [1]_. (Equal probabilities have at least one vote in the end,
    so that nothing is impossible.)

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
    shorter = tree.find_shorter()
    for level in range(n_levels):  # shorter contexts first: what they found is handed on
        at = np.flatnonzero(levels == level)
        if level:
            best[at], best_level[at] = best[shorter[at]], best_level[shorter[at]]
        better = at[left_out[at] >= best[at]]
        best[better], best_level[better] = left_out[better], level
    longest = (levels == n_levels - 1) | tree.begins[tree.contexts]
    return np.bincount(best_level[longest] + 1, tree.counts[longest], minlength=n_levels + 1)


def count_continuations(tree: ContextTree) -> np.ndarray:
    """Kneser-Ney counts: before how many different symbols an n-gram was preceded.

    The longest n-grams, and those that begin a document, keep their numbers of occurrences.
    """
    shorter = tree.find_shorter()
    first = tree.first_ngram
    continuations = np.bincount(shorter[first[1] :], minlength=len(tree.counts))
    keeps = tree.begins
    keeps[tree.first_context[-2] :] = True
    return np.where(keeps[tree.contexts], tree.counts, continuations)


def _counts_of_counts(counts: np.ndarray) -> np.ndarray:
    """How many n-grams were counted 1, 2, 3 and 4 times."""
    return np.bincount(counts[counts <= 4], minlength=5)[1:]


def single_discounts(counts_of_counts: np.ndarray, given: float | None) -> np.ndarray:
    """(levels, 3) the same discount for counts of 1, 2 and more: n1 / (n1 + 2 n2)."""
    n_levels = len(counts_of_counts)
    if given is not None:
        return np.full((n_levels, 3), float(given))
    discounts = np.empty((n_levels, 3))
    for level, (n1, n2, *_) in enumerate(counts_of_counts):
        discounts[level] = n1 / (n1 + 2 * n2) if n1 and n2 else _DEFAULT_DISCOUNT
    return discounts


def modified_discounts(counts_of_counts: np.ndarray) -> np.ndarray:
    """(levels, 3) discounts of counts of 1, 2 and at least 3, by Chen and Goodman's formula.

    A level whose counts of counts leave the formula undefined, as of small texts and of letters, or
    lead outside of 0 < D(c) <= c, takes the single discount n1 / (n1 + 2 n2), or 0.75 where that is
    undefined too.
    """
    discounts = single_discounts(counts_of_counts, None)
    for level, n in enumerate(counts_of_counts.astype(float)):
        if not n.all():
            continue
        share = n[0] / (n[0] + 2 * n[1])
        three = np.arange(1, 4) - np.arange(2, 5) * share * n[1:] / n[:-1]
        if (three > 0).all():
            discounts[level] = three
    return discounts


def _smooth_by_discounts(
    tree: ContextTree, counts: np.ndarray, parameters: RuleParameters
) -> Smoothed:
    """Interpolation with the mass that discounts leave."""
    contexts, first = tree.contexts, tree.first_ngram
    discount = np.empty(len(counts))
    for level, three in enumerate(parameters.discounts):
        part = slice(first[level], first[level + 1])
        np.take(three, np.clip(counts[part], 1, 3) - 1, out=discount[part])
    np.minimum(discount, counts, out=discount)
    total = _totals(tree, counts, contexts)
    left = _totals(tree, discount, contexts)
    safe = np.maximum(total, 1)
    np.subtract(counts, discount, out=discount)
    discount /= safe[contexts]
    return Smoothed(discount, np.where(total > 0, left / safe, 1.0), INTERPOLATE)


def _smooth_backoff(tree: ContextTree, counts: np.ndarray, parameters: RuleParameters) -> Smoothed:
    """Katz's form: shorter contexts are asked only for symbols not seen after longer ones."""
    direct, left, _, _ = _smooth_by_discounts(tree, counts, parameters)
    levels, shorter = tree.levels[tree.contexts], tree.find_shorter()
    total = _totals(tree, counts)
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
        direct[whole] = counts[whole] / total[tree.contexts[whole]]
    backoff = left / np.where(seen > 1 - 1e-12, 1.0, 1 - seen)
    return Smoothed(direct, backoff, BACK_OFF)


def _smooth_stupid_backoff(tree: ContextTree, counts: np.ndarray, _: RuleParameters) -> Smoothed:
    total = _totals(tree, counts)
    factor = np.full(len(total), _STUPID_FACTOR)
    return Smoothed(counts / total[tree.contexts], factor, BACK_OFF, normalized=False)


SMOOTHING: dict[str, Callable[[ContextTree, np.ndarray, RuleParameters], Smoothed]] = {
    "none": _smooth_none,
    "add_k": _smooth_add_k,
    "jelinek_mercer": _smooth_jelinek_mercer,
    "absolute": _smooth_by_discounts,
    "witten_bell": _smooth_witten_bell,
    "kneser_ney": _smooth_by_discounts,
    "modified_kneser_ney": _smooth_by_discounts,
    "backoff": _smooth_backoff,
    "stupid_backoff": _smooth_stupid_backoff,
}
