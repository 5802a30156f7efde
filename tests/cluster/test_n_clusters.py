"""How many clusters, what they cost, what sets them apart, what they are good for."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import silhouette_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

mpl.use("Agg")
from matplotlib import pyplot as plt

from tenfold import KMeans
from tenfold.cluster import n_clusters
from tenfold.cluster.agglomerative import AgglomerativeClustering
from tenfold.cluster.cluster_features import ClusterFeatures
from tenfold.cluster.color_quantization import image_bits, quantize
from tenfold.cluster.kmedoids import KMedoids
from tenfold.cluster.n_clusters import choose_k, elbow, gap_statistic, knee, uniform_reference
from tenfold.cluster.profiles import cluster_costs, compare_clusterings, profile_clusters
from tenfold.plot import clusters as pictures

CORNERS = np.array([[0.0, 0], [9, 0], [0, 9], [9, 9]])
MODELS = [
    KMeans(n_init=5, random_state=0),
    KMedoids(n_init=3, random_state=0),
    AgglomerativeClustering(),
]
name = lambda model: type(model).__name__  # noqa: E731


def blobs(k=4, n=200, std=1.0):
    return make_blobs(n, centers=CORNERS[:k], cluster_std=std, random_state=0)


# ------------------------------------------------------------------------------ number of clusters


@pytest.mark.parametrize("by", ["knee", "silhouette", "gap"])
@pytest.mark.parametrize("model", MODELS, ids=name)
@pytest.mark.parametrize("k", [3, 4])
def test_every_rule_finds_clusters_that_are_far_apart(k, model, by):
    X, y = blobs(k)
    choice = choose_k(model, X, range(1, 8), by=by)
    assert choice.best == k
    assert compare_clusterings(y, choice.model.labels_).adjusted_rand == 1
    assert len(choice.ks) == len(choice.values) == len(choice.errors)


def test_only_the_gap_can_say_that_there_are_no_clusters():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    assert choose_k(MODELS[0], X, range(1, 6), by="gap").best == 1
    assert choose_k(MODELS[0], X, range(1, 6), by="silhouette").best > 1


def test_the_cost_falls_down_to_zero():
    """[002, 7.3; 003, 14.5; 004, 6.2], for the best of some starts."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    costs = elbow(KMeans(n_init=30, random_state=0), X, range(1, 13))
    assert (np.diff(costs) < 0).all()
    assert_allclose(costs[-1], 0, atol=1e-20)
    assert_allclose(costs[0], ((X - X.mean(axis=0)) ** 2).sum())


def test_the_cost_of_rows_kept_aside_cannot_choose_either():
    X, _ = blobs(4, 600)
    train, aside = X[:400], X[400:]
    model = KMeans(n_init=5, random_state=0)
    costs = [-model.set_params(n_clusters=k).fit(train).score(aside) for k in (2, 4, 20)]
    assert costs[0] > costs[1] > costs[2]  # 20 clusters are "better" than the true four


def test_the_knee_of_a_corner_and_of_lines():
    assert knee([1, 2, 3, 4, 5], [10, 6, 2, 1.5, 1]) == 3
    assert knee([1, 2, 3], [3, 2, 1]) == 1
    assert knee([2, 3, 4], [1, 1, 1]) == 2
    assert knee([1, 2, 4, 8], [1e9, 1e3, 10, 1]) == 2
    with pytest.raises(ValueError, match="three"):
        knee([1, 2], [2, 1])


def test_silhouettes_are_scikit_learns():
    X, _ = blobs(3)
    choice = choose_k(MODELS[0], X, [2, 3], by="silhouette")
    for k, value in zip(choice.ks, choice.values, strict=True):
        labels = KMeans(int(k), n_init=5, random_state=0).fit_predict(X)
        assert_allclose(value, silhouette_score(X, labels))


