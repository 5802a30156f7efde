"""Derivatives: against finite differences, closed forms and identities of the notes."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from tenfold import optim
from tenfold.math import links
from tenfold.math.links import sigmoid
from tenfold.teaching import autodiff
from tenfold.teaching.autodiff._vjp_elementwise import BINARY_VJPS, UNARY_VJPS
from tenfold.teaching.autodiff.tracer import COMPOSITE_RULES

RNG = np.random.default_rng(0)
M = RNG.normal(size=(3, 4))
V = RNG.normal(size=4)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
S = A @ A.T
POSITIVE = {np.log, np.log2, np.log10, np.sqrt, np.cbrt, special.gammaln, special.logit}
POSITIVE |= {special.ndtri}


def weighted(f):
    """One number of all results, so that no slope can hide behind another."""

    def number(x):
        result = f(x)
        return np.sum(result * np.cos(np.arange(float(np.size(result))).reshape(np.shape(result))))

    return number


def agree(f, x, second=True):
    check = autodiff.check_gradient(weighted(f), x)
    assert check, check
    if second:
        bend = autodiff.check_hessian(weighted(f), x)
        assert bend, bend


@pytest.mark.parametrize("f", UNARY_VJPS, ids=lambda f: f.__name__)
def test_function_of_one_array(f):
    x = np.array([[0.3, -0.7], [0.2, 0.9]])
    x = np.abs(x) if f in POSITIVE else x
    agree(f, x, second=f is not special.gammaln)


@pytest.mark.parametrize("f", BINARY_VJPS, ids=lambda f: f.__name__)
def test_function_of_two_arrays_that_broadcast(f):
    a, b = np.abs(M) + 0.2, np.abs(V) + 0.5
    agree(lambda x: f(x, b), a)
    agree(lambda x: f(a, x), b)
    agree(lambda x: f(x, x[:1]), a * [[1.0], [1.3], [1.7]], second=f is not np.hypot)


MATRIX_FUNCTIONS = {
    "sum": np.sum,
    "sum of rows": lambda x: np.sum(x, axis=1),
    "sum, kept": lambda x: x / np.sum(x, axis=0, keepdims=True),
    "mean": lambda x: x.mean(axis=-1),
    "var": lambda x: np.var(x, axis=0, ddof=1),
    "std": lambda x: x.std(axis=(0, 1)),
    "average": lambda x: np.average(x, axis=1, weights=np.abs(V)),
    "max": lambda x: np.max(x, axis=0),
    "min": lambda x: x.min(),
    "prod": lambda x: np.prod(x, axis=1),
    "cumsum": lambda x: np.cumsum(x, axis=1) ** 2,
    "cumsum of all": np.cumsum,
    "transpose": lambda x: x.T**2,
    "axes": lambda x: np.transpose(x[None] ** 2, (2, 0, 1)),
    "reshape": lambda x: x.reshape(2, 6) ** 2,
    "slice": lambda x: x[1:, ::2] ** 2,
    "rows twice": lambda x: x[[0, 2, 0]] ** 3,
    "mask": lambda x: x[M > 0] ** 2,
    "take": lambda x: np.take(x, [1, 1, 3], axis=1) ** 2,
    "where": lambda x: np.where(x > 0, x**2, np.exp(x)),
    "clip": lambda x: np.clip(x, -0.4, 0.5) ** 2,
    "stack": lambda x: np.stack([x[0], x[1] * x[2]], axis=1),
    "concatenate": lambda x: np.concatenate([x, x**2, np.ones((3, 1))], axis=1),
    "hstack": lambda x: np.hstack([x, x * x]),
    "vstack": lambda x: np.vstack([x, x[0] ** 2]),
    "columns": lambda x: np.column_stack([x[:, 0] ** 2, x]),
    "flip": lambda x: np.flip(x, 0) * x,
    "roll": lambda x: np.roll(x, 1, axis=1) * x,
    "diff": lambda x: np.diff(x, axis=0) ** 2,
    "tril": lambda x: np.tril(x) ** 2 + np.triu(x, 1),
    "diag": lambda x: np.diag(x, 1) ** 2,
    "diag of a vector": lambda x: np.diag(x[0]) @ x.T,
    "trace": lambda x: np.trace(x @ x.T @ x @ x.T),
    "matmul": lambda x: x @ x.T @ x,
    "matrix times vector": lambda x: x @ V + (V @ x.T) ** 2,
    "vector times vector": lambda x: x[0] @ x[1],
    "stack of matrices": lambda x: np.stack([x, x**2]) @ x.T,
    "dot": lambda x: np.dot(x, x.T) + 2 * np.dot(x[0], x[1]),
    "outer": lambda x: np.outer(x[0], x[1]),
    "inner": lambda x: np.inner(x, x),
    "tensordot": lambda x: np.tensordot(x, x.T, axes=1),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x**2),
    "einsum with a sum": lambda x: np.einsum("ij,k->k", x**2, V),
    "broadcast": lambda x: np.broadcast_to(x[0], (5, 4)) ** 2,
    "logsumexp": lambda x: np.logaddexp.reduce(x, axis=1),
    "reduce": lambda x: np.add.reduce(x**2, axis=1),
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "norm, kept": lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    "norm of all": np.linalg.norm,
    "norm 1": lambda x: np.linalg.norm(x[0], 1) + np.linalg.norm(x[1], np.inf) ** 2,
    "moves": lambda x: np.moveaxis(np.swapaxes(x[None], 1, 2), 0, -1) ** 2,
    "sort": lambda x: np.sort(x, axis=0) ** 2,
    "median": lambda x: np.median(x, axis=1) ** 2 + np.median(x[:, :3]),
    "range": lambda x: np.ptp(x, axis=0) ** 2,
    "repeat": lambda x: np.repeat(x, 3, axis=0) ** 2,
    "repeat each": lambda x: np.repeat(x, [1, 0, 2, 3], axis=1) ** 2,
    "along an axis": lambda x: np.take_along_axis(x, np.array([[1], [3], [1]]), 1) ** 2,
    "squeeze": lambda x: np.squeeze(np.expand_dims(x, 1)) ** 2,
}


@pytest.mark.parametrize("name", MATRIX_FUNCTIONS)
def test_function_of_a_matrix(name):
    agree(MATRIX_FUNCTIONS[name], M)


@pytest.mark.parametrize(
    "f",
    [
        np.linalg.inv,
        np.linalg.det,
        lambda a: np.linalg.slogdet(a)[1],
        lambda a: np.linalg.solve(a, M),
        lambda a: np.linalg.solve(a, M[:, 0]),
        lambda a: np.linalg.solve(A, a**2),
        lambda a: np.linalg.cholesky(a @ a.T + np.eye(3)),
        lambda a: np.linalg.inv(np.stack([a, a @ a])),
        lambda a: np.linalg.eigvalsh(a + a.T) ** 2,
        lambda a: np.linalg.eigh(a + a.T)[1] ** 2,
    ],
)
def test_linear_algebra(f):
    agree(f, A)


def test_each_rule_gives_the_value_that_numpy_gives():
    """Functions written as others must not change what they compute."""
    for f in MATRIX_FUNCTIONS.values():
        value, _ = autodiff.value_and_grad(weighted(f))(M)
        np.testing.assert_allclose(value, weighted(f)(M), rtol=1e-13)


def test_rules_take_the_arguments_of_numpy_by_its_names():
    for function, ours in COMPOSITE_RULES.items():
        if not inspect.isfunction(ours) or ours.__name__ == "<lambda>":
            continue
        theirs = set(inspect.signature(function).parameters) if function is not np.matmul else set()
        named = [
            name
            for name, p in inspect.signature(ours).parameters.items()
            if p.kind is p.KEYWORD_ONLY
        ]
        assert set(named) <= theirs, function.__name__


# ------------------------------------------------------------------------- what the notes say
def test_first_lessons_of_000():
    """The arithmetic of the notebook that introduces automatic differentiation [000, 1.2]."""
    assert autodiff.grad(lambda x: x**2)(2.0) == 4
    assert autodiff.grad(lambda x: 2 * x**4)(-2.0) == -64
    by_both = autodiff.grad(lambda x, y: x * (x + y), (0, 1))(2.0, 1.0)
    assert by_both == (5, 2)
    assert autodiff.grad(autodiff.grad(lambda x, y: x * (x + y)))(2.0, 1.0) == 2
    s = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    assert autodiff.grad(lambda x: s(s(s(x))))(1.5) == pytest.approx(0.00704075386, abs=1e-11)


def test_matrix_identities_of_001():
    """Exercise 1.2.2: derivatives of traces."""
    X, B, C = RNG.normal(size=(3, 4)), RNG.normal(size=(5, 3)), RNG.normal(size=(4, 5))
    same = lambda f, X, want: np.testing.assert_allclose(autodiff.grad(f)(X), want)  # noqa: E731
    same(lambda X: np.trace(B @ X @ C), X, B.T @ C.T)
    P, Q = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 5))
    same(lambda X: np.trace(P @ X.T @ Q), X, Q @ P)
    D = RNG.normal(size=(3, 3))
    same(lambda X: np.trace(X.T @ D @ X), X, D @ X + D.T @ X)
    E = RNG.normal(size=(4, 2))
    want = D.T @ X @ E @ E.T + D @ X @ E @ E.T
    same(lambda X: np.trace(E.T @ X.T @ D @ X @ E), X, want)


def test_gradient_of_a_quadratic_form_of_002():
    """2 A x holds for symmetric A alone; in general (A + A^T) x."""
    x = RNG.normal(size=3)
    got = autodiff.grad(lambda x: x @ A @ x)(x)
    np.testing.assert_allclose(got, (A + A.T) @ x)
    assert not np.allclose(got, 2 * A @ x)
    np.testing.assert_allclose(autodiff.grad(lambda x: x @ S @ x)(x), 2 * S @ x)


def test_logistic_and_softmax_gradients_of_000():
    """(1.9): -(y - M(x)) x; multinomial: -(y - M(x)) x^T."""
    w, x = RNG.normal(size=4), RNG.normal(size=4)
    s = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    cost = lambda w, y: -(y * np.log(s(w @ x)) + (1 - y) * np.log(1 - s(w @ x)))  # noqa: E731
    for y in (0.0, 1.0):
        np.testing.assert_allclose(autodiff.grad(cost)(w, y), -(y - s(w @ x)) * x)
    W, y = RNG.normal(size=(3, 4)), np.array([0.0, 1.0, 0.0])
    cost = lambda W: np.log(np.sum(np.exp(W @ x))) - y @ (W @ x)  # noqa: E731
    p = np.exp(W @ x) / np.exp(W @ x).sum()
    np.testing.assert_allclose(autodiff.grad(cost)(W), np.outer(p - y, x))


def test_adaptive_basis_gradient_of_000():
    """-2 (y - p) w_k phi_k(x) (x - r_k), for each basis vector."""
    r, w, b, x, y = RNG.normal(size=(3, 2)), RNG.normal(size=3), 0.3, RNG.normal(size=2), 1.0

    def cost(r):
        phi = np.exp(-np.sum((x - r) ** 2, axis=1))
        z = w @ phi + b
        return np.logaddexp(0, z) - y * z

    phi = np.exp(-((x - r) ** 2).sum(axis=1))
    p = sigmoid(np.array(w @ phi + b))
    want = -2 * (y - p) * (w * phi)[:, None] * (x - r)
    np.testing.assert_allclose(autodiff.grad(cost)(r), want)


def test_sigmoid_model_of_003():
    """d yhat / d t1 = x yhat (1 - yhat), also as the long form that the notes print."""
    t1, t2, x = 0.7, -0.4, 1.9
    yhat = lambda t1, t2: 1 / (1 + np.exp(-(t1 * x + t2)))  # noqa: E731
    y = yhat(t1, t2)
    e = np.exp(-(t1 * x + t2))
    by_t1, by_t2 = autodiff.grad(yhat, (0, 1))(t1, t2)
    assert by_t1 == pytest.approx(x * y * (1 - y))
    assert by_t1 == pytest.approx(-1 / (1 + e) ** 2 * e * (-x))
    assert by_t2 == pytest.approx(y * (1 - y))


def test_softmax_jacobian_of_001():
    """d sigma_i / d x_j = sigma_i (1(i = j) - sigma_j)."""
    softmax = lambda x: np.exp(x) / np.sum(np.exp(x))  # noqa: E731
    p = softmax(V)
    np.testing.assert_allclose(
        autodiff.jacobian(softmax)(V), np.diag(p) - np.outer(p, p), atol=1e-15
    )


def test_chain_of_units_of_003():
    """One unit a layer, tanh; the printed product lacks the factor (f - y)."""

    def loss(w, x=0.7, y=0.3):
        for each in w:
            x = np.tanh(x * each)
        return 0.5 * (y - x) ** 2

    assert autodiff.grad(loss)(np.array([0.5, -1.2, 0.8]))[0] == pytest.approx(0.276862, abs=1e-6)


def test_channel_map_adds_up():
    """Total = direct + indirect, equal to the derivative of the whole."""
    K, L = lambda t: np.exp(0.3 * t), lambda t: np.stack([t**2, np.sin(t)])
    Q = lambda t, K, L: (1 + t) * K**0.3 * np.sum(L) ** 0.7  # noqa: E731
    found = autodiff.total_derivative(Q, {"K": K, "L": L}, 1.2)
    assert found.total == pytest.approx(autodiff.grad(lambda t: Q(t, K(t), L(t)))(1.2))
    assert found.direct + sum(found.through.values()) == pytest.approx(found.total)
    assert found.direct == pytest.approx(K(1.2) ** 0.3 * L(1.2).sum() ** 0.7)


def test_a_variable_that_does_nothing_is_no_channel():
    found = autodiff.total_derivative(lambda t, K: t * 2 + 0 * K, {"K": lambda t: t**2}, 3.0)
    assert (found.total, found.direct, found.through["K"]) == (2, 2, 0)


# ------------------------------------------------------------------------------------ structure
def test_gradient_looks_like_the_argument():
    at = {"W": M, "layers": [V, (2.0, np.array([1.0]))]}

    def f(p):
        last, bias = p["layers"][1]
        return np.sum(np.tanh(p["W"] @ p["layers"][0])) * last + bias[0]

    slope = autodiff.grad(f)(at)
    assert slope.keys() == at.keys()
    assert isinstance(slope["layers"][1], tuple)
    want = np.outer(1 - np.tanh(M @ V) ** 2, V) * 2
    np.testing.assert_allclose(slope["W"], want)
    assert slope["layers"][1][1].tolist() == [1.0]


def test_hessian_times_vector_is_a_row_sum_of_the_hessian():
    f = lambda x: np.sum(np.exp(x @ x.T)) + np.prod(x[0])  # noqa: E731
    x, v = 0.3 * M, RNG.normal(size=M.shape)
    want = np.tensordot(autodiff.hessian(f)(x), v, axes=2)
    np.testing.assert_allclose(autodiff.hvp(f)(v, x), want, rtol=1e-10)


def test_nested_derivatives_do_not_mix():
    """The inner derivative takes the outer variable for a constant."""
    f = lambda x: x * autodiff.grad(lambda y: x * y**2)(3.0)  # noqa: E731 - 6 x^2
    assert autodiff.grad(f)(2.0) == 24
    third = autodiff.grad(autodiff.grad(autodiff.grad(lambda x: x**5)))
    assert third(2.0) == pytest.approx(240)


def test_a_value_used_often_adds_up_and_long_chains_do_not_recurse():
    def f(x):
        y = x
        for _ in range(3000):
            y = y + x * 1e-3
        return y

    assert autodiff.grad(f)(1.0) == pytest.approx(4.0)


def test_what_does_not_depend_has_slope_zero():
    value, slope = autodiff.value_and_grad(lambda _: 3.0)(M)
    assert value == 3
    assert not slope.any()
    assert slope.shape == M.shape
    assert not autodiff.grad(lambda x: np.sum(np.sign(x)) + x[0, 0] * 0)(M).any()


def test_ties_share_the_slope():
    assert autodiff.grad(lambda x: np.maximum(x, 0.0))(0.0) == 0.5
    assert autodiff.grad(np.max)(np.array([1.0, 2.0, 2.0])).tolist() == [0, 0.5, 0.5]
    assert autodiff.grad(np.linalg.norm)(np.zeros(3)).tolist() == [0, 0, 0]
    assert autodiff.grad(lambda x: x**0 + x**2)(0.0) == 0
    assert autodiff.grad(np.abs)(0.0) == 0


def test_float32_stays_and_whole_numbers_become_floats():
    assert autodiff.grad(lambda x: np.sum(x**2))(M.astype(np.float32)).dtype == np.float32
    assert autodiff.grad(lambda x: np.sum(x * x))(np.arange(3)).tolist() == [0.0, 2.0, 4.0]


def test_traced_arrays_behave_like_arrays():
    def f(x):
        assert (len(x), x.shape, x.ndim, x.size, x.dtype) == (3, (3, 4), 2, 12, np.float64)
        total = 0.0
        for row in x:
            if row[0] > 0:
                total += row @ row
            else:
                total -= row.sum()
        y = x * 1
        y += 1.0
        return total + np.sum(y * x.copy()) + x.flatten()[-1]

    check = autodiff.check_gradient(f, M)
    assert check, check


def test_errors_say_what_to_do():
    with pytest.raises(autodiff.NoRuleError, match=r"qr.*finite differences"):
        autodiff.grad(lambda x: np.linalg.qr(x)[1][0, 0])(M)
    with pytest.raises(autodiff.NoRuleError, match="full_matrices=False"):
        autodiff.grad(lambda x: np.linalg.svd(x)[1][0])(M)
    with pytest.raises(autodiff.NoRuleError, match=r"np\.stack"):
        autodiff.grad(lambda x: np.array([x, x])[0])(1.0)
    with pytest.raises(autodiff.NoRuleError, match=r"np\.stack"):
        autodiff.grad(float)(1.0)
    with pytest.raises(autodiff.NoRuleError, match=r"np\.where"):
        autodiff.grad(lambda x: x.__setitem__(0, 1.0))(V)
    with pytest.raises(autodiff.NoRuleError, match="`a = a"):
        autodiff.grad(lambda x: np.sum(np.add(x, 1, out=np.zeros(4))))(V)
    with pytest.raises(ValueError, match=r"shape \(4,\).*jacobian"):
        autodiff.grad(lambda x: x * 2)(V)
    with pytest.raises(TypeError, match="real numbers"):
        autodiff.grad(np.sum)(np.array([1j]))
    with pytest.raises(autodiff.NoRuleError, match="'->'"):
        autodiff.grad(lambda x: np.einsum("ij,jk", x, x.T)[0, 0])(M)
    with pytest.raises(AttributeError, match="function of NumPy"):
        autodiff.grad(lambda x: x.tolist())(V)


# -------------------------------------------------------------------------------------- checks
def test_checks_find_a_wrong_slope():
    f = lambda x: np.sum(np.sin(x))  # noqa: E731
    assert autodiff.check_gradient(f, V, np.cos)
    wrong = np.cos(V)
    wrong[2] += 1e-3
    check = autodiff.check_gradient(f, V, wrong)
    assert not check
    assert check.where == (2,)
    assert check.error == pytest.approx(1e-3, rel=0.1)
    assert not autodiff.check_gradient(f, V, np.full(4, np.nan))
    assert autodiff.check_jacobian(lambda x: M @ x, V, M)
    assert not autodiff.check_jacobian(lambda x: M @ x, V, M + 1e-3)
    assert autodiff.check_hessian(lambda x: x @ (M.T @ M) @ x, V, 2 * M.T @ M)
    with pytest.raises(ValueError, match="shape"):
        autodiff.check_gradient(f, V, M)


def test_further_arguments_reach_function_and_slope():
    assert autodiff.check_gradient(lambda x, c: c * np.sum(x**2), V, lambda x, c: 2 * c * x, 3.0)


def test_differences_are_precise():
    for x in (1.0, 30.0, -200.0):
        assert autodiff.numerical_gradient(lambda x: x**3, x) == pytest.approx(3 * x**2, rel=1e-10)


@settings(max_examples=30)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=5), st.floats(0.1, 2))
def test_any_point_of_a_small_network(x, scale):
    """The differentiator, finite differences and the rule of node errors agree [001, 3.2]."""
    x = np.array(x)
    W1, W2 = scale * RNG_WEIGHTS[: len(x)], scale * RNG_WEIGHTS[:3, :1]
    loss = lambda W1: np.sum((np.tanh(x @ W1) @ W2 - 1) ** 2) / 2  # noqa: E731
    z = np.tanh(x @ W1)
    error = (z @ W2 - 1) @ W2.T * (1 - z**2)
    slope = autodiff.grad(loss)(W1)
    np.testing.assert_allclose(slope, np.outer(x, error), atol=1e-12)
    assert autodiff.check_gradient(loss, W1, slope, tol=1e-5)


RNG_WEIGHTS = np.random.default_rng(3).normal(size=(5, 3))


def test_it_feeds_the_solvers():
    X, y = RNG.normal(size=(50, 4)), RNG.integers(0, 2, 50) * 2.0 - 1
    cost = lambda w: np.sum(np.logaddexp(0, -y * (X @ w))) + 0.5 * w @ w  # noqa: E731
    found = optim.minimize(autodiff.value_and_grad(cost), np.zeros(4), tol=1e-8)

    def all_three(w):
        return (*autodiff.value_and_grad(cost)(w), autodiff.hessian(cost)(w))

    newton = optim.minimize(all_three, np.zeros(4), method="newton", tol=1e-8)
    np.testing.assert_allclose(found.x, newton.x, atol=1e-6)
    assert np.abs(autodiff.grad(cost)(newton.x)).max() < 1e-6


# ------------------------------------------------------------- functions of the library itself

LINKS_OF_SCORES = ("sigmoid", "sigmoid_derivative", "log_sigmoid", "normal_cdf", "normal_pdf")
LINKS_OF_SCORES += ("log_normal_cdf", "inverse_mills_ratio", "inverse_mills_ratio_derivative")
LINKS_OF_SHARES = ("logit", "logit_derivative", "normal_quantile", "normal_quantile_derivative")
LINKS_OF_ROWS = ("log_sum_exp", "softmax", "log_softmax", "softmax_jacobian")


@pytest.mark.parametrize("name", LINKS_OF_SCORES + LINKS_OF_SHARES)
def test_links_are_differentiated(name):
    scores = [np.array([0.3, -0.2, 0.5]), np.array([-3.0, 1.0, 8.0])]
    for x in [np.array([0.2, 0.5, 0.9])] if name in LINKS_OF_SHARES else scores:
        agree(getattr(links, name), x)


@pytest.mark.parametrize("name", LINKS_OF_ROWS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 8.0])  # all scores are equal; far apart
def test_links_of_several_scores_are_differentiated(name, scale):
    x = scale * np.array([[0.0, 0.3, 1.0], [0.2, -1.0, 0.7]])
    agree(getattr(links, name), x)


def test_all_links_are_differentiated():
    functions = {n for n, f in vars(links).items() if callable(f) and n[0] not in "_A"}
    assert functions - {"as_float_array"} == {*LINKS_OF_SCORES, *LINKS_OF_SHARES, *LINKS_OF_ROWS}


def test_the_slope_of_logistic_regression_in_words_of_the_library():
    X = np.random.default_rng(0).normal(size=(20, 3))
    slope = autodiff.grad(lambda w: -np.mean(links.log_sigmoid(X @ w)))(np.zeros(3))
    np.testing.assert_allclose(slope, -0.5 * X.mean(axis=0))


# ------------------------------------------------------------------------ checks at any scale


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1.0, 1e9])
def test_wrong_slopes_are_found_at_any_scale(scale):
    x = np.array([1.0, -2.0, 0.0])
    f, slope = (lambda v: scale * (v @ v)), 2 * scale * x
    assert autodiff.check_gradient(f, x, slope)
    for wrong in (np.zeros(3), slope * 1.0001, slope + scale * np.array([0, 0, 1e-4])):
        assert not autodiff.check_gradient(f, x, wrong)


@pytest.mark.parametrize("x", [1e-7, 1e-4, 1.0, 1e6])
def test_right_slopes_near_the_border_of_a_domain_agree(x):
    assert autodiff.check_gradient(lambda v: np.sum(np.log(v)), np.array([x]))
    assert autodiff.check_gradient(lambda v: np.sum(np.sqrt(v)), np.array([x]))


def test_right_slopes_beside_rounding_agree():
    x = np.array([1.0, 2.0])
    assert autodiff.check_gradient(lambda v: 1e9 + np.sum(v * v), x)
    assert autodiff.check_gradient(lambda v: np.sum((v - x) ** 2), x)  # zero at a minimum
    assert autodiff.check_gradient(lambda v: 0.0 * np.sum(v), x)
    assert autodiff.check_gradient(lambda v: np.sum(np.sin(v)), 500 * x)
