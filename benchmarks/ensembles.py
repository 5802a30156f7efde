"""AdaBoost, bagged ridge models, and Shapley values of trees, at equal results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

import tenfold
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Ensembles and reasons"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "worth ours", "peer"]
NOTES = (
    "worth: accuracy, R², or minus the error of the sum of Shapley values and the score",
    "bagged ridge: 100 weighted scatters, 5e10 operations, are half of our time; peers do them too",
)
EXPLAINED = 10_000  # rows that get Shapley values
SMALL = 2000  # rows of the first calls, which compile


class Contest(NamedTuple):
    """Calls of both sides on the first rows, what each result is worth, and what may be lost."""

    ours: Callable[[int], Any]
    peer: Callable[[int], Any]
    worth: Callable[[Any], float]
    rows: int
    tolerance: float


class Case(NamedTuple):
    """A contest, the package of the peer, the target, and the turns of both."""

    make: Callable[[], Contest]
    package: str
    target: float
    rounds: int = 3


def adaboost() -> Contest:
    """Two hundred stumps."""
    from sklearn.ensemble import AdaBoostClassifier

    X, y = labelled(200_000, 20)
    settings = {"n_estimators": 200, "random_state": 0}

    def fit(cls: Any, n: int) -> Any:
        return cls(**settings).fit(X[:n], y[:n])

    calls = partial(fit, tenfold.AdaBoostClassifier), partial(fit, AdaBoostClassifier)
    return Contest(*calls, lambda model: model.score(X, y), len(X), 1e-3)


def bagged_ridge() -> Contest:
    """A hundred ridge models of drawn rows."""
    from sklearn.ensemble import BaggingRegressor
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 50))
    y = X @ rng.normal(size=50) + rng.normal(size=len(X))
    settings = {"n_estimators": 100, "n_jobs": 2, "random_state": 0}

    def fit(cls: Any, member: Any, n: int) -> Any:
        return cls(member, **settings).fit(X[:n], y[:n])

    ours = partial(fit, tenfold.BaggingRegressor, tenfold.Ridge())
    theirs = partial(fit, BaggingRegressor, Ridge())
    return Contest(ours, theirs, lambda model: model.score(X[:10_000], y[:10_000]), len(X), 1e-4)


def shap_package() -> Contest:
    """Shapley values by shap, of scikit-learn's trees on the same rows."""
    import shap
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = labelled(50_000, 28)
    theirs = HistGradientBoostingClassifier(random_state=0, early_stopping=False).fit(X, y)
    explainer = shap.TreeExplainer(theirs)

    def explain(n: int) -> Any:
        return theirs, explainer.shap_values(X[:n])

    return explanation(X, y, explain)


def lightgbm_contributions() -> Contest:
    """Shapley values by LightGBM, of its own trees."""
    from lightgbm import LGBMClassifier

    X, y = labelled(50_000, 28)
    theirs = LGBMClassifier(random_state=0, verbose=-1).fit(X, y)

    def explain(n: int) -> Any:
        return theirs, theirs.predict(X[:n], pred_contrib=True)[:, :-1]

    return explanation(X, y, explain)


def explanation(X: np.ndarray, y: np.ndarray, theirs: Callable[[int], Any]) -> Contest:
    """Worth is minus the spread of score less values, which is 0 where values add up."""
    model = tenfold.HistGradientBoostingClassifier(random_state=0, early_stopping=False).fit(X, y)

    def explain(n: int) -> Any:
        return model, tenfold.shap_values(model, X[:n]).values

    def worth(found: Any) -> float:
        fitted, values = found
        p = fitted.predict_proba(X[: len(values)])[:, 1]
        rest = np.log(p) - np.log1p(-p) - np.reshape(values, X[: len(values)].shape).sum(axis=1)
        return -float(np.ptp(rest))

    return Contest(explain, theirs, worth, EXPLAINED, 1e-6)


CASES = {
    "adaboost": Case(adaboost, "sklearn", 20, rounds=1),
    "bagged ridge": Case(bagged_ridge, "sklearn", 30),
    "shap": Case(shap_package, "shap", 3),
    "shap, LightGBM": Case(lightgbm_contributions, "lightgbm", 1),
}


def names() -> list[str]:
    return list(CASES)


def run(wanted: list[str], *, quick: bool) -> Table:
    there = [name for name in wanted if util.find_spec(CASES[name].package)]
    rows = [tell(name) or contest(name, quick=quick) for name in there]
    notes = list(NOTES)
    left = [name for name in wanted if name not in there]
    notes += [f"left out: {name}, {CASES[name].package} is not installed" for name in left]
    return Table(TITLE, HEADER, rows, notes)


def labelled(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes with an interaction, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    score = X[:, 0] + X[:, 1] * X[:, 2] - np.abs(X[:, 3]) + rng.normal(size=n)
    return X, (score > -0.8).astype(np.int64)


def contest(name: str, *, quick: bool) -> Row:
    """Both in turns; the results of the last turn count."""
    case = CASES[name]
    with undisturbed():
        found = case.make()
        n = found.rows // (10 if quick else 1)
        calls = {"ours": found.ours, "peer": found.peer}
        results = {side: call(SMALL) for side, call in calls.items()}

    def turn(side: str, _: int) -> list[float]:
        return [seconds(lambda: results.update({side: calls[side](n)}))]

    times = interleaved({side: partial(turn, side) for side in calls}, 1 if quick else case.rounds)
    worth = {side: found.worth(result) for side, result in results.items()}
    ratio = times["peer"].median / times["ours"].median
    good = worth["ours"] >= worth["peer"] - found.tolerance
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [name, case.package, timed(times["ours"]), timed(times["peer"]), f"{ratio:.2f}x"]
    cells += [f"{case.target:g}x", *(figure(worth[side], 4) for side in ("ours", "peer"))]
    return Row(cells, verdict)
