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
    "ElasticNet": "tenfold.linear.elastic_net",
    "FourierFeatures": "tenfold.linear.bases",
    "FunctionFeatures": "tenfold.linear.functions",
    "GaussianNB": "tenfold.generative.naive_bayes",
    "GaussianRegression": "tenfold.linear.likelihood",
    "HuberRegressor": "tenfold.linear.huber",
    "IndicatorFeatures": "tenfold.linear.indicators",
    "KMeans": "tenfold.cluster.kmeans",
    "Lasso": "tenfold.linear.lasso",
    "LeastSquaresClassifier": "tenfold.linear.least_squares_classifier",
    "LinearRegression": "tenfold.linear.least_squares",
    "LinearSVC": "tenfold.linear.svc",
    "LogisticRegression": "tenfold.linear.logistic",
    "NearestCentroid": "tenfold.neighbors.nearest_centroid",
    "OrdinalRegression": "tenfold.linear.ordinal",
    "PCA": "tenfold.factor.pca",
    "Pegasos": "tenfold.linear.pegasos",
    "PenalisedClassifier": "tenfold.linear.penalised",
    "PenalisedRegressor": "tenfold.linear.penalised",
    "Perceptron": "tenfold.linear.perceptron",
    "PoissonRegressor": "tenfold.linear.poisson",
    "ProbitRegression": "tenfold.linear.probit",
    "QuantileRegressor": "tenfold.linear.quantile",
    "RadialFeatures": "tenfold.linear.radial",
    "Ridge": "tenfold.linear.least_squares",
    "RotationAbs": "tenfold.linear.rotation",
    "SGDClassifier": "tenfold.linear.sgd",
    "SGDRegressor": "tenfold.linear.sgd_regressor",
    "WeightedModels": "tenfold.linear.weighted_models",
    "checkpoint": "tenfold.rows",
    "enet_path": "tenfold.linear.lasso_path",
    "equally_good": "tenfold.linear.redundancy",
    "gaussian_log_likelihood": "tenfold.linear.likelihood",
    "gibbs_weights": "tenfold.linear.weighted_models",
    "hard_margin": "tenfold.linear.hard_margin",
    "hat_matrix": "tenfold.linear.projection",
    "lasso_path": "tenfold.linear.lasso_path",
    "leverages": "tenfold.linear.projection",
    "linearly_separable": "tenfold.linear.separable",
    "load": "tenfold.persist",
    "merge": "tenfold.estimator",
    "monomial_count": "tenfold.linear.bases",
    "novikoff_bound": "tenfold.linear.separable",
    "on": "tenfold.rows",
    "open": "tenfold.rows",
    "pegasos_step": "tenfold.linear.pegasos",
    "perceptron_step": "tenfold.linear.perceptron",
    "progress": "tenfold.rows",
    "ranked_weights": "tenfold.linear.ranked",
    "reasons": "tenfold.linear.reasons",
    "redundant_columns": "tenfold.linear.redundancy",
    "ridge_penalty": "tenfold.linear.prior",
    "save": "tenfold.persist",
    "sensitivity": "tenfold.linear.reasons",
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
