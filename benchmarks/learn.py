"""`tenfold.learn` beside pipelines of others that are tuned for the same time.

Each table is split once. `tenfold.learn` gets the training part and chooses the best model; boosted
trees of scikit-learn and LightGBM, logistic regression (ridge) and support vectors get it too, each
in a pipeline whose settings are drawn at random until the time that the study took is spent, and
FLAML, which searches by itself. All are judged on the same test rows. LightGBM and FLAML are left
out where they are not installed.

    python -m benchmarks.learn [--minutes 2] [names ...]

A run of less than two minutes says little about who wins; the header of the table names the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib import util
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import loguniform
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import ParameterSampler, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import tenfold
from benchmarks.trees import Labelled, forest_cover

DRAWS = 200
WORDY = 50.0  # characters on average: text


class Peer(NamedTuple):
    """A model of scikit-learn and what its settings are drawn from."""

    model: Any
    settings: dict[str, Any]
    dense: bool = False


TREES = {
    "max_iter": [50, 100, 200, 400],
    "learning_rate": loguniform(0.02, 0.3),
    "max_leaf_nodes": [7, 15, 31, 63],
    "l2_regularization": loguniform(1e-3, 10),
}
MARGINS = {"C": loguniform(0.1, 1000), "gamma": loguniform(1e-4, 1)}
CLASSIFIERS = {
    "boosted trees": Peer(HistGradientBoostingClassifier(random_state=0), TREES, dense=True),
    "logistic": Peer(LogisticRegression(max_iter=2000), {"C": loguniform(1e-3, 100)}),
    "SVC": Peer(SVC(), MARGINS),
}
if util.find_spec("lightgbm") is not None:
    from lightgbm import LGBMClassifier, LGBMRegressor

    LEAVES = {
        "n_estimators": [50, 100, 200, 400],
        "learning_rate": loguniform(0.02, 0.3),
        "num_leaves": [7, 15, 31, 63],
        "reg_lambda": loguniform(1e-3, 10),
    }
    CLASSIFIERS["LightGBM"] = Peer(LGBMClassifier(random_state=0, verbose=-1), LEAVES)
REGRESSORS = {
    "boosted trees": Peer(HistGradientBoostingRegressor(random_state=0), TREES, dense=True),
    "ridge": Peer(Ridge(), {"alpha": loguniform(1e-2, 1e4)}),
    "SVR": Peer(SVR(), MARGINS),
}
if "LightGBM" in CLASSIFIERS:
    REGRESSORS["LightGBM"] = Peer(LGBMRegressor(random_state=0, verbose=-1), LEAVES)


def tables() -> dict[str, Callable[[], tuple[pd.DataFrame, str]]]:
    """Tables by name, each with its target."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    return {
        "breast cancer": lambda: (load_breast_cancer(as_frame=True).frame, "target"),
        "wine": lambda: (load_wine(as_frame=True).frame, "target"),
        "digits": lambda: (load_digits(as_frame=True).frame, "target"),
        "california": lambda: _fetched("fetch_california_housing"),
        "ames": _ames,
        "spambase": lambda: _fetched("fetch_spambase"),
        "sms spam": _messages,
        "adult-like": lambda: (adult_like(20_000), "income"),
        "covertype-like": lambda: (_framed(forest_cover(30)), "target"),
        "wide": lambda: (wide(1500, 200), "target"),
        "tiny": lambda: (wide(60, 5), "target"),
    }