def test_references_of_the_gap_fill_the_box_along_the_axes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1)) @ np.ones((1, 2)) + 0.01 * rng.normal(size=(400, 2))
    box = uniform_reference(X, rng)
    assert box.shape == X.shape
    assert np.ptp(box @ [1, -1]) < 0.1  # along the diagonal, not in the square about it
    assert_allclose(box.mean(axis=0), (X.max(axis=0) + X.min(axis=0)) / 2, atol=0.5)


def test_the_gap_is_its_definition():
    X, _ = blobs(2, 60)
    model = KMeans(n_init=2, random_state=0)
    found = gap_statistic(model, X, [1, 2], references=3, seed=5)
    rng = np.random.default_rng(5)
    tables = [np.log(elbow(model, uniform_reference(X, rng), [1, 2])) for _ in range(3)]
    assert_allclose(found.gap, np.mean(tables, axis=0) - np.log(elbow(model, X, [1, 2])))
    assert_allclose(found.error, np.std(tables, axis=0) * np.sqrt(4 / 3))


def test_the_gap_of_the_next_number_counts_only_beyond_its_error(monkeypatch):
    """The rule is gap(k) >= gap(k + 1) - s(k + 1): a rise within the error is none."""
    tables = iter([[0.0, 0, 0], [0.0, 0.1, 0.4], [0.0, 0.3, 0.8]])  # observed, two references
    monkeypatch.setattr(n_clusters, "_log_costs", lambda *_: np.array(next(tables)))
    found = gap_statistic(MODELS[0], CORNERS, [1, 2, 3], references=2)
    assert_allclose(found.gap, [0, 0.2, 0.6])
    assert_allclose(found.error, np.sqrt(1.5) * np.array([0, 0.1, 0.2]))
    assert found.best == 3  # 0 < 0.2 - 0.12, 0.2 < 0.6 - 0.24: each rise is beyond the error
    tables = iter([[0.0, 0, 0], [0.0, 0.0, 0.4], [0.0, 0.2, 0.8]])
    monkeypatch.setattr(n_clusters, "_log_costs", lambda *_: np.array(next(tables)))
    within = gap_statistic(MODELS[0], CORNERS, [1, 2, 3], references=2)
    assert within.gap[0] < within.gap[1] < within.gap[0] + within.error[1]
    assert within.best == 1


def test_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="is unknown"):
        choose_k(MODELS[0], CORNERS, by="feeling")


# ----------------------------------------------------------------------------------------- costs


def test_costs_of_the_notes_from_their_definitions():
    X, labels = blobs(3, 60)
    parts = [X[labels == j] for j in range(3)]
    unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
    mean = [u.sum(axis=0) / np.linalg.norm(u.sum(axis=0)) for u in unit]
    expected = {
        "squares": [((part - part.mean(axis=0)) ** 2).sum() for part in parts],
        "diameter": [pdist(part).max() for part in parts],
        "average": [pdist(part).mean() for part in parts],
        "medoid": [min(np.linalg.norm(part - z, axis=1).sum() for z in part) for part in parts],
        "cosine": [(1 - u @ m).sum() for u, m in zip(unit, mean, strict=True)],
    }
    for cost, want in expected.items():
        assert_allclose(cluster_costs(X, labels, cost), want)
    largest = [pdist(part, "chebyshev").max() for part in parts]
    assert_allclose(cluster_costs(X, labels, "diameter", "chebyshev"), largest)


def test_the_two_forms_of_the_k_means_cost_are_equal():
    """Within-cluster squares are the error of a factorisation with one-hot codes. [000, 4.1]"""
    X, _ = blobs(4)
    model = KMeans(4, n_init=3, random_state=0).fit(X)
    codes = np.eye(4)[model.labels_]
    assert_allclose(((X - codes @ model.cluster_centers_) ** 2).sum(), model.inertia_)
    assert_allclose(cluster_costs(X, model.labels_).sum(), model.inertia_)


def test_a_single_row_costs_nothing():
    for cost in ("squares", "diameter", "average", "medoid", "cosine"):
        assert_allclose(cluster_costs(CORNERS[1:], [0, 1, 2], cost), 0, atol=1e-12)


