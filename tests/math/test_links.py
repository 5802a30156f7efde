"""Links: the notes' numbers, derivatives, extreme arguments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from tenfold.math import links
from tests.math.vectors import CALM, RNG, vectors


def central(f, z, step=1e-6):
    return (f(z + step) - f(z - step)) / (2 * step)


# ------------------------------------------------------------------------------- P06: links

ELEMENTWISE = [
    links.sigmoid,
    links.sigmoid_derivative,
    links.log_sigmoid,
    links.normal_cdf,
    links.normal_pdf,
    links.log_normal_cdf,
    links.inverse_mills_ratio,
    links.inverse_mills_ratio_derivative,
]


SLOPES = [
    (links.sigmoid, links.sigmoid_derivative),
    (links.log_sigmoid, lambda z: links.sigmoid(-z)),  # 002 E23
    (lambda z: links.sigmoid(-z), lambda z: -links.sigmoid_derivative(z)),
    (links.normal_cdf, links.normal_pdf),
    (links.normal_pdf, lambda z: -z * links.normal_pdf(z)),  # 001 2-19
    (links.log_normal_cdf, links.inverse_mills_ratio),
    (links.inverse_mills_ratio, links.inverse_mills_ratio_derivative),
]


@pytest.mark.parametrize(("f", "slope"), SLOPES)
def test_slopes_are_derivatives(f, slope):
    z = np.linspace(-8, 8, 101)
    assert_allclose(central(f, z), slope(z), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (links.logit, links.logit_derivative),
        (links.normal_quantile, links.normal_quantile_derivative),
    ],
)
def test_slopes_of_inverse_links(f, slope):
    p = np.linspace(0.01, 0.99, 50)
    assert_allclose(central(f, p, 1e-7), slope(p), rtol=1e-5)
    assert np.isposinf(slope(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize("f", ELEMENTWISE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_links_are_finite_and_keep_their_type_at_any_size(f, dtype):
    z = np.array([-1000, -37.6, -30.001, -30, 0, 8.3, 37.6, 88, 1000], dtype)
    result = f(z)  # warnings are errors here
    assert result.dtype == dtype
    assert np.isfinite(result).all()
    assert not np.isnan(f(np.array([-np.inf, np.inf], dtype))).any()
    assert f([0, 1]).dtype == np.float64
    assert f(np.int8(1)) == f(1.0)


@pytest.mark.parametrize("f", ELEMENTWISE)
def test_float32_is_float64_rounded(f):
    z = np.linspace(-60, 60, 333).astype(np.float32)
    assert_allclose(f(z), f(z.astype(np.float64)), rtol=3e-5, atol=1e-38)


def test_sigmoid_as_the_notes_claim():
    z = np.linspace(-30, 30, 121)  # 000 C6, 001 2-03, 002 E23, 004 3-19
    assert links.sigmoid(0) == 0.5
    assert_allclose(links.sigmoid(-z), 1 - links.sigmoid(z), atol=1e-15)
    assert ((links.sigmoid(z) > 0) & (links.sigmoid(z) < 1)).all()
    assert_allclose(
        links.sigmoid_derivative(z), links.sigmoid(z) * (1 - links.sigmoid(z)), atol=1e-15
    )
    assert links.sigmoid(2) == pytest.approx(0.8808, abs=5e-5)
    assert links.log_sigmoid(0) == pytest.approx(-np.log(2))
    assert links.log_sigmoid(-1000) == -1000


def test_logit_undoes_the_sigmoid():
    z = np.linspace(-20, 5, 51)
    assert_allclose(links.logit(links.sigmoid(z)), z, atol=1e-12)
    assert_allclose(links.normal_quantile(links.normal_cdf(z)), z, atol=1e-9)


def test_probit_as_the_notes_claim():
    z = np.linspace(-6, 6, 25)  # 001 2-19
    assert links.normal_cdf(2) == pytest.approx(0.9772, abs=5e-5)
    assert_allclose(links.normal_cdf(-z), 1 - links.normal_cdf(z), atol=1e-15)
    assert_allclose(links.normal_cdf(z), stats.norm.cdf(z), rtol=1e-12)
    beyond = z[z > 0.1]  # the probit goes to 0 and 1 faster than the sigmoid
    assert (links.normal_cdf(beyond) > links.sigmoid(beyond)).all()
    phi, cdf = links.normal_pdf(z), links.normal_cdf(z)
    ratio_slope = phi * (-z * cdf - phi) / cdf**2  # 001 (119)
    assert_allclose(links.inverse_mills_ratio_derivative(z), ratio_slope, rtol=1e-8)
    other = lambda t: links.inverse_mills_ratio(-t)  # noqa: E731  phi(z) / Phi(-z), 001 (120)
    assert_allclose(central(other, z), phi * (-z * cdf[::-1] + phi) / cdf[::-1] ** 2, rtol=1e-6)


def continued_ratio(t):
    """phi / Phi at -t by Laplace's continued fraction t + 1/(t + 2/(t + 3/(t + ...)))."""
    tail = t
    for k in range(400, 0, -1):
        tail = t + k / tail
    return tail


