"""What models with a kernel share: its parameters, the rows of the fit, the scores of new rows."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._block import check_gram_memory, check_symmetry, gram_matrix, kernel_product
from tenfold.kernel._object_rows import ObjectKernelMixin
from tenfold.kernel.kernels import KERNEL_NAMES, resolve_kernel
from tenfold.kernel.object_kernels import PrecomputedKernel, is_precomputed, takes_objects
from tenfold.math.linalg import to_dense

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": [Interval(Real, 0, None, closed="left"), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}


class KernelParameters(ObjectKernelMixin):
    """The parameters `kernel`, `gamma`, `degree`, `coef0` and `kernel_params` of a model."""

    kernel: Any
    gamma: float | None
    degree: float | None
    coef0: float | None
    kernel_params: dict[str, Any] | None

    def _gather_rows(self, rows: Rows, *, copies: float, cure: str) -> GatheredRows:
        """The rows of a fit, unless so many n x n matrices do not fit into memory."""
        kernel = self._kernel_object(rows.n_features)
        return GatheredRows(type(self).__name__, kernel, rows, copies=copies, cure=cure)

    def _kernel_object(self, n_features: int) -> Any:
        """The kernel object; of objects, the rows are its values."""
        if takes_objects(self.kernel):
            return PrecomputedKernel()
        return resolve_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=3 if self.degree is None else self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            X=np.empty((0, n_features)),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.positive_only = self.kernel in ("chi2", "additive_chi2")
        return tags


class GatheredRows:
    """Rows of a fit in memory, with the kernel that compares them."""

    def __init__(self, name: str, kernel: Any, rows: Rows, *, copies: float, cure: str) -> None:
        n = rows.n_rows
        check_gram_memory(n, copies, name, cure)
        self.kernel = kernel
        self.precomputed = isinstance(self.kernel, PrecomputedKernel)
        if self.precomputed and rows.n_features != n:
            raise ValueError(
                f"Precomputed metric requires shape (n_queries, n_indexed). Got "
                f"({n}, {rows.n_features}) for {n} indexed."
            )
        chunk = rows.gather()
        self.X, self.y = chunk.X, chunk.y
        if self.precomputed:
            check_symmetry(to_dense(self.X))
        self.w = None if chunk.w is None else chunk.w.astype(np.float64)

    def gram(self) -> np.ndarray:
        """The kernel values of all rows with all rows, (n, n), in float64; a new array."""
        X = self.X.astype(np.float64)
        K = to_dense(X).copy() if self.precomputed else gram_matrix(X, self.kernel)
        if not np.isfinite(K.sum()) and not np.isfinite(K).all():
            i, j = np.argwhere(~np.isfinite(K))[0]
            raise ValueError(
                f"the kernel value of rows {i} and {j} is {K[i, j]}: standardize the columns, or "
                f"choose other parameters than those of {self.kernel!r}"
            )
        return K


def kernel_scores(chunk: Chunk, kernel: Any, X_fit: Any, dual: np.ndarray) -> np.ndarray:
    """Sums of kernel values with the rows of the fit, weighted by dual coefficients."""
    X = chunk.X.astype(np.float64)
    if isinstance(kernel, PrecomputedKernel):
        return np.asarray(X @ dual).astype(chunk.X.dtype)
    return kernel_product(X, X_fit, kernel, dual).astype(chunk.X.dtype)
