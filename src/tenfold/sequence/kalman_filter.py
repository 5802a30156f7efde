"""Linear-Gaussian state space: Kalman filter, smoother, and EM."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.estimator import Estimator
from tenfold.engine.chunk import Chunk
from tenfold.engine.hooks import record_data
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.sequence._hmm_base import check_increase
from tenfold.sequence._hmm_data import open_sequences
from tenfold.sequence._hmm_lanes import refuse_infinity
from tenfold.sequence._hmm_passes import StepTable
from tenfold.sequence._sequence_lengths import check_whole
from tenfold.sequence._state_space import (
    StateSpaceParameters,
    check_matrix,
    explain_singular,
    maximize,
    measure_columns,
    run_messages,
    sum_moments,
)
from tenfold.sequence._text_generation import make_seeds

_LETTERS = {"A": "transition_matrix", "C": "observation_matrix", "Q": "transition_covariance"}
_LETTERS |= {"R": "observation_covariance", "m": "initial_mean", "P": "initial_covariance"}


class KalmanFilter(Estimator):
    r"""Linear-Gaussian state space model.

    .. math::

        z_1 \sim \mathcal N(m, P), \quad z_t = A z_{t-1} + \mathcal N(0, Q), \quad
        x_t = C z_t + \mathcal N(0, R)

    It is to Gaussian states what a hidden Markov model is to discrete ones: the same messages give
    the filter, the smoother and EM. Parameters that are not given are learned by `fit`.

    Parameters
    ----------
    n_states : int
        Dimension of the hidden state, d.
    transition_matrix, observation_matrix : (d, d), (p, d) array, optional
        A and C.
    transition_covariance, observation_covariance : (d, d), (p, p) array, optional
        Q and R.
    initial_mean, initial_covariance : (d,), (d, d) array, optional
        m and P.
    learn : str
        Which parameters EM updates: any of the letters "ACQRmP". Parameters that are given are
        where it begins.
    max_iter, tol : int, float
        Most iterations of EM, and the gain of log-likelihood at which it stops.
    random_state : int, RandomState or None
        Seed of the first observation matrix.
    verbose : bool
        Whether to show progress.

    Attributes
    ----------
    transition_matrix_, observation_matrix_ : arrays
        A and C.
    transition_covariance_, observation_covariance_ : arrays
        Q and R.
    initial_mean_, initial_covariance_ : arrays
        m and P.
    log_likelihood_ : float
    n_iter_, converged_, history_ : int, bool, dict
        Of EM.

    See Also
    --------
    GaussianHMM : discrete states.

    References
    ----------
    R. H. Shumway and D. S. Stoffer (1982), An approach to time series smoothing and forecasting
    using the EM algorithm.

    Examples
    --------
    A position that drifts, seen with noise:

    >>> import numpy as np
    >>> from tenfold import KalmanFilter
    >>> model = KalmanFilter(
    ...     1,
    ...     transition_matrix=[[1.0]],
    ...     observation_matrix=[[1.0]],
    ...     transition_covariance=[[1.0]],
    ...     observation_covariance=[[1.0]],
    ...     initial_mean=[0.0],
    ...     initial_covariance=[[1.0]],
    ... )
    >>> means, covariances = model.filter(np.array([[2.0], [2.0]]))
    >>> means.round(2).ravel().tolist()
    [1.0, 1.6]
    """

    _takes_sequences = True
    _nan_ok = True
    _matrix = ["array-like", None]
    _parameter_constraints: dict[str, Any] = {
        "n_states": [Interval(Integral, 1, None, closed="left")],
        **dict.fromkeys(_LETTERS.values(), _matrix),
        "learn": [str],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Real],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _learned_shapes = {
        "transition_matrix_": "d_ d_",
        "observation_matrix_": "p d_",
        "transition_covariance_": "d_ d_",
        "observation_covariance_": "p p",
        "initial_mean_": "d_",
        "initial_covariance_": "d_ d_",
    }

    def __init__(
        self,
        n_states: int = 1,
        *,
        transition_matrix: Any = None,
        observation_matrix: Any = None,
        transition_covariance: Any = None,
        observation_covariance: Any = None,
        initial_mean: Any = None,
        initial_covariance: Any = None,
        learn: str = "ACQRmP",
        max_iter: int = 50,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.transition_matrix = transition_matrix
        self.observation_matrix = observation_matrix
        self.transition_covariance = transition_covariance
        self.observation_covariance = observation_covariance
        self.initial_mean = initial_mean
        self.initial_covariance = initial_covariance
        self.learn = learn
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(  # pyright: ignore[reportIncompatibleMethodOverride] - as hidden Markov models
        self, X: Any, lengths: Any = None
    ) -> Self:
        """Learn the parameters in `learn` by EM.

        Parameters
        ----------
        X : (n_steps, n_features) array, list of arrays, `Ragged`, or (values, lengths)
            The sequences, as for hidden Markov models. NaN is a missing entry.
        lengths : list of int, optional
            Lengths of the sequences, if X is an array.

        Returns
        -------
        self
        """
        self._validate_params()
        strange = set(self.learn) - set(_LETTERS)
        if strange:
            raise ValueError(f"learn={self.learn!r}: {min(strange)!r} is none of 'ACQRmP'")
        with self._work_context():
            rows = self._open(X, lengths, reset=True)
            record_data(rows.source, rows.engine)
            first = self._initialize(rows, self._rng())
            loop = until_converged((first, -np.inf), tol=self.tol, max_iter=self.max_iter)
            with explain_singular():
                for space, previous in loop:
                    moments = rows.total(sum_moments, space)
                    value = moments.log_likelihood
                    check_increase(previous, value, loop.n_iter)
                    updated = maximize(space, moments, self.learn)
                    loop.update((updated, value), objective=-value, change=value - previous)
                space, _ = loop.state
                final = rows.total(sum_moments, space).log_likelihood
            self._set_learned(
                {
                    **{f"{name}_": getattr(space, key) for key, name in _LETTERS.items()},
                    **loop.report,
                    "log_likelihood_": float(final),
                    **({"warning_": ""} if self.max_iter == 0 else {}),
                }
            )
        return self

    def _open(self, X: Any, lengths: Any, *, reset: bool = False) -> Rows:
        rows = open_sequences(X, lengths, None, None)
        if not hasattr(rows.source, "offsets"):
            raise TypeError("these rows are steps in files: give sequences, or arrays with lengths")
        source: Any = rows.source
        if source.offsets[-1] == 0:
            wanted = "to learn from" if reset else "to filter or score"
            raise ValueError(
                f"the sequences are empty: there is no step {wanted}. Give sequences with steps"
            )
        self._match_columns(rows, reset=reset)
        finer = rows.with_chunk_rows(8)
        finer.allow_nan = True
        return finer

    def _initialize(self, rows: Rows, rng: np.random.Generator) -> StateSpaceParameters:
        """Parameters as given; otherwise a slow drift that the scale of the steps suggests."""
        d, p = self.n_states, rows.n_features
        entries = rows.total(measure_columns)
        known, scale = entries.high >= entries.low, np.ones(p)
        if not known.any():
            raise ValueError("all entries are missing (NaN): there is nothing to learn from")
        constant = known & (entries.high == entries.low)
        steps = np.asarray(rows.sample(min(rows.n_rows, 16), 0).X.values, np.float64)
        seen = ~np.isnan(steps).all(axis=0)
        scale[seen] = np.nanvar(steps[:, seen], axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        default = {
            "A": 0.9 * np.eye(d),
            "C": np.sqrt(scale)[:, None] * rng.normal(size=(p, d)) / np.sqrt(d),
            "Q": np.eye(d),
            "R": np.diag(scale),
            "m": np.zeros(d),
            "P": np.eye(d),
        }
        space = self._checked_space(default, p)
        if constant.any() and "R" in self.learn and self.max_iter > 0:
            raise ValueError(
                f"column {int(np.argmax(constant))} is constant: its noise would be learned as 0 "
                "and the likelihood has no maximum. Leave the column out, or give "
                "observation_covariance and a `learn` without 'R'"
            )
        return space

    def _checked_space(self, default: dict[str, np.ndarray], p: int) -> StateSpaceParameters:
        d = self.n_states
        shapes = {"A": (d, d), "C": (p, d), "Q": (d, d), "R": (p, p), "m": (d,), "P": (d, d)}
        values = {}
        for letter, name in _LETTERS.items():
            given = getattr(self, name)
            value = default.get(letter) if given is None else given
            if value is None:
                raise ValueError(f"{name} is neither given nor learned: call fit, or give it")
            values[letter] = np.ascontiguousarray(value, np.float64)
            if values[letter].shape != shapes[letter]:
                raise ValueError(
                    f"{name} has shape {values[letter].shape}, and must have {shapes[letter]}"
                )
            check_matrix(name, values[letter])
        return StateSpaceParameters(**values)

    def _space(self, p: int) -> StateSpaceParameters:
        """The learned parameters, or the given ones if all are given."""
        if hasattr(self, "transition_matrix_"):
            learned = {k: getattr(self, f"{name}_") for k, name in _LETTERS.items()}
            return StateSpaceParameters(
                **{k: np.ascontiguousarray(v, float) for k, v in learned.items()}
            )
        if any(getattr(self, name) is None for name in _LETTERS.values()):
            check_is_fitted(self, "transition_matrix_")
        return self._checked_space({}, p)

    def filter(self, X: Any, lengths: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Means and covariances of the states given the steps so far.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.

        Returns
        -------
        means : (n_steps, d) array
        covariances : (n_steps, d, d) array
        """
        return self._states(X, lengths, smoothed=False)

    def smooth(self, X: Any, lengths: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Means and covariances of the states given all steps of their sequence.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.

        Returns
        -------
        means : (n_steps, d) array
        covariances : (n_steps, d, d) array
        """
        return self._states(X, lengths, smoothed=True)

    def _states(self, X: Any, lengths: Any, *, smoothed: bool) -> tuple[np.ndarray, np.ndarray]:
        with self._work_context():
            rows = self._open(X, lengths)
            space = self._space(rows.n_features)
            table = rows.total(_state_table, space, smoothed).values
        return _split_moments(table, len(space.m))

    def log_prob(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Log-density of each sequence.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        with self._work_context():
            rows = self._open(X, lengths)
            return rows.each(_score_chunk, self._space(rows.n_features))

    def score(self, X: Any, lengths: Any = None) -> float:
        """Log-density of all sequences together.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        return float(self.log_prob(X, lengths).sum())

    def predict_next(self, X: Any, steps: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the steps after the end of one sequence.

        Parameters
        ----------
        X : (n_steps, n_features) array
            The sequence.
        steps : int
            Number of steps ahead.

        Returns
        -------
        means : (steps, p) array
        covariances : (steps, p, p) array
        """
        steps = check_whole("steps", steps)
        with self._work_context():
            rows = self._open(X, None)
            if rows.n_rows != 1:
                raise ValueError(
                    f"there are {rows.n_rows} sequences: predict the next steps of one at a time"
                )
            space = self._space(rows.n_features)
            m, P = _split_moments(rows.total(_state_table, space, False).values[-1:], len(space.m))
        m, P = m[0], P[0]
        found = []
        for _ in range(steps):
            m, P = space.A @ m, space.A @ P @ space.A.T + space.Q
            found.append((space.C @ m, space.C @ P @ space.C.T + space.R))
        return np.array([a for a, _ in found]), np.array([b for _, b in found])

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence and its states.

        Parameters
        ----------
        n_samples : int
            Number of steps.
        random_state : int, generator or None
            Seed; by default `self.random_state`.
        """
        n_samples = check_whole("n_samples", n_samples)
        p = len(self.observation_matrix_ if hasattr(self, "observation_matrix_") else
                np.atleast_2d(self.observation_matrix))  # fmt: skip
        A, C, Q, R, m, P = self._space(p)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(make_seeds(seed))
        states = np.empty((n_samples, len(m)))
        for t in range(n_samples):
            mean, covariance = (m, P) if t == 0 else (A @ states[t - 1], Q)
            states[t] = rng.multivariate_normal(mean, covariance)
        noise = rng.multivariate_normal(np.zeros(p), R, n_samples)
        return states @ C.T + noise, states


def _state_table(chunk: Chunk, space: StateSpaceParameters, smoothed: bool) -> StepTable:
    parts = [np.empty((0, len(space.m) * (1 + len(space.m))))]
    refuse_infinity(chunk.X.values, chunk.X.offsets, chunk.first)
    for X in chunk.X:
        means, covariances, _, _ = run_messages(X, space, smoothed=smoothed)
        parts.append(np.hstack([means, covariances.reshape(len(means), -1)]))
    return StepTable(np.concatenate(parts))


def _split_moments(table: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances of the states of steps."""
    return table[:, :d], table[:, d:].reshape(-1, d, d)


def _score_chunk(chunk: Chunk, space: StateSpaceParameters) -> np.ndarray:
    refuse_infinity(chunk.X.values, chunk.X.offsets, chunk.first)
    return np.array([run_messages(X, space, smoothed=False)[3] for X in chunk.X])
