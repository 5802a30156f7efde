"""Sparse codes of rows for a given dictionary."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.decomposition._row_solvers_numba import descend_rows
from tenfold.decomposition._sparse_codes_numba import (
    least_angle_rows,
    orthogonal_least_squares,
    orthogonal_matching_pursuit,
)
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows

ALGORITHMS = ("lasso_lars", "lasso_cd", "lars", "omp", "ols", "threshold")
CODE_CONSTRAINTS = {
    "transform_algorithm": [StrOptions(set(ALGORITHMS))],
    "transform_n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
    "transform_alpha": [Interval(Real, 0, None, closed="left"), None],
    "split_sign": ["boolean"],
    "n_jobs": [Integral, None],
    "positive_code": ["boolean"],
    "transform_max_iter": [Interval(Integral, 0, None, closed="left")],
    "l2_penalty": [Interval(Real, 0, None, closed="left")],
}
_DESCENT_TOL = 1e-10  # violation of the conditions of a minimum, of the largest product


class CodeRule(NamedTuple):
    """How sparse codes are found: algorithm, number of atoms or penalties, signs, steps."""

    algorithm: str
    n_nonzero: int
    alpha: float
    l2: float = 0.0
    positive: bool = False
    max_iter: int = 1000


class Dictionary(NamedTuple):
    """Atoms (k, p) and their products with each other (k, k), in float64."""

    atoms: np.ndarray
    gram: np.ndarray

    @classmethod
    def of(cls, atoms: np.ndarray, gram: np.ndarray | None = None) -> Dictionary:
        """Of atoms of any type."""
        D = np.ascontiguousarray(atoms, np.float64)
        return cls(D, D @ D.T if gram is None else np.ascontiguousarray(gram, np.float64))


def encode_products(
    C: np.ndarray, gram: np.ndarray, rule: CodeRule, *, warn: bool = False
) -> np.ndarray:
    """Codes of rows from their products C with the atoms, (n_rows, n_atoms), in float64."""
    C = np.ascontiguousarray(C, np.float64)
    if rule.algorithm == "threshold":
        shrunk = np.maximum(np.abs(C) - rule.alpha, 0.0) * np.sign(C)
        return np.maximum(shrunk, 0.0) if rule.positive else shrunk
    Z = np.zeros(C.shape)
    G = gram + rule.l2 * np.eye(len(gram)) if rule.l2 else gram
    if rule.algorithm == "omp":
        orthogonal_matching_pursuit(C, G, rule.n_nonzero, Z)
    elif rule.algorithm == "ols":
        orthogonal_least_squares(C, G, rule.n_nonzero, Z)
    else:
        unfinished = _follow_path(C, G, rule, Z)
        if unfinished and warn:
            warnings.warn(
                "the codes of some rows did not converge: raise transform_max_iter (max_iter of "
                f"sparse_encode), now {rule.max_iter}",
                ConvergenceWarning,
                stacklevel=2,
            )
    return Z


def _follow_path(C: np.ndarray, G: np.ndarray, rule: CodeRule, Z: np.ndarray) -> int:
    """Write codes of the lasso or of least angles into Z; how many rows have not converged.

    Coordinate descent begins where the path ends: one sweep finds the conditions of a minimum
    true, unless atoms depend on each other.
    """
    enough = 8 * len(G)
    if rule.algorithm == "lars":
        least_angle_rows(C, G, 0.0, False, rule.positive, rule.n_nonzero, enough, Z)
        return 0
    descends = rule.algorithm == "lasso_cd"
    steps = enough if descends else rule.max_iter
    unfinished = least_angle_rows(C, G, rule.alpha, True, rule.positive, len(G), steps, Z)
    if descends:
        tol = _DESCENT_TOL * float(np.abs(C).max(initial=0.0))
        sweeps = max(rule.max_iter, 1)
        _, unfinished = descend_rows(Z, C, G, rule.alpha, 0.0, rule.positive, sweeps, 0.0, tol)
    return unfinished


def encode_chunk(chunk: Chunk, D: Dictionary, rule: CodeRule, split: bool = False) -> np.ndarray:
    """Codes of the rows of a chunk, in their type."""
    if chunk.X.shape[1] != D.atoms.shape[1]:
        raise ValueError(
            f"X has {chunk.X.shape[1]} features, and the atoms of the dictionary have "
            f"{D.atoms.shape[1]}: give rows as long as an atom"
        )
    Z = encode_products(np.asarray(chunk.X @ D.atoms.T), D.gram, rule, warn=True)
    if split:
        Z = np.hstack([np.maximum(Z, 0.0), -np.minimum(Z, 0.0)])
    return Z.astype(chunk.X.dtype, copy=False)


def encode_given_products(chunk: Chunk, gram: np.ndarray, rule: CodeRule) -> np.ndarray:
    """Codes of the rows whose products with the atoms are the rows of a chunk."""
    return encode_products(chunk.X, gram, rule, warn=True)


def code_rule(
    algorithm: str,
    n_nonzero: int | None,
    alpha: float | None,
    shape: tuple[int, int],
    *,
    l2: float = 0.0,
    positive: bool = False,
    max_iter: int = 1000,
) -> CodeRule:
    """The rule with scikit-learn's defaults for a dictionary of this shape."""
    if positive and algorithm in ("omp", "ols", "lars"):
        raise ValueError(f"Positive constraint not supported for '{algorithm}' coding method.")
    k, p = shape
    if n_nonzero is None:
        n_nonzero = int(min(max(p / 10, 1), k))
    return CodeRule(
        algorithm, n_nonzero, 1.0 if alpha is None else float(alpha), l2, positive, max_iter
    )


