"""Dictionary learning: atoms of which few code each row, from all rows in each iteration."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.decomposition._dictionary_steps import (
    code_sums,
    initial_dictionary,
    replace_atoms,
    shorten_atoms,
    take_dense,
    update_dictionary,
)
from tenfold.decomposition._extrapolation import Extrapolation
from tenfold.decomposition.sparse_coder import (
    CODE_CONSTRAINTS,
    CodeRule,
    Dictionary,
    SparseModel,
    code_rule,
    encode_chunk,
)
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged

_LARGE_SHARE = 0.01  # of the decrease so far: an iteration with more is not the last
FIT_ALGORITHMS = {"lars": "lasso_lars", "cd": "lasso_cd", "omp": "omp"}


class _DictionaryState(NamedTuple):
    D: np.ndarray  # (k, p) atoms
    ahead: np.ndarray  # (k, p) atoms that the next codes are for
    objective: float
    first: float  # objective of the first iteration
    usage: np.ndarray  # (k,)
    extrapolation: Extrapolation


class DictionaryLearning(SparseModel):
    r"""Dictionary learning.

    .. math:: \min_{Z, D} \; \tfrac12 \lVert X - Z D \rVert_F^2 + \alpha \lVert Z \rVert_1
              \quad \text{subject to } \lVert d_k \rVert \le 1

    An iteration codes all rows with the atoms so far (one pass) and then makes each atom the best
    one for these codes. Codes have one minimum, so they are found anew in each pass and never kept:
    the rows of a file need no memory. Atoms that no row uses become the rows with the largest
    errors. Parameters and attributes are those of `sklearn.decomposition.DictionaryLearning`.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms; by default the number of columns. More than that is an overcomplete
        dictionary.
    alpha : float
        Penalty on the codes.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the objective decreases by less than this fraction.
    fit_algorithm : {"lars", "cd", "omp"}
        How rows are coded: the lasso by its path or by coordinate descent, or at most
        `transform_n_nonzero_coefs` atoms by orthogonal matching pursuit.
    transform_algorithm, transform_n_nonzero_coefs, transform_alpha : see `SparseCoder`
        How `transform` codes rows; `transform_alpha` is `alpha` by default.
    n_jobs : int, optional
        Number of threads.
    code_init : array, optional
        Not used: codes do not depend on a start.
    dict_init : (n_components, n_features) array, optional
        Atoms to begin with; by default right singular vectors, and rows if there are too few.
    callback : callable, optional
        Called after every fifth iteration with a dict of "ii", "dictionary" and "errors".
    verbose : bool
        Whether to show progress, as `tenfold.progress()` does.
    split_sign, positive_code, transform_max_iter, l2_penalty : see `SparseCoder`
    random_state : int, optional
        Seed of the rows that fill up an overcomplete dictionary.
    positive_dict : bool
        Whether atoms are non-negative.

    Attributes
    ----------
    components_ : (n_components, n_features) atoms
    error_ : objective after each iteration
    usage_ : (n_components,) total usage of each atom, the sum of its absolute codes
    n_iter_, converged_, history_ : iterations, whether `tol` was reached, objective and seconds

    See Also
    --------
    MiniBatchDictionaryLearning : The same from batches of rows, online.
    SparseCoder : Codes for a given dictionary.
    NMF, MatrixFactorization : Codes and atoms in other sets.

    References
    ----------
    B. Olshausen and D. Field (1997), Sparse coding with an overcomplete basis set.
    J. Mairal et al. (2009), Online dictionary learning for sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import DictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)) @ np.eye(3, 5) + 0.01 * rng.normal(size=(200, 5))
    >>> model = DictionaryLearning(3, alpha=0.1, max_iter=50, tol=1e-4).fit(X)
    >>> model.components_.shape
    (3, 5)
    >>> bool((np.diff(model.history_["objective"]) <= 1e-9).all())
    True
    """

    _law_params = {
        "n_components": 2,
        "max_iter": 300,
        "tol": 1e-6,
        "transform_algorithm": "lasso_lars",
    }
    _law_rows = 1500
    _learned_shapes = {"components_": "m p", "usage_": "m"}
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_algorithm": [StrOptions(set(FIT_ALGORITHMS))],
        "code_init": [np.ndarray, None],
        "dict_init": [np.ndarray, None],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "positive_dict": ["boolean"],
        **CODE_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        max_iter: int = 1000,
        tol: float = 1e-8,
        fit_algorithm: str = "lars",
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        n_jobs: int | None = None,
        code_init: Any = None,
        dict_init: Any = None,
        callback: Any = None,
        verbose: bool = False,
        split_sign: bool = False,
        random_state: Any = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        transform_max_iter: int = 1000,
        l2_penalty: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.fit_algorithm = fit_algorithm
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.n_jobs = n_jobs
        self.code_init = code_init
        self.dict_init = dict_init
        self.callback = callback
        self.verbose = verbose
        self.split_sign = split_sign
        self.random_state = random_state
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.transform_max_iter = transform_max_iter
        self.l2_penalty = l2_penalty

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        k = self.n_components or rows.n_features
        rule = fit_rule(self, (k, rows.n_features))
        start = initial_dictionary(rows, k, self.dict_init, self.positive_dict, rng)
        first = _DictionaryState(start, start, np.inf, np.inf, np.zeros(k), Extrapolation())
        loop = until_converged(first, tol=self.tol, max_iter=self.max_iter)
        for state in loop:
            loop.update(**self._iterate(rows, rule, state))
            self._call_back(loop)
        state = loop.state
        return {
            "components_": state.D.astype(rows.dtype),
            "error_": [float(cost) for cost in loop.objectives],
            "usage_": state.usage,
            "warning_": None if self.tol > 0 and self.max_iter > 0 else "",
            **loop.report,
        }

    def _iterate(self, rows: Rows, rule: CodeRule, state: _DictionaryState) -> dict[str, Any]:
        """Code all rows, then make the atoms anew; a step that is no gain is taken back."""
        s = rows.total(code_sums, Dictionary.of(state.ahead), rule)
        D, unused = update_dictionary(state.ahead, s.gram, s.cross, self.positive_dict)
        objective = s.cost(D, rule)
        if objective > state.objective and rule.algorithm != "omp":
            back = state._replace(ahead=state.D, extrapolation=state.extrapolation.shrink())
            # the same step again would rise again: what is left is rounding
            change = 0.0 if np.array_equal(state.ahead, state.D) else np.inf
            return {"state": back, "objective": state.objective, "change": change}
        if len(unused):
            worst = take_dense(rows, s.worst.rows[: len(unused)])
            D = replace_atoms(D, unused, worst, self.positive_dict)
            ahead, faster = D, Extrapolation()
        else:
            ahead = shorten_atoms(state.extrapolation.beyond(D, state.D), self.positive_dict)
            faster = state.extrapolation.grow()
        first = objective if np.isinf(state.first) else state.first
        after = _DictionaryState(D, ahead, objective, first, s.usage, faster)
        renewed = len(unused) > 0 and objective < state.objective
        change = np.inf if renewed else _relative_decrease(state, after)
        return {"state": after, "objective": objective, "change": change}

    def _call_back(self, loop: Any) -> None:
        if self.callback is not None and (loop.n_iter - 1) % 5 == 0:
            self.callback(
                {
                    "ii": loop.n_iter - 1,
                    "dictionary": loop.state.D,
                    "errors": list(loop.objectives),
                }
            )

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

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Learn the atoms and return codes of the fit's own algorithm; arguments as in `fit`."""
        self.fit(X, y, sample_weight)
        rule = fit_rule(self, self.components_.shape)
        return self._map_rows(X, encode_chunk, Dictionary.of(self.components_), rule)


def _relative_decrease(before: _DictionaryState, after: _DictionaryState) -> float:
    """Decrease of the objective, as a share of it; infinite while it is much of all decrease.

    Near a saddle point, such as the singular vectors of rows with a small penalty, steps begin
    small and grow.
    """
    if np.isinf(before.objective):
        return np.inf
    decrease = max(before.objective - after.objective, 0.0)
    if decrease == 0 or after.objective <= 0:
        return 0.0
    large = decrease > _LARGE_SHARE * (after.first - after.objective)
    return np.inf if large else decrease / after.objective


def fit_rule(model: Any, shape: tuple[int, int]) -> CodeRule:
    """How a fit codes rows."""
    if model.positive_code and model.fit_algorithm in ("lars", "omp"):
        raise ValueError(
            f"Positive constraint not supported for '{model.fit_algorithm}' coding method."
        )
    return code_rule(
        FIT_ALGORITHMS[model.fit_algorithm],
        model.transform_n_nonzero_coefs,
        model.alpha,
        shape,
        l2=model.l2_penalty,
        positive=model.positive_code,
        max_iter=model.transform_max_iter,
    )
