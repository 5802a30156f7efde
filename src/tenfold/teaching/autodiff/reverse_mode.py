"""Gradients, Jacobians and Hessians of functions written in NumPy, by reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.teaching.autodiff import (  # noqa: F401 - they register the rules
    _numpy_composites,
    _vjp_elementwise,
    _vjp_linalg,
    _vjp_shape,
)
from tenfold.teaching.autodiff.tracer import Tracer, backpropagate, is_traced, start_trace


def flatten_pytree(tree: Any) -> tuple[list, Callable[[list], Any]]:
    """The arrays of nested lists, tuples and dicts, and a function that rebuilds the structure."""
    if isinstance(tree, dict):
        return _flatten_children(
            list(tree.values()), lambda parts: dict(zip(tree, parts, strict=True))
        )
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return _flatten_children(list(tree), lambda parts: type(tree)(*parts))
    if isinstance(tree, list | tuple):
        return _flatten_children(list(tree), type(tree))
    return [tree], lambda parts: parts[0]


def _flatten_children(
    children: list, combine: Callable[[list], Any]
) -> tuple[list, Callable[[list], Any]]:
    flat = [flatten_pytree(child) for child in children]

    def rebuild(arrays: list) -> Any:
        remaining = iter(arrays)
        return combine([build([next(remaining) for _ in leaves]) for leaves, build in flat])

    return [array for leaves, _ in flat for array in leaves], rebuild


def as_differentiable(x: Any) -> Any:
    """An array of floats; integers become float64, tracers stay."""
    if isinstance(x, Tracer):
        return x
    x = np.asarray(x)
    if x.dtype.kind not in "iubf":
        raise TypeError(f"derivatives are taken with respect to real numbers, not {x.dtype}")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


class ReverseTrace:
    """One evaluation of a function, and vector-Jacobian products of it, any number of times."""

    def __init__(self, f: Callable[..., Any], args: tuple, wrt: Any, options: dict) -> None:
        is_tuple = isinstance(wrt, tuple)
        selected = tuple(args[i] for i in wrt) if is_tuple else args[wrt]
        values, self.rebuild = flatten_pytree(selected)
        self.inputs = start_trace([as_differentiable(value) for value in values])
        traced = self.rebuild(list(self.inputs))
        replaced = dict(zip(wrt, traced, strict=True)) if is_tuple else {wrt % len(args): traced}
        self.output: Any = f(*(replaced.get(i, arg) for i, arg in enumerate(args)), **options)
        if isinstance(self.output, list | tuple) and is_traced(self.output):
            self.output = np.stack(self.output)

    @property
    def value(self) -> Any:
        """The value of the function."""
        return self.output.value if self._depends_on_inputs() else self.output

    def _depends_on_inputs(self) -> bool:
        return isinstance(self.output, Tracer) and self.output.level == self.inputs[0].level

    def vjp(self, gradient: Any) -> list:
        """Gradients with respect to the inputs, from that with respect to the value."""
        if not self._depends_on_inputs():
            return [np.zeros_like(x) for x in self.inputs]
        gradients = backpropagate(self.output, gradient, self.inputs)
        return [_cast_like(g, x) for g, x in zip(gradients, self.inputs, strict=True)]


def _cast_like(gradient: Any, x: Tracer) -> Any:
    """A gradient in the dtype of its array, unless an outer trace differentiates it."""
    return gradient if isinstance(gradient, Tracer) else np.asarray(gradient, x.dtype)[()]


def value_and_grad(f: Callable[..., Any], wrt: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    r"""A function that returns the value of `f` and its gradient.

    .. math:: x \mapsto (f(x), \nabla f(x))

    `f` is ordinary NumPy: arithmetic, `exp`, `sum`, `@`, `reshape`, indexing, `where`,
    `linalg.solve`, ... It runs once, on arrays that record the operations; one backward pass then
    gives all derivatives. A function without a rule raises `NoRuleError`. The result is a function
    of the same arguments, and can be differentiated again.

    Parameters
    ----------
    f : callable
        Returns one number.
    wrt : int or tuple of int
        Position of the argument (or arguments) to differentiate with respect to: an array, a
        number, or a list, tuple or dict of them; the gradient has the same structure.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.teaching.autodiff import value_and_grad
    >>> def cost(w, X, y):
    ...     return np.mean(np.logaddexp(0, -y * (X @ w)))
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> value, gradient = value_and_grad(cost)(np.zeros(2), X, y)
    >>> round(float(value), 4), gradient.tolist()
    (0.6931, [-0.25, 0.25])

    With `tenfold.optim.minimize` it fits a model:

    >>> from tenfold import optim
    >>> ridge = value_and_grad(lambda w: cost(w, X, y) + 0.5 * w @ w)
    >>> optim.minimize(ridge, np.zeros(2)).x.round(3).tolist()
    [0.222, -0.222]
    """

    def both(*args: Any, **options: Any) -> tuple[Any, Any]:
        trace = ReverseTrace(f, args, wrt, options)
        if np.size(trace.value) != 1:
            raise ValueError(
                f"a gradient needs one number, but the function returned shape "
                f"{np.shape(trace.value)}: sum it, or use jacobian"
            )
        return trace.value, trace.rebuild(trace.vjp(np.ones_like(trace.value)))

    return both


def grad(f: Callable[..., Any], wrt: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The gradient of `f`, as `value_and_grad` without the value.

    Parameters
    ----------
    f : callable
        Returns one number.
    wrt : int or tuple of int
        Position of the argument (or arguments) to differentiate with respect to.

    Returns
    -------
    callable

    Examples
    --------
    >>> grad(lambda x: 2 * x**4)(-2.0).item(), grad(grad(lambda x: x**3))(2.0).item()
    (-64.0, 12.0)
    """
    return lambda *args, **options: value_and_grad(f, wrt)(*args, **options)[1]


