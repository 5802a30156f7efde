"""Systems that get a table, a time and one thread, and predict its sealed rows.

Every system sees the same training rows and prepares them in its own way: trees take missing
values and categories as they are, SVMs get them filled in, scaled and as indicators, FLAML and
tenfold prepare the table themselves. Of a text, all but tenfold get tf-idf columns (FLAML has no
encoding of text for its own learners). Settings of single models are drawn at random and compared
by cross-validation until the time is up, beginning with their defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, ParameterSampler, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import tenfold
from benchmarks.learn_tables import SplitTable

SEED = 0
MAX_DRAWS = 100_000
WORDY = 50.0  # characters on average: text
MAX_SVM_ROWS = 5_000  # rows on which settings of an SVM are compared
DENSE_TERMS = 1000  # of a text, for trees that take no sparse columns
MAX_LEVELS = 250  # categories that boosted trees of scikit-learn take


class Outcome(NamedTuple):
    """Predictions of the sealed rows, and what made them."""

    predictions: np.ndarray
    model: str


class Peer(NamedTuple):
    """A model, what its settings are drawn from, and how it wants a table."""

    make: Callable[..., Any]
    settings: dict[str, Any]
    prepare: Callable[[pd.DataFrame], Any]
    max_rows: int | None = None


def run_tenfold(table: SplitTable, seconds: float) -> Outcome:
    study = tenfold.learn(
        table.frame,
        table.target,
        metric=table.metric,
        minutes=seconds / 60,
        prefer="best",
        seed=table.seed,
    )
    test = table.features.iloc[table.test].reset_index(drop=True)
    tried = f"{study.chosen.title} {study.chosen.params}"
    return Outcome(np.asarray(study.model.predict(test)), tried)


def run_flaml(table: SplitTable, seconds: float) -> Outcome:
    from flaml import AutoML

    X, y = table.features, table.frame[table.target]
    X = X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1)  # LightGBM takes plain names alone
    train, test = X.iloc[table.train], X.iloc[table.test]
    if texts(X):
        terms = TreeTable().fit(train)
        train, test = terms.transform(train).set_index(train.index), terms.transform(test)
    model = AutoML()
    model.fit(
        train,
        y.iloc[table.train],
        task="classification" if table.classifies else "regression",
        metric=table.metric,
        time_budget=seconds,
        n_jobs=1,
        seed=SEED,
        verbose=0,
    )
    return Outcome(np.asarray(model.predict(test)), f"{model.best_estimator} {model.best_config}")


def run_peer(make: Callable[[bool], Peer], table: SplitTable, seconds: float) -> Outcome:
    """The best of settings drawn at random, fitted on all training rows."""
    peer = make(table.classifies)
    X, y = table.features.iloc[table.train], table.frame[table.target].iloc[table.train]
    kept, draws = tune(peer, X, y, table.classifies, perf_counter() + seconds)
    model = make_pipeline(peer.prepare(X), peer.make(**kept)).fit(X, y)
    return Outcome(model.predict(table.features.iloc[table.test]), f"{kept}, of {draws} draws")


def tune(
    peer: Peer, X: pd.DataFrame, y: pd.Series, classifies: bool, end: float
) -> tuple[dict[str, Any], int]:
    """The best settings, and how many were compared in all five folds before the time was up."""
    if peer.max_rows is not None and len(X) > peer.max_rows:
        rows = np.random.default_rng(SEED).permutation(len(X))[: peer.max_rows]
        X, y = X.iloc[rows], y.iloc[rows]
    splitter: Any = StratifiedKFold if classifies else KFold
    folds = list(splitter(5, shuffle=True, random_state=SEED).split(X, y))
    best, kept, draws = -np.inf, {}, 0
    for drawn in settings_of(peer):
        scores = []
        for train, test in folds:
            if perf_counter() > end:
                return kept, draws
            model = make_pipeline(peer.prepare(X), peer.make(**drawn))
            model.fit(X.iloc[train], y.iloc[train])
            scores.append(model.score(X.iloc[test], y.iloc[test]))
        draws += 1
        if np.mean(scores) > best:
            best, kept = float(np.mean(scores)), drawn
    return kept, draws


def settings_of(peer: Peer) -> Iterator[dict[str, Any]]:
    yield {}
    yield from ParameterSampler(peer.settings, MAX_DRAWS, random_state=SEED)


def boosted_trees(classifies: bool) -> Peer:
    """Boosted trees of scikit-learn."""
    from sklearn import ensemble

    kind = "Classifier" if classifies else "Regressor"

    def make(**settings: Any) -> Any:
        model = getattr(ensemble, f"HistGradientBoosting{kind}")
        return model(random_state=SEED, categorical_features="from_dtype", **settings)

    drawn = {
        "max_iter": [50, 100, 200, 400, 800],
        "learning_rate": loguniform(0.02, 0.3),
        "max_leaf_nodes": [4, 7, 15, 31, 63],
        "min_samples_leaf": [1, 5, 20, 50],
        "l2_regularization": loguniform(1e-3, 10),
    }
    return Peer(make, drawn, tree_columns)


def lightgbm(classifies: bool) -> Peer:
    import lightgbm as library

    def make(**settings: Any) -> Any:
        model = library.LGBMClassifier if classifies else library.LGBMRegressor
        return model(random_state=SEED, verbose=-1, n_jobs=1, subsample_freq=1, **settings)

    drawn = {
        "n_estimators": [50, 100, 200, 400, 800],
        "learning_rate": loguniform(0.02, 0.3),
        "num_leaves": [4, 7, 15, 31, 63],
        "min_child_samples": [1, 5, 20, 50],
        "reg_lambda": loguniform(1e-3, 10),
        "subsample": [0.6, 0.8, 1.0],
        "colsample_bytree": [0.4, 0.7, 1.0],
    }
    return Peer(make, drawn, tree_columns)


def svm(classifies: bool) -> Peer:
    """Support vectors; of a regression the target is scaled, as the width of its tube expects."""
    from sklearn.svm import SVC, SVR

    def make(**settings: Any) -> Any:
        if classifies:
            return SVC(**settings)
        return TransformedTargetRegressor(SVR(**settings), transformer=StandardScaler())

    drawn: dict[str, Any] = {"C": loguniform(0.1, 1000), "gamma": loguniform(1e-4, 1)}
    if classifies:
        drawn["kernel"] = ["rbf", "rbf", "rbf", "linear"]
    return Peer(make, drawn, svm_columns, MAX_SVM_ROWS)


def texts(X: pd.DataFrame) -> list[str]:
    """Columns of words that are long on average."""
    others = X.columns.difference(X.select_dtypes("number").columns, sort=False)
    return [name for name in others if X[name].astype(str).str.len().mean() > WORDY]


def tfidf(terms: int | None = None) -> Any:
    return TfidfVectorizer(min_df=2, sublinear_tf=True, max_features=terms)


def svm_columns(X: pd.DataFrame) -> Any:
    """Numbers filled in and scaled, words as indicators, text as tf-idf."""
    numbers, long = X.select_dtypes("number").columns, texts(X)
    words = [name for name in X.columns if name not in numbers and name not in long]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", min_frequency=3), words),
        *((tfidf(), name) for name in long),
    )


class TreeTable(TransformerMixin, BaseEstimator):
    """Numbers as they are, words as categories, text as the tf-idf of its common words."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> TreeTable:
        numbers, long = X.select_dtypes("number").columns, texts(X)
        self.terms_ = {name: tfidf(DENSE_TERMS).fit(X[name]) for name in long}
        words = [name for name in X.columns if name not in numbers and name not in long]
        self.levels_ = {name: X[name].value_counts().index[:MAX_LEVELS] for name in words}
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        columns = [
            pd.Series(pd.Categorical(X[name], self.levels_[name]))
            if name in self.levels_
            else X[name].reset_index(drop=True)
            for name in X.columns
            if name not in self.terms_
        ]
        columns += [pd.DataFrame(t.transform(X[name]).toarray()) for name, t in self.terms_.items()]
        table = pd.concat(columns, axis=1)
        return table.set_axis([f"x{j}" for j in range(table.shape[1])], axis=1)


def tree_columns(_: pd.DataFrame) -> TreeTable:
    return TreeTable()


SYSTEMS: dict[str, Callable[[SplitTable, float], Outcome]] = {
    "tenfold": run_tenfold,
    "HGB": partial(run_peer, boosted_trees),
    "LightGBM": partial(run_peer, lightgbm),
    "SVM": partial(run_peer, svm),
    "FLAML": run_flaml,
}
