"""Norms, angles, projections and planes: the notes' numbers and the properties they claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

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
from tenfold.teaching.linear_algebra import gram_schmidt
from tests.math.vectors import CALM, matrices, vectors


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
