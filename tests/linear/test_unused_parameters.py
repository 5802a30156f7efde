"""A parameter that was set and has no effect is told."""

import warnings

import numpy as np
import pytest

from tenfold import PenalizedClassifier, PenalizedRegressor, ProbitRegression
from tenfold.math.penalties import L2Penalty

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, 2.0, 3.0] + RNG.normal(size=60)
CLASSES = (Y + 3 * RNG.normal(size=60) > 0).astype(int)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"batch_size": 7}, "batch_size=7"),
        ({"h": 3.0}, "h=3.0"),
        ({"l1_ratio": 0.3}, "l1_ratio=0.3"),
        ({"penalty": L2Penalty(0.1), "alpha": 7.0}, "alpha=7.0"),
        ({"penalty": None, "alpha": 7.0}, "alpha=7.0"),
        ({"batch_size": 7, "h": 3.0}, "h=3.0, batch_size=7"),
    ],
)
@pytest.mark.parametrize("model", [PenalizedRegressor, PenalizedClassifier])
def test_parameters_without_effect_warn(model, settings, told):
    y = Y if model is PenalizedRegressor else CLASSES
    with pytest.warns(UserWarning, match=f"{told} has no effect"):
        model(**settings).fit(X, y)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"solver": "sgd", "batch_size": 8, "learning_rate": 0.01, "max_iter": 300},
        {"penalty": "elasticnet", "l1_ratio": 0.3},
        {"penalty": "hnorm", "h": 1.2},
        {"penalty": L2Penalty(0.1)},
        {"penalty": None, "alpha": 0},
    ],
)
def test_parameters_with_effect_do_not(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        PenalizedRegressor(**settings, random_state=0).fit(X, Y)


def test_rate_of_probit_is_that_of_gradient_descent():
    with pytest.warns(UserWarning, match="only with solver='gd'"):
        ProbitRegression(learning_rate=0.5).fit(X, CLASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        ProbitRegression(solver="gd", learning_rate=0.05, max_iter=2000, tol=1e-2).fit(X, CLASSES)
