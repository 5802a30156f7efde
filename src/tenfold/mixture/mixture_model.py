"""A mixture of any density."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import HasMethods
from tenfold.distributions.base import draw_rows, takes_missing_values
from tenfold.distributions.normal import Gaussian
from tenfold.engine.rows import Rows
from tenfold.mixture._base import MIXTURE_CONSTRAINTS, BaseMixture
from tenfold.mixture._gaussian import EMPTY_WEIGHT


class DensityStatistics(NamedTuple):
    """Weight of each component (n_components,), and the statistic of its density."""

    n: np.ndarray
    parts: tuple


class _DensityComponents(NamedTuple):
    """Components with a density each."""

    log_weights: np.ndarray
    densities: tuple

    @property
    def values_per_row(self) -> int:
        return 32 + len(self.densities)  # what a density computes on the way is unknown

    def prepare(self, X: np.ndarray) -> np.ndarray:
        return X

    def log_joint(self, view: np.ndarray) -> np.ndarray:
        scores = np.empty((len(self.densities), len(view)))
        missing = bool(np.isnan(view.sum()))
        for k, density in enumerate(self.densities):
            log_density = density.observed_log_density if missing else density.log_density
            scores[k] = self.log_weights[k] + log_density(view)
        return scores

    def statistic(self, view: np.ndarray, R: np.ndarray) -> DensityStatistics:
        missing = bool(np.isnan(view.sum()))
        parts = (
            (d.observed_statistic if missing else d.statistic)(view, r)
            for d, r in zip(self.densities, R, strict=True)
        )
        return DensityStatistics(R.sum(axis=1), tuple(parts))


class _DensityFamily(NamedTuple):
    """The `MixtureFamily` of any density: the state holds the statistic of each component."""

    density: Any

    def initial_state(self, centers: np.ndarray) -> DensityStatistics:
        """Components without rows."""
        return DensityStatistics(np.zeros(len(centers)), ())

    def components(self, state: DensityStatistics) -> _DensityComponents:
        """Components with the densities that the statistics determine."""
        k = len(state.n)
        if not state.parts:
            return _DensityComponents(np.full(k, -np.log(k)), (self.density,) * k)
        fitted = tuple(self.density.fit_statistic(part) for part in state.parts)
        weights = state.n + EMPTY_WEIGHT
        return _DensityComponents(np.log(weights / weights.sum()), fitted)

    def m_step(self, state: DensityStatistics, statistic: DensityStatistics) -> DensityStatistics:
        """The statistics of this iteration; a component without rows keeps its last one."""
        if not state.parts:
            return statistic
        has_rows = statistic.n > EMPTY_WEIGHT
        choices = zip(has_rows, statistic.parts, state.parts, strict=True)
        parts = tuple(new if nonempty else old for nonempty, new, old in choices)
        return DensityStatistics(statistic.n, parts)

    def log_prior(self, state: DensityStatistics) -> float:
        """Zero: the densities handle their own priors."""
        return 0.0


class MixtureModel(BaseMixture):
    r"""A mixture of any density that can be fitted to weighted rows.

    .. math:: \max \sum_i \omega_i \log \sum_k \pi_k \, p(x_i; \theta_k)

    A density has `log_density(X)`, `sample(n, rng)`, `statistic(X, w)` and
    `fit_statistic(statistic)`, as those of `tenfold.distributions`; statistics merge.
    `GaussianMixture`, `BernoulliMixture`, `MultinomialMixture`, `PoissonMixture` and
    `CategoricalMixture` do the same faster. With a prior in the density, EM maximizes the
    posterior, not the likelihood that `history_` shows. Rows may have missing entries (NaN) if the
    density has `observed_log_density` and `observed_statistic`, as in `GenerativeClassifier`.

    Parameters
    ----------
    density : density, optional
        Fitted to the rows of each component; by default a Gaussian with any covariance.
    n_components : int
        Number of components.
    tol : float
        Converged when the mean log-likelihood changes by less than this.
    max_iter, n_init : int
        Maximum iterations of EM, and number of initializations, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        The first responsibilities, as in `GaussianMixture`.
    hard : bool
        Whether each row belongs entirely to its most probable component.
    observed_labels : bool
        Whether y holds the component of each row, -1 where it is unknown.
    random_state : int, optional
        Seed of the initializations, and of `sample`.
    warm_start : bool
        Whether a further `fit` continues from the last solution.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    weights_ : (n_components,)
    densities_ : the density of each component
    statistic_ : the statistic of each component
    lower_bound_, n_iter_, converged_, history_ : as in `GaussianMixture`

    See Also
    --------
    GaussianMixture : Gaussian components, and missing values.
    GenerativeClassifier : A density for each class.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin (1977), Maximum likelihood from incomplete data via
    the EM algorithm.

    Examples
    --------
    Waiting times of two kinds, exponential each:

    >>> import numpy as np
    >>> from typing import NamedTuple
    >>> from tenfold import MixtureModel
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
    ...     def fit_statistic(self, s):
    ...         return Waiting(s[0] / s[1])
    >>> rng = np.random.default_rng(0)
    >>> X = np.append(rng.exponential(1, 500), rng.exponential(50, 500))[:, None]
    >>> model = MixtureModel(Waiting(), 2, random_state=0).fit(X)
    >>> sorted(round(float(1 / density.rate)) for density in model.densities_)
    [1, 47]
    """

    _parameter_constraints: dict[str, Any] = {
        **MIXTURE_CONSTRAINTS,
        "density": [HasMethods(["log_density", "statistic", "fit_statistic"]), None],
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
    def _column_matrices(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 3 + 2 * self.n_components if self.density is None else 0

    @property
    def _nan_ok(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return takes_missing_values(self._density_family.density)

    @property
    def _density_family(self) -> _DensityFamily:
        return _DensityFamily(Gaussian(floor=1e-6) if self.density is None else self.density)

    def _family(self, rows: Rows) -> _DensityFamily:
        return self._density_family

    def _finalize(self, state: DensityStatistics, dtype: np.dtype) -> dict[str, Any]:
        components = self._density_family.components(state)
        return {
            "weights_": np.exp(components.log_weights).astype(dtype),
            "densities_": list(components.densities),
            "statistic_": state,
        }

    def _state(self) -> DensityStatistics:
        return self.statistic_

    def _components(self) -> _DensityComponents:
        return self._density_family.components(self.statistic_)

    def _draw(self, component: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return draw_rows(self.densities_[component], n, rng)

    def _n_parameters(self) -> int:
        counts = [d.n_parameters for d in self.densities_ if hasattr(d, "n_parameters")]
        if len(counts) < len(self.densities_):
            raise AttributeError(
                f"{type(self.densities_[0]).__name__} has no number of free parameters: "
                "give it an attribute n_parameters, or compare mixtures by `score` on other rows"
            )
        return sum(counts) + len(counts) - 1