def test_costs_with_a_distance_of_their_own_take_no_other():
    with pytest.raises(ValueError, match="defines its own"):
        cluster_costs(CORNERS, [0, 0, 1, 1], "squares", "cityblock")
    with pytest.raises(ValueError, match="unknown"):
        cluster_costs(CORNERS, [0, 0, 1, 1], "price")


# -------------------------------------------------------------------------------------- describing


def test_the_columns_that_make_clusters_are_found(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 20_000)
    X = rng.normal(size=(20_000, 4)) + 1e4
    X[:, 2] += 10 * labels
    X[:, 0] = 5.0  # says nothing
    found = profile_clusters(X, labels, ["a", "b", "c", "d"])
    assert found.rank_features()[0][0] == "c"
    assert found.rank_features()[0][1] > 0.95
    assert found.explained[0] == 0
    assert max(found.explained[1], found.explained[3]) < 0.01
    assert found.of(2)[0][0] == "c"
    means = [X[labels == j].mean(axis=0) for j in range(3)]
    assert_allclose(found.means, means)
    assert_allclose(found.offsets[:, 2], (found.means[:, 2] - X[:, 2].mean()) / X[:, 2].std())
    between = ((X[:, 2] - found.means[labels, 2]) ** 2).sum()
    assert_allclose(found.explained[2], 1 - between / (len(X) * X[:, 2].var()))
    np.save(tmp_path / "rows.npy", X)
    assert_array_equal(profile_clusters(tmp_path / "rows.npy", labels).explained, found.explained)


def test_agreement_does_not_see_names():
    a = np.array([0, 0, 1, 1, 2, 2])
    assert compare_clusterings(a, (a + 1) % 3) == (1, 1, 1)
    assert compare_clusterings([0, 0, 1, 1], [0, 1, 0, 1]).rand == pytest.approx(1 / 3)


def test_too_few_labels_are_refused():
    with pytest.raises(ValueError, match="3 labels were given for 4 rows"):
        profile_clusters(CORNERS, [0, 1, 2])


# ---------------------------------------------------------------------------------------- features


def test_columns_of_clusters():
    X, _ = blobs(3)
    model = KMeans(3, n_init=3, random_state=0).fit(X)
    both = ClusterFeatures(KMeans(3, n_init=3, random_state=0), features="both").fit(X)
    got = both.transform(X)
    assert_allclose(got[:, :3], model.transform(X))
    assert_array_equal(got[:, 3:], np.eye(3)[model.labels_])
    assert list(both.get_feature_names_out()) == [
        *("distance0", "distance1", "distance2"),
        *("cluster0", "cluster1", "cluster2"),
    ]


def test_the_task_chooses_the_number_of_clusters():
    """Distances to centres turn a ring problem into a linear one; a search finds enough of them."""
    X, groups_of_four = blobs(4, 400)
    y = np.isin(groups_of_four, [0, 3])  # opposite corners: no line parts them
    pipe = make_pipeline(ClusterFeatures(KMeans(n_init=3, random_state=0)), LogisticRegression())
    ks = {"clusterfeatures__clusterer__n_clusters": [1, 2, 4]}
    search = GridSearchCV(pipe, ks, cv=3).fit(X, y)
    assert search.best_score_ > 0.99
    assert search.best_params_["clusterfeatures__clusterer__n_clusters"] == 4
    assert cross_val_score(LogisticRegression(), X, y, cv=3).mean() < 0.8


def test_unlabelled_rows_help_where_labels_are_few():
    """[003, 14.5]: clusters of all digits, labels of fifty."""
    X, y = load_digits(return_X_y=True)
    few = np.random.default_rng(0).choice(len(X), 50, replace=False)
    rest = np.setdiff1d(np.arange(len(X)), few)
    clusters = ClusterFeatures(KMeans(30, random_state=0), features="membership").fit(X)
    model = LogisticRegression(max_iter=1000).fit(clusters.transform(X[few]), y[few])
    alone = KMeans(30, random_state=0).fit(X[few])
    codes = np.eye(30)
    little = LogisticRegression(max_iter=1000).fit(codes[alone.labels_], y[few])
    with_all = model.score(clusters.transform(X[rest]), y[rest])
    assert with_all > little.score(codes[alone.predict(X[rest])], y[rest])


