"""Hidden Markov models of counts: Poisson and multinomial."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.base.estimator import store_arguments
from tenfold.sequence._hmm_base import HMM_CONSTRAINTS, BaseHMM
from tenfold.sequence._hmm_emissions import CountEmission, dirichlet_log_prior, share_counts

_NOT_NEGATIVE = ["array-like", Interval(Real, 0, None, closed="left")]


class PoissonHMM(BaseHMM):
    r"""Hidden Markov model of counts with a rate for each state and column.

    .. math:: p(x_t \mid s_t = k) = \prod_j \frac{\lambda_{kj}^{x_{tj}} e^{-\lambda_{kj}}}{x_{tj}!}

    Parameters
    ----------
    n_components : int
        Number of hidden states, K.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet priors of starts and rows of transitions; 1 is maximum likelihood.
    lambdas_prior, lambdas_weight : float or array
        Shape and rate of the gamma prior of the rates, as counts seen before, and the steps that
        they were seen in; 0 and 0 are maximum likelihood.
    algorithm, random_state, n_iter, tol, verbose
        As of `CategoricalHMM`.
    params, init_params : str
        Which parameters to update, and which to initialize: "s" starts, "t" transitions, "l" rates.
    implementation, training, transitions, sticky, n_init
        As of `CategoricalHMM`.

    Attributes
    ----------
    startprob_ : (K,) array
    transmat_ : (K, K) array
        Row: from, column: to.
    lambdas_ : (K, p) array
    log_likelihood_, n_iter_, converged_, history_
        As of `CategoricalHMM`.

    See Also
    --------
    CategoricalHMM, MultinomialHMM, PoissonMixture

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PoissonHMM
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.poisson(1, (60, 1)), rng.poisson(20, (60, 1))])
    >>> model = PoissonHMM(2, random_state=0).fit(X)
    >>> sorted(model.lambdas_.round(0).ravel().tolist())
    [1.0, 21.0]
    """

    lambdas_: np.ndarray
    _emission_letters = "l"
    _parameter_constraints: dict[str, Any] = {
        **HMM_CONSTRAINTS,
        "lambdas_prior": _NOT_NEGATIVE,
        "lambdas_weight": _NOT_NEGATIVE,
    }
    _learned_shapes = {"startprob_": "m", "transmat_": "m m", "lambdas_": "m p"}

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        lambdas_prior: Any = 0.0,
        lambdas_weight: Any = 0.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stl",
        init_params: str = "stl",
        implementation: str = "log",
        *,
        training: str = "em",
        transitions: Any = "free",
        sticky: float = 0.0,
        n_init: int = 1,
    ) -> None:
        store_arguments(self, locals())

    def _initial_emission(
        self, steps: np.ndarray, labels: np.ndarray, centers: np.ndarray, rng: np.random.Generator
    ) -> CountEmission:
        _check_counts(steps)
        if "l" not in self.init_params:
            self._given("lambdas_", "l")
            return self._emission()
        return CountEmission("poisson", np.maximum(centers, 0.1))

    def _update_emission(self, emission: CountEmission, statistic: Any) -> CountEmission:
        if "l" not in self.params:
            return emission
        exposure = statistic.exposure(statistic.n[:, None]) + self.lambdas_weight
        counts = statistic.sums + self.lambdas_prior
        known = np.broadcast_to(exposure > 1e-10, counts.shape)
        rates = np.where(known, counts / np.where(exposure > 1e-10, exposure, 1.0), emission.rates)
        return CountEmission("poisson", np.maximum(rates, np.finfo(float).tiny))

    def _emission_attributes(self, emission: CountEmission) -> dict[str, Any]:
        return {"lambdas_": emission.rates}

    def _emission(self) -> CountEmission:
        return CountEmission("poisson", np.asarray(self.lambdas_, np.float64))

    def _emission_log_prior(self, emission: CountEmission) -> float:
        shape, rate = np.asarray(self.lambdas_prior, float), np.asarray(self.lambdas_weight, float)
        if not shape.any() and not rate.any():
            return 0.0
        return float((shape * np.log(emission.rates) - rate * emission.rates).sum())

    def _draw(self, state: int, n: int, rng: np.random.Generator) -> np.ndarray:
        rates = np.asarray(self.lambdas_, float)[state]
        return rng.poisson(rates, (n, len(rates)))

    def _emission_means(self) -> Any:
        return self.lambdas_

    def _n_emission_parameters(self) -> int:
        return int(np.size(self.lambdas_))


class MultinomialHMM(BaseHMM):
    r"""Hidden Markov model of counts of several kinds that share a total.

    .. math:: p(x_t \mid s_t = k) = \frac{n_t!}{\prod_j x_{tj}!} \prod_j \pi_{kj}^{x_{tj}}

    Parameters
    ----------
    n_components : int
        Number of hidden states, K.
    n_trials : int, optional
        Total of the counts of a step that `sample` draws; by default the mean total of the fit,
        rounded. Totals of steps may differ.
    startprob_prior, transmat_prior, emissionprob_prior : float or array
        Parameters of Dirichlet priors; 1 is maximum likelihood.
    algorithm, random_state, n_iter, tol, verbose
        As of `CategoricalHMM`.
    params, init_params : str
        Which parameters to update, and which to initialize: "s" starts, "t" transitions, "e"
        emissions.
    implementation, training, transitions, sticky, n_init
        As of `CategoricalHMM`.

    Attributes
    ----------
    startprob_ : (K,) array
    transmat_ : (K, K) array
        Row: from, column: to.
    emissionprob_ : (K, p) array
    log_likelihood_, n_iter_, converged_, history_
        As of `CategoricalHMM`.

    See Also
    --------
    CategoricalHMM, PoissonHMM, MultinomialMixture

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultinomialHMM
    >>> X = np.array([[9, 1], [8, 2], [1, 9], [2, 8], [1, 9]])
    >>> model = MultinomialHMM(2, random_state=0, n_iter=50).fit(X)
    >>> len(set(model.predict(X).tolist()))
    2
    """

    emissionprob_: np.ndarray
    _emission_letters = "e"
    _parameter_constraints: dict[str, Any] = {
        **HMM_CONSTRAINTS,
        "emissionprob_prior": _NOT_NEGATIVE,
        "n_trials": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    }
    _learned_shapes = {"startprob_": "m", "transmat_": "m m", "emissionprob_": "m p"}

    def __init__(
        self,
        n_components: int = 1,
        n_trials: Any = None,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        *,
        emissionprob_prior: Any = 1.0,
        training: str = "em",
        transitions: Any = "free",
        sticky: float = 0.0,
        n_init: int = 1,
    ) -> None:
        store_arguments(self, locals())

    def _initial_emission(
        self, steps: np.ndarray, labels: np.ndarray, centers: np.ndarray, rng: np.random.Generator
    ) -> CountEmission:
        _check_counts(steps)
        self._mean_total = float(np.nansum(steps, axis=1).mean())
        if "e" not in self.init_params:
            self._given("emissionprob_", "e")
            return self._emission()
        shares = np.maximum(centers, 0) + 0.1
        shares = shares * rng.uniform(0.9, 1.1, shares.shape)
        return CountEmission("multinomial", shares / shares.sum(axis=1, keepdims=True))

    def _update_emission(self, emission: CountEmission, statistic: Any) -> CountEmission:
        if "e" not in self.params:
            return emission
        shares = share_counts(statistic.sums, self.emissionprob_prior, emission.rates)
        return CountEmission("multinomial", shares)

    def _emission_attributes(self, emission: CountEmission) -> dict[str, Any]:
        return {"emissionprob_": emission.rates, "mean_total_": self._mean_total}

    def _emission(self) -> CountEmission:
        return CountEmission("multinomial", np.asarray(self.emissionprob_, np.float64))

    def _emission_log_prior(self, emission: CountEmission) -> float:
        return dirichlet_log_prior(self.emissionprob_prior, emission.rates)

    def _draw(self, state: int, n: int, rng: np.random.Generator) -> np.ndarray:
        total = self.n_trials
        if total is None:
            total = round(getattr(self, "mean_total_", 1.0))
        shares = np.asarray(self.emissionprob_, float)[state]
        draws = np.resize(np.asarray(total), n)
        return np.array([rng.multinomial(each, shares) for each in draws]).reshape(n, len(shares))

    def _emission_means(self) -> Any:
        total = getattr(self, "mean_total_", 1.0) if self.n_trials is None else self.n_trials
        return np.mean(total) * np.asarray(self.emissionprob_, float)

    def _n_emission_parameters(self) -> int:
        return int(np.size(self.emissionprob_)) - len(self.emissionprob_)


def _check_counts(steps: np.ndarray) -> None:
    counts = steps[~np.isnan(steps)]
    if (counts < 0).any() or (counts != np.round(counts)).any():
        raise ValueError("Symbols should be nonnegative integers: the steps are counts")
