r"""One frame for PCA, k-means, NMF, sparse coding and ICA: X is about W Z.

Columns of X (p, n) are centered rows of a table; W (p, k) is a dictionary, Z (k, n) holds a code
for each row. A method is a choice of four things:

1. the cost, mostly :math:`\lVert X - W Z \rVert_F^2`;
2. the set of dictionaries W;
3. the set of codes Z;
4. inference g: how a row gets its code once W is known, by a formula or by an optimization.

Without the sets nothing is learned that means anything: for every invertible C the pair
(W C, C^{-1} Z) has the same product, so that dictionary and codes are not identified.
`factorization_methods` is the table of choices, `factor_pair` reads W and Z off a fitted model,
`mix_factors` shows what is not identified.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class FactorizationMethod(NamedTuple):
    """A method in the frame.

    Attributes
    ----------
    model : public name of the model
    cost : what is minimized
    dictionaries : the set of W
    codes : the set of Z
    inference : how z follows from x
    is_formula : whether inference is a formula, not an optimization
    identified : what the sets leave undetermined
    """

    model: str
    cost: str
    dictionaries: str
    codes: str
    inference: str
    is_formula: bool
    identified: str


_METHODS: dict[str, FactorizationMethod] = {
    "PCA": FactorizationMethod(
        "PCA",
        "|X - W Z|^2",
        "orthonormal columns",
        "uncorrelated rows, variances descending",
        "z = W'(x - mean)",
        True,
        "up to signs (and rotations among equal variances)",
    ),
    "k-means": FactorizationMethod(
        "KMeans",
        "|X - W Z|^2",
        "any",
        "columns with a single 1",
        "z = the unit vector of the nearest column of W",
        True,
        "up to the order of the clusters",
    ),
    "NMF": FactorizationMethod(
        "NMF",
        "|X - W Z|^2, or a divergence",
        "W >= 0",
        "Z >= 0",
        "z = argmin over z >= 0 of |x - W z|^2",
        False,
        "up to order and scale at best: C and its inverse have to keep both signs",
    ),
    "sparse coding": FactorizationMethod(
        "SparseCoder",
        "|X - W Z|^2 + alpha |Z|_1",
        "columns of length at most one, more of them than rows of X",
        "few entries that are not zero",
        "z = argmin of |x - W z|^2 / 2 + alpha |z|_1, or with k entries",
        False,
        "up to order and signs, if codes are sparse enough",
    ),
    "ICA": FactorizationMethod(
        "FastICA",
        "dependence of the rows of Z",
        "invertible (or full rank)",
        "independent rows",
        "z = U(x - mean) with an unmixing matrix U of its own",
        True,
        "up to order, signs and scale, if at most one source is normal",
    ),
}


def factorization_methods() -> dict[str, FactorizationMethod]:
    """What PCA, k-means, NMF, sparse coding and ICA choose in the frame.

    Examples
    --------
    >>> table = factorization_methods()
    >>> [name for name, method in table.items() if method.is_formula]
    ['PCA', 'k-means', 'ICA']
    """
    return dict(_METHODS)


class FactorPair(NamedTuple):
    """X' is about offset + W Z.

    Attributes
    ----------
    W : (n_features, k) dictionary
    Z : (k, n_rows) codes
    offset : (n_features, 1)
    """

    W: np.ndarray
    Z: np.ndarray
    offset: np.ndarray

    @property
    def product(self) -> np.ndarray:
        """The rows that the pair stands for, (n_rows, n_features)."""
        return (self.offset + self.W @ self.Z).T


def factor_pair(model: Any, X: np.ndarray) -> FactorPair:
    """Dictionary and codes of a fitted model: PCA, k-means, NMF, sparse coding, ICA and others.

    Parameters
    ----------
    model : fitted model
        With `cluster_centers_` (codes are unit vectors), `mixing_`, `loadings_` or `components_`.
    X : (n_rows, n_features) array
        Rows to code.

    Returns
    -------
    FactorPair

    Examples
    --------
    Two clusters are two columns of a dictionary, and codes say which one:

    >>> from tenfold import KMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [9.0, 0.0], [9.0, 2.0]])
    >>> pair = factor_pair(KMeans(2, random_state=0).fit(X), X)
    >>> pair.Z.sum(axis=0).tolist(), pair.product.tolist()
    ([1.0, 1.0, 1.0, 1.0], [[0.0, 1.0], [0.0, 1.0], [9.0, 1.0], [9.0, 1.0]])
    """
    X = np.asarray(X)
    p = X.shape[1]
    if hasattr(model, "cluster_centers_"):
        centers = np.asarray(model.cluster_centers_)
        return FactorPair(centers.T, np.eye(len(centers))[:, model.predict(X)], np.zeros((p, 1)))
    codes = np.asarray(model.transform(X)).T
    offset = np.asarray(getattr(model, "mean_", np.zeros(p))).reshape(p, 1)
    if hasattr(model, "mixing_"):
        return FactorPair(np.asarray(model.mixing_), codes, offset)
    if hasattr(model, "loadings_"):
        return FactorPair(np.asarray(model.loadings_).T, codes, offset)
    if not hasattr(model, "components_"):
        raise TypeError(
            f"{type(model).__name__} has no dictionary: fit one of "
            f"{', '.join(method.model for method in _METHODS.values())}"
        )
    return FactorPair(np.asarray(model.components_).T, codes, offset)


def mix_factors(pair: FactorPair, C: np.ndarray) -> FactorPair:
    """(W C, C^-1 Z): other factors with the same product.

    Parameters
    ----------
    pair : FactorPair
        Dictionary and codes.
    C : (k, k) array
        An invertible matrix.

    Examples
    --------
    >>> pair = FactorPair(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 1)))
    >>> mixed = mix_factors(pair, np.array([[1.0, 1.0], [0.0, 2.0]]))
    >>> bool(np.allclose(mixed.product, pair.product)), mixed.Z.tolist()
    (True, [[-0.5, 0.0], [1.5, 2.0]])
    """
    C = np.asarray(C, np.float64)
    k = pair.W.shape[1]
    if C.shape != (k, k) or np.linalg.matrix_rank(C) < k:
        raise ValueError(f"C must be an invertible ({k}, {k}) matrix")
    return FactorPair(pair.W @ C, np.linalg.solve(C, pair.Z), pair.offset)
