"""Dice and words: one draw of k categories, or the counts of many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from tenfold.maths.densities.contract import (
    Fits,
    Sums,
    as_rows,
    need_prior,
    sums_of,
    weights,
    whole,
)
from tenfold.maths.densities.shares import SUM_ERROR, Dirichlet


@dataclass(frozen=True)
class Categorical(Fits):
    r"""One of k categories: rows of one column with the number of a category, 0 to k - 1.

    .. math:: \log p(x) = \log p_x, \qquad \hat p_j = n_j / n

    [000, 1.5 and 2.2; 003, unit 4]

    Parameters
    ----------
    p : (k,) array
        Probabilities; before a fit they only say how many categories there are.
    prior : Dirichlet, optional
        What is believed of p before the data; then `fitted` is the mode of the posterior.

    Examples
    --------
    >>> Categorical(np.ones(3) / 3).fit([0, 2, 2, 2]).p.tolist()
    [0.25, 0.0, 0.75]
    >>> smoothed = Categorical(np.ones(3) / 3, Dirichlet(np.full(3, 2.0))).fit([0, 2, 2, 2])
    >>> smoothed.p.round(3).tolist()
    [0.286, 0.143, 0.571]
    """

    conjugate = (Dirichlet,)
    p: Any
    prior: Dirichlet | None = None

    def __post_init__(self) -> None:
        check_shares(self.p)

    def log_density(self, X: Any) -> np.ndarray:
        X = as_rows(X)[:, 0]
        possible = whole(X, 0, len(self.p) - 1)
        with np.errstate(divide="ignore"):
            logs = np.log(np.asarray(self.p, np.float64))
        return np.where(possible, logs[np.where(possible, X, 0).astype(np.intp)], -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(len(self.p), n, p=self.p)[:, None].astype(np.float64)

    def statistic(self, X: Any, w: Any = None) -> Sums:
        """Weight of each category."""
        X = as_rows(X)[:, 0]
        w = weights(X, w)
        if not whole(X, 0, len(self.p) - 1).all():
            raise ValueError(f"categories are whole numbers from 0 to {len(self.p) - 1}")
        return Sums(float(w.sum()), np.bincount(X.astype(np.intp), w, len(self.p)))

    def fitted(self, statistic: Sums) -> Categorical:
        return most_likely_shares(self, statistic)

    def posterior(self, statistic: Sums) -> Dirichlet:
        return counted(self, statistic)

    def at(self, parameter: Any) -> Categorical:
        return replace(self, p=np.ravel(parameter))


@dataclass(frozen=True)
class Multinomial(Fits):
    r"""Counts of k words (or any categories) in a document, given its length.

    .. math:: p(x) = \frac{(\sum_j x_j)!}{\prod_j x_j!} \prod_j p_j^{x_j}

    As a sequence the document has one order, and the factor in front is 1. The rows may be sparse.
    Counts may be fractions: a share of a document. [001, 2.7; 003, unit 4]

    Parameters
    ----------
    p : (k,) array, optional
        Probability of each word; not needed for a fit.
    ordered : bool
        Whether a row stands for one sequence of words, not for all sequences with these counts.
    trials : int
        Words in a document that is drawn.
    prior : Dirichlet, optional
        What is believed of p before the data; then `fitted` is the mode of the posterior.

    Examples
    --------
    >>> cat_cat_dog = np.array([[2.0, 1.0]])
    >>> theirs = Multinomial([0.3, 0.7], ordered=True)
    >>> best = theirs.fit(cat_cat_dog)
    >>> [round(float(np.exp(m.log_density(cat_cat_dog)[0])), 6) for m in (theirs, best)]
    [0.063, 0.148148]
    """

    conjugate = (Dirichlet,)
    p: Any = None
    ordered: bool = False
    trials: int = 1
    prior: Dirichlet | None = None

    def __post_init__(self) -> None:
        if self.p is not None:
            check_shares(self.p)

    def log_density(self, X: Any) -> np.ndarray:
        X, p = count_rows(X), np.asarray(self.p, np.float64)
        logs = X @ np.log(np.where(p > 0, p, 1.0))
        logs = np.where(X @ (p == 0).astype(np.float64) > 0, -np.inf, logs)
        return logs if self.ordered else logs + log_orderings(X)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.multinomial(self.trials, self.p, n).astype(np.float64)

    def sequence(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """A document: the numbers of its words, (length,)."""
        return rng.choice(len(self.p), length, p=self.p)

    def statistic(self, X: Any, w: Any = None) -> Sums:
        """Weight of the rows, and of each word."""
        X = count_rows(X)
        return sums_of(weights(X, w), X)

    def fitted(self, statistic: Sums) -> Multinomial:
        return most_likely_shares(self, statistic)

    def posterior(self, statistic: Sums) -> Dirichlet:
        return counted(self, statistic)

    def at(self, parameter: Any) -> Multinomial:
        return replace(self, p=np.ravel(parameter))


def count_rows(X: Any) -> Any:
    """Rows of counts; sparse ones stay sparse."""
    return X.tocsr() if hasattr(X, "tocsr") else as_rows(X)


def log_orderings(X: Any) -> np.ndarray:
    """Log of the number of sequences that have the counts of a row, (n,)."""
    total = np.asarray(X.sum(axis=1)).ravel()
    if not isinstance(X, np.ndarray):
        X = X.copy()
        X.data = gammaln(X.data.astype(np.float64) + 1)
        return gammaln(total + 1) - np.asarray(X.sum(axis=1)).ravel()
    return gammaln(total + 1) - gammaln(X + 1).sum(axis=1)


def orderings(counts: Any) -> np.ndarray:
    """How many sequences have the counts of a row, (n,).

    Examples
    --------
    IT WILL RAIN IT WILL: [003, unit 4]

    >>> orderings([[2, 2, 1]]).round(6).tolist()
    [30.0]
    """
    return np.exp(log_orderings(np.atleast_2d(np.asarray(counts, np.float64))))


def counted(density: Fits, statistic: Sums) -> Dirichlet:
    """Belief about shares after some counts."""
    return Dirichlet(np.asarray(need_prior(density, "Dirichlet(a)").a) + statistic.total)


def most_likely_shares(density: Any, statistic: Sums) -> Any:
    """The density with the most likely shares; unchanged by no counts at all."""
    if density.prior is not None:
        return density.at(density.posterior(statistic).mode)
    total = statistic.total.sum()
    return density.at(statistic.total / total) if total > 0 else density


def check_shares(p: Any) -> None:
    """Complain about what are no probabilities of categories."""
    p = np.asarray(p, np.float64)
    if p.ndim != 1 or not (p >= 0).all() or abs(p.sum() - 1) > SUM_ERROR:
        raise ValueError(f"probabilities must not be negative and must sum to 1, got {p}")
