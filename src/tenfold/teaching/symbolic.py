"""Symbolic differentiation: expressions of a few variables, their derivatives as formulas.

An expression is made of symbols and numbers by arithmetic and by functions of NumPy, so that one
Python function can be evaluated, differentiated automatically and differentiated as a formula.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy import special

from tenfold.teaching.autodiff.gradient_check import numerical_gradient
from tenfold.teaching.autodiff.reverse_mode import grad

_SUM, _PRODUCT, _POWER = "+", "*", "^"
_PRECEDENCE = {_SUM: 1, _PRODUCT: 2, _POWER: 3}


class Expression(NDArrayOperatorsMixin):
    """A number, a symbol, or an operation on expressions.

    Make them with `symbols`, arithmetic and functions of NumPy: exp, expm1, log, log1p, sqrt,
    square, sin, cos, tanh, sinh, cosh, absolute, and SciPy's expit and log_expit.

    Attributes
    ----------
    operation : "number", "symbol", "+", "*", "^", or the name of a function
    parts : the number, the name of the symbol, or the expressions that it is of
    """

    __array_priority__ = 1000
    dtype = np.dtype(np.float64)

    def __init__(self, operation: str, parts: tuple) -> None:
        self.operation, self.parts = operation, parts

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc not in _UFUNCS:
            raise TypeError(
                f"{ufunc.__name__} of an expression is not known here: write it with "
                f"{', '.join(sorted(known.__name__ for known in _UFUNCS))}"
            )
        return _UFUNCS[ufunc](*map(as_expression, inputs))

    def __array_function__(self, function: Callable, types: Any, args: Any, options: Any) -> Any:
        raise TypeError(f"{function.__name__} of an expression is not known here")

    def __bool__(self) -> bool:
        raise TypeError("an expression is neither true nor false before it is evaluated")

    def __hash__(self) -> int:
        return hash((self.operation, self.parts))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return False
        return self.operation == other.operation and self.parts == other.parts

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return _format(self)

    def evaluate(self, **values: Any) -> Any:
        """The value for numbers or arrays in the place of the symbols.

        Parameters
        ----------
        **values : float or array
            Value of each symbol, by its name.
        """
        if self.operation == "number":
            return self.parts[0]
        if self.operation == "symbol":
            return np.asarray(values[self.parts[0]], np.float64)[()]
        parts = [part.evaluate(**values) for part in self.parts]
        if self.operation == _SUM:
            return sum(parts[1:], parts[0])
        if self.operation == _PRODUCT:
            return np.prod(np.broadcast_arrays(*parts), axis=0)
        if self.operation == _POWER:
            return np.float_power(*parts)
        return _FUNCTIONS[self.operation].value(*parts)


def symbols(names: str) -> tuple[Expression, ...]:
    """Symbols with these names, separated by spaces.

    Parameters
    ----------
    names : str
        Names, such as "x a b".

    Examples
    --------
    >>> x, a = symbols("x a")
    >>> a * x**2 + x - 1
    a x^2 + x - 1
    """
    return tuple(Expression("symbol", (name,)) for name in names.split())


def as_expression(value: Any) -> Expression:
    """An expression as it is, a number as an expression."""
    if isinstance(value, Expression):
        return value
    number: Any = value
    if not isinstance(value, Real | np.ndarray) or np.ndim(number) != 0:
        raise TypeError(f"expressions are made of symbols and numbers, not of {value!r}")
    return Expression("number", (float(number),))


def _is_number(expression: Expression, value: float | None = None) -> bool:
    number = expression.operation == "number"
    return number and (value is None or expression.parts[0] == value)


def _split(expression: Expression, operation: str) -> tuple[Expression, ...]:
    """The parts of a sum or product, or the expression alone."""
    return expression.parts if expression.operation == operation else (expression,)


def _add(*terms: Expression) -> Expression:
    """A sum: nested sums are joined, numbers added, equal terms collected."""
    constant, counts = 0.0, {}
    for term in (part for each in terms for part in _split(each, _SUM)):
        factor, rest = _coefficient(term)
        if rest is None:
            constant += factor
        else:
            counts[rest] = counts.get(rest, 0.0) + factor
    parts = [_multiply(as_expression(n), rest) for rest, n in counts.items() if n != 0]
    if constant != 0 or not parts:
        parts.append(as_expression(constant))
    return parts[0] if len(parts) == 1 else Expression(_SUM, tuple(parts))


def _coefficient(term: Expression) -> tuple[float, Expression | None]:
    """The number that multiplies a term, and the rest (None for a number)."""
    if _is_number(term):
        return term.parts[0], None
    if term.operation == _PRODUCT and _is_number(term.parts[0]):
        rest = term.parts[1:]
        return term.parts[0].parts[0], rest[0] if len(rest) == 1 else Expression(_PRODUCT, rest)
    return 1.0, term


def _multiply(*factors: Expression) -> Expression:
    """A product: nested products are joined, numbers multiplied, powers of one base collected."""
    constant, exponents = 1.0, {}
    for factor in (part for each in factors for part in _split(each, _PRODUCT)):
        if _is_number(factor):
            constant *= factor.parts[0]
            continue
        base, exponent = factor.parts if factor.operation == _POWER else (factor, as_expression(1))
        exponents[base] = _add(exponents[base], exponent) if base in exponents else exponent
    parts = [_power(base, exponent) for base, exponent in exponents.items()]
    parts = [part for part in parts if not _is_number(part, 1.0)]
    if constant == 0:
        return as_expression(0)
    if constant != 1 and len(parts) == 1 and parts[0].operation == _SUM:
        return _add(*(_multiply(as_expression(constant), term) for term in parts[0].parts))
    if constant != 1 or not parts:
        parts.insert(0, as_expression(constant))
    return parts[0] if len(parts) == 1 else Expression(_PRODUCT, tuple(parts))


def _power(base: Expression, exponent: Expression) -> Expression:
    """A power; those with exponent 0 or 1, and of numbers, are computed."""
    if _is_number(exponent, 0.0):
        return as_expression(1)
    if _is_number(exponent, 1.0):
        return base
    if _is_number(base) and _is_number(exponent):
        return as_expression(float(np.float_power(base.parts[0], exponent.parts[0])))
    whole = _is_number(exponent) and float(exponent.parts[0]).is_integer()
    if whole and base.operation == _POWER:
        return _power(base.parts[0], _multiply(base.parts[1], exponent))
    if whole and base.operation == _PRODUCT:
        return _multiply(*(_power(factor, exponent) for factor in base.parts))
    return Expression(_POWER, (base, exponent))


def _negate(a: Expression) -> Expression:
    return _multiply(as_expression(-1), a)


def _divide(a: Expression, b: Expression) -> Expression:
    return _multiply(a, _power(b, as_expression(-1)))


class _Function(NamedTuple):
    """A function of one number, and its derivative as an expression."""

    value: Callable[..., Any]
    derivative: Callable[[Expression], Any]


_FUNCTIONS: dict[str, _Function] = {
    "exp": _Function(np.exp, np.exp),
    "log": _Function(np.log, lambda x: 1 / x),
    "sin": _Function(np.sin, np.cos),
    "cos": _Function(np.cos, lambda x: -np.sin(x)),
    "tanh": _Function(np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "sinh": _Function(np.sinh, np.cosh),
    "cosh": _Function(np.cosh, np.sinh),
    "abs": _Function(np.abs, lambda x: _apply("sign", x)),
    "sign": _Function(np.sign, lambda _: 0),
}


def _apply(name: str, x: Expression) -> Expression:
    if _is_number(x):
        return as_expression(float(_FUNCTIONS[name].value(x.parts[0])))
    return Expression(name, (x,))


def _function(name: str) -> Callable[[Expression], Expression]:
    return lambda x: _apply(name, x)


_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: _add,
    np.subtract: lambda a, b: _add(a, _negate(b)),
    np.multiply: _multiply,
    np.divide: _divide,
    np.negative: _negate,
    np.positive: lambda a: a,
    np.power: _power,
    np.float_power: _power,
    np.square: lambda a: _power(a, as_expression(2)),
    np.sqrt: lambda a: _power(a, as_expression(0.5)),
    np.reciprocal: lambda a: _power(a, as_expression(-1)),
    np.expm1: lambda a: _add(_apply("exp", a), as_expression(-1)),
    np.log1p: lambda a: _apply("log", _add(as_expression(1), a)),
    np.absolute: _function("abs"),
    np.sign: _function("sign"),
    special.expit: lambda a: 1 / (1 + np.exp(-a)),
    special.log_expit: lambda a: -np.log(1 + np.exp(-a)),
    **{getattr(np, name): _function(name) for name in _FUNCTIONS if hasattr(np, name)},
    np.abs: _function("abs"),
}


def differentiate(expression: Any, symbol: Expression) -> Expression:
    r"""Derivative of an expression by the rules of calculus.

    Sums, products and powers, and the chain rule :math:`(f(g))' = f'(g) \, g'`.

    Parameters
    ----------
    expression : Expression or float
        What is differentiated.
    symbol : Expression
        One of `symbols`.

    See Also
    --------
    compare_derivatives : The same beside automatic differentiation.

    Examples
    --------
    The sigmoid model, one over one plus an exponential:

    >>> import numpy as np
    >>> x, p1, p2 = symbols("x p1 p2")
    >>> y = 1 / (1 + np.exp(-(p1 * x + p2)))
    >>> differentiate(y, p1)
    x exp(-p1 x - p2) / (exp(-p1 x - p2) + 1)^2
    """
    e = as_expression(expression)
    if e.operation in ("number", "symbol"):
        return as_expression(float(e == symbol))
    inner = [differentiate(part, symbol) for part in e.parts]
    if e.operation == _SUM:
        return _add(*inner)
    if e.operation == _PRODUCT:
        others = [_multiply(*e.parts[:i], *e.parts[i + 1 :]) for i in range(len(e.parts))]
        return _add(*(_multiply(d, rest) for d, rest in zip(inner, others, strict=True)))
    if e.operation == _POWER:
        return _differentiate_power(e, *inner)
    outer = as_expression(_FUNCTIONS[e.operation].derivative(e.parts[0]))
    return _multiply(outer, inner[0])


def _differentiate_power(e: Expression, d_base: Expression, d_exponent: Expression) -> Expression:
    """(a^b)' = b a^(b - 1) a' + a^b log(a) b'."""
    base, exponent = e.parts
    lower = _power(base, _add(exponent, as_expression(-1)))
    by_base = _multiply(exponent, lower, d_base)
    if _is_number(d_exponent, 0.0):
        return by_base
    return _add(by_base, _multiply(e, _apply("log", base), d_exponent))


