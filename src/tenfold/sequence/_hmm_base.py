"""Base class of hidden Markov models: training, decoding, messages, samples."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.hooks import record_data
from tenfold.engine.rows import Rows
from tenfold.inference.em import LikelihoodDecreasedError
from tenfold.io.sequences import Ragged
from tenfold.math.distances import nearest_centers
from tenfold.mixture._init import draw_initial_centers
from tenfold.optim.convergence import until_converged
from tenfold.sequence._hmm_data import SequenceData, open_data
from tenfold.sequence._hmm_emissions import dirichlet_log_prior
from tenfold.sequence._hmm_lanes import HiddenChain, check_labels
from tenfold.sequence._hmm_passes import (
    ExpectedCounts,
    count_best_path,
    count_expected,
    measure_likelihood,
)
from tenfold.sequence._hmm_pieces import find_edge_states, send_messages
from tenfold.sequence._hmm_queries import HMMQueries
from tenfold.sequence._transition_structure import TransitionStructure

_ROUNDING = 1e-9  # share of the log-likelihood by which rounding may lower it
_MAX_ENTRY = 1e150  # of a step
_SUM_TOLERANCE = 1e-5  # by which the sum of given probabilities may differ from one

# What the letters of `params` and `init_params` stand for.
_LETTERS = {"s": "startprob_", "t": "transmat_", "m": "means_", "c": "covars_", "d": "densities_"}
_LETTERS |= {"e": "emissionprob_", "l": "lambdas_", "w": "weights_"}

HMM_CONSTRAINTS: dict[str, Any] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "startprob_prior": ["array-like", Interval(Real, 0, None, closed="left")],
    "transmat_prior": ["array-like", Interval(Real, 0, None, closed="left")],
    "algorithm": [StrOptions({"viterbi", "map"})],
    "random_state": ["random_state"],
    "n_iter": [Interval(Integral, 0, None, closed="left")],
    "tol": [Real],
    "verbose": ["verbose"],
    "params": [str],
    "init_params": [str],
    "implementation": [StrOptions({"log", "scaling"})],
    "training": [StrOptions({"em", "viterbi"})],
    "transitions": [StrOptions({"free", "left-right", "banded", "tied"}), "array-like"],
    "sticky": [Interval(Real, 0, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
}


class TrainingRun(NamedTuple):
    """Result of training from one initialization."""

    model: HiddenChain
    log_likelihood: float
    report: dict[str, Any]


class BaseHMM(Estimator, HMMQueries):
    r"""A chain of hidden states, each of which emits a step.

    .. math:: p(x, s) = p(s_1) \prod_t p(x_t \mid s_t) \prod_{t > 1} A_{s_{t-1} s_t}

    A model defines `_emission()`, its emissions with the learned parameters; `_initial_emission`,
    `_update_emission`, `_emission_attributes` and `_log_prior`; and `_draw(state, n, rng)`.

    References
    ----------
    L. R. Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech
    recognition, Proceedings of the IEEE 77.
    """

    n_components: int
    params: str
    init_params: str
    startprob_: np.ndarray
    transmat_: np.ndarray
    _takes_sequences = True
    _nan_ok = True
    _emission_letters = ""  # of `params` and `init_params`
    _parameter_constraints: dict[str, Any] = HMM_CONSTRAINTS

    def fit(  # pyright: ignore[reportIncompatibleMethodOverride] - hmmlearn's order
        self,
        X: Any,
        lengths: Any = None,
        *,
        labels: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from sequences by EM.

        Parameters
        ----------
        X : (n_steps, n_features) array, list of arrays, `Ragged`, (values, lengths), path or rows
            The steps of all sequences below each other, or the sequences. Files (`.npy`,
            `.parquet`, ...), `tenfold.open(...)` and tables hold a step in each row; values and
            lengths may be `.npy` files. All of them, and a single sequence among them, may be
            larger than memory. NaN is a missing entry.
        lengths : list of int, optional
            Lengths of the sequences, if rows are steps; by default they are one sequence.
        labels : list of arrays or array, optional
            Known states of the steps, -1 where unknown.
        sample_weight : array, optional
            Weight of each sequence.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_letters()
        self._warn_overwritten()
        with self._work_context():
            data = self._open_data(X, lengths, labels, sample_weight, reset=True)
            record_data(data.rows.source, data.rows.engine)
            rng = self._rng()
            runs = [self._train(data, rng) for _ in range(self.n_init)]
            best = max(runs, key=lambda run: run.log_likelihood)
            self._set_learned(
                {
                    **self._chain_attributes(best.model),
                    **best.report,
                    "log_likelihood_": best.log_likelihood,
                }
            )
        return self

    def _chain_attributes(self, model: HiddenChain) -> dict[str, Any]:
        return {
            "startprob_": model.start,
            "transmat_": model.transition,
            **self._emission_attributes(model.emission),
        }

    def _check_letters(self) -> None:
        known = "st" + self._emission_letters
        for name in ("params", "init_params"):
            strange = set(getattr(self, name)) - set(known)
            if strange:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: {min(strange)!r} is none of the "
                    f"letters {known!r} (s: starts, t: transitions, others: emissions)"
                )

    def _warn_overwritten(self) -> None:
        """Say that parameters which were set by hand, not by a fit, will be lost."""
        own = {"covars_" if name == "_covars" else name for name in vars(self)}
        lost = [letter for letter in self.init_params if _LETTERS[letter] in own]
        if lost and "history_" not in own:
            names = ", ".join(_LETTERS[letter] for letter in lost)
            rest = "".join(letter for letter in self.init_params if letter not in lost)
            warnings.warn(
                f"{type(self).__name__}: {names} will be overwritten by initial values from the "
                f"steps; init_params={rest!r} begins with what is set",
                UserWarning,
                stacklevel=3,
            )

    def _train(self, data: SequenceData, rng: np.random.Generator) -> TrainingRun:
        """EM, or Viterbi training, from one initialization."""
        structure = self._structure()
        first = self._initialize(data, structure, rng)
        loop = until_converged((first, -np.inf), tol=self.tol, max_iter=self.n_iter)
        counts = None
        for model, previous in loop:
            counts = self._count(data, model)
            value = counts.log_likelihood + self._log_prior(model, structure)
            check_increase(previous, value, loop.n_iter)
            updated = self._maximize(model, counts, structure)
            loop.update((updated, value), objective=-value, change=value - previous)
        model, _ = loop.state
        report = loop.report
        if self.n_iter == 0:  # nothing was to be learned, and nothing is claimed
            report["warning_"] = ""
        if counts is not None:
            self._warn_dead_states(counts)
        return TrainingRun(model, self._measure_likelihood(data, model), report)

    def _count(self, data: SequenceData, model: HiddenChain) -> ExpectedCounts:
        """The E-step; long sequences need a pass before it."""
        rows, grid = data
        if self.training == "em":
            if grid is not None:
                grid = send_messages(rows, model, grid)
            return rows.total(count_expected, model, grid)
        if grid is not None:
            grid, _ = find_edge_states(rows, model, grid)
        return rows.total(count_best_path, model, grid)

    def _measure_likelihood(self, data: SequenceData, model: HiddenChain) -> float:
        """What the training raises, without the prior."""
        if self.training != "em":
            return self._count(data, model).log_likelihood
        grid = data.grid
        if grid is not None:
            grid = send_messages(data.rows, model, grid)
        return data.rows.total(measure_likelihood, model, grid).value

    def _structure(self) -> TransitionStructure:
        return TransitionStructure.of(
            self.transitions, self.n_components, self.sticky, self.transmat_prior
        )

    def _maximize(
        self, model: HiddenChain, counts: ExpectedCounts, structure: TransitionStructure
    ) -> HiddenChain:
        """The M-step; letters that `params` leaves out stay as they are."""
        start, transition, emission = model
        if "s" in self.params:
            prior = np.asarray(self.startprob_prior, float)
            total = np.where(start > 0, np.maximum(counts.starts + prior - 1, 0), 0)
            whole = total.sum()
            start = total / whole if whole > 0 else start
        if "t" in self.params:
            transition = structure.update(transition, counts.transitions)
        emission = self._update_emission(emission, counts.emissions)
        return HiddenChain(start, transition, emission)

    def _log_prior(self, model: HiddenChain, structure: TransitionStructure) -> float:
        """Log-density of the parameters under their priors, up to a constant."""
        value = self._emission_log_prior(model.emission)
        if "s" in self.params:
            value += dirichlet_log_prior(self.startprob_prior, model.start)
        if "t" in self.params:
            value += structure.log_prior(model.transition)
        return value

    def _initialize(
        self, data: SequenceData, structure: TransitionStructure, rng: np.random.Generator
    ) -> HiddenChain:
        """First parameters: those that `init_params` leaves out are taken as they were set."""
        K = self.n_components
        sample = data.sample(int(rng.integers(2**31)))
        if np.isnan(sample.X.values).all():
            raise ValueError("all entries are missing (NaN): there is nothing to learn from")
        largest = np.nanmax(np.abs(sample.X.values))
        if _MAX_ENTRY < largest < np.inf:
            raise ValueError(
                f"the steps hold numbers as large as {largest:.3g}, whose squares overflow: divide "
                "the columns by their size (StandardScaler)"
            )
        labels, centers = np.zeros(0, np.int64), np.zeros((0, 0))
        if self.init_params:
            labels, centers = self._cluster_steps(sample, rng)
        if "s" in self.init_params:
            start = np.full(K, 1 / K) if structure.start is None else structure.start
        else:
            start = _check_rows("startprob_", self._given("startprob_", "s"), (K,))
        if "t" in self.init_params:
            transition = structure.initialize(labels, sample.X.offsets, rng)
        else:
            transition = _check_rows("transmat_", self._given("transmat_", "t"), (K, K))
        emission = self._initial_emission(sample.X.values, labels, centers, rng)
        return HiddenChain(start, transition, emission)

    def _given(self, name: str, letter: str) -> Any:
        if not hasattr(self, name):
            raise ValueError(
                f"init_params={self.init_params!r} leaves out {letter!r}, so {name} must be set "
                "before fit"
            )
        return getattr(self, name)

    def _cluster_steps(
        self, sample: Chunk, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """A first state of each step of a sample, and the centers they belong to."""
        values = sample.X.values
        steps = Rows(ArraySource(values), allow_nan=True)
        found, fill = draw_initial_centers(steps, self.n_components, "kmeans", rng)
        centers = cast("np.ndarray", found)  # k-means always finds some
        filled = np.where(np.isnan(values), fill, values)
        labels = nearest_centers(filled, centers)
        if isinstance(sample.y, Ragged):
            known = check_labels(sample.y.values.ravel(), self.n_components)
            labels = np.where(known >= 0, known, labels)
            for k in np.unique(known[known >= 0]):
                centers[k] = filled[known == k].mean(axis=0)
        return labels, centers

    def _open_data(
        self, X: Any, lengths: Any, labels: Any = None, weight: Any = None, *, reset: bool = False
    ) -> SequenceData:
        """Sequences whose columns are those of the fit."""
        data = open_data(X, lengths, labels, weight)
        if data.n_steps == 0:
            wanted = "to learn from" if reset else "to score or decode"
            raise ValueError(
                f"the sequences are empty: there is no step {wanted}. Give sequences with steps"
            )
        self._match_columns(data.rows, reset=reset)
        return data

    def _hidden_chain(self) -> HiddenChain:
        """The model with its learned, or given, parameters."""
        check_is_fitted(self, ["startprob_", "transmat_"])
        K = len(np.atleast_1d(self.startprob_))
        start = _check_rows("startprob_", self.startprob_, (K,))
        transition = _check_rows("transmat_", self.transmat_, (K, K))
        return HiddenChain(start, transition, self._emission())

    def _warn_dead_states(self, counts: ExpectedCounts) -> None:
        visits = counts.starts + counts.transitions.sum(axis=0)
        dead = np.flatnonzero(visits < 1e-8)
        if len(dead):
            warnings.warn(
                f"{type(self).__name__}: no step belongs to state{'s' * (len(dead) > 1)} "
                f"{', '.join(map(str, dead))}; its parameters are those of an earlier iteration. "
                "Choose fewer states, or n_init > 1",
                UserWarning,
                stacklevel=4,
            )

    def _emission_log_prior(self, emission: Any) -> float:
        return 0.0

    def _initial_emission(
        self, steps: np.ndarray, labels: np.ndarray, centers: np.ndarray, rng: np.random.Generator
    ) -> Any:
        raise NotImplementedError

    def _update_emission(self, emission: Any, statistic: Any) -> Any:
        raise NotImplementedError

    def _emission_attributes(self, emission: Any) -> dict[str, Any]:
        raise NotImplementedError


def check_increase(previous: float, value: float, iteration: int) -> None:
    """Raise an error if an iteration of EM lowered its objective."""
    if np.isnan(value):
        raise ArithmeticError(f"the log-likelihood is NaN after {iteration} iterations")
    if value < previous - _ROUNDING * max(abs(previous), 1.0):
        raise LikelihoodDecreasedError(
            f"iteration {iteration} decreased the objective from {previous:.10g} to {value:.10g}, "
            "which EM cannot do: check parameters that were set by hand"
        )


def _check_rows(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Probabilities whose rows sum to one."""
    array = np.asarray(values, np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    if (array < 0).any() or not np.abs(array.sum(axis=-1) - 1.0).max() <= _SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1 (got {array.sum(axis=-1)}) and not be negative")
    return np.ascontiguousarray(array)
