"""Radial features: how near a row is to each of some centres."""

from __future__ import annotations

from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.math.distances import squared_distances
from tenfold.preprocessing.basis_expansion import BasisExpansion, ColumnRange

_MAX_GRID_CENTERS = 10_000  # centres; a grid has n_centres to the power of the columns

# as functions of the squared distance in units of the width
_RADIAL_FUNCTIONS = {
    "gaussian": lambda d2: np.exp(-d2),
    "inverse_multiquadric": lambda d2: 1 / np.sqrt(1 + d2),
    "multiquadric": lambda d2: np.sqrt(1 + d2),
    "thin_plate": lambda d2: d2 * np.log(np.sqrt(np.where(d2 > 0, d2, 1))),
}


class RadialFeatures(BasisExpansion):
    r"""One feature per centre, a function of the distance to it.

    .. math:: \phi_k(x) = \exp\left(-\lVert x - r_k \rVert^2 / s^2\right)

    This is the Gaussian bump of [000, 1.7.2], where the width s is 1. With these features and a
    linear model you have a radial basis function network. Distances need columns of like scale:
    standardise first.

    Parameters
    ----------
    centres : {"random", "grid"} or (k, p) array
        Where the centres lie: on different rows drawn at random, on a grid over the span of the
        training rows, or as given (the `cluster_centers_` of `KMeans`, say).
    n_centres : int
        Number of random centres; for a grid, of centres along each column.
    width : float or (k,) array
        Width s, one for all centres or one each.
    shape : {"gaussian", "inverse_multiquadric", "multiquadric", "thin_plate"}
        Function of u = distance / width: exp(-u²), 1/√(1 + u²), √(1 + u²), u² log u.
    keep_original : bool
        Whether the original columns come first.
    random_state : int, optional
        Seed of the random centres.

    Attributes
    ----------
    centres_ : (k, p) centres
    span_ : smallest and largest value of each column

    Examples
    --------
    Four bumps and weights set by hand solve XOR:

    >>> import numpy as np
    >>> from tenfold.preprocessing.rbf_features import RadialFeatures
    >>> corners = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    >>> bumps = RadialFeatures(centres=corners).fit_transform(corners)
    >>> (_radial_columns @ [1, 1, -1, -1]).round(6).tolist()
    [0.963704, 0.963704, -0.963704, -0.963704]
    """

    _draws = True
    _parameter_constraints = {
        "centres": [StrOptions({"random", "grid"}), "array-like"],
        "n_centres": [Interval(Integral, 1, None, closed="left")],
        "width": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "shape": [StrOptions(set(_RADIAL_FUNCTIONS))],
        "keep_original": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        centres: Any = "random",
        *,
        n_centres: int = 10,
        width: Any = 1.0,
        shape: str = "gaussian",
        keep_original: bool = False,
        random_state: Any = None,
    ) -> None:
        self.centres = centres
        self.n_centres = n_centres
        self.width = width
        self.shape = shape
        self.keep_original = keep_original
        self.random_state = random_state

    def _finalize(self, span: ColumnRange, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        centres = np.ascontiguousarray(self._centres(span, rows, rng), rows.dtype)
        if centres.ndim != 2 or centres.shape[1] != rows.n_features:
            raise ValueError(
                f"centres have shape {centres.shape}; {rows.n_features} columns need "
                f"(number of centres, {rows.n_features})"
            )
        if np.ndim(self.width) and np.shape(self.width) != (len(centres),):
            raise ValueError(f"{np.size(self.width)} widths for {len(centres)} centres")
        return {"centres_": centres, "span_": span}

    def _centres(self, span: ColumnRange, rows: Rows, rng: np.random.Generator) -> Any:
        if not isinstance(self.centres, str):
            return self.centres
        if self.centres == "random":
            return rows.sample(self.n_centres, int(rng.integers(2**31))).X
        if self.n_centres**rows.n_features > _MAX_GRID_CENTERS:
            raise ValueError(
                f"a grid of {self.n_centres} centres along each of {rows.n_features} columns has "
                f"more than {_MAX_GRID_CENTERS} centres: take centres='random', or those of KMeans"
            )
        lines = np.linspace(span.low, span.high, self.n_centres).T
        return list(product(*lines))

    def _maker(self) -> tuple:
        return (
            _radial_columns,
            self.centres_,
            np.asarray(self.width, self.centres_.dtype),
            self.shape,
        )

    def _made_names(self, names: list[str]) -> list[str]:
        return [f"near{k}" for k in range(len(self.centres_))]


def _radial_columns(
    X: np.ndarray, centres: np.ndarray, width: np.ndarray, shape: str
) -> np.ndarray:
    """Function of the distance of each row to each centre, (n, k)."""
    return _RADIAL_FUNCTIONS[shape](squared_distances(X, centres) / width**2)
