"""Kernel features by landmarks."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._block import kernel_block
from tenfold.kernel._landmarks import LANDMARK_RULES, draw_landmarks
from tenfold.kernel._model_base import KERNEL_CONSTRAINTS, KernelParameters
from tenfold.kernel._value_moments import count_rows
from tenfold.kernel.object_kernels import PrecomputedKernel, is_precomputed


class Nystroem(KernelParameters, ClassNamePrefixFeaturesOutMixin, Transformer):
    r"""Kernel features by landmarks: dot products of features approximate kernel values.

    .. math:: \phi(x) = K_{mm}^{-1/2} \, k_m(x), \qquad
              \phi(x) \cdot \phi(z) = k_m(x)^T K_{mm}^{-1} k_m(z) \approx k(x, z)

    with the values :math:`k_m(x)` of x with m landmarks. Exact on the landmarks, and everywhere if
    all rows are landmarks. Parameters and attributes are those of
    `sklearn.kernel_approximation.Nystroem`, and `landmarks`.

    Parameters
    ----------
    kernel, gamma, coef0, degree, kernel_params : Any
        The kernel, as in `KernelRidge`.
    n_components : int
        Number of landmarks m.
    random_state : int, optional
        Seed of the landmarks.
    n_jobs : int, optional
        Number of threads.
    landmarks : {"uniform", "kmeans", "leverage"}
        Rows drawn with equal probabilities, centers of k-means, or rows drawn by approximate ridge
        leverage scores (two passes more).

    Attributes
    ----------
    components_ : (n_components, n_features) landmarks; of a precomputed kernel their values
    component_indices_ : (n_components,) their row numbers; None for centers
    normalization_ : (n_components, n_components) K_mm^(-1/2)

    See Also
    --------
    RBFSampler : Features that do not depend on the rows.
    NystroemRidge : Ridge regression on landmarks, in one pass.

    References
    ----------
    C. K. I. Williams and M. Seeger (2001), Using the Nyström method to speed up kernel machines.

    A. Alaoui and M. W. Mahoney (2015), Fast randomized kernel ridge regression with statistical
    guarantees.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Nystroem
    >>> from tenfold.kernel import RBF
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> Z = Nystroem(kernel=RBF(3.0), n_components=6).fit_transform(X)
    >>> bool(np.allclose(Z @ Z.T, RBF(3.0)(X)))
    True
    """

    _sparse_ok = True
    _samples_rows = True
    _chunk_rows = 2048  # a chunk meets all landmarks
    _learned_shapes = {
        "component_indices_": "m : index",
        "components_": "m p",
        "normalization_": "m m",
    }
    _parameter_constraints = {
        **KERNEL_CONSTRAINTS,
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "degree": [Interval(Real, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "landmarks": [StrOptions(set(LANDMARK_RULES))],
    }

    _law_params: dict[str, Any] = {"n_components": 5}

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        landmarks: str = "uniform",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.landmarks = landmarks

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        given = [name for name in ("gamma", "coef0", "degree") if getattr(self, name) is not None]
        if given and (callable(self.kernel) or is_precomputed(self.kernel)):
            raise ValueError(
                "Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed "
                f"kernel: {given[0]}={getattr(self, given[0])}"
            )
        if is_precomputed(self.kernel) and rows.n_rows != rows.n_features:
            raise ValueError(
                "Precomputed matrix must be a square matrix: values of all rows with all rows. "
                f"Input is a {rows.n_rows}x{rows.n_features} matrix."
            )
        m = self.n_components
        if m > rows.n_rows:
            warnings.warn(
                "n_components > n_samples. This is not possible. n_components was set to "
                "n_samples, which results in inefficient evaluation of the full kernel.",
                stacklevel=2,
            )
            m = rows.n_rows
        rows.total(count_rows)  # not at landmarks alone
        kernel = self._kernel_object(rows.n_features)
        found = draw_landmarks(rows, kernel, m, self.landmarks, rng)
        marks, numbers = found.rows, found.numbers
        if isinstance(kernel, PrecomputedKernel):
            marks = rows.take(found.rows).X  # row numbers
        return {
            "components_": marks.astype(rows.dtype),
            "component_indices_": numbers,
            "normalization_": found.root(rows.dtype).astype(rows.dtype),
        }

    def transform(self, X: Any) -> np.ndarray:
        """Features of rows, (n_rows, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        kernel = self._kernel_object(self.n_features_in_)
        precomputed = isinstance(kernel, PrecomputedKernel)
        marks = self.component_indices_ if precomputed else self.components_
        return self._map_rows(X, landmark_features, kernel, marks, self.normalization_)

    @property
    def _n_features_out(self) -> int:
        return len(self.normalization_)


def landmark_features(
    chunk: Chunk, kernel: Any, marks: np.ndarray, normalization: np.ndarray
) -> np.ndarray:
    """Kernel values with landmarks, times K_mm^(-1/2)."""
    if marks.ndim == 2 and marks.dtype != chunk.X.dtype:
        marks = marks.astype(chunk.X.dtype)
    return kernel_block(chunk.X, marks, kernel) @ normalization.T.astype(chunk.X.dtype)
