"""Hidden Markov model of any density."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.base._sklearn import HasMethods
from tenfold.base.estimator import store_arguments
from tenfold.distributions.base import draw_rows, takes_missing_values
from tenfold.distributions.normal import Gaussian
from tenfold.mixture._gaussian import EMPTY_WEIGHT
from tenfold.sequence._hmm_base import HMM_CONSTRAINTS, BaseHMM
from tenfold.sequence._hmm_emissions import DensityEmission


class HMM(BaseHMM):
    r"""Hidden Markov model of any density that can be fitted to weighted rows.

    .. math:: p(x_t \mid s_t = k) = p(x_t; \theta_k)

    `tenfold.distributions` holds such densities; `Independent` joins columns of different
    kinds, a number, a count and a category say, in one.

    Parameters
    ----------
    n_components : int
        Number of hidden states, K.
    density : distribution, optional
        The density of a step in a state, fitted or not; by default `Gaussian()`.
    startprob_prior, transmat_prior : float or array
        Parameters of Dirichlet priors of starts and rows of transitions; 1 is maximum likelihood.
    algorithm, random_state, n_iter, tol, verbose
        As of `CategoricalHMM`.
    params, init_params : str
        Which parameters to update, and which to initialize: "s" starts, "t" transitions, "d" the
        densities.
    implementation, training, transitions, sticky, n_init
        As of `CategoricalHMM`.

    Attributes
    ----------
    startprob_ : (K,) array
    transmat_ : (K, K) array
    densities_ : list of K distributions
    log_likelihood_, n_iter_, converged_, history_
        As of `CategoricalHMM`.

    See Also
    --------
    MixtureModel : the same densities without an order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import HMM
    >>> from tenfold.distributions import Exponential
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.exponential(1, (80, 1)), rng.exponential(40, (80, 1))])
    >>> model = HMM(2, Exponential(), random_state=0, n_iter=50).fit(X)
    >>> model.predict(X)[[0, -1]].tolist() in ([0, 1], [1, 0])
    True
    """

    densities_: list[Any]
    _emission_letters = "d"
    _parameter_constraints: dict[str, Any] = {
        **HMM_CONSTRAINTS,
        "density": [HasMethods(["log_density", "statistic", "fit_statistic"]), None],
    }
    _learned_shapes = {"startprob_": "m", "transmat_": "m m", "densities_": "m * model"}

    def __init__(
        self,
        n_components: int = 1,
        density: Any = None,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        *,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "std",
        init_params: str = "std",
        implementation: str = "log",
        training: str = "em",
        transitions: Any = "free",
        sticky: float = 0.0,
        n_init: int = 1,
    ) -> None:
        store_arguments(self, locals())

    def _one_density(self) -> Any:
        if isinstance(self.density, type):
            name = self.density.__name__
            raise TypeError(f"density={name} is a class: give an instance, such as {name}()")
        return Gaussian() if self.density is None else self.density

    def _initial_emission(
        self, steps: np.ndarray, labels: np.ndarray, centers: np.ndarray, rng: np.random.Generator
    ) -> DensityEmission:
        if "d" not in self.init_params:
            return DensityEmission(tuple(self._given("densities_", "d")))
        density = self._one_density()
        missing = bool(np.isnan(steps).any())
        if missing and not takes_missing_values(density):
            raise ValueError(f"{type(density).__name__} takes no missing values (NaN)")
        name = "observed_statistic" if missing else "statistic"
        # Each state begins with its own rows and a little of all others.
        shares = np.full((len(steps), self.n_components), 0.1 / self.n_components)
        shares[np.arange(len(steps)), labels] += 0.9
        fitted = (
            density.fit_statistic(getattr(density, name)(steps, np.ascontiguousarray(column)))
            for column in shares.T
        )
        return DensityEmission(tuple(fitted))

    def _update_emission(
        self, emission: DensityEmission, statistic: tuple[np.ndarray, tuple]
    ) -> DensityEmission:
        if "d" not in self.params:
            return emission
        weights, parts = statistic
        choices = zip(weights > EMPTY_WEIGHT, parts, emission.densities, strict=True)
        return DensityEmission(
            tuple(old.fit_statistic(part) if seen else old for seen, part, old in choices)
        )

    def _emission_attributes(self, emission: DensityEmission) -> dict[str, Any]:
        return {"densities_": list(emission.densities)}

    def _emission(self) -> DensityEmission:
        return DensityEmission(tuple(self.densities_))

    def _draw(self, state: int, n: int, rng: np.random.Generator) -> np.ndarray:
        drawn = draw_rows(self.densities_[state], n, rng)
        return drawn if drawn.ndim == 2 else drawn[:, None]

    def _emission_means(self) -> np.ndarray:
        missing = [density for density in self.densities_ if not hasattr(density, "mean")]
        if missing:
            raise AttributeError(
                f"{type(missing[0]).__name__} has no mean: give it an attribute `mean`, or "
                "combine the densities of the states by the probabilities of `predict_next`"
            )
        return np.array([np.ravel(density.mean) for density in self.densities_])

    def _n_emission_parameters(self) -> int:
        missing = [density for density in self.densities_ if not hasattr(density, "n_parameters")]
        if missing:
            raise AttributeError(
                f"{type(missing[0]).__name__} has no number of free parameters: give it an "
                "attribute n_parameters, or compare models by `score` on other sequences"
            )
        return int(sum(density.n_parameters for density in self.densities_))
