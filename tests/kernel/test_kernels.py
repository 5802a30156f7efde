"""Kernel objects: values against scikit-learn and closed forms, exact edges, algebra, gradients."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process import kernels as sk
from sklearn.metrics.pairwise import pairwise_kernels

import tenfold
from tenfold import kernel as tk
from tenfold.kernel._block import TILE_COLUMNS, TILE_ROWS

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(40, 3)), RNG.normal(size=(25, 3))

SKLEARN = [
    sk.RBF(0.7),
    sk.RBF([0.5, 1.0, 2.0]),
    *(sk.Matern([0.5, 1.0, 2.0], nu=nu) for nu in (0.5, 1.5, 2.5, np.inf)),
    sk.Matern(0.8, nu=0.5),
    sk.Matern(1.3, nu=1.2),
    sk.RationalQuadratic(0.8, 1.7),
    sk.ExpSineSquared(1.2, 2.1),
    sk.DotProduct(1.4),
    2.0 * sk.RBF(0.7) + sk.WhiteKernel(0.3),
    (sk.DotProduct(0.5) + 1.0) ** 3,
    sk.RBF(0.7) * sk.Matern(1.0) + sk.ConstantKernel(0.2),
]


@pytest.mark.parametrize("theirs", SKLEARN, ids=repr)
def test_values_and_gradients_are_those_of_scikit_learn(theirs):
    ours = tk.as_kernel(theirs)
    assert type(ours).__module__.startswith("tenfold.")
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), atol=1e-13, rtol=1e-11)
    np.testing.assert_allclose(ours.diag(X), theirs.diag(X), rtol=1e-14)
    K, gradient = ours(X, eval_gradient=True)
    expected, slopes = theirs(X, eval_gradient=True)
    np.testing.assert_allclose(K, expected, atol=1e-13, rtol=1e-11)
    if "nu=1.2" not in repr(theirs):  # there scikit-learn takes differences
        np.testing.assert_allclose(gradient, slopes, atol=1e-11, rtol=1e-9)
    np.testing.assert_array_equal(ours.theta, theirs.theta)
    np.testing.assert_array_equal(ours.bounds, theirs.bounds)
    weights = RNG.normal(size=K.shape)
    np.testing.assert_allclose(
        ours.gradient_sums(X, weights),
        np.einsum("ij,ijk->k", weights, gradient),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "name", ["rbf", "poly", "linear", "sigmoid", "laplacian", "chi2", "additive_chi2", "cosine"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_names_mean_what_they_mean_in_scikit_learn(name, dtype):
    A, B = np.abs(X).astype(dtype), np.abs(Z).astype(dtype)
    K = tk.kernel_block(A, B, tk.resolve_kernel(name, X=A))
    assert K.dtype == dtype
    expected = pairwise_kernels(A.astype(float), B.astype(float), metric=name)
    np.testing.assert_allclose(K, expected, rtol=2e-4 if dtype == np.float32 else 1e-11, atol=1e-6)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear", "sigmoid", "laplacian", "cosine"])
def test_sparse_rows_have_the_values_of_dense_ones(name):
    A, B = (np.where(np.abs(a) > 0.8, a, 0.0) for a in (X, Z))
    kernel = tk.resolve_kernel(name, gamma=0.3, X=A)
    K = tk.kernel_block(A, B, kernel)
    for right in (sparse.csr_array(B), B):
        np.testing.assert_allclose(
            tk.kernel_block(sparse.csr_array(A), right, kernel), K, atol=1e-14
        )
    np.testing.assert_allclose(tk.gram_matrix(sparse.csr_array(A), kernel), kernel(A), atol=1e-14)


def test_kernels_that_need_dense_rows_say_so():
    with pytest.raises(TypeError, match="needs dense rows"):
        tk.kernel_block(sparse.csr_array(np.abs(X)), sparse.csr_array(X), tk.Chi2Kernel())
    with pytest.raises(ValueError, match="negative"):
        tk.Chi2Kernel()(X)


NORMALIZED = [tk.RBF(), tk.Matern(nu=1.2), tk.Matern(nu=0.5), tk.LaplacianKernel(), tk.Matern()]
NORMALIZED += [tk.RationalQuadratic(), tk.ExpSineSquared()]


@pytest.mark.parametrize("kernel", NORMALIZED, ids=repr)
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_equal_rows_have_the_value_one_exactly(kernel, shift):
    A = np.repeat(X + shift, 2, axis=0)
    K = kernel(A)
    assert np.array_equal(K, K.T)
    assert np.all(K[::2, 1::2].diagonal() == 1.0)
    assert np.all(np.diagonal(K) == 1.0)
    np.testing.assert_allclose(kernel(A, A[:5]), K[:, :5], atol=1e-9)
    assert np.all(np.diagonal(tk.kernel_block(A, A.copy(), kernel)) == 1.0)


def test_a_shift_of_all_rows_changes_next_to_nothing():
    np.testing.assert_allclose(tk.RBF()(X + 1e4, Z + 1e4), tk.RBF()(X, Z), atol=1e-10)


@pytest.mark.parametrize("kernel", [tk.RBF(1.0), tk.Matern(1.0, nu=1.5), tk.RationalQuadratic()])
@pytest.mark.parametrize(("dtype", "size"), [(np.float64, 1e200), (np.float32, 1e25)])
def test_rows_whose_squares_overflow_are_near_to_themselves_alone(kernel, dtype, size):
    rows = (size * np.array([[1.0, 2.0], [-1.0, 1.0], [3.0, 1.0]])).astype(dtype)
    np.testing.assert_array_equal(kernel(rows, rows.copy()), np.eye(3))


def test_far_rows_have_the_value_zero():
    assert tk.RBF()([[0.0]], [[100.0]]).item() == 0.0
    assert (
        tk.kernel_block(
            np.zeros((1, 1), np.float32), np.full((1, 1), 30, np.float32), tk.RBF()
        ).item()
        == 0.0
    )


def test_products_never_need_the_block_and_have_its_value():
    A, B = RNG.normal(size=(600, 4)), RNG.normal(size=(1100, 4))
    V = RNG.normal(size=(1100, 3))
    K = tk.kernel_block(A, B, tk.RBF())
    np.testing.assert_allclose(tk.kernel_product(A, B, tk.RBF(), V), K @ V, atol=1e-12)
    assert tk.kernel_product(A, B, tk.RBF(), V[:, 0]).shape == (600,)


def test_bits_do_not_depend_on_threads_nor_on_tiles_beside():
    A = RNG.normal(size=(TILE_ROWS * 2 + 37, 6))
    B = RNG.normal(size=(TILE_COLUMNS + 11, 6))
    for kernel in (tk.RBF(), tk.Matern() + tk.LinearKernel()):
        grams, blocks = [], []
        for threads in (1, 2, 5):
            with tenfold.threads(threads):
                grams.append(tk.gram_matrix(A, kernel))
                blocks.append(tk.kernel_matrix(A, B, kernel))
        for K in grams[1:]:
            assert np.array_equal(K, grams[0])
        for K in [*blocks[1:], tk.kernel_block(A, B, kernel)]:
            assert np.array_equal(K, blocks[0])
        assert np.array_equal(tk.kernel_block(A[:TILE_ROWS], B, kernel), blocks[0][:TILE_ROWS])


def test_values_by_hand():
    a, b = [[0.0, 0.0]], [[3.0, 4.0]]  # at the distance 5, 7 along the axes
    r = np.sqrt(3) * 5 / 2
    assert tk.Matern(2.0)(a, b).item() == pytest.approx((1 + r) * np.exp(-r))
    assert tk.RationalQuadratic(2.0, 3.0)(a, b).item() == pytest.approx((1 + 25 / 24) ** -3)
    wave = tk.ExpSineSquared(2.0, 20.0)
    assert wave(a, b).item() == pytest.approx(np.exp(-2 * np.sin(np.pi / 4) ** 2 / 4))
    assert tk.LaplacianKernel(0.1)(a, b).item() == pytest.approx(np.exp(-0.7))
    assert tk.Chi2Kernel(0.1)(a, b).item() == pytest.approx(np.exp(-0.7))


def test_algebra():
    K1, K2 = tk.RBF()(X), tk.LinearKernel()(X)
    assert tk.RBF() + tk.LinearKernel() == tk.Sum(tk.RBF(), tk.LinearKernel())
    assert tk.RBF() * tk.LinearKernel() == tk.Product(tk.RBF(), tk.LinearKernel())
    np.testing.assert_allclose((tk.RBF() + tk.LinearKernel())(X), K1 + K2)
    np.testing.assert_allclose((tk.RBF() * tk.LinearKernel())(X), K1 * K2)
    np.testing.assert_allclose((tk.LinearKernel() ** 3)(X), K2**3, rtol=1e-13)
    f = tk.FunctionScaledKernel(tk.RBF(), lambda rows: rows[:, 0])
    np.testing.assert_allclose(f(X), X[:, :1] * K1 * X[:, 0])
    np.testing.assert_allclose(np.diagonal(f(X)), f.diag(X))
    assert f.clone_with_theta([np.log(2.0)]).kernel.length_scale == pytest.approx(2.0)
    np.testing.assert_allclose((3 + 2 * tk.RBF())(X), 3 + 2 * K1)
    assert (tk.RBF() * sk.Matern())(X, Z).shape == (40, 25)


def test_a_foreign_subclass_keeps_its_own_values():
    class Mine(sk.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return 2 * super().__call__(X, Y, eval_gradient)

    np.testing.assert_allclose(tk.as_kernel(Mine())(X, Z), 2 * sk.RBF()(X, Z))
    with pytest.raises(TypeError, match="is no kernel"):
        tk.as_kernel(3)


@pytest.mark.parametrize(
    "kernel",
    [
        tk.PolynomialKernel(3, 0.7, 1.3, coef0_bounds=(1e-3, 10)),
        tk.LaplacianKernel(0.4),
        tk.Chi2Kernel(0.4),
        tk.FunctionScaledKernel(tk.Matern(nu=0.5), lambda rows: rows[:, 0]),
        tk.Matern(0.7, nu=1.2),
    ],
    ids=lambda kernel: repr(kernel).split(" at 0x")[0],
)
def test_gradients_by_differences(kernel):
    A, h = np.abs(X), 1e-6
    gradient = kernel(A, eval_gradient=True)[1]
    assert gradient.shape[2] == len(kernel.theta) > 0
    for k, unit in enumerate(np.eye(len(kernel.theta))):
        up, down = (kernel.clone_with_theta(kernel.theta + s * h * unit)(A) for s in (1, -1))
        np.testing.assert_allclose(gradient[:, :, k], (up - down) / (2 * h), rtol=1e-3, atol=1e-6)


def test_functions_and_matrices():
    def product(x, z):
        return x @ z

    rows = tk.CallableKernel(product)
    matrices = tk.CallableKernel(lambda A, B: A @ B.T, "matrices")
    for kernel in (rows, matrices):
        np.testing.assert_allclose(kernel(X, Z), X @ Z.T)
        np.testing.assert_allclose(np.diagonal(kernel(X)), kernel.diag(X))
    K = X @ X.T
    np.testing.assert_array_equal(
        tk.kernel_block(K, np.array([3, 1]), tk.PrecomputedKernel()), K[:, [3, 1]]
    )


def test_sets_and_strings():
    sets = [{1, 2}, {2, 3, 4}, set()]
    K = tk.SetIntersectionKernel()(sets)
    assert K.tolist() == [[2, 1, 0], [1, 3, 0], [0, 0, 0]]
    words = ["abab", "ab", "ba"]
    kernel = tk.SpectrumKernel(2)
    counts, parts = kernel.counts(words)
    assert parts == ["ab", "ba"]
    assert kernel(words).tolist() == (counts @ counts.T).toarray().tolist()
    assert kernel(words, ["ab"]).ravel().tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("kernel", "rows", "word"),
    [
        (tk.RBF(1.0), [[0.0, 1.0], [np.nan, 1.0]], "row 1, column 0"),
        (tk.LinearKernel() + tk.RBF(1.0), [[np.inf]], "contains inf"),
        (tk.RBF(1.0), np.arange(3.0), "1 dimension,"),
        (tk.RBF(-1.0), X, "must be positive"),
        (tk.Matern([1.0, 0.0, 1.0]), X, "must be positive"),
        (tk.RBF([1.0, 2.0]), X, r"shape \(2,\), but the rows have 3 columns"),
        (tk.Matern(nu=0), X, "nu must be positive"),
        (tk.RationalQuadratic(1.0, -1.0), X, "alpha must be positive"),
        (tk.ExpSineSquared(1.0, 0.0), X, "periodicity must be positive"),
        (tk.LaplacianKernel(-1.0), X, "gamma must be at least 0"),
        (tk.FunctionScaledKernel(tk.RBF(), lambda rows: rows), X, "one number for each row"),
    ],
)
def test_rows_and_scales_that_mean_nothing_are_refused(kernel, rows, word):
    """One missing value would otherwise make all values of its tile 0."""
    with pytest.raises(ValueError, match=word):
        kernel(rows)


def test_a_function_decides_itself_what_it_takes():
    both = tk.CallableKernel(lambda x, z: float(np.nansum(x * z)))
    assert both([[np.nan, 2.0], [1.0, 3.0]]).tolist() == [[4.0, 6.0], [6.0, 10.0]]


def test_matrices_that_do_not_fit_are_refused_before_they_are_made():
    rows = np.zeros((2_000_000, 1))
    for call in (lambda: tk.RBF()(rows), lambda: tk.RBF()(rows, rows)):
        with pytest.raises(MemoryError, match=r"2,000,000 x 2,000,000 rows.*Nystroem"):
            call()


def test_gamma_by_names():
    assert tk.resolve_gamma("auto", X) == pytest.approx(1 / 3)
    assert tk.resolve_gamma("scale", X) == pytest.approx(1 / (3 * X.var()))
    assert tk.resolve_gamma("scale", sparse.csr_array(X)) == pytest.approx(1 / (3 * X.var()))
    assert tk.resolve_gamma("scale", np.ones((3, 2))) == 1.0
    with pytest.raises(ValueError, match="depends on the rows"):
        tk.resolve_gamma(None)
    with pytest.raises(ValueError, match="give one of"):
        tk.resolve_kernel("rbff", X=X)
    assert tk.RBF.from_gamma(0.0)([[0.0]], [[9.0]]).item() == 1.0


def test_kernels_can_be_saved(tmp_path):
    kernel = 2.0 * tk.RBF([1.0, 2.0, 3.0]) + tk.PolynomialKernel(2) * tk.LinearKernel() ** 2
    model = tenfold.KernelRidge(kernel=kernel).fit(X, X[:, 0])
    model.save(tmp_path / "m.tenfold")
    loaded = tenfold.load(tmp_path / "m.tenfold")
    assert repr(loaded.kernel) == repr(kernel)
    np.testing.assert_array_equal(loaded.predict(Z), model.predict(Z))
    theirs = tenfold.KernelRidge(kernel=sk.RBF(0.5) + sk.WhiteKernel(0.1)).fit(X, X[:, 0])
    theirs.save(tmp_path / "t.tenfold")
    np.testing.assert_array_equal(
        tenfold.load(tmp_path / "t.tenfold").predict(Z), theirs.predict(Z)
    )


@pytest.mark.parametrize(
    "kernel", [tk.RBF(), tk.LinearKernel(), tk.LaplacianKernel(), tk.Chi2Kernel()], ids=repr
)
def test_rows_of_other_columns_are_refused(kernel):
    """The loops over columns would read beyond the shorter rows."""
    for A, B in ((X, X[:, :2]), (X[:, :2], X)):
        with pytest.raises(ValueError, match="columns and Y has"):
            kernel(np.abs(A), np.abs(B))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("dtype", "sizes"), [(np.float64, (1e-300, 1e300)), (np.float32, (1e-30, 1e30))]
)
def test_an_angle_does_not_depend_on_lengths(make, dtype, sizes):
    expected = tk.CosineKernel()(X)
    lengths = np.where(np.arange(len(X)) % 2, *sizes)[:, None]
    rows = make((X * lengths).astype(dtype))
    found = tk.CosineKernel()(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tk.CosineKernel().diag(rows), 1.0)
    phi = tk.CosineKernel().feature_map(3)(rows)
    np.testing.assert_allclose(phi @ phi.T, expected, rtol=1e-5, atol=1e-6)


def test_what_is_no_kernel_and_no_object_is_named():
    with pytest.raises(ValueError, match="gamma must be at least 0"):
        tk.RBF.from_gamma(-1.0)
    with pytest.raises(TypeError, match="'a' is no kernel"):
        tk.RBF() + "a"
    with pytest.raises(TypeError, match="compares strings"):
        tk.SpectrumKernel(2)([1, 2])
    with pytest.raises(TypeError, match="give a list of them"):
        tk.SetIntersectionKernel()("abc")
    assert tk.SpectrumKernel(1)([("a", "b"), ("b", "b")]).tolist() == [[2.0, 2.0], [2.0, 4.0]]
