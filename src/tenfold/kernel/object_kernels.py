"""Kernels given as functions or matrices, and kernels of sets and strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.kernel.base import Kernel, ParameterFree, as_rows


class CallableKernel(Kernel):
    """A kernel given by a function.

    Parameters
    ----------
    function : callable
        A function of two rows that returns a number, or of two matrices that returns the matrix of
        values.
    of : {"rows", "matrices"}
        What the function takes.
    params : dict, optional
        Further arguments of the function, by name.

    Examples
    --------
    >>> from tenfold.kernel import CallableKernel
    >>> CallableKernel(lambda x, z: min(x[0], z[0]))([[1.0], [2.0]]).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """

    accepts_sparse = True

    def __init__(
        self, function: Callable[..., Any], of: str = "rows", params: dict[str, Any] | None = None
    ) -> None:
        self.function = function
        self.of = of
        self.params = params

    def _checked_rows(self, X: Any, name: str) -> Any:
        return as_rows(X)  # the function knows what it takes

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        params = self.params or {}
        if self.of == "matrices":
            values = self.function(X, Z, **params)
            values = np.array(values.toarray() if hasattr(values, "tocsr") else values, np.float64)
            if values.shape != (X.shape[0], Z.shape[0]):
                raise ValueError(
                    f"the kernel function gave an array of shape {values.shape} for {X.shape[0]} "
                    f"and {Z.shape[0]} rows: it must return a value for each pair of rows"
                )
            return values
        return np.array([[float(self.function(x, z, **params)) for z in Z] for x in X])

    def gram(self, X: Any) -> np.ndarray:
        """Values of all rows with all rows; a function of two rows is called once for each pair.

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        if self.of == "matrices":
            return self.tile(X, X)
        K = np.empty((X.shape[0], X.shape[0]))
        for i, x in enumerate(X):
            for j in range(i + 1):
                K[i, j] = K[j, i] = self.function(x, X[j], **(self.params or {}))
        return K

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,).

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        params, X = self.params or {}, as_rows(X)
        if self.of == "rows":
            return np.array([float(self.function(x, x, **params)) for x in X])
        rows = (X[i : i + 1] for i in range(X.shape[0]))
        return np.array([np.asarray(self.function(x, x, **params)).item() for x in rows])

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone: nothing is known of a function."""
        return False


class PrecomputedKernel(ParameterFree):
    """Values that were computed before: X is the matrix of values itself.

    In `kernel_block` the other rows are numbers of columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.kernel import PrecomputedKernel
    >>> PrecomputedKernel()(np.array([[2.0, 1.0], [1.0, 2.0]])).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The matrix X, or its columns with the numbers Y.

        Parameters
        ----------
        X : (n, m) array
            Kernel values.
        Y : array of integers, optional
            Numbers of columns.
        eval_gradient : bool
            Whether to return derivatives as well; there are no hyperparameters.
        """
        X = as_rows(X)
        K = X if Y is None else np.take(X, Y, axis=1)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def tile(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.take(X, Z, axis=1)

    def diag(self, X: Any) -> np.ndarray:
        """The diagonal of X.

        Parameters
        ----------
        X : (n, n) array
            Kernel values.
        """
        return np.diagonal(np.asarray(X)).astype(np.float64)

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone: nothing is known of a matrix."""
        return False


def is_precomputed(kernel: Any) -> bool:
    """Whether X holds kernel values: a model's `kernel` says so by its name or as an object."""
    return isinstance(kernel, PrecomputedKernel) or (
        isinstance(kernel, str) and kernel == "precomputed"
    )


def takes_objects(kernel: Any) -> bool:
    """Whether a model's `kernel` compares objects, such as strings or sets, and not rows."""
    return not getattr(kernel, "requires_vector_input", True)


