"""Online dictionary learning: atoms that follow batches of rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.decomposition._dictionary_steps import (
    code_sums,
    initial_dictionary,
    replace_atoms,
    update_dictionary,
)
from tenfold.decomposition.dictionary import FIT_ALGORITHMS, fit_rule
from tenfold.decomposition.sparse_coder import CODE_CONSTRAINTS, CodeRule, Dictionary, SparseModel
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.linalg import to_dense
from tenfold.optim.convergence import until_converged


class OnlineDictionaryState(NamedTuple):
    """Atoms, the sums of past codes with less weight for older ones, and the running cost."""

    D: np.ndarray  # (k, p)
    gram: np.ndarray  # (k, k)
    cross: np.ndarray  # (k, p)
    steps: int
    running_cost: float
    best_cost: float
    since_best: int


def update_on_batch(
    state: OnlineDictionaryState, batch: Chunk, rule: CodeRule, batch_size: int, positive: bool
) -> tuple[OnlineDictionaryState, float]:
    """The state after a batch, and the mean cost of its rows before."""
    s = code_sums(batch, Dictionary.of(state.D), rule)
    n = max(s.n, np.finfo(float).tiny)
    cost = s.cost(state.D, rule) / n
    keep = _share_of_the_past(state.steps, batch_size)
    gram, cross = keep * state.gram + s.gram / n, keep * state.cross + s.cross / n
    D, unused = update_dictionary(state.D, gram, cross, positive)
    if len(unused):
        worst = s.worst.rows[: len(unused)] - batch.first
        D = replace_atoms(D, unused, to_dense(batch.X[worst]).astype(np.float64), positive)
    return state._replace(D=D, gram=gram, cross=cross, steps=state.steps + 1), cost


def _share_of_the_past(steps: int, batch_size: int) -> float:
    """Weight of the sums so far beside those of a batch, as Mairal and others choose it."""
    if steps < batch_size - 1:
        theta = (steps + 1) * batch_size
    else:
        theta = batch_size**2 + steps + 1 - batch_size
    return (theta + 1 - batch_size) / (theta + 1)


class MiniBatchDictionaryLearning(SparseModel):
    r"""Online dictionary learning.

    .. math:: D_t = \arg\min_{\lVert d_k \rVert \le 1} \sum_{s \le t} \beta_{s,t}
              \left( \tfrac12 \lVert X_s - Z_s D \rVert^2 + \alpha \lVert Z_s \rVert_1 \right)

    Each batch of rows is coded with the atoms so far; its sums join those of the past, whose weight
    fades, and each atom becomes the best one for them. Batches depend on the seed alone, so arrays,
    files and Dask give the same bits. Parameters and attributes are those of
    `sklearn.decomposition.MiniBatchDictionaryLearning`.

    Parameters
    ----------
    n_components, alpha, fit_algorithm, dict_init, positive_dict, random_state : see
        `DictionaryLearning`
    max_iter : int
        Maximum number of epochs, each row once.
    n_jobs : int, optional
        Number of threads of `transform`.
    batch_size : int
        Rows of a batch.
    shuffle : bool
        Whether batches are random, or in the order of the rows.
    transform_algorithm, transform_n_nonzero_coefs, transform_alpha, transform_max_iter : see
        `SparseCoder`
    split_sign, positive_code, l2_penalty : see `SparseCoder`
    verbose : bool
        Whether to show progress, as `tenfold.progress()` does.
    callback : callable, optional
        Called after every batch with a dict of "i", "dictionary" and "batch_cost".
    tol : float
        Stop when a batch moves the atoms by at most this, in the mean over atoms; 0 turns it off.
    max_no_improvement : int or None
        Stop after so many batches without a new minimum of the running cost.

    Attributes
    ----------
    components_ : (n_components, n_features) atoms
    inner_gram_, inner_cross_ : sums (k, k) of codes and (k, p) of codes and rows
    n_iter_, n_steps_, converged_, history_ : epochs, batches, whether a criterion stopped the fit,
        running cost and seconds after each epoch

    See Also
    --------
    DictionaryLearning : All rows in each iteration.

    References
    ----------
    J. Mairal et al. (2009), Online dictionary learning for sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MiniBatchDictionaryLearning
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> model = MiniBatchDictionaryLearning(12, batch_size=50, max_iter=5, random_state=0).fit(X)
    >>> model.components_.shape
    (12, 8)
    """

    _learns_in_row_order = True
    _samples_rows = True
    _learns_in_batches = True
    _law_params = {"n_components": 4, "max_iter": 3, "transform_algorithm": "lasso_lars"}
    _law_rows = 3000
    _learned_shapes = {"components_": "m p", "inner_gram_": "m m", "inner_cross_": "m p"}
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "fit_algorithm": [StrOptions(set(FIT_ALGORITHMS))],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "dict_init": [np.ndarray, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "positive_dict": ["boolean"],
        "callback": [callable, None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
        **CODE_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        max_iter: int = 1_000,
        fit_algorithm: str = "lars",
        n_jobs: int | None = None,
        batch_size: int = 256,
        shuffle: bool = True,
        dict_init: Any = None,
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        verbose: bool = False,
        split_sign: bool = False,
        random_state: Any = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        transform_max_iter: int = 1000,
        callback: Any = None,
        tol: float = 1e-3,
        max_no_improvement: int | None = 10,
        l2_penalty: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.fit_algorithm = fit_algorithm
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.dict_init = dict_init
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.verbose = verbose
        self.split_sign = split_sign
        self.random_state = random_state
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.transform_max_iter = transform_max_iter
        self.callback = callback
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.l2_penalty = l2_penalty

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the atoms; arguments as in `DictionaryLearning.fit`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weight of each row.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        state = self._initial_state(rows, rng)
        seed = int(rng.integers(2**31))
        loop = until_converged(state, tol=0.0, max_iter=self.max_iter)
        for state in loop:
            after, stopped = self._run_epoch(rows, state, [seed, loop.n_iter])
            cost = after.running_cost
            loop.update(after, objective=cost, change=0.0 if stopped else np.inf)
        return self._learned_attributes(loop.state, rows.dtype) | loop.report | {"warning_": ""}

    def _initial_state(self, rows: Rows, rng: np.random.Generator) -> OnlineDictionaryState:
        k, p = self.n_components or rows.n_features, rows.n_features
        D = initial_dictionary(rows, k, self.dict_init, self.positive_dict, rng)
        return OnlineDictionaryState(D, np.zeros((k, k)), np.zeros((k, p)), 0, np.nan, np.inf, 0)

    def _run_epoch(
        self, rows: Rows, state: OnlineDictionaryState, seed: list[int]
    ) -> tuple[OnlineDictionaryState, bool]:
        """The state after each row was in a batch, and whether a criterion stopped it before."""
        size = min(self.batch_size, rows.n_rows)
        rule = fit_rule(self, state.D.shape)
        drawn = int(np.random.default_rng(seed).integers(2**31)) if self.shuffle else None
        first_epoch = min(100, rows.n_rows / size)
        rate = min(size / (rows.n_rows + 1), 1.0)
        for block in rows.blocks(drawn):
            for start in range(0, len(block.order), size):
                order = block.order[start : start + size]
                batch = Chunk(block.X[order], None, None if block.w is None else block.w[order])
                before = state.D
                state, cost = update_on_batch(state, batch, rule, size, self.positive_dict)
                self._call_back(state, cost)
                state = _update_running_cost(state, cost, rate, first_epoch)
                if state.steps > first_epoch and self._has_stopped(state, before):
                    return state, True
        return state, False

    def _has_stopped(self, state: OnlineDictionaryState, before: np.ndarray) -> bool:
        moved = float(np.linalg.norm(state.D - before)) / len(before)
        patience = self.max_no_improvement
        stalled = patience is not None and state.since_best >= patience
        return (self.tol > 0 and moved <= self.tol) or stalled

    def _call_back(self, state: OnlineDictionaryState, cost: float) -> None:
        if self.callback is not None:
            self.callback({"i": state.steps - 1, "dictionary": state.D, "batch_cost": cost})

    def _learned_attributes(self, state: OnlineDictionaryState, dtype: Any) -> dict[str, Any]:
        return {
            "components_": state.D.astype(dtype),
            "inner_gram_": state.gram.astype(dtype),
            "inner_cross_": state.cross.astype(dtype),
            "n_steps_": state.steps,
        }

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the atoms with one batch.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows of the batch.
        y : None
            Not used.
        sample_weight : array, optional
            Weight of each row.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            first = not hasattr(self, "components_")
            rows = self._rows(X, None, sample_weight, reset=first)
            if first:
                state = self._initial_state(rows, self._rng())
            else:
                gram = self.inner_gram_.astype(np.float64)
                cross = self.inner_cross_.astype(np.float64)
                D = self.components_.astype(np.float64)
                state = OnlineDictionaryState(D, gram, cross, self.n_steps_, np.nan, np.inf, 0)
            batch = rows.gather()
            rule = fit_rule(self, state.D.shape)
            state, _ = update_on_batch(
                state, batch._replace(first=0), rule, batch.rows, self.positive_dict
            )
            self._set_learned(self._learned_attributes(state, rows.dtype))
        return self


def _update_running_cost(
    state: OnlineDictionaryState, cost: float, rate: float, first_epoch: float
) -> OnlineDictionaryState:
    """The state with the running cost after a batch; costs of the first batches do not count."""
    if state.steps <= first_epoch:
        return state._replace(running_cost=cost)
    running = (1 - rate) * state.running_cost + rate * cost
    better = running < state.best_cost
    return state._replace(
        running_cost=running,
        best_cost=min(running, state.best_cost),
        since_best=0 if better else state.since_best + 1,
    )
