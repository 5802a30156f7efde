"""Base class of hidden Markov models: training, decoding, messages, samples."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.arrays import ArraySource, as_weights
from tenfold.engine.chunk import Chunk
from tenfold.engine.context import current_engine
from tenfold.engine.hooks import record_data
from tenfold.engine.rows import Rows
from tenfold.inference.em import LikelihoodDecreasedError
from tenfold.io.sequences import Ragged, SequenceSource, from_sequences, offsets_from_lengths
from tenfold.math.distances import nearest_centers
from tenfold.mixture._init import draw_initial_centers
from tenfold.optim.convergence import until_converged
from tenfold.sequence._hmm_passes import (
    ExpectedCounts,
    HiddenChain,
    check_labels,
    count_best_path,
    count_expected,
)
from tenfold.sequence._hmm_queries import HMMQueries
from tenfold.sequence._transition_structure import TransitionStructure

_CHUNK_STEPS = 16_384  # of the sequences that one thread or worker takes at a time
_SAMPLE_STEPS = 20_000  # for initial values
_ROUNDING = 1e-9  # share of the log-likelihood by which rounding may lower it

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

    def _set_chain_params(self, given: dict[str, Any]) -> None:
        """Set the parameters that all hidden Markov models share."""
        for name in HMM_CONSTRAINTS:
            setattr(self, name, given[name])

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
        X : (n_steps, n_features) array, list of arrays, `Ragged`, or (values, lengths)
            The steps of all sequences below each other, or the sequences; values and lengths may
            be `.npy` files larger than memory. NaN is a missing entry.
        lengths : list of int, optional
            Lengths of the sequences, if X is an array; by default it is one sequence.
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
        with self._work_context():
            rows = self._sequence_rows(X, lengths, labels, sample_weight, reset=True)
            record_data(rows.source, rows.engine)
            rng = self._rng()
            runs = [self._train(rows, rng) for _ in range(self.n_init)]
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

    def _train(self, rows: Rows, rng: np.random.Generator) -> TrainingRun:
        """EM, or Viterbi training, from one initialization."""
        structure = self._structure()
        count = count_expected if self.training == "em" else count_best_path
        first = self._initialize(rows, structure, rng)
        loop = until_converged((first, -np.inf), tol=self.tol, max_iter=self.n_iter)
        for model, previous in loop:
            counts = rows.total(count, model)
            value = counts.log_likelihood + self._log_prior(model, structure)
            check_increase(previous, value, loop.n_iter)
            updated = self._maximize(model, counts, structure)
            loop.update((updated, value), objective=-value, change=value - previous)
        model, _ = loop.state
        report = loop.report
        if self.n_iter == 0:  # nothing was to be learned, and nothing is claimed
            report["warning_"] = ""
        final = rows.total(count, model)
        self._warn_dead_states(final)
        return TrainingRun(model, final.log_likelihood, report)

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
            prior = np.broadcast_to(np.asarray(self.startprob_prior, float), start.shape)
            total = np.where(start > 0, np.maximum(counts.starts + prior - 1, 0), 0)
            start = total / total.sum() if total.sum() > 0 else start
        if "t" in self.params:
            transition = structure.update(transition, counts.transitions)
        emission = self._update_emission(emission, counts.emissions)
        return HiddenChain(start, transition, emission)

    def _log_prior(self, model: HiddenChain, structure: TransitionStructure) -> float:
        """Log-density of the parameters under their priors, up to a constant."""
        value = self._emission_log_prior(model.emission)
        if "s" in self.params:
            prior = np.broadcast_to(np.asarray(self.startprob_prior, float), model.start.shape)
            seen = (model.start > 0) & (prior != 1)
            value += float(((prior - 1)[seen] * np.log(model.start[seen])).sum())
        if "t" in self.params:
            value += structure.log_prior(model.transition)
        return value

    def _initialize(
        self, rows: Rows, structure: TransitionStructure, rng: np.random.Generator
    ) -> HiddenChain:
        """First parameters: those that `init_params` leaves out are taken as they were set."""
        K = self.n_components
        sample = self._sample_steps(rows, int(rng.integers(2**31)))
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

    def _sample_steps(self, rows: Rows, seed: int) -> Chunk:
        mean = max(count_steps(rows) / max(rows.n_rows, 1), 1.0)
        drawn = rows.sample(max(int(_SAMPLE_STEPS / mean), 1), seed)
        values = np.asarray(drawn.X.values, np.float64)
        return Chunk(Ragged(values, drawn.X.offsets), drawn.y, None, 0)

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

    def _sequence_rows(
        self, X: Any, lengths: Any, labels: Any = None, weight: Any = None, *, reset: bool = False
    ) -> Rows:
        """Sequences in chunks of about equal steps."""
        rows = open_sequences(X, lengths, labels, weight)
        if count_steps(rows) == 0:
            raise ValueError("the sequences are empty: there is no step to learn from")
        self._match_columns(rows, reset=reset)
        mean = max(count_steps(rows) // rows.n_rows, 1)
        finer = rows.with_chunk_rows(max(_CHUNK_STEPS // mean, 1))
        finer.allow_nan = True
        return finer

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


def count_steps(rows: Rows) -> int:
    """Steps of all sequences together."""
    return int(cast("SequenceSource", rows.source).offsets[-1])


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
    if (array < 0).any() or not np.allclose(array.sum(axis=-1), 1.0):
        raise ValueError(f"{name} must sum to 1 (got {array.sum(axis=-1)}) and not be negative")
    return np.ascontiguousarray(array)


def open_sequences(X: Any, lengths: Any, labels: Any, weight: Any) -> Rows:
    """Sequences in any form, with labels of steps and weights of sequences."""
    if isinstance(X, Rows):
        return X
    if isinstance(X, Ragged) or (isinstance(X, tuple) and len(X) == 2):
        return from_sequences(X, labels, weight)
    if isinstance(X, list) and lengths is None and len(X) and np.ndim(X[0]) > 0:
        parts = [np.atleast_1d(np.asarray(part, np.float64)) for part in X]
        parts = [part.reshape(-1, 1) if part.ndim == 1 else part for part in parts]
        if any(np.shape(part)[1:] != np.shape(parts[0])[1:] for part in parts):
            return from_sequences(parts, labels, weight)  # says which one differs
        if len(X[0]) == 1 and len({len(part) for part in parts}) == 1 and len(parts) > 1:
            # A list of rows of one column, as hmmlearn takes it, is one sequence.
            return _array_sequences(np.concatenate(parts), None, labels, weight)
        return from_sequences(parts, labels, weight)
    return _array_sequences(X, lengths, labels, weight)


def _array_sequences(X: Any, lengths: Any, labels: Any, weight: Any) -> Rows:
    """Steps below each other."""
    values = np.asarray(X)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"the steps are {values.dtype}: give numbers, a row for each step")
    if values.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array of {len(values)} numbers: reshape(-1, 1) makes one "
            "sequence of one column of it; a list of arrays is a list of sequences"
        )
    values = np.ascontiguousarray(values, np.float64)
    lengths = [len(values)] if lengths is None else np.asarray(lengths).tolist()
    if sum(lengths) != len(values):
        raise ValueError(
            f"lengths array {lengths} doesn't sum to {len(values)} samples: give the length of "
            "each sequence"
        )
    offsets = offsets_from_lengths(np.asarray(lengths))
    if labels is not None:
        known = np.concatenate([np.atleast_1d(part) for part in labels])
        if len(known) != len(values):
            raise ValueError(f"{len(known)} labels for {len(values)} steps: give one for each")
        labels = Ragged(known.astype(np.int64), offsets)
    weight = None if weight is None else as_weights(np.asarray(weight, np.float64))
    if weight is not None and len(weight) != len(lengths):
        raise ValueError(f"{len(weight)} weights for {len(lengths)} sequences")
    return Rows(SequenceSource(values, offsets, labels, weight), engine=current_engine())
