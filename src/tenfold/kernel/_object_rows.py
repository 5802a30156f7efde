"""Kernel machines on objects: their rows are kernel values with the objects of the fit."""

from __future__ import annotations

from typing import Any

from tenfold.engine.rows import Rows
from tenfold.kernel.base import as_kernel
from tenfold.kernel.object_kernels import as_objects, takes_objects


class ObjectKernelMixin:
    """A model with a parameter `kernel`; with a kernel of objects X is a sequence of them.

    The fit computes the Gram matrix once, and a prediction the values with the objects of the fit
    (`objects_fit_`); all else is as with a precomputed kernel.
    """

    kernel: Any

    def _checked_rows(self, X: Any, y: Any, w: Any, *, reset: bool) -> Rows:
        check: Any = super()._checked_rows  # type: ignore[misc]
        if not takes_objects(self.kernel):
            if reset and hasattr(self, "objects_fit_"):
                del self.objects_fit_
            return check(X, y, w, reset=reset)
        kernel, objects = as_kernel(self.kernel), as_objects(X, self.kernel)
        if not reset:
            return check(kernel(objects, self.objects_fit_), y, w, reset=False)
        rows = check(kernel(objects), y, w, reset=True)
        self.objects_fit_ = objects
        return rows
