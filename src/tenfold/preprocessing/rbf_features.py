"""Radial basis function features: functions of the distance to each of some centers."""

from __future__ import annotations

from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.math.distances import squared_distances
from tenfold.preprocessing.basis_expansion import BasisExpansion, ColumnRange

_MAX_GRID_CENTERS = 10_000  # centers; a grid has n_centers ** n_features of them

# as functions of the squared distance in units of the width
_RADIAL_FUNCTIONS = {
    "gaussian": lambda d2: np.exp(-d2),
    "inverse_multiquadric": lambda d2: 1 / np.sqrt(1 + d2),
    "multiquadric": lambda d2: np.sqrt(1 + d2),
    "thin_plate": lambda d2: d2 * np.log(np.sqrt(np.where(d2 > 0, d2, 1))),
}


class RadialFeatures(BasisExpansion):
    r"""Radial basis functions: one feature per center, a function of the distance to it.

    .. math:: \phi_k(x) = \exp\left(-\lVert x - r_k \rVert^2 / s^2\right)

    With these features a linear model is a radial basis function network. Distances need columns
    of similar scale: standardize first.

    Parameters
    ----------
    centers : {"random", "grid"} or (n_centers, n_features) array
        Distinct rows drawn at random, a grid over the range of the training rows, or as
        given (for example the `cluster_centers_` of `KMeans`).
    n_centers : int
        Number of random centers; for a grid, of centers along each column.
    width : float or (n_centers,) array
        Width s, one for all centers or one each.
    shape : {"gaussian", "inverse_multiquadric", "multiquadric", "thin_plate"}
        Function of u = distance / width: exp(-u²), 1/√(1 + u²), √(1 + u²), u² log u.
    keep_original : bool
        Whether the original columns come first.
    random_state : int, optional
        Seed of the random centers.

    Attributes
    ----------
    centers_ : (n_centers, n_features) centers
    span_ : smallest and largest value of each column

    See Also
    --------
    RbfNetwork, FourierFeatures, KMeans

    References
    ----------
    Broomhead, D. and Lowe, D. (1988). Multivariable Functional Interpolation and Adaptive Networks.

    Examples
    --------
    Four radial functions and weights set by hand solve XOR:

    >>> import numpy as np
    >>> from tenfold import RadialFeatures
    >>> corners = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    >>> features = RadialFeatures(centers=corners).fit_transform(corners)
    >>> (features @ [1, 1, -1, -1]).round(6).tolist()
    [0.963704, 0.963704, -0.963704, -0.963704]
    """

    _samples_rows = True
    _parameter_constraints = {
        "centers": [StrOptions({"random", "grid"}), "array-like"],
        "n_centers": [Interval(Integral, 1, None, closed="left")],
        "width": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "shape": [StrOptions(set(_RADIAL_FUNCTIONS))],
        "keep_original": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        centers: Any = "random",
        *,
        n_centers: int = 10,
        width: Any = 1.0,
        shape: str = "gaussian",
        keep_original: bool = False,
        random_state: Any = None,
    ) -> None:
        self.centers = centers
        self.n_centers = n_centers
        self.width = width
        self.shape = shape
        self.keep_original = keep_original
        self.random_state = random_state

    def _finalize(self, span: ColumnRange, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        centers = np.ascontiguousarray(self._place_centers(span, rows, rng), rows.dtype)
        if centers.ndim != 2 or centers.shape[1] != rows.n_features:
            raise ValueError(
                f"centers have shape {centers.shape}; {rows.n_features} columns need "
                f"(number of centers, {rows.n_features})"
            )
        if np.ndim(self.width) and np.shape(self.width) != (len(centers),):
            raise ValueError(f"{np.size(self.width)} widths for {len(centers)} centers")
        return {"centers_": centers, "span_": span}

    def _place_centers(self, span: ColumnRange, rows: Rows, rng: np.random.Generator) -> Any:
        if not isinstance(self.centers, str):
            return self.centers
        if self.centers == "random":
            return rows.sample(self.n_centers, int(rng.integers(2**31))).X
        if self.n_centers**rows.n_features > _MAX_GRID_CENTERS:
            raise ValueError(
                f"a grid of {self.n_centers} centers along each of {rows.n_features} columns has "
                f"more than {_MAX_GRID_CENTERS} centers: take centers='random', or those of KMeans"
            )
        axes = np.linspace(span.low, span.high, self.n_centers).T
        return list(product(*axes))

    def _column_function(self) -> tuple:
        return (
            _radial_columns,
            self.centers_,
            np.asarray(self.width, self.centers_.dtype),
            self.shape,
        )

    def _new_names(self, names: list[str]) -> list[str]:
        return [f"near{k}" for k in range(len(self.centers_))]


def _radial_columns(
    X: np.ndarray, centers: np.ndarray, width: np.ndarray, shape: str
) -> np.ndarray:
    """Function of the distance of each row to each center, (n, n_centers)."""
    return _RADIAL_FUNCTIONS[shape](squared_distances(X, centers) / width**2)
