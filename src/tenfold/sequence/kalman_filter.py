"""Linear-Gaussian state space: Kalman filter, smoother, and EM."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.estimator import Estimator
from tenfold.engine.chunk import Chunk
from tenfold.engine.hooks import record_data
from tenfold.engine.merge_tree import merge
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.sequence._hmm_base import check_increase
from tenfold.sequence._hmm_data import open_sequences
from tenfold.sequence._hmm_passes import StepTable
from tenfold.sequence._kalman_numba import filter_sequence, smooth_sequence

_LETTERS = {"A": "transition_matrix", "C": "observation_matrix", "Q": "transition_covariance"}
_LETTERS |= {"R": "observation_covariance", "m": "initial_mean", "P": "initial_covariance"}


class StateSpaceParameters(NamedTuple):
    """Parameters of a linear-Gaussian state space."""

    A: np.ndarray
    C: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    m: np.ndarray
    P: np.ndarray


class StateMoments(NamedTuple):
    """Expected sums that the M-step needs; z are states, x steps.

    Attributes
    ----------
    log_likelihood, n_sequences : numbers
    first, first_squares : of z_1 and z_1 z_1'
    before, after, lagged : of z_{t-1} z_{t-1}', z_t z_t' and z_t z_{t-1}' over t > 1
    n_transitions : number of such t
    states, products, squares : of z_t z_t', x_t z_t' and x_t x_t' over all steps
    n_steps : number of steps
    """

    log_likelihood: float
    n_sequences: float
    first: np.ndarray
    first_squares: np.ndarray
    before: np.ndarray
    after: np.ndarray
    lagged: np.ndarray
    n_transitions: float
    states: np.ndarray
    products: np.ndarray
    squares: np.ndarray
    n_steps: float


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
            for space, previous in loop:
                moments = rows.total(sum_moments, space)
                value = moments.log_likelihood
                check_increase(previous, value, loop.n_iter)
                updated = _maximize(space, moments, self.learn)
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
        self._match_columns(rows, reset=reset)
        finer = rows.with_chunk_rows(8)
        finer.allow_nan = True
        return finer

    def _initialize(self, rows: Rows, rng: np.random.Generator) -> StateSpaceParameters:
        """Parameters as given; otherwise a slow drift that the scale of the steps suggests."""
        d, p = self.n_states, rows.n_features
        steps = np.asarray(rows.sample(min(rows.n_rows, 16), 0).X.values, np.float64)
        known, scale = ~np.isnan(steps).all(axis=0), np.ones(p)
        if not known.any():
            raise ValueError("all entries are missing (NaN): there is nothing to learn from")
        scale[known] = np.nanvar(steps[:, known], axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        default = {
            "A": 0.9 * np.eye(d),
            "C": np.sqrt(scale)[:, None] * rng.normal(size=(p, d)) / np.sqrt(d),
            "Q": np.eye(d),
            "R": np.diag(scale),
            "m": np.zeros(d),
            "P": np.eye(d),
        }
        return self._checked_space(default, p)

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
        d = len(space.m)
        return table[:, :d], table[:, d:].reshape(-1, d, d)

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
        means, covariances = self.filter(X)
        space = self._space(np.shape(X)[1])
        m, P = means[-1], covariances[-1]
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
        random_state : int, optional
            Seed.
        """
        p = len(self.observation_matrix_ if hasattr(self, "observation_matrix_") else
                np.atleast_2d(self.observation_matrix))  # fmt: skip
        A, C, Q, R, m, P = self._space(p)
        rng = np.random.default_rng(random_state)
        states = np.empty((n_samples, len(m)))
        for t in range(n_samples):
            mean, covariance = (m, P) if t == 0 else (A @ states[t - 1], Q)
            states[t] = rng.multivariate_normal(mean, covariance)
        noise = rng.multivariate_normal(np.zeros(p), R, n_samples)
        return states @ C.T + noise, states


def _run(X: np.ndarray, space: StateSpaceParameters, *, smoothed: bool) -> tuple[Any, ...]:
    """Means, covariances, lagged covariances and log-density of one sequence."""
    n, d = len(X), len(space.m)
    means, covariances = np.empty((n, d)), np.empty((n, d, d))
    predicted, spread = np.empty((n, d)), np.empty((n, d, d))
    cross = np.zeros((n, d, d))
    X = np.ascontiguousarray(X, np.float64)
    total = filter_sequence(X, *space, means, covariances, predicted, spread)
    if smoothed:
        smooth_sequence(space.A, means, covariances, predicted, spread, cross)
    return means, covariances, cross, total