def _format(e: Expression, outside: int = 0) -> str:
    """The expression as text, in brackets if an operation of higher precedence is outside."""
    if e.operation == "number":
        text = f"{e.parts[0]:g}"
        return f"({text})" if text.startswith("-") and outside > _PRECEDENCE[_SUM] else text
    if e.operation == "symbol":
        return e.parts[0]
    if e.operation == _SUM:
        text = _format_sum(e)
    elif e.operation == _PRODUCT or (e.operation == _POWER and _is_reciprocal(e)):
        text = _format_product(e)
        if outside == _PRECEDENCE[_PRODUCT] and " / " not in text and not text.startswith("-"):
            return text
    elif e.operation == _POWER:
        base, exponent = (_format(part, _PRECEDENCE[_POWER]) for part in e.parts)
        text = f"{base}^{exponent}"
    else:
        return f"{e.operation}({_format(e.parts[0])})"
    operation = _PRODUCT if e.operation == _POWER and _is_reciprocal(e) else e.operation
    return f"({text})" if outside >= _PRECEDENCE[operation] else text


def _format_sum(e: Expression) -> str:
    text = _format(e.parts[0], 0 if _coefficient(e.parts[0])[0] < 0 else _PRECEDENCE[_SUM])
    for part in e.parts[1:]:
        factor, rest = _coefficient(part)
        positive = part if factor >= 0 else _multiply(as_expression(-1), part)
        if rest is None:
            positive = as_expression(abs(factor))
        text += (" - " if factor < 0 else " + ") + _format(positive, _PRECEDENCE[_SUM])
    return text


