"""Matrix factorization: one frame of a cost, a set of codes, a set of atoms, and an inference."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.decomposition._dictionary_steps import CodeSums, initial_dictionary, sums_of_codes
from tenfold.decomposition._factor_sets import (
    CODE_SETS,
    DICTIONARY_SETS,
    AtomSet,
    CodeSet,
    find_atoms,
    find_codes,
    project_rows,
)
from tenfold.decomposition.sparse_coder import Dictionary
from tenfold.engine.carried_columns import CarriedColumns
from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged

_WEIGHT = [Interval(Real, 0, None, closed="left")]


class MatrixFactorization(ClassNamePrefixFeaturesOutMixin, Transformer):
    r"""Matrix factorization: rows as combinations of atoms.

    .. math:: \min_{z_i \in \mathcal Z, \; d_k \in \mathcal D} \;
              \tfrac12 \lVert X - Z D \rVert_F^2
              + \alpha_1 \lVert Z \rVert_1 + \tfrac{\alpha_2}{2} \lVert Z \rVert_F^2
              + \beta_1 \lVert D \rVert_1 + \tfrac{\beta_2}{2} \lVert D \rVert_F^2

    The sets of codes and of atoms make the method: free codes and orthonormal atoms are principal
    components (without centering), one-hot codes are k-means, k-sparse ones are sparse coding, and
    non-negative codes and atoms are `NMF`. Codes come from a formula where there is one (free:
    ridge regression; one-hot; k-sparse), else from an optimization. The objective is convex in Z
    and in D but not in both; an iteration minimizes over Z, one pass over the rows, and then over
    D (alternating least squares, block coordinate descent), and never increases it (k-sparse codes
    excepted, which are found greedily).

    Without sets and penalties only the product is identified: (Z C)(C^-1 D) = Z D for every
    invertible C, see `equivalent_factors`.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms; by default the number of columns.
    code_set : {"free", "nonnegative", "simplex", "ball", "box", "one_hot", "k_sparse"} or callable
        Set of the codes of a row. "ball" has radius 1, "box" is 0 to 1, "simplex" has sum 1. A
        callable is the projection of a vector onto a convex set of your own.
    dictionary_set : str or callable
        Set of an atom: "free", "nonnegative", "simplex", "ball", "nonnegative_ball", "box", or a
        projection; "orthonormal" is a property of all of them.
    l1_codes, l2_codes : float
        Penalties on codes; L1 for "free" and "nonnegative".
    l1_dictionary, l2_dictionary : float
        Penalties on atoms; L1 for "free" and "nonnegative".
    n_nonzero_coefs : int
        Most atoms of a "k_sparse" code.
    inner_iter : int, optional
        Inexact sub-steps: so many gradient steps for the codes, and sweeps over the atoms, in each
        iteration. None: each half of an iteration is solved.
    init : {"svd", "random"} or (n_components, n_features) array
        Atoms to begin with.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the objective decreases by at most this fraction of the data's squares.
    random_state : int, optional
        Seed of random starts.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    components_ : (n_components, n_features) atoms
    usage_ : (n_components,) total usage of each atom, the sum of its absolute codes
    reconstruction_err_ : Frobenius norm of X - Z D, with the codes that `transform` finds
    n_iter_, converged_, history_ : iterations, whether `tol` was reached, objective and seconds

    See Also
    --------
    NMF : Non-negative factors, faster and with other losses.
    DictionaryLearning : L1-penalized codes, faster.
    PCA, KMeans : The same optima by their own algorithms.

    References
    ----------
    H. Lyu, D. Needell and L. Balzano (2020), Online matrix factorization for Markovian data.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MatrixFactorization
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) @ np.eye(2, 5)
    >>> model = MatrixFactorization(2).fit(X)
    >>> bool(model.reconstruction_err_ < 1e-6)
    True
    >>> Z = model.transform(X)
    >>> C = np.array([[2.0, 1.0], [0.0, 3.0]])
    >>> other_codes, other_atoms = model.equivalent_factors(Z, C)
    >>> bool(np.allclose(other_codes @ other_atoms, X))
    True
    """

    _sparse_ok = True
    _chunk_rows = 1024
    _law_params = {"n_components": 3, "code_set": "nonnegative", "tol": 1e-3}
    _law_rows = 3000
    _learned_shapes = {"components_": "m p", "usage_": "m"}
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "code_set": [StrOptions(set(CODE_SETS)), callable],
        "dictionary_set": [StrOptions(set(DICTIONARY_SETS)), callable],
        "l1_codes": _WEIGHT,
        "l2_codes": _WEIGHT,
        "l1_dictionary": _WEIGHT,
        "l2_dictionary": _WEIGHT,
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left")],
        "inner_iter": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions({"svd", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": _WEIGHT,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        code_set: Any = "free",
        dictionary_set: Any = "free",
        l1_codes: float = 0.0,
        l2_codes: float = 0.0,
        l1_dictionary: float = 0.0,
        l2_dictionary: float = 0.0,
        n_nonzero_coefs: int = 1,
        inner_iter: int | None = None,
        init: Any = "svd",
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.code_set = code_set
        self.dictionary_set = dictionary_set
        self.l1_codes = l1_codes
        self.l2_codes = l2_codes
        self.l1_dictionary = l1_dictionary
        self.l2_dictionary = l2_dictionary
        self.n_nonzero_coefs = n_nonzero_coefs
        self.inner_iter = inner_iter
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the atoms.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        k = self.n_components or rows.n_features
        self._check_settings(k, rows.n_features)
        codes, atoms = self._code_set(), self._atom_set()
        D = self._initial_atoms(rows, k, rng)
        kept = np.zeros((rows.n_rows if codes.needs_start else 0, k))
        if len(kept):
            kept[:] = project_rows(kept[:1], codes.kind)
        loop = until_converged((D, kept, np.inf), tol=self.tol, max_iter=self.max_iter)
        for D, kept, last in loop:
            s, kept = _pass(rows, Dictionary.of(D), codes, kept)
            D = find_atoms(D, s.gram, s.cross, atoms)
            error = _squared_error(s, D)
            objective = 0.5 * error + codes.l1 * float(s.usage.sum()) + 0.5 * codes.l2 * s.squares
            objective += atoms.penalty(D)
            change = max(last - objective, 0.0) / max(s.data, np.finfo(float).tiny)
            loop.update((D, kept, objective), objective=objective, change=change)
        D, kept, _ = loop.state
        s, _ = _pass(rows, Dictionary.of(D), codes._replace(inner_iter=0), kept)  # as transform
        return {
            "components_": D.astype(rows.dtype),
            "usage_": s.usage,
            "reconstruction_err_": float(np.sqrt(max(_squared_error(s, D), 0.0))),
            "warning_": None if self.tol > 0 else "",
            **loop.report,
        }

    def _check_settings(self, k: int, p: int) -> None:
        plain = ("free", "nonnegative")
        for name, weight, kind in (
            ("l1_codes", self.l1_codes, self.code_set),
            ("l1_dictionary", self.l1_dictionary, self.dictionary_set),
        ):
            if weight and kind not in plain:
                raise ValueError(
                    f"{name} goes with the sets 'free' and 'nonnegative': on others the L1 norm is "
                    "constant, or the set takes its place"
                )
        if self.dictionary_set == "orthonormal" and k > p:
            raise ValueError(
                f"{k} orthonormal atoms need as many columns, and there are {p}: take fewer atoms"
            )

    def _code_set(self) -> CodeSet:
        return CodeSet(
            self.code_set, self.l1_codes, self.l2_codes, self.inner_iter or 0, self.n_nonzero_coefs
        )

    def _atom_set(self) -> AtomSet:
        return AtomSet(
            self.dictionary_set, self.l1_dictionary, self.l2_dictionary, self.inner_iter or 0
        )

    def _initial_atoms(self, rows: Rows, k: int, rng: np.random.Generator) -> np.ndarray:
        """Atoms of the set: given ones, random ones, or the larger parts of singular vectors."""
        kind = self.dictionary_set
        if not isinstance(self.init, str):
            D = np.asarray(check_array(self.init), np.float64)
            if D.shape != (k, rows.n_features):
                raise ValueError(
                    f"init has shape {D.shape}: give {k} atoms of {rows.n_features} entries"
                )
            return D
        if self.init == "random":
            D = normals(int(rng.integers(2**62)), 0, k, rows.n_features)
            D = np.abs(D) if kind in ("nonnegative", "nonnegative_ball", "simplex", "box") else D
        else:
            D = initial_dictionary(rows, k, None, False, rng)
            negative = (np.minimum(D, 0) ** 2).sum(axis=1) > (np.maximum(D, 0) ** 2).sum(axis=1)
            D = D * np.where(negative, -1.0, 1.0)[:, None]
        if kind == "orthonormal":
            return np.linalg.qr(D.T)[0].T
        return project_rows(D, kind)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any) -> np.ndarray:
        """Codes of rows, (n_rows, n_components): the inference for known atoms.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        codes = self._code_set()._replace(inner_iter=0)
        return self._map_rows(X, codes_of_chunk, Dictionary.of(self.components_), codes)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows with these codes, (n_rows, n_features).

        Parameters
        ----------
        X : (n_rows, n_components) array
            Codes, as `transform` returns them.
        """
        check_is_fitted(self)
        return check_array(X) @ self.components_

    def equivalent_factors(self, codes: Any, C: Any) -> tuple[np.ndarray, np.ndarray]:
        """Other codes Z C and atoms C^-1 D with the same product: what is not identified.

        Parameters
        ----------
        codes : (n_rows, n_components) array
            Codes Z.
        C : (n_components, n_components) array
            An invertible matrix.
        """
        check_is_fitted(self)
        C = np.asarray(check_array(C), np.float64)
        k = len(self.components_)
        if C.shape != (k, k) or np.linalg.matrix_rank(C) < k:
            raise ValueError(f"C must be an invertible matrix of shape ({k}, {k})")
        return np.asarray(codes) @ C, np.linalg.solve(C, self.components_)


def codes_of_chunk(chunk: Chunk, D: Dictionary, codes: CodeSet) -> np.ndarray:
    """Codes of the rows of a chunk, in their type."""
    C = np.asarray(chunk.X @ D.atoms.T, np.float64)
    return find_codes(C, D.gram, codes, None).astype(chunk.X.dtype, copy=False)


def carried_sums(
    chunk: Chunk, columns: Any, D: Dictionary, codes: CodeSet
) -> tuple[CodeSums, tuple[np.ndarray]]:
    """Codes from those of the last pass, and their sums."""
    C = np.asarray(chunk.X @ D.atoms.T, np.float64)
    Z = find_codes(C, D.gram, codes, None if columns is None else columns[0])
    return sums_of_codes(chunk, Z, C, D), (Z,)


def coding_sums(chunk: Chunk, D: Dictionary, codes: CodeSet) -> CodeSums:
    """The same where codes do not depend on the last ones."""
    return carried_sums(chunk, None, D, codes)[0]


def _pass(
    rows: Rows, D: Dictionary, codes: CodeSet, kept: np.ndarray
) -> tuple[CodeSums, np.ndarray]:
    if not len(kept):
        return rows.total(coding_sums, D, codes), kept
    s, columns = rows.carry(carried_sums, CarriedColumns.of((kept,)), D, codes, durable=True)
    return s, columns.array(0)


def _squared_error(s: CodeSums, D: np.ndarray) -> float:
    """Squared error of atoms D with the codes of a pass."""
    fitted = float((s.gram * (D @ D.T)).sum())
    return s.data - 2 * float((s.cross * D).sum()) + fitted
