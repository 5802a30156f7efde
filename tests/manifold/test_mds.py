"""Multidimensional scaling: rigid motions, stress, missing distances, order alone, new points."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.isotonic import IsotonicRegression

import tenfold
from tenfold import MDS, PCA, ClassicalMDS, smacof, stress
from tenfold.manifold._smacof import RankedPairs, from_matrix


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(3).normal(size=(60, 2)) * [3.0, 1.0]


@pytest.fixture(scope="module")
def distances(points):
    return squareform(pdist(points))


@pytest.mark.parametrize(
    "model",
    [
        ClassicalMDS(metric="precomputed"),
        MDS(metric="precomputed", eps=1e-14, max_iter=2000),
        MDS(metric="precomputed", init="random", n_init=20, random_state=0, algorithm="lbfgs"),
    ],
    ids=["classical", "smacof", "restarts"],
)
def test_true_distances_give_the_points_back_up_to_a_rigid_motion(model, points, distances):
    Z = model.fit_transform(distances)
    assert procrustes(points, Z)[2] < 1e-7
    assert_allclose(pdist(Z), pdist(points), atol=1e-3)  # the scale too


def test_points_of_a_plane_in_space_have_no_stress():
    """The homework of the notes: x = W z with orthonormal W, Euclidean distances."""
    rng = np.random.default_rng(0)
    W = np.linalg.qr(rng.normal(size=(7, 2)))[0]
    model = MDS(eps=1e-15, max_iter=500).fit(rng.normal(size=(40, 2)) @ W.T)
    assert model.stress_ < 1e-20
    assert model.converged_


def test_the_guttman_transform_is_a_gradient_step_of_length_one_over_2n(distances):
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(60, 2))
    Y -= Y.mean(axis=0)
    data = from_matrix(distances, None)
    sums = data.sums(Y)
    assert_allclose(data.guttman(sums), Y - data.gradient(Y, sums) / (2 * 60), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_of_the_stress_is_its_derivative(distances, weighted):
    rng = np.random.default_rng(2)
    D, Y = distances[:12, :12], rng.normal(size=(12, 2))
    W = rng.uniform(0.2, 2, (12, 12))
    W = np.triu(W, 1) + np.triu(W, 1).T if weighted else None
    data = from_matrix(D, W)
    gradient = data.gradient(Y, data.sums(Y))
    for i, d in ((0, 0), (5, 1), (11, 0)):
        step = np.zeros_like(Y)
        step[i, d] = 1e-6
        change = stress(D, Y + step, weights=W) - stress(D, Y - step, weights=W)
        assert_allclose(change / 2e-6, gradient[i, d], rtol=1e-5, atol=1e-6)


def test_an_iteration_is_that_of_the_textbook():
    """Borg and Groenen (2005), page 154."""
    D = np.array([[0, 5, 3, 4], [5, 0, 2, 2], [3, 2, 0, 1], [4, 2, 1, 0]])
    Z = np.array([[-0.266, -0.539], [0.451, 0.252], [0.016, -0.238], [-0.200, 0.524]])
    with pytest.warns(UserWarning, match="did not converge"):
        moved, _ = smacof(D, init=Z, max_iter=1)
    wanted = [[-1.415, -2.471], [1.633, 1.107], [0.249, -0.067], [-0.468, 1.431]]
    assert_allclose(moved, wanted, atol=1e-3)


def test_the_stress_is_a_sum_over_pairs_of_the_map():
    rng = np.random.default_rng(5)
    D = squareform(pdist(rng.normal(size=(30, 5))))
    for normalized in (False, True):
        model = MDS(metric="precomputed", normalized_stress=normalized).fit(D)
        gaps = pdist(model.embedding_)
        raw = ((gaps - squareform(D)) ** 2).sum()
        wanted = np.sqrt(raw / (gaps**2).sum()) if normalized else raw
        assert_allclose(model.stress_, wanted)
        assert_allclose(stress(D, model.embedding_, normalized=normalized), wanted)
    assert (np.diff(model.history_["objective"]) <= 1e-10).all()


def test_both_algorithms_end_in_a_point_without_slope():
    D = squareform(pdist(np.random.default_rng(7).normal(size=(40, 6))))
    ends = [
        MDS(metric="precomputed", eps=1e-13, max_iter=20_000, algorithm=a).fit(D).stress_
        for a in ("smacof", "lbfgs")
    ]
    assert_allclose(ends[0], ends[1], rtol=1e-6)


def test_the_best_of_several_random_starts_is_kept():
    D = squareform(pdist(np.random.default_rng(8).normal(size=(25, 5))))
    one = [MDS(metric="precomputed", init="random", random_state=s).fit(D).stress_ for s in (0, 1)]
    many = MDS(metric="precomputed", init="random", n_init=8, random_state=0).fit(D)
    assert many.stress_ <= one[0]
    assert one[0] != one[1]


def test_missing_distances_do_not_count(points, distances):
    """Half of the distances give the map of all of them."""
    D = distances.copy()
    gone = np.triu(np.random.default_rng(0).random(D.shape) < 0.5, 1)
    D[gone | gone.T] = np.nan
    model = MDS(metric="precomputed", eps=1e-13, max_iter=5000).fit(D)
    assert model.stress_ < 1e-6
    assert procrustes(points, model.embedding_)[2] < 1e-7


def test_a_missing_distance_is_a_pair_of_weight_zero(distances):
    D, W = distances[:20, :20].copy(), np.ones((20, 20))
    W[3, 7] = W[7, 3] = 0
    weighted = MDS(metric="precomputed").fit(D, weights=W)
    D[3, 7] = D[7, 3] = np.nan
    start = MDS(metric="precomputed").fit(distances[:20, :20]).embedding_
    a = MDS(metric="precomputed").fit(D, init=start).stress_
    b = MDS(metric="precomputed").fit(distances[:20, :20], init=start, weights=W).stress_
    assert_allclose(a, b, atol=1e-12)
    assert np.isfinite(weighted.stress_)


def test_equal_weights_change_nothing_and_a_heavy_pair_is_fitted():
    D = squareform(pdist(np.random.default_rng(9).normal(size=(20, 6))))
    start = np.random.default_rng(1).normal(size=(20, 2))
    plain = MDS(metric="precomputed").fit(D, init=start)
    same = MDS(metric="precomputed").fit(D, init=start, weights=np.full((20, 20), 2.0))
    assert_allclose(plain.embedding_, same.embedding_, atol=1e-8)
    W = np.ones((20, 20))
    W[0, 1] = W[1, 0] = 1e4
    heavy = MDS(metric="precomputed", max_iter=3000).fit(D, init=start, weights=W)
    gap = np.linalg.norm(heavy.embedding_[0] - heavy.embedding_[1])
    assert abs(gap - D[0, 1]) < 1e-2


def test_groups_without_a_link_are_refused():
    D = np.full((6, 6), np.nan)
    D[:3, :3] = D[3:, 3:] = 1 - np.eye(3)
    with pytest.raises(ValueError, match="2 groups of rows that no distance links"):
        MDS(metric="precomputed").fit(D)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([[0, 1.0], [2, 0]], "Array must be symmetric"),
        ([[0, -1.0], [-1, 0]], "must not be negative"),
        ([[0, np.inf], [np.inf, 0]], "infinity"),
        ([[0, 1.0, 2], [1, 0, 2]], "square"),
    ],
)
def test_what_is_no_dissimilarity_is_refused(D, message):
    with pytest.raises(ValueError, match=message):
        MDS(metric="precomputed").fit(np.array(D))
    with pytest.raises(ValueError, match=message if message != "infinity" else "infin"):
        ClassicalMDS(metric="precomputed").fit(np.array(D))


def test_disparities_are_those_of_isotonic_regression():
    rng = np.random.default_rng(0)
    D = squareform(rng.integers(1, 6, 45).astype(float))  # full of ties
    pairs = RankedPairs.of(D, None)
    gaps = pairs.distances(rng.normal(size=(10, 2)))
    wanted = IsotonicRegression().fit_transform(pairs.values, gaps)
    assert_allclose(pairs.disparities(gaps), wanted / np.sqrt((wanted**2).mean()))


def test_non_metric_scaling_sees_the_order_alone(points, distances):
    params = {"metric": "precomputed", "metric_mds": False, "max_iter": 2000, "eps": 1e-10}
    a = MDS(**params).fit(distances)
    start = a.embedding_ + np.random.default_rng(0).normal(size=points.shape) * 0.01
    b = MDS(**params).fit(distances**3, init=start)  # a monotone function of the distances
    assert a.stress_ < 1e-3
    assert procrustes(points, a.embedding_)[2] < 1e-4
    assert procrustes(points, b.embedding_)[2] < 1e-3
    assert (np.diff(a.disparities_) >= 0).all()


def test_non_metric_scaling_has_a_lower_normalized_stress_than_metric():
    from sklearn.datasets import load_iris

    X = np.unique(load_iris().data, axis=0)
    params = {"normalized_stress": True, "max_iter": 1000}
    metric = MDS(**params).fit(X).stress_
    assert MDS(metric_mds=False, **params).fit(X).stress_ < metric


def test_a_dissimilarity_of_zero_is_no_missing_one():
    D = squareform(pdist(np.array([[0.0, 0], [0, 0], [3, 0], [0, 4]])))
    model = MDS(metric="precomputed", metric_mds=False, init="random", random_state=1).fit(D)
    assert np.linalg.norm(model.embedding_[0] - model.embedding_[1]) < 0.05


def test_classical_scaling_of_euclidean_distances_is_pca():
    X = np.random.default_rng(0).normal(size=(300, 6)) @ np.diag([5, 4, 3, 2, 1, 1])
    Z, P = ClassicalMDS(3).fit(X), PCA(3).fit(X)
    scores = P.transform(X)
    signs = np.sign((Z.embedding_ * scores).sum(axis=0))
    assert_allclose(Z.embedding_ * signs, scores, atol=1e-8)
    assert_allclose(np.sqrt(Z.eigenvalues_), P.singular_values_)
    assert_allclose(Z.transform(X[:5] + 1) * signs, P.transform(X[:5] + 1), atol=1e-8)


def test_few_eigenvectors_by_iteration_are_those_of_all():
    D = squareform(pdist(np.random.default_rng(0).normal(size=(260, 5)), "cityblock"))
    few = ClassicalMDS(2, metric="precomputed").fit(D)
    B = -0.5 * (D**2 - (D**2).mean(0) - (D**2).mean(1)[:, None] + (D**2).mean())
    values = np.linalg.eigvalsh(B)[::-1]
    assert_allclose(few.eigenvalues_, values[:2])


def test_negative_eigenvalues_give_columns_of_zeros():
    D = np.array([[0, 1.0, 5], [1, 0, 1], [5, 1, 0]])  # no triangle
    model = ClassicalMDS(3, metric="precomputed").fit(D)
    assert model.eigenvalues_[-1] < 0
    assert_array_equal(model.embedding_[:, -1], 0)


def test_landmarks_place_all_points_of_a_plane(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 2)) @ np.random.default_rng(1).normal(
        size=(2, 9)
    )
    model = ClassicalMDS(2, n_landmarks=12).fit(X)
    assert len(model.landmark_indices_) == 12
    assert_allclose(pdist(model.embedding_), pdist(X), atol=1e-7)
    np.save(tmp_path / "X.npy", X)
    again = ClassicalMDS(2, n_landmarks=12).fit(tmp_path / "X.npy")
    assert_array_equal(again.embedding_, model.embedding_)
    given = ClassicalMDS(2, n_landmarks=12, metric="precomputed").fit(squareform(pdist(X)))
    assert_allclose(pdist(given.embedding_), pdist(X), atol=1e-6)


@pytest.mark.parametrize("metric_mds", [True, False])
def test_new_points_of_the_plane_find_their_place(points, distances, metric_mds):
    known, new = points[:50], points[50:]
    model = MDS(metric="precomputed", eps=1e-12, max_iter=3000, metric_mds=metric_mds).fit(
        distances[:50, :50]
    )
    placed = model.transform(cdist(new, known))
    together = np.vstack([model.embedding_, placed])
    assert procrustes(points, together)[2] < (1e-8 if metric_mds else 1e-2)
    partly = cdist(new, known)
    partly[:, ::2] = np.nan
    if metric_mds:
        assert_allclose(model.transform(partly), placed, atol=1e-3)


def test_rows_of_the_fit_keep_their_points(points):
    model = MDS(metric="manhattan").fit(points)
    assert_array_equal(model.transform(points), model.embedding_)


def test_a_row_without_any_dissimilarity_is_named(distances):
    model = MDS(metric="precomputed").fit(distances)
    with pytest.raises(ValueError, match="row 1 has no dissimilarity"):
        model.transform(np.vstack([distances[0], np.full(60, np.nan)]))


def test_distances_in_a_file_give_the_same_bits(tmp_path, distances):
    np.save(tmp_path / "D.npy", distances)
    a = MDS(metric="precomputed").fit(distances)
    b = MDS(metric="precomputed").fit(tmp_path / "D.npy")
    assert_array_equal(a.embedding_, b.embedding_)
    with tenfold.threads(2):
        assert_array_equal(MDS(metric="precomputed").fit(distances).embedding_, a.embedding_)


@pytest.mark.skipif("TENFOLD_DATA" not in os.environ, reason="needs TENFOLD_DATA")
def test_the_city_map_of_the_notes():
    """000: airports, d = 1 / number of direct routes, 10 where there is none, top 100.

    The notebook prints stresses of four restarts, 54534, 68958, 57597 and 60965, with 10 on the
    diagonal too: 100 * 10^2 / 2 of each. The United States and Europe are apart.
    """
    data = tenfold.datasets.fetch_openflights(extended=True)
    D, names, countries = city_distances(data, 100)
    model = MDS(metric="precomputed", init="random", n_init=4, random_state=0).fit(D)
    assert 50_000 < model.stress_ + 5_000 < 57_597
    better = MDS(metric="precomputed", init="classical_mds", max_iter=1000).fit(D)
    Z = better.embedding_
    us, eu = (
        (countries == "United States"),
        np.isin(
            countries, ["Germany", "France", "Spain", "Italy", "United Kingdom", "Netherlands"]
        ),
    )
    between = np.linalg.norm(Z[us].mean(axis=0) - Z[eu].mean(axis=0))
    spread = np.linalg.norm(Z[us] - Z[us].mean(axis=0), axis=1).mean()
    assert between > spread
    assert {"ATL", "FRA", "LHR", "PEK"} <= set(names)


def city_distances(data, n):
    """Distances 1 / (direct routes) between the airports with most routes, 10 where none is."""
    routes, airports = data.routes, data.airports
    codes = {code: i for i, code in enumerate(airports["iata"]) if code}
    counts = {}
    for a, b, stops in zip(routes["source"], routes["destination"], routes["stops"], strict=True):
        if int(stops) == 0 and a in codes and b in codes:
            counts[a, b] = counts.get((a, b), 0) + 1
            counts[b, a] = counts.get((b, a), 0) + 1
    totals = {}
    for (a, _), count in counts.items():
        totals[a] = totals.get(a, 0) + count
    names = sorted(totals, key=lambda a: (-totals[a], a))[:n]
    D = np.full((n, n), 10.0)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            D[i, j] = 0.0 if i == j else 1.0 / counts[a, b] if (a, b) in counts else 10.0
    return D, names, np.array([airports["country"][codes[a]] for a in names])


def test_a_start_that_is_no_number_is_named():
    X, start = np.ones((5, 5)) - np.eye(5), np.zeros((5, 2))
    start[3, 1] = np.nan
    with pytest.raises(ValueError, match="init has NaN or infinity in row 3"):
        MDS(metric="precomputed").fit(X, init=start)


def test_distances_that_are_all_missing_are_refused():
    with pytest.raises(ValueError, match="all entries are NaN"):
        MDS(metric="precomputed").fit(np.full((5, 5), np.nan))
