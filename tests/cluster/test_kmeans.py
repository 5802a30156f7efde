"""k-means against scikit-learn, all partitions of small tables, and the notes."""

import re
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import chisquare
from sklearn import cluster
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from tenfold import KMeans, MiniBatchKMeans, SphericalKMeans
from tenfold.cluster.initialization import kmeans_plusplus_init, sample_candidates
from tenfold.engine import Rows
from tenfold.engine.arrays import ArraySource

SQUARE = np.array([[0.0, 0], [0, 2], [4, 0], [4, 2]])
SIX = np.array([[-3.0, -3], [-1, -3], [3, 0], [-2, -1], [0, 0], [-1, -2]])  # A to F, worked by hand


def table(n=500, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def squares(X, centres):
    """Squared distances from differences, in float64."""
    X, centres = np.asarray(X, dtype=float), np.asarray(centres, dtype=float)
    return ((X[:, None] - centres) ** 2).sum(axis=2)


def least_cost(X, k):
    """The best of all partitions into at most k groups."""
    costs = []
    for labels in product(range(k), repeat=len(X)):
        groups = [X[np.array(labels) == j] for j in set(labels)]
        costs.append(sum(((g - g.mean(axis=0)) ** 2).sum() for g in groups))
    return min(costs)


def both(X, k, w=None, **options):
    """Our fit and scikit-learn's, from the same centres."""
    options = {"init": X[:k], "n_init": 1, **options}
    init = options.pop("init")
    init = init.toarray() if sparse.issparse(init) else init.copy()
    ours = KMeans(k, init=init, **options).fit(X, sample_weight=w)
    return ours, cluster.KMeans(k, init=init, **options).fit(X, sample_weight=w)


# ------------------------------------------------------------------------------- scikit-learn's


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "p", "k"), [(200, 2, 3), (1000, 5, 8), (3000, 3, 20), (30, 1, 4)])
def test_the_same_start_leads_where_scikit_learns_leads(n, p, k, weighted, shift):
    X = table(n, p) + shift
    w = np.random.default_rng(1).integers(0, 3, n).astype(float) if weighted else None
    ours, theirs = both(X, k, w)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-12, atol=1e-12)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-9)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_every_round_is_scikit_learns(rounds):
    ours, theirs = both(table(), 8, max_iter=rounds, tol=0.0)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-12)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.inertia_, theirs.inertia_)


def test_sparse_is_dense():
    X = sparse.random_array((300, 40), density=0.2, rng=np.random.default_rng(0), format="csr")
    ours, theirs = both(X, 5)
    dense = KMeans(5, init=X[:5].toarray()).fit(X.toarray())
    for other in (theirs, dense):
        assert_allclose(ours.cluster_centers_, other.cluster_centers_, atol=1e-12)
        assert_array_equal(ours.labels_, other.labels_)
        assert_allclose(ours.inertia_, other.inertia_)
    assert_array_equal(ours.predict(X), dense.predict(X.toarray()))
    assert_allclose(ours.transform(X), dense.transform(X.toarray()), atol=1e-12)
    assert_allclose(ours.score(X), -dense.inertia_)


def test_outputs_are_scikit_learns():
    X = table()
    ours, theirs = both(X, 5)
    new = table(seed=1)
    assert_array_equal(ours.predict(new), theirs.predict(new))
    assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-12)
    assert_allclose(ours.transform(new) ** 2, squares(new, ours.cluster_centers_), atol=1e-12)
    assert_allclose(ours.score(new), theirs.score(new))
    assert_allclose(ours.score(new, sample_weight=np.full(500, 2.0)), 2 * ours.score(new))
    assert_allclose(ours.score(X), -ours.inertia_)
    assert_array_equal(ours.predict(X), ours.labels_)
    again = KMeans(5, init=X[:5])
    assert_array_equal(again.fit_predict(X), ours.labels_)
    assert_allclose(again.fit_transform(X), ours.transform(X), atol=1e-12)
    assert list(ours.get_feature_names_out()) == [f"kmeans{j}" for j in range(5)]


