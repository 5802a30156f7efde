"""Machine learning as a fold over rows: the same model in memory, on disk and on a cluster.

Names are flat and lazy: `from tenfold import KMeans` imports what k-means needs and no more.
"""

__version__ = "0.1.0"

# Where each public name lives. `make stub` tells type checkers and editors.
_WHERE: dict[str, str] = {
    "ARDRegression": "tenfold.linear.bayesian_ridge",
    "BayesianLinearRegression": "tenfold.linear.bayesian",
    "BayesianLogisticRegression": "tenfold.linear.bayesian_classification",
    "BayesianModelAverage": "tenfold.linear.averaging",
    "BayesianRidge": "tenfold.linear.bayesian_ridge",
    "CostSensitiveClassifier": "tenfold.linear.decisions",
    "GaussianNB": "tenfold.generative.naive_bayes",
    "GaussianRegression": "tenfold.linear.likelihood",
    "KMeans": "tenfold.cluster.kmeans",
    "LinearRegression": "tenfold.linear.least_squares",
    "LogisticRegression": "tenfold.linear.logistic",
    "NearestCentroid": "tenfold.neighbors.nearest_centroid",
    "OrdinalRegression": "tenfold.linear.ordinal",
    "PCA": "tenfold.factor.pca",
    "PenalisedClassifier": "tenfold.linear.penalised",
    "PenalisedRegressor": "tenfold.linear.penalised",
    "Ridge": "tenfold.linear.least_squares",
    "WeightedModels": "tenfold.linear.weighted_models",
    "checkpoint": "tenfold.rows",
    "gaussian_log_likelihood": "tenfold.linear.likelihood",
    "gibbs_weights": "tenfold.linear.weighted_models",
    "load": "tenfold.persist",
    "merge": "tenfold.estimator",
    "on": "tenfold.rows",
    "open": "tenfold.rows",
    "progress": "tenfold.rows",
    "ridge_penalty": "tenfold.linear.prior",
    "save": "tenfold.persist",
    "threads": "tenfold.rows",
}
_MODULES = ("datasets", "laws", "maths", "plot", "solve")

__all__ = sorted([*_WHERE, *_MODULES])  # noqa: PLE0605 - the names are written once, above


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"tenfold.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'tenfold' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_WHERE[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