def _state_table(chunk: Chunk, space: StateSpaceParameters, smoothed: bool) -> StepTable:
    parts = [np.empty((0, len(space.m) * (1 + len(space.m))))]
    for X in chunk.X:
        means, covariances, _, _ = _run(X, space, smoothed=smoothed)
        parts.append(np.hstack([means, covariances.reshape(len(means), -1)]))
    return StepTable(np.concatenate(parts))


def _score_chunk(chunk: Chunk, space: StateSpaceParameters) -> np.ndarray:
    return np.array([_run(X, space, smoothed=False)[3] for X in chunk.X])


def sum_moments(chunk: Chunk, space: StateSpaceParameters) -> StateMoments:
    """The E-step: expected sums of the sequences of a chunk."""
    d, p = len(space.m), len(space.R)
    square, none = np.zeros((d, d)), np.zeros((p, p))
    sums = (np.zeros(d), square, square, square, square, 0.0, square, np.zeros((p, d)), none, 0.0)
    total = StateMoments(0.0, 0.0, *sums)
    for X in chunk.X:
        if len(X):
            total = merge(total, _sequence_moments(X, space))
    return total


def _sequence_moments(X: np.ndarray, space: StateSpaceParameters) -> StateMoments:
    means, covariances, cross, value = _run(X, space, smoothed=True)
    squares = covariances + means[:, :, None] * means[:, None, :]
    lagged = cross[:-1] + means[1:, :, None] * means[:-1, None, :]
    filled, extra = _fill_missing(X, space, means, covariances)
    products = filled.T @ means + extra.products
    return StateMoments(
        float(value), 1.0, means[0], squares[0], squares[:-1].sum(axis=0),
        squares[1:].sum(axis=0), lagged.sum(axis=0), float(len(X) - 1), squares.sum(axis=0),
        products, filled.T @ filled + extra.squares, float(len(X)),
    )  # fmt: skip


class _Extra(NamedTuple):
    """What the covariance of missing entries adds to the sums."""

    products: np.ndarray
    squares: np.ndarray


def _fill_missing(
    X: np.ndarray, space: StateSpaceParameters, means: np.ndarray, covariances: np.ndarray
) -> tuple[np.ndarray, _Extra]:
    """Steps with expected values of missing entries given the rest and the state."""
    d, p = len(space.m), len(space.R)
    filled = np.array(X, np.float64)
    products, squares = np.zeros((p, d)), np.zeros((p, p))
    for t in np.flatnonzero(np.isnan(X).any(axis=1)):
        gone = np.isnan(X[t])
        # x_gone = B x_seen + (C_gone - B C_seen) z + noise of covariance V
        B = np.linalg.solve(space.R[np.ix_(~gone, ~gone)], space.R[np.ix_(~gone, gone)]).T
        L = space.C[gone] - B @ space.C[~gone]
        V = space.R[np.ix_(gone, gone)] - B @ space.R[np.ix_(~gone, gone)]
        filled[t, gone] = B @ X[t, ~gone] + L @ means[t]
        products[gone] += L @ covariances[t]
        squares[np.ix_(gone, gone)] += V + L @ covariances[t] @ L.T
    return filled, _Extra(products, squares)


def _maximize(space: StateSpaceParameters, s: StateMoments, learn: str) -> StateSpaceParameters:
    """The M-step; letters that `learn` leaves out stay as they are."""
    A, C, Q, R, m, P = space
    if "A" in learn and s.n_transitions:
        A = np.linalg.solve(s.before, s.lagged.T).T
    if "Q" in learn and s.n_transitions:
        cross = A @ s.lagged.T
        Q = _symmetric((s.after - cross - cross.T + A @ s.before @ A.T) / s.n_transitions)
    if "C" in learn:
        C = np.linalg.solve(s.states, s.products.T).T
    if "R" in learn:
        cross = C @ s.products.T
        R = _symmetric((s.squares - cross - cross.T + C @ s.states @ C.T) / s.n_steps)
    if "m" in learn:
        m = s.first / s.n_sequences
    if "P" in learn:
        cross = np.outer(m, s.first / s.n_sequences)
        P = _symmetric(s.first_squares / s.n_sequences - cross - cross.T + np.outer(m, m))
    return StateSpaceParameters(*map(np.ascontiguousarray, (A, C, Q, R, m, P)))


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)
