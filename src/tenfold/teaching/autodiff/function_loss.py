"""A loss from one function: its derivatives come from automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tenfold.math.losses import Loss
from tenfold.teaching.autodiff.reverse_mode import grad, hvp


@dataclass(frozen=True)
class FunctionLoss(Loss):
    r"""The loss :math:`\ell(z, y)` of a function, differentiated twice in the score z.

    The loss of a row depends on its own score alone, so the gradient of the sum of all losses
    holds the derivatives :math:`\partial \ell(z_i, y_i) / \partial z_i`, and its derivative along
    a vector of ones holds the curvatures: two sweeps back through the function, whatever the
    number of rows.

    Parameters
    ----------
    function : callable
        ``function(z, y)`` returns the loss of each row, computed from the array of scores z by
        operators and NumPy functions. A function of a module (no lambda) also travels to the
        workers of a cluster.

    See Also
    --------
    tenfold.HistGradientBoostingRegressor : takes it as `loss`.
    tenfold.math.losses.Loss : value, gradient and curvature by hand.
    tenfold.teaching.autodiff.check_gradient : compares derivatives with differences.

    Examples
    --------
    Boosting of an asymmetric squared error, which predicts expectiles:

    >>> import numpy as np
    >>> from tenfold import HistGradientBoostingRegressor
    >>> from tenfold.teaching.autodiff import FunctionLoss
    >>> def expectile(z, y):
    ...     return np.where(z < y, 0.9, 0.1) * (z - y) ** 2
    >>> loss = FunctionLoss(expectile)
    >>> loss.gradient(np.array([0.0, 0.0]), np.array([1.0, -1.0])).tolist()
    [-1.8, 0.2]
    >>> x = np.linspace(0, 1, 300)[:, None]
    >>> y = np.tile([0.0, 1.0, 2.0], 100)
    >>> model = HistGradientBoostingRegressor(loss, max_iter=50).fit(x, y)
    >>> bool(y.mean() < model.predict(x).mean() < 2)
    True
    """

    function: Callable[[Any, Any], Any]
    convex: ClassVar[bool] = False  # nobody knows
    smooth: ClassVar[bool] = False

    def _total(self, z: Any, y: Any) -> Any:
        return np.sum(self.function(z, y))

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        found = np.asarray(self.function(z, y), np.float64)
        if found.shape != np.shape(z):
            raise ValueError(
                f"the loss function returned shape {found.shape} for {np.shape(z)} scores: it "
                "returns the loss of each row, not their sum or mean"
            )
        return found

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Derivative in the score, by row."""
        self.value(z, y)
        return np.asarray(grad(self._total)(np.asarray(z, np.float64), y))

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Second derivative in the score, by row."""
        z = np.asarray(z, np.float64)
        return np.asarray(hvp(self._total)(np.ones_like(z), z, y))