def _is_reciprocal(factor: Expression) -> bool:
    return factor.operation == _POWER and _coefficient(factor.parts[1])[0] < 0


def _is_composite(factor: Expression) -> bool:
    """Whether a factor comes after symbols and their powers."""
    base = factor.parts[0] if factor.operation == _POWER else factor
    return base.operation != "symbol"


def _format_product(e: Expression) -> str:
    """Factors beside each other, over those with negative exponents."""
    factor, rest = _coefficient(e)
    parts = () if rest is None else _split(rest, _PRODUCT)
    above = sorted((part for part in parts if not _is_reciprocal(part)), key=_is_composite)
    below = [_power(p.parts[0], _negate(p.parts[1])) for p in parts if _is_reciprocal(p)]
    sign, size = ("-" if factor < 0 else ""), abs(factor)
    numerator = [f"{size:g}"] if size != 1 or not above else []
    numerator += [_format(part, _PRECEDENCE[_PRODUCT]) for part in above]
    text = sign + " ".join(numerator)
    if not below:
        return text
    denominator = " ".join(_format(part, _PRECEDENCE[_PRODUCT]) for part in below)
    return f"{text} / {denominator if len(below) == 1 else f'({denominator})'}"


class DerivativeComparison(NamedTuple):
    """Derivatives of a function at a point, in three ways.

    Attributes
    ----------
    names : names of the arguments
    formulas : derivative with respect to each, as an expression
    symbolic : (k,) values of the formulas
    automatic : (k,) values by automatic differentiation
    numerical : (k,) finite differences
    """

    names: list[str]
    formulas: list[Expression]
    symbolic: np.ndarray
    automatic: np.ndarray
    numerical: np.ndarray

    @property
    def largest_difference(self) -> float:
        """Largest difference between symbolic and automatic, relative to one or the value."""
        scale = np.maximum(np.abs(self.symbolic), 1.0)
        return float((np.abs(self.symbolic - self.automatic) / scale).max())