# ------------------------------------------------------------------------------------ the notes


def test_worked_examples():
    square = KMeans(2, init=SQUARE[[0, 2]]).fit(SQUARE)  # [002, 7.3]
    assert square.inertia_ == 4.0
    assert KMeans(2, init=SQUARE[[0, 1]]).fit(SQUARE).inertia_ == 16.0  # stuck: no global optimum
    best = KMeans(2, init=SIX[[1, 5]]).fit(SIX)  # starts B and F, then E and C
    assert_allclose(best.cluster_centers_, [[-1.75, -2.25], [1.5, 0]])
    assert_array_equal(best.labels_, [0, 0, 1, 0, 1, 0])
    assert_allclose(best.history_["objective"][:3], [31, 18.125, 10])
    stuck = KMeans(2, init=SIX[[4, 2]]).fit(SIX)
    assert_allclose(stuck.cluster_centers_, [[-1.4, -1.8], [3, 0]])
    assert_allclose([best.inertia_, stuck.inertia_], [10, 12])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(12, 200), st.floats(-1e3, 1e3))
def test_no_half_step_raises_the_cost(seed, k, n, shift):  # [000, 4.1; 003, unit 4; 004, 6.2]
    X = table(n, 2, seed) + shift
    model = KMeans(k, init=X[:k], tol=0.0).fit(X)
    centres, costs = X[:k], []
    for _ in range(model.n_iter_):
        labels = squares(X, centres).argmin(axis=1)
        costs.append(squares(X, centres)[np.arange(n), labels].sum())
        assert costs[-1] <= costs[max(len(costs) - 2, 0)] + 1e-9
        centres = np.stack(
            [X[labels == j].mean(axis=0) if (labels == j).any() else centres[j] for j in range(k)]
        )
        moved = squares(X, centres)[np.arange(n), labels].sum()
        assert moved <= costs[-1] + 1e-9
    assert_allclose(model.history_["objective"], costs, rtol=1e-8, atol=1e-8)
    assert_allclose(
        model.cluster_centers_, centres, atol=1e-9
    )  # a fixed point: means of their rows
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # some rows are equal
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(3, 8), st.booleans())
def test_restarts_find_the_best_of_all_partitions(seed, k, n, whole):
    X = table(n, 2, seed)
    X = np.round(2 * X) if whole else X  # whole numbers: ties and equal rows
    model = KMeans(k, n_init=40, random_state=seed, init="random").fit(X)
    assert_allclose(model.inertia_, least_cost(X, k), rtol=1e-9, atol=1e-9)


def test_more_clusters_cost_less_down_to_nothing():  # [002, 7.3; 003, unit 4; 004, 6.2]
    X = table(12, 2)
    costs = [KMeans(k, n_init=30, random_state=0).fit(X).inertia_ for k in range(1, 13)]
    assert (np.diff(costs) < 0).all()
    assert_allclose(costs[0], ((X - X.mean(axis=0)) ** 2).sum())
    assert costs[-1] == 0.0


def test_one_cluster_is_the_mean_and_n_are_the_rows():
    X = table(50)
    one = KMeans(1).fit(X)
    assert_allclose(one.cluster_centers_, X.mean(axis=0)[None])
    assert_allclose(one.inertia_, ((X - X.mean(axis=0)) ** 2).sum())
    assert set(one.labels_) == {0}
    each = KMeans(50, random_state=0).fit(X)
    assert each.inertia_ == 0.0
    assert sorted(each.labels_) == list(range(50))
    with pytest.raises(ValueError, match="n_samples=50"):
        KMeans(51).fit(X)


