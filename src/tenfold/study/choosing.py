"""Which of the models that were tried: the simplest of those that are as good as the best."""

from __future__ import annotations

from tenfold.study.result import Attempt


def best_of(attempts: list[Attempt]) -> Attempt:
    """The highest mean score of all that can be chosen; of equals the simplest."""
    return max((a for a in attempts if a.eligible), key=lambda a: (a.mean, -a.simplicity))


def simplest_near(attempts: list[Attempt], best: Attempt) -> Attempt:
    """The simplest within one standard error of the best; of equally simple ones the better."""
    bar = best.mean - best.error
    near = [a for a in attempts if a.eligible and (a is best or a.mean >= bar)]
    return min(near, key=lambda a: (a.simplicity, -a.mean))


def in_words(best: Attempt, chosen: Attempt, metric: str) -> str:
    """Why this model was chosen."""
    if chosen is best:
        return f"{chosen.title} has the best mean {metric}, {best.mean:.4f}, and is chosen."
    return (
        f"{chosen.title} is chosen: the simplest model within one standard error "
        f"({best.error:.4f}) of the best, {best.title} ({metric} {best.mean:.4f} against "
        f"{chosen.mean:.4f})."
    )
