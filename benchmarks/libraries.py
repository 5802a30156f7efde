"""The same class from tenfold and from its peers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module, util
from typing import Any

OURS, SKLEARN, INTELEX = "tenfold", "scikit-learn", "intelex"
PEERS = (SKLEARN, INTELEX)
FAMILY = {
    "BayesianRidge": "linear_model",
    "GaussianNB": "naive_bayes",
    "KMeans": "cluster",
    "LinearRegression": "linear_model",
    "LogisticRegression": "linear_model",
    "PCA": "decomposition",
    "Perceptron": "linear_model",
    "Ridge": "linear_model",
    "SGDClassifier": "linear_model",
}


def where(library: str, model: str) -> str:
    """The module that a library keeps a model in."""
    packages = {SKLEARN: f"sklearn.{FAMILY[model]}", INTELEX: f"sklearnex.{FAMILY[model]}"}
    return packages.get(library, OURS)


def lack(library: str, model: str) -> str:
    """Why a library cannot take part, or nothing if it can."""
    module = where(library, model)
    if util.find_spec(module.split(".")[0]) is None:
        return f"{library} is not installed"
    there = util.find_spec(module) is not None and hasattr(import_module(module), model)
    return "" if there else f"{library} has no {model}"


def load(library: str, model: str) -> type:
    return getattr(import_module(where(library, model)), model)


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += record.getMessage()


def fell_back(call: Callable[[], Any]) -> bool:
    """Whether scikit-learn-intelex handed a call to scikit-learn: it only logs that."""
    logger, heard = logging.getLogger("sklearnex"), _Heard()
    level, others, logger.handlers = logger.level, logger.handlers, [heard]
    spreads, logger.propagate = logger.propagate, False
    logger.setLevel(logging.INFO)
    try:
        call()
    finally:
        logger.setLevel(level)
        logger.handlers, logger.propagate = others, spreads
    return "fallback" in heard.text
