"""`tenfold.learn` beside scikit-learn's pipelines that are tuned for the same time.

Each table is split once. `tenfold.learn` gets the training part and chooses a model; boosted trees,
logistic regression (ridge) and support vectors get it too, each in a pipeline whose settings are
drawn at random until the time that the study took is spent. All are judged on the same test rows.

    python -m benchmarks.learn [--minutes 2] [names ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
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
REGRESSORS = {
    "boosted trees": Peer(HistGradientBoostingRegressor(random_state=0), TREES, dense=True),
    "ridge": Peer(Ridge(), {"alpha": loguniform(1e-2, 1e4)}),
    "SVR": Peer(SVR(), MARGINS),
}


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
    }


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
    study = tenfold.learn(train, target, minutes=minutes, metric=metric)
    seconds = perf_counter() - start
    score = measure(test[target], study.model.predict(test))
    yield f"tenfold: {study.chosen.title}", score, seconds
    X, y = train.drop(columns=target), train[target]
    for who, peer in (CLASSIFIERS if classes else REGRESSORS).items():
        start = perf_counter()
        model = tuned(peer, X, y, seconds)
        score = measure(test[target], model.predict(test.drop(columns=target)))
        yield who, score, perf_counter() - start


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
    print(f"{'table':<14} {'model':<45} {'score':>7} {'seconds':>8}")
    for name in asked.names:
        for who, score, seconds in compare(name, asked.minutes):
            print(f"{name:<14} {who:<45} {score:>7.4f} {seconds:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
