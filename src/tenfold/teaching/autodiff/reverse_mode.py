"""Gradients, Jacobians and Hessians of functions written in NumPy, by reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.teaching.autodiff.tracer import Tracer, backpropagate, is_traced, start_trace


def flatten_pytree(tree: Any) -> tuple[list, Callable[[list], Any]]:
    """The arrays of a structure in order, and the function that puts others in their place."""
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
    parts: list, together: Callable[[list], Any]
) -> tuple[list, Callable[[list], Any]]:
    inner = [flatten_pytree(part) for part in parts]

    def rebuild(arrays: list) -> Any:
        rest = iter(arrays)
        return together([again([next(rest) for _ in own]) for own, again in inner])

    return [array for own, _ in inner for array in own], rebuild


def as_differentiable(x: Any) -> Any:
    """Numbers that have slopes: whole ones become floats; traced ones stay."""
    from tenfold.teaching.autodiff.tracer import Tracer

    if isinstance(x, Tracer):
        return x
    x = np.asarray(x)
    if x.dtype.kind not in "iubf":
        raise TypeError(f"derivatives are taken by real numbers, not by {x.dtype}")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


class ReverseTrace:
    """One evaluation of a function, and the way back from it, as often as one likes."""

    def __init__(self, f: Callable[..., Any], args: tuple, wrt: Any, options: dict) -> None:
        several = isinstance(wrt, tuple)
        values, self.rebuild = flatten_pytree(tuple(args[i] for i in wrt) if several else args[wrt])
        self.starts = start_trace([as_differentiable(value) for value in values])
        traced = self.rebuild(list(self.starts))
        given = dict(zip(wrt, traced, strict=True)) if several else {wrt % len(args): traced}
        self.end: Any = f(*(given.get(i, arg) for i, arg in enumerate(args)), **options)
        if isinstance(self.end, list | tuple) and is_traced(self.end):
            self.end = np.stack(self.end)

    @property
    def value(self) -> Any:
        """What the function gave."""
        return self.end.value if self._mine() else self.end

    def _mine(self) -> bool:
        return isinstance(self.end, Tracer) and self.end.level == self.starts[0].level

    def back(self, slope: Any) -> list:
        """Slopes by the arrays, from the slope by the value."""
        if not self._mine():  # the value does not depend on them
            return [np.zeros_like(each) for each in self.starts]
        found = backpropagate(self.end, slope, self.starts)
        return [_cast_like(each, a) for each, a in zip(found, self.starts, strict=True)]


def _cast_like(slope: Any, x: Tracer) -> Any:
    """A slope that no outer trace needs, with the precision of its array; a number by a number."""
    return slope if isinstance(slope, Tracer) else np.asarray(slope, x.dtype)[()]


def value_and_grad(f: Callable[..., Any], wrt: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    r"""The function that gives the value of `f` and its gradient.

    .. math:: x \mapsto (f(x), \nabla f(x))

    `f` is ordinary NumPy: arithmetic, `exp`, `sum`, `@`, `reshape`, indexing, `where`,
    `linalg.solve`, ... It is run once on arrays that remember how they were made; then one way back
    gives all slopes. A function without a rule raises an error that says so. The result is a
    function of the same arguments, and can be differentiated again. [000, 1.2; 003, 1; 004, 4.4]

    Parameters
    ----------
    f : callable
        Gives one number.
    wrt : int or tuple of int
        Number of the argument (or arguments) to differentiate by. It may be an array, a number, or
        a list, tuple or dict of them; the gradient looks the same.

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
    >>> value, slope = value_and_grad(cost)(np.zeros(2), X, y)
    >>> round(float(value), 4), slope.tolist()
    (0.6931, [-0.25, 0.25])

    With `tenfold.optim.minimize` it fits:

    >>> from tenfold import optim
    >>> ridge = value_and_grad(lambda w: cost(w, X, y) + 0.5 * w @ w)
    >>> solve.minimise(ridge, np.zeros(2)).x.round(3).tolist()
    [0.222, -0.222]
    """

    def both(*args: Any, **options: Any) -> tuple[Any, Any]:
        walk = ReverseTrace(f, args, wrt, options)
        if np.size(walk.value) != 1:
            raise ValueError(
                f"a gradient needs one number, and the function gave shape {np.shape(walk.value)}: "
                "sum it, or take jacobian"
            )
        return walk.value, walk.rebuild(walk.back(np.ones_like(walk.value)))

    return both


def grad(f: Callable[..., Any], wrt: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The gradient of `f`, as `value_and_grad` without the value.

    Parameters
    ----------
    f : callable
        Gives one number.
    wrt : int or tuple of int
        Number of the argument (or arguments) to differentiate by.

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
    """All slopes of all results: an array of the shape of the result, then of the argument.

    `f` runs once; there is one way back for each number of the result.

    Parameters
    ----------
    f : callable
        Gives an array (or a list of numbers).
    wrt : int
        Number of the argument to differentiate by, an array.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: np.stack([x[0] * x[1], x[0] ** 2]))(np.array([3.0, 5.0])).tolist()
    [[5.0, 3.0], [6.0, 0.0]]
    """

    def slope_of_each(*args: Any, **options: Any) -> Any:
        walk = ReverseTrace(f, args, wrt, options)
        if len(walk.starts) != 1:
            raise TypeError("jacobian takes the slopes by one array: join several into one")
        shape, own = np.shape(walk.value), np.shape(walk.starts[0])
        units = np.eye(np.size(walk.value), dtype=np.result_type(walk.value)).reshape(-1, *shape)
        return np.reshape(np.stack([walk.back(unit)[0] for unit in units]), (*shape, *own))

    return slope_of_each


def hessian(f: Callable[..., Any], wrt: int = 0) -> Callable[..., Any]:
    """The second derivatives of `f`: an array of the shape of the argument, twice.

    The way back is traced once, and one way back through it gives each row.

    Parameters
    ----------
    f : callable
        Gives one number.
    wrt : int
        Number of the argument to differentiate by, an array.

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
    """The product of the Hessian with a vector, without the Hessian.

    Parameters
    ----------
    f : callable
        Gives one number.
    wrt : int
        Number of the argument to differentiate by, an array.

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
