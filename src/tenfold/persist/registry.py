"""What a file may name: a closed list. Nothing else is ever looked up or imported."""

import pkgutil
from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

import tenfold
from tenfold import _WHERE

_SKLEARN = {
    "sklearn.calibration": "CalibratedClassifierCV _SigmoidCalibration _TemperatureScaling",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.feature_extraction": "FeatureHasher",
    "sklearn.feature_extraction.text": (
        "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer"
    ),
    "sklearn.feature_selection": "SelectKBest VarianceThreshold",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "Nystroem",
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
    "tenfold.preprocessing.text._vocabulary.TermCounts": (
        "words",
        "count",
        "documents_with",
        "documents",
    ),
    "tenfold.distributions.discrete.Bernoulli": ("p", "prior"),
    "tenfold.distributions.discrete.Binomial": ("trials", "p", "prior"),
    "tenfold.distributions.discrete.Poisson": ("rate", "prior"),
    "tenfold.distributions.normal.Gaussian": ("mean", "covariance", "kind", "floor", "prior"),
    "tenfold.distributions.independent.Independent": ("columns",),
    "tenfold.distributions.uniform.DiscreteUniform": ("low", "high"),
    "tenfold.distributions.uniform.Uniform": ("low", "high"),
    "tenfold.distributions.dirichlet.Beta": ("a", "b"),
    "tenfold.distributions.dirichlet.Dirichlet": ("a",),
    "tenfold.distributions.normal.NormalInverseGamma": (
        "centre",
        "strength",
        "shape",
        "scale",
    ),
    "tenfold.distributions.normal.NormalInverseWishart": (
        "centre",
        "strength",
        "freedom",
        "scale",
    ),
    "tenfold.distributions.gamma.Exponential": ("rate", "prior"),
    "tenfold.distributions.gamma.Gamma": ("shape", "rate"),
    "tenfold.distributions.discrete.Categorical": ("p", "prior"),
    "tenfold.distributions.discrete.Multinomial": ("p", "ordered", "trials", "prior"),
}
# A cache folder holds pickles, which execute code when they are read; a function is code.
_FORBIDDEN_PARAMS = {
    "sklearn.pipeline.Pipeline": ("memory",),
    "sklearn.preprocessing.FunctionTransformer": ("func", "inverse_func"),
}
# Worthless in another process: an address in memory; a function that is made again from arrays.
UNSAVED_ATTRIBUTES = {
    "sklearn.feature_extraction.text.CountVectorizer": ("_stop_words_id",),
    "sklearn.feature_extraction.text.TfidfVectorizer": ("_stop_words_id",),
    "sklearn.isotonic.IsotonicRegression": ("f_",),
}


def model_names() -> list[str]:
    """Dotted names of all models that a file may hold."""
    return [*(f"tenfold.{name}" for name in _WHERE), *_SKLEARN_MODELS]


def registered_name(thing: Any, allowed: Collection[str]) -> str | None:
    """Name on the list that stands for exactly this class or function, or None."""
    short = thing.__name__
    return next(
        (n for n in allowed if n.endswith("." + short) and find_registered(n, allowed) is thing),
        None,
    )


def find_registered(name: str, allowed: Collection[str]) -> Any:
    """Class or function that a name on the list stands for."""
    if name not in allowed:
        raise ValueError(f"{name!r} is not among the names that a saved model may use")
    home, _, short = name.rpartition(".")
    return getattr(import_module(_WHERE[short] if home == "tenfold" else home), short)


def find_model_class(name: str) -> type:
    """Estimator class that a name on the list stands for."""
    cls = find_registered(name, model_names())
    if not (isinstance(cls, type) and issubclass(cls, BaseEstimator)):
        raise TypeError(f"{name!r} is not a model")
    return cls


def find_forbidden_param(name: str, params: dict[str, Any]) -> str | None:
    """Parameter whose value would bring in code from outside of the file, if there is one."""
    return next((p for p in _FORBIDDEN_PARAMS.get(name, ()) if params.get(p) is not None), None)


def is_learned_attribute(cls: type, name: str) -> bool:
    """Whether a learned attribute may have this name: `coef_` or `_cache`, hiding nothing."""
    marked = name.endswith("_") or name.startswith("_")
    return name.isidentifier() and marked and "__" not in name and not hasattr(cls, name)


def record_name(cls: type) -> str | None:
    """Name "tenfold.<module>.<class>" of a class of fixed fields that is defined in that module.

    That is a NamedTuple or a frozen dataclass.
    """
    named = field_names(cls) is not None and cls.__module__ in tenfold_modules()
    found = named and getattr(import_module(cls.__module__), cls.__qualname__, None) is cls
    return f"{cls.__module__}.{cls.__qualname__}" if found else None


def field_names(cls: Any) -> tuple[str, ...] | None:
    """Names of the fields of a NamedTuple or a frozen dataclass; None for other classes."""
    if issubclass(cls, tuple):
        return getattr(cls, "_fields", None)
    frozen = is_dataclass(cls) and getattr(cls, "__dataclass_params__").frozen  # noqa: B009
    return tuple(field.name for field in fields(cls)) if frozen else None


def find_record_class(name: str) -> Any:
    """Class of fixed fields that such a name stands for."""
    home, _, short = name.rpartition(".")
    cls = vars(import_module(home)).get(short) if home in tenfold_modules() else None
    if not isinstance(cls, type) or record_name(cls) != name:
        raise ValueError(f"{name!r} is not a named tuple or frozen dataclass of tenfold")
    return cls


@cache
def tenfold_modules() -> frozenset[str]:
    """Names of all modules of tenfold, found without importing them."""
    return frozenset(_modules_below([Path(folder) for folder in tenfold.__path__], "tenfold."))


def _modules_below(folders: list[Path], prefix: str) -> Iterator[str]:
    for module in pkgutil.iter_modules(map(str, folders), prefix):
        short = module.name.removeprefix(prefix)
        if short != "__main__":
            yield module.name
        if module.ispkg:
            yield from _modules_below([folder / short for folder in folders], f"{module.name}.")
