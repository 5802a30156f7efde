"""A table of ratings is recognized, studied and saved."""

import json

import numpy as np
import pytest

import tenfold
from tenfold.automl.recommender_study import RecommenderStudy
from tenfold.recommend.table_columns import find_rating_columns
from tests.recommend.conftest import make_ratings


def table(seed=0, *, words=True, time=True):
    X, y = make_ratings(seed, 60, 30, share=0.4)
    names = [np.char.add(letter, X[:, c].astype(str)) for c, letter in enumerate("uf")]
    columns = {"user_id": names[0] if words else X[:, 0], "film": names[1] if words else X[:, 1]}
    columns["rating"] = np.clip(np.round(y), 1, 5)
    if time:
        columns["timestamp"] = np.random.default_rng(0).permutation(len(X))
    return columns


def test_ratings_are_recognized_and_a_recommender_is_chosen_and_saved(tmp_path):
    study = tenfold.learn(table(), minutes=1, output=tmp_path)
    assert isinstance(study, RecommenderStudy)
    assert study.metric == "rmse"
    assert study.split == "the last ratings of each user"
    scores = [attempt.score for attempt in study.attempts]
    assert scores == sorted(scores)
    biases = next(attempt.score for attempt in study.attempts if attempt.key == "biases")
    assert study.chosen.score < 0.8 * biases  # the planted factors
    model = tenfold.load(tmp_path / "model.tenfold")
    assert model.recommend("u3", 2).items[0].startswith("f")
    assert json.loads((tmp_path / "metrics.json").read_text())["chosen"] == study.chosen.key


@pytest.mark.parametrize("most", [60, 9])  # few different counts are no stars
def test_counts_get_a_recommender_of_lists(most):
    X, _ = make_ratings(1, 60, 30, share=0.4)
    plays = {"listener": X[:, 0], "song": X[:, 1], "play_count": 1 + np.arange(len(X)) % most}
    study = tenfold.learn(plays, minutes=1)
    assert study.metric == "ndcg"
    assert study.model.recommend(0, 3).items.shape == (3,)
    assert study.attempts[0].score == max(attempt.score for attempt in study.attempts)


def test_the_same_seed_gives_the_same_study():
    first, second = (tenfold.learn(table(time=False), minutes=1, seed=3) for _ in range(2))
    assert [a.score for a in first.attempts] == [a.score for a in second.attempts]
    assert first.test == second.test


@pytest.mark.parametrize(
    "settings", [{"task": "clusters"}, {"target": "rating", "task": "regression"}]
)
def test_a_task_says_otherwise(settings):
    study = tenfold.learn(table(words=False, time=False), models=None, minutes=0.01, **settings)
    assert study.task == settings["task"]


def test_other_tables_are_no_ratings():
    assert find_rating_columns(["age", "income", "town"]) == {}
    wide = table() | {"age": np.arange(len(table()["rating"]))}
    with pytest.raises(ValueError, match="needs a target"):
        tenfold.learn(wide, task="regression")


def test_columns_without_telling_names_are_taken_by_their_places_if_asked():
    plain = dict(zip("abc", table(words=False, time=False).values(), strict=True))
    study = tenfold.learn(plain, task="recommendation", minutes=1)
    assert study.columns == {"user": "a", "item": "b", "rating": "c"}