def compare_derivatives(f: Callable[..., Any], *at: float) -> DerivativeComparison:
    """Differentiate a function of numbers as a formula, automatically, and by differences.

    Parameters
    ----------
    f : callable
        Function of some numbers, made of arithmetic and functions of NumPy, or of
        `tenfold.math.links` such as sigmoid; its arguments are the symbols.
    *at : float
        Where the derivatives are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.math.links import sigmoid
    >>> found = compare_derivatives(lambda p1, p2: sigmoid(2.0 * p1 + p2), 0.3, -0.1)
    >>> found.formulas[0]
    2 exp(-2 p1 - p2) / (exp(-2 p1 - p2) + 1)^2
    >>> found.symbolic.round(6).tolist(), found.largest_difference < 1e-14
    ([0.470007, 0.235004], True)
    """
    names = list(signature(f).parameters)
    if len(names) != len(at):
        raise TypeError(f"f has the arguments {names}, but the point has {len(at)} numbers")
    variables = symbols(" ".join(names))
    y = as_expression(f(*variables))
    formulas = [differentiate(y, variable) for variable in variables]
    point = np.array(at, np.float64)
    values = dict(zip(names, point, strict=True))
    return DerivativeComparison(
        names,
        formulas,
        np.array([float(formula.evaluate(**values)) for formula in formulas]),
        np.asarray(grad(lambda p: f(*(p[i] for i in range(len(at)))))(point)),
        np.asarray(numerical_gradient(lambda p: f(*p), point)),
    )
