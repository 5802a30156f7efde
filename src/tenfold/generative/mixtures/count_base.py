"""What mixtures of flips, counts and categories share."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from tenfold.generative.mixtures.base import CONSTRAINTS, Mixture
from tenfold.generative.mixtures.counts import CountComponents, Family, Rates
from tenfold.rows import Rows

COUNT_CONSTRAINTS: dict[str, Any] = {
    **CONSTRAINTS,
    "alpha": [Interval(Real, 0.0, None, closed="left")],
}


class CountMixture(Mixture):
    """What mixtures of counts share."""

    _kind = ""
    _sparse_ok = True
    _rates_name = "probabilities_"
    _parameter_constraints: dict[str, Any] = COUNT_CONSTRAINTS

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 0.0,
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
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.hard = hard
        self.observed_labels = observed_labels
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._kind != "bernoulli"
        return tags

    @property
    def _threshold(self) -> float | None:
        return None

    def _sizes(self, rows: Rows) -> np.ndarray:
        return np.ones(rows.n_features, np.int64)

    def _known_sizes(self) -> np.ndarray:
        return np.ones(self.n_features_in_, np.int64)

    def _made(self, sizes: np.ndarray) -> Family:
        return Family(self._kind, self.alpha, sizes, self._threshold, type(self).__name__)

    def _family(self, rows: Rows) -> Family:
        return self._made(self._sizes(rows))

    def _learned(self, g: Rates, dtype: np.dtype) -> dict[str, Any]:
        return {
            "weights_": g.weights.astype(dtype),
            self._rates_name: g.rates.astype(dtype),
            "lengths_": g.lengths.astype(dtype),
        }

    def _state(self) -> Rates:
        parts = self.weights_, getattr(self, self._rates_name), self.lengths_
        return Rates(*(np.asarray(part, np.float64) for part in parts))

    def _components(self) -> CountComponents:
        return self._made(self._known_sizes()).components(self._state())

    def _n_parameters(self) -> int:
        k = len(self.weights_)
        return k * self._state().rates.shape[1] + k - 1