def _framed(data: Labelled) -> pd.DataFrame:
    X, y = np.concatenate([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(target=y)


def wide(n: int, p: int) -> pd.DataFrame:
    """Two classes; four of the columns matter, two of them by their product."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    score = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] + 0.5 * rng.logistic(size=n)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    return frame.assign(target=np.where(score > 0, "yes", "no"))


def _fetched(name: str) -> tuple[pd.DataFrame, str]:
    bunch = getattr(tenfold.datasets, name)()
    frame = pd.DataFrame(bunch.data, columns=list(bunch.feature_names))
    return frame.assign(target=bunch.target), "target"


def _ames() -> tuple[pd.DataFrame, str]:
    from tenfold.datasets.cache import find_file

    return pd.read_csv(find_file("ames")), "SalePrice"


def _messages() -> tuple[pd.DataFrame, str]:
    bunch = tenfold.datasets.fetch_sms_spam()
    names = np.array(bunch.target_names)[bunch.target]
    return pd.DataFrame({"message": bunch.data, "label": names}), "label"


def adult_like(n: int) -> pd.DataFrame:
    """Numbers with holes, categories, a curve in age, and an income that depends on them."""
    rng = np.random.default_rng(0)
    age, hours = rng.integers(17, 90, n), np.clip(rng.normal(40, 12, n), 1, 99)
    work = rng.choice(["private", "state", "own", "none"], n, p=[0.6, 0.15, 0.15, 0.1])
    school = rng.choice(["school", "college", "master", "doctor"], n, p=[0.5, 0.3, 0.15, 0.05])
    gain = np.where(rng.random(n) < 0.1, rng.lognormal(8, 1, n), 0)
    worth = pd.Series(school).map({"school": 0, "college": 0.7, "master": 1.3, "doctor": 2.0})
    score = worth - ((age - 48) / 15) ** 2 + (work == "own") * (hours > 45) + hours / 20
    rich = score + gain / 4000 - 2.5 + rng.logistic(size=n) > 0
    table = {"age": np.where(rng.random(n) < 0.03, np.nan, age), "hours": hours, "work": work}
    table |= {"school": school, "gain": gain, "country": rng.choice([*"abcdefghij"], n)}
    return pd.DataFrame(table | {"income": np.where(rich, "high", "low")})


def compare(name: str, minutes: float) -> Iterator[tuple[str, float, float]]:
    """Who, test score, seconds: the study first, then each peer for as long."""
    frame, target = tables()[name]()
    classes = frame[target].nunique() <= 20
    train, test = train_test_split(
        frame, test_size=0.25, random_state=0, stratify=frame[target] if classes else None
    )
    measure = accuracy_score if classes else r2_score
    start = perf_counter()
    metric = "accuracy" if classes else "r2"
    study = tenfold.learn(train, target, minutes=minutes, metric=metric, prefer="best")
    seconds = perf_counter() - start
    score = measure(test[target], study.model.predict(test))
    yield f"tenfold: {study.chosen.title}", score, seconds
    X, y = train.drop(columns=target), train[target]
    for who, peer in (CLASSIFIERS if classes else REGRESSORS).items():
        start = perf_counter()
        model = tuned(peer, X, y, seconds)
        score = measure(test[target], model.predict(test.drop(columns=target)))
        yield who, score, perf_counter() - start
    if has_flaml():
        start = perf_counter()
        model = searched_by_flaml(plain_names(X), y, seconds, "accuracy" if classes else "r2")
        score = measure(test[target], model.predict(plain_names(test.drop(columns=target))))
        yield "FLAML", score, perf_counter() - start


def has_flaml() -> bool:
    """Whether FLAML is there with its search (`flaml[automl]`), not only its tuner."""
    try:
        from flaml import AutoML  # noqa: F401
    except ImportError:
        return False
    return True


def plain_names(X: pd.DataFrame) -> pd.DataFrame:
    """The table with plain names, since LightGBM, which FLAML tries, takes no others."""
    return X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1)


def searched_by_flaml(X: pd.DataFrame, y: pd.Series, seconds: float, metric: str) -> Any:
    from flaml import AutoML

    model = AutoML()
    task = "classification" if metric == "accuracy" else "regression"
    model.fit(X, y, task=task, metric=metric, time_budget=seconds, seed=0, verbose=0)
    return model


def noise(score: float, n: int) -> float:
    """Two standard errors of a share of n rows; for R2, of a correlation of this size."""
    return 2 * np.sqrt(max(score * (1 - score), 1e-3) / n)


def tuned(peer: Peer, X: pd.DataFrame, y: pd.Series, seconds: float) -> Any:
    """The best of settings drawn at random, until the time is spent; then fitted on all rows."""
    best, kept, end = -np.inf, {}, perf_counter() + seconds
    for drawn in ParameterSampler(peer.settings, DRAWS, random_state=0):
        model = pipeline(peer, X, drawn)
        score = cross_val_score(model, X, y, cv=5).mean()
        best, kept = (score, drawn) if score > best else (best, kept)
        if perf_counter() > end:
            break
    return pipeline(peer, X, kept).fit(X, y)


def pipeline(peer: Peer, X: pd.DataFrame, settings: dict[str, Any]) -> Any:
    """Numbers filled in and scaled, words as indicators, text as tf-idf, then the model."""
    numbers = X.select_dtypes("number").columns
    words = [name for name in X.columns if name not in numbers]
    texts = [name for name in words if X[name].astype(str).str.len().mean() > WORDY]
    few = [name for name in words if name not in texts]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", min_frequency=3), few),
        *((TfidfVectorizer(max_features=2000), name) for name in texts),
    )
    steps = [FunctionTransformer(_dense)] if peer.dense else []
    return make_pipeline(columns, *steps, type(peer.model)(**peer.model.get_params() | settings))


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else X


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(tables()))
    parser.add_argument("--minutes", type=float, default=2.0)
    asked = parser.parse_args()
    print(f"{asked.minutes:g} minutes for tenfold.learn, as long as it took for each other")
    print(f"{'table':<14} {'model':<45} {'score':>7} {'seconds':>8}")
    held = 0
    for name in asked.names:
        scores: list[float] = []
        for who, score, seconds in compare(name, asked.minutes):
            scores.append(score)
            print(f"{name:<14} {who:<45} {score:>7.4f} {seconds:>8.1f}", flush=True)
        behind, slack = max(scores) - scores[0], noise(max(scores), len(tables()[name]()[0]) // 4)
        held += behind <= slack
        print(f"{name:<14} behind the best by {behind:.4f}; two standard errors are {slack:.4f}")
    print(f"best or within noise on {held} of {len(asked.names)}")


if __name__ == "__main__":
    main()
