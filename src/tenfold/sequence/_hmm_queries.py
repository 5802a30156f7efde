"""Questions to a hidden Markov model with known parameters."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tenfold.sequence._hmm_data import SequenceData
from tenfold.sequence._hmm_messages import in_form, log_backward_messages, log_forward_messages
from tenfold.sequence._hmm_passes import (
    choose_states,
    decode_steps,
    density_steps,
    draw_paths,
    filter_last_steps,
    filter_steps,
    find_paths,
    join_steps,
    lag_chunk,
    list_best_paths,
    pair_chunk,
    save_steps,
    score_sequences,
    smooth_steps,
)
from tenfold.sequence._hmm_pieces import find_edge_states, send_messages
from tenfold.sequence._sequence_lengths import check_whole
from tenfold.sequence._text_generation import make_seeds


class TrainingMonitor(NamedTuple):
    """Course of training, under hmmlearn's names.

    Attributes
    ----------
    history : log-likelihood (and log-prior) before each iteration
    iter : number of iterations
    converged : whether the last gain was at most `tol`
    """

    history: list[float]
    iter: int
    converged: bool


class HMMQueries:
    """Scores, filtering, smoothing, decoding, prediction and samples."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Parameters and learned attributes, and what the model defines."""

    @property
    def monitor_(self) -> TrainingMonitor:
        """The course of training: `history`, `iter` and `converged`, as in hmmlearn."""
        history = (-self.history_["objective"]).tolist()
        return TrainingMonitor(history, self.n_iter_, self.converged_)

    def _ask(self, X: Any, lengths: Any, f: Any, *state: Any, entries: int = 1) -> Any:
        """The outputs of whole sequences; `entries` are those of K that a step needs in memory."""
        model = self._hidden_chain()
        with self._work_context():
            bytes_per_step = 8.0 * entries * len(model.start)
            data = self._open_data(X, lengths).whole(bytes_per_step, f.__name__)
            return data.rows.total(f, model, *state)

    def _ask_pieces(self, X: Any, lengths: Any, f: Any) -> tuple[SequenceData, Any]:
        """A statistic of sequences that may be longer than memory."""
        model = self._hidden_chain()
        with self._work_context():
            data = self._open_data(X, lengths)
            grid = data.grid
            if grid is not None:
                grid = send_messages(data.rows, model, grid)
            return data, data.rows.total(f, model, grid)

    def _ask_steps(
        self, X: Any, lengths: Any, f: Any, into: Any = None, *, labels: Any = None
    ) -> np.ndarray:
        """An output for each step, in memory or in a file."""
        model = self._hidden_chain()
        with self._work_context():
            data = self._open_data(X, lengths, labels)
            grid = data.grid
            if grid is None:
                return join_steps(data, f, model, into)
            if f is not density_steps:
                grid = send_messages(data.rows, model, grid)
            return data.rows.each(f, model, grid, into=into)

    def log_prob(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Log-likelihood of each sequence; -inf if it is impossible.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        data, found = self._ask_pieces(X, lengths, score_sequences)
        values = np.zeros(len(data.offsets) - 1)  # empty sequences at the end have no chunk
        values[found.first : found.first + len(found.sums)] = found.sums
        return values

    def score(self, X: Any, lengths: Any = None) -> float:
        """Log-likelihood of all sequences together.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        return float(self.log_prob(X, lengths).sum())

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """Log-likelihood of all sequences, and the smoothed probabilities of the states.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        return self.score(X, lengths), self.predict_proba(X, lengths)

    def predict_proba(
        self, X: Any, lengths: Any = None, *, into: str | Path | None = None
    ) -> np.ndarray:
        """Smoothing: probability of each state given its whole sequence, (n_steps, n_components).

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        into : path, optional
            A `.npy` file for the result, which is written as it comes and returned as a memory
            map: for more steps than fit into memory.
        """
        return self._ask_steps(X, lengths, smooth_steps, into)

    def filter(self, X: Any, lengths: Any = None, *, into: str | Path | None = None) -> np.ndarray:
        """Filtering: probability of each state given the steps so far, (n_steps, n_components).

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        into : path, optional
            As for `predict_proba`.
        """
        return self._ask_steps(X, lengths, filter_steps, into)

    def smooth_fixed_lag(self, X: Any, lag: int, lengths: Any = None) -> np.ndarray:
        """Probability of each state given the steps up to `lag` later ones.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        lag : int
            0 is filtering; the length of the sequence is smoothing.
        """
        lag = check_whole("lag", lag, least=0)
        return self._ask(X, lengths, lag_chunk, lag, entries=4).values

    def forward(self, X: Any, form: str = "log") -> Any:
        r"""Forward messages :math:`\alpha_t(k) = p(x_1 \dots x_t, s_t = k)` of one sequence.

        Parameters
        ----------
        X : (n_steps, n_features) array
            The sequence.
        form : {"log", "scaled", "plain"}
            Logarithms; messages that sum to one in each step, and the logarithms of the factors; or
            the messages themselves, which underflow for long sequences.

        Returns
        -------
        (n_steps, K) array, and for "scaled" (n_steps,) logarithms of scales beside it
        """
        model, log_B = self._one_sequence(X)
        return in_form(log_forward_messages(model.start, model.transition, log_B), form)

    def backward(self, X: Any, form: str = "log") -> Any:
        r"""Backward messages :math:`\beta_t(k) = p(x_{t+1} \dots \mid s_t = k)` of one sequence.

        Parameters
        ----------
        X : (n_steps, n_features) array
            The sequence.
        form : {"log", "scaled", "plain"}
            As for `forward`.

        Returns
        -------
        (n_steps, K) array, and for "scaled" (n_steps,) logarithms of scales beside it
        """
        model, log_B = self._one_sequence(X)
        return in_form(log_backward_messages(model.transition, log_B), form)

    def _one_sequence(self, X: Any) -> tuple[Any, np.ndarray]:
        model = self._hidden_chain()
        data = self._open_data(X, None).whole(24.0 * len(model.start), "messages")
        chunk = data.rows.gather()
        if len(chunk.X) != 1:
            raise ValueError("give one sequence, as an array")
        values = np.asarray(chunk.X.values, np.float64)
        log_B = model.emission.log_densities(model.emission.prepare(values))
        return model, np.ascontiguousarray(log_B.T)

    def transition_posteriors(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Probability of each pair of states of a step and the next, (n_steps, K, K).

        The entries of the last step of a sequence are zero.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        return self._ask(X, lengths, pair_chunk, entries=4 + self.n_components).values

    def decode(
        self,
        X: Any,
        lengths: Any = None,
        algorithm: str | None = None,
        *,
        into: str | Path | None = None,
    ) -> tuple[float, np.ndarray]:
        """Most probable path, or most probable state of each step.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        algorithm : {"viterbi", "map"}, optional
            "viterbi" finds the path of largest probability, "map" the states of largest smoothed
            probability, which together may be impossible. By default `self.algorithm`.
        into : path, optional
            A `.npy` file for the states, as for `predict_proba`.

        Returns
        -------
        log_prob : float
            Joint log-probability of steps and states, summed over the sequences.
        states : (n_steps,) array
        """
        algorithm = algorithm or self.algorithm
        if algorithm == "viterbi":
            return self._decode_best(X, lengths, into)
        if algorithm != "map":
            raise ValueError(f"algorithm={algorithm!r}: give 'viterbi' or 'map'")
        states = self._ask_steps(X, lengths, choose_states, into)
        return float(self.joint_log_prob(X, states, lengths).sum()), states

    def _decode_best(
        self, X: Any, lengths: Any, into: str | Path | None
    ) -> tuple[float, np.ndarray]:
        """Viterbi."""
        model = self._hidden_chain()
        with self._work_context():
            data = self._open_data(X, lengths)
            if data.grid is not None:
                grid, value = find_edge_states(data.rows, model, data.grid)
                return value, data.rows.each(decode_steps, model, grid, into=into)
            paths = data.rows.total(find_paths, model)
        if into is not None:
            return float(paths.scores.sum()), save_steps(paths.states, into)
        return float(paths.scores.sum()), paths.states

    def predict(self, X: Any, lengths: Any = None, *, into: str | Path | None = None) -> np.ndarray:
        """State of each step, by `algorithm`.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        into : path, optional
            A `.npy` file for the states, as for `predict_proba`.
        """
        return self.decode(X, lengths, into=into)[1]

    def joint_log_prob(self, X: Any, states: Any, lengths: Any = None) -> np.ndarray:
        """Log of the joint density p(x, s) of each sequence and its states.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        states : (n_steps,) array of int
            State of each step.
        """
        model = self._hidden_chain()
        path, data = np.asarray(states, np.int64).ravel(), self._open_data(X, lengths)
        offsets, K = data.offsets, len(model.start)
        if len(path) != offsets[-1]:
            raise ValueError(f"{len(path)} states for {offsets[-1]} steps")
        if path.min() < 0 or path.max() >= K:
            raise ValueError(f"states from {path.min()} to {path.max()}: give 0 to {K - 1}")
        with np.errstate(divide="ignore"):
            log_start, log_A = np.log(model.start), np.log(model.transition)
        ends = offsets[1:-1]
        labels = np.split(path, ends)
        terms = np.array(self._ask_steps(X, lengths, density_steps, labels=labels))
        begins = np.zeros(len(path), bool)
        begins[offsets[:-1][np.diff(offsets) > 0]] = True
        terms[begins] += log_start[path[begins]]
        later = np.flatnonzero(~begins)
        terms[later] += log_A[path[later - 1], path[later]]
        sums = np.add.reduceat(np.append(terms, 0.0), offsets[:-1])
        return np.where(np.diff(offsets) > 0, sums, 0.0)

    def best_paths(
        self, X: Any, n_paths: int, lengths: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The most probable paths of each sequence.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        n_paths : int
            Number of paths of each; there may be fewer of them.

        Returns
        -------
        log_probs : (n_sequences, n_paths) array
            Falling; -inf where there are fewer paths. Of one sequence: (n_found,).
        paths : (n_paths, n_steps) array
            The paths of all sequences beside each other; -1 where there are fewer. Of one
            sequence: (n_found, n_steps).
        """
        n_paths = check_whole("n_paths", n_paths)
        scores, states = self._ask(X, lengths, list_best_paths, n_paths, entries=2 * n_paths + 2)
        if len(scores) == 1:
            found = int(np.isfinite(scores[0]).sum())
            return scores[0, :found], np.ascontiguousarray(states.T[:found])
        return scores, np.ascontiguousarray(states.T)

    def sample_paths(
        self, X: Any, n_draws: int = 1, lengths: Any = None, *, random_state: Any = 0
    ) -> np.ndarray:
        """Paths drawn from the posterior p(s | x), (n_draws, n_steps).

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        n_draws : int
            Number of paths of each sequence.
        random_state : int, generator or None
            Seed.
        """
        n_draws, seed = check_whole("n_draws", n_draws), random_state
        if not isinstance(seed, Integral):
            seed = make_seeds(seed).generate_state(1)[0]
        paths = self._ask(X, lengths, draw_paths, int(seed), n_draws, entries=4)
        return paths.values.T

    def predict_next(self, X: Any, steps: int = 1, lengths: Any = None) -> np.ndarray:
        """Probability of each state some steps after the end of each sequence.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        steps : int
            Number of steps.

        Returns
        -------
        (n_sequences, n_components) array
        """
        steps, model = check_whole("steps", steps), self._hidden_chain()
        data, found = self._ask_pieces(X, lengths, filter_last_steps)
        power = np.linalg.matrix_power(model.transition, steps)
        short = np.linalg.matrix_power(model.transition, steps - 1)  # nothing seen yet
        result = np.tile(model.start @ short, (len(data.offsets) - 1, 1))
        result[np.diff(data.offsets) > 0] = found.values @ power
        return result

    def predict_next_emission(self, X: Any, steps: int = 1, lengths: Any = None) -> np.ndarray:
        """Expected emission some steps after the end of each sequence.

        Of a `CategoricalHMM`, the probability of each symbol; of a `MultinomialHMM`, counts of as
        many trials as `sample` draws; of other models, the mean of each column.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        steps : int
            Number of steps.

        Returns
        -------
        (n_sequences, n_features) array
        """
        states = self.predict_next(X, steps, lengths)
        return states @ np.asarray(self._emission_means(), np.float64)

    def get_stationary_distribution(self) -> np.ndarray:
        """The distribution of the states in the long run."""
        from tenfold.sequence.markov_chain import MarkovChain

        return MarkovChain.from_matrix(self._hidden_chain().transition).stationary_distribution()

    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence and its states.

        Parameters
        ----------
        n_samples : int
            Number of steps.
        random_state : int, generator or None
            Seed; by default `self.random_state`.
        currstate : int, optional
            State of the first step, instead of a draw.
        """
        model = self._hidden_chain()
        n_samples = check_whole("n_samples", n_samples)
        if currstate is not None and not 0 <= currstate < len(model.start):
            raise ValueError(f"currstate={currstate}: give 0 to {len(model.start) - 1}")
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(make_seeds(seed))
        states = np.empty(n_samples, np.int64)
        rows = np.cumsum(np.vstack([model.transition, model.start]), axis=1)
        state = len(model.start)  # the row of the start
        for step, draw in enumerate(rng.random(n_samples)):
            if step == 0 and currstate is not None:
                state = currstate
            else:
                state = int(np.searchsorted(rows[state], draw * rows[state, -1], side="right"))
            states[step] = state
        parts = {k: self._draw(k, int((states == k).sum()), rng) for k in np.unique(states)}
        first = next(iter(parts.values()))
        X = np.empty((n_samples, first.shape[1]), first.dtype)
        for k, part in parts.items():
            X[states == k] = part
        return X, states

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike's information criterion: -2 log-likelihood + 2 * n_parameters.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        return float(-2 * self.score(X, lengths) + 2 * self._n_parameters())

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Bayesian information criterion: -2 log-likelihood + n_parameters * log n_steps.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        steps = self._open_data(X, lengths).n_steps
        return float(-2 * self.score(X, lengths) + self._n_parameters() * np.log(steps))

    def _n_parameters(self) -> int:
        """Free parameters of starts, allowed transitions and emissions."""
        model = self._hidden_chain()
        K = len(model.start)
        free = np.count_nonzero(model.transition > 0) - K
        rows_tied = isinstance(self.transitions, str) and self.transitions == "tied"
        return (K - 1) + (K - 1 if rows_tied else free) + self._n_emission_parameters()
