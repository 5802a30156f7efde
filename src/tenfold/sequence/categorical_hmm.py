"""Hidden Markov model of symbols."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.base.estimator import store_arguments
from tenfold.sequence._hmm_base import HMM_CONSTRAINTS, BaseHMM
from tenfold.sequence._hmm_data import SequenceData, is_table_of_lists
from tenfold.sequence._hmm_emissions import CategoricalEmission, dirichlet_log_prior, share_counts
from tenfold.sequence._transition_counts import count_states


class CategoricalHMM(BaseHMM):
    r"""Hidden Markov model of symbols.

    .. math:: p(x, s) = \theta_{s_1} \prod_t \pi_{s_t x_t} \prod_{t > 1} A_{s_{t-1} s_t}

    Baum-Welch (EM) finds a local maximum of the likelihood of all sequences, or of the posterior if
    there are priors. Sequences, in memory, in files or on a cluster, are passed over in a fixed
    order, so the bits do not depend on threads or workers.

    Parameters
    ----------
    n_components : int
        Number of hidden states, K.
    startprob_prior, transmat_prior, emissionprob_prior : float or array
        Parameters of Dirichlet priors of starts, rows of transitions, rows of emissions; 1 is
        maximum likelihood.
    algorithm : {"viterbi", "map"}
        How `decode` and `predict` choose states.
    random_state : int, RandomState or None
        Seed of the initial values.
    n_iter : int
        Most iterations.
    tol : float
        Training has converged when an iteration raises the log-likelihood by no more.
    verbose : bool
        Whether to show progress.
    params, init_params : str
        Which parameters to update, and which to initialize: "s" starts, "t" transitions, "e"
        emissions. What is not initialized must be set before `fit`.
    n_features : int, optional
        Number of symbols, M; by default one more than the largest one.
    implementation : {"log", "scaling"}
        Present for users of hmmlearn: messages are scaled, which is quick, and in logarithms for
        the sequences of which scaled ones would lose a share of the probability.
    training : {"em", "viterbi"}
        Expected counts, or counts along the most probable paths.
    transitions : {"free", "left-right", "banded", "tied"} or (K, K) array
        Allowed transitions: all; to the same and later states, beginning with the first; to
        neighbours; all, with one row for all states, which makes the model a mixture; or where an
        array is not zero.
    sticky : float
        Added to the Dirichlet parameter of staying in a state.
    n_init : int
        Number of initializations; the most likely result is kept.

    Attributes
    ----------
    startprob_ : (K,) array
    transmat_ : (K, K) array
        Row: from, column: to.
    emissionprob_ : (K, M) array
    log_likelihood_ : float
    n_iter_, converged_, history_
        Iterations, whether the stopping rule held, and minus the objective by iteration.

    See Also
    --------
    GaussianHMM, PoissonHMM, MultinomialHMM, GMMHMM, HMM, MarkovChain

    Notes
    -----
    `decode(algorithm="map")` returns the joint log-probability of the path that it gives, where
    hmmlearn returns a sum of probabilities.

    References
    ----------
    L. R. Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech
    recognition, Proceedings of the IEEE 77.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import CategoricalHMM
    >>> model = CategoricalHMM(2)
    >>> model.startprob_ = np.array([0.6, 0.4])
    >>> model.transmat_ = np.array([[0.7, 0.3], [0.4, 0.6]])
    >>> model.emissionprob_ = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> x = np.array([[0], [1], [2]])
    >>> round(float(np.exp(model.score(x))), 5)
    0.03628
    >>> model.predict(x).tolist()
    [0, 0, 1]
    """

    emissionprob_: np.ndarray
    _emission_letters = "e"
    _parameter_constraints: dict[str, Any] = {
        **HMM_CONSTRAINTS,
        "emissionprob_prior": ["array-like", Interval(Real, 0, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
    }
    _learned_shapes = {"startprob_": "m", "transmat_": "m m", "emissionprob_": "m v"}

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        *,
        emissionprob_prior: Any = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        n_features: int | None = None,
        training: str = "em",
        transitions: Any = "free",
        sticky: float = 0.0,
        n_init: int = 1,
    ) -> None:
        store_arguments(self, locals())

    def _initial_emission(
        self, steps: np.ndarray, labels: np.ndarray, centers: np.ndarray, rng: np.random.Generator
    ) -> CategoricalEmission:
        if "e" not in self.init_params:
            self._given("emissionprob_", "e")
            return self._emission()
        size = self.n_features or self._n_symbols
        return CategoricalEmission(rng.dirichlet(np.ones(size), self.n_components))

    def _open_data(
        self, X: Any, lengths: Any, labels: Any = None, weight: Any = None, *, reset: bool = False
    ) -> SequenceData:
        if lengths is None and is_table_of_lists(X):  # no rows, since a step is one symbol
            X = [np.asarray(part) for part in X]
        data = super()._open_data(X, lengths, labels, weight, reset=reset)
        if data.rows.n_features != 1:
            raise ValueError(
                f"a step is one symbol, but X has {data.rows.n_features} columns: give a column "
                "with a row for each step, or a list of sequences"
            )
        if reset:
            self._n_symbols = count_states(data.rows)
        return data

    def _update_emission(
        self, emission: CategoricalEmission, statistic: np.ndarray
    ) -> CategoricalEmission:
        if "e" not in self.params:
            return emission
        return CategoricalEmission(
            share_counts(statistic, self.emissionprob_prior, emission.probabilities)
        )

    def _emission_attributes(self, emission: CategoricalEmission) -> dict[str, Any]:
        return {"emissionprob_": emission.probabilities}

    def _emission(self) -> CategoricalEmission:
        return CategoricalEmission(np.asarray(self.emissionprob_, np.float64))

    def _emission_log_prior(self, emission: CategoricalEmission) -> float:
        return dirichlet_log_prior(self.emissionprob_prior, emission.probabilities)

    def _draw(self, state: int, n: int, rng: np.random.Generator) -> np.ndarray:
        table = np.cumsum(self.emissionprob_[state])
        return np.searchsorted(table, rng.random(n) * table[-1], side="right")[:, None]

    def _emission_means(self) -> Any:
        return self.emissionprob_

    def _n_emission_parameters(self) -> int:
        return int(np.prod(np.shape(self.emissionprob_))) - len(self.emissionprob_)
