"""Support vector classification with kernels, by C or by nu."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.svm._blocked_smo import DualSolution
from tenfold.svm._classifier_base import CLASSIFIER_CONSTRAINTS, KernelClassifier
from tenfold.svm._dual_problem import (
    DualProblem,
    classification_problem,
    nu_classification_problem,
)


class SVC(KernelClassifier):
    r"""Support vector classification with a kernel.

    For two classes, with signs :math:`y_i = \pm 1`,

    .. math:: \min_\alpha \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)
              - \sum_i \alpha_i, \quad 0 \le \alpha_i \le C \omega_i, \quad
              \sum_i \alpha_i y_i = 0,

    the dual of :math:`\tfrac12 \lVert w \rVert^2 + C \sum_i \omega_i \max(0, 1 - y_i (w \cdot
    \phi(x_i) + b))`. The score is :math:`\sum_i \alpha_i y_i k(x_i, x) + b`; only support vectors,
    whose multiplier is not zero, take part. b is the mean over the free multipliers of what the
    optimality conditions ask for, or the middle of what they allow if none is free. Several classes
    have a machine for each pair, and vote. Parameters and attributes are those of
    `sklearn.svm.SVC`.

    The fit ends with a certificate: `duality_gap_` bounds how far the objective is from its
    minimum, if the kernel is positive semi-definite. With "sigmoid", and with functions that are no
    kernels, there can be several stationary points: the fit ends at one of them, perhaps not that
    of another solver. `converged_` then says that it is stationary, and `duality_gap_` is inf for
    "sigmoid" and wherever the solver meets two rows that show it. Rows may be in files larger than
    memory: then a round of the solver is a pass over them, and memory holds `cache_size` MB and a
    few numbers for each row.

    Parameters
    ----------
    C : float
        Bound of the multipliers: large values fit the training rows more closely; `np.inf` for
        a hard margin.
    kernel : str, callable or kernel object
        The kernel: "rbf", "linear", "poly", "sigmoid", another name of `KernelRidge`, or a kernel
        of `tenfold.kernel`. "precomputed" takes X as the matrix of kernel values; a callable is a
        function of two matrices of rows. With a kernel of objects (strings, sets) X is a list of
        them.
    degree : int
        Degree of "poly".
    gamma : "scale", "auto" or float
        Factor in "rbf", "poly" and "sigmoid"; "scale" is 1 / (n_features * variance of X), "auto"
        is 1 / n_features.
    coef0 : float
        Constant in "poly" and "sigmoid".
    shrinking : bool
        Whether to leave out rows that stay at a bound while kernel values do not fit into the
        cache.
    probability : bool
        Whether to calibrate `predict_proba`, by fits to five parts of the rows.
    tol : float
        Largest violation of the optimality conditions.
    cache_size : float
        Size of the cache of kernel values, in MB.
    class_weight : dict, "balanced" or None
        Factor on C for the rows of each class.
    verbose : bool
        Whether to show progress, as `tenfold.progress()` does.
    max_iter : int
        Most steps of the solver, each of which moves two multipliers; -1 for no limit.
    decision_function_shape : {"ovr", "ovo"}
        Whether `decision_function` has a column for each class, or for each pair.
    break_ties : bool
        Whether to decide between equal votes by the sizes of the scores.
    random_state : int, optional
        Not used: parts of the rows for `probability` are fixed by their order.
    warm_start : bool
        Whether to begin at the multipliers of the last fit, for the same rows and another C.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    support_ : (n_SV,) numbers of the support vectors, by class
    support_vectors_ : (n_SV, n_features) support vectors; empty for a precomputed kernel
    n_support_ : (n_classes,) support vectors of each class
    dual_coef_ : (n_classes - 1, n_SV) multipliers with their signs
    coef_ : (n_pairs, n_features) weights of the features, for a linear kernel
    intercept_ : (n_pairs,) intercepts
    class_weight_ : (n_classes,) factors of the classes
    gamma_ : the number that `gamma` stands for
    probability_slopes_ : (n_pairs, 2) slopes of the probabilities for positive and other scores
    duality_gap_, objective_ : (n_pairs,) duality gap (inf: none) and dual objective of each pair
    n_iter_ : (n_pairs,) steps of the solver
    converged_, fit_status_ : whether all pairs converged; 0 if they did
    shape_fit_ : shape of X
    history_ : "objective", "violation", "seconds" of each round, and the "problem" it belongs to

    See Also
    --------
    LinearSVC : Linear machines for many rows.
    NuSVC : The same with a share of support vectors instead of C.
    Nystroem : Features of landmarks, for more rows than a kernel machine can take.

    References
    ----------
    * C. Cortes, V. Vapnik (1995). Support-vector networks. Machine Learning 20.
    * C.-C. Chang, C.-J. Lin (2011). LIBSVM: a library for support vector machines. ACM TIST 2.
    * R.-E. Fan, P.-H. Chen, C.-J. Lin (2005). Working set selection using second order information
      for training support vector machines. JMLR 6.

    Examples
    --------
    >>> from tenfold import SVC
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["even", "even", "odd", "odd"]
    >>> model = SVC(C=10.0, gamma=1.0).fit(X, y)
    >>> model.predict(X).tolist(), model.n_support_.tolist()
    (['even', 'even', 'odd', 'odd'], [2, 2])
    """

    _parameter_constraints = CLASSIFIER_CONSTRAINTS | {
        "C": [Interval(Real, 0.0, None, closed="right")]
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.warm_start = warm_start

    def _pair_problem(
        self, sign: np.ndarray, weight: np.ndarray, class_weight: np.ndarray
    ) -> DualProblem:
        return classification_problem(sign, self._bounded_cost() * weight * class_weight)


class NuSVC(KernelClassifier):
    r"""Support vector classification in which nu bounds the share of margin errors.

    .. math:: \min_\alpha \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j), \quad
              0 \le \alpha_i \le \omega_i, \quad \sum_i \alpha_i y_i = 0, \quad
              \sum_i \alpha_i = \nu \sum_i \omega_i

    At the optimum at most a share nu of the rows lies within the margin, and at least a share nu
    are support vectors. The multipliers are divided by the margin, so that scores have the scale of
    `SVC`. Parameters and attributes are those of `sklearn.svm.NuSVC`; what `SVC` says about
    `duality_gap_` and about files holds here as well.

    Parameters
    ----------
    nu : float
        Share of margin errors at most, of support vectors at least.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose,
    max_iter, decision_function_shape, break_ties, random_state
        As in `SVC`.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_ : as in `SVC`
    class_weight_, gamma_, duality_gap_, objective_, n_iter_, converged_, fit_status_ : as in `SVC`
    shape_fit_, history_ : as in `SVC`

    See Also
    --------
    SVC : The same with the cost C.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson, P. Bartlett (2000). New support vector algorithms. Neural
    Computation 12.

    Examples
    --------
    >>> from tenfold import NuSVC
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> NuSVC(nu=0.5).fit(X, y).predict([[-0.5], [3.0]]).tolist()
    [0, 1]
    """

    _parameter_constraints = {
        **CLASSIFIER_CONSTRAINTS,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state

    def _pair_problem(
        self, sign: np.ndarray, weight: np.ndarray, class_weight: np.ndarray
    ) -> DualProblem:
        return nu_classification_problem(sign, weight * class_weight, self.nu)

    def _pair_multipliers(self, solution: DualSolution) -> tuple[float, float]:
        positive, negative = solution.optimality.multipliers
        margin = 0.5 * (positive - negative)
        if margin == 0:
            raise ValueError(
                f"{type(self).__name__} found no margin between two classes with nu={self.nu:g}: "
                "their rows are the same to the kernel. Take a smaller nu, another gamma, or SVC"
            )
        return -0.5 * float(positive + negative), 1.0 / float(margin)
