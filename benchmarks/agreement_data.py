"""Data on which linear models are compared, standardised where solvers need it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from tenfold import datasets


class Labelled(NamedTuple):
    """Rows, dense or sparse, and a target."""

    X: Any
    y: np.ndarray

    def part(self, n: int) -> Labelled:
        """A sample of n rows, if there are more."""
        chosen = np.random.default_rng(0).permutation(len(self.y))[:n]
        return Labelled(self.X[chosen], self.y[chosen])


def breast_cancer() -> Labelled:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return Labelled(StandardScaler().fit_transform(X), y)


def spambase() -> Labelled:
    X, y = datasets.fetch_spambase(return_X_y=True)
    return Labelled(StandardScaler().fit_transform(X), np.asarray(y, int))


def mnist() -> Labelled:
    """Fours against sevens."""
    X, y = datasets.fetch_mnist(return_X_y=True)
    chosen = (y == 4) | (y == 7)
    return Labelled(X[chosen].reshape(chosen.sum(), -1) / 255.0, (y[chosen] == 7).astype(int))


@cache
def newsgroups() -> Labelled:
    """Words of 20 groups, 11,314 x 130,107."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    text, y = datasets.fetch_20newsgroups(return_X_y=True)
    return Labelled(TfidfVectorizer().fit_transform(text), y)


def one_newsgroup() -> Labelled:
    """sci.space against all others."""
    X, y = newsgroups()
    return Labelled(X, (y == 14).astype(int))


def california() -> Labelled:
    """Eight columns and all their products up to the third degree: 164, much correlated."""
    X, y = datasets.fetch_california_housing(return_X_y=True)
    cubic = PolynomialFeatures(3, include_bias=False).fit_transform(
        StandardScaler().fit_transform(X)
    )
    return Labelled(StandardScaler().fit_transform(cubic), y)


def california_part() -> Labelled:
    return california().part(2000)


DATA: dict[str, Callable[[], Labelled]] = {
    "breast-cancer": breast_cancer,
    "spambase": spambase,
    "mnist-4-7": mnist,
    "newsgroups": newsgroups,
    "newsgroup-14": one_newsgroup,
    "california-cubic": california,
    "california-cubic-2000": california_part,
}