def jacobian(f: Callable[..., Any], wrt: int = 0) -> Callable[..., Any]:
    """The Jacobian of `f`: an array of the shape of the result, then of the argument.

    `f` runs once; there is one backward pass for each entry of the result.

    Parameters
    ----------
    f : callable
        Returns an array (or a list of numbers).
    wrt : int
        Position of the argument to differentiate with respect to, an array.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: np.stack([x[0] * x[1], x[0] ** 2]))(np.array([3.0, 5.0])).tolist()
    [[5.0, 3.0], [6.0, 0.0]]
    """

    def evaluate(*args: Any, **options: Any) -> Any:
        trace = ReverseTrace(f, args, wrt, options)
        if len(trace.inputs) != 1:
            raise TypeError(
                "jacobian differentiates with respect to one array: concatenate several"
            )
        shape, input_shape = np.shape(trace.value), np.shape(trace.inputs[0])
        units = np.eye(np.size(trace.value), dtype=np.result_type(trace.value)).reshape(-1, *shape)
        return np.reshape(np.stack([trace.vjp(unit)[0] for unit in units]), (*shape, *input_shape))

    return evaluate


def hessian(f: Callable[..., Any], wrt: int = 0) -> Callable[..., Any]:
    """The second derivatives of `f`: an array of the shape of the argument, twice.

    The backward pass is traced once, and one backward pass through it gives each row.

    Parameters
    ----------
    f : callable
        Returns one number.
    wrt : int
        Position of the argument to differentiate with respect to, an array.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0])).tolist()
    [[10.0, 6.0], [6.0, 0.0]]
    """
    return jacobian(grad(f, wrt), wrt)


def hvp(f: Callable[..., Any], wrt: int = 0) -> Callable[..., Any]:
    """Hessian-vector products, without the Hessian.

    Parameters
    ----------
    f : callable
        Returns one number.
    wrt : int
        Position of the argument to differentiate with respect to, an array.

    Returns
    -------
    callable
        `g(v, *args)`: the Hessian of `f` at `args`, times `v`.

    Examples
    --------
    >>> import numpy as np
    >>> v, at = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    >>> hvp(lambda x: x[0] ** 2 * x[1])(v, at).tolist()
    [22.0, 6.0]
    """

    def along(v: Any, *args: Any, **options: Any) -> Any:
        return grad(lambda *a: np.sum(grad(f, wrt)(*a, **options) * v), wrt)(*args)

    return along