def as_objects(X: Any, kernel: Any) -> np.ndarray:
    """A sequence of objects as an array of them; refuse what is no sequence of objects."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) > 1:
        raise TypeError(
            f"{kernel!r} compares objects, such as strings or sets: give a list of them, one for "
            f"each example, not {type(X).__name__}"
        )
    found = np.empty(len(X), object)
    for i, thing in enumerate(X):  # one by one: NumPy would unfold sequences
        found[i] = thing
    return found


class ForeignKernel(Kernel):
    """A kernel object of another package that follows scikit-learn's protocol.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        The kernel, whose own `__call__` computes the values.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Values by the kernel's own method.

        Parameters
        ----------
        X, Y, eval_gradient : Any
            As in `Kernel`.
        """
        return self.kernel(X, Y, eval_gradient) if eval_gradient else self.kernel(X, Y)

    theta = property(
        lambda self: self.kernel.theta, lambda self, theta: setattr(self.kernel, "theta", theta)
    )
    bounds = property(lambda self: self.kernel.bounds)
    hyperparameters = property(lambda self: self.kernel.hyperparameters)  # pyright: ignore[reportIncompatibleMethodOverride]
    n_dims = property(lambda self: self.kernel.n_dims)  # pyright: ignore[reportIncompatibleMethodOverride]
    requires_vector_input = property(lambda self: self.kernel.requires_vector_input)

    def _gradient(self, X: np.ndarray, K: np.ndarray) -> np.ndarray:
        return self.kernel(X, eval_gradient=True)[1]

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        return np.array(self.kernel(X, Z), np.float64)

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all rows, (n_samples,).

        Parameters
        ----------
        X : (n_samples, n_features) array
            The rows.
        """
        return self.kernel.diag(X)

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone."""
        return self.kernel.is_stationary()


class _CountKernel(Kernel):
    """Dot products of counts of parts of objects; the counts are the explicit features."""

    requires_vector_input = False

    def _checked_rows(self, X: Any, name: str) -> Any:
        return as_objects(X, self)

    def _parts(self, thing: Any) -> Counter[Hashable]:
        raise NotImplementedError

    def counts(self, objects: Iterable[Any]) -> tuple[sparse.csr_array, list[Hashable]]:
        """Counts of the parts of objects, (n_objects, n_parts), and the parts.

        Parameters
        ----------
        objects : iterable
            Sets or strings.
        """
        found = [self._parts(thing) for thing in objects]
        parts = sorted({part for counter in found for part in counter}, key=repr)
        place = {part: j for j, part in enumerate(parts)}
        i = [row for row, counter in enumerate(found) for _ in counter]
        j = [place[part] for counter in found for part in counter]
        values = np.array([n for counter in found for n in counter.values()], np.float64)
        shape = len(found), len(parts)
        return sparse.csr_array((values, (i, j)), shape=shape), parts

    def tile(self, X: Any, Z: Any) -> np.ndarray:
        counts = self.counts([*X, *Z])[0]
        return (counts[: len(X)] @ counts[len(X) :].T).toarray()

    def diag(self, X: Any) -> np.ndarray:
        """Values k(x, x) of all objects, (n_objects,).

        Parameters
        ----------
        X : sequence
            Sets or strings.
        """
        return np.array([float(sum(n * n for n in self._parts(x).values())) for x in X])

    def is_stationary(self) -> bool:
        """Whether the values depend on x - z alone."""
        return False


class SetIntersectionKernel(_CountKernel, ParameterFree):
    r"""The number of common elements of two sets, :math:`k(A, B) = |A \cap B|`.

    Its features are the indicators of the elements.

    Examples
    --------
    >>> from tenfold.kernel import SetIntersectionKernel
    >>> SetIntersectionKernel()([{"a", "b"}, {"b", "c", "d"}]).tolist()
    [[2.0, 1.0], [1.0, 3.0]]
    """

    def _parts(self, thing: Any) -> Counter[Hashable]:
        return Counter(set(thing))


class SpectrumKernel(_CountKernel):
    r"""The number of pairs of equal substrings of a length, :math:`\sum_s n_s(x) \, n_s(z)`.

    Parameters
    ----------
    length : int
        Length of the substrings.

    References
    ----------
    C. Leslie, E. Eskin and W. S. Noble (2002), The spectrum kernel: a string kernel for SVM
    protein classification.

    Examples
    --------
    >>> from tenfold.kernel import SpectrumKernel
    >>> SpectrumKernel(2)(["banana", "ananas"]).tolist()
    [[9.0, 8.0], [8.0, 9.0]]
    """

    def __init__(self, length: int = 3) -> None:
        self.length = length

    def _parts(self, thing: Any) -> Counter[Hashable]:
        if not hasattr(thing, "__getitem__") or self.length < 1:
            raise TypeError(
                f"{self!r} compares strings or sequences by substrings of one or more symbols, "
                f"got {thing!r}"
            )
        return Counter(thing[i : i + self.length] for i in range(len(thing) - self.length + 1))
