"""Kernels given as matrices, functions, names, and kernels of objects, in all kernel machines."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import tenfold
from tenfold import kernel as tk

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.arange(12) % 2
MACHINES = [
    tenfold.KernelLogisticRegression(),
    tenfold.KernelPCA(2),
    tenfold.KernelPerceptron(max_iter=500),
    tenfold.KernelRidge(),
    tenfold.KernelRidgeCV(),
    tenfold.NuSVC(),
    tenfold.NuSVR(),
    tenfold.OneClassSVM(),
    tenfold.PrimalSVC(alpha=0.1),
    tenfold.SVC(),
    tenfold.SVR(),
]
each_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: type(m).__name__)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_gram_check_names_an_entry_that_is_no_number(bad):
    K = np.eye(3)
    K[1, 2] = K[2, 1] = bad
    with pytest.raises(ValueError, match=r"entry \(1, 2\) is (nan|inf)"):
        tk.check_gram(K)


def test_gram_check_takes_functions_and_names():
    assert tk.check_gram("laplacian", X)
    assert tk.check_gram(lambda a, b: float(a @ b), X)
    found = tk.check_gram(lambda a, b: a[0] - b[0], X.tolist())
    assert not found
    assert found.asymmetry == pytest.approx(2 * np.ptp(X[:, 0]))


@each_machine
def test_asymmetric_matrices_are_refused(machine):
    model = clone(machine).set_params(kernel="precomputed")
    K = tk.RBF()(X)
    model.fit(K * (1 + 1e-12 * np.triu(K)), Y)  # rounding
    K[7, 2] += 1.0
    with pytest.raises(ValueError, match=r"not symmetric: entry \((7, 2|2, 7)\)"):
        model.fit(K, Y)


def test_asymmetry_is_found_beyond_the_first_tile():
    K = np.eye(700, dtype=np.float32)
    K[650, 300] = 1.0
    with pytest.raises(ValueError, match=r"entry \(300, 650\) is 0 and entry \(650, 300\) is 1"):
        tenfold.SVC(kernel="precomputed").fit(K, np.arange(700) % 2)
    with pytest.raises(ValueError, match="not symmetric"):
        tenfold.Nystroem(kernel="precomputed", n_components=700, random_state=0).fit(K)


WORDS = ["abab", "abba", "baba", "cdcd", "ccdd", "dcdc", "abcb", "cdda"]
WORD_LABELS = [0, 0, 0, 1, 1, 1, 0, 1]


def _outputs(model, rows):
    return model.transform(rows) if hasattr(model, "transform") else model.predict(rows)


@each_machine
def test_kernels_of_objects_are_those_of_their_gram_matrix(machine, tmp_path):
    kernel, new = tk.SpectrumKernel(2), ["abab", "dcdcdc"]
    model = clone(machine).set_params(kernel=kernel).fit(WORDS, WORD_LABELS)
    given = clone(machine).set_params(kernel="precomputed").fit(kernel(WORDS), WORD_LABELS)
    expected = _outputs(given, kernel(new, WORDS))
    np.testing.assert_array_equal(_outputs(model, new), expected)
    np.testing.assert_array_equal(_outputs(model, np.array(new)), expected)
    model.save(tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    np.testing.assert_array_equal(_outputs(loaded, new), expected)
    model.set_params(kernel="rbf").fit(X, Y)
    assert not hasattr(model, "objects_fit_")


def test_sets_are_classified_in_cross_validation():
    sets = [set(word) for word in WORDS]
    model = tenfold.SVC(kernel=tk.SetIntersectionKernel())
    assert model.fit(sets, WORD_LABELS).score(sets, WORD_LABELS) == 1.0
    scores = cross_val_score(model, sets, WORD_LABELS, cv=2)
    K = tk.SetIntersectionKernel()(sets)
    given = tenfold.SVC(kernel="precomputed")
    np.testing.assert_array_equal(scores, cross_val_score(given, K, WORD_LABELS, cv=2))


def test_a_kernel_of_objects_needs_a_sequence_of_them():
    for rows in ("abab", np.ones((8, 2))):
        with pytest.raises(TypeError, match="give a list of them"):
            tenfold.SVC(kernel=tk.SpectrumKernel(2)).fit(rows, WORD_LABELS)
    with pytest.raises(ValueError, match="landmarks need rows; take KernelRidge"):
        tenfold.NystroemRidge(kernel=tk.SpectrumKernel(2)).fit(WORDS, WORD_LABELS)


@each_machine
def test_the_object_of_a_precomputed_kernel_is_its_name(machine):
    K = tk.RBF()(X)
    named = clone(machine).set_params(kernel="precomputed").fit(K, Y)
    model = clone(machine).set_params(kernel=tk.PrecomputedKernel()).fit(K, Y)
    assert model.__sklearn_tags__().input_tags.pairwise
    np.testing.assert_array_equal(_outputs(model, K[:5]), _outputs(named, K[:5]))


def test_precomputed_kernels_are_cut_in_cross_validation():
    K = tk.RBF()(X)
    scores = cross_val_score(tenfold.SVC(kernel=tk.PrecomputedKernel()), K, Y, cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(tenfold.SVC(gamma=0.5), X, Y, cv=3))


@pytest.mark.parametrize("name", ["laplacian", "cosine", "chi2", "polynomial"])
def test_support_vector_machines_take_all_names(name):
    rows = np.abs(X)
    model = tenfold.SVC(kernel=name, gamma=0.5).fit(rows, Y)
    K = tk.resolve_kernel(name, gamma=0.5, coef0=0.0)(rows)
    given = tenfold.SVC(kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(
        model.decision_function(rows), given.decision_function(K), atol=1e-10
    )


def test_gaussian_processes_take_names_and_functions():
    rows = np.vstack([X, X + 0.5])
    target, labels = np.sin(rows[:, 0]), (rows[:, 0] > 0).astype(int)
    kernel = tk.RBF.from_gamma(1 / 3)  # as gamma=None elsewhere
    for model, y in (
        (tenfold.GaussianProcessRegressor(kernel, alpha=0.1), target),
        (tenfold.GaussianProcessClassifier(kernel), labels),
        (tenfold.SparseGaussianProcessRegressor(kernel, inducing=X, optimizer=None), target),
    ):
        expected = model.fit(rows, y).predict(X)
        named = clone(model).set_params(kernel="rbf").fit(rows, y)
        np.testing.assert_array_equal(named.predict(X), expected)
        fixed = clone(model).set_params(optimizer=None).fit(rows, y).predict(X)
        given = clone(model).set_params(kernel=lambda a, b: np.exp(-((a - b) @ (a - b)) / 3))
        np.testing.assert_allclose(given.fit(rows, y).predict(X), fixed, atol=1e-6)
    prior = tenfold.GaussianProcessRegressor("rbf").predict(X, return_cov=True)[1]
    np.testing.assert_allclose(prior, kernel(X))


def test_gaussian_processes_refuse_precomputed_values():
    K = tk.RBF()(X)
    for kernel in ("precomputed", tk.PrecomputedKernel(), 2.0 * tk.PrecomputedKernel()):
        with pytest.raises(TypeError, match=r"k\(x, x\) of new rows.*KernelRidge"):
            tenfold.GaussianProcessRegressor(kernel, alpha=0.1).fit(K, X[:, 0])


def test_landmarks_of_given_values_need_a_square_matrix():
    with pytest.raises(ValueError, match=r"square matrix.*20x4"):
        tenfold.Nystroem(kernel="precomputed", n_components=5).fit(np.ones((20, 4)))
