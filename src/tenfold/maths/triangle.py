"""The triangular factor of rows, and its merge.

Second moments square the condition of the data; the factor R of a QR decomposition keeps it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TRUSTED = {4: 1e-4, 8: 1e-9}  # reciprocal condition below which moments of this many bytes mislead


class Triangle(NamedTuple):
    """R with R'R = Z'WZ for rows Z seen so far; two merge as the QR of one above the other."""

    R: np.ndarray

    @classmethod
    def of(cls, Z: np.ndarray, w: np.ndarray | None) -> Triangle:
        """The factor of weighted rows, in float64.

        Examples
        --------
        >>> import numpy as np
        >>> Z = np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]])
        >>> parts = Triangle.of(Z[:2], None).merge(Triangle.of(Z[2:], None))
        >>> np.allclose(parts.R.T @ parts.R, Z.T @ Z)
        True
        """
        Z = Z.astype(np.float64, copy=False)
        return cls(np.asarray(np.linalg.qr(Z if w is None else Z * np.sqrt(w)[:, None], mode="r")))

    def merge(self, other: Triangle) -> Triangle:
        return Triangle(np.asarray(np.linalg.qr(np.vstack([self.R, other.R]), mode="r")))