class SparseModel(ClassNamePrefixFeaturesOutMixin, Transformer):
    """A model that codes rows by few atoms of a dictionary. Derive from it, do not use it."""

    _sparse_ok = True
    _chunk_rows = 1024

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self._atoms()) * (2 if self.split_sign else 1)

    def _atoms(self) -> np.ndarray:
        return self.components_

    def _transform_rule(self) -> CodeRule:
        alpha = self.transform_alpha
        alpha = getattr(self, "alpha", None) if alpha is None else alpha
        return code_rule(
            self.transform_algorithm,
            self.transform_n_nonzero_coefs,
            alpha,
            self._atoms().shape,
            l2=self.l2_penalty,
            positive=self.positive_code,
            max_iter=self.transform_max_iter,
        )

    def transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Sparse codes of rows, (n_rows, n_atoms); twice as many columns with `split_sign`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        """
        self._check_fitted()
        D = Dictionary.of(self._atoms())
        return self._map_rows(X, encode_chunk, D, self._transform_rule(), self.split_sign)

    def _check_fitted(self) -> None:
        check_is_fitted(self)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows with these codes, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_atoms) array
            Codes, as `transform` returns them.
        """
        self._check_fitted()
        codes, atoms = check_array(X), self._atoms()
        expected = len(atoms) * (2 if self.split_sign else 1)
        if codes.shape[1] != expected:
            raise ValueError(
                "The number of components in the code is different from the number of components "
                f"in the dictionary.Expected {expected}, got {codes.shape[1]}."
            )
        if self.split_sign:
            codes = codes[:, : len(atoms)] - codes[:, len(atoms) :]
        return codes @ atoms


