"""What a file may name: a closed list. Nothing else is ever looked up or imported."""

import os
import pkgutil
from collections.abc import Callable, Collection, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

from tenfold import _WHERE
from tenfold import __path__ as _FOLDERS

_SKLEARN = {
    "sklearn.calibration": "CalibratedClassifierCV _SigmoidCalibration _TemperatureScaling",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.feature_extraction": "FeatureHasher",
    "sklearn.feature_extraction.text": (
        "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer"
    ),
    "sklearn.feature_selection": "SelectKBest VarianceThreshold",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier _ConstantPredictor",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": (
        "FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler"
        " Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer"
        " QuantileTransformer RobustScaler SplineTransformer StandardScaler"
    ),
}
_SKLEARN_MODELS = [f"{home}.{name}" for home, names in _SKLEARN.items() for name in names.split()]
FUNCTIONS = [
    f"sklearn.feature_selection.{name}"
    for name in (
        "chi2",
        "f_classif",
        "f_regression",
        "mutual_info_classif",
        "mutual_info_regression",
        "r_regression",
    )
]
# Small objects inside fitted transformers, and the arguments that make them again.
RECORDS = {
    "scipy.interpolate.BSpline": ("t", "c", "k", "extrapolate"),
    "sklearn.calibration._CalibratedClassifier": ("estimator", "calibrators", "classes", "method"),
}
# A cache folder holds pickles, which execute code when they are read; a function is code.
_MUST_BE_NONE = {
    "sklearn.pipeline.Pipeline": ("memory",),
    "sklearn.preprocessing.FunctionTransformer": ("func", "inverse_func"),
}
# Worthless in another process: an address in memory; a function that is made again from arrays.
NOT_KEPT = {
    "sklearn.feature_extraction.text.CountVectorizer": ("_stop_words_id",),
    "sklearn.feature_extraction.text.TfidfVectorizer": ("_stop_words_id",),
    "sklearn.isotonic.IsotonicRegression": ("f_",),
}


def models() -> list[str]:
    """Dotted names of all models that a file may hold."""
    return [*(f"tenfold.{name}" for name in _WHERE), *_SKLEARN_MODELS]


def name_of(thing: Any, allowed: Collection[str]) -> str | None:
    """Name on the list that stands for exactly this class or function, or None."""
    short = thing.__name__
    return next((n for n in allowed if n.endswith("." + short) and find(n, allowed) is thing), None)


def find(name: str, allowed: Collection[str]) -> Any:
    """Class or function that a name on the list stands for."""
    if name not in allowed:
        raise ValueError(f"{name!r} is not among the names that a saved model may use")
    home, _, short = name.rpartition(".")
    return getattr(import_module(_WHERE[short] if home == "tenfold" else home), short)


def model_class(name: str) -> type:
    """Estimator class that a name on the list stands for."""
    cls = find(name, models())
    if not (isinstance(cls, type) and issubclass(cls, BaseEstimator)):
        raise ValueError(f"{name!r} is not a model")
    return cls


def check_params(name: str, params: dict[str, Any], error: Callable[[str], Exception]) -> None:
    """Refuse values that would execute code outside of the saved file."""
    for param in _MUST_BE_NONE.get(name, ()):
        if params.get(param) is not None:
            raise error(f"{name} can only be saved and loaded with {param}=None")


def is_learned(cls: type, name: str) -> bool:
    """Whether a learned attribute may have this name: `coef_` or `_cache`, hiding nothing."""
    marked = name.endswith("_") or name.startswith("_")
    return name.isidentifier() and marked and "__" not in name and not hasattr(cls, name)


def tuple_class(name: str) -> type:
    """NamedTuple class of ours: "tenfold.<module>.<class>", defined in that very module."""
    home, _, short = name.rpartition(".")
    if home not in own_modules():
        raise ValueError(f"{home!r} is not a module of tenfold")
    cls = vars(import_module(home)).get(short)
    if not (isinstance(cls, type) and is_tuple_class(cls) and cls.__module__ == home):
        raise ValueError(f"{name!r} is not a named tuple")
    return cls


def is_tuple_class(cls: type) -> bool:
    """Whether this is a NamedTuple class."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


@cache
def own_modules() -> frozenset[str]:
    """Names of all modules of tenfold, found without importing them."""
    return frozenset(_modules_below(list(_FOLDERS), "tenfold."))


def _modules_below(folders: list[str], prefix: str) -> Iterator[str]:
    for module in pkgutil.iter_modules(folders, prefix):
        short = module.name.removeprefix(prefix)
        if short != "__main__":
            yield module.name
        if module.ispkg:
            yield from _modules_below([os.path.join(f, short) for f in folders], f"{module.name}.")
