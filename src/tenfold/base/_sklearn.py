"""Everything that tenfold takes from the private parts of scikit-learn, in one place.

scikit-learn promises nothing about these names. A release that moves one of them breaks this module
alone; no other module of tenfold imports a private module or name of scikit-learn.
"""

from typing import Any

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    MissingValues,
    Options,
    RealNotInt,
    StrOptions,
)
from sklearn.utils.extmath import _randomized_eigsh as randomized_eigsh
from sklearn.utils.validation import _check_categorical_features as check_categorical_features
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_monotonic_cst as check_monotonic_cst
from sklearn.utils.validation import _check_psd_eigenvalues as check_psd_eigenvalues
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Hidden",
    "Interval",
    "MissingValues",
    "Options",
    "RealNotInt",
    "StrOptions",
    "check_categorical_features",
    "check_feature_names",
    "check_feature_names_in",
    "check_monotonic_cst",
    "check_psd_eigenvalues",
    "check_sample_weight",
    "expected_check_failures",
    "infer_dimension",
    "is_pandas_na",
    "num_samples",
    "randomized_eigsh",
    "safe_indexing",
]


def infer_dimension(variances: Any, n_samples: int) -> Any:
    """Number of components by Minka's evidence; its module, which few need, imports many others."""
    from sklearn.decomposition._pca import _infer_dimension

    return _infer_dimension(variances, n_samples)


def expected_check_failures(class_name: str) -> dict[str, str]:
    """Checks of `check_estimator` that scikit-learn expects its own class of this name to fail."""
    from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS

    by_name = {cls.__name__: checks for cls, checks in PER_ESTIMATOR_XFAIL_CHECKS.items()}
    return dict(by_name.get(class_name, {}))
