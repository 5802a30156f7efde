"""Online non-negative factorization: components that follow batches of rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.decomposition._divergences import TINY, beta_of, exponent_of, scale_factor
from tenfold.decomposition._nmf_components import Penalties
from tenfold.decomposition._nmf_fit import first_codes
from tenfold.decomposition._nmf_init import data_sums
from tenfold.decomposition._nmf_steps import (
    CodeStep,
    ComponentProducts,
    codes_of_rows,
    infer_codes,
    residual_sums,
    row_divergences,
    step_sums,
)
from tenfold.decomposition._nonnegative_model import NonNegativeModel
from tenfold.engine.carried_columns import map_array
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged

_LEAST_MOVE = 1e-12  # a batch that moves less has only zeros, and says nothing about convergence


class _OnlineFactors(NamedTuple):
    """Components, the sides of their multiplicative step, codes, and the running cost."""

    Ht: np.ndarray  # (p, k)
    up: np.ndarray  # (p, k)
    down: np.ndarray  # (p, k)
    W: np.ndarray  # (n, k) codes of the rows so far, or (0, k) where each batch finds its own
    steps: int
    running_cost: float
    best_cost: float
    since_best: int


class MiniBatchNMF(NonNegativeModel):
    r"""Online non-negative factorization.

    .. math:: H \leftarrow H \left( \frac{A_t}{B_t} \right)^\gamma, \qquad
              A_t = \rho A_{t-1} + H \odot \nabla^-_t, \quad B_t = \rho B_{t-1} + \nabla^+_t

    Each batch makes a multiplicative step of its codes, and the two sides of the components' step
    join those of the past. Objective, parameters and attributes are those of
    `sklearn.decomposition.MiniBatchNMF`; batches are the rows in their order. Beside the
    components only the codes of the rows are kept (above 64 MiB in a temporary file), and with
    `fresh_restarts` not even these.

    Parameters
    ----------
    n_components, init, beta_loss, alpha_W, alpha_H, l1_ratio, random_state, verbose : see `NMF`
    batch_size : int
        Rows of a batch.
    tol : float
        Stop when a batch moves the components by at most this fraction; 0 turns it off.
    max_no_improvement : int or None
        Stop after so many batches without a new minimum of the running cost.
    max_iter : int
        Maximum number of epochs, each row once.
    forget_factor : float
        Share of the past that is left after an epoch: 1 forgets nothing.
    fresh_restarts : bool
        Whether the codes of each batch are found from scratch, and not kept.
    fresh_restarts_max_iter, transform_max_iter : int
        Most steps for that, and for codes of new rows (None: `max_iter`).

    Attributes
    ----------
    components_ : (n_components, n_features) H
    n_components_ : number of components
    reconstruction_err_ : square root of twice the divergence of the rows from W H
    step_up_, step_down_ : the two sides (n_features, n_components) of the next step
    n_iter_, n_steps_, converged_, history_ : epochs, batches, whether a criterion stopped the fit,
        running cost and seconds after each epoch

    See Also
    --------
    NMF : All rows in each iteration.

    References
    ----------
    A. Lefevre, F. Bach and C. Fevotte (2011), Online algorithms for nonnegative matrix
    factorization with the Itakura-Saito divergence.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MiniBatchNMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 2)) @ rng.random((2, 6))
    >>> model = MiniBatchNMF(2, batch_size=50, tol=1e-2).fit(X)
    >>> bool(model.reconstruction_err_ < 0.1 * np.linalg.norm(X))
    True
    """

    _learns_in_row_order = True
    _samples_rows = True
    _learns_in_batches = True
    _law_params = {"n_components": 2, "init": "random", "tol": 1e-2, "max_no_improvement": 3}
    _law_rows = 3000
    _learned_shapes = {"components_": "m p", "step_up_": "p m", "step_down_": "p m"}
    _parameter_constraints = {
        **NonNegativeModel._parameter_constraints,  # noqa: SLF001
        "max_no_improvement": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "forget_factor": [Interval(Real, 0, 1, closed="both")],
        "fresh_restarts": ["boolean"],
        "fresh_restarts_max_iter": [Interval(Integral, 1, None, closed="left")],
        "transform_max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: str | None = None,
        batch_size: int = 1024,
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        max_iter: int = 200,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        forget_factor: float = 0.7,
        fresh_restarts: bool = False,
        fresh_restarts_max_iter: int = 30,
        transform_max_iter: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.batch_size = batch_size
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.max_iter = max_iter
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.forget_factor = forget_factor
        self.fresh_restarts = fresh_restarts
        self.fresh_restarts_max_iter = fresh_restarts_max_iter
        self.transform_max_iter = transform_max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, W: Any = None, H: Any = None
    ) -> Self:
        """Learn the components; arguments as in `NMF.fit`."""
        self._given = (W, H)
        try:
            return super().fit(X, None, sample_weight)
        finally:
            del self._given

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any = None, W: Any = None, H: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Learn the components and return the codes of the rows; arguments as in `NMF.fit`."""
        return self.fit(X, y, sample_weight, W=W, H=H).transform(X)

    def _max_code_steps(self) -> int:
        return self.transform_max_iter or self.max_iter

    def _code_solver(self) -> str:
        return "mu"

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        given = self._given if hasattr(self, "_given") else (None, None)
        sums = rows.total(data_sums)
        self._check_loss(sums.least, "mu")
        H, start = self._initial_factors(rows, sums, given, rng)
        k = len(H)
        W = np.empty((0, k)) if self.fresh_restarts else first_codes(rows, start, k)
        loop = until_converged(_start(H, W), tol=0.0, max_iter=self.max_iter)
        for state in loop:
            after, stopped = self._run_epoch(rows, state)
            loop.update(after, objective=after.running_cost, change=0.0 if stopped else np.inf)
        learned = self._learned_attributes(loop.state, rows.dtype)
        H = ComponentProducts.of(np.ascontiguousarray(learned["components_"].T, np.float64))
        s = rows.total(residual_sums, H, self._inference_step("mu"), None)
        learned["reconstruction_err_"] = float(np.sqrt(2 * max(s.cost, 0.0)))
        return learned | loop.report | ({} if self.tol > 0 else {"warning_": ""})

    def _convergence_words(self) -> str:
        return (
            f"Maximum number of iterations {self.max_iter} reached. Increase it to improve "
            "convergence."
        )

    def _learned_attributes(self, state: _OnlineFactors, dtype: Any) -> dict[str, Any]:
        return {
            "components_": np.ascontiguousarray(state.Ht.T).astype(dtype),
            "n_components_": state.Ht.shape[1],
            "step_up_": state.up.astype(dtype),
            "step_down_": state.down.astype(dtype),
            "n_steps_": state.steps,
        }

    def _run_epoch(self, rows: Rows, state: _OnlineFactors) -> tuple[_OnlineFactors, bool]:
        """The state after each row was in a batch, and whether a criterion stopped it before."""
        size = min(self.batch_size, rows.n_rows)
        forget = self.forget_factor ** (size / rows.n_rows)
        W = _copy_codes(state.W)
        for block in rows.blocks(None):
            for at in range(0, len(block.order), size):
                order = block.order[at : at + size]
                w = None if block.w is None else block.w[order]
                batch = Chunk(block.X[order], None, w, first=int(block.numbers[at]))
                before = state.Ht
                state = self._step(state._replace(W=W), batch, forget, rows.n_rows)
                W = state.W
                if self._has_stopped(state, before):
                    return state, True
        return state, False

    def _step(
        self, state: _OnlineFactors, batch: Chunk, forget: float, n_rows: int
    ) -> _OnlineFactors:
        """The state after a batch; its codes are written into the state's."""
        H, beta = ComponentProducts.of(state.Ht), beta_of(self.beta_loss)
        penalties = self._penalties(batch.weight, len(state.Ht))
        step = CodeStep("mu", beta, penalties.l1_codes, penalties.l2_codes, 1)
        if len(state.W):
            place = slice(batch.first, batch.first + batch.rows)
            codes = _one_step(batch, state.W[place], H, step)
            state.W[place] = codes
        else:
            many = step._replace(max_steps=self.fresh_restarts_max_iter, tol=self.tol)
            codes = codes_of_rows(batch, H, many)
        cost = _batch_cost(batch, codes, H, step, penalties)
        numerator, denominator = step_sums(batch, codes, H, step)
        numerator = numerator * state.Ht
        denominator = denominator + penalties.l1_components + penalties.l2_components * state.Ht
        exponent = exponent_of(beta)
        if exponent != 1.0:  # A and B of Lefevre and others hold H^(1/exponent)
            numerator = numerator * state.Ht ** (1.0 / exponent - 1.0)
        up, down = forget * state.up + numerator, forget * state.down + denominator
        Ht = scale_factor(np.ones_like(up), up, down, exponent, TINY if beta <= 1 else 0.0)
        state = state._replace(Ht=Ht, up=up, down=down, steps=state.steps + 1)
        return _update_cost(state, cost, min(batch.rows / (n_rows + 1), 1.0))

    def _has_stopped(self, state: _OnlineFactors, before: np.ndarray) -> bool:
        if state.steps <= 1:
            return False
        moved = float(np.linalg.norm(state.Ht - before)) / max(float(np.linalg.norm(before)), TINY)
        if _LEAST_MOVE < moved <= self.tol:
            return True
        patience = self.max_no_improvement
        return patience is not None and state.since_best >= patience

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        W: Any = None,
        H: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Update the components with one batch; arguments as in `fit`.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows of the batch.
        y : None
            Not used.
        W, H : arrays, optional
            Start of the first batch for init="custom".
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
            sums = rows.total(data_sums)
            self._check_loss(sums.least, "mu")
            if first:
                state = _start(*self._first_factors(rows, sums, (W, H)))
            else:
                up = self.step_up_.astype(np.float64)
                down = self.step_down_.astype(np.float64)
                Ht = np.ascontiguousarray(self.components_.T, np.float64)
                none = np.empty((0, len(self.components_)))
                state = _OnlineFactors(Ht, up, down, none, self.n_steps_, np.nan, np.inf, 0)
            batch = rows.gather()._replace(first=0)
            state = self._step(state, batch, self.forget_factor, batch.rows)
            self._set_learned(self._learned_attributes(state, rows.dtype))
        return self

    def _first_factors(self, rows: Rows, sums: Any, given: tuple) -> tuple[np.ndarray, np.ndarray]:
        H, _ = self._initial_factors(rows, sums, given, self._rng())
        return H, np.empty((0, len(H)))