def test_a_tie_goes_to_the_first_centre():
    X = np.array([[-1.0], [0.0], [1.0], [3.0], [4.0], [5.0]])
    model = KMeans(2, init=[[0.0], [4.0]]).fit(X)
    assert model.predict([[2.0]]).tolist() == [0]
    swapped = KMeans(2, init=[[4.0], [0.0]]).fit(X)
    assert swapped.predict([[2.0]]).tolist() == [0]


# ------------------------------------------------------------------------- empty and equal rows


@pytest.mark.parametrize("far", [1, 2, 3])
def test_empty_clusters_get_the_farthest_rows_as_in_scikit_learn(far):
    X = table(100, 2)
    init = np.vstack([X[:2], 1e3 * (1 + np.arange(2 * far).reshape(far, 2))])
    ours, theirs = both(X, 2 + far, init=init)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-12)
    assert np.bincount(ours.labels_, minlength=2 + far).min() > 0
    assert_allclose(ours.inertia_, squares(X, ours.cluster_centers_).min(axis=1).sum())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans())
def test_no_cluster_stays_empty(seed, k, weighted):
    X = table(60, 2, seed)
    w = np.random.default_rng(seed).integers(0, 3, 60).astype(float) if weighted else None
    model = KMeans(k, init=np.full((k, 2), 7.0)).fit(X, sample_weight=w)
    assert (np.bincount(model.labels_, weights=w, minlength=k) > 0).all()
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_fewer_different_rows_than_clusters(init):
    X = np.repeat([[0.5], [1.25]], 5, axis=0)
    with pytest.warns(ConvergenceWarning) as said:
        model = KMeans(4, init=init, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match=re.escape(str(said[0].message))):
        cluster.KMeans(4, init=init, random_state=0).fit(X)
    assert said[0].filename == __file__  # it points to who called
    assert model.inertia_ == 0.0
    assert set(model.cluster_centers_.ravel()) == {0.5, 1.25}
    assert len(set(model.labels_[:5])) == len(set(model.labels_[5:])) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_few_points_that_repeat_are_found_at_once(dtype):
    """Means of equal rows are rounded, so another row was the farthest in every round."""
    points = np.random.default_rng(0).uniform(0, 6, (5, 2)).astype(dtype)
    with pytest.warns(ConvergenceWarning) as said:
        model = KMeans(15, random_state=0).fit(np.repeat(points, 12, axis=0))
    assert [str(each.message)[:9] for each in said] == ["Number of"]
    assert model.converged_
    assert model.n_iter_ < 10
    assert len(set(model.labels_)) == 5


