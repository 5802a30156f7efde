"""Links, geometry, linear algebra and labels: the notes' numbers and the properties they claim."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, sparse, special, stats

from tenfold.math import labels, links
from tenfold.math.parameters import (
    add_intercept_column,
    flatten_parameters,
    split_intercept,
    unflatten_parameters,
)
from tenfold.teaching import linear_algebra
from tenfold.teaching.geometry import (
    Hyperplane,
    angle,
    dot,
    norm,
    scalar_projection,
    subspace_projection,
    unit_vector,
    vector_projection,
)
from tenfold.teaching.linear_algebra import (
    cyclic_traces,
    geometric_series,
    gram_schmidt,
    penrose_conditions,
    pseudo_inverse,
    spectral_theorem,
)

CALM = settings(max_examples=50, deadline=None)
RNG = np.random.default_rng(0)
SIZES = st.integers(1, 6)
ENTRIES = st.floats(-100, 100, allow_subnormal=False)


def vectors(n=3):
    return arrays(np.float64, n, elements=ENTRIES)


def matrices(rows=SIZES, columns=SIZES):
    entries = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])  # often of less than full rank
    return st.tuples(rows, columns).flatmap(
        lambda shape: arrays(np.float64, shape, elements=entries)
    )


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


# ---------------------------------------------------------------------------- P01: geometry


def test_worked_numbers_of_vectors():
    a, b = [4, 1], [2, 3]  # 003 A002, A004
    assert dot(a, b) == 11
    assert np.degrees(angle(a, b)) == pytest.approx(42.2737, abs=5e-5)
    assert scalar_projection(a, b) == pytest.approx(11 / np.sqrt(13))
    assert_allclose(vector_projection(a, b), [22 / 13, 33 / 13])


@CALM
@given(vectors(), vectors(), st.floats(-50, 50))
def test_norms_angles_projections(a, b, c):
    for order in (1, 2, 3, 5, np.inf):  # 003 A001 with |x_i|: E1
        assert norm(a, order) == pytest.approx(np.linalg.norm(a, order), rel=1e-10)
        assert norm(c * a, order) == pytest.approx(abs(c) * norm(a, order), rel=1e-10, abs=1e-290)
        assert norm(a + b, order) <= norm(a, order) + norm(b, order) + 1e-9
    assert norm(a) == norm(a, 2)
    if norm(a) > 1e-6 and norm(b) > 1e-6:
        assert dot(a, b) == pytest.approx(norm(a) * norm(b) * np.cos(angle(a, b)), abs=1e-9)
        part = vector_projection(a, b)
        assert_allclose(dot(a - part, b), 0, atol=1e-9)
        assert_allclose(np.cross(part, b), 0, atol=1e-8)
        assert_allclose(vector_projection(a, -3 * b), part, atol=1e-9)
        assert norm(part) == pytest.approx(abs(scalar_projection(a, b)), abs=1e-9)


def test_norms_and_angles_at_the_ends():
    assert norm([3e200, 4e200]) == pytest.approx(5e200)
    assert norm([3e-200, 4e-200]) == pytest.approx(5e-200)
    assert norm([0.0, 0.0], 3) == 0
    assert np.isinf(norm([np.inf, 1]))
    assert angle([1, 0], [1, 1e-9]) == pytest.approx(1e-9)  # acos would say 0
    assert angle([1, 0], [-1, 0]) == pytest.approx(np.pi)
    assert angle([1, 0], [0, 5]) == pytest.approx(np.pi / 2)
    assert norm(np.float32([3, 4])).dtype == np.float32
    with pytest.raises(ValueError, match="l >= 1"):
        norm([1, 2], 0.5)
    with pytest.raises(ValueError, match="direction"):
        unit_vector([0, 0])


@CALM
@given(matrices(rows=st.just(5)), vectors(5))
def test_projection_on_a_subspace(W, x):
    p = subspace_projection(x, W)  # 001 4-14, 004 2-15
    assert_allclose(W.T @ (x - p), 0, atol=1e-8)
    assert_allclose(subspace_projection(p, W), p, atol=1e-9)
    assert_allclose(p, W @ np.linalg.pinv(W) @ x, atol=1e-8)
    Q = gram_schmidt(W).Q
    assert_allclose(p, Q @ (Q.T @ x), atol=1e-9)
    assert_allclose(subspace_projection(np.stack([x, 2 * x]), W)[1], 2 * p, atol=1e-9)


def test_worked_numbers_of_planes():
    plane = Hyperplane.from_point([3, 1], normal=[2, 2])  # 003 A005-A007
    assert plane.contains([1, 3])
    assert not plane.contains([1, 4])
    assert plane.value([1, 4]) == 2
    assert_array_equal(plane.coefficients, [2, 2, -8])
    assert_allclose(plane.normalize().coefficients, np.array([1, 1, -4]) / np.sqrt(2))
    other = Hyperplane([1, 1], -4)
    assert other.same_as(plane)
    assert other.signed_distance([6, 2]) == pytest.approx(2 * np.sqrt(2))
    assert_allclose(other.project([6, 2]), [4, 0], atol=1e-12)


@CALM
@given(st.integers(1, 5).flatmap(lambda d: st.tuples(vectors(d), vectors(d), vectors(d))))
def test_planes_change_form(parts):
    normal, point, x = parts
    if norm(normal) < 1e-3:
        return
    plane = Hyperplane.from_point(point, normal)
    d = len(normal)
    assert plane.contains(point, 1e-7)
    assert plane.contains(plane.points, 1e-7).all()
    assert_allclose(plane.directions @ normal, np.zeros(d - 1), atol=1e-10)  # w is orthogonal
    forms = [
        Hyperplane.from_coefficients(-3 * plane.coefficients),
        Hyperplane.from_point(plane.point, 2 * normal),
        Hyperplane.from_directions(plane.point, 3 * plane.directions),
        Hyperplane.from_points(plane.points),
    ]
    for form in forms:
        assert form.same_as(plane, 1e-6)
    scaled = plane.normalize()  # 003 E2: the distance of the origin up to sign
    assert abs(scaled.offset) == pytest.approx(norm(plane.point), abs=1e-9)
    foot = plane.project(x)  # 003 A007, 004 5-02
    assert plane.contains(foot, 1e-7)
    assert_allclose(plane.project(foot), foot, atol=1e-7)
    assert norm(x - foot) == pytest.approx(abs(plane.signed_distance(x)), abs=1e-8)
    assert_allclose(foot + plane.signed_distance(x) * unit_vector(normal), x, atol=1e-8)
    bigger, turned = Hyperplane(5 * normal, 5 * plane.offset), Hyperplane(-normal, -plane.offset)
    assert_allclose(bigger.signed_distance(x), plane.signed_distance(x), atol=1e-9)
    assert_allclose(turned.signed_distance(x), -plane.signed_distance(x), atol=1e-12)


def test_planes_refuse_what_is_none():
    with pytest.raises(ValueError, match="normal"):
        Hyperplane([0, 0], 1)
    with pytest.raises(ValueError, match="2 independent directions, got 1"):
        Hyperplane.from_points([[0, 0, 0], [1, 1, 1], [2, 2, 2]])
    assert not Hyperplane([1, 0], 1).same_as(Hyperplane([1, 0], 2))


# ----------------------------------------------------------------------------- P13: algebra


@CALM
@given(matrices())
def test_pseudo_inverse(A):
    B = pseudo_inverse(A)  # 001 1-03, 002 E44, 004 2-13
    assert_allclose(B, np.linalg.pinv(A), atol=1e-9)
    assert penrose_conditions(A, B).are_satisfied()
    if A.any():
        assert not penrose_conditions(A, B + 0.01).are_satisfied()  # it is the only one
    if np.linalg.matrix_rank(A) == A.shape[1]:
        assert_allclose(B @ A, np.eye(A.shape[1]), atol=1e-9)
        assert_allclose(B, np.linalg.solve(A.T @ A, A.T), atol=1e-7)
        if A.shape[0] == A.shape[1]:
            assert_allclose(B, np.linalg.inv(A), atol=1e-9)


def test_each_penrose_condition_is_told_apart():
    A = np.array([[1.0, 0], [0, 0]])
    assert penrose_conditions(A, np.array([[2.0, 0], [0, 0]])).aba == 1
    assert penrose_conditions(A, np.array([[1.0, 0], [0, 1]])).bab == 1
    assert penrose_conditions(A, np.array([[1.0, 1], [0, 0]]))[:3] == (0, 0, 1)
    assert penrose_conditions(A, np.array([[1.0, 0], [1, 0]])) == (0, 0, 0, 1)


def test_pseudo_inverse_is_the_shortest_solution():
    A, b = RNG.normal(size=(3, 6)), RNG.normal(size=3)
    x = pseudo_inverse(A) @ b
    assert_allclose(A @ x, b)
    other = x + 0.1 * np.linalg.svd(A)[2][-1]
    assert_allclose(A @ other, b)
    assert norm(other) > norm(x)
    assert pseudo_inverse(A.astype(np.float32)).dtype == np.float32


@CALM
@given(matrices())
def test_gram_schmidt(A):
    Q, R, kept = gram_schmidt(A)
    assert len(kept) == np.linalg.matrix_rank(A) == Q.shape[1]
    assert_allclose(Q.T @ Q, np.eye(len(kept)), atol=1e-12)
    assert_allclose(Q @ R, A, atol=1e-10)
    for r in range(1, len(kept) + 1):  # each beginning spans the same
        head = A[:, kept[:r]]
        assert_allclose(Q[:, :r] @ (Q[:, :r].T @ head), head, atol=1e-9)
    assert_allclose(np.tril(R[:, kept], -1), 0, atol=1e-12)
    assert (R[:, kept].diagonal() > 0).all()


def test_gram_schmidt_of_nearly_parallel_columns():
    A = np.vstack([np.ones(4), 1e-7 * np.eye(4)])  # plain Gram-Schmidt fails on Laeuchli's matrix
    Q = gram_schmidt(A).Q
    assert_allclose(Q.T @ Q, np.eye(4), atol=1e-14)
    tiny = gram_schmidt(A * [1, 1e-200, 1e200, 1]).Q
    assert_allclose(np.abs(tiny), np.abs(Q), atol=1e-6)
    assert gram_schmidt(A.astype(np.float32)).Q.dtype == np.float32


def test_gram_schmidt_gives_no_eigenvectors():
    X = RNG.normal(size=(5, 40)) * np.array([5, 3, 1, 0.5, 0.1])[:, None]
    S, W = X @ X.T / 40, None  # 001 4-22, ERR-28
    W = gram_schmidt(spectral_theorem(S).vectors[:, :2] @ np.array([[1.0, 1], [2, -1]])).Q
    skew = S @ W[:, 0] - (W[:, 0] @ S @ W[:, 0]) * W[:, 0]
    assert norm(skew) > 0.1
    turned = W @ spectral_theorem(W.T @ S @ W).vectors
    assert_allclose(S @ turned, turned * (turned * (S @ turned)).sum(axis=0), atol=1e-10)


@CALM
@given(matrices(rows=st.integers(1, 7), columns=st.just(3)), st.sampled_from([1e-200, 1, 1e200]))
def test_spectral_theorem(B, scale):
    A = B @ B.T - np.eye(len(B)) * 0.5  # often with repeated eigenvalues
    values, V = spectral_theorem(A * scale)
    assert_allclose(V.T @ V, np.eye(len(A)), atol=1e-12)
    assert_allclose(V @ np.diag(values / scale) @ V.T, A, atol=1e-11)
    assert_allclose(values / scale, np.linalg.eigvalsh(A)[::-1], atol=1e-11)


def test_spectral_theorem_on_larger_and_other_matrices():
    A = RNG.normal(size=(60, 60))
    A = A + A.T
    values, V = spectral_theorem(A)
    assert_allclose(V @ np.diag(values) @ V.T, A, atol=1e-11)
    assert_array_equal(spectral_theorem(np.zeros((3, 3))).values, [0, 0, 0])
    with pytest.raises(ValueError, match="symmetric"):
        spectral_theorem([[0, 1], [2, 0]])


def test_trace_is_cyclic():
    A, B, C = RNG.normal(size=(2, 5)), RNG.normal(size=(5, 3)), RNG.normal(size=(3, 2))
    traces = cyclic_traces(A, B, C)  # 001 4-18
    assert_allclose(traces, traces[0])
    assert traces[0] == pytest.approx(np.trace(A @ B @ C))
    D, E, F = RNG.normal(size=(3, 4, 4))
    assert abs(np.trace(D @ F @ E) - np.trace(D @ E @ F)) > 0.1  # other orders differ


def test_worked_geometric_series():
    assert 2 * geometric_series(0.5, 1, 5) == 1.9375  # 003 A012
    assert pytest.approx(3 * geometric_series(0.9)) == 3 / (1 - 0.9)  # R_max / (1 - gamma)


@CALM
@given(st.floats(-1.5, 1.5), st.integers(0, 5), st.integers(0, 40))
def test_geometric_series_is_the_sum(r, m, more):
    n = m + more
    terms = np.array([np.longdouble(r) ** k for k in range(m, n + 1)])
    scale = max(float(np.abs(terms).sum()), 1e-300)
    assert geometric_series(r, m, n) == pytest.approx(float(terms.sum()), abs=1e-13 * scale)
    if abs(r) < 0.999:
        assert geometric_series(r, m) == pytest.approx(r**m / (1 - r), abs=1e-12)


def test_geometric_series_at_the_ends():
    assert geometric_series(1.0, 2, 11) == 10
    near = 1 - 1e-12  # the printed quotient has lost most digits here
    exact = 1000 - 499500 * (1 - near)
    assert geometric_series(near, 0, 999) == pytest.approx(exact, rel=1e-15)
    assert geometric_series(0.5, 3, 2) == 0
    for r in (1.0, -1.0, 2.0):
        with pytest.raises(ValueError, match="no sum"):
            geometric_series(r)
    with pytest.raises(ValueError, match="upwards"):
        geometric_series(0.5, 5, 2)


def test_geometric_series_of_a_matrix():
    P = np.array([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0, 1.0]])  # 1 - P is singular
    direct = sum(np.linalg.matrix_power(P, k) for k in range(2, 8))
    assert_allclose(geometric_series(P, 2, 7), direct)
    assert_allclose(geometric_series(0.9 * P), np.linalg.inv(np.eye(3) - 0.9 * P))
    assert_allclose(geometric_series(0.9 * P), geometric_series(0.9 * P, 0, 500), rtol=1e-12)
    shear = np.array([[0.0, 100.0], [0.0, 0.0]])  # a large matrix, but its eigenvalues are 0
    assert_allclose(geometric_series(shear), np.eye(2) + shear)
    with pytest.raises(ValueError, match="no sum"):
        geometric_series(P)


def test_apart_is_relative():
    assert linear_algebra._relative_difference(np.array([2e9]), np.array([1e9])) == 1


# ------------------------------------------------------------------------------ P10: labels

NAMES = ["fish", "cat", "dog"]


@CALM
@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=20), st.permutations(NAMES))
def test_labels_come_back(y, classes):
    Y = labels.one_hot(y, classes)  # 000 C29, 004 3-11
    assert_array_equal(Y.sum(axis=1), 1)
    assert_array_equal(labels.one_hot_to_labels(Y, classes), y)
    numbers = labels.encode_labels(y, classes)
    assert_array_equal(labels.one_hot_to_labels(Y), numbers)
    assert_array_equal(labels.decode_labels(numbers, classes), y)
    assert_array_equal(np.sort(np.unique(y))[labels.encode_labels(y)], y)


@CALM
@given(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=20))
def test_signs_come_back(y):
    signs = labels.labels_to_signs(y, classes=[0, 1])
    assert set(signs) <= {-1, 1}
    assert_array_equal(labels.signs_to_labels(signs), y)
    names = labels.signs_to_labels(signs, ["no", "yes"])
    assert_array_equal(labels.labels_to_signs(names, ["no", "yes"]), signs)
    assert_array_equal(labels.encode_labels(names, ["no", "yes"]), y)


def test_labels_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match=r"'bird'.*none of the classes"):
        labels.one_hot(["cat", "bird"], NAMES)
    with pytest.raises(ValueError, match="two classes"):
        labels.labels_to_signs([0, 1, 2])
    with pytest.raises(ValueError, match="none of the classes"):
        labels.signs_to_labels([0, 1])
    with pytest.raises(ValueError, match="row 1 is not one-hot"):
        labels.one_hot_to_labels([[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="0 to 2"):
        labels.decode_labels([3], NAMES)


@pytest.mark.parametrize("first", [False, True])
def test_a_constant_column_is_a_bias(first):
    X, theta = RNG.normal(size=(6, 3)), RNG.normal(size=4)
    w, b = split_intercept(theta, first=first)
    assert_allclose(add_intercept_column(X, first=first) @ theta, X @ w + b)
    S = add_intercept_column(sparse.csr_array(X.astype(np.float32)), first=first)
    assert S.format == "csr"
    assert S.dtype == np.float32
    assert_allclose(S.toarray(), add_intercept_column(X.astype(np.float32), first=first))
    W, c = split_intercept(np.arange(8.0).reshape(2, 4), first=first)
    assert W.shape == (2, 3)
    assert c.shape == (2,)


class Net(NamedTuple):
    W: np.ndarray
    b: float


def test_parameters_as_one_vector():
    like = {"layers": [Net(np.ones((2, 3)), 0.0), Net(np.zeros((1, 2)), 7)], "centres": np.eye(2)}
    theta = flatten_parameters(like)  # 000 R15: basis vectors too
    assert len(theta) == 6 + 1 + 2 + 1 + 4
    again = unflatten_parameters(theta + 1, like)
    assert isinstance(again["layers"][0], Net)
    assert_array_equal(again["layers"][0].W, 2)
    assert again["layers"][1].b == 8
    assert_array_equal(again["centres"], np.eye(2) + 1)
    assert_array_equal(flatten_parameters(again), theta + 1)
    again["centres"][:] = 0
    assert_array_equal(like["centres"], np.eye(2))
    with pytest.raises(ValueError, match="14 entries"):
        unflatten_parameters(theta[1:], like)
    assert flatten_parameters([np.float32([1]), np.float32([2])]).dtype == np.float32


def test_normal_density_has_mass_one():
    assert integrate.quad(links.normal_pdf, -np.inf, np.inf)[0] == pytest.approx(1)
