"""The tables on which `tenfold.learn` is compared with other systems, and their sealed split."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

import tenfold
from benchmarks.trees import Labelled, forest_cover

MAX_CLASSES = 20  # distinct values of a target up to which they are classes


class SplitTable(NamedTuple):
    """A table and the split that `tenfold.learn` makes of it.

    Attributes
    ----------
    frame, target : all rows, and the name of the column to be predicted
    train, test : numbers of the training rows, and of those sealed for the test
    seed : of the split
    """

    frame: pd.DataFrame
    target: str
    train: np.ndarray
    test: np.ndarray
    seed: int

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted."""
        return len(self.frame[self.target].unique()) <= MAX_CLASSES

    @property
    def metric(self) -> str:
        """The score that all systems maximize, and by which they are judged."""
        return "accuracy" if self.classifies else "r2"

    @property
    def features(self) -> pd.DataFrame:
        """All columns but the target."""
        return self.frame.drop(columns=self.target)

    @property
    def truth(self) -> np.ndarray:
        """The target of the sealed rows."""
        return self.frame[self.target].to_numpy()[self.test]


def split_table(name: str, seed: int = 0) -> SplitTable:
    """A table with the rows that `tenfold.learn` trains on and those that it seals."""
    from tenfold.automl.config import LearnCallbacks, LearnConfig
    from tenfold.automl.preparation import prepare_table
    from tenfold.io.table_opener import open_table

    frame, target = TABLES[name]()
    defaults = {"task": None, "kinds": None, "drop": (), "metric": None, "models": None}
    defaults |= {"folds": 5, "test_share": 0.2, "minutes": 2.0, "prefer": "best", "seed": seed}
    config = LearnConfig.of(target=target, yardstick=False, output=None, resume=False, **defaults)
    split = prepare_table(open_table(frame, target=target), config, LearnCallbacks()).split
    return SplitTable(frame, target, split.train, split.test, seed)


def bundled(name: str) -> tuple[pd.DataFrame, str]:
    from sklearn import datasets

    return getattr(datasets, f"load_{name}")(as_frame=True).frame, "target"


def fetched(name: str) -> tuple[pd.DataFrame, str]:
    bunch = getattr(tenfold.datasets, f"fetch_{name}")()
    frame = pd.DataFrame(bunch.data, columns=list(bunch.feature_names))
    return frame.assign(target=bunch.target), "target"


def ames() -> tuple[pd.DataFrame, str]:
    from tenfold.datasets.cache import find_file

    return pd.read_csv(find_file("ames")), "SalePrice"


def messages() -> tuple[pd.DataFrame, str]:
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


def wide(n: int, p: int) -> pd.DataFrame:
    """Two classes; four of the columns matter, two of them by their product."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    score = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] + 0.5 * rng.logistic(size=n)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    return frame.assign(target=np.where(score > 0, "yes", "no"))


def framed(data: Labelled) -> pd.DataFrame:
    X, y = np.concatenate([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(target=y)


TABLES: dict[str, Callable[[], tuple[pd.DataFrame, str]]] = {
    "breast cancer": lambda: bundled("breast_cancer"),
    "wine": lambda: bundled("wine"),
    "digits": lambda: bundled("digits"),
    "california": lambda: fetched("california_housing"),
    "ames": ames,
    "spambase": lambda: fetched("spambase"),
    "sms spam": messages,
    "adult-like": lambda: (adult_like(20_000), "income"),
    "covertype-like": lambda: (framed(forest_cover(30)), "target"),
    "wide": lambda: (wide(1500, 200), "target"),
    "tiny": lambda: (wide(60, 5), "target"),
}
