"""Cost-sensitive decisions between labels of every kind."""

import numpy as np
import pytest

from tenfold import GaussianNB, LogisticRegression
from tenfold.inspection import CostSensitiveClassifier
from tenfold.testing import check_labels
from tenfold.testing.label_law import label_kinds

X = np.random.default_rng(0).normal(size=(200, 2))
CODES = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB()])
def test_the_law_of_labels(model):
    check_labels(CostSensitiveClassifier(model))


@pytest.mark.parametrize(
    "labels", [labels for _, labels in label_kinds(2)], ids=dict(label_kinds(2))
)
def test_rejection_leaves_the_labels_as_they_are(labels):
    name = "none" if labels.dtype.kind in "OU" else -2
    model = CostSensitiveClassifier(LogisticRegression(), reject=0.2, reject_label=name)
    model.fit(X, labels[CODES])
    predicted = model.predict(X)
    rejected = np.array([value == name for value in predicted])
    assert 0 < rejected.sum() < 100
    assert set(predicted[~rejected].tolist()) == set(labels.tolist())
    assert model.report(X, labels[CODES]).mean < 0.2
