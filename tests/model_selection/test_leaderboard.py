"""Models of any family on the same folds."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from tenfold import GaussianNB, LogisticRegression, Search, cross_validate
from tenfold.model_selection import compare

X, Y = load_iris(return_X_y=True)


def test_all_models_meet_the_same_folds():
    folds = KFold(5, shuffle=True, random_state=np.random.RandomState(0))  # draws anew each time
    models = {
        "tree": DecisionTreeClassifier(random_state=0),
        "same tree": DecisionTreeClassifier(random_state=0),
        "bayes": GaussianNB(),
        "softmax": Search(LogisticRegression(), {"C": [0.1, 10.0]}, folds=3),
    }
    board = compare(models, X, Y, folds=folds)
    np.testing.assert_array_equal(board.scores("tree"), board.scores("same tree"))
    means = [board.results[name].mean() for name in board.names]
    assert means == sorted(means, reverse=True)
    assert set(board.names) == set(models)


def test_the_simplest_is_the_first_that_is_good_enough():
    models = {"nothing": GaussianNB(priors=[1.0, 0.0, 0.0]), "bayes": GaussianNB()}
    models |= {"softmax": LogisticRegression()}
    board = compare(models, X, Y, folds=5)
    best = board.results[board.names[0]]
    bar = best.mean() - best.standard_error()
    good = [name for name in models if board.results[name].mean() >= bar]
    assert board.simplest() == good[0] != "nothing"
    assert board.simplest(["softmax", "bayes", "nothing"]) == "softmax"
    assert board.against_best("nothing").p_value < 0.01
    assert board.interval("bayes").low < board.results["bayes"].mean()


def test_a_table_and_the_scores_of_cross_validation():
    board = compare({"bayes": GaussianNB()}, X, Y, folds=5, scoring="neg_log_loss")
    wanted = cross_validate(GaussianNB(), X, Y, folds=5, scoring="neg_log_loss")
    np.testing.assert_allclose(board.scores("bayes"), wanted["test_score"])
    assert "neg_log_loss" in str(board)
    assert f"{wanted.mean():.4f}" in str(board)
    with pytest.raises(ValueError, match="no models"):
        compare({}, X, Y)