def _start(H: np.ndarray, W: np.ndarray) -> _OnlineFactors:
    Ht = np.ascontiguousarray(H.T, np.float64)
    return _OnlineFactors(Ht, Ht.copy(), np.ones_like(Ht), W, 0, np.nan, np.inf, 0)


def _copy_codes(W: np.ndarray) -> np.ndarray:
    """A copy to write into; in a file where the codes are in one."""
    if not isinstance(W, np.memmap):
        return np.array(W)
    copy = map_array(W.shape, W.dtype)
    copy[:] = W
    return copy


def _one_step(batch: Chunk, W: np.ndarray, H: ComponentProducts, step: CodeStep) -> np.ndarray:
    """Codes after one multiplicative step."""
    return infer_codes(batch, np.array(W), H, step, None)[0]


def _batch_cost(
    batch: Chunk, W: np.ndarray, H: ComponentProducts, step: CodeStep, penalties: Penalties
) -> float:
    """Mean cost of a row of the batch, penalties included."""
    w = batch.weights().astype(np.float64)
    errors = row_divergences(batch, W, H, step.beta, None)
    codes = step.l1 * W.sum(axis=1) + step.l2 * (W * W).sum(axis=1)
    components = penalties.l1_components * H.sums.sum() + penalties.l2_components * float(
        (H.Ht * H.Ht).sum()
    )
    return (float(w @ (errors + codes)) + components) / max(float(w.sum()), TINY)


def _update_cost(state: _OnlineFactors, cost: float, rate: float) -> _OnlineFactors:
    """The state with the running cost after a batch; that of the first one does not count."""
    if state.steps <= 1:
        return state._replace(running_cost=cost)
    last = cost if state.steps == 2 else state.running_cost
    running = (1 - rate) * last + rate * cost
    better = running < state.best_cost
    return state._replace(
        running_cost=running,
        best_cost=min(running, state.best_cost),
        since_best=0 if better else state.since_best + 1,
    )
