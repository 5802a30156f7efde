"""Folds are scored in the labels that the user gave, whatever they are."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils import get_tags

import tenfold
from tenfold.testing.instances import all_models, clone_model

CLASSIFIERS = [model for model in all_models() if is_classifier(model)]
LABELS = {"shifted": np.array([5, 9, 11]), "words": np.array(["no", "perhaps", "yes"])}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_scores_do_not_depend_on_the_names_of_the_classes(model):
    rng = np.random.default_rng(0)
    tags = get_tags(model)
    k = 3 if tags.classifier_tags is None or tags.classifier_tags.multi_class else 2
    y = np.arange(60) % k
    X = np.abs(rng.normal(size=(60, 3)) + 2 * np.eye(3)[y])
    X = np.floor(X) if tags.input_tags.categorical else X

    def score(labels):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tenfold.cross_validate(clone_model(model), X, labels, cv=2)["test_score"]

    expected = score(y)
    for names in LABELS.values():
        np.testing.assert_allclose(score(names[:k][y]), expected)