# ----------------------------------------------------------------------------------------- palette


def test_bits_of_the_notes_with_the_palette_counted_right():
    """[003, 13.4], erratum E26: 32 colours of 24 bits, not 5 of them."""
    size = image_bits(1024 * 1024, 32)
    assert size.full == 25_165_824 == 3 * 8 * 2**20  # 3 MB
    assert size.codes + 5 * 24 == 5_243_000  # as printed
    assert size.reduced == 5_243_648
    assert_allclose(size.reduced / 8 / 1024, 640.09, atol=0.005)
    assert_allclose(size.ratio, 4.80, atol=0.005)
    assert image_bits(10, 1).codes == 0
    assert image_bits(10, 33).codes == 60


@pytest.mark.parametrize("model", [None, KMedoids(random_state=0)], ids=["means", "medoids"])
def test_a_picture_of_few_colours_stays_as_it_is(model):
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]], np.uint8)
    picture = colours[np.random.default_rng(0).integers(0, 4, (20, 30))]
    found = quantize(picture, 4, model)
    assert_array_equal(found.image, picture)
    assert found.image.dtype == np.uint8
    assert found.codes.shape == (20, 30)


def test_more_colours_are_nearer():
    picture = np.random.default_rng(0).random((30, 30, 3))
    errors = [((quantize(picture, k).image - picture) ** 2).mean() for k in (2, 8, 64)]
    assert errors[0] > errors[1] > errors[2]
    with pytest.raises(ValueError, match="height, width, channels"):
        quantize(picture[0, 0])


def test_standardising_first_changes_what_is_near():
    """[004, 6.2]: a column in large units decides alone."""
    X, y = load_iris(return_X_y=True)
    spoilt = X + np.random.default_rng(0).normal(size=X.shape) * [0, 1000, 0, 0]
    model = KMeans(3, n_init=5, random_state=0)
    scaled = (spoilt - spoilt.mean(axis=0)) / spoilt.std(axis=0)
    raw, fair = (
        compare_clusterings(y, model.fit(Z).labels_).adjusted_rand for Z in (spoilt, scaled)
    )
    assert raw < 0.1
    assert fair > 0.4


# ---------------------------------------------------------------------------------------- pictures


@pytest.fixture
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.mark.usefixtures("_no_figure_stays_open")
@pytest.mark.parametrize("by", ["knee", "silhouette", "gap"])
def test_the_chosen_number_is_marked(by):
    choice = choose_k(MODELS[0], blobs(3, 90)[0], range(1, 6), by=by)
    ax = pictures.elbow(choice)
    assert_allclose(ax.get_lines()[0].get_ydata(), choice.values)
    assert [text.get_text() for text in ax.texts] == ["K = 3"]


@pytest.mark.usefixtures("_no_figure_stays_open")
def test_silhouettes_are_drawn_cluster_by_cluster():
    X, labels = blobs(3, 90)
    ax = pictures.silhouettes(X, labels)
    assert len(ax.collections) == 3
    assert_allclose(ax.get_lines()[0].get_xdata(), silhouette_score(X, labels))


@pytest.mark.usefixtures("_no_figure_stays_open")
def test_clusters_are_drawn_with_their_centres():
    X, labels = blobs(3, 90)
    ax = pictures.cluster_scatter(X, labels, CORNERS[:3])
    drawn = np.vstack([group.get_offsets() for group in ax.collections[:-1]])
    assert_allclose(np.sort(drawn, axis=0), np.sort(X, axis=0))
    assert_allclose(ax.collections[-1].get_offsets(), CORNERS[:3])
    with pytest.raises(ValueError, match="project them first"):
        pictures.cluster_scatter(np.zeros((4, 3)), [0, 1, 0, 1])
