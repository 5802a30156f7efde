"""What a file may name: a closed list. Nothing else is ever looked up or imported."""

from collections.abc import Collection
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator

from tenfold import _WHERE
from tenfold.persist.class_tags import CLASS_TAGS

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
# Classes that are neither named tuples nor frozen dataclasses, and the arguments that make them.
CONSTRUCTOR_ARGUMENTS = {
    "scipy.interpolate.BSpline": ("t", "c", "k", "extrapolate"),
    "sklearn.calibration._CalibratedClassifier": ("estimator", "calibrators", "classes", "method"),
    **{
        f"sklearn.gaussian_process.kernels.{name}": tuple(arguments.split())
        for name, arguments in (
            ("CompoundKernel", "kernels"),
            ("ConstantKernel", "constant_value constant_value_bounds"),
            ("DotProduct", "sigma_0 sigma_0_bounds"),
            ("ExpSineSquared", "length_scale periodicity length_scale_bounds periodicity_bounds"),
            ("Exponentiation", "kernel exponent"),
            ("Matern", "length_scale length_scale_bounds nu"),
            ("PairwiseKernel", "gamma gamma_bounds metric pairwise_kernels_kwargs"),
            ("Product", "k1 k2"),
            ("RBF", "length_scale length_scale_bounds"),
            ("RationalQuadratic", "length_scale alpha length_scale_bounds alpha_bounds"),
            ("Sum", "k1 k2"),
            ("WhiteKernel", "noise_level noise_level_bounds"),
        )
    },
    "term_counts": ("words", "count", "documents_with", "documents"),
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
    "tenfold.BayesianNetwork": ("_compiled",),
    "tenfold.KNeighborsClassifier": ("_index", "_source_rows"),
    "tenfold.KNeighborsRegressor": ("_index", "_source_rows"),
    "tenfold.KNNImputer": ("_donors",),
    "tenfold.KNeighborsTransformer": ("_index",),
    "tenfold.LocalOutlierFactor": ("_index",),
    "tenfold.NearestNeighborGaussianProcessRegressor": ("_index",),
    "tenfold.NearestNeighbors": ("_index", "_source_rows"),
    "tenfold.RadiusNeighborsClassifier": ("_index", "_source_rows"),
    "tenfold.RadiusNeighborsRegressor": ("_index", "_source_rows"),
    "tenfold.RadiusNeighborsTransformer": ("_index",),
    "tenfold.StackingRegressor": ("stack_method",),  # that scikit-learn's constructor sets
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


@cache
def tags_by_class_name() -> dict[str, list[str]]:
    """Short name of a class -> tags that may stand for it."""
    found: dict[str, list[str]] = {}
    for tag in {**CLASS_TAGS, **CONSTRUCTOR_ARGUMENTS}:
        found.setdefault(CLASS_TAGS.get(tag, tag).rpartition(".")[2], []).append(tag)
    return found


def tag_of(cls: type) -> str | None:
    """Tag of a class that a file may hold beside models, or None."""
    tags = tags_by_class_name().get(cls.__name__, ())
    return next((tag for tag in tags if find_tagged_class(tag) is cls), None)


def find_tagged_class(tag: str) -> Any:
    """Class that a tag stands for."""
    if tag not in CLASS_TAGS and tag not in CONSTRUCTOR_ARGUMENTS:
        raise ValueError(f"{tag!r} is not among the names that a saved model may use")
    module, _, name = CLASS_TAGS.get(tag, tag).rpartition(".")
    return getattr(import_module(module), name)


def saved_fields(tag: str) -> tuple[str, ...]:
    """Names of the parts that a file holds of an object of a tagged class."""
    return CONSTRUCTOR_ARGUMENTS.get(tag) or _field_names(find_tagged_class(tag))


def _field_names(cls: Any) -> tuple[str, ...]:
    """Names of the fields of a NamedTuple or a frozen dataclass; of a kernel, its parameters."""
    if issubclass(cls, tuple):
        return getattr(cls, "_fields")  # noqa: B009 - type checkers know no such tuples
    if is_dataclass(cls):
        return tuple(field.name for field in fields(cls))
    return tuple(name for name in signature(cls.__init__).parameters if name != "self")
