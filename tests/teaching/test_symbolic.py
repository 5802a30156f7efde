"""Derivatives as formulas, against automatic ones, differences and the form of the notes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tenfold.math import links
from tenfold.teaching import autodiff, compare_derivatives, differentiate, symbols

x, y, p1, p2 = symbols("x y p1 p2")


def test_the_sigmoid_model_of_the_note():
    """[003, lect. 3] y = 1 / (1 + exp(-(p1 x + p2))): the derivative in p1, as the note has it."""
    model = 1 / (1 + np.exp(-(p1 * x + p2)))
    slope = differentiate(model, p1)
    assert str(slope) == "x exp(-p1 x - p2) / (exp(-p1 x - p2) + 1)^2"
    for values in np.random.default_rng(0).normal(size=(20, 3)):
        at = dict(zip(("x", "p1", "p2"), values, strict=True))
        u = np.exp(-(at["p1"] * at["x"] + at["p2"]))
        assert_allclose(slope.evaluate(**at), -1 / (1 + u) ** 2 * u * -at["x"])


@pytest.mark.parametrize("name", ["sigmoid", "log_sigmoid", "sigmoid_derivative"])
def test_links_are_differentiated_as_formulas(name):
    f = getattr(links, name)
    found = compare_derivatives(lambda a, b: f(3.0 * a - b) * a, 0.4, -0.7)
    assert found.names == ["a", "b"]
    assert found.largest_difference < 1e-13
    assert_allclose(found.symbolic, found.numerical, rtol=1e-6)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (x + x, "2 x"),
        (x * x / x, "x"),
        (x - x, "0"),
        (2 * (x + 1) - 2, "2 x"),
        (-(x + 1), "-x - 1"),
        (x / y, "x / y"),
        (1 / (x * y), "1 / (x y)"),
        ((x + y) * x, "x (x + y)"),
        (x ** (-2) * 3, "3 / x^2"),
        (np.sqrt(x) ** 2, "x"),
        (np.exp(-x) ** 2, "exp(-x)^2"),
        (np.float64(2) * x, "2 x"),
        (x * (-1.5), "-1.5 x"),
        (2.0**x, "2^x"),
        ((x * y) ** y, "(x y)^y"),
        (1 - x, "-x + 1"),
        (np.log1p(x) + np.expm1(x), "log(x + 1) + exp(x) - 1"),
    ],
)
def test_how_expressions_are_written(expression, text):
    assert str(expression) == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (x**3, "3 x^2"),
        (x**y, "y x^(y - 1)"),
        (np.log(x), "1 / x"),
        (np.sin(2 * x), "2 cos(2 x)"),
        (np.tanh(x), "-tanh(x)^2 + 1"),
        (y, "0"),
        (7, "0"),
        (np.exp(x) * x, "exp(x) + x exp(x)"),
    ],
)
def test_rules(expression, text):
    found = differentiate(expression, x)
    values = {"x": 0.8, "y": 1.7}
    step = 1e-6
    if not isinstance(expression, int):
        up, down = (expression.evaluate(**{**values, "x": 0.8 + s}) for s in (step, -step))
        assert_allclose(found.evaluate(**values), (up - down) / (2 * step), rtol=1e-6, atol=1e-9)
    assert str(found) in {text, "x exp(x) + exp(x)"}


FUNCTIONS = [np.exp, np.sin, np.cos, np.tanh, np.sinh, np.cosh, np.square, links.sigmoid]


def trees():
    """Functions of two numbers: random compositions."""
    leaves = st.sampled_from([lambda a, b: a + 0 * b, lambda a, b: b + 0 * a, lambda a, b: a - b])

    def grow(inner):
        pair = st.tuples(inner, inner)
        return st.one_of(
            st.tuples(st.sampled_from(FUNCTIONS), inner).map(
                lambda t: lambda a, b: t[0](t[1](a, b) * 0.5)
            ),
            pair.map(lambda t: lambda a, b: t[0](a, b) + t[1](a, b)),
            pair.map(lambda t: lambda a, b: t[0](a, b) * t[1](a, b)),
            pair.map(lambda t: lambda a, b: t[0](a, b) / (1.5 + t[1](a, b) ** 2)),
        )

    return st.recursive(leaves, grow, max_leaves=6)


@settings(max_examples=60, deadline=None)
@given(trees(), st.floats(-1, 1), st.floats(-1, 1))
def test_formulas_agree_with_automatic_differentiation(f, a, b):
    found = compare_derivatives(lambda a, b: f(a, b) + 0 * a + 0 * b, a, b)
    assert_allclose(found.symbolic, found.automatic, rtol=1e-9, atol=1e-9)


def test_arrays_in_the_place_of_symbols():
    rows = np.linspace(-2, 2, 5)
    assert_allclose((x**2 + y).evaluate(x=rows, y=1.0), rows**2 + 1)
    weights = np.array(symbols("a b"), dtype=object)
    assert str(np.array([2.0, 3.0]) @ weights) == "2 a + 3 b"


def test_what_cannot_be_done_says_so():
    with pytest.raises(TypeError, match="write it with"):
        np.floor(x)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x + y)
    with pytest.raises(TypeError, match="arguments"):
        compare_derivatives(lambda a, b: a + b, 1.0)
    with pytest.raises(TypeError, match="symbols and numbers"):
        differentiate("x", x)


RNG = np.random.default_rng(1)
M = RNG.normal(size=(3, 4))
V = RNG.normal(size=5)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.pad(a, 2) ** 2,
        lambda a: np.pad(a, ((1, 0), (2, 3)), constant_values=1.5) ** 2,
        lambda a: np.pad(a, 1, mode="reflect") ** 2,
        lambda a: np.pad(a, (2, 1), mode="edge") ** 2,
        lambda a: np.tile(a, 3) ** 2,
        lambda a: np.tile(a, (2, 1, 2)) ** 2,
        lambda a: np.convolve(a[0], a[1] ** 2),
        lambda a: np.convolve(a[0], V, "same") ** 2,
        lambda a: np.convolve(a[0], a[1][:2], "valid"),
        lambda a: np.interp(a[0], np.array([-1.0, 0.05, 2.0]), a[1][:3] ** 2),
        lambda a: np.interp(a[0], [-1.0, 0.05, 2.0], (1.0, 3.0, 2.0)) ** 2,
        lambda a: np.nansum(np.where(M > 0, a, np.nan) ** 2, axis=0),
        lambda a: np.nanmean(np.where(M > -1, a, np.nan) ** 2, axis=1),
        lambda a: np.linalg.svd(a, compute_uv=False),
        np.linalg.svdvals,
        lambda a: np.linalg.svd(a, full_matrices=False)[0],
        lambda a: np.linalg.svd(a.T, full_matrices=False)[2],
    ],
)
def test_padding_tiles_convolutions_and_singular_values_have_derivatives(f):
    def number(a):
        result = f(a)
        return np.sum(result * np.cos(np.arange(float(np.size(result))).reshape(np.shape(result))))

    values = [autodiff.value_and_grad(number)(M)[0], number(M)]
    assert_allclose(*values, rtol=1e-9)
    check = autodiff.check_gradient(number, M)
    assert check, check