class SparseCoder(SparseModel):
    r"""Sparse codes of rows for a given dictionary.

    .. math:: z^\star = \arg\min_z \tfrac12 \lVert x - z D \rVert^2 + \alpha \lVert z \rVert_1
              + \tfrac{\lambda}{2} \lVert z \rVert^2
              \qquad \text{or subject to } \lVert z \rVert_0 \le k

    Nothing is learned: rows are coded one by one, from arrays and from files. Parameters are those
    of `sklearn.decomposition.SparseCoder`; the dictionary may be overcomplete.

    Parameters
    ----------
    dictionary : (n_components, n_features) array
        The atoms; they should have length 1.
    transform_algorithm : {"omp", "ols", "lasso_lars", "lasso_cd", "lars", "threshold"}
        Orthogonal matching pursuit with at most k atoms, each the one with the largest product;
        orthogonal least squares, which takes the atom with which the error falls most; the lasso
        by its path, and with coordinate descent after it, for atoms that depend on each other;
        least angles with k atoms; soft threshold of the products.
    transform_n_nonzero_coefs : int, optional
        k of "omp", "ols" and "lars"; by default a tenth of the columns.
    transform_alpha : float, optional
        Penalty of the lasso, or threshold; 1 by default.
    split_sign : bool
        Whether positive and negative parts of the codes become columns of their own.
    n_jobs : int, optional
        Number of threads.
    positive_code : bool
        Whether codes are non-negative; not for "omp", "ols" and "lars".
    transform_max_iter : int
        Most steps of a row on the path, or sweeps of coordinate descent.
    l2_penalty : float
        Penalty :math:`\lambda` on the squared length of a code.

    Attributes
    ----------
    n_components_ : number of atoms

    See Also
    --------
    DictionaryLearning : Learns the dictionary.
    MatrixFactorization : Codes in other sets, ridge codes.

    References
    ----------
    B. Efron et al. (2004), Least angle regression.
    S. Chen, S. A. Billings and W. Luo (1989), Orthogonal least squares methods and their
    application to non-linear system identification.
    R. Rubinstein, M. Zibulevsky and M. Elad (2008), Efficient implementation of the K-SVD algorithm
    using batch orthogonal matching pursuit.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SparseCoder
    >>> D = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> coder = SparseCoder(D, transform_algorithm="omp", transform_n_nonzero_coefs=1)
    >>> coder.transform(np.array([[3.0, 4.0], [2.0, 0.0]])).round(6).tolist()
    [[0.0, 0.0, 5.0], [2.0, 0.0, 0.0]]
    """

    _parameter_constraints = {"dictionary": ["array-like"], **CODE_CONSTRAINTS}
    _law_params = {"dictionary": np.eye(6)[:4] * 0.8 + 0.1, "transform_algorithm": "lasso_lars"}
    _law_rows = 3000

    def __init__(
        self,
        dictionary: Any,
        *,
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        split_sign: bool = False,
        n_jobs: int | None = None,
        positive_code: bool = False,
        transform_max_iter: int = 1000,
        l2_penalty: float = 0.0,
    ) -> None:
        self.dictionary = dictionary
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.split_sign = split_sign
        self.n_jobs = n_jobs
        self.positive_code = positive_code
        self.transform_max_iter = transform_max_iter
        self.l2_penalty = l2_penalty

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Check the parameters and the number of columns.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.

        Returns
        -------
        self
        """
        return super().fit(X)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        shape = self._atoms().shape
        if rows.n_features != shape[1]:
            raise ValueError(
                "Dictionary and X have different numbers of features:"
                f"dictionary.shape: {shape} X.shape: {(rows.n_rows, rows.n_features)}"
            )
        return {"n_components_": shape[0]}

    def _atoms(self) -> np.ndarray:
        atoms = np.asarray(self.dictionary)
        if atoms.ndim != 2:
            raise ValueError(
                f"the dictionary has shape {atoms.shape}: give (n_components, n_features), an atom "
                "in each row"
            )
        bad = ~np.isfinite(atoms.astype(np.float64)).all(axis=1)
        if bad.any():
            raise ValueError(
                f"atom {int(np.flatnonzero(bad)[0])} of the dictionary has entries that are NaN or "
                "infinity: give finite numbers"
            )
        return atoms

    def _check_fitted(self) -> None:
        self._validate_params()

    def _check_learned(self) -> None:
        """Refuse a file in which the dictionary does not fit the rows of the fit."""
        atoms, shape = self._atoms(), (self.n_components_, self.n_features_in_)
        if atoms.shape != shape:
            raise ValueError(f"the dictionary has shape {atoms.shape}, and the fit {shape}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def sparse_encode(
    X: Any,
    dictionary: Any,
    *,
    gram: Any = None,
    cov: Any = None,
    algorithm: str = "lasso_lars",
    n_nonzero_coefs: int | None = None,
    alpha: float | None = None,
    copy_cov: bool = True,  # noqa: ARG001
    init: Any = None,  # noqa: ARG001
    max_iter: int = 1000,
    n_jobs: int | None = None,
    check_input: bool = True,  # noqa: ARG001
    verbose: int = 0,  # noqa: ARG001
    positive: bool = False,
    l2_penalty: float = 0.0,
) -> np.ndarray:
    """Sparse codes of rows for a dictionary, as scikit-learn's function of this name.

    Parameters
    ----------
    X : (n_rows, n_features) array
        The rows.
    dictionary : (n_components, n_features) array
        The atoms.
    gram, cov : arrays, optional
        Products of the atoms with each other, and with the rows (n_components, n_rows).
    algorithm, n_nonzero_coefs, alpha, max_iter, positive, l2_penalty : see `SparseCoder`
    n_jobs : int, optional
        Number of threads; it changes no bit.
    copy_cov, init, check_input, verbose : not used
        Nothing is overwritten, and codes do not depend on a start.

    Examples
    --------
    >>> import numpy as np
    >>> sparse_encode(np.array([[3.0, -2.0]]), np.eye(2), alpha=1.0).tolist()
    [[2.0, -1.0]]
    """
    D, X = check_array(dictionary), check_array(X, ensure_all_finite=False)
    if D.shape[1] != X.shape[1]:
        raise ValueError(
            "Dictionary and X have different numbers of features:"
            f"dictionary.shape: {D.shape} X.shape{X.shape}"
        )
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {ALGORITHMS}, not {algorithm!r}")
    rule = code_rule(
        algorithm,
        n_nonzero_coefs,
        alpha,
        D.shape,
        l2=l2_penalty,
        positive=positive,
        max_iter=max_iter,
    )
    atoms = Dictionary.of(D, None if gram is None else np.asarray(gram))
    if cov is None:
        rows, encode, state = X, encode_chunk, atoms
    else:
        rows, encode, state = np.asarray(cov).T, encode_given_products, atoms.gram
        if rows.shape != (len(X), len(D)):
            raise ValueError(f"cov has shape {rows.T.shape}: give {(len(D), len(X))}, D @ X.T")
    codes = SparseCoder(D, n_jobs=n_jobs)._map_rows(rows, encode, state, rule)  # noqa: SLF001
    return codes.astype(X.dtype if X.dtype == np.float32 else np.float64, copy=False)
