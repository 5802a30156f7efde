"""Networks refuse numbers that are not finite, and losses that are not, in words."""

import numpy as np
import pytest

from tenfold import ConvClassifier, MLPClassifier, SequentialClassifier
from tenfold.neural import Conv2d, Dense, Flatten

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(40, 6, 6, 1))
LABELS = RNG.integers(0, 2, 40)
MODELS = [
    ConvClassifier((2,), hidden=(), epochs=2, batch_size=10, random_state=0),
    SequentialClassifier([Conv2d(2, 3), Flatten(), Dense()], epochs=2, random_state=0),
    MLPClassifier((3,), max_iter=2, random_state=0),
]


def rows_for(model, images):
    return images.reshape(len(images), -1) if isinstance(model, MLPClassifier) else images


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_cells_that_are_not_finite_are_named(model, value):
    images = IMAGES.copy()
    images[7, 2, 3, 0] = value
    kind = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"contains {kind}.*row 7"):
        model.fit(rows_for(model, images), LABELS)
    model.fit(rows_for(model, IMAGES), LABELS)
    with pytest.raises(ValueError, match=f"contains {kind}.*row 7"):
        model.predict(rows_for(model, images))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_loss_that_is_not_finite_is_told_with_a_cure(model):
    with pytest.raises(ValueError, match=r"finite.*(Standardize the columns|take other units)"):
        model.fit(rows_for(model, 1e307 * IMAGES), LABELS)


def test_gradients_whose_squares_overflow_are_no_convergence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    with pytest.raises(ValueError, match="squares of gradients are not finite"):
        MLPClassifier((4,), random_state=0).fit(1e200 * X, X[:, 0] > 0)
