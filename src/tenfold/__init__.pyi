# Written by `make stub` from the names in __init__.py.
from tenfold import datasets as datasets
from tenfold import laws as laws
from tenfold import maths as maths
from tenfold import plot as plot
from tenfold import solve as solve
from tenfold.cluster.kmeans import KMeans as KMeans
from tenfold.estimator import merge as merge
from tenfold.factor.pca import PCA as PCA
from tenfold.generative.naive_bayes import GaussianNB as GaussianNB
from tenfold.linear.averaging import BayesianModelAverage as BayesianModelAverage
from tenfold.linear.bases import FourierFeatures as FourierFeatures
from tenfold.linear.bases import monomial_count as monomial_count
from tenfold.linear.bayesian import BayesianLinearRegression as BayesianLinearRegression
from tenfold.linear.bayesian_classification import BayesianLogisticRegression as BayesianLogisticRegression
from tenfold.linear.bayesian_ridge import ARDRegression as ARDRegression
from tenfold.linear.bayesian_ridge import BayesianRidge as BayesianRidge
from tenfold.linear.decisions import CostSensitiveClassifier as CostSensitiveClassifier
from tenfold.linear.functions import FunctionFeatures as FunctionFeatures
from tenfold.linear.indicators import IndicatorFeatures as IndicatorFeatures
from tenfold.linear.least_squares import LinearRegression as LinearRegression
from tenfold.linear.least_squares import Ridge as Ridge
from tenfold.linear.likelihood import GaussianRegression as GaussianRegression
from tenfold.linear.likelihood import gaussian_log_likelihood as gaussian_log_likelihood
from tenfold.linear.logistic import LogisticRegression as LogisticRegression
from tenfold.linear.ordinal import OrdinalRegression as OrdinalRegression
from tenfold.linear.penalised import PenalisedClassifier as PenalisedClassifier
from tenfold.linear.penalised import PenalisedRegressor as PenalisedRegressor
from tenfold.linear.prior import ridge_penalty as ridge_penalty
from tenfold.linear.projection import hat_matrix as hat_matrix
from tenfold.linear.projection import leverages as leverages
from tenfold.linear.radial import RadialFeatures as RadialFeatures
from tenfold.linear.ranked import ranked_weights as ranked_weights
from tenfold.linear.reasons import reasons as reasons
from tenfold.linear.reasons import sensitivity as sensitivity
from tenfold.linear.redundancy import equally_good as equally_good
from tenfold.linear.redundancy import redundant_columns as redundant_columns
from tenfold.linear.rotation import RotationAbs as RotationAbs
from tenfold.linear.weighted_models import WeightedModels as WeightedModels
from tenfold.linear.weighted_models import gibbs_weights as gibbs_weights
from tenfold.neighbors.nearest_centroid import NearestCentroid as NearestCentroid
from tenfold.persist import load as load
from tenfold.persist import save as save
from tenfold.rows import checkpoint as checkpoint
from tenfold.rows import on as on
from tenfold.rows import open as open
from tenfold.rows import progress as progress
from tenfold.rows import threads as threads

_WHERE: dict[str, str]
__all__: list[str]
__version__: str