@pytest.mark.parametrize("t", [5.0, 12.0, 29.9, 30.1, 200.0, 1000.0, 1e6])
def test_tails_of_the_normal(t):
    r = np.longdouble(continued_ratio(np.longdouble(t)))
    assert links.inverse_mills_ratio(-t) == pytest.approx(float(r), rel=1e-14)
    log_tail = -(np.longdouble(t) ** 2) / 2 - np.log(np.longdouble(2 * np.pi)) / 2 - np.log(r)
    assert links.log_normal_cdf(-t) == pytest.approx(float(log_tail), rel=1e-13)
    assert -1 <= links.inverse_mills_ratio_derivative(-t) < 0
    if t < 300:  # where extended precision survives the cancellation
        assert links.inverse_mills_ratio_derivative(-t) == pytest.approx(
            float(-r * (r - t)), rel=1e-11
        )


def test_tail_ratio_slope_far_out():
    t = np.array([1e2, 1e3, 1e5])
    assert_allclose(
        links.inverse_mills_ratio_derivative(-t) + 1, t**-2 - 6 * t**-4, rtol=1e-3, atol=1e-15
    )


SOFTMAX = [  # 002 E26, 003 A078, 004 3-22
    ((2, 1, -3), 1, (0.72748, 0.26762, 0.00490), 5e-6),
    ((4, 1, 7), 1, (0.047, 0.002, 0.950), 5e-4),
    ((1, 2, 3), 0.1, (2e-9, 4.5e-5, 0.99995), 5e-6),
    ((1, 2, 3), 1, (0.0900, 0.2447, 0.6652), 5e-5),
    ((1, 2, 3), 10, (0.3006, 0.3322, 0.3672), 5e-5),
]


@pytest.mark.parametrize(("scores", "temperature", "expected", "within"), SOFTMAX)
def test_worked_softmax_numbers(scores, temperature, expected, within):
    assert_allclose(links.softmax(scores, temperature), expected, atol=within)


@CALM
@given(vectors(4), st.floats(-1e4, 1e4), st.floats(0.05, 20))
def test_softmax_as_the_notes_claim(z, shift, temperature):
    p = links.softmax(z, temperature)
    assert p.sum() == pytest.approx(1)
    assert (np.diff(p[np.argsort(z)]) >= 0).all()  # keeps the order
    assert_allclose(links.softmax(z + shift, temperature), p, atol=1e-9)
    assert_allclose(np.exp(links.log_softmax(z, temperature)), p, atol=1e-12)
    assert_allclose(links.softmax(z[:2])[0], links.sigmoid(z[0] - z[1]), atol=1e-12)  # K = 2
    assert links.log_sum_exp(z) == pytest.approx(special.logsumexp(z), rel=1e-12, abs=1e-12)


def test_softmax_at_the_ends():
    z = np.array([[-1000.0, 0, 1000], [1000, 1000, -1000]])
    assert_allclose(links.softmax(z), [[0, 0, 1], [0.5, 0.5, 0]], atol=1e-15)
    assert_allclose(links.log_softmax(z)[0], [-2000, -1000, 0])
    assert_allclose(links.softmax([1, 2, 3], 1e9), np.full(3, 1 / 3), atol=1e-8)
    for dtype in (np.float32, np.float64):
        cold = links.softmax(np.array([1, 2, 3], dtype), 1e-300)
        assert_array_equal(cold, [0, 0, 1])
        assert cold.dtype == dtype
    assert_allclose(links.log_sum_exp(z), [1000, 1000 + np.log(2)])
    edges = np.array([[-np.inf, -np.inf], [np.inf, 0.0]])
    assert_array_equal(links.log_sum_exp(edges), [-np.inf, np.inf])
    with pytest.raises(ValueError, match="temperature"):
        links.softmax([1, 2], 0.0)


@pytest.mark.parametrize("temperature", [0.5, 1, 3])
def test_softmax_jacobian(temperature):
    Z = RNG.normal(size=(5, 4))  # 001 3-07
    J = links.softmax_jacobian(Z, temperature)
    steps = 1e-6 * np.eye(4)
    numeric = [
        (links.softmax(Z + s, temperature) - links.softmax(Z - s, temperature)) / 2e-6
        for s in steps
    ]
    assert_allclose(J, np.stack(numeric, axis=-1), atol=1e-8)
    assert_allclose(J.sum(axis=-1), 0, atol=1e-15)  # equal shifts change nothing
    slope = [(links.log_sum_exp(Z + s) - links.log_sum_exp(Z - s)) / 2e-6 for s in steps]
    assert_allclose(np.stack(slope, axis=-1), links.softmax(Z), atol=1e-8)
    assert links.softmax_jacobian(Z.astype(np.float32), temperature).dtype == np.float32
