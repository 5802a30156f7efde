"""Machine learning as a fold over rows: the same model in memory, on disk and on a cluster.

Names are flat and lazy: `from tenfold import KMeans` imports what k-means needs and no more.
"""

__version__ = "0.1.0"

# Where each public name lives. `make stub` tells type checkers and editors.
_WHERE: dict[str, str] = {
    "ARDRegression": "tenfold.linear.bayes.bayesian_ridge",
    "BayesianLinearRegression": "tenfold.linear.bayes.bayesian",
    "BayesianLogisticRegression": "tenfold.linear.bayes.bayesian_classification",
    "BayesianModelAverage": "tenfold.linear.bayes.averaging",
    "BayesianRidge": "tenfold.linear.bayes.bayesian_ridge",
    "BernoulliNB": "tenfold.generative.bernoulli",
    "CategoricalNB": "tenfold.generative.categorical",
    "ComplementNB": "tenfold.generative.multinomial",
    "CostSensitiveClassifier": "tenfold.linear.decisions",
    "ElasticNet": "tenfold.linear.lasso.elastic_net",
    "FourierFeatures": "tenfold.linear.features.bases",
    "FunctionFeatures": "tenfold.linear.features.functions",
    "GaussianClassifier": "tenfold.generative.gaussian",
    "GaussianNB": "tenfold.generative.naive_bayes",
    "GaussianRegression": "tenfold.linear.bayes.likelihood",
    "GenerativeClassifier": "tenfold.generative.any_density",
    "HuberRegressor": "tenfold.linear.robust.huber",
    "IndicatorFeatures": "tenfold.linear.features.indicators",
    "KMeans": "tenfold.cluster.kmeans",
    "Lasso": "tenfold.linear.lasso.lasso",
    "LeastSquaresClassifier": "tenfold.linear.least_squares_classifier",
    "LinearDiscriminantAnalysis": "tenfold.generative.discriminant",
    "LinearRegression": "tenfold.linear.least_squares",
    "LinearSVC": "tenfold.linear.svm.svc",
    "LogisticRegression": "tenfold.linear.logistic",
    "MixedNB": "tenfold.generative.mixed",
    "MultinomialNB": "tenfold.generative.multinomial",
    "NearestCentroid": "tenfold.neighbors.nearest_centroid",
    "OrdinalRegression": "tenfold.linear.ordinal",
    "PCA": "tenfold.factor.pca",
    "Pegasos": "tenfold.linear.stepwise.pegasos",
    "PenalisedClassifier": "tenfold.linear.penalised",
    "PenalisedRegressor": "tenfold.linear.penalised",
    "Perceptron": "tenfold.linear.stepwise.perceptron",
    "PoissonNB": "tenfold.generative.poisson",
    "PoissonRegressor": "tenfold.linear.poisson",
    "ProbitRegression": "tenfold.linear.probit",
    "QuadraticDiscriminantAnalysis": "tenfold.generative.quadratic",
    "QuantileRegressor": "tenfold.linear.robust.quantile",
    "RadialFeatures": "tenfold.linear.features.radial",
    "Ridge": "tenfold.linear.least_squares",
    "RotationAbs": "tenfold.linear.features.rotation",
    "SGDClassifier": "tenfold.linear.stepwise.sgd",
    "SGDRegressor": "tenfold.linear.stepwise.sgd_regressor",
    "Search": "tenfold.select.search",
    "WeightedModels": "tenfold.linear.bayes.weighted_models",
    "checkpoint": "tenfold.rows",
    "cross_validate": "tenfold.select.validation",
    "enet_path": "tenfold.linear.lasso.path",
    "equally_good": "tenfold.linear.reading.redundancy",
    "gaussian_log_likelihood": "tenfold.linear.bayes.likelihood",
    "gibbs_weights": "tenfold.linear.bayes.weighted_models",
    "hard_margin": "tenfold.linear.svm.hard_margins",
    "hat_matrix": "tenfold.linear.reading.projection",
    "lasso_path": "tenfold.linear.lasso.path",
    "learning_curve": "tenfold.select.curves",
    "leverages": "tenfold.linear.reading.projection",
    "linearly_separable": "tenfold.linear.stepwise.separable",
    "load": "tenfold.persist",
    "merge": "tenfold.estimator",
    "monomial_count": "tenfold.linear.features.bases",
    "novikoff_bound": "tenfold.linear.stepwise.separable",
    "on": "tenfold.rows",
    "open": "tenfold.rows",
    "pegasos_step": "tenfold.linear.stepwise.pegasos",
    "perceptron_step": "tenfold.linear.stepwise.perceptron",
    "progress": "tenfold.rows",
    "ranked_weights": "tenfold.linear.reading.ranked",
    "reasons": "tenfold.linear.reading.reasons",
    "redundant_columns": "tenfold.linear.reading.redundancy",
    "ridge_penalty": "tenfold.linear.bayes.prior",
    "save": "tenfold.persist",
    "search": "tenfold.select.search",
    "sensitivity": "tenfold.linear.reading.reasons",
    "threads": "tenfold.rows",
    "validation_curve": "tenfold.select.curves",
}
_MODULES = ("datasets", "laws", "maths", "metrics", "plot", "select", "solve")

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
