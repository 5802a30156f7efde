"""The ladder: models in the order of simplicity, each with the settings it is tried with.

A rung whose names are not (yet) public in tenfold is left out, so new families light up here the
day they are named. Settings are chosen within the rows that a model may learn from (`tuning`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tenfold
from tenfold.study import recipes
from tenfold.study.facts import Facts
from tenfold.study.recipes import Recipe
from tenfold.study.scoring import MULTI_CLASS, REGRESSION, TWO_CLASS

CLASSES = (TWO_CLASS, MULTI_CLASS)
ANY = (REGRESSION, *CLASSES)
YARDSTICK = "Boosted trees: yardstick (scikit-learn)"
WIDE = 600  # columns beyond which a covariance, or a tree, costs more than it tells
MANY_PRODUCTS = 40  # columns beyond which products of pairs are too many


@dataclass(frozen=True)
class Rung:
    """A model of the ladder.

    Attributes
    ----------
    key, title : short name, and name for people
    tasks : what it can be tried for
    needs : public names of tenfold without which it is left out
    make : gives the recipes for a table
    unfit : says why a table does not suit it, or gives None
    simplicity : place in the order of simplicity
    growth : time grows with this power of the rows
    yardstick : whether it is there for comparison alone, and never chosen
    """

    key: str
    title: str
    tasks: tuple[str, ...]
    needs: tuple[str, ...]
    make: Callable[[Facts], list[Recipe]]
    unfit: Callable[[Facts], str | None]
    simplicity: int
    growth: float = 1.0
    yardstick: bool = False

    @property
    def eligible(self) -> bool:
        """Whether it can be chosen."""
        return not self.yardstick


def rungs(task: str, wanted: Any = None) -> list[Rung]:
    """The rungs for a task, the simplest first.

    Parameters
    ----------
    task : str
        "regression", "two-class" or "multi-class".
    wanted : list of str, optional
        Keys; the baseline is always there.
    """
    fitting = [rung for rung in LADDER if task in rung.tasks and _exists(rung)]
    if wanted is None:
        return fitting
    unknown = sorted(set(wanted) - {rung.key for rung in fitting})
    if unknown:
        known = ", ".join(rung.key for rung in fitting)
        raise ValueError(f"there is no model {', '.join(unknown)} for {task}; there are {known}")
    return [rung for rung in fitting if rung.key in {"baseline", *wanted}]


def _exists(rung: Rung) -> bool:
    return all(name in tenfold._WHERE for name in rung.needs)  # noqa: SLF001 - the one list


def always(facts: Facts) -> str | None:
    """Every table suits."""


def dense(facts: Facts) -> str | None:
    """A table of few enough columns in memory."""
    if facts.sparse or facts.p > WIDE:
        return f"{facts.p:,} encoded columns are too many for it"
    return None


def narrow(facts: Facts) -> str | None:
    """A table of so few columns that pairs of them can be multiplied."""
    if facts.sparse or facts.p > MANY_PRODUCTS:
        return f"pairs of {facts.p:,} encoded columns are too many products"
    return "there is only one column" if facts.p < 2 else None


def curved(facts: Facts) -> str | None:
    """A table with continuous columns."""
    if facts.sparse or facts.p > WIDE:
        return dense(facts)
    return None if facts.continuous else "no column has enough different numbers"


def for_words(facts: Facts) -> str | None:
    """A table in memory, or one of word counts."""
    return None if facts.sparse and facts.counts else dense(facts)


_CLASSICAL = ("Ridge", "LogisticRegression")
_NEIGHBOURS = ("KNeighborsClassifier", "KNeighborsRegressor")
_NETWORKS = ("MLPClassifier", "MLPRegressor", "SequentialClassifier", "SequentialRegressor")
_NUMBER = (REGRESSION,)
_BAYES = ("MixedNB", "MultinomialNB", "ComplementNB")
_LDA, _QDA = ("LinearDiscriminantAnalysis",), ("QuadraticDiscriminantAnalysis",)

LADDER: tuple[Rung, ...] = (
    Rung("baseline", "Baseline", ANY, (), recipes.baseline, always, 0),
    Rung("naive_bayes", "Naive Bayes", CLASSES, _BAYES, recipes.naive_bayes, for_words, 1),
    Rung("ridge", "Ridge regression", _NUMBER, ("Ridge",), recipes.plain_linear, always, 2),
    Rung("lda", "Linear discriminant", CLASSES, _LDA, recipes.lda, dense, 2),
    Rung("logistic", "Logistic regression", CLASSES, _CLASSICAL, recipes.plain_linear, always, 3),
    Rung("lasso", "Lasso", _NUMBER, ("Lasso",), recipes.lasso, always, 3),
    Rung("linear_svm", "Linear SVM", CLASSES, ("LinearSVC",), recipes.linear_svm, always, 4),
    Rung("linear_splines", "Linear with splines", ANY, _CLASSICAL, recipes.splines, curved, 5),
    Rung("interactions", "Linear with products", ANY, _CLASSICAL, recipes.products, narrow, 6),
    Rung("qda", "Quadratic discriminant", CLASSES, _QDA, recipes.qda, dense, 6),
    Rung("neighbours", "Nearest neighbours", ANY, _NEIGHBOURS, recipes.neighbours, dense, 7, 2.0),
    Rung("radial", "Radial features", ANY, _CLASSICAL, recipes.radial, dense, 8),
    Rung("kernel_svm", "Kernel SVM", ANY, ("SVC", "SVR"), recipes.kernel_svm, dense, 9, 2.0),
    Rung("mlp", "Neural network", ANY, _NETWORKS, recipes.mlp, dense, 10),
    Rung("boosting", YARDSTICK, ANY, (), recipes.boosting, dense, 11, yardstick=True),
)