def test_fewer_directions_than_clusters():
    X = np.repeat([[1.0, 0.0], [0.0, 2.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"\(2\) found smaller than n_clusters \(3"):
        SphericalKMeans(3, random_state=0).fit(X)


# -------------------------------------------------------------------------------------- weights


def test_rows_of_no_weight_are_absent():
    X = table(100, 2)
    w = np.tile([0.0, 1.0], 50)
    X[w == 0] += 1e6
    ours = KMeans(3, init=X[1:7:2]).fit(X, sample_weight=w)
    only = KMeans(3, init=X[1:7:2]).fit(X[w > 0])
    assert_allclose(ours.cluster_centers_, only.cluster_centers_, atol=1e-9)
    assert_allclose(ours.inertia_, only.inertia_, rtol=1e-9)
    assert_array_equal(ours.labels_[w > 0], only.labels_)
    drawn = KMeans(3, random_state=0).fit(X, sample_weight=w)
    assert np.abs(drawn.cluster_centers_).max() < 10


def test_weights_are_repetitions_from_the_same_seed():
    X = table(100, 2)
    times = np.random.default_rng(0).integers(0, 4, 100)
    weighted = KMeans(5, random_state=0).fit(X, sample_weight=times)
    repeated = KMeans(5, random_state=0).fit(np.repeat(X, times, axis=0))
    assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-9)
    assert_allclose(weighted.inertia_, repeated.inertia_)


# --------------------------------------------------------------------------------------- starts


def test_seeds():
    X = table()
    a, b, c = (KMeans(8, random_state=s, max_iter=300).fit(X) for s in (0, 0, 1))
    assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    assert not np.array_equal(a.cluster_centers_, c.cluster_centers_)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_more_starts_keep_the_best(init):
    X = table(80, 2)
    costs = [KMeans(6, init=init, n_init=m, random_state=3).fit(X).inertia_ for m in (1, 5, 25)]
    assert costs[0] >= costs[1] >= costs[2]  # the first starts are the same
    assert costs[2] < costs[0] or init == "k-means++"  # which found it at once


def test_a_start_of_ones_own():
    X = table(100, 2)
    given_centres = KMeans(4, init=X[10:14]).fit(X)
    drawn = KMeans(4, init=lambda X, k, **_: X[10 : 10 + k]).fit(X)
    assert_array_equal(drawn.cluster_centers_, given_centres.cluster_centers_)
    theirs = KMeans(4, init=lambda X, k, random_state: X[random_state.permutation(len(X))[:k]])
    assert np.isfinite(theirs.fit(X).inertia_)
    with pytest.raises(ValueError, match=r"centers \(3, 2\) does not match the number of clusters"):
        KMeans(4, init=X[:3]).fit(X)
    with pytest.raises(ValueError, match=r"number of features of the data.* \(4, 2\) is needed"):
        KMeans(4, init=X[:4, :1]).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        KMeans(4, init=X[:4] * np.nan).fit(X)


@pytest.mark.parametrize(
    "model", [KMeans, partial(MiniBatchKMeans, batch_size=20), SphericalKMeans]
)
def test_given_centres_are_one_start_and_more_are_warned_of(model):
    X = table(100, 2)
    once = model(4, init=X[:4], random_state=0).fit(X)
    with pytest.warns(RuntimeWarning, match=r"performing only one init in .* n_init=3"):
        thrice = model(4, init=X[:4], n_init=3, random_state=0).fit(X)
    assert_array_equal(thrice.cluster_centers_, once.cluster_centers_)


def test_too_few_rows_to_start_from_are_warned_of():
    X = table(100, 2)
    with pytest.warns(RuntimeWarning, match=r"init_size=3 should be larger than n_clusters=8"):
        few = MiniBatchKMeans(8, batch_size=20, init_size=3, random_state=0).fit(X)
    enough = MiniBatchKMeans(8, batch_size=20, init_size=24, random_state=0).fit(X)
    assert_array_equal(few.cluster_centers_, enough.cluster_centers_)


def test_too_few_rounds_warn():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = KMeans(8, max_iter=1, random_state=0).fit(table())
    assert not model.converged_


def drawn_starts(X, w, k, times):
    rng = np.random.default_rng(0)
    return np.array([kmeans_plusplus_init(X, w, k, rng) for _ in range(times)])


def test_the_first_centre_follows_the_weights():
    X, w = np.arange(6.0)[:, None], np.array([1.0, 2, 3, 4, 0, 10])
    drawn = np.bincount(drawn_starts(X, w, 1, 4000).ravel().astype(int), minlength=6)
    assert drawn[4] == 0
    seen = w > 0
    assert chisquare(drawn[seen], 4000 * w[seen] / w.sum()).pvalue > 1e-3


def test_the_second_centre_follows_weight_times_squared_distance():  # [004, 6.2]
    X, w = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 1.0])
    starts = drawn_starts(X, w, 2, 6000)[:, :, 0]
    second = starts[starts[:, 0] == 0][:, 1]
    # of two candidates the better is taken: 1 leaves 1 * (3 - 1)^2, 3 leaves 2 * 1^2, so 3 wins
    share = (2 * 1) / (2 * 1 + 9)
    assert (
        chisquare(
            [(second == 1).sum(), (second == 3).sum()],
            len(second) * np.array([share**2, 1 - share**2]),
        ).pvalue
        > 1e-3
    )
    assert not (second == 0).any()  # a chosen row is not drawn again


