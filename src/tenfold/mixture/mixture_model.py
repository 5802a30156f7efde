"""A mixture of any density."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import HasMethods
from tenfold.distributions.normal import Gaussian
from tenfold.engine.rows import Rows
from tenfold.mixture._em import MIXTURE_CONSTRAINTS, BaseMixture
from tenfold.mixture._gaussian import EMPTY_WEIGHT


class DensityStatistics(NamedTuple):
    """Weight of each component (k,), and what its rows say about its density."""

    n: np.ndarray
    parts: tuple


class _DensityComponents(NamedTuple):
    """Components with a density each."""

    log_weights: np.ndarray
    densities: tuple

    @property
    def numbers(self) -> int:
        return 32 + len(self.densities)

    def view(self, X: np.ndarray) -> np.ndarray:
        return X

    def scores(self, X: np.ndarray) -> np.ndarray:
        scores = np.empty((len(self.densities), len(X)))
        for k, density in enumerate(self.densities):
            scores[k] = self.log_weights[k] + density.log_density(X)
        return scores

    def statistic(self, X: np.ndarray, R: np.ndarray) -> DensityStatistics:
        parts = (d.statistic(X, r) for d, r in zip(self.densities, R, strict=True))
        return DensityStatistics(R.sum(axis=1), tuple(parts))


def _fit_density(density: Any, statistic: Any) -> Any:
    """The density fitted to a statistic."""
    if hasattr(density, "fitted"):
        return density.fitted(statistic)
    return density.from_statistic(statistic)


class _DensityFamily(NamedTuple):
    """How components of any density learn: the state is what their rows say."""

    density: Any

    def initial_state(self, centres: np.ndarray) -> DensityStatistics:
        """Components that have learned nothing."""
        return DensityStatistics(np.zeros(len(centres)), ())

    def components(self, state: DensityStatistics) -> _DensityComponents:
        """What leaves need."""
        k = len(state.n)
        if not state.parts:
            return _DensityComponents(np.full(k, -np.log(k)), (self.density,) * k)
        fitted = tuple(_fit_density(self.density, part) for part in state.parts)
        weights = state.n + EMPTY_WEIGHT
        return _DensityComponents(np.log(weights / weights.sum()), fitted)

    def m_step(self, state: DensityStatistics, s: DensityStatistics) -> DensityStatistics:
        """The statistics of this round; a component that has lost its rows keeps its own."""
        if not state.parts:
            return s
        alive = s.n > EMPTY_WEIGHT
        pairs = zip(alive, s.parts, state.parts, strict=True)
        return DensityStatistics(s.n, tuple(new if there else old for there, new, old in pairs))

    def log_prior(self, state: DensityStatistics) -> float:
        """Nothing: priors of the densities are their own business."""
        return 0.0


class MixtureModel(BaseMixture):
    r"""A mixture of any density that can be fitted to weighted rows.

    .. math:: \max \sum_i \omega_i \log \sum_k \pi_k \, p(x_i; \theta_k)

    A density has `log_density(X)`, `sample(n, rng)`, `statistic(X, w)` and `fitted(statistic)`, as
    those of `tenfold.distributions`; statistics merge. `GaussianMixture`, `BernoulliMixture`,
    `MultinomialMixture`, `PoissonMixture` and `CategoricalMixture` do the same faster. With a prior
    in the density, EM climbs the posterior, not the likelihood that `history_` shows.
    [002, 8.4; 004, 9.1]

    Parameters
    ----------
    density : density, optional
        Fitted to the rows of each component; by default a Gaussian with any covariance.
    n_components : int
        Number of components.
    tol : float
        Converged when the mean log-likelihood changes by less than this.
    max_iter, n_init : int
        Most rounds of a start, and number of starts, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        Rows are given to the nearest of some centres, or divided at random.
    hard : bool
        Whether each row belongs wholly to its best component.
    observed_labels : bool
        Whether y holds the component of each row, -1 where it is unknown.
    random_state : int, optional
        Seed of the starts, and of `sample`.
    warm_start : bool
        Whether a further `fit` goes on where the last one ended.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    weights_ : (k,)
    densities_ : the density of each component
    statistic_ : what the rows of each component say
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    Examples
    --------
    Waiting times of two kinds, exponential each:

    >>> import numpy as np
    >>> from typing import NamedTuple
    >>> from tenfold.mixture.mixture_model import MixtureModel
    >>> class Waiting(NamedTuple):
    ...     rate: float = 1.0
    ...
    ...     def log_density(self, X):
    ...         return np.log(self.rate) - self.rate * X[:, 0]
    ...
    ...     def sample(self, n, rng):
    ...         return rng.exponential(1 / self.rate, (n, 1))
    ...
    ...     def statistic(self, X, w):
    ...         return np.array([w.sum(), w @ X[:, 0]])
    ...
    ...     def fitted(self, s):
    ...         return Waiting(s[0] / s[1])
    >>> rng = np.random.default_rng(0)
    >>> X = np.append(rng.exponential(1, 500), rng.exponential(50, 500))[:, None]
    >>> model = MixtureModel(Waiting(), 2, random_state=0).fit(X)
    >>> sorted(round(float(1 / density.rate)) for density in model.densities_)
    [1, 47]
    """

    _parameter_constraints: dict[str, Any] = {
        **MIXTURE_CONSTRAINTS,
        "density": [HasMethods(["log_density", "statistic"]), None],
    }

    def __init__(
        self,
        density: Any = None,
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        hard: bool = False,
        observed_labels: bool = False,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.density = density
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.hard = hard
        self.observed_labels = observed_labels
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    @property
    def _made(self) -> _DensityFamily:
        return _DensityFamily(Gaussian(floor=1e-6) if self.density is None else self.density)

    def _family(self, rows: Rows) -> _DensityFamily:
        return self._made

    def _finalize(self, state: DensityStatistics, dtype: np.dtype) -> dict[str, Any]:
        parts = self._made.components(state)
        return {
            "weights_": np.exp(parts.log_weights).astype(dtype),
            "densities_": list(parts.densities),
            "statistic_": state,
        }

    def _state(self) -> DensityStatistics:
        return self.statistic_

    def _components(self) -> _DensityComponents:
        return self._made.components(self.statistic_)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.densities_[k].sample(n, rng)

    def _n_parameters(self) -> int:
        numbers = [d.n_parameters for d in self.densities_ if hasattr(d, "n_parameters")]
        if len(numbers) < len(self.densities_):
            raise AttributeError(
                f"{type(self.densities_[0]).__name__} does not say how many numbers it chooses: "
                "give it an attribute n_parameters, or compare mixtures by `score` on other rows"
            )
        return sum(numbers) + len(numbers) - 1
