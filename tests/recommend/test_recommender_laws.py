"""What every recommender owes: the same bits everywhere, files, new processes, lists."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import tenfold
from tenfold import ALS, BPR, BayesianPMF, ImplicitALS, KNNRecommender
from tenfold.recommend import evaluate_ranking, open_ratings
from tests.recommend.conftest import make_ratings

MODELS = [
    ALS(3, random_state=0),
    ImplicitALS(3, random_state=0, tol=1e-2),
    ImplicitALS(3, solver="cg", random_state=0, tol=1e-2),
    BPR(3, max_iter=60, tol=1e-2, random_state=0),
    BayesianPMF(2, burn_in=3, n_samples=4, random_state=0),
    KNNRecommender(5, center="mean", metric="msd"),
]
pytestmark = [
    pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__),
    pytest.mark.filterwarnings("ignore:.*did not converge"),
]


def data(n=300):
    X, y = make_ratings(1, n, 40, share=0.3)
    return X, np.round(np.clip(np.abs(y) + 0.5, 1, 5))


def learned(model):
    arrays = {k: v for k, v in vars(model).items() if isinstance(v, np.ndarray)}
    assert len(arrays) > 5
    return arrays


def assert_same(first, second):
    one, two = learned(first), learned(second)
    assert one.keys() == two.keys()
    for name, array in one.items():
        assert_array_equal(array, two[name], err_msg=name, strict=True)


def fit(model, X, y=None):
    return clone(model).fit(X, y)


def test_the_number_of_threads_changes_no_bit(model):
    X, y = data()
    pairs = np.argwhere(np.ones((300, 40)))[::7]
    found = []
    for n in (1, 2, 8):
        with tenfold.threads(n):
            fitted = fit(model, X, y)
            found.append((fitted, fitted.predict(pairs), fitted.recommend([0, 5, 9], 4)))
    for other in found[1:]:
        assert_same(found[0][0], other[0])
        assert_array_equal(found[0][1], other[1])
        assert_array_equal(found[0][2].items, other[2].items)


def test_arrays_tables_files_and_matrices_give_the_same_bits(model, tmp_path):
    X, y = data()
    table = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
    table.to_csv(tmp_path / "r.csv", index=False)
    table.to_parquet(tmp_path / "r.parquet")
    first = fit(model, X, y)
    for other in (table, tmp_path / "r.csv", tmp_path / "r.parquet", open_ratings(X, y)):
        assert_same(first, fit(model, other))


def test_a_dask_dataframe_gives_the_same_bits(model):
    dask = pytest.importorskip("dask.dataframe")
    X, y = data()
    table = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
    assert_same(fit(model, X, y), fit(model, dask.from_pandas(table, npartitions=3)))


def test_the_order_of_the_rows_changes_no_bit(model):
    X, y = data()
    order = np.random.default_rng(0).permutation(len(y))
    assert_same(fit(model, X, y), fit(model, X[order], y[order]))


def test_a_saved_model_is_the_same(model, tmp_path):
    X, y = data()
    words = np.char.add("u", X.astype(str))
    for pairs in (X, words):
        fitted = fit(model, pairs, y)
        fitted.save(tmp_path / "model")
        for other in (tenfold.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
            assert_same(fitted, other)
            assert_array_equal(fitted.predict(pairs[:50]), other.predict(pairs[:50]))


def test_a_killed_fit_is_resumed_with_the_same_bits(model, tmp_path):
    if isinstance(model, KNNRecommender):
        pytest.skip("it has no loop")
    X, y = data()
    whole = fit(model, X, y)
    stopped = clone(model)
    rounds = iter(range(2))

    class Killed(BaseException):
        pass

    from tenfold.optim import convergence

    update = convergence.until_converged.update

    def update_twice(self, *args, **kwargs):
        update(self, *args, **kwargs)
        if next(rounds, None) is None:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convergence.until_converged, "update", update_twice)
        with pytest.raises(Killed), tenfold.checkpoint(tmp_path / "c", every=0):
            stopped.fit(X, y)
    assert (tmp_path / "c").exists()
    with tenfold.checkpoint(tmp_path / "c", every=0):
        again = fit(model, X, y)
    assert_same(whole, again)


def test_top_lists_leave_out_what_was_seen_and_follow_wishes(model):
    X, y = data()
    fitted = fit(model, X, y)
    seen = set(X[X[:, 0] == 3, 1].tolist())
    best = fitted.recommend(3, 100)
    assert set(best.items.tolist()) == set(range(40)) - seen
    assert len(best.items) == len(best.scores) == 40 - len(seen)  # no places without an item
    assert (np.diff(best.scores) <= 0).all()
    of_several = fitted.recommend([3, 4], 40)
    assert of_several.items[0, : len(best.items)].tolist() == best.items.tolist()
    assert set(of_several.items[0, len(best.items) :]) == {None}
    assert len(set(fitted.recommend(3, 40, exclude_seen=False).items.tolist())) == 40
    first = best.items[0]
    assert first not in fitted.recommend(3, 5, exclude=[first]).items
    assert fitted.recommend(3, 1, among=[best.items[4]]).items.tolist() == [best.items[4]]
    many = fitted.recommend([3, 12_345], 2)
    assert_array_equal(many.items[0], best.items[:2])
    assert_array_equal(many.items[1], fitted.popular_items(2).items)


def test_parameters_are_scikit_learns(model):
    assert clone(model).get_params() == model.get_params()
    assert type(model)(**model.get_params()).get_params() == model.get_params()


def test_questions_before_a_fit_and_about_strangers_are_refused(model):
    with pytest.raises(Exception, match="not fitted"):
        clone(model).recommend(3)
    X, y = data()
    fitted = fit(model, X, y)
    with pytest.raises(ValueError, match="item 999 was not part of the fit"):
        fitted.explain(3, 999)
    with pytest.raises(ValueError, match="user 999 was not part"):
        fitted.explain(999, 3)
    with pytest.raises(ValueError, match="was not part of the fit"):
        fitted.similar_items(999)
    with pytest.raises(ValueError, match="give a user"):
        fitted.recommend()


def test_ids_of_another_kind_are_refused_and_unknown_ones_are_not(model):
    X, y = data(60)
    numbers, words = fit(model, X, y), fit(model, np.char.add("i", X.astype(str)), y)
    with pytest.raises(ValueError, match="user ids of the fit are numbers, such as 0, and '3' is"):
        numbers.predict([["3", "1"]])
    with pytest.raises(ValueError, match=r"item ids of the fit are numbers.*'1' is a word"):
        numbers.predict([[3, "1"]])
    with pytest.raises(ValueError, match="user ids of the fit are words, such as 'i0', and 3 is"):
        words.predict([[3, 1]])
    for ask in (
        lambda: numbers.recommend("3"),
        lambda: numbers.recommend(["3", "4"]),
        lambda: numbers.recommend(3, exclude="1"),
        lambda: numbers.recommend(3, among=["1"]),
        lambda: numbers.recommend(ratings={"1": 5.0}),
        lambda: numbers.explain("3", 1),
        lambda: numbers.similar_items("1"),
        lambda: evaluate_ranking(numbers, [[3, "1"]]),
        lambda: evaluate_ranking(numbers, [["3", 1]]),
    ):
        with pytest.raises(ValueError, match="ids of the kind that the fit had"):
            ask()
    assert len(numbers.predict([[12_345, 1], [3, 54_321]])) == 2
    assert len(words.predict([["nobody", "i1"]])) == 1
    assert len(numbers.predict(np.empty((0, 2), str))) == 0
    assert_array_equal(words.recommend("nobody", 2).items, words.popular_items(2).items)


def test_arrays_that_do_not_fit_are_refused(model, tmp_path):
    X, y = data()
    for name, change in [("seen_items_", 1000), ("seen_starts_", 1)]:
        fitted = fit(model, X, y)
        setattr(fitted, name, getattr(fitted, name) + change)
        with pytest.raises(ValueError, match=name):
            fitted.save(tmp_path / "model")


def test_wishes_that_make_no_sense_are_refused_and_single_items_are_lists(model):
    X, y = data()
    fitted = fit(model, np.char.add("i", X.astype(str)), y)
    for n in (0, 2.5, "3"):
        with pytest.raises(ValueError, match="whole number"):
            fitted.recommend("i3", n)
        with pytest.raises(ValueError, match="whole number"):
            fitted.similar_items("i3", n)
    with pytest.raises(ValueError, match="explain: give an item"):
        fitted.explain(item="i3")
    first = fitted.recommend("i3", 1).items[0]
    assert first not in fitted.recommend("i3", 5, exclude=first).items
    assert fitted.recommend("i3", 1, among=first).items.tolist() == [first]


def test_somebody_whose_ratings_tell_nothing_gets_what_is_popular(model):
    X, y = data()
    fitted = fit(model, X, y)
    popular = fitted.popular_items(4)
    for ratings in ({}, {999: 5.0}):
        assert_array_equal(fitted.recommend(ratings=ratings, n=4).items, popular.items)