def test_plus_plus_hits_every_blob():  # [004, 6.2]
    X, y = make_blobs(600, centers=6, cluster_std=0.3, center_box=(-40, 40), random_state=2)
    hits = [
        len(np.unique(y[squares(X, s).argmin(axis=0)]))
        for s in drawn_starts(X, np.ones(600), 6, 60)
    ]
    assert np.mean(np.array(hits) == 6) > 0.95
    found = [KMeans(6, random_state=s).fit(X).inertia_ for s in range(20)]
    blind = [KMeans(6, init="random", n_init=1, random_state=s).fit(X).inertia_ for s in range(20)]
    assert np.mean(found) < np.mean(blind)
    rng = np.random.RandomState(0)
    theirs = [kmeans_plusplus(X, 6, random_state=rng)[0] for _ in range(20)]
    ours = drawn_starts(X, np.ones(600), 6, 20)
    cost = [np.mean([squares(X, s).min(axis=1).sum() for s in t]) for t in (ours, theirs)]
    assert cost[0] < 1.2 * cost[1]


@pytest.mark.parametrize("width", [2, 300])
def test_a_weighted_sample_is_as_large_as_asked(width):
    X = table(25_000 if width == 2 else 3000, width)
    w = np.where(np.arange(len(X)) % 2, 1.0, 3.0)
    rows = Rows(ArraySource(X, None, w))
    m = 2000
    sample, weight = sample_candidates(rows, m, seed=0)
    assert len(sample) == m
    assert_array_equal(weight, 1.0)
    heavy = np.isin(sample[:, 0], X[::2, 0]).mean()
    assert heavy > 0.6 if width == 2 else heavy > 0.5
    whole, weight = sample_candidates(rows, len(X), seed=0)
    assert len(whole) == len(X)
    assert_array_equal(weight, w)


# ------------------------------------------------------------------------------------- accuracy


@pytest.mark.parametrize(
    ("dtype", "shift"), [(np.float64, 1e6), (np.float64, 1e8), (np.float32, 1e4)]
)
def test_rows_far_from_zero(dtype, shift):
    X = (table(300, 2) + shift).astype(dtype)
    near = X.astype(float) - shift
    model = KMeans(5, init=X[:5]).fit(X)
    centred = KMeans(5, init=near[:5]).fit(near)
    unit = np.finfo(dtype).eps * shift
    assert_array_equal(model.labels_, centred.labels_)
    assert_allclose(
        model.cluster_centers_.astype(float) - shift, centred.cluster_centers_, atol=unit
    )
    assert_allclose(model.inertia_, centred.inertia_, rtol=1e-4)
    assert model.cluster_centers_.dtype == dtype
    assert_array_equal(model.predict(X), squares(X, model.cluster_centers_).argmin(axis=1))
    assert_allclose(model.score(X), -model.inertia_, rtol=1e-4)
    distances = np.sqrt(squares(X, model.cluster_centers_))
    assert_allclose(model.transform(X), distances, rtol=1e-4, atol=unit)


def test_float32_is_float64_but_for_rounding():
    X = table(400, 4)
    model = KMeans(6, init=X[:6].astype(np.float32)).fit(X.astype(np.float32))
    wide = KMeans(6, init=X[:6]).fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.cluster_centers_, wide.cluster_centers_, atol=1e-5)
    assert_allclose(model.inertia_, wide.inertia_, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scale_only_scales(scale):
    X = table(100, 2)
    plain, scaled = KMeans(3, init=X[:3]).fit(X), KMeans(3, init=X[:3] * scale).fit(X * scale)
    assert_array_equal(plain.labels_, scaled.labels_)
    assert_allclose(scaled.inertia_ / scale**2, plain.inertia_)
