"""Non-negative matrix factorization: every row is a sum of parts that cannot cancel."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.decomposition._divergences import beta_of
from tenfold.decomposition._nmf_fit import Factors, Problem, factorize
from tenfold.decomposition._nmf_init import data_sums
from tenfold.decomposition._nmf_steps import CodeStep
from tenfold.decomposition._nonnegative_model import NonNegativeModel
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows

_SWEEPS = {"cd": 6, "pg": 5, "mu": 1, "anls": 1}  # inner steps of an iteration


class NMF(NonNegativeModel):
    r"""Non-negative matrix factorization.

    .. math:: \min_{W, H \ge 0} \; \sum_{ij} v_{ij} \, d_\beta(x_{ij}, (WH)_{ij})
              + \alpha_W p \, P_\rho(W) + \alpha_H n \, P_\rho(H), \qquad
              P_\rho(F) = \rho \lVert F \rVert_1 + \tfrac{1-\rho}{2} \lVert F \rVert_F^2

    The rows of H are components (parts, topics), W holds the codes of the rows. The objective is
    convex in W and in H but not in both: fits end in a local minimum. Parameters and attributes
    are those of `sklearn.decomposition.NMF`, and more: further solvers, sparseness, weights of rows
    and entries, missing entries. H is the state of the fit; the codes of rows travel from pass to
    pass while they take less than 64 MiB. Codes of larger data sets are found anew in each pass
    (squared errors, "cd" and "anls") or are kept in a temporary file, so that memory does not grow
    with the rows.

    Parameters
    ----------
    n_components : int, None or "auto"
        Number of components; None and "auto" are the number of columns ("auto" with
        init="custom": the rows of H).
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"}, optional
        Start: random numbers; the positive parts of singular vectors with zeros, with the mean in
        the place of zeros, or with small random numbers; given factors. None is "nndsvda" if there
        are enough rows and columns, else "random".
    solver : {"cd", "mu", "pg", "anls"}
        Coordinate descent; multiplicative steps, the only ones for losses other than squared
        errors; projected gradient descent; alternating exact non-negative least squares.
    beta_loss : {"frobenius", "kullback-leibler", "itakura-saito"} or float
        Divergence d: half the squared error (2), Kullback-Leibler (1), Itakura-Saito (0), or
        another beta.
    tol : float
        Stop when the violation of the conditions of a minimum is at most this fraction of the
        first one ("cd"), or when the square root of the objective decreases in ten iterations by
        at most this fraction of the first one.
    max_iter : int
        Maximum number of iterations, one pass each.
    random_state : int, optional
        Seed of random starts.
    alpha_W, alpha_H : float
        Penalties on W and H; alpha_H="same" is alpha_W.
    l1_ratio : float
        Share of L1 in the penalties.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    shuffle : bool
        Not used: coordinates take their turns in order.
    sparseness_W, sparseness_H : float between 0 and 1, optional
        Least sparseness of Hoyer of each row's codes, and of each component, for squared errors.
    missing : {"error", "ignore"}
        Whether NaN in X is refused, or stands for an entry that the objective leaves out.

    Attributes
    ----------
    components_ : (n_components, n_features) H
    n_components_ : number of components
    reconstruction_err_ : square root of twice the divergence of the rows from W H
    usage_ : (n_components,) total usage of each component, the sum of its codes
    n_iter_, converged_, history_ : iterations, whether `tol` was reached, objective and seconds

    See Also
    --------
    MiniBatchNMF : The same from batches of rows.
    MatrixFactorization : Factors in other sets.
    DictionaryLearning : Sparse codes.

    References
    ----------
    D. Lee and S. Seung (1999), Learning the parts of objects by non-negative matrix factorization.
    A. Cichocki and A. Phan (2009), Fast local algorithms for large scale nonnegative matrix and
    tensor factorizations.
    C. Fevotte and J. Idier (2011), Algorithms for nonnegative matrix factorization with the
    beta-divergence.
    A. Ang and N. Gillis (2019), Accelerating nonnegative matrix factorization algorithms using
    extrapolation.
    P. Hoyer (2004), Non-negative matrix factorization with sparseness constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NMF
    >>> parts = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 1.0]])
    >>> X = np.random.default_rng(0).random((100, 2)) @ parts
    >>> model = NMF(2, tol=1e-8, max_iter=500).fit(X)
    >>> bool(model.reconstruction_err_ < 1e-4)
    True
    >>> model.transform(X[:3]).shape
    (3, 2)
    """

    _law_params = {"n_components": 2, "tol": 1e-3}
    _law_rows = 3000
    _learned_shapes = {"components_": "m p", "usage_": "m"}
    _parameter_constraints = {
        **NonNegativeModel._parameter_constraints,  # noqa: SLF001
        "solver": [StrOptions(set(_SWEEPS))],
        "shuffle": ["boolean"],
        "sparseness_W": [Interval(Real, 0, 1, closed="both"), None],
        "sparseness_H": [Interval(Real, 0, 1, closed="both"), None],
        "missing": [StrOptions({"error", "ignore"})],
    }

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: str | None = None,
        solver: str = "cd",
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        verbose: int = 0,
        shuffle: bool = False,
        sparseness_W: float | None = None,
        sparseness_H: float | None = None,
        missing: str = "error",
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose
        self.shuffle = shuffle
        self.sparseness_W = sparseness_W
        self.sparseness_H = sparseness_H
        self.missing = missing

    @property
    def _nan_ok(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.missing == "ignore"

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        W: Any = None,
        H: Any = None,
        entry_weight: Any = None,
    ) -> Self:
        """Learn the components.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows, non-negative.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.
        W, H : (n_rows, n_components) and (n_components, n_features) arrays, optional
            Start for init="custom".
        entry_weight : (n_rows, n_features) array, optional
            Weight of each entry, finite and not negative; zero leaves it out. For dense rows.

        Returns
        -------
        self
        """
        self._factorize(X, sample_weight, W, H, entry_weight)
        return self

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        X: Any,
        y: Any = None,
        W: Any = None,
        H: Any = None,
        sample_weight: Any = None,
        entry_weight: Any = None,
    ) -> np.ndarray:
        """Learn the components and return the codes of the rows; arguments as in `fit`."""
        codes = self._factorize(X, sample_weight, W, H, entry_weight)
        return self.transform(X) if codes is None else np.array(codes)

    def _factorize(self, X: Any, w: Any, W: Any, H: Any, V: Any) -> np.ndarray | None:
        """Fit, with the arguments that the template of a fit does not know; the codes, if kept."""
        self._given, self._codes = (W, H, V), None
        try:
            super().fit(X, None, w)
            return self._codes
        except ValueError as error:
            if self.missing == "ignore" or "X contains NaN" not in str(error):
                raise
            raise ValueError(
                f"{error} With missing='ignore' the objective leaves such entries out."
            ) from None
        finally:
            del self._given, self._codes

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        W, H, V = self._given if hasattr(self, "_given") else (None, None, None)
        self._check_settings(rows, V)
        if V is not None:
            V = _check_entry_weights(V, (rows.n_rows, rows.n_features))
        sums = rows.total(data_sums)
        self._check_loss(sums.least, self.solver)
        if sums.entries == 0 or (V is not None and rows.total(_observed_weight, V) == 0):
            raise ValueError(
                "NMF: no entry of X is there with a weight above 0, so there is nothing to learn "
                "from: give some entries a weight, or a number in the place of NaN"
            )
        H, start = self._initial_factors(rows, sums, (W, H), rng)
        found = factorize(rows, self._problem(rows, sums.n, V), H, start, sums)
        self._codes = found.W
        return self._learned_attributes(found, rows)

    def _learned_attributes(self, found: Factors, rows: Rows) -> dict[str, Any]:
        message = {} if self.tol > 0 else {"warning_": ""}
        return {
            "components_": found.H.astype(rows.dtype),
            "n_components_": len(found.H),
            "reconstruction_err_": float(np.sqrt(2 * max(found.cost, 0.0))),
            "usage_": found.usage,
            **found.report,
            **message,
        }

    def _convergence_words(self) -> str:
        return (
            f"Maximum number of iterations {self.max_iter} reached. Increase it to improve "
            "convergence."
        )

    def _problem(self, rows: Rows, n: float, V: Any) -> Problem:
        """The objective and the solver, as the iterations take them."""
        beta = beta_of(self.beta_loss)
        penalties = self._penalties(n, rows.n_features)
        step = CodeStep(
            self.solver,
            beta,
            penalties.l1_codes,
            penalties.l2_codes,
            _SWEEPS[self.solver],
            sparseness=self.sparseness_W or 0.0,
            masked=V is not None or self._nan_ok,
        )
        sparseness = self.sparseness_H or 0.0
        return Problem(step, penalties, sparseness, V, self.tol, self.max_iter)

    def _check_settings(self, rows: Rows, V: Any) -> None:
        """Refuse combinations that no solver here can do."""
        masked = V is not None or self._nan_ok
        sparse = bool(self.sparseness_W or self.sparseness_H)
        if self.solver == "mu" and self.init == "nndsvd":
            warnings.warn(
                "The multiplicative update ('mu') solver cannot update zeros present in the "
                "initialization, and so leads to poorer results when used jointly with "
                "init='nndsvd'. You may try init='nndsvda' or init='nndsvdar' instead.",
                UserWarning,
                stacklevel=5,
            )
        if sparse and (masked or self.solver == "mu"):
            raise ValueError(
                "sparseness_W and sparseness_H go with squared errors, solver 'cd', 'pg' or "
                "'anls', and complete rows"
            )
        if masked and (rows.sparse or self.solver not in ("cd", "mu")):
            raise ValueError(
                "missing entries and entry_weight go with dense rows and solver 'cd' or 'mu': a "
                "sparse matrix has zeros where it stores nothing"
            )


def _check_entry_weights(V: Any, shape: tuple[int, int]) -> np.ndarray:
    """Weights of the entries: one for each, finite and not negative."""
    V = np.asarray(V)
    if V.shape != shape:
        raise ValueError(
            f"entry_weight has shape {V.shape}, and X has {shape[0]} rows and {shape[1]} columns: "
            "give a weight for each entry"
        )
    V = V if V.dtype == np.float32 else V.astype(np.float64)
    bad = ~(np.isfinite(V) & (V >= 0))
    if bad.any():
        row, column = np.unravel_index(int(np.argmax(bad)), shape)
        raise ValueError(
            f"entry_weight: that of row {row}, column {column} is {V[row, column]}; weights are "
            "finite and at least 0, and 0 leaves an entry out"
        )
    return V


def _observed_weight(chunk: Chunk, V: np.ndarray) -> float:
    """Weight of the entries of a chunk that are there."""
    weights = np.where(np.isnan(chunk.X), 0, V[chunk.first : chunk.first + chunk.rows])
    return float(chunk.weights().astype(np.float64) @ weights.sum(axis=1, dtype=np.float64))


def non_negative_factorization(
    X: Any,
    W: Any = None,
    H: Any = None,
    n_components: Any = "auto",
    *,
    init: str | None = None,
    update_H: bool = True,
    solver: str = "cd",
    beta_loss: Any = "frobenius",
    tol: float = 1e-4,
    max_iter: int = 200,
    alpha_W: float = 0.0,
    alpha_H: Any = "same",
    l1_ratio: float = 0.0,
    random_state: Any = None,
    verbose: int = 0,
    shuffle: bool = False,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Factors W and H of a non-negative matrix, and the number of iterations.

    A function with the parameters of `NMF`, as in scikit-learn.

    Parameters
    ----------
    X : array or sparse matrix
        The rows, non-negative.
    W, H : arrays, optional
        Start for init="custom"; H also for `update_H=False`.
    n_components, init, solver, beta_loss, tol, max_iter : see `NMF`
    update_H : bool
        False: find the codes W for the given H.
    alpha_W, alpha_H, l1_ratio, random_state, verbose, shuffle : see `NMF`

    Examples
    --------
    >>> import numpy as np
    >>> W, H, n_iter = non_negative_factorization(np.eye(3), n_components=3, init="nndsvd")
    >>> bool(np.allclose(W @ H, np.eye(3), atol=1e-2))
    True
    """
    options = {
        name: value for name, value in locals().items() if name not in ("X", "W", "H", "update_H")
    }
    model = NMF(**options)
    if update_H:
        codes = model.fit_transform(X, W=W, H=H)
        return codes, model.components_, model.n_iter_
    if W is not None:
        warnings.warn(
            "When update_H=False, the provided initial W is not used.", RuntimeWarning, stacklevel=2
        )
    if H is None:
        raise ValueError("update_H=False needs H: the components that are kept")
    return _codes_for(model, X, H)


def _codes_for(model: NMF, X: Any, H: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Codes of the rows for given components."""
    H = check_array(H, dtype=None)  # pyright: ignore[reportArgumentType]
    dtype = getattr(X, "dtype", H.dtype)
    if dtype != H.dtype and dtype in (np.float32, np.float64):
        raise TypeError(f"H should have the same dtype as X. Got H.dtype = {H.dtype}.")
    if H.min() < 0:
        raise ValueError("Negative values in data passed to NMF (input H)")
    k = model.n_components
    if k not in ("auto", None) and len(H) != k:
        raise ValueError(
            "Array with wrong first dimension passed to NMF (input H). Expected "
            f"{k}, but got {len(H)}."
        )
    vars(model).update(components_=H, n_features_in_=H.shape[1])
    return model.transform(X), H, 1
